"""The table of pointwise scalar functions, as TIR expressions that mean the same on every target.

Every value here is defined for every operand: integers wrap, no division traps, no shift or conversion is undefined, and
NaN, infinities and signed zeros behave as in NumPy.  TVM 0.27 gives none of that by itself, hence the shape of this code:

* TVM marks ``+ - *`` of 32 and 64 bit integers as never overflowing, unsigned ones too, and both LLVM and TVM's own
  simplifier use it; and 8 and 16 bit ones are computed in C's ``int`` on cuda.  So each integer operation is carried out
  where it cannot overflow, and its bits are cut down by :func:`_wrap`.
* TVM's simplifier takes ``Cast`` to keep the value: ``uint32(x) > 0x7fffffff`` of an int32 ``x`` becomes false.  ``^ 0``,
  which it does not look into and LLVM and nvcc drop, hides a cast that wraps (:func:`_opaque`).
* The simplifier takes floats for real numbers: ``x == x`` becomes true, ``x - x`` and ``x * 0`` become 0, ``not (x < y)``
  becomes ``y <= x``.  Comparisons of floats are hidden as above, ``x - y`` is ``x + y * -1``, and zeros are hidden by
  :func:`constant`.
* Float16 is computed in float32 and rounded once, which is exact for ``+ - * /`` and ``sqrt``.  Bfloat16 has no expressions of
  its own: its values are their 16 bits (``DType.tir``), which :func:`cast` turns into float32 and back.
* Intrinsics such as ``tirx.tanh`` are lowered to different formulas on different targets, some of them inaccurate.  What
  has no instruction of its own is written out here in float32 (so that it vectorises), or is a call to the function of C's
  library, which has the same name on cuda (a scalar call on llvm).

``a * b + c`` across two functions may be contracted to a fused multiply-add by LLVM and by nvcc.

A value that is needed twice is named by a ``Let``, all of them outermost (:class:`_Names`): TVM's passes take time exponential
in how deep they nest within one another's values.  The cuda code generator puts them, and each ``reinterpret``, in front of
the statement or of the arm of an ``if_then_else``.  So a load that may be out of range is guarded by either of these, never
by ``Select`` or by ``And``.
"""

from __future__ import annotations

import functools
import math
import operator
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.errors import DTypeError
from gscompile.types import DTYPES, DType, promote

BOOL, I8, I32, I64 = (DTYPES[name] for name in ("bool", "int8", "int32", "int64"))
U32, U64 = DTYPES["uint32"], DTYPES["uint64"]
F16, BF16, F32, F64 = (DTYPES[name] for name in ("float16", "bfloat16", "float32", "float64"))

Signature: TypeAlias = Callable[[Sequence[DType]], tuple[tuple[DType, ...], DType]]
Body: TypeAlias = Callable[..., PrimExpr]
"""(where names are kept, the dtype that is computed in, one value per operand ...) -> the value."""
Operation: TypeAlias = Callable[..., PrimExpr]
"""(one value per operand ...) -> the value."""


@dataclass(frozen=True, slots=True)
class Pointwise:
    """A scalar function that is applied to each element.

    Attributes:
        name: its name in :data:`POINTWISE`.
        arity: how many operands it takes.
        signature: the operands' dtypes -> (the dtype that each operand is cast to, the result's dtype).  Raises DTypeError
            for a dtype, or a number of them, that the function does not take.
        expr: (the result's dtype, the operands already cast) -> the value.
        cost: about how many scalar instructions one value takes.
        doc: what it computes, where that is not NumPy's function of the same name to the letter.
    """

    name: str
    arity: int
    signature: Signature
    expr: Callable[[DType, Sequence[PrimExpr]], PrimExpr]
    cost: int
    doc: str


# --- leaves ---------------------------------------------------------------------------------------------------------


class _Names:
    """The variables that one value is computed with."""

    def __init__(self) -> None:
        self._bound: dict[PrimExpr, PrimExpr] = {}

    def __call__(self, x: PrimExpr) -> PrimExpr:
        """``x``, or a variable of that value if ``x`` is worth one."""
        if isinstance(x, (tirx.Var, tirx.IntImm, tirx.FloatImm)):
            return x
        var = tirx.Var("t", x.ty)
        # Hidden, since TVM fails where it finds two different bounds for a variable, under a condition and without.
        self._bound[var] = x if _dtype(x).is_float else _opaque(x)
        return var

    def operand(self, x: PrimExpr) -> PrimExpr:
        """``x`` as it is computed with: its own names are taken over, and a float literal is remade by :func:`constant`."""
        while isinstance(x, tirx.Let):
            self._bound[x.var] = x.value
            x = x.body
        return constant(x.value, _dtype(x)) if isinstance(x, tirx.FloatImm) else x

    def around(self, value: PrimExpr) -> PrimExpr:
        """``value`` within the definition of every name."""
        for var, x in reversed(self._bound.items()):
            value = tirx.Let(var, x, value)
        return value


def constant(value: bool | int | float, dt: DType) -> PrimExpr:
    """``value`` rounded to ``dt``, as a literal that TVM neither misprints nor reasons about wrongly.

    Raises:
        DTypeError: an integer type cannot hold ``value``.
    """
    if not dt.is_float:
        if not dt.min <= value <= dt.max:
            raise DTypeError(f"the constant {value!r} does not fit {dt}")
        return tirx.const(bool(value) if dt is BOOL else int(value), dt.name)
    value = _rounded(float(value), dt)
    if dt is BF16:
        bits = struct.unpack("<I", struct.pack("<f", value))[0] >> 16
        return tirx.const(bits, dt.tir)
    if dt.bits == 16:
        return tirx.Cast(dt.name, constant(value, F32))
    if value == 0:
        # TVM folds x * 0 to 0 and refuses x / 0; it does not evaluate trunc, which LLVM and nvcc do.
        return tirx.trunc(_literal(math.copysign(0.25, value), dt))
    # TVM prints a float64 into cuda source with 15 decimals, which loses small numbers, so those go as bits.
    if dt is F64 and math.isfinite(value) and float(f"{value:.15f}") != value:
        return tirx.reinterpret(dt.name, tirx.const(struct.unpack("<Q", struct.pack("<d", value))[0], "uint64"))
    return _literal(value, dt)


def _rounded(value: float, dt: DType) -> float:
    """``value`` rounded to the nearest number of the float type ``dt``, ties to even."""
    with np.errstate(over="ignore"):
        if dt is not BF16:
            return float(np.dtype(dt.name).type(value))
        single = np.float32(value)
    if not np.isfinite(single):
        return float(single)
    bits = int(single.view(np.uint32))
    bits += 0x7FFF + (bits >> 16 & 1)
    return float(np.uint32(bits & 0xFFFF0000).view(np.float32))


def _literal(value: bool | int | float, dt: DType) -> PrimExpr:
    return tirx.const(value, dt.name)


def _dtype(x: PrimExpr) -> DType:
    return DTYPES[str(x.ty)]


def _opaque(x: PrimExpr) -> PrimExpr:
    """The integer or bool ``x`` behind a ``^ 0`` that TVM's simplifier does not look through."""
    return tirx.BitwiseXor(x, _literal(0, _dtype(x)))


def _wrap(x: PrimExpr, dst: DType) -> PrimExpr:
    """The integer ``x`` modulo 2**bits in an integer type no wider than its own."""
    return x if _dtype(x) == dst else _opaque(tirx.Cast(dst.name, _opaque(x)))


def _unsigned(dt: DType) -> DType:
    return DTYPES[f"uint{dt.bits}"]


# --- conversions ----------------------------------------------------------------------------------------------------


def cast(x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    """``x``, of type ``src``, converted to ``dst``.

    Integer to integer wraps modulo 2**bits; float to integer truncates, saturates at the type's limits and takes NaN to 0;
    anything to bool is ``x != 0`` (so NaN is True); bool gives 0 and 1; anything to float rounds to nearest, ties to even.
    Integers and float64 reach bfloat16, and integers float16, by way of float32, as in PyTorch and ml_dtypes.
    """
    names = _Names()
    return names.around(_cast(names, names.operand(x), src, dst))


def _cast(names: _Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    return x if src == dst else _CASTS[_kind(src) + _kind(dst)](names, x, src, dst)


def _kind(dt: DType) -> str:
    return "i" if dt.kind == "u" else dt.kind


def _integer_to_integer(names: _Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    if dst.bits <= src.bits:
        return _wrap(x, dst)
    if src.kind == dst.kind or src.kind == "u":
        return tirx.Cast(dst.name, x)
    return _wrap(tirx.Cast(f"int{dst.bits}", x), dst)


def _to_float(names: _Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    if dst.bits > 16:
        return tirx.Cast(dst.name, x)
    return _float_to_float(names, tirx.Cast(F32.name, x), F32, dst)


def _float_to_float(names: _Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    if src is BF16:  # its bits are the upper half of a float32's
        x = tirx.reinterpret(F32.name, tirx.LShift(tirx.Cast(U32.name, x), _literal(16, U32)))
        return x if dst is F32 else tirx.Cast(dst.name, x)
    if dst is not BF16:
        return tirx.Cast(dst.name, x)
    v = names(tirx.Cast(F32.name, x))
    bits = names(tirx.reinterpret(U32.name, v))
    upper = bits >> _literal(16, U32)
    rounded = (bits + (_literal(0x7FFF, U32) + (upper & _literal(1, U32)))) >> _literal(16, U32)
    quiet = (upper & _literal(0x8000, U32)) | _literal(0x7FC0, U32)  # rounding could carry a NaN over to zero
    return tirx.Cast(BF16.tir, tirx.Select(_isnan(v), quiet, rounded))


def _float_to_bool(names: _Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    wide = _widened(src)
    return _not(_float_eq(names(_cast(names, x, src, wide)), _literal(0.0, wide)))  # tirx.NE is false for NaN


def _float_to_integer(names: _Names, x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    wide = _widened(src)
    number = np.dtype(wide.name).type
    # The type's limit may not be a number of the float type (2**31 - 1 in float32): the largest one below it is.
    high = float(number(dst.max))
    if high > dst.max:
        high = float(np.nextafter(number(high), number(0)))
    low_f, high_f = _literal(float(dst.min), wide), _literal(high, wide)
    v = names(_cast(names, x, src, wide))
    # Clamped first, with NaN at the lower end, since a conversion out of range is undefined on llvm.
    value = tirx.Cast(dst.name, tirx.Select(v > low_f, tirx.Select(v < high_f, v, high_f), low_f))
    if high != dst.max:
        value = tirx.Select(v > high_f, _literal(dst.max, dst), value)
    return tirx.Select(_isnan(v), _literal(0, dst), value)


_CASTS: dict[str, Callable[[_Names, PrimExpr, DType, DType], PrimExpr]] = {
    "bi": lambda names, x, src, dst: tirx.Cast(dst.name, x),
    "bf": _to_float,
    "ib": lambda names, x, src, dst: tirx.NE(x, _literal(0, src)),
    "ii": _integer_to_integer,
    "if": _to_float,
    "fb": _float_to_bool,
    "fi": _float_to_integer,
    "ff": _float_to_float,
}


def _widened(dt: DType) -> DType:
    """The float type in which ``dt`` is computed."""
    return F32 if dt.bits == 16 else dt


# --- comparisons and bool -------------------------------------------------------------------------------------------


def _not(x: PrimExpr) -> PrimExpr:
    # tirx.Not of a comparison becomes the opposite comparison, which is wrong for NaN.
    return tirx.BitwiseXor(x, _literal(True, BOOL))


def _isnan(x: PrimExpr) -> PrimExpr:
    return _not(tirx.LE(x, x))


def _float_eq(x: PrimExpr, y: PrimExpr) -> PrimExpr:
    # Not tirx.EQ, since TVM takes x == x for true.
    return tirx.BitwiseAnd(tirx.LE(x, y), tirx.LE(y, x))


_FLOAT_COMPARISONS: dict[str, Operation] = {
    "eq": _float_eq,
    "ne": lambda x, y: _not(_float_eq(x, y)),
    "lt": lambda x, y: _opaque(tirx.LT(x, y)),
    "le": lambda x, y: _opaque(tirx.LE(x, y)),
    "gt": lambda x, y: _opaque(tirx.LT(y, x)),
    "ge": lambda x, y: _opaque(tirx.LE(y, x)),
}
_INTEGER_COMPARISONS: dict[str, Operation] = {
    "eq": tirx.EQ,
    "ne": tirx.NE,
    "lt": tirx.LT,
    "le": tirx.LE,
    "gt": tirx.GT,
    "ge": tirx.GE,
}


def _comparison(name: str) -> dict[str, Body]:
    """The bodies of the comparison ``name``."""
    compare = _INTEGER_COMPARISONS[name]
    # What a negative number gives, on the left and on the right, when the other side is unsigned.
    below, above = (bool(getattr(operator, name)(*pair)) for pair in ((-1, 0), (0, -1)))

    def floats(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        return _FLOAT_COMPARISONS[name](names(x), names(y))

    def integers(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        kinds = _dtype(x).kind, _dtype(y).kind
        if kinds == ("i", "u"):
            x = names(x)
            return tirx.Select(x < _literal(0, I64), _literal(below, BOOL), compare(_wrap(x, U64), y))
        if kinds == ("u", "i"):
            y = names(y)
            return tirx.Select(y < _literal(0, I64), _literal(above, BOOL), compare(x, _wrap(y, U64)))
        return compare(x, y)

    def bools(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        # LLVM's one-bit integers are signed for TVM's <.
        return compare(tirx.Cast(I32.name, x), tirx.Cast(I32.name, y))

    return {"f": floats, "i": integers, "b": bools}


def _extremum(name: str) -> dict[str, Body]:
    """The bodies of ``minimum`` (``"lt"``) or ``maximum`` (``"gt"``)."""

    def floats(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        x, y = names(x), names(y)
        # A NaN on the left is taken; one on the right fails the comparison, and is taken too.
        return tirx.Select(tirx.BitwiseOr(_FLOAT_COMPARISONS[name](x, y), _isnan(x)), x, y)

    def integers(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        x, y = names(x), names(y)
        return tirx.Select(_INTEGER_COMPARISONS[name](x, y), x, y)

    return {"f": floats, "i": integers, "b": _plain({"lt": tirx.BitwiseAnd, "gt": tirx.BitwiseOr}[name])}


def _clip(names: _Names, dt: DType, x: PrimExpr, low: PrimExpr, high: PrimExpr) -> PrimExpr:
    kind = _kind(dt)
    return _extremum("lt")[kind](names, dt, _extremum("gt")[kind](names, dt, x, low), high)


def _plain(op: Operation) -> Body:
    """``op``, which needs neither names nor the dtype."""
    return lambda names, dt, *xs: op(*xs)


# --- integer arithmetic modulo 2**bits --------------------------------------------------------------------------------


def _modular(op: Operation, signed: bool) -> Body:
    """``op`` of integers modulo 2**bits.

    Up to 32 bits it is carried out where it cannot overflow, and cut down.  In 64 bits there is nothing wider: the machine
    wraps, and hiding operands and result keeps TVM from reasoning about a sum that does not; only LLVM may take a
    comparison such as ``x + 1 > x`` for true.

    Args:
        op: sum, difference or product.
        signed: whether the wider type must be signed, as that of a difference; it must not for a product of unsigned ones.
    """

    def body(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        if dt.bits == 64:  # unsigned ones as signed, since TVM folds 0 - x of unsigned to 0
            return _wrap(_opaque(op(_wrap(_opaque(x), I64), _wrap(_opaque(y), I64))), dt)
        wide = f"{'int' if signed or dt.kind == 'i' else 'uint'}{32 if dt.bits <= 16 else 64}"
        return _wrap(op(tirx.Cast(wide, x), tirx.Cast(wide, y)), dt)

    return body


_add = _modular(operator.add, signed=True)
_sub = _modular(operator.sub, signed=True)
_mul = _modular(operator.mul, signed=False)


def _neg(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    return _sub(names, dt, _literal(0, dt), x)


def _abs(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    if dt.kind == "u":
        return x
    x = names(x)
    return tirx.Select(x < _literal(0, dt), _neg(names, dt, x), x)


def _square(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    return _mul(names, dt, x, x)


def _harmless(names: _Names, dt: DType, y: PrimExpr) -> PrimExpr:
    """The divisor ``y``, or 1 where it is 0 or -1: on x86 both x / 0 and INT_MIN / -1 end the process."""
    one = _literal(1, dt)
    value = tirx.Select(tirx.EQ(y, _literal(0, dt)), one, y)
    return names(value if dt.kind == "u" else tirx.Select(tirx.EQ(y, _literal(-1, dt)), one, value))


def _floordiv(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    x, y = names(x), names(y)
    zero, d = _literal(0, dt), _harmless(names, dt, y)
    quotient = tirx.truncdiv(x, d)
    if dt.kind == "i":
        # One less where the truncation went up.  It cannot overflow: a remainder means that |d| > 1.
        quotient = quotient - tirx.Cast(dt.name, _signs_differ(names(tirx.truncmod(x, d)), d, zero))
        quotient = tirx.Select(tirx.EQ(y, _literal(-1, dt)), _neg(names, dt, x), quotient)
    return tirx.Select(tirx.EQ(y, zero), zero, quotient)


def _mod(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    x, y = names(x), names(y)
    zero, d = _literal(0, dt), _harmless(names, dt, y)
    r = names(tirx.truncmod(x, d))
    value = r if dt.kind == "u" else tirx.Select(_signs_differ(r, d, zero), r + d, r)
    return tirx.Select(tirx.EQ(y, zero), zero, value)


def _signs_differ(r: PrimExpr, d: PrimExpr, zero: PrimExpr) -> PrimExpr:
    """Whether a remainder is not zero and on the other side of zero than the divisor."""
    not_zero = _not(_float_eq(r, zero)) if _dtype(r).is_float else tirx.NE(r, zero)
    return tirx.BitwiseAnd(not_zero, tirx.BitwiseXor(tirx.LT(r, zero), tirx.LT(d, zero)))


def _reciprocal(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    zero, one = _literal(0, dt), _literal(1, dt)
    x = names(x)
    value = zero if dt.kind == "u" else tirx.Select(tirx.EQ(x, _literal(-1, dt)), _literal(-1, dt), zero)
    return tirx.Select(tirx.EQ(x, one), one, value)


def _left_shift(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    amount, ut = names(_wrap(y, _unsigned(dt))), _unsigned(dt)
    inside = tirx.LT(amount, _literal(dt.bits, ut))
    # In 32 bits at least, since cuda shifts in C's int.
    wide = DTYPES[f"uint{max(32, dt.bits)}"]
    limited = _cast(names, tirx.Select(inside, amount, _literal(0, ut)), ut, wide)
    value = tirx.LShift(_cast(names, _wrap(x, ut), ut, wide), limited)
    return tirx.Select(inside, _wrap(value, dt), _literal(0, dt))


def _right_shift(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    amount, ut = names(_wrap(y, _unsigned(dt))), _unsigned(dt)
    inside = tirx.LT(amount, _literal(dt.bits, ut))
    value = tirx.RShift(x, _wrap(tirx.Select(inside, amount, _literal(dt.bits - 1, ut)), dt))
    return value if dt.kind == "i" else tirx.Select(inside, value, _literal(0, dt))


def _integer_pow(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """``x ** y`` modulo 2**bits, exact for every exponent.

    The lower six bits of the exponent by repeated squaring.  The rest, m = y >> 6, multiplies by (x**64)**m: for an even x
    that is 0 unless m is 0, and for an odd one x**64 = 1 + 256 t, so the binomial series ends after bits/8 terms.
    """
    ut = _unsigned(dt)
    zero, one = _literal(0, ut), _literal(1, ut)
    x, y = names(x), names(y)

    def mul(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return names(_mul(names, ut, a, b))

    exponent, square, value = names(_wrap(_opaque(y), ut)), names(_wrap(_opaque(x), ut)), one
    for bit in range(6):
        odd = tirx.NE((exponent >> _literal(bit, ut)) & one, zero)
        value = names(tirx.Select(odd, mul(value, square), value))
        square = mul(square, square)
    m, t = names(exponent >> _literal(6, ut)), names(square >> _literal(8, ut))
    term = series = one
    for k in range(1, dt.bits // 8):
        # term is m (m-1) ... (m-k+1) t**k; the rest of the coefficient is 256**k / k!, whose denominator has an odd part,
        # with an inverse, and fewer than k factors 2.
        term = mul(term, mul(_sub(names, ut, m, _literal(k - 1, ut)), t))
        twos = k - k.bit_count()
        factor = pow(math.factorial(k) >> twos, -1, 1 << dt.bits) << (8 * k - twos)
        series = names(_add(names, ut, series, mul(term, _literal(factor % (1 << dt.bits), ut))))
    even = tirx.Select(tirx.EQ(m, zero), one, zero)
    value = _wrap(mul(value, tirx.Select(tirx.NE(square & one, zero), series, even)), dt)
    if dt.kind == "u":
        return value
    minus, plus, nought = (_literal(n, dt) for n in (-1, 1, 0))
    of_minus = tirx.Select(tirx.NE(y & plus, nought), minus, plus)
    inverse = tirx.Select(tirx.EQ(x, plus), plus, tirx.Select(tirx.EQ(x, minus), of_minus, nought))
    return tirx.Select(tirx.LT(y, nought), inverse, value)


def _integer_sign(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x, zero, one = names(x), _literal(0, dt), _literal(1, dt)
    below = zero if dt.kind == "u" else tirx.Select(tirx.LT(x, zero), _literal(-1, dt), zero)
    return tirx.Select(tirx.LT(zero, x), one, below)


# --- float functions --------------------------------------------------------------------------------------------------


def _library(name: str) -> Body:
    """The function ``name`` of C's library; its float32 version has an ``f`` at the end, in cuda's library too."""
    return lambda names, dt, *xs: tirx.call_pure_extern(dt.name, name + "f" * (dt is F32), *xs)


def _by_precision(single: Body, double: Body) -> Body:
    return lambda names, dt, *xs: (single if dt is F32 else double)(names, dt, *xs)


def _f32(value: float) -> PrimExpr:
    return _literal(value, F32)


def _polynomial(x: PrimExpr, coefficients: Sequence[float]) -> PrimExpr:
    """Horner's rule in float32; ``coefficients`` from the highest power down."""
    return functools.reduce(lambda value, c: value * x + _f32(c), coefficients[1:], _f32(coefficients[0]))


def _minus(x: PrimExpr) -> PrimExpr:
    return x * _literal(-1.0, _dtype(x))


def _with_sign_of(v: PrimExpr, size: PrimExpr) -> PrimExpr:
    """``size``, negated where ``v`` is below 0."""
    return tirx.Select(tirx.LT(v, _literal(0.0, _dtype(v))), _minus(size), size)


def _at_most(x: PrimExpr, limit: float) -> PrimExpr:
    return tirx.Select(tirx.LT(x, _f32(limit)), x, _f32(limit))


# Cephes (Moshier), expf.c: exp(r) = 1 + r + r**2 P(r) for |r| <= ln(2) / 2.
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
# Cephes, logf.c: log(1 + f) = f - f**2 / 2 + f**3 P(f) for sqrt(1/2) <= 1 + f < sqrt(2); ln(2) in two parts.
_LOG = (
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1),
    *(2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
# Cephes, tanhf.c: tanh(x) = x + x**3 P(x**2) for |x| < 0.625.
_TANH = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
# erfc(z) exp(z**2) (1 + 2 z) = P((z - 2) / (z + 2)) for 0 <= z <= 14.5, the substitution of Schonfelder (1978); and
# erf(z) = z P(z**2) for |z| <= 1.  Fitted to least relative error (1.7e-8 and 1.2e-9) against float64.
_ERFCX = (
    *(6.736291106790304e-05, -0.00028833516989834607, -0.0012603200739249587, 0.0011976665118709207),
    *(0.008620517328381538, -0.00801954884082079, -0.054197777062654495, 0.16405005753040314),
    *(-0.1660321205854416, -0.09276378899812698, 1.2769783735275269),
)
_ERF = (
    *(7.853670103941113e-05, -0.0008010122692212462, 0.005188317503780127, -0.026853805407881737),
    *(0.1128358468413353, -0.3761262595653534, 1.128379225730896),
)


def _finite_exp(names: _Names, x: PrimExpr) -> PrimExpr:
    """exp of a float32, or of a float64 rounded at the end to float32, but 0 of NaN.

    ``x`` = n ln(2) + r, and 2**n is made in two factors of which neither leaves the range of float32.
    """
    dt, x = _dtype(x), names(x)
    low, high = _literal(-104.0, dt), _literal(89.0, dt)
    x = names(tirx.Select(x > low, tirx.Select(x < high, x, high), low))
    n = names(tirx.nearbyint(x * _literal(math.log2(math.e), dt)))
    if dt is F64:
        r = names(tirx.Cast(F32.name, x + n * _literal(-math.log(2), F64)))
    else:
        r = names(x + n * _f32(-_LN2_HIGH) + n * _f32(-_LN2_LOW))
    k = names(tirx.Cast(I32.name, n))
    half = names(k >> _literal(1, I32))

    def two_to(k: PrimExpr) -> PrimExpr:
        return tirx.reinterpret(F32.name, (k + _literal(127, I32)) << _literal(23, I32))

    value = _polynomial(r, _EXP) * (r * r) + r + _f32(1.0)
    return value * two_to(half) * two_to(k - half)


def _exp(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    return tirx.Select(_isnan(x), x, _finite_exp(names, x))


def _log(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    # Denormals are scaled into the range of normal numbers, so that the exponent can be read off the bits.
    tiny = tirx.LT(x, _f32(float(np.finfo(np.float32).tiny)))
    bits = names(tirx.reinterpret(I32.name, tirx.Select(tiny, x * _f32(2.0**23), x)))
    # 0x3f3504f3 is sqrt(1/2): the exponent counts from there, so that the mantissa is centred on 1.
    shift = _literal(23, I32)
    n = names(_sub(names, I32, bits, _literal(0x3F3504F3, I32)) >> shift)
    f = names(tirx.reinterpret(F32.name, _sub(names, I32, bits, n << shift)) + _f32(-1.0))
    e = names(tirx.Cast(F32.name, n - tirx.Select(tiny, shift, _literal(0, I32))))
    square = names(f * f)
    value = f + (_polynomial(f, _LOG) * f * square + e * _f32(_LN2_LOW) + square * _f32(-0.5)) + e * _f32(_LN2_HIGH)
    value = tirx.Select(tirx.LT(x, _f32(math.inf)), value, x)
    value = tirx.Select(_float_eq(x, _f32(0.0)), _f32(-math.inf), value)
    return tirx.Select(tirx.LT(x, _f32(0.0)), _f32(math.nan), value)


def _tanh(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    size, square = names(tirx.abs(x)), names(x * x)
    # Past 0.625 the subtraction loses nothing.  exp overflows to infinity, which gives 1.
    large = _f32(1.0) + _f32(-2.0) / (_finite_exp(names, size + size) + _f32(1.0))
    small = _polynomial(square, _TANH) * square * x + x
    return tirx.Select(_isnan(x), x, tirx.Select(size < _f32(0.625), small, _with_sign_of(x, names(large))))


def _logistic(exp: Body) -> Body:
    """1 / (1 + exp(-x)) from the exp of a number that is not positive, so that nothing overflows or cancels."""

    def body(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
        x, one = names(x), _literal(1.0, dt)
        return tirx.Select(_isnan(x), x, _weight(x, names(exp(names, dt, _minus(tirx.abs(x)))), one))

    return body


def _weight(x: PrimExpr, e: PrimExpr, one: PrimExpr) -> PrimExpr:
    """1 / (1 + e), or e / (1 + e) where ``x`` is below 0."""
    return tirx.Select(tirx.LT(x, _literal(0.0, _dtype(x))), e, one) / (one + e)


def _erfcx(names: _Names, z: PrimExpr) -> PrimExpr:
    """erfc(z) exp(z**2) of a float32 in 0 ... 14.5."""
    return _polynomial(names((z + _f32(-2.0)) / (z + _f32(2.0))), _ERFCX) / (z + z + _f32(1.0))


def _erf(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    square = names(x * x)
    # Past 10 it is 1 to every digit, and the fit ends at 14.5.
    z = names(_at_most(tirx.abs(x), 10.0))
    large = _f32(1.0) + _minus(_finite_exp(names, _minus(z * z)) * _erfcx(names, z))
    value = tirx.Select(z < _f32(1.0), _polynomial(square, _ERF) * x, _with_sign_of(x, names(large)))
    return tirx.Select(_isnan(x), x, value)


def _gelu(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    """x Phi(x), where Phi is the normal distribution function.

    The tail |x| Phi(-|x|) is |x| erfc(z) / 2 with z = |x| / sqrt(2), and erfc(z) = erfcx(z) exp(-x**2 / 2), whose exponent is
    taken in float64, where the square is exact: in float32 its rounding would cost the tail several digits.
    """
    x = names(x)
    # Past 20 the tail is 0, and the fit ends at 14.5 sqrt(2).
    a = names(_at_most(tirx.abs(x), 20.0))
    wide, z = names(tirx.Cast(F64.name, a)), names(a * _f32(math.sqrt(0.5)))
    tail = a * _f32(0.5) * _erfcx(names, z) * _finite_exp(names, wide * wide * _literal(-0.5, F64))
    return tirx.Select(_isnan(x), x, _minus(tail) + tirx.Select(tirx.LT(_f32(0.0), x), x, _f32(0.0)))


def _gelu_f64(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    value = x * _literal(0.5, F64) * _library("erfc")(names, F64, x * constant(-math.sqrt(0.5), F64))
    return _zero_at_minus_infinity(x, value)


def _zero_at_minus_infinity(x: PrimExpr, value: PrimExpr) -> PrimExpr:
    """The limit of ``x`` times a weight that vanishes, where the product would be NaN."""
    dt = _dtype(x)
    return tirx.Select(_float_eq(x, _literal(-math.inf, dt)), constant(-0.0, dt), value)


def _gelu_tanh(exp: Body) -> Body:
    """x / (1 + exp(-2 u)) with u = sqrt(2 / pi) (x + 0.044715 x**3): x (1 + tanh(u)) / 2 without its cancellation."""

    def body(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
        x = names(x)
        # In float64 for float32 too, as in _gelu.
        wide = names(_cast(names, x, dt, F64))
        c1, c3 = (constant(math.sqrt(8 / math.pi) * c, F64) for c in (1.0, 0.044715))
        e = names(exp(names, dt, _minus(tirx.abs(wide * (c1 + c3 * (wide * wide))))))
        value = _zero_at_minus_infinity(x, x * _weight(x, e, _literal(1.0, dt)))
        return tirx.Select(_isnan(x), x, value)

    return body


def _float_mod(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """As NumPy's npy_remainder: C's fmod, moved to the sign of ``y``."""
    x, y, zero = names(x), names(y), _literal(0.0, dt)
    r = names(_library("fmod")(names, dt, x, y))
    signed_zero = _library("copysign")(names, dt, zero, y)  # a Select between 0.0 and -0.0 is folded to one of them
    return tirx.Select(_float_eq(r, zero), signed_zero, tirx.Select(_signs_differ(r, y, zero), r + y, r))


def _float_floordiv(names: _Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """As NumPy's npy_floor_divide: from C's fmod, so that it agrees with the remainder."""
    x, y = names(x), names(y)
    zero, one = _literal(0.0, dt), _literal(1.0, dt)
    r, exact = names(_library("fmod")(names, dt, x, y)), names(x / y)
    # Where the remainder is moved to the other side of zero, the quotient goes down by one.
    down = tirx.Select(_signs_differ(r, y, zero), one, constant(0.0, dt))
    quotient = names((x + _minus(r)) / y + _minus(down))
    floor = names(tirx.floor(quotient))
    floor = floor + tirx.Select(quotient + _minus(floor) > _literal(0.5, dt), one, constant(0.0, dt))
    # A zero takes the sign of the quotient, which is finite here.
    value = tirx.Select(_float_eq(quotient, zero), _library("copysign")(names, dt, zero, exact), floor)
    return tirx.Select(_float_eq(y, zero), exact, value)


def _float_sign(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    zero, one, minus = (_literal(v, dt) for v in (0.0, 1.0, -1.0))
    return tirx.Select(x > zero, one, tirx.Select(x < zero, minus, tirx.Select(_isnan(x), x, zero)))


# --- signatures -------------------------------------------------------------------------------------------------------

_UNARY_FLOAT = {"bool": F16, "int8": F16, "uint8": F16, "int16": F32, "uint16": F32}

# The type that operands meet in -> the type they are computed in, None where the function does not take it.
_COMPUTE: dict[str, Callable[[DType], DType | None]] = {
    "any": lambda t: t,
    "truth": lambda t: BOOL,
    "number": lambda t: None if t is BOOL else t,
    "bits": lambda t: None if t.is_float else t,
    "bool is int8": lambda t: I8 if t is BOOL else t,
    "shift": lambda t: None if t.is_float else I8 if t is BOOL else t,
    "float": lambda t: t if t.is_float else _UNARY_FLOAT.get(t.name, F64),
    "quotient": lambda t: t if t.is_float else F64,
}


def _signature(name: str, arity: int, compute: str, *, result: DType | None = None, conditions: int = 0) -> Signature:
    """The signature of a function that computes in ``_COMPUTE[compute]`` of the type its operands meet in.

    Args:
        name: as messages call it.
        arity: how many operands it takes.
        compute: a key of ``_COMPUTE``.
        result: the result's type, where it is not the one that is computed in.
        conditions: how many operands, from the left, are taken as bool and have no part in this.
    """

    def signature(dtypes: Sequence[DType]) -> tuple[tuple[DType, ...], DType]:
        got = ", ".join(t.name for t in dtypes)
        if len(dtypes) != arity:
            raise DTypeError(f"{name} takes {arity} operand{'s' * (arity > 1)}, got {len(dtypes)}: ({got})")
        computed = _COMPUTE[compute](functools.reduce(promote, dtypes[conditions:]))
        if computed is None:
            raise DTypeError(f"{name} is not defined for ({got})")
        return (BOOL,) * conditions + (computed,) * (arity - conditions), result or computed

    return signature


def _comparison_signature(name: str) -> Signature:
    """As NumPy's: operands meet, but int64 and uint64 are compared as they are, since no type holds both."""
    usual = _signature(name, 2, "any", result=BOOL)

    def signature(dtypes: Sequence[DType]) -> tuple[tuple[DType, ...], DType]:
        operands, result = usual(dtypes)
        if operands[0] is F64 and not any(t.is_float for t in dtypes):
            # Only a signed type and uint64 meet in float64.
            operands = tuple(U64 if t.kind == "u" else I64 for t in dtypes)
        return operands, result

    return signature


# --- the table --------------------------------------------------------------------------------------------------------


def _expr(bodies: dict[str, Body]) -> Callable[[DType, Sequence[PrimExpr]], PrimExpr]:
    """The ``expr`` that picks the body for the kind (``f``, ``i``, ``b``) of the last operand.

    The body under ``f`` sees float32 and float64 only.
    """

    def expr(result: DType, operands: Sequence[PrimExpr]) -> PrimExpr:
        names = _Names()
        xs = [names.operand(x) for x in operands]
        dt = _dtype(xs[-1])
        body = bodies[_kind(dt)]
        if not (dt.is_float and dt.bits == 16):
            return names.around(body(names, dt, *xs))
        value = body(names, F32, *(_cast(names, x, dt, F32) if _dtype(x) == dt else x for x in xs))
        return names.around(_cast(names, value, F32, dt) if result == dt else value)

    return expr


def _row(
    name: str,
    arity: int,
    compute: str,
    cost: int,
    doc: str,
    *,
    bodies: dict[str, Body] | None = None,
    f: Body | None = None,
    i: Body | None = None,
    b: Body | None = None,
    result: DType | None = None,
    conditions: int = 0,
) -> Pointwise:
    """A row of the table; ``f``, ``i`` and ``b``, or ``bodies`` by those names, compute on floats, integers and bool."""
    own = {kind: body for kind, body in (("f", f), ("i", i), ("b", b)) if body is not None}
    signature = _signature(name, arity, compute, result=result, conditions=conditions)
    return Pointwise(name, arity, signature, _expr({**(bodies or {}), **own}), cost, doc)


def _always(value: bool) -> Body:
    return lambda names, dt, x: _literal(value, BOOL)


def _same(names: _Names, dt: DType, x: PrimExpr) -> PrimExpr:
    return x


def _relu(kind: str) -> Body:
    return lambda names, dt, x: _extremum("gt")[kind](names, dt, x, _literal(0, dt))


def _choose(names: _Names, dt: DType, condition: PrimExpr, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    return tirx.Select(condition, x, y)


def _size_compared(op: Operation) -> Body:
    """``op(|x|, infinity)``."""
    return lambda names, dt, x: _opaque(op(tirx.abs(x), _literal(math.inf, dt)))


_exp_below_zero = _by_precision(lambda names, dt, x: _finite_exp(names, x), _library("exp"))

POINTWISE: dict[str, Pointwise] = {
    row.name: row
    for row in [
        _row("add", 2, "any", 1, "x + y; or of bool", f=_plain(operator.add), i=_add, b=_plain(tirx.BitwiseOr)),
        _row("sub", 2, "number", 1, "x - y", f=_plain(lambda x, y: x + _minus(y)), i=_sub),
        _row("mul", 2, "any", 1, "x * y; and of bool", f=_plain(operator.mul), i=_mul, b=_plain(tirx.BitwiseAnd)),
        _row("div", 2, "quotient", 10, "x / y; float64 of integers and bool", f=_plain(tirx.Div)),
        _row("floordiv", 2, "bool is int8", 25, "floor(x / y); an integer // 0 is 0", f=_float_floordiv, i=_floordiv),
        _row("mod", 2, "bool is int8", 25, "x - y floor(x / y); an integer % 0 is 0", f=_float_mod, i=_mod),
        _row(
            "pow",
            2,
            "bool is int8",
            50,
            "x ** y; an integer to a power below 0 is 0, unless it is 1 or -1",
            f=_library("pow"),
            i=_integer_pow,
        ),
        _row("minimum", 2, "any", 2, "the smaller of x and y; NaN if either is", bodies=_extremum("lt")),
        _row("maximum", 2, "any", 2, "the larger of x and y; NaN if either is", bodies=_extremum("gt")),
        *(
            Pointwise(name, 2, _comparison_signature(name), _expr(_comparison(name)), 1, f"x {symbol} y")
            for name, symbol in zip(_INTEGER_COMPARISONS, ("==", "!=", "<", "<=", ">", ">="), strict=True)
        ),
        _row("neg", 1, "number", 1, "-x", f=_plain(_minus), i=_neg),
        _row("abs", 1, "any", 1, "|x|; the smallest integer is its own", f=_plain(tirx.abs), i=_abs, b=_same),
        _row("sign", 1, "number", 2, "-1, 0 or 1; NaN of NaN", f=_float_sign, i=_integer_sign),
        _row("exp", 1, "float", 20, "e ** x", f=_by_precision(_exp, _library("exp"))),
        _row("log", 1, "float", 20, "the natural logarithm", f=_by_precision(_log, _library("log"))),
        _row("sqrt", 1, "float", 10, "the square root", f=_plain(tirx.sqrt)),
        _row("rsqrt", 1, "float", 20, "1 / sqrt(x)", f=lambda names, dt, x: _literal(1.0, dt) / tirx.sqrt(x)),
        _row("tanh", 1, "float", 30, "the hyperbolic tangent", f=_by_precision(_tanh, _library("tanh"))),
        _row("sigmoid", 1, "float", 30, "1 / (1 + exp(-x))", f=_logistic(_exp_below_zero)),
        _row("relu", 1, "any", 1, "max(x, 0); NaN of NaN", f=_relu("f"), i=_relu("i"), b=_same),
        _row(
            "gelu", 1, "float", 50, "x Phi(x), Phi the normal distribution function", f=_by_precision(_gelu, _gelu_f64)
        ),
        _row(
            "gelu_tanh",
            1,
            "float",
            40,
            "x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))) / 2",
            f=_gelu_tanh(_exp_below_zero),
        ),
        _row("erf", 1, "float", 40, "the error function", f=_by_precision(_erf, _library("erf"))),
        _row("sin", 1, "float", 30, "the sine of x radians", f=_library("sin")),
        _row("cos", 1, "float", 30, "the cosine of x radians", f=_library("cos")),
        *(
            _row(name, 1, "any", 1, f"{doc}; an integer is its own", f=_plain(op), i=_same, b=_same)
            for name, op, doc in (
                ("floor", tirx.floor, "the largest integer not above x"),
                ("ceil", tirx.ceil, "the smallest integer not below x"),
                ("round", tirx.nearbyint, "the nearest integer, ties to even"),
                ("trunc", tirx.trunc, "x without its fraction"),
            )
        ),
        _row(
            "reciprocal",
            1,
            "bool is int8",
            10,
            "1 / x; of an integer truncated, and 0 for 0",
            f=lambda names, dt, x: _literal(1.0, dt) / x,
            i=_reciprocal,
        ),
        _row(
            "square",
            1,
            "bool is int8",
            1,
            "x * x",
            f=lambda names, dt, x: operator.mul(*[names(x)] * 2),
            i=_square,
        ),
        _row("clip", 3, "any", 4, "min(max(x, low), high); NaN if any is", f=_clip, i=_clip, b=_clip),
        _row(
            "where",
            3,
            "any",
            1,
            "x where the condition is not 0, else y",
            bodies=dict.fromkeys("fib", _choose),
            conditions=1,
        ),
        _row(
            "isnan",
            1,
            "any",
            1,
            "whether x is NaN",
            f=lambda names, dt, x: _isnan(names(x)),
            bodies=dict.fromkeys("ib", _always(False)),
            result=BOOL,
        ),
        _row(
            "isinf",
            1,
            "any",
            1,
            "whether x is an infinity",
            f=_size_compared(tirx.EQ),
            bodies=dict.fromkeys("ib", _always(False)),
            result=BOOL,
        ),
        _row(
            "isfinite",
            1,
            "any",
            1,
            "whether x is neither NaN nor an infinity",
            f=_size_compared(tirx.LT),
            bodies=dict.fromkeys("ib", _always(True)),
            result=BOOL,
        ),
        # tirx.And, Or and Not are rewritten for real numbers where comparisons are below them; the bitwise ones are not.
        _row("logical_and", 2, "truth", 1, "x != 0 and y != 0", b=_plain(tirx.BitwiseAnd)),
        _row("logical_or", 2, "truth", 1, "x != 0 or y != 0", b=_plain(tirx.BitwiseOr)),
        _row("logical_xor", 2, "truth", 1, "(x != 0) != (y != 0)", b=_plain(tirx.BitwiseXor)),
        _row("logical_not", 1, "truth", 1, "x == 0", b=_plain(_not)),
        *(
            _row(name, 2, "bits", 1, f"x {symbol} y", i=_plain(op), b=_plain(op))
            for name, symbol, op in (
                ("bitwise_and", "&", tirx.BitwiseAnd),
                ("bitwise_or", "|", tirx.BitwiseOr),
                ("bitwise_xor", "^", tirx.BitwiseXor),
            )
        ),
        _row(
            "bitwise_not",
            1,
            "bits",
            1,
            "~x",
            # ~x of an unsigned type of 8 or 16 bits is a negative int in C.
            i=lambda names, dt, x: tirx.BitwiseXor(x, _literal(-1 if dt.kind == "i" else dt.max, dt)),
            b=_plain(_not),
        ),
        _row(
            "left_shift",
            2,
            "shift",
            2,
            "x << y; 0 where y is negative or no less than the number of bits",
            i=_left_shift,
        ),
        _row(
            "right_shift",
            2,
            "shift",
            2,
            "x >> y, filled with the sign; y below 0 or too large leaves only the sign",
            i=_right_shift,
        ),
    ]
}
