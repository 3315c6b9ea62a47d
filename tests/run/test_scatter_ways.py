"""Every way in which llvm scatters rows, whatever it is estimated to take, at indices in many orders, against ``ufunc.at``.

Values are small integers, whose sums are exact in any order, so that results are compared bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.schedules.llvm.chunked import Chunked
from gscompile.schedules.llvm.numbers import (
    CHUNKED_ELEMENTS,
    LISTED_POINTS,
    LISTED_TILE,
    LISTED_WIDTH,
    NARROW_ELEMENTS,
    POINT_BLOCK,
    resident_bytes,
)
from gscompile.schedules.llvm.owned import OwnedRows
from gscompile.schedules.llvm.privatised import Privatised
from gscompile.schedules.rule import Target
from tests.cases import numpy_dtype
from tests.oracle import assert_same

Array = np.ndarray[Any, Any]
UFUNC = {"add": np.add, "min": np.minimum, "max": np.maximum, "mul": np.multiply}
WAYS = {
    "in order": OwnedRows(way="in order"),
    "index scan": OwnedRows(way="index scan"),
    "sorted by owner": OwnedRows(way="sorted by owner"),
    "row by row": OwnedRows(way="row by row"),
    "privatised": Privatised(always=True),
    "chunked": Chunked(always=True),
}
NEAR = resident_bytes(Target("llvm", 32, "x86-64-v3"))


@pytest.fixture(autouse=True)
def default_threads() -> Iterator[None]:
    before = gs.get_num_threads()
    yield
    gs.set_num_threads(before)


def orders(rows: int, points: int) -> dict[str, Array]:
    """Indices of axis of so many rows."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, rows, points)
    found = {
        "random": drawn,
        "sorted": np.sort(drawn),
        "descending": np.sort(drawn)[::-1].copy(),
        "runs": np.repeat(drawn[: points // 50 + 1], 50)[:points],
        "one": np.full(points, rows - 1),
        "two in turns": np.arange(points) % 2 * (rows - 1),
        "sorted, but for its ends": np.concatenate([[rows - 1], np.sort(drawn)[1:-1], [0]]),
    }
    return found | {"negative": found["runs"] - rows}


def module(shape: tuple[Any, ...], points: Any, dtype: str, rules: list[Any], **options: Any) -> gs.Module:
    b = gs.Builder("ways")
    depth = options.pop("depth", 1)
    x, i = b.input("x", shape, dtype), b.input("i", (points, depth), "int64")
    src = b.input("src", (points, *shape[depth:]), dtype)
    b.output(b.scatter_nd(x, i, src, **options))
    return b.build("llvm", rules=rules)


def whole(shape: Any, dtype: str, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


def check(m: gs.Module, x: Array, i: Array, src: Array, reduction: str) -> None:
    """The result, and in place, by one thread and by several."""
    want = x.copy()
    UFUNC[reduction].at(want, tuple(i.T), src)
    for threads in (1, 2, 5):
        gs.set_num_threads(threads)
        assert_same(m(x, i, src), want)
        changed = x.copy()
        m(changed, i, src, out=changed)
        assert_same(changed, want)


@pytest.mark.parametrize(
    ("way", "width"),
    [
        ("privatised", 1),  # for single elements
        *(
            (way, w)
            for way in WAYS
            if way != "privatised"
            for w in (1, 3, NARROW_ELEMENTS, NARROW_ELEMENTS + 1, 40, 41)
        ),
    ],
)
def test_orders(way: str, width: int) -> None:
    rows, points = 37, max(CHUNKED_ELEMENTS // width, 2 * POINT_BLOCK) + 5
    m = module((rows, width), points, "int32", [WAYS[way]], reduction="add")
    x, src = whole((rows, width), "int32"), whole((points, width), "int32")
    for i in orders(rows, points).values():
        check(m, x, i[:, None], src, "add")


@pytest.mark.parametrize("reduction", ["add", "max"])
def test_orders_of_rows_that_are_not_near(reduction: str) -> None:
    """Blocks that a thread skips, adds as they come, and lists, of a table that no cache of a core holds."""
    width = 20
    rows, points = 6 * NEAR // (4 * width), 5 * POINT_BLOCK + 3
    for sizes in ((rows, points), ("n", "k")):
        m = module((sizes[0], width), sizes[1], "float32", [], reduction=reduction)
        x, src = whole((rows, width), "float32"), whole((points, width), "float32")
        for i in orders(rows, points).values():
            check(m, x, i[:, None], src, reduction)


@pytest.mark.parametrize("bounds", ["clip", "wrap", "fill"])
@pytest.mark.parametrize("way", ["in order", "index scan", "chunked", "row by row"])
def test_runs_of_indices_out_of_range(way: str, bounds: str) -> None:
    rows, points = 40, CHUNKED_ELEMENTS // 2 + 3
    m = module((rows, 2), points, "int64", [WAYS[way]], reduction="add", bounds=bounds)
    x, src = whole((rows, 2), "int64"), whole((points, 2), "int64")
    i = np.repeat(np.random.default_rng(0).integers(-3 * rows, 3 * rows, points // 20 + 1), 20)[:points]
    positive = np.where(i < 0, i + rows, i)
    at = {"clip": np.clip(positive, 0, rows - 1), "wrap": i % rows, "fill": positive}[bounds]
    kept = (at >= 0) & (at < rows)
    want = x.copy()
    np.add.at(want, at[kept], src[kept])
    for threads in (1, 3):
        gs.set_num_threads(threads)
        assert_same(m(x, i[:, None], src), want)


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16"])
def test_chunks_of_rows_whose_width_a_call_tells(dtype: str) -> None:
    """Widths around those of vectors and blocks; two chunks, four, and none."""
    m = module(("n", "w"), "k", dtype, [WAYS["chunked"]], reduction="add")
    for width in (0, 1, 3, 7, 8, 9, 16, 33, 4096, 4101):
        for per_row in (2, 40):
            points = CHUNKED_ELEMENTS // max(width, 1) + 1
            rows = max(points // per_row, 1)
            i = np.random.default_rng(width).integers(-rows, rows, (points, 1))
            x, src = whole((rows, width), dtype), np.tile(whole((50, width), dtype), (points // 50 + 1, 1))[:points]
            check(m, x, i, src, "add")
    check(m, whole((5, 9), dtype), np.array([[0], [4], [0]]), whole((3, 9), dtype), "add")


@pytest.mark.parametrize("symbolic", [False, True])
def test_index_vectors_in_any_order(symbolic: bool) -> None:
    for shape, points in (((5, 7, 3), 3000), ((50, 70), CHUNKED_ELEMENTS + 1), ((2, 3, 4, 5), 700)):
        depth = 2 if len(shape) < 4 else 4
        given = ("n", "q", *shape[2:]) if symbolic else shape
        m = module(given, "k" if symbolic else points, "int32", [], reduction="add", depth=depth)
        x, src = whole(shape, "int32"), whole((points, *shape[depth:]), "int32")
        for flat in orders(int(np.prod(shape[:depth])), points).values():
            i = np.stack(np.unravel_index(flat % np.prod(shape[:depth]), shape[:depth]), 1)
            check(m, x, i, src, "add")


WIDENED = [
    *((4000, 16), (40_000, 16), (40_000, 3), (900, 64), (50, 33), (300_000, 1)),
    *((2000, LISTED_WIDTH), (301, LISTED_TILE + 9)),  # also row by row
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("rows", "width"), WIDENED)
def test_wider_totals_of_the_rows_that_are_hit(rows: int, width: int, dtype: str) -> None:
    """Few points and many rows, many and few; rounded once, at the end."""
    numpy: Any = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype
    points = 3000
    i = np.random.default_rng(0).integers(0, rows, points)
    x, src = whole((rows, width), "float32"), whole((points, width), "float32") / 512
    want = x.copy()
    np.add.at(want, i, src)
    for sizes, rules in (
        ((rows, points, width), []),
        (("n", "k", width), []),
        (("n", "k", "w"), []),
        ((rows, points, width), [WAYS["in order"]]),
        ((rows, points, width), [WAYS["sorted by owner"]]),
        ((rows, points, width), [WAYS["row by row"]]),
        (("n", "k", "w"), [WAYS["row by row"]]),
    ):
        m = module((sizes[0], sizes[2]), sizes[1], dtype, rules, reduction="add")
        for threads in (1, 2, 3):
            gs.set_num_threads(threads)
            given = x.astype(numpy)
            assert_same(m(given, i[:, None], src.astype(numpy)), want.astype(numpy))
            m(given, i[:, None], src.astype(numpy), out=given)
            assert_same(given, want.astype(numpy))


def test_rows_are_made_one_after_the_other_where_that_saves_totals() -> None:
    """One by one by an estimate; rows that several axes number, with a window that is not the last axis; no totals in memory."""
    m = module((2, 150, 1030, 1), 300, "float16", [], reduction="add", depth=2)
    assert "least: row by row" in m.explain()
    assert m.stats.workspace_bytes < 8 * (300 + 3 * 300) + 3 * 64  # lists, aligned
    x, src = whole((2, 150, 1030, 1), "float16"), whole((300, 1030, 1), "float16")
    i = np.random.default_rng(0).integers(0, [2, 150], (300, 2))
    check(m, x, i, src, "add")
    narrow = module((150, LISTED_WIDTH // 2), 300, "float16", [], reduction="add")
    assert "row by row" not in narrow.explain()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("reduction", ["max", "min"])
def test_the_largest_of_16_bits_as_it_is(reduction: str, dtype: str) -> None:
    """NaN wins, of zeros of both signs the last stays, and the output is all that is written: no wider totals."""
    numpy: Any = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype
    x = np.full((6, 3), np.inf if reduction == "min" else -np.inf)
    src = np.array([[0.0, -0.0, 1], [-0.0, 0.0, np.nan], [5, -5, 2], [2, -7, 3], [np.nan, 1, 1], [0, 0, 0]])
    i = np.array([0, 0, 1, 1, 2, 3])[:, None]
    m = module((6, 3), 6, dtype, [], reduction=reduction)
    assert m.stats.workspace_bytes == 0
    got = m(x.astype(numpy), i, src.astype(numpy)).astype("float32")
    pick = np.minimum if reduction == "min" else np.maximum
    assert np.signbit(got[0, :2]).tolist() == [True, False] and np.isnan(got[0, 2]) and np.isnan(got[2, 0])
    assert_same(got[1], pick(src[2], src[3]).astype("float32"))
    assert_same(got[4:], x[4:].astype("float32"))


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("dtype", "reduction"), [("float32", "min"), ("float32", "add"), ("float16", "add"), ("float64", "mul")]
)
def test_runs_of_single_elements_along_an_axis(dtype: str, reduction: str, symbolic: bool) -> None:
    """In rows that are all of runs, and where only the first row is, by which the way is chosen."""
    shape, points = (11, 2, 20), 300
    b = gs.Builder("along")
    sizes = ("n", 2, "k") if symbolic else shape
    x = b.input("x", sizes, dtype)
    i = b.input("i", (*sizes[:2], "m" if symbolic else points), "int64")
    src = b.input("src", (*sizes[:2], "m" if symbolic else points), dtype)
    b.output(b.scatter(x, i, src, dim=-1, reduction=reduction))
    m = b.build("llvm")
    assert m.stats.kernels[-1][1] == "owner-computes"
    data, values = whole(shape, dtype), whole((*shape[:2], points), dtype)
    if reduction == "mul":
        values = np.where(values < 0, -1, 1).astype(dtype)
    for row in orders(shape[-1], points).values():
        index = np.broadcast_to(row, values.shape).copy()
        index[shape[0] // 2 :] = np.random.default_rng(2).permuted(index[shape[0] // 2 :], axis=-1)
        want = data.astype(np.float64)
        a, c, _ = np.indices(index.shape)
        UFUNC[reduction].at(want, (a, c, index), values.astype(np.float64))
        for threads in (1, 2, 5):
            gs.set_num_threads(threads)
            assert_same(m(data, index, values), want.astype(dtype))
        bad = index.copy()
        bad[7, 1, 5] = shape[-1]
        with pytest.raises(gs.BoundsError, match="7, 1, 5"):
            m(data, bad, values)
    if symbolic:
        for empty in ((0, 2, 20, points), (11, 2, 20, 0), (11, 2, 0, 0)):
            n, _, k, p = empty
            args = (np.ones((n, 2, k), dtype), np.zeros((n, 2, p), "int64"), np.ones((n, 2, p), dtype))
            assert_same(m(*args), args[0])


@pytest.mark.parametrize("bounds", ["raise", "fill", "wrap", "trust"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
@pytest.mark.parametrize("shape", [(45,), (3, 45), (2, 2, 45)], ids=str)
def test_listed_elements(shape: tuple[int, ...], dtype: str, bounds: str) -> None:
    """Single elements whose cells are listed by vectors: in one row, and along the last axis of several."""
    points = 2 * LISTED_POINTS + 77
    b = gs.Builder("listed")
    x, i = b.input("x", shape, dtype), b.input("i", (*shape[:-1], points), "int32")
    v = b.input("src", (*shape[:-1], points), dtype)
    b.output(b.scatter(x, i, v, dim=-1, reduction="add", bounds=bounds))
    m = b.build()
    rng = np.random.default_rng(5)
    index = rng.integers(-45, 45, (*shape[:-1], points)).astype(np.int32)
    if bounds == "fill":
        index[..., [0, LISTED_POINTS - 1, LISTED_POINTS, -1]] = 45, -46, 2**31 - 1, -(2**31)
    data, values = whole(shape, "float32"), whole(index.shape, "float32")
    want = data.copy()
    taken = (index >= -45) & (index < 45)
    grid = np.indices(index.shape)[:-1]
    np.add.at(want, (*tuple(g[taken] for g in grid), index[taken]), values[taken])
    given, src = data.astype(numpy_dtype(dtype)), values.astype(numpy_dtype(dtype))
    for threads in (1, 2, 5):
        gs.set_num_threads(threads)
        assert_same(np.asarray(m(given, index, src)).astype(np.float32), want)
    if bounds == "raise":
        for place in (0, LISTED_POINTS - 1, LISTED_POINTS, points - 1):
            for bad in (45, -46):
                wrong = index.copy()
                wrong.reshape(-1)[place - points] = bad
                with pytest.raises(gs.BoundsError, match=str(bad)):
                    m(given, wrong, src)
