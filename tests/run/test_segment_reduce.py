"""Reductions of runs of rows, against NumPy, on all paths."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from tests.cases import DTYPES, numpy_dtype, random_data
from tests.oracle import assert_same
from tests.paths import reference

REDUCTIONS = ("sum", "prod", "mean", "max", "min", "any", "all")
IDENTITY = {"sum": 0, "prod": 1, "mean": 0, "any": False, "all": True}


def whole(dtype: str, shape: tuple[int, ...]) -> Any:
    """Whole numbers whose sums and products are exact in every dtype and order."""
    low = 0 if dtype.startswith("u") or dtype == "bool" else -2
    return np.random.default_rng(1).integers(low, 2 if dtype == "bool" else 3, shape).astype(numpy_dtype(dtype))


def expected(x: Any, offsets: Any, reduction: str, empty: Any = None) -> Any:
    wide = x.astype("float32") if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
    runs = []
    for begin, end in itertools.pairwise(offsets):
        run = wide[begin:end]
        if len(run):
            runs.append(getattr(run, reduction)(axis=0))
        elif empty is not None:
            runs.append(np.full(x.shape[1:], empty))
        elif reduction in IDENTITY:
            runs.append(np.full(x.shape[1:], IDENTITY[reduction]))
        else:
            info: Any = np.iinfo(x.dtype) if x.dtype.kind in "iu" else None
            low, high = (info.min, info.max) if info else (False, True) if x.dtype == bool else (-np.inf, np.inf)
            runs.append(np.full(x.shape[1:], low if reduction == "max" else high))
    result = wide.dtype if reduction in ("max", "min") else getattr(wide[:1], reduction)(axis=0).dtype
    if wide is not x:
        result = x.dtype if reduction not in ("any", "all") else result
    return np.array(runs).reshape(len(offsets) - 1, *x.shape[1:]).astype(result)


def module(dtype: str, tail: tuple[Any, ...], reductions: Any, path: str, index: str = "int64", **options: Any) -> Any:
    b = gs.Builder("runs")
    x, offsets = b.input("x", ("k", *tail), dtype), b.input("offsets", ("n",), index)
    b.output(*(b.segment_reduce(x, offsets, r, **options) for r in reductions))
    return b.build() if path == "llvm" else emulate(b) if path == "cuda" else reference(b.graph())


RUNS = {
    "usual": (20, [0, 3, 3, 10, 20]),
    "none at all": (0, [0, 0, 0]),
    "no runs": (7, [2]),
    "gaps, overlaps and steps back": (9, [9, 2, 5, 1, 9, 0]),
    "one": (1, [0, 1]),
}


@pytest.mark.parametrize("path", ["llvm", "cuda", "reference"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_reduction(dtype: str, path: str) -> None:
    run = module(dtype, (5,), REDUCTIONS, path)
    for k, offsets in RUNS.values():
        x, o = whole(dtype, (k, 5)), np.array(offsets)
        for got, reduction in zip(run(x, o), REDUCTIONS, strict=True):
            assert_same(got, expected(x, o, reduction), signed_zero=False)


@pytest.mark.parametrize("path", ["llvm", "cuda", "reference"])
@pytest.mark.parametrize("tail", [(), (1,), (3, 4), (70,), (2, 1, 65), ("m",)])
def test_rows_of_every_shape(tail: tuple[Any, ...], path: str) -> None:
    run = module("int32", tail, ("sum", "max"), path, "uint8", empty=-7)
    for k, offsets in RUNS.values():
        shape = (k, *(67 if d == "m" else d for d in tail))
        x, o = random_data(np.random.default_rng(k), shape, "int32"), np.array(offsets, "uint8")
        for got, reduction in zip(run(x, o), ("sum", "max"), strict=True):
            assert_same(got, expected(x, o, reduction, -7))


def test_threads_share_the_runs_and_the_result_stays() -> None:
    x = np.random.default_rng(0).standard_normal((30000, 16)).astype("float32")
    offsets = np.sort(np.random.default_rng(1).integers(0, 30001, 901))
    run = module("float32", (16,), ("sum", "mean"), "llvm")
    was = gs.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            gs.set_num_threads(threads)
            results.append([r.tobytes() for r in run(x, offsets)])
    finally:
        gs.set_num_threads(was)
    assert results[0] == results[1] == results[2]
    total, mean = run(x, offsets)
    np.testing.assert_allclose(total, expected(x, offsets, "sum"), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(mean, expected(x, offsets, "mean"), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("path", ["llvm", "cuda"])
def test_a_bag_of_embeddings_is_one_kernel(path: str) -> None:
    b = gs.Builder("bags")
    table, index = b.input("table", ("rows", 8), "float32"), b.input("index", ("k",), "int64")
    b.output(b.segment_reduce(b.take(table, index), b.input("offsets", ("n",), "int64")))
    m = b.build() if path == "llvm" else emulate(b)
    assert m.stats.workspace_bytes == 0
    assert len(m.stats.kernels) == 1
    rng = np.random.default_rng(0)
    x, i, o = rng.integers(-9, 9, (11, 8)).astype("float32"), rng.integers(-11, 11, 40), np.array([0, 7, 7, 40])
    assert_same(m(x, i, o), expected(x[i], o, "sum"), signed_zero=False)


@pytest.mark.parametrize("path", ["llvm", "cuda"])
def test_offsets_are_checked(path: str) -> None:
    run = module("float32", (2,), ("sum",), path)
    x = np.ones((4, 2), "float32")
    for bad in (5, -1, 2**62, -(2**63)):
        with pytest.raises(gs.BoundsError) as caught:
            run(x, np.array([0, 4, bad, 2]))
        assert (caught.value.position, caught.value.value, caught.value.valid) == ((2,), bad, (0, 4))
        assert caught.value.tensor == "offsets"


def test_bad_arguments() -> None:
    b = gs.Builder("runs")
    x, o = b.input("x", (4, 2), "float32"), b.input("o", (3,), "int64")
    with pytest.raises(gs.ArgumentError, match="unknown reduction 'plus'"):
        b.segment_reduce(x, o, "plus")
    with pytest.raises(gs.DTypeError, match="integer"):
        b.segment_reduce(x, x[0])
    with pytest.raises(gs.ShapeError, match="one axis"):
        b.segment_reduce(x, b.stack([o, o], 0))
    with pytest.raises(gs.ShapeError, match="at least one element"):
        b.segment_reduce(x, o[:0])
    with pytest.raises(gs.ShapeError, match="scalar"):
        b.segment_reduce(x[0, 0], o)
    with pytest.raises(gs.DTypeError, match="empty"):
        b.segment_reduce(b.cast(x, "uint8"), o, "max", empty=-1)
