"""Reductions over axes, each fold in row-major order, so that results do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable

from gscompile import _tvm as T
from gscompile._tvm import Expr, Stmt
from gscompile.dims import product
from gscompile.nests import Nest, ReduceNest
from schedules.folds import accumulators, fold
from schedules.llvm.ranges import shared_range
from schedules.loops import over_reduced, unravel
from schedules.rule import Context

TILE = 64  # columns folded together: their accumulators stay in registers or the nearest cache


class Columns:
    """The reduced axes are outside the innermost kept axis: fold a tile of columns side by side, reading rows."""

    name = "columns"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ReduceNest) or nest.inner or not nest.shape:
            return None
        columns = nest.shape[-1]
        if isinstance(columns, int) and columns < 4:
            return None
        tiles = (columns + (TILE - 1)) // TILE
        outer = [*nest.shape[:-1], tiles]
        extent = ctx.sizes(columns)

        def tile(u: Expr) -> Stmt:
            *row, t = unravel(u, outer, ctx.sizes)
            acc = accumulators(nest, TILE)
            begin = t * TILE
            width = T.minimum(extent - begin, T.const(TILE))

            def finished(cell: list[Expr], c: Expr) -> Stmt:
                return T.store(nest.out, cell, nest.finish([T.load(a, c) for a in acc], cell))

            def each(body: Callable[[Expr], Stmt]) -> Stmt:
                return T.for_(width, body, "c")

            return T.seq(
                *(T.allocate(a) for a in acc),
                each(lambda c: T.seq(*(T.store(a, [c], v) for a, (_, v) in zip(acc, nest.initial, strict=True)))),
                over_reduced(nest, [*row, begin], lambda r: each(lambda c: fold(nest, acc, c, [*row, begin + c], r))),
                each(lambda c: finished([*row, begin + c], c)),
            )

        work = nest.elements * max(nest.cost, 1)
        return shared_range(ctx, product(outer), work, lambda lo, hi: T.for_range(lo, hi, tile, "tile"))


class Folds:
    """One fold after the other."""

    name = "folds"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ReduceNest):
            return None

        def cell(c: list[Expr]) -> Stmt:
            acc = accumulators(nest, 1)
            zero = T.const(0)
            return T.seq(
                *(T.allocate(a) for a in acc),
                *(T.store(a, [zero], v) for a, (_, v) in zip(acc, nest.initial, strict=True)),
                over_reduced(nest, c, lambda r: fold(nest, acc, zero, c, r)),
                T.store(nest.out, c or [zero], nest.finish([T.load(a, zero) for a in acc], c)),
            )

        work = nest.elements * max(nest.cost, 1)
        if not nest.shape:
            return cell([])
        return shared_range(
            ctx,
            product(nest.shape),
            work,
            lambda lo, hi: T.for_range(lo, hi, lambda u: cell(unravel(u, nest.shape, ctx.sizes)), "cell"),
        )
