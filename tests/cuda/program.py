"""Kernels as a library for the CPU, and what launches them: for the host code of a compiled graph, and for Python."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.cuda import device
from tests.cuda.ptx import without_assembly
from tests.cuda.text import ARCH

# TVM's calling convention for compiled functions.
_LAUNCHERS = r"""
extern "C" void gs_launch(const char*, void (*)(void*), void*, const int64_t*, void*, size_t);
extern "C" void gs_name(const void*, const char*);
extern "C" int gs_edit;
static thread_local char gs_tls;  // touched before a launch: only then has the thread its shared memory
struct gs_any { int32_t type; uint32_t pad; union { int64_t i; double d; void* p; }; };
#define GS_HOST __attribute__((no_sanitize("thread"), noinline))
template <class F> GS_HOST void gs_call(void* f) { (*(F*)f)(); }
template <class F>
int gs_run(const char* name, F f, const gs_any* extents, const char* axes, void* dynamic, size_t capacity, gs_any* result) {
  int64_t sizes[7] = {1, 1, 1, 1, 1, 1, 0};
  for (int k = 0; axes[k]; ++k) sizes[axes[k] - '0'] = extents[k].i;
  asm volatile("" ::"r"(&gs_tls));
  gs_launch(name, gs_call<F>, &f, sizes, dynamic, capacity);
  result->type = 0; result->i = 0;
  return 0;
}
"""
_AXES = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z")
# arrays of classes, which g++ has constructed, by each thread, though nothing is to be done
_CLASSES = re.compile(r"__shared__ (half|__nv_bfloat16|nv_bfloat16) (\w+)\[(\d+)\];")
_DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w ]+?)\s+(\w+)\s*\[\]")
DYNAMIC_BYTES = 232448  # of shared memory that a block may have at most: compute capability 9.0


def launcher(
    name: str, parameters: str, axes: Sequence[str], dynamic: str = "nullptr", edits: Mapping[int, str] | None = None
) -> str:
    """The C++ of a function that runs a kernel, in TVM's calling convention.

    Args:
        parameters: of the kernel, in C++.
        axes: what the arguments after the kernel's own are: extents of axes, bytes of dynamic shared memory.
        dynamic: the name of the kernel's dynamic shared memory.
        edits: the names of the kernels that run instead of it, by the number of the edit.
    """
    arguments, names = [], []
    for k, p in enumerate(p for p in parameters.split(",") if p.strip()):
        ctype, _, word = p.replace("__restrict__", "").replace("*", "* ").strip().rpartition(" ")
        pointer, floating = "*" in ctype, re.search(r"\b(float|double)\b", ctype)
        arguments.append(f"({ctype.strip()})a[{k}].{'p' if pointer else 'd' if floating else 'i'}")
        if pointer:
            names.append(f'  gs_name(a[{k}].p, "{word.strip()}");\n')
    n = len(arguments)
    digits = "".join(str(_AXES.index(x)) if x in _AXES else "6" for x in axes)
    capacity = "0" if dynamic == "nullptr" else f"sizeof {dynamic}"
    address = "nullptr" if dynamic == "nullptr" else f"&{dynamic}[0]"
    given = ", ".join(arguments)
    instead = "".join(f"if (gs_edit == {k}) {{ {other}({given}); return; }} " for k, other in (edits or {}).items())
    return (
        f'extern "C" int __tvm_ffi_{name}(void*, const gs_any* a, int32_t n, gs_any* result) {{\n'
        f"  if (n != {n + len(axes)}) return -1;\n{''.join(names)}"
        f"  auto kernel = [=]() GS_HOST {{ {instead}{name}({given}); }};\n"
        f'  return gs_run("{name}", kernel, a + {n}, "{digits}", {address}, {capacity}, result);\n'
        "}"
    )


def library_source(
    header: str,
    kernels: Mapping[str, tuple[str, str, Sequence[str]]],
    edits: Mapping[str, Mapping[int, str]] | None = None,
) -> str:
    """One source of kernels and their launchers; the kernels are (code, parameters, axes).

    Args:
        edits: of kernels that the header has, for :func:`launcher`.
    """
    body = without_assembly("\n".join([header, *(code for code, _, _ in kernels.values())]))
    body = re.sub(r"__shared__ (alignas\(\d+\))", r"\1 __shared__", body)  # g++ wants attributes first
    body = _CLASSES.sub(r"__shared__ unsigned short \2_[\3]; \1* \2 = (\1*)\2_;", body)
    arrays = {name: ctype for ctype, name in _DYNAMIC.findall(body)}
    defined = [f"alignas(1024) thread_local {c} {n}[{DYNAMIC_BYTES} / sizeof({c})];" for n, c in arrays.items()]
    launchers = []
    for name, (code, parameters, axes) in kernels.items():
        own = _DYNAMIC.search(code)
        # declared at namespace scope, it is for all kernels
        dynamic = own[2] if own else next((n for n in arrays if re.search(rf"\b{n}\b", code)), "nullptr")
        launchers.append(launcher(name, parameters, axes, dynamic, (edits or {}).get(name)))
    return "\n".join([body, *defined, _LAUNCHERS, *launchers])


class _Any(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("pad", ctypes.c_uint32), ("bits", ctypes.c_int64))


class Program:
    """Kernels that are written by hand, to be launched on NumPy arrays.

    ``extern "C" __global__`` functions whose parameters are pointers and numbers.
    """

    def __init__(
        self,
        source: str,
        folder: Path,
        name: str = "kernels",
        *,
        arch: str = ARCH,
        checked: bool = True,
        traced: bool = False,
    ) -> None:
        pattern = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(([^)]*)\)')
        self._parameters = {m[1]: m[2] for m in pattern.finditer(source)}
        axes = [*_AXES, "dynamic"]
        dynamic = _DYNAMIC.search(source)
        # the source stays in one piece: what stands between the kernels belongs to it
        first = next(iter(self._parameters))
        kernels = {k: ("", p, axes) for k, p in self._parameters.items()}
        kernels[first] = (source, self._parameters[first], axes)
        code = library_source("", kernels)
        if dynamic:
            code = re.sub(r'"0123456", nullptr, 0', f'"0123456", &{dynamic[2]}[0], sizeof {dynamic[2]}', code)
        path, library = folder / f"{name}.cpp", folder / f"{name}.so"
        path.write_text(code)
        device.compile_kernels(path, library, arch, checked=checked, traced=traced)
        device.library()
        self._library = ctypes.CDLL(str(library))

    def launch(
        self,
        kernel: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        *args: Any,
        shared: int = 0,
        seed: int = 0,
    ) -> None:
        """Run a kernel; arrays are copied to the device, and back where they can be written.

        Raises:
            CudaError: it did what it must not.
        """
        sizes = [*_triple(grid), *_triple(block), shared]
        names = [p.split()[-1].lstrip("*") for p in self._parameters[kernel].split(",")]
        with device.memory() as mem, device.seeded(seed):
            values, back = [], []
            for name, x in zip(names, args, strict=True):
                if isinstance(x, np.ndarray):
                    at = mem.allocate(x.nbytes, name, x.ctypes.data, readonly=not x.flags.writeable)
                    if x.flags.writeable:
                        back.append((x, at))
                    values.append(at)
                else:
                    values.append(x)
            record = (_Any * (len(values) + len(sizes)))()
            for a, v in zip(record, [*values, *sizes], strict=True):
                a.bits = int(np.float64(v).view(np.int64)) if isinstance(v, float) else v
            status = getattr(self._library, f"__tvm_ffi_{kernel}")(None, record, len(record), ctypes.byref(_Any()))
            assert status == 0
            device.raise_error()
            for x, at in back:
                ctypes.memmove(x.ctypes.data, at, x.nbytes)


def _triple(n: int | Sequence[int]) -> list[int]:
    given = [n] if isinstance(n, int) else list(n)
    return given + [1] * (3 - len(given))
