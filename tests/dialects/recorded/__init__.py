"""Calls of frameworks that are heavy to install, with what the frameworks gave: checked always, made rarely.

Each module here draws calls of one framework, and says which of them may be made.  :func:`live` makes them, where the framework
is installed; ``python -m tests.dialects.recorded NAME`` then writes NAME.npz: a few calls of every function, with results
and the framework's version.

A file holds two arrays: ``index``, JSON, and ``data``, the bytes of all arrays one after the other.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.cases import numpy_dtype
from tests.dialects import judges
from tests.dialects.differential import Against, Draw, Refused, as_arrays, outcome
from tests.oracle import Array

HERE = Path(__file__).parent
SEEDS = range(1000, 1060)  # of the calls that are recorded: the first few that are small
RESULTS, REFUSALS, BYTES = 8, 3, 2500


@dataclass(frozen=True)
class Call:
    """One call of a dialect's function.

    Attributes:
        args, options: what it is called with; arrays only among ``args``, or in lists there.
        rtol, signed_zero: how close the results must be, as in :meth:`Against.agree`.
    """

    function: str
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    rtol: float = 0
    signed_zero: bool = True

    def of(self, module: Any) -> Any:
        """The call on a dialect."""
        return getattr(module, self.function)(*self.args, **self.options)

    def __str__(self) -> str:
        shown = [f"{a.dtype}{a.shape}" if isinstance(a, np.ndarray) else repr(a) for a in self.args]
        return f"{self.function}({', '.join([*shown, *(f'{k}={v!r}' for k, v in self.options.items())])})"


def against_all(dialect: Any, calls: Iterable[tuple[Call, Callable[[], Any]]], judge: str) -> int:
    """Compare calls with what the framework gives for each; returns how many had a result."""
    name = dialect.__name__.rpartition(".")[2]
    done = 0
    for call, theirs in calls:
        done += Against(name, call.function, judge).agree(
            lambda: call.of(dialect),  # noqa: B023
            theirs,
            call,
            rtol=call.rtol,
            signed_zero=call.signed_zero,
        )
    return done


def drawn(framework: Any, function: str, seeds: Iterable[int], **options: Any) -> list[Call]:
    """Calls of one function, by seed, that may be made."""
    calls = (framework.CASES[function](Draw(seed), **options) for seed in seeds)
    return [call for call in calls if framework.is_safe(call)]


def live(framework: Any, function: str, count: int, **options: Any) -> tuple[str, list[tuple[Call, Callable[[], Any]]]]:
    """The framework's version, and drawn calls of one function with what the framework gives for each; or a skip."""
    judge = judges.need(framework.__name__.rpartition(".")[2])
    calls = drawn(framework, function, range(count), **options)
    return judge.version, [(c, functools.partial(judge.ask, c.function, c.args, c.options)) for c in calls]


# -- files --------------------------------------------------------------------------------------------------------------


class Writer:
    """Arrays as places in one string of bytes."""

    def __init__(self) -> None:
        self.data = bytearray()

    @staticmethod
    def of(x: Any) -> Writer:
        """One that has written ``x``."""
        writer = Writer()
        writer(list(x))
        return writer

    def __call__(self, x: Any) -> Any:
        if isinstance(x, (np.ndarray, np.generic)):
            place = {"dtype": x.dtype.name, "shape": x.shape, "at": len(self.data)}
            self.data += x.tobytes()
            return place
        return [self(y) for y in x] if isinstance(x, (list, tuple)) else x


def record(name: str) -> None:
    """Write NAME.npz."""
    framework = importlib.import_module(f"{__name__}.{name}")
    judge = judges.Judge(f"{judges.__name__}.{name}")
    write = Writer()
    calls = []
    for function in framework.CASES:
        left = {True: REFUSALS, False: RESULTS}
        for call in drawn(framework, function, SEEDS):
            if len(Writer.of(call.args).data) > BYTES:
                continue
            result = outcome(functools.partial(judge.ask, call.function, call.args, call.options))
            refused = isinstance(result, Refused)
            if refused and isinstance(result.error, judges.Ended):
                continue
            left[refused] -= 1
            if left[refused] >= 0:
                gives = None if refused else write(as_arrays(result))
                calls.append({**asdict(call), "args": write(list(call.args)), "gives": gives})
    index = json.dumps({"version": judge.version, "calls": calls}).encode()
    np.savez_compressed(
        HERE / f"{name}.npz", index=np.frombuffer(index, "u1"), data=np.frombuffer(bytes(write.data), "u1")
    )


def recorded(name: str) -> tuple[str, list[tuple[Call, Any]]]:
    """The framework's version, and calls with results; None for a call that the framework refused."""
    with np.load(HERE / f"{name}.npz") as file:
        index, data = json.loads(file["index"].tobytes()), file["data"].tobytes()

    def read(x: Any) -> Any:
        if isinstance(x, dict):
            dtype = numpy_dtype(x["dtype"])
            count = int(np.prod(x["shape"]))
            return np.frombuffer(data, dtype, count, x["at"]).reshape(x["shape"]).copy()
        return [read(y) for y in x] if isinstance(x, list) else x

    calls = []
    for entry in index["calls"]:
        gives = read(entry.pop("gives"))
        calls.append((Call(**{**entry, "args": tuple(read(entry["args"]))}), gives))
    return index["version"], calls


def replay(gives: list[Array] | None) -> Callable[[], Any]:
    """A recorded result as a call of the framework."""

    def call() -> Any:
        if gives is None:
            raise ValueError("refused when it was recorded")
        return gives

    return call
