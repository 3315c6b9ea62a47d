"""Compiled graphs whose kernels run on the CPU: the text of the kernels, launched by the graph's own host code.

What the emulation (:mod:`gscompile.emulation`) replaces is under test here: the code generator, the device functions, the
arguments of launches, what threads do together.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tvm

import gscompile as gs
from gscompile.build import Module, build
from gscompile.compiler.targets.cuda import Cuda
from gscompile.ir import codegen, status
from gscompile.runtime.arrays import View
from gscompile.runtime.call import PreparedCall
from gscompile.runtime.devices import AS_DEVICE, Room, Runner
from gscompile.runtime.threads import get_num_threads
from gscompile.schedules import Choices
from tests.cuda import device
from tests.cuda.program import library_source
from tests.cuda.text import ARCH, KERNEL, Text, common_header


class CudaOnCpu(Cuda):
    """A GPU whose kernels' text a C++ compiler takes: a caller's arrays are on the CPU."""

    device = "cpu"

    @property
    def runner(self) -> Runner:
        return AS_DEVICE

    def require_device(self, module: str) -> None:
        """It is here."""


class ModuleOnCpu(Module):
    """A module that copies its arrays to the device and back at each call.

    Attributes:
        seed: of the order in which threads run.
        edit: the number of the edit whose kernels run; 0 for the text as it is.
    """

    seed = 0
    edit = 0

    def _run(self, call: PreparedCall, pointers: Sequence[ctypes.c_void_p], room: Room | None = None) -> None:
        extents, length = call.extents, self._interface.kept_length
        record = (ctypes.c_int64 * length)()
        assert self._on_device is not None
        outlives = self._on_device.record(call) if self._interface.checks else None
        constants = self._constants_on(call.device) if self._constants else ()
        outputs = {v.ptr for v in call.outputs}
        kept = [(v, f"input {a.name}") for v, a in zip(call.inputs, self.inputs, strict=True)]
        kept += [(v, "a constant") for v in constants]
        with device.memory() as mem, device.seeded(self.seed), device.edited(self.edit):
            there: dict[tuple[int, int], int] = {}
            for v, name in kept:  # an output that works in place has the storage of an input
                key = (v.ptr, _nbytes(v))
                if key not in there:
                    there[key] = mem.allocate(key[1], name, v.ptr, readonly=v.ptr not in outputs)
            for v, a in zip(call.outputs, self.outputs, strict=True):
                key = (v.ptr, _nbytes(v))
                if key not in there:
                    there[key] = mem.allocate(key[1], f"output {a.name}")
            found = mem.allocate(8 * length, "status", ctypes.addressof(record))
            kept_at = 0 if outlives is None else mem.allocate(8 * length, "kept", outlives.ptr)
            scratch = mem.allocate(extents.workspace, "workspace")
            views = [*(v for v, _ in kept), *call.outputs]
            self._function(
                *(ctypes.c_void_p(there[v.ptr, _nbytes(v)]) for v in views),
                ctypes.c_void_p(found),
                ctypes.c_void_p(kept_at),
                ctypes.c_void_p(scratch),
                *extents.numbers,
                get_num_threads() if outlives is None else -next(self._call_numbers),
                call.in_place,
            )
            device.raise_error()
            ctypes.memmove(record, found, 8 * length)
            if outlives is not None:
                assert not any(record[: self._interface.status_length]), "the next call begins with a status of zeros"
                ctypes.memmove(outlives.ptr, kept_at, 8 * length)
            bad = outlives is not None and _numbers(outlives)[status.FAILED] != 0
            for v, a in zip(call.outputs, self.outputs, strict=True):
                at = there[v.ptr, _nbytes(v)]
                if not bad and _nbytes(v):
                    device.require_written(at, f"{self.name}: output {a.name}")
                ctypes.memmove(v.ptr, at, _nbytes(v))
        if outlives is not None and not self._on_device.deferred:
            said = list(_numbers(outlives))
            ctypes.memset(outlives.ptr, 0, 8 * length)
            if bad:
                raise self._bounds_error(said, extents.sizes)


def _numbers(record: View) -> Any:
    return (ctypes.c_int64 * record.shape[0]).from_address(record.ptr)


def _nbytes(v: View) -> int:
    return math.prod(v.shape) * v.dtype.itemsize


def on_cpu(
    builders: Sequence[gs.Builder],
    folder: Path,
    *,
    arch: str = ARCH,
    rules: Sequence[Any] = (),
    deterministic: bool = False,
    checked: bool = True,
    traced: bool = False,
    edits: Sequence[Callable[[str], str]] = (),
    check: str = "sync",
    choices: Sequence[Choices] = (),
) -> list[tuple[ModuleOnCpu, str]]:
    """Modules whose kernels are the CUDA text, compiled for the CPU, and that text; the graphs' names must differ.

    Args:
        folder: where the library is put.
        arch, rules, deterministic: as for :func:`gscompile.build`.
        checked, traced: as for :func:`tests.cuda.device.compile_kernels`.
        edits: changes of the kernels' text that are compiled beside it; a module's ``edit`` says which runs, numbered from 1.
        check: as for :func:`gscompile.build`.
        choices: of each builder; the defaults if empty.
    """
    cuda = CudaOnCpu.of({"kind": "cuda", "arch": arch})
    given: dict[str, Any] = {"rules": rules, "deterministic": deterministic, "check": check}
    made = [
        build(b.graph(), cuda, choices=c, **given)
        for b, c in zip(builders, choices or [{}] * len(builders), strict=True)
    ]
    sources = [m.source("cuda") for m in made]
    parts = [Text.of(source) for source in sources]
    functions = {name: code for t in parts for name, code in t.functions.items()}
    kernels: dict[str, tuple[str, str, Sequence[str]]] = {}
    for m, text in zip(made, parts, strict=True):
        axes = {name: tags for name, _, tags in codegen.device_kernels(m._library)}
        for name, code in text.kernels.items():
            match = KERNEL.match(code)
            assert match is not None
            kernels[name] = (code, match[2], axes[name])
    source, path = folder / "kernels.cpp", folder / "kernels.so"
    texts = {**functions, **{name: code for name, (code, _, _) in kernels.items()}}
    others = dict[str, dict[int, str]]()
    header = [common_header(), *functions.values()]
    for k, change in enumerate(edits, 1):
        for name, code in _edited(texts, change, f"edit{k}").items():
            header.append(code)
            others.setdefault(name, {})[k] = f"{name}_edit{k}"
    source.write_text(library_source("\n".join(header), kernels, others))
    device.compile_kernels(source, path, arch, checked=checked, traced=traced)
    device.library()
    library = tvm.runtime.load_module(str(path))
    for m in made:
        host = m._library.mod
        host.clear_imports()
        host.import_module(library)
        m.__class__ = ModuleOnCpu
    return list(zip(made, sources, strict=True))  # type: ignore[arg-type]


def _edited(texts: Mapping[str, str], change: Callable[[str], str], suffix: str) -> dict[str, str]:
    """The functions that a change changes, and those that call them, under names of their own."""
    new = {name: change(code) for name, code in texts.items()}
    found = {name for name, code in texts.items() if new[name] != code}
    assert found, "it changes nothing"
    while callers := {n for n, code in texts.items() if n not in found and _calls(code, found)}:
        found |= callers
    names = re.compile(rf"\b({'|'.join(found)})\(")
    return {name: names.sub(rf"\1_{suffix}(", new[name]) for name in texts if name in found}


def _calls(code: str, names: Iterable[str]) -> bool:
    return any(re.search(rf"\b{name}\(", code) for name in names)
