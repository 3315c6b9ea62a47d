"""What ptxas says of kernels: registers, spilled bytes, shared memory.

It comes with CUDA toolkits, and in the wheel of nvidia-cuda-nvcc.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from gscompile.compiler import nvcc
from tests import cuda

_KERNEL = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class Resources:
    """
    Attributes:
        registers: of a thread.
        stack, spilled: bytes of a thread, in local memory.
        shared: bytes of a block, that are static.
    """

    registers: int
    stack: int
    spilled: int
    shared: int


@lru_cache(maxsize=1)
def ptxas() -> str | None:
    """The path of ptxas: on PATH, beside nvcc, or of NVIDIA's wheel."""
    beside = [str(Path(c).resolve().with_name("ptxas")) for c in [nvcc._nvcc()] if c]
    folders = [*beside, f"{nvcc.TOOLKIT}/bin/ptxas", *map(str, nvcc._find("bin/ptxas"))]
    return shutil.which("ptxas") or next((f for f in folders if shutil.which(f)), None)


def version() -> str:
    """``13.0``"""
    text = subprocess.run([str(ptxas()), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"release ([\d.]+)", text)
    assert found is not None, text
    return found[1]


def resources(ptx: str, arch: str) -> dict[str, Resources]:
    """Of each kernel, by name."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernels.ptx")
        source.write_text(ptx)
        command = [str(ptxas()), "-v", f"-arch={arch}", "-o", str(Path(folder, "kernels.cubin")), str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    found: dict[str, Resources] = {}
    for part in re.split(r"(?=ptxas info\s*: Compiling entry function)", done.stderr + done.stdout)[1:]:
        name, spills, used, shared = (p.search(part) for p in (_KERNEL, _SPILLS, _USED, _SHARED))
        assert name and used, part
        stack, stores, loads = (int(n) for n in spills.groups()) if spills else (0, 0, 0)
        found[name[1]] = Resources(int(used[1]), stack, stores + loads, int(shared[1]) if shared else 0)
    return found


def of_graphs(sources: Mapping[str, str], archs: Sequence[str]) -> dict[str, dict[str, list[Resources]]]:
    """By the name of a graph and an architecture: of all kernels of its CUDA source.  All are compiled at once."""
    joined = cuda.joined(sources)
    kept = {_plain(code): name for name, code in cuda.Text.of(joined).kernels.items()}  # equal ones are there once
    own = {name: [kept[_plain(x)] for x in cuda.Text.of(s).kernels.values()] for name, s in sources.items()}
    by_arch = {a: resources(compiled(joined, a, "ptx").decode(), a) for a in archs}
    return {name: {a: [by_arch[a][k] for k in kernels] for a in archs} for name, kernels in own.items()}


def compiled(source: str, arch: str, format: Literal["ptx", "cubin"]) -> bytes:
    """By nvcc where it is: of the version of the ptxas beside it, which reads no later one's."""
    found, folder = nvcc._nvcc(), nvcc.temporary_folder()
    if found and folder:
        return nvcc._run_nvcc(found, source, arch, format, folder)
    return nvcc.compile_cuda(source, arch, format)


def _plain(kernel: str) -> str:
    """A kernel's text without its name."""
    return re.sub(r"\w+\(", "kernel(", kernel.replace("__launch_bounds__(", "launch_bounds "), count=1)
