"""Float functions that IEEE 754 or C's library define to the bit."""

from __future__ import annotations

import math

from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.ir.ops.elementwise.comparisons import float_eq, isnan
from gscompile.ir.ops.elementwise.expr import F32, Body, Names, Operation, constant, dtype_of, literal, opaque
from gscompile.ir.ops.elementwise.integers import signs_differ
from gscompile.ir.types import DType


def library(name: str) -> Body:
    """The function ``name`` of C's library; its float32 version has an ``f`` at the end, in cuda's library too."""
    return lambda names, dt, *xs: tirx.call_pure_extern(dt.name, name + "f" * (dt is F32), *xs)


def by_precision(single: Body, double: Body) -> Body:
    return lambda names, dt, *xs: (single if dt is F32 else double)(names, dt, *xs)


def minus(x: PrimExpr) -> PrimExpr:
    return x * literal(-1.0, dtype_of(x))


def sub(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    return x + minus(y)


def reciprocal(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    return literal(1.0, dt) / x


def rsqrt(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    return literal(1.0, dt) / tirx.sqrt(x)


def square(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    return x * x


def mod(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """As NumPy's npy_remainder: C's fmod, moved to the sign of ``y``."""
    x, y, zero = names(x), names(y), literal(0.0, dt)
    r = names(library("fmod")(names, dt, x, y))
    signed_zero = library("copysign")(names, dt, zero, y)  # a Select between 0.0 and -0.0 is folded to one of them
    return tirx.Select(float_eq(r, zero), signed_zero, tirx.Select(signs_differ(r, y, zero), r + y, r))


def floordiv(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """As NumPy's npy_floor_divide: from C's fmod, so that it agrees with the remainder."""
    x, y = names(x), names(y)
    zero, one = literal(0.0, dt), literal(1.0, dt)
    r, exact = names(library("fmod")(names, dt, x, y)), names(tirx.Div(x, y))
    # Where the remainder is moved to the other side of zero, the quotient goes down by one.
    down = tirx.Select(signs_differ(r, y, zero), one, constant(0.0, dt))
    quotient = names(tirx.Div(x + minus(r), y) + minus(down))
    floor = names(tirx.floor(quotient))
    floor = floor + tirx.Select(quotient + minus(floor) > literal(0.5, dt), one, constant(0.0, dt))
    # A zero takes the sign of the quotient, which is finite here.
    value = tirx.Select(float_eq(quotient, zero), library("copysign")(names, dt, zero, exact), floor)
    return tirx.Select(float_eq(y, zero), exact, value)


def sign(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    zero, one, minus = (literal(v, dt) for v in (0.0, 1.0, -1.0))
    return tirx.Select(x > zero, one, tirx.Select(x < zero, minus, tirx.Select(isnan(x), x, zero)))


def is_nan(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    return isnan(names(x))


def size_compared(op: Operation) -> Body:
    """``op(|x|, infinity)``."""
    return lambda names, dt, x: opaque(op(tirx.abs(x), literal(math.inf, dt)))
