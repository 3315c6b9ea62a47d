"""What tuning gains over the defaults: ``python benchmarks/tuned.py [--sample 50 --seed 7] [--trials 64] [--json FILE]``.

Each row is tuned for its own indices.  Then the winner and the default take turns on arrays that tuning has not seen.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import gscompile as gs
from gscompile.bench import report
from gscompile.bench.machine import machine
from gscompile.bench.measurement import MEDIAN, Row
from gscompile.bench.sample import draw, workload
from gscompile.bench.timing import Sample
from gscompile.bench.variants import done, sampled, turns
from gscompile.bench.workload import Workload
from gscompile.bench.workloads import WORKLOADS
from gscompile.runtime.threads import get_num_threads
from gscompile.tuning.indices import index_inputs

SEEN, FRESH = 0, 1  # seeds of arrays


def tuned(w: Workload, trials: int, seconds: float, rounds: int) -> Row:
    """``workload``, ``ms`` of both, their ``ratio`` round by round, the ``choices``, and how long tuning took."""
    arrays = w.arrays(SEEN)
    b = w.builder(arrays)
    indices = {name: arrays[name] for name in index_inputs(b.graph())}
    found = gs.tune(b, indices=indices, trials=trials, time=seconds, progress=False)
    row: Row = {"workload": w.name, "trials": len(found.trials), "seconds": round(found.seconds, 1)}
    if not found.choices:
        return {**row, "choices": {}, "ratio": [1.0, 1.0, 1.0], "ms": {"default": [found.default_ms] * 3}}
    fresh = [*w.arrays(FRESH).values()]
    default, best = b.build(), found.build()
    times = turns({"default": default.bind(*fresh), "tuned": best.bind(*fresh)}, rounds)
    ratio = Sample.of(times["default"] / times["tuned"]).as_json()
    return {**row, "choices": found.choices, "ratio": ratio, "ms": sampled(times)}


def table(rows: list[Row]) -> str:
    """The rows in Markdown, and what they come to."""

    def named(choices: Any) -> str:
        return "; ".join(f"{n}: " + ", ".join(f"{k} = {v}" for k, v in c.items()) for n, c in choices.items())

    lines = [
        [
            r["workload"],
            report.number(r["ms"]["default"][MEDIAN]),
            f"{r['ratio'][MEDIAN]:.2f}",
            f"{r['trials']} in {r['seconds']} s",
            named(r["choices"]),
        ]
        for r in rows
    ]
    ratios = [r["ratio"][MEDIAN] for r in rows]
    much = sum(x >= 1.1 for x in ratios)
    return (
        report.markdown(["row", "default, ms", "default / tuned", "trials", "choices"], lines)
        + f"\n\nGeometric mean {report.geometric_mean(ratios):.2f}, least {min(ratios):.2f}; "
        + f"1.1 and more on {much} of {len(ratios)} rows."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="*", help="of the benchmark; all 18 by default")
    parser.add_argument("--sample", type=int, help="so many drawn workloads instead")
    parser.add_argument("--seed", type=int, default=0, help="of --sample")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--time", type=float, default=60, help="seconds for each row")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.sample is None:
        workloads = [WORKLOADS[name] for name in options.rows or WORKLOADS]
    else:
        workloads = [workload(d) for d in draw(options.sample, options.seed)]
    rows: list[Row] = []
    for w in workloads:
        rows.append(tuned(w, options.trials, options.time, options.rounds))
        done(rows, len(workloads), f"{w.name} {rows[-1]['ratio'][MEDIAN]:.2f}")
        if options.json:  # after each: all of them take an hour
            document = {
                "measure": "tuned",
                "command": " ".join(["python benchmarks/tuned.py", *sys.argv[1:]]),
                "threads": get_num_threads(),
                "rounds": options.rounds,
                "machine": machine(),
                "rows": rows,
            }
            report.save(document, options.json)
    print(table(rows))


if __name__ == "__main__":
    main()
