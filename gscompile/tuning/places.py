"""Where candidates are measured: in a process of this machine, or on boards that a tracker of TVM's RPC knows."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol

from gscompile.build import export_measured, made
from gscompile.compiler import tuned
from gscompile.errors import ArgumentError, DeviceError
from gscompile.tuning.processes import Process
from gscompile.tuning.remote import count
from gscompile.tuning.worker import Answer, Boards, Job, Measure, MeasureAgain, Prepare

READY_S = 120.0
"""For the default's first measurement."""
NETWORK_S = 30.0
"""For what a board is sent and gives back with a measurement."""
WAIT_S = 20.0
"""For a board to be free again where none is left."""
POLL_S = 0.5
LOSSES = 2
"""After so many boards that were lost with a candidate it is given up."""
MOST_BOARDS = 32


class Place(Protocol):
    """Measures the candidates of one job.

    Attributes:
        machine: for records.
        threads: of a call there.
        boards: how many measure at once, beside this machine; 0 where it measures itself.
        cores: of this machine, that are free to build; none where all of them measure.
    """

    machine: str
    threads: int
    boards: int
    cores: tuple[int, ...]

    def open(self) -> None:
        """Know the machine.

        Raises:
            DeviceError: there is none.
        """
        ...

    def start(self) -> None:
        """Begin to be ready, and do not wait for it."""
        ...

    def ready(self) -> float:
        """Milliseconds of the default.

        Raises:
            ArgumentError: it cannot be measured.
        """
        ...

    def ask(self, request: Measure | MeasureAgain, patience_s: float) -> Answer:
        """The answer; as many threads may ask at once as there are boards, or more.

        Raises:
            DeviceError: no board is left.
        """
        ...

    def stop(self) -> None:
        """End its processes."""
        ...


def _require(ready: Answer, job: Job) -> None:
    if ready.state != "ok":
        raise ArgumentError(f"tune: {job.graph.name}: the default cannot be measured: {ready.state}: {ready.why}")


def own_cores() -> tuple[int, ...]:
    """The cores that this process may use; none where the system does not tell."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


class Here:
    """A process of this machine, on as many cores as a call has threads."""

    boards = 0

    def __init__(self, job: Job, cache: str, seed: int) -> None:
        self.machine, self.threads = tuned.machine(), job.threads
        self.cores = own_cores()[job.threads :]
        self._job, self._cache, self._first = replace(job, cores=own_cores()[: job.threads]), cache, Prepare(seed)
        self._process = Process(self._job, cache, self._first)

    def open(self) -> None:
        """This machine is known."""

    def start(self) -> None:
        self._process.start()

    def ready(self) -> float:
        found = self._process.ask(self._first, READY_S)
        _require(found, self._job)
        return found.default_ms

    def ask(self, request: Measure | MeasureAgain, patience_s: float) -> Answer:
        if isinstance(request, MeasureAgain):  # where memory lies is part of what is drawn, so in a process of its own
            self._process.stop()
            self._process = Process(self._job, self._cache)
        return self._process.ask(request, patience_s)

    def stop(self) -> None:
        self._process.stop()


class Fleet:
    """Boards, each with a process here that has a session with it: a board that hangs cannot be waited for otherwise.

    One that is lost takes the trial with it that it was busy with, and another board gets that.
    """

    def __init__(self, job: Job, boards: Boards, cache: str, seed: int) -> None:
        self.machine, self.threads, self.boards = "", job.threads, 1
        self.cores = own_cores()
        self._job, self._boards, self._cache, self._first = replace(job, boards=boards), boards, cache, Prepare(seed)
        self._changed = threading.Condition()
        self._idle: deque[Process] = deque()  # the one that has been idle for longest is next
        self._joined = 0
        self._joining = ThreadPoolExecutor(MOST_BOARDS)
        self._default = Answer("lost")  # the last board's
        self._why = ""

    def open(self) -> None:
        count(self._boards)  # whoever mistypes a key need not wait for a build
        export_measured(made(self._job.recipe({})), self._boards.library({}))
        self._give(self._taken())
        name, cores = self._default.machine
        self.machine, self.threads = f"{name}, {cores} cores, {cores} threads", cores
        self._job = replace(self._job, boards=replace(self._boards, machine=f"{name}, {cores} cores"))
        self.boards = min(count(self._boards)[0], MOST_BOARDS)

    def start(self) -> None:
        """The other boards that are free begin to join."""
        free = count(self._boards)[1]
        with self._changed:
            more = min(free, self.boards - self._joined)
            self._joined += more
        for _ in range(more):
            self._joining.submit(self._join)

    def ready(self) -> float:
        return self._default.default_ms

    def ask(self, request: Measure | MeasureAgain, patience_s: float) -> Answer:
        why = ""
        for _ in range(LOSSES):
            process = self._taken()
            answer = process.ask(request, patience_s + NETWORK_S)
            if process.running and answer.state != "lost":
                self._give(process)
                return answer
            why = answer.why
            self._drop(process)
        return Answer("crashed", f"{LOSSES} boards were lost with it: {why}")

    def stop(self) -> None:
        self._joining.shutdown()
        while self._idle:
            self._idle.pop().stop()

    def _give(self, process: Process) -> None:
        with self._changed:
            self._idle.append(process)
            self._changed.notify()

    def _drop(self, process: Process) -> None:
        process.stop()
        with self._changed:
            self._joined -= 1
            self._changed.notify_all()

    def _taken(self) -> Process:
        """A session that is idle, or a new one."""
        while True:
            with self._changed:
                while not self._idle and not (self._joined < self.boards and self._free()):
                    if self._joined == 0:
                        raise DeviceError(self._why)
                    self._changed.wait(POLL_S)
                if self._idle:
                    return self._idle.popleft()
                self._joined += 1
            if (process := self._new()) is not None:
                return process

    def _join(self) -> None:
        """Have a board that is counted already."""
        if (process := self._new()) is not None:
            self._give(process)

    def _new(self) -> Process | None:
        """A session with another board, which knows the default; None where the board was lost meanwhile.

        Raises:
            ArgumentError: the default cannot be measured there.
        """
        process = Process(self._job, self._cache)
        ready = process.ask(self._first, READY_S)
        if ready.state == "ok":
            self._default = ready
            return process
        board_is_there = process.running and ready.state != "lost"
        self._drop(process)
        if board_is_there:
            _require(ready, self._job)
        return None

    def _free(self) -> int:
        """How many boards may join; where none has, some seconds are waited for one."""
        end = time.monotonic() + (0 if self._joined else WAIT_S)
        while True:
            try:
                _, found = count(self._boards)
                self._why = f"tune: all boards of the key {self._boards.key!r} are in use"
            except DeviceError as e:
                found, self._why = 0, str(e)
            if found or time.monotonic() >= end:
                return found
            time.sleep(POLL_S)
