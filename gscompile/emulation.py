"""Running cuda kernels without a GPU: the very loop nests of the cuda schedule, their threads taken one after the other.

Only what a CPU cannot run is replaced: thread bindings become serial loops, atomics the plain operation.  The index
arithmetic, the predicates and the order of the kernels are those that the GPU would run.  Kernels whose threads share
memory or wait for each other cannot be emulated this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gscompile.build import Module
from gscompile.compiler.lower import lower
from gscompile.compiler.targets import resolve
from gscompile.frontend.builder import Builder
from gscompile.ir import tir as T
from gscompile.ir.graph import Graph
from gscompile.ir.tir import Stmt
from gscompile.ir.types import DTYPES


def emulate(
    source: Builder | Graph,
    arch: str = "sm_90",
    *,
    rules: Sequence[Any] = (),
    deterministic: bool = False,
    backward: bool = False,
) -> Module:
    """A module that runs on the CPU what the cuda schedule would run on a GPU.

    Args:
        source: a builder or its graph.
        arch: the GPU architecture to schedule for.
        rules, deterministic: as for :meth:`gscompile.frontend.builder.Builder.build`.
        backward: take the threads from the last to the first; a result that must not depend on their order does not.
    """
    graph = source.graph() if isinstance(source, Builder) else source
    cuda = resolve({"kind": "cuda", "arch": arch})
    lowered = lower(graph, cuda.facts, rules, deterministic)
    host = resolve("llvm")
    func = T.serial_device(lowered.func, _plain_atomic, backward)
    return Module(
        replace(lowered, func=func), replace(host, facts=replace(host.facts, kind="llvm", arch=f"emulated {arch}"))
    )


def _plain_atomic(name: str, buf: Any, at: list[Any], value: Any) -> Stmt:
    """What an atomic does when no other thread runs."""
    from schedules.cuda.atomics import PLAIN

    op, dtype = name.removeprefix("gs_atomic_").split("_", 1)
    return T.store(buf, at, PLAIN[op](DTYPES[dtype], T.load(buf, *at), value))
