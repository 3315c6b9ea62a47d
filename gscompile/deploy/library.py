"""Graphs that were compiled become a library: objects of TVM's, a generated C file, a manifest."""

from __future__ import annotations

import ctypes
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gscompile.compiler.lower import Summary
from gscompile.compiler.targets import Target
from gscompile.compiler.targets.create import architecture
from gscompile.deploy import cuda, measure, onnxruntime, text
from gscompile.deploy import weights as external
from gscompile.deploy.features import Feature, needed
from gscompile.deploy.source import Function, Level, constant_name, header, kernel_symbol, public, source
from gscompile.deploy.toolchain import Toolchain
from gscompile.deploy.webassembly import WebAssembly
from gscompile.errors import ArgumentError, TargetError
from gscompile.ir import machine
from gscompile.ir.graph import Graph
from gscompile.runtime import arrays
from gscompile.runtime.interface import Interface
from gscompile.runtime.manifest import Entry, Manifest, sealed

SUFFIXES = {".so": "shared", ".a": "archive", ".o": "object", ".wasm": "module"}


@dataclass(frozen=True, slots=True)
class Compiled:
    """A graph for one CPU.

    Attributes:
        write_object: writes an object file of this name.
        library: TVM's, for GPUs: it holds their code.
    """

    graph: Graph
    summary: Summary
    interface: Interface
    target: Target
    write_object: Callable[[str], object]
    library: Any = None


def export(
    graphs: Sequence[Sequence[Compiled]],
    path: str | Path,
    *,
    levels: Sequence[str] = ("",),
    prefix: str = "",
    cc: str | None = None,
    domain: str = "",
    freestanding: bool = False,
    weights: str | Path | None = None,
    measured: bool = False,
) -> list[Path]:
    """Write a library, its header and perhaps a file of constants; see :meth:`gscompile.build.Module.export`.

    Args:
        graphs: each for every level.
        levels: names of CPUs, the best first.
        domain: of ONNX Runtime's, in which the graphs are custom operators, too.
        measured: whether it has what :mod:`gscompile.deploy.measure` is for; of one graph, for a CPU with a system.
    """
    to = Path(path)
    kind = SUFFIXES[to.suffix]
    first = graphs[0][0]
    named = [c[0].graph.name for c in graphs]
    if len(set(named)) < len(named):
        raise ArgumentError(f"export: each graph needs a name of its own; got {', '.join(named)}")
    triple, gpu = str(first.target.tvm.attrs.get("mtriple", "")), first.target.by_driver
    tools = (WebAssembly if is_webassembly(first.target) else Toolchain).find(triple, cc)
    if domain and (gpu or freestanding or is_webassembly(first.target)):
        raise TargetError(f"export: operators of ONNX Runtime for {first.target} are not made yet: use target='llvm'")
    stem = text.identifier(prefix + to.stem)
    found = tuple(Level(name, _features(c.target, freestanding)) for name, c in zip(levels, graphs[0], strict=True))
    functions = [_function(each[0], prefix) for each in graphs]
    constants = [c for f in functions for c in f.constants]
    kept = None
    if weights is not None:
        if gpu or freestanding or is_webassembly(first.target):
            raise TargetError("export: weights= is for CPUs with a system, whose files the library can map")
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
        triple or machine.host_triple(),
        _device_levels(levels) if gpu else tuple((v.name, tuple(f.name for f in v.features)) for v in found),
        tuple(_entry(f, each[0]) for f, each in zip(functions, graphs, strict=True)),
        kept,
    ).to_bytes()
    with tempfile.TemporaryDirectory(prefix="gscompile-") as name:
        folder = Path(name)
        objects = _objects(graphs, functions, tools, folder)
        inside = [] if kept else functions
        blobs: dict[str, bytes | memoryview] = {
            constant_name(n, k): data for n, f in enumerate(inside) for k, data in enumerate(f.constants)
        }
        if gpu:
            images = _images(graphs)
            code, symbols = cuda.source(functions, images, stem, says), cuda.public(functions, stem)
            blobs |= _device_blobs(images)
        else:
            code = source(functions, found, stem, says, freestanding, kept)
            symbols = public(functions, stem, freestanding)
            symbols += [f"{stem}_use_weights"] if kept else []
        if domain:
            code += onnxruntime.source(functions, domain)
            symbols.append(onnxruntime.REGISTER)
        if measured:
            code += measure.source(functions[0])
            symbols += measure.SYMBOLS
        (folder / "library.c").write_text(code + _assembly(blobs, folder, is_webassembly(first.target)))
        tools.compile("library.c", "library.o", folder, freestanding)
        tools.join(["library.o", *objects], "all.o", symbols, folder)
        made = "all.o" if kind == "object" else to.name
        if isinstance(tools, WebAssembly) and kind == "module":
            tools.module("all.o", made, symbols, folder)
        elif kind == "shared":
            tools.shared("all.o", made, folder)
        elif kind == "archive":
            tools.archive("all.o", made, folder)
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


def require_exported(target: Target, path: Path, freestanding: bool, cpus: int) -> None:
    """Make sure that there are libraries of this kind.

    Args:
        cpus: of how many it has the code, beyond that of its target.

    Raises:
        ArgumentError: the path or the options make no sense.  TargetError: there are none for this target.
    """
    if path.suffix not in SUFFIXES:
        raise ArgumentError(f"export: a path that ends in {', '.join(SUFFIXES)} is needed; got {str(path)!r}")
    if target.by_driver:
        if freestanding or SUFFIXES[path.suffix] == "module":
            raise TargetError(f"export: {target} needs a system with CUDA's driver")
        return
    kind, web = SUFFIXES[path.suffix], is_webassembly(target)
    if web and _architecture(target) != "wasm32":
        raise TargetError(f"export: WebAssembly's libraries are for wasm32; got {_architecture(target)}")
    if kind == "module" and not web:
        raise ArgumentError(
            'export: .wasm is for modules built for {"kind": "llvm", "mtriple": "wasm32-unknown-unknown"}'
        )
    if kind == "shared" and (freestanding or web):
        found = "a freestanding library" if not web else "a library for WebAssembly"
        raise ArgumentError(f"export: {found} is no shared one: its path ends in .a or .o{' or .wasm' if web else ''}")
    if (freestanding or web) and cpus > 1 and not _tells_features(target):
        raise ArgumentError("export: without a system only x86's CPUs say what they have: name one in cpu=")


def preference(target: Target) -> tuple[int, ...]:
    """The least for what is tried first."""
    if target.by_driver:
        major, minor, exact = cuda.generation(target.facts.arch)
        return -major, -minor, -exact
    return (-target.facts.vector_bytes,)


def is_webassembly(target: Target) -> bool:
    """Whether a target is WebAssembly, which has no system."""
    return _architecture(target).startswith("wasm")


def _architecture(target: Target) -> str:
    return architecture(str(target.tvm.attrs.get("mtriple", "")) or machine.host_triple())


def _features(target: Target, freestanding: bool) -> tuple[Feature, ...]:
    """What the CPU is asked for before code runs."""
    return (
        ()
        if target.by_driver or (freestanding and not _tells_features(target))
        else needed(target.tvm, _architecture(target))
    )


def _tells_features(target: Target) -> bool:
    """Whether a CPU says itself, without a system, what it has."""
    return _architecture(target) in ("x86_64", "i386")


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
            main = {"__tvm_ffi_main": f"{own}_main", "__tvm_ffi__library_ctx": cuda.symbol("image", number, level)}
            tools.rename(file, {f"__tvm_ffi_{c.graph.name}": own, **main}, folder)
            files.append(file)
    return files


def _images(graphs: Sequence[Sequence[Compiled]]) -> list[list[cuda.Image]]:
    """The code for GPUs."""
    levels = _device_levels([c.target.facts.arch for c in graphs[0]])
    return [
        [cuda.Image.of(c.library, arch, bool(later)) for c, (arch, later) in zip(each, levels, strict=True)]
        for each in graphs
    ]


def _device_levels(archs: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Architectures, the best first, and "PTX" of the least that has later ones."""
    plain = [a for a in archs if not cuda.generation(a)[2]]
    return tuple((a, ("PTX",) if a in plain[-1:] else ()) for a in archs)


def _device_blobs(images: Sequence[Sequence[cuda.Image]]) -> dict[str, bytes]:
    found = {}
    for number, each in enumerate(images):
        for level, image in enumerate(each):
            found[cuda.symbol("cubin", number, level)] = image.cubin
            if image.ptx:
                found[cuda.symbol("ptx", number, level)] = image.ptx
    return found


def _assembly(blobs: Mapping[str, bytes | memoryview], folder: Path, typed: bool) -> str:
    """Data as files, and the assembly that takes them in, each with a byte of 0 after it.

    Args:
        blobs: by their symbols.
        typed: assembly says what is data, and where it ends.
    """
    lines = []
    for name, data in blobs.items():
        (folder / f"{name}.bin").write_bytes(data)
        section = f'.section .rodata.{name},\\"\\",@\\n.type {name},@object' if typed else ".section .rodata"
        end = f".size {name}, {memoryview(data).nbytes + 1}" if typed else ".previous"
        lines.append(
            f'__asm__("{section}\\n.balign 64\\n.globl {name}\\n.hidden {name}\\n{name}:\\n'
            f'.incbin \\"{name}.bin\\"\\n.byte 0\\n{end}\\n");'
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
