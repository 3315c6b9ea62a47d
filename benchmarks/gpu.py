"""Tests and benchmark on a GPU: ``python benchmarks/gpu.py``, or ``--emulate`` for a rehearsal on any machine.

Runs the tests marked ``gpu``, then the eighteen workloads on arrays on the device, against PyTorch, JAX, CuPy and a copy within
the device's memory.  Writes ``benchmarks/results/DEVICE/peers.json``, or ``$OUT/peers.json``, after every row, for
``gscompile bench --show``.  Needs what gscompile needs and PyTorch; what else is missing is left out.

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

from gpu_contenders import CONTENDERS, TRUST, Device, Emulated, Gpu

from gscompile.bench import compare, report
from gscompile.bench.machine import machine
from gscompile.bench.measurement import MEDIAN
from gscompile.bench.timing import Sample, Timer, interleaved
from gscompile.bench.workload import Workload
from gscompile.bench.workloads import choose

ROOT = Path(__file__).resolve().parent.parent
LIMIT_OF_TESTS = 0.5  # of the budget


def row(device: Device, w: Workload, names: Sequence[str], rounds: int) -> dict[str, Any]:
    """One row, as :func:`gscompile.bench.compare.measure` gives it; the unchecked variant is apart, it is no peer."""
    arrays = w.arrays(most=device.most)
    want, moved = w.expected(**arrays), w.moved(arrays)
    timers: dict[str, Timer] = {}
    wrong: dict[str, str] = {}
    failed: dict[str, str] = {}
    for name in names:
        try:
            found = CONTENDERS[name](device, w, arrays)
            problems = [w.differs(fetch(run()), want) for run, fetch, _ in found]
            right = [make(run) for (run, _, make), problem in zip(found, problems, strict=True) if problem is None]
            if right:
                timers[name] = min(right, key=lambda t: min(t(1) for _ in range(3))) if len(right) > 1 else right[0]
            else:
                wrong[name] = str(problems[0])
        except Exception as e:
            failed[name] = f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"[:300]
    timers[compare.FLOOR] = device.timer(device.copy(moved // 2))
    times, lost = interleaved(timers, rounds)
    ms = {name: Sample.of(values).as_json() for name, values in times.items()}
    trust = ms.pop(TRUST, None)
    return {
        "workload": w.name,
        "moved_bytes": moved,
        "ms": ms,
        "trust_ms": trust,
        "wrong": wrong,
        "failed": {**failed, **lost},
    }


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


def installed(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workloads", nargs="*", help="names, or parts of names; all by default")
    parser.add_argument("--emulate", action="store_true", help="on the CPU, on a few elements")
    parser.add_argument("--no-tests", action="store_true", help="only the benchmark")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--budget", type=float, default=540, help="seconds after which no row is begun (%(default)s)")
    options = parser.parse_args()
    begin = time.monotonic()

    def left() -> float:
        return float(options.budget - (time.monotonic() - begin))

    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the device's memory
    device: Device = Emulated() if options.emulate else Gpu()
    tests = "not run" if options.no_tests else run_tests(left() * LIMIT_OF_TESTS)
    names = [n for n in CONTENDERS if n.startswith("gscompile") or installed(n)]
    if options.emulate:
        names = [n for n in names if n != "cupy"]
    folder = Path(os.environ.get("OUT") or ROOT / "benchmarks" / "results" / re.sub(r"\W+", "-", device.name.lower()))
    folder.mkdir(parents=True, exist_ok=True)
    document: report.Document = {
        "measure": "peers",
        "command": " ".join(["python benchmarks/gpu.py", *sys.argv[1:]]),
        "rounds": options.rounds,
        "machine": {**machine(), **device.facts()},
        "tests": tests,
        "left_out": [],
        "rows": [],
    }
    slowest = 0.0
    for w in choose(options.workloads):
        if left() < 1.5 * slowest:
            document["left_out"].append(w.name)
            continue
        started = time.monotonic()
        document["rows"].append(row(device, w, names, options.rounds))
        slowest = max(slowest, time.monotonic() - started)
        report.save(document, folder / "peers.json")
        print(f"{w.name}: {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
    print(f"tests: {tests}\n")
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
