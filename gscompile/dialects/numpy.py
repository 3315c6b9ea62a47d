"""NumPy: ``take``, ``take_along_axis``, ``put``, ``put_along_axis``, ``choose``, ``ufunc.at``, ``cumsum`` and ``cumprod``, as
NumPy 2.4 computes them.

``mode``: with ``"raise"`` a negative index counts from the end and one out of range is an error; ``"wrap"`` takes an index
modulo the extent; ``"clip"`` brings it to the nearest position, so that a negative one means 0.

An index is cast to int64, as NumPy's are to intp.  Where there is nothing to take NumPy does not check
the indices, and neither does this; where a size known only at run time decides whether there is, they are checked.

``put``, ``put_along_axis`` and ``ufunc_at`` change an array in place and return None; given values of a builder, which cannot
change, they return the new one.  An index out of range leaves the array as it was; NumPy's ``put`` has by then written what came
before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.exceptions import AxisError as _AxisError

from gscompile.dialects._masks import known_places, places_of
from gscompile.dialects._rules import INTEGERS, need_dtype, need_rank
from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend import core
from gscompile.frontend.arguments import axis_of
from gscompile.frontend.builder import builder_of
from gscompile.frontend.computations import computation
from gscompile.frontend.core import Lane, ScatterOptions
from gscompile.frontend.draft import moved_only
from gscompile.frontend.eager import Out, Tensor, eager
from gscompile.ir.computation import Computation
from gscompile.ir.dims import Dim, Shape, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import Fixed, Indexed, IndexMap, Shared, Source
from gscompile.ir.ops.reductions import Reduction, variant
from gscompile.ir.types import DType, promote
from gscompile.ir.types import dtype as as_dtype


class AxisError(ShapeError, _AxisError):
    """NumPy's error for an axis that is not there."""

    def __init__(self, message: str, axis: int | None = None, ndim: int | None = None) -> None:
        super().__init__(message)
        self.args, self.axis, self.ndim = (message,), axis, ndim

    __str__ = Exception.__str__


_MODES: dict[str, tuple[str, bool]] = {"raise": ("raise", True), "wrap": ("wrap", True), "clip": ("clip", False)}


def _mode(op: str, mode: str) -> dict[str, Any]:
    """The bounds policy of a mode."""
    if not isinstance(mode, str) or mode not in _MODES:
        raise ArgumentError(f"{op}: mode must be 'raise', 'wrap' or 'clip'; got {mode!r}")
    bounds, negative = _MODES[mode]
    return {"bounds": bounds, "negative": negative}


def _axis(op: str, axis: Any, rank: int) -> int:
    try:
        return axis_of(op, "axis", axis, rank)
    except ShapeError as e:
        raise AxisError(str(e), axis, rank) from None


def _intp(op: str, argument: str, index: Value, unsigned64: bool) -> Value:
    """An index as int64."""
    allowed = [d for d in (*INTEGERS, "bool") if d != "uint64" or unsigned64]
    need_dtype(op, argument, index, allowed)
    return builder_of(index).cast(index, "int64")


def _empty(shape: Sequence[Dim]) -> bool:
    return any(d == 0 for d in shape)


@eager(native=["indices"])
def take(a: Tensor, indices: Tensor, axis: int | None = None, out: Out = None, mode: str = "raise") -> Value:
    """The slices of a at indices along axis; of a taken flat, if axis is None.

    Result: ``a.shape[:axis] + indices.shape + a.shape[axis + 1:]``, a's dtype.  indices: any integer or bool.
    """
    b = builder_of(a)
    policy = _mode("take", mode)
    index = _intp("take", "indices", indices, True)
    if axis is None or a.rank == 0:
        axis = _axis("take", axis or 0, 1)
        a = b.reshape(a, (-1,))
    axis = _axis("take", axis, a.rank)
    shape = (*a.shape[:axis], *index.shape, *a.shape[axis + 1 :])
    if _empty(a.shape[:axis]) or (_empty(shape) and mode != "raise"):
        return b.zeros(shape, a.dtype)
    return b.take(a, index, axis, **policy)


@eager(native=["indices"])
def take_along_axis(arr: Tensor, indices: Tensor, axis: int | None = -1) -> Value:
    """``out[i][j][k] = arr[i][indices[i][j][k]][k]`` for axis = 1, the other axes broadcast to each other.

    indices: any integer dtype, arr's rank; 1-D where axis is None, for arr taken flat.
    """
    arr, index, through = _along("take_along_axis", arr, indices, axis)
    points = through.points_shape(arr.shape, index.shape)
    if _empty(points):
        return builder_of(arr).zeros(points, arr.dtype)
    return builder_of(arr).gather_map(arr, index, through)


def _along(op: str, arr: Value, indices: Value, axis: int | None) -> tuple[Value, Value, IndexMap]:
    """arr (flat where axis is None), the index as long as arr on the other axes, and the map.

    Where arr has extent 1 on another axis, it is read, or written, at 0.
    """
    b = builder_of(arr)
    need_dtype(op, "indices", indices, INTEGERS)
    index = b.cast(indices, "int64")
    if axis is None:
        need_rank(op, "indices", index, 1)
        arr, axis = b.reshape(arr, (-1,)), 0
    axis = _axis(op, axis, arr.rank)
    if index.rank != arr.rank:
        raise ShapeError(f"{op}: indices must have arr's rank {arr.rank}; got {shape_str(indices.shape)}")
    shape = list(index.shape)
    sources: list[Source] = []
    for k, (d, n) in enumerate(zip(arr.shape, index.shape, strict=True)):
        if k == axis:
            sources.append(Indexed(0))
            continue
        sources.append(Fixed() if d == 1 else Shared(k))
        (shape[k],) = b.draft.broadcast(op, [(d,), (n,)])
    layout = tuple(("index", k) for k in range(arr.rank))
    return arr, b.broadcast_to(index, shape), IndexMap(tuple(sources), layout)  # type: ignore[arg-type]


@eager
def cumsum(a: Tensor, axis: int | None = None, dtype: Any = None, out: Out = None) -> Value:
    """The sums of a's elements up to each one along axis; of a taken flat, if axis is None.

    dtype: of the result and the sums; by default integers and bool become 64 bits wide.  Sums of float16, which NumPy rounds at
    every step, are kept in float32 and rounded as they are written; along an axis of more than 4,096 elements floats are summed
    in blocks.
    """
    return _cumulated("cumsum", a, axis, dtype)


@eager
def cumprod(a: Tensor, axis: int | None = None, dtype: Any = None, out: Out = None) -> Value:
    """The products of a's elements up to each one along axis, as :func:`cumsum`."""
    return _cumulated("cumprod", a, axis, dtype)


def _cumulated(op: str, a: Value, axis: int | None, dtype: Any) -> Value:
    b = builder_of(a)
    if axis is None:
        a, axis = b.reshape(a, (-1,)), 0
    axis = _axis(op, axis, max(a.rank, 1))
    if dtype is None and a.dtype.is_integer and a.dtype.digits:  # ml_dtypes' int4 and the like stay what they are
        dtype = a.dtype
    return (b.cumsum if op == "cumsum" else b.cumprod)(a, axis, dtype=dtype)


@eager(in_place="a", native=["ind"])
def put(a: Tensor, ind: Tensor, v: Tensor | float, mode: str = "raise") -> Value:
    """Write v, repeated as often as needed, to the elements of a, taken flat, at ind.

    ind: any integer but uint64, or bool, of any shape.  v is cast to a's dtype, and may be longer than ind; where it is
    empty nothing is written.  The last of several values for one element wins.
    """
    b = builder_of(a)
    policy = _mode("put", mode)
    index = b.reshape(_intp("put", "ind", ind, False), (-1,))
    if (isinstance(v, Value) and _empty(v.shape)) or index.shape == (0,):
        return a
    flat = b.reshape(a, (-1,))
    if isinstance(v, Value):
        values = b.reshape(b.cast(v, a.dtype), (-1,))
        if values.shape != index.shape:
            values = b.take(values, b.iota(index.shape), bounds="wrap")
    else:
        values = b.cast(b.full(index.shape, v, "float64" if isinstance(v, float) else "int64"), a.dtype)
    return b.reshape(b.put(flat, index, values, **policy), a.shape)


@eager(in_place="arr", native=["indices"])
def put_along_axis(arr: Tensor, indices: Tensor, values: Tensor | float, axis: int | None) -> Value:
    """``arr[i][indices[i][j][k]][k] = values[i][j][k]`` for axis = 1; values are cast and broadcast.

    indices: as in :func:`take_along_axis`.  The last of several values for one element wins.
    """
    b = builder_of(arr)
    flat, index, through = _along("put_along_axis", arr, indices, axis)
    points = through.points_shape(flat.shape, index.shape)
    if not isinstance(values, Value):
        values = b.full((), values, "float64" if isinstance(values, float) else "int64")
    src = _spread("put_along_axis", "values", arr.dtype, values, points, extra=True)
    if _empty(points):
        return arr
    return b.reshape(b.scatter_map(flat, index, src, through), arr.shape)


def _spread(op: str, argument: str, dtype: DType, values: Value, points: Shape, extra: bool) -> Value:
    """values in a dtype and of the points' shape.

    Args:
        extra: leading axes of extent 1 that points lack are dropped.
    """
    b = builder_of(values)
    v = b.cast(values, dtype)
    while extra and v.rank > len(points) and v.shape[0] == 1:
        v = b.squeeze(v, 0)
    if v.rank > len(points):
        raise ShapeError(f"{op}: {argument} {shape_str(values.shape)} must broadcast to {shape_str(points)}")
    return b.broadcast_to(v, points)


@eager(native=["a", "choices"])
def choose(a: Tensor, choices: Sequence[Tensor] | Tensor, out: Out = None, mode: str = "raise") -> Value:
    """``out[p] = choices[a[p]][p]``, where a and the choices broadcast to each other.

    choices: a sequence, or a tensor whose first axis it is; any number of them (NumPy takes at most 64), which meet in one
    dtype.  a: any integer but uint64, or bool.  A negative index is out of range.
    """
    b = builder_of(a)
    policy = _mode("choose", mode) | {"negative": False}
    index = _intp("choose", "a", a, False)
    if isinstance(choices, Value):
        need_rank("choose", "choices", choices, 1, 8)
        shape = b.draft.broadcast("choose", [index.shape, choices.shape[1:]])
        each = (*(1 for _ in range(len(shape) - choices.rank + 1)), *choices.shape[1:])
        table = b.broadcast_to(b.reshape(choices, (choices.shape[0], *each)), (choices.shape[0], *shape))
    else:
        if not choices:
            raise ArgumentError("choose: at least one choice is needed")
        shape = b.draft.broadcast("choose", [index.shape, *(c.shape for c in choices)])
        table = b.stack([b.broadcast_to(c, shape) for c in choices])
    if table.shape[0] == 0:
        raise ArgumentError("choose: at least one choice is needed")
    rank = len(shape)
    sources: list[Source] = [Indexed(0), *(Shared(k) for k in range(rank))]
    through = IndexMap(tuple(sources), tuple(("index", k) for k in range(rank)))
    return b.gather_map(table, b.broadcast_to(index, shape), through, **policy)


# -- ufunc.at ---------------------------------------------------------------------------------------------------------

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "power": lambda x, y: x**y,
    "minimum": lambda x, y: builder_of(x).minimum(x, y),
    "maximum": lambda x, y: builder_of(x).maximum(x, y),
    "fmin": lambda x, y: builder_of(x).where(builder_of(x).isnan(y), x, builder_of(x).where((x <= y), x, y)),
    "fmax": lambda x, y: builder_of(x).where(builder_of(x).isnan(y), x, builder_of(x).where((x >= y), x, y)),
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "left_shift": lambda x, y: x << y,
    "right_shift": lambda x, y: x >> y,
    "logical_and": lambda x, y: builder_of(x).logical_and(x, y),
    "logical_or": lambda x, y: builder_of(x).logical_or(x, y),
    "logical_xor": lambda x, y: builder_of(x).logical_xor(x, y),
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "negative": lambda x: -x,
    "absolute": lambda x: abs(x),
    "square": lambda x: builder_of(x).square(x),
    "sqrt": lambda x: builder_of(x).sqrt(x),
    "logical_not": lambda x: builder_of(x).logical_not(x),
    "invert": lambda x: ~x,
}
_ALIASES = {"true_divide": "divide", "mod": "remainder", "pow": "power", "abs": "absolute", "bitwise_not": "invert"}


def ufunc_at(ufunc: Any, a: Any, indices: Any, b: Any = None) -> Any:
    """``ufunc.at(a, indices, b)``: ``a[indices] = ufunc(a[indices], b)``, once for each time that an element is named.

    ufunc: a ``np.ufunc`` or its name: add, subtract, multiply, divide, floor_divide, remainder, power, minimum, maximum, fmin,
    fmax, bitwise_*, left_shift, right_shift, logical_*; negative, absolute, square, sqrt, logical_not and invert, without b.
    indices: an integer tensor for a's first axis, or a tuple of them, which broadcast, for its first axes; a negative index
    counts from the end, and one out of range is an error.  A bool mask stands for the places where it is True, one index for each
    of its axes; of values of a builder it must be a constant.
    b: a number, which is one of int64, float64 or bool, or a tensor that broadcasts.  Every step is computed in the dtype in
    which a and b meet, and what comes out is cast to a's, whatever they are; a float that a's integers do not hold becomes the
    nearest of them, and NaN 0, where NumPy's is undefined.
    """
    name = ufunc if isinstance(ufunc, str) else getattr(ufunc, "__name__", None)
    name = _ALIASES.get(name, name) if isinstance(name, str) else name
    if name not in _BINARY and name not in _UNARY:
        raise ArgumentError(f"ufunc_at: ufunc must be one of {', '.join([*_BINARY, *_UNARY])}; got {ufunc!r}")
    if (b is None) == (name in _BINARY):
        raise ArgumentError(f"ufunc_at: {name} {'needs' if b is None else 'does not take'} b")
    each = list(indices) if isinstance(indices, tuple) else [indices]
    if not any(isinstance(x, Value) for x in (a, b, *each)):
        each = places_of("ufunc_at", a, each)
    return _ufunc_at(a, each, b, name)


# of which a number that a's dtype holds may be taken in that dtype, where NumPy takes it in 64 bits
_NARROW = frozenset(["add", "subtract", "multiply", "divide", "minimum", "maximum", "fmin", "fmax"])


@eager(in_place="a", native=["indices"])
def _ufunc_at(a: Tensor, indices: Sequence[Tensor], b: Tensor | complex | None, name: str) -> Value:
    op, builder = "ufunc_at", builder_of(a)
    for x in (a, b):
        if isinstance(x, Value) and x.dtype.kind == "V":
            raise moved_only(op, x.dtype)
    indices = known_places(op, a, indices)
    if len(indices) > a.rank:
        raise ShapeError(f"{op}: {len(indices)} indices for a of rank {a.rank}")
    for k, i in enumerate(indices):
        need_dtype(op, f"indices[{k}]", i, INTEGERS)
    operand = b if isinstance(b, Value) else builder.full((), 0 if b is None else b, _dtype_of(a.dtype, b, name))
    grid = builder.draft.broadcast(op, [i.shape for i in indices])
    points = (*grid, *a.shape[len(indices) :])
    if not indices:
        index = builder.zeros((0,), "int64")
    else:
        each = [builder.cast(builder.broadcast_to(i, grid), "int64") for i in indices]
        index = builder.stack(each, len(grid))

    def step(old: Value, new: Value) -> Value:
        return builder_of(old).cast(_BINARY[name](old, new) if name in _BINARY else _UNARY[name](old), a.dtype)

    if promote(a.dtype, operand.dtype) == a.dtype:
        found = computation(op, step, [a.dtype])
        assert not isinstance(found, Computation)
        src = _spread(op, "b", a.dtype, operand, points, extra=False)
        return builder.scatter_nd(a, index, src, reduction=_extreme(found[0], a.dtype))
    # b is wider: it comes as the values of a second tensor, of which nothing is kept
    joint = computation(op, lambda x, unused, _, y: (step(x, y), unused), [a.dtype, operand.dtype])
    assert isinstance(joint, Computation)
    wide = _spread(op, "b", operand.dtype, operand, points, extra=False)
    lanes = [a, builder.zeros(a.shape, wide.dtype), builder.zeros(points, a.dtype), wide]
    draft = builder.draft
    through = core.map_of_nd(draft, op, a, index, None, 0)
    options = ScatterOptions(reduction=joint)
    return core.scatter(draft, op, a, index, lanes[2], through, options, lane=Lane(0, lanes))


def _dtype_of(a: DType, b: complex | None, name: str) -> DType:
    """The dtype of a number beside a tensor of dtype ``a``: NumPy's own, or ``a`` where nothing comes out differently."""
    if b is None:
        return a
    wide = as_dtype(np.asarray(b).dtype)
    if isinstance(b, complex) or name not in _NARROW or wide.is_float > a.is_float or a.name == "uint64":
        return wide
    held = a.min <= b <= a.max if a.is_integer else a.is_float and abs(b) <= 2**8 and b == int(b)
    return a if held else wide


def _extreme(found: Reduction, a: DType) -> Reduction:
    """Of zeros of both signs NumPy keeps the last one, but of float16 the first."""
    return variant(found.name, zeros="first") if found.name in ("min", "max") and a.name == "float16" else found
