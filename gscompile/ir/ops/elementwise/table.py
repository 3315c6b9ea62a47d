"""The table: a name, a dtype rule, a body per kind of dtype, and a cost."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tvm import tirx
from tvm.ir import Expr as PrimExpr

from gscompile.errors import DTypeError
from gscompile.ir.ops.elementwise import comparisons, complexes, floats, integers, transcendental
from gscompile.ir.ops.elementwise.casts import convert, picked
from gscompile.ir.ops.elementwise.expr import (
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I64,
    U64,
    Body,
    Names,
    Operation,
    constant,
    dtype_of,
    kind_of,
    literal,
    plain,
)
from gscompile.ir.types import DType, promote

Signature: TypeAlias = Callable[[Sequence[DType]], tuple[tuple[DType, ...], DType]]


@dataclass(frozen=True, slots=True)
class Pointwise:
    """A scalar function that is applied to each element.

    Attributes:
        name: its name in :data:`POINTWISE`.
        arity: how many operands it takes.
        signature: the operands' dtypes -> (the dtype that each operand is cast to, the result's dtype).  Raises DTypeError
            for a dtype, or a number of them, that the function does not take.
        expr: (the result's dtype, the operands already cast) -> the value; of complex numbers see
            :mod:`gscompile.ir.ops.elementwise.complexes`.
        cost: about how many scalar instructions one value takes.
        doc: what it computes, where that is not NumPy's function of the same name to the letter.
    """

    name: str
    arity: int
    signature: Signature
    expr: Callable[[DType, Sequence[PrimExpr]], PrimExpr]
    cost: int
    doc: str


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
        met = functools.reduce(promote, dtypes[conditions:])
        if met.is_complex and compute != "truth":
            computed = met if complexes.is_defined(name) else None
        else:
            computed = _COMPUTE[compute](met)
        if computed is None:
            raise DTypeError(f"{name} is not defined for ({got})")
        given = computed.real if name in complexes.MEASURES else computed
        return (BOOL,) * conditions + (computed,) * (arity - conditions), result or given

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


def _expr(bodies: dict[str, Body]) -> Callable[[DType, Sequence[PrimExpr]], PrimExpr]:
    """The ``expr`` that picks the body for the kind (``f``, ``i``, ``b``) of the last operand.

    The body under ``f`` sees float32 and float64 only; one under ``h`` sees float16.
    """

    def expr(result: DType, operands: Sequence[PrimExpr]) -> PrimExpr:
        names = Names()
        xs = [names.operand(x) for x in operands]
        dt = dtype_of(xs[-1])
        body = bodies[kind_of(dt)]
        if not (dt.is_float and dt.bits == 16):
            return names.around(body(names, dt, *xs))
        if "h" in bodies:
            return names.around(bodies["h"](names, dt, *xs))
        value = body(names, F32, *(convert(names, x, dt, F32) if dtype_of(x) == dt else x for x in xs))
        return names.around(convert(names, value, F32, dt) if result == dt else value)

    return expr


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
    every: Body | None = None,
    h: Body | None = None,
    signature: Signature | None = None,
    result: DType | None = None,
    conditions: int = 0,
) -> Pointwise:
    """A row of the table; ``f``, ``i`` and ``b`` compute on floats, integers and bool, ``every`` where they are not given.

    ``h`` computes on float16, which goes through float32 where it is not given.
    """
    given = {"f": f or every, "i": i or every, "b": b or every, "h": h}
    bodies = {kind: body for kind, body in given.items() if body is not None}
    rule = signature or _signature(name, arity, compute, result=result, conditions=conditions)
    return Pointwise(name, arity, rule, _expr(bodies), cost, doc)


def _always(value: bool) -> Body:
    return lambda names, dt, x: literal(value, BOOL)


def _same(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    return x


def _no_imaginary_part(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    return constant(0, dt)


def _angle(names: Names, dt: DType, x: PrimExpr) -> PrimExpr:
    return floats.library("atan2")(names, dt, literal(0.0, dt), x)


def _choose(names: Names, dt: DType, condition: PrimExpr, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    return tirx.Select(condition, x, y)


def _comparison(name: str, symbol: str) -> Pointwise:
    signature = _comparison_signature(name)
    return _row(name, 2, "any", 1, f"x {symbol} y", every=comparisons.comparison(name), signature=signature)


def _extremum(name: str, doc: str, body: Body) -> Pointwise:
    return _row(name, 2, "any", 2, doc, every=body, h=picked(comparisons.FIRST_STAYS[name]))


def _rounding(name: str, op: Operation, doc: str) -> Pointwise:
    return _row(name, 1, "any", 1, f"{doc}; an integer is its own", f=plain(op), every=_same)


def _test(name: str, doc: str, f: Body, of_integers: bool) -> Pointwise:
    return _row(name, 1, "any", 1, f"whether x is {doc}", f=f, every=_always(of_integers), result=BOOL)


# tirx.And, Or and Not are rewritten for real numbers where comparisons are below them; the bitwise ones are not.
_AND, _OR, _XOR, _NOT = (plain(op) for op in (tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor, comparisons.not_))

_ROWS = [
    _row("add", 2, "any", 1, "x + y; or of bool", f=plain(operator.add), i=integers.add, b=_OR),
    _row("sub", 2, "number", 1, "x - y", f=floats.sub, i=integers.sub),
    _row("mul", 2, "any", 1, "x * y; and of bool", f=plain(operator.mul), i=integers.mul, b=_AND),
    _row("div", 2, "quotient", 10, "x / y; float64 of integers and bool", f=plain(tirx.Div)),
    _row(
        "floordiv", 2, "bool is int8", 25, "floor(x / y); an integer // 0 is 0", f=floats.floordiv, i=integers.floordiv
    ),
    _row("mod", 2, "bool is int8", 25, "x - y floor(x / y); an integer % 0 is 0", f=floats.mod, i=integers.mod),
    _row(
        "pow",
        2,
        "bool is int8",
        50,
        "x ** y; an integer to a power below 0 is 0, unless it is 1 or -1",
        f=transcendental.power,
        i=integers.power,
    ),
    _extremum("minimum", "the smaller of x and y; NaN if either is", comparisons.minimum),
    _extremum("maximum", "the larger of x and y; NaN if either is", comparisons.maximum),
    _row("clip", 3, "any", 4, "min(max(x, low), high); NaN if any is", every=comparisons.clip),
    _row("relu", 1, "any", 1, "max(x, 0); NaN of NaN", every=comparisons.relu),
    _row("where", 3, "any", 1, "x where the condition is not 0, else y", every=_choose, conditions=1),
    _comparison("eq", "=="),
    _comparison("ne", "!="),
    _comparison("lt", "<"),
    _comparison("le", "<="),
    _comparison("gt", ">"),
    _comparison("ge", ">="),
    _row("neg", 1, "number", 1, "-x", f=plain(floats.minus), i=integers.neg),
    _row("abs", 1, "any", 1, "|x|; the smallest integer is its own", f=plain(tirx.abs), i=integers.absolute, b=_same),
    _row("conj", 1, "bool is int8", 1, "the complex conjugate; a real number is its own", every=_same),
    _row("real", 1, "any", 1, "the real part; a real number is its own", every=_same),
    _row("imag", 1, "any", 1, "the imaginary part; 0 of a real number", every=_no_imaginary_part),
    _row("angle", 1, "float", 50, "the angle to the positive axis in radians, in (-pi, pi]", f=_angle),
    _row("sign", 1, "number", 2, "-1, 0 or 1; NaN of NaN", f=floats.sign, i=integers.sign),
    _row(
        "reciprocal",
        1,
        "bool is int8",
        10,
        "1 / x; of an integer truncated, and 0 for 0",
        f=floats.reciprocal,
        i=integers.reciprocal,
    ),
    _row("square", 1, "bool is int8", 1, "x * x", f=floats.square, i=integers.square),
    _row("sqrt", 1, "float", 10, "the square root", f=plain(tirx.sqrt)),
    _row("rsqrt", 1, "float", 20, "1 / sqrt(x)", f=floats.rsqrt),
    _row("exp", 1, "float", 20, "e ** x", f=transcendental.exp),
    _row("log", 1, "float", 20, "the natural logarithm", f=transcendental.log),
    _row("logaddexp", 2, "float", 50, "log(exp(x) + exp(y))", f=transcendental.logaddexp),
    _row("tanh", 1, "float", 30, "the hyperbolic tangent", f=transcendental.tanh),
    _row("sigmoid", 1, "float", 30, "1 / (1 + exp(-x))", f=transcendental.sigmoid),
    _row("gelu", 1, "float", 50, "x Phi(x), Phi the normal distribution function", f=transcendental.gelu),
    _row("gelu_tanh", 1, "float", 40, "x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))) / 2", f=transcendental.gelu_tanh),
    _row("erf", 1, "float", 40, "the error function", f=transcendental.erf),
    _row("sin", 1, "float", 30, "the sine of x radians", f=transcendental.sin),
    _row("cos", 1, "float", 30, "the cosine of x radians", f=transcendental.cos),
    _rounding("floor", tirx.floor, "the largest integer not above x"),
    _rounding("ceil", tirx.ceil, "the smallest integer not below x"),
    _rounding("round", tirx.nearbyint, "the nearest integer, ties to even"),
    _rounding("trunc", tirx.trunc, "x without its fraction"),
    _test("isnan", "NaN", floats.is_nan, False),
    _test("isinf", "an infinity", floats.size_compared(tirx.EQ), False),
    _test("isfinite", "neither NaN nor an infinity", floats.size_compared(tirx.LT), True),
    _row("logical_and", 2, "truth", 1, "x != 0 and y != 0", b=_AND),
    _row("logical_or", 2, "truth", 1, "x != 0 or y != 0", b=_OR),
    _row("logical_xor", 2, "truth", 1, "(x != 0) != (y != 0)", b=_XOR),
    _row("logical_not", 1, "truth", 1, "x == 0", b=_NOT),
    _row("bitwise_and", 2, "bits", 1, "x & y", every=_AND),
    _row("bitwise_or", 2, "bits", 1, "x | y", every=_OR),
    _row("bitwise_xor", 2, "bits", 1, "x ^ y", every=_XOR),
    _row("bitwise_not", 1, "bits", 1, "~x", i=integers.bitwise_not, b=_NOT),
    _row(
        "left_shift",
        2,
        "shift",
        2,
        "x << y; 0 where y is negative or no less than the number of bits",
        i=integers.left_shift,
    ),
    _row("right_shift", 2, "shift", 2, "x >> y; y below 0 or too large leaves only the sign", i=integers.right_shift),
]
POINTWISE: dict[str, Pointwise] = {row.name: row for row in _ROWS}
