"""Many graphs within a time budget, the most promising first."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from gscompile.bench.sample import draw, workload
from gscompile.compiler.tuned import Database
from gscompile.frontend.builder import Builder
from gscompile.tuning.cluster import Ask, Cluster
from gscompile.tuning.indices import index_inputs
from gscompile.tuning.processes import forks
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


class Alone:
    """This process, which tunes one after the other."""

    machines = 1

    def run(self, asks: Sequence[Ask], records: Database | None) -> Iterator[tuple[int, Tuned]]:
        """The results with their numbers, up to one that was interrupted."""
        for k, ask in enumerate(asks):
            found = tune(**ask(), database=None if records is None else records.path)
            yield k, found
            if found.interrupted:
                return


def tune_all(
    entries: Sequence[Entry],
    target: Any = "llvm",
    *,
    trials: int = 64,
    time: float | None = None,
    database: Any = None,
    ray: str | None = None,
    **options: Any,
) -> Iterator[Tuned]:
    """Tune graphs, and give each result when it is final.

    With a time budget and a database, each is tried a little first; then the rest of the time goes to them in the order of the
    milliseconds that a call has won so far, a fair share of what is left to each.

    Args:
        trials: of each graph.
        time: seconds for all of them; None for as long as it takes.
        ray: the address of a Ray cluster, whose machines tune a graph each at a time: :class:`gscompile.tuning.cluster.Cluster`.
        options: of :func:`gscompile.tune`.

    Raises:
        GSError: a graph cannot be tuned; on a cluster, when the others are.
    """
    begin = clock.monotonic()
    records = None if database is None else Database(database)

    def share(left: int, machines: int) -> float | None:
        if time is None:
            return None
        rest = max(time - (clock.monotonic() - begin), 0.0)
        return min(rest, rest * machines / left)

    def asked(e: Entry, trials: int, left: int, machines: int) -> Ask:
        return lambda: {
            "source": e.builder,
            "target": target,
            "indices": e.indices,
            "sizes": e.sizes,
            "trials": trials,
            "time": share(left, machines),
            **options,
        }

    with forks(), nullcontext(Alone()) if ray is None else Cluster(ray) as place:
        order = list(entries)
        if len(order) > 1 and time is not None and records is not None:
            few, most = min(FIRST, trials), 2 * len(order)
            won: dict[int, float] = {}
            asks = [asked(e, few, most - k, place.machines) for k, e in enumerate(order)]
            for k, r in place.run(asks, records):
                if r.interrupted:
                    yield r
                    return
                won[k] = r.default_ms - r.ms
            order = [order[k] for k in sorted(won, key=lambda k: -won[k])]
        asks = [asked(e, trials, len(order) - k, place.machines) for k, e in enumerate(order)]
        for _, found in place.run(asks, records):
            yield found
