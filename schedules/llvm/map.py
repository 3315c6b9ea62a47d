"""Maps: every cell by itself."""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Stmt
from gscompile.schedules.llvm.cells import map_share, with_check
from gscompile.schedules.llvm.index_vectors import PickedByVectors, index_vectors
from gscompile.schedules.llvm.numbers import ROUNDED_TOGETHER, VECTOR_CELLS, VECTOR_LANE_BYTES, WIDE_VECTOR_CELLS
from gscompile.schedules.llvm.ranges import over_box
from gscompile.schedules.rule import Checked, Context


class Rows:
    """Rows in parallel; the innermost axes are left to LLVM's vectoriser, which sees contiguous loads as such."""

    name = "rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest):
            return None
        if vectors := index_vectors(nest):
            return with_check(nest, PickedByVectors(nest, ctx, *vectors).statement())
        reads = nest.loads([T.var(f"c{k}") for k in range(len(nest.shape))])
        apart = None
        if any(T.loads_of(x) for _, at in reads for x in at):
            apart = WIDE_VECTOR_CELLS if nest.dtype.itemsize >= VECTOR_LANE_BYTES else VECTOR_CELLS
        lanes = max(ctx.target.vector_bytes // VECTOR_LANE_BYTES, 1) if of_neighbours(nest) else 1
        share = lambda: map_share(nest)  # noqa: E731
        first = first_cells(nest)
        box = over_box(ctx, nest.shape, nest.cost, share, apart=apart, first=first, lanes=lanes, nest=nest.name)
        return with_check(nest, box)


def first_cells(nest: MapNest) -> int:
    """How many cells of a row are to have a loop of their own, so that LLVM makes a vector of them; 0: it does so by itself."""
    width = nest.shape[-1] if len(nest.shape) == 2 else 0
    odd = isinstance(width, int) and ROUNDED_TOGETHER < width < 2 * ROUNDED_TOGETHER
    return ROUNDED_TOGETHER if odd and nest.dtype.name == "bfloat16" else 0


def of_neighbours(nest: MapNest) -> bool:
    """Whether neighbours on the innermost axis are computed of neighbours in memory, or of the same, so that vectors do it."""
    if not nest.shape:
        return False
    c = [T.var(f"c{k}") for k in range(len(nest.shape))]
    pairs = zip(nest.loads(c), nest.loads([*c[:-1], c[-1] + 1]), strict=True)
    for (_, at), (_, beside) in pairs:
        steps = [0 if T.same_expr(x, y) else T.constant_value(y - x) for x, y in zip(at, beside, strict=True)]
        if any(s != 0 for s in steps[:-1]) or steps[-1] not in (0, 1):
            return False
    return True
