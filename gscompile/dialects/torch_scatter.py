"""torch_scatter: reductions of runs that offsets give, and the way back from them, as its CPU code computes them.

A run is ``src[indptr[s] : indptr[s + 1]]`` along the last axis of indptr, whose other axes have extent 1: ``(n + 1,)`` for axis 0
of src, ``(1, n + 1)`` for axis 1.  torch_scatter also takes an indptr with offsets of their own for each position on those axes;
here that is an error.  An offset that is not in [0, rows] raises BoundsError; torch_scatter reads memory that is not src's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gscompile.dialects._rules import limits, need_dtype, need_rank, truncated_quotient
from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Size, Tensor, eager
from gscompile.ir.dims import shape_str
from gscompile.ir.graph import Value

REDUCTIONS = ("sum", "add", "mean", "min", "max")


@eager
def segment_csr(src: Tensor, indptr: Tensor, out: None = None, reduce: str = "sum") -> Value:
    """``out[s] = reduction of src[indptr[s]:indptr[s + 1]]``; 0 for an empty run.

    src: any dtype but bool and complex; indptr: int64; the result has src's shape with n along the axis of the runs, and src's
    dtype, in which integers wrap; sums of 16-bit floats accumulate in float32.  reduce: ``sum``, ``add``, ``mean``, ``min`` or
    ``max``.  A mean of integers is rounded towards zero.  Of min and max see :func:`segment_min_csr`.  out must be None.
    """
    if reduce not in REDUCTIONS:
        raise ArgumentError(f"segment_csr: reduce must be one of {', '.join(REDUCTIONS)}; got {reduce!r}")
    return _reduced("segment_csr", src, indptr, out, reduce)[0]


@eager
def segment_sum_csr(src: Tensor, indptr: Tensor, out: None = None) -> Value:
    """:func:`segment_csr` for sums."""
    return _reduced("segment_sum_csr", src, indptr, out, "sum")[0]


@eager
def segment_add_csr(src: Tensor, indptr: Tensor, out: None = None) -> Value:
    """:func:`segment_sum_csr` by another name."""
    return _reduced("segment_add_csr", src, indptr, out, "sum")[0]


@eager
def segment_mean_csr(src: Tensor, indptr: Tensor, out: None = None) -> Value:
    """:func:`segment_csr` for means."""
    return _reduced("segment_mean_csr", src, indptr, out, "mean")[0]


@eager
def segment_min_csr(src: Tensor, indptr: Tensor, out: None = None) -> Any:
    """The least of each run, and where it is along the axis, int64: the first of equals.

    An empty run has 0, and src's extent for where.  NaN is passed over, and nothing is larger than the dtype's largest finite
    number: that is the least of a run of infinities and NaN, and its first element is said to be it; torch_scatter leaves open
    which.
    """
    return _reduced("segment_min_csr", src, indptr, out, "min")


@eager
def segment_max_csr(src: Tensor, indptr: Tensor, out: None = None) -> Any:
    """:func:`segment_min_csr` for the largest; nothing is below the dtype's lowest finite number."""
    return _reduced("segment_max_csr", src, indptr, out, "max")


def gather_csr(src: Any, indptr: Any, out: Any = None) -> Any:
    """``out[p] = src[s]`` where ``indptr[s] <= p < indptr[s + 1]``: the way back from :func:`segment_csr`.

    src: n along the last axis of indptr; the result has ``indptr[-1]`` there.  indptr: int64, ascending from 0; anything else
    raises BoundsError, where torch_scatter leaves places as they were in memory.

    out: whose shape the result has; its elements are not read.  Without it indptr is to be an array, whose last element says how
    many rows there are.
    """
    rows, axis = None, len(np.shape(indptr) if not isinstance(indptr, Value) else indptr.shape) - 1
    if out is not None:
        shape = getattr(out, "shape", None)
        if shape is None or len(shape) <= axis:
            raise ArgumentError(f"gather_csr: out must have the result's shape; got {out!r:.80}")
        rows = shape[axis]
    elif isinstance(indptr, Value):
        raise ArgumentError("gather_csr: out must be given where indptr is a value of a builder")
    else:
        known = np.asarray(indptr).reshape(-1)
        if known.dtype.kind not in "iu":
            raise DTypeError(f"gather_csr: indptr must be int64; got {known.dtype}")
        rows = max(int(known[-1]), 0) if known.size else 0
    return _gather_csr(src, indptr, rows)


@eager
def _gather_csr(src: Tensor, indptr: Tensor, rows: Size) -> Value:
    op, b = "gather_csr", builder_of(src)
    x, offsets, perm = _along(op, src, indptr)
    return b.transpose(b.segment_expand(x, offsets, rows), perm)


def _reduced(op: str, src: Value, indptr: Value, out: None, reduce: str) -> tuple[Value, ...]:
    """The result, and of an extreme where it is."""
    if out is not None:
        raise ArgumentError(f"{op}: out must be None: the result is returned")
    b = builder_of(src)
    if src.dtype.kind not in "fiu":
        raise DTypeError(f"{op}: src must be real; got {src.dtype}")
    x, offsets, perm = _along(op, src, indptr)
    found: tuple[Value, ...]
    if reduce in ("min", "max"):
        if src.dtype.is_float:
            lowest, highest = limits(src)
            x = b.where(x < highest, x, highest) if reduce == "min" else b.where(x > lowest, x, lowest)
        found = tuple(b.segment_reduce(x, offsets, f"arg{reduce}", empty=0))
    else:
        total = b.cast(b.segment_reduce(x, offsets, "sum"), src.dtype)
        if reduce == "mean":
            lengths = b.maximum(offsets[1:] - offsets[:-1], 1)
            count = b.reshape(b.cast(lengths, src.dtype), (lengths.shape[0], *(1 for _ in x.shape[1:])))
            total = total / count if src.dtype.is_float else truncated_quotient(total, count)
        found = (total,)
    return tuple(b.transpose(y, perm) for y in found)


def _along(op: str, src: Value, indptr: Value) -> tuple[Value, Value, list[int]]:
    """src with the axis of the runs first, the offsets, and how the result's axes go back."""
    b = builder_of(src)
    need_dtype(op, "indptr", indptr, ("int64",))
    need_rank(op, "indptr", indptr, 1, 8)
    need_rank(op, "src", src, indptr.rank, 8)
    axis = indptr.rank - 1
    if any(d != 1 for d in indptr.shape[:-1]):
        raise ShapeError(f"{op}: all axes of indptr but the last one must have extent 1; got {shape_str(indptr.shape)}")
    first = [axis, *(a for a in range(src.rank) if a != axis)]
    return b.transpose(src, first), b.reshape(indptr, (indptr.shape[-1],)), [first.index(a) for a in range(src.rank)]
