"""CUDA source as TVM writes it, taken apart and put together; and run on the CPU.

:func:`joined` makes one source of the kernels of many graphs, so that one run of a compiler, whose start costs more than a
hundred kernels do, sees them all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import gscompile as gs

ARCH = "sm_90"
KERNEL = re.compile(
    r'^extern "C" __global__ void (?:__launch_bounds__\([\d, ]+\) )?(\w+)\(([^)]*)\) \{\n.*?^\}\n', re.M | re.S
)
_PROTOTYPE = re.compile(r'^extern "C" __global__ [^{]*?;\n', re.M)
_DEVICE = re.compile(r"^__device__ __forceinline__ \w+ (gs_\w+)\(.*?^\}\n", re.M | re.S)


@dataclass(frozen=True)
class Text:
    """The parts of a source: TVM's boilerplate, the device functions that rules bring along, the kernels, by name."""

    header: str
    functions: dict[str, str]
    kernels: dict[str, str]

    @staticmethod
    def of(source: str) -> Text:
        kernels = {m[1]: m[0] for m in KERNEL.finditer(source)}
        assert "__global__" not in KERNEL.sub("", _PROTOTYPE.sub("", source)), "a kernel was not recognised"
        header = source[: source.index('extern "C" __global__')]
        functions = {m[1]: m[0] for m in _DEVICE.finditer(header)}
        header = _DEVICE.sub("", header)
        return Text(header, functions, kernels)

    @property
    def body(self) -> str:
        """The device functions and the kernels."""
        return "\n".join([*self.functions.values(), *self.kernels.values()])


def joined(sources: Mapping[str, str]) -> str:
    """One source with the kernels of several, those that differ in nothing but their name just once.

    Raises:
        AssertionError: a header has a line that the common header does not have, or two device functions of one name differ.
    """
    header = common_header()
    lines = set(header.splitlines())
    functions: dict[str, str] = {}
    kernels: dict[str, str] = {}
    for name, source in sources.items():
        text = Text.of(source)
        extra = set(text.header.splitlines()) - lines
        assert not extra, f"the source of {name} has a header of its own: {extra}"
        for f, code in text.functions.items():
            assert functions.setdefault(f, code) == code, f"{f} is not the same everywhere"
        for k, code in text.kernels.items():
            kernels.setdefault(code.replace(f"{k}(", "kernel(", 1), code)
    return "\n".join([header, *functions.values(), *kernels.values()])


@lru_cache(maxsize=1)
def common_header() -> str:
    """The header of a graph that uses everything TVM has a header for."""
    b = gs.Builder("header")
    for d in ("float16", "int8", "float32"):
        x, i = b.input(f"x_{d}", ("n", 64), d), b.input(f"i_{d}", ("k",), "int64")
        b.output(b.take(x, i), x + x, b.max(x), b.isinf(x))
    return Text.of(b.build({"kind": "cuda", "arch": ARCH}).source("cuda")).header
