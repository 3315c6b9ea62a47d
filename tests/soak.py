"""Threads that build and call at once, with forks and spawned workers meanwhile: ``python -m tests.soak --minutes 10``.

Every result is compared with NumPy's.  Ends with 1, and what was wrong, at the first difference or error.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gscompile as gs
from gscompile.dialects import numpy as gn

ROWS = 3000  # enough for loops that run in parallel
LEAK = 200 << 20  # bytes that a process may have grown by, once every thread has done its first round


def module(seed: int) -> gs.Module:
    """Messages along edges: a gather, a product and a scatter, of a width that the seed says."""
    width = 1 + seed % 7
    b = gs.Builder(f"net{seed}")
    x, w = b.input("x", ("n", width), "float32"), b.input("w", ("e", 1), "float32")
    src, dst = b.input("src", ("e",), "int64"), b.input("dst", ("e",), "int64")
    b.output(b.put(b.zeros(("n", width), "float32"), dst, b.take(x, src) * w, reduction="add"))
    return b.build()


def check(m: gs.Module, rng: np.random.Generator, calls: int = 5) -> None:
    """Calls with drawn sizes and small whole numbers, whose sums are exact."""
    width = m.inputs[0].shape[1]
    for _ in range(calls):
        n, e = int(rng.integers(1, ROWS)), int(rng.integers(0, 4 * ROWS))
        x, w = rng.integers(0, 9, (n, width)).astype("float32"), rng.integers(0, 9, (e, 1)).astype("float32")
        src, dst = rng.integers(0, n, e), rng.integers(0, n, e)
        want = np.zeros_like(x)
        np.add.at(want, dst, x[src] * w)
        for _ in range(2):  # the second may take the fast path
            assert np.array_equal(m(x, w, src, dst), want)
        assert np.array_equal(gn.take(x, src, axis=0), x[src])
        if e:
            try:
                m(x, w, src + n, dst)
            except gs.BoundsError as error:
                assert error.position == (0,)
            else:
                raise AssertionError("an index out of range was taken")


def in_a_fork(m: gs.Module, seed: int) -> None:
    """A child calls what its parent has built; it must end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            check(m, np.random.default_rng(seed), 1)
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a forked child failed"


def in_a_worker(m: gs.Module, seed: int) -> None:
    """What a spawned worker does with a module that came to it pickled."""
    check(m, np.random.default_rng(seed), 1)


class Soak:
    """The threads, and the first thing that went wrong."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.shared = [module(k) for k in range(4)]
        self.rounds = 0
        self.wrong: list[str] = []

    @property
    def over(self) -> bool:
        return time.monotonic() > self.end or bool(self.wrong)

    def guarded(self, work: Any, *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException:
            self.wrong.append(traceback.format_exc())

    def thread(self, number: int) -> None:
        rng = np.random.default_rng(number)
        while not self.over:
            check(self.shared[int(rng.integers(len(self.shared)))], rng)
            check(module(int(rng.integers(1000))), rng)
            self.rounds += 1

    def run(self, threads: int, processes: bool) -> int:
        """Returns the exit status."""
        started = [threading.Thread(target=self.guarded, args=(self.thread, k), daemon=True) for k in range(threads)]
        for t in started:
            t.start()
        grown, seed = 0, 0
        settled = None
        while not self.over:
            time.sleep(0.1)
            seed += 1
            if processes and seed % 50 == 1:
                self.guarded(self.spawn, seed)
            if settled is None and self.rounds >= 2 * threads:
                settled = resident()
        for t in started:
            t.join(120)
        if any(t.is_alive() for t in started):
            self.wrong.append("a thread does not end")
        if processes:  # no other thread builds now: a lock of the compiler's that one held would stay held in the child
            self.guarded(in_a_fork, self.shared[0], seed)
        gc.collect()
        grown = resident() - settled if settled else 0
        if grown > LEAK:
            self.wrong.append(f"memory grew by {grown >> 20} MiB")
        print(f"{threads} threads, {self.rounds} rounds, {grown >> 20} MiB more")
        print(*self.wrong[:1], sep="\n", end="", file=sys.stderr)
        return 1 if self.wrong else 0

    def spawn(self, seed: int) -> None:
        worker = multiprocessing.get_context("spawn").Process(target=in_a_worker, args=(self.shared[1], seed))
        worker.start()
        worker.join(300)
        assert worker.exitcode == 0, "a spawned worker failed"


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--no-processes", action="store_true", help="neither forks nor spawned workers")
    options = parser.parse_args(words)
    return Soak(60 * options.minutes).run(options.threads, not options.no_processes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
