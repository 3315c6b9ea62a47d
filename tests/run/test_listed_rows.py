"""Rows of a symbolic width that an index chooses and something is computed of, and elements picked from short rows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gscompile as gs

WIDTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 37, 63, 64, 65, 100, 257)  # around vectors and runs of four


def chain(dtype: str) -> gs.Module:
    b = gs.Builder("chain")
    x, i = b.input("x", ("rows", "w"), dtype), b.input("i", ("n",), "int64")
    scale, shift = b.input("scale", ("w",), dtype), b.input("shift", ("w",), dtype)
    b.output(b.take(x, i) * scale + shift)
    return b.build()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "uint8"])
def test_every_width(dtype: str) -> None:
    rng, compiled = np.random.default_rng(3), chain(dtype)
    assert "listed-rows" in compiled.explain()
    for width in WIDTHS:
        for rows, count in ((1, 1), (7, 300), (50_000, 1111)):  # blocks of 256; near tables and far ones
            x, scale, shift = (rng.integers(0, 9, s).astype(dtype) for s in ((rows, width), (width,), (width,)))
            i = rng.integers(-rows, rows, count)
            np.testing.assert_array_equal(compiled(x, i, scale, shift), x[i] * scale + shift, strict=True)


@pytest.mark.parametrize("bad", [-8, 7, np.iinfo(np.int64).min, np.iinfo(np.int64).max])
@pytest.mark.parametrize("place", [0, 255, 256, 299])
def test_bad_indices(bad: int, place: int) -> None:
    x, i, one = np.ones((7, 5), np.float32), np.zeros(300, np.int64), np.ones(5, np.float32)
    i[place] = bad
    with pytest.raises(gs.BoundsError, match=str(place)):
        chain("float32")(x, i, one, one)


@pytest.fixture
def set_threads() -> Iterator[Any]:
    before = gs.get_num_threads()
    yield gs.set_num_threads
    gs.set_num_threads(before)


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64])
def test_few_rows_are_shared_by_their_columns(count: int, set_threads: Any) -> None:
    compiled, rng = chain("int32"), np.random.default_rng(count)
    for width in (0, 1, 32_767, 32_768, 32_769, 100_001):
        x, scale, shift = (rng.integers(0, 9, s).astype(np.int32) for s in ((3, width), (width,), (width,)))
        i = rng.integers(-3, 3, count)
        for threads in (1, 2, 5):
            set_threads(threads)
            np.testing.assert_array_equal(compiled(x, i, scale, shift), x[i] * scale + shift, strict=True)
        for bad in (-4, 3)[: 2 * count]:
            i[-1] = bad
            with pytest.raises(gs.BoundsError, match=str(count - 1)):
                compiled(x, i, scale, shift)


def picks(rows: Any, width: Any, count: Any, dtype: str, index: str = "int32") -> gs.Module:
    b = gs.Builder("picks")
    x, i = b.input("x", (rows, width), dtype), b.input("i", (rows, count), index)
    b.output(b.gather(x, i, dim=1))
    return b.build()


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("count", [1, 3, 14, 33, 70])
def test_elements_of_short_rows(count: int, symbolic: bool) -> None:
    """Of 40 MB, so that elements are prefetched by the indices of later rows."""
    rng, rows, width = np.random.default_rng(count), 106_000, 47
    x = np.arange(rows * width, dtype=np.int64).reshape(rows, width)
    i = rng.integers(-width, width, (rows, count)).astype(np.int32)
    compiled = picks(*(("r", "w", "k") if symbolic else (rows, width, count)), "int64")
    np.testing.assert_array_equal(compiled(x, i), np.take_along_axis(x, i.astype(np.int64) % width, 1), strict=True)
    i[-1, -1] = width
    with pytest.raises(gs.BoundsError):
        compiled(x, i)


def test_elements_of_short_rows_are_prefetched() -> None:
    """Only where rows are short, come from memory and few elements are picked from each."""
    assert "ahead" in str(picks(106_000, 47, 14, "int64").source("tir"))
    for shape in ((1000, 47, 14), (106_000, 200, 14), (106_000, 47, 500)):
        assert "ahead" not in str(picks(*shape, "int64").source("tir"))


@pytest.mark.parametrize("bounds", ["raise", "wrap", "clip", "trust", "fill"])
@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "uint8"])
def test_elements_of_near_rows(dtype: str, bounds: str) -> None:
    """Listed, up to 1,024 a row."""
    rng = np.random.default_rng(1)
    b = gs.Builder("near")
    x, i = b.input("x", ("a", 3, "w"), dtype), b.input("i", ("a", 3, "k"), "int64")
    b.output(b.gather(x, i, dim=2, bounds=bounds))
    compiled = b.build()
    assert "picked-rows" in compiled.explain()
    for width, count in itertools.product((1, 5, 300), (0, 1, 2, 7, 8, 9, 15, 16, 17, 127, 1023, 1024, 1025, 2049)):
        for rows in (1, 7, 300 if count < 20 else 2):
            x_ = rng.integers(0, 99, (rows, 3, width)).astype(dtype)
            i_ = rng.integers(-width, width, (rows, 3, count))
            at = np.where(i_ < 0, i_ + width, i_)
            want = np.take_along_axis(x_, at, 2)
            np.testing.assert_array_equal(compiled(x_, i_), want, strict=True)


@pytest.mark.parametrize("bad", [-301, 300, np.iinfo(np.int64).min, np.iinfo(np.int64).max])
@pytest.mark.parametrize("static", [False, True], ids=["symbolic", "static"])
def test_bad_indices_of_near_rows(static: bool, bad: int) -> None:
    compiled = picks(*((7, 300, 37) if static else ("r", "w", "k")), "float32", index="int64")
    x, i = np.ones((7, 300), np.float32), np.zeros((7, 37), np.int64)
    compiled(x, i)
    for row, k in ((0, 0), (0, 7), (0, 36), (3, 31), (3, 32), (6, 36)):
        i[row, k] = bad
        with pytest.raises(gs.BoundsError, match=re.escape(f"i[{row}, {k}] = {bad} is out of range")):
            compiled(x, i)
        i[row, k] = 0


@pytest.mark.parametrize("count", [3, 8, 9, 300, 1025])
def test_columns_of_near_rows(count: int) -> None:
    """One index for all rows, and axes of extent 1 after that of the picks."""
    b = gs.Builder("columns")
    x, i = b.input("x", ("r", "w", 1), "float32"), b.input("i", (count,), "int32")
    b.output(b.take(x, i, dim=1))
    compiled, rng = b.build(), np.random.default_rng(count)
    for rows in (1, 2, 100):
        x_, i_ = rng.random((rows, 70, 1), np.float32), rng.integers(-70, 70, count).astype(np.int32)
        np.testing.assert_array_equal(compiled(x_, i_), x_[:, i_], strict=True)
