"""TVM TOPI: ``gather``, ``gather_nd``, ``take``, ``scatter_elements``, ``scatter_nd`` and ``index_put``, as in TVM 0.27.

TOPI checks no index: one out of range reads or writes memory that is not the tensor's.  Here it is an error, unless a mode
gives it a meaning.  Where TOPI does not take negative indices they are out of range.  Indices have any integer dtype, and mean
their value; TOPI computes in that dtype, and goes out of bounds where that cannot hold the extent.

Scatters combine duplicates in the order of the updates.  TOPI's ``index_put`` runs in parallel, in no fixed order.  Sums
and products of 16-bit floats round at every step (on cuda, here, perhaps at fewer).  A min or max keeps what is there only if it
is smaller, or larger, than what arrives: NaN replaces it, and is replaced by what comes next.
"""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.dialects._rules import INTEGERS, compared, need_dtype, need_rank, need_same_dtype, rounding
from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend.arguments import axis_of, int_of
from gscompile.frontend.builder import builder_of
from gscompile.frontend.computations import computation
from gscompile.frontend.core import equal_batch
from gscompile.frontend.eager import Tensor, eager
from gscompile.ir.computation import Computation
from gscompile.ir.dims import product, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import IndexMap
from gscompile.ir.ops.reductions import Reduction


@eager
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
    return builder_of(data).gather(data, indices, axis, negative=False)


@eager
def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Value:
    """``out[b.., y.., x..] = a[b.., indices[0, b.., y..], .., indices[m - 1, b.., y..], x..]``, vectors along the first axis.

    Result: ``indices.shape[1:] + a.shape[batch_dims + m:]``.  The batch axes have equal extents.
    """
    b = builder_of(a)
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
    equal_batch(b.draft, "gather_nd", a.shape, indices.shape[1:], batch)
    return b.gather_map(a, indices, IndexMap.nd(a.rank, indices.rank, m, batch, vector_axis=0), negative=False)


@eager
def take(a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "fast") -> Value:
    """The slices of a at indices along axis; of a taken flat, if axis is None.

    Result: ``a.shape[:axis] + indices.shape[batch_dims:] + a.shape[axis + 1:]``.
    mode: ``"clip"``, where a negative index means 0; ``"nan"``: NaN, for floating-point a; ``"fast"``: an index out of range, or
    negative, is an error; ``"wrap"``, and any other: modulo the extent.
    batch_dims: in every mode; TOPI has it in ``"clip"`` only.  It has no effect without an axis.  ``"nan"`` works without an axis
    too, where TOPI does not compile.
    """
    b = builder_of(a)
    need_dtype("take", "indices", indices, INTEGERS)
    if not isinstance(mode, str):
        raise ArgumentError(f"take: mode must be a str; got {mode!r}")
    if mode == "nan" and not a.dtype.is_float:
        raise DTypeError(f"take: mode 'nan' needs a floating-point dtype; got {a.dtype}")
    batch_dims = int_of("take", "batch_dims", batch_dims)
    if axis is None:
        a, axis, batch_dims = b.reshape(a, (-1,)), 0, 0
    bounds = {"fast": "raise", "nan": "fill", "clip": "clip"}.get(mode, "wrap")
    return b.take(
        a, indices, axis, batch_dims, bounds=bounds, negative=False, fill=float("nan") if mode == "nan" else 0
    )


_REDUCTIONS = ("update", "add", "mul", "mean", "min", "max")


@eager
def scatter_elements(data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update") -> Value:
    """``out = data; out[indices[i][j]][j] = f(out[indices[i][j]][j], updates[i][j])`` for axis = 0.

    reduction: update, add, mul, min, max, or mean, not of signed integers: half the sum of what is there and what arrives, each
    time.  A negative index counts from the end.
    indices: at most data's extents on the other axes; updates: indices' shape, data's dtype.  The axes before axis count as one,
    and those after it, in data as in indices: where indices are shorter on any but the outermost of them, a position goes to the
    cell that has its number.
    """
    op, b = "scatter_elements", builder_of(data)
    need_dtype(op, "indices", indices, INTEGERS)
    need_same_dtype(op, "updates", updates, "data", data)
    if reduction not in _REDUCTIONS:
        raise ArgumentError(f"{op}: reduction must be one of {', '.join(_REDUCTIONS)}; got {reduction!r}")
    a = axis_of(op, "axis", axis, data.rank)
    need_rank(op, "indices", indices, data.rank)
    need_rank(op, "updates", updates, data.rank)
    pairs = list(enumerate(zip(indices.shape, data.shape, strict=True)))
    b.draft.require([("<=", i, d, f"{op}: indices on axis {k}, and data,") for k, (i, d) in pairs if k != a])
    like = enumerate(zip(updates.shape, indices.shape, strict=True))
    b.draft.require([("==", u, i, f"{op}: updates on axis {k}, like indices") for k, (u, i) in like])
    how = _mean(op, data) if reduction == "mean" else compared(op, reduction, data.dtype)
    if all(i == d for k, (i, d) in pairs if k not in (0, a, a + 1)):
        return b.scatter(data, indices, updates, a, reduction=how)
    d, i, u = (
        b.reshape(x, (product(x.shape[:a]), x.shape[a], product(x.shape[a + 1 :]))) for x in (data, indices, updates)
    )
    return b.reshape(b.scatter(d, i, u, 1, reduction=how), data.shape)


def _mean(op: str, data: Value) -> Reduction:
    if data.dtype.kind not in "fu":
        raise DTypeError(f"{op}: reduction 'mean' is not defined for {data.dtype}")
    float_ = data.dtype.is_float
    found = computation(op, lambda old, new: (old + new) / 2 if float_ else (old + new) // 2, [data.dtype])
    assert not isinstance(found, Computation)
    return found[0]


@eager
def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str) -> Value:
    """The mirror of :func:`gather_nd` without batch axes; mode: update, add, mul, min, max.

    updates: ``indices.shape[1:] + data.shape[m:]``, data's dtype.
    """
    b = builder_of(data)
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
    through = IndexMap.nd(data.rank, indices.rank, m, vector_axis=0)
    how = compared("scatter_nd", mode, data.dtype)
    return b.scatter_map(data, indices, updates, through, reduction=how, negative=False)


@eager
def index_put(data: Tensor, indices: Sequence[Tensor] | Tensor, values: Tensor, accumulate: bool = False) -> Value:
    """``out = data; out[indices] = values``, or ``+=``: an index tensor for each axis of data, which broadcast.

    values: data's dtype, and as many elements as the broadcast indices, in row-major order (TOPI ignores its shape).
    A negative index counts from the end.
    """
    b = builder_of(data)
    each = [indices] if isinstance(indices, Value) else list(indices)
    if len(each) != data.rank:
        raise ShapeError(f"index_put: data {shape_str(data.shape)} needs {data.rank} indices; got {len(each)}")
    if not each:
        raise ShapeError("index_put: data must have rank 1 or more")
    for k, i in enumerate(each):
        need_dtype("index_put", f"indices[{k}]", i, INTEGERS)
    need_same_dtype("index_put", "values", values, "data", data)
    grid = b.draft.broadcast("index_put", [i.shape for i in each])
    index = b.stack([b.cast(_bounded(i), "int64") for i in (b.broadcast_to(i, grid) for i in each)], len(grid))
    src = values if values.shape == grid else b.reshape(values, grid)
    return b.scatter_nd(data, index, src, reduction=rounding("add") if accumulate else "update")


def _bounded(index: Value) -> Value:
    """An index that int64 holds; what is too large stays out of range."""
    return builder_of(index).minimum(index, 1 << 62) if index.dtype.name == "uint64" else index
