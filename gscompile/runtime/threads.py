"""How many threads a kernel on the CPU shares its work among."""

from __future__ import annotations

import ctypes
import operator
import os

from gscompile.errors import ArgumentError

MOST = 4096  # threads; each has a share of every nest, which costs time and memory even where it is empty


def available_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(n: int) -> None:
    """Share every following call's work among ``n`` threads (one per core by default), 4096 at most.

    Results do not depend on it, bit for bit.  More threads than cores are simulated: the cores take their shares one by one.
    """
    try:
        number = operator.index(n)
    except TypeError:
        number = 0
    if isinstance(n, bool) or not 1 <= number <= MOST:
        raise ArgumentError(f"set_num_threads: a positive int of at most {MOST} is needed; got {n!r}")
    _threads.value = number


def get_num_threads() -> int:
    """The number of threads in force."""
    return _threads.value


_threads = ctypes.c_int64(available_cores())
COUNT_AT = ctypes.addressof(_threads)  # where compiled code finds their number
