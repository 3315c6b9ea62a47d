"""Whose threads run the tasks of compiled code's parallel loops.

Compiled code calls a *launcher* for every parallel loop.  TVM's own gives each calling thread a pool that pins its threads and
spins beside everybody else's.  Ours (``_launch.c``) deals tasks out one at a time to one pool of its own, to the process's OpenMP
threads, or to what the user gives it.  Where the extension could not be built, threads of Python run the tasks.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from gscompile.errors import ArgumentError
from gscompile.runtime.threads import COUNT_AT, available_cores, get_num_threads

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor
    from types import ModuleType

try:
    from gscompile.runtime import _launch as _found
except ImportError:  # no compiler where the package was installed
    _found = None  # type: ignore[assignment]
extension: ModuleType | None = _found

T = TypeVar("T")
ParallelFor: TypeAlias = Callable[[Callable[[int], None], int], object]
"""``parallel_for(task, n)`` calls ``task(k)`` for every k below n, in any order and on any threads, and returns when all have."""

_SYMBOL = b"__TVMBackendParallelLaunch"
_OPENMP = re.compile(rb"lib(gomp|iomp5|omp)[-.\d]")
_Task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
_Call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


def set_thread_pool(pool: str | ParallelFor) -> None:
    """Say whose threads share the work of calls on the CPU, from the next call on.  Results do not depend on it, bit for bit.

    Args:
        pool: ``"own"``: one pool for the process, whose threads go to sleep soon after their work.  ``"openmp"``: the threads of
            the OpenMP library that this process has loaded (PyTorch's, if it is).  ``"auto"``, the default: the own pool; and
            OpenMP's threads while those of the own pool are kept from running, as they are beside a library that computes on
            OpenMP's, which spin while they wait for work.  It looks for an OpenMP library whenever a module is called for the
            first time.  Or a callable ``parallel_for(task, n)`` that calls ``task(k)`` for every ``k`` below ``n``, in any order
            and on any threads, and returns when all have returned.

    A process that was forked uses its own pool, whatever its parent's was.

    Raises:
        ArgumentError: no such pool; no OpenMP library is loaded; the extension that ``"openmp"`` needs is not there.
    """
    global _wanted
    if not callable(pool) and pool not in ("auto", "own", "openmp"):
        raise ArgumentError(f'set_thread_pool: "auto", "own", "openmp" or a callable is needed; got {pool!r}')
    if pool == "openmp" and extension is None:
        raise ArgumentError('set_thread_pool: "openmp" needs the C extension, which could not be built here')
    if pool == "openmp" and _openmp() is None:
        raise ArgumentError("set_thread_pool: no OpenMP library is loaded in this process")
    with _lock:
        _wanted = pool
        _choose()


def get_thread_pool() -> str | ParallelFor:
    """What :func:`set_thread_pool` was told; in a process that was forked ``"own"``."""
    return _wanted


def loaded(load: Callable[[], T], others: int) -> T:
    """What ``load`` gives: a compiled function, whose parallel loops come to our launcher.

    Args:
        others: the address of the launcher that code of others, which is loaded from now on, goes on to use.
    """
    with _lock:
        _choose()
        _register(others)
        return load()


def choose() -> None:
    """Look once more which pool there is to use: a library may have brought one since."""
    with _lock:
        _choose()


def launcher() -> int | None:
    """The address of our launcher for libraries that bring none, or one of their own; None without the extension."""
    with _lock:
        _choose()
        if extension is None:
            return None
        _connect(0, 0, 0, 0, 0)
        return int(extension.LAUNCH)


def _connect(*addresses: int) -> None:
    """Say once what TVM has, or that there is none yet."""
    global _connected
    if extension is not None and (any(addresses) or not _connected):
        extension.connect(COUNT_AT, *addresses)
        _connected = True


def _choose() -> None:
    """Put into use what is wanted."""
    global _used
    if extension is None:
        return
    extension.limit(available_cores() - 1)
    used = (_wanted, _openmp() if _wanted in ("auto", "openmp") else None)
    if used == _used:
        return
    pool, openmp = used
    if callable(pool):
        extension.use(_address(_foreign(pool)), 0, False)
    elif openmp is None:
        extension.use(0, 0, False)
    else:
        extension.use(extension.OPENMP, openmp, pool == "auto")
    _used = used


def _openmp() -> int | None:
    """The address of ``GOMP_parallel`` of the OpenMP library that this process has loaded, PyTorch's before others."""
    if extension is None:
        return None
    files = [f for f in extension.libraries().split(b"\0") if _OPENMP.match(f, f.rfind(b"/") + 1)]
    for file in sorted(files, key=lambda f: (b"torch" not in f, f)):
        try:
            return _address(ctypes.CDLL(os.fsdecode(file), os.RTLD_NOLOAD | os.RTLD_NOW).GOMP_parallel)
        except (OSError, AttributeError):
            continue
    return None


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache  # for good: a launch may be about to call it
def _foreign(parallel_for: ParallelFor) -> Any:
    """A callable of Python as a function of C.  What it raises is shown, as of any callback; its tasks run all the same."""

    def call(context: int, tasks: int, task: int, job: int) -> None:
        run = _Task(task)
        parallel_for(lambda k: run(job, k), tasks)

    return _Call(call)


@cache
def _ffi() -> Any:
    import tvm_ffi.libinfo

    return ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())


@cache  # tvm-ffi keeps all that was ever registered, and looks for each of them in each library
def _register(others: int) -> None:
    """Give our launcher to all that is loaded from now on."""
    _ffi().TVMFFIEnvModRegisterContextSymbol(_SYMBOL, ctypes.c_void_p(_launcher(others)))


def _launcher(others: int) -> int:
    """The address of our launcher."""
    if extension is None:
        return _python_launcher(others)
    ffi = _ffi()
    names = ("ErrorMoveFromRaised", "ErrorSetRaised", "ObjectDecRef", "ErrorSetRaisedFromCStr")
    _connect(others, *(_address(ffi[f"TVMFFI{name}"]) for name in names))
    return int(extension.LAUNCH)


# -- without the extension


class _Group(ctypes.Structure):
    """TVMParallelGroupEnv."""

    _fields_ = (("barrier", ctypes.c_void_p), ("tasks", ctypes.c_int32))


class _Here(threading.local):
    """What a launcher knows of a thread: the tasks of its next launch, if they were said, and whether it is running one."""

    tasks: int | None = None
    inside = False


_Body = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Group), ctypes.c_void_p)
_Nothing = ctypes.CFUNCTYPE(None)
_Launch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)


def _launch_here(body: int | None, data: int, tasks: int) -> int:
    """As ``gs_launch`` of ``_launch.h``."""
    if not body:
        _here.tasks = tasks
        return 0
    if _here.tasks is None:
        return int(_others(body, data, tasks))
    n, _here.tasks = _here.tasks, None
    run, group, codes = _Body(body), _Group(None, n), [-1] * max(n, 0)
    ended, lock, left = threading.Semaphore(0), threading.Lock(), iter(range(n))

    def task(_: int) -> None:
        """The next task, whichever the pool asks for, so that each runs once."""
        before, mine = _here.inside, list[int]()
        try:
            with lock:
                mine.extend(islice(left, 1))  # one call of C: no interrupt falls between taking a task and noting it
            _here.inside = True
            for k in mine:
                codes[k] = run(k, group, data)
        finally:  # an interrupt must not leave the launch waiting
            _here.inside = before
            for _ in mine:
                ended.release()

    pool = _wanted
    if n > 1 and not _here.inside and get_num_threads() > 1:
        # as a callback of C: what it raises is shown
        _Nothing(lambda: pool(task, n) if callable(pool) else list(_executor().map(task, range(n))))()
    for _ in range(n):  # those that the pool left
        task(0)
    for _ in range(n):
        ended.acquire()
    if any(codes):
        _ffi().TVMFFIErrorSetRaisedFromCStr(b"RuntimeError", b"a task of a parallel loop failed")
    return -1 if any(codes) else 0


@cache  # for good, as what is registered is
def _python_launcher(others: int) -> int:
    global _others, _launch_in_python
    _others, _launch_in_python = _Launch(others), _Launch(_launch_here)
    return _address(_launch_in_python)


@cache
def _executor() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # an import that most processes do without

    return ThreadPoolExecutor(available_cores(), thread_name_prefix="gscompile")


def _before_fork() -> None:
    """A fork waits until no other thread loads a function: a child would find LLVM's locks as they were."""
    _lock.acquire()


def _after_fork() -> None:
    _lock.release()


def _forked() -> None:
    """In a child only the thread that forked exists, and no other library's pool knows it."""
    global _lock, _wanted, _used
    _lock, _wanted, _used = threading.RLock(), "own", ("own", None)
    _executor.cache_clear()


_here = _Here()
_others: Any = None  # the launcher of code that is not ours
_launch_in_python: Any = None
_connected = False  # whether the launcher knows where the number of threads is
_lock = threading.RLock()
_wanted: str | ParallelFor = "auto"
_used: tuple[str | ParallelFor, int | None] = ("own", None)  # what is in use, and the OpenMP library
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forked)
