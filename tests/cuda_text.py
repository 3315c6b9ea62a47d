"""CUDA source as TVM writes it, taken apart and put together; and run on the CPU.

:func:`joined` makes one source of the kernels of many graphs, so that one run of a compiler, whose start costs more than a
hundred kernels do, sees them all.

:func:`on_cpu` compiles the very text of the kernels with the host's C++ compiler, and lets the compiled graph's own host code
launch them: each launch runs all threads of its grid, in an order that is shuffled.  What the emulation
(:mod:`gscompile.emulation`) replaces is under test here: the code generator, the device functions, the arguments of launches.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import tvm

import gscompile as gs
from gscompile.build import Module, build
from gscompile.compiler import nvcc
from gscompile.compiler.targets.cuda import Cuda
from gscompile.runtime.devices import AS_DEVICE, Runner

ARCH = "sm_90"
_KERNEL = re.compile(
    r'^extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(([^)]*)\) \{\n.*?^\}\n', re.M | re.S
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
        kernels = {m[1]: m[0] for m in _KERNEL.finditer(source)}
        assert "__global__" not in _KERNEL.sub("", _PROTOTYPE.sub("", source)), "a kernel was not recognised"
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


# -- on the CPU -------------------------------------------------------------------------------------------------------

# What the kernels use of CUDA's language.  Only one thread runs at a time.
_LANGUAGE = r"""
#include <cuda_fp16.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
struct Dim { unsigned x; };
static thread_local Dim blockIdx, threadIdx;
#define GS_MIN_MAX(T) inline T min(T a, T b) { return b < a ? b : a; } inline T max(T a, T b) { return a < b ? b : a; }
GS_MIN_MAX(int) GS_MIN_MAX(unsigned) GS_MIN_MAX(long) GS_MIN_MAX(unsigned long) GS_MIN_MAX(float) GS_MIN_MAX(double)
inline float __int_as_float(int i) { float f; __builtin_memcpy(&f, &i, 4); return f; }
inline double __longlong_as_double(long long i) { double d; __builtin_memcpy(&d, &i, 8); return d; }
template <class T> void __stcs(T* p, T v) { *p = v; }
template <class T> T gs_swap(T* p, T v) { T old = *p; *p = v; return old; }
template <class T> T atomicAdd(T* p, T v) { return gs_swap(p, T(*p + v)); }
template <class T> T atomicMin(T* p, T v) { return gs_swap(p, v < *p ? v : *p); }
template <class T> T atomicMax(T* p, T v) { return gs_swap(p, v > *p ? v : *p); }
template <class T> T atomicCAS(T* p, T seen, T v) { return *p == seen ? gs_swap(p, v) : *p; }
"""

# TVM's calling convention for compiled functions, and all threads of a grid in an order that every thread number fixes.
_LAUNCH = r"""
struct Any { int32_t type; uint32_t pad; union { int64_t i; void* p; }; };
template <class F> int gs_launch(int64_t blocks, int64_t threads, F kernel, Any* result) {
  int64_t total = blocks * threads, step = total / 3 * 2 + 1;
  while (std::gcd(step, total) != 1) ++step;
  for (int64_t k = 0, i = total / 2; k < total; ++k, i = (i + step) % total) {
    blockIdx.x = i / threads; threadIdx.x = i % threads;
    kernel();
  }
  result->type = 0; result->i = 0;
  return 0;
}
"""


def cpu_compiler() -> str | None:
    """Why kernels cannot be run on the CPU here; None if they can."""
    if shutil.which("g++") is None:
        return "needs g++"
    return None if _headers() else "needs the headers of a CUDA toolkit"


def _headers() -> Path | None:
    """The folder of CUDA's headers; NVRTC's wheels alone lack what a host compiler needs of them."""
    compiler = nvcc._nvcc()
    roots = [Path(compiler).resolve().parent.parent] if compiler else []
    folders = [*(root / "include" for root in [*roots, Path(nvcc.TOOLKIT)]), *nvcc._find("*/include")]
    wanted = ("cuda_fp16.h", "crt/host_defines.h")
    return next((f for f in folders if all((f / name).is_file() for name in wanted)), None)


class CudaTextOnCpu(Cuda):
    """A GPU whose kernels' text a C++ compiler takes: arrays are on the CPU."""

    device = "cpu"

    @property
    def runner(self) -> Runner:
        return AS_DEVICE

    def require_device(self, module: str) -> None:
        """It is here."""


def on_cpu(builders: list[gs.Builder], folder: Path) -> list[tuple[Module, str]]:
    """Modules whose kernels are the CUDA text, compiled for the CPU, and that text; the graphs' names must differ."""
    cuda = CudaTextOnCpu.of({"kind": "cuda", "arch": ARCH})
    modules = [build(b.graph(), cuda) for b in builders]
    sources = [m.source("cuda") for m in modules]
    texts = [Text.of(source) for source in sources]
    functions = {name: code for t in texts for name, code in t.functions.items()}
    code = [_LANGUAGE, common_header(), *functions.values(), _LAUNCH]
    for t in texts:
        for name, kernel in t.kernels.items():
            match = _KERNEL.match(kernel)
            assert match is not None
            code += [kernel, _launcher(name, match[2])]
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text("\n".join(code))
    # a misaligned vector, or a division by zero, ends the process
    checks = "-fsanitize=alignment,integer-divide-by-zero,bounds -fsanitize-undefined-trap-on-error"
    command = (
        f"g++ -O0 -w -std=c++17 -ffp-contract=off -fwrapv {checks} -shared -fPIC -I{_headers()} -o {library} {source}"
    )
    done = subprocess.run(command.split(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    kernels = tvm.runtime.load_module(str(library))
    for m in modules:
        host = m._library.mod
        host.clear_imports()
        host.import_module(kernels)
    return list(zip(modules, sources, strict=True))


def _launcher(name: str, parameters: str) -> str:
    """What TVM's host code calls with a kernel's arguments, then the extents of its grid."""
    arguments = []
    for k, p in enumerate(parameters.split(", ")):
        ctype = p.replace("__restrict__", "").rpartition(" ")[0].strip()
        arguments.append(f"({ctype})a[{k}].{'p' if '*' in ctype else 'i'}")
    n = len(arguments)
    return (
        f'extern "C" int __tvm_ffi_{name}(void*, const Any* a, int32_t n, Any* result) {{\n'
        f"  if (n != {n + 2}) return -1;\n"
        f"  return gs_launch(a[{n}].i, a[{n + 1}].i, [&] {{ {name}({', '.join(arguments)}); }}, result);\n}}"
    )
