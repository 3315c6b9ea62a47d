"""ONNX: Gather, Scatter and their kin, by the rules of an operator set.

``opset`` is the operator set whose rules hold, 1 to 28: which operators and attributes exist (Scatter until 10, GatherElements,
GatherND, ScatterElements and ScatterND from 11, ``batch_dims`` from 12, ``reduction`` from 16, its max and min from 18,
TensorScatter from 24) and which dtypes (bfloat16 from 13).

Where the specification is silent, ONNX Runtime's CPU decides: a negative index counts from the end in every operator set, the
first included; an index out of range is an error.  Duplicates are combined in row-major order of the indices, so that without
a reduction the last one wins; ONNX leaves both open.  max and min keep what is there only if it is larger, or smaller, than what
arrives: NaN replaces it, and is replaced by what comes next.  Sums and products of 16-bit floats, which ONNX Runtime's CPU does
not reduce, round at every step, as the reference evaluator's (on cuda perhaps at fewer).
"""

from __future__ import annotations

from gscompile.dialects._rules import INTEGERS, compared, need_dtype, need_rank, need_same_dtype
from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend.arguments import axis_of, int_of
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Tensor, eager
from gscompile.ir.dims import Dim, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import Indexed, IndexMap, Place, Shared, Source, Window

LATEST = 28  # the newest operator set whose rules these are
_DATA = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128")
_DATA_13 = (*_DATA, "bfloat16")
_INDEX = ("int32", "int64")
_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def _opset(op: str, opset: int, first: int, last: int = LATEST) -> int:
    """The operator set, in which ``op`` must exist."""
    number = int_of(op, "opset", opset)
    if not 1 <= number <= LATEST:
        raise ArgumentError(f"{op}: opset must be in [1, {LATEST}]; got {number}")
    if not first <= number <= last:
        exists = f"from opset {first}" + (f" to {last}" if last < LATEST else "")
        raise ArgumentError(f"{op}: exists {exists}; got opset {number}")
    return number


def _need_data(op: str, argument: str, x: Value, opset: int) -> None:
    need_dtype(op, argument, x, _DATA_13 if opset >= 13 else _DATA)


def _need_axes(op: str, argument: str, x: Value) -> None:
    if x.rank == 0:
        raise ShapeError(f"{op}: {argument} must have at least one axis; got a scalar")


def _reduction(op: str, reduction: str, opset: int) -> str:
    """The reduction by the builder's name."""
    allowed = ["none", *(("add", "mul") if opset >= 16 else ()), *(("max", "min") if opset >= 18 else ())]
    if reduction not in allowed:
        raise ArgumentError(f"{op}: reduction must be {' or '.join(allowed)} in opset {opset}; got {reduction!r}")
    return _REDUCTIONS[reduction]


@eager
def Gather(data: Tensor, indices: Tensor, axis: int = 0, *, opset: int = 24) -> Value:
    """``out = data[:, .., indices, .., :]`` with the indices on axis ``axis``; opsets 1, 11, 13.

    indices: int32 or int64, any shape; data: rank 1 or more.  Result: ``data.shape[:axis] + indices.shape +
    data.shape[axis + 1:]``.
    """
    number = _opset("Gather", opset, 1)
    _need_data("Gather", "data", data, number)
    need_dtype("Gather", "indices", indices, _INDEX)
    _need_axes("Gather", "data", data)
    return builder_of(data).take(data, indices, axis_of("Gather", "axis", axis, data.rank))


@eager
def GatherElements(data: Tensor, indices: Tensor, axis: int = 0, *, opset: int = 24) -> Value:
    """``out[i][j][k] = data[indices[i][j][k]][j][k]`` for axis = 0; opsets 11, 13.

    indices: int32 or int64, of data's rank, on the other axes at most data's extents.  The reference evaluator demands equal
    extents, takes indices out of range modulo the extent, and fails on axes longer than 64; this follows ONNX Runtime.
    """
    number = _opset("GatherElements", opset, 11)
    _need_data("GatherElements", "data", data, number)
    need_dtype("GatherElements", "indices", indices, _INDEX)
    _need_axes("GatherElements", "data", data)
    return builder_of(data).gather(data, indices, axis_of("GatherElements", "axis", axis, data.rank))


@eager
def GatherND(data: Tensor, indices: Tensor, batch_dims: int = 0, *, opset: int = 24) -> Value:
    """Index vectors along the last axis of indices give slices of data; opsets 11, 12, 13.

    indices: int64.  The first ``batch_dims`` axes (from opset 12) are shared and have equal extents; ONNX Runtime only
    checks that their sizes divide.  Result: ``indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:]``.
    """
    number = _opset("GatherND", opset, 11)
    _need_data("GatherND", "data", data, number)
    need_dtype("GatherND", "indices", indices, ("int64",))
    _need_axes("GatherND", "data", data)
    _need_axes("GatherND", "indices", indices)
    batch = int_of("GatherND", "batch_dims", batch_dims)
    limit = min(data.rank, indices.rank) - 1 if number >= 12 else 0
    if not 0 <= batch <= limit:
        raise ShapeError(f"GatherND: batch_dims must be in [0, {limit}]; got {batch}")
    return builder_of(data).gather_nd(data, indices, batch_dims=batch)


@eager
def Scatter(data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, *, opset: int = 10) -> Value:
    """:func:`ScatterElements` without a reduction, as it was called in opsets 9 and 10; later ones do not have it."""
    number = _opset("Scatter", opset, 9, 10)
    return _scatter_elements("Scatter", data, indices, updates, axis, "none", number)


@eager
def ScatterElements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none", *, opset: int = 24
) -> Value:
    """``out = data; out[indices[i][j][k]][j][k] = updates[i][j][k]`` for axis = 0; opsets 11, 13, 16, 18.

    indices: int32 or int64, of data's rank, on the other axes at most data's extents; updates: indices' shape, data's dtype.
    reduction: none; add and mul from opset 16, max and min from 18.  Any other is an error, where ONNX Runtime and the
    reference evaluator silently overwrite.
    """
    number = _opset("ScatterElements", opset, 11)
    return _scatter_elements("ScatterElements", data, indices, updates, axis, reduction, number)


def _scatter_elements(
    op: str, data: Value, indices: Value, updates: Value, axis: int, reduction: str, opset: int
) -> Value:
    how = _reduction(op, reduction, opset)
    _need_data(op, "data", data, opset)
    need_dtype(op, "indices", indices, _INDEX)
    need_same_dtype(op, "updates", updates, "data", data)
    _need_axes(op, "data", data)
    a = axis_of(op, "axis", axis, data.rank)
    return builder_of(data).scatter(data, indices, updates, a, reduction=compared(op, how, data.dtype))


@eager
def ScatterND(data: Tensor, indices: Tensor, updates: Tensor, reduction: str = "none", *, opset: int = 24) -> Value:
    """The mirror of :func:`GatherND` without batch axes; opsets 11, 13, 16, 18.

    indices: int64; updates: ``indices.shape[:-1] + data.shape[indices.shape[-1]:]``, data's dtype.  reduction: as for
    :func:`ScatterElements`, and refused in the same cases.
    """
    number = _opset("ScatterND", opset, 11)
    how = _reduction("ScatterND", reduction, number)
    _need_data("ScatterND", "data", data, number)
    need_dtype("ScatterND", "indices", indices, ("int64",))
    need_same_dtype("ScatterND", "updates", updates, "data", data)
    _need_axes("ScatterND", "data", data)
    _need_axes("ScatterND", "indices", indices)
    return builder_of(data).scatter_nd(data, indices, updates, reduction=compared("ScatterND", how, data.dtype))


@eager
def TensorScatter(
    past_cache: Tensor,
    update: Tensor,
    write_indices: Tensor | None = None,
    axis: int = -2,
    mode: str = "linear",
    *,
    opset: int = 24,
) -> Value:
    """``out = past_cache; out[b, .., write_indices[b] + s, ..] = update[b, .., s, ..]``, the sum on ``axis``; opset 24.

    past_cache, update: one dtype, equal extents but on ``axis``, which is not the first; write_indices: int64, one for each
    batch (axis 0), zeros where it is left out.  mode: ``linear``, where a position out of range is an error, below 0 too, or
    ``circular``, where it is taken modulo past_cache's extent; a write index below 0 too, as by the reference evaluator, where
    ONNX Runtime refuses it.
    """
    op, b = "TensorScatter", builder_of(past_cache)
    number = _opset(op, opset, 24)
    if mode not in ("linear", "circular"):
        raise ArgumentError(f"{op}: mode must be 'linear' or 'circular'; got {mode!r}")
    _need_data(op, "past_cache", past_cache, number)
    need_same_dtype(op, "update", update, "past_cache", past_cache)
    need_rank(op, "update", update, past_cache.rank)
    at = axis_of(op, "axis", axis, past_cache.rank)
    if at == 0:
        raise ShapeError(
            f"{op}: axis must not be that of the batch; got {axis} for shape {shape_str(past_cache.shape)}"
        )
    b.draft.require([("==", n, m, f"{op}: update on axis {k}") for k, n, m in _pairs(update, past_cache) if k != at])
    grid = (past_cache.shape[0], update.shape[at])
    index = b.iota(grid, 1)
    if write_indices is not None:
        need_dtype(op, "write_indices", write_indices, ("int64",))
        need_rank(op, "write_indices", write_indices, 1)
        b.draft.require([("==", write_indices.shape[0], grid[0], f"{op}: write_indices")])
        index = index + b.unsqueeze(write_indices, 1)
    bounds = "raise" if mode == "linear" else "wrap"
    return b.scatter_map(past_cache, index, update, _row_map(past_cache.rank, at), bounds=bounds, negative=False)


def _pairs(x: Value, y: Value) -> list[tuple[int, Dim, Dim]]:
    """The extents of two tensors of one rank, with the axis."""
    return [(k, n, m) for k, (n, m) in enumerate(zip(x.shape, y.shape, strict=True))]


def _row_map(rank: int, axis: int) -> IndexMap:
    """Axis 0 shared with the index's first, ``axis`` indexed, whose position is the index's second, all others free."""
    window = {a: w for w, a in enumerate(a for a in range(rank) if a not in (0, axis))}
    sources: list[Source] = [Shared(0)]
    layout: list[Place] = [("index", 0)]
    for a in range(1, rank):
        sources.append(Indexed(0) if a == axis else Window(window[a]))
        layout.append(("index", 1) if a == axis else ("window", window[a]))
    return IndexMap(tuple(sources), tuple(layout))
