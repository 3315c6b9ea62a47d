"""A function that TVM's default pipeline compiles as ours compiles it, for CPUs and for GPUs.

What is emitted for a graph is lowered here by the passes that gscompile's own pipeline runs.  Those that only the default one
has must then leave it alone:

- CommonSubexprElim puts the definition of an expression that stands in several nests into one of them, so that others use what
  is not defined.  It takes no expression that contains a call, so that every variable is read through a ``reinterpret`` to its
  own type, of which no instruction is made.
- UnrollLoop counts steps in 32 bits, and unrolls any loop where they overflow: extents are read like that, too.
- LLVM 22.1 vectorises some loops wrongly, see :func:`gscompile.ir.codegen.wraps_around`; the option against it is not the
  function's to give, and the counters of these loops pass through an empty piece of assembly instead.
"""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import ir, tirx

from gscompile.compiler.targets import Target
from gscompile.ir import codegen
from gscompile.ir import tir as T
from gscompile.ir.tir import Expr, PrimFunc, Stmt

_REINTERPRET = ir.Op.get("tirx.reinterpret")


def standalone(func: PrimFunc, target: Target) -> Stmt:
    """The body of a function of addresses and numbers, for TVM's default pipeline.

    Args:
        target: for which it is lowered.
    """
    if not target.by_driver:
        func = codegen.for_llvm(_with_opaque_counters(func))
    with target.tvm:
        lowered = tvm.ir.transform.Sequential(codegen.cpu_passes(simplify=True))(tvm.IRModule({"main": func}))["main"]
    return _hidden(lowered.body, target)


def _hidden(body: Stmt, target: Target) -> Stmt:
    """Numbers read through calls that compute nothing.

    In CUDA's text such a call takes the address of what it reads, which must be a variable: not a constant, nor the number of
    the only block, in whose place TVM puts 0.
    """
    constants = T.single_threads(body) if target.by_driver else set()

    def call(x: Expr) -> Expr:
        return ir.Call(_REINTERPRET, [x], ret_ty=x.ty)

    def read(v: Any, defines: int) -> Any:
        return call(v) if isinstance(v.ty, ir.PrimType) and not defines and v not in constants else v

    def loop(s: Any) -> Any:
        serial = s.kind == tirx.ForKind.SERIAL and isinstance(s.extent, tirx.IntImm) and not target.by_driver
        return tirx.For(s.loop_var, s.min, call(s.extent), s.kind, s.body, s.thread_binding) if serial else s

    return tvm_ffi.structural_map(body, (tirx.For, loop), (tirx.Var, read))


def _with_opaque_counters(func: PrimFunc) -> PrimFunc:
    """The innermost loops that LLVM would vectorise wrongly count with numbers of which it knows nothing."""

    def opaque(loop: Any) -> Any:
        if loop.kind != tirx.ForKind.SERIAL or not codegen.counter_wraps(loop) or codegen.wraps_around(loop.body):
            return loop
        dtype = T.dtype_of(loop.loop_var)
        counter = T.var(f"{loop.loop_var.name}_", dtype)
        body = T.seq(T.bind(loop.loop_var, T.cast(dtype, T.opaque(T.cast("int64", counter)))), loop.body)
        return tirx.For(counter, loop.min, loop.extent, loop.kind, body, None)

    return func.with_body(tvm_ffi.structural_map(func.body, (tirx.For, opaque)))
