"""Relax's operators as values of a builder: a function for each, ``(builder, call, operands, shape) -> value``.

``operands`` are the values of the call's tensors, a tuple's one after the other; ``shape`` is the result's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from gscompile.dialects import topi
from gscompile.dialects._rules import compared
from gscompile.errors import ArgumentError, DTypeError
from gscompile.frontend.builder import Builder
from gscompile.ir.dims import Shape
from gscompile.ir.graph import Value

Translation: TypeAlias = Callable[[Builder, Any, Sequence[Value], Shape], Value]


def _take(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    axis, mode = call.attrs.axis, str(call.attrs.mode)
    if mode not in ("fast", "clip", "wrap", "nan"):
        raise ArgumentError(f"take: unknown mode {mode!r}")
    return topi.take(args[0], args[1], None if axis is None else int(axis), mode=mode)


def _gather_elements(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    return topi.gather(args[0], int(call.attrs.axis), args[1])


def _gather_nd(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    return b.gather_nd(args[0], args[1], batch_dims=int(call.attrs.batch_dims), negative=False)


def _scatter_elements(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    data, index, updates = args
    return topi.scatter_elements(data, index, updates, int(call.attrs.axis), str(call.attrs.reduction))


def _scatter_nd(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    mode = str(call.attrs.reduction)
    if mode not in ("update", "add", "mul", "min", "max"):
        raise ArgumentError(f"scatter_nd: unknown reduction {mode!r}")
    data, index, updates = args
    return b.scatter_nd(data, index, updates, reduction=compared("scatter_nd", mode, data.dtype), negative=False)


def _index_put(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    data, *indices, values = args
    return topi.index_put(data, indices, values, bool(call.attrs.accumulate))


def _floats(function: str) -> Translation:
    """A function of the builder's that is Relax's for floats."""

    def translation(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
        if not all(a.dtype.is_float for a in args):
            raise DTypeError(f"{function} of integers is another function in Relax")
        return b.pointwise(function, *args)

    return translation


def _numbers(function: str) -> Translation:
    def translation(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
        if any(a.dtype.kind == "b" for a in args):
            raise DTypeError(f"{function} of bool is another function in Relax")
        return b.pointwise(function, *args)

    return translation


def _maximum(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    """TIR's: a comparison, which NaN fails."""
    x, y = args
    return b.where(x > y, x, y)


def _minimum(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    x, y = args
    return b.where(x < y, x, y)


def _relu(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    return b.where(args[0] > 0, args[0], 0)


def _astype(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    to = str(call.attrs.dtype)
    if args[0].dtype.kind == "b" or (args[0].dtype.is_float and not to.startswith("float")):
        raise DTypeError(f"a cast from {args[0].dtype} to {to} is another function in Relax")
    return b.cast(args[0], to)


def _reshape(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    return b.reshape(args[0], shape)


def _sum(b: Builder, call: Any, args: Sequence[Value], shape: Shape) -> Value:
    axis = call.attrs.axis
    if args[0].dtype.name not in ("float32", "float64"):
        raise DTypeError("only float32 and float64 are summed as Relax does")
    return b.sum(args[0], None if axis is None else [int(a) for a in axis], bool(call.attrs.keepdims))


INDEXING: Mapping[str, Translation] = {
    "relax.take": _take,
    "relax.gather_elements": _gather_elements,
    "relax.gather_nd": _gather_nd,
    "relax.scatter_elements": _scatter_elements,
    "relax.scatter_nd": _scatter_nd,
    "relax.index_put": _index_put,
}
"""What is replaced."""

AROUND: Mapping[str, Translation] = {
    "relax.add": _numbers("add"),
    "relax.subtract": _numbers("sub"),
    "relax.multiply": _numbers("mul"),
    "relax.divide": _floats("div"),
    "relax.maximum": _maximum,
    "relax.minimum": _minimum,
    "relax.negative": _numbers("neg"),
    "relax.abs": _floats("abs"),
    "relax.square": _numbers("square"),
    "relax.sqrt": _floats("sqrt"),
    "relax.exp": _floats("exp"),
    "relax.log": _floats("log"),
    "relax.tanh": _floats("tanh"),
    "relax.sigmoid": _floats("sigmoid"),
    "relax.floor": _floats("floor"),
    "relax.ceil": _floats("ceil"),
    "relax.nn.relu": _relu,
    "relax.astype": _astype,
    "relax.reshape": _reshape,
    "relax.expand_dims": _reshape,
    "relax.squeeze": _reshape,
    "relax.sum": _sum,
}
"""What is computed with it, where it is fed by one of these."""

VIEWS = {"relax.reshape", "relax.expand_dims", "relax.squeeze", "relax.astype"}
"""What one of these may be computed from by the kernel itself."""
