"""Choices among several ways to carry out a nest, by estimated time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.coords import Sizes
from gscompile.ir.dims import Dim, SymDim, evaluate, fold, symbols
from gscompile.ir.tir import Expr, Stmt

_THREADS = "(threads)"  # no size can have this name
THREADS: Dim = SymDim((((_THREADS,), 1),))
"""The number of threads of a call, in estimates."""

ONE_BY_ONE = "one by one"
"""Among the ways of a decision: all ways that do not group points."""

Condition: TypeAlias = "bool | Expr"
"""What is known now is a bool, what only a call tells an expression."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a nest is carried out as it is.

    Attributes:
        nest: its name.
        facts: what the estimates were made of, by name.
        estimates: picoseconds of each way, formulas where they depend on sizes or :data:`THREADS` that a call brings; empty where
            there was nothing to estimate.
    """

    nest: str
    facts: Mapping[str, Dim | str]
    estimates: Mapping[str, Dim]

    def least(self, way: str, sizes: Sizes, threads: Expr, counts: Sequence[int]) -> Condition:
        """Whether a way takes the least time; of equal ones the first does.

        Args:
            threads: how many a call has.
            counts: how many that may be, where sizes are known.
        """
        if way not in self.estimates:
            return False
        known = all(symbols(d) <= {_THREADS} for d in self.estimates.values())
        if known:
            found = {self.at({_THREADS: n}) == way for n in counts}
            if len(found) == 1:
                return found.pop()
        names = [*self.estimates]
        here = names.index(way)
        mine = in_code(self.estimates[way], sizes, threads)
        others = [(k, in_code(self.estimates[n], sizes, threads)) for k, n in enumerate(names) if k != here]
        return T.all_of([mine < x if k < here else mine <= x for k, x in others]) if others else True

    def at(self, sizes: Mapping[str, int]) -> str:
        """The way of least time for known sizes."""
        return min(self.estimates, key=lambda way: evaluate(self.estimates[way], sizes))

    def text(self, sizes: Mapping[str, int], threads: int) -> str:
        """Facts and estimates, one line each; microseconds where the sizes that they depend on are given."""
        known = {**sizes, _THREADS: threads}

        def shown(d: Dim | str) -> str:
            return d if isinstance(d, str) else f"{evaluate(d, known):,}" if symbols(d) <= set(known) else str(d)

        facts = ", ".join(f"{name} {shown(d)}" for name, d in self.facts.items())
        if not self.estimates:
            return facts
        if not all(symbols(d) <= set(known) for d in self.estimates.values()):
            return f"{facts}\n  chosen at each call: {', '.join(self.estimates)}"
        least = self.at(known)
        times = (f"{way} {evaluate(d, known) / 1e6:,.1f} us" for way, d in self.estimates.items())
        return f"{facts}\n  estimated: {', '.join(times)}\n  least: {least}"


def first_of(ways: Sequence[tuple[Condition, Callable[[], Stmt]]]) -> Stmt:
    """The first statement whose condition holds, which of the last one is True; those of False are not made."""
    (condition, make), *rest = [w for w in ways if w[0] is not False]
    if condition is True:
        return make()
    # by way of memory: TVM's simplifier would take the condition for a fact, and all that follows from it, wherever it looks
    return T.kept(["least"], [T.cast("int64", condition)], lambda x: T.if_(x[0] != 0, make(), first_of(rest)))


FAR = 1 << 61  # a number past int64 is as good as this one: nothing takes 26 days


def in_code(estimate: Dim, sizes: Sizes, threads: Expr) -> Expr:
    """An estimate as TIR."""

    def name(symbol: str) -> Expr:
        return threads if symbol == _THREADS else sizes.variables[symbol]

    found: Expr = fold(estimate, name, lambda n: T.const(max(-FAR, min(n, FAR))), _EXPR_OPS)
    return found


# hidden: TVM's simplifier would take each minimum apart case by case
_EXPR_OPS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: T.hidden(T.quotient(a, b)),  # nothing is negative
    "max": lambda a, b: T.hidden(T.maximum(a, b)),
    "min": lambda a, b: T.hidden(T.minimum(a, b)),
}
