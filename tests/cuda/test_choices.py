"""What the cuda rules leave open: every value of every choice gives right results, whatever the order of the threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler.lower import lower
from gscompile.schedules import Choice, Explorer
from gscompile.schedules.cuda import choices as declared
from tests.cuda import cpu_compiler, on_cpu
from tests.cuda.graphs import CudaOnCpu
from tests.cuda.text import ARCH

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))
RNG = np.random.default_rng(7)


def ints(*shape: int) -> Any:
    return RNG.integers(-9, 9, shape)


Case = tuple[Callable[[gs.Builder], gs.Value], list[Any], Any]


def rows() -> Case:
    x, i = ints(50, 12).astype("float32"), RNG.integers(-50, 50, 301)
    return lambda b: b.take(b.input("x", (50, 12), "float32"), b.input("i", (301,), "int64")), [x, i], x[i]


def elements() -> Case:
    x, i = ints(70).astype("float32"), RNG.integers(0, 70, 1003).astype("int32")
    return lambda b: b.take(b.input("x", (70,), "float32"), b.input("i", (1003,), "int32")), [x, i], x[i]


def added(cells: tuple[int, ...], points: int, dtype: str, ordered: bool = False) -> Case:
    x, i = ints(*cells).astype(dtype), np.minimum(RNG.zipf(1.4, points) - 1, cells[0] - 1)
    i, s = np.sort(i) if ordered else i, ints(points, *cells[1:]).astype(dtype)
    want = x.copy()
    np.add.at(want, i, s)

    def declare(b: gs.Builder) -> gs.Value:
        base, at = b.input("x", x.shape, dtype), b.input("i", (points,), "int64")
        return b.put(base, at, b.input("s", s.shape, dtype), reduction="add", sorted=ordered)

    return declare, [x, i, s], want


def folded(*shape: int) -> Case:
    x = ints(*shape).astype("int32")
    return lambda b: b.sum(b.input("x", shape, "int32"), axis=1), [x], x.sum(1)


CASES: dict[str, Callable[[], Case]] = {
    "rows": rows,
    "elements": elements,
    "histogram": lambda: added((37,), 2500, "int32"),
    "sorted rows added": lambda: added((29, 8), 400, "float32", True),
    "folds by a warp": lambda: folded(5, 300),
    "folds by a block": lambda: folded(3, 2100),
    "folds in parts": lambda: folded(1, 9000),
}
Given = dict[str, dict[str, int | str]]


def built(name: str, declare: Callable[[gs.Builder], gs.Value]) -> gs.Builder:
    b = gs.Builder(name)
    b.output(declare(b))
    return b


def tried(declare: Callable[[gs.Builder], gs.Value]) -> tuple[list[Given], set[str]]:
    """What to choose, so that each rule that applies has each value of what it asks for, and the names of that.

    All that a rule asks for is given at once; where other rules have asked for it already, the last value.
    """
    explorer, found, asked = Explorer(), list[Given]([{}]), set[str]()
    lower(built("asked", declare).graph(), CudaOnCpu.of({"kind": "cuda", "arch": ARCH}), explorer=explorer)
    for nest in explorer.found:
        for branch in nest.branches[1:]:
            values = {n: [v for v in c.values if v != c.default] for n, c in branch.free.items()}
            new = [len(v) for n, v in values.items() if n not in asked]
            for k in range(max(new, default=1)):
                given = {n: v[k if n not in asked and k < len(v) else -1] for n, v in values.items()}
                found.append({nest.nest: {**branch.given, **given}})
            asked |= values.keys()
    return found, asked


@pytest.mark.parametrize("name", CASES)
def test_every_value_is_right(name: str, tmp_path: Path) -> None:
    declare, arrays, want = CASES[name]()
    every, _ = tried(declare)
    modules = on_cpu([built(f"g{k}", declare) for k in range(len(every))], tmp_path, choices=every)
    for (m, _), choices in zip(modules, every, strict=True):
        assert m.choices == choices
        for m.seed in (1, 2):
            np.testing.assert_array_equal(m(*arrays), want, err_msg=str(choices))
    assert len({source.replace(m.name, "g") for m, source in modules}) >= len(modules) - 1, "the default may be one"


def test_all_choices_are_among_them() -> None:
    known = {c.name for c in vars(declared).values() if isinstance(c, Choice)}
    assert set().union(*(tried(case()[0])[1] for case in CASES.values())) == known
