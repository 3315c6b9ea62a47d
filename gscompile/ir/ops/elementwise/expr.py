"""Literals, hidden integers, and names for values that are needed twice.

A value that is needed twice is named by a ``Let``, all of them outermost (:class:`Names`): TVM's passes take time exponential
in how deep they nest within one another's values.  The cuda code generator puts them, and each ``reinterpret``, in front of
the statement or of the arm of an ``if_then_else``.  So a load that may be out of range is guarded by either of these, never
by ``Select`` or by ``And``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.ir.ops.elementwise.formats import encoded
from gscompile.ir.types import DTYPES, DType

BOOL, I8, I32, I64 = (DTYPES[name] for name in ("bool", "int8", "int32", "int64"))
U32, U64 = DTYPES["uint32"], DTYPES["uint64"]
F16, F32, F64 = (DTYPES[name] for name in ("float16", "float32", "float64"))

Scalar: TypeAlias = bool | int | float | complex
Body: TypeAlias = Callable[..., PrimExpr]
"""(where names are kept, the dtype that is computed in, one value per operand ...) -> the value."""
Operation: TypeAlias = Callable[..., PrimExpr]
"""(one value per operand ...) -> the value."""


class Names:
    """The variables that one value is computed with."""

    def __init__(self) -> None:
        self._bound: dict[PrimExpr, PrimExpr] = {}

    def __call__(self, x: PrimExpr) -> PrimExpr:
        """``x``, or a variable of that value if ``x`` is worth one."""
        if isinstance(x, (tirx.Var, tirx.IntImm, tirx.FloatImm)):
            return x
        var = tirx.Var("t", x.ty)
        # Hidden, since TVM fails where it finds two different bounds for a variable, under a condition and without.
        self._bound[var] = x if dtype_of(x).is_float else opaque(x)
        return var

    def operand(self, x: PrimExpr) -> PrimExpr:
        """``x`` as it is computed with: its own names are taken over, and a float literal is made an :func:`operand`."""
        while isinstance(x, tirx.Let):
            self._bound[x.var] = x.value
            x = x.body
        return operand(x.value, dtype_of(x)) if isinstance(x, tirx.FloatImm) else x

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
    if not dt.native:
        return tirx.const(encoded(value, dt), dt.tir)
    if not dt.is_float:
        number = dt.checked(value)
        return tirx.const(bool(number) if dt is BOOL else number, dt.name)
    with np.errstate(over="ignore"):
        value = float(np.dtype(dt.name).type(value))
    if dt.bits == 16:
        return tirx.Cast(dt.name, operand(value, F32))
    # TVM prints a float64 into cuda source with 15 decimals, which loses small numbers, so those go as bits.
    if dt is F64 and math.isfinite(value) and float(f"{value:.15f}") != value:
        return tirx.reinterpret(dt.name, tirx.const(struct.unpack("<Q", struct.pack("<d", value))[0], "uint64"))
    return literal(value, dt)


def operand(value: bool | int | float, dt: DType) -> PrimExpr:
    """:func:`constant` for what is computed with: a zero is one that TVM does not see.

    It folds x * 0 to 0 and refuses x / 0.  A call of trunc it does not evaluate, which LLVM and nvcc do.
    """
    if value == 0 and dt in (F32, F64):
        return tirx.call_intrin(dt.name, "tirx.trunc", literal(math.copysign(0.25, value), dt))
    return constant(value, dt)


def literal(value: bool | int | float, dt: DType) -> PrimExpr:
    return tirx.const(value, dt.name)


def dtype_of(x: PrimExpr) -> DType:
    return DTYPES[str(x.ty)]


def opaque(x: PrimExpr) -> PrimExpr:
    """The integer or bool ``x`` behind a ``^ 0`` that TVM's simplifier does not look through."""
    return tirx.BitwiseXor(x, literal(0, dtype_of(x)))


def wrap(x: PrimExpr, dst: DType) -> PrimExpr:
    """The integer ``x`` modulo 2**bits in an integer type no wider than its own."""
    return x if dtype_of(x) == dst else opaque(tirx.Cast(dst.name, opaque(x)))


def unsigned(dt: DType) -> DType:
    return DTYPES[f"uint{dt.bits}"]


def kind_of(dt: DType) -> str:
    return "i" if dt.kind == "u" else dt.kind


def widened(dt: DType) -> DType:
    """The float type in which ``dt`` is computed."""
    return F32 if dt.bits == 16 else dt


def plain(op: Operation) -> Body:
    """``op``, which needs neither names nor the dtype."""
    return lambda names, dt, *xs: op(*xs)
