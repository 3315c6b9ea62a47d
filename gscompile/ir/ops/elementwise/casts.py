"""Conversions between dtypes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.ir.ops.elementwise.comparisons import FIRST_STAYS, float_eq, isnan, not_
from gscompile.ir.ops.elementwise.encodings import decode, encode
from gscompile.ir.ops.elementwise.expr import F32, Body, Names, kind_of, literal, operand, widened, wrap
from gscompile.ir.types import DType


def cast(x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    """``x``, of type ``src``, converted to ``dst``.

    Integer to integer wraps modulo 2**bits; float to integer truncates, saturates at the type's limits and takes NaN to 0;
    anything to bool is ``x != 0`` (so NaN is True); bool gives 0 and 1; anything to float rounds to nearest, ties to even.
    Integers and float64 reach bfloat16 and 8-bit floats, and integers float16, by way of float32, as in PyTorch and ml_dtypes.
    Where an 8-bit float has no infinity, what is too large becomes NaN or its largest value; see ``formats``.
    """
    if src == dst:
        return x
    names = Names()
    return names.around(convert(names, names.operand(x), src, dst))


def convert(names: Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    if src == dst:
        return x
    if not src.native:
        return convert(names, decode(names, x, src), src.compute, dst)
    if not dst.native:
        value = convert(names, x, src, dst.compute)
        return encode(names, _saturated(names, value, dst) if src.is_float else value, dst)
    return _CASTS[kind_of(src) + kind_of(dst)](names, x, src, dst)


def picked(stays: Body) -> Body:
    """Of two 16-bit floats the first where it ``stays``, as float32s, else the second: as they are coded, nothing is rounded."""

    def body(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        x, y = names(x), names(y)
        return tirx.Select(stays(names, F32, convert(names, x, dt, F32), convert(names, y, dt, F32)), x, y)

    return body


def extremum(name: str, dtype: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """The ``minimum`` or ``maximum`` of two values of a 16-bit float type; see :func:`picked`."""
    names = Names()
    return names.around(picked(FIRST_STAYS[name])(names, dtype, names.operand(x), names.operand(y)))


def _saturated(names: Names, x: PrimExpr, dst: DType) -> PrimExpr:
    """What was a float, in ``dst.compute``, within the limits of an integer type that is narrower than that."""
    if dst.is_float:
        return x
    low, high = literal(dst.min, dst.compute), literal(dst.max, dst.compute)
    x = names(x)
    below_high = tirx.Select(x > high, high, x)
    if dst.kind == "u":
        return below_high  # TVM aborts on a comparison that asks for an unsigned number below 0
    return tirx.Select(x < low, low, below_high)


def _integer_to_integer(names: Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    if dst.bits <= src.bits:
        return wrap(x, dst)
    if src.kind == dst.kind or src.kind == "u":
        return tirx.Cast(dst.name, x)
    return wrap(tirx.Cast(f"int{dst.bits}", x), dst)


def _to_float(names: Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    if dst.bits > 16:  # a literal 0 must not come back as one
        return operand(x.value, dst) if isinstance(x, tirx.IntImm) else tirx.Cast(dst.name, x)
    return _float_to_float(names, tirx.Cast(F32.name, x), F32, dst)


def _float_to_float(names: Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    return tirx.Cast(dst.name, x)


def _float_to_bool(names: Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    wide = widened(src)
    return not_(float_eq(names(convert(names, x, src, wide)), literal(0.0, wide)))  # tirx.NE is false for NaN


def _float_to_integer(names: Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    wide = widened(src)
    number = np.dtype(wide.name).type
    # The type's limit may not be a number of the float type (2**31 - 1 in float32): the largest one below it is.
    high = float(number(dst.max))
    if high > dst.max:
        high = float(np.nextafter(number(high), number(0)))
    low_f, high_f = literal(float(dst.min), wide), literal(high, wide)
    v = names(convert(names, x, src, wide))
    # Clamped first, with NaN at the lower end, since a conversion out of range is undefined on llvm.
    value = tirx.Cast(dst.name, tirx.Select(v > low_f, tirx.Select(v < high_f, v, high_f), low_f))
    if high != dst.max:
        value = tirx.Select(v > high_f, literal(dst.max, dst), value)
    return tirx.Select(isnan(v), literal(0, dst), value)


_CASTS: dict[str, Callable[[Names, PrimExpr, DType, DType], PrimExpr]] = {
    "bi": lambda names, x, src, dst: tirx.Cast(dst.name, x),
    "bf": _to_float,
    "ib": lambda names, x, src, dst: tirx.NE(x, literal(0, src)),
    "ii": _integer_to_integer,
    "if": _to_float,
    "fb": _float_to_bool,
    "fi": _float_to_integer,
    "ff": _float_to_float,
}
