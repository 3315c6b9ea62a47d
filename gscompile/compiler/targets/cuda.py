"""NVIDIA's GPUs, through CUDA C++."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from gscompile.compiler.nvcc import compile_cuda, configure_tvm, require_arch
from gscompile.compiler.targets.base import HOST_CODE, CodeKind, Target
from gscompile.compiler.targets.create import tvm_target
from gscompile.errors import DeviceError, TargetError
from gscompile.ir import codegen, machine
from gscompile.ir.nests import CheckNest
from gscompile.ir.tir import Buffer, Stmt
from gscompile.runtime.devices import CUDA, Runner
from gscompile.schedules import Context, Rule
from gscompile.schedules import Target as Facts
from gscompile.schedules.cuda import RULES
from gscompile.schedules.cuda.check import named
from gscompile.schedules.cuda.launch import single_thread

DEFAULT_ARCH = "sm_80"  # where there is no GPU to ask: what every data-centre GPU since 2020 runs
MULTIPROCESSORS = {"sm_80": 108, "sm_86": 84, "sm_89": 142, "sm_90": 132, "sm_100": 148}
"""What is assumed where the GPU is not known, by architecture: NVIDIA's data sheets of the A100, A40, L40S, H100 and
H200 SXM, and B200.  Others count as the H100."""
MOST_MULTIPROCESSORS = 512  # numbers of threads have 32 bits, a grid's past the end included
ACCESS_BYTES = 16  # the widest memory access of a thread, and what arrays are aligned to for it


def _ptx(target: Target, func: Any, library: Any) -> str:
    return compile_cuda(codegen.device_source(library), target.facts.arch, "ptx").decode()


class Cuda(Target):
    """A GPU: the one here, or one given as ``arch`` (``multiprocessors``)."""

    kind = "cuda"
    device = "cuda"
    device_type = 2
    alignment = ACCESS_BYTES
    host_guards = False
    joins_checks = True
    joins_several = True
    by_driver = True
    variant = "arch"
    in_parts = False
    by_segment = True
    again = 64  # 12 bytes of memory, what storing and reading it twice takes, are 80 on an H200
    pipeline = codegen.CUDA_PIPELINE
    code: ClassVar[Mapping[str, CodeKind]] = {
        **HOST_CODE,
        "cuda": CodeKind("cu", lambda target, func, library: codegen.device_source(library)),
        "ptx": CodeKind("ptx", _ptx),
    }

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> Cuda:
        configure_tvm()
        given = {"max_num_threads": 1024, **attributes}
        here = None if "arch" in given else local_multiprocessors()
        given.setdefault("arch", local_arch() or DEFAULT_ARCH)
        if isinstance(given["arch"], str):
            require_arch(given["arch"])
        arch = str(given["arch"])
        count = given.pop("multiprocessors", here or MULTIPROCESSORS.get(arch.rstrip("af"), MULTIPROCESSORS["sm_90"]))
        if type(count) is not int or not 1 <= count <= MOST_MULTIPROCESSORS:
            raise TargetError(f"multiprocessors: an int from 1 to {MOST_MULTIPROCESSORS}; got {str(count)[:200]!r}")
        facts = Facts(cls.kind, ACCESS_BYTES, arch, multiprocessors=count)
        return cls(facts, tvm_target(given), attributes=dict(attributes))

    @property
    def rules(self) -> Sequence[Rule]:
        return RULES

    @property
    def runner(self) -> Runner:
        return CUDA

    def once(self, body: Stmt) -> Stmt:
        return single_thread(body)

    def named(self, checks: Sequence[CheckNest], ctx: Context, kept: Buffer | None) -> Stmt:
        return single_thread(named(checks, ctx, kept))

    def require_device(self, module: str) -> None:
        if not machine.cuda_exists():
            raise DeviceError(
                f"{module}: this module is compiled for cuda ({self.facts.arch}), and this process has no usable CUDA device: "
                "build it with target='llvm' to run it here"
            )


@lru_cache(maxsize=1)
def local_arch() -> str | None:
    """``sm_XY`` of the first GPU here; None where there is none."""
    return machine.cuda_arch(0)


@lru_cache(maxsize=1)
def local_multiprocessors() -> int | None:
    """Multiprocessors of the first GPU here; None where there is none."""
    return machine.cuda_multiprocessors(0)
