"""Every rule for cuda with every dtype, reduction, policy and kind of sizes: the graphs of ``pytest --product``.

What the graphs are is said in :mod:`tests.ir.rules`.  Those that do not exist, or that another rule has, are named by
:data:`ABSENT`, and looked for all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gscompile as gs
from gscompile.compiler.lower import lower
from gscompile.compiler.targets import resolve
from gscompile.ir.ops.reductions import REDUCTIONS, variant
from gscompile.ir.types import DTYPES as KNOWN
from tests.ir.rules import FOLDS, GATHERS, OFFSETS, SCATTERS, SEGMENTS, Case, without_totals
from tests.oracle import BOUNDS

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
DECLARED = {
    **GATHERS,
    **{rule: said[-1] for rule, said in (SCATTERS | FOLDS).items()},
    "serial-rows": FOLDS["scans"][-1],
    "segments": dict(SEGMENTS)["max"],
}
KINDS = ("static", "symbolic")
ORDERINGS = ("min", "max", "argmin", "argmax")
STEPWISE = "add_stepwise"  # which rounds at every step
FOLDED = ("sum", "prod", "min", "max", "mean", "any", "all")


@dataclass(frozen=True)
class Combination:
    """One of the product; an empty word where a rule has no such thing."""

    rule: str
    dtype: str
    reduction: str
    bounds: str
    kind: str

    def case(self) -> Case:
        """Its graph."""
        declare = without_totals if self.bounds == OFFSETS else DECLARED[self.rule]
        sizes: dict[str, Any] = {"n": "n", "k": "k"} if self.kind == "symbolic" else {"n": 3000, "k": 5000}
        if self.rule == "privatised" and self.kind == "static":
            sizes["n"] = 300
        reduction = variant("add", stepwise=True) if self.reduction == STEPWISE else self.reduction
        said = {"reduction": reduction, "bounds": self.bounds}
        what = {name: x for name, x in said.items() if x}
        words = tuple(x for x in (self.dtype, self.reduction, self.bounds, self.kind) if x)
        return Case(self.rule, words, lambda b: declare(b, self.dtype, **what, **sizes))

    @property
    def absent(self) -> str | None:
        """Why there is no such graph; None if there is."""
        return next((reason for reason, there in ABSENT.items() if there(self)), None)

    def exists(self) -> bool:
        """Whether the rule carries out such a graph."""
        case = self.case()
        b = gs.Builder(case.name)
        try:
            b.output(case.declare(b))
        except gs.GSError:
            return False
        lowered = lower(b.graph(), resolve("cuda"), deterministic=self.rule == "fold-parts")
        return self.rule in {rule for _, rule in lowered.summary.stats.kernels}


def _refused(c: Combination) -> bool:
    if c.bounds == OFFSETS or c.reduction == STEPWISE:
        return False
    return c.rule in (*SCATTERS, "segments") and KNOWN[c.dtype].kind not in REDUCTIONS[c.reduction].kinds


def _complex_products(c: Combination) -> bool:
    return c.dtype in COMPLEX and c.reduction == "cumprod"


# reason -> of which combinations
ABSENT: dict[str, Callable[[Combination], bool]] = {
    "a reduction has no such dtype": _refused,
    "update has rules of its own": lambda c: c.reduction == "update" and c.rule not in ("direct", "last-writer"),
    "no other reduction has a last writer": lambda c: c.rule == "last-writer" and c.reduction != "update",
    "integers are the same in any order": lambda c: c.rule in ("listed", "ordered") and c.dtype not in FLOATS,
    "integers, extremes and truths are the same in any order": lambda c: (
        c.rule == "fold-parts" and (c.dtype not in FLOATS or c.reduction not in ("sum", "prod", "mean"))
    ),
    "the order of points matters": lambda c: (
        c.rule in ("privatised", "sorted-elements", "sorted-rows", "segments") and c.reduction in ("sub", "logaddexp")
    ),
    "points that are filled in are of no segment": lambda c: c.rule == "segments" and c.bounds == "fill",
    "truths have no differences": lambda c: c.rule == "segments" and c.dtype == "bool",
    "neighbouring bools are not moved at once": lambda c: c.rule in ("elements", "bags") and c.dtype == "bool",
    "truths are not shuffled": lambda c: (
        (c.rule in ("fold-rows", "bags") or c.bounds == OFFSETS) and c.reduction in ("any", "all")
    ),
    "nor are the least and the most of 8 and 16 bits, but for those that float32 stands for": lambda c: (
        c.rule in ("fold-rows", "bags")
        and c.reduction in ORDERINGS
        and KNOWN[c.dtype].bits < 32
        and c.dtype != "bfloat16"
    ),
    "rows of complex products are taken one by one": lambda c: c.rule == "scans" and _complex_products(c),
    "others are scans": lambda c: c.rule == "serial-rows" and not _complex_products(c),
    "a division by an unknown size spills": lambda c: (c.rule, c.bounds, c.kind) == ("elements", "wrap", "symbolic"),
}


def product(dtype: str) -> Iterator[Combination]:
    """All of a dtype; complex numbers are pairs of floats, and have kernels of their own for products along an axis only."""
    for kind in KINDS:
        for rule in ("scans", "serial-rows"):
            yield from (Combination(rule, dtype, r, "", kind) for r in ("cumsum", "cumprod"))
        if dtype in COMPLEX:
            continue
        for bounds in BOUNDS:
            yield from (Combination(rule, dtype, "", bounds, kind) for rule in GATHERS)
            yield from (Combination(rule, dtype, r, bounds, kind) for rule in SCATTERS for r in REDUCTIONS)
            if dtype in ("float16", "bfloat16"):
                yield Combination("atomics", dtype, STEPWISE, bounds, kind)
            yield from (Combination("segments", dtype, r, bounds, kind) for r in REDUCTIONS)
            yield from (Combination("bags", dtype, r, bounds, kind) for r in FOLDED)
        yield from (Combination("segments", dtype, r, OFFSETS, kind) for r in FOLDED)
        yield from (Combination("fold-rows", dtype, r, "", kind) for r in (*FOLDED, "argmax", "argmin"))
        yield from (
            Combination(rule, dtype, r, "", kind) for rule in ("fold-columns", "folds", "fold-parts") for r in FOLDED
        )
