"""Running cuda kernels without a GPU: the very loop nests of the cuda schedule, their threads taken one after the other.

Only what a CPU cannot run is replaced: thread bindings become serial loops, atomics the plain operation.  The index
arithmetic, the predicates and the order of the kernels are those that the GPU would run.  Threads that share memory or wait for
each other cannot be taken one after the other: rules that would have them find that the target is not ``cooperative``, and do
the same by threads that need no other.  The text of kernels is run as it is by the tests' own device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gscompile.build import Module, build
from gscompile.compiler.targets import Target, resolve
from gscompile.compiler.targets.base import HOST_CODE
from gscompile.compiler.targets.cuda import Cuda
from gscompile.frontend.builder import Builder
from gscompile.ir import codegen
from gscompile.ir import tir as T
from gscompile.ir.graph import Graph
from gscompile.ir.tir import PrimFunc, Stmt
from gscompile.ir.types import DTYPES
from gscompile.runtime.devices import AS_DEVICE, Runner
from gscompile.schedules.cuda.atomics import PLAIN
from gscompile.schedules.cuda.check import FOUND, KEEP, plainly_found
from gscompile.schedules.cuda.vectors import COPY, FILL, LOAD, STORE, STREAM, plainly_moved
from gscompile.schedules.loops import by_number


@dataclass(frozen=True)
class EmulatedCuda(Cuda):
    """A GPU whose threads run on this CPU, one after the other.

    Attributes:
        host: the CPU.
        backward: from the last thread to the first.
    """

    host: Target
    backward: bool

    kind = "emulated cuda"
    device = "cpu"
    alignment = 0
    by_driver = False
    in_parts = True
    by_segment = False  # threads of a block would have to wait for each other
    code = HOST_CODE

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> EmulatedCuda:
        backward = bool(attributes.get("backward", False))
        cuda = Cuda.of({"kind": "cuda", "arch": attributes["arch"]})
        facts = replace(cuda.facts, index_bits=64 if attributes.get("wide") else 32, cooperative=False)
        # what LLVM would make faster is run once, and takes it longer to read
        return cls(facts, cuda.tvm, resolve({"kind": "llvm", "opt-level": 0}), backward)

    @property
    def runner(self) -> Runner:
        return AS_DEVICE

    def adapted(self, func: PrimFunc) -> PrimFunc:
        return codegen.serial_device(func, _plain, self.backward)

    def compile(self, module: Any) -> Any:
        return self.host.compile(module)

    def require_device(self, module: str) -> None:
        """It is here."""


def emulate(
    source: Builder | Graph,
    arch: str = "sm_90",
    *,
    rules: Sequence[Any] = (),
    deterministic: bool = False,
    backward: bool = False,
    wide: bool = False,
    check: str = "sync",
) -> Module:
    """A module that runs on the CPU what the cuda schedule would run on a GPU.

    Args:
        source: a builder or its graph.
        arch: the GPU architecture to schedule for.
        rules, deterministic, check: as for :meth:`gscompile.frontend.builder.Builder.build`.
        backward: take the threads from the last to the first; a result that must not depend on their order does not.
        wide: number threads with 64 bits, as where there are too many for 32.
    """
    graph = source.graph() if isinstance(source, Builder) else source
    target = EmulatedCuda.of({"arch": arch, "backward": backward, "wide": wide})
    return build(graph, target, rules=rules, deterministic=deterministic, check=check)


def _plain(name: str, buf: Any, at: list[Any], value: Any, *more: Any) -> Stmt:
    """What a device function does when no other thread runs: an atomic operation, a store past the caches, or a record kept."""
    if name.startswith(STREAM):
        return T.store_vector(buf, at[-1], T.reinterpreted(value))
    if name.startswith((COPY, LOAD, STORE)):
        return plainly_moved(name, buf, at, value)
    if name.startswith(FOUND):
        return plainly_found(name, buf, value, *more)
    if name.startswith(FILL):
        n = int(name.removeprefix(FILL).split("_")[0])
        return T.seq(*(T.store(buf, by_number(at[-1] + k, at), value) for k in range(n)))
    if name.startswith(KEEP):
        record, _ = T.addressed(value)
        numbers = [T.const(k) for k in range(int(name.removeprefix(KEEP)))]
        return T.if_(T.load(buf, *at) == 0, T.seq(*(T.store(buf, [k], T.load(record, k)) for k in numbers)))
    op, dtype = name.removeprefix("gs_atomic_").split("_", 1)
    dtype, _, several = dtype.partition("x")
    if not several:
        return T.store(buf, at, PLAIN[op](DTYPES[dtype], T.load(buf, *at), value))
    values, (begin,) = T.addressed(value)
    cells = [[*at[:-1], at[-1] + k] for k in range(int(several))]
    new = [PLAIN[op](DTYPES[dtype], T.load(buf, *c), T.load(values, begin + k)) for k, c in enumerate(cells)]
    return T.seq(*(T.store(buf, c, x) for c, x in zip(cells, new, strict=True)))
