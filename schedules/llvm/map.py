"""Maps: every cell by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gscompile.ir import tir as T
from gscompile.ir.dims import product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.llvm.ahead import Pair, copied_ahead, far_bytes, known_bytes, place_in, scattered
from gscompile.schedules.llvm.cells import map_share, with_check
from gscompile.schedules.llvm.costs import slow_gathers
from gscompile.schedules.llvm.index_vectors import PickedByVectors, index_vectors
from gscompile.schedules.llvm.kernels import prefetch_row, with_kernels
from gscompile.schedules.llvm.numbers import (
    IN_ORDER,
    LEAST_GATHERED,
    NEIGHBOUR_BYTES,
    ROUNDED_TOGETHER,
    RUN_SAMPLES,
    VECTOR_CELLS,
    VECTOR_LANE_BYTES,
    WIDE_VECTOR_CELLS,
)
from gscompile.schedules.llvm.ranges import Ahead, Share, over_box
from gscompile.schedules.loops import assumed, unravel
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
        if apart is not None and nest.shape:
            lanes = min(lanes, max(assumed(nest.shape[-1]), 1))  # what is read beside a row is not computed with it
        ahead = rows_ahead_of(nest, ctx, apart)
        first = first_cells(nest)

        def box(apart: int | None, make_share: Callable[[], Share] = lambda: map_share(nest)) -> Stmt:
            return over_box(
                ctx,
                nest.shape,
                nest.cost,
                make_share,
                apart=apart,
                first=first,
                lanes=lanes,
                nest=nest.name,
                ahead=ahead,
            )

        stmt = unless_in_order(nest, ctx, lambda: box(apart), lambda: box(1, lambda: loaded_alone(nest)))
        return with_check(nest, stmt if ahead is None else with_kernels(stmt))


def rows_ahead_of(nest: MapNest, ctx: Context, apart: int | None) -> Ahead | None:
    """Rows that an index chooses from memory are prefetched some rows ahead.

    440,000 rows of 37 int16 out of 83 MB, of symbolic sizes, with a product and a sum: 22 ms, so 8.9.
    """
    width = nest.shape[-1] if len(nest.shape) > 1 else 1
    if apart is None or (isinstance(width, int) and width < apart):
        return None  # vectors go across rows
    c, far = [T.var(f"c{k}") for k in range(len(nest.shape))], far_bytes(ctx.target)
    found = [(buf, at) for buf, at in unconditional(nest, c) if chosen_row(at) and T.same_expr(at[-1], c[-1])]
    tables = [buf for buf, _ in found if known_bytes(buf) >= far]
    if not tables:
        return None

    def prefetch(first: list[Expr]) -> Stmt:
        rows = [(buf, at) for buf, at in unconditional(nest, first) if chosen_row(at) and any(map(buf.same_as, tables))]
        return T.seq(*(prefetch_row(T.address_of(buf, *at), ctx.sizes(width) * T.itemsize(buf)) for buf, at in rows))

    distance, large = copied_ahead(ctx, width * nest.dtype.itemsize, tables)
    return Ahead(distance, large, prefetch) if distance else None


def unconditional(nest: MapNest, c: list[Expr]) -> list[tuple[Buffer, list[Expr]]]:
    """What a cell loads under no condition, so that its place can be computed for any cell: not all parts of a ``concat``."""
    return [(buf, at) for condition, buf, at in T.reads(nest.safe(c)) if condition is None]


def chosen_row(at: list[Expr]) -> bool:
    """Whether a load is of a row that an index chooses."""
    return any(T.loads_of(x) for x in at[:-1]) and not T.loads_of(at[-1])


def unless_in_order(nest: MapNest, ctx: Context, gathered: Callable[[], Stmt], one_by_one: Callable[[], Stmt]) -> Stmt:
    """Single elements that come from memory in order, or nearly, are loaded one by one on a CPU whose gathers are slow.

    LLVM makes gathers of loads wherever there is AVX-512.  A Zen 4 has more cache lines underway by them where elements lie
    anywhere, but takes longer for them: 24 million sorted float32 of 240 MB 20.3 ms, one by one 13.4.
    """
    c = [T.var(f"c{k}") for k in range(len(nest.shape))]
    elements = [buf for buf, at in unconditional(nest, c) if axis_of_elements(buf, at) is not None]
    picked = [buf for buf in elements if T.itemsize(buf) >= LEAST_GATHERED]
    cells = product(nest.shape)
    far = far_bytes(ctx.target)
    if not slow_gathers(ctx.target) or len(picked) != 1 or known_bytes(picked[0]) < far or not nest.shape:
        return gathered()
    width, later = nest.shape[-1], IN_ORDER
    if isinstance(width, int) and 0 < width <= IN_ORDER * 4:  # what is picked of a short row is near, in whatever order
        later = -(-IN_ORDER // width) * width
    if isinstance(cells, int) and cells // (RUN_SAMPLES + 1) <= later:
        return gathered()
    step = T.quotient(ctx.sizes(cells), T.const(RUN_SAMPLES + 1))

    def place(number: Expr) -> Expr:
        found = unconditional(nest, unravel(number, nest.shape, ctx.sizes))
        return next(place_in(buf, at) for buf, at in found if buf.same_as(picked[0]))

    def look(at: Expr, pair: Pair) -> Stmt:
        def compared(p: list[Expr]) -> Stmt:
            apart = p[0] + (NEIGHBOUR_BYTES + 1)
            return pair([p[0]], [T.select(p[0] < p[1], p[1], apart)])

        return T.kept("where", [place(at), place(at + later)], compared)

    enough = T.all_of([step > later, T.size_of(picked[0]) >= far])
    assert enough is not None
    return scattered(step, look, lambda apart: T.if_(apart, gathered(), one_by_one()), enough, too_few=True)


def loaded_alone(nest: MapNest) -> Share:
    """One thread's cells, whose elements that an index chooses LLVM does not load together.

    Of rows of 4 elements, of 8 and of more it makes gathers: 1.8 million rows of 12 float64, 4 picked of each 24.5 ms, so 11.8,
    8 of each 35.6, 15.6; not of 3 and of 5 to 7, which take 1.1 of the time so.
    """
    share, width = map_share(nest), nest.shape[-1]
    if len(nest.shape) == 1 or (isinstance(width, int) and width < 8 and width != 4):
        return share

    def alone(buf: Buffer, at: list[Expr]) -> Expr | None:
        k = axis_of_elements(buf, at)
        return None if k is None else T.load(buf, *at[:k], T.opaque(at[k]), *at[k + 1 :])

    return replace(share, cell=lambda c: T.with_loads(share.cell(c), alone))


def axis_of_elements(buf: Buffer, at: list[Expr]) -> int | None:
    """Along which axis an index chooses, where a load is of single elements: what lies beside one is not chosen with it."""
    wide = [k for k, n in enumerate(T.extents(buf)) if T.constant_value(n) != 1]
    return wide[-1] if wide and T.loads_of(at[wide[-1]]) else None


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
