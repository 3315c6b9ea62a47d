"""How many threads a kernel on the CPU shares its work among."""

from __future__ import annotations

import ctypes
import operator
import os
import threading

from gscompile.errors import ArgumentError

MOST = 4096  # threads; each has a share of every nest, which costs time and memory even where it is empty


def available_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(n: int) -> None:
    """Share every following call's work among ``n`` threads (one per core by default), 4096 at most.

    Results do not depend on it, bit for bit.  More threads than cores are simulated: their shares run one after the other.  So
    are all in a process that was forked from one in which kernels had run.
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


def kernels_run() -> None:
    """Kernels run in this process from now on: a child that it forks must not look for the pool's threads."""
    global _used
    _used = True


def start_pool() -> None:
    """Start this thread's pool of threads.  TVM would do so at the first parallel loop, and end the process where it cannot.

    Where the system starts no more threads, the pool is this thread alone.
    """
    if _here.pool:
        return
    import tvm_ffi

    from gscompile.runtime.extension import extension  # which imports numpy

    with _starting:
        wanted = os.environ.get("TVM_NUM_THREADS", "")
        if not _can_start(int(wanted) - 1 if wanted.isdecimal() else available_cores() - 1):
            os.environ["TVM_NUM_THREADS"] = "1"
        try:
            tvm_ffi.get_global_func("runtime.NumThreads")()
        finally:
            os.environ["TVM_NUM_THREADS"] = wanted or str(available_cores())
    _here.pool = True
    if extension is not None:
        extension.pool_started()


def _can_start(n: int) -> bool:
    """Whether the system lets this process run ``n`` more threads at once."""
    started, stop = [], threading.Event()
    try:
        for _ in range(n):
            thread = threading.Thread(target=stop.wait, daemon=True)
            thread.start()
            started.append(thread)
    except (RuntimeError, MemoryError):
        return False
    finally:
        stop.set()
        for thread in started:
            thread.join()
    return True


def _forked() -> None:
    """In a child: TVM deadlocks waiting for threads that were not forked; with one core it runs their share itself."""
    global _starting
    _starting = threading.Lock()
    if _used:
        os.environ["TVM_NUM_THREADS"] = "1"


_threads = ctypes.c_int64(available_cores())
COUNT_AT = ctypes.addressof(_threads)  # where compiled code finds their number
_used = False


class _Here(threading.local):
    """What is known of a thread."""

    pool = False  # it has one


_here, _starting = _Here(), threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

# TVM's thread pool, which starts at a process's first parallel call, reads these.  By itself it takes half of the cores of any
# x86 machine, for the sake of hyper-threading, and pins the calling thread to one core, along with every thread that this one
# starts later on, another library's too.  Each calling thread has a pool of its own; pinned, all would fight for the same cores.
# After its work a pool's thread spins for the next call: by itself for 0.17 s, on a core that others may want.
os.environ.setdefault("TVM_NUM_THREADS", str(_threads.value))
os.environ.setdefault("TVM_BIND_THREADS", "0")
os.environ.setdefault("TVM_THREAD_POOL_SPIN_COUNT", "2000")
