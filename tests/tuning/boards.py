"""A tracker of TVM's RPC and servers, in processes of their own on the loopback, as the documentation starts them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOST, KEY = "127.0.0.1", "board"
START_S = 120.0


def free_port() -> int:
    with socket.socket() as s:
        s.bind((HOST, 0))
        return int(s.getsockname()[1])


def until(done: Callable[[], Any], seconds: float = START_S) -> None:
    """Wait for it."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def without_torch(folder: Path) -> str:
    """What PYTHONPATH is on a machine without torch, which TVM imports in each process where it is."""
    found = folder / "modules"
    found.mkdir(exist_ok=True)
    (found / "torch.py").write_text("raise ImportError\n")
    return os.pathsep.join([str(found), *(p for p in sys.path if p)])


class Program:
    """One of ``tvm.exec``, at a port of its own, with what it starts and what it says."""

    def __init__(self, name: str, folder: Path, *options: str) -> None:
        self.port = free_port()
        self._log = folder / f"{name}-{self.port}.log"
        places = ["--host", HOST, "--port", str(self.port), "--port-end", str(self.port + 1)]
        with self._log.open("w") as log:
            command = [sys.executable, "-m", f"tvm.exec.{name}", *places, *options]
            given = {**os.environ, "PYTHONPATH": without_torch(folder)}
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=given)
        until(lambda: "bind to" in self.says() or not self.alive)
        assert self.alive, self.says()

    def says(self) -> str:
        return self._log.read_text()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def sessions(self) -> int:
        """How many have begun with a server."""
        return self.says().count("start serving")

    @property
    def busy(self) -> bool:
        """Whether a server has one now."""
        return self.sessions > self.says().count("finish serving")

    def kill(self) -> None:
        """It and its processes, by SIGKILL."""
        if self.alive:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class Fleet:
    """A tracker, and boards, which are this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tracker = Program("rpc_tracker", folder)
        self.boards: list[Program] = []
        self.given: dict[str, Any] = {"tracker": f"{HOST}:{self.tracker.port}", "key": KEY}

    @property
    def alive(self) -> list[Program]:
        return [board for board in self.boards if board.alive]

    def busy(self) -> list[Program]:
        return [board for board in self.alive if board.busy]

    def join(self) -> None:
        """Another board."""
        count = self.free()
        self.boards.append(Program("rpc_server", self._folder, "--tracker", self.given["tracker"], "--key", KEY))
        until(lambda: self.free() > count)

    def connected(self) -> Any:
        """The tracker, for a client of TVM's."""
        from tvm import rpc

        return rpc.connect_tracker(HOST, self.tracker.port)

    def free(self) -> int:
        """How many boards nobody uses."""
        tracker = self.connected()
        try:
            return int(tracker.summary()["queue_info"].get(KEY, {"free": 0})["free"])
        finally:
            tracker.close()

    def kill(self) -> None:
        for program in (*self.boards, self.tracker):
            program.kill()
