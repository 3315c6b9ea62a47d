"""TVM TOPI: ``gather``, ``gather_nd``, ``take``, ``scatter_elements``, ``scatter_nd`` and ``index_put``, as in TVM 0.27.

TOPI checks no index: one out of range reads or writes memory that is not the tensor's.  Here it is an error, unless a mode
gives it a meaning.  Where TOPI does not take negative indices they are out of range.  Indices have any integer dtype.

Scatters combine duplicates in the order of the updates.  TOPI's ``index_put`` runs in parallel and leaves that to chance.
"""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.dialects._rules import INTEGERS, need_dtype, need_rank, need_same_dtype
from gscompile.dims import shape_str
from gscompile.eager import Tensor, operator
from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend.base import axis_of, int_of
from gscompile.graph import Value
from gscompile.index_map import nd_map


@operator
def gather(data: Tensor, axis: int, indices: Tensor) -> Value:
    """``out[i][j][k] = data[indices[i][j][k]][j][k]`` for axis = 0.

    indices: data's rank, at least one element on axis, and on the other axes at most data's extents (which TOPI does not
    check).
    """
    need_dtype("gather", "indices", indices, INTEGERS)
    need_rank("gather", "data", data, 1, 8)
    axis = axis_of("gather", "axis", axis, data.rank)
    need_rank("gather", "indices", indices, data.rank)
    if indices.shape[axis] == 0:
        raise ShapeError(f"gather: indices must have an element on axis {axis}; got {shape_str(indices.shape)}")
    return data.builder.gather(data, indices, axis, negative=False)


@operator
def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Value:
    """``out[b.., y.., x..] = a[b.., indices[0, b.., y..], .., indices[m - 1, b.., y..], x..]``, vectors along the first axis.

    Result: ``indices.shape[1:] + a.shape[batch_dims + m:]``.  The batch axes have equal extents.
    """
    b = a.builder
    need_dtype("gather_nd", "indices", indices, INTEGERS)
    need_rank("gather_nd", "indices", indices, 1, 8)
    batch, m = int_of("gather_nd", "batch_dims", batch_dims), indices.shape[0]
    if not isinstance(m, int):
        raise ShapeError(
            f"gather_nd: the first axis of indices must have a fixed extent; got {shape_str(indices.shape)}"
        )
    if batch < 0 or m < 1 or batch + m > a.rank or batch > indices.rank - 1:
        raise ShapeError(
            f"gather_nd: index vectors of length {m} after {batch} batch axes do not fit a {shape_str(a.shape)} and indices "
            f"{shape_str(indices.shape)}"
        )
    b._equal_batch("gather_nd", a.shape, indices.shape[1:], batch)
    return b.gather_map(a, indices, nd_map(a.rank, indices.rank, m, batch, vector_axis=0), negative=False)


@operator
def take(a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "fast") -> Value:
    """The slices of a at indices along axis; of a taken flat, if axis is None.

    Result: ``a.shape[:axis] + indices.shape[batch_dims:] + a.shape[axis + 1:]``.
    mode: ``"clip"``, where a negative index means 0; ``"wrap"``, modulo the extent; ``"nan"``: NaN, for floating-point a;
    ``"fast"``: an index out of range, or negative, is an error.  TOPI takes any other mode for ``"wrap"``; here it is an error.
    batch_dims: in every mode; TOPI has it right in ``"clip"`` only.  ``"nan"`` works without an axis too.
    """
    b = a.builder
    need_dtype("take", "indices", indices, INTEGERS)
    if mode not in ("fast", "clip", "wrap", "nan"):
        raise ArgumentError(f"take: mode must be 'fast', 'clip', 'wrap' or 'nan'; got {mode!r}")
    if mode == "nan" and not a.dtype.is_float:
        raise DTypeError(f"take: mode 'nan' needs a floating-point dtype; got {a.dtype}")
    if axis is None:
        if int_of("take", "batch_dims", batch_dims) != 0:
            raise ShapeError(f"take: batch_dims needs an axis; got {batch_dims}")
        a, axis = b.reshape(a, (-1,)), 0
    bounds = {"fast": "raise", "nan": "fill"}.get(mode, mode)
    return b.take(
        a, indices, axis, batch_dims, bounds=bounds, negative=False, fill=float("nan") if mode == "nan" else 0
    )


_REDUCTIONS = ("update", "add", "mul", "mean", "min", "max")


@operator
def scatter_elements(data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update") -> Value:
    """``out = data; out[indices[i][j]][j] = f(out[indices[i][j]][j], updates[i][j])`` for axis = 0.

    reduction: update, add, mul, min, max, or mean: the mean of what was there and all that arrives, floored for integers
    (TOPI's is the mean of the mean so far and the next value).  A negative index counts from the end.
    indices: at most data's extents on the other axes, on any number of them (TOPI goes wrong where it is less on two axes on
    one side of axis); updates: indices' shape, data's dtype.
    min and max propagate NaN; 16-bit floats round once.
    """
    need_dtype("scatter_elements", "indices", indices, INTEGERS)
    need_same_dtype("scatter_elements", "updates", updates, "data", data)
    if reduction not in _REDUCTIONS:
        raise ArgumentError(f"scatter_elements: reduction must be one of {', '.join(_REDUCTIONS)}; got {reduction!r}")
    return data.builder.scatter(data, indices, updates, axis, reduction=reduction)


@operator
def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str) -> Value:
    """The mirror of :func:`gather_nd` without batch axes; mode: update, add, mul, min, max.

    updates: ``indices.shape[1:] + data.shape[m:]``, data's dtype.  min and max propagate NaN; 16-bit floats round once.
    """
    b = data.builder
    need_dtype("scatter_nd", "indices", indices, INTEGERS)
    need_rank("scatter_nd", "indices", indices, 1, 8)
    need_same_dtype("scatter_nd", "updates", updates, "data", data)
    if mode not in ("update", "add", "mul", "min", "max"):
        raise ArgumentError(f"scatter_nd: mode must be one of update, add, mul, min, max; got {mode!r}")
    m = indices.shape[0]
    if not isinstance(m, int):
        raise ShapeError(
            f"scatter_nd: the first axis of indices must have a fixed extent; got {shape_str(indices.shape)}"
        )
    if m > data.rank:
        raise ShapeError(f"scatter_nd: index vectors of length {m} are too long for data {shape_str(data.shape)}")
    map = nd_map(data.rank, indices.rank, m, vector_axis=0)
    return b.scatter_map(data, indices, updates, map, reduction=mode, negative=False)


@operator
def index_put(data: Tensor, indices: Sequence[Tensor] | Tensor, values: Tensor, accumulate: bool = False) -> Value:
    """``out = data; out[indices] = values``, or ``+=``: an index tensor for each axis of data, which broadcast.

    values: data's dtype, and as many elements as the broadcast indices, in row-major order (TOPI does not look at its shape).
    A negative index counts from the end.
    """
    b = data.builder
    each = [indices] if isinstance(indices, Value) else list(indices)
    if len(each) != data.rank:
        raise ShapeError(f"index_put: data {shape_str(data.shape)} needs {data.rank} indices; got {len(each)}")
    if not each:
        raise ShapeError("index_put: data must have rank 1 or more")
    for k, i in enumerate(each):
        need_dtype("index_put", f"indices[{k}]", i, INTEGERS)
    need_same_dtype("index_put", "values", values, "data", data)
    grid = b._broadcast("index_put", [i.shape for i in each])
    index = b.stack([b.cast(_bounded(i), "int64") for i in (b.broadcast_to(i, grid) for i in each)], len(grid))
    src = values if values.shape == grid else b.reshape(values, grid)
    return b.scatter_nd(data, index, src, reduction="add" if accumulate else "update")


def _bounded(index: Value) -> Value:
    """An index that int64 holds; what is too large stays out of range."""
    return index.builder.minimum(index, 1 << 62) if index.dtype.name == "uint64" else index
