"""PyTorch: ``torch.gather`` and its kin, as PyTorch 2.13 computes them on the CPU.

Indices are int32 or int64.  A negative index is out of range unless a function says otherwise, and an index out of range is
an error.  A 0-d tensor counts as one of one element.  Duplicates are combined in the order of the index, which PyTorch
does on the CPU without promising it; on cuda its order is not fixed.  Sums and products of 16-bit floats round once in
``scatter*`` and ``index_add``, and at every step in ``put``, ``index_put`` and ``index_reduce`` (on cuda, here, once).

A number that is written, or multiplies, is cast to the tensor's dtype as PyTorch casts it: to integers it is truncated, for
unsigned ones -1 means the largest, and one that the dtype cannot hold is an error; to bool it is whether it is not 0.

``out``: an array of the result's shape and dtype, which receives it and is returned.

``sparse_grad``, ``sparse`` and ``scale_grad_by_freq`` only concern gradients and are accepted and ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gscompile.dialects._masks import known_places, need_mask, places_of
from gscompile.dialects._rules import (
    from_zero,
    need_dtype,
    need_rank,
    need_real,
    need_same_dtype,
    rounding,
    without_nan,
)
from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend.arguments import NUMBERS, Scalar, axis_of, int_of
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Out, Tensor, eager
from gscompile.ir.dims import Dim, product, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.ops.reductions import Reduction, variant
from gscompile.ir.types import DTYPES, DType
from gscompile.ir.types import dtype as dtype_of

_INDEX = ("int32", "int64")
_REDUCE = {"sum": "add", "prod": "mul", "mean": "mean", "amax": "max", "amin": "min", "max": "max", "min": "min"}
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
_FIRST = {name: variant(name, zeros="first") for name in ("max", "min")}


def _dim(op: str, dim: int, x: Value) -> int:
    """``dim`` as a number in [0, rank); a 0-d tensor has one axis to name."""
    return axis_of(op, "dim", dim, max(x.rank, 1))


def _at_least_1d(x: Value) -> Value:
    return builder_of(x).reshape(x, (1,)) if x.rank == 0 else x


def _is_empty(x: Value) -> bool:
    return any(d == 0 for d in x.shape)


def _need_index(op: str, argument: str, index: Value) -> None:
    """Raises DTypeError for an index of another dtype than PyTorch takes; it does not look at that of an empty one."""
    if not _is_empty(index):
        need_dtype(op, argument, index, _INDEX)


def _number(op: str, argument: str, x: Any, d: DType) -> Scalar:
    """A Python number as PyTorch casts it to a dtype."""
    if not isinstance(x, NUMBERS):
        raise DTypeError(f"{op}: {argument} must be a number; got {x!r}")
    if d.is_complex:
        return complex(_real(op, argument, x.real, d.real), _real(op, argument, x.imag, d.real))
    if isinstance(x, complex):
        if x.imag != 0:
            raise DTypeError(f"{op}: {argument} must be a number that {d} can hold; got {x!r}")
        x = x.real
    return _real(op, argument, x, d)


def _real(op: str, argument: str, x: bool | int | float, d: DType) -> bool | int | float:
    """:func:`_number` without complex ones."""
    if d.kind == "b":
        return x != 0
    if d.is_float:
        most = _LARGEST.get(d.name, float("inf"))
        fits = not math.isfinite(x) or -most <= x <= most
    elif isinstance(x, float):
        fits = math.isfinite(x) and d.min <= x <= d.max
    else:
        fits = (d.min if d.min < 0 else -d.max) <= x <= d.max
    if not fits:
        raise DTypeError(f"{op}: {argument} must be a number that {d} can hold; got {x!r}")
    return float(x) if d.is_float else int(x) % (d.max + 1) if d.min == 0 else int(x)


def _reduction(op: str, reduce: str, allowed: Sequence[str]) -> str:
    if reduce not in allowed:
        raise ArgumentError(f"{op}: reduce must be {' or '.join(allowed)}; got {reduce!r}")
    return _REDUCE[reduce]


@eager
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Out = None) -> Value:
    """``out[i][j][k] = input[index[i][j][k]][j][k]`` for dim = 0.

    index: input's rank, on the other axes at most input's extents; result: index's shape.
    """
    b = builder_of(input)
    _need_index("gather", "index", index)
    axis = _dim("gather", dim, input)
    if _is_empty(index):
        return b.zeros(index.shape, input.dtype)
    found = b.gather(_at_least_1d(input), _at_least_1d(index), axis, negative=False)
    return b.reshape(found, index.shape) if index.rank == 0 else found


@eager
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Out = None) -> Value:
    """:func:`gather` with int64 indices taken modulo input's extent, and the other axes broadcast.

    Without ``dim``, both are taken flat, as in :func:`gather`.
    """
    b = builder_of(input)
    if dim is None:
        _need_index("take_along_dim", "indices", indices)
        flat = b.reshape(indices, (-1,))
        return (
            b.zeros((0,), input.dtype) if _is_empty(indices) else b.take(b.reshape(input, (-1,)), flat, negative=False)
        )
    need_dtype("take_along_dim", "indices", indices, ("int64",))
    if input.rank != indices.rank:
        raise ShapeError(f"take_along_dim: indices must have input's rank {input.rank}; got {shape_str(indices.shape)}")
    axis = _dim("take_along_dim", dim, input)
    x, i = _broadcast_others("take_along_dim", input, indices, axis)
    return b.gather(x, i, axis, bounds="wrap")


def _broadcast_others(op: str, x: Value, index: Value, axis: int) -> tuple[Value, Value]:
    """Both, with the extents on all axes but one broadcast to each other."""
    b = builder_of(x)
    common = b.draft.broadcast(op, [_without(x.shape, axis), _without(index.shape, axis)])
    both = [(*common[:axis], v.shape[axis], *common[axis:]) for v in (x, index)]
    return b.broadcast_to(x, both[0]), b.broadcast_to(index, both[1])


def _without(shape: Sequence[Dim], axis: int) -> tuple[Dim, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


@eager
def cumsum(input: Tensor, dim: int, *, dtype: Any = None, out: Out = None) -> Value:
    """The sums of input's elements up to each one along dim, in dtype; by default int64 of integers and bool.

    Sums of float16 and bfloat16 are kept in float32, as PyTorch's are, and those of float32 too, which PyTorch keeps in float64
    on the CPU.
    """
    return _cumulated("cumsum", input, dim, dtype)


@eager
def cumprod(input: Tensor, dim: int, *, dtype: Any = None, out: Out = None) -> Value:
    """The products of input's elements up to each one along dim, as :func:`cumsum`."""
    return _cumulated("cumprod", input, dim, dtype)


def _cumulated(op: str, input: Value, dim: int, dtype: Any) -> Value:
    b, axis = builder_of(input), _dim(op, dim, input)
    kept = input.dtype.is_float or input.dtype.is_complex
    result = dtype_of(dtype) if dtype is not None else input.dtype if kept else DTYPES["int64"]
    if result.kind == "b" and input.rank and not _is_empty(input):
        raise DTypeError(f"{op}: dtype must not be bool")
    found = (b.cumsum if op == "cumsum" else b.cumprod)(input, axis, dtype=result)
    return b.reshape(found, input.shape)


@eager
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Tensor | complex, *, reduce: str | None = None, out: Out = None
) -> Value:
    """``out = input; out[index[i][j][k]][j][k] = src[i][j][k]`` for dim = 0.

    index: at most input's extents on the other axes, at most src's on all; src: input's dtype, or a number.  reduce: None, or
    the deprecated ``"add"`` and ``"multiply"``.
    """
    if reduce not in (None, "add", "multiply"):
        raise ArgumentError(f"scatter: reduce must be None, 'add' or 'multiply'; got {reduce!r}")
    how = {None: "update", "add": "add", "multiply": "mul"}[reduce]
    return _scatter("scatter", input, dim, index, src, how, True)


@eager
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Out = None) -> Value:
    """:func:`scatter` that adds to what is there."""
    return _scatter("scatter_add", input, dim, index, src, "add", True)


@eager
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True, out: Out = None
) -> Value:
    """:func:`scatter` with reduce: sum, prod, mean, amax or max, amin or min.

    include_self: whether the value in input takes part where something arrives.  A mean of integers floors.
    """
    how = _reduction("scatter_reduce", reduce, ("sum", "prod", "mean", "amax", "amin", "max", "min"))
    if how in ("max", "min"):
        need_real("scatter_reduce", f"reduce {reduce!r}: input", input)
    return _scatter("scatter_reduce", input, dim, index, src, how, include_self)


def _scatter(
    op: str, input: Value, dim: int, index: Value, src: Value | complex, reduction: str, include_self: bool
) -> Value:
    b = builder_of(input)
    _need_index(op, "index", index)
    axis = _dim(op, dim, input)
    if isinstance(src, Value):
        need_same_dtype(op, "src", src, "input", input)
    else:
        src = _number(op, "src", src, input.dtype)
    if _is_empty(index):
        return input
    x, i = _at_least_1d(input), _at_least_1d(index)
    if isinstance(src, Value):
        src = _at_least_1d(src)
        need_rank(op, "src", src, i.rank)
        src = b.slice(src, [0] * i.rank, list(i.shape))
        if reduction in ("add", "mean") and not include_self:
            src = from_zero(src)

    if reduction == "mul" and not include_self and x.dtype.is_complex:
        x, include_self = b.scatter(x, i, 1, axis, negative=False), True  # to begin with 1 makes NaN of infinity

    def scatter(data: Value, src: Value | complex, how: str | Reduction) -> Value:
        return b.scatter(data, i, src, axis, reduction=how, include_self=include_self, negative=False)

    if reduction == "mean" and _is_short(x):
        out = _quotient(scatter(x, src, "add"), scatter(b.full(x.shape, 1, "int64"), 1, "add"))
    else:
        out = scatter(x, src, _FIRST.get(reduction, reduction))
    return b.reshape(out, ()) if input.rank == 0 else out


def _is_short(x: Value) -> bool:
    return x.dtype.is_float and x.dtype.bits == 16


def _quotient(total: Value, count: Value) -> Value:
    """A mean of 16-bit floats: sum and count round before they are divided."""
    return total / builder_of(total).cast(count, total.dtype)


@eager
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Out = None) -> Value:
    """The slices of input at index along dim; index: at most 1-D."""
    b = builder_of(input)
    need_dtype("index_select", "index", index, _INDEX)
    need_rank("index_select", "index", index, 0, 1)
    axis = _dim("index_select", dim, input)
    out = b.take(_at_least_1d(input), _at_least_1d(index), axis, negative=False)
    return b.reshape(out, ()) if input.rank == 0 else out


@eager
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: complex = 1, out: Out = None) -> Value:
    """Adds ``alpha * source`` to the slices of input at index along dim.

    Where input is empty nothing is added, whatever the index.
    """
    scale = _number("index_add", "alpha", alpha, input.dtype)
    # complex numbers along the only axis are multiplied by 1 too, which makes NaN of infinity
    if scale != 1 or (input.dtype.is_complex and input.rank < 2):
        source = builder_of(input).mul(source, scale)
    if _is_empty(input):
        return input
    return _index_put("index_add", input, dim, index, source, "add", True, _INDEX)


@eager
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Out = None) -> Value:
    """Writes source to the slices of input at index along dim; index: int64."""
    return _index_put("index_copy", input, dim, index, source, "update", True, ("int64",))


@eager
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True, out: Out = None
) -> Value:
    """Reduces source into the slices of input at index along dim; reduce: prod, mean, amax, amin."""
    how = _reduction("index_reduce", reduce, ("prod", "mean", "amax", "amin"))
    if input.dtype.kind == "b":
        raise DTypeError("index_reduce: not defined for bool")
    if how in ("max", "min") or input.rank < 2:
        need_real("index_reduce", f"reduce {reduce!r}: input of rank {input.rank}", input)
    return _index_put("index_reduce", input, dim, index, source, how, include_self, _INDEX)


def _index_put(
    op: str,
    input: Value,
    dim: int,
    index: Value,
    source: Value,
    reduction: str,
    include_self: bool,
    dtypes: Sequence[str],
) -> Value:
    b = builder_of(input)
    need_dtype(op, "index", index, dtypes)
    need_rank(op, "index", index, 0, 1)
    need_same_dtype(op, "source", source, "input", input)
    axis = _dim(op, dim, input)
    x, i, s = _at_least_1d(input), _at_least_1d(index), _at_least_1d(source)
    need_rank(op, "source", s, x.rank)
    if reduction in ("add", "mean") and not include_self:
        s = from_zero(s)

    if reduction == "mul" and not include_self and x.dtype.is_complex:
        x, include_self = b.put(x, i, 1, axis, negative=False), True  # as in scatter_reduce

    def put(data: Value, src: Value | complex, how: str | Reduction) -> Value:
        return b.put(data, i, src, axis, reduction=how, include_self=include_self, negative=False)

    if op == "index_reduce" and reduction == "mean" and _is_short(x):
        out = _quotient(put(x, s, rounding("add")), put(b.full(x.shape, 1, "int64"), 1, "add"))
    else:
        how = rounding(reduction) if op == "index_reduce" else reduction
        out = put(x, s, _FIRST.get(reduction, how))
    return b.reshape(out, ()) if input.rank == 0 else out


@eager
def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | complex) -> Value:
    """Writes one value to the slices of input at index along dim; a negative index counts from the end; index: int64.

    value: a number or a 0-d tensor, which is cast to input's dtype.
    """
    b = builder_of(input)
    need_dtype("index_fill", "index", index, ("int64",))
    need_rank("index_fill", "index", index, 0, 1)
    axis = _dim("index_fill", dim, input)
    x, i = _at_least_1d(input), _at_least_1d(index)
    shape = (*x.shape[:axis], *i.shape, *x.shape[axis + 1 :])
    if isinstance(value, Value):
        need_rank("index_fill", "value", value, 0)
        value = b.broadcast_to(b.cast(value, input.dtype), shape)
    else:
        value = _number("index_fill", "value", value, input.dtype)
    out = b.put(x, i, value, axis)
    return b.reshape(out, ()) if input.rank == 0 else out


@eager
def take(input: Tensor, index: Tensor, *, out: Out = None) -> Value:
    """Elements of input taken flat; a negative index counts from the end; index: int64; result: index's shape."""
    b = builder_of(input)
    need_dtype("take", "index", index, ("int64",))
    return b.take(b.reshape(input, (-1,)), index)


@eager
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Value:
    """Writes source to input taken flat, or adds it; a negative index counts from the end; index: int64.

    source: as many elements as index.
    """
    b = builder_of(input)
    need_dtype("put", "index", index, ("int64",))
    need_same_dtype("put", "source", source, "input", input)
    flat, i, s = (b.reshape(v, (-1,)) for v in (input, index, source))
    return b.reshape(b.put(flat, i, s, reduction=rounding("add") if accumulate else "update"), input.shape)


def index_put(input: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """``out = input; out[indices] = values`` with indices that broadcast, for the leading axes of input in their order.

    indices: int32 or int64, of which a negative one counts from the end, or bool masks, each for as many axes as it has.  How
    much a mask picks must be known: one that is a value of a builder must be a constant, or alone, with values of one element.
    """
    if isinstance(indices, (list, tuple)) and not any(isinstance(x, Value) for x in (input, values, *indices)):
        alone = len(indices) == 1 and (
            isinstance(values, (bool, int, float, complex)) or product(np.shape(values)) == 1
        )
        indices = list(indices) if alone else places_of("index_put", input, indices)
    return _index_put_at(input, indices, values, accumulate, "index_put")


@eager
def _index_put_at(
    input: Tensor, indices: Sequence[Tensor], values: Tensor | complex, accumulate: bool, op: str
) -> Value:
    b = builder_of(input)
    if isinstance(values, Value):
        need_same_dtype(op, "values", values, "input", input)
    else:
        values = _number(op, "values", values, input.dtype)
    one = not isinstance(values, Value) or product(values.shape) == 1
    if len(indices) == 1 and indices[0].dtype.kind == "b" and one:
        return _masked_put(input, indices[0], values, accumulate)
    where = known_places(op, input, indices)
    if not 1 <= len(where) <= max(input.rank, 1):
        raise ShapeError(f"{op}: indices must be for 1 to {input.rank} axes; got {len(where)}")
    for k, i in enumerate(where):
        need_dtype(op, f"indices[{k}]", i, _INDEX)
    grid = b.draft.broadcast(op, [i.shape for i in where])
    stacked = b.stack([b.cast(b.broadcast_to(i, grid), "int64") for i in where], len(grid))
    points = (*grid, *input.shape[len(where) :])
    if isinstance(values, Value):
        values = b.broadcast_to(values, points)
    return b.scatter_nd(input, stacked, values, reduction=rounding("add") if accumulate else "update")


def _masked_put(input: Value, mask: Value, values: Value | complex, accumulate: bool) -> Value:
    b = builder_of(input)
    need_mask("index_put", mask.shape, input.shape, 0, b.draft)
    chosen = b.reshape(mask, (*mask.shape, *(1 for _ in range(input.rank - mask.rank))))
    new: Any = b.reshape(values, ()) if isinstance(values, Value) else values
    return b.where(chosen, input + new if accumulate else new, input)


@eager
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:
    """``torch.nn.functional.embedding``: the rows of weight at input.

    padding_idx only concerns gradients.  max_norm would rewrite weight, and is refused.
    """
    _embedding_rules("embedding", input, weight, padding_idx, max_norm)
    return builder_of(input).take(weight, input, negative=False)


def _embedding_rules(op: str, input: Value, weight: Value, padding_idx: int | None, max_norm: float | None) -> None:
    need_dtype(op, "input", input, _INDEX)
    need_rank(op, "weight", weight, 2)
    rows = weight.shape[0]
    padding_idx = None if padding_idx is None else int_of(op, "padding_idx", padding_idx)
    if padding_idx is not None and isinstance(rows, int) and not -rows <= padding_idx < rows:
        raise ArgumentError(f"{op}: padding_idx must be in [{-rows}, {rows - 1}]; got {padding_idx}")
    if max_norm is not None:
        raise ArgumentError(f"{op}: max_norm renormalises weight itself, which is not done here; got {max_norm}")


@eager
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Value:
    """``torch.nn.functional.embedding_bag``: sums, means or maxima of bags of weight's rows; an empty bag gives 0.

    input: (bags, n), or (k,) with offsets: (bags,) where each bag begins, of which the first must be 0, or (bags + 1,) with
    include_last_offset.  Entries equal to padding_idx are left out, and not counted.  per_sample_weights: input's shape,
    weight's dtype, with ``mode="sum"``.  An offset outside [0, k] is an error, whatever PyTorch makes of it.
    """
    op, b = "embedding_bag", builder_of(weight)
    _embedding_rules(op, input, weight, padding_idx, max_norm)
    need_real(op, "weight", weight)
    if mode not in ("sum", "mean", "max"):
        raise ArgumentError(f"{op}: mode must be 'sum', 'mean' or 'max'; got {mode!r}")
    need_rank(op, "input", input, 1, 2)
    if per_sample_weights is not None:
        if mode != "sum":
            raise ArgumentError(f"{op}: per_sample_weights go with mode 'sum'; got {mode!r}")
        need_same_dtype(op, "per_sample_weights", per_sample_weights, "weight", weight)
        if per_sample_weights.shape != input.shape:
            want, got = shape_str(input.shape), shape_str(per_sample_weights.shape)
            raise ShapeError(f"{op}: per_sample_weights must have input's shape {want}; got {got}")
    rows = b.take(weight, input, negative=False)
    if per_sample_weights is not None:
        rows = rows * b.unsqueeze(per_sample_weights, -1)
    fold = _bags(op, input, offsets, include_last_offset)
    if padding_idx is None and (mode == "sum" or (mode == "mean" and not _is_short(weight))):
        return fold(rows, mode)
    if padding_idx is None:
        kept = b.full((*input.shape, 1), True, "bool")
    else:
        padding = b.size(weight.shape[0], input.dtype) + padding_idx if padding_idx < 0 else padding_idx
        kept = b.unsqueeze(input != padding, -1)
        rows = b.where(kept, rows, float("-inf") if mode == "max" else 0)
    count = fold(b.cast(kept, "int64"), "sum")
    if mode == "max":
        return b.where(count > 0, _largest(rows, kept, fold), 0)
    total = fold(rows, "sum")
    return total if mode == "sum" else total / b.cast(b.maximum(count, 1), weight.dtype)


def _largest(rows: Value, kept: Value, fold: Callable[[Value, str], Value]) -> Value:
    """The maxima of bags by C's ``new > old``, from the first entry that counts on: of NaN only that one stays."""
    b, axis = builder_of(rows), rows.rank - 2
    place = b.iota(kept.shape, axis)
    first = fold(
        b.where(kept, place, rows.shape[axis] if isinstance(rows.shape[axis], int) else b.size(rows.shape[axis])), "min"
    )
    begins = b.take(rows, b.reshape(first, first.shape[:1]), axis, axis, bounds="fill", negative=False)
    return b.where(b.isnan(begins), begins, fold(without_nan(rows, "max"), "max"))


def _bags(op: str, input: Value, offsets: Value | None, include_last_offset: bool) -> Callable[[Value, str], Value]:
    """What reduces the rows of each bag."""
    b = builder_of(input)
    if input.rank == 2:
        if offsets is not None:
            raise ArgumentError(f"{op}: offsets go with a 1-D input; got {shape_str(input.shape)}")
        if input.shape[1] == 0:
            raise ShapeError(f"{op}: bags of a 2-D input must have entries; got {shape_str(input.shape)}")
        return lambda x, how: getattr(b, how)(x, 1)
    if offsets is None:
        raise ArgumentError(f"{op}: a 1-D input needs offsets")
    need_dtype(op, "offsets", offsets, _INDEX)
    need_rank(op, "offsets", offsets, 1)
    ends = offsets
    if not include_last_offset:
        ends = b.concat([offsets, b.reshape(b.size(input.shape[0], offsets.dtype), (1,))], 0)
    return lambda x, how: b.segment_reduce(x, ends, how, empty=0)
