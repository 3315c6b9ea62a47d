"""The ways in which llvm scatters, each around the sizes from which it is taken, against NumPy's ``ufunc.at``.

Values are small integers, whose sums are exact in any order, so that results are compared bit for bit.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.ir import tir as T
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.schedules import Checked, Context
from gscompile.schedules.llvm import RULES
from gscompile.schedules.llvm.costs import accumulator_ways
from gscompile.schedules.llvm.numbers import (
    CHUNKED_ELEMENTS,
    ORDERED_CELLS,
    PARALLEL_POINTS,
    POINT_BLOCK,
    PRIVATISED_BYTES,
    STREAMED_BYTES,
    WIDE_AXIS,
)
from gscompile.schedules.llvm.owned import OwnedRows
from tests.oracle import assert_same

Array = np.ndarray[Any, Any]
PRIVATISED_CELLS = PRIVATISED_BYTES // (4 * accumulator_ways(integer=False))  # of float32
UFUNC = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "sub": np.subtract}


@pytest.fixture(autouse=True)
def default_threads() -> Iterator[None]:
    before = gs.get_num_threads()
    yield
    gs.set_num_threads(before)


def numbers(shape: Any, dtype: str, reduction: str = "add") -> Array:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, shape) * 2 - 1 if reduction == "mul" else rng.integers(-2, 3, shape)
    return (x if np.dtype(dtype).kind != "u" else abs(x)).astype(dtype)


def put(
    x: Any, n: Any, dtype: str, index: str = "int64", rows: tuple[Any, ...] = (), target: Any = "llvm", **options: Any
) -> gs.Module:
    """A module that puts n rows into x."""
    b = gs.Builder("paths")
    width = x[1:]
    data, i = b.input("x", x, dtype), b.input("i", (n, *rows), index)
    b.output(b.put(data, i, b.input("s", (n, *width), dtype), **options))
    return b.build(target)


MANY_CORES = {"kind": "llvm", "num-cores": 64}


def rule(m: gs.Module) -> str:
    return m.stats.kernels[-1][1]


def reduced(x: Array, i: Any, s: Array, reduction: str) -> Array:
    if reduction == "update":
        out = x.copy()
        for k, row in zip(i.tolist(), s, strict=True):
            out[k] = row
        return out
    wide = x.astype(np.float64 if x.dtype.kind == "f" else x.dtype)
    UFUNC[reduction].at(wide, i, s.astype(wide.dtype))
    return wide.astype(x.dtype)


def same_for_all_threads(m: gs.Module, *args: Array) -> Array:
    """The result, which must be the same for 1, 2, 3 and 70 threads, and in place."""
    results = []
    for threads in (1, 2, 3, 70):
        gs.set_num_threads(threads)
        results.append(m(*args))
    gs.set_num_threads(2)
    inplace = args[0].copy()
    m(inplace, *args[1:], out=inplace)
    for other in [*results[1:], inplace]:
        assert other.tobytes() == results[0].tobytes()
    return results[0]


# -- which way is taken -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "points", "want"),
    [
        (64, PARALLEL_POINTS, "privatised"),
        (64, PARALLEL_POINTS - 1, "owned-rows"),
        (8192, 65_536, "privatised"),
        (8193, 65_536, "owned-rows"),
        (PRIVATISED_CELLS, 8 * PRIVATISED_CELLS, "privatised"),
        (PRIVATISED_CELLS + 1, 8 * PRIVATISED_CELLS + 8, "chunked"),
    ],
)
def test_few_cells(cells: int, points: int, want: str) -> None:
    m = put((cells,), points, "float32", reduction="add")
    assert rule(m) == want
    x, s = numbers(cells, "float32"), numbers(points, "float32")
    i = np.random.default_rng(0).integers(-cells, cells, points)
    assert_same(same_for_all_threads(m, x, i, s), reduced(x, i, s, "add"))


@pytest.mark.parametrize(
    ("rows", "points", "want"),
    [
        (100, CHUNKED_ELEMENTS // 4, "chunked"),
        (100, CHUNKED_ELEMENTS // 16 - 1, "owned-rows"),
        (1000, 20_000, "chunked"),
        (5001, 20_000, "owned-rows"),
    ],
)
def test_long_streams_of_rows(rows: int, points: int, want: str) -> None:
    m = put((rows, 16), points, "float32", reduction="add")
    assert rule(m) == want
    x, s = numbers((rows, 16), "float32"), numbers((points, 16), "float32")
    i = np.random.default_rng(0).integers(-rows, rows, points)
    assert_same(same_for_all_threads(m, x, i, s), reduced(x, i, s, "add"))


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(("edges", "width"), [(PARALLEL_POINTS, 1), (40_000, 3), (40_000, 20)])
def test_narrow_messages_go_in_chunks(edges: int, width: int, symbolic: bool) -> None:
    nodes = 9001
    n, e = ("n", "e") if symbolic else (nodes, edges)
    b = gs.Builder("messages")
    x, s = b.input("x", (n, width), "float32"), b.input("s", (e,), "int64")
    w, d = b.input("w", (e, 1), "float32"), b.input("d", (e,), "int64")
    b.output(b.put(b.zeros(x.shape, x.dtype), d, b.take(x, s) * w, reduction="add"))
    m = b.build()
    assert rule(m) == ("owned-rows" if width == 20 else "chunked")
    rng = np.random.default_rng(0)
    data, weights = numbers((nodes, width), "float32"), numbers((edges, 1), "float32")
    source, target = rng.integers(-nodes, nodes, (2, edges))
    want = reduced(np.zeros_like(data), target, data[source] * weights, "add")
    for threads in (1, 2, 3, 70):
        gs.set_num_threads(threads)
        assert_same(m(data, source, weights, target), want)
    for bad in (source, target):
        bad[edges // 2] = nodes
        with pytest.raises(IndexError):
            m(data, source, weights, target)
        bad[edges // 2] = 0


def scatter(rows: Any, points: Any, columns: Any, dtype: str = "float32", **options: Any) -> gs.Module:
    b = gs.Builder("paths")
    x, i = b.input("x", (rows, columns), dtype), b.input("i", (points, columns), "int64")
    b.output(b.scatter(x, i, b.input("s", (points, columns), dtype), 0, **options))
    return b.build()


def columnwise(x: Array, i: Array, s: Array, reduction: str = "add") -> Array:
    return reduced(x, (i, np.arange(x.shape[1])[None]), s, reduction)


@pytest.mark.parametrize(("shape", "dim"), [((1, 50), 1), ((50, 1), 0), ((1, 50, 1), 1), ((1, 1, 50), 2)])
@pytest.mark.parametrize(("points", "want"), [(PARALLEL_POINTS, "privatised"), (PARALLEL_POINTS - 1, "owned-rows")])
def test_shared_axes_of_extent_1_change_nothing(shape: tuple[int, ...], dim: int, points: int, want: str) -> None:
    there = tuple(points if n == 50 else 1 for n in shape)
    b = gs.Builder("paths")
    x_, i_ = b.input("x", shape, "float32"), b.input("i", there, "int64")
    b.output(b.scatter(x_, i_, b.input("s", there, "float32"), dim, reduction="add"))
    m = b.build()
    assert rule(m) == want
    x, s = numbers(shape, "float32"), numbers(there, "float32")
    i = np.random.default_rng(0).integers(-50, 50, there)
    found = same_for_all_threads(m, x, i, s)
    assert_same(found.ravel(), reduced(x.ravel(), i.ravel(), s.ravel(), "add"))


@pytest.mark.parametrize("columns", [1, 3, WIDE_AXIS - 1, WIDE_AXIS, 200])
def test_columns_that_a_call_brings_are_cut_as_known_ones(columns: int) -> None:
    """Bitwise: into as many chunks."""
    points = 300_000 // columns
    x, s = numbers((50, columns), "float32"), numbers((points, columns), "float32")
    i = np.random.default_rng(0).integers(-50, 50, (points, columns))
    known, unknown = (
        same_for_all_threads(scatter(*n, reduction="add"), x, i, s) for n in ((50, points, columns), "nmk")
    )
    if columns != 1:  # a tensor of one column is known to be a row
        assert np.array_equal(known, unknown)
    assert_same(unknown, columnwise(x, i, s))


@pytest.mark.parametrize("columns", [3, WIDE_AXIS - 1, WIDE_AXIS, 65])
def test_long_streams_of_elements(columns: int) -> None:
    """Of columns too few to share among threads, from the first size that is worth a second thread."""
    least = PARALLEL_POINTS if columns < WIDE_AXIS else STREAMED_BYTES // 4
    points = least // columns + 1
    m = scatter(50, points, columns, reduction="add")
    assert rule(m) == "chunked"
    assert rule(scatter(50, (least - 1) // columns, columns, reduction="add")) == "owner-computes"
    x, s = numbers((50, columns), "float32"), numbers((points, columns), "float32")
    i = np.random.default_rng(0).integers(-50, 50, (points, columns))
    assert_same(same_for_all_threads(m, x, i, s), columnwise(x, i, s))


@pytest.mark.parametrize("deterministic", [False, True])
def test_row_major_order_can_be_had(deterministic: bool) -> None:
    """Sums of floats of many magnitudes, which depend on their order."""
    rng = np.random.default_rng(0)
    x, i = np.zeros(8, np.float32), rng.integers(0, 8, 2 * PARALLEL_POINTS)
    s = (rng.standard_normal(len(i)) * np.exp2(rng.integers(-9, 9, len(i)))).astype(np.float32)
    m = put((8,), len(i), "float32", reduction="add", deterministic=deterministic)
    assert rule(m) == ("owned-rows" if deterministic else "privatised")
    got, want = same_for_all_threads(m, x, i, s), x.copy()
    np.add.at(want, i, s)
    assert (got.tobytes() == want.tobytes()) == deterministic
    np.testing.assert_allclose(got, want, rtol=1e-3)


def rowwise(shape: tuple[Any, ...], points: Any, dtype: str, **options: Any) -> gs.Module:
    """A module that scatters along the last axis."""
    b = gs.Builder("rowwise")
    x, i = b.input("x", shape, dtype), b.input("i", (*shape[:-1], points), "int64")
    b.output(b.scatter(x, i, b.input("s", (*shape[:-1], points), dtype), dim=len(shape) - 1, **options))
    return b.build()


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("bounds", ["raise", "fill", "clip", "wrap"])
@pytest.mark.parametrize(
    "dtype,reduction", [("int32", "mul"), ("int8", "add"), ("uint16", "max"), ("float32", "add"), ("float16", "add")]
)
def test_rows_of_few_cells_in_turns(dtype: str, reduction: str, bounds: str, symbolic: bool) -> None:
    rng = np.random.default_rng(0)
    m = rowwise(
        ("a", 3, "n") if symbolic else (20, 3, 5), "k" if symbolic else 503, dtype, reduction=reduction, bounds=bounds
    )
    assert "turns" in m.source("tir")
    for rows, cells, points in (
        [(20, 5, 503), (4, 1, 2000), (2, 5, 7), (1, 300, 999), (0, 5, 9)] if symbolic else [(20, 5, 503)]
    ):
        x, s = numbers((rows, 3, cells), dtype, reduction), numbers((rows, 3, points), dtype, reduction)
        ends = (0, cells) if bounds == "raise" else (-3 * cells, 3 * cells)
        i = rng.integers(*ends, s.shape)
        positive = np.where(i < 0, i + cells, i)
        at = {"clip": np.clip(positive, 0, cells - 1), "wrap": i % cells}.get(bounds, positive)
        kept = (at >= 0) & (at < cells)
        want, where = x.copy(), np.nonzero(kept)
        UFUNC[reduction].at(want, (*where[:2], at[kept]), s[kept])
        assert_same(same_for_all_threads(m, x, i, s), want)
        changed = x.copy()
        m(changed, i, s, out=changed)
        assert_same(changed, want)
        if bounds == "raise" and rows:
            i[-1, -1, -1] = cells
            with pytest.raises(gs.BoundsError, match=str(cells)):
                m(x, i, s)


def test_what_is_not_combined_in_turns() -> None:
    """Points whose order matters, cells that are many, updates, and columns."""
    for options in ({"deterministic": True}, {"reduction": "max"}, {"reduction": "update"}):
        m = rowwise((20, 5), 503, "float32", **{"reduction": "add", **options})
        assert "turns" not in m.source("tir")
    assert "turns" not in rowwise((20, 200), 503, "int32", reduction="add").source("tir")
    assert "turns" not in scatter(5, 503, 3, reduction="add").source("tir")


# -- many threads -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["update", "add"])
def test_points_sorted_by_owner(reduction: str) -> None:
    """Of few rows and of many, some threads own none; dropped points are in nobody's list."""
    rng = np.random.default_rng(0)
    for rows, width, count in [(3, 5, 200_000), (70, 1, 150_000), (20_000, 3, 140_000), (20_000, 3, 20)]:
        x, s = numbers((rows, width), "int32"), numbers((count, width), "int32")
        i = rng.integers(-rows - 1, rows + 1, count)
        kept = (-rows <= i) & (i < rows)
        b = gs.Builder("sorted")
        x_, i_, s_ = (b.input(name, a.shape, a.dtype.name) for name, a in (("x", x), ("i", i), ("s", s)))
        b.output(b.put(x_, i_, s_, reduction=reduction, bounds="fill"))
        m = b.build(MANY_CORES, rules=[OwnedRows(way="sorted by owner")])
        assert "for share in" in m.source("tir")
        want = reduced(x, i[kept], s[kept], reduction)
        for threads in (1, 2, 3, 7, 8, 64, 70):
            gs.set_num_threads(threads)
            assert_same(m(x, i, s), want)


@pytest.mark.parametrize("bounds", ["raise", "fill"])
def test_scattered_updates_are_made_one_by_one(bounds: str) -> None:
    """Of single elements, where cells and points come from memory; sorted ones are resolved in vectors."""
    rng = np.random.default_rng(0)
    cells, count = 2_200_000, 1_000_000
    x, s = numbers((cells,), "int8"), numbers((count,), "int8")
    b = gs.Builder("updates")
    x_, i_, s_ = b.input("x", (cells,), "int8"), b.input("i", (count,), "int64"), b.input("s", (count,), "int8")
    b.output(b.put(x_, i_, s_, bounds=bounds))
    m = b.build(rules=[OwnedRows(way="in order")])
    assert "for p in T.serial(" in m.source("tir")  # a loop over points in one copy
    i = rng.integers(-cells, cells, count)
    i[::1000] = i[0]
    for places in (i, np.sort(i)):
        assert_same(m(x, places, s), reduced(x, places, s, "update"))
    i[count // 2] = cells
    if bounds == "raise":
        with pytest.raises(gs.BoundsError, match=str(cells)):
            m(x, i, s)
    else:
        kept = i < cells
        assert_same(m(x, i, s), reduced(x, i[kept], s[kept], "update"))


def test_a_machine_of_few_cores_does_without_that_code() -> None:
    def text(cores: int) -> str:
        target = {"kind": "llvm", "num-cores": cores}
        return put(("n", 5), "k", "float32", reduction="add", deterministic=True, target=target).source("tir")

    assert ["for share in" in text(n) for n in (1, 6, 7, 64)] == [False, False, True, True]


class Visits:
    """The rules of llvm, in code that counts how often it looks where a point goes."""

    name = "visits"

    def __init__(self) -> None:
        self.count = ctypes.c_int64(0)

    def apply(self, nest: Any, ctx: Context) -> Any:
        if not isinstance(nest, ScatterNest):
            return None
        starts = nest.starts

        def counted(grid: Any) -> Any:
            found, ok = starts(grid)
            return [T.call_extern("int64", "visit", x) for x in found], ok

        counter = f"inttoptr (i64 {ctypes.addressof(self.count)} to ptr)"
        code = (
            "define i64 @visit(i64 %x) alwaysinline nounwind {\n"
            f"  %old = atomicrmw add ptr {counter}, i64 1 monotonic\n  ret i64 %x\n}}\n"
        )
        for rule in RULES:
            stmt = rule.apply(replace(nest, starts=counted), ctx)
            if stmt is not None:
                self.rule = rule.name
                return (
                    Checked(T.import_llvm(code, stmt.stmt)) if isinstance(stmt, Checked) else T.import_llvm(code, stmt)
                )
        return None


@pytest.mark.parametrize(
    ("rows", "width", "reduction", "want", "looks"),
    [
        (20_000, 1, "add", "privatised", {1: 1, 2: 1 / 2, 4: 1 / 4, 8: 1 / 8, 64: 1 / 64}),
        # one thread alone, or points that are sorted, which are looked at once
        (10_000, 4, "sub", "owned-rows", {1: 1, 2: 1 / 2, 4: 1 / 4, 16: 1 / 16, 64: 1 / 64}),
        # each at every point for its list, and at those of 4 + 48 of 391 blocks for the span: by one thread, too, since the rows
        # are not near each other; from 8 threads on points are sorted
        (40_000, 20, "sub", "owned-rows", {1: 1.133, 2: 1.133, 4: 1.133, 8: 1 / 8, 16: 1 / 16, 64: 1 / 64}),
        # four chunks, and in each the threads that share it: the list, and the span of 4 + 12 of 98 blocks
        (2000, 16, "add", "chunked", {1: 1, 2: 1 / 2, 4: 1 / 4, 8: 0.291, 64: 0.291}),
    ],
)
def test_how_often_a_thread_looks_where_a_point_goes(
    rows: int, width: int, reduction: str, want: str, looks: dict[int, float]
) -> None:
    """On average, as a multiple of the number of points."""
    points = 400_000
    visits = Visits()
    b = gs.Builder("visits")
    x, i = b.input("x", (rows, width), "int32"), b.input("i", (points,), "int64")
    b.output(b.put(x, i, b.input("s", (points, width), "int32"), reduction=reduction))
    m = b.build(MANY_CORES, rules=[visits])
    x_, s_ = numbers((rows, width), "int32"), numbers((points, width), "int32")
    i_ = np.random.default_rng(0).integers(0, rows, points)
    sums = reduced(x_, i_, s_, reduction)
    found = {}
    for threads in looks:
        gs.set_num_threads(threads)
        visits.count.value = 0
        assert_same(m(x_, i_, s_), sums)
        found[threads] = visits.count.value / threads / points
    assert visits.rule == want
    assert found == pytest.approx(looks, rel=0.01)


@pytest.mark.parametrize("points", [1, 8, 15, 16, 17, 40])
def test_few_points_and_sizes_that_a_call_tells(points: int) -> None:
    """TVM once divided by zero in code that such sizes cannot reach."""
    for shape, depth in (((13, "n"), 1), (("m", "k", "n"), 2)):
        b = gs.Builder("few")
        x, i = b.input("x", shape, "float32"), b.input("i", (points, depth), "int32")
        src = b.input("src", (points, "n"), "float32")
        b.output(b.scatter_nd(x, i, src, reduction="max"))
        x_ = np.zeros((13, 11, 15)[: len(shape)], "float32")
        src_ = numbers((points, x_.shape[-1]), "float32")
        i_ = np.random.default_rng(points).integers(0, 11, (points, depth), "int32")
        want = x_.copy()
        np.maximum.at(want, tuple(i_.T), src_)
        assert_same(b.build("llvm")(x_, i_, src_), want)


# -- every reduction and type -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "int64", "int32"])
@pytest.mark.parametrize("reduction", ["update", "add", "sub", "mul", "min", "max"])
def test_reductions_and_types(reduction: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    for shape, count, index in [
        ((9,), PARALLEL_POINTS, "int32"),
        ((5, 3), POINT_BLOCK + 1, "int16"),
        ((40, 17), 3 * POINT_BLOCK, "int64"),
    ]:
        m = put(shape, count, dtype, index, reduction=reduction)
        x, s = numbers(shape, dtype, reduction), numbers((count, *shape[1:]), dtype, reduction)
        i = rng.integers(-shape[0], shape[0], count).astype(index)
        assert_same(same_for_all_threads(m, x, i, s), reduced(x, i, s, reduction))


@pytest.mark.parametrize("dtype", ["float16", "int8", "int64"])
@pytest.mark.parametrize("reduction", ["add", "mul", "max"])
def test_reductions_and_types_of_long_streams(reduction: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    count = CHUNKED_ELEMENTS
    x, s = numbers((50, 5), dtype, reduction), numbers((count, 5), dtype, reduction)
    i = rng.integers(-50, 50, count)
    m = put((50, 5), count, dtype, reduction=reduction)
    assert rule(m) == "chunked"
    assert_same(same_for_all_threads(m, x, i, s), reduced(x, i, s, reduction))
    count = STREAMED_BYTES // np.dtype(dtype).itemsize // 64
    x, s = numbers((50, 64), dtype, reduction), numbers((count, 64), dtype, reduction)
    i = rng.integers(-50, 50, (count, 64))
    m = scatter(50, count, 64, dtype, reduction=reduction)
    assert rule(m) == "chunked"
    assert_same(same_for_all_threads(m, x, i, s), columnwise(x, i, s, reduction))


def test_zeros_and_nan_keep_their_order() -> None:
    """Of -0.0 and 0.0 the last stays, and NaN wins, in the copies as in the order of the points."""
    s = np.tile(np.array([0.0, -0.0, 0.0, -0.0, -0.0], np.float32), PARALLEL_POINTS // 4)
    i = np.arange(len(s)) % 7
    for reduction in ("min", "max"):
        few = put((7,), len(s), "float32", reduction=reduction)
        assert rule(few) == "privatised"
        x = np.full(7, np.inf if reduction == "min" else -np.inf, np.float32)
        got = same_for_all_threads(few, x, i, s)
        last = np.array([s[i == k][-1] for k in range(7)])
        assert_same(got, last)
        t = s.copy()
        t[5] = np.nan
        assert np.isnan(same_for_all_threads(few, x, i, t)).tolist() == [False] * 5 + [True, False]
    add = put((7,), len(s), "float32", reduction="add")
    assert np.signbit(
        same_for_all_threads(add, np.full(7, -0.0, np.float32), i, np.full(len(s), -0.0, np.float32))
    ).all()


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("cells", [1, 5, ORDERED_CELLS, ORDERED_CELLS + 1])
@pytest.mark.parametrize(("dtype", "codes"), [("float16", "uint16"), ("float32", "uint32"), ("float64", "uint64")])
def test_minima_of_points_in_any_order_keep_the_last_zero_and_the_first_nan(
    dtype: str, codes: str, cells: int, symbolic: bool
) -> None:
    """Where accumulators have runs of the points: zeros and NaN of either sign, NaN with payloads, bit for bit."""
    points = PARALLEL_POINTS + 13
    rng = np.random.default_rng(cells)
    values = rng.choice(np.array([0.0, -0.0, 1.0, 2.0, -1.0], dtype), points, p=[0.3, 0.3, 0.2, 0.19, 0.01])
    nan = np.full(points, np.nan, dtype).view(codes) | rng.integers(0, 64, points).astype(codes)
    values = np.where(rng.random(points) < 1e-3, nan.view(dtype), values)
    for reduction in ("min", "max"):
        m = put(
            ("n",) if symbolic else (cells,), "k" if symbolic else points, dtype, reduction=reduction, bounds="fill"
        )
        assert rule(m) == "privatised"
        x = rng.choice(np.array([3.0, 0.0, -0.0, -3.0], dtype), cells)
        anywhere = rng.integers(0, cells, points)
        constant, dropped = np.full(points, cells - 1), np.where(rng.random(points) < 0.1, cells, anywhere)
        for i in (anywhere, np.sort(anywhere), constant, dropped):
            # the first NaN of a cell, else the last of its least values
            got = same_for_all_threads(m, x, i, values).view(codes)
            all_values, cell = np.concatenate([x, values]), np.concatenate([np.arange(cells), i])
            key = np.where(np.isnan(all_values), -np.inf, all_values * (1 if reduction == "min" else -1))
            place = np.where(np.isnan(all_values), 1, -1) * np.arange(len(cell))
            best = np.lexsort((place, key, cell))
            best = best[np.unique(cell[best], return_index=True)[1]]
            assert got.tolist() == all_values[best][:cells].view(codes).tolist()


# -- indices ----------------------------------------------------------------------------------------------------------

MODULES: dict[str, tuple[Callable[..., gs.Module], tuple[int, ...], tuple[int, ...]]] = {
    "privatised": (lambda x, i, **o: put(x, i[0], "float32", **o), (33,), (PARALLEL_POINTS + 7,)),
    "owned-rows": (lambda x, i, **o: put(x, i[0], "float32", **o), (33, 5), (2 * POINT_BLOCK + 3,)),
    "chunked": (lambda x, i, **o: put(x, i[0], "float32", **o), (33, 5), (CHUNKED_ELEMENTS,)),
    "chunked elements": (lambda x, i, **o: scatter(x[0], i[0], i[1], **o), (33, 64), (STREAMED_BYTES // 256 + 5, 64)),
    "privatised pairs": (lambda x, i, **o: put_nd(x, i[0], **o), (6, 7), (PARALLEL_POINTS + 1, 2)),
    "owned-rows pairs": (lambda x, i, **o: put_nd(x, i[0], **o), (6, 7, 3), (POINT_BLOCK - 1, 2)),
}


def put_nd(x: Any, n: Any, **options: Any) -> gs.Module:
    b = gs.Builder("paths")
    data, i = b.input("x", x, "float32"), b.input("i", (n, 2), "int64")
    b.output(b.scatter_nd(data, i, b.input("s", (n, *x[2:]), "float32"), **options))
    return b.build()


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_indices_out_of_range(name: str, threads: int) -> None:
    """The first one is named wherever it stands, nothing is written in place, and fill drops just those points."""
    gs.set_num_threads(threads)
    make, shape, index_shape = MODULES[name]
    rng = np.random.default_rng(0)
    low = min(shape[: 2 if "pairs" in name else 1])
    good = rng.integers(0, low, index_shape)
    src = numbers(
        index_shape if "elements" in name else (index_shape[0], *shape[2 if "pairs" in name else 1 :]), "float32"
    )
    x = numbers(shape, "float32")
    raising = make(shape, index_shape, reduction="add")
    filling = make(shape, index_shape, reduction="add", bounds="fill")
    assert rule(raising) == name.split()[0]
    flat = good.size
    for places, value in [
        ([flat - 1], 1000),
        ([0], -(1 << 62)),
        ([flat - 2, flat // 2 + 1], shape[0]),
        ([POINT_BLOCK, 2], -34),
    ]:
        bad = good.copy()
        bad.reshape(-1)[places] = value
        data = x.copy()
        for out in (None, np.empty_like(x), data):
            with pytest.raises(gs.BoundsError) as caught:
                raising(data, bad, src, out=out)
            assert np.ravel_multi_index(caught.value.position, index_shape) == min(places)
            assert caught.value.value == value
            assert_same(data, x)
        dropped = np.isin(np.arange(flat), places).reshape(index_shape)
        if "elements" in name:
            want = columnwise(x, good, np.where(dropped, 0, src))
        else:
            gone = dropped.reshape(len(dropped), -1).any(1)
            kept = good[~gone]
            want = reduced(x, tuple(kept.T) if "pairs" in name else kept, src[~gone], "add")
        assert_same(filling(x, bad, src), want)
    # after a call that raised, the next is as if it had not been
    assert_same(raising(x, good, src), filling(x, good, src))


@pytest.mark.parametrize(("shape", "want"), [((6, 70), "privatised"), ((40, 170), "owned-rows")])
def test_components_in_another_order(shape: tuple[int, int], want: str) -> None:
    """The index vector names the last axis first, over a grid of two axes."""
    count, rng = PARALLEL_POINTS // 8, np.random.default_rng(0)
    b = gs.Builder("paths")
    x, i = b.input("x", shape, "int32"), b.input("i", (count, 8, 2), "int64")
    b.output(b.scatter_nd(x, i, b.input("s", (count, 8), "int32"), dims=[1, 0], reduction="add"))
    m = b.build()
    assert rule(m) == want
    x_, s_ = numbers(shape, "int32"), numbers((count, 8), "int32")
    i_ = np.stack([rng.integers(0, shape[1], (count, 8)), rng.integers(0, shape[0], (count, 8))], -1)
    assert_same(same_for_all_threads(m, x_, i_, s_), reduced(x_, (i_[..., 1], i_[..., 0]), s_, "add"))


@pytest.mark.parametrize("bounds", ["raise", "clip", "wrap"])
def test_no_cells_at_all(bounds: str) -> None:
    m = put(("n",), "k", "float32", reduction="add", bounds=bounds)
    for k in (1, PARALLEL_POINTS):
        for value in (0, -1, 5):
            with pytest.raises(gs.BoundsError):
                m(np.zeros(0, np.float32), np.full(k, value), np.zeros(k, np.float32))
    assert m(np.zeros(0, np.float32), np.zeros(0, np.int64), np.zeros(0, np.float32)).shape == (0,)


def test_symbolic_sizes() -> None:
    """One module takes each way as the sizes of a call say."""
    rng = np.random.default_rng(0)
    m = put(("n",), "k", "float32", reduction="add")
    for n, k in [
        (5, 0),
        (5, 1),
        (5, PARALLEL_POINTS - 1),
        (5, PARALLEL_POINTS),
        (PRIVATISED_CELLS + 1, 8 * PRIVATISED_CELLS + 99),
        (1, 100_000),
    ]:
        x, s, i = numbers(n, "float32"), numbers(k, "float32"), rng.integers(-n, n, k)
        assert_same(same_for_all_threads(m, x, i, s), reduced(x, i, s, "add"))
        if k:
            i[-1] = n
            with pytest.raises(gs.BoundsError):
                m(x, i, s)
    m = put(("n", "w"), "k", "float32", reduction="add")
    for n, w, k in [
        (7, 3, 100),
        (7, 64, STREAMED_BYTES // 256),
        (7, 64, STREAMED_BYTES // 256 - 1),
        (0, 5, 0),
        (3, 0, 9),
        (100, 1, 40_000),
    ]:
        x, s, i = (
            numbers((n, w), "float32"),
            numbers((k, w), "float32"),
            rng.integers(-n, n, k) if n else np.zeros(k, np.int64),
        )
        assert_same(same_for_all_threads(m, x, i, s), reduced(x, i, s, "add"))
    m = scatter("n", "k", "w", reduction="add")
    for n, w, k in [(7, 3, 100), (7, 64, STREAMED_BYTES // 256), (7, 64, STREAMED_BYTES // 256 - 1), (3, 0, 9)]:
        x, s, i = numbers((n, w), "float32"), numbers((k, w), "float32"), rng.integers(-n, n, (k, w))
        assert_same(same_for_all_threads(m, x, i, s), columnwise(x, i, s))


def test_data_of_another_rank() -> None:
    """Rows put into a tensor that is a reshaped input: the copy of data is not one of rows in place."""
    b = gs.Builder()
    x, i, s = b.input("x", (40, 6), "float32"), b.input("i", (9,), "int64"), b.input("s", (9,), "float32")
    b.output(b.put(b.reshape(x, (240,)), i, s, reduction="add"))
    data, index = numbers((40, 6), "float32"), np.arange(9) * 26 % 240
    want = data.reshape(-1).copy()
    np.add.at(want, index, np.ones(9, "float32"))
    assert_same(b.build()(data, index, np.ones(9, "float32")), want)
