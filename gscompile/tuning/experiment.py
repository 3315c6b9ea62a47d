"""Experiments: a graph by rules, choices, distributions of indices and sizes, as a table of times and counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from gscompile.bench.report import markdown
from gscompile.build import Module, made
from gscompile.compiler import nvcc
from gscompile.compiler.targets import Target
from gscompile.errors import ArgumentError, MissingExtraError, missing_extra
from gscompile.frontend.builder import Builder
from gscompile.ir import machine
from gscompile.ir.dims import evaluate
from gscompile.ir.graph import Graph
from gscompile.runtime.threads import get_num_threads
from gscompile.schedules import Choices
from gscompile.tuning.candidates import Space
from gscompile.tuning.candidates import text_of as text_of_choices
from gscompile.tuning.counters import EVENTS, counted, missing
from gscompile.tuning.indices import sizes_of, specs_of, text_of
from gscompile.tuning.serve import worker_of
from gscompile.tuning.source import graph_of, target_of
from gscompile.tuning.worker import Answer, Job, Measure, Prepare

ROUNDS, SLICE_MS = 9, 5.0
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Table:
    """What an experiment gave.

    Attributes:
        rows: for each choice, distribution and size a dict: ``graph``; ``choice``, its name; ``rules``, by which the nests were
            carried out; ``indices``; a column for each symbolic size; ``ms``, ``low`` and ``high``, the median and the quartiles
            of a call's milliseconds; ``ratio``, how many times as fast as the default in the same rounds; ``gb_per_s``, the least
            bytes that must move, by that time; ``state``, ``ok`` or what is wrong.

            Counters: ``read_bytes`` and ``written_bytes``, the least that must move; ``workspace_bytes``, scratch memory.  On a
            CPU, for one call by all threads, ``instructions``, ``cycles``, ``cache_misses`` (of the last cache),
            ``branch_misses`` and ``page_faults``, as the system counts them in user mode.  On a GPU ``launches`` of kernels, and
            as its machine code says ``registers`` of a thread, ``local_bytes`` of a thread and ``shared_bytes`` of a block, of
            the kernel that takes most, and ``occupancy`` of the one that has least.

            Where there is no GPU, no time is there, and ``state`` is ``right`` or ``wrong`` where the CPU took the threads one
            after the other; ``built`` where they share memory, and it could not, and of the default, which the others are
            compared with.  What cannot be had is None.
        notes: what cannot be had here, and why.
    """

    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def pandas(self) -> Any:
        """As a ``pandas.DataFrame``.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as e:
            raise MissingExtraError("a table of pandas needs pandas: pip install pandas") from e
        return pandas.DataFrame(list(self.rows))

    def best(self) -> dict[str, str]:
        """By distribution, and sizes where there are several: the name of the fastest choice."""
        found: dict[str, Mapping[str, Any]] = {}
        for row in self.rows:
            key = self._place(row)
            if row["state"] == "ok" and (key not in found or row["ms"] < found[key]["ms"]):
                found[key] = row
        return {key: row["choice"] for key, row in found.items()}

    def _place(self, row: Mapping[str, Any]) -> str:
        sizes = ", ".join(f"{n}={row[n]}" for n in row if n not in COLUMNS)
        several = len({tuple(r[n] for n in r if n not in COLUMNS) for r in self.rows}) > 1
        return f"{row['indices']} {sizes}" if several and sizes else str(row["indices"])

    def __str__(self) -> str:
        """Milliseconds; where nothing was timed, the states and the counters."""
        if any(row["ms"] is not None for row in self.rows):
            return "\n".join([self.text(), *self.notes])
        shown = [c for c in ("state", *COUNTERS) if any(row.get(c) is not None for row in self.rows)]
        lines = [[row["choice"], self._place(row), *(_number(row.get(c)) for c in shown)] for row in self.rows]
        return "\n".join([markdown(["choice", "indices", *shown], lines), *self.notes])

    def text(self, column: str = "ms") -> str:
        """A row for each choice, a column for each distribution and size: milliseconds, or what another column has.

        Raises:
            ArgumentError: there is no such column.
        """
        self._require(column, (*RESULTS, *COUNTERS))
        places = list(dict.fromkeys(map(self._place, self.rows)))
        by_choice: dict[str, dict[str, str]] = {}
        for row in self.rows:
            found = row.get(column) if row["state"] in RIGHT or column in FACTS else row["state"]
            by_choice.setdefault(row["choice"], {})[self._place(row)] = _number(found)
        lines = [[name, *(found.get(p, "") for p in places)] for name, found in by_choice.items()]
        return markdown([column, *places], lines)

    def _require(self, column: str, known: Sequence[str]) -> None:
        if column not in known:
            raise ArgumentError(f"experiment: there is no column {column!r}; there are {', '.join(known)}")

    def plot(self, path: str | PathLike[str], column: str = "ms") -> Path:
        """Draw bars of milliseconds or of another column, a group for each distribution and size, as .svg or .png.

        Raises:
            MissingExtraError: the extra ``plot`` is not installed.  ArgumentError: there are no such numbers.
        """
        self._require(column, [c for c in (*RESULTS, *COUNTERS) if c != "state"])
        if all(row.get(column) is None for row in self.rows):
            raise ArgumentError("\n".join([f"experiment: no row has {column}", *self.notes]))
        try:
            from matplotlib.figure import Figure
        except ImportError as e:
            raise missing_extra("matplotlib", "plot", "a plot") from e
        places = list(dict.fromkeys(map(self._place, self.rows)))
        names = list(dict.fromkeys(row["choice"] for row in self.rows))
        figure = Figure(figsize=(max(6, 2 * len(places)), 4), layout="constrained")
        axes, width = figure.add_subplot(), 0.8 / len(names)
        for k, name in enumerate(names):
            rows = [r for r in self.rows if r["choice"] == name and r["state"] in RIGHT and r.get(column) is not None]
            at = [places.index(self._place(r)) + (k - len(names) / 2 + 0.5) * width for r in rows]
            errors = (
                [[r["ms"] - r["low"] for r in rows], [r["high"] - r["ms"] for r in rows]] if column == "ms" else None
            )
            axes.bar(at, [r[column] for r in rows], width, yerr=errors, label=name)
        axes.set_xticks(range(len(places)), places)
        axes.set_ylabel(column)
        axes.legend(fontsize="small")
        figure.savefig(path)
        return Path(path)


RESULTS = ("ms", "low", "high", "ratio", "gb_per_s", "state")
FACTS = ("read_bytes", "written_bytes", "workspace_bytes")
OF_A_GPU = ("launches", "registers", "local_bytes", "shared_bytes", "occupancy")
COUNTERS = (*FACTS, *EVENTS, *OF_A_GPU)
COLUMNS = ("graph", "choice", "rules", "indices", *RESULTS, *COUNTERS)
RIGHT = ("ok", "right", "built")


def _number(found: Any) -> str:
    """As a table shows it."""
    if found is None or isinstance(found, str):
        return found or "-"
    return f"{found:.3g}" if isinstance(found, float) and abs(found) < 1000 else f"{found:,.0f}"


def experiment(
    source: Builder | Graph | Module,
    target: Any = None,
    *,
    choices: Mapping[str, Choices] | None = None,
    indices: Sequence[Any] = ("uniform",),
    sizes: Sequence[Mapping[str, int]] = ({},),
    rules: Sequence[Any] = (),
    deterministic: bool = False,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Table:
    """Time a graph for every choice, distribution of indices and size, in turns, in this process, and count what it takes.

    For a GPU that is not here nothing is timed; results are compared on the CPU, and the table has what its kernels take.

    Args:
        target: by default a module's own, and ``"llvm"`` otherwise.
        choices: by a name for the table, choices for a build; by default each rule that applies, and each of its ways.  The
            default is always among them.
        indices: what :func:`gscompile.tune` takes as ``indices``, one after the other.
        sizes: numbers for symbolic sizes, one after the other.
        rules, deterministic: as for :meth:`gscompile.frontend.builder.Builder.build`.
        rounds: in which all of them take turns; medians are of these.

    Raises:
        ArgumentError: a choice, a distribution or a size makes no sense.  DeviceError: the target is a CPU that does not run
        here.
    """
    graph = graph_of("experiment", source)
    found = target_of(source, target)
    if not found.by_driver:
        found.require_device("experiment")
    if isinstance(indices, (str, Mapping)):
        raise ArgumentError("experiment: indices are a list: of distributions, or of dicts by name of an input")
    rows: list[Mapping[str, Any]] = []
    modules: dict[str, Module] = {}  # they depend on no size and no index
    for given in sizes:
        for how in indices:
            specs = specs_of(graph, how)
            known = sizes_of(graph, given, specs)
            job = Job(graph, found, tuple(rules), deterministic, specs, known, get_num_threads())
            tried = {DEFAULT: {}, **(choices if choices is not None else branches(job))}
            label = ", ".join(dict.fromkeys(map(text_of, specs.values()))) or "none"
            for choice in tried.values():
                if (text := text_of_choices(choice)) not in modules:
                    modules[text] = made(replace(job.recipe(choice), check="deferred" if job.on_gpu else "sync"))
            each = {name: modules[text_of_choices(choice)] for name, choice in tried.items()}
            if job.measured:
                rows += _measured(job, each, label, rounds, seed)
            else:
                rows += _compared(job, tried, each, label, seed)
    return Table(rows, tuple(notes(found)))


def notes(target: Target) -> Iterator[str]:
    """What cannot be had here, and why."""
    if not target.by_driver:
        why: dict[str, list[str]] = {}
        for name in EVENTS:
            if (reason := missing(name)) is not None:
                why.setdefault(reason, []).append(name)
        yield from (f"not counted here: {', '.join(names)}: perf_event_open: {reason}" for reason, names in why.items())
        return
    if not machine.cuda_exists():
        yield "not timed here: that needs a GPU"
    if nvcc.available() is None:
        yield "not known here: registers, local_bytes, shared_bytes, occupancy: that needs nvcc or NVRTC: pip install '.[cuda]'"


def branches(job: Job) -> dict[str, Choices]:
    """Each rule and way for each nest of a graph, by name."""
    space = Space.of(job.graph, job.target, job.rules, job.deterministic, job.sizes, job.threads)
    several = len(space.nests) > 1
    return {
        f"{n.nest}: {b.name}" if several else b.name: {n.nest: dict(b.given)}
        for n in space.nests
        for b in n.branches[1:]
    }


def _measured(
    job: Job, modules: Mapping[str, Module], label: str, rounds: int, seed: int
) -> Iterator[Mapping[str, Any]]:
    """The rows for one distribution and size."""
    worker = worker_of(job)
    if (ready := worker.answer(Prepare(seed))).state != "ok":
        raise _unusable(job, ready)
    states, runs = dict.fromkeys(modules, "ok"), {}
    for name, m in modules.items():
        runs[name], outs = worker.bound_to(m)
        if worker.wrong(outs) is not None:
            states[name] = "wrong"
    times = worker.turns(runs, rounds, SLICE_MS)
    for name, m in modules.items():
        low, ms, high = (float(x) for x in np.percentile(times[name], [25, 50, 75]))
        ratio = float(np.median(np.divide(times[DEFAULT], times[name])))
        gb_per_s = evaluate(m.stats.min_bytes, job.sizes) / ms / 1e6
        events = {} if job.on_gpu else counted(runs[name], max(1, int(SLICE_MS / ms)))
        results = (ms, low, high, ratio, gb_per_s, states[name])
        yield _row(job, name, m, label) | dict(zip(RESULTS, results, strict=True)) | _taken(job, m) | events


def _compared(
    job: Job, choices: Mapping[str, Choices], modules: Mapping[str, Module], label: str, seed: int
) -> Iterator[Mapping[str, Any]]:
    """The same for a GPU that is not here."""
    worker = worker_of(job)
    if (ready := worker.answer(Prepare(seed))).state != "ok":
        raise _unusable(job, ready)
    for name, m in modules.items():
        state = "built" if name == DEFAULT else worker.answer(Measure(choices[name])).state
        yield _row(job, name, m, label) | dict.fromkeys(RESULTS) | {"state": state} | _taken(job, m)


def _unusable(job: Job, ready: Answer) -> ArgumentError:
    return ArgumentError(f"experiment: {job.graph.name}: the default cannot be measured: {ready.why}")


def _row(job: Job, name: str, m: Module, label: str) -> dict[str, Any]:
    """What a row is about."""
    rules = ", ".join(rule for _, rule in m.stats.kernels)
    return {"graph": job.graph.name, "choice": name, "rules": rules, "indices": label, **job.sizes}


def _taken(job: Job, m: Module) -> dict[str, Any]:
    """What is known of a module without a call."""
    s = m.stats
    sizes = (s.read_bytes, s.written_bytes, s.workspace_bytes)
    found: dict[str, Any] = {n: evaluate(d, job.sizes) for n, d in zip(FACTS, sizes, strict=True)}
    if not job.on_gpu:
        return found
    kernels = () if nvcc.available() is None else m.resources().values()
    most = {n: max((getattr(k, n) for k in kernels), default=None) for n in OF_A_GPU[1:-1]}
    return {**found, "launches": s.launches, **most, "occupancy": min((k.occupancy for k in kernels), default=None)}
