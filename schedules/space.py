"""What may be chosen for each nest: the rules that apply, their ways, and what they ask for.

The space is found by asking: each rule is applied to the nest as if it had been chosen, and so is each of the ways among which it
would choose by estimated time.  So there is nothing in it that does not apply, and a choice that matters only in one way stands
there only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gscompile.errors import GSError
from gscompile.ir.dims import Dim, evaluate, symbols
from gscompile.ir.nests import Nest
from gscompile.ir.tir import Buffer
from gscompile.schedules.choices import AUTO, RULE, WAY, Choice, Value
from gscompile.schedules.decisions import THREADS
from gscompile.schedules.rule import Context, Rule


@dataclass(frozen=True, slots=True)
class Branch:
    """A rule, and a way of it where it has several.

    Attributes:
        given: the choices that select it; empty for what is chosen where nothing is given.
        free: the other choices that are left, by name.
        estimate: picoseconds, where they are known.
    """

    given: Mapping[str, Value]
    free: Mapping[str, Choice]
    estimate: float | None = None

    @property
    def name(self) -> str:
        """As ``owned-rows: in order``."""
        return ": ".join(map(str, self.given.values())) or AUTO


@dataclass(frozen=True, slots=True)
class NestSpace:
    """What may be chosen for a nest; the first branch is what is chosen where nothing is given."""

    nest: str
    branches: tuple[Branch, ...]


@dataclass(slots=True)
class Explorer:
    """Collects the spaces of nests while a graph is lowered.

    Attributes:
        sizes: of symbols, for estimates.
        threads: for estimates.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    threads: int = 1
    found: list[NestSpace] = field(default_factory=list)

    def look(self, nest: Nest, ctx: Context, rules: Sequence[Rule], scratch: Callable[..., Buffer]) -> None:
        """Find what may be chosen for a nest.

        Args:
            scratch: like the context's ``workspace``, but of storage that no function will have.
        """
        ctx = replace(ctx, nest=nest, workspace=scratch)
        branches = [b for rule in rules for b in self._branches(nest, ctx, rule)]
        tried = (self._asked(nest, ctx, rule, {}) for rule in rules)
        asked, _ = next(found for found in tried if found is not None)
        free = {k: c for k, c in asked.items() if k != WAY}
        self.found.append(NestSpace(nest.name, (Branch({}, free), *branches)))

    def _branches(self, nest: Nest, ctx: Context, rule: Rule) -> Iterator[Branch]:
        """The branches of one rule."""
        given: dict[str, Value] = {RULE: rule.name}
        asked = self._asked(nest, ctx, rule, given)
        if asked is None:
            return
        way = asked[0].pop(WAY, None)
        if way is None:
            yield Branch(given, asked[0], asked[1].get(rule.name))
            return
        for value in way.values:
            if value == AUTO:
                continue
            found = self._asked(nest, ctx, rule, {**given, WAY: value})
            if found is not None:
                found[0].pop(WAY, None)
                yield Branch({**given, WAY: value}, found[0], found[1].get(str(value)))

    def _asked(
        self, nest: Nest, ctx: Context, rule: Rule, given: Mapping[str, Value]
    ) -> tuple[dict[str, Choice], dict[str, float]] | None:
        """What a rule asks for, and its estimates; None where it does not apply."""
        ctx = replace(ctx, choices={nest.name: given}, asked={}, decisions={})
        try:
            if rule.apply(nest, ctx) is None:
                return None
        except GSError:  # sizes that this way cannot have
            return None
        decisions = [d for d in ctx.decisions.get(nest.name, ()) if d.estimates]
        estimates = {w: t for d in decisions for w, e in d.estimates.items() if (t := self._estimate(e)) is not None}
        return dict(ctx.asked.get(nest.name, {})), estimates

    def _estimate(self, estimate: Dim) -> float | None:
        known = {**self.sizes, str(THREADS): self.threads}
        return float(evaluate(estimate, known)) if symbols(estimate) <= set(known) else None
