"""Frameworks that run in a process of their own, because they may end it.

Each module here imports one framework, and has two functions: ``version()``, and ``judge(function, args, options)``, which calls
the framework and gives a NumPy array.  :func:`need` gives the process that imports the module: one for every process that
tests, started when a test first needs it and again after the framework ended it.  No module here imports gscompile, or a
second framework: some stand one another in one order only.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
START_S = 300  # TensorFlow is imported in 5 s where nothing else runs
CALL_S = 100


class RefusedThere(Exception):
    """The framework raised; the message begins with the name of what it raised."""


class Ended(Exception):
    """The call ended the framework's process, or had to be ended because it gave no answer for ``CALL_S`` seconds."""


class Judge:
    """A process that imports a module such as :mod:`tests.dialects.judges.openvino`, and answers for it.

    Attributes:
        module: the module's full name.
        version: the framework's name and version.
    """

    def __init__(self, module: str, call_s: float = CALL_S) -> None:
        """Start the process.

        Raises: ImportError, where the framework cannot be imported.
        """
        self.module = module
        self.call_s = call_s
        self.process: subprocess.Popen[bytes] | None = None
        self.version: str = self._start()
        atexit.register(self.stop)

    def ask(self, function: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """What the framework gives for a call.

        A call that ended the process is made once more in a new one: what an earlier call did to the memory is not its fault.

        Raises: RefusedThere, Ended.
        """
        fresh = self.process is None
        try:
            return self._ask(function, args, options)
        except Ended:
            if fresh:
                raise
        return self._ask(function, args, options)

    def stop(self) -> None:
        """End the process; the next call starts another."""
        if self.process is not None:
            self.pipe.close()
            self.output.close()
            self.process.kill()
            self.process.wait()
            self.process = None

    def _ask(self, *call: Any) -> Any:
        try:
            message = pickle.dumps(call)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            pytest.fail(f"{self.module}: cannot pickle {call}: {error}")
        if self.process is None:
            self._start()
        try:
            self.pipe.send_bytes(message)
        except OSError:
            raise Ended(self._end()) from None
        return self._answer(self.call_s)

    def _start(self) -> str:
        """Start the process; gives the framework's version."""
        ours, its = Pipe()
        self.output = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, self.module, str(its.fileno())],
            cwd=ROOT,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2"},
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
        )
        self.pipe: Connection = ours
        its.close()  # so that the end of the process is the end of the pipe
        try:
            version: str = self._answer(START_S)
        except Ended as error:
            pytest.fail(f"no process for {self.module}: {error}")
        return version

    def _answer(self, limit_s: float) -> Any:
        try:
            kind, content = self.pipe.recv() if self.pipe.poll(limit_s) else ("late", None)
        except (EOFError, ConnectionError):
            raise Ended(self._end()) from None
        if kind == "result":
            return content
        if kind == "refused":
            raise RefusedThere(content)
        if kind == "late":
            self.stop()
            raise Ended(f"no answer for {limit_s:g} s")
        self.stop()
        if kind == "missing":
            raise ImportError(content)
        pytest.fail(f"{self.module}: {content}")  # a mistake in these files

    def _end(self) -> str:
        """What the process that ended died of, and its last words."""
        assert self.process is not None
        code = self.process.wait()
        self.output.seek(0)
        words = self.output.read().decode(errors="replace").strip().splitlines()[-3:]
        self.stop()
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return " | ".join([how, *words])


@functools.cache
def need(framework: str) -> Judge:
    """The framework's process, or a skip that says how to get it."""
    try:
        if importlib.util.find_spec(framework) is None:
            raise ImportError(f"No module named {framework!r}")
        return Judge(f"{__name__}.{framework}")
    except ImportError as error:
        pytest.skip(f"needs {framework}: pip install '.[conformance]' ({error})")
