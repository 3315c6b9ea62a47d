"""Float functions that are approximated."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.ir.ops.elementwise.casts import convert
from gscompile.ir.ops.elementwise.comparisons import float_eq, isnan, not_
from gscompile.ir.ops.elementwise.expr import F32, F64, I32, Names, constant, dtype_of, literal
from gscompile.ir.ops.elementwise.floats import by_precision, library, minus
from gscompile.ir.ops.elementwise.integers import sub
from gscompile.ir.types import DType


def _f32(value: float) -> PrimExpr:
    return literal(value, F32)


def _polynomial(x: PrimExpr, coefficients: Sequence[float]) -> PrimExpr:
    """Horner's rule in float32; ``coefficients`` from the highest power down."""
    return functools.reduce(lambda value, c: value * x + _f32(c), coefficients[1:], _f32(coefficients[0]))


def _with_sign_of(v: PrimExpr, size: PrimExpr) -> PrimExpr:
    """``size``, negated where ``v`` is below 0."""
    return tirx.Select(tirx.LT(v, literal(0.0, dtype_of(v))), minus(size), size)


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


def _finite_exp(names: Names, x: PrimExpr) -> PrimExpr:
    """exp of a float32, or of a float64 rounded at the end to float32, but 0 of NaN.

    ``x`` = n ln(2) + r, and 2**n is made in two factors of which neither leaves the range of float32.
    """
    dt, x = dtype_of(x), names(x)
    low, high = literal(-104.0, dt), literal(89.0, dt)
    x = names(tirx.Select(x > low, tirx.Select(x < high, x, high), low))
    n = names(tirx.nearbyint(x * literal(math.log2(math.e), dt)))
    if dt is F64:
        r = names(tirx.Cast(F32.name, x + n * literal(-math.log(2), F64)))
    else:
        r = names(x + n * _f32(-_LN2_HIGH) + n * _f32(-_LN2_LOW))
    k = names(tirx.Cast(I32.name, n))
    half = names(k >> literal(1, I32))

    def two_to(k: PrimExpr) -> PrimExpr:
        return tirx.reinterpret(F32.name, (k + literal(127, I32)) << literal(23, I32))

    value = _polynomial(r, _EXP) * (r * r) + r + _f32(1.0)
    return value * two_to(half) * two_to(k - half)


def _exp(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    return tirx.Select(isnan(x), x, _finite_exp(names, x))


def _log(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    # Denormals are scaled into the range of normal numbers, so that the exponent can be read off the bits.
    tiny = tirx.LT(x, _f32(float(np.finfo(np.float32).tiny)))
    bits = names(tirx.reinterpret(I32.name, tirx.Select(tiny, x * _f32(2.0**23), x)))
    # 0x3f3504f3 is sqrt(1/2): the exponent counts from there, so that the mantissa is centred on 1.
    shift = literal(23, I32)
    n = names(sub(names, I32, bits, literal(0x3F3504F3, I32)) >> shift)
    f = names(tirx.reinterpret(F32.name, sub(names, I32, bits, n << shift)) + _f32(-1.0))
    e = names(tirx.Cast(F32.name, n - tirx.Select(tiny, shift, literal(0, I32))))
    square = names(f * f)
    value = f + (_polynomial(f, _LOG) * f * square + e * _f32(_LN2_LOW) + square * _f32(-0.5)) + e * _f32(_LN2_HIGH)
    value = tirx.Select(tirx.LT(x, _f32(math.inf)), value, x)
    value = tirx.Select(float_eq(x, _f32(0.0)), _f32(-math.inf), value)
    return tirx.Select(tirx.LT(x, _f32(0.0)), _f32(math.nan), value)


def _tanh(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    size, square = names(tirx.abs(x)), names(x * x)
    # Past 0.625 the subtraction loses nothing.  exp overflows to infinity, which gives 1.
    large = _f32(1.0) + _f32(-2.0) / (_finite_exp(names, size + size) + _f32(1.0))
    small = _polynomial(square, _TANH) * square * x + x
    value = tirx.Select(size < _f32(0.625), small, _with_sign_of(x, names(large)))
    # The sum of the polynomial and x would lose the sign of -0.0.
    return tirx.Select(not_(tirx.LE(_f32(2.0**-13), size)), x, value)


_exp_below_zero = by_precision(lambda names, dt, x: _finite_exp(names, x), library("exp"))


def sigmoid(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    """1 / (1 + exp(-x)) from the exp of a number that is not positive, so that nothing overflows or cancels."""
    x, one = names(x), literal(1.0, dt)
    return tirx.Select(isnan(x), x, _weight(x, names(_exp_below_zero(names, dt, minus(tirx.abs(x)))), one))


def _weight(x: PrimExpr, e: PrimExpr, one: PrimExpr) -> PrimExpr:
    """1 / (1 + e), or e / (1 + e) where ``x`` is below 0."""
    return tirx.Select(tirx.LT(x, literal(0.0, dtype_of(x))), e, one) / (one + e)


def _erfcx(names: Names, z: PrimExpr) -> PrimExpr:
    """erfc(z) exp(z**2) of a float32 in 0 ... 14.5."""
    return _polynomial(names((z + _f32(-2.0)) / (z + _f32(2.0))), _ERFCX) / (z + z + _f32(1.0))


def _erf(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    square = names(x * x)
    # Past 10 it is 1 to every digit, and the fit ends at 14.5.
    z = names(_at_most(tirx.abs(x), 10.0))
    large = _f32(1.0) + minus(_finite_exp(names, minus(z * z)) * _erfcx(names, z))
    value = tirx.Select(z < _f32(1.0), _polynomial(square, _ERF) * x, _with_sign_of(x, names(large)))
    return tirx.Select(isnan(x), x, value)


def _gelu(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    """x Phi(x), where Phi is the normal distribution function.

    The tail |x| Phi(-|x|) is |x| erfc(z) / 2 with z = |x| / sqrt(2), and erfc(z) = erfcx(z) exp(-x**2 / 2), whose exponent is
    taken in float64, where the square is exact: in float32 its rounding would cost the tail several digits.
    """
    x = names(x)
    # Past 20 the tail is 0, and the fit ends at 14.5 sqrt(2).
    a = names(_at_most(tirx.abs(x), 20.0))
    wide, z = names(tirx.Cast(F64.name, a)), names(a * _f32(math.sqrt(0.5)))
    tail = a * _f32(0.5) * _erfcx(names, z) * _finite_exp(names, wide * wide * literal(-0.5, F64))
    return tirx.Select(isnan(x), x, minus(tail) + tirx.Select(tirx.LE(_f32(0.0), x), x, constant(-0.0, F32)))


def _gelu_f64(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    x = names(x)
    value = x * literal(0.5, F64) * library("erfc")(names, F64, x * constant(-math.sqrt(0.5), F64))
    return _zero_at_minus_infinity(x, value)


def _zero_at_minus_infinity(x: PrimExpr, value: PrimExpr) -> PrimExpr:
    """The limit of ``x`` times a weight that vanishes, where the product would be NaN."""
    dt = dtype_of(x)
    return tirx.Select(float_eq(x, literal(-math.inf, dt)), constant(-0.0, dt), value)


def gelu_tanh(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    """x / (1 + exp(-2 u)) with u = sqrt(2 / pi) (x + 0.044715 x**3): x (1 + tanh(u)) / 2 without its cancellation."""
    x = names(x)
    # In float64 for float32 too, as in _gelu.
    wide = names(convert(names, x, dt, F64))
    c1, c3 = (constant(math.sqrt(8 / math.pi) * c, F64) for c in (1.0, 0.044715))
    e = names(_exp_below_zero(names, dt, minus(tirx.abs(wide * (c1 + c3 * (wide * wide))))))
    value = _zero_at_minus_infinity(x, x * _weight(x, e, literal(1.0, dt)))
    return tirx.Select(isnan(x), x, value)


def logaddexp(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    """The larger one plus log(1 + exp(-|x - y|)), as NumPy's; infinities that are equal have no difference.

    By C's library, whose calls are short: written out, TVM takes a minute over some scatters.
    """
    x, y = names(x), names(y)
    size = tirx.Select(float_eq(x, y), literal(0.0, dt), tirx.abs(x + minus(y)))
    more = library("log1p")(names, dt, library("exp")(names, dt, minus(size)))
    return tirx.Select(tirx.LT(x, y), y, x) + more


exp = by_precision(_exp, library("exp"))
log = by_precision(_log, library("log"))
tanh = by_precision(_tanh, library("tanh"))
erf = by_precision(_erf, library("erf"))
gelu = by_precision(_gelu, _gelu_f64)
sin, cos, power = library("sin"), library("cos"), library("pow")
