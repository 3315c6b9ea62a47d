"""Targets: what is refused by name, and a new one in a class of one screen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import gscompile as gs
from gscompile import schedules
from gscompile.compiler import targets
from gscompile.compiler.targets import TARGETS, UNSUPPORTED, Target, for_device, known_code, register, resolve
from gscompile.compiler.targets.llvm import Llvm
from gscompile.schedules import Rule
from gscompile.schedules.llvm import RULES


@register
class Toy(Target):
    """A CPU that has no rules but the ones that always apply, and shows its code as a count of lines."""

    kind = "toy"
    device = "cpu"
    device_type = 1
    alignment = 32
    host_guards = True
    joins_checks = False
    in_parts = False
    pipeline = Llvm.pipeline
    code: ClassVar = {
        **Llvm.code,
        "lines": targets.CodeKind("txt", lambda target, func, library: str(len(str(func).splitlines()))),
    }

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> Toy:
        host = Llvm.of({"kind": "llvm", **{k: v for k, v in attributes.items() if k != "kind"}})
        return cls(host.facts, host.tvm)

    @property
    def rules(self) -> Sequence[Rule]:
        return [r for r in RULES if r.name in ("check", "rows", "folds", "owner-computes")]

    @property
    def runner(self) -> Any:
        return resolve("llvm").runner


@pytest.fixture(autouse=True)
def _known() -> Iterator[None]:
    register(Toy)
    yield
    TARGETS.pop("toy", None)


def test_a_new_target_builds_and_runs() -> None:
    b = gs.Builder("net")
    x, i, w = b.input("x", ("n", 5), "float32"), b.input("i", ("k",), "int64"), b.input("w", ("k", 5), "float32")
    b.output(b.put(x, i, b.take(x, i) * w, reduction="add"), b.sum(x, 1))
    m = b.build("toy")
    assert {rule for _, rule in m.stats.kernels} <= {"rows", "folds", "owner-computes"}
    assert "toy" in repr(m)
    assert int(m.source("lines")) > 10
    with pytest.raises(gs.TargetError, match="a module for toy has no cuda code"):
        m.source("cuda")

    rng = np.random.default_rng(0)
    data, index, weight = rng.random((7, 5), np.float32), np.array([6, 0, -1, 6]), rng.random((4, 5), np.float32)
    want = data.copy()
    np.add.at(want, index, data[index] * weight)
    got, sums = m(data, index, weight)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    np.testing.assert_allclose(sums, data.sum(1), rtol=1e-6)
    with pytest.raises(gs.BoundsError):
        m(data, np.array([0, 7, 0, 0]), weight)


def test_a_new_target_has_its_alignment() -> None:
    b = gs.Builder("net")
    x = b.input("x", ("n",), "float32")
    b.output(x + 1)
    storage = np.zeros(64, np.float32)
    begin = next(k for k in range(16) if (storage.ctypes.data + 4 * k) % 32 == 4)
    with pytest.raises(gs.ArgumentError, match="x would be copied"):
        b.build("toy").bind(storage[begin : begin + 20])
    b.build("llvm").bind(storage[begin : begin + 20])()


def test_its_attributes_arrive() -> None:
    assert resolve({"kind": "toy", "mcpu": "x86-64-v3"}).facts.arch == "x86-64-v3"


def test_the_codes_of_all_targets_are_known() -> None:
    assert known_code() == ["tir", "llvm", "asm", "cuda", "ptx", "lines"]


def test_a_device_has_a_target() -> None:
    assert (for_device("cpu"), for_device("cuda")) == ("llvm", "cuda")


def test_a_target_is_itself() -> None:
    target = resolve("llvm")
    assert resolve(target) is target


@pytest.mark.parametrize("kind", sorted(UNSUPPORTED))
@pytest.mark.parametrize("as_dict", [False, True])
def test_what_is_missing_is_said_by_name(kind: str, as_dict: bool) -> None:
    with pytest.raises(gs.TargetError) as e:
        resolve({"kind": kind} if as_dict else kind)
    for part in (repr(kind), "is not supported", UNSUPPORTED[kind], "'llvm'", "'cuda'"):
        assert part in str(e.value)


def test_the_named_ones_are_refused() -> None:
    assert {"rocm", "metal", "vulkan", "opencl"} <= set(UNSUPPORTED)


def test_no_file_but_a_targets_own_compares_kinds() -> None:
    roots = [Path(gs.__file__).parent, Path(schedules.__file__).parent]
    comparison = re.compile(r"""(==|!=|\bin [(\[{]) *["'](cuda|llvm)["']|["'](cuda|llvm)["'] *(==|!=)""")
    found = {
        path.relative_to(root.parent).as_posix(): line
        for root in roots
        for path in root.rglob("*.py")
        for line in path.read_text().splitlines()
        if comparison.search(line)
    }
    # an array library's devices are no targets
    assert not {name: line for name, line in found.items() if not name.startswith("gscompile/runtime/arrays")}
