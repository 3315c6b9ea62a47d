"""Conversions between dtypes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.ir.ops.elementwise.comparisons import float_eq, isnan, not_
from gscompile.ir.ops.elementwise.expr import BF16, F32, U32, Names, kind_of, literal, operand, widened, wrap
from gscompile.ir.types import DType


def cast(x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    """``x``, of type ``src``, converted to ``dst``.

    Integer to integer wraps modulo 2**bits; float to integer truncates, saturates at the type's limits and takes NaN to 0;
    anything to bool is ``x != 0`` (so NaN is True); bool gives 0 and 1; anything to float rounds to nearest, ties to even.
    Integers and float64 reach bfloat16, and integers float16, by way of float32, as in PyTorch and ml_dtypes.
    """
    if src == dst:
        return x
    names = Names()
    return names.around(convert(names, names.operand(x), src, dst))


def convert(names: Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    return x if src == dst else _CASTS[kind_of(src) + kind_of(dst)](names, x, src, dst)


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
    if src is BF16:  # its bits are the upper half of a float32's
        x = tirx.reinterpret(F32.name, tirx.LShift(tirx.Cast(U32.name, x), literal(16, U32)))
        return x if dst is F32 else tirx.Cast(dst.name, x)
    if dst is not BF16:
        return tirx.Cast(dst.name, x)
    v = names(tirx.Cast(F32.name, x))
    bits = names(tirx.reinterpret(U32.name, v))
    upper = bits >> literal(16, U32)
    rounded = (bits + (literal(0x7FFF, U32) + (upper & literal(1, U32)))) >> literal(16, U32)
    quiet = (upper & literal(0x8000, U32)) | literal(0x7FC0, U32)  # rounding could carry a NaN over to zero
    return tirx.Cast(BF16.tir, tirx.Select(isnan(v), quiet, rounded))


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
