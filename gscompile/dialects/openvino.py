"""OpenVINO: the operations of its opsets, as OpenVINO 2026.4 computes them on the CPU.

A function is an operation's name in the Python opsets with the version of its specification: ``gather_8`` is Gather-8, that is
``openvino.opset8.gather``.

Indices mean their value, whatever their dtype: the CPU plugin cuts 64-bit ones to 32 bits.  Duplicates are combined in the
order of the index.  Where the plugin reads memory outside a tensor, or with one thread gives what its output happened to
hold, an index out of range raises BoundsError here.  A Gather without indices, which crashes the plugin's process, is empty.
Sums of 16-bit floats accumulate in float32 and round once.
"""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.dialects._rules import (
    FLOATS,
    INTEGERS,
    beaten,
    need_dtype,
    need_rank,
    need_same_dtype,
    truncated_quotient,
    without_nan,
)
from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend.arguments import axis_of, flag, int_of
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Tensor, eager
from gscompile.ir.dims import product, shape_str
from gscompile.ir.graph import Value

_INDEX = ("int32", "int64")
_ELEMENTS = {"none": "update", "sum": "add", "prod": "mul", "min": "min", "max": "max", "mean": "mean"}
_ND = {"none": "update", "sum": "add", "sub": "sub", "prod": "mul", "min": "min", "max": "max"}


# what a min of nothing is, in float32 and cut to the dtype; a max is its negative
_HIGHEST = {"float16": float("inf"), "bfloat16": float.fromhex("0x1.fep127")}


def _index(op: str, indices: Value, dtypes: Sequence[str] = INTEGERS) -> Value:
    need_dtype(op, "indices", indices, dtypes)
    return builder_of(indices).cast(indices, "int32") if indices.dtype.bits >= 32 else indices


# -- gathers ------------------------------------------------------------------------------------------------------------


@eager
def gather_1(data: Tensor, indices: Tensor, axis: int) -> Value:
    """Gather-1: slices of data along axis; an index that is negative or too large gives zeros.

    (For data of rank 1 the plugin may return the memory beside it.)

    data: rank 1 or more; indices: any integer dtype; ``out.shape = data.shape[:axis] + indices.shape + data.shape[axis + 1:]``.
    """
    return _gather("gather_1", data, indices, axis, 0, negative=False)


@eager
def gather_7(data: Tensor, indices: Tensor, axis: int, batch_dims: int = 0) -> Value:
    """Gather-7: :func:`gather_1` with batch axes, of equal extents; ``batch_dims`` counts from indices' rank if negative."""
    return _gather("gather_7", data, indices, axis, batch_dims, negative=False)


@eager
def gather_8(data: Tensor, indices: Tensor, axis: int, batch_dims: int = 0) -> Value:
    """Gather-8: :func:`gather_7` where a negative index counts from the end, once; one out of range gives zeros."""
    return _gather("gather_8", data, indices, axis, batch_dims, negative=True)


def _gather(op: str, data: Value, indices: Value, axis: int, batch_dims: int, negative: bool) -> Value:
    indices = _index(op, indices)
    need_rank(op, "data", data, 1, 8)
    return builder_of(data).take(data, indices, axis, batch_dims, bounds="fill", negative=negative)


@eager
def gather_elements_6(data: Tensor, indices: Tensor, axis: int = 0) -> Value:
    """GatherElements-6: ``out[i][j][k] = data[indices[i][j][k]][j][k]`` for axis = 0.

    indices: int32 or int64, data's rank, 1 or more, and its extents on the other axes.  A negative index counts from the end;
    one out of range is an error.
    """
    indices = _index("gather_elements_6", indices, _INDEX)
    a = _like_data("gather_elements_6", data, indices, axis)
    b = builder_of(data)
    what = f"gather_elements_6: indices {shape_str(indices.shape)} like data {shape_str(data.shape)}"
    pairs = enumerate(zip(indices.shape, data.shape, strict=True))
    b.draft.require([("==", i, d, f"{what}, on axis {k}") for k, (i, d) in pairs if k != a])
    return b.gather(data, indices, a)


def _like_data(op: str, data: Value, indices: Value, axis: int) -> int:
    """The axis, where data and indices have one rank of at least 1."""
    need_rank(op, "data", data, 1, 8)
    need_rank(op, "indices", indices, data.rank)
    return axis_of(op, "axis", axis, data.rank)


@eager
def gather_nd_5(data: Tensor, indices: Tensor, batch_dims: int = 0) -> Value:
    """GatherND-5: :func:`gather_nd_8` with the batch axes of the result made one."""
    b = builder_of(data)
    found = _gather_nd("gather_nd_5", data, indices, batch_dims)
    merged = (product(found.shape[:batch_dims]), *found.shape[batch_dims:])
    return b.reshape(found, merged) if batch_dims > 1 else found


@eager
def gather_nd_8(data: Tensor, indices: Tensor, batch_dims: int = 0) -> Value:
    """GatherND-8: slices of data at the index vectors along indices' last axis.

    indices: any integer dtype, rank 1 or more; ``out.shape = indices.shape[:-1] + data.shape[batch_dims + m:]`` for vectors of
    length m, at least 1 (without components the plugin's result is undefined); ``batch_dims`` less than both ranks.  A
    negative index counts from the end.  An index out of range is an error here; the plugin reads memory outside data.
    """
    return _gather_nd("gather_nd_8", data, indices, batch_dims)


def _gather_nd(op: str, data: Value, indices: Value, batch_dims: int) -> Value:
    indices = _index(op, indices)
    need_rank(op, "data", data, 1, 8)
    need_rank(op, "indices", indices, 1, 8)
    batch = int_of(op, "batch_dims", batch_dims)
    if not 0 <= batch < min(data.rank, indices.rank):
        raise ShapeError(
            f"{op}: batch_dims must be in [0, {min(data.rank, indices.rank) - 1}] for data {shape_str(data.shape)} and "
            f"indices {shape_str(indices.shape)}; got {batch}"
        )
    _need_components(op, indices)
    return builder_of(data).gather_nd(data, indices, batch_dims=batch)


def _need_components(op: str, indices: Value) -> None:
    if indices.shape[-1] == 0:
        raise ShapeError(f"{op}: index vectors must not be empty; got indices {shape_str(indices.shape)}")


@eager
def gather_tree_1(step_ids: Tensor, parent_idx: Tensor, max_seq_len: Tensor, end_token: Tensor) -> Value:
    """GatherTree-1: whole beams of a beam search, traced back from each beam's last step.

    step_ids, parent_idx: (max_time, batch, beam), max_time fixed; max_seq_len: (batch,); end_token: a scalar; all of one
    numeric dtype.  A beam's path starts at step ``min(max_time, max_seq_len) - 1``; what follows that, and what follows the first
    end_token on a path, is end_token.  A sequence of length 0 or less is all end_token, where the plugin leaves its output as
    it was.  A parent out of ``[0, beam)`` that a path visits is an error, where the plugin reads memory outside step_ids.
    """
    op, b = "gather_tree_1", builder_of(step_ids)
    need_dtype(op, "step_ids", step_ids, (*FLOATS, *INTEGERS))
    for name, x, rank in (("parent_idx", parent_idx, 3), ("max_seq_len", max_seq_len, 1), ("end_token", end_token, 0)):
        need_same_dtype(op, name, x, "step_ids", step_ids)
        need_rank(op, name, x, rank)
    need_rank(op, "step_ids", step_ids, 3)
    time, batch, _ = step_ids.shape
    if not isinstance(time, int):
        raise ShapeError(f"{op}: step_ids must have a fixed first extent; got {shape_str(step_ids.shape)}")
    if time == 0:
        return step_ids
    what = f"{op}: parent_idx {shape_str(parent_idx.shape)} like step_ids {shape_str(step_ids.shape)}"
    pairs = zip(parent_idx.shape, step_ids.shape, strict=True)
    b.draft.require([("==", p, s, f"{what}, on axis {a}") for a, (p, s) in enumerate(pairs)])
    b.draft.require([("==", max_seq_len.shape[0], batch, f"{op}: max_seq_len on axis 0")])
    last = b.reshape(b.minimum(b.cast(max_seq_len, "int64"), time) - 1, (1, batch, 1))
    t, own = b.iota(step_ids.shape, axis=0), b.iota(step_ids.shape, axis=2)
    parent = b.cast(parent_idx, "int64")
    # came[t]: the beam at step t that each beam at step t + 1 continues; each round doubles the number of steps between
    came = _later(b.where(t > last, own, parent), own, 1)
    for k in range((time - 1).bit_length()):
        came = b.gather(came, _later(came, own, 1 << k), 2, bounds="clip", negative=False)
    # Composing reads beams that no path visits, so it must not raise: the parent that a path takes is checked as it is used.
    at = b.where(t >= last, own, _later(b.gather(parent, came, 2, bounds="clip", negative=False), own, 1))
    path = b.where(last >= t, b.gather(step_ids, at, 2, negative=False), end_token)
    first = b.min(b.where(path == end_token, t, time), 0)
    return b.where(t > first, end_token, path)


def _later(x: Value, rest: Value, steps: int) -> Value:
    """``out[t] = x[t + steps]``, and of ``rest`` where there is no such step."""
    return builder_of(x).concat([x[steps:], rest[:steps]], 0)


# -- scatters -----------------------------------------------------------------------------------------------------------


@eager
def scatter_update_3(data: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Value:
    """ScatterUpdate-3: a copy of data with its slices along axis at indices replaced; the last of duplicates wins.

    data: rank 1 or more; indices: any integer dtype, rank 1 or more; updates: data's dtype, ``updates.shape = data.shape[:axis] +
    indices.shape + data.shape[axis + 1:]``.  An index out of ``[0, extent)`` is an error.
    """
    op, b = "scatter_update_3", builder_of(data)
    indices = _index(op, indices)
    need_rank(op, "data", data, 1, 8)
    need_rank(op, "indices", indices, 1, 8)
    return b.put(data, indices, updates, axis, negative=False)


@eager
def scatter_elements_update_3(data: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Value:
    """ScatterElementsUpdate-3: ``out = data; out[indices[i][j][k]][j][k] = updates[i][j][k]`` for axis = 0.

    indices: any integer dtype, data's rank, 1 or more, on the other axes at most data's extents (the plugin lets longer ones run
    into the next row); updates: data's dtype, indices' shape.  A negative index counts from the end; one out of range is an
    error.  The last of duplicates wins.
    """
    return _scatter_elements("scatter_elements_update_3", data, indices, updates, axis, "none", True)


@eager
def scatter_elements_update_12(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int, reduction: str = "none", use_init_val: bool = True
) -> Value:
    """ScatterElementsUpdate-12: :func:`scatter_elements_update_3` with reduction: none, sum, prod, min, max, mean (not of bool).

    use_init_val: whether data's own value takes part where something arrives.  Of bool, sum and max are *or*, prod and min
    *and*.  A mean of integers is truncated, as the plugin does; the specification says it rounds down.  Sums of integers
    wrap.  min and max keep a NaN of data and ignore one of updates; with ``use_init_val=False`` a min of floats is at most
    float32's highest finite value (bfloat16's of bfloat16), also where there is nothing but NaN, and a max at least its negative.
    """
    return _scatter_elements("scatter_elements_update_12", data, indices, updates, axis, reduction, use_init_val)


def _scatter_elements(
    op: str, data: Value, indices: Value, updates: Value, axis: int, reduction: str, use_init_val: bool
) -> Value:
    b = builder_of(data)
    indices = _index(op, indices)
    a = _like_data(op, data, indices, axis)
    how, keep = _reduction(op, reduction, _ELEMENTS), flag(op, "use_init_val", use_init_val)
    if how in ("min", "max"):
        updates = without_nan(updates, how) if keep else _limited(updates, how)
        return b.scatter(data, indices, updates, a, reduction=beaten(how), include_self=keep)
    if how == "mean" and data.dtype.kind == "b":
        raise DTypeError(f"{op}: reduction 'mean' is not supported for bool")
    if how != "mean" or data.dtype.is_float:
        return b.scatter(data, indices, updates, a, reduction=how, include_self=keep)
    total = b.scatter(data, indices, updates, a, reduction="add", include_self=keep)
    count = b.scatter(b.full(data.shape, 1, "int64"), indices, 1, a, reduction="add", include_self=keep)
    wide = total if data.dtype.bits == 64 else b.cast(total, "int64")
    if data.dtype.name == "uint64":
        return total // b.cast(count, "uint64")
    return b.cast(truncated_quotient(wide, count), data.dtype)


def _limited(x: Value, reduction: str) -> Value:
    """What a min or max of updates alone takes in place of ``x``: the plugin's begins with a finite value."""
    if not x.dtype.is_float:
        return x
    high = _HIGHEST.get(x.dtype.name, float.fromhex("0x1.fffffep127"))
    return builder_of(x).where(x < high, x, high) if reduction == "min" else builder_of(x).where(x > -high, x, -high)


def _reduction(op: str, reduction: str, table: dict[str, str]) -> str:
    if not isinstance(reduction, str) or reduction not in table:
        raise ArgumentError(f"{op}: reduction must be {' or '.join(table)}; got {reduction!r}")
    return table[reduction]


@eager
def scatter_nd_update_3(data: Tensor, indices: Tensor, updates: Tensor) -> Value:
    """ScatterNDUpdate-3 (``openvino.opset4`` in Python): a copy of data with updates at index vectors.

    data: rank 1 or more; indices: int32 or int64, rank 1 or more; updates: data's dtype, ``updates.shape = indices.shape[:-1] +
    data.shape[m:]`` for vectors of length m, at least 1 (without components the plugin's result is undefined).  A negative
    index counts from the end; one out of range is an error.  The last of duplicates wins.
    """
    return _scatter_nd("scatter_nd_update_3", data, indices, updates, "none")


@eager
def scatter_nd_update_15(data: Tensor, indices: Tensor, updates: Tensor, reduction: str | None = None) -> Value:
    """ScatterNDUpdate-15: :func:`scatter_nd_update_3` with reduction: none, sum, sub, prod, min, max.

    Of bool, sum and max are *or*, sub is *xor*, prod and min are *and*.  min and max keep a NaN of data and ignore one of
    updates.
    """
    return _scatter_nd("scatter_nd_update_15", data, indices, updates, "none" if reduction is None else reduction)


def _scatter_nd(op: str, data: Value, indices: Value, updates: Value, reduction: str) -> Value:
    b = builder_of(data)
    indices = _index(op, indices, _INDEX)
    need_rank(op, "data", data, 1, 8)
    need_rank(op, "indices", indices, 1, 8)
    _need_components(op, indices)
    how = _reduction(op, reduction, _ND)
    if how in ("min", "max"):
        return b.scatter_nd(data, indices, without_nan(updates, how), reduction=beaten(how))
    if how == "sub" and data.dtype.kind == "b":  # xor: the lowest bit of how many there are
        need_same_dtype(op, "updates", updates, "data", data)
        ones = b.scatter_nd(b.cast(data, "uint8"), indices, b.cast(updates, "uint8"), reduction="add")
        return b.cast(b.bitwise_and(ones, 1), "bool")
    return b.scatter_nd(data, indices, updates, reduction=how)
