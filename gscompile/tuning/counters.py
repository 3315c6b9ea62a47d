"""What the CPU counts while calls run, by Linux's ``perf_event_open``: no privileges are needed where the system lets a process
count itself (``kernel.perf_event_paranoid`` is 2 or less), and a virtual machine may have no such counters.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

HARDWARE, SOFTWARE = 0, 1
EVENTS: Mapping[str, tuple[int, int]] = {
    "instructions": (HARDWARE, 1),
    "cycles": (HARDWARE, 0),
    "cache_misses": (HARDWARE, 3),
    "branch_misses": (HARDWARE, 5),
    "page_faults": (SOFTWARE, 2),
}
"""By name, the type and the number of Linux's ``perf_event.h``; misses are those of the last cache."""

REASONS = {
    errno.ENOENT: "this CPU has no such counter, or its virtual machine shows none",
    errno.EACCES: "the system forbids it: kernel.perf_event_paranoid must be 2 or less",
    errno.EPERM: "the system forbids it, as containers do",
}

_CALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241}.get(platform.machine())
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")  # the first version of struct perf_event_attr
_TIMES = 1 | 2  # read also for how long it was enabled, and for how long it counted
_FLAGS = 1 << 0 | 1 << 5 | 1 << 6  # disabled at first; not in the kernel, not in a hypervisor
_ENABLE, _DISABLE = 0x2400, 0x2401
_CLOSE_ON_EXEC = 8


def counted(run: Callable[[], Any], calls: int) -> dict[str, float | None]:
    """What all threads that this process has now count in user mode, for one of so many calls; None of what cannot be counted.

    Each is counted in calls of its own, so that none has to share the hardware.
    """
    return {name: _counted(run, calls, *event) for name, event in EVENTS.items()}


def missing(name: str) -> str | None:
    """Why something cannot be counted here; None where it can."""
    try:
        os.close(_opened(*EVENTS[name], 0))
    except OSError as e:
        return REASONS.get(e.errno or 0, str(e.strerror))
    return None


def _counted(run: Callable[[], Any], calls: int, kind: int, number: int) -> float | None:
    try:
        from fcntl import ioctl

        with _all_threads(kind, number) as counters:
            for fd in counters:
                ioctl(fd, _ENABLE, 0)
            for _ in range(calls):
                run()
            for fd in counters:
                ioctl(fd, _DISABLE, 0)
            return sum(map(_value, counters)) / calls
    except (ImportError, OSError):
        return None


@contextmanager
def _all_threads(kind: int, number: int) -> Iterator[list[int]]:
    """A counter for each thread."""
    counters: list[int] = []
    try:
        for thread in map(int, os.listdir("/proc/self/task")):
            try:
                counters.append(_opened(kind, number, thread))
            except ProcessLookupError:  # it has ended
                continue
        yield counters
    finally:
        for fd in counters:
            os.close(fd)


def _opened(kind: int, number: int, thread: int) -> int:
    """The file descriptor of a counter of a thread; 0 is this one.

    Raises:
        OSError: there is none.
    """
    if _CALL is None or not hasattr(ctypes.CDLL(None), "syscall"):
        raise OSError(0, f"not on {platform.system()} of {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    given = _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, number, 0, 0, _TIMES, _FLAGS, 0, 0, 0)
    fd = libc.syscall(ctypes.c_long(_CALL), given, thread, -1, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
    if fd < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return int(fd)


def _value(fd: int) -> float:
    """What it counted; where it had to share the hardware, as much more as it did not see."""
    value, enabled, counted = struct.unpack("=QQQ", os.read(fd, 24))
    return value * enabled / counted if counted else 0.0
