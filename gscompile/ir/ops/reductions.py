"""How a scatter combines what is in a cell with what arrives: a table.

Duplicates are combined in row-major order of the points.  ``update`` keeps the last one.  Integer arithmetic wraps; min
and max propagate NaN, and of zeros of both signs the one that came last stays; bool ``add`` and ``max`` are *or*, ``mul`` and
``min`` are *and*.  ``mean`` is the sum divided by how many values went into it, floored for integers.

:func:`variant` makes the rows that frameworks have beside these, of which only floats see a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gscompile.errors import ArgumentError, DTypeError
from gscompile.ir import tir as T
from gscompile.ir.ops.elementwise import POINTWISE, cast, constant
from gscompile.ir.tir import Expr
from gscompile.ir.types import DTYPES, DType


@dataclass(frozen=True, slots=True)
class Reduction:
    """One row of the table.

    Attributes:
        name: as users write it.
        function: the row of ``POINTWISE`` that combines two values; None for ``update``.
        identity: the value that leaves any other unchanged, by dtype; None where there is none.
        exact: the result does not depend on the order (for integers; and for floats where no rounding happens).
        kinds: dtype kinds that are allowed.
        stepwise: 16-bit floats round at every step, as they are stored, rather than once at the end.  (On cuda they round once
            all the same, unless the result is to be deterministic: atomics work on 32 bits.)
        zeros: which of two zeros of both signs a min or max keeps: the ``"last"`` one, the ``"first"``, or by their
            ``"sign"``, -0.0 being less than 0.0.  (On cuda it is any of them.)
    """

    name: str
    function: str | None
    identity: Callable[[DType], float | int | bool] | None
    exact: bool
    kinds: str = "fiub"
    stepwise: bool = False
    zeros: str = "last"

    @property
    def arity(self) -> int:
        """How many tensors it combines at once, each with values of its own."""
        return 1

    @property
    def ordered(self) -> bool:
        """Whether any order but that of the points may give something else entirely, for integers too."""
        return False

    def combine(self, dtype: DType, old: Expr, new: Expr) -> Expr:
        """``old`` reduced with ``new``, both of ``dtype``."""
        if self.function is None:
            return new
        wide = dtype.compute
        a, b = cast(old, dtype, wide), cast(new, dtype, wide)
        value = POINTWISE[self.function].expr(wide, [b, a] if self.zeros == "first" else [a, b])
        if self.zeros == "sign" and dtype.is_float:
            sign = -1 if self.name == "min" else 1
            zero, side = constant(0, wide), constant(sign, wide)
            value = T.select(T.all_of([a == zero, b == zero]), (a * side + b * side) * side, value)
        return cast(value, wide, dtype)

    def results(self, dtypes: Sequence[DType], old: Sequence[Expr], new: Sequence[Expr]) -> list[Expr]:
        """What the cells of all its tensors become, of these dtypes."""
        return [self.combine(d, a, b) for d, a, b in zip(dtypes, old, new, strict=True)]

    def accumulator(self, dtype: DType) -> DType:
        """Where partial results live: 16-bit floats that would round at each step accumulate in float32."""
        if self.function is None or self.stepwise:
            return dtype
        return DTYPES["float32"] if dtype.is_float and dtype.bits == 16 and not self.exact else dtype.compute

    def check(self, op: str, dtype: DType) -> None:
        if dtype.kind not in self.kinds:
            raise DTypeError(f"{op}: reduction {self.name!r} is not defined for {dtype}")


def _lowest(dtype: DType) -> float | int:
    return float("-inf") if dtype.is_float else dtype.min


def _highest(dtype: DType) -> float | int:
    return float("inf") if dtype.is_float else dtype.max


REDUCTIONS: dict[str, Reduction] = {
    r.name: r
    for r in [
        Reduction("update", None, None, True),
        Reduction("add", "add", lambda d: 0, False),
        Reduction("sub", "sub", lambda d: 0, False, "fiu"),
        Reduction("mul", "mul", lambda d: 1, False),
        Reduction("min", "minimum", _highest, True),
        Reduction("max", "maximum", _lowest, True),
        Reduction("mean", "add", lambda d: 0, False, "fiu"),
    ]
}


def reduction(spec: str | Reduction, op: str) -> Reduction:
    """The reduction a user named."""
    if isinstance(spec, Reduction):
        return spec
    if not isinstance(spec, str) or spec not in REDUCTIONS:
        raise ArgumentError(f"{op}: unknown reduction {spec!r}; known: {', '.join(REDUCTIONS)}")
    return REDUCTIONS[spec]


def variant(name: str, *, stepwise: bool = False, zeros: str = "last") -> Reduction:
    """A row that treats floats in another way; see :class:`Reduction`."""
    return replace(REDUCTIONS[name], stepwise=stepwise, zeros=zeros)
