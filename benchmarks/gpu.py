"""Tests and benchmark on a GPU: ``python benchmarks/gpu.py``, or ``--emulate`` for a rehearsal on any machine.

First the results: every operator on the device, and the tests marked ``gpu``.  Then the times: the eighteen workloads, in sizes
for a GPU, and ``--sample`` drawn ones, on arrays on the device, against PyTorch eager and compiled, JAX, CuPy, Triton and a copy
within the device's memory, by CUDA's events, each call on other arrays than the last ones so that no cache helps.  Writes
``benchmarks/results/DEVICE/peers.json``, or ``$OUT/peers.json``, after every row, for ``gscompile bench --show``.  Needs what
gscompile needs and PyTorch; what else is not installed is reported as absent.  It ends within ``--budget`` seconds.

``--emulate`` runs the kernels of the cuda schedule on the CPU, on a few elements: it shows that the script works, and no speed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpu_contenders import CONTENDERS, TRUST, Contender, Device, Emulated, Gpu, absent, rotating, sets
from gpu_workloads import ROWS, drawn, results

from gscompile.bench import compare, report
from gscompile.bench.machine import machine
from gscompile.bench.measurement import MEDIAN
from gscompile.bench.timing import Sample, Timer, interleaved
from gscompile.bench.workload import Workload
from gscompile.bench.workloads import among

ROOT = Path(__file__).resolve().parent.parent
OF_RESULTS, OF_TESTS = 0.2, 0.3  # of the budget
RESERVE = 2.0  # a row is begun where so many times the longest one's seconds are left


def row(device: Device, w: Workload, names: Sequence[str], rounds: int) -> dict[str, Any]:
    """One row, as :func:`gscompile.bench.compare.measure` gives it; the unchecked variant is apart, it is no peer."""
    arrays = w.arrays(most=device.most)
    want, moved = w.expected(**arrays), w.moved(arrays)
    count = sets(device, moved)
    timers: dict[str, Timer] = {}
    wrong: dict[str, str] = {}
    failed: dict[str, str] = {}
    for name in names:
        try:
            found = ways(device, w, arrays, name, count)
            problems = [w.differs(fetch(run()), want) for run, fetch, _ in found]
            right = [make(run) for (run, _, make), problem in zip(found, problems, strict=True) if problem is None]
            if not found:  # it does not compute this
                continue
            if right:
                timers[name] = min(right, key=lambda t: min(t(1) for _ in range(3))) if len(right) > 1 else right[0]
            else:
                wrong[name] = str(problems[0])
        except Exception as e:
            failed[name] = f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"[:300]
    timers[compare.FLOOR] = device.timer(rotating([device.copy(moved // 2) for _ in range(count)]))
    times, lost = interleaved(timers, rounds)
    ms = {name: Sample.of(values).as_json() for name, values in times.items()}
    trust = ms.pop(TRUST, None)
    problem = wrong.pop(TRUST, failed.pop(TRUST, None))
    return {
        "workload": w.name,
        "moved_bytes": moved,
        "ms": ms,
        "trust_ms": trust,
        "trust_failed": problem,
        "sets": count,
        "wrong": wrong,
        "failed": {**failed, **lost},
    }


def ways(device: Device, w: Workload, arrays: Any, name: str, count: int) -> list[Contender]:
    """A contender's, each over so many sets of arrays."""
    made = [CONTENDERS[name](device, w, arrays) for _ in range(count)]
    return [(rotating([run for run, _, _ in way]), *way[0][1:]) for way in zip(*made, strict=True)]


def choose(words: Sequence[str], count: int, seed: int) -> list[Workload]:
    """Rows whose names contain one of the words, or all, and so many drawn workloads.

    Raises:
        ArgumentError: no name contains a word.
    """
    return among({w.name: w for w in ROWS}, words) + drawn(count, seed)


def check_results(device: Device, seconds: float) -> dict[str, Any]:
    """How many operators gave the right result, and what the others gave."""
    found = dict(results(device, seconds))
    wrong = {name: why for name, why in found.items() if why is not None}
    for name, why in wrong.items():
        print(f"{name}: {why}")
    return {"right": len(found) - len(wrong), "wrong": wrong}


def run_tests(limit: float) -> str:
    """The last line that pytest prints; all of it goes to the standard output."""
    command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-rfE", "--tb=short", "tests/gpu"]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            timeout=limit,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired as e:
        print(_text(e.stdout))
        return f"ended after {limit:.0f} s"
    print(done.stdout, flush=True)
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else f"exit status {done.returncode}"


def _text(output: Any) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workloads", nargs="*", help="names, or parts of names; all by default")
    parser.add_argument("--emulate", action="store_true", help="on the CPU, on a few elements")
    parser.add_argument("--no-tests", action="store_true", help="only the benchmark")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--sample", type=int, default=20, metavar="N", help="drawn workloads after the rows (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the drawn workloads")
    parser.add_argument("--budget", type=float, default=480, help="seconds from start to end (%(default)s)")
    options = parser.parse_args()
    begin = time.monotonic()

    def left() -> float:
        return float(options.budget - (time.monotonic() - begin))

    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the device's memory
    device: Device = Emulated() if options.emulate else Gpu()
    workloads = choose(options.workloads, options.sample, options.seed)
    right = check_results(device, options.budget * OF_RESULTS)
    tests = "not run" if options.no_tests else run_tests(options.budget * OF_TESTS)
    missing = {n: why for n in CONTENDERS if (why := absent(n, options.emulate)) is not None}
    names = [n for n in CONTENDERS if n not in missing]
    folder = Path(os.environ.get("OUT") or ROOT / "benchmarks" / "results" / re.sub(r"\W+", "-", device.name.lower()))
    folder.mkdir(parents=True, exist_ok=True)
    document: report.Document = {
        "measure": "peers",
        "command": " ".join(["python benchmarks/gpu.py", *sys.argv[1:]]),
        "rounds": options.rounds,
        "machine": {**machine(), **device.facts()},
        "results": right,
        "tests": tests,
        "absent": missing,
        "left_out": [],
        "rows": [],
    }
    slowest = 0.0
    for w in workloads:
        if left() < RESERVE * slowest:
            document["left_out"].append(w.name)
            continue
        started = time.monotonic()
        document["rows"].append(row(device, w, names, options.rounds))
        slowest = max(slowest, time.monotonic() - started)
        report.save(document, folder / "peers.json")
        print(f"{w.name}: {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
    print(f"operators with the right result: {right['right']}, others: {len(right['wrong'])}\ntests: {tests}")
    print("".join(f"absent: {name}: {why}\n" for name, why in missing.items()))
    print(compare.table(document["rows"]))
    print(
        "\nunchecked (bounds='trust'): "
        + ", ".join(f"{r['workload']} {_median(r['trust_ms'])}" for r in document["rows"])
    )
    if document["left_out"]:
        print(f"\nno time was left for {', '.join(document['left_out'])}")


def _median(ms: Sequence[float] | None) -> str:
    return report.number(ms[MEDIAN] if ms else None)


if __name__ == "__main__":
    main()
