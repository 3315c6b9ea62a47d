"""Long work on a thread of its own, so that Ctrl-C need not wait for its end.

Python runs a signal's handler on the main thread, between two bytecodes; a kernel, or a pass of the compiler, is one bytecode,
however long it takes.  So the main thread hands such work to another one and waits in a way that a signal ends.  What was begun
runs on where nothing can stop it, and keeps alive what it works on; its result is dropped.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from gscompile.runtime.extension import extension

STACK = 64 << 20  # bytes: the compiler's passes go as deep as an expression does; memory is taken only as it is used

T = TypeVar("T")


@contextmanager
def large_stacks() -> Iterator[None]:
    """Threads that are started here get stacks of :data:`STACK` bytes."""
    size = threading.stack_size(STACK)
    try:
        yield
    finally:
        threading.stack_size(size)


class Abandoned(BaseException):
    """Ends work whose result nobody waits for, at its next step in Python."""


class Worker:
    """A thread that does one piece of work after the other for one other thread.  The process does not wait for it to end.

    Attributes:
        abandoned: it is busy with work that nobody waits for.
    """

    def __init__(self) -> None:
        self.abandoned = False
        self._work: Callable[[], Any] | None = None
        self._result: Any = None
        self._error: BaseException | None = None
        self._begin, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._serve, name="gscompile", daemon=True)
        with large_stacks():
            self._thread.start()

    def do(self, work: Callable[[], T]) -> T:
        """Do it, and wait for it.  An exception in the wait abandons the work, and then the thread is of no more use."""
        self._work = work
        self._begin.release()
        try:
            while not self._done.acquire(timeout=0.5):  # on Windows a signal ends only a wait with a limit
                pass
        except BaseException:
            self.abandoned = True
            self.end()
            ident = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Abandoned))
            raise
        result, error = self._result, self._error
        self._result = self._error = None
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback holds this frame
        return result  # type: ignore[no-any-return]

    def end(self) -> None:
        """Let the thread end after what it is doing."""
        self._begin.release()

    def _serve(self) -> None:
        with suppress(Abandoned):
            while True:
                self._begin.acquire()
                work, self._work = self._work, None
                if work is None:
                    return
                try:
                    self._result = work()
                except BaseException as e:
                    self._error = e
                del work
                self._done.release()


def interruptible(work: Callable[[], T], *, keep: bool = False) -> T:
    """``work()``, whose wait Ctrl-C ends at once where this is the main thread.

    Args:
        keep: use the same thread for the next work that is kept: kernels, whose pool of threads belongs to the one that calls.
    """
    global _kept
    if threading.current_thread() is not threading.main_thread() or _leaver:
        return work()
    worker = _kept if keep else None
    if worker is None:
        try:
            worker = Worker()
        except (RuntimeError, ValueError, MemoryError):  # the system starts no more threads, or none with such a stack
            return work()
    _kept = None if keep else _kept  # a signal's handler may come here while this waits
    try:
        return worker.do(work)
    finally:
        if keep and _kept is None and not worker.abandoned:
            _kept = worker
        elif not worker.abandoned:
            worker.end()


class Inside:
    """A context for work outside of Python: machine code, or the compiler.  At exit other threads do not begin any."""

    def __enter__(self) -> None:
        if _leaver and threading.get_ident() != _leaver:
            threading.Event().wait()  # Python ends daemons where they wait
        _inside.add(self)

    def __exit__(self, *_: object) -> None:
        _inside.discard(self)


def _forked() -> None:
    """In a child the other threads do not exist."""
    global _kept
    _kept = None
    _inside.clear()
    if extension is not None:
        extension.forked()


def _leave() -> None:
    """At exit, C++'s destructors would take away what threads still use that are inside a kernel or the compiler.

    So a process where one is leaves without them, and no other thread goes in from now on.  (Python has ended all threads by now
    but daemons.)  A pass of the compiler that looks for signals meanwhile is ended by Python, up to 3.13, in a way that C++ takes
    for an error; where that would end the process, the thread pauses.
    """
    global _leaver
    _leaver = threading.get_ident()
    inside = extension.leave() if extension is not None else 0
    if not inside and not _inside:
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # glibc's: it is called with the exit status, before any destructor
        libc.fflush(None)
        libc.on_exit(libc._exit, None)
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libstdc++.so.6")._ZSt13set_terminatePFvvE(libc.pause)


_kept: Worker | None = None
_inside: set[Inside] = set()
_leaver = 0  # the thread that ends the process, once it does
atexit.register(_leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
