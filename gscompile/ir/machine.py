"""What TVM knows of machines: targets, CPUs and cuda devices; and its own libraries."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi


def has_feature(target: Any, feature: str) -> bool:
    """Whether a CPU has a feature, by LLVM's name of it."""
    return bool(tvm.get_global_func("target.target_has_feature")(feature, target))


def load_library(path: str) -> Any:
    """The functions of a shared library that was linked of compiled code; it stays loaded as long as one of them is there."""
    return tvm_ffi.load_module(path, keep_module_alive=False)


def library_files() -> list[Path]:
    """TVM's own libraries."""
    return [Path(library._name) for library in tvm.base._LOADED_LIBS.values()]


def parallel_launch() -> int:
    """The address of TVM's own launcher of parallel loops."""
    library = tvm.base._LOADED_LIBS["tvm_runtime"]
    return ctypes.cast(library.TVMBackendParallelLaunch, ctypes.c_void_p).value or 0


def target(spec: Any) -> Any:
    """A TVM target of a dict or a tag."""
    return tvm.target.Target(spec)


def host_cpu() -> str:
    """LLVM's name of this machine's CPU."""
    return str(tvm.get_global_func("target.llvm_get_system_cpu")())


def host_triple() -> str:
    """LLVM's name of what this process runs on: architecture, vendor, system."""
    return str(tvm.get_global_func("target.llvm_get_system_triple")())


def llvm_architectures() -> list[str]:
    """The architectures that this LLVM compiles for."""
    return [str(name) for name in tvm.get_global_func("target.llvm_get_targets")()]


def vector_bytes(target: Any) -> int:
    """Width of a CPU's vector registers, by its own features: TVM's ``llvm_get_vector_width`` answers for the host."""
    return next((width for feature, width in (("avx512f", 64), ("avx", 32)) if has_feature(target, feature)), 16)


@cache
def host_vector_bytes() -> int:
    """Width of the vector registers of the CPU that this process runs on."""
    return vector_bytes(target({"kind": "llvm", "mcpu": host_cpu()}))


def cuda_arch(device: int) -> str | None:
    """Compute capability of a cuda device as ``sm_XY``; None where it is not there."""
    dev = tvm.cuda(device)
    return f"sm_{str(dev.compute_version).replace('.', '')}" if dev.exist else None


def cuda_multiprocessors(device: int) -> int | None:
    """How many multiprocessors a cuda device has; None where it is not there."""
    dev = tvm.cuda(device)
    return int(dev.multi_processor_count) if dev.exist else None


def cuda_exists() -> bool:
    """Whether a CUDA device can be used from this process."""
    return bool(tvm.cuda(0).exist)


def on_cuda(x: Any) -> Any:
    """A NumPy array's copy on the first cuda device."""
    return tvm.runtime.tensor(x, device=tvm.cuda(0))


def synchronize_cuda() -> None:
    """Wait for all that was launched on the first cuda device's default stream."""
    tvm.cuda(0).sync()


def load_cuda_runtime(libcudart: Sequence[Path]) -> None:
    """Load TVM's CUDA runtime if ``import tvm`` could not because the system has no libcudart, with the first that fits."""
    if tvm_ffi.get_global_func("device_api.cuda", allow_missing=True) is not None:
        return
    runtime = Path(tvm.base._LOADED_LIBS["tvm_runtime"]._name).with_name("libtvm_runtime_cuda.so")
    for cudart in libcudart:
        try:
            ctypes.CDLL(str(cudart))  # a loaded library is found by its soname, wherever it came from
            ctypes.CDLL(str(runtime))
            return
        except OSError:  # of another major version, or this machine has no driver
            continue


def set_cuda_compiler(compile: Callable[[str], bytes], *raises: type[Exception]) -> None:
    """What TVM's CUDA runtime calls for PTX or machine code of a module, as it is built or loaded.

    ``raises`` are the exceptions that pass through TVM as they are; others become RuntimeError.
    """
    for error in raises:
        tvm_ffi.register_error(error)
    tvm_ffi.register_global_func("tvm_callback_cuda_compile", lambda code: compile(str(code)), override=True)


def current_cuda_arch() -> str | None:
    """``sm_XY`` of the target that a module is being compiled for in this thread."""
    current = tvm.target.Target.current(allow_none=True)
    arch = None if current is None else str(current.attrs.get("arch", ""))
    return arch if arch and arch.startswith("sm_") else None


def known_cpu(target: Any, name: str) -> bool:
    """Whether LLVM has a CPU of that name for the target's architecture."""
    return name in {str(c) for c in tvm.get_global_func("target.llvm_get_cpu_archlist")(target)}
