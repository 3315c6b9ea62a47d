"""A graph becomes a module: resolve the target, lower, compile, and hand the function to the runtime."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from gscompile.compiler.bounds_errors import bounds_error
from gscompile.compiler.lower import Lowered, Stats, lower
from gscompile.compiler.targets import Target, known_code, resolve
from gscompile.errors import ArgumentError, MissingExtraError
from gscompile.ir.graph import Graph, Value
from gscompile.ir.listing import table
from gscompile.runtime.background import Inside, interruptible
from gscompile.runtime.compiled import CompiledFunction
from gscompile.runtime.interface import Argument, Interface

Recipe: TypeAlias = tuple[Graph, tuple[Any, ...], bool]
"""What a module is compiled from, beside its target: the graph, rules to try first, whether it is to be deterministic."""


def build(graph: Graph, target: Any = "llvm", *, rules: Sequence[Any] = (), deterministic: bool = False) -> Module:
    """Compile a graph for a target; see :meth:`gscompile.frontend.builder.Builder.build`."""
    resolved = resolve(target)
    with Inside():
        lowered = lower(graph, resolved, rules, deterministic)
        library = interruptible(lambda: resolved.compile(lowered.module))
    return Module(lowered, resolved, library, (graph, tuple(rules), deterministic))


class Module(CompiledFunction):
    """A graph compiled for one target: a callable, and what was made.  It may be copied and pickled; it is compiled again then.

    Attributes:
        stats: kernels, workspace and least bytes moved; see :class:`gscompile.compiler.lower.Stats`.
    """

    def __init__(self, lowered: Lowered, target: Target, library: Any, recipe: Recipe) -> None:
        self._recipe = recipe
        self._lowered = lowered
        self._target = target
        self._library = library
        constants = [(v.type, v.op.array) for v in lowered.graph.constants]  # type: ignore[attr-defined]
        super().__init__(interface(lowered, target), self._entry, target.runner, constants, self._bounds_error_of)

    def __reduce__(self) -> tuple[Any, ...]:
        """Its graph and its target; it is compiled again where it is loaded."""
        graph, rules, deterministic = self._recipe
        try:
            pickle.dumps(rules)
        except Exception as e:
            raise ArgumentError(f"{self.name}: its schedule rules cannot be copied or pickled: {e}") from e
        return _loaded, (graph, self._target, rules, deterministic)

    def __copy__(self) -> Module:
        return self

    @property
    def stats(self) -> Stats:
        return self._lowered.stats

    def __repr__(self) -> str:
        head = ", ".join(f"{v.name}: {v.type}" for v in self.inputs)
        tail = ", ".join(str(v.type) for v in self.outputs)
        return f"<gscompile module {self.name}({head}) -> {tail} for {self._target}, {self._size()}>"

    def _repr_html_(self) -> str:
        graph = self._lowered.graph
        return table(f"module {self.name} for {self._target}: {self._size()}", graph.values, graph.outputs)

    def _size(self) -> str:
        count = len(self.stats.kernels)
        return f"{count} kernel{'s' * (count != 1)}"

    def source(self, kind: str = "tir") -> str:
        """The code at one stage: ``tir``; ``llvm`` and ``asm`` (of the host part, on cuda); ``cuda`` and ``ptx``.

        Raises:
            ArgumentError: no such kind.  TargetError: the target has no such stage.  MissingExtraError: ``ptx`` needs nvcc or
            NVRTC, and neither is there.
        """
        if kind not in known_code():
            raise ArgumentError(f"source: unknown kind {kind!r}; known: {', '.join(known_code())}")
        return self._target.source(kind, self._lowered.code, self._library)

    def save_source(self, directory: str | Path) -> list[Path]:
        """Write every stage's code that can be had here into a directory; returns the files."""
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for kind, code in self._target.code.items():
            try:
                text = self.source(kind)
            except MissingExtraError:
                continue  # no cuda compiler here
            path = folder / f"{self.name}.{code.suffix}"
            path.write_text(text)
            written.append(path)
        return written

    def _entry(self) -> Any:
        self._target.require_device(self.name)
        return self._library[self.name]

    def _bounds_error_of(self, check: int, position: int, number: int, sizes: Mapping[str, int]) -> Exception:
        return bounds_error(self._lowered.checks[check], position, number, sizes)


def _loaded(graph: Graph, target: Target, rules: Sequence[Any], deterministic: bool) -> Module:
    return build(graph, target, rules=rules, deterministic=deterministic)


def interface(lowered: Lowered, target: Target) -> Interface:
    """What a call must know of a lowered graph."""
    graph, inputs = lowered.graph, lowered.graph.inputs
    numbers = {id(v): n for n, v in enumerate(inputs)}
    return Interface(
        name=graph.name,
        device=target.device,
        alignment=target.alignment,
        inputs=_arguments(inputs),
        outputs=_arguments(graph.outputs),
        symbols=lowered.symbols,
        constraints=graph.constraints,
        workspace=lowered.stats.workspace_bytes,
        work=lowered.work,
        in_place={k: numbers[id(base)] for k, base in lowered.in_place.items()},
        checks=len(lowered.checks),
    )


def _arguments(values: Sequence[Value]) -> tuple[Argument, ...]:
    return tuple(Argument(v.name, v.type) for v in values)
