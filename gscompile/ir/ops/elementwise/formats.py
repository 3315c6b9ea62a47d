"""How floats of 16 bits and fewer that TVM does not compute with are encoded: one table, and its numbers in Python.

The names are those of ml_dtypes, and so is what each does with what it cannot hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gscompile.ir.types import DType


@dataclass(frozen=True, slots=True)
class Format:
    """A float as a sign bit, ``exponent`` bits and ``mantissa`` bits, from the highest down.

    Attributes:
        bias: of the exponent.
        highest: the code of the largest finite value.
        overflow: the code of what is too large.
        nan: the code of NaN, without the sign bit; the negative one has that bit turned over.
        one_zero: there is no -0.0, whose code is NaN's, of either sign.
        unsigned: there is neither a sign nor 0, only powers of two; 0 and what is negative are NaN, and ties go up.
    """

    exponent: int
    mantissa: int
    bias: int
    highest: int
    overflow: int
    nan: int
    one_zero: bool = False
    unsigned: bool = False

    @property
    def sign(self) -> int:
        """Where the sign bit is."""
        return self.exponent + self.mantissa

    @property
    def infinity(self) -> int | None:
        """The code of infinity; None where there is none."""
        return self.overflow if self.highest < self.overflow < self.nan and not self.one_zero else None


def _ieee(exponent: int, mantissa: int) -> Format:
    """As IEEE 754 has it: the highest exponent is infinity and NaN."""
    infinity = ((1 << exponent) - 1) << mantissa
    quiet = infinity | 1 << (mantissa - 1)
    return Format(exponent, mantissa, (1 << (exponent - 1)) - 1, infinity - 1, infinity, quiet)


def _one_zero(exponent: int, mantissa: int, bias: int) -> Format:
    """``fnuz``: finite, no negative zero, NaN in its place."""
    nan = 1 << (exponent + mantissa)
    return Format(exponent, mantissa, bias, nan - 1, nan, nan, one_zero=True)


def _saturating(exponent: int, mantissa: int) -> Format:
    """Finite, without NaN: what is too large becomes the largest value, NaN becomes a zero of the other sign."""
    zero = 1 << (exponent + mantissa)
    return Format(exponent, mantissa, (1 << (exponent - 1)) - 1, zero - 1, zero - 1, zero)


FORMATS: dict[str, Format] = {
    "bfloat16": _ieee(8, 7),
    "float8_e3m4": _ieee(3, 4),
    "float8_e4m3": _ieee(4, 3),
    "float8_e5m2": _ieee(5, 2),
    "float8_e4m3fn": Format(4, 3, 7, 0x7E, 0x7F, 0x7F),
    "float8_e4m3fnuz": _one_zero(4, 3, 8),
    "float8_e5m2fnuz": _one_zero(5, 2, 16),
    "float8_e4m3b11fnuz": _one_zero(4, 3, 11),
    "float8_e8m0fnu": Format(8, 0, 127, 0xFE, 0xFF, 0xFF, unsigned=True),
    "float6_e2m3fn": _saturating(2, 3),
    "float6_e3m2fn": _saturating(3, 2),
    "float4_e2m1fn": _saturating(2, 1),
}


def encoded(value: float, dt: DType) -> int:
    """The code of the number of ``dt`` that is nearest to ``value``, ties to even.

    Raises:
        DTypeError: an integer type cannot hold ``value``.
    """
    if not dt.is_float:
        return dt.checked(value) & ((1 << dt.digits) - 1)
    f = FORMATS[dt.name]
    value = _single(float(value))
    size, minus = abs(value), math.copysign(1.0, value) < 0
    if math.isnan(size) or (f.unsigned and (minus or size == 0)):
        code = f.nan
    elif math.isinf(size):
        code = f.overflow
    else:
        code = min(_rounded(size, f), f.highest + 1)
        code = f.overflow if code > f.highest else code
    if f.unsigned or (f.one_zero and code in (0, f.nan)):
        return code
    return code ^ minus << f.sign


def _single(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _rounded(size: float, f: Format) -> int:
    """The code of a finite number that is not negative, as if exponents had no end."""
    least = 1 - f.bias
    if f.unsigned:
        if size < 2.0**-126:  # denormal in float32, which ml_dtypes rounds up
            return int(size > 2.0**-127)
        fraction, power = math.frexp(size)  # in [1/2, 1)
        return power - 1 + f.bias + (fraction >= 0.75)
    power = max(math.frexp(size)[1] - 1, least) if size else least
    steps = round(math.ldexp(size, f.mantissa - power))  # Python rounds ties to even
    return steps + ((power - least) << f.mantissa)
