"""Timing: interleaved rounds, medians, and a plain copy of the same bytes as the floor.

Contenders take turns, round after round, so that what disturbs the machine disturbs all of them; a round runs each as often
as fills a few milliseconds.  A contender whose result is wrong is not timed.
"""

from __future__ import annotations

import ctypes
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gscompile.bench.peers import PEERS, Peer, Run
from gscompile.bench.workloads import Workload
from gscompile.dims import evaluate
from gscompile.threads import get_num_threads, set_num_threads

SLICE_MS = 20.0  # of one contender in one round


@dataclass
class Row:
    """What was measured of one workload.

    Attributes:
        ms: median milliseconds of each contender; ``gscompile`` is ours.
        floor_ms: of a plain copy, on as many threads, of as many bytes as must move.
        moved: those bytes.
        wrong: contenders whose results differ from NumPy's, with what was seen; they are not timed.
    """

    name: str
    moved: int
    floor_ms: float = 0.0
    ms: dict[str, float] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    @property
    def best_peer(self) -> tuple[str, float] | None:
        """The fastest of the others."""
        others = {k: v for k, v in self.ms.items() if k != "gscompile"}
        return min(others.items(), key=lambda kv: kv[1]) if others else None

    @property
    def ratio(self) -> float | None:
        """How many times as long the best peer takes."""
        best = self.best_peer
        return None if best is None or "gscompile" not in self.ms else best[1] / self.ms["gscompile"]


class Copy:
    """A plain copy of bytes, shared among threads."""

    def __init__(self, nbytes: int, threads: int) -> None:
        self.source = np.ones(max(nbytes, 1), np.uint8)
        self.target = np.zeros_like(self.source)
        cuts = [nbytes * k // threads for k in range(threads + 1)]
        self.pieces = [(a, b - a) for a, b in itertools.pairwise(cuts)]
        self.pool = ThreadPoolExecutor(threads)

    def __call__(self) -> None:
        s, t = self.source.ctypes.data, self.target.ctypes.data
        first, *rest = self.pieces
        others = [self.pool.submit(ctypes.memmove, t + at, s + at, n) for at, n in rest]
        ctypes.memmove(t + first[0], s + first[0], first[1])
        for other in others:
            other.result()


def measure(w: Workload, peers: Sequence[str], *, rounds: int = 15, seed: int = 0, threads: int | None = None) -> Row:
    """Check and time one workload.

    Args:
        peers: names in :data:`gscompile.bench.peers.PEERS`.
        threads: of every contender; by default one per core.
    """
    was = get_num_threads()
    threads = threads or was
    try:
        set_num_threads(threads)
        return _measure(w, [PEERS[p] for p in peers], rounds, seed, threads)
    finally:
        set_num_threads(was)


def _measure(w: Workload, peers: Sequence[Peer], rounds: int, seed: int, threads: int) -> Row:
    arrays = w.make(np.random.default_rng(seed))
    want = w.expected(**arrays)
    module = w.builder(arrays).build()
    row = Row(w.name, int(evaluate(module.stats.min_bytes, {})))
    out = np.empty(want.shape, want.dtype)
    # a tiny call is timed with everything that a user's call does
    ours: Run = (
        (lambda: module(*arrays.values(), out=out))
        if w.name.startswith("tiny")
        else module.bind(*arrays.values(), out=out)
    )
    contenders: dict[str, Run] = {"gscompile": ours}
    for p in peers:
        run = p.prepare(w, arrays, threads)
        if run is not None:
            contenders[p.name] = run
    for name, run in list(contenders.items()):
        problem = _differs(np.asarray(run()), want, w.exact)
        if problem:
            row.wrong[name] = problem
            del contenders[name]
    timed: dict[str, Callable[[], Any]] = {**contenders, "floor": Copy(row.moved // 2, threads)}
    medians = interleaved(timed, rounds)
    row.floor_ms = medians.pop("floor")
    row.ms = medians
    return row


def interleaved(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each, over rounds in which they take turns."""
    repeats = {}
    for name, run in contenders.items():
        run()
        begin = time.perf_counter()
        run()
        one = max((time.perf_counter() - begin) * 1e3, 1e-4)
        repeats[name] = max(1, int(SLICE_MS / one))
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for k in range(rounds):
        for name in order[k % len(order) :] + order[: k % len(order)]:
            run, n = contenders[name], repeats[name]
            begin = time.perf_counter()
            for _ in range(n):
                run()
            times[name].append((time.perf_counter() - begin) * 1e3 / n)
    return {name: statistics.median(t) for name, t in times.items()}


def _differs(got: Any, want: Any, exact: bool) -> str | None:
    """How a result differs from NumPy's; sums of float32 may by rounding."""
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if exact:
        bad = int((got != want).sum())
        return f"{bad} of {want.size} elements differ" if bad else None
    scale = float(np.abs(want).max()) or 1.0
    worst = float(np.abs(got.astype(np.float64) - want).max()) / scale
    return f"off by {worst:.1e} of the largest" if worst > 1e-3 else None
