"""gscompile.dialects.torch_scatter against the loops of its CPU code (2.1.2), written out in Python.

Written from `csrc/cpu/segment_csr_cpu.cpp` and `reducer.h`; it was not run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import torch_scatter as gts
from tests.dialects.differential import Against, Draw
from tests.oracle import Array

LOOPS = "loops of torch_scatter 2.1.2"
DTYPES = ("float32", "float64", "int32", "int64", "int8")


def agree(function: str, ours: Any, theirs: Any, label: Any = "", **how: Any) -> None:
    Against("torch_scatter", function, LOOPS).agree(ours, theirs, label, **how)


def reduced(src: Array, indptr: Array, reduce: str) -> tuple[Array, Array]:
    """segment_csr of csrc/cpu/segment_csr_cpu.cpp with reducer.h, and where an extreme was found."""
    axis, ptr = indptr.ndim - 1, indptr.reshape(-1)
    x = np.moveaxis(src, axis, 0)
    out = np.zeros((len(ptr) - 1, *x.shape[1:]), src.dtype)
    arg = np.full(out.shape, src.shape[axis])
    limits = np.finfo(src.dtype) if src.dtype.kind == "f" else np.iinfo(src.dtype)
    for s in range(len(ptr) - 1):
        count = ptr[s + 1] - ptr[s]
        for c in np.ndindex(x.shape[1:]):
            if count > 0:  # where nothing is found, there it stays open
                arg[(s, *c)] = ptr[s]
            value = src.dtype.type({"min": limits.max, "max": limits.min}.get(reduce, 0))
            for e in range(ptr[s], ptr[s + 1]):
                new = x[(e, *c)]
                if reduce in ("min", "max"):
                    if new < value if reduce == "min" else new > value:
                        value, arg[(s, *c)] = new, e
                else:
                    with np.errstate(over="ignore"):
                        value = value + new
            if reduce == "mean":
                n = max(int(count), 1)
                whole = abs(int(value)) // n if src.dtype.kind == "i" else 0
                value = (
                    value / src.dtype.type(n)
                    if src.dtype.kind == "f"
                    else src.dtype.type(-whole if value < 0 else whole)
                )
            out[(s, *c)] = value if count > 0 or reduce in ("sum", "mean") else 0
    return np.moveaxis(out, 0, axis), np.moveaxis(arg, 0, axis)


def drawn(seed: int) -> tuple[Array, Array]:
    d = Draw(seed)
    shape = d.shape(d.integer(1, 3), empty=0)
    axis, n = d.integer(0, len(shape) - 1), d.integer(0, 6)
    x = d.data(shape, d.choice(DTYPES))
    cuts = np.sort(np.random.default_rng(seed).integers(0, shape[axis] + 1, n + 1))
    return x, cuts.reshape(*(1 for _ in range(axis)), -1)


@pytest.mark.parametrize("seed", range(40))
def test_reductions(seed: int) -> None:
    x, ptr = drawn(seed)
    label = (x.shape, x.dtype, ptr.tolist())
    sums, means = (lambda: reduced(x, ptr, "sum")[0]), (lambda: reduced(x, ptr, "mean")[0])
    close = {"rtol": 1e-5} if x.dtype.kind == "f" else {}
    agree("segment_sum_csr", lambda: gts.segment_sum_csr(x, ptr), sums, label, **close)
    agree("segment_add_csr", lambda: gts.segment_add_csr(x, ptr), sums, label, **close)
    agree("segment_mean_csr", lambda: gts.segment_mean_csr(x, ptr), means, label, **close)
    agree("segment_min_csr", lambda: gts.segment_min_csr(x, ptr), lambda: reduced(x, ptr, "min"), label)
    agree("segment_max_csr", lambda: gts.segment_max_csr(x, ptr), lambda: reduced(x, ptr, "max"), label)
    for reduce in ("sum", "min", "max"):
        agree(
            "segment_csr",
            lambda reduce=reduce: gts.segment_csr(x, ptr, reduce=reduce),
            lambda reduce=reduce: reduced(x, ptr, reduce)[0],
            (reduce, *label),
            **close,
        )


@pytest.mark.parametrize("seed", range(30))
def test_the_way_back(seed: int) -> None:
    x, ptr = drawn(seed)
    axis = ptr.ndim - 1
    ptr = np.r_[0, np.cumsum(np.random.default_rng(seed).integers(0, 4, x.shape[axis]))].reshape(
        *(1 for _ in range(axis)), -1
    )
    agree(
        "gather_csr", lambda: gts.gather_csr(x, ptr), lambda: np.repeat(x, np.diff(ptr.reshape(-1)), axis), ptr.tolist()
    )


def test_nan_is_passed_over() -> None:
    x = np.array([np.nan, 3, np.nan, 1, 1, np.inf, np.nan, -np.inf], "float32")
    ptr = np.array([0, 3, 5, 5, 8])
    agree("segment_min_csr", lambda: gts.segment_min_csr(x, ptr), lambda: reduced(x, ptr, "min"))
    agree("segment_max_csr", lambda: gts.segment_max_csr(x[:5], ptr[:-1]), lambda: reduced(x[:5], ptr[:-1], "max"))


def test_in_a_graph() -> None:
    """Softmax over runs, as PyG writes it."""
    b = gs.Builder("attention")
    x, ptr = b.input("x", (9, 2), "float32"), b.input("ptr", (4,), "int64")
    power = b.exp(x - gts.gather_csr(gts.segment_csr(x, ptr, reduce="max"), ptr, x))
    b.output(power / gts.gather_csr(gts.segment_sum_csr(power, ptr), ptr, x))
    a, at = np.random.default_rng(0).standard_normal((9, 2)).astype("f4"), np.array([0, 4, 4, 9])
    got = b.build()(a, at)
    np.testing.assert_allclose(got[:4].sum(0), 1, rtol=1e-5)
    np.testing.assert_allclose(got[4:], np.exp(a[4:]) / np.exp(a[4:]).sum(0), rtol=1e-5)


def test_what_is_refused() -> None:
    x, ptr = np.ones((4, 3), "f4"), np.array([0, 4])
    with pytest.raises(gs.ArgumentError, match="reduce must be one of"):
        gts.segment_csr(x, ptr, reduce="mul")
    with pytest.raises(gs.ArgumentError, match="out"):
        gts.segment_csr(x, ptr, x)
    with pytest.raises(gs.DTypeError, match="indptr"):
        gts.segment_csr(x, ptr.astype("int32"))
    with pytest.raises(gs.DTypeError, match="src must be real"):
        gts.segment_csr(x > 0, ptr)
    with pytest.raises(gs.ShapeError, match="extent 1"):
        gts.segment_csr(x, np.zeros((4, 2), "int64"))
    with pytest.raises(gs.BoundsError):
        gts.segment_csr(x, np.array([0, 5]))
    with pytest.raises(gs.BoundsError):
        gts.gather_csr(x, np.array([1, 2, 3, 4, 5]))
    b = gs.Builder("open")
    with pytest.raises(gs.ArgumentError, match="out must be given"):
        gts.gather_csr(b.input("x", (4,), "float32"), b.input("p", (5,), "int64"))
