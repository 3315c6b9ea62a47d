"""Reductions over axes on cuda: a thread per fold, in row-major order, so that results are reproducible."""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.dims import product
from gscompile.ir.nests import Nest, ReduceNest
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.cuda.launch import launch
from gscompile.schedules.folds import accumulators, fold_step
from gscompile.schedules.loops import over_reduced, storage, unravel
from gscompile.schedules.rule import Context


class Folds:
    """Always applies to a reduction."""

    name = "folds"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ReduceNest):
            return None
        zero = T.const(0)

        def thread(i: Expr) -> Stmt:
            c = unravel(i, nest.shape, ctx.sizes)
            acc = accumulators(nest, 1, "local")
            return T.seq(
                *(T.allocate(a) for a in acc),
                *(T.store(a, [zero], v) for a, (_, v) in zip(acc, nest.initial, strict=True)),
                over_reduced(nest, c, lambda r: fold_step(nest, acc, zero, c, r)),
                T.store(nest.out, storage(c), nest.finish([T.load(a, zero) for a in acc], c)),
            )

        return launch(ctx, ctx.sizes(product(nest.shape)), thread)
