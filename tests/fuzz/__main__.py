"""``python -m tests.fuzz [KIND ...] --cases 100000``: run cases, and print what comes out of them that should not.

The exit status is 1 if anything did.  A kind and a seed give the same cases again.  Of four seeds, three are independent
cases, and one is a search by Hypothesis, which dwells on edges and makes what fails small.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.children import WITHOUT_TORCH

HERE = Path(__file__).parent
KINDS = sorted(p.stem.removesuffix("_cases") for p in HERE.glob("*_cases.py"))
if importlib.util.find_spec("onnx") is None:
    KINDS.remove("onnx")
BATCH = 200  # cases of a process; what leaks or lingers goes with it
WORKER = f"{WITHOUT_TORCH}from tests.fuzz.worker import main; main(*sys.argv[1:])"
PATIENCE = 900.0  # seconds for a batch, after which it hangs


@dataclass(frozen=True)
class Batch:
    """What one process found."""

    kind: str
    seed: int
    cases: int
    failures: list[str]


def run_batch(kind: str, seed: int, cases: int) -> Batch:
    """Cases of one kind in a process of their own."""
    with tempfile.NamedTemporaryFile("r", suffix=".steps") as steps:
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-c",
            WORKER,
            kind,
            str(seed),
            str(cases),
            steps.name,
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=HERE.parents[1])
        except subprocess.TimeoutExpired:
            return Batch(kind, seed, cases, [f"hangs; its steps:\n{steps.read()}"])
        if done.returncode or not done.stdout:
            what = f"exit status {done.returncode}\n{done.stderr[-3000:]}\nits steps:\n{steps.read()}"
            return Batch(kind, seed, cases, [what])
    found = json.loads(done.stdout.splitlines()[-1])
    return Batch(kind, seed, found["cases"], found["failures"])


def batches(kinds: list[str], seed: int, cases: int) -> Iterator[tuple[str, int, int]]:
    """Kinds in turn, each with seeds of its own."""
    size = max(1, min(BATCH, cases // len(kinds)))
    while cases > 0:
        for kind in kinds:
            yield kind, seed, size
        cases -= size * len(kinds)
        seed += 1


def fuzz(kinds: list[str], *, seed: int, cases: int, seconds: float, jobs: int) -> list[Batch]:
    """Run cases until there have been enough or the time is over."""
    end = time.monotonic() + seconds

    def one(job: tuple[str, int, int]) -> Batch | None:
        return run_batch(*job) if time.monotonic() < end else None

    with ThreadPoolExecutor(jobs) as pool:
        return [b for b in pool.map(one, batches(kinds, seed, cases)) if b is not None]


def report(found: list[Batch]) -> int:
    """Print what was found; the exit status."""
    counts: Counter[str] = Counter()
    for b in found:
        counts[b.kind] += b.cases
    for b in found:
        for failure in b.failures:
            print(f"-- {b.kind}, seed {b.seed}\n{failure}\n")
    failures = sum(len(b.failures) for b in found)
    print(f"{sum(counts.values())} cases ({', '.join(f'{k} {n}' for k, n in counts.items())}): {failures} failures")
    return 1 if failures else 0


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Hostile input, by the thousand.")
    p.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)} (default: all)")
    p.add_argument("--cases", type=int, default=2000, help="how many (default: 2000)")
    p.add_argument("--seconds", type=float, default=float("inf"), help="start nothing new after that")
    p.add_argument("--seed", type=int, default=0, help="where to begin (default: 0)")
    p.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    options = p.parse_args()
    kinds = options.kinds or KINDS
    if unknown := set(kinds) - set(KINDS):
        p.error(f"unknown: {', '.join(unknown)}; known: {', '.join(KINDS)}")
    return report(fuzz(kinds, seed=options.seed, cases=options.cases, seconds=options.seconds, jobs=options.jobs))


if __name__ == "__main__":
    sys.exit(main())
