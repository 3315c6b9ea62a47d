"""Maps: every cell by itself."""

from __future__ import annotations

from gscompile import _tvm as T
from gscompile._tvm import Expr, Stmt
from gscompile.nests import MapNest, Nest
from schedules.llvm.ranges import Piece, over_box
from schedules.rule import Context


class Rows:
    """Rows in parallel; the innermost axes are left to LLVM's vectoriser, which sees contiguous loads as such."""

    name = "rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, MapNest):
            return None

        def cell(c: list[Expr]) -> Stmt:
            return T.store(nest.out, c or [T.const(0)], nest.element(c))

        return over_box(ctx, nest.shape, nest.cost, lambda: Piece(cell))
