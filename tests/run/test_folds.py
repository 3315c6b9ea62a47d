"""Reductions fold in row-major order, whatever tile, remainder, thread or request ahead of time they are carried out with."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.run.test_guard_pages import Fence, in_child

WIDTHS = (1, 3, 4, 5, 16, 63, 64, 65, 128, 131, 200)  # columns: around tiles of 32, 64 and 128 and what they leave over
LENGTHS = (1, 2, 5, 15, 16, 17, 33, 50)  # rows: around the prefetch distance of sixteen
ROWS = 7000  # of the table, which is then too large for a core's caches unless it is narrow


def row_major(x: Any, axis: int) -> Any:
    """The float32 sum along an axis, one element after the other: a running sum cannot be reordered."""
    return np.take(np.add.accumulate(x, axis, dtype=np.float32), -1, axis)


def bags(width: Any, length: Any, count: Any, rows: Any = ROWS, dtype: str = "float32", op: str = "sum") -> gs.Module:
    b = gs.Builder("bags")
    x, i = b.input("x", (rows, width), dtype), b.input("i", (count, length), "int64")
    b.output(getattr(b, op)(b.take(x, i), 1))
    return b.build()


@pytest.fixture(params=[1, 3], ids=["alone", "shared"])
def threads(request: pytest.FixtureRequest) -> Any:
    before = gs.get_num_threads()
    gs.set_num_threads(request.param)
    yield request.param
    gs.set_num_threads(before)


@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("width", WIDTHS)
def test_bags_of_every_width_and_length(width: int, symbolic: bool, threads: int) -> None:
    rng = np.random.default_rng(width)
    x = rng.standard_normal((ROWS, width), np.float32)
    compiled = bags("w", "k", "n", "rows") if symbolic else None
    for length in LENGTHS if symbolic else (LENGTHS[width % 8], LENGTHS[(width + 3) % 8]):
        count = 1 + 1200 // length
        i = rng.integers(-ROWS, ROWS, (count, length))
        got = (compiled or bags(width, length, count))(x, i)
        np.testing.assert_array_equal(got, row_major(x[i], 1), strict=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "int8"])
def test_tiles_whose_width_a_call_tells(dtype: str) -> None:
    """Vectors that overlap, rows in blocks of 64, in one piece of code for all widths; of near rows and of ones far apart."""
    rng = np.random.default_rng(1)
    compiled = {op: bags("w", "k", "n", "rows", dtype, op) for op in ("sum", "max")}
    for width in (*range(1, 35), 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 300):
        for length in (0, 1, 63, 64, 65, 130)[width % 2 :: 2]:
            for rows in (9, 40_000 // width):
                x = rng.integers(-9, 10, (rows, width)).astype(dtype)  # whose sums are exact
                i = rng.integers(-rows, rows, (4, length))
                got = compiled["sum"](x, i)
                np.testing.assert_array_equal(got, x[i].sum(1, dtype=got.dtype), strict=True)
                if length:
                    np.testing.assert_array_equal(compiled["max"](x, i), x[i].max(1), strict=True)


def test_columns_and_boxes_whose_width_a_call_tells() -> None:
    """The same of rows that no index chooses, of boxes of two axes, of segments, and of rows with a factor each."""
    rng = np.random.default_rng(2)
    b = gs.Builder("net")
    x, i, w = (
        b.input("x", ("n", "m"), "float32"),
        b.input("i", ("p", "q", "r"), "int64"),
        b.input("w", ("k",), "float32"),
    )
    j, ends = b.input("j", ("k",), "int64"), b.input("ends", ("s",), "int64")
    weighted = b.take(x, j) * b.reshape(w, ("k", 1))
    b.output(b.sum(x, 0), b.sum(b.take(x, i), (1, 2)), b.segment_reduce(weighted, ends), b.argmax(x, 0))
    compiled = b.build()
    for width in (1, 2, 3, 4, 7, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 200):
        data = rng.standard_normal((90, width)).astype(np.float32)
        i3, j1 = rng.integers(-90, 90, (3, 9, 11)), rng.integers(-90, 90, 300)
        weights = rng.choice(np.array([-2, 0.5, 1], np.float32), 300)  # products are exact, fused with the sum or not
        cuts = np.array([0, 1, 70, 150, 151, 300])
        columns, boxes, sums, largest = compiled(data, i3, weights, j1, cuts)
        np.testing.assert_array_equal(columns, row_major(data, 0), strict=True)
        np.testing.assert_array_equal(boxes, row_major(data[i3].reshape(3, 99, width), 1), strict=True)
        rows = data[j1] * weights[:, None]
        want = np.stack([row_major(rows[a:c], 0) for a, c in itertools.pairwise(cuts)])
        np.testing.assert_array_equal(sums, want, strict=True)
        np.testing.assert_array_equal(largest, data.argmax(0))


@pytest.mark.parametrize("symbolic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize("order", ["runs", "ascending", "far apart", "one bag in four is far"])
def test_bags_whose_rows_are_near_or_far(order: str, symbolic: bool, threads: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((ROWS, 5), np.float32)
    compiled = bags(5, "k", "n", "rows") if symbolic else None
    for length in (1, 2, 15, 40):
        count = 90 + length
        i = np.sort(rng.integers(0, ROWS, count * length)).reshape(count, length)
        if order == "runs":
            i[:] = i[:, :1]
        elif order != "ascending":
            i[:: 1 if order == "far apart" else 4, -1] = ROWS - 1 - i[:: 1 if order == "far apart" else 4, -1]
        got = (compiled or bags(5, length, count))(x, i)
        np.testing.assert_array_equal(got, row_major(x[i], 1), strict=True)


def test_nothing_to_fold_gives_the_identity() -> None:
    x, compiled = np.ones((ROWS, 64), np.float32), bags("w", "k", "n", "rows")
    np.testing.assert_array_equal(compiled(x, np.empty((3, 0), np.int64)), np.zeros((3, 64), np.float32), strict=True)
    np.testing.assert_array_equal(compiled(x, np.empty((0, 3), np.int64)), np.zeros((0, 64), np.float32), strict=True)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "bool"])
@pytest.mark.parametrize("op", ["max", "sum", "argmax"])
def test_bags_of_other_types(op: str, dtype: str, threads: int) -> None:
    rng = np.random.default_rng(5)
    x = (rng.integers(0, 2, (ROWS, 70)) if dtype == "bool" else rng.integers(-3, 4, (ROWS, 70))).astype(dtype)
    i = rng.integers(0, ROWS, (90, 20))
    if op == "argmax" and dtype == "bool":
        x = x.astype("int32")
    want = getattr(x[i], op)(1)
    np.testing.assert_array_equal(bags(70, 20, 90, dtype=str(x.dtype), op=op)(x, i), want, strict=True)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)], ids=str)
@pytest.mark.parametrize("shape", [(5, 17, 9), (3, 2, 131), (40, 50, 3), (9, 20, 64)], ids=str)
def test_axes_of_a_box(shape: tuple[int, int, int], axes: tuple[int, ...], threads: int) -> None:
    x = np.random.default_rng(2).standard_normal(shape, np.float32)
    kept = [a for a in range(3) if a not in axes]
    flat = x.transpose(*kept, *axes).reshape([shape[a] for a in kept] + [-1])
    for extents in (shape, ("a", "b", "c")):
        b = gs.Builder("box")
        v = b.input("x", extents, "float32")
        b.output(b.sum(v, axes), b.max(v, axes))
        total, largest = b.build()(x)
        np.testing.assert_array_equal(total, row_major(flat, -1), strict=True)
        np.testing.assert_array_equal(largest, flat.max(-1), strict=True)


@pytest.mark.parametrize("shape", [(3, 20), (20, 3), (7,)], ids=str)
def test_a_sum_over_no_axes_is_a_copy(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(7).standard_normal(shape, np.float32)
    b = gs.Builder("none")
    b.output(b.sum(b.input("x", shape, "float32"), ()))
    np.testing.assert_array_equal(b.build()(x), x, strict=True)


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("axis", [0, 1])
def test_argmax_of_nans_zeros_and_equals(axis: int, last: bool) -> None:
    rng = np.random.default_rng(3)
    x = rng.choice(
        np.array([-np.inf, -1, -0.0, 0.0, 1, np.nan], np.float32), (41, 43), p=[0.1, 0.3, 0.2, 0.2, 0.1, 0.1]
    )
    b = gs.Builder("best")
    v = b.input("x", x.shape, "float32")
    b.output(b.argmax(v, axis, select_last=last), b.argmin(v, axis, select_last=last))
    turned = np.flip(x, axis) if last else x
    for got, find in zip(b.build()(x), (np.argmax, np.argmin), strict=True):
        want = find(turned, axis)
        np.testing.assert_array_equal(got, x.shape[axis] - 1 - want if last else want)


def test_a_gather_of_gathered_positions_with_fills(threads: int) -> None:
    rng = np.random.default_rng(4)
    x, j = rng.standard_normal((ROWS, 48), np.float32), rng.integers(-100, ROWS + 100, 3000)
    i = rng.integers(-50, 3050, (100, 30))
    b = gs.Builder("twice")
    table, positions, index = (b.input(n, v.shape, str(v.dtype)) for n, v in (("x", x), ("j", j), ("i", i)))
    found = b.take(positions, index, bounds="fill", negative=False, fill=-1)
    b.output(b.sum(b.take(table, found, bounds="fill", negative=False, fill=2.0), 1))
    inside = (i >= 0) & (i < 3000)
    at = np.where(inside, j[np.where(inside, i, 0)], -1)
    ok = (at >= 0) & (at < ROWS)
    want = np.where(ok[..., None], x[np.where(ok, at, 0)], np.float32(2))
    np.testing.assert_array_equal(b.build()(x, j, i), row_major(want, 1), strict=True)


def _fenced(say: Callable[[str], None], at_end: bool) -> None:
    rng = np.random.default_rng(6)
    fence = Fence(at_end)
    for threads, width, length in ((1, 64, 50), (3, 64, 50), (1, 33, 1), (3, 130, 15), (1, 20, 17), (1, 8, 40)):
        gs.set_num_threads(threads)
        count = 60
        x, i = fence.array((ROWS, width), np.float32), fence.array((count, length), np.int64)
        out = fence.array((count, width), np.float32)
        x[...] = rng.standard_normal(x.shape)
        i[...] = rng.integers(-ROWS, ROWS, i.shape)
        i.flat[-1], i.flat[0] = ROWS - 1, -ROWS
        for compiled in (bags(width, length, count), bags("w", "k", "n", "rows")):
            say(f"bags of {width} by {length}, {threads} threads")
            np.testing.assert_array_equal(compiled(x, i, out=out), row_major(x[i], 1), strict=True)
        offsets = fence.array((13,), np.int64)
        offsets[...] = np.linspace(0, count * length, 13)
        flat, few = i.reshape(-1), fence.array((12, width), np.float32)
        b = gs.Builder("runs")
        a, at, ends = (
            b.input("x", ("rows", width), "float32"),
            b.input("i", ("m",), "int64"),
            b.input("o", ("n",), "int64"),
        )
        b.output(b.segment_reduce(b.take(a, at), ends, "sum"))
        say(f"runs of rows of {width}, {threads} threads")
        b.build()(x, flat, offsets, out=few)
        want = [row_major(x[flat[p:q]], 0) for p, q in itertools.pairwise(offsets)]
        np.testing.assert_array_equal(few, np.array(want), strict=True)
    fence.check()


@pytest.mark.parametrize("at_end", [False, True], ids=["begin", "end"])
def test_prefetching_reads_no_index_outside(at_end: bool) -> None:
    end = in_child(_fenced, at_end)
    assert end.code == 0, str(end)


# -- indices that a fold checks itself --------------------------------------------------------------------------------


def bag(b: gs.Builder, kind: str, sizes: Any) -> None:
    """A fold over what a gather gives."""
    rows, width, bags, length = sizes
    x, i = b.input("x", (rows, width), "float32"), b.input("i", (bags, length), "int64")
    if kind == "weighted":
        w = b.input("w", (bags, length), "float32")
        b.output(b.sum(b.take(x, i) * b.unsqueeze(w, 2), 1))
    elif kind == "argmax":
        b.output(b.argmax(b.take(x, i), 1))
    elif kind == "cast":
        b.output(b.max(b.cast(b.take(x, i), "int32"), 1))
    else:
        b.output(b.sum(b.take(x, i), 1))


def bag_oracle(kind: str, x: Any, i: Any, w: Any) -> Any:
    rows = x[i]
    if kind == "weighted":
        return (rows * w[:, :, None]).sum(1)
    if kind == "argmax":
        return rows.argmax(1)
    return rows.astype("i4").max(1) if kind == "cast" else rows.sum(1)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("kind", ["plain", "weighted", "argmax", "cast"])
def test_a_fold_checks_the_indices_of_its_gather(kind: str, symbolic: bool) -> None:
    sizes = (500, 300, 90, 21)  # more columns than a tile, enough work for threads
    b = gs.Builder("bag")
    bag(b, kind, ("n", "c", "k", "m") if symbolic else sizes)
    m = b.build()
    assert [name for name, _ in m.stats.kernels] == [m.outputs[0].name]
    assert m.source().count("gs_prefetch_row") > 0, "rows that are prefetched"
    rng = np.random.default_rng(0)
    x = rng.integers(-8, 8, sizes[:2]).astype("f4")
    i, w = rng.integers(-500, 500, sizes[2:]), rng.integers(0, 3, sizes[2:]).astype("f4")
    more = [w] if kind == "weighted" else []
    np.testing.assert_array_equal(m(x, i, *more), bag_oracle(kind, x, i, w))
    for place in ((0, 0), (0, 20), (44, 7), (45, 0), (89, 20)):
        for bad in (500, -501, np.iinfo("i8").max, np.iinfo("i8").min):
            wrong = i.copy()
            wrong[place] = bad
            with pytest.raises(gs.BoundsError) as e:
                m(x, wrong, *more)
            assert (e.value.tensor, e.value.position, e.value.value) == ("i", place, bad)
    wrong = i.copy()
    wrong[80, 3], wrong[12, 9] = 700, -700  # the first in row-major order, whatever thread meets it
    with pytest.raises(gs.BoundsError, match=r"i\[12, 9\] = -700 "):
        m(x, wrong, *more)


def test_a_fold_of_nothing_still_checks_its_indices() -> None:
    b = gs.Builder("bag")
    bag(b, "plain", ("n", "c", "k", "m"))
    m = b.build()
    i = np.array([[0, 1], [2, 9]])
    with pytest.raises(gs.BoundsError, match=r"i\[1, 1\] = 9 "):
        m(np.zeros((3, 0), "f4"), i)
    assert m(np.zeros((3, 0), "f4"), i % 3).shape == (2, 0)
    np.testing.assert_array_equal(m(np.ones((3, 2), "f4"), i[:, :0]), np.zeros((2, 2)))
    assert m(np.ones((0, 2), "f4"), i[:0]).shape == (0, 2)


def test_the_first_of_several_checks_is_reported() -> None:
    b = gs.Builder()
    x, i, j = b.input("x", (50, 40), "float32"), b.input("i", (6, 5), "int64"), b.input("j", (6, 5), "int64")
    late = b.take(x, i, name="first")
    b.output(b.take(x, j, name="second"), b.sum(late, 1))
    m = b.build()
    good, bad = np.zeros((6, 5), "i8"), np.full((6, 5), 50)
    for a, c, name in ((bad, bad, "first"), (bad, good, "first"), (good, bad, "second")):
        with pytest.raises(gs.BoundsError) as e:
            m(np.ones((50, 40), "f4"), a, c)
        assert e.value.op == name


def test_an_index_with_other_readers_is_checked_before_them() -> None:
    b = gs.Builder()
    x, y = b.input("x", (50, 40), "float32"), b.input("y", (50, 3), "float32")
    i = b.input("i", (6, 5), "int64")
    rows = b.take(x, i)
    b.output(b.take(y, i), b.sum(rows, 1))  # the second one's check covers the first one's
    m = b.build()
    i_ = np.arange(30).reshape(6, 5)
    x_, y_ = np.ones((50, 40), "f4"), np.ones((50, 3), "f4")
    np.testing.assert_array_equal(m(x_, y_, i_)[1], np.full((6, 40), 5))
    with pytest.raises(gs.BoundsError):
        m(x_, y_, i_ + 10**12)


@pytest.mark.parametrize("length", ["k", 1, 3, 9, 256, 300], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int16", "int8"])
def test_bags_of_short_rows(dtype: str, length: Any, threads: int) -> None:
    """Listed in blocks of 256 rows, of several bags or of a part of one; of a near table and of one that is prefetched."""
    rng = np.random.default_rng(3)
    for width in (1, 2, 3, 5, 8, 12, 16):
        for op in ("sum", "max") if width in (2, 3) else ("sum",):
            for rows in (7, 700_000 // width):
                compiled = bags(width, length, "n", rows, dtype, op)
                assert width == 1 or "bags" in {rule for _, rule in compiled.stats.kernels}
                x = rng.integers(-2, 3, (rows, width)).astype(dtype)  # whose sums are exact
                for count in (0, 1, 130):
                    for k in (0, 1, 100, 255, 256, 257, 600) if length == "k" else (length,):
                        if op == "max" and k == 0:
                            continue
                        i = rng.integers(-rows, rows, (count, k))
                        got = compiled(x, i)
                        want = getattr(x[i].astype("float64"), op)(1)
                        np.testing.assert_array_equal(got.astype("float64"), want)


@pytest.mark.parametrize("length", ["k", 4, 300], ids=str)
@pytest.mark.parametrize("rows", [9, 300_000])
def test_bags_of_short_rows_find_the_first_bad_index(length: Any, rows: int, threads: int) -> None:
    compiled = bags(3, length, "n", rows)
    assert "bags" in {rule for _, rule in compiled.stats.kernels}
    x = np.ones((rows, 3), np.float32)
    k = 5 if length == "k" else length
    for at in ((0, 0), (40, 2), (99, k - 1)):
        for bad in (rows, -rows - 1, np.iinfo(np.int64).min, np.iinfo(np.int64).max):
            i = np.zeros((100, k), np.int64)
            i[at] = i[99, k - 1] = bad
            with pytest.raises(gs.BoundsError, match=rf"\[{at[0]}, {at[1]}\]"):
                compiled(x, i)
    np.testing.assert_array_equal(compiled(x, np.zeros((100, k), np.int64)), np.full((100, 3), k, np.float32))
