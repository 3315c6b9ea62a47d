"""Caffe2: Gather, BatchGather, Scatter, ScatterAssign and ScatterWeightedSum, as the last release with it computes them.

That is the one in PyTorch 1.8.1, on the CPU.  Indices are int32 or int64, and one out of range is an error; Caffe2 checks none on
a GPU, and none of ScatterAssign's.  ScatterAssign and ScatterWeightedSum work in place in Caffe2; here they return the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.dialects._rules import FLOATS, need_dtype, need_rank, need_same_dtype
from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend.arguments import axis_of, int_of
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Tensor, eager
from gscompile.ir.dims import shape_str
from gscompile.ir.graph import Value

_INDEX = ("int32", "int64")


@eager
def Gather(
    data: Tensor, indices: Tensor, *, axis: int = 0, match_outer: bool = False, wrap_indices: bool = False
) -> Value:
    """Slices of data at indices along axis: ``data.shape[:axis] + indices.shape + data.shape[axis + 1:]``.

    match_outer: the axes before axis are shared: ``data.shape[:axis] + indices.shape[axis:] + data.shape[axis + 1:]``.
    wrap_indices: a negative index counts from the end; along axis 0 it always does.
    """
    b = builder_of(data)
    need_dtype("Gather", "indices", indices, _INDEX)
    need_rank("Gather", "data", data, 1, 8)
    a = axis_of("Gather", "axis", axis, data.rank)
    if match_outer and indices.rank < a:
        raise ShapeError(f"Gather: match_outer needs indices of rank {a} or more; got {shape_str(indices.shape)}")
    return b.take(data, indices, a, a if match_outer else 0, negative=bool(wrap_indices) or a == 0)


@eager
def BatchGather(data: Tensor, indices: Tensor) -> Value:
    """:func:`Gather` along axis 1: ``data.shape[:1] + indices.shape + data.shape[2:]``; a negative index is an error."""
    need_dtype("BatchGather", "indices", indices, _INDEX)
    need_rank("BatchGather", "data", data, 2, 8)
    return builder_of(data).take(data, indices, 1, negative=False)


@eager
def Scatter(data: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 1) -> Value:
    """``out = data; out[indices[i][j][k]][j][k] = updates[i][j][k]`` for axis = 0; the last of duplicates wins.

    axis: in ``[0, rank)``, 1 by default; updates: data's dtype, indices' shape.  A negative index is an error.
    """
    need_dtype("Scatter", "indices", indices, _INDEX)
    a = int_of("Scatter", "axis", axis)
    if not 0 <= a < data.rank:
        raise ShapeError(f"Scatter: axis must be in [0, {data.rank - 1}]; got {a}")
    return builder_of(data).scatter(data, indices, updates, a, negative=False)


@eager
def ScatterAssign(data: Tensor, indices: Tensor, slices: Tensor) -> Value:
    """A copy of data with the rows at indices replaced by slices; the last of duplicates wins.

    data: rank 1 or more; indices: shape (n,); slices: data's dtype, ``(n,) + data.shape[1:]``.  An index that is negative or too
    large raises BoundsError; Caffe2 writes to memory outside data.
    """
    need_dtype("ScatterAssign", "indices", indices, _INDEX)
    need_rank("ScatterAssign", "data", data, 1, 8)
    need_rank("ScatterAssign", "indices", indices, 1)
    return builder_of(data).put(data, indices, slices, negative=False)


@eager
def ScatterWeightedSum(
    x_0: Tensor, weight_0: Tensor, indices: Tensor, updates: Sequence[Tensor], weights: Sequence[Tensor]
) -> Value:
    """Rows of x_0 at indices times weight_0, once for each time that they are named, plus each of updates times its weight.

    Caffe2 takes ``X_1, Weight_1, X_2, Weight_2, ..`` one after the other; here the two kinds are sequences.

    x_0: rank 1 or more, a float dtype; indices: shape (n,); updates: x_0's dtype, ``(n,) + x_0.shape[1:]`` each; weight_0 and
    weights: x_0's dtype, one element each.
    """
    op, b = "ScatterWeightedSum", builder_of(x_0)
    need_dtype(op, "x_0", x_0, FLOATS)
    need_dtype(op, "indices", indices, _INDEX)
    need_rank(op, "x_0", x_0, 1, 8)
    need_rank(op, "indices", indices, 1)
    if len(updates) != len(weights):
        raise ArgumentError(f"{op}: updates and weights must be as many; got {len(updates)} and {len(weights)}")
    points = (indices.shape[0], *x_0.shape[1:])
    scale = b.broadcast_to(_weight(op, "weight_0", weight_0, x_0), points)
    out = b.put(x_0, indices, scale, reduction="mul", negative=False)
    for k, (x, w) in enumerate(zip(updates, weights, strict=True), 1):
        need_same_dtype(op, f"X_{k}", x, "x_0", x_0)
        out = b.put(out, indices, x * _weight(op, f"Weight_{k}", w, x_0), reduction="add", negative=False)
    return out


def _weight(op: str, argument: str, w: Value, x: Value) -> Value:
    need_same_dtype(op, argument, w, "x_0", x)
    return builder_of(w).reshape(w, ())
