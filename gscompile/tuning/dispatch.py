"""One of several modules for each call, by a look at its indices."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypeAlias

import numpy as np

from gscompile.build import Module, build
from gscompile.errors import ArgumentError
from gscompile.frontend.builder import Builder
from gscompile.ir.dims import evaluate
from gscompile.ir.graph import Graph
from gscompile.tuning.indices import IndexInput, draw_of, index_inputs
from gscompile.tuning.source import graph_of, target_of

SAMPLES = 128
"""Points that are looked at, each with its successor."""
SHARE = 0.02
"""Of the time of all calls that looking may take."""
DRAWN = 1 << 15
"""Indices that are drawn of a distribution to see what it looks like."""

Looks: TypeAlias = "tuple[float, ...]"


class Dispatched:
    """A graph's modules for several distributions of indices; a call looks at its indices, and takes the one that is nearest.

    Every one of them gives the right result; they differ in time, and in how sums of floats may round.

    Args:
        modules: by distribution.
    """

    def __init__(self, graph: Graph, modules: Mapping[str, Module]) -> None:
        inputs = index_inputs(graph)
        if not inputs:
            raise ArgumentError(f"dispatch: no input of {graph.name} indexes another")
        self.modules = dict(modules)
        self._graph = graph
        self._index: IndexInput = next(iter(inputs.values()))
        self._names = [v.name for v in graph.inputs]
        self._place = self._names.index(self._index.value.name)
        self._known: dict[tuple[int, int], dict[str, Looks]] = {}
        self._chosen = next(iter(self.modules))
        self._looking = self._calling = self._look = 0.0

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The graph's results, by the module for the distribution that the indices look like."""
        begin = time.perf_counter()
        if self._looking + self._look <= SHARE * self._calling:
            self._chosen = self.choose(*arrays, **named)
            looked = time.perf_counter()
            # what it takes to know a size is not counted: it happens once
            self._look = looked - begin if self._calling else 0.0
            self._looking += self._look
            begin = looked
        found = self.modules[self._chosen](*arrays, **named)
        self._calling += time.perf_counter() - begin
        return found

    def choose(self, *arrays: Any, **named: Any) -> str:
        """The distribution that the indices of such a call look like; the first one where they cannot be looked at."""
        given = dict(zip(self._names, arrays, strict=False)) | named
        try:
            index = np.asarray(given[self._index.value.name])
            limit = self._limit(given)
        except Exception:  # the call will say what is wrong
            return next(iter(self.modules))
        if index.size < 2 or limit < 1:
            return next(iter(self.modules))
        flat = index if self._index.axis is None else np.take(index, 0, self._index.axis)
        here = looks(flat.reshape(-1), limit)
        known = self._known.get((flat.size, limit))
        if known is None:
            known = self._known[flat.size, limit] = {name: self._drawn(name, flat.size, limit) for name in self.modules}
        return min(known, key=lambda name: sum(abs(a - b) for a, b in zip(here, known[name], strict=True)))

    def _limit(self, given: Mapping[str, Any]) -> int:
        limit = self._index.limits[0]
        if isinstance(limit, int):
            return limit
        sizes: dict[str, int] = {}
        for v in self._graph.inputs:
            sizes |= {str(d): n for d, n in zip(v.shape, given[v.name].shape, strict=True) if not isinstance(d, int)}
        return evaluate(limit, sizes)

    @staticmethod
    def _drawn(name: str, size: int, limit: int) -> Looks:
        rng, count = np.random.default_rng(0), min(size, DRAWN)
        return looks(draw_of(name)(rng, limit, (count,)), limit)


def looks(index: Any, limit: int) -> Looks:
    """What a sample of indices looks like, numbers from 0 to 1.

    How often a successor is not less, equal, the next one; how often points far apart ascend; how many of them differ.
    """
    count = min(SAMPLES, len(index) - 1)
    at = np.linspace(0, len(index) - 2, count).astype(np.int64)
    here, after = index[at], index[at + 1]
    far = here[1:] >= here[:-1] if count > 1 else here >= here
    return (
        float(np.mean(after >= here)),
        float(np.mean(after == here)),
        float(np.mean(after == here + 1)),
        float(np.mean(far)),
        len(set(here.tolist())) / max(min(count, limit), 1),
    )


def dispatch(
    source: Builder | Graph | Module,
    target: Any = None,
    *,
    database: str | PathLike[str],
    indices: Sequence[str],
    deterministic: bool = False,
) -> Dispatched:
    """Build a graph for several distributions of indices, and choose among them at each call by a sample of its indices.

    Looking takes at most 2 % of the time of all calls: where calls are short, not every one is looked at.

    Args:
        target: by default a module's own, and ``"llvm"`` otherwise.
        database: with the winners of :func:`gscompile.tune` for these distributions; one that has none is the default.
        indices: names of distributions.

    Raises:
        ArgumentError: there is no such distribution, or nothing to look at.
    """
    graph = graph_of("dispatch", source)
    if isinstance(indices, str) or not indices:
        raise ArgumentError(f"dispatch: a list of distributions is needed; got {indices!r}")
    for name in indices:
        draw_of(name)
    found = target_of(source, target)
    modules = {n: build(graph, found, deterministic=deterministic, database=database, indices=n) for n in indices}
    return Dispatched(graph, modules)
