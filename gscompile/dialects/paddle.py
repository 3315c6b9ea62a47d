"""PaddlePaddle: ``paddle.gather``, ``paddle.scatter`` and their kin, as PaddlePaddle 3.3 computes them on the CPU.

Indices are int32 or int64; a negative one counts from the end, once, and one out of range is an error.  A gather from an empty
axis raises BoundsError, where Paddle returns memory that is not the tensor's.  Gathers take data of any dtype;
scatters take those that Paddle's do on any device.  Duplicates are combined in the order of the index; on Paddle's GPU the
order is not fixed.  Sums of 16-bit floats, which Paddle's CPU lacks, round once.  ``name`` is accepted and ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.dialects._rules import FLOATS, from_zero, need_dtype, need_rank, need_same_dtype, without_nan
from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend.arguments import axis_of, flag, named
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Size, Tensor, eager
from gscompile.ir.dims import Dim, as_shape, product, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.ops.reductions import variant

_INDEX = ("int32", "int64")
_SCATTER = (*FLOATS, "int32", "int64")
_ND_ADD = (*_SCATTER, "uint8")
_PUT = (*_SCATTER, "int16", "uint8")
_REDUCE = {
    "assign": "update",
    "add": "add",
    "mul": "mul",
    "multiply": "mul",
    "mean": "mean",
    "amin": "min",
    "amax": "max",
}


def _list(op: str, index: Value) -> Value:
    """An index of shape (n,), or (n, 1), as one of shape (n,)."""
    need_dtype(op, "index", index, _INDEX)
    if index.rank == 2:
        if isinstance(index.shape[1], int) and index.shape[1] != 1:
            raise ShapeError(f"{op}: index of rank 2 must have shape (n, 1); got {shape_str(index.shape)}")
        return builder_of(index).squeeze(index, 1)
    need_rank(op, "index", index, 0, 2)
    return index


@eager
def gather(x: Tensor, index: Tensor, axis: int | None = None, name: str | None = None) -> Value:
    """Slices of x at index along axis, 0 by default.

    x: rank 1 or more; index: shape (n,), (n, 1) or (), the last of which drops the axis.
    """
    need_rank("gather", "x", x, 1, 8)
    return builder_of(x).take(x, _list("gather", index), 0 if axis is None else axis)


@eager
def index_select(x: Tensor, index: Tensor, axis: int = 0, name: str | None = None) -> Value:
    """Slices of x at index along axis; x: rank 1 or more; index: shape (n,) or (n, 1)."""
    need_rank("index_select", "x", x, 1, 8)
    need_rank("index_select", "index", index, 1, 2)
    return builder_of(x).take(x, _list("index_select", index), axis)


@eager
def gather_nd(x: Tensor, index: Tensor, name: str | None = None) -> Value:
    """Slices of x at the index vectors along index's last axis: ``out.shape = index.shape[:-1] + x.shape[m:]``."""
    need_dtype("gather_nd", "index", index, _INDEX)
    return builder_of(x).gather_nd(x, index)


@eager
def scatter(x: Tensor, index: Tensor, updates: Tensor, overwrite: bool = True, name: str | None = None) -> Value:
    """A copy of x with the rows at index replaced by updates' rows; the last of duplicates wins.

    overwrite=False: those rows become 0, and updates' rows are added to them.

    x: rank 1 or more; index: shape (n,), (n, 1), or () for one row; updates: x's dtype, ``updates.shape = (n,) + x.shape[1:]``,
    or more rows, of which the rest is left out; for an index of shape (), ``x.shape[1:]``.
    """
    b = builder_of(x)
    need_dtype("scatter", "x", x, _SCATTER)
    need_same_dtype("scatter", "updates", updates, "x", x)
    need_rank("scatter", "x", x, 1, 8)
    i = _list("scatter", index)
    if i.rank == 1 and updates.rank == x.rank:
        b.draft.require([("<=", i.shape[0], updates.shape[0], "scatter: number of indices, and of rows of updates,")])
        updates = b.slice(updates, [0], [i.shape[0]])
    if flag("scatter", "overwrite", overwrite):
        return b.put(x, i, updates)
    return b.put(x, i, from_zero(updates), reduction="add", include_self=False)


@eager
def scatter_nd(index: Tensor, updates: Tensor, shape: Sequence[Size], name: str | None = None) -> Value:
    """:func:`scatter_nd_add` to zeros of a shape, a list of ints (or, with values, of symbolic sizes)."""
    base = builder_of(updates).zeros(named("scatter_nd", "shape", as_shape, shape), updates.dtype)
    return _scatter_nd_add("scatter_nd", base, index, updates)


@eager
def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor, name: str | None = None) -> Value:
    """A copy of x with updates added at index vectors: ``updates.shape = index.shape[:-1] + x.shape[m:]``."""
    return _scatter_nd_add("scatter_nd_add", x, index, updates)


def _scatter_nd_add(op: str, x: Value, index: Value, updates: Value) -> Value:
    need_dtype(op, "index", index, _INDEX)
    need_dtype(op, "updates", updates, _ND_ADD)
    need_same_dtype(op, "updates", updates, "x", x)
    return builder_of(x).scatter_nd(x, index, updates, reduction="add")


@eager
def take_along_axis(arr: Tensor, indices: Tensor, axis: int, broadcast: bool = True) -> Value:
    """``out[i][j][k] = arr[indices[i][j][k]][j][k]`` for axis = 0.

    arr, indices: one rank, 1 or more.  broadcast: on the other axes extents of 1 stretch; otherwise indices' are at most arr's.
    """
    b = builder_of(arr)
    need_dtype("take_along_axis", "indices", indices, _INDEX)
    a = _axis("take_along_axis", arr, indices, axis)
    if flag("take_along_axis", "broadcast", broadcast):
        common = b.draft.broadcast("take_along_axis", [_without(arr.shape, a), _without(indices.shape, a)])
        arr = b.broadcast_to(arr, (*common[:a], arr.shape[a], *common[a:]))
        indices = b.broadcast_to(indices, (*common[:a], indices.shape[a], *common[a:]))
    return b.gather(arr, indices, a)


@eager
def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    values: Tensor | float,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Value:
    """``out = arr; out[indices[i][j][k]][j][k] = values[i][j][k]`` for axis = 0.

    reduce: assign, add, mul, multiply, mean (floored for integers), amin, amax.  amin and amax keep a NaN of arr and ignore one
    of values; with ``include_self=False`` they keep a NaN that arrives first, and ignore later ones.

    arr, indices: one rank, 1 or more.  broadcast: indices, on the other axes, and values take arr's extents by stretching those
    of 1, unless indices are longer than arr somewhere: then values take theirs.  Otherwise indices are at most arr's extents on
    the other axes and at most values' on all, and what is left of values is not used; a number stands for as many as needed.
    """
    op, b = "put_along_axis", builder_of(arr)
    if not isinstance(reduce, str) or reduce not in _REDUCE:
        raise ArgumentError(f"{op}: reduce must be {' or '.join(_REDUCE)}; got {reduce!r}")
    need_dtype(op, "indices", indices, _INDEX)
    need_dtype(op, "arr", arr, _PUT)
    a = _axis(op, arr, indices, axis)
    if isinstance(values, Value):
        need_same_dtype(op, "values", values, "arr", arr)
    how = _REDUCE[reduce]
    if flag(op, "broadcast", broadcast):
        longer = any(isinstance(i, int) and isinstance(d, int) and i > d for i, d in _pairs(indices, arr))
        if not longer:
            indices = b.broadcast_to(indices, (*arr.shape[:a], indices.shape[a], *arr.shape[a + 1 :]))
        if isinstance(values, Value):
            values = b.broadcast_to(values, indices.shape)
    elif isinstance(values, Value):
        need_rank(op, "values", values, indices.rank)
        what = f"{op}: indices {shape_str(indices.shape)} and values {shape_str(values.shape)}"
        b.draft.require([("<=", i, v, f"{what}, on axis {k}") for k, (i, v) in enumerate(_pairs(indices, values))])
        values = b.slice(values, [0] * values.rank, list(indices.shape))
    if how in ("min", "max") and arr.dtype.is_float:
        kept = values if isinstance(values, Value) else b.full(indices.shape, values, arr.dtype)
        values = without_nan(kept, how)
        if not flag(op, "include_self", include_self):
            values = b.where(_first(arr, indices, a), kept, values)
    exact = variant(how, zeros="first") if how in ("min", "max") else how
    return b.scatter(arr, indices, values, a, reduction=exact, include_self=include_self)


def _first(arr: Value, indices: Value, axis: int) -> Value:
    """Which of the points that hit an element comes first."""
    b = builder_of(arr)
    number = b.reshape(b.iota((product(indices.shape),)), indices.shape)
    least = b.scatter(b.full(arr.shape, 2**63 - 1, "int64"), indices, number, axis, reduction="min")
    return b.gather(least, indices, axis) == number


def _pairs(x: Value, y: Value) -> list[tuple[Dim, Dim]]:
    return list(zip(x.shape, y.shape, strict=True))


def _axis(op: str, arr: Value, indices: Value, axis: int) -> int:
    need_rank(op, "arr", arr, 1, 8)
    need_rank(op, "indices", indices, arr.rank)
    return axis_of(op, "axis", axis, arr.rank)


def _without(shape: Sequence[Dim], axis: int) -> tuple[Dim, ...]:
    return (*shape[:axis], *shape[axis + 1 :])
