"""Types that TVM does not compute with: from the unsigned integers that encode them, and back.

Floats are decoded to float32, which is exact, and encoded from it, rounded to the nearest, ties to even; integers that are
narrower than a byte are its low bits, and wrap.  All in integer arithmetic that vectorises.
"""

from __future__ import annotations

from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.ir.ops.elementwise.comparisons import isnan
from gscompile.ir.ops.elementwise.expr import F32, I32, U32, Names, literal
from gscompile.ir.ops.elementwise.formats import FORMATS, Format
from gscompile.ir.types import DType


def decode(names: Names, x: PrimExpr, src: DType) -> PrimExpr:
    """The value, in ``src.compute``, that the code ``x`` stands for."""
    if not src.is_float:
        return _decode_integer(x, src)
    if src.name == "bfloat16" and (rounded := _rounded(x)) is not None:
        return rounded
    code = names(tirx.Cast(U32.name, x))
    if src.name == "bfloat16":  # its bits are the upper half of a float32's
        return _float(code << _u32(16))
    return _float(_decode_float(names, code, FORMATS[src.name]))


def encode(names: Names, x: PrimExpr, dst: DType) -> PrimExpr:
    """The code of ``x``, a value in ``dst.compute``."""
    if not dst.is_float:
        low = tirx.Cast(I32.name, x) & literal((1 << dst.digits) - 1, I32)
        return tirx.Cast(dst.tir, low)
    v = names(x)
    bits = names(_bits(v))
    if dst.name == "bfloat16":
        code = _encode_bfloat16(v, bits)
    else:
        f = FORMATS[dst.name]
        code = _encode_power(names, bits, f) if f.unsigned else _encode_float(names, bits, f)
    return tirx.Cast(dst.tir, code)


def _u32(value: int) -> PrimExpr:
    return literal(value, U32)


def _float(bits: PrimExpr) -> PrimExpr:
    return tirx.reinterpret(F32.name, bits)


def _bits(x: PrimExpr) -> PrimExpr:
    return tirx.reinterpret(U32.name, x)


def _decode_integer(x: PrimExpr, src: DType) -> PrimExpr:
    low = tirx.Cast(I32.name, x) & literal((1 << src.digits) - 1, I32)
    if src.kind == "i":
        sign = literal(1 << (src.digits - 1), I32)
        low = (low ^ sign) - sign
    return tirx.Cast(src.compute.name, low)


_NAN, _INFINITY = 0x7FC00000, 0x7F800000


def _decode_float(names: Names, code: PrimExpr, f: Format) -> PrimExpr:
    """A float32's bits."""
    if f.unsigned:  # the exponent; the least is denormal in float32
        power = tirx.Select(code < _u32(1), _u32(1 << 22), code << _u32(23))
        return tirx.Select(code < _u32(f.nan), power, _u32(_NAN))
    size = names(code & _u32((1 << f.sign) - 1))
    shift = 23 - f.mantissa
    normal = (size << _u32(shift)) + _u32((127 - f.bias) << 23)
    # Converted, not scaled: a denormal float32 would be 0 where the caller's thread flushes those.
    steps = tirx.Cast(F32.name, tirx.Cast(I32.name, size)) * literal(2.0 ** (1 - f.bias - f.mantissa), F32)
    bits = tirx.Select(size < _u32(1 << f.mantissa), _bits(steps), normal)
    if f.infinity is not None:
        bits = tirx.Select(size < _u32(f.infinity), bits, _u32(_INFINITY))
        bits = tirx.Select(size > _u32(f.infinity), _u32(_NAN), bits)
    elif f.highest < f.nan < 1 << f.sign:
        bits = tirx.Select(size > _u32(f.highest), _u32(_NAN), bits)
    sign = ((code >> _u32(f.sign)) & _u32(1)) << _u32(31)
    signed = bits | sign
    return (
        tirx.Select(code < _u32(f.nan), signed, tirx.Select(code > _u32(f.nan), signed, _u32(_NAN)))
        if f.one_zero
        else signed
    )


def _encode_bfloat16(v: PrimExpr, bits: PrimExpr) -> PrimExpr:
    upper = bits >> _u32(16)
    rounded = (bits + (_u32(0x7FFF) + (upper & _u32(1)))) >> _u32(16)
    quiet = (upper & _u32(0x8000)) | _u32(0x7FC0)  # rounding could carry a NaN over to zero
    return tirx.Select(isnan(v), quiet, rounded)


def _rounded(code: PrimExpr) -> PrimExpr | None:
    """The float32 that ``code`` stands for, where :func:`_encode_bfloat16` has just made it of one; None of any other code.

    A NaN stays as it was: only its payload may differ from that of a code, and nothing that computes keeps it.
    """
    select = code.value if isinstance(code, tirx.Cast) else None
    if not (isinstance(select, tirx.Select) and isinstance(select.false_value, tirx.RShift)):
        return None
    halfway = select.false_value.a  # what has been added makes a carry where it is rounded up
    v = select.condition.a.a
    return tirx.Select(select.condition, v, _float(halfway & _u32(0xFFFF0000)))


def _encode_float(names: Names, bits: PrimExpr, f: Format) -> PrimExpr:
    """The code of a float32 of these bits.

    Adding a power of two whose unit in float32 is the result's step rounds to a multiple of that step.  The step follows from the
    value's exponent, which is brought between those of the denormals and of what is too large for any code.
    """
    size = names(bits & _u32(0x7FFFFFFF))
    shift, lowest = 23 - f.mantissa, 128 - f.bias  # float32's exponent of the smallest normal number
    most = _u32((lowest + (f.highest >> f.mantissa)) << 23)
    exponent = tirx.Max(tirx.Min(size, most), _u32(lowest << 23)) & _u32(_INFINITY)
    power = names(exponent + _u32(shift << 23))
    steps = _bits(_float(size) + _float(power)) - power
    # of a value of exponent e there are 2^mantissa steps below 2^e, and as many codes for each exponent from the lowest on
    code = steps + ((power - _u32((lowest + shift) << 23)) >> _u32(shift))
    code = names(tirx.Select(size > _u32(_INFINITY), _u32(f.nan), tirx.Min(code, _u32(f.overflow))))
    sign = (bits >> _u32(31)) << _u32(f.sign)
    if not f.one_zero:
        return code ^ sign
    # Without -0.0: NaN has its code, of either sign.
    between = code - _u32(1) < _u32(f.nan - 1)
    return code ^ tirx.Select(between, sign, _u32(0))


def _encode_power(names: Names, bits: PrimExpr, f: Format) -> PrimExpr:
    """The exponent of the nearest power of two, of two the higher; NaN of 0, of what is negative and of what is too large."""
    least = _u32(
        1 << 22
    )  # 2^-127, denormal in float32; all between it and the next power is rounded up, as ml_dtypes does
    half = tirx.Select(bits > least, least, _u32((1 << 22) - 1))
    code = names((tirx.Select(bits > _u32(_INFINITY), _u32(_INFINITY), bits) + half) >> _u32(23))
    code = tirx.Select(code > _u32(f.highest), _u32(f.nan), code)
    return tirx.Select(bits < _u32(1), _u32(f.nan), code)
