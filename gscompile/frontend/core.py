"""The two cores: a gather and a scatter of points through an index map.

Every gather of the builder, of a dialect or of a model is a call of :func:`gather`, every scatter one of :func:`scatter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gscompile.compiler.bounds_errors import empty_axis
from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend.arguments import NUMBERS, Operand, Scalar, axis_of, flag, int_of, ints_of, scalar_of
from gscompile.frontend.draft import Draft
from gscompile.ir.addressing import Addressing
from gscompile.ir.bounds import Bounds
from gscompile.ir.bounds import bounds as bounds_of
from gscompile.ir.dims import Shape, product, shape_str, shape_symbols
from gscompile.ir.graph import Value
from gscompile.ir.index_map import IndexMap
from gscompile.ir.ops.gather import Gather
from gscompile.ir.ops.movement import BroadcastTo, Full
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.ops.reductions import reduction as reduction_of
from gscompile.ir.ops.scatter import Scatter
from gscompile.ir.types import TensorType


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherOptions:
    """How a gather reads, as its caller says it; what the options mean is documented at ``IndexOps``."""

    bounds: str = "raise"
    negative: bool = True
    fill: Scalar = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterOptions:
    """How a scatter writes, as its caller says it; what the options mean is documented at ``IndexOps``."""

    reduction: str | Reduction = "update"
    include_self: bool = True
    bounds: str = "raise"
    negative: bool = True
    unique: bool = False
    sorted: bool = False
    deterministic: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """Which result a scatter gives, where its reduction combines several tensors at once.

    Attributes:
        number: of the tensor.
        operands: all data, then all src.
    """

    number: int
    operands: Sequence[Value]


def gather(
    draft: Draft, op: str, data: Value, index: Value, through: IndexMap, options: GatherOptions, name: str | None = None
) -> Value:
    """``out[p] = data[through(p)]``: shape ``through.points_shape(data.shape, index.shape)``, data's dtype.

    Args:
        op: what errors and the graph's text call it.

    Raises:
        ArgumentError, DTypeError, ShapeError; BoundsError where the index certainly has nowhere to point to.
    """
    addressing = _addressing(draft, op, data, index, through, options)
    fill = scalar_of(options.fill, data.dtype, f"{op}: fill") if addressing.bounds is Bounds.FILL else 0
    result = TensorType(through.points_shape(data.shape, index.shape), data.dtype)
    return draft.add(Gather(op, addressing, fill), [data, index], result, name)


def scatter(
    draft: Draft,
    op: str,
    data: Value,
    index: Value,
    src: Operand,
    through: IndexMap,
    options: ScatterOptions,
    name: str | None = None,
    lane: Lane | None = None,
) -> Value:
    """``out[through(p)] = reduce(out[through(p)], src[p])``: data's shape and dtype.

    Args:
        op: what errors and the graph's text call it.
        lane: for a reduction of several tensors at once.

    Raises:
        ArgumentError, DTypeError, ShapeError; BoundsError where the index certainly has nowhere to point to.
    """
    reduce = reduction_of(options.reduction, op)
    reduce.check(op, data.dtype)
    if reduce.ordered and not options.include_self:
        raise ArgumentError(f"{op}: an update computation begins with what is there: include_self must be True")
    addressing = _addressing(draft, op, data, index, through, options)
    written = source(draft, op, data, src, through.points_shape(data.shape, index.shape))
    node = Scatter(
        op,
        addressing,
        reduce,
        flag(op, "include_self", options.include_self),
        flag(op, "unique", options.unique),
        flag(op, "sorted", options.sorted),
        flag(op, "deterministic", options.deterministic),
        lane.number if lane else 0,
    )
    return draft.add(node, [data, index, written, *(lane.operands if lane else ())], data.type, name)


def _addressing(
    draft: Draft, op: str, data: Value, index: Value, through: IndexMap, options: GatherOptions | ScatterOptions
) -> Addressing:
    if not isinstance(through, IndexMap):
        raise ArgumentError(f"{op}: map must be a gs.IndexMap; got {through!r}")
    draft.require(through.check(op, data.shape, index.shape))
    policy = bounds_of(options.bounds, op)
    points = product(index.shape[j] for j in through.grid_axes)
    if policy in (Bounds.RAISE, Bounds.CLIP, Bounds.WRAP) and isinstance(points, int) and points > 0:
        for k, axis in enumerate(through.indexed_axes):
            if data.shape[axis] == 0:
                symbols = shape_symbols(*(v.shape for v in draft.values))
                raise empty_axis(draft.scope or op, data, index, through, k, symbols)
    return Addressing(through, policy, flag(op, "negative", options.negative))


def source(draft: Draft, op: str, data: Value, src: Operand, points: Shape) -> Value:
    """What a scatter writes, of one element a point; a number stands for a tensor of that value.

    Shapes broadcast, but not within a framework's function or a model's node, which say themselves what they broadcast.
    """
    element = (bytes, str) if data.dtype.kind == "V" else ()
    if isinstance(src, (*NUMBERS, np.generic, *element)):
        return draft.add(Full(scalar_of(src, data.dtype, f"{op}: src")), [], TensorType(points, data.dtype))
    value = draft.as_value(op, "src", src)
    if value.dtype != data.dtype:
        raise DTypeError(f"{op}: src must have data's dtype {data.dtype}; got {value.dtype}")
    if not draft.scope and value.shape != points:
        return _stretched(draft, op, value, points)
    if value.rank != len(points):
        raise ShapeError(f"{op}: src must have shape {shape_str(points)}; got {shape_str(value.shape)}")
    draft.require(
        [
            ("==", got, want, f"{op}: src {shape_str(value.shape)} on axis {a}")
            for a, (got, want) in enumerate(zip(value.shape, points, strict=True))
        ]
    )
    return value


def _stretched(draft: Draft, op: str, source: Value, points: Shape) -> Value:
    """A source that NumPy's rules broadcast to the points' shape."""
    if source.rank > len(points):
        what = f"shape {shape_str(points)}, or one that broadcasts to it"
        raise ShapeError(f"{op}: src must have {what}; got {shape_str(source.shape)}")
    new = len(points) - source.rank
    draft.require(
        [
            ("==", got, points[a], f"{op}: src {shape_str(source.shape)} on axis {a} of {shape_str(points)}")
            for a, got in enumerate(source.shape, new)
            if got != 1
        ]
    )
    if source.rank == len(points) and 1 not in source.shape:
        return source  # only a call can tell that the extents are equal
    return draft.add(BroadcastTo(), [source], TensorType(points, source.dtype))


# -- what a user passes, as values and index maps


def data_and_index(draft: Draft, op: str, data: Operand, index: Operand) -> tuple[Value, Value]:
    """Raises DTypeError unless the index is of integers."""
    d, i = draft.as_value(op, "data", data), draft.as_value(op, "index", index)
    if not i.dtype.is_integer:
        hint = "; for a mask there is where(mask, x, y)" if i.dtype.kind == "b" else ""
        raise DTypeError(f"{op}: index must have an integer dtype; got {i.dtype}{hint}")
    return d, i


def map_of_nd(
    draft: Draft, op: str, data: Value, index: Value, dims: Sequence[int] | None, batch_dims: int
) -> IndexMap:
    """The map of ``gather_nd`` and ``scatter_nd``: index vectors along index's last axis.  Raises ShapeError."""
    if index.rank == 0:
        raise ShapeError(f"{op}: index must have at least one axis, the last one holding index vectors; got a scalar")
    m = index.shape[-1]
    if not isinstance(m, int):
        raise ShapeError(f"{op}: the last axis of index must have a fixed extent; got {shape_str(index.shape)}")
    if dims is not None:
        if batch_dims != 0:
            raise ShapeError(f"{op}: dims and batch_dims exclude each other")
        return _map_of_dims(op, data, index, m, dims)
    batch_dims = int_of(op, "batch_dims", batch_dims)
    limit = min(data.rank, index.rank - 1)
    if not -index.rank <= batch_dims <= limit:
        raise ShapeError(f"{op}: batch_dims must be in [0, {limit}]; got {batch_dims}")
    batch = batch_dims + index.rank if batch_dims < 0 else batch_dims
    if batch > limit or batch + m > data.rank:
        raise ShapeError(
            f"{op}: index vectors of length {m} after {batch} batch axes need data of rank at least {batch + m}; "
            f"got {shape_str(data.shape)}"
        )
    equal_batch(draft, op, data.shape, index.shape, batch)
    return IndexMap.nd(data.rank, index.rank, m, batch)


def _map_of_dims(op: str, data: Value, index: Value, m: int, dims: Sequence[int]) -> IndexMap:
    axes = [axis_of(op, "dims", d, data.rank) for d in ints_of(op, "dims", dims)]
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{op}: dims names an axis twice: {tuple(dims)}")
    if m != len(axes):
        raise ShapeError(f"{op}: the last axis of index must have extent len(dims) = {len(axes)}; got {m}")
    if index.rank != data.rank + 1:
        raise ShapeError(
            f"{op}: with dims, index must have rank {data.rank + 1} = data's rank + 1; got {shape_str(index.shape)}"
        )
    return IndexMap.nd_dims(data.rank, axes)


def map_of_take(draft: Draft, op: str, data: Value, index: Value, axis: int, batch_dims: int) -> IndexMap:
    """The map of ``take`` and ``put``: slices along ``axis``.  Raises ShapeError."""
    a, batch_dims = axis_of(op, "axis", axis, data.rank), int_of(op, "batch_dims", batch_dims)
    low, high = -index.rank, min(a, index.rank)
    if not low <= batch_dims <= high:
        raise ShapeError(f"{op}: batch_dims must be at most axis {a} and index's rank {index.rank}; got {batch_dims}")
    batch = batch_dims + index.rank if batch_dims < 0 else batch_dims
    if batch > high:
        raise ShapeError(f"{op}: batch_dims must be at most axis {a} and index's rank {index.rank}; got {batch}")
    equal_batch(draft, op, data.shape, index.shape, batch)
    return IndexMap.take(data.rank, index.rank, a, batch)


def equal_batch(draft: Draft, op: str, data: Shape, index: Shape, batch: int) -> None:
    """The first ``batch`` axes of data and index are shared.  Raises ShapeError where their extents differ."""
    what = f"of index {shape_str(index)} and data {shape_str(data)}"
    draft.require([("==", index[k], data[k], f"{op}: batch axis {k} {what}") for k in range(batch)])
