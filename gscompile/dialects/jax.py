"""JAX: ``jnp.take``, ``jnp.take_along_axis``, ``x.at[idx]``, ``jax.ops.segment_*`` and running sums, as JAX 0.10 computes them.

``at(x)[idx].add(y)`` is ``x.at[idx].add(y)``; the ``segment_*`` functions are those of ``jax.ops``; ``cumsum`` and ``cumprod``
are those of ``jnp``, ``lax_cumsum`` and ``lax_cumprod`` those of ``jax.lax``.

``mode``: ``"clip"`` brings an index to the nearest position, ``"fill"`` and ``"drop"`` (the same) give the fill value, or drop
the update, and ``"promise_in_bounds"`` is a promise, which, if broken, does what ``"clip"`` does.  Without a mode, reading
through ``at`` clips and writing drops, and ``take`` and ``take_along_axis`` fill: NaN, the smallest value of a signed and the
largest of an unsigned integer, True.

A negative index counts from the end, once, before that; in ``take`` only where it fills, in ``segment_*`` never.

Dtypes are kept, as JAX does with ``jax_enable_x64``.  Indices have any integer dtype.  As in JAX, the extent is added to a
negative index in the index's own dtype (in ``take_along_axis`` in int32), and the result is cut to 32 bits, unless it is only
clipped: on an axis too long for the index's dtype another element is taken, or the index is refused.

``indices_are_sorted`` and ``unique_indices`` are promises where x is written.  Updates that meet in one element are combined in
their row-major order, of those that replace, the last one wins; JAX leaves the order open, and does the same on the CPU.  Sums
and products of 16-bit floats round at every step (on cuda, here, perhaps at fewer), and -0.0 is less than 0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gscompile.dialects._jax_index import cut, from_end, named_by, need_room
from gscompile.dialects._masks import replaced_masks
from gscompile.dialects._rules import INTEGERS, dtype_of, jax_fill, need_dtype, need_rank, ordered_by_parts, rounding
from gscompile.errors import ArgumentError, BoundsError, DTypeError, ShapeError
from gscompile.frontend.arguments import axis_of, flag, int_of
from gscompile.frontend.builder import Builder, builder_of
from gscompile.frontend.computations import computation
from gscompile.frontend.eager import Size, Tensor, eager
from gscompile.ir.computation import Computation
from gscompile.ir.dims import Dim, Shape, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import Fixed, Indexed, IndexMap, Place, Shared, Source
from gscompile.ir.ops.reductions import REDUCTIONS, Reduction, variant
from gscompile.ir.types import DTYPES, DType

_MODES = ("clip", "fill", "drop", "promise_in_bounds")


def _bounds(op: str, mode: str | None, default: str) -> str:
    """The bounds policy of a gather's or scatter's mode."""
    mode = default if mode is None else mode
    if mode not in _MODES:
        raise ArgumentError(f"{op}: mode must be one of {', '.join(map(repr, _MODES))}; got {mode!r}")
    return "fill" if mode in ("fill", "drop") else "clip"


def _empty(shape: Sequence[Dim]) -> bool:
    return any(d == 0 for d in shape)


def _reduction(op: str, name: str, dtype: DType) -> str | Reduction:
    """A reduction as XLA has it."""
    if dtype.is_complex and name in ("min", "max"):
        return ordered_by_parts(op, name, dtype)
    return variant(name, zeros="sign") if name in ("min", "max") else rounding(name)


@eager
def take(
    a: Tensor,
    indices: Tensor,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: complex | None = None,
) -> Value:
    """``jnp.take``: the slices of a at indices along axis; of a taken flat, if axis is None.

    Result: ``a.shape[:axis] + indices.shape + a.shape[axis + 1:]``, a's dtype.  indices: any integer, or bool.  mode: ``"fill"``
    (default), ``"clip"``, where a negative index means 0, or ``"wrap"``, modulo the extent.  An axis without elements is an error
    unless there is nothing to take.
    """
    b = builder_of(a)
    flag("take", "unique_indices", unique_indices)
    flag("take", "indices_are_sorted", indices_are_sorted)
    if out is not None:
        raise ArgumentError("take: out must be None")
    if mode not in (None, "fill", "clip", "wrap"):
        raise ArgumentError(f"take: mode must be 'fill', 'clip' or 'wrap'; got {mode!r}")
    need_dtype("take", "indices", indices, (*INTEGERS, "bool"))
    index = b.cast(indices, "int64") if indices.dtype.kind == "b" else indices
    if axis is None:
        a, axis = b.reshape(a, (-1,)), 0
    axis = axis_of("take", "axis", axis, a.rank)
    shape = (*a.shape[:axis], *index.shape, *a.shape[axis + 1 :])
    if a.shape[axis] == 0 and not _empty(index.shape):
        raise BoundsError(f"take: axis {axis} of {shape_str(a.shape)} has no elements", op="take", tensor="indices")
    if _empty(shape):
        return b.zeros(shape, a.dtype)
    if mode in (None, "fill"):
        index = cut(from_end(index, a.shape[axis]))
        return b.take(a, index, axis, bounds="fill", negative=False, fill=jax_fill(a.dtype, fill_value))
    if mode == "wrap":
        need_room("take", index, a.shape[axis])
    return b.take(a, index, axis, bounds="clip" if mode == "clip" else "wrap", negative=False)


@eager
def take_along_axis(
    arr: Tensor,
    indices: Tensor,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: complex | None = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Value:
    """``out[i][j][k] = arr[i][indices[i][j][k]][k]`` for axis = 1, the other axes broadcast to each other.

    indices: any integer, arr's rank; 1-D where axis is None, for arr taken flat.  mode: see the module; ``"fill"`` by default.
    wrap_negative_indices: whether a negative index counts from the end; True, but False where the mode is a promise.
    """
    op, b = "take_along_axis", builder_of(arr)
    need_dtype(op, "indices", indices, INTEGERS)
    bounds = _bounds(op, mode, "fill")
    negative = mode != "promise_in_bounds" if wrap_negative_indices is None else wrap_negative_indices
    if axis is None:
        need_rank(op, "indices", indices, 1)
        arr, axis = b.reshape(arr, (-1,)), 0
    axis = axis_of(op, "axis", axis, arr.rank)
    if indices.rank != arr.rank:
        raise ShapeError(f"{op}: indices must have arr's rank {arr.rank}; got {shape_str(indices.shape)}")
    shape = list(indices.shape)
    sources: list[Source] = []
    for k, (d, n) in enumerate(zip(arr.shape, indices.shape, strict=True)):
        sources.append(Indexed(0) if k == axis else Fixed() if d == 1 else Shared(k))
        if k != axis:
            (shape[k],) = b.draft.broadcast(op, [(d,), (n,)])
    layout: tuple[Place, ...] = tuple(("index", k) for k in range(arr.rank))
    if _empty(shape) or arr.shape[axis] == 0:  # of an axis without elements JAX takes zeros, whatever the mode
        return b.zeros(shape, arr.dtype)
    through = IndexMap(tuple(sources), layout)
    index = b.broadcast_to(indices, shape)
    if negative or bounds == "fill":
        index = b.cast(index, "int32")
    return b.gather_map(arr, index, through, bounds=bounds, negative=negative, fill=jax_fill(arr.dtype, fill_value))


# -- x.at[idx] --------------------------------------------------------------------------------------------------------


def at(x: Any) -> At:
    """``x.at``: ``at(x)[idx].get()``, ``at(x)[idx].set(y)`` and so on.

    idx: ints, slices, None, Ellipsis and integer arrays or values, as in NumPy, and bool masks; how much a mask picks must be
    known: of values it must be a constant of its graph.
    """
    return At(x)


@dataclass(frozen=True, slots=True)
class At:
    """``x.at``."""

    x: Any

    def __getitem__(self, key: Any) -> Ref:
        keys = replaced_masks("at", self.x, key if isinstance(key, tuple) else (key,))
        pattern: list[Any] = []
        tensors: list[Any] = []
        for k in keys:
            if k is None or k is Ellipsis:
                pattern.append("new" if k is None else "rest")
            elif isinstance(k, slice):
                pattern.append(("slice", k.start, k.stop, k.step))
            elif isinstance(k, bool):
                raise DTypeError(f"at: a bool mask must have an axis; got {k}")
            elif isinstance(k, int):
                pattern.append(k)
            elif isinstance(k, (str, float, list)):
                raise ArgumentError(f"at: an index is an int, a slice, None, Ellipsis or an integer array; got {k!r}")
            else:
                pattern.append("array")
                tensors.append(k)
        return Ref(self.x, tuple(pattern), tensors)


class Ref:
    """``x.at[idx]``.

    Every method takes, by name, ``indices_are_sorted``, ``unique_indices``, ``mode`` and ``wrap_negative_indices``.  Those that
    write return a new tensor of x's type; values broadcast to what idx names, and meet x in one dtype by JAX's rules.  add,
    subtract and multiply are not defined for bool.
    """

    def __init__(self, x: Any, pattern: tuple[Any, ...], tensors: list[Any]) -> None:
        self._x, self._pattern, self._tensors = x, pattern, tensors

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
        fill_value: complex | None = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """``x[idx]``; an axis that is indexed must not be empty."""
        flag("get", "indices_are_sorted", indices_are_sorted)
        flag("get", "unique_indices", unique_indices)
        return _get(self._x, self._tensors, self._pattern, mode, fill_value, wrap_negative_indices)

    def _write(
        self,
        op: str,
        reduction: str | Reduction,
        values: Any,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        promises = unique_indices, indices_are_sorted
        return _write(
            self._x, self._tensors, values, self._pattern, op, reduction, promises, mode, wrap_negative_indices
        )

    def set(self, values: Any, **options: Any) -> Any:
        """``x[idx] = values``."""
        return self._write("set", "update", values, **options)

    def add(self, values: Any, **options: Any) -> Any:
        """``x[idx] += values``, once for each time that an element is named."""
        return self._write("add", "add", values, **options)

    def subtract(self, values: Any, **options: Any) -> Any:
        """``x[idx] -= values``, once for each time that an element is named."""
        return self._write("subtract", "sub", values, **options)

    def multiply(self, values: Any, **options: Any) -> Any:
        """``x[idx] *= values``, once for each time that an element is named."""
        return self._write("multiply", "mul", values, **options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Any:
        """x divided by what ``multiply`` makes of ones, as JAX has it."""
        return self._write("divide", "mul", values, **options)

    def power(self, values: Any, **options: Any) -> Any:
        """x to the power that ``multiply`` makes of ones, as JAX has it."""
        return self._write("power", "mul", values, **options)

    def min(self, values: Any, **options: Any) -> Any:
        """``x[idx] = minimum(x[idx], values)``; NaN if either is."""
        return self._write("min", "min", values, **options)

    def max(self, values: Any, **options: Any) -> Any:
        """``x[idx] = maximum(x[idx], values)``; NaN if either is."""
        return self._write("max", "max", values, **options)

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Any:
        """func, of a scalar of a builder, applied to an element once for each time that it is named."""
        found = computation("apply", lambda x, _: func(x), [dtype_of("apply", "x", self._x)])
        assert not isinstance(found, Computation)
        return self._write("apply", found[0], 0, **options)


@eager
def _get(
    x: Tensor,
    indices: Sequence[Tensor],
    pattern: tuple[Any, ...],
    mode: str | None,
    fill_value: complex | None,
    wrap_negative_indices: bool,
) -> Value:
    op, b = "get", builder_of(x)
    bounds = _bounds(op, mode, "clip")
    flag(op, "wrap_negative_indices", wrap_negative_indices)
    named = named_by(op, x, indices, pattern, wrap_negative_indices)
    if any(x.shape[a] == 0 for a in named.picked):
        raise ShapeError(f"get: an axis of {shape_str(x.shape)} that is indexed is empty")
    points = named.map.points_shape(x.shape, named.index.shape)
    if _empty(points):
        return b.zeros(named.shape, x.dtype)
    fill = jax_fill(x.dtype, fill_value)
    found = b.gather_map(x, named.index, named.map, bounds=bounds, negative=False, fill=fill)
    return b.reshape(found, named.shape)


@eager
def _write(
    x: Tensor,
    indices: Sequence[Tensor],
    values: Tensor | complex,
    pattern: tuple[Any, ...],
    op: str,
    reduction: str | Reduction,
    promises: tuple[bool, bool],
    mode: str | None,
    wrap_negative_indices: bool,
) -> Value:
    b = builder_of(x)
    bounds = _bounds(op, mode, "fill")
    unique, ascending = flag(op, "unique_indices", promises[0]), flag(op, "indices_are_sorted", promises[1])
    negative = flag(op, "wrap_negative_indices", wrap_negative_indices)
    if op in ("divide", "power") and not (x.dtype.is_float or x.dtype.is_complex):
        raise DTypeError(f"{op}: x must have a floating-point dtype; got {x.dtype}")
    common = x.dtype if isinstance(reduction, Reduction) else _promote(x.dtype, values)
    if common.kind == "b" and reduction in ("add", "sub", "mul"):
        raise DTypeError(f"{op}: not defined for bool")
    named = named_by(op, x, indices, pattern, negative)
    if _empty(x.shape) or _empty(named.shape):
        return x
    src = _spread(op, b, values, named.shape, common)
    base = b.full(x.shape, 1, common) if op in ("divide", "power") else b.cast(x, common)
    src = b.reshape(src, named.map.points_shape(x.shape, named.index.shape))
    how = reduction if isinstance(reduction, Reduction) else _reduction(op, reduction, common)
    out = b.scatter_map(
        base,
        named.index,
        src,
        named.map,
        reduction=how,
        bounds=bounds,
        negative=False,
        unique=unique,
        sorted=ascending and (bounds == "fill" or named.map.components == 1),  # clipped vectors may not be sorted
    )
    out = b.cast(out, x.dtype)
    return x / out if op == "divide" else x**out if op == "power" else out


def _spread(op: str, b: Builder, values: Value | complex, shape: Shape, dtype: DType) -> Value:
    """values in a dtype and of a shape."""
    if not isinstance(values, Value):
        return b.cast(b.full(shape, values, np.asarray(values).dtype), dtype)
    if values.rank > len(shape):
        raise ShapeError(f"{op}: values {shape_str(values.shape)} must broadcast to {shape_str(shape)}")
    return b.broadcast_to(b.cast(values, dtype), shape)


def _promote(x: DType, values: Value | complex) -> DType:
    """The dtype in which JAX lets x and values meet."""
    if isinstance(values, complex):
        narrow = x.is_float and x.bits < 64
        return x if x.is_complex else DTYPES["complex64" if narrow else "complex128"]
    if isinstance(values, (bool, int, float)):
        if isinstance(values, bool) or (x.kind != "b" and (isinstance(values, int) or x.is_float or x.is_complex)):
            return x
        return DTYPES["float64" if isinstance(values, float) else "int64"]
    a, b = sorted((x, values.dtype), key=lambda d: ("buifc".index(d.kind), d.bits))
    if b.is_complex:
        return DTYPES["complex128"] if a.is_float and a.bits == 64 else b
    if a == b or a.kind == "b" or (b.is_float and not a.is_float):
        return b
    if a.is_float and a.bits == b.bits:  # float16 and bfloat16
        return DTYPES["float32"]
    if a.kind == "u" and b.kind == "i" and a.bits >= b.bits:
        return DTYPES[f"int{2 * a.bits}"] if a.bits < 64 else DTYPES["float64"]
    return b


# -- jax.ops ----------------------------------------------------------------------------------------------------------


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Any:
    """``out = zeros((num_segments, *data.shape[1:])); out.at[segment_ids].add(data)``.

    segment_ids: any integer; one out of range, a negative one too, drops its row.  data: any dtype but bool.
    num_segments: of arrays, by default the largest segment id plus 1; values of a builder need it.  bucket_size must be None.
    """
    return _segments(
        "segment_sum", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode
    )


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Any:
    """As :func:`segment_sum`, with products; 1 where a segment has no row."""
    return _segments(
        "segment_prod", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode
    )


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Any:
    """As :func:`segment_sum`, with the largest; the lowest value of the dtype where a segment has no row."""
    return _segments(
        "segment_max", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode
    )


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> Any:
    """As :func:`segment_sum`, with the smallest; the highest value of the dtype where a segment has no row."""
    return _segments(
        "segment_min", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode
    )


_SEGMENT = {"segment_sum": "add", "segment_prod": "mul", "segment_max": "max", "segment_min": "min"}


def _segments(
    op: str,
    data: Any,
    segment_ids: Any,
    num_segments: int | None,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: str | None,
) -> Any:
    if bucket_size is not None:
        raise ArgumentError(f"{op}: bucket_size must be None; got {bucket_size!r}")
    promises = unique_indices, flag(op, "indices_are_sorted", indices_are_sorted)
    if num_segments is None:
        if isinstance(segment_ids, Value) or isinstance(data, Value):
            raise ArgumentError(f"{op}: num_segments is needed where segment_ids is not known yet")
        ids = dtype_of(op, "segment_ids", segment_ids)
        if not ids.is_integer:
            raise DTypeError(f"{op}: segment_ids must be integers; got {ids}")
        try:
            largest: Any = _largest(segment_ids, op)
        except ShapeError:
            raise ShapeError(f"{op}: num_segments is needed where segment_ids is empty") from None
        num_segments = int(largest) + 1
    count = int_of(op, "num_segments", num_segments)
    if count < 0:
        raise ArgumentError(f"{op}: num_segments must not be negative; got {count}")
    return _segment(data, segment_ids, op, count, promises, mode)


@eager
def _largest(segment_ids: Tensor, op: str) -> Value:
    return builder_of(segment_ids).max(segment_ids)


@eager
def _segment(
    data: Tensor, segment_ids: Tensor, op: str, num_segments: Size, promises: tuple[bool, bool], mode: str | None
) -> Value:
    b, how = builder_of(data), _SEGMENT[op]
    if data.dtype.kind == "b" and how in ("add", "mul"):
        raise DTypeError(f"{op}: not defined for bool")
    need_rank(op, "data", data, 1, 8)
    bounds = _bounds(op, mode, "fill")
    identity = REDUCTIONS[how].identity
    assert identity is not None
    nothing = identity(data.dtype)
    nothing = nothing.real if isinstance(nothing, complex) else nothing  # JAX begins at inf + 0j
    out = b.full((num_segments, *data.shape[1:]), nothing, data.dtype)
    named = named_by(op, out, [segment_ids], ("array",), False)
    src = b.reshape(_spread(op, b, data, named.shape, data.dtype), named.map.points_shape(out.shape, named.index.shape))
    if _empty(out.shape):
        return out
    return b.scatter_map(
        out,
        named.index,
        src,
        named.map,
        reduction=_reduction(op, how, data.dtype),
        bounds=bounds,
        negative=False,
        unique=flag(op, "unique_indices", promises[0]),
        sorted=promises[1],
    )


@eager
def cumsum(a: Tensor, axis: int | None = None, dtype: Any = None, out: None = None) -> Value:
    """The sums of a's elements up to each one along axis; of a taken flat, if axis is None.

    dtype: of the result and the sums; by default a's, and int64 of bool.  XLA leaves open in which order floats are summed.
    """
    return _cumulated("cumsum", a, axis, dtype, out)


@eager
def cumprod(a: Tensor, axis: int | None = None, dtype: Any = None, out: None = None) -> Value:
    """The products of a's elements up to each one along axis, as :func:`cumsum`."""
    return _cumulated("cumprod", a, axis, dtype, out)


def _cumulated(op: str, a: Value, axis: int | None, dtype: Any, out: None) -> Value:
    b = builder_of(a)
    if out is not None:
        raise ArgumentError(f"{op}: out must be None")
    if axis is None:
        a, axis = b.reshape(a, (-1,)), 0
    need_rank(op, "a", a, 1, 8)
    if dtype is None:
        dtype = DTYPES["int64"] if a.dtype.kind == "b" else a.dtype
    return (b.cumsum if op == "cumsum" else b.cumprod)(a, axis, dtype=dtype)


@eager
def lax_cumsum(operand: Tensor, axis: int = 0, reverse: bool = False) -> Value:
    """``jax.lax.cumsum``: sums in operand's dtype, from the axis's end if reverse; no bool, and no negative axis."""
    return _lax_cumulated("lax_cumsum", operand, axis, reverse)


@eager
def lax_cumprod(operand: Tensor, axis: int = 0, reverse: bool = False) -> Value:
    """``jax.lax.cumprod``: products, as :func:`lax_cumsum`."""
    return _lax_cumulated("lax_cumprod", operand, axis, reverse)


def _lax_cumulated(op: str, operand: Value, axis: int, reverse: bool) -> Value:
    b = builder_of(operand)
    if operand.dtype.kind == "b":
        raise DTypeError(f"{op}: not defined for bool")
    need_rank(op, "operand", operand, 1, 8)
    if int_of(op, "axis", axis) < 0:
        raise ShapeError(f"{op}: axis must not be negative; got {axis}")
    return (b.cumsum if op == "lax_cumsum" else b.cumprod)(operand, axis, reverse=reverse, dtype=operand.dtype)
