"""gscompile against itself: what one build or call differs in, in turns, on the same arrays."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gscompile.bench.measurement import Row
from gscompile.bench.peers.base import Run
from gscompile.bench.timing import Sample, interleaved, timer
from gscompile.bench.workload import Arrays, Workload
from gscompile.errors import GSError


class WrongResultError(GSError):
    """A variant's result is not the expected one."""


def bound(
    w: Workload, arrays: Arrays, want: Any, out: Any = None, symbolic: bool = False, **options: Any
) -> tuple[Run, Any]:
    """A call that is ready to be made, its result compared once with the wanted one; and the array that it writes.

    Raises:
        WrongResultError: it differs.
    """
    module = w.builder(arrays, symbolic, **options).build()
    out = module(*arrays.values()) if out is None else out
    run = module.bind(*arrays.values(), out=out)
    out.fill(0)
    run()
    problem = w.differs(out, want)
    if problem is not None:
        raise WrongResultError(f"bench: {w.name}: {problem}")
    return run, out


def turns(runs: Mapping[str, Run], rounds: int) -> dict[str, Any]:
    """Milliseconds of each in each round."""
    times, _ = interleaved({name: timer(run) for name, run in runs.items()}, rounds)
    return {name: np.array(values) for name, values in times.items()}


def sampled(times: Mapping[str, Any]) -> dict[str, list[float]]:
    """[lower quartile, median, upper quartile] of each."""
    return {name: Sample.of(values).as_json() for name, values in times.items()}


def done(rows: Sequence[Row], of: int, name: str) -> None:
    print(f"{len(rows)}/{of} {name}", file=sys.stderr, flush=True)
