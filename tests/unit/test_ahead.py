"""How far ahead rows are prefetched: distances of the model, where they come from, and that they change no result."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.ir.coords import Sizes
from gscompile.ir.dims import SymDim
from gscompile.ir.tir import var
from gscompile.schedules.llvm.ahead import rows_ahead
from gscompile.schedules.llvm.choices import COPIED_AHEAD, FOLDED_AHEAD, ROWS_AHEAD
from gscompile.schedules.rule import Context, Target

MB = 1 << 20
TARGET = Target("llvm", 32, "x86-64-v3", MB // 2, 32 * MB, 2)
N = SymDim.var("n")
FAR = 4 * MB  # elements: 16 MB, half of the largest L3 cache that counts


def none(*_: Any) -> Any:
    raise AssertionError


def ahead(row_bytes: Any, *tables: Any, choice: Any = ROWS_AHEAD, target: Target = TARGET, waits: bool = False) -> int:
    ctx = Context(target, Sizes.of(["n"]), var("threads"), None, none)
    return int(rows_ahead(ctx, choice, "in order", row_bytes, tables, waits))


def test_narrow_rows_from_memory_are_prefetched_farthest() -> None:
    assert [ahead(n, 256 * MB) for n in (4, 16, 32, 64, 128, 256, 1200, 4096)] == [32, 32, 16, 16, 16, 8, 8, 8]


def test_a_cache_needs_less() -> None:
    assert [ahead(n, MB) for n in (4, 16, 64, 256)] == [16, 16, 8, 8]
    assert ahead(4, 16 * MB) == 32
    assert ahead(4, 16 * MB, target=replace(TARGET, l3_bytes=None)) == 32
    assert ahead(4, 16 * MB - 1) == 16


def test_two_tables_have_twice_as_many_lines() -> None:
    assert [ahead(n, 8 * MB, 8 * MB) for n in (4, 64)] == [16, 8]


def test_elements_that_are_combined_are_prefetched_farther() -> None:
    assert [ahead(n, 256 * MB, waits=True) for n in (1, 8, 12, 64)] == [64, 64, 32, 16]
    assert ahead(1, 8 * MB, 8 * MB, waits=True) == 32
    assert ahead(1, 8 * MB - 1, waits=True) == 16


def test_the_least_is_that_of_the_loop() -> None:
    assert [ahead(4096, 256 * MB, choice=c) for c in (COPIED_AHEAD, FOLDED_AHEAD, ROWS_AHEAD)] == [16, 16, 8]


def test_sizes_that_only_a_call_tells_are_large() -> None:
    assert (ahead(4, N), ahead(N, MB)) == (32, 8)


def adding(width: int, source: str) -> gs.Builder:
    """Rows added to a table from memory: of ``src`` itself, or picked from it."""
    b = gs.Builder("far")
    rows = FAR // width
    x, i = b.input("x", (rows, width), "float32"), b.input("i", (5000,), "int32")
    src = b.input("src", (5000, width) if source == "rows" else (rows, width), "float32")
    value = src if source == "rows" else b.take(src, b.input("j", (5000,), "int32"))
    b.output(b.put(x, i, value, reduction="add"))
    return b


@pytest.mark.parametrize("source", ["rows", "picked"])
@pytest.mark.parametrize("width", [1, 16])
def test_results_are_the_same_however_far(width: int, source: str) -> None:
    """In order and in no order, with ends, negative indices and duplicates."""
    rows, rng = FAR // width, np.random.default_rng(5)
    b = adding(width, source)
    put = next(name for name, _ in b.build().stats.kernels if name.startswith("put"))
    given = {"rule": "owned-rows", "way": "in order"}
    far = b.build(choices={put: given})
    near = b.build(choices={put: {**given, "rows ahead": 0}})
    most = (64 if width == 1 else 16) // (1 if source == "rows" else 2)
    assert f"rows ahead {most}" in far.explain()
    assert "rows ahead 0" in near.explain()
    x = rng.standard_normal((rows, width)).astype("float32")
    drawn = rng.integers(-rows, rows, 5000).astype("int32")
    drawn[:6] = [0, rows - 1, -1, -rows, 7, 7]
    for i in (drawn, np.sort(drawn), np.full(5000, rows - 1, "int32"), np.arange(5000, dtype="int32")):
        src = x[::-1] if source == "picked" else rng.standard_normal((5000, width)).astype("float32")
        arrays = [x, i, np.ascontiguousarray(src)] + ([drawn[::-1].copy()] if source == "picked" else [])
        want = x.copy()
        for at, value in zip(i, arrays[2][arrays[3]] if source == "picked" else src, strict=True):
            want[at] += value
        for m in (far, near):
            assert np.array_equal(m(*arrays).view("int32"), want.view("int32"))
    for wrong in (rows, -rows - 1, 2**31 - 1, -(2**31)):
        i = drawn.copy()
        i[4321] = wrong
        with pytest.raises(IndexError, match="4321"):
            far(x, i, *arrays[2:])


@pytest.mark.parametrize(("width", "places"), [(1, {0}), (2, {0}), (12, {0, 47}), (16, {0, 63}), (32, {0, 64, 127})])
def test_the_line_of_a_last_byte_is_prefetched(width: int, places: set[int]) -> None:
    """Rows begin anywhere in a line; single elements lie in one."""
    b = gs.Builder()
    b.output(b.take(b.input("x", (MB, width), "float32"), b.input("i", (100_000,), "int64"), dim=0))
    code = b.build({"kind": "llvm", "mcpu": "skylake"}, choices={"take_2": {"rule": "copies"}}).source("asm")
    assert {int(place or 0) for place in re.findall(r"prefetcht0\s+(\d*)\(", code)} == places
