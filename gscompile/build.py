"""A graph becomes a module: resolve the target, lower, compile, and hand the function to the runtime."""

from __future__ import annotations

import operator
import pickle
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from os import PathLike
from pathlib import Path
from textwrap import indent
from typing import Any, TypeVar

import numpy as np

from gscompile.compiler import disk_cache
from gscompile.compiler.bounds_errors import bounds_error
from gscompile.compiler.codegen_units import codegen_units, in_threads
from gscompile.compiler.cubin import Resources, resources
from gscompile.compiler.declarations import reference
from gscompile.compiler.disk_cache import Slot
from gscompile.compiler.lower import Lowered, Stats, Summary, lower
from gscompile.compiler.nvcc import compile_cuda
from gscompile.compiler.prim_func import clamped, with_buffers
from gscompile.compiler.targets import Target, known_code, resolve
from gscompile.compiler.targets.freestanding import Freestanding
from gscompile.compiler.tuned import Database, Key, Source, default_database, described, key_of, named, numbered_indices
from gscompile.deploy import library as libraries
from gscompile.deploy.library import Compiled
from gscompile.errors import ArgumentError, MissingExtraError, TargetError, index_changed
from gscompile.ir import machine, status
from gscompile.ir.dims import dim_max, evaluate
from gscompile.ir.graph import Graph, Value
from gscompile.ir.listing import table
from gscompile.runtime.background import Inside, interruptible
from gscompile.runtime.checks import is_deferred
from gscompile.runtime.compiled import CompiledFunction
from gscompile.runtime.interface import Argument, Interface
from gscompile.runtime.pools import loaded
from gscompile.runtime.threads import get_num_threads
from gscompile.schedules import Choices

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a module is compiled from: a graph, rules to try first, whether it is to be deterministic, for what, and choices.

    Attributes:
        check: when its calls' index checks are read, which changes nothing in its code.
        source: of its choices, where they are not given; a library for several CPUs looks there for each of them.
    """

    graph: Graph
    rules: tuple[Any, ...]
    deterministic: bool
    target: Target
    choices: Choices = field(default_factory=dict)
    check: str = "sync"
    source: Source | None = None

    @property
    def key(self) -> Key:
        """What tuning records for it are found by."""
        return key_of(self.graph, self.target, self.deterministic, self.rules)

    @property
    def slot(self) -> Slot | None:
        """Where its code is kept on disk."""
        return disk_cache.slot(self.graph, self.target, self.deterministic, self.choices)

    def lowered(self) -> Lowered:
        return lower(self.graph, self.target, self.rules, self.deterministic, self.choices, by_runner=True)

    def code(self) -> Code:
        return Code.of(self.lowered(), self.target)

    def tuned(self, make: Callable[[Recipe], Made]) -> Made:
        """Make something of it with the choices that its source has for its target, or with the defaults."""
        found = {} if self.source is None else self.source.find(self.key, self.target)
        try:
            return make(replace(self, choices=chosen(named(self.graph, found))))
        except ArgumentError as e:  # a record of rules that have changed since
            if not found:
                raise
            warnings.warn(f"build: {self.graph.name}: a tuned record is left alone: {e}", stacklevel=4)
            return make(replace(self, choices={}))


def build(
    graph: Graph,
    target: Any = "llvm",
    *,
    rules: Sequence[Any] = (),
    deterministic: bool = False,
    choices: Choices | None = None,
    database: str | PathLike[str] | None = None,
    indices: str | Mapping[str, str] | None = None,
    machine: str | None = None,
    check: str = "sync",
) -> Module:
    """Compile a graph for a target, or find it compiled; see :meth:`gscompile.frontend.builder.Builder.build`."""
    is_deferred("build", check)
    recipe = Recipe(graph, tuple(rules), deterministic, resolve(target), check=check)
    if choices is not None:
        if database is not None:
            raise ArgumentError("build: choices= says what to choose, and database= too: give one of them")
        return made(replace(recipe, choices=chosen(choices)))
    records = default_database() if database is None else Database(database)
    if records is None:
        return made(recipe)
    return replace(recipe, source=Source(records.path, numbered_indices(graph, indices), machine)).tuned(made)


def chosen(choices: Any) -> Choices:
    """Choices as a recipe keeps them; whether rules offer them is seen when the graph is lowered.

    Raises:
        ArgumentError: they are no such thing.
    """
    right = isinstance(choices, Mapping) and all(
        isinstance(nest, str)
        and isinstance(given, Mapping)
        and all(isinstance(n, str) and type(v) in (int, str) for n, v in given.items())
        for nest, given in choices.items()
    )
    if not right:
        raise ArgumentError(
            f"build: choices are, by the name of a nest, values (int or str) by name; got {str(choices)[:200]}"
        )
    return {nest: dict(given) for nest, given in choices.items() if given}


def made(recipe: Recipe) -> Module:
    """The module of a recipe, compiled or found."""
    with Inside():
        slot = None if recipe.rules else recipe.slot
        kept = slot and slot.find(Summary.from_json)
        if kept is not None:
            return Module(recipe, kept.found, kept.library, from_cache=True)
        lowered, target = recipe.lowered(), recipe.target
        library = slot and interruptible(
            lambda: slot.add(lambda folder: objects(lowered, target, folder), lowered.summary.to_json())
        )
        code = None if library else Code.of(lowered, target)
    return Module(recipe, lowered.summary, library, code)


def objects(lowered: Lowered, target: Target, folder: str) -> list[str]:
    """Write a lowered function's machine code as object files, and say which they are."""
    units = [lowered.module] if lowered.parts else codegen_units(lowered.graph.name, lowered.func)
    paths = [str(Path(folder, f"unit{k}.o")) for k in range(len(units))]
    in_threads(lambda k: target.compile(units[k]).mod.write_to_file(paths[k], "o"), range(len(units)))
    return paths


@dataclass(frozen=True, slots=True)
class Code:
    """What TVM made of a graph, and of what."""

    lowered: Lowered
    library: Any

    @classmethod
    def of(cls, lowered: Lowered, target: Target) -> Code:
        return cls(lowered, interruptible(lambda: target.compile(lowered.module)))

    def write_object(self, path: str) -> None:
        self.library.mod.write_to_file(path, "o")


class Module(CompiledFunction):
    """A graph compiled for one target: a callable, and what was made.  It may be copied and pickled; it is compiled again then.

    Attributes:
        stats: kernels, launches, workspace and least bytes moved; see :class:`gscompile.compiler.lower.Stats`.
        from_cache: its machine code was found on disk; see :mod:`gscompile.compiler.disk_cache`.
    """

    def __init__(
        self,
        recipe: Recipe,
        summary: Summary,
        library: Path | None,
        code: Code | None = None,
        *,
        from_cache: bool = False,
    ) -> None:
        """
        Args:
            library: a shared library on disk with the compiled function; None where there is only ``code``.
        """
        self.from_cache = from_cache
        self._recipe = recipe
        self._summary = summary
        self._shared_library = library
        self._made = code
        constants = [(v.type, v.op.array) for v in recipe.graph.constants]  # type: ignore[attr-defined]
        face = interface(recipe.graph, summary, recipe.target)
        super().__init__(face, self._entry, recipe.target.runner, constants, self._bounds_error_of, recipe.check)
        if library is not None:  # otherwise TVM makes machine code when it is loaded: not for who only builds
            self._load_here()

    def __reduce__(self) -> tuple[Any, ...]:
        """Its graph and its target; it is compiled again where it is loaded."""
        recipe = self._recipe
        try:
            pickle.dumps(recipe.rules)
        except Exception as e:
            raise ArgumentError(f"{self.name}: its schedule rules cannot be copied or pickled: {e}") from e
        return _loaded, tuple(getattr(recipe, f.name) for f in fields(recipe))

    def __copy__(self) -> Module:
        return self

    @property
    def stats(self) -> Stats:
        return self._summary.stats

    @property
    def choices(self) -> Choices:
        """By the name of a nest, what was chosen other than by default; see docs/tuning.md."""
        return self._recipe.choices

    def __repr__(self) -> str:
        head = ", ".join(f"{v.name}: {v.type}" for v in self.inputs)
        tail = ", ".join(str(v.type) for v in self.outputs)
        return f"<gscompile module {self.name}({head}) -> {tail} for {self._recipe.target}, {self._size()}>"

    def _repr_html_(self) -> str:
        graph = self._recipe.graph
        return table(f"module {self.name} for {self._recipe.target}: {self._size()}", graph.values, graph.outputs)

    def _size(self) -> str:
        count = len(self.stats.kernels)
        return f"{count} kernel{'s' * (count != 1)}"

    def explain(self, **sizes: int) -> str:
        """Why each kernel is carried out as it is: its rule, and where rules chose by estimated times, facts, estimates, choice.

        On cuda also launches, the least bytes read and written, and where a compiler for CUDA C++ is here :meth:`resources`.

        Args:
            sizes: values of symbolic sizes, by name; where they are not given, formulas are printed.

        Raises:
            ArgumentError: there is no such size, or it is negative.
        """
        symbols = self._summary.symbols
        values = {n: size for n, v in sizes.items() if n in symbols and (size := _size(v)) is not None}
        if wrong := sizes.keys() - values:
            named = ", ".join(symbols) or "none"
            raise ArgumentError(
                f"explain: {', '.join(sorted(wrong))}: symbolic sizes of {self.name} are {named}, and not negative"
            )
        lowered, threads = self._recipe.lowered(), get_num_threads()
        lines = [f"{self.name} for {self._recipe.target}, {threads} thread{'s' * (threads != 1)}"]
        for name, rule in lowered.summary.stats.kernels:
            given = ", ".join(f"{choice} {value}" for choice, value in self.choices.get(name, {}).items())
            lines.append(f"{name}: {rule}" + f" (given: {given})" * bool(given))
            lines += [indent(d.text(values, threads), "  ") for d in lowered.decisions.get(name, ())]
            numbers = self._numbers(lowered, name)
            lines += [f"  numbers: {numbers}"] * bool(numbers)
        return "\n".join([*lines, *self._explained_launches(values)])

    def _numbers(self, lowered: Lowered, nest: str) -> str:
        """Which numbers the rule of a nest has, given or of the model."""
        given = self.choices.get(nest, {})
        chosen = {name: given.get(name, choice.default) for name, choice in lowered.asked.get(nest, {}).items()}
        return ", ".join(f"{name} {value}" for name, value in chosen.items() if isinstance(value, int))

    def _explained_launches(self, sizes: Mapping[str, int]) -> list[str]:
        """What a GPU launches and moves, and what its kernels take; nothing on a CPU."""
        s = self.stats
        if not s.launches:
            return []
        known = sizes.keys() == set(self._summary.symbols)
        read, written = (evaluate(d, sizes) if known else d for d in (s.read_bytes, s.written_bytes))
        count = self._recipe.target.facts.multiprocessors
        moved = f"bytes: at least {read} read, {written} written"
        lines = [f"launches: at most {s.launches}; {moved}; grids for {count} multiprocessors"]
        try:
            return [*lines, *(f"{name}: {r}" for name, r in self.resources().items())]
        except (MissingExtraError, TargetError):  # no compiler here, or none that knows the architecture
            return lines

    def resources(self) -> Mapping[str, Resources]:
        """By the name of each kernel that the module has for a GPU: registers, shared memory, occupancy, as machine code for the
        target's architecture says.  A call launches some of them.

        Raises:
            TargetError: the target is no GPU, or the compiler here does not know it.
            MissingExtraError: there is neither nvcc nor NVRTC.
        """
        arch = self._recipe.target.facts.arch
        return resources(compile_cuda(self.source("cuda"), arch, "cubin"), arch)

    def source(self, kind: str = "tir") -> str:
        """The code at one stage: ``tir``; ``llvm`` and ``asm`` (of the host part, on cuda); ``cuda`` and ``ptx``.

        Raises:
            ArgumentError: no such kind.  TargetError: the target has no such stage.  MissingExtraError: ``ptx`` needs nvcc or
            NVRTC, and neither is there.
        """
        if kind not in known_code():
            raise ArgumentError(f"source: unknown kind {kind!r}; known: {', '.join(known_code())}")
        return self._recipe.target.source(kind, self._code.lowered.code, self._code.library)

    def save_source(self, directory: str | Path) -> list[Path]:
        """Write every stage's code that can be had here into a directory; returns the files."""
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for kind, code in self._recipe.target.code.items():
            try:
                text = self.source(kind)
            except MissingExtraError:
                continue  # no cuda compiler here
            path = folder / f"{self.name}.{code.suffix}"
            path.write_text(text)
            written.append(path)
        return written

    def export(
        self,
        path: str | Path,
        *,
        cpu: Sequence[str] = (),
        prefix: str = "",
        cc: str | None = None,
        freestanding: bool = False,
        arch: Sequence[str] = (),
        weights: str | Path | None = None,
    ) -> list[Path]:
        """Write a library for C, C++ and :func:`gscompile.load`, and a header beside it; see :func:`export`."""
        return export(
            [self], path, cpu=cpu, prefix=prefix, cc=cc, freestanding=freestanding, arch=arch, weights=weights
        )

    @property
    def _code(self) -> Code:
        """What TVM made of the graph; made again where the compiled function was found on disk."""
        if self._made is None:
            self._made = self._recipe.code()
        return self._made

    @property
    def _library(self) -> Any:
        return self._code.library

    def _for_each(self, names: Sequence[str], freestanding: bool) -> list[Compiled]:
        """It for each of these CPUs or GPUs, or for its own."""
        made = [(self._recipe, self._code)] if not names and not freestanding else []
        for name in names or [""] * freestanding:
            target = self._recipe.target
            attributes = {**target.attributes, "kind": target.kind, **({target.variant: name} if name else {})}
            recipe = replace(self._recipe, target=Freestanding.of(attributes) if freestanding else resolve(attributes))
            if described(recipe.target) == described(target):
                made.append((self._recipe, self._code))
            else:  # choices are for the target that the module was built for
                made.append(recipe.tuned(lambda r: (r, r.code())))
        # one interface for all of them
        largest = reduce(dim_max, (code.lowered.summary.stats.workspace_bytes for _, code in made))
        face = replace(self._interface, workspace=largest)
        return [
            Compiled(r.graph, code.lowered.summary, face, r.target, code.write_object, code.library) for r, code in made
        ]

    def _entry(self) -> Any:
        self._recipe.target.require_device(self.name)
        if self._shared_library is not None:
            path = str(self._shared_library)
            try:
                return loaded(lambda: machine.load_library(path)[self.name], machine.parallel_launch())
            except Exception:  # the file was removed meanwhile, or may not be executed from there
                self._shared_library = None
        return loaded(lambda: self._library[self.name], machine.parallel_launch())

    def _bounds_error_of(self, check: int, position: int, number: int, sizes: Mapping[str, int]) -> Exception:
        return bounds_error(self._recipe.graph.values[self._summary.checks[check]], position, number, sizes)


def prim_func(
    graph: Graph, target: Any = "llvm", *, schedule: bool = True, checks: str = "status", threads: int | None = None
) -> Any:
    """A graph as one of TVM's functions; see :meth:`gscompile.frontend.builder.Builder.prim_func`."""
    if checks not in ("status", "clamp"):
        raise ArgumentError(f'prim_func: checks must be "status" or "clamp"; got {checks!r}')
    if not schedule:
        return reference(graph)
    found = resolve(target)
    given = clamped(graph) if checks == "clamp" else graph
    count = threads or found.facts.cores or get_num_threads()
    return with_buffers(lower(given, found), found, count, checks == "status")


def status_error(graph: Graph, record: Any, sizes: Mapping[str, int], target: Any) -> Exception | None:
    """What :meth:`gscompile.frontend.builder.Builder.check_status` raises; None where no index was out of range.

    Raises:
        ArgumentError: as there.
    """
    summary = lower(graph, resolve(target)).summary
    numbers = np.asarray(record.numpy() if hasattr(record, "numpy") else record)
    length = status.length(len(summary.checks))
    if numbers.dtype != np.int64 or numbers.shape != (length,):
        raise ArgumentError(
            f"check_status: {graph.name} fills int64({length},); got {numbers.dtype}{list(numbers.shape)}"
        )
    values = {n: size for n, v in sizes.items() if (size := _size(v)) is not None}
    if set(values) != set(summary.symbols):
        named = ", ".join(summary.symbols) or "none"
        raise ArgumentError(f"check_status: symbolic sizes of {graph.name} are {named}; got {dict(sizes)}")
    if not numbers[status.FAILED]:
        return None
    found = status.first_found(numbers.tolist(), len(summary.checks))
    if found is None:
        return index_changed(graph.name)
    check, position, number = found
    return bounds_error(graph.values[summary.checks[check]], position, number, values)


def export(
    modules: Sequence[Module],
    path: str | Path,
    *,
    cpu: Sequence[str] = (),
    prefix: str = "",
    cc: str | None = None,
    domain: str = "",
    freestanding: bool = False,
    arch: Sequence[str] = (),
    weights: str | Path | None = None,
) -> list[Path]:
    """Write modules as one library, which needs libc, libm and threads, and nothing of TVM or Python.

    Its header ``NAME.h``, beside it, declares a function for each graph: addresses of inputs and outputs, sizes, options, an
    error.  The same modules, versions and C compiler give the same bytes.

    Args:
        modules: for one system; each has a name of its own.
        path: ``.so`` for a shared library, ``.a`` for a static one, ``.o`` for an object file, ``.wasm`` for a
            module of WebAssembly.
        cpu: LLVM's names of CPUs, of which the best one that the machine has is chosen when the library is used; ``v2``, ``v3``
            and ``v4`` stand for ``x86-64-v2`` and so on.  By default the CPU that the modules were built for.
        prefix: of all names in C, so that libraries that are linked together do not clash.
        cc: the C compiler's command: by default $CC or ``cc``, and ``TRIPLE-gcc`` for another system.
        domain: of ONNX Runtime's, in which the functions are custom operators, too; see :func:`gscompile.onnx.replace`.
        freestanding: a static library or an object file that needs no system: one thread, no storage but the stack and what
            the caller gives, no symbols but memcpy, memmove, memset, memcmp and those of libm.
        arch: of modules for cuda: GPU architectures (``sm_80``), of which the library has machine code, and PTX of the least for
            others; by default the one that the modules were built for.
        weights: a file for the constants, which the library maps when it is first used; by default they are inside.

    Returns:
        the library, the header, and the file of constants where there is one.

    Raises:
        ArgumentError: the path, the names or the C compiler make no sense, or the file cannot be written.
        TargetError: the modules are not for CPUs, or there is no C compiler for them.
    """
    if not modules:
        raise ArgumentError("export: a module is needed")
    targets = [m._recipe.target for m in modules]
    first, gpu = targets[0], targets[0].by_driver
    if len({(t.kind, str(t.tvm.attrs.get("mtriple", ""))) for t in targets}) > 1:
        raise ArgumentError(f"export: a library is for one system; got {', '.join(map(str, targets))}")
    if (arch and not gpu) or (cpu and gpu):
        raise ArgumentError(f"export: {'cpu=' if gpu else 'arch='} is not for {first}")
    archs = list(dict.fromkeys(arch or (t.facts.arch for t in targets)))
    if archs == [first.facts.arch]:
        archs = []  # what the modules were built for
    names = archs if gpu else [f"x86-64-{name}" if re.fullmatch("v[234]", name) else name for name in cpu]
    freestanding = freestanding or libraries.is_webassembly(first)
    for m in modules:
        libraries.require_exported(m._recipe.target, Path(path), freestanding, len(names))
    graphs = [m._for_each(names, freestanding) for m in modules]
    order = sorted(range(len(graphs[0])), key=lambda k: libraries.preference(graphs[0][k].target))
    levels = [graphs[0][k].target.facts.arch if gpu else names[k] if len(names) > 1 else "" for k in order]
    return libraries.export(
        [[each[k] for k in order] for each in graphs],
        path,
        levels=levels,
        prefix=prefix,
        cc=cc,
        domain=domain,
        freestanding=freestanding,
        weights=weights,
    )


def export_measured(module: Module, path: Path) -> None:
    """Write a shared library that a tuner sends to another machine; see :mod:`gscompile.deploy.measure`.

    Raises:
        TargetError: there is no C compiler for the target, or it has no shared libraries.
    """
    libraries.require_exported(module._recipe.target, path, False, 0)
    libraries.export([module._for_each([], False)], path, measured=True)


def _loaded(*recipe: Any) -> Module:
    return made(Recipe(*recipe))


def _size(x: Any) -> int | None:
    """An int, NumPy's too, that is not negative; None for anything else."""
    try:
        n = operator.index(x)
    except TypeError:
        return None
    return None if isinstance(x, bool) or n < 0 else n


def interface(graph: Graph, summary: Summary, target: Target) -> Interface:
    """What a call must know of a graph that was lowered."""
    return Interface(
        name=graph.name,
        device=target.device,
        alignment=target.alignment,
        inputs=_arguments(graph.inputs),
        outputs=_arguments(graph.outputs),
        symbols=summary.symbols,
        constraints=graph.constraints,
        workspace=summary.stats.workspace_bytes,
        work=summary.work,
        in_place=summary.in_place,
        checks=len(summary.checks),
    )


def _arguments(values: Sequence[Value]) -> tuple[Argument, ...]:
    return tuple(Argument(v.name, v.type) for v in values)
