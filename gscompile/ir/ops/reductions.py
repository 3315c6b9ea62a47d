"""How values combine, in the cells of scatters and in folds: one table.

A scatter combines duplicates in row-major order of the points.  ``update`` keeps the last one.  Integer arithmetic wraps; min
and max propagate NaN, and of zeros of both signs the one that came last stays; bool ``add`` and ``max`` are *or*, ``mul`` and
``min`` are *and*; complex numbers are ordered by the real part, then by the imaginary one.  ``mean`` is the sum divided by how
many values went into it, floored for integers.  ``and or xor`` are of the bits, ``logaddexp`` is ``log(exp(x) + exp(y))`` of
floats.

A fold starts at ``identity`` and takes elements in row-major order.  The fold of no elements is its identity.

:func:`variant` makes the rows that frameworks have beside these, of which only floats see a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from gscompile.errors import ArgumentError, DTypeError
from gscompile.ir import tir as T
from gscompile.ir.ops.elementwise import POINTWISE, Scalar, cast, constant, extremum
from gscompile.ir.tir import Expr, Stmt
from gscompile.ir.types import DTYPES, DType


@dataclass(frozen=True, slots=True)
class Reduction:
    """One row of the table.  Whoever treats rows differently asks for their properties, never for their names.

    Attributes:
        name: as users of scatters write it.
        function: the row of ``POINTWISE`` that combines two values; None for ``update`` and update computations.
        identity: the value that leaves any other unchanged, by dtype; None where there is none.
        kinds: dtype kinds that a scatter may have.
        associative: values may be combined with each other first, beginning with the identity; floats then round otherwise,
            but not more often.
        commutative: the two values may be exchanged.
        idempotent: of two values one stays, so that nothing is rounded and a value may be combined twice.
        ordered: points must be combined one after the other, since nothing is known of the function.
        averaged: a total is divided by how many values went into it.
        fold: the name of the fold; empty where there is none.
        result: dtype of a fold's result, by dtype of the argument (NumPy's rules).
        needs_element: a fold of no elements is refused where the size is known.
        stepwise: 16-bit floats round at every step, as they are stored, rather than once at the end.  (On cuda sums of rows do,
            by atomics; others round once, unless the result is to be deterministic: atomics work on 32 bits.)
        zeros: which of two zeros of both signs a min or max keeps: the ``"last"`` one, the ``"first"``, or by their
            ``"sign"``, -0.0 being less than 0.0.  (On cuda it is any of them.)
    """

    name: str
    function: str | None
    identity: Callable[[DType], Any] | None
    kinds: str = "fciub"
    associative: bool = True
    commutative: bool = True
    idempotent: bool = False
    ordered: bool = False
    averaged: bool = False
    fold: str = ""
    result: Callable[[DType], DType] = lambda d: d
    needs_element: bool = False
    stepwise: bool = False
    zeros: str = "last"

    @property
    def arity(self) -> int:
        """How many tensors it combines at once, each with values of its own."""
        return 1

    @property
    def replaces(self) -> bool:
        """Whether the last value stays as it is."""
        return self.function is None and not self.ordered

    def combine(self, dtype: DType, old: Expr, new: Expr) -> Expr:
        """``old`` reduced with ``new``, both of ``dtype``."""
        if self.function is None:
            return new
        if self.keeps_codes(dtype):
            return extremum(self.function, dtype, *([new, old] if self.zeros == "first" else [old, new]))
        wide = dtype.compute
        a, b = cast(old, dtype, wide), cast(new, dtype, wide)
        value = POINTWISE[self.function].expr(wide, [b, a] if self.zeros == "first" else [a, b])
        if self.zeros == "sign" and dtype.is_float:
            assert self.identity is not None
            sign = -1 if self.identity(wide) > 0 else 1  # nothing is above the identity of a minimum
            zero, side = constant(0, wide), constant(sign, wide)
            value = T.select(T.all_of([a == zero, b == zero]), (a * side + b * side) * side, value)
        return cast(value, wide, dtype)

    def keeps_codes(self, dtype: DType) -> bool:
        """Whether it is a min or max of 16-bit floats, which stay as they are coded."""
        return self.idempotent and dtype.is_float and dtype.bits == 16 and self.zeros != "sign"

    def step(
        self, dtypes: Sequence[DType], old: Sequence[Expr], new: Sequence[Expr], then: Callable[[list[Expr]], Stmt]
    ) -> Stmt:
        """What is done with the :meth:`results`, and before it whatever they are computed by."""
        return then(self.results(dtypes, old, new))

    def results(self, dtypes: Sequence[DType], old: Sequence[Expr], new: Sequence[Expr]) -> list[Expr]:
        """What the cells of all its tensors become, of these dtypes."""
        return [self.combine(d, a, b) for d, a, b in zip(dtypes, old, new, strict=True)]

    def accumulator(self, dtype: DType) -> DType:
        """Where partial results live: narrow floats that would round at each step accumulate in float32."""
        if self.function is None or (self.stepwise and not self.idempotent):
            return dtype
        if self.averaged and dtype.digits and dtype.is_integer:
            return DTYPES["int32" if dtype.kind == "i" else "uint32"]
        return DTYPES["float32"] if dtype.is_float and dtype.bits == 16 and not self.idempotent else dtype.compute

    def neutral(self, dtype: DType) -> Expr:
        """What leaves every value of ``dtype`` as it is, zeros of either sign too: for sums of floats -0.0."""
        assert self.identity is not None
        value = self.identity(dtype)
        return constant(-0.0 if dtype.is_float and value == 0 else value, dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        """The functions are those of the table's row."""
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("identity", "result")}
        return _loaded, (type(self), facts)

    def check(self, op: str, dtype: DType) -> None:
        if dtype.kind not in self.kinds:
            raise DTypeError(f"{op}: reduction {self.name!r} is not defined for {dtype}")


def _loaded(kind: type[Reduction], facts: dict[str, Any]) -> Reduction:
    row = REDUCTIONS.get(facts["name"])
    functions = {"identity": row.identity, "result": row.result} if row else {"identity": None}
    found = kind(**functions, **facts)
    return row if row is not None and found == row else found


def _lowest(dtype: DType) -> Scalar:
    low = float("-inf")
    return complex(low, low) if dtype.is_complex else low if dtype.is_float else dtype.min


def _highest(dtype: DType) -> Scalar:
    high = float("inf")
    return complex(high, high) if dtype.is_complex else high if dtype.is_float else dtype.max


def _sum_type(d: DType) -> DType:
    """NumPy's: small integers and bool sum in int64, small unsigned in uint64, floats in their own type."""
    if d.is_float or d.is_complex:
        return d
    return DTYPES["uint64"] if d.kind == "u" else DTYPES["int64"]


def _mean_type(d: DType) -> DType:
    return d if d.is_float or d.is_complex else DTYPES["float64"]


def _truth(d: DType) -> DType:
    return DTYPES["bool"]


def _all_ones(d: DType) -> int:
    return -1 if d.kind == "i" else d.max


REDUCTIONS: dict[str, Reduction] = {
    r.name: r
    for r in [
        Reduction("update", None, None, "fciubV", commutative=False),
        Reduction("add", "add", lambda d: 0, fold="sum", result=_sum_type),
        Reduction("sub", "sub", lambda d: 0, "fciu", associative=False, commutative=False),
        Reduction("mul", "mul", lambda d: 1, fold="prod", result=_sum_type),
        Reduction("min", "minimum", _highest, idempotent=True, fold="min", needs_element=True),
        Reduction("max", "maximum", _lowest, idempotent=True, fold="max", needs_element=True),
        Reduction("mean", "add", lambda d: 0, "fciu", averaged=True, fold="mean", result=_mean_type),
        Reduction("or", "bitwise_or", lambda d: 0, "iub", idempotent=True, fold="any", result=_truth),
        Reduction("and", "bitwise_and", _all_ones, "iub", idempotent=True, fold="all", result=_truth),
        Reduction("xor", "bitwise_xor", lambda d: 0, "iub"),
        # begun with -inf it would lose the sign of -0.0, hence in the points' order only
        Reduction("logaddexp", "logaddexp", lambda d: float("-inf"), "f", associative=False),
    ]
}
FOLDS: dict[str, Reduction] = {r.fold: r for r in REDUCTIONS.values() if r.fold}


# frameworks' words; messages and graphs say the table's
_WORDS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "any": "or", "all": "and"}


def reduction(spec: str | Reduction, op: str) -> Reduction:
    """The reduction a user named."""
    if isinstance(spec, Reduction):
        return spec
    name = _WORDS.get(spec, spec) if isinstance(spec, str) else None
    if name not in REDUCTIONS:
        raise ArgumentError(f"{op}: unknown reduction {spec!r}; known: {', '.join(REDUCTIONS)}, argmax, argmin")
    return REDUCTIONS[name]


def fold(spec: str, op: str) -> Reduction:
    """The fold a user named, or the one of a scatter's reduction."""
    row = FOLDS.get(spec) or REDUCTIONS.get(_WORDS.get(spec, spec)) if isinstance(spec, str) else None
    if row is None or not row.fold:
        raise ArgumentError(f"{op}: unknown reduction {spec!r}; known: {', '.join(FOLDS)}")
    return row


def variant(name: str, *, stepwise: bool = False, zeros: str = "last") -> Reduction:
    """A row that treats floats in another way; see :class:`Reduction`."""
    return replace(REDUCTIONS[name], stepwise=stepwise, zeros=zeros)
