"""Scans on cuda, by blocks: each thread folds one, then a thread for each row adds up, then each thread scans its block.

Threads share nothing but the blocks' folds, from one kernel to the next.  Where the axis is cut depends on sizes alone, so
results are repeatable.
"""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, ceildiv, product
from gscompile.ir.nests import Nest
from gscompile.ir.ops.scan import ScanNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.launch import over
from gscompile.schedules.cuda.numbers import SCAN_BLOCK, SCAN_ROWS
from gscompile.schedules.rule import Context


class Scans:
    """Always applies to a scan."""

    name = "scans"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScanNest):
            return None
        extent, rows = nest.shape[nest.axis], product(nest.rest)
        if (isinstance(extent, int) and extent <= SCAN_BLOCK) or (isinstance(rows, int) and rows >= SCAN_ROWS):
            return _advance(nest, ctx, 1, None)
        count = ceildiv(extent, SCAN_BLOCK)
        before = ctx.workspace(f"{nest.name}_before", nest.with_axis(count), nest.acc)
        return T.seq(
            _fold(nest, ctx, count - 1, before), _carry(nest, ctx, count, before), _advance(nest, ctx, count, before)
        )


def _over(nest: ScanNest, ctx: Context, count: Dim, body: Callable[[Buffer, list[Expr], Expr], Stmt]) -> Stmt:
    """``body(total, row, block)``: a thread for each of ``count`` blocks of each row, neighbours on the innermost axis."""
    box = nest.with_axis(count)

    def thread(c: list[Expr], _: Expr) -> Stmt:
        total = T.buffer("total", [1], nest.acc.tir, align=8, scope="local")
        return T.seq(T.allocate(total), body(total, [*c[: nest.axis], *c[nest.axis + 1 :]], c[nest.axis]))

    return over(ctx, box, thread)


def _fold(nest: ScanNest, ctx: Context, count: Dim, before: Buffer) -> Stmt:
    """The fold of each block but the last, stored as what comes just before the next."""
    zero = T.const(0)

    def block(total: Buffer, row: list[Expr], b: Expr) -> Stmt:
        return T.seq(
            T.store(total, [zero], nest.initial),
            T.for_(SCAN_BLOCK, lambda k: nest.take_in(total, zero, row, b * SCAN_BLOCK + k), "k"),
            T.store(before, nest.on_axis(row, b + 1), T.load(total, zero)),
        )

    return _over(nest, ctx, count, block)


def _carry(nest: ScanNest, ctx: Context, count: Dim, before: Buffer) -> Stmt:
    """From what comes just before each block, what comes before it in all."""
    zero = T.const(0)

    def row(total: Buffer, row: list[Expr], _: Expr) -> Stmt:
        def block(b: Expr) -> Stmt:
            at = nest.on_axis(row, b)
            add = T.store(total, [zero], nest.combine(T.load(total, zero), T.load(before, *at)))
            return T.seq(T.if_(b > 0, add), T.store(before, at, T.load(total, zero)))

        return T.seq(T.store(total, [zero], nest.initial), T.for_(ctx.sizes(count), block, "block"))

    return _over(nest, ctx, 1, row)


def _advance(nest: ScanNest, ctx: Context, count: Dim, before: Buffer | None) -> Stmt:
    """The scan of each block, from what comes before it."""
    zero = T.const(0)

    def block(total: Buffer, row: list[Expr], b: Expr) -> Stmt:
        begin = b * SCAN_BLOCK
        length = nest.extent if before is None else T.minimum(nest.extent - begin, T.const(SCAN_BLOCK))
        first = nest.initial if before is None else T.load(before, *nest.on_axis(row, b))
        return T.seq(
            T.store(total, [zero], first),
            T.for_(length, lambda k: nest.advance(total, zero, row, begin + k), "k"),
        )

    return _over(nest, ctx, count, block)
