"""Kernel launches."""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.cuda.choices import BLOCK
from gscompile.schedules.rule import Context


def launch(ctx: Context, count: Expr, body: Callable[[Expr], Stmt]) -> Stmt:
    """A kernel with one thread for each number in ``[0, count)``, under the context's guard."""
    block = ctx.choose(BLOCK)
    blocks = T.maximum(T.floordiv(count + (block - 1), T.const(block)), T.const(1))  # no empty launch

    def thread(b: Expr) -> Stmt:
        def inner(t: Expr) -> Stmt:
            i = b * block + t
            return T.if_(T.all_of([i < count, ctx.guard]), T.let("i", i, body))

        return T.thread_binding("threadIdx.x", block, inner, "t")

    return T.thread_binding("blockIdx.x", blocks, thread, "b")


def single_thread(body: Stmt) -> Stmt:
    """A kernel of one thread, for what the host would do if it could read device memory."""
    return T.thread_binding("blockIdx.x", 1, lambda b: T.thread_binding("threadIdx.x", 1, lambda t: body, "t"), "b")
