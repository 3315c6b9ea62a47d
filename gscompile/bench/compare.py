"""gscompile against its peers and the floor, workload by workload, in one run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from gscompile.bench import plots
from gscompile.bench.contender import Absent, Contender, start_all
from gscompile.bench.measurement import MEDIAN, Request, Row
from gscompile.bench.peers import PEERS
from gscompile.bench.peers.ours import Floor, Ours
from gscompile.bench.report import geometric_mean, markdown, number
from gscompile.bench.timing import Sample, Timer, interleaved
from gscompile.bench.workload import Workload
from gscompile.bench.workloads import TINY

HELP = "against other libraries and a plain copy of the bytes that must move"

OURS, FLOOR = Ours.name, Floor.name
WORST = 10  # rows that are named below a table of drawn ones


def measure(request: Request) -> list[Row]:
    """Rows: ``workload``, ``moved_bytes``, and by contender ``ms``, ``wrong`` or ``failed``."""
    measured = (Ours(request.arrays), *request.peers)
    contenders = [
        Contender(p, request.threads, request.most, neighbour=request.process, clients=request.clients)
        for p in measured
    ]
    contenders.append(Contender(Floor(), request.threads, request.most, check=False, clients=request.clients))
    try:
        start_all(contenders)
        rows = []
        for w in request.workloads:
            moved = w.moved(w.arrays(most=request.most))
            row: Row = {"workload": w.name, "moved_bytes": moved, **_times(w, contenders, request.rounds)}
            rows.append(row if w.drawn is None else {**row, "drawn": w.drawn})
            print(f"{len(rows)}/{len(request.workloads)} {w.name}", file=sys.stderr, flush=True)
        return rows
    finally:
        for c in contenders:
            c.stop()


def _times(w: Workload, contenders: Sequence[Contender], rounds: int) -> Row:
    wrong: dict[str, str] = {}
    failed: dict[str, str] = {}
    timers: dict[str, Timer] = {}
    for c in contenders:
        answer = c.prepare(w)
        if not isinstance(answer, Absent):
            timers[c.name] = c.time
        elif answer.why:
            (wrong if answer.wrong else failed)[c.name] = answer.why
    times, lost = interleaved(timers, rounds)
    ms = {name: Sample.of(values).as_json() for name, values in times.items()}
    return {"ms": ms, "wrong": wrong, "failed": {**failed, **lost}}


def best_peer(row: Row) -> tuple[str, float] | None:
    """The fastest of the others, and its milliseconds."""
    others = {k: v[MEDIAN] for k, v in row["ms"].items() if k not in (OURS, FLOOR)}
    return min(others.items(), key=lambda kv: kv[1]) if others else None


def ratio(row: Row) -> float | None:
    """How many times as long the best peer takes."""
    best = best_peer(row)
    return None if best is None or OURS not in row["ms"] else best[1] / row["ms"][OURS][MEDIAN]


def _names(rows: Sequence[Row]) -> list[str]:
    """The peers of a table, in the order in which they are listed."""
    seen = {k for r in rows for part in ("ms", "wrong", "failed") for k in r[part]} - {OURS, FLOOR}
    return sorted(seen, key=lambda name: [*PEERS].index(name) if name in PEERS else len(PEERS))


def table(rows: Sequence[Row]) -> str:
    """Milliseconds, and how many times as long the best peer and the floor take."""
    peers = _names(rows)
    lines = []
    for r in rows:
        ours, floor, best = r["ms"].get(OURS), r["ms"].get(FLOOR), best_peer(r)
        times = ["wrong" if p in r["wrong"] else number(r["ms"][p][MEDIAN] if p in r["ms"] else None) for p in peers]
        lines.append(
            [
                r["workload"],
                "wrong" if OURS in r["wrong"] else number(ours and ours[MEDIAN]),
                *times,
                number(floor and floor[MEDIAN]),
                "-" if best is None or ours is None else f"{best[1] / ours[MEDIAN]:.2f} {best[0]}",
                "-" if floor is None or ours is None else f"{floor[MEDIAN] / ours[MEDIAN]:.2f}",
            ]
        )
    text = markdown(["ms", OURS, *peers, FLOOR, "best peer / ours", "floor / ours"], lines)
    ratios = [x for r in rows if (x := ratio(r)) is not None and r["workload"] != TINY]
    if ratios:
        text += f"\n\nGeometric mean of best peer / ours over {len(ratios)} rows, {TINY} apart: {geometric_mean(ratios):.2f}."
    notes = [f"- {r['workload']}, {name}: wrong, {why}" for r in rows for name, why in r["wrong"].items()]
    notes += [f"- {r['workload']}, {name}: {why}" for r in rows for name, why in r["failed"].items()]
    if notes:
        text += "\n\nWhat was not timed:\n\n" + "\n".join(notes)
    return text


def sample_table(rows: Sequence[Row]) -> str:
    """Of drawn workloads: each row's ratios, and what they come to."""
    lines = []
    for r in rows:
        ours, floor, best, by = r["ms"].get(OURS), r["ms"].get(FLOOR), best_peer(r), ratio(r)
        lines.append(
            [
                r["workload"],
                "wrong" if OURS in r["wrong"] else number(ours and ours[MEDIAN]),
                "-" if by is None or best is None else f"{by:.2f} {best[0]}",
                "-" if floor is None or ours is None else f"{floor[MEDIAN] / ours[MEDIAN]:.2f}",
            ]
        )
    text = markdown(["workload", "ms", "best peer / ours", "floor / ours"], lines)
    ratios = sorted((x, r["workload"]) for r in rows if (x := ratio(r)) is not None)
    if ratios:
        values = [x for x, _ in ratios]
        won = sum(x >= 1 for x in values) / len(values)
        worst = "\n".join(f"- {x:.2f} {name}" for x, name in ratios[:WORST])
        text += f"\n\nBest peer / ours over {len(values)} rows: geometric mean {geometric_mean(values):.2f}, "
        text += f"{won:.0%} at 1.0 or more, {sum(x < 0.8 for x in values)} under 0.8. The worst:\n\n{worst}"
    notes = [f"- {r['workload']}: {why}" for r in rows for part in ("wrong", "failed") if (why := r[part].get(OURS))]
    return text + ("\n\nWhat was not timed:\n\n" + "\n".join(notes) if notes else "")


def plot(rows: Sequence[Row], path: Path) -> None:
    """Bars: times relative to gscompile's, to the right where it is faster."""
    shown = [r for r in rows if OURS in r["ms"]]
    none = [float("nan")] * 3
    values = {
        name: [r["ms"].get(name, none)[MEDIAN] / r["ms"][OURS][MEDIAN] for r in shown]
        for name in (*_names(shown), FLOOR)
    }
    plots.bars(
        [r["workload"] for r in shown], values, "time / gscompile's time: to the right of 1, gscompile is faster", path
    )
