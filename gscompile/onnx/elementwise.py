"""Operators of one element at a time, and activations."""

from __future__ import annotations

import functools
from typing import Any

from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend.builder import builder_of
from gscompile.ir.dims import product, shape_str
from gscompile.ir.graph import Value
from gscompile.onnx.node import Convert, Node, dtype_of, operator

# ONNX's operator -> the builder's method of the same meaning, and the operator set that brought it.
_SAME = {
    "Add": ("add", 1),
    "Sub": ("sub", 1),
    "Mul": ("mul", 1),
    "Neg": ("neg", 1),
    "Abs": ("abs", 1),
    "Sign": ("sign", 9),
    "Exp": ("exp", 1),
    "Log": ("log", 1),
    "Sqrt": ("sqrt", 1),
    "Reciprocal": ("reciprocal", 1),
    "Tanh": ("tanh", 1),
    "Sigmoid": ("sigmoid", 1),
    "Relu": ("relu", 1),
    "Erf": ("erf", 9),
    "Sin": ("sin", 7),
    "Cos": ("cos", 7),
    "Floor": ("floor", 1),
    "Ceil": ("ceil", 1),
    "Round": ("round", 11),
    "IsNaN": ("isnan", 9),
    "Where": ("where", 9),
    "Equal": ("eq", 1),
    "Less": ("lt", 1),
    "LessOrEqual": ("le", 12),
    "Greater": ("gt", 1),
    "GreaterOrEqual": ("ge", 12),
    "Not": ("logical_not", 1),
    "And": ("logical_and", 1),
    "Or": ("logical_or", 1),
    "Xor": ("logical_xor", 1),
    "BitwiseAnd": ("bitwise_and", 18),
    "BitwiseOr": ("bitwise_or", 18),
    "BitwiseXor": ("bitwise_xor", 18),
    "BitwiseNot": ("bitwise_not", 18),
}


def operands(n: Node) -> list[Value]:
    """The inputs, so that they broadcast as NumPy's do.

    Before opset 7 they did only where ``broadcast`` was set, the second one's axes standing for those of the first from ``axis``
    on, by default its last.  Sums, means and extremes did not before opset 8.
    """
    if n.defines("broadcast") and n.attr("broadcast"):
        x, y = n.values
        axis = x.rank - y.rank if n.attr("axis") is None else n.axis(x.rank)
        if not 0 <= axis <= x.rank - y.rank:
            raise ShapeError(f"{shape_str(y.shape)} does not fit into {shape_str(x.shape)} from axis {axis} on")
        return [x, n.b.reshape(y, (*y.shape, *(1 for _ in range(x.rank - axis - y.rank))))]
    if n.defines("broadcast") or (n.op in _VARIADIC and n.opset < 8):
        for y in n.values[1:]:
            if y.rank != n[0].rank:
                raise ShapeError(f"shapes must be equal; got {shape_str(n[0].shape)} and {shape_str(y.shape)}")
            n.b.draft.require(
                [("==", e, d, f"{n.op}: axis {a}") for a, (e, d) in enumerate(zip(y.shape, n[0].shape, strict=True))]
            )
    return n.values


_VARIADIC = ("Sum", "Mean", "Max", "Min")


def _method(name: str) -> Convert:
    def convert(n: Node) -> Value:
        found: Value = getattr(n.b, name)(*operands(n))
        return found

    return convert


for _name, (_ours, _since) in _SAME.items():
    operator(_name, _since)(_method(_ours))

# -- arithmetic -------------------------------------------------------------------------------------------------------


@operator("Div")
def div(n: Node) -> Value:
    x, y = operands(n)
    return truncated_quotient(x, y) if x.dtype.is_integer else n.b.div(x, y)


def truncated_quotient(x: Value, y: Value) -> Value:
    """The quotient of integers rounded towards zero; 0 where y is 0."""
    b = builder_of(x)
    down = b.floordiv(x, y)
    if x.dtype.kind == "u":
        return down
    up = b.logical_and(b.ne(x - down * y, 0), b.ne(b.lt(x, 0), b.lt(y, 0)))
    return b.where(b.logical_and(up, b.ne(y, 0)), down + 1, down)


@operator("Mod", 10)
def mod(n: Node) -> Value:
    b, x, y = n.b, n[0], n[1]
    if n.choice("fmod", (0, 1)) == 0:
        if x.dtype.is_float and n.opset < 28:
            raise ArgumentError("fmod must be 1 for floats before opset 28")
        return b.mod(x, y)
    if x.dtype.is_integer:
        return b.where(b.eq(y, 0), b.full((), 0, x.dtype), x - truncated_quotient(x, y) * y)
    of_sizes = b.mod(b.abs(x), b.abs(y))
    return b.where(b.lt(x, 0), -of_sizes, of_sizes)


@operator("Pow")
def power(n: Node) -> Value:
    x, y = operands(n)
    return n.b.cast(n.b.pow(x, y), x.dtype)


@operator("BitShift", 11)
def bit_shift(n: Node) -> Value:
    return (
        n.b.left_shift(n[0], n[1])
        if n.choice("direction", ("LEFT", "RIGHT")) == "LEFT"
        else n.b.right_shift(n[0], n[1])
    )


def _folded(n: Node, name: str) -> Value:
    found: Value = functools.reduce(getattr(n.b, name), operands(n))
    return found


operator("Sum")(lambda n: _folded(n, "add"))
operator("Max")(lambda n: _folded(n, "maximum"))
operator("Min")(lambda n: _folded(n, "minimum"))
operator("Mean")(lambda n: _folded(n, "add") / float(len(n)))


@operator("Clip")
def clip(n: Node) -> Value:
    if n.defines("min"):
        return n.b.clip(n[0], n.attr("min"), n.attr("max"))
    limits = [n[k] if n.has(k) else None for k in (1, 2)]
    for k, limit in enumerate(limits, 1):
        if limit is not None and limit.rank:
            raise ShapeError(f"{n.argument(k)} must be a scalar; got shape {shape_str(limit.shape)}")
    return n.b.clip(n[0], *limits)


@operator("IsInf", 10)
def is_inf(n: Node) -> Value:
    b, x = n.b, n[0]
    found = b.isinf(x)
    if not n.attr("detect_positive"):
        found = b.logical_and(found, b.lt(x, 0))
    return found if n.attr("detect_negative") else b.logical_and(found, b.gt(x, 0))


# -- types ------------------------------------------------------------------------------------------------------------


@operator("Cast", 6, "saturate and round_mode concern 8-bit floats, which are not supported")
def cast(n: Node) -> Value:
    return n.b.cast(n[0], dtype_of(n.attr("to"), "to"))


@operator("CastLike", 15, "saturate and round_mode concern 8-bit floats, which are not supported")
def cast_like(n: Node) -> Value:
    return n.b.cast(n[0], n.tensor(1).dtype)


# -- activations ------------------------------------------------------------------------------------------------------


def _expm1(x: Value) -> Value:
    """e**x - 1, as exact near 0 as tanh is: tanh(x / 2) (e**x + 1).  For x at most 0."""
    b = builder_of(x)
    return b.tanh(x * 0.5) * (b.exp(x) + 1.0)


def _softplus(x: Value) -> Value:
    b = builder_of(x)
    return b.relu(x) + b.log(b.exp(-b.abs(x)) + 1.0)


def _negative(x: Value) -> Value:
    """min(x, 0)."""
    return builder_of(x).minimum(x, 0.0)


operator("Softplus")(lambda n: _softplus(n[0]))
operator("Softsign")(lambda n: n[0] / (n.b.abs(n[0]) + 1.0))
operator("Mish", 18)(lambda n: n[0] * n.b.tanh(_softplus(n[0])))
operator("Swish", 24)(lambda n: n[0] * n.b.sigmoid(n[0] * n.attr("alpha")))
operator("HardSigmoid")(lambda n: n.b.clip(n[0] * n.attr("alpha") + n.attr("beta"), 0.0, 1.0))
operator("HardSwish", 14)(lambda n: n[0] * n.b.clip(n[0] * (1 / 6) + 0.5, 0.0, 1.0))
operator("LeakyRelu")(lambda n: n.b.where(n[0] < 0.0, n[0] * n.attr("alpha"), n[0]))
operator("ThresholdedRelu", 10)(lambda n: n.b.where(n[0] > n.attr("alpha"), n[0], 0.0))
operator("Elu")(lambda n: n.b.where(n[0] < 0.0, _expm1(_negative(n[0])) * n.attr("alpha"), n[0]))
operator("Gelu", 20)(lambda n: n.b.gelu(n[0], n.choice("approximate", ("none", "tanh"))))
operator("Cosh", 9)(lambda n: (n.b.exp(n[0]) + n.b.exp(-n[0])) * 0.5)
operator("Sinh", 9)(lambda n: n.b.tanh(n[0]) * (n.b.exp(n[0]) + n.b.exp(-n[0])) * 0.5)
operator("Tan", 7)(lambda n: n.b.sin(n[0]) / n.b.cos(n[0]))


@operator("Selu")
def selu(n: Node) -> Value:
    x, alpha, gamma = n[0], n.attr("alpha"), float(n.attr("gamma"))
    return n.b.where(x <= 0.0, _expm1(_negative(x)) * alpha, x) * gamma


@operator("Celu", 12)
def celu(n: Node) -> Value:
    x, alpha = n[0], float(n.attr("alpha"))
    return n.b.relu(x) + _expm1(_negative(x) / alpha) * alpha


@operator("PRelu")
def p_relu(n: Node) -> Value:
    x, slope = n[0], n[1]
    if n.opset < 7 and slope.shape != (1,):  # one slope for each channel
        slope = n.b.reshape(slope, (-1, *(1 for _ in range(x.rank - 2))))
    return n.b.where(n.b.lt(x, 0), n.b.broadcast_to(slope, x.shape) * x, x)


@operator("Shrink", 9)
def shrink(n: Node) -> Value:
    x = n[0] if n[0].dtype.is_float else n.b.cast(n[0], "float64")
    edge, bias = n.attr("lambd"), n.attr("bias")
    found = n.b.where(x < -edge, x + bias, n.b.where(x > edge, x - bias, 0.0))
    return n.b.cast(found, n[0].dtype)


@operator("Dropout", note="training_mode must be false or left out; before opset 7, is_test must be 1")
def dropout(n: Node) -> Any:
    if (n.has(2) and n.scalar(2)) or (n.defines("is_test") and not n.attr("is_test")):
        raise ArgumentError("training_mode is not supported")
    return [n[0], n.b.full(n[0].shape, 1, "bool" if n.opset >= 10 else n[0].dtype)]


def along_axis(n: Node) -> tuple[Value, Any]:
    """The tensor and the axes over which a softmax sums: one, or before opset 13 all from there on."""
    x = n[0]
    if n.opset >= 13:
        return x, [n.axis(x.rank)]
    first = n.attr("axis")
    if not -x.rank <= first <= x.rank:
        raise ShapeError(f"axis must be in [{-x.rank}, {x.rank}]; got {first}")
    return x, list(range(first % x.rank if first < 0 else first, x.rank))


def _shifted(x: Value, axes: Any) -> Value:
    return x - builder_of(x).max(x, axes, keepdims=True) if axes else x - x


@operator("Softmax")
def softmax(n: Node) -> Value:
    x, axes = along_axis(n)
    found = n.b.exp(_shifted(x, axes))
    return found / n.b.sum(found, axes, keepdims=True)


@operator("LogSoftmax")
def log_softmax(n: Node) -> Value:
    x, axes = along_axis(n)
    shifted = _shifted(x, axes)
    return shifted - n.b.log(n.b.sum(n.b.exp(shifted), axes, keepdims=True))


@operator("Hardmax")
def hardmax(n: Node) -> Value:
    """1 at the first of the largest."""
    x, axes = along_axis(n)
    b, first = n.b, x.rank - len(axes) if n.opset < 13 else axes[0]
    flat = x if len(axes) == 1 else b.reshape(x, (*x.shape[:first], product(x.shape[first:])))
    at = b.argmax(flat, first, keepdims=True)
    return b.reshape(b.cast(b.eq(b.iota(flat.shape, first), at), x.dtype), x.shape)
