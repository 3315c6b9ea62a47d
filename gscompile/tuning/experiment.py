"""Experiments: a graph by rules, choices, distributions of indices and sizes, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from gscompile.bench.report import markdown
from gscompile.build import Module, made
from gscompile.compiler.targets import resolve
from gscompile.errors import ArgumentError, MissingExtraError, TargetError, missing_extra
from gscompile.frontend.builder import Builder
from gscompile.ir.dims import evaluate
from gscompile.ir.graph import Graph
from gscompile.runtime.threads import get_num_threads
from gscompile.schedules import Choices
from gscompile.tuning.candidates import Space
from gscompile.tuning.candidates import text_of as text_of_choices
from gscompile.tuning.indices import sizes_of, specs_of, text_of
from gscompile.tuning.worker import Job, Prepare, Worker

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
    """

    rows: Sequence[Mapping[str, Any]]

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
        """A row for each choice, a column for each distribution and size: milliseconds."""
        places = list(dict.fromkeys(map(self._place, self.rows)))
        by_choice: dict[str, dict[str, str]] = {}
        for row in self.rows:
            ms = f"{row['ms']:.3g}" if row["state"] == "ok" else row["state"]
            by_choice.setdefault(row["choice"], {})[self._place(row)] = ms
        lines = [[name, *(found.get(p, "") for p in places)] for name, found in by_choice.items()]
        return markdown(["ms", *places], lines)

    def plot(self, path: str | PathLike[str]) -> Path:
        """Draw bars of milliseconds, a group for each distribution and size, as .svg or .png.

        Raises:
            MissingExtraError: the extra ``plot`` is not installed.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as e:
            raise missing_extra("matplotlib", "plot", "a plot") from e
        places = list(dict.fromkeys(map(self._place, self.rows)))
        names = list(dict.fromkeys(row["choice"] for row in self.rows))
        figure = Figure(figsize=(max(6, 2 * len(places)), 4), layout="constrained")
        axes, width = figure.add_subplot(), 0.8 / len(names)
        for k, name in enumerate(names):
            rows = [r for r in self.rows if r["choice"] == name and r["state"] == "ok"]
            at = [places.index(self._place(r)) + (k - len(names) / 2 + 0.5) * width for r in rows]
            errors = [[r["ms"] - r["low"] for r in rows], [r["high"] - r["ms"] for r in rows]]
            axes.bar(at, [r["ms"] for r in rows], width, yerr=errors, label=name)
        axes.set_xticks(range(len(places)), places)
        axes.set_ylabel("ms")
        axes.legend(fontsize="small")
        figure.savefig(path)
        return Path(path)


COLUMNS = ("graph", "choice", "rules", "indices", "ms", "low", "high", "ratio", "gb_per_s", "state")


def experiment(
    source: Builder | Graph,
    target: Any = "llvm",
    *,
    choices: Mapping[str, Choices] | None = None,
    indices: Sequence[Any] = ("uniform",),
    sizes: Sequence[Mapping[str, int]] = ({},),
    rules: Sequence[Any] = (),
    deterministic: bool = False,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Table:
    """Time a graph for every choice, distribution of indices and size, in turns, in this process.

    Args:
        choices: by a name for the table, choices for a build; by default each rule that applies, and each of its ways.  The
            default is always among them.
        indices: what :func:`gscompile.tune` takes as ``indices``, one after the other.
        sizes: numbers for symbolic sizes, one after the other.
        rules, deterministic: as for :meth:`gscompile.frontend.builder.Builder.build`.
        rounds: in which all of them take turns; medians are of these.

    Raises:
        ArgumentError: a choice, a distribution or a size makes no sense.  TargetError: the target is no CPU that runs here.
    """
    graph = source.graph() if isinstance(source, Builder) else source
    if not isinstance(graph, Graph):
        raise ArgumentError(f"experiment: a builder or a graph is needed; got {type(source).__name__}")
    found = resolve(target)
    if found.device != "cpu":
        raise TargetError(f"experiment: {found} is not measured yet: use target='llvm'")
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
                    modules[text] = made(job.recipe(choice))
            each = {name: modules[text_of_choices(choice)] for name, choice in tried.items()}
            rows += _measured(job, each, label, rounds, seed)
    return Table(rows)


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
    worker = Worker(job)
    if (ready := worker.answer(Prepare(seed))).state != "ok":
        raise ArgumentError(f"experiment: {job.graph.name}: the default cannot be measured: {ready.why}")
    states, runs = dict.fromkeys(modules, "ok"), {}
    for name, m in modules.items():
        runs[name], outs = worker.bound_to(m)
        if worker.wrong(outs) is not None:
            states[name] = "wrong"
    times = worker.turns(runs, rounds, SLICE_MS)
    for name, m in modules.items():
        low, ms, high = (float(x) for x in np.percentile(times[name], [25, 50, 75]))
        yield {
            "graph": job.graph.name,
            "choice": name,
            "rules": ", ".join(rule for _, rule in m.stats.kernels),
            "indices": label,
            **job.sizes,
            "ms": ms,
            "low": low,
            "high": high,
            "ratio": float(np.median(np.divide(times[DEFAULT], times[name]))),
            "gb_per_s": evaluate(m.stats.min_bytes, job.sizes) / ms / 1e6,
            "state": states[name],
        }
