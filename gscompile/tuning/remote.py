"""Measuring on another machine: a library is sent to a server of TVM's RPC, which a tracker has named, and called there."""

from __future__ import annotations

import math
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gscompile.bench.timing import Timer, exit_text
from gscompile.bench.workload import numpy_dtype
from gscompile.deploy.measure import CRASHED, HUNG
from gscompile.errors import ArgumentError, DeviceError, GSError
from gscompile.ir.dims import evaluate
from gscompile.runtime.load import TEXT_BYTES
from gscompile.schedules import Choices
from gscompile.tuning.worker import FIRST_CALL_S, Answer, Boards, Job, Measure, Request, Worker

TRACKER_S = 10.0
"""For an answer of the tracker."""


def tracker_of(text: str) -> tuple[str, int]:
    """Host and port.

    Raises:
        ArgumentError: it is no such thing.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ArgumentError(f"tune: tracker: HOST:PORT is needed; got {text!r}")
    return host.strip("[]"), int(port)


def count(boards: Boards) -> tuple[int, int]:
    """How many boards there are, and how many of them nobody uses now.

    Raises:
        DeviceError: no tracker answers, or it has no board of that key.
    """
    from tvm.rpc import base

    place = f"{boards.host}:{boards.port}"
    try:
        with socket.create_connection((boards.host, boards.port), TRACKER_S) as connection:
            connection.sendall(struct.pack("<i", base.RPC_TRACKER_MAGIC))
            if struct.unpack("<i", base.recvall(connection, 4))[0] != base.RPC_TRACKER_MAGIC:
                raise DeviceError(f"tune: what answers at {place} is no tracker of TVM's RPC")
            base.sendjson(connection, [base.TrackerCode.SUMMARY])
            _, found = base.recvjson(connection)
    except (OSError, ValueError) as e:  # of JSON as well
        raise DeviceError(f"tune: no tracker of TVM's RPC answers at {place}: {e}") from None
    counts: dict[str, int] = {}
    for server in found["server_info"]:
        key = str(server["key"]).partition(":")[2]
        counts[key] = counts.get(key, 0) + 1
    if boards.key not in counts:
        known = ", ".join(f"{key!r} ({n})" for key, n in sorted(counts.items())) or "none at all"
        raise DeviceError(f"tune: the tracker at {place} has no board of the key {boards.key!r}; it has {known}")
    return counts[boards.key], int(found["queue_info"].get(boards.key, {}).get("free", 0))


class _Ended(Exception):
    """A candidate that a board has not survived, or that did not return."""

    def __init__(self, state: str, why: str) -> None:
        super().__init__(why)
        self.state = state


class _Call:
    """A candidate's, on a board."""

    def __init__(self, library: Mapping[str, Any], given: Sequence[Any]) -> None:
        self._time, self._given = library["gs_time"], given

    def __call__(self) -> None:
        self.ms(1)

    def ms(self, calls: int) -> float:
        """Milliseconds of one of so many, by the board's clock."""
        return float(self._time(calls, *self._given)) / calls / 1e6


class RemoteWorker(Worker):
    """Measures on a board.  Arrays are bytes there, and results are fetched only where they differ."""

    def __init__(self, job: Job, boards: Boards) -> None:
        super().__init__(job)
        self._boards = boards
        self._session: Any = None
        self._libraries: dict[str, Any] = {}
        self._right: list[Any] = []
        self._patience_s = FIRST_CALL_S

    def answer(self, request: Request) -> Answer:
        self._patience_s = request.patience_s if isinstance(request, Measure) else FIRST_CALL_S
        return super().answer(request)

    def failed(self, error: Exception) -> Answer:
        if isinstance(error, _Ended):
            return Answer(error.state, str(error))
        if self._session is None or isinstance(error, GSError):
            return super().failed(error)
        return Answer("lost", str(error).strip()[-500:])

    def prepare(self, seed: int) -> Answer:
        if self._session is None:
            self._connect()
        text = self._empty(TEXT_BYTES)
        cores = int(self._library({})["gs_machine"](text))
        machine = f"{_text(text)}, {cores} cores"
        if self._boards.machine not in ("", machine):
            kinds = f"{self._boards.machine}; {machine}"
            raise DeviceError(f"tune: boards of the key {self._boards.key!r} are of several kinds: {kinds}")
        return replace(super().prepare(seed), machine=(_text(text), cores))

    def put(self, x: Any) -> Any:
        found = self._empty(x.nbytes)
        if x.nbytes:
            found.copyfrom(np.ascontiguousarray(x).reshape(-1).view(np.uint8))
        return found

    def fetched(self, outs: Sequence[Any]) -> Sequence[Any]:
        found = []
        for out, (shape, dtype) in zip(outs, self._results(), strict=True):
            found.append(out.numpy()[: math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape))
        return found

    def wrong(self, outs: Sequence[Any]) -> str | None:
        same = self._library({})["gs_same"]
        sizes = (math.prod(shape) * dtype.itemsize for shape, dtype in self._results())
        alike = all(same(a, b, n) for a, b, n in zip(outs, self._right, sizes, strict=True))
        return None if alike else super().wrong(outs)

    def timer(self, run: Any) -> Timer:
        found: Timer = run.ms
        return found

    def one(self, run: Any) -> float:
        return self.timer(run)(1)

    def bound(self, choices: Choices) -> tuple[Callable[[], Any], list[Any]]:
        library, text = self._library(choices), self._empty(TEXT_BYTES)
        outs = [self._empty(math.prod(shape) * dtype.itemsize) for shape, dtype in self._results()]
        given = (*self.inputs, *outs, *(self.job.sizes[name] for name in self.job.graph.symbols))
        ended = int(library["gs_survives"](math.ceil(self._patience_s), *given))
        if ended == HUNG:
            raise _Ended("hung", f"no answer for {self._patience_s:.0f} s")
        if ended > CRASHED:
            raise _Ended("crashed", exit_text(CRASHED - ended))
        if library["gs_call"](text, *given) != 0:
            raise ArgumentError(_text(text))
        if not choices:
            self._right = outs
        return _Call(library, given), outs

    def _connect(self) -> None:
        """A session with a board that is free."""
        from tvm import rpc

        count(self._boards)  # says what is wrong, and does not wait as the next does
        tracker = rpc.connect_tracker(self._boards.host, self._boards.port)
        self._session = tracker.request(self._boards.key, max_retry=1)
        tracker.close()

    def _library(self, choices: Choices) -> Mapping[str, Any]:
        """A candidate's library, loaded there."""
        path = self._boards.library(choices)
        if path.name not in self._libraries:
            self._session.upload(str(path))
            self._libraries[path.name] = self._session.load_module(path.name)
        found: Mapping[str, Any] = self._libraries[path.name]
        return found

    def _empty(self, nbytes: int) -> Any:
        from tvm.runtime import empty

        return empty((max(nbytes, 1),), "uint8", self._session.cpu())

    def _results(self) -> list[tuple[tuple[int, ...], Any]]:
        """Shape and dtype of each."""
        outputs = self.job.graph.outputs
        return [(tuple(evaluate(d, self.job.sizes) for d in v.shape), numpy_dtype(v.dtype.name)) for v in outputs]


def _text(tensor: Any) -> str:
    """What C has written."""
    return bytes(tensor.numpy()).partition(b"\0")[0].decode(errors="replace")
