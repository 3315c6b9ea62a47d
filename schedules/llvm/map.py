"""Maps: every cell by itself."""

from __future__ import annotations

from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.llvm.cells import map_share, with_check
from gscompile.schedules.llvm.choices import PICKED_TOGETHER, VECTORS_AHEAD
from gscompile.schedules.llvm.kernels import prefetch_lines, with_kernels
from gscompile.schedules.llvm.numbers import LINE_BYTES, VECTOR_CELLS, VECTOR_LANE_BYTES, WIDE_VECTOR_CELLS
from gscompile.schedules.llvm.ranges import over_box, shared_range
from gscompile.schedules.rule import Checked, Context


class Rows:
    """Rows in parallel; the innermost axes are left to LLVM's vectoriser, which sees contiguous loads as such."""

    name = "rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest):
            return None
        if vectors := index_vectors(nest):
            cells = _Prefetched(nest, ctx, *vectors)
            return with_check(
                nest, with_kernels(shared_range(ctx, nest.shape[0], nest.work, cells.share, nest=nest.name))
            )
        reads = nest.loads([T.var(f"c{k}") for k in range(len(nest.shape))])
        apart = None
        if any(T.loads_of(x) for _, at in reads for x in at):
            apart = WIDE_VECTOR_CELLS if nest.dtype.itemsize >= VECTOR_LANE_BYTES else VECTOR_CELLS
        lanes = max(ctx.target.vector_bytes // VECTOR_LANE_BYTES, 1) if of_neighbours(nest) else 1
        share = lambda: map_share(nest)  # noqa: E731
        return with_check(nest, over_box(ctx, nest.shape, nest.cost, share, apart=apart, lanes=lanes, nest=nest.name))


def index_vectors(nest: MapNest) -> tuple[int, int] | None:
    """Of a list of cells with an index vector each: which of the nest's loads begins it, and its bytes; None for others."""
    if len(nest.shape) != 1:
        return None
    c = T.var("c0")
    here, there = nest.loads([c]), nest.loads([c + 1])
    if not any(T.loads_of(x) for _, at in here for x in at):
        return None
    for number, ((buf, at), (_, beside)) in enumerate(zip(here, there, strict=True)):
        extents = T.extents(buf)
        if len(at) != 2 or any(T.loads_of(x) for x in at) or T.constant_value(at[-1]) != 0:
            continue
        count, step = T.constant_value(extents[-1]), T.constant_value(beside[0] - at[0])
        if count is not None and count > 1 and count * T.itemsize(buf) <= LINE_BYTES and step == 1:
            return number, count * T.itemsize(buf)
    return None


@dataclass(frozen=True, slots=True)
class _Prefetched:
    """Cells with an index vector each, some at a time, before which the vectors of later ones are prefetched.

    A core has too few instructions underway to reach far enough by itself: 5.9 million float16 by vectors of four int64, by one
    thread 27 ms -> 19, by two 14 -> 9.8.

    Attributes:
        number: which of the nest's loads begins a vector.
        nbytes: of a vector.
    """

    nest: MapNest
    ctx: Context
    number: int
    nbytes: int

    def share(self, lo: Expr, hi: Expr) -> Stmt:
        """The cells ``[lo, hi)``."""
        part = map_share(self.nest)
        together, ahead = self.ctx.choose(PICKED_TOGETHER), self.ctx.choose(VECTORS_AHEAD)
        lines = T.const(max(1, together * self.nbytes // LINE_BYTES))

        def block(begin: Expr) -> Stmt:
            buf, at = self.nest.loads([begin + ahead])[self.number]
            cells = T.for_range(begin, T.minimum(begin + together, hi), lambda c: part.cell([c]), "c")
            return T.seq(prefetch_lines(T.address_of(buf, *at), lines), cells)

        blocks = T.quotient(hi - lo + (together - 1), T.const(together))
        return part.around(T.for_(blocks, lambda b: T.let("begin", lo + b * together, block), "block"))


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
