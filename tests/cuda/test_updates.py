"""Updates on cuda: each way in which winners' values come to the output, in other orders of threads, and what it moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.schedules.cuda import last_writer, launch
from tests.cuda import cpu_compiler, on_cpu
from tests.cuda.counters import Launch, counted
from tests.oracle import Array

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

Graph = Callable[[gs.Builder], gs.Value]


def rows(dtype: str, width: Any, base: str = "x", src: str = "v") -> Graph:
    def declare(b: gs.Builder) -> gs.Value:
        x, i = b.input("x", ("n", width), dtype), b.input("i", ("k",), "int64")
        v = b.input("v", ("k", width), dtype)
        return b.put({"x": x, "2x": x * 2, "0": x * 0 if base == "0" else x}[base], i, v * 2 if src == "2v" else v)

    return declare


def elements(b: gs.Builder) -> gs.Value:
    return b.put(b.input("x", ("n",), "float32"), b.input("i", ("k",), "int64"), b.input("v", ("k",), "float32"))


def shared(b: gs.Builder) -> gs.Value:
    x, i = b.input("x", ("n", 6), "float32"), b.input("i", ("k", 6), "int32")
    return b.scatter(x, i, b.input("v", ("k", 6), "float32"), 0)


def columns(b: gs.Builder) -> gs.Value:
    x, i = b.input("x", (6, "n"), "float32"), b.input("i", ("k",), "int64")
    return b.put(x, i, b.input("v", (6, "k"), "float32"), 1)


def blocks(b: gs.Builder) -> gs.Value:
    x, i = b.input("x", ("n", 3, 4), "float16"), b.input("i", ("k", 2), "int64")
    return b.put(x, i, b.input("v", ("k", 2, 3, 4), "float16"))


def drawn(n: int, *shape: int) -> Array:
    """Indices that repeat, the first and the last row and negative ones among them."""
    i = np.random.default_rng(n + sum(shape)).integers(-n, n, shape)
    i.flat[: min(3, i.size)] = [n - 1, -n, n - 1][: i.size]
    return i


def values(dtype: str, *shape: int) -> Array:
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


Made = Callable[[int, int], tuple[Array, Array, Array, Array]]


def put_rows(dtype: str, width: int, base: str = "x", src: str = "v") -> Made:
    def make(n: int, k: int) -> tuple[Array, Array, Array, Array]:
        x, i, v = values(dtype, n, width), drawn(n, k), values(dtype, k, width)
        if dtype == "bool":
            v = np.random.default_rng(1).random(v.shape) < 0.5
        else:
            x = -x
        want = {"x": x, "2x": x * 2 if base == "2x" else x, "0": np.zeros_like(x)}[base].copy()
        for p, row in enumerate(i):
            want[row] = v[p] * 2 if src == "2v" else v[p]
        return x, i, v, want

    return make


def put_elements(n: int, k: int) -> tuple[Array, Array, Array, Array]:
    x, i, v = -values("float32", n), drawn(n, k), values("float32", k)
    want = x.copy()
    for p, cell in enumerate(i):
        want[cell] = v[p]
    return x, i, v, want


def put_shared(n: int, k: int) -> tuple[Array, Array, Array, Array]:
    x, i, v = -values("float32", n, 6), drawn(n, k, 6).astype("int32"), values("float32", k, 6)
    want = x.copy()
    for p in range(k):
        for c in range(6):
            want[i[p, c], c] = v[p, c]
    return x, i, v, want


def put_columns(n: int, k: int) -> tuple[Array, Array, Array, Array]:
    x, i, v = -values("float32", 6, n), drawn(n, k), values("float32", 6, k)
    want = x.copy()
    for p, column in enumerate(i):
        want[:, column] = v[:, p]
    return x, i, v, want


def put_blocks(n: int, k: int) -> tuple[Array, Array, Array, Array]:
    x, i, v = -values("float16", n, 3, 4), drawn(n, k, 2), values("float16", k, 2, 3, 4)
    want = x.copy()
    for p in range(k):
        for q in range(2):
            want[i[p, q]] = v[p, q]
    return x, i, v, want


GRAPHS: dict[str, tuple[Graph, Made]] = {
    "rows": (rows("float32", 8), put_rows("float32", 8)),
    "odd rows": (rows("float32", 5), put_rows("float32", 5)),
    "rows of any width": (rows("float16", "w"), put_rows("float16", 24)),
    "bytes": (rows("int8", 32), put_rows("int8", 32)),
    "bools": (rows("bool", 4), put_rows("bool", 4)),
    "base is computed": (rows("float32", 8, base="2x"), put_rows("float32", 8, base="2x")),
    "base is zero": (rows("int8", 16, base="0"), put_rows("int8", 16, base="0")),
    "src is computed": (rows("float32", 8, src="2v"), put_rows("float32", 8, src="2v")),
    "elements": (elements, put_elements),
    "shared": (shared, put_shared),
    "columns": (columns, put_columns),
    "blocks": (blocks, put_blocks),
}


@pytest.mark.parametrize("numbers", ["narrow", "wide"])
def test_every_way_is_right(numbers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of place and in place, with few points and many; with wide numbers 32 bits count what only the smallest call has."""
    monkeypatch.setattr(last_writer, "LAUNCH_BYTES", 0)
    if numbers == "wide":
        for module in (launch, last_writer):
            monkeypatch.setattr(module, "MOST_NARROW", 40)
    builders = []
    for k, (declare, _) in enumerate(GRAPHS.values()):
        b = gs.Builder(f"g{k}")
        b.output(declare(b))
        builders.append(b)
    for (m, source), (name, (_, make)) in zip(on_cpu(builders, tmp_path), GRAPHS.items(), strict=True):
        assert "owner32" in source and "owner64" in source
        for n, k in [(300, 4), (37, 90), (1, 5), (9, 0)]:
            x, i, v, want = make(n, k)
            for m.seed in (1, 2):
                np.testing.assert_array_equal(m(x, i, v), want, err_msg=name)
                if not name.startswith("base"):
                    out = x.copy()
                    np.testing.assert_array_equal(m(out, i, v, out=out), want, err_msg=name)


def launches(declare: Graph, make: Made, n: int, k: int, folder: Path, in_place: bool) -> tuple[list[Launch], int]:
    """What a call launches, and how many of its slices have a winner."""
    b = gs.Builder("counted")
    b.output(declare(b))
    ((m, _),) = on_cpu([b], folder)
    x, i, v, want = make(n, k)
    with counted() as found:
        out = x.copy()
        got = m(out, i, v, out=out) if in_place else m(x, i, v)
    np.testing.assert_array_equal(got, want)
    return found, len(np.unique(i % n))


def moved(found: list[Launch], buffer: str, access: str) -> int:
    """Bytes of global memory that threads ask for."""
    return sum(
        s.lanes * s.size
        for a in found
        for s in a.sites
        if s.buffer.startswith(buffer) and s.access == access and not s.shared
    )


def test_each_byte_is_written_once_and_none_is_read_in_vain(tmp_path: Path) -> None:
    n, k, row = 900, 700, 32
    found, won = launches(*GRAPHS["rows"], n, k, tmp_path, in_place=False)
    assert len(found) == 3 and won < k
    assert moved(found, "out0", "write") == n * row
    assert moved(found, "v_ptr", "read") == won * row and moved(found, "x_ptr", "read") == (n - won) * row
    assert {s.size for a in found for s in a.sites if s.buffer in ("v_ptr", "x_ptr")} == {16}
    assert moved(found[:1], "", "write") == 4 * n  # of 32 bits
    assert moved(found[2:], "i_ptr", "read") == 0
    assert all(s.used == 1.0 for s in found[-1].sites if s.access == "write" and s.lanes)


def test_neighbouring_elements_are_written_at_once(tmp_path: Path) -> None:
    found, won = launches(*GRAPHS["elements"], 1600, 3000, tmp_path, in_place=False)
    assert won < 1600 and len(found) == 3 and moved(found, "out0", "write") == 4 * 1600
    sites = [s for s in found[-1].sites if s.lanes]
    assert {s.size for s in sites if s.buffer not in ("v_ptr", "x_ptr")} == {16}  # 4 winners and the output
    assert moved(found, "v_ptr", "read") == 4 * won and moved(found, "x_ptr", "read") == 4 * (1600 - won)


@pytest.mark.parametrize(("n", "looked_at"), [(600, "cells"), (1200, "points")])
def test_what_is_looked_at_in_place(n: int, looked_at: str, tmp_path: Path) -> None:
    """A slice for each 10 points is where it turns: 4 bytes of each slice, 40 of each point."""
    k, row = 80, 32
    found, won = launches(*GRAPHS["rows"], n, k, tmp_path, in_place=True)
    assert moved(found, "out0", "write") == moved(found, "v_ptr", "read") == won * row
    assert (moved(found[-1:], "i_ptr", "read") > 0) == (looked_at == "points")
    assert found[-1].blocks == -(-(k if looked_at == "points" else n) * 2 // 256)


def test_points_of_a_warp_that_meet_are_one_atomic(tmp_path: Path) -> None:
    n, k = 50, 1003
    found, _ = launches(*GRAPHS["rows"], n, k, tmp_path, in_place=False)
    i = drawn(n, k) % n
    atomics = sum(s.lanes for a in found for s in a.sites if s.access == "atomic")
    assert atomics == sum(len(np.unique(i[w : w + 32])) for w in range(0, k, 32)) < k


@pytest.mark.parametrize("k", [3, 200])
def test_a_bad_index_writes_nothing_in_place(k: int, tmp_path: Path) -> None:
    b = gs.Builder("bad")
    b.output(rows("float32", 8)(b))
    ((m, _),) = on_cpu([b], tmp_path)
    x, i, v, _ = put_rows("float32", 8)(100, k)
    i[k // 2] = 100
    out = x.copy()
    for a in (x, out):
        with pytest.raises(gs.BoundsError) as e:
            m(a, i, v, **({"out": out} if a is out else {}))
        assert (e.value.position, e.value.value) == ((k // 2,), 100)
    assert np.array_equal(out, x)
