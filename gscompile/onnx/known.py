"""Elements that are known while a graph is built: small integers, and the sizes that a call brings, through arithmetic.

Exported models compute shapes with the operators of tensors (Shape, Gather, Concat, Reshape, ..).  Here these work on arrays of
Python objects, whose elements are ints, bools and :class:`~gscompile.ir.dims.SymDim`.  Floats take part where they stand for
sizes (Cast of a Shape, on its way to a Range).  What cannot be told of a size (whether it equals another, the sign of a
difference) is left to the graph, as is every mistake: the converter then says what is wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from gscompile.errors import ShapeError
from gscompile.frontend.movement import never_negative
from gscompile.ir.dims import Dim, SymDim, dim_max, dim_min
from gscompile.ir.types import DTYPES, DType
from gscompile.onnx.node import Array, Node, Tensor, dtype_of, known_tensor

LIMIT = 1024  # elements; what is larger is data, not a shape
WHOLE = 1 << 24  # floats up to here are exact, and stand for sizes

Fold: TypeAlias = Callable[..., Any]  # of the node and its inputs' elements; gives an array, or a list of them


class CannotTell(Exception):
    """It depends on what a size is at a call."""


def fold(n: Node) -> list[Tensor] | None:
    """What a node gives, where that is integers that can be told now."""
    row = FOLDS.get(n.op)
    if row is None or n.defines("broadcast") or not all(t is None or _small(t) for t in n.tensors):
        return None
    try:
        found = row(n, *(_objects(t) for t in n.tensors))
    except (CannotTell, IndexError, ValueError, ShapeError, ZeroDivisionError):
        return None
    # NumPy gives the element itself where an array of objects has no axes
    arrays = [np.asarray(a, dtype=object) for a in (found if isinstance(found, list) else [found])]
    d = _result_type(n)
    if not all(a.size <= LIMIT and all(_fits(n, x, d) for x in a.flat) for a in arrays):
        return None
    return [known_tensor(name, a, d) for name, a in zip(n.outputs, arrays, strict=False)]


def _small(t: Tensor) -> bool:
    if t.known is None or t.known.size > LIMIT:
        return False
    return not t.dtype.is_float or all(_whole(x) for x in t.known.flat)


def _whole(x: Any) -> bool:
    """Whether an element of floats is a size, or a number that an int stands for: whole, exact, and no -0."""
    return isinstance(x, SymDim) or (abs(float(x)) <= WHOLE and x == int(x) and not (x == 0 and np.signbit(x)))


def _objects(t: Tensor | None) -> Array | None:
    if t is None or t.known is None:
        return None
    floats = t.dtype.is_float and t.known.dtype != object
    return np.asarray(t.known.astype("int64") if floats else t.known, dtype=object)


def _fits(n: Node, x: Any, d: DType) -> bool:
    if d.is_float:
        return d.bits >= 32 and n.op in _OF_FLOATS and (isinstance(x, SymDim) or abs(x) <= WHOLE) and _natural(x)
    return isinstance(x, SymDim) or bool(d.min <= x <= d.max)


def _result_type(n: Node) -> DType:
    if n.op in _COMPARISONS:
        return DTYPES["bool"]
    if n.op == "Cast":
        return dtype_of(n.attr("to"), "to")
    return n.tensor(1 if n.op == "Where" else 0).dtype


_OF_FLOATS = ("Cast", "Identity", "Squeeze", "Unsqueeze", "Reshape", "Add", "Sub", "Mul")


# -- one element ------------------------------------------------------------------------------------------------------


def _elementwise(f: Callable[..., Any]) -> Fold:
    wide = np.frompyfunc(f, f.__code__.co_argcount, 1)

    def folded(n: Node, *arrays: Array) -> Array:
        _few(*np.broadcast_shapes(*(a.shape for a in arrays)))
        return np.asarray(wide(*arrays), dtype=object)

    return folded


def _few(*extents: int) -> None:
    """Nothing larger than a shape is computed here: two small arrays may broadcast to a large one."""
    if math.prod(extents) > LIMIT:
        raise CannotTell


def _natural(*xs: Dim) -> bool:
    return all(never_negative(x) if isinstance(x, SymDim) else x >= 0 for x in xs)


def _quotient(x: Dim, y: Dim) -> Any:
    if isinstance(x, int) and isinstance(y, int):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if not _natural(x, y):
        raise CannotTell
    return x // y


def _equal(x: Any, y: Any) -> bool:
    if x == y:
        return True
    if not isinstance(x, SymDim) and not isinstance(y, SymDim):
        return False
    if _less(x, y) or _less(y, x):
        return False
    raise CannotTell


def _less(x: Any, y: Any) -> bool:
    """x < y, where it is so, or is not, for all sizes."""
    difference = y - x
    if not isinstance(difference, SymDim):
        return bool(difference > 0)
    if _natural(difference - 1):
        return True
    if _natural(-difference):
        return False
    raise CannotTell


def _absolute(x: Dim) -> Dim:
    if _natural(x):
        return x
    if isinstance(x, int):
        return -x
    raise CannotTell


def _where(c: Any, x: Any, y: Any) -> Any:
    return x if c else y


def _floor_mod(n: Node, x: Any, y: Any) -> Any:
    if n.attr("fmod"):
        raise CannotTell
    return np.asarray(np.frompyfunc(lambda a, b: a - (a // b) * b, 2, 1)(x, y), dtype=object)


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "Equal": _equal,
    "Less": _less,
    "Greater": lambda x, y: _less(y, x),
    "LessOrEqual": lambda x, y: not _less(y, x),
    "GreaterOrEqual": lambda x, y: not _less(x, y),
    "Not": lambda x: not x,
    "And": lambda x, y: bool(x and y),
    "Or": lambda x, y: bool(x or y),
}
_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    **_COMPARISONS,
    "Add": lambda x, y: x + y,
    "Sub": lambda x, y: x - y,
    "Mul": lambda x, y: x * y,
    "Div": _quotient,
    "Neg": lambda x: -x,
    "Abs": _absolute,
    "Where": _where,
}


def _many(f: Callable[[Any, Any], Any]) -> Fold:
    def folded(n: Node, first: Array, *rest: Array) -> Array:
        for x in rest:
            _few(*np.broadcast_shapes(first.shape, x.shape))
            first = np.asarray(np.frompyfunc(f, 2, 1)(first, x), dtype=object)
        return first

    return folded


# -- shapes -----------------------------------------------------------------------------------------------------------


def _numbers(x: Any) -> list[int]:
    found = [int(v) for v in np.asarray(x, dtype=object).flat if not isinstance(v, SymDim)]
    if len(found) != np.size(x):
        raise CannotTell
    return found


def _cast(n: Node, x: Array) -> Array:
    d = dtype_of(n.attr("to"), "to")
    if d.kind == "b":
        return np.asarray(np.frompyfunc(lambda a: not _equal(a, 0), 1, 1)(x), dtype=object)
    return np.asarray(np.frompyfunc(lambda a: a if isinstance(a, SymDim) else int(a), 1, 1)(x), dtype=object)


def _gather(n: Node, x: Array, index: Array) -> Array:
    a = n.axis(x.ndim)
    _few(*x.shape[:a], *index.shape, *x.shape[a + 1 :])
    return np.take(x, np.reshape(_numbers(index), index.shape).astype("int64"), a)


def _reshape(n: Node, x: Array, shape: Array) -> Array:
    wanted = _numbers(shape)
    if not n.attr("allowzero"):
        wanted = [x.shape[k] if d == 0 else d for k, d in enumerate(wanted)]
    return x.reshape(wanted)


def _squeeze(n: Node, x: Array, *rest: Array) -> Array:
    axes = n.axes("axes", 1, x.ndim)
    return x.squeeze(None if axes is None else tuple(axes))


def _unsqueeze(n: Node, x: Array, *rest: Array) -> Array:
    count = len(n.listed("axes", 1) or [])
    return np.expand_dims(x, tuple(n.axes("axes", 1, x.ndim + count) or ()))


def _slice(n: Node, x: Array, *rest: Array) -> Array:
    starts, stops = (_numbers(n.listed(name, k)) for name, k in (("starts", 1), ("ends", 2)))
    axes = n.axes("axes", 3, x.ndim) if n.defines("axes") or n.has(3) else None
    steps = n.ints(4) if n.has(4) else [1] * len(starts)
    key = [slice(None)] * x.ndim
    for a, *bounds in zip(range(len(starts)) if axes is None else axes, starts, stops, steps, strict=True):
        key[a] = slice(*bounds)
    return x[tuple(key)]


def _split(n: Node, x: Array, *rest: Array) -> list[Array]:
    a = n.axis(x.ndim)
    sizes = n.listed("split", 1)
    if sizes is None:
        each = -(-x.shape[a] // len(n.outputs))
        ends = [k * each for k in range(1, len(n.outputs))]
    else:
        parts = _numbers(sizes)
        if min(parts, default=0) < 0 or sum(parts) != x.shape[a] or len(parts) != len(n.outputs):
            raise CannotTell
        ends = list(itertools.accumulate(parts))[:-1]
    return np.split(x, ends, a)


def _transpose(n: Node, x: Array) -> Array:
    return np.transpose(x, n.attr("perm"))


def _expand(n: Node, x: Array, shape: Array) -> Array:
    wanted = np.broadcast_shapes(x.shape, tuple(_numbers(shape)))
    _few(*wanted)
    return np.broadcast_to(x, wanted)


def _range(n: Node, start: Array, limit: Array, delta: Array) -> Array:
    found = range(*_numbers([start.item(), limit.item(), delta.item()]))
    _few(*([LIMIT + 1] if found[LIMIT:] else []))  # len() is not for ranges of more than 2**63 elements
    return np.array(found, dtype=object)


def _reduce(f: Callable[[Any, Any], Any]) -> Fold:
    def folded(n: Node, x: Array, *rest: Array) -> Array:
        axes = n.axes("axes", 1, x.ndim)
        if not axes and n.attr("noop_with_empty_axes"):
            return x
        over = tuple(axes or range(x.ndim))
        if not x.size:
            raise CannotTell
        return np.asarray(np.frompyfunc(f, 2, 1).reduce(x, over, keepdims=bool(n.attr("keepdims"))), dtype=object)

    return folded


FOLDS: dict[str, Fold] = {
    **{name: _elementwise(f) for name, f in _ELEMENTWISE.items()},
    "Mod": _floor_mod,
    "Sum": _many(lambda x, y: x + y),
    "Max": _many(dim_max),
    "Min": _many(dim_min),
    "Cast": _cast,
    "Identity": lambda n, x: x,
    "Concat": lambda n, *parts: np.concatenate(parts, n.axis(parts[0].ndim)),
    "Gather": _gather,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Slice": _slice,
    "Split": _split,
    "Transpose": _transpose,
    "Expand": _expand,
    "Range": _range,
    "ReduceSum": _reduce(lambda x, y: x + y),
    "ReduceProd": _reduce(lambda x, y: x * y),
    "ReduceMax": _reduce(dim_max),
    "ReduceMin": _reduce(dim_min),
}
