"""Integer arithmetic modulo 2**bits."""

from __future__ import annotations

import math
import operator

from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.ir.ops.elementwise.casts import convert
from gscompile.ir.ops.elementwise.comparisons import float_eq, not_
from gscompile.ir.ops.elementwise.expr import U64, Body, Names, Operation, dtype_of, literal, opaque, unsigned, wrap
from gscompile.ir.types import DTYPES, DType


def _modular(op: Operation, signed: bool) -> Body:
    """``op`` of integers modulo 2**bits: carried out where it cannot overflow, and cut down.

    LLVM and nvcc see that only the lower bits are used, and leave one instruction of the type's own width.

    Args:
        op: sum, difference or product.
        signed: whether the wider type must be signed, as that of a difference; it must not for a product of unsigned ones.
    """

    def body(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        if dt.bits == 64:
            return _narrowed(op(_widened(x), _widened(y)), dt)
        wide = f"{'int' if signed or dt.kind == 'i' else 'uint'}{32 if dt.bits <= 16 else 64}"
        return wrap(op(tirx.Cast(wide, x), tirx.Cast(wide, y)), dt)

    return body


def _widened(x: PrimExpr) -> PrimExpr:
    """A 64 bit integer in 128 bits: unsigned, since TVM narrows signed ones; hidden, since cuda has no such literals."""
    return tirx.Cast("uint128", wrap(opaque(x), U64))


def _narrowed(x: PrimExpr, dt: DType) -> PrimExpr:
    return wrap(opaque(tirx.Cast(U64.name, x)), dt)


add = _modular(operator.add, signed=True)
mul = _modular(operator.mul, signed=False)
_sub = _modular(operator.sub, signed=True)


def sub(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    if dt.bits < 64:
        return _sub(names, dt, x, y)
    complement = tirx.BitwiseXor(wrap(opaque(y), U64), literal(U64.max, U64))
    return _narrowed(_widened(x) + (_widened(complement) + _widened(literal(1, U64))), dt)


def neg(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    return sub(names, dt, literal(0, dt), x)


def absolute(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    if dt.kind == "u":
        return x
    x = names(x)
    return tirx.Select(x < literal(0, dt), neg(names, dt, x), x)


def square(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    return mul(names, dt, x, x)


def _harmless(names: Names, dt: DType, y: PrimExpr) -> PrimExpr:
    """The divisor ``y``, or 1 where it is 0 or -1: on x86 both x / 0 and INT_MIN / -1 end the process."""
    one = literal(1, dt)
    value = tirx.Select(tirx.EQ(y, literal(0, dt)), one, y)
    return names(value if dt.kind == "u" else tirx.Select(tirx.EQ(y, literal(-1, dt)), one, value))


def floordiv(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    x, y = names(x), names(y)
    zero, d = literal(0, dt), _harmless(names, dt, y)
    quotient = tirx.truncdiv(x, d)
    if dt.kind == "i":
        # One less where the truncation went up.  It cannot overflow: a remainder means that |d| > 1.
        quotient = quotient - tirx.Cast(dt.name, signs_differ(names(tirx.truncmod(x, d)), d, zero))
        quotient = tirx.Select(tirx.EQ(y, literal(-1, dt)), neg(names, dt, x), quotient)
    return tirx.Select(tirx.EQ(y, zero), zero, quotient)


def mod(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    x, y = names(x), names(y)
    zero, d = literal(0, dt), _harmless(names, dt, y)
    r = names(tirx.truncmod(x, d))
    value = r if dt.kind == "u" else tirx.Select(signs_differ(r, d, zero), r + d, r)
    return tirx.Select(tirx.EQ(y, zero), zero, value)


def signs_differ(r: PrimExpr, d: PrimExpr, zero: PrimExpr) -> PrimExpr:
    """Whether a remainder is not zero and on the other side of zero than the divisor."""
    not_zero = not_(float_eq(r, zero)) if dtype_of(r).is_float else tirx.NE(r, zero)
    return tirx.BitwiseAnd(not_zero, tirx.BitwiseXor(tirx.LT(r, zero), tirx.LT(d, zero)))


def reciprocal(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    zero, one = literal(0, dt), literal(1, dt)
    x = names(x)
    value = zero if dt.kind == "u" else tirx.Select(tirx.EQ(x, literal(-1, dt)), literal(-1, dt), zero)
    return tirx.Select(tirx.EQ(x, one), one, value)


def left_shift(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    amount, ut = names(wrap(y, unsigned(dt))), unsigned(dt)
    inside = tirx.LT(amount, literal(dt.bits, ut))
    # In 32 bits at least, since cuda shifts in C's int.
    wide = DTYPES[f"uint{max(32, dt.bits)}"]
    limited = convert(names, tirx.Select(inside, amount, literal(0, ut)), ut, wide)
    value = tirx.LShift(convert(names, wrap(x, ut), ut, wide), limited)
    return tirx.Select(inside, wrap(value, dt), literal(0, dt))


def right_shift(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    amount, ut = names(wrap(y, unsigned(dt))), unsigned(dt)
    inside = tirx.LT(amount, literal(dt.bits, ut))
    value = tirx.RShift(x, wrap(tirx.Select(inside, amount, literal(dt.bits - 1, ut)), dt))
    return value if dt.kind == "i" else tirx.Select(inside, value, literal(0, dt))


def power(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """``x ** y`` modulo 2**bits, exact for every exponent.

    The lower six bits of the exponent by repeated squaring.  The rest, m = y >> 6, multiplies by (x**64)**m: for an even x
    that is 0 unless m is 0, and for an odd one x**64 = 1 + 256 t, so the binomial series ends after bits/8 terms.
    """
    ut = unsigned(dt)
    zero, one = literal(0, ut), literal(1, ut)
    x, y = names(x), names(y)

    def times(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return names(mul(names, ut, a, b))

    exponent, square, value = names(wrap(opaque(y), ut)), names(wrap(opaque(x), ut)), one
    for bit in range(6):
        odd = tirx.NE((exponent >> literal(bit, ut)) & one, zero)
        value = names(tirx.Select(odd, times(value, square), value))
        square = times(square, square)
    m, t = names(exponent >> literal(6, ut)), names(square >> literal(8, ut))
    term = series = one
    for k in range(1, dt.bits // 8):
        # term is m (m-1) ... (m-k+1) t**k; the rest of the coefficient is 256**k / k!, whose denominator has an odd part,
        # with an inverse, and fewer than k factors 2.
        term = times(term, times(sub(names, ut, m, literal(k - 1, ut)), t))
        twos = k - k.bit_count()
        factor = pow(math.factorial(k) >> twos, -1, 1 << dt.bits) << (8 * k - twos)
        series = names(add(names, ut, series, times(term, literal(factor % (1 << dt.bits), ut))))
    even = tirx.Select(tirx.EQ(m, zero), one, zero)
    value = wrap(times(value, tirx.Select(tirx.NE(square & one, zero), series, even)), dt)
    if dt.kind == "u":
        return value
    minus, plus, nought = (literal(n, dt) for n in (-1, 1, 0))
    of_minus = tirx.Select(tirx.NE(y & plus, nought), minus, plus)
    inverse = tirx.Select(tirx.EQ(x, plus), plus, tirx.Select(tirx.EQ(x, minus), of_minus, nought))
    return tirx.Select(tirx.LT(y, nought), inverse, value)


def sign(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x, zero, one = names(x), literal(0, dt), literal(1, dt)
    below = zero if dt.kind == "u" else tirx.Select(tirx.LT(x, zero), literal(-1, dt), zero)
    return tirx.Select(tirx.LT(zero, x), one, below)


def bitwise_not(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    # ~x of an unsigned type of 8 or 16 bits is a negative int in C.
    return tirx.BitwiseXor(x, literal(-1 if dt.kind == "i" else dt.max, dt))
