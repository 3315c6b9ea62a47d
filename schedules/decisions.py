"""Choices among several ways to carry out a nest, by estimated time."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.coords import Sizes
from gscompile.ir.dims import Dim, SymDim, evaluate, symbols
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
    """An estimate as TIR, of few operations: what terms have in common is multiplied once."""

    def expr(dim: Dim) -> Expr:
        if isinstance(dim, int):
            return T.const(max(-FAR, min(dim, FAR)))
        return added([(list(monomial), coefficient) for monomial, coefficient in dim.terms])

    def added(terms: list[tuple[list[Any], int]]) -> Expr:
        uses = Counter(atom for factors, _ in terms for atom in set(factors))
        common, most = max(uses.items(), key=lambda u: (u[1], str(u[0])), default=("", 0))
        if most < 2:
            return reduce(operator.add, [reduce(operator.mul, map(atom_of, m), expr(c)) for m, c in terms])
        inner, rest = ([t for t in terms if (common in t[0]) == has] for has in (True, False))
        for factors, _ in inner:
            factors.remove(common)
        shared = atom_of(common) * added(inner)
        return shared + added(rest) if rest else shared

    def atom_of(atom: Any) -> Expr:
        if isinstance(atom, str):
            return threads if atom == _THREADS else sizes.variables[atom]
        # hidden: TVM's simplifier would take each minimum apart case by case; nothing is negative
        operation = {"floordiv": T.quotient, "max": T.maximum, "min": T.minimum}[atom.kind]
        return T.hidden(operation(expr(atom.lhs), expr(atom.rhs)))

    return expr(estimate)
