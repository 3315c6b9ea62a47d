"""Comparisons, the smaller and the larger of two, and bool."""

from __future__ import annotations

import operator

from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.ir.ops.elementwise.expr import (
    BOOL,
    F32,
    F64,
    I32,
    I64,
    U64,
    Body,
    Names,
    Operation,
    dtype_of,
    literal,
    opaque,
    wrap,
)
from gscompile.ir.types import DType


def not_(x: PrimExpr) -> PrimExpr:
    # tirx.Not of a comparison becomes the opposite comparison, which is wrong for NaN.
    return tirx.BitwiseXor(x, literal(True, BOOL))


def isnan(x: PrimExpr) -> PrimExpr:
    return not_(tirx.LE(x, x))


def float_eq(x: PrimExpr, y: PrimExpr) -> PrimExpr:
    # Not tirx.EQ, since TVM takes x == x for true.
    return tirx.BitwiseAnd(tirx.LE(x, y), tirx.LE(y, x))


_FLOAT_COMPARISONS: dict[str, Operation] = {
    "eq": float_eq,
    "ne": lambda x, y: not_(float_eq(x, y)),
    "lt": lambda x, y: opaque(tirx.LT(x, y)),
    "le": lambda x, y: opaque(tirx.LE(x, y)),
    "gt": lambda x, y: opaque(tirx.LT(y, x)),
    "ge": lambda x, y: opaque(tirx.LE(y, x)),
}


def _is_least(x: PrimExpr) -> bool:
    """Whether it is an unsigned 0: TVM's simplifier aborts the process where it is to tell whether a number is less."""
    return isinstance(x, tirx.IntImm) and int(x.value) == 0 and dtype_of(x).kind == "u"


INTEGER_COMPARISONS: dict[str, Operation] = {
    "eq": tirx.EQ,
    "ne": tirx.NE,
    "lt": lambda x, y: literal(False, BOOL) if _is_least(y) else tirx.LT(x, y),
    "le": lambda x, y: literal(True, BOOL) if _is_least(x) else tirx.LE(x, y),
    "gt": lambda x, y: literal(False, BOOL) if _is_least(x) else tirx.GT(x, y),
    "ge": lambda x, y: literal(True, BOOL) if _is_least(y) else tirx.GE(x, y),
}


def comparison(name: str) -> Body:
    """The comparison ``name``, of operands of one type, or of int64 with uint64."""
    compare = INTEGER_COMPARISONS[name]
    # What a negative number gives, on the left and on the right, when the other side is unsigned.
    below, above = (bool(getattr(operator, name)(*pair)) for pair in ((-1, 0), (0, -1)))

    def body(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        if dt.is_float:
            return _FLOAT_COMPARISONS[name](names(x), names(y))
        if dt is BOOL:
            # LLVM's one-bit integers are signed for TVM's <.
            return compare(tirx.Cast(I32.name, x), tirx.Cast(I32.name, y))
        kinds = dtype_of(x).kind, dtype_of(y).kind
        if kinds == ("i", "u"):
            x = names(x)
            return tirx.Select(x < literal(0, I64), literal(below, BOOL), compare(wrap(x, U64), y))
        if kinds == ("u", "i"):
            y = names(y)
            return tirx.Select(y < literal(0, I64), literal(above, BOOL), compare(x, wrap(y, U64)))
        return compare(x, y)

    return body


def _first_stays(name: str) -> Body:
    """Whether the first of two stands in the comparison ``name`` to the other."""

    def body(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        if not dt.is_float:
            return INTEGER_COMPARISONS[name](x, y)
        x, y = names(x), names(y)
        # A NaN on the left is taken; one on the right fails the comparison, and is taken too.
        return tirx.BitwiseOr(_FLOAT_COMPARISONS[name](x, y), isnan(x))

    return body


FIRST_STAYS: dict[str, Body] = {"minimum": _first_stays("lt"), "maximum": _first_stays("gt")}
"""By name, whether the minimum or maximum of two is the first of them."""


def _extremum(name: str, of_bool: Operation) -> Body:
    stays, strictly = FIRST_STAYS[name], {"minimum": "lt", "maximum": "gt"}[name]

    def body(names: Names, dt: DType, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        if dt is BOOL:
            return of_bool(x, y)
        x, y = names(x), names(y)
        if dt in (F32, F64):
            # x + x is the NaN x.  LLVM makes a masked store of a choice between what a cell holds and another value, slow on
            # AMD's CPUs with AVX2 (Zen 3); and its minimum of two is one instruction.
            return tirx.Select(isnan(x), x + x, tirx.Select(_FLOAT_COMPARISONS[strictly](x, y), x, y))
        return tirx.Select(stays(names, dt, x, y), x, y)

    return body


minimum = _extremum("minimum", tirx.BitwiseAnd)
maximum = _extremum("maximum", tirx.BitwiseOr)


def clip(names: Names, dt: DType, x: PrimExpr, low: PrimExpr, high: PrimExpr) -> PrimExpr:
    return minimum(names, dt, maximum(names, dt, x, low), high)


def relu(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    if dt is BOOL:
        return x
    if not dt.is_float:
        return maximum(names, dt, x, literal(0, dt))
    x = names(x)  # a NaN is not below 0 and stays
    return tirx.Select(_FLOAT_COMPARISONS["le"](x, literal(0, dt)), literal(0, dt), x)
