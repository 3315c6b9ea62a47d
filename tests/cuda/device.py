"""The device: its runtime (``runtime/``), compiled once a process, and its memory.

Every access of a kernel is checked: it is inside a buffer, the bytes have been written, and no other thread accesses them at the
same time unless both do so atomically.  The first error ends the launch, and nothing runs until :func:`raise_error` raises it.
"""

from __future__ import annotations

import atexit
import ctypes
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
INCLUDE = HERE / "include"
_BASE = ["g++", "-std=c++17", "-w", "-fPIC", "-fno-strict-aliasing"]
# what nvcc does not do either: contraction of a * b + c is off for gscompile, integers wrap
_HEADER = INCLUDE / "gs_numbers.h"
_KERNELS = [*_BASE, "-ffp-contract=off", "-fwrapv", f"-I{INCLUDE}"]
# Each access calls the runtime; loops stay loops of single accesses, and a barrier stands once in the code.
_CHECKED = [
    "-O1",
    "-finline-small-functions",
    "-fsanitize=thread",
    "--param=tsan-distinguish-volatile=1",
    "--param=tsan-instrument-func-entry-exit=0",
    "-fno-tree-loop-distribute-patterns",
    "-fno-tree-sra",  # a vector's store is one access
    "-fno-extern-tls-init",
    "-fno-exceptions",
    "-fno-if-conversion",  # GCC 12 loses a float that a branch after a shuffle may replace
]
# Each basic block calls the runtime as well, which counts instructions.
_TRACED = ["-fsanitize-coverage=trace-pc"]
_TRACE = re.compile(r"^\tcall\t__sanitizer_cov_trace_pc(@PLT)?$", re.M)
_NO_INSTRUCTION = re.compile(r"\t(mov(?!sb|sw|sl|zb|zw)|call|jmp|nop|push|pop|ret|cfi|lea\w*\t.*, %[re]di$)")
_UNDEFINED = ["-fsanitize=alignment,integer-divide-by-zero,bounds"]


class CudaError(AssertionError):
    """A kernel did what it must not: the message names the kernel, the threads, the buffer and the bytes."""


def cpu_compiler() -> str | None:
    """Why kernels cannot be run on the CPU here; None if they can."""
    return None if shutil.which("g++") else "needs g++"


def run(command: Iterable[Any]) -> None:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


@lru_cache(maxsize=1)
def library_path() -> Path:
    """The runtime as a shared library."""
    folder = Path(tempfile.mkdtemp(prefix="gscompile-cuda-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "libgs_cuda.so"
    run([*_BASE, "-O2", "-shared", "-o", path, *sorted((HERE / "runtime").glob("*.cpp"))])
    return path


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    lib = ctypes.CDLL(str(library_path()), mode=ctypes.RTLD_GLOBAL)
    lib.gs_allocate.restype = ctypes.c_void_p
    lib.gs_allocate.argtypes = [ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    lib.gs_error.restype = ctypes.c_char_p
    lib.gs_seed.argtypes = [ctypes.c_uint64]
    lib.gs_first_unwritten.restype = ctypes.c_int64
    lib.gs_first_unwritten.argtypes = [ctypes.c_void_p]
    lib.gs_lose_blocks.argtypes = [ctypes.c_int64]
    lib.gs_choose_edit.argtypes = [ctypes.c_int]
    return lib


def _options(arch: str, checked: bool, traced: bool) -> list[str]:
    """How kernels are compiled."""
    how = [*(_CHECKED if checked else ["-O1", "-fno-extern-tls-init"]), *(_TRACED if traced else [])]
    return [*_KERNELS, *how, *_UNDEFINED, f"-D__CUDA_ARCH__={arch.strip('sm_af')}0"]


@cache
def _precompiled(arch: str, checked: bool, traced: bool) -> Path:
    """A folder with the precompiled header of all kernels, which takes longer to read than most of them."""
    folder = library_path().parent / f"{arch}-{checked}-{traced}"
    folder.mkdir()
    run([*_options(arch, checked, traced), "-x", "c++-header", "-o", folder / f"{_HEADER.name}.gch", _HEADER])
    return folder


def _with_counts(assembly: str) -> str:
    """What a basic block calls gets the number of its instructions: of those that compute, compare or branch.

    Moves are the CPU's, which has fewer registers, and accesses of memory are counted one by one.
    """
    first, *blocks = _TRACE.split(assembly)[::2]
    parts = [first]
    for block in blocks:
        lines = block.split("\n.L", 1)[0].split("\n")  # up to the next label: what jumps there calls once more
        count = sum(1 for x in lines if x.startswith("\t") and x[1] != "." and not _NO_INSTRUCTION.match(x))
        parts.append(f"\tmovl\t${count}, %edi\n\tcall\t__sanitizer_cov_trace_pc@PLT{block}")
    return "".join(parts)


def compile_kernels(source: Path, to: Path, arch: str, *, checked: bool = True, traced: bool = False) -> None:
    """A shared library of kernels and what launches them.

    Args:
        arch: ``sm_90``, ...: what ``__CUDA_ARCH__`` says.
        checked: accesses are checked and counted; else they only run, some ten times as fast.
        traced: instructions are counted, as those of an x86-64; elsewhere there are none.
    """
    traced = traced and platform.machine() == "x86_64"
    unit = to.with_suffix(".o")
    how = [*_options(arch, checked, traced), f"-I{_precompiled(arch, checked, traced)}", "-include", _HEADER.name]
    if traced:
        assembly = to.with_suffix(".s")
        run([*how, "-S", "-o", assembly, source])
        assembly.write_text(_with_counts(assembly.read_text()))
        run(["g++", "-c", "-o", unit, assembly])
    else:
        run([*how, "-c", "-o", unit, source])
    runtime = library_path()
    run(["g++", "-shared", "-o", to, unit, runtime, f"-Wl,-rpath,{runtime.parent}"])


def raise_error() -> None:
    """Raises CudaError with what a kernel did wrong since the last call."""
    if text := library().gs_error().decode():
        raise CudaError(text)


def require_written(address: int, name: str) -> None:
    """Raises CudaError unless every byte of a buffer has been written."""
    at = library().gs_first_unwritten(address)
    if at >= 0:
        raise CudaError(f"nobody has written {name}+{at}")


class Memory:
    """Buffers of the device, for a ``with`` statement; other buffers of the device are gone when it begins."""

    def allocate(self, nbytes: int, name: str, data: int | None = None, *, readonly: bool = False) -> int:
        """The address of a buffer; ``data``: the address of what the host writes to it."""
        at = library().gs_allocate(nbytes, name.encode(), data is not None, readonly)
        assert at is not None, "more buffers than the device has slots"
        if data is not None:
            ctypes.memmove(at, data, nbytes)
        return int(at)


@contextmanager
def memory() -> Iterator[Memory]:
    library().gs_free_all()
    try:
        yield Memory()
    finally:
        library().gs_free_all()


@contextmanager
def losing_blocks(count: int) -> Iterator[None]:
    """Each grid of more than one block loses so many: a defect that must be noticed."""
    library().gs_lose_blocks(count)
    try:
        yield
    finally:
        library().gs_lose_blocks(0)


@contextmanager
def edited(number: int) -> Iterator[None]:
    """Launches run the kernels of this edit; 0: as they are."""
    library().gs_choose_edit(number)
    try:
        yield
    finally:
        library().gs_choose_edit(0)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Launches run their blocks, warps and threads in the order of this seed."""
    library().gs_seed(seed)
    try:
        yield
    finally:
        library().gs_seed(0)
