"""Rows that are computed from one end to the other, in parallel."""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.dims import product
from gscompile.ir.nests import Nest, RowNest
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.llvm.ranges import shared_range
from gscompile.schedules.loops import unravel
from gscompile.schedules.rule import Context


class SerialRows:
    """Always applies to a nest of rows."""

    name = "serial-rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, RowNest):
            return None
        dtype, count = nest.registers

        def share(lo: Expr, hi: Expr) -> Stmt:
            total = T.buffer("total", [count], dtype.tir, align=64)
            rows = T.for_range(lo, hi, lambda r: nest.row(unravel(r, nest.rows, ctx.sizes), total), "row")
            return T.seq(T.allocate(total), rows)

        return shared_range(ctx, product(nest.rows), nest.work, share, nest=nest.name)
