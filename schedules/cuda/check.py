"""Index checks on cuda: no assertion that would kill the context, just a record that the host reads after the call."""

from __future__ import annotations

from dataclasses import replace

from gscompile.ir import status
from gscompile.ir import tir as T
from gscompile.ir.nests import CheckNest, Nest, fail
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.cuda.atomics import atomic
from gscompile.schedules.cuda.launch import launch, single_thread
from gscompile.schedules.loops import ravel, unravel
from gscompile.schedules.rule import Context


class Check:
    """One thread per index vector keeps the smallest failing position; a second kernel of one thread reads the value there."""

    name = "check"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, CheckNest):
            return None
        at, value = T.const(status.position(nest.slot)), T.const(status.value(nest.slot))
        count: Expr = T.const(1)
        for d in nest.grid:
            count = count * ctx.sizes(d)

        def test(i: Expr) -> Stmt:
            g = unravel(i, nest.grid, ctx.sizes)
            steps = []
            for k in range(nest.components):
                flat = ravel(nest.position(g, k), nest.index, ctx.sizes)
                found = T.seq(atomic("min", nest.status, [at], flat), fail(nest.status))
                steps.append(T.if_(T.not_(nest.valid(g, k)), found))
            return T.seq(*steps)

        position = T.load(nest.status, at)
        read = T.let(
            "p", position, lambda p: T.store(nest.status, [value], nest.value(unravel(p, nest.index, ctx.sizes)))
        )
        # the guard of the first kernel may turn false while it runs, when another thread block has found something: every thread
        # must test its index all the same, or the smallest position could be missed
        unguarded = replace(ctx, guard=None)
        earlier = [T.load(nest.status, T.const(status.position(s))) == status.NOWHERE for s in range(nest.slot)]
        guard = T.all_of(earlier)
        return T.seq(
            launch(replace(unguarded, guard=guard), count, test),
            single_thread(T.if_(position != status.NOWHERE, read)),
        )
