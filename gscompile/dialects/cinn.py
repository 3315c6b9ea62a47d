"""CINN: the operators of its gather and scatter design document (2022), and those that it shipped.

=========================================  =================================================================================
``gather(x, index, dim)``                  the document's 1.1; with a 1-D index the shipped ``gather``
``gather_nd(x, index, dims)``              the document's 1.2; without dims the shipped ``gather_nd``
``scatter``, ``scatter_nd``                the document's 2.1 and 2.2
``index_select``                           shipped
``scatter_assign``, ``scatter_add``        shipped; ``scatter_add`` on cuda only, here everywhere
=========================================  =================================================================================

CINN's gathers check no index and read whatever lies there.  Here an index out of range, negative ones included, gives 0, which is
what the document's own example B_2 prints.  Its scatters search the index for each element of the result, so that an index
out of range is never found: its value is dropped, here too.  Of several values for one element the last one wins.

CINN casts an index to int32; here it has any integer dtype and means its value.
"""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.dialects._rules import INTEGERS, need_dtype, need_rank, need_same_dtype
from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend.arguments import axis_of
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Tensor, eager
from gscompile.ir.dims import shape_str
from gscompile.ir.graph import Value


def _axis(op: str, dim: int | None, axis: int | None) -> int:
    """The document's dim, or what shipped as axis; 0 by default."""
    if dim is not None and axis is not None:
        raise ArgumentError(f"{op}: dim and axis are two names of one thing; got {dim} and {axis}")
    return (0 if axis is None else axis) if dim is None else dim


@eager
def gather(x: Tensor, index: Tensor, dim: int | None = None, *, axis: int | None = None) -> Value:
    """``out[i0, .., iK] = x[i0, .., index[i0, .., iK], .., iK]`` with the index on axis dim, 0 by default; index's shape.

    index: x's rank, on the other axes at most x's extents.  A 1-D index for an x of higher rank takes whole slices, as the
    shipped operator does: the result has its extent on that axis.  An index out of range gives 0.
    """
    b = builder_of(x)
    need_dtype("gather", "index", index, INTEGERS)
    a = axis_of("gather", "dim", _axis("gather", dim, axis), x.rank)
    if index.rank == 1 < x.rank:
        return b.take(x, index, a, bounds="fill", negative=False)
    return b.gather(x, index, a, bounds="fill", negative=False)


@eager
def gather_nd(x: Tensor, index: Tensor, dims: Sequence[int] | None = None) -> Value:
    """Index vectors along index's last axis.  An index out of range gives 0.

    With dims: component k is for axis ``dims[k]``, every other axis of x is paired with index's axis in the same place; index has
    x's rank plus one, and the result is ``index.shape[:-1]``.
    Without: the first axes of x, and the rest are slices: ``index.shape[:-1] + x.shape[m:]``, as shipped.  (The document's
    default, ``dims=range(m)`` with the other axes elementwise, must be written out.)
    """
    need_dtype("gather_nd", "index", index, INTEGERS)
    return builder_of(x).gather_nd(x, index, dims, bounds="fill", negative=False)


@eager
def scatter(y: Tensor, src: Tensor, index: Tensor, dim: int = 0) -> Value:
    """``out = y; out[i0, .., index[i0, .., iK], .., iK] = src[i0, .., iK]`` with the index on axis dim.

    index: y's rank, on the other axes at most y's extents; src: index's shape, y's dtype.  An index out of range drops its
    value.
    """
    need_dtype("scatter", "index", index, INTEGERS)
    need_same_dtype("scatter", "src", src, "y", y)
    return builder_of(y).scatter(y, index, src, dim, bounds="fill", negative=False)


@eager
def scatter_nd(y: Tensor, src: Tensor, index: Tensor, dims: Sequence[int] | None = None) -> Value:
    """The mirror of :func:`gather_nd` with dims, ``range(m)`` by default; src: ``index.shape[:-1]``, y's dtype.

    An index out of range drops its value.
    """
    need_dtype("scatter_nd", "index", index, INTEGERS)
    need_rank("scatter_nd", "index", index, y.rank + 1)
    need_same_dtype("scatter_nd", "src", src, "y", y)
    m = index.shape[-1]
    if not isinstance(m, int):
        raise ShapeError(f"scatter_nd: the last axis of index must have a fixed extent; got {shape_str(index.shape)}")
    return builder_of(y).scatter_nd(y, index, src, range(m) if dims is None else dims, bounds="fill", negative=False)


@eager
def index_select(x: Tensor, index: Tensor, axis: int = 0) -> Value:
    """The slices of x at index along axis; index: 1-D.  An index out of range gives 0."""
    need_dtype("index_select", "index", index, INTEGERS)
    need_rank("index_select", "index", index, 1)
    return builder_of(x).take(x, index, axis, bounds="fill", negative=False)


@eager
def scatter_assign(x: Tensor, updates: Tensor, index: Tensor, axis: int = 0) -> Value:
    """``out = x; out[.., index[i], ..] = updates[.., i, ..]`` along axis; index: 1-D.

    updates: x's dtype, and x's shape but for its extent on axis, which is index's.  An index out of range drops its slice.
    """
    return _put("scatter_assign", x, updates, index, axis, "update")


@eager
def scatter_add(x: Tensor, updates: Tensor, index: Tensor, axis: int = 0) -> Value:
    """:func:`scatter_assign` that adds to what is there; on cuda sums of floats are in no fixed order."""
    return _put("scatter_add", x, updates, index, axis, "add")


def _put(op: str, x: Value, updates: Value, index: Value, axis: int, reduction: str) -> Value:
    need_dtype(op, "index", index, INTEGERS)
    need_rank(op, "index", index, 1)
    need_same_dtype(op, "updates", updates, "x", x)
    return builder_of(x).put(x, index, updates, axis, reduction=reduction, bounds="fill", negative=False)
