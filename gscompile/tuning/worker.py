"""What answers requests to build, compare and time candidates."""

from __future__ import annotations

import gc
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gscompile.bench.timing import Timer, interleaved, timer
from gscompile.bench.workload import TOLERANCE, relative_error
from gscompile.build import Module, Recipe, export_measured, made
from gscompile.compiler import nvcc
from gscompile.compiler.targets import Target
from gscompile.emulation import EmulatedCuda
from gscompile.errors import ArgumentError, GSError
from gscompile.ir import machine
from gscompile.ir import tir as T
from gscompile.ir.graph import Graph
from gscompile.schedules import Choices
from gscompile.tuning.candidates import text_of
from gscompile.tuning.indices import Spec, arrays

ROUNDS, SLICE_MS = 5, 6.0
AGAIN_ROUNDS, AGAIN_SLICE_MS = 9, 10.0
HOPELESS = 3.0
"""A candidate whose call takes so many times the default's is not timed further."""
NOTICED_MS = 0.02
"""And this much longer: what one call of less takes says nothing."""
FIRST_CALL_S = 60.0
"""On a board, where a request does not say."""


@dataclass(frozen=True, slots=True)
class Boards:
    """Machines on which candidates are measured: servers of TVM's RPC.

    Attributes:
        host, port: of their tracker.
        key: by which the tracker knows them.
        folder: of libraries, here.
        machine: which all of them are; empty until one has said so.
    """

    host: str
    port: int
    key: str
    folder: str
    machine: str = ""

    def library(self, choices: Choices) -> Path:
        """The file of a candidate."""
        return Path(self.folder) / f"c{hashlib.sha256(text_of(choices).encode()).hexdigest()[:24]}.so"


@dataclass(frozen=True, slots=True)
class Job:
    """What is tuned: everything but the choices.

    Attributes:
        cores: that the process may use; all of them if empty.
        boards: where candidates are measured; None for this machine.
    """

    graph: Graph
    target: Target
    rules: tuple[Any, ...]
    deterministic: bool
    specs: Mapping[str, Spec]
    sizes: Mapping[str, int]
    threads: int
    cores: tuple[int, ...] = ()
    boards: Boards | None = None

    def recipe(self, choices: Choices) -> Recipe:
        return Recipe(self.graph, self.rules, self.deterministic, self.target, choices)

    @property
    def on_gpu(self) -> bool:
        """Whether its kernels are a GPU's."""
        return self.target.by_driver

    @property
    def measured(self) -> bool:
        """Whether calls can be made here, and so be timed."""
        return not self.on_gpu or machine.cuda_exists()


@dataclass(frozen=True, slots=True)
class Build:
    """A request: compile a candidate."""

    choices: Choices


@dataclass(frozen=True, slots=True)
class Prepare:
    """A request: draw arrays, and compute the default's result."""

    seed: int


@dataclass(frozen=True, slots=True)
class Measure:
    """A request: compare a candidate's result, and time it in turns with the default.

    Attributes:
        patience_s: for its first call on a board, which a process of the board waits for.
    """

    choices: Choices
    patience_s: float = FIRST_CALL_S


@dataclass(frozen=True, slots=True)
class MeasureAgain:
    """A request: time candidates, which have names, on fresh arrays, with the default twice."""

    candidates: Mapping[str, Choices]
    seed: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Of any request.

    Attributes:
        state: of a record; or ``lost``: the board was.
        why: what went wrong.
        code: a hash of what was built.
        ms, default_ms, ratio: medians.
        times: milliseconds by contender and round.
        machine: the processor of a board, and how many cores it has.
    """

    state: str
    why: str = ""
    code: str = ""
    ms: float = 0.0
    default_ms: float = 0.0
    ratio: float = 0.0
    times: Mapping[str, Sequence[float]] = field(default_factory=dict)
    machine: tuple[str, int] = ("", 0)


Request: TypeAlias = "Build | Prepare | Measure | MeasureAgain"


class Worker:
    """Answers requests about one job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.inputs: list[Any] = []
        self.want: list[Any] = []
        self.default: Callable[[], Any] = lambda: None
        self.default_ms = 0.0

    def answer(self, request: Request) -> Answer:
        """What came of a request; a mistake of the candidate's is no exception."""
        try:
            if isinstance(request, Build):
                return self.build(request.choices)
            if isinstance(request, Prepare):
                return self.prepare(request.seed)
            if isinstance(request, Measure):
                return self.measure(request.choices)
            return self.measure_again(request.candidates, request.seed)
        except Exception as e:
            return self.failed(e)

    def failed(self, error: Exception) -> Answer:
        """What an exception means."""
        text = str(error).strip()[:500]
        return Answer("failed", text if isinstance(error, GSError) else f"{type(error).__name__}: {text}")

    def build(self, choices: Choices) -> Answer:
        """Compile, and say what code it is."""
        recipe = self.job.recipe(choices)
        code = f"{T.structural_hash(recipe.lowered().module):x}"
        module = made(recipe)
        if self.job.boards is not None:
            export_measured(module, self.job.boards.library(choices))
        return Answer("ok", code=code)

    def prepare(self, seed: int) -> Answer:
        self.draw(seed)
        time = self.timer(self.default)
        for _ in range(2):
            self.default_ms = time(1)
        calls = max(1, int(SLICE_MS / max(self.default_ms, 1e-4)))
        self.default_ms = float(np.median([time(calls) for _ in range(3)]))
        return Answer("ok", default_ms=self.default_ms)

    def draw(self, seed: int) -> None:
        """Draw arrays, and compute the default's result."""
        self.inputs = [self.put(x) for x in arrays(self.job.graph, self.job.specs, self.job.sizes, seed)]
        self.default, outs = self.bound({})
        self.want = [np.array(o) for o in self.fetched(outs)]

    def put(self, x: Any) -> Any:
        """A NumPy array where calls take it."""
        return x

    def fetched(self, outs: Sequence[Any]) -> Sequence[Any]:
        """Results as NumPy arrays."""
        return outs

    def wrong(self, outs: Sequence[Any]) -> str | None:
        """How results differ from the default's."""
        return differs(self.fetched(outs), self.want)

    def timer(self, run: Callable[[], Any]) -> Timer:
        """What times a call."""
        return timer(run)

    def measure(self, choices: Choices) -> Answer:
        run, outs = self.bound(choices)
        if (wrong := self.wrong(outs)) is not None:
            return Answer("wrong", wrong)
        first = self.one(run)
        if first > HOPELESS * self.default_ms:  # once may have been a disturbance
            first = min(first, self.one(run))
        if first > HOPELESS * self.default_ms and first > self.default_ms + NOTICED_MS:
            return Answer("pruned", ms=first, default_ms=self.default_ms, ratio=self.default_ms / first)
        times = self.turns({"default": self.default, "candidate": run}, ROUNDS, SLICE_MS)
        ms, default = (float(np.median(times[name])) for name in ("candidate", "default"))
        ratio = float(np.median(np.divide(times["default"], times["candidate"])))
        return Answer("ok", ms=ms, default_ms=default, ratio=ratio)

    def measure_again(self, candidates: Mapping[str, Choices], seed: int) -> Answer:
        self.prepare(seed)
        runs = {"default": self.default, "again": self.bound({})[0]}
        for name, choices in candidates.items():
            run, outs = self.bound(choices)
            if self.wrong(outs) is None:
                runs[name] = run
        return Answer("ok", default_ms=self.default_ms, times=self.turns(runs, AGAIN_ROUNDS, AGAIN_SLICE_MS))

    def bound(self, choices: Choices) -> tuple[Callable[[], Any], list[Any]]:
        """A call that is ready to be made and was made once, and its results."""
        return self.bound_to(made(self.job.recipe(choices)))

    def bound_to(self, module: Module) -> tuple[Callable[[], Any], list[Any]]:
        """The same of a module."""
        found = module(*self.inputs)
        outs = list(found) if isinstance(found, (tuple, list)) else [found]
        run = module.bind(*self.inputs, out=found)
        run()
        return run, outs

    def turns(self, runs: Mapping[str, Callable[[], Any]], rounds: int, slice_ms: float) -> dict[str, list[float]]:
        """Milliseconds of each by round, in turns."""
        gc.collect()
        gc.disable()
        try:
            return interleaved({name: self.timer(run) for name, run in runs.items()}, rounds, slice_ms)[0]
        finally:
            gc.enable()

    def one(self, run: Callable[[], Any]) -> float:
        """Milliseconds of one call."""
        begin = time.perf_counter()
        run()
        return (time.perf_counter() - begin) * 1e3


class OnGpu(Worker):
    """Calls for the GPU here, which are queued: a time is that of several and of waiting for the last."""

    def put(self, x: Any) -> Any:
        return machine.on_cuda(x)

    def fetched(self, outs: Sequence[Any]) -> Sequence[Any]:
        machine.synchronize_cuda()
        return [o.numpy() for o in outs]

    def timer(self, run: Callable[[], Any]) -> Timer:
        def timed(calls: int) -> float:
            run()
            machine.synchronize_cuda()
            begin = time.perf_counter()
            for _ in range(calls):
                run()
            machine.synchronize_cuda()
            return (time.perf_counter() - begin) * 1e3 / calls

        return timed

    def one(self, run: Callable[[], Any]) -> float:
        return self.timer(run)(1)

    def bound(self, choices: Choices) -> tuple[Callable[[], Any], list[Any]]:
        return self.bound_to(made(replace(self.job.recipe(choices), check="deferred")))


class WithoutGpu(Worker):
    """For a GPU that is not here: candidates are compiled for it, and compared with the default where the CPU takes their threads
    one after the other.  Nothing is timed.
    """

    def build(self, choices: Choices) -> Answer:
        answer = super().build(choices)
        if nvcc.available() is not None:  # ptxas takes it, too
            made(self.job.recipe(choices)).resources()
        return answer

    def prepare(self, seed: int) -> Answer:
        self.draw(seed)
        return Answer("ok")

    def measure(self, choices: Choices) -> Answer:
        try:
            _, outs = self.bound(choices)
        except ArgumentError as e:
            return Answer("built", f"not compared: threads that share memory do not run one after the other: {e}")
        wrong = self.wrong(outs)
        return Answer("right") if wrong is None else Answer("wrong", wrong)

    def bound(self, choices: Choices) -> tuple[Callable[[], Any], list[Any]]:
        emulated = EmulatedCuda.of({"arch": self.job.target.facts.arch})
        return self.bound_to(made(replace(self.job.recipe(choices), target=emulated)))


def differs(got: Sequence[Any], want: Sequence[Any]) -> str | None:
    """How results differ from the default's: integers at all, floats by more than another order of additions may give."""
    for k, (a, b) in enumerate(zip(got, want, strict=True)):
        if a.tobytes() == b.tobytes():
            continue
        name = b.dtype.name.replace("complex64", "float32").replace("complex128", "float64")
        if name not in TOLERANCE:
            return f"result {k}: {int(np.sum(a != b))} of {b.size} elements differ"
        wide = np.complex128 if b.dtype.kind == "c" else np.float64
        x, y = a.astype(wide), b.astype(wide)
        finite = np.isfinite(y)
        if not np.array_equal(np.isfinite(x), finite):
            return f"result {k}: other elements are finite"
        worst = relative_error(x[finite], y[finite])
        if worst > TOLERANCE[name]:
            return f"result {k}: off by {worst:.1e} of the largest element"
    return None
