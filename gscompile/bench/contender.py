"""A process for each contender: a library that crashes ends only its own, and no library's threads meet another's."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from gscompile.bench.neighbours import NEIGHBOURS
from gscompile.bench.peers.base import Peer, Run, UnavailableError
from gscompile.bench.sample import workload
from gscompile.bench.timing import LostError, exit_text, settle, time_calls, time_clients
from gscompile.bench.workload import Arrays, Workload
from gscompile.bench.workloads import ALL

PROCESSES: Any = multiprocessing.get_context("spawn")  # of which nothing is shared with this one
PATIENCE_S = 300.0  # for one answer; compilers are the slowest to give one


@dataclass(frozen=True)
class Ready:
    """The contender has a right result, and can be timed."""


@dataclass(frozen=True)
class Absent:
    """It cannot be timed: ``wrong``, its result is; else why not, nothing where it has no operator for the workload."""

    why: str = ""
    wrong: bool = False


class Contender:
    """A peer in a process of its own, started at the first request, and again after it has ended.

    Args:
        peer: what to run; unpickled in the process.
        threads: how many, and how many cores the process may use.
        most: if given, the workloads' axes are cut to about that many elements.
        check: whether it gives the workload's result.
        neighbour: the library of :mod:`gscompile.bench.neighbours` that computes before each call that is timed.
        clients: threads of the process that call at once, each with a result of its own.
    """

    def __init__(
        self,
        peer: Peer,
        threads: int,
        most: int | None = None,
        check: bool = True,
        neighbour: str | None = None,
        clients: int = 1,
    ) -> None:
        self.name = peer.name
        self._arguments = (peer, threads, most, check, neighbour, clients)
        self._process: Any = None
        self._connection: Connection | None = None

    def prepare(self, w: Workload) -> Ready | Absent:
        """Make the workload's arrays, compute, and compare with NumPy's result."""
        try:
            answer: Ready | Absent = self._ask(w.drawn or w.name)
        except LostError as e:
            answer = Absent(str(e))
        return answer

    def time(self, calls: int) -> float:
        """Milliseconds of one call of the workload that was prepared last, of one by each client where there are several.

        Raises:
            LostError: the call fails, or the process has ended or gives no answer.
        """
        answer: float | Absent = self._ask(calls)
        if isinstance(answer, Absent):
            raise LostError(answer.why)
        return answer

    def _ask(self, request: Any) -> Any:
        self._start()
        assert self._connection is not None
        try:
            self._connection.send(request)
            if not self._connection.poll(PATIENCE_S):
                self.stop()
                raise LostError(f"gave no answer for {PATIENCE_S:.0f} s")
            return self._connection.recv()
        except (EOFError, OSError) as e:
            self._process.join()
            code = self._process.exitcode
            self.stop()
            raise LostError(f"ended its process ({exit_text(code)})") from e

    def _start(self) -> None:
        if self._process is not None:
            return
        self._connection, other = PROCESSES.Pipe()
        self._process = PROCESSES.Process(target=serve, args=(other, *self._arguments), daemon=True)
        self._process.start()
        other.close()

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            assert self._connection is not None
            self._connection.close()
            self._process = self._connection = None


# -- in the process ---------------------------------------------------------------------------------------------------


def serve(
    connection: Connection, peer: Peer, threads: int, most: int | None, check: bool, neighbour: str | None, clients: int
) -> None:
    """Answer names or descriptions of workloads, to be prepared, and numbers of calls, to be timed, until the end of input."""
    if hasattr(
        os, "sched_setaffinity"
    ):  # some libraries take as many threads as there are cores, whatever they are told
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    os.environ["OMP_NUM_THREADS"] = str(threads)
    before = NEIGHBOURS[neighbour][1](threads) if neighbour else None
    runs: list[Run] = []
    arrays: Any = None
    answer: Ready | Absent | float
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        try:
            if not isinstance(request, int):
                runs, arrays = [], None  # before there are new ones
                gc.collect()
                w = ALL[request] if isinstance(request, str) else workload(request)
                arrays = w.arrays(most=most)  # kept here: some libraries do not keep what they read
                want = cache(partial(w.expected, **arrays)) if check else None  # once for all clients
                answer = Ready()
                while len(runs) < clients and not isinstance(answer, Absent):
                    run = fastest_right(peer, w, arrays, threads, want)
                    if isinstance(run, Absent):
                        answer = run
                    else:
                        runs.append(run)
            else:
                answer = time_clients(runs, request) if clients > 1 else time_calls(runs[0], request, before)
                settle()
        except Exception as e:
            answer = Absent(_reason(e))
        connection.send(answer)


def fastest_right(
    peer: Peer, w: Workload, arrays: Arrays, threads: int, want: Callable[[], Any] | None
) -> Run | Absent:
    """Of a peer's ways to compute a workload the fastest one whose result is right, where that is asked for."""
    ways = peer.prepare(w, arrays, threads)
    if not ways:
        return Absent()
    if want is None:
        return ways[0]
    problems = [_problem(w, run, want()) for run in ways]
    right = [run for run, problem in zip(ways, problems, strict=True) if problem is None]
    if len(right) > 1:
        right.sort(key=lambda run: min(time_calls(run, 1) for _ in range(3)))
    return right[0] if right else next(p for p in problems if p is not None)


def _problem(w: Workload, run: Run, want: Any) -> Absent | None:
    try:
        got = np.asarray(run())
    except Exception as e:
        return Absent(_reason(e))
    if want.dtype.name == "bfloat16" and got.dtype.itemsize == 2:
        got = got.view(want.dtype)
    difference = w.differs(got, want)
    return None if difference is None else Absent(difference, wrong=True)


def _reason(e: Exception) -> str:
    text = str(e).strip().partition("\n")[0][:300]
    return text if isinstance(e, UnavailableError) else f"{type(e).__name__}: {text}"


def start_all(contenders: Sequence[Contender]) -> None:
    """Start the processes together, which takes no longer than the slowest one."""
    for c in contenders:
        c._start()
