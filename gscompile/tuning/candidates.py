"""Candidates: what may be chosen for each nest of a graph, walked through by whoever searches."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from gscompile.compiler.lower import lower
from gscompile.compiler.targets import Target
from gscompile.ir.graph import Graph
from gscompile.schedules import Choices, Explorer, NestSpace
from gscompile.schedules.space import Branch

Candidate: TypeAlias = "dict[str, dict[str, int | str]]"
"""By the name of a nest: what is chosen other than by default."""


class Suggest(Protocol):
    """(name, values) -> one of them."""

    def __call__(self, name: str, values: Sequence[Any]) -> Any: ...


def text_of(candidate: Choices) -> str:
    """The same for equal candidates."""
    return json.dumps({n: dict(c) for n, c in candidate.items() if c}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Space:
    """All candidates for a graph, each valid."""

    nests: tuple[NestSpace, ...]

    @staticmethod
    def of(
        graph: Graph,
        target: Target,
        rules: Sequence[Any] = (),
        deterministic: bool = False,
        sizes: Mapping[str, int] | None = None,
        threads: int = 1,
    ) -> Space:
        """What the rules leave open for a graph."""
        explorer = Explorer(sizes or {}, threads)
        lower(graph, target, rules, deterministic, explorer=explorer)
        known = not graph.symbols
        # of known sizes the first branch is one of the others: its numbers need not be tried twice
        nests = (NestSpace(n.nest, (Branch({}, {}), *n.branches[1:])) if known else n for n in explorer.found)
        return Space(tuple(n for n in nests if _count(n) > 1))

    def walk(self, suggest: Suggest) -> Candidate:
        """The candidate that somebody's suggestions come to."""
        found: Candidate = {}
        for nest in self.nests:
            names = [b.name for b in nest.branches]
            branch = nest.branches[names.index(suggest(nest.nest, names))]
            given = dict(branch.given)
            for name, choice in branch.free.items():
                value = suggest(f"{nest.nest}/{branch.name}/{name}", choice.values)
                if value != choice.default:
                    given[name] = value
            if given:
                found[nest.nest] = given
        return found

    def suggestions(self, candidate: Choices) -> dict[str, Any] | None:
        """What would have to be suggested for a candidate; None where it is none of this space."""
        found: dict[str, Any] = {}

        def suggest(name: str, values: Sequence[Any]) -> Any:
            nest, _, rest = name.partition("/")
            given = candidate.get(nest, {})
            if not rest:
                branches = next(n for n in self.nests if n.nest == nest).branches
                fitting = [b for b in branches if all(given.get(k) == v for k, v in b.given.items())]
                found[name] = max(fitting, key=lambda b: len(b.given)).name
            else:
                default = self._default(nest, rest)
                found[name] = given.get(rest.rpartition("/")[2], default)
            return found[name] if found[name] in values else values[0]

        same = text_of(self.walk(suggest)) == text_of(candidate)
        return found if same else None

    def _default(self, nest: str, rest: str) -> Any:
        branch, _, name = rest.rpartition("/")
        branches = next(n for n in self.nests if n.nest == nest).branches
        return next(b for b in branches if b.name == branch).free[name].default

    def first(self) -> list[Candidate]:
        """What to begin with: each branch of each nest by itself, what is estimated to take least before others."""
        found: list[tuple[float, Candidate]] = []
        for nest in self.nests:
            for b in nest.branches[1:]:
                found.append((math.inf if b.estimate is None else b.estimate, {nest.nest: dict(b.given)}))
        return [c for _, c in sorted(found, key=lambda x: x[0])]

    def __len__(self) -> int:
        return math.prod(_count(n) for n in self.nests)

    def __iter__(self) -> Iterator[Candidate]:
        """All candidates, the default first."""
        for picked in itertools.product(*(list(_all(n)) for n in self.nests)):
            yield {n.nest: given for n, given in zip(self.nests, picked, strict=True) if given}

    def drawn(self, rng: random.Random) -> Candidate:
        """A candidate at random, each branch as often as any other."""
        return self.walk(lambda name, values: rng.choice(list(values)))


def _count(nest: NestSpace) -> int:
    return sum(math.prod(len(c.values) for c in b.free.values()) for b in nest.branches)


def _all(nest: NestSpace) -> Iterator[dict[str, Any]]:
    for b in nest.branches:
        orders = ([c.default, *(v for v in c.values if v != c.default)] for c in b.free.values())
        for values in itertools.product(*orders):
            changed = {k: v for (k, c), v in zip(b.free.items(), values, strict=True) if v != c.default}
            yield {**b.given, **changed}
