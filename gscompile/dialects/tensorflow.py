"""TensorFlow: ``tf.gather``, ``tf.scatter_nd``, ``tf.math.unsorted_segment_sum`` and their kin, as TensorFlow 2.21 computes them.

TensorFlow's answer to an index out of range depends on where a program runs, so every function that has one takes ``device``:

=========  =====================  ======================================
device     gathers                scatters and unsorted segments
=========  =====================  ======================================
``"cpu"``  BoundsError            BoundsError
``"gpu"``  0                      dropped
``"xla"``  the nearest valid one  dropped  (``jit_compile=True``)
=========  =====================  ======================================

A negative index is out of range.  ``device`` says whose rules hold, not where the call runs.  ``bad_indices_policy`` is
TensorFlow's own choice: ``""`` and ``"DEFAULT"`` are the row above, ``"IGNORE"`` the row of ``"gpu"``, ``"ERROR"`` that of
``"cpu"`` (XLA ignores it, and treats any other string as ``""``).

Duplicates are combined in row-major order, on every device; on TensorFlow's GPU the order is not fixed.  Sums and products of
16-bit floats round at every step, as TensorFlow's (where the call runs on cuda, perhaps at fewer).  ``name`` and
``validate_indices`` are accepted and ignored.

The sorted segments of TensorFlow's CPU are reduced by Eigen, which takes the elements of a slice in packets (8 of them; of
float64, 4), and the remaining ones one by one.  In packets, a sum or product of 16 slices or more is that of four partial ones,
each of every fourth slice; here it is in the order of the slices, so that its last bits may differ.  So may the sign of a
minimum of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gscompile.dialects import _tensorflow_segments as sorted_segments
from gscompile.dialects._rules import (
    beaten,
    compared,
    limits,
    need_dtype,
    need_rank,
    need_same_dtype,
    rounding,
    without_nan,
)
from gscompile.dialects._tensorflow_segments import INDEX, no_bool
from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend.arguments import int_of, named
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Size, Tensor, eager
from gscompile.ir.dims import Dim, as_shape, product, shape_str
from gscompile.ir.graph import Value

_GATHER_INDEX = ("int16", "int32", "int64")
_GATHER_BOUNDS = {"cpu": "raise", "gpu": "fill", "xla": "clip"}
_SCATTER_BOUNDS = {"cpu": "raise", "gpu": "fill", "xla": "fill"}


def _bounds(op: str, table: dict[str, str], device: str, policy: str = "") -> str:
    if not isinstance(device, str) or device not in table:
        raise ArgumentError(f"{op}: device must be {' or '.join(map(repr, table))}; got {device!r}")
    if device != "xla" and policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise ArgumentError(f"{op}: bad_indices_policy must be '', 'DEFAULT', 'ERROR' or 'IGNORE'; got {policy!r}")
    if policy == "IGNORE":
        return "fill"
    return "raise" if policy == "ERROR" and device != "xla" else table[device]


def _empty(shape: Sequence[Dim]) -> bool:
    return any(d == 0 for d in shape)


# -- gathers ------------------------------------------------------------------------------------------------------------


@eager
def gather(
    params: Tensor,
    indices: Tensor,
    validate_indices: Any = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: str | None = None,
    *,
    device: str = "cpu",
) -> Value:
    """Slices of params at indices along ``axis``, which is ``batch_dims`` by default.

    params: rank 1 or more, any dtype; indices: int16, int32 or int64; ``out.shape = params.shape[:axis] +
    indices.shape[batch_dims:] + params.shape[axis + 1:]``.  As in TensorFlow, ``batch_dims`` has no effect where axis is written
    as 0, and indices are not checked where the result is empty.  Batch axes have equal extents; XLA takes some others too.  From
    an empty axis ``"xla"`` gets zeros, of ``params.shape`` without the axis where batch_dims is 0.
    """
    b = builder_of(params)
    bounds = _bounds("gather", _GATHER_BOUNDS, device)
    need_dtype("gather", "indices", indices, _GATHER_INDEX)
    need_rank("gather", "params", params, 1, 8)
    batch = int_of("gather", "batch_dims", batch_dims)
    a = batch if axis is None else int_of("gather", "axis", axis)
    if a == 0:
        batch = 0
    filled = b.take(params, indices, a, batch, bounds="fill", negative=False)
    if bounds == "clip" and params.shape[a] == 0 and batch == 0 and not _empty(indices.shape):
        return b.zeros((*params.shape[:a], *params.shape[a + 1 :]), params.dtype)
    if _empty(filled.shape) or bounds == "fill" or (bounds == "clip" and params.shape[a] == 0):
        return filled
    return b.take(params, indices, a, batch, bounds=bounds, negative=False)


@eager
def gather_nd(
    params: Tensor,
    indices: Tensor,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
    *,
    device: str = "cpu",
) -> Value:
    """Slices of params at the index vectors along indices' last axis.

    params: rank 1 or more, any dtype; indices: int16, int32 or int64; ``out.shape = indices.shape[:-1] + params.shape[batch_dims
    + m:]`` for vectors of length m.  Batch axes have equal extents, or as many elements in other extents.  Index vectors into
    params without elements are refused; for ``"xla"`` those that index an empty axis give zeros of ``params.shape[1:]``, without
    batch axes.
    """
    b = builder_of(params)
    bounds = _bounds("gather_nd", _GATHER_BOUNDS, device, bad_indices_policy)
    need_dtype("gather_nd", "indices", indices, _GATHER_INDEX)
    need_rank("gather_nd", "params", params, 1, 8)
    need_rank("gather_nd", "indices", indices, 1, 8)
    batch = int_of("gather_nd", "batch_dims", batch_dims)
    if batch and not 0 <= batch < min(params.rank, indices.rank):
        raise ShapeError(
            f"gather_nd: batch_dims must be in [0, {min(params.rank, indices.rank) - 1}] for params {shape_str(params.shape)} "
            f"and indices {shape_str(indices.shape)}; got {batch}"
        )
    ours, theirs = params.shape[:batch], indices.shape[:batch]
    if ours != theirs:
        rest = product(indices.shape[batch:])
        what = f"gather_nd: elements in batch axes of indices {shape_str(indices.shape)}, and params {shape_str(params.shape)},"
        b.draft.require([("==", product(theirs) * rest, product(ours) * rest, what)])
        indices = b.reshape(indices, (*ours, *indices.shape[batch:]))
    depth = int_of("gather_nd", "the length of a vector", indices.shape[-1])
    if _empty(params.shape) and not _empty(indices.shape[:-1]) and depth <= params.rank - batch:
        if device != "xla" or (batch and _empty(params.shape[batch : batch + depth])):
            raise ShapeError(f"gather_nd: params {shape_str(params.shape)} has no elements to gather")
        if _empty(params.shape[:depth]):
            return b.zeros(params.shape[1:], params.dtype)
    if _empty(params.shape):
        bounds = "fill"
    return b.gather_nd(params, indices, batch_dims=batch, bounds=bounds, negative=False)


# -- scatters -----------------------------------------------------------------------------------------------------------


@eager
def scatter_nd(
    indices: Tensor,
    updates: Tensor,
    shape: Sequence[Size],
    bad_indices_policy: str = "",
    name: str | None = None,
    *,
    device: str = "cpu",
) -> Value:
    """Adds updates at index vectors to zeros of a shape, a list of ints (or, with values, of symbolic sizes).

    indices: int32 or int64; updates: any dtype, ``updates.shape = indices.shape[:-1] + shape[m:]`` for vectors of length m, of
    rank 1 or more.  indices has rank 2 or more, but for ``"xla"``, where rank 1 is one vector.  Duplicates are summed; bool
    sums are *or*.
    """
    base = builder_of(updates).zeros(named("scatter_nd", "shape", as_shape, shape), updates.dtype)
    return _scatter("scatter_nd", base, indices, updates, "add", device, bad_indices_policy)


@eager
def tensor_scatter_nd_update(
    tensor: Tensor, indices: Tensor, updates: Tensor, name: str | None = None, *, device: str = "cpu"
) -> Value:
    """A copy of tensor with updates at index vectors; where they meet, the last one wins.

    tensor: any dtype; indices: int32 or int64; updates: tensor's dtype, ``updates.shape = indices.shape[:-1] +
    tensor.shape[m:]`` for vectors of length m, of rank 1 or more.  indices has rank 2 or more, but for ``"xla"``, where rank 1 is
    one vector, and where updates and additions take updates of rank 0 for all points, and this function int16 and uint16 indices.
    """
    return _scatter("tensor_scatter_nd_update", tensor, indices, updates, "update", device)


@eager
def tensor_scatter_nd_add(
    tensor: Tensor,
    indices: Tensor,
    updates: Tensor,
    bad_indices_policy: str = "",
    name: str | None = None,
    *,
    device: str = "cpu",
) -> Value:
    """:func:`tensor_scatter_nd_update` that adds; bool, by *or*, for ``"xla"`` alone."""
    return _scatter("tensor_scatter_nd_add", tensor, indices, updates, "add", device, bad_indices_policy)


@eager
def tensor_scatter_nd_sub(
    tensor: Tensor,
    indices: Tensor,
    updates: Tensor,
    bad_indices_policy: str = "",
    name: str | None = None,
    *,
    device: str = "cpu",
) -> Value:
    """:func:`tensor_scatter_nd_update` that subtracts; no bool, on which XLA crashes."""
    return _scatter("tensor_scatter_nd_sub", tensor, indices, updates, "sub", device, bad_indices_policy)


@eager
def tensor_scatter_nd_max(
    tensor: Tensor,
    indices: Tensor,
    updates: Tensor,
    bad_indices_policy: str = "",
    name: str | None = None,
    *,
    device: str = "cpu",
) -> Value:
    """:func:`tensor_scatter_nd_update` that keeps the larger; bool for ``"xla"`` alone.

    As in TensorFlow, a NaN in tensor stays and a NaN in updates is ignored.
    """
    return _scatter("tensor_scatter_nd_max", tensor, indices, updates, "max", device, bad_indices_policy)


@eager
def tensor_scatter_nd_min(
    tensor: Tensor,
    indices: Tensor,
    updates: Tensor,
    bad_indices_policy: str = "",
    name: str | None = None,
    *,
    device: str = "cpu",
) -> Value:
    """:func:`tensor_scatter_nd_max` that keeps the smaller."""
    return _scatter("tensor_scatter_nd_min", tensor, indices, updates, "min", device, bad_indices_policy)


def _scatter(
    op: str, base: Value, indices: Value, updates: Value, reduction: str, device: str, policy: str = ""
) -> Value:
    bounds = _bounds(op, _SCATTER_BOUNDS, device, policy)
    narrow = device == "xla" and op == "tensor_scatter_nd_update"
    need_dtype(op, "indices", indices, ("int16", "uint16", *INDEX) if narrow else INDEX)
    need_same_dtype(op, "updates", updates, "tensor", base)
    if op.startswith("tensor_") and (reduction == "sub" or (reduction != "update" and device != "xla")):
        no_bool(op, base)
    need_rank(op, "tensor" if op.startswith("tensor") else "shape", base, 1, 8)
    need_rank(op, "indices", indices, 1, 8)
    need_rank(op, "updates", updates, 0 if device == "xla" and op.startswith("tensor") else 1, 8)
    if _empty(base.shape) and not (_empty(indices.shape) and _empty(updates.shape)):
        raise ShapeError(
            f"{op}: where tensor has no elements, indices and updates must have none; "
            f"got {shape_str(base.shape)}, {shape_str(indices.shape)} and {shape_str(updates.shape)}"
        )
    depth = indices.shape[-1]
    nothing = depth == 0 and _empty(base.shape if indices.rank > 1 else base.shape[:1])
    if device != "xla" and (indices.rank == 1 or depth == 0) and not nothing:
        raise ShapeError(
            f"{op}: indices must have rank 2 or more, with vectors of length 1 or more; got {shape_str(indices.shape)}"
        )
    if updates.rank == 0 and reduction in ("update", "add"):
        m = int_of(op, "the length of a vector", depth)
        updates = builder_of(base).broadcast_to(updates, [*indices.shape[:-1], *base.shape[m:]])
    if reduction in ("min", "max"):
        updates = without_nan(updates, reduction)
    return builder_of(base).scatter_nd(
        base, indices, updates, reduction=beaten(reduction), bounds=bounds, negative=False
    )


# -- segments -----------------------------------------------------------------------------------------------------------


@eager
def unsorted_segment_sum(
    data: Tensor, segment_ids: Tensor, num_segments: Size, name: str | None = None, *, device: str = "cpu"
) -> Value:
    """The sum of data's slices for each segment id, 0 where there is none.

    data: any dtype but bool; segment_ids: int16, int32 or int64, its shape a prefix of data's; ``out.shape = (num_segments,) +
    data.shape[rank of segment_ids:]``.  A negative id drops its slice; an id of num_segments or more is an error for ``"cpu"``
    and dropped otherwise.  With num_segments 0 every id is an error for ``"cpu"``, negative ones too.
    """
    return _unsorted("unsorted_segment_sum", data, segment_ids, num_segments, "add", 0, device, _GATHER_INDEX)


@eager
def unsorted_segment_prod(
    data: Tensor, segment_ids: Tensor, num_segments: Size, name: str | None = None, *, device: str = "cpu"
) -> Value:
    """:func:`unsorted_segment_sum` for products: 1 where there is none; segment_ids: int32 or int64."""
    return _unsorted("unsorted_segment_prod", data, segment_ids, num_segments, "mul", 1, device, INDEX)


@eager
def unsorted_segment_max(
    data: Tensor, segment_ids: Tensor, num_segments: Size, name: str | None = None, *, device: str = "cpu"
) -> Value:
    """:func:`unsorted_segment_sum` for the largest: the dtype's lowest finite value where there is none, and never below it.

    segment_ids: int32 or int64.  For ``"cpu"`` only what follows the last NaN of a segment counts, and if nothing does it is
    NaN; for ``"gpu"`` a NaN gives NaN; for ``"xla"`` it is ignored where there is more than one id.
    """
    return _unsorted("unsorted_segment_max", data, segment_ids, num_segments, "max", limits(data)[0], device, INDEX)


@eager
def unsorted_segment_min(
    data: Tensor, segment_ids: Tensor, num_segments: Size, name: str | None = None, *, device: str = "cpu"
) -> Value:
    """:func:`unsorted_segment_max` for the smallest: the dtype's highest finite value where there is none."""
    return _unsorted("unsorted_segment_min", data, segment_ids, num_segments, "min", limits(data)[1], device, INDEX)


@eager
def unsorted_segment_mean(
    data: Tensor, segment_ids: Tensor, num_segments: Size, name: str | None = None, *, device: str = "cpu"
) -> Value:
    """:func:`unsorted_segment_sum` divided by the number of slices.

    Integers give a float: float32 up to 16 bits, float64 above.  Their sum and count wrap in data's dtype, as TensorFlow's do.
    """
    total, count = _total_and_count("unsorted_segment_mean", data, segment_ids, num_segments, device)
    if data.dtype.is_integer:
        wide = "float32" if data.dtype.bits <= 16 else "float64"
        total, count = builder_of(data).cast(total, wide), builder_of(data).cast(count, wide)
    return total / count


@eager
def unsorted_segment_sqrt_n(
    data: Tensor, segment_ids: Tensor, num_segments: Size, name: str | None = None, *, device: str = "cpu"
) -> Value:
    """:func:`unsorted_segment_sum` divided by the square root of the number of slices; data: a float dtype."""
    if not data.dtype.is_float:
        raise DTypeError(f"unsorted_segment_sqrt_n: data must have a float dtype; got {data.dtype}")
    total, count = _total_and_count("unsorted_segment_sqrt_n", data, segment_ids, num_segments, device)
    return total / builder_of(data).sqrt(count)


def _total_and_count(op: str, data: Value, ids: Value, num_segments: int, device: str) -> tuple[Value, Value]:
    """The sums of segments, and the number of slices in each, at least 1, of a shape that broadcasts against them."""
    b = builder_of(data)
    total = _unsorted(op, data, ids, num_segments, "add", 0, device, _GATHER_INDEX)
    count = _unsorted(op, b.full(ids.shape, 1, data.dtype), ids, num_segments, "add", 0, device, _GATHER_INDEX)
    shape = (count.shape[0], *(1 for _ in total.shape[1:]))
    return total, b.maximum(b.reshape(count, shape), 1)


def _unsorted(
    op: str,
    data: Value,
    ids: Value,
    num_segments: int,
    reduction: str,
    identity: float,
    device: str,
    dtypes: Sequence[str],
) -> Value:
    b = builder_of(data)
    bounds = _bounds(op, _SCATTER_BOUNDS, device)
    need_dtype(op, "segment_ids", ids, dtypes)
    no_bool(op, data)
    if ids.rank > data.rank:
        raise ShapeError(
            f"{op}: segment_ids' shape must be a prefix of data's {shape_str(data.shape)}; got {shape_str(ids.shape)}"
        )
    (rows,) = named(op, "num_segments", as_shape, [num_segments])
    what = f"{op}: segment_ids {shape_str(ids.shape)} as a prefix of data {shape_str(data.shape)}"
    b.draft.require(
        [("==", i, d, f"{what}, on axis {a}") for a, (i, d) in enumerate(zip(ids.shape, data.shape, strict=False))]
    )
    base = b.full((rows, *data.shape[ids.rank :]), identity, data.dtype)
    how = rounding(reduction)
    if reduction in ("min", "max") and data.dtype.is_float:
        if device == "xla":
            data = b.where(b.size(product(ids.shape)) == 1, data, without_nan(data, reduction))
            how = beaten(reduction)
        elif device == "cpu":
            how = compared(op, reduction, data.dtype)
    if bounds == "raise":
        ids = b.where(ids < 0, -1, b.take(b.iota((rows,)), b.maximum(ids, 0), negative=False))
    return b.put(base, ids, data, reduction=how, bounds="fill", negative=False)


def segment_sum(data: Any, segment_ids: Any, name: str | None = None, *, num_segments: Any = None) -> Any:
    """The sum of data's slices for each segment id, 0 where there is none.

    data: rank 1 or more, any dtype but bool; segment_ids: int32 or int64, one for each slice, not negative and never
    falling; ``out.shape = (num_segments,) + data.shape[1:]``.

    num_segments: by default the last id plus 1, which is read from the array; where segment_ids is a value of a builder it
    must be given.  TensorFlow has no such argument.
    """
    rows = sorted_segments.rows_of("segment_sum", segment_ids, num_segments)
    return sorted_segments.segment_sum(data, segment_ids, rows)


def segment_prod(data: Any, segment_ids: Any, name: str | None = None, *, num_segments: Any = None) -> Any:
    """:func:`segment_sum` for products: 1 where there is none."""
    rows = sorted_segments.rows_of("segment_prod", segment_ids, num_segments)
    return sorted_segments.segment_prod(data, segment_ids, rows)


def segment_max(data: Any, segment_ids: Any, name: str | None = None, *, num_segments: Any = None) -> Any:
    """:func:`segment_sum` for the largest: 0 where there is none.

    Among the elements of a slice that fill whole packets NaN is ignored; where there is nothing else, a segment of one slice
    gives NaN and one of more -inf.  Among the remaining ones only what follows the last NaN counts, and if nothing does the
    result is NaN.
    """
    rows = sorted_segments.rows_of("segment_max", segment_ids, num_segments)
    return sorted_segments.segment_max(data, segment_ids, rows)


def segment_min(data: Any, segment_ids: Any, name: str | None = None, *, num_segments: Any = None) -> Any:
    """:func:`segment_max` for the smallest."""
    rows = sorted_segments.rows_of("segment_min", segment_ids, num_segments)
    return sorted_segments.segment_min(data, segment_ids, rows)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None, *, num_segments: Any = None) -> Any:
    """:func:`segment_sum` divided by the number of slices.

    A quotient of integers is truncated; their sum and count wrap in data's dtype, as TensorFlow's do.  Sums are in the order of
    the slices, in packets too.
    """
    rows = sorted_segments.rows_of("segment_mean", segment_ids, num_segments)
    return sorted_segments.segment_mean(data, segment_ids, rows)
