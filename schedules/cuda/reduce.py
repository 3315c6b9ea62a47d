"""Reductions over axes on cuda: a thread per fold, in row-major order, so that results are reproducible."""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.nests import Nest, ReduceNest
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.cuda.check import checked, guarded, if_valid
from gscompile.schedules.cuda.launch import over
from gscompile.schedules.folds import accumulators, fold_step
from gscompile.schedules.loops import over_reduced, storage
from gscompile.schedules.rule import Checked, Context


class Folds:
    """Always applies to a reduction."""

    name = "folds"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ReduceNest):
            return None
        zero = T.const(0)

        def thread(c: list[Expr], _: Expr) -> Stmt:
            def step(r: list[Expr]) -> Stmt:
                return if_valid(nest.check, nest.grid(c, r), ctx, fold_step(nest, acc, zero, c, r))

            acc = accumulators(nest, 1, "local")
            return T.seq(
                *(T.allocate(a) for a in acc),
                *(T.store(a, [zero], v) for a, (_, v) in zip(acc, nest.initial, strict=True)),
                over_reduced(nest, c, step),
                T.store(nest.out, storage(c), nest.finish([T.load(a, zero) for a in acc], c)),
            )

        return checked(nest, over(guarded(ctx, nest), nest.shape, thread))
