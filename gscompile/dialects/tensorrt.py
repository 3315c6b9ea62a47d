"""TensorRT: the gather and scatter layers of ``INetworkDefinition``, as NvInfer.h and the layers' pages state them.

TensorRT was not run for this: it needs an NVIDIA GPU.  A gather's index that is out of range gives 0, as the header says; it
says of negative indices that they count from the end, which is done here on axes of any length (TensorRT: not on those known
only at run time).  A scatter leaves duplicates, negative indices and those out of range undefined; here the last duplicate
wins, a negative index counts from the end, and one out of range raises BoundsError.

Modes are members of :class:`GatherMode` and :class:`ScatterMode`, or their names.  A layer's ``axis``, ``mode`` and
``num_elementwise_dims``, which TensorRT sets after adding it, are options of the functions.
"""

from __future__ import annotations

from enum import Enum

from gscompile.dialects._rules import need_dtype, need_rank, need_same_dtype
from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend.arguments import int_of
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Tensor, eager
from gscompile.ir.dims import dim_max
from gscompile.ir.graph import Value

_INDEX = ("int32", "int64")
_DATA = ("bool", "int8", "int32", "int64", "float16", "bfloat16", "float32")


class GatherMode(Enum):
    """How a gather layer reads its indices."""

    DEFAULT = "DEFAULT"
    ELEMENT = "ELEMENT"
    ND = "ND"


class ScatterMode(Enum):
    """How a scatter layer reads its indices."""

    ELEMENT = "ELEMENT"
    ND = "ND"


@eager
def add_gather(input: Tensor, indices: Tensor, axis: int, *, num_elementwise_dims: int = 0) -> Value:
    """:func:`add_gather_v2` in mode DEFAULT."""
    return _gather("add_gather", input, indices, GatherMode.DEFAULT, axis, num_elementwise_dims)


@eager
def add_gather_v2(
    input: Tensor, indices: Tensor, mode: GatherMode | str, *, axis: int = 0, num_elementwise_dims: int = 0
) -> Value:
    """A gather layer.

    input: rank 1 or more, bool, int8, int32, int64, float16, bfloat16 or float32; indices: int32 or int64; axis: in
    ``[0, rank)``.

    DEFAULT: slices along axis, ONNX Gather: ``out.shape = input.shape[:axis] + indices.shape + input.shape[axis + 1:]``.  With
    ``num_elementwise_dims=1`` the first axes of both are one batch axis, of equal extents or one of them 1, and axis is not 0.

    ELEMENT: ``out[i][j][k] = input[indices[i][j][k]][j][k]`` for axis = 0, ONNX GatherElements; on the other axes indices are
    at most as long as input.

    ND: slices at the index vectors along indices' last axis, ONNX GatherND; ``num_elementwise_dims`` leading axes, fewer than
    either rank, are batch axes of equal extents: ``out.shape = indices.shape[:-1] + input.shape[num_elementwise_dims + m:]``.
    """
    return _gather("add_gather_v2", input, indices, mode, axis, num_elementwise_dims)


def _gather(op: str, x: Value, indices: Value, mode: GatherMode | str, axis: int, elementwise: int) -> Value:
    b = builder_of(x)
    how = _mode(op, GatherMode, mode)
    need_dtype(op, "input", x, _DATA)
    need_dtype(op, "indices", indices, _INDEX)
    need_rank(op, "input", x, 1, 8)
    batch = int_of(op, "num_elementwise_dims", elementwise)
    if how is GatherMode.ND:
        need_rank(op, "indices", indices, 1, 8)
        _in_range(op, "num_elementwise_dims", batch, min(x.rank, indices.rank))
        return b.gather_nd(x, indices, batch_dims=batch, bounds="fill")
    a = _axis(op, axis, x)
    if how is GatherMode.ELEMENT:
        _in_range(op, "num_elementwise_dims", batch, 1)
        return b.gather(x, indices, a, bounds="fill")
    _in_range(op, "num_elementwise_dims", batch, 2)
    if batch == 0:
        return b.take(x, indices, a, bounds="fill")
    if a == 0 or indices.rank == 0:
        raise ShapeError(f"{op}: with num_elementwise_dims=1 both operands have a batch axis before axis; got axis {a}")
    common = dim_max(x.shape[0], indices.shape[0])
    x = b.broadcast_to(x, (common, *x.shape[1:]))
    indices = b.broadcast_to(indices, (common, *indices.shape[1:]))
    return b.take(x, indices, a, 1, bounds="fill")


@eager
def add_scatter(data: Tensor, indices: Tensor, updates: Tensor, mode: ScatterMode | str, *, axis: int = 0) -> Value:
    """A scatter layer: a copy of data with updates at indices.

    data: rank 1 or more, bool, int8, int32, int64, float16, bfloat16 or float32; indices: int32 or int64; updates: data's dtype.

    ELEMENT: ``out[indices[i][j][k]][j][k] = updates[i][j][k]`` for axis = 0, ONNX ScatterElements; indices and updates have one
    shape, on the other axes at most data's.

    ND: slices at the index vectors along indices' last axis, ONNX ScatterND: ``updates.shape = indices.shape[:-1] +
    data.shape[m:]``; axis has no effect.
    """
    op, b = "add_scatter", builder_of(data)
    how = _mode(op, ScatterMode, mode)
    need_dtype(op, "data", data, _DATA)
    need_dtype(op, "indices", indices, _INDEX)
    need_same_dtype(op, "updates", updates, "data", data)
    need_rank(op, "data", data, 1, 8)
    if how is ScatterMode.ND:
        return b.scatter_nd(data, indices, updates)
    return b.scatter(data, indices, updates, _axis(op, axis, data))


def _mode(op: str, modes: type[Enum], mode: Enum | str) -> Enum:
    name = mode if isinstance(mode, str) else getattr(mode, "name", None)
    if name not in modes.__members__:
        raise ArgumentError(f"{op}: mode must be {' or '.join(modes.__members__)}; got {mode!r}")
    return modes[str(name)]


def _axis(op: str, axis: int, x: Value) -> int:
    a = int_of(op, "axis", axis)
    _in_range(op, "axis", a, x.rank)
    return a


def _in_range(op: str, argument: str, value: int, count: int) -> None:
    if not 0 <= value < count:
        raise ShapeError(f"{op}: {argument} must be in [0, {count - 1}]; got {value}")
