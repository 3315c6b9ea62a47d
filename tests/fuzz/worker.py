"""One process that runs cases of one kind, within limits; ``python -m tests.fuzz`` starts it.

What it is told on its command line: the kind, a seed, how many cases, a file for the steps of the case that is running.
It prints JSON: how many cases ran, and what failed.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from random import Random
from types import FrameType
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.draw import Draw

SECONDS = 10.0  # of processor time, that a case may take
MEMORY = 2 << 30  # bytes that the process may take more than it starts with


class TooLong(BaseException):
    """A case has used up its time.  Not an Exception, which a case might catch."""


class Worker:
    """Runs cases, counts them, and keeps the steps of the one that runs in a file."""

    def __init__(self, kind: str, steps: str) -> None:
        self.case = importlib.import_module(f"tests.fuzz.{kind}_cases").run
        self.steps = open(steps, "w")  # noqa: SIM115  open as long as the process lives
        self.lines: list[str] = []
        self.cases = 0

    def log(self, line: str) -> None:
        self.lines.append(line)
        self.steps.write(line.replace("\n", "\\n")[:2000] + "\n")
        self.steps.flush()

    def run(self, rng: Random) -> None:
        """One case."""
        self.cases += 1
        self.lines = []
        self.steps.seek(0)
        self.steps.truncate()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.case(Draw(rng, self.log))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def sweep(self, number: int, cases: int) -> list[str]:
        """Independent cases, which reach widest; what failed, once for each place in the code."""
        found: dict[str, str] = {}
        for k in range(cases):
            try:
                self.run(Random(f"{number} {k}"))
            except (Exception, TooLong) as e:
                found.setdefault(place(e), self.account(e))
        return list(found.values())

    def search(self, number: int, cases: int) -> list[str]:
        """Cases that Hypothesis draws, varies and makes small, until one fails."""
        check = settings(
            max_examples=cases,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        )(given(st.randoms(use_true_random=False))(self.run))
        try:
            seed(number)(check)()
        except (Exception, TooLong) as e:
            return [self.account(e)]
        return []

    def account(self, e: BaseException) -> str:
        """The steps of the case that failed, and where."""
        return "\n".join([*self.lines, "".join(traceback.format_exception(e, limit=-6))])


def place(e: BaseException) -> str:
    """Where an exception was raised in this project, and what it is."""
    frames = [
        f for f in traceback.extract_tb(e.__traceback__) if "gscompile" in f.filename or "schedules" in f.filename
    ]
    last = frames[-1] if frames else None
    return f"{type(e).__name__} {last.filename}:{last.lineno}" if last else repr(e)


def too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong(f"a case took more than {SECONDS:.0f} s")


def limit_memory() -> None:
    """An allocation past the limit fails, as a MemoryError where Python asks for it."""
    with open("/proc/self/statm") as f:
        taken = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))


def main(kind: str, number: str, cases: str, steps: str) -> None:
    worker = Worker(kind, steps)
    signal.signal(signal.SIGPROF, too_long)
    Draw(Random(0), print).array()  # what is imported late is not a case's
    limit_memory()
    found: dict[str, Any]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        began = time.monotonic()
        how = worker.search if int(number) % 4 == 3 else worker.sweep
        failures = how(int(number), int(cases))
        found = {"cases": worker.cases, "seconds": time.monotonic() - began, "failures": failures}
    json.dump(found, sys.stdout)
