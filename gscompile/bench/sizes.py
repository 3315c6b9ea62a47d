"""Time against size, from ten points to as many as the memory holds."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gscompile.bench import plots
from gscompile.bench.kinds import gather, gather_nd, put, scatter, take
from gscompile.bench.machine import memory
from gscompile.bench.measurement import MEDIAN, Request, Row
from gscompile.bench.peers.base import Run
from gscompile.bench.peers.numpy import NumPy
from gscompile.bench.report import markdown, number
from gscompile.bench.variants import WrongResultError, sampled, turns
from gscompile.bench.workload import Arrays, Workload
from gscompile.runtime.threads import set_num_threads

HELP = "six operators from 10 points to --max-points"
WIDTH = 16  # of a row: 64 bytes, so that 10^8 of them fit in 8 GB
PATIENCE_MS = 3000.0  # NumPy is left out where a call would take longer


def workload(operator: str, n: int) -> Workload:
    """An operator on n points: rows, or single elements.  What they are read from or added to has a tenth of their number."""
    few, lines = max(n // 10, 4), max(n // WIDTH, 1)
    made = {
        "gather rows": lambda: take(operator, (few, WIDTH), (n,)),
        "gather elements": lambda: gather(operator, (max(lines // 10, 4), WIDTH), (lines, WIDTH), 0),
        "gather points": lambda: gather_nd(operator, (max(n // 10_000, 2), min(few, 1000)), 2, n),
        "add rows": lambda: put(operator, (few, WIDTH), n, "add"),
        "add elements": lambda: scatter(operator, (max(lines // 10, 4), WIDTH), (lines, WIDTH), 0, "add"),
        "histogram": lambda: put(operator, (4096,), n, "add"),
    }
    return made[operator]().of(name=operator.replace(" ", "_"))


OPERATORS = ("gather rows", "gather elements", "gather points", "add rows", "add elements", "histogram")


def measure(request: Request) -> list[Row]:
    """Rows: ``operator``, ``points``, ``ms`` of gscompile and, where it is fast enough, NumPy.

    The result is compared with NumPy's, or, where that is too slow, a part of it is.  Two sizes to a decade.  A size that half
    of the free memory cannot hold has ``ms`` empty and ``bytes`` that it would take.
    """
    set_num_threads(request.threads)
    sizes = [n for k in range(1, 13) for n in (10**k, 3 * 10**k) if n <= request.max_points]
    rows: list[Row] = []
    for operator in OPERATORS:
        last = 0.0  # what NumPy took for the size before
        for n in sizes:
            row = _row(operator, n, request.rounds if n < 10**7 else min(request.rounds, 5), last * 4 < PATIENCE_MS)
            last = row["ms"].get("numpy", [PATIENCE_MS] * 3)[MEDIAN]
            rows.append(row)
        print(f"{OPERATORS.index(operator) + 1}/{len(OPERATORS)} {operator}", file=sys.stderr, flush=True)
    return rows


def _row(operator: str, n: int, rounds: int, with_numpy: bool) -> Row:
    row: Row = {"operator": operator, "points": n, "ms": {}}
    w = workload(operator, n)
    # rows are read or written, an index of up to two numbers beside them
    nbytes = n * (4 * (WIDTH if "rows" in operator else 1) * (2 if with_numpy else 1) + 16)
    if nbytes > memory("MemAvailable") // 2:
        return {**row, "bytes": nbytes}
    arrays = w.arrays()
    module = w.builder(arrays).build()
    out = module(*arrays.values())
    runs: dict[str, Run] = {"gscompile": module.bind(*arrays.values(), out=out)}
    if with_numpy:
        runs["numpy"] = NumPy().prepare(w, arrays, 1)[0]
        problem = w.differs(out, np.asarray(runs["numpy"]()))
    else:
        problem = spot_check(w, arrays, out)
    if problem is not None:
        raise WrongResultError(f"bench: {operator} of {n} points: {problem}")
    return {**row, "ms": sampled(turns(runs, rounds))}


def spot_check(w: Workload, arrays: Arrays, out: Any) -> str | None:
    """What is wrong with a result that takes too long to compute otherwise: a thousand of the points read, or the sums of all."""
    x, i = arrays["x"], arrays["i"]
    if "src" not in arrays:
        some = np.random.default_rng(1).integers(0, len(i), 1000)
        return w.differs(out[some], w.expected(x, i[some]))
    total, *parts = (a.sum(0, dtype=np.float64) for a in (out, x, arrays["src"]))
    off = float(np.abs(total - sum(parts)).max()) / len(i)
    return f"sums are off by {off:.1e} per point" if off > 1e-5 else None


def ns_per_point(row: Row, contender: str = "gscompile") -> float | None:
    return row["ms"][contender][MEDIAN] * 1e6 / row["points"] if contender in row["ms"] else None


def cliffs(rows: Sequence[Row]) -> list[str]:
    """Where ten times as many points take more than twice as long each."""
    at = {(r["operator"], r["points"]): r for r in rows}
    found = []
    for (operator, n), row in at.items():
        before = at.get((operator, n // 10))
        now, then = ns_per_point(row), before and ns_per_point(before)
        if now is None or not then or now <= 2 * then:
            continue
        text = f"{operator}: {then:.3g} ns per point of {n // 10:,}, {now:.3g} of {n:,}"
        numpy = [before and ns_per_point(before, "numpy"), ns_per_point(row, "numpy")]
        if all(numpy):
            text += f" (NumPy: {numpy[0]:.3g}, {numpy[1]:.3g})"
        found.append(text)
    return found


def table(rows: Sequence[Row]) -> str:
    """Nanoseconds per point at each decade, and the cliffs."""
    sizes = sorted({r["points"] for r in rows if str(r["points"]).startswith("1")})
    lines = []
    for operator, group in itertools.groupby(rows, key=lambda r: r["operator"]):
        found = {r["points"]: ns_per_point(r) for r in group}
        lines.append([operator, *(number(found.get(n)) for n in sizes)])
    text = markdown(["ns per point", *(f"10^{len(str(n)) - 1}" for n in sizes)], lines)
    steps = cliffs(rows)
    text += "\n\nCliffs, where ten times as many points take more than twice as long each: "
    text += "none." if not steps else "\n\n" + "\n".join(f"- {s}" for s in steps)
    large = sorted({f"{r['operator']} of {r['points']:,} ({r['bytes'] / 1e9:.0f} GB)" for r in rows if "bytes" in r})
    return text + (f"\n\nToo large for the free memory: {', '.join(large)}." if large else "")


def plot(rows: Sequence[Row], path: Path) -> None:
    """Time per point against points; NumPy's dashed."""

    def curve(contender: str) -> dict[str, list[tuple[float, float]]]:
        found: dict[str, list[tuple[float, float]]] = {}
        for r in rows:
            ns = ns_per_point(r, contender)
            if ns is not None:
                found.setdefault(r["operator"], []).append((r["points"], ns))
        return found

    plots.curves(curve("gscompile"), curve("numpy"), ("points", "ns per point (dashed: NumPy)"), path)
