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
* Float16 and bfloat16 are computed in float32 and rounded once, which is exact for ``+ - * /`` and ``sqrt``.
* Intrinsics such as ``tirx.tanh`` are lowered to different formulas on different targets, some of them inaccurate.  What
  has no instruction of its own is written out here in float32 (so that it vectorises), or is a call to the function of C's
  library, which has the same name on cuda (a scalar call on llvm).

``a * b + c`` across two functions may be contracted to a fused multiply-add by LLVM and by nvcc.

A value may name an operand several times, or bind it by a ``Let``, which the cuda code generator puts in front of the whole
statement, as it does a ``reinterpret``.  So a caller binds each operand that is not cheap to a variable first, and guards a
load that may be out of range by a statement (``IfThenElse``), never by ``if_then_else`` around a value from this module.
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
"""The dtype that is computed in, then one value per operand -> the value."""


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


def _operand(x: PrimExpr) -> PrimExpr:
    """``x``, remade by :func:`constant` if it is a float literal, whose value TVM keeps in double precision."""
    return constant(x.value, _dtype(x)) if isinstance(x, tirx.FloatImm) else x


def _let(x: PrimExpr, body: Callable[[PrimExpr], PrimExpr]) -> PrimExpr:
    """``body(x)`` with ``x`` evaluated once."""
    if isinstance(x, (tirx.Var, tirx.IntImm, tirx.FloatImm)):
        return body(x)
    var = tirx.Var("t", x.ty)
    # Hidden, since TVM fails where it finds two different bounds for a variable, under a condition and without.
    return tirx.Let(var, x if _dtype(x).is_float else _opaque(x), body(var))


def _lets(values: Sequence[PrimExpr], body: Body) -> PrimExpr:
    """``body(*values)`` with each value evaluated once."""
    if not values:
        return body()
    return _let(values[0], lambda first: _lets(values[1:], functools.partial(body, first)))


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
    x = _operand(x)
    return x if src == dst else _CASTS[_kind(src) + _kind(dst)](x, src, dst)


def _kind(dt: DType) -> str:
    return "i" if dt.kind == "u" else dt.kind


def _value_cast(x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    return tirx.Cast(dst.name, x)


def _integer_to_integer(x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    if dst.bits <= src.bits:
        return _wrap(x, dst)
    if src.kind == dst.kind or src.kind == "u":
        return tirx.Cast(dst.name, x)
    return _wrap(tirx.Cast(f"int{dst.bits}", x), dst)


def _to_float(x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    return tirx.Cast(dst.name, x) if dst.bits > 16 else cast(tirx.Cast(F32.name, x), F32, dst)


def _float_to_float(x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    if dst is not BF16:
        return tirx.Cast(dst.name, x)
    if src is not F32:
        return cast(tirx.Cast(F32.name, x), F32, BF16)
    # TVM's rounding for llvm adds half a unit to the bits, which carries a NaN with many bits set over to zero.
    return _let(x, lambda v: tirx.Cast(BF16.name, tirx.Select(_isnan(v), _literal(math.nan, F32), v)))


def _float_to_bool(x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    wide = _widened(src)
    return _opaque(tirx.NE(cast(x, src, wide), _literal(0.0, wide)))


def _float_to_integer(x: PrimExpr, src: DType, dst: DType) -> PrimExpr:
    wide = _widened(src)
    # The type's limit may not be a number of the float type (2**31 - 1 in float32): the largest one below it is.
    high = float(np.dtype(wide.name).type(dst.max))
    if high > dst.max:
        high = float(np.nextafter(np.dtype(wide.name).type(high), np.dtype(wide.name).type(0)))
    low_f, high_f = _literal(float(dst.min), wide), _literal(high, wide)

    def body(v: PrimExpr) -> PrimExpr:
        # Clamped first, with NaN at the lower end, since a conversion out of range is undefined on llvm.
        inside = tirx.Select(v > low_f, tirx.Select(v < high_f, v, high_f), low_f)
        value = tirx.Cast(dst.name, inside)
        if high != dst.max:
            value = tirx.Select(v > high_f, _literal(dst.max, dst), value)
        return tirx.Select(_isnan(v), _literal(0, dst), value)

    return _let(cast(x, src, wide), body)


_CASTS: dict[str, Callable[[PrimExpr, DType, DType], PrimExpr]] = {
    "bi": _value_cast,
    "bf": _to_float,
    "ib": lambda x, src, dst: tirx.NE(x, _literal(0, src)),
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


_FLOAT_COMPARISONS: dict[str, Body] = {
    "eq": lambda x, y: _float_eq(x, y),
    "ne": lambda x, y: _not(_float_eq(x, y)),
    "lt": lambda x, y: _opaque(tirx.LT(x, y)),
    "le": lambda x, y: _opaque(tirx.LE(x, y)),
    "gt": lambda x, y: _opaque(tirx.LT(y, x)),
    "ge": lambda x, y: _opaque(tirx.LE(y, x)),
}
_INTEGER_COMPARISONS: dict[str, Body] = {
    "eq": tirx.EQ,
    "ne": tirx.NE,
    "lt": tirx.LT,
    "le": tirx.LE,
    "gt": tirx.GT,
    "ge": tirx.GE,
}


def _comparison(name: str) -> dict[str, Body]:
    """The bodies of the comparison ``name``."""
    of_integers = _INTEGER_COMPARISONS[name]
    # What a negative number gives, on the left and on the right, when the other side is unsigned.
    below, above = (bool(getattr(operator, name)(*pair)) for pair in ((-1, 0), (0, -1)))

    def integers(dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        kinds = _dtype(x).kind, _dtype(y).kind
        if kinds == ("i", "u"):
            return tirx.Select(x < _literal(0, I64), _literal(below, BOOL), of_integers(_wrap(x, U64), y))
        if kinds == ("u", "i"):
            return tirx.Select(y < _literal(0, I64), _literal(above, BOOL), of_integers(x, _wrap(y, U64)))
        return of_integers(x, y)

    return {
        "f": lambda dt, x, y: _FLOAT_COMPARISONS[name](x, y),
        "i": integers,
        # LLVM's one-bit integers are signed for TVM's <.
        "b": lambda dt, x, y: of_integers(cast(x, BOOL, I32), cast(y, BOOL, I32)),
    }


def _extremum(name: str) -> dict[str, Body]:
    """The bodies of ``minimum`` (``"lt"``) or ``maximum`` (``"gt"``)."""

    def floats(dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        # A NaN on the left is taken; one on the right fails the comparison, and is taken too.
        return _lets([x, y], lambda a, b: tirx.Select(_FLOAT_COMPARISONS[name](a, b) | _isnan(a), a, b))

    return {
        "f": floats,
        "i": lambda dt, x, y: _lets([x, y], lambda a, b: tirx.Select(_INTEGER_COMPARISONS[name](a, b), a, b)),
        "b": lambda dt, x, y: {"lt": tirx.BitwiseAnd, "gt": tirx.BitwiseOr}[name](x, y),
    }


def _clip(dt: DType, x: PrimExpr, low: PrimExpr, high: PrimExpr) -> PrimExpr:
    kind = _kind(dt)
    return _extremum("lt")[kind](dt, _extremum("gt")[kind](dt, x, low), high)


# --- integer arithmetic modulo 2**bits --------------------------------------------------------------------------------


def _narrow_arithmetic(op: Body, signed: bool) -> Body:
    """``op`` of integers of at most 32 bits, carried out where it cannot overflow and cut down.

    ``signed``: whether the wider type is; that of a difference must be, and that of a product of unsigned numbers must not.
    """

    def body(dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        wide = f"{'int' if signed or dt.kind == 'i' else 'uint'}{32 if dt.bits <= 16 else 64}"
        return _wrap(op(tirx.Cast(wide, x), tirx.Cast(wide, y)), dt)

    return body


def _through_u64(op: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> Body:
    """``op`` of uint64, for both 64 bit integer types."""
    return lambda dt, x, y: _wrap(_lets([_wrap(_opaque(x), U64), _wrap(_opaque(y), U64)], op), dt)


_TOP, _REST, _LOW_HALF = _literal(1 << 63, U64), _literal((1 << 63) - 1, U64), _literal((1 << 32) - 1, U64)
_HALF = _literal(32, U64)


def _add_u64(x: PrimExpr, y: PrimExpr) -> PrimExpr:
    # The lower 63 bits cannot carry out of the word; the top bit is an addition without carry (Hacker's Delight, 2-18).
    return ((x & _REST) + (y & _REST)) ^ ((x ^ y) & _TOP)


def _sub_u64(x: PrimExpr, y: PrimExpr) -> PrimExpr:
    return ((x | _TOP) - (y & _REST)) ^ ((x ^ ~y) & _TOP)


def _mul_u64(x: PrimExpr, y: PrimExpr) -> PrimExpr:
    # Schoolbook in halves of 32 bits, of which no product overflows 64 bits; the product of the upper halves is out of range.
    def combine(xl: PrimExpr, yl: PrimExpr, low: PrimExpr) -> PrimExpr:
        cross = ((xl * (y >> _HALF)) & _LOW_HALF) + (((x >> _HALF) * yl) & _LOW_HALF) + (low >> _HALF)
        return tirx.LShift(cross, _HALF) | (low & _LOW_HALF)

    return _lets([x & _LOW_HALF, y & _LOW_HALF], lambda xl, yl: _let(xl * yl, functools.partial(combine, xl, yl)))


def _by_width(narrow: Body, wide: Body) -> Body:
    return lambda dt, x, y: (narrow if dt.bits < 64 else wide)(dt, x, y)


_add = _by_width(_narrow_arithmetic(operator.add, signed=True), _through_u64(_add_u64))
_sub = _by_width(_narrow_arithmetic(operator.sub, signed=True), _through_u64(_sub_u64))
_mul = _by_width(_narrow_arithmetic(operator.mul, signed=False), _through_u64(_mul_u64))


def _neg(dt: DType, x: PrimExpr) -> PrimExpr:
    return _sub(dt, _literal(0, dt), x)


def _abs(dt: DType, x: PrimExpr) -> PrimExpr:
    if dt.kind == "u":
        return x
    return _let(x, lambda v: tirx.Select(v < _literal(0, dt), _neg(dt, v), v))


def _divided(dt: DType, x: PrimExpr, y: PrimExpr, finish: Body) -> PrimExpr:
    """``finish(x, y, d, q, r)``: x and y bound, and quotient and remainder, truncated, by ``d``, which is y made harmless."""
    one = _literal(1, dt)

    def body(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        # Guarded before the division: on x86 both x / 0 and INT_MIN / -1 end the process.
        harmless = tirx.Select(b == _literal(0, dt), one, b)
        if dt.kind == "i":
            harmless = tirx.Select(b == _literal(-1, dt), one, harmless)
        return _let(harmless, lambda d: _let(tirx.truncmod(a, d), lambda r: finish(a, b, d, r)))

    return _lets([x, y], body)


def _floordiv(dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    zero = _literal(0, dt)

    def finish(a: PrimExpr, b: PrimExpr, d: PrimExpr, r: PrimExpr) -> PrimExpr:
        quotient = tirx.truncdiv(a, d)
        if dt.kind == "i":
            # One less where the truncation went up.  It cannot overflow: a remainder means that |d| > 1.
            down = (r != zero) & ((r < zero) ^ (d < zero))
            quotient = tirx.Select(b == _literal(-1, dt), _neg(dt, a), quotient - tirx.Cast(dt.name, down))
        return tirx.Select(b == zero, zero, quotient)

    return _divided(dt, x, y, finish)


def _mod(dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    zero = _literal(0, dt)

    def finish(a: PrimExpr, b: PrimExpr, d: PrimExpr, r: PrimExpr) -> PrimExpr:
        value = r
        if dt.kind == "i":
            value = tirx.Select((r != zero) & ((r < zero) ^ (d < zero)), r + d, r)
        return tirx.Select(b == zero, zero, value)

    return _divided(dt, x, y, finish)


def _reciprocal(dt: DType, x: PrimExpr) -> PrimExpr:
    zero, one = _literal(0, dt), _literal(1, dt)
    value = zero if dt.kind == "u" else tirx.Select(x == _literal(-1, dt), _literal(-1, dt), zero)
    return tirx.Select(x == one, one, value)


def _shift(op: Body, signed_right: bool) -> Body:
    """A shift whose amount may be anything: one that is negative or too large moves every bit out."""

    def body(dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        bits, top = _literal(dt.bits, _unsigned(dt)), _literal(dt.bits - 1, _unsigned(dt))

        def shifted(v: PrimExpr, amount: PrimExpr) -> PrimExpr:
            limited = tirx.Select(amount < bits, amount, top)
            if signed_right and dt.kind == "i":
                return op(v, tirx.Cast(dt.name, limited))
            u = _wrap(v, _unsigned(dt))
            # Cut down, because cuda computes 8 and 16 bits in C's int.
            value = tirx.Cast(_unsigned(dt).name, _opaque(op(u, limited)))
            return tirx.Select(amount < bits, _wrap(value, dt), _literal(0, dt))

        return _lets([x, _wrap(y, _unsigned(dt))], shifted)

    return body


def _ipow(dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """``x ** y`` modulo 2**bits, exact for every exponent.

    The lower six bits of the exponent by repeated squaring.  The rest, m = y >> 6, multiplies by (x**64)**m: for an even x
    that is 0 unless m is 0, and for an odd one x**64 = 1 + 256 t, so the binomial series ends after bits/8 terms.
    """
    ut = _unsigned(dt)
    mul, add = functools.partial(_mul, ut), functools.partial(_add, ut)
    zero, one, six = (_literal(n, ut) for n in (0, 1, 6))

    def low_bits(square: PrimExpr, value: PrimExpr, y: PrimExpr, bit: int) -> PrimExpr:
        if bit == 6:
            return _let(tirx.RShift(y, six), lambda m: high_bits(square, value, m))
        odd = ((y >> _literal(bit, ut)) & one) == one
        return _lets(
            [mul(square, square), tirx.Select(odd, mul(value, square), value)],
            lambda s, v: low_bits(s, v, y, bit + 1),
        )

    def high_bits(power64: PrimExpr, value: PrimExpr, m: PrimExpr) -> PrimExpr:
        t = tirx.RShift(power64, _literal(8, ut))
        series = _let(t, lambda t: binomial(t, m, one, one, 1))
        even = tirx.Select(m == zero, one, zero)
        return mul(value, tirx.Select((power64 & one) == one, series, even))

    def binomial(t: PrimExpr, m: PrimExpr, term: PrimExpr, total: PrimExpr, k: int) -> PrimExpr:
        # term is m (m-1) ... (m-k+1) t**k; times 256**k / k!, whose denominator has an odd part with an inverse and
        # fewer than k factors 2.
        if k == dt.bits // 8:
            return total
        twos = k - k.bit_count()
        factor = pow(math.factorial(k) >> twos, -1, 1 << dt.bits) << (8 * k - twos)
        step = mul(_sub(ut, m, _literal(k - 1, ut)), t)
        return _let(
            mul(term, step) if k > 1 else step,
            lambda term: _let(
                add(total, mul(term, _literal(factor % (1 << dt.bits), ut))),
                lambda total: binomial(t, m, term, total, k + 1),
            ),
        )

    def body(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        ua, ub = _wrap(_opaque(a), ut), _wrap(_opaque(b), ut)
        value = _wrap(_lets([ua, ub], lambda ua, ub: low_bits(ua, one, ub, 0)), dt)
        if dt.kind == "u":
            return value
        minus, plus, nought = (_literal(n, dt) for n in (-1, 1, 0))
        of_minus = tirx.Select((b & plus) == plus, minus, plus)
        inverse = tirx.Select(a == plus, plus, tirx.Select(a == minus, of_minus, nought))
        return tirx.Select(b < nought, inverse, value)

    return _lets([x, y], body)


# --- float functions --------------------------------------------------------------------------------------------------


def _library(name: str) -> Body:
    """The function ``name`` of C's library; its float32 version has an ``f`` at the end, in cuda's library too."""
    return lambda dt, *xs: tirx.call_pure_extern(dt.name, name + "f" * (dt is F32), *xs)


def _by_precision(single: Body, double: Body) -> Body:
    return lambda dt, *xs: (single if dt is F32 else double)(dt, *xs)


def _f32(value: float) -> PrimExpr:
    return _literal(value, F32)


def _polynomial(x: PrimExpr, coefficients: Sequence[float]) -> PrimExpr:
    """Horner's rule in float32; ``coefficients`` from the highest power down."""
    return functools.reduce(lambda value, c: value * x + _f32(c), coefficients[1:], _f32(coefficients[0]))


def _minus(x: PrimExpr) -> PrimExpr:
    return x * _literal(-1.0, _dtype(x))


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


def _exp_f32(x: PrimExpr) -> PrimExpr:
    """exp of a float32, or of a float64 rounded at the end to float32; NaN gives 0.

    ``x`` = n ln(2) + r, and 2**n is made in two factors of which neither leaves the range of float32.
    """
    dt = _dtype(x)
    low, high = _literal(-104.0, dt), _literal(89.0, dt)

    def reduced(v: PrimExpr) -> PrimExpr:
        return _let(tirx.nearbyint(v * _literal(math.log2(math.e), dt)), functools.partial(scaled, v))

    def scaled(v: PrimExpr, n: PrimExpr) -> PrimExpr:
        if dt is F64:
            r = tirx.Cast(F32.name, v + n * _literal(-math.log(2), F64))
        else:
            r = v + n * _f32(-_LN2_HIGH) + n * _f32(-_LN2_LOW)
        return _lets([r, tirx.Cast(I32.name, n)], power)

    def power(r: PrimExpr, n: PrimExpr) -> PrimExpr:
        def two_to(k: PrimExpr) -> PrimExpr:
            return tirx.reinterpret(F32.name, tirx.LShift(k + _literal(127, I32), _literal(23, I32)))

        value = _polynomial(r, _EXP) * (r * r) + r + _f32(1.0)
        return _let(tirx.RShift(n, _literal(1, I32)), lambda half: value * two_to(half) * two_to(n - half))

    return _let(x, lambda v: _let(tirx.Select(v > low, tirx.Select(v < high, v, high), low), reduced))


def _exp(dt: DType, x: PrimExpr) -> PrimExpr:
    return _let(x, lambda v: tirx.Select(_isnan(v), v, _exp_f32(v)))


def _log(dt: DType, x: PrimExpr) -> PrimExpr:
    smallest = _f32(float(np.finfo(np.float32).tiny))

    def body(v: PrimExpr) -> PrimExpr:
        # Denormals are scaled into the range of normal numbers, so that the exponent can be read off the bits.
        tiny = v < smallest
        normal = tirx.Select(tiny, v * _f32(2.0**23), v)
        return _let(
            tirx.reinterpret(I32.name, normal),
            # 0x3f3504f3 is sqrt(1/2): the exponent counts from there, so that the mantissa is centred on 1.
            lambda bits: _let(
                tirx.RShift(_sub(I32, bits, _literal(0x3F3504F3, I32)), _literal(23, I32)),
                lambda e: special(v, e, tiny, _mantissa(bits, e)),
            ),
        )

    def special(v: PrimExpr, e: PrimExpr, tiny: PrimExpr, m: PrimExpr) -> PrimExpr:
        exponent = tirx.Cast(F32.name, e - tirx.Select(tiny, _literal(23, I32), _literal(0, I32)))
        value = _lets([m + _f32(-1.0), exponent], finite)
        value = tirx.Select(v < _f32(math.inf), value, v)
        value = tirx.Select(_float_eq(v, _f32(0.0)), _f32(-math.inf), value)
        return tirx.Select(v < _f32(0.0), _f32(math.nan), value)

    def finite(f: PrimExpr, e: PrimExpr) -> PrimExpr:
        square = f * f
        correction = _polynomial(f, _LOG) * f * square + e * _f32(_LN2_LOW) + square * _f32(-0.5)
        return f + correction + e * _f32(_LN2_HIGH)

    return _let(x, body)


def _mantissa(bits: PrimExpr, exponent: PrimExpr) -> PrimExpr:
    """The float32 of those ``bits`` divided by 2**exponent."""
    return tirx.reinterpret(F32.name, _sub(I32, bits, tirx.LShift(exponent, _literal(23, I32))))


def _tanh(dt: DType, x: PrimExpr) -> PrimExpr:
    def body(v: PrimExpr, size: PrimExpr) -> PrimExpr:
        # Past 0.625 the subtraction loses nothing.  exp overflows to infinity, which gives 1.
        large = _f32(1.0) + _f32(-2.0) / (_exp_f32(size + size) + _f32(1.0))
        small = _let(v * v, lambda s: _polynomial(s, _TANH) * s * v + v)
        value = tirx.Select(size < _f32(0.625), small, tirx.Select(v < _f32(0.0), _minus(large), large))
        return tirx.Select(_isnan(v), v, value)

    return _let(x, lambda v: _let(tirx.abs(v), lambda size: body(v, size)))


def _logistic(exp: Body) -> Body:
    """1 / (1 + exp(-x)) from the exp of a number that is not positive, so that nothing overflows or cancels."""

    def body(dt: DType, x: PrimExpr) -> PrimExpr:
        one = _literal(1.0, dt)

        def value(v: PrimExpr, e: PrimExpr) -> PrimExpr:
            return tirx.Select(_isnan(v), v, tirx.Select(v < _literal(0.0, dt), e, one) / (one + e))

        return _let(x, lambda v: _let(exp(dt, _minus(tirx.abs(v))), functools.partial(value, v)))

    return body


def _erfcx(z: PrimExpr) -> PrimExpr:
    """erfc(z) exp(z**2) of a float32 in 0 ... 14.5."""
    value = _let((z + _f32(-2.0)) / (z + _f32(2.0)), lambda t: _polynomial(t, _ERFCX))
    return value / (z + z + _f32(1.0))


def _erf(dt: DType, x: PrimExpr) -> PrimExpr:
    def body(v: PrimExpr, z: PrimExpr) -> PrimExpr:
        large = _f32(1.0) + _minus(_exp_f32(_minus(z * z)) * _erfcx(z))
        small = _let(v * v, lambda s: _polynomial(s, _ERF) * v)
        value = tirx.Select(z < _f32(1.0), small, tirx.Select(v < _f32(0.0), _minus(large), large))
        return tirx.Select(_isnan(v), v, value)

    # Past 10 it is 1 to every digit, and the fit ends at 14.5.
    return _let(x, lambda v: _let(tirx.abs(v), lambda a: _let(_at_most(a, 10.0), lambda z: body(v, z))))


def _at_most(x: PrimExpr, limit: float) -> PrimExpr:
    return tirx.Select(x < _f32(limit), x, _f32(limit))


def _gelu(dt: DType, x: PrimExpr) -> PrimExpr:
    """x Phi(x), where Phi is the normal distribution function.

    The tail |x| Phi(-|x|) is |x| erfc(z) / 2 with z = |x| / sqrt(2), and erfc(z) = erfcx(z) exp(-x**2 / 2), whose exponent is
    taken in float64, where the square is exact: in float32 its rounding would cost the tail several digits.
    """

    def body(v: PrimExpr, a: PrimExpr) -> PrimExpr:
        wide = tirx.Cast(F64.name, a)
        tail = a * _f32(0.5) * _erfcx(a * _f32(math.sqrt(0.5))) * _exp_f32(wide * wide * _literal(-0.5, F64))
        return _let(tail, lambda t: _minus(t) + tirx.Select(v > _f32(0.0), v, _f32(0.0)))

    def whole(v: PrimExpr) -> PrimExpr:
        return tirx.Select(_isnan(v), v, _let(tirx.abs(v), lambda a: _let(_at_most(a, 20.0), lambda a: body(v, a))))

    return _let(x, whole)


def _gelu_f64(dt: DType, x: PrimExpr) -> PrimExpr:
    erfc = _library("erfc")

    def body(v: PrimExpr) -> PrimExpr:
        value = v * _literal(0.5, F64) * erfc(F64, v * constant(-math.sqrt(0.5), F64))
        # The limit, where -inf * 0 would be NaN.
        return tirx.Select(_float_eq(v, _literal(-math.inf, F64)), constant(-0.0, F64), value)

    return _let(x, body)


def _gelu_tanh(exp: Body) -> Body:
    """x / (1 + exp(-2 u)) with u = sqrt(2 / pi) (x + 0.044715 x**3): 0.5 x (1 + tanh(u)) without its cancellation."""

    def body(dt: DType, x: PrimExpr) -> PrimExpr:
        c1, c3 = (constant(math.sqrt(8 / math.pi) * c, F64) for c in (1.0, 0.044715))

        def value(v: PrimExpr, w: PrimExpr) -> PrimExpr:
            # In float64 for float32 too, as in _gelu; its sign is that of v.
            exponent = _minus(tirx.abs(w * (c1 + c3 * (w * w))))
            return _let(exp(dt, exponent), functools.partial(quotient, v))

        def quotient(v: PrimExpr, e: PrimExpr) -> PrimExpr:
            weight = tirx.Select(v < _literal(0.0, dt), e, _literal(1.0, dt)) / (_literal(1.0, dt) + e)
            limit = tirx.Select(_float_eq(v, _literal(-math.inf, dt)), constant(-0.0, dt), v * weight)
            return tirx.Select(_isnan(v), v, limit)

        return _let(x, lambda v: _let(cast(v, dt, F64), lambda w: value(v, w)))

    return body


def _float_mod(dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """As NumPy's npy_remainder: C's fmod, moved to the sign of ``y``."""
    zero = _literal(0.0, dt)

    def body(a: PrimExpr, b: PrimExpr, r: PrimExpr) -> PrimExpr:
        signed_zero = tirx.Select(b < zero, constant(-0.0, dt), constant(0.0, dt))
        value = tirx.Select((r < zero) ^ (b < zero), r + b, r)
        return tirx.Select(_float_eq(r, zero), signed_zero, value)

    return _lets([x, y], lambda a, b: _let(_library("fmod")(dt, a, b), functools.partial(body, a, b)))


def _float_floordiv(dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """As NumPy's npy_floor_divide: from C's fmod, so that it agrees with the remainder."""
    zero, one = _literal(0.0, dt), _literal(1.0, dt)

    def body(a: PrimExpr, b: PrimExpr, r: PrimExpr) -> PrimExpr:
        down = tirx.Select(_not(_float_eq(r, zero)) & ((r < zero) ^ (b < zero)), one, constant(0.0, dt))
        return _lets([(a + _minus(r)) / b + _minus(down), a / b], functools.partial(rounded, b))

    def rounded(b: PrimExpr, quotient: PrimExpr, exact: PrimExpr) -> PrimExpr:
        floor = tirx.floor(quotient)
        floor = floor + tirx.Select(quotient + _minus(floor) > _literal(0.5, dt), one, constant(0.0, dt))
        # A zero takes the sign of the quotient, which is finite here.
        value = tirx.Select(_float_eq(quotient, zero), exact * constant(0.0, dt), floor)
        return tirx.Select(_float_eq(b, zero), exact, value)

    return _lets([x, y], lambda a, b: _let(_library("fmod")(dt, a, b), functools.partial(body, a, b)))


def _float_sign(dt: DType, x: PrimExpr) -> PrimExpr:
    zero, one, minus = (_literal(v, dt) for v in (0.0, 1.0, -1.0))
    other = tirx.Select(_isnan(x), x, zero)
    return tirx.Select(x > zero, one, tirx.Select(x < zero, minus, other))


def _integer_sign(dt: DType, x: PrimExpr) -> PrimExpr:
    zero, one = _literal(0, dt), _literal(1, dt)
    below = zero if dt.kind == "u" else tirx.Select(x < zero, _literal(-1, dt), zero)
    return tirx.Select(x > zero, one, below)


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
        xs = [_operand(x) for x in operands]
        dt = _dtype(xs[-1])
        body = bodies[_kind(dt)]
        if not (dt.is_float and dt.bits == 16):
            return body(dt, *xs)
        value = body(F32, *(cast(x, dt, F32) if _dtype(x) == dt else x for x in xs))
        return cast(value, F32, dt) if result == dt else value

    return expr


def _same(dt: DType, x: PrimExpr) -> PrimExpr:
    return x


def _row(
    name: str,
    arity: int,
    compute: str,
    cost: int,
    doc: str,
    *,
    f: Body | None = None,
    i: Body | None = None,
    b: Body | None = None,
    result: DType | None = None,
    conditions: int = 0,
) -> Pointwise:
    """A row of the table; ``f``, ``i`` and ``b`` compute on floats, integers and bool."""
    bodies = {kind: body for kind, body in (("f", f), ("i", i), ("b", b)) if body is not None}
    signature = _signature(name, arity, compute, result=result, conditions=conditions)
    return Pointwise(name, arity, signature, _expr(bodies), cost, doc)


def _bits(op: Body) -> Body:
    return lambda dt, *xs: op(*xs)


def _constant_bool(value: bool) -> Body:
    return lambda dt, x: _literal(value, BOOL)


def _size(x: PrimExpr) -> PrimExpr:
    return _let(x, tirx.abs)


_exp_any = _by_precision(lambda dt, x: _exp_f32(x), _library("exp"))

POINTWISE: dict[str, Pointwise] = {
    row.name: row
    for row in [
        _row("add", 2, "any", 1, "x + y; integers wrap; or of bool", f=_bits(tirx.Add), i=_add, b=_bits(tirx.BitwiseOr)),
        _row(
            *("sub", 2, "number", 1, "x - y; integers wrap"),
            f=lambda dt, x, y: x + _minus(y),
            i=_sub,
        ),
        _row("mul", 2, "any", 1, "x * y; integers wrap; and of bool", f=_bits(tirx.Mul), i=_mul, b=_bits(tirx.BitwiseAnd)),
        _row("div", 2, "quotient", 10, "x / y; float64 of integers and bool", f=_bits(tirx.Div)),
        _row("floordiv", 2, "bool is int8", 25, "floor(x / y); an integer // 0 is 0", f=_float_floordiv, i=_floordiv),
        _row("mod", 2, "bool is int8", 25, "x - y floor(x / y); an integer % 0 is 0", f=_float_mod, i=_mod),
        _row(
            *("pow", 2, "bool is int8", 50, "x ** y; integers wrap; an integer power below 0 is 0 unless x is 1 or -1"),
            f=_library("pow"),
            i=_ipow,
        ),
        *(
            _row(name, 2, "any", 2, f"the {word} of x and y; NaN if either is", **_extremum(comparison))
            for name, comparison, word in (("minimum", "lt", "smaller"), ("maximum", "gt", "larger"))
        ),
        *(
            Pointwise(name, 2, _comparison_signature(name), _expr(_comparison(name)), 1, f"x {symbol} y")
            for name, symbol in zip(_INTEGER_COMPARISONS, ("==", "!=", "<", "<=", ">", ">="), strict=True)
        ),
        _row("neg", 1, "number", 1, "-x; integers wrap", f=lambda dt, x: _minus(x), i=_neg),
        _row("abs", 1, "any", 1, "|x|; the smallest integer is its own", f=_bits(tirx.abs), i=_abs, b=_same),
        _row("sign", 1, "number", 2, "-1, 0 or 1; NaN of NaN", f=_float_sign, i=_integer_sign),
        _row("exp", 1, "float", 20, "e ** x", f=_by_precision(_exp, _library("exp"))),
        _row("log", 1, "float", 20, "the natural logarithm", f=_by_precision(_log, _library("log"))),
        _row("sqrt", 1, "float", 10, "the square root", f=_bits(tirx.sqrt)),
        _row("rsqrt", 1, "float", 20, "1 / sqrt(x)", f=lambda dt, x: _literal(1.0, dt) / tirx.sqrt(x)),
        _row("tanh", 1, "float", 30, "the hyperbolic tangent", f=_by_precision(_tanh, _library("tanh"))),
        _row("sigmoid", 1, "float", 30, "1 / (1 + exp(-x))", f=_logistic(_exp_any)),
        _row(
            *("relu", 1, "any", 1, "max(x, 0); NaN of NaN"),
            f=lambda dt, x: _extremum("gt")["f"](dt, x, _literal(0.0, dt)),
            i=lambda dt, x: _extremum("gt")["i"](dt, x, _literal(0, dt)),
            b=_same,
        ),
        _row("gelu", 1, "float", 50, "x Phi(x), Phi the normal distribution function", f=_by_precision(_gelu, _gelu_f64)),
        _row(
            *("gelu_tanh", 1, "float", 40, "x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))) / 2"),
            f=_gelu_tanh(_exp_any),
        ),
        _row("erf", 1, "float", 40, "the error function", f=_by_precision(_erf, _library("erf"))),
        _row("sin", 1, "float", 30, "the sine of x radians", f=_library("sin")),
        _row("cos", 1, "float", 30, "the cosine of x radians", f=_library("cos")),
        *(
            _row(name, 1, "any", 1, f"{doc}; an integer is its own", f=_bits(op), i=_same, b=_same)
            for name, op, doc in (
                ("floor", tirx.floor, "the largest integer not above x"),
                ("ceil", tirx.ceil, "the smallest integer not below x"),
                ("round", tirx.nearbyint, "the nearest integer, ties to even"),
                ("trunc", tirx.trunc, "x without its fraction"),
            )
        ),
        _row(
            *("reciprocal", 1, "bool is int8", 10, "1 / x; of an integer truncated, and 0 for 0"),
            f=lambda dt, x: _literal(1.0, dt) / x,
            i=_reciprocal,
        ),
        _row(
            *("square", 1, "bool is int8", 1, "x * x; integers wrap"),
            f=lambda dt, x: _let(x, lambda v: v * v),
            i=lambda dt, x: _let(x, lambda v: _mul(dt, v, v)),
        ),
        _row("clip", 3, "any", 4, "min(max(x, low), high); NaN if any is", f=_clip, i=_clip, b=_clip),
        _row(
            *("where", 3, "any", 1, "x if the condition is not 0, else y"),
            f=_bits(tirx.Select),
            i=_bits(tirx.Select),
            b=lambda dt, c, x, y: (c & x) | (_not(c) & y),
            conditions=1,
        ),
        _row(
            *("isnan", 1, "any", 1, "whether x is NaN"),
            f=_bits(lambda x: _let(x, _isnan)),
            i=_constant_bool(False),
            b=_constant_bool(False),
            result=BOOL,
        ),
        _row(
            *("isinf", 1, "any", 1, "whether x is an infinity"),
            f=lambda dt, x: _opaque(tirx.EQ(tirx.abs(x), _literal(math.inf, dt))),
            i=_constant_bool(False),
            b=_constant_bool(False),
            result=BOOL,
        ),
        _row(
            *("isfinite", 1, "any", 1, "whether x is neither NaN nor an infinity"),
            f=lambda dt, x: _opaque(tirx.LT(tirx.abs(x), _literal(math.inf, dt))),
            i=_constant_bool(True),
            b=_constant_bool(True),
            result=BOOL,
        ),
        # tirx.And, Or and Not are rewritten for real numbers where comparisons are below them; the bitwise ones are not.
        _row("logical_and", 2, "truth", 1, "x != 0 and y != 0", b=_bits(tirx.BitwiseAnd)),
        _row("logical_or", 2, "truth", 1, "x != 0 or y != 0", b=_bits(tirx.BitwiseOr)),
        _row("logical_xor", 2, "truth", 1, "(x != 0) != (y != 0)", b=_bits(tirx.BitwiseXor)),
        _row("logical_not", 1, "truth", 1, "x == 0", b=_bits(_not)),
        *(
            _row(name, 2, "bits", 1, f"x {symbol} y", i=_bits(op), b=_bits(op))
            for name, symbol, op in (
                ("bitwise_and", "&", tirx.BitwiseAnd),
                ("bitwise_or", "|", tirx.BitwiseOr),
                ("bitwise_xor", "^", tirx.BitwiseXor),
            )
        ),
        _row(
            *("bitwise_not", 1, "bits", 1, "~x"),
            # ~x of 8 and 16 bits is an int in C.
            i=lambda dt, x: tirx.BitwiseXor(x, _literal(-1 if dt.kind == "i" else dt.max, dt)),
            b=_bits(_not),
        ),
        _row(
            *("left_shift", 2, "shift", 2, "x << y; 0 where y is negative or no less than the number of bits"),
            i=_shift(tirx.LShift, signed_right=False),
        ),
        _row(
            *("right_shift", 2, "shift", 2, "x >> y; the sign fills it; y out of range leaves only the sign"),
            i=_shift(tirx.RShift, signed_right=True),
        ),
    ]
}
