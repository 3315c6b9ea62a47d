"""The workloads on one thread, two, four and so on up to the cores that there are; beside them a copy of as many bytes."""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.bench.measurement import MEDIAN, Request, Row
from gscompile.bench.peers.base import Run
from gscompile.bench.peers.ours import copy
from gscompile.bench.report import markdown, number
from gscompile.bench.variants import bound, done, sampled, turns
from gscompile.runtime.threads import set_num_threads

HELP = "one thread against two, four and so on"


def measure(request: Request) -> list[Row]:
    """Rows: ``workload``, and by number of threads ``ms`` and ``floor_ms``, of a copy of the bytes that must move."""
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n < request.threads] + [request.threads]
    rows: list[Row] = []
    for w in request.workloads:
        arrays = w.arrays(most=request.most)
        run, _ = bound(w, arrays, w.expected(**arrays))
        half = w.moved(arrays) // 2
        times = turns(
            {
                **{str(n): _with_threads(n, run) for n in counts},
                **{f"floor {n}": copy(half, n) for n in counts},
            },
            request.rounds,
        )
        found = sampled(times)
        rows.append(
            {
                "workload": w.name,
                "ms": {str(n): found[str(n)] for n in counts},
                "floor_ms": {str(n): found[f"floor {n}"] for n in counts},
            }
        )
        done(rows, len(request.workloads), w.name)
    set_num_threads(request.threads)
    return rows


def _with_threads(n: int, run: Run) -> Run:
    def timed() -> None:
        set_num_threads(n)
        run()

    return timed


def table(rows: Sequence[Row]) -> str:
    counts = [*rows[0]["ms"]] if rows else []

    def speedup(times: dict[str, list[float]]) -> str:
        return f"{times[counts[0]][MEDIAN] / times[counts[-1]][MEDIAN]:.2f}"

    lines = [
        [r["workload"], *(number(r["ms"][n][MEDIAN]) for n in counts), speedup(r["ms"]), speedup(r["floor_ms"])]
        for r in rows
    ]
    return markdown(["ms", *(f"{n} threads" for n in counts), "speedup", "of a copy"], lines)
