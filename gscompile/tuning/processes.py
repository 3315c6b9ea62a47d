"""Handles of the processes in :mod:`gscompile.tuning.serve`: one that crashes or hangs is started again."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

from gscompile.bench.timing import exit_text
from gscompile.compiler.disk_cache import FOLDER, MEGABYTES
from gscompile.errors import ArgumentError
from gscompile.tuning.serve import NUMBER, main
from gscompile.tuning.worker import Answer, Job, Request

START_S = 120.0
"""For the first answer, which TVM is imported before."""


class _Forks:
    """The process that others are forked of, started when it is first needed.

    TVM imports torch, where that is installed, and needs it for tensors of torch alone: it is told that there is none.
    """

    def __init__(self) -> None:
        self._users = 0
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def use(self, more: int) -> None:
        """Count who needs it; the last one who does not any more ends it."""
        with self._lock:
            self._users += more
            if not self._users:
                self._end()

    def begin(self, connection: int, told: int) -> int:
        """Have a process begin, with these file descriptors; returns its number."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._end()
                self._start()
            number = next(self._numbers)
            assert self._socket is not None
            socket.send_fds(self._socket, [NUMBER.pack(number)], [connection, told])
            return number

    def kill(self, number: int) -> None:
        """Kill a process, if it has not ended."""
        with self._lock, suppress(OSError):  # all of them have ended
            if self._socket is not None:
                self._socket.sendall(NUMBER.pack(number))

    def _start(self) -> None:
        here, there = socket.socketpair()
        with there:
            path = os.pathsep.join([p for p in sys.path if p])
            command = f"import sys; sys.modules['torch'] = None; from {main.__module__} import main; main()"
            self._process = subprocess.Popen(
                [sys.executable, "-c", command, str(there.fileno())],
                pass_fds=[there.fileno()],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt is for whoever asks
            )
        self._socket = here

    def _end(self) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._socket = None


_forks = _Forks()


@contextmanager
def forks() -> Iterator[None]:
    """Processes can be started within; what they are forked of is kept for the next until the outermost of these ends."""
    _forks.use(1)
    try:
        yield
    finally:
        _forks.use(-1)


class Process:
    """A process that answers requests about a job; started when it is first asked, within :func:`forks`.

    No module of the user's is imported again in it, as ``multiprocessing`` does: a script need not be guarded.

    Args:
        cache: the folder of compiled code that it shares with others.
        first: asked whenever it has been started, before anything else.
    """

    def __init__(self, job: Job, cache: str, first: Request | None = None) -> None:
        self._job, self._cache, self._first = job, cache, first
        self._number = 0
        self._ended = -1
        self._connection: Connection | None = None
        self._ready = False

    @property
    def running(self) -> bool:
        """Whether it is: an answer may mean that it has ended."""
        return self._connection is not None

    def ask(self, request: Request, patience_s: float) -> Answer:
        """The answer; where there is none, why: it ``crashed``, or ``hung`` for longer than that."""
        if not self._ready:
            self.start()
            ready = Answer("ok") if self._first is None else self._ask(self._first, START_S)
            if ready.state != "ok":
                return ready
            self._ready = True
            patience_s += START_S
        return self._ask(request, patience_s)

    def start(self) -> None:
        """Start it, if it is not, and do not wait for it.

        Raises:
            ArgumentError: the job cannot be sent to it.
        """
        if self._connection is not None:
            return
        here, there = Pipe()
        ended, told = os.pipe()
        try:
            self._number = _forks.begin(there.fileno(), told)
        except BaseException:
            os.close(ended)
            here.close()
            raise
        finally:
            there.close()
            os.close(told)
        self._connection, self._ended = here, ended
        try:
            here.send(({**os.environ, FOLDER: self._cache, MEGABYTES: "4096"}, [p for p in sys.path if p]))
            here.send(self._job)
        except OSError:
            pass  # it has ended, as whoever asks will notice
        except Exception as e:  # a user's rule
            self.stop()
            raise ArgumentError(f"tune: what is tuned cannot be sent to another process: {e}") from e

    def _ask(self, request: Request, patience_s: float) -> Answer:
        assert self._connection is not None
        try:
            self._connection.send(request)
            if not self._connection.poll(patience_s):
                self.stop()
                return Answer("hung", f"no answer for {patience_s:.0f} s")
            answer: Answer = self._connection.recv()
        except (EOFError, OSError):
            return self._lost(patience_s)
        except BaseException:  # an interrupt: the answer that still comes would be taken for the next one
            self.stop()
            raise
        return answer

    def _lost(self, patience_s: float) -> Answer:
        said = b""
        if wait([self._ended], patience_s):
            said = os.read(self._ended, NUMBER.size)
        self.stop()
        return Answer("crashed", exit_text(*NUMBER.unpack(said)) if said else "")

    def stop(self) -> None:
        """End the process."""
        connection, self._connection, self._ready = self._connection, None, False
        if connection is not None:
            _forks.kill(self._number)
            wait([self._ended])
            os.close(self._ended)
            connection.close()
