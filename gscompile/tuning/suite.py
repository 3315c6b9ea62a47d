"""Many graphs within a time budget, the most promising first."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gscompile.bench.sample import draw, workload
from gscompile.frontend.builder import Builder
from gscompile.tuning.indices import index_inputs
from gscompile.tuning.result import Tuned
from gscompile.tuning.tune import tune

FIRST = 8
"""Trials of each graph in a first round, which says how much there is to gain."""
DISTRIBUTIONS = {
    "uniform": "uniform",
    "zipf": "zipf:1.1",
    "sorted": "sorted",
    "sorted in long runs": "runs:200",
    "constant": "constant",
    "permutation": "permutation",
    "blocked": "blocked:16",
}
"""What the benchmark's sample calls them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A graph, and what it is tuned for."""

    builder: Builder
    indices: Any = None
    sizes: Mapping[str, int] = field(default_factory=dict)


def sampled(count: int, seed: int) -> list[Entry]:
    """So many workloads of ``gscompile bench --sample``, with sizes known, and their distributions of indices."""
    found = []
    for d in draw(count, seed):
        w = workload(d)
        b = w.builder(w.arrays(seed))
        indices = DISTRIBUTIONS[d["draw"]] if index_inputs(b.graph()) else None
        found.append(Entry(b, indices))
    return found


def tune_all(
    entries: Sequence[Entry],
    target: Any = "llvm",
    *,
    trials: int = 64,
    time: float | None = None,
    database: Any = None,
    **options: Any,
) -> Iterator[Tuned]:
    """Tune graphs, and give each result when it is final.

    With a time budget and a database, each is tried a little first; then the rest of the time goes to them in the order of the
    milliseconds that a call has won so far, a fair share of what is left to each.

    Args:
        trials: of each graph.
        time: seconds for all of them; None for as long as it takes.
        options: of :func:`gscompile.tune`.
    """
    begin = clock.monotonic()

    def share(left: int) -> float | None:
        return None if time is None else max(time - (clock.monotonic() - begin), 0.0) / left

    def one(e: Entry, trials: int, limit: float | None) -> Tuned:
        return tune(
            e.builder, target, indices=e.indices, sizes=e.sizes, trials=trials, time=limit, database=database, **options
        )

    order = list(entries)
    if len(order) > 1 and time is not None and database is not None:
        won = []
        for k, e in enumerate(order):
            r = one(e, min(FIRST, trials), share(2 * len(order) - k))
            if r.interrupted:
                yield r
                return
            won.append(r.default_ms - r.ms)
        order = [order[k] for k in sorted(range(len(order)), key=lambda k: -won[k])]
    for k, e in enumerate(order):
        found = one(e, trials, share(len(order) - k))
        yield found
        if found.interrupted:
            return
