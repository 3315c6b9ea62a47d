"""The rules for llvm that large gathers meet, at sizes on both sides of their thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gscompile as gs
from gscompile.bench.workload import numpy_dtype
from gscompile.ir import machine
from gscompile.ir import tir as T
from gscompile.schedules import Rule
from gscompile.schedules.llvm.numbers import COPY_BLOCK, LEAST_COPIED_AHEAD, PICK_BLOCK
from gscompile.schedules.llvm.packed_columns import PackedColumns
from tests.oracle import assert_same
from tests.run.test_guard_pages import Fence, Say, in_child
from tests.run.test_wrapped_counters import X86

Array = np.ndarray[Any, Any]
BOUNDS = ["raise", "clip", "wrap", "fill", "trust"]
CPU = {"kind": "llvm", "mcpu": machine.host_cpu()}
"""This CPU by its name: what is known of caches is then the same on every machine, and so are the rules that are chosen."""


@pytest.fixture(autouse=True)
def threads() -> Any:
    was = gs.get_num_threads()
    yield
    gs.set_num_threads(was)


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    """Data whose elements differ from their neighbours."""
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) * 7 % 251).astype(dtype)


def ugly(rng: np.random.Generator, size: int, shape: tuple[int, ...], bounds: str, dtype: str = "int64") -> Array:
    """Indices; out of range at the first, a middle and the last position where that is not an error."""
    index = rng.integers(-size, size, shape).astype(dtype)
    if bounds in ("clip", "wrap", "fill") and index.size:
        flat = index.reshape(-1)
        info = np.iinfo(dtype)
        for at, value in [(0, size), (flat.size // 2, info.min), (flat.size // 3, -size - 1), (-1, info.max)]:
            flat[at] = value
    return index


def resolved(index: Array, size: int, bounds: str) -> tuple[Array, Array]:
    """What an index means: the position, and whether there is one."""
    wide = index.astype(object)
    if bounds == "wrap":
        return (wide % size).astype(np.int64), np.ones(index.shape, bool)
    wide = np.where(wide < 0, wide + size, wide)
    ok = np.array((wide >= 0) & (wide < size), bool)
    return np.clip(wide, 0, size - 1).astype(np.int64), ok if bounds == "fill" else np.ones(index.shape, bool)


def run(b: gs.Builder, rule: str | None, arrays: list[Array], want: Array, rules: Sequence[Rule] = ()) -> None:
    m = b.build(CPU, rules=rules)
    used = [r for _, r in m.stats.kernels]
    assert rule is None or rule in used, used
    for n in (1, 2, 5):
        gs.set_num_threads(n)
        assert_same(m(*arrays), want)


def inputs(b: gs.Builder, arrays: list[Array], symbolic: bool) -> list[gs.Value]:
    names: dict[int, str] = {}
    return [
        b.input(f"a{k}", [names.setdefault(n, f"n{len(names)}") if symbolic else n for n in a.shape], a.dtype)
        for k, a in enumerate(arrays)
    ]


# -- rows that are picked from ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize(
    "rows,width,picks", [(300, 256, 40), (70, 1024, 129), (3, 5000, 700), (1, 64, 64), (40, 65, 1)]
)
def test_elements_of_rows(rows: int, width: int, picks: int, bounds: str, symbolic: bool) -> None:
    """gather along the last axis: rows longer and shorter than what is prefetched, pieces that do not come out even."""
    x = numbers((rows, width), "float32")
    i = ugly(np.random.default_rng(0), width, (rows, picks), bounds)
    b = gs.Builder()
    d, index = inputs(b, [x, i], symbolic)
    b.output(b.gather(d, index, 1, bounds=bounds, **({"fill": -3} if bounds == "fill" else {})))
    at, ok = resolved(i, width, bounds)
    picked = 4 * width >= 256 and 4 * width <= 32 * picks and rows > 1
    run(b, "picked-rows" if picked else None, [x, i], np.where(ok, np.take_along_axis(x, at, 1), np.float32(-3)))


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("picks", [90, 1030])
def test_near_elements_of_rows(picks: int, bounds: str, symbolic: bool) -> None:
    """All in a quarter of a row, in some rows or in all: no other lines are prefetched, which changes no result."""
    x, rng = numbers((60, 2000), "float32"), np.random.default_rng(picks)
    near, last, all_of_it = (1500, 1700), (1999, 2000), (0, 2000)
    for first, others in ((near, near), (last, last), (near, all_of_it), (all_of_it, near)):
        i = np.concatenate([rng.integers(*span, (30, picks)) for span in (first, others)])
        if bounds != "raise":
            i[7, ::5], i[50, 1::5] = (2**63 - 1, -1) if bounds != "trust" else (1999, 0)
        b = gs.Builder()
        d, index = inputs(b, [x, i], symbolic)
        b.output(b.gather(d, index, 1, bounds=bounds, **({"fill": -3} if bounds == "fill" else {})))
        at, ok = resolved(i, 2000, bounds)
        run(b, "picked-rows", [x, i], np.where(ok, np.take_along_axis(x, at, 1), np.float32(-3)))


def test_where_elements_lie_is_looked_at_only_where_rows_are_prefetched() -> None:
    for shape, looks in (((20_000, 2000), True), ((300, 2000), False)):
        b = gs.Builder()
        b.output(b.take(b.input("x", shape, "float32"), b.input("i", (600,), "int64"), 1))
        assert ("span" in b.build(CPU).source("tir")) == looks


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("ones", [1, 2])
def test_elements_of_rows_before_axes_of_extent_1(ones: int, symbolic: bool) -> None:
    """These change nothing of where elements lie."""
    x, last = numbers((300, 256), "float32"), (1,) * ones
    i = np.random.default_rng(0).integers(0, 256, 70)
    b = gs.Builder()
    d = b.input("x", ("n" if symbolic else 300, 256, *last), "float32")
    b.output(b.take(d, b.input("i", i.shape, "int64"), 1))
    run(b, "picked-rows", [x.reshape(300, 256, *last), i], x[:, i].reshape(300, 70, *last))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "bool"])
@pytest.mark.parametrize("index_dtype", ["int32", "uint8", "int64", "uint64"])
def test_columns_selected(dtype: str, index_dtype: str) -> None:
    """take along the last axis: the same indices for every row, of every width."""
    x = numbers((6, 5, 250), dtype)
    i = np.random.default_rng(1).integers(0, 250, 300).astype(index_dtype)
    b = gs.Builder()
    d, index = inputs(b, [x, i], False)
    b.output(b.take(d, index, 2))
    run(b, None, [x, i], x[:, :, i.astype(int)])


@pytest.mark.parametrize("axis", [0, 1])
def test_the_bad_index_is_found(axis: int) -> None:
    """Checked while picking: the first index out of range is reported, and memory beside the arrays is not touched."""
    end = in_child(_bad_indices, axis)
    assert end.code == 0, str(end)


def _bad_indices(say: Say, axis: int) -> None:
    x = numbers((4200, 80), "float32")
    i = np.random.default_rng(2).integers(0, x.shape[axis], x.shape)
    b = gs.Builder()
    d, index = inputs(b, [x, i], False)
    b.output(b.gather(d, index, axis))
    m = b.build(CPU)
    assert m.stats.kernels[0][1] == ("packed-columns" if axis == 0 else "picked-rows")
    for at_end in (False, True):
        fence = Fence(at_end, 16)
        gx, gi, out = fence.copy(x), fence.copy(i), fence.array(x.shape, "float32")
        for position in (0, 1, 63, 64, 77, i.size // 2, i.size - 1):
            say(f"position {position}, at the {'end' if at_end else 'start'} of its pages")
            for n in (1, 3):
                gs.set_num_threads(n)
                gi[...] = i
                gi.reshape(-1)[position] = x.shape[axis] + (1 << 40) * (position % 3)
                if position < 77:
                    gi.reshape(-1)[-1] = -x.shape[axis] - 1
                with pytest.raises(gs.BoundsError) as caught:
                    m(gx, gi, out=out)
                assert caught.value.position == tuple(int(p) for p in np.unravel_index(position, i.shape))
        gi[...] = i
        assert_same(m(gx, gi, out=out), np.take_along_axis(x, i, axis))
        fence.check()


# -- columns that are packed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize(
    "deep,wide,rows",
    [(4096, 33, 1100), (4097, 40, 4100), (8192, 31, 2048), (8193, 20, 2100), (4096, 32, 1), (3000, 48, 749)],
)
def test_elements_of_columns(deep: int, wide: int, rows: int, bounds: str, symbolic: bool) -> None:
    """gather along the first axis: blocks of 32 and 16 columns and none, a last block that is narrower."""
    x = numbers((deep, wide), "float32")
    i = ugly(np.random.default_rng(3), deep, (rows, wide), bounds)
    b = gs.Builder()
    d, index = inputs(b, [x, i], symbolic)
    b.output(b.gather(d, index, 0, bounds=bounds, **({"fill": -3} if bounds == "fill" else {})))
    at, ok = resolved(i, deep, bounds)
    want = np.where(ok, np.take_along_axis(x, at, 0), np.float32(-3))
    run(b, None, [x, i], want)
    run(b, "packed-columns" if deep <= 8192 else None, [x, i], want, [PackedColumns(always=True)])


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64"])
def test_elements_of_columns_in_batches(dtype: str) -> None:
    """Axes on both sides of the one that is indexed, and the index shorter than data on those that they share."""
    x = numbers((3, 2100, 2, 150), dtype)
    i = np.random.default_rng(4).integers(-2100, 2100, (2, 530, 2, 139))
    b = gs.Builder()
    d, index = inputs(b, [x, i], False)
    b.output(b.gather(d, index, 1))
    want = np.take_along_axis(x[:2, :, :, :139], np.where(i < 0, i + 2100, i), 1)
    run(b, None, [x, i], want)
    run(b, "packed-columns", [x, i], want, [PackedColumns(always=True)])


# -- rows that are copied ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize(
    "shape",
    [
        (1,),
        (COPY_BLOCK - 1,),
        (COPY_BLOCK,),
        (COPY_BLOCK + 1,),
        (COPY_BLOCK + LEAST_COPIED_AHEAD + 1,),
        (7, 5),
        (9, 2, 241),
    ],
)
def test_blocks_of_rows(shape: tuple[int, ...], bounds: str, symbolic: bool) -> None:
    """Blocks that come out even and not, and rows asked for beyond the end."""
    x = numbers((13, 16), "float32")
    i = ugly(np.random.default_rng(6), 13, shape, bounds)
    b = gs.Builder()
    d, index = inputs(b, [x, i], symbolic)
    b.output(b.take(d, index, bounds=bounds, **({"fill": -3} if bounds == "fill" else {})))
    at, ok = resolved(i, 13, bounds)
    run(b, "copies", [x, i], np.where(ok[..., None], x[at], np.float32(-3)))


def test_rows_of_an_empty_tensor() -> None:
    """No index is valid; without one there is nothing to raise."""
    for bounds in BOUNDS:
        b = gs.Builder()
        d, index = b.input("x", ("n", 16), "float32"), b.input("i", ("k",), "int64")
        b.output(b.take(d, index, bounds=bounds, **({"fill": -3} if bounds == "fill" else {})))
        m, x = b.build(CPU), np.zeros((0, 16), np.float32)
        for k in (0, 1, COPY_BLOCK + 1):
            i = np.zeros(k, np.int64)
            if bounds == "fill" or not k:
                assert_same(m(x, i), np.full((k, 16), -3, np.float32))
            elif bounds != "trust":
                with pytest.raises(gs.BoundsError, match=r"i\[0\] = 0 has nowhere to point to"):
                    m(x, i)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("nbytes", [32, 48, 63, 64, 80, 128, 192, 240, 255, 256, 271, 272, 320, 4096, 4112])
@pytest.mark.parametrize("offset", [0, 16, 48, 1])
def test_rows_of_any_width_at_any_address(nbytes: int, offset: int, symbolic: bool) -> None:
    """Results larger and smaller than the caches, beginning anywhere in a cache line."""
    for total in (9 << 20, 64 << 10):
        rows = total // nbytes
        x = numbers((97, nbytes), "int8")
        i = np.random.default_rng(5).integers(-97, 97, rows)
        b = gs.Builder()
        d, index = inputs(b, [x, i], symbolic)
        b.output(b.take(d, index))
        m = b.build(CPU)
        assert m.stats.kernels[0][1] == "copies"
        memory = np.full(rows * nbytes + 128, 99, np.int8)
        start = -memory.ctypes.data % 64 + offset
        out = memory[start : start + rows * nbytes].reshape(rows, nbytes)
        m(x, i, out=out)
        assert_same(out, x[i])
        assert (memory[:start] == 99).all() and (memory[start + rows * nbytes :] == 99).all()


# -- elements at index vectors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize(
    ("shape", "index_dtype"),
    [
        ((40, 50), "int32"),
        ((7, 3, 11), "int64"),
        ((5, 6, 2, 9), "int16"),
        pytest.param((4096, 1040), "int64", id="from memory"),
        pytest.param((4, 2048, 520), "int32", id="from memory, three axes"),
    ],
)
def test_elements_at_index_vectors(shape: tuple[int, ...], index_dtype: str, bounds: str, symbolic: bool) -> None:
    """Blocks that come out even and not, of tables that caches hold and of others."""
    rng = np.random.default_rng(8)
    x = numbers(shape, "float32")
    fill = {"fill": -3} if bounds == "fill" else {}

    def built(count: int | str) -> gs.Module:
        b = gs.Builder()
        data = b.input("x", [f"n{n}" if symbolic else n for n in shape], "float32")
        b.output(b.gather_nd(data, b.input("i", [count, len(shape)], index_dtype), bounds=bounds, **fill))
        m = b.build(CPU)
        assert m.stats.kernels[-1][1] == "rows"
        return m

    any_count = built("k") if symbolic else None
    for count in (0, 1, PICK_BLOCK - 1, PICK_BLOCK, 2 * PICK_BLOCK + 1, 5000) if any_count else (PICK_BLOCK + 1, 4999):
        columns = [ugly(rng, n, (count,), bounds, index_dtype) for n in shape]
        found = [resolved(c, n, bounds) for c, n in zip(columns, shape, strict=True)]
        ok = np.logical_and.reduce([valid for _, valid in found])
        want = np.where(ok, x[tuple(at for at, _ in found)], np.float32(-3))
        m = any_count or built(count)
        for threads in (1, 5):
            gs.set_num_threads(threads)
            assert_same(m(x, np.stack(columns, 1)), want)


@pytest.mark.parametrize("symbolic", [False, True])
def test_the_bad_index_vector_is_found(symbolic: bool) -> None:
    """The first of several, in the last block, beside others that are only just valid."""
    i = np.tile(np.array([[-40, 49]], np.int32), (3 * PICK_BLOCK + 5, 1))
    i[-3:] = [[39, -51], [0, 50], [-41, 0]]
    b = gs.Builder()
    x, index = b.input("x", ("n", "m") if symbolic else (40, 50), "int16"), b.input("i", ("k", 2), "int32")
    b.output(b.gather_nd(x, index))
    m, data = b.build(CPU), numbers((40, 50), "int16")
    with pytest.raises(gs.BoundsError) as caught:
        m(data, i)
    assert (caught.value.value, tuple(caught.value.position)) == (-51, (len(i) - 3, 1))
    assert_same(m(data, i[:-3]), data[tuple(i[:-3].T)])


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_results_larger_than_the_caches_at_index_vectors(dtype: str, symbolic: bool) -> None:
    """Lines written past the caches and others, beginning anywhere in a line."""
    size = np.dtype(dtype).itemsize
    count = (33 << 20) // size + 5
    x = numbers((40, 1000), dtype)
    i = np.stack([np.resize(np.arange(-40, 40), count), np.resize(np.arange(997), count)], 1).astype("int32")
    b = gs.Builder()
    data = b.input("x", ("n", "m") if symbolic else x.shape, dtype)
    b.output(b.gather_nd(data, b.input("i", ("k" if symbolic else count, 2), "int32")))
    m, want = b.build(CPU), x[tuple(i.T)]
    memory = np.full(count * size + 128, 99, np.int8)
    for offset, threads in ((0, 3), (16, 2), (8, 1)):
        gs.set_num_threads(threads)
        start = -memory.ctypes.data % 64 + offset
        memory[:] = 99
        m(x, i, out=memory[start : start + count * size].view(dtype))
        assert_same(memory[start : start + count * size].view(dtype), want)
        assert (memory[:start] == 99).all() and (memory[start + count * size :] == 99).all()


# -- single elements that points along an axis are combined with ----------------------------------------------------


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("bounds", ["raise", "fill"])
@pytest.mark.parametrize(
    ("width", "rows", "dtype", "reduction"),
    [
        ((516,), 90, "float16", "min"),
        ((3,), 5000, "bfloat16", "max"),
        ((5, 7), 300, "uint64", "min"),
        ((70,), 400, "int32", "add"),
        ((2,), 1, "int8", "max"),
    ],
)
def test_elements_of_a_large_table(
    width: tuple[int, ...], rows: int, dtype: str, reduction: str, bounds: str, symbolic: bool
) -> None:
    """A table that no cache holds, and points before whose cells others are prefetched, at all ends; and a small one."""
    rng = np.random.default_rng(3)
    kind, columns = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype), int(np.prod(width))
    names = [f"n{a}" for a in range(len(width))]
    b = gs.Builder()
    ends = names if symbolic else list(width)
    large = (17 << 20) // np.dtype(kind).itemsize // columns
    data = b.input("x", ["n" if symbolic else large, *ends], dtype)
    index, src = (b.input(n, ["k" if symbolic else rows, *ends], t) for n, t in (("i", "int64"), ("v", dtype)))
    b.output(b.scatter(data, index, src, 0, reduction=reduction, bounds=bounds))
    m = b.build(CPU)
    assert m.stats.kernels[-1][1] == ("chunked" if symbolic else "owner-computes")  # chunked: a call decides
    combine = {"min": np.minimum, "max": np.maximum, "add": np.add}[reduction]
    for n in (large, 40) if symbolic else (large,):
        x = numbers((n, *width), "int16").astype(kind)
        v = rng.integers(-100, 100, (rows, *width)).astype(kind)
        i = ugly(rng, n, v.shape, bounds)
        i[:: 2 if rows > 1 else 1] = n - 1  # cells that points come to one after the other
        if bounds == "fill":
            i.reshape(-1)[-1] = np.iinfo("int64").max
        at, ok = resolved(i, n, bounds)
        want = x.copy()
        combine.at(want, (at[ok], *np.indices(i.shape)[1:, ok]), v[ok])
        for threads in (1, 3):
            gs.set_num_threads(threads)
            assert_same(m(x, i, v), want)


# -- rows that something is computed of -----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [8, 9, 12, 15, 16])
def test_rows_of_bfloat16(width: int) -> None:
    """Of each width LLVM makes vectors, those that it would not by itself in two loops."""
    rng, dtype = np.random.default_rng(width), np.dtype(ml_dtypes.bfloat16)
    x, w, v = (rng.standard_normal(shape).astype(dtype) for shape in ((97, width), width, width))
    x[5, -1], x[6, 0], v[1] = np.nan, np.inf, -np.inf
    i = ugly(rng, 97, (1000,), "clip")
    b = gs.Builder()
    data, index = b.input("x", x.shape, "bfloat16"), b.input("i", i.shape, "int64")
    picked = b.take(data, index, bounds="clip")
    b.output(picked * b.input("w", w.shape, "bfloat16") + b.input("v", v.shape, "bfloat16"))
    m = b.build(CPU)
    at, _ = resolved(i, 97, "clip")
    assert_same(m(x, i, w, v), (x[at] * w).astype(dtype) + v)
    assert "mulps" in b.build({"kind": "llvm", "mcpu": "x86-64-v3"}).source("asm")


@pytest.mark.parametrize("shape", [(4_200_000,), (4_200_000, 1), (2, 2_100_000)], ids=str)
@pytest.mark.parametrize("symbolic", [False, True])
def test_elements_in_order_on_a_cpu_whose_gathers_are_slow(shape: tuple[int, ...], symbolic: bool) -> None:
    """One by one where a sample says so, or gathered; from memory, and from a small table of a symbolic size."""
    zen, other = ({"kind": "llvm", "mcpu": cpu} for cpu in ("znver4", "x86-64-v4"))
    runs_here = X86 and machine.host_vector_bytes() == 64
    axis = len(shape) - 1 if shape[-1] != 1 else 0
    b = gs.Builder("net")
    names = tuple(f"n{k}" for k in range(len(shape)))
    x = b.input("x", tuple(n if symbolic and d != 1 else d for n, d in zip(names, shape, strict=True)), "float32")
    b.output(b.take(x, b.input("i", ("m",) if symbolic else (5000,), "int32"), axis))
    rng, extent = np.random.default_rng(1), shape[axis]
    module = b.build(zen)
    two_ways = not symbolic or shape[0] != 2  # rows of unknown width are prefetched
    assert ("where0" in module.source("tir")) == two_ways
    assert "where0" not in b.build(other).source("tir")
    for small in (False, True) if symbolic else (False,):
        data = rng.random(tuple(d // 1000 if small and d != 1 else d for d in shape), "float32")
        index = rng.integers(-extent, extent, 5000) // (1000 if small else 1)
        for some in (index, np.sort(index), np.sort(abs(index)), np.sort(index) // 64 * 64, np.zeros_like(index)):
            some = np.clip(some, -data.shape[axis], data.shape[axis] - 1).astype("int32")
            for m in [b.build("llvm"), *([module] if runs_here else [])]:
                np.testing.assert_array_equal(m(data, some), np.take(data, some, axis))
                some[-1] = data.shape[axis]
                with pytest.raises(IndexError):
                    m(data, some)
                some[-1] = 0


def test_axis_of_two_starts_is_no_condition() -> None:
    """LLVM, which would compute a condition of two starts, does not know how many there are: where one is found, and tested."""

    def marks(extent: int) -> int:
        b = gs.Builder("net")
        b.output(b.gather(b.input("x", (30, 7, extent), "int8"), b.input("i", (30, 7, 27), "int64"), 2))
        m = b.build("llvm")
        rng = np.random.default_rng(extent)
        x, i = rng.integers(-100, 100, (30, 7, extent), "int8"), rng.integers(-extent, extent, (30, 7, 27))
        np.testing.assert_array_equal(m(x, i), np.take_along_axis(x, i, 2))
        for bad in (extent, -extent - 1, 2**63 - 1, -(2**63)):
            i[3, 2, 26] = bad
            with pytest.raises(IndexError):
                m(x, i)
        return m.source("tir").count(str(T.OPAQUE_MARK.value))

    assert marks(2) > marks(3)


@pytest.mark.parametrize("picks", [3, 4, 7, 8, 13])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elements_of_short_rows_on_a_cpu_whose_gathers_are_slow(picks: int, dtype: str) -> None:
    """Picked from memory a row at a time, they come in order: they are loaded one by one, and LLVM told so where it would not."""
    rows, columns = (24 << 20) // (12 * np.dtype(dtype).itemsize), 12

    def of(picks: int) -> gs.Builder:
        b = gs.Builder("net")
        b.output(b.gather(b.input("x", (rows, columns), dtype), b.input("i", (rows, picks), "int64"), 1))
        return b

    def marks(module: gs.Module) -> int:
        return module.source("tir").count(str(T.OPAQUE_MARK.value))

    b, zen = of(picks), {"kind": "llvm", "mcpu": "znver4"}
    module = b.build(zen)
    assert "where0" in module.source("tir")
    assert (marks(module) > marks(of(3).build(zen))) == (picks in (4, 8, 13))
    rng = np.random.default_rng(picks)
    data, runs_here = rng.random((rows, columns)).astype(dtype), X86 and machine.host_vector_bytes() == 64
    for some in (rng.integers(-columns, columns, (rows, picks)), rng.integers(0, 2, (rows, picks))):
        for m in [b.build("llvm"), *([module] if runs_here else [])]:
            np.testing.assert_array_equal(m(data, some), np.take_along_axis(data, some, 1))
            some[-1, -1] = columns
            with pytest.raises(IndexError):
                m(data, some)
            some[-1, -1] = -1


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("reduction", ["add", "mean", "max"])
def test_few_short_rows_that_points_go_to(reduction: str, symbolic: bool) -> None:
    """Where threads would own rows in the same cache lines there are chunks of points, or one thread makes means."""

    def of(rows: int) -> gs.Module:
        b = gs.Builder("net")
        x = b.input("x", ("n" if symbolic else rows, 37), "float64")
        n = "k" if symbolic else 9000
        put = b.put(x, b.input("i", (n,), "int64"), b.input("src", (n, 37), "float64"), reduction=reduction)
        b.output(put)
        return b.build("llvm")

    few, many = of(2), of(64)
    if not symbolic:
        less, more = few.source("tir"), many.source("tir")
        assert less.count("T.parallel(") < more.count("T.parallel(")
        assert ("falls" in less, "falls" in more) == (False, reduction != "mean")
    rng = np.random.default_rng(1)
    for m, rows in ((few, 2), (many, 64)):
        x, src = rng.random((rows, 37)), rng.random((9000, 37))
        for i in (np.sort(rng.integers(0, rows, 9000)), rng.integers(-rows, rows, 9000), np.zeros(9000, "int64")):
            at, want = i % rows, x.copy()
            if reduction == "max":
                np.maximum.at(want, at, src)
            else:
                np.add.at(want, at, src)
                if reduction == "mean":
                    want /= 1 + np.bincount(at, minlength=rows)[:, None]
            results, before = [], gs.get_num_threads()
            for threads in (1, 2, 5):
                gs.set_num_threads(threads)
                results.append(m(x, i, src))
            gs.set_num_threads(before)
            np.testing.assert_allclose(results[0], want, 1e-10)
            for other in results[1:]:
                np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("cells", [(), (1,), (200,), (0, 9), (9, 0), (1, 1, 3)], ids=str)
def test_few_elements_from_memory_on_a_cpu_whose_gathers_are_slow(cells: tuple[int, ...]) -> None:
    """Too few for a sample: one way is built."""
    b = gs.Builder("net")
    b.output(b.gather_nd(b.input("x", (4_200_000,), "float32"), b.input("i", (*cells, 1), "int32")))
    assert "where0" not in b.build({"kind": "llvm", "mcpu": "znver4"}).source("tir")
    rng = np.random.default_rng(1)
    data, index = rng.random(4_200_000, "float32"), rng.integers(-4_200_000, 4_200_000, (*cells, 1)).astype("int32")
    np.testing.assert_array_equal(b.build("llvm")(data, index), data[index[..., 0]])


@pytest.mark.parametrize("dtype", ["int16", "float32", "bfloat16"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_what_is_computed_of_rows_from_memory(dtype: str, symbolic: bool) -> None:
    """Their rows are prefetched; those of a small table of a symbolic size are not."""
    rows, width, count = 260_000, 37, 700
    b = gs.Builder("net")
    x = b.input("x", ("n", "w") if symbolic else (rows, width), dtype)
    i, k = (
        b.input("i", ("m",) if symbolic else (count,), "int64"),
        b.input("k", ("n",) if symbolic else (rows,), "int64"),
    )
    b.output(b.take(x, b.take(k, i)) * 2 + 1)
    module = b.build("llvm")
    assert "gs_prefetch_row" in module.source("tir")
    rng = np.random.default_rng(2)
    for n, m in [(rows, count), (100, 40), (1, 1), (5, 0), (0, 0)] if symbolic else [(rows, count)]:
        data = rng.integers(-9, 9, (n, width)).astype(numpy_dtype(dtype))
        table, index = rng.integers(-n, max(n, 1), n), rng.integers(-n, max(n, 1), m)
        two, one = np.array([2, 1], numpy_dtype(dtype))
        expected = data[table[index]] * two + one
        np.testing.assert_array_equal(module(x=data, i=index, k=table), expected)
        if m:
            for name, place in (("i", -1), ("k", index[-1])):
                bad = {"i": index.copy(), "k": table.copy()}
                bad[name][place] = n
                with pytest.raises(IndexError):
                    module(x=data, **bad)


@pytest.mark.parametrize("shape", [(600_000, 12), (6_000_000,)], ids=str)
def test_an_index_is_not_read_where_no_cell_uses_it(shape: tuple[int, ...]) -> None:
    """Of a part of a result: not for prefetches, nor to see how its elements come."""
    b = gs.Builder("net")
    x, i, y = (
        b.input("x", shape, "float32"),
        b.input("i", (40,), "int64"),
        b.input("y", (50_000, *shape[1:]), "float32"),
    )
    b.output(b.concat([b.take(x, i) * 2, y], 0))
    source = b.build({"kind": "llvm", "mcpu": "znver4"}).source("tir")
    assert "gs_prefetch_row" not in source and "where0" not in source


@pytest.mark.parametrize(("rows", "length"), [(120_000, 9), (120_000, 1), (120_000, 40), (3000, 9)])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_bags_of_few_columns(rows: int, length: int, width: int) -> None:
    """Rows of large tables are prefetched, tiles ahead where bags are short."""
    b = gs.Builder("net")
    x, i = b.input("x", (rows, width), "float64"), b.input("i", (333, length), "int32")
    b.output(b.sum(b.take(x, i), 1))
    module = b.build("llvm")
    large = rows * width * 8 > 1 << 20
    assert ("gs_prefetch_row" in module.source("tir")) == large
    rng = np.random.default_rng(3)
    data = rng.integers(-9, 9, (rows, width)).astype("float64")
    for index in (rng.integers(-rows, rows, (333, length)), np.sort(rng.integers(0, rows, (333, length)).ravel())):
        index = index.reshape(333, length).astype("int32")
        np.testing.assert_array_equal(module(data, index), data[index].sum(1))
        index[-1, -1] = rows
        with pytest.raises(IndexError):
            module(data, index)
