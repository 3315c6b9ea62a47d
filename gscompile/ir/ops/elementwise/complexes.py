"""Functions of complex numbers, which are given by their parts: float32 or float64, never an expression of their own.

Products and quotients are NumPy's formulas to the letter (the plain product, Smith's quotient), not those of C's Annex G: an
infinity times a number may be NaN in both parts.  Order is NumPy's too: by the real part, then by the imaginary one; nothing
is less or greater than a number with a NaN, which the smaller and the larger of two take first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.ir.ops.elementwise import floats
from gscompile.ir.ops.elementwise.comparisons import comparison, float_eq, isnan, not_
from gscompile.ir.ops.elementwise.expr import Names, Scalar, constant, literal, operand
from gscompile.ir.ops.elementwise.floats import library, minus
from gscompile.ir.types import DType

Parts: TypeAlias = Sequence[PrimExpr]
"""The real and the imaginary part of a complex number; one part alone of a number that is not complex."""

Body: TypeAlias = Callable[..., Parts]
"""(where names are kept, the parts' dtype, the parts of each operand ...) -> the parts of the value."""


def _product(names: Names, dt: DType, x: Parts, y: Parts) -> Parts:
    (a, b), (c, d) = x, y
    return a * c + minus(b * d), a * d + b * c


def _square(names: Names, dt: DType, x: Parts) -> Parts:
    return _product(names, dt, x, x)


def _quotient(names: Names, dt: DType, x: Parts, y: Parts) -> Parts:
    """Smith's: the divisor's smaller part is divided by its larger one.  By 0, each part is divided by it."""
    (a, b), (c, d) = x, y
    by_real = names(tirx.LE(tirx.abs(d), tirx.abs(c)))
    by_zero = tirx.BitwiseAnd(float_eq(c, literal(0.0, dt)), float_eq(d, literal(0.0, dt)))
    large, small = names(tirx.Select(by_real, c, d)), names(tirx.Select(by_real, d, c))
    ratio = names(tirx.Div(small, large))
    scale = names(tirx.Div(literal(1.0, dt), large + small * ratio))
    real = tirx.Select(by_real, a + b * ratio, a * ratio + b) * scale
    imag = tirx.Select(by_real, b + minus(a * ratio), b * ratio + minus(a)) * scale
    size, zero = names(tirx.abs(c)), names(by_zero)
    return tirx.Select(zero, tirx.Div(a, size), real), tirx.Select(zero, tirx.Div(b, size), imag)


def _reciprocal(names: Names, dt: DType, x: Parts) -> Parts:
    (a, b) = x
    by_real = names(tirx.LT(tirx.abs(b), tirx.abs(a)))
    large, small = names(tirx.Select(by_real, a, b)), names(tirx.Select(by_real, b, a))
    ratio = names(tirx.Div(small, large))
    whole = names(small * ratio + large)
    one, part = tirx.Div(literal(1.0, dt), whole), tirx.Div(ratio, whole)
    return tirx.Select(by_real, one, part), minus(tirx.Select(by_real, part, one))


def _has_nan(x: Parts) -> PrimExpr:
    return tirx.BitwiseOr(isnan(x[0]), isnan(x[1]))


def _compared(name: str) -> Body:
    """``<``, ``<=``, ``>`` or ``>=``."""
    first, last = comparison(name[0] + "t"), comparison(name)

    def body(names: Names, dt: DType, x: Parts, y: Parts) -> Parts:
        whole = not_(tirx.BitwiseOr(isnan(x[1]), isnan(y[1])))
        apart = tirx.BitwiseAnd(first(names, dt, x[0], y[0]), whole)
        tied = tirx.BitwiseAnd(float_eq(x[0], y[0]), last(names, dt, x[1], y[1]))
        return [tirx.BitwiseOr(apart, tied)]

    return body


def _equal(names: Names, dt: DType, x: Parts, y: Parts) -> Parts:
    return [tirx.BitwiseAnd(float_eq(x[0], y[0]), float_eq(x[1], y[1]))]


def _extremum(name: str) -> Body:
    """The one of two that stands in the comparison ``name`` to the other."""
    compare = _compared(name)

    def body(names: Names, dt: DType, x: Parts, y: Parts) -> Parts:
        taken = names(tirx.BitwiseOr(*compare(names, dt, x, y), _has_nan(x)))
        return [tirx.Select(taken, a, b) for a, b in zip(x, y, strict=True)]

    return body


_minimum, _maximum = _extremum("le"), _extremum("ge")


def _clip(names: Names, dt: DType, x: Parts, low: Parts, high: Parts) -> Parts:
    return _minimum(names, dt, [names(part) for part in _maximum(names, dt, x, low)], high)


def _exp(names: Names, dt: DType, x: Parts) -> Parts:
    size, (_, angle) = names(library("exp")(names, dt, x[0])), x
    flat = names(float_eq(angle, literal(0.0, dt)))  # an infinite size times a sine of 0 would be NaN
    sine, cosine = (library(name)(names, dt, angle) for name in ("sin", "cos"))
    return size * cosine, tirx.Select(flat, angle, size * sine)


def _log(names: Names, dt: DType, x: Parts) -> Parts:
    size = names(library("hypot")(names, dt, *x))
    return library("log")(names, dt, size), library("atan2")(names, dt, x[1], x[0])


def _power(names: Names, dt: DType, x: Parts, y: Parts) -> Parts:
    """``exp(y log(x))``; 1 of any number to the power 0, and 0 of 0 to a power whose real part is above it."""
    zero = literal(0.0, dt)
    logarithm = [names(part) for part in _log(names, dt, x)]
    exponent = [names(part) for part in _product(names, dt, y, logarithm)]
    real, imag = _exp(names, dt, exponent)
    one = names(tirx.BitwiseAnd(float_eq(y[0], zero), float_eq(y[1], zero)))
    rises = tirx.BitwiseAnd(tirx.LT(zero, y[0]), tirx.BitwiseAnd(float_eq(x[0], zero), float_eq(x[1], zero)))
    none = names(rises)
    real = tirx.Select(one, literal(1.0, dt), tirx.Select(none, constant(0.0, dt), real))
    return real, tirx.Select(tirx.BitwiseOr(one, none), constant(0.0, dt), imag)


def _either(test: Callable[..., PrimExpr]) -> Body:
    return lambda names, dt, x: [tirx.BitwiseOr(test(names, dt, x[0]), test(names, dt, x[1]))]


PARTWISE = frozenset(["add", "sub", "neg", "where"])
"""Those that do to each part what they do to a number."""

BODIES: dict[str, Body] = {
    "mul": _product,
    "square": _square,
    "div": _quotient,
    "pow": _power,
    "exp": _exp,
    "log": _log,
    "reciprocal": _reciprocal,
    "minimum": _minimum,
    "maximum": _maximum,
    "clip": _clip,
    "eq": _equal,
    "ne": lambda names, dt, x, y: [not_(*_equal(names, dt, x, y))],
    "lt": _compared("lt"),
    "le": _compared("le"),
    "gt": _compared("gt"),
    "ge": _compared("ge"),
    "isnan": _either(floats.is_nan),
    "isinf": _either(floats.size_compared(tirx.EQ)),
    "isfinite": lambda names, dt, x: [tirx.BitwiseAnd(*(floats.size_compared(tirx.LT)(names, dt, p) for p in x))],
    "nonzero": lambda names, dt, x: [not_(tirx.BitwiseAnd(*(float_eq(p, literal(0.0, dt)) for p in x)))],
    "conj": lambda names, dt, x: (x[0], minus(x[1])),
    "real": lambda names, dt, x: [x[0]],
    "imag": lambda names, dt, x: [x[1]],
    "abs": lambda names, dt, x: [library("hypot")(names, dt, *x)],
    "angle": lambda names, dt, x: [library("atan2")(names, dt, x[1], x[0])],
}

MEASURES = frozenset(["real", "imag", "abs", "angle"])
"""Those that give a real number."""

TESTS = frozenset(["eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "nonzero"])
"""Those that give a truth value."""


def is_defined(name: str) -> bool:
    """Whether the function of that name takes complex numbers."""
    return name in PARTWISE or name in BODIES


def apply(name: str, dt: DType, operands: Sequence[Parts], lane: PrimExpr) -> PrimExpr:
    """The value of a function in :data:`BODIES`; of a complex one the part that :func:`pick` takes.

    Args:
        dt: the parts' dtype.
    """
    names = Names()
    parts = BODIES[name](names, dt, *([names(names.operand(part)) for part in x] for x in operands))
    return names.around(parts[0] if len(parts) == 1 else pick(lane, *parts))


def pick(lane: PrimExpr, real: PrimExpr, imag: PrimExpr) -> PrimExpr:
    """The real part where ``lane`` is 0, the imaginary one where it is 1; both may be computed."""
    if isinstance(lane, tirx.IntImm):
        return imag if lane.value else real
    return tirx.Select(lane < 1, real, imag)


def filler(value: Scalar, dt: DType, coords: Sequence[PrimExpr]) -> PrimExpr:
    """A constant at coordinates; a complex one of a type that is not has its parts on the innermost axis."""
    if not isinstance(value, complex):
        return constant(value, dt)
    if str(value.real) == str(value.imag):
        return constant(value.real, dt)
    return pick(coords[-1], operand(value.real, dt), operand(value.imag, dt))
