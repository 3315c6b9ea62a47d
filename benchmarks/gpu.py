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
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cuda_model import ROWS as MODEL_ROWS
from gpu_contenders import CONTENDERS, SYNC, TRUST, Device, Emulated, Gpu, absent, ours, rotating, sets
from gpu_workloads import ROWS, drawn, results

from gscompile.bench import compare, report
from gscompile.bench.machine import machine
from gscompile.bench.measurement import MEDIAN
from gscompile.bench.timing import Sample, Timer, interleaved
from gscompile.bench.workload import Workload
from gscompile.bench.workloads import TINY, among

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "benchmarks" / "results" / "cuda-model.json"
OF_RESULTS, OF_TESTS, OF_MODEL = 0.2, 0.3, 0.15  # of the budget
VARIANTS = (TRUST, SYNC)
CALLS = 20  # of which a median is taken
RESERVE = 2.0  # a row is begun where so many times the longest one's seconds are left


def row(device: Device, w: Workload, names: Sequence[str], rounds: int) -> dict[str, Any]:
    """One row, as :func:`gscompile.bench.compare.measure` gives it; our other variants are apart, they are no peers."""
    arrays = w.arrays(most=device.most)
    want, moved = w.expected(**arrays), w.moved(arrays)
    count = sets(device, moved)
    timers: dict[str, Timer] = {}
    wrong: dict[str, str] = {}
    failed: dict[str, str] = {}
    kernels: dict[str, Mapping[str, float]] = {}
    for name in names:
        try:
            found = [(rotating(runs), *rest) for runs, *rest in CONTENDERS[name](device, w, arrays, count)]
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
        if name == compare.OURS:
            kernels[name] = device.kernels(found[0][0], CALLS)
    copy = rotating([device.copy(moved // 2) for _ in range(count)])
    kernels[compare.FLOOR] = device.kernels(copy, CALLS)
    timers[compare.FLOOR] = device.timer(copy)
    times, lost = interleaved(timers, rounds)
    ms = {name: Sample.of(values).as_json() for name, values in times.items()}
    return {
        "workload": w.name,
        "moved_bytes": moved,
        "ms": ms,
        "variants": {name: ms.pop(name, None) for name in VARIANTS},
        "variants_failed": {n: why for part in (wrong, failed) for n in VARIANTS if (why := part.pop(n, None))},
        "kernels_us": kernels,
        "sets": count,
        "wrong": wrong,
        "failed": {**failed, **lost},
    }


def modelled(device: Device, end: float) -> dict[str, Any]:
    """Microseconds of the kernels of the rows of ``benchmarks/results/cuda-model.json``, by the model, and measured."""
    found: dict[str, Any] = {}
    model = {r["workload"]: r["gpus"] for r in json.loads(MODEL.read_text())["rows"]}
    for name, gpus in model.items():
        if time.monotonic() > end:
            break
        w = MODEL_ROWS[name]
        arrays = w.arrays(most=device.most)
        try:
            ((runs, fetch, _),) = ours(device, w, arrays, sets(device, w._touched(arrays)))
            run = rotating(runs)
            problem = w.differs(fetch(run()), w.expected(**arrays))
            kernels = device.kernels(run, CALLS)
            found[name] = {
                "model_us": {k: v["kernels_us"] for k, v in gpus.items()},
                "kernels_us": kernels,
                "wrong": problem,
            }
        except Exception as e:
            found[name] = {"failed": f"{type(e).__name__}: {e}"[:300]}
    return found


def host_costs(device: Device) -> dict[str, float]:
    """Microseconds of the host for a call of ``tiny_take``, none of which is waited for: medians."""
    w = next(w for w in ROWS if w.name == TINY)
    arrays = w.arrays()
    given = {k: device.put(x) for k, x in arrays.items()}
    deferred, sync = (device.compile(w.builder(arrays), check) for check in ("deferred", "sync"))
    out = deferred(**given)
    calls = {
        "call": lambda: deferred(*given.values()),
        "call, out": lambda: deferred(*given.values(), out=out),
        "call, bound": deferred.bind(**given),
        "call, bound, sync": sync.bind(**given),
        "torch": lambda: given["x"].index_select(0, given["i"]),
    }

    def one(run: Any) -> float:
        device.wait()
        begin = time.perf_counter()
        for _ in range(CALLS):
            run()
        return (time.perf_counter() - begin) * 1e6 / CALLS

    return {name: round(statistics.median(one(run) for _ in range(100)), 2) for name, run in calls.items()}


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
    parallel = ["-n", str(min(14, os.cpu_count() or 1))] if importlib.util.find_spec("xdist") else []
    command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-rfE", "--tb=short", *parallel, "tests/gpu"]
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
    parser.add_argument(
        "--model", action="store_true", help="also the rows of the model of the memory, and what it says"
    )
    parser.add_argument("--rounds", type=int, default=9)
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
        "host_us": host_costs(device),
        "model": modelled(device, time.monotonic() + options.budget * OF_MODEL) if options.model else {},
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
    for name, what in zip(VARIANTS, ("unchecked (bounds='trust')", "waiting for checks (check='sync')"), strict=True):
        print(f"\n{what}: " + ", ".join(f"{r['workload']} {_median(r['variants'][name])}" for r in document["rows"]))
    print(f"\nthe host, us: {document['host_us']}\nmodel and measured, us:")
    for name, m in document["model"].items():
        print(f"{name:<24}{m.get('model_us')} {sum(m.get('kernels_us', {}).values()):.1f} {m}")
    if document["left_out"]:
        print(f"\nno time was left for {', '.join(document['left_out'])}")


def _median(ms: Sequence[float] | None) -> str:
    return report.number(ms[MEDIAN] if ms else None)


if __name__ == "__main__":
    main()
