"""Graphs that were compiled become a library: objects of TVM's, a generated C file, a manifest."""

from __future__ import annotations

import ctypes
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gscompile.compiler.lower import Summary
from gscompile.compiler.targets import Target
from gscompile.compiler.targets.create import architecture
from gscompile.deploy import text
from gscompile.deploy import weights as external
from gscompile.deploy.features import needed
from gscompile.deploy.source import Function, Level, constant_name, header, kernel_symbol, source
from gscompile.deploy.toolchain import Toolchain
from gscompile.errors import ArgumentError, TargetError
from gscompile.ir import tir as T
from gscompile.ir.graph import Graph
from gscompile.runtime import arrays
from gscompile.runtime.interface import Interface
from gscompile.runtime.manifest import Entry, Manifest, sealed

SUFFIXES = {".so": "shared", ".a": "archive", ".o": "object"}


@dataclass(frozen=True, slots=True)
class Compiled:
    """A graph for one CPU.

    Attributes:
        write_object: writes an object file of this name.
    """

    graph: Graph
    summary: Summary
    interface: Interface
    target: Target
    write_object: Callable[[str], object]


def export(
    graphs: Sequence[Sequence[Compiled]],
    path: str | Path,
    *,
    levels: Sequence[str] = ("",),
    prefix: str = "",
    cc: str | None = None,
    weights: str | Path | None = None,
) -> list[Path]:
    """Write a library, its header and perhaps a file of constants; see :meth:`gscompile.build.Module.export`.

    Args:
        graphs: each for every level.
        levels: names of CPUs, the best first.
    """
    to = Path(path)
    kind = SUFFIXES.get(to.suffix)
    if kind is None:
        raise ArgumentError(f"export: a path that ends in {', '.join(SUFFIXES)} is needed; got {str(path)!r}")
    first = graphs[0][0]
    if first.target.device != "cpu":
        raise TargetError(f"export: libraries for {first.target} are not made yet: use target='llvm'")
    named = [c[0].graph.name for c in graphs]
    if len(set(named)) < len(named):
        raise ArgumentError(f"export: each graph needs a name of its own; got {', '.join(named)}")
    triple = str(first.target.tvm.attrs.get("mtriple", ""))
    tools = Toolchain.find(triple, cc)
    stem = text.identifier(prefix + to.stem)
    here = architecture(triple or T.host_triple())
    found = tuple(Level(name, needed(c.target.tvm, here)) for name, c in zip(levels, graphs[0], strict=True))
    functions = [_function(each[0], prefix) for each in graphs]
    constants = [c for f in functions for c in f.constants]
    kept = None
    if weights is not None:
        if not constants:
            raise ArgumentError("export: weights= is given, and the graphs have no constants")
        kept = external.summary(Path(weights).name, constants)
        begins = iter(external.places(constants))
        functions = [replace(f, places=[next(begins) for _ in f.constants]) for f in functions]
    versions = {package: installed(package) for package in ("gscompile", "apache-tvm")}
    says = Manifest(
        stem,
        versions,
        " | ".join(str(c.target) for c in graphs[0]),
        triple or T.host_triple(),
        tuple((level.name, tuple(f.name for f in level.features)) for level in found),
        tuple(_entry(f, each[0]) for f, each in zip(functions, graphs, strict=True)),
        kept,
    ).to_bytes()
    with tempfile.TemporaryDirectory(prefix="gscompile-") as name:
        folder = Path(name)
        objects = _objects(graphs, functions, tools, folder)
        code = source(functions, found, stem, says, kept)
        (folder / "library.c").write_text(code + ("" if kept else _constants(functions, folder)))
        tools.compile("library.c", "library.o", folder)
        public = [f"{stem}_lacks", f"{stem}_use_launcher", *([f"{stem}_use_weights"] if kept else ())]
        public += [f"{f.name}{end}" for f in functions for end in ("", "_workspace", "_kernel", "_explain")]
        tools.join(["library.o", *objects], "all.o", public, folder)
        made = "all.o"
        if kind != "object":
            made = to.name
            getattr(tools, kind)("all.o", made, folder)
        data = sealed((folder / made).read_bytes())
    made_by = f"Made by {', '.join(map(' '.join, versions.items()))}"
    files: dict[Path, Iterable[bytes | memoryview]] = {
        to: [data],
        to.with_suffix(".h"): [header(functions, stem, made_by, kept).encode()],
    }
    if kept is not None:
        files[Path(str(weights))] = external.pack(constants, kept.digest)
    for file, chunks in files.items():
        _write(file, chunks)
    return list(files)


def _function(c: Compiled, prefix: str) -> Function:
    constants = [_memory(v.op.array) for v in c.graph.constants]  # type: ignore[attr-defined]
    checks = [c.graph.values[k] for k in c.summary.checks]
    return Function(text.identifier(prefix + c.graph.name), c.graph, c.interface, checks, constants)


def _memory(array: Any) -> memoryview:
    """The bytes of an array's elements, in C order."""
    found = arrays.contiguous(arrays.view(array), array)
    nbytes = math.prod(found.shape) * found.dtype.itemsize
    memory = (ctypes.c_char * nbytes).from_address(found.ptr) if nbytes else (ctypes.c_char * 0)()
    memory.owner = found  # type: ignore[attr-defined]  # which is kept alive
    return memoryview(memory)


def _entry(f: Function, c: Compiled) -> Entry:
    indexing = []
    for v in c.graph.values:
        a = v.op.indexing
        if a is not None:
            indexing.append((v.scope or v.name, v.args[1].name, a.bounds.value))
    return Entry(f.name, f.interface, len(f.constants), c.summary.stats.kernels, tuple(indexing))


def _objects(
    graphs: Sequence[Sequence[Compiled]],
    functions: Sequence[Function],
    tools: Toolchain,
    folder: Path,
) -> list[str]:
    """The kernels' object files, each with a name of its own."""
    files = []
    for number, (f, each) in enumerate(zip(functions, graphs, strict=True)):
        for level, c in enumerate(each):
            file = f"kernel_{number}_{level}.o"
            c.write_object(str(folder / file))
            own = kernel_symbol(f.name, level)
            main = {"__tvm_ffi_main": f"{own}_main"}
            tools.rename(file, {f"__tvm_ffi_{c.graph.name}": own, **main}, folder)
            files.append(file)
    return files


def _constants(functions: Sequence[Function], folder: Path) -> str:
    """Constants as files, and the assembly that takes them in."""
    lines = []
    for number, f in enumerate(functions):
        for k, data in enumerate(f.constants):
            name = constant_name(number, k)
            (folder / f"{name}.bin").write_bytes(data)
            lines.append(
                f'__asm__(".section .rodata\\n.balign 64\\n.globl {name}\\n.hidden {name}\\n{name}:\\n'
                f'.incbin \\"{name}.bin\\"\\n.byte 0\\n.previous\\n");'
            )
    return "\n".join(lines)


def _write(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """A file, whole or not at all."""
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(chunks)
        os.chmod(name, 0o755 if path.suffix == ".so" else 0o644)
        os.replace(name, path)
    except (OSError, ValueError) as e:
        raise ArgumentError(f"export: cannot write {path}: {getattr(e, 'strerror', None) or e}") from None


def installed(package: str) -> str:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
