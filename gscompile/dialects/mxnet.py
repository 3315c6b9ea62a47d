"""MXNet: ``mx.nd.take``, ``pick``, ``batch_take``, ``Embedding``, ``gather_nd`` and ``scatter_nd``, as MXNet 1.9.1 computes them.

Indices have any numeric dtype, floats included, which are truncated.  Where MXNet reads or writes memory outside a tensor
(gather_nd in 1.6, scatter_nd in every version), an index out of range raises BoundsError.  In 1.9 a negative coordinate of
gather_nd counts from the end; so does one of scatter_nd here.  ``sparse_grad`` only concerns gradients and is accepted and
ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.dialects._rules import FLOATS, INTEGERS, need_dtype, need_rank
from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend.arguments import axis_of, flag, named
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Size, Tensor, eager
from gscompile.ir.dims import Dim, as_shape, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import Indexed, IndexMap, Shared
from gscompile.ir.types import dtype as dtype_of


def _index(op: str, argument: str, x: Value) -> Value:
    need_dtype(op, argument, x, (*INTEGERS, *FLOATS))
    return x if x.dtype.is_integer else builder_of(x).cast(x, "int64")


def _bounds(op: str, mode: str, allowed: Sequence[str]) -> str:
    if mode not in allowed:
        raise ArgumentError(f"{op}: mode must be {' or '.join(allowed)}; got {mode!r}")
    return mode


@eager
def take(a: Tensor, indices: Tensor, axis: int = 0, mode: str = "clip") -> Value:
    """Slices of a at indices along axis: ``a.shape[:axis] + indices.shape + a.shape[axis + 1:]``.

    mode: ``"clip"`` (a negative index is 0), ``"wrap"`` (modulo), or ``"raise"`` (a negative index is an error too).
    """
    need_rank("take", "a", a, 1, 8)
    bounds = _bounds("take", mode, ("clip", "wrap", "raise"))
    return builder_of(a).take(a, _index("take", "indices", indices), axis, bounds=bounds, negative=False)


@eager
def pick(data: Tensor, index: Tensor, axis: int | None = -1, keepdims: bool = False, mode: str = "clip") -> Value:
    """One element along axis for each position on the other axes: ``out[i][k] = data[i][index[i][k]][k]`` for axis = 1.

    index: data's shape without axis, or with an extent of 1 there; with ``axis=None`` both are taken flat and index is one
    element.  keepdims: axis stays, with extent 1.  mode: ``"clip"`` or ``"wrap"``.
    """
    b = builder_of(data)
    bounds = _bounds("pick", mode, ("clip", "wrap"))
    need_rank("pick", "data", data, 1, 8)
    i = _index("pick", "index", index)
    if axis is None:
        flat = b.take(b.reshape(data, (-1,)), b.reshape(i, ()), bounds=bounds, negative=False)
        return b.reshape(flat, (1,) * data.rank) if flag("pick", "keepdims", keepdims) else flat
    a = axis_of("pick", "axis", axis, data.rank)
    if i.rank == data.rank:
        i = b.squeeze(i, a)
    need_rank("pick", "index", i, data.rank - 1)
    rest = (*data.shape[:a], *data.shape[a + 1 :])
    _need_shape("pick", i, rest)
    sources = [Shared(k) for k in range(data.rank - 1)]
    through = IndexMap((*sources[:a], Indexed(0), *sources[a:]), tuple(("index", k) for k in range(data.rank - 1)))
    found = b.gather_map(data, i, through, bounds=bounds, negative=False)
    return b.unsqueeze(found, a) if flag("pick", "keepdims", keepdims) else found


def _need_shape(op: str, i: Value, shape: Sequence[Dim]) -> None:
    what = f"{op}: index {shape_str(i.shape)} like {shape_str(shape)}"
    pairs = enumerate(zip(i.shape, shape, strict=True))
    builder_of(i).draft.require([("==", got, want, f"{what}, on axis {k}") for k, (got, want) in pairs])


@eager
def batch_take(a: Tensor, indices: Tensor) -> Value:
    """``out[i] = a[i][indices[i]]``, clipped; a: (n, m); indices: (n,)."""
    need_rank("batch_take", "a", a, 2)
    i = _index("batch_take", "indices", indices)
    need_rank("batch_take", "indices", i, 1)
    _need_shape("batch_take", i, a.shape[:1])
    through = IndexMap((Shared(0), Indexed(0)), (("index", 0),))
    return builder_of(a).gather_map(a, i, through, bounds="clip", negative=False)


@eager
def Embedding(
    data: Tensor, weight: Tensor, input_dim: int, output_dim: int, dtype: str = "float32", sparse_grad: bool = False
) -> Value:
    """The rows of weight at data, clipped; weight: (input_dim, output_dim), of dtype."""
    need_dtype("Embedding", "weight", weight, (dtype_of(dtype).name,))
    need_rank("Embedding", "weight", weight, 2)
    _need_shape("Embedding", weight, named("Embedding", "input_dim, output_dim", as_shape, (input_dim, output_dim)))
    i = _index("Embedding", "data", data)
    return builder_of(weight).take(weight, i, bounds="clip", negative=False)


@eager
def gather_nd(data: Tensor, indices: Tensor) -> Value:
    """Slices of data at the index vectors along indices' first axis: ``indices.shape[1:] + data.shape[m:]``.

    A negative coordinate counts from the end, as in MXNet 1.9; one out of range is an error.
    """
    i, through = _coordinates("gather_nd", indices, data.rank)
    return builder_of(data).gather_map(data, i, through)


@eager
def scatter_nd(data: Tensor, indices: Tensor, shape: Sequence[Size]) -> Value:
    """Writes data to zeros of a shape at the index vectors along indices' first axis; the last of duplicates wins.

    data: ``indices.shape[1:] + shape[m:]`` for vectors of length m; shape: a list of ints (or, with values, of symbolic sizes).
    """
    b = builder_of(data)
    base = b.zeros(named("scatter_nd", "shape", as_shape, shape), data.dtype)
    i, through = _coordinates("scatter_nd", indices, base.rank)
    return b.scatter_map(base, i, data, through)


def _coordinates(op: str, indices: Value, rank: int) -> tuple[Value, IndexMap]:
    need_rank(op, "indices", indices, 1, 8)
    m = indices.shape[0]
    if not isinstance(m, int) or m > rank:
        raise ShapeError(
            f"{op}: indices' first extent must be fixed and at most the rank {rank}; got {shape_str(indices.shape)}"
        )
    return _index(op, "indices", indices), IndexMap.nd(rank, indices.rank, m, vector_axis=0)
