"""Reductions over axes, each fold in row-major order, so that results do not depend on the number of threads.

Folds are carried out side by side, as many as there is room for in vector registers.  What they read may be anywhere: where rows
come by way of an index, they are prefetched.
"""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.nests import Nest, ReduceNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.decisions import Condition
from gscompile.schedules.folds import accumulators, fold_step
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import CHAINS
from gscompile.schedules.llvm.folded_rows import (
    Later,
    Prefetch,
    anywhere,
    folded_ahead,
    gathered_rows,
    gathers_slowly,
    same_ranges,
)
from gscompile.schedules.llvm.kernels import with_kernels
from gscompile.schedules.llvm.numbers import MIN_COLUMNS, NARROW_TABLE_BYTES
from gscompile.schedules.llvm.tiles import known_tile, tile_width, tiled, variable_tile
from gscompile.schedules.loops import over_reduced, storage
from gscompile.schedules.rule import Checked, Context


class Columns:
    """The reduced axes are outside the innermost kept axis: fold a tile of columns side by side, reading rows."""

    name = "columns"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ReduceNest) or nest.inner or not nest.shape:
            return None
        columns = nest.shape[-1]
        if isinstance(columns, int) and columns < MIN_COLUMNS:
            return None
        width = tile_width(nest, ctx)
        gathered = gathered_rows(nest, ctx.target)
        ahead = folded_ahead(nest, ctx, gathered, width) if gathered else 0
        checks = nest.check is not None and rows_share_an_index(nest)

        def tile(first: list[Expr], count: Expr, later: Later, far: Condition) -> Stmt:
            prefetch = Prefetch(nest, gathered, first, later, count, ahead, far) if gathered else None
            known = T.constant_value(count)
            if known is None:
                return variable_tile(nest, first, width, count, prefetch)
            return known_tile(nest, first, known, prefetch)

        def valid(first: list[Expr], folds: Stmt) -> Stmt:
            return where_valid(nest, first, folds)

        nests = tiled(nest, ctx, width, tile, gathered, valid if checks else None, apart=False)
        stmt = with_kernels(nests) if gathered else nests
        return Checked(stmt) if checks else stmt


class Folds:
    """Runs of memory are folded: a few of them in turns, where they are equally long."""

    name = "folds"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ReduceNest):
            return None
        if not nest.shape:
            return chains(nest, [[]])
        # Of several accumulators, the code for many chains is long and takes long to compile.
        alike = same_ranges(nest)
        width = max(ctx.choose(CHAINS) // len(nest.initial) ** 2, 1) if alike else 1
        gathered = gathered_rows(nest, ctx.target, NARROW_TABLE_BYTES) if alike and width > 1 else []
        ahead = folded_ahead(nest, ctx, gathered, width) if gathered else 0

        def tile(first: list[Expr], count: Expr, later: Later, far: Condition) -> Stmt:
            prefetch = Prefetch(nest, gathered, first, later, count, ahead, far) if gathered else None

            def cell(k: Expr | int) -> list[Expr]:
                return [*first[:-1], first[-1] + k]

            n = T.constant_value(count)
            if n is None:
                return T.for_(count, lambda k: chains(nest, [cell(k)]), "c")
            return chains(nest, [cell(k) for k in range(n)], prefetch)

        stmt = tiled(nest, ctx, width, tile, gathered, one_by_one=not gathered and gathers_slowly(nest, ctx.target))
        return with_kernels(stmt) if gathered else stmt


def in_order(nest: ReduceNest, ctx: Context) -> Stmt:
    """Folds in row-major order, of indices that have been checked."""
    stmt = Columns().apply(nest, ctx) or Folds().apply(nest, ctx)
    assert stmt is not None and not isinstance(stmt, Checked)
    return stmt


def rows_share_an_index(nest: ReduceNest) -> bool:
    """Whether the indices that a fold uses are those of its neighbours on the innermost kept axis."""
    c, r = anywhere(nest)
    pairs = zip(nest.grid(c, r), nest.grid([*c[:-1], c[-1] + 1], r), strict=True)
    return all(T.same_expr(x, y) for x, y in pairs)


def where_valid(nest: ReduceNest, first: list[Expr], folds: Stmt) -> Stmt:
    """A tile's folds, if all indices that they use are in range: tested just before, which brings them into the L1 cache."""
    flag = Flag(nest.check)
    return flag.around(over_reduced(nest, first, lambda r: T.seq(flag.test(nest.grid(first, r)))), folds)


def chains(nest: ReduceNest, cells: list[list[Expr]], prefetch: Prefetch | None = None) -> Stmt:
    """The folds of some cells that all have the same ranges, in turns: each step waits for the one before it in its fold.

    LLVM vectorises folds of integers, which it may reorder, along the runs.  Those of floats it may not reorder, and would
    vectorise across the runs, by hardware gathers: hence a position that it cannot prove to be the same in each run.
    """
    zero = T.const(0)
    acc = [accumulators(nest, 1, "global") for _ in cells]
    hide = len(cells) > 1 and any(d.is_float for d, _ in nest.initial)

    def step(a: list[Buffer], c: list[Expr], r: list[Expr]) -> Stmt:
        if hide and r:
            return T.let("r", T.opaque(r[-1]), lambda x: fold_step(nest, a, zero, c, [*r[:-1], x]))
        return fold_step(nest, a, zero, c, r)

    folds = list(zip(acc, cells, strict=True))

    def steps(r: list[Expr]) -> Stmt:
        return T.seq(*(step(a, c, r) for a, c in folds))

    return T.seq(
        *(T.allocate(b) for a in acc for b in a),
        *(T.store(b, [zero], v) for a in acc for b, (_, v) in zip(a, nest.initial, strict=True)),
        prefetch.loops(steps) if prefetch else over_reduced(nest, cells[0], steps),
        *(T.store(nest.out, storage(c), nest.finish([T.load(b, zero) for b in a], c)) for a, c in folds),
    )
