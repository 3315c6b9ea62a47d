"""Timing: contenders take turns, round after round, so that what disturbs the machine disturbs all of them.

A turn is as many calls as fill a few milliseconds, after one that is not timed.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

SLICE_MS = 20.0  # of one contender in one round
SETTLED_MS, POLLS = 20.0, 25  # how long a process must be idle to be settled, and how often that is polled
Timer: TypeAlias = Callable[[int], float]
"""(number of calls) -> milliseconds of one."""


class LostError(Exception):
    """A contender cannot be timed any more; the message says why."""


def exit_text(code: int) -> str:
    """How a process has ended, by what the system says of it."""
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


@dataclass(frozen=True)
class Sample:
    """Milliseconds of one call: the median over rounds, and the quartiles."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Any) -> Sample:
        low, median, high = (float(x) for x in np.percentile(values, [25, 50, 75]))
        return Sample(median, low, high)

    def as_json(self) -> list[float]:
        """[lower quartile, median, upper quartile]."""
        return [float(f"{x:.4g}") for x in (self.low, self.median, self.high)]


def time_calls(run: Callable[[], Any], calls: int, before: Callable[[], Any] | None = None) -> float:
    """Milliseconds of one call, after one that is not timed.

    Args:
        before: what runs before each call, and is not timed.
    """
    run()
    if before is not None:
        return sum(_after(before, run) for _ in range(calls)) * 1e3 / calls
    begin = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - begin) * 1e3 / calls


def _after(before: Callable[[], Any], run: Callable[[], Any]) -> float:
    """Seconds of one call right after another function's."""
    before()
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def time_clients(runs: Sequence[Callable[[], Any]], calls: int) -> float:
    """Milliseconds in which each of several threads, that all call at once, makes a call; one call of each is not timed.

    From when all of them are ready to when the last one is done: a thread that only watched would wait for a core itself.
    """
    begun: list[float] = []
    ready = threading.Barrier(len(runs), action=lambda: begun.append(time.perf_counter()))

    def client(run: Callable[[], Any]) -> float:
        try:
            run()
        except BaseException:
            ready.abort()
            raise
        ready.wait()
        for _ in range(calls):
            run()
        return time.perf_counter()

    with ThreadPoolExecutor(len(runs)) as pool:
        clients = [pool.submit(client, run) for run in runs]
    errors = [e for c in clients if (e := c.exception()) is not None]
    if errors:  # that of one which failed, not of those that waited for it
        raise min(errors, key=lambda e: isinstance(e, threading.BrokenBarrierError))
    return (max(c.result() for c in clients) - begun[0]) * 1e3 / calls


def settle() -> None:
    """Wait until this process's threads, some of which wait for more work by spinning for up to 0.2 s, have fallen asleep.

    Some systems count the time of other threads in steps of 10 ms: in 2 ms, ONNX Runtime's, which spin for 35, seemed idle.
    """
    for _ in range(POLLS):
        before = time.process_time()
        time.sleep(SETTLED_MS / 1e3)
        if time.process_time() - before < SETTLED_MS / 1e4:
            return


def timer(run: Callable[[], Any]) -> Timer:
    """A function's timer."""
    return lambda calls: time_calls(run, calls)


def interleaved(
    timers: Mapping[str, Timer], rounds: int, slice_ms: float = SLICE_MS
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Milliseconds of each contender in each round, and why others were lost."""
    times: dict[str, list[float]] = {name: [] for name in timers}
    calls: dict[str, int] = {}
    lost: dict[str, str] = {}

    def turn(name: str) -> None:
        try:
            ms = timers[name](calls.get(name, 1))
        except LostError as e:
            lost[name] = str(e)
            del times[name]
            return
        if name in calls:
            times[name].append(ms)
        else:  # the first one only says how many calls to make
            calls[name] = max(1, int(slice_ms / max(ms, 1e-4)))

    for k in range(-1, rounds):
        order = list(times)
        for name in order[k % len(order) :] + order[: k % len(order)] if order else []:
            turn(name)
    return times, lost
