"""Handles of the processes in :mod:`gscompile.tuning.serve`: one that crashes or hangs is started again."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from gscompile.bench.timing import exit_text
from gscompile.compiler.disk_cache import FOLDER, MEGABYTES
from gscompile.errors import ArgumentError
from gscompile.tuning.serve import main
from gscompile.tuning.worker import Answer, Job, Request

START_S = 120.0
"""For the first answer, which imports TVM."""


class Process:
    """A process that answers requests about a job; started when it is first asked.

    No module of the user's is imported again in it, as ``multiprocessing`` does: a script need not be guarded.

    Args:
        cache: the folder of compiled code that it shares with others.
        first: asked whenever it has been started, before anything else.
    """

    def __init__(self, job: Job, cache: str, first: Request | None = None) -> None:
        self._job, self._cache, self._first = job, cache, first
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._ready = False

    @property
    def running(self) -> bool:
        """Whether it is: an answer may mean that it has ended."""
        return self._process is not None

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
        if self._process is not None:
            return
        here, there = Pipe()
        try:
            path = os.pathsep.join([p for p in sys.path if p])
            environment = {**os.environ, "PYTHONPATH": path, FOLDER: self._cache, MEGABYTES: "4096"}
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {main.__module__} import main; main()", str(there.fileno())],
                pass_fds=[there.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt is for whoever asks
            )
        finally:
            there.close()
        self._connection = here
        try:
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
        assert self._process is not None
        try:
            code = self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            code = 0
        self.stop()
        return Answer("crashed", exit_text(code))

    def stop(self) -> None:
        """End the process."""
        process, connection = self._process, self._connection
        self._process, self._connection, self._ready = None, None, False
        if process is not None:
            process.kill()
            process.wait()
        if connection is not None:
            connection.close()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()
