"""The C extension of :mod:`gscompile.runtime.pools`."""

LAUNCH: int
"""The address of the function that compiled code calls for a parallel loop."""

OPENMP: int
"""What ``use`` is given as ``call`` to run tasks in a parallel region; ``context`` is the library's ``GOMP_parallel``."""

def connect(threads: int, others: int, take: int, give: int, drop: int, raise_: int, /) -> None:
    """Say where things are, by address.

    Args:
        threads: an int64, how many threads share a call's work.
        others: the launcher of code that is not ours.
        take, give, drop, raise_: of tvm-ffi, to carry an error from one thread to another.
    """

def use(call: int, context: int, alternates: bool, /) -> None:
    """Whose threads run the tasks of every launch from now on.

    Args:
        call: the address of ``void call(void *context, int64_t tasks, void (*task)(void *job, int64_t k), void *job)``, which
            calls ``task(job, k)`` for each k below ``tasks``, in any order and on any threads, and returns when all have
            returned; 0: the extension's own pool.
        alternates: use it only while less of its threads' time is lost than of the own pool's.
    """

def limit(helpers: int, /) -> int:
    """Let the own pool start so many threads at most; returns how many it has started."""

def libraries() -> bytes:
    """The files of the libraries that this process has loaded, each followed by a zero byte; on Linux only, elsewhere nothing.

    Asked of the loader, which takes microseconds; /proc/self/maps takes more than a millisecond.
    """
