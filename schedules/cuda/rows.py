"""Rows that are computed from one end to the other, a thread each."""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.nests import Nest, RowNest
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.cuda.launch import over
from gscompile.schedules.rule import Context


class SerialRows:
    """Always applies to a nest of rows."""

    name = "serial-rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, RowNest):
            return None
        dtype, count = nest.registers

        def thread(row: list[Expr], _: Expr) -> Stmt:
            total = T.buffer("total", [count], dtype.tir, align=8, scope="local")
            return T.seq(T.allocate(total), nest.row(row, total))

        return over(ctx, nest.rows, thread)
