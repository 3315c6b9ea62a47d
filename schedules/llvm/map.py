"""Maps: every cell by itself."""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Stmt
from gscompile.schedules.llvm.cells import map_share, with_check
from gscompile.schedules.llvm.ranges import over_box
from gscompile.schedules.rule import Checked, Context


class Rows:
    """Rows in parallel; the innermost axes are left to LLVM's vectoriser, which sees contiguous loads as such."""

    name = "rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest):
            return None
        reads = nest.loads([T.var(f"c{k}") for k in range(len(nest.shape))])
        picks = any(T.loads_of(x) for _, at in reads for x in at)
        return with_check(nest, over_box(ctx, nest.shape, nest.cost, lambda: map_share(nest), scattered=picks))
