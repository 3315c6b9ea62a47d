"""Scatters of many points into few cells: copies of the cells.

The points are cut into chunks, how many depends on sizes alone.  Each chunk is combined into a copy of its own, and the copies
in the order of the chunks afterwards: the result is bitwise the same for any number of threads, and no thread looks at
another's points.  4,000,000 points into 4,096 cells, Zipf(1): 32.8 ms where each of two threads looks at every point and keeps
its own, 1.9 with copies.
"""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.bounds import Bounds, inside
from gscompile.ir.nests import Nest, ScatterNest
from gscompile.ir.tir import Expr, Stmt
from schedules.llvm.check import Flag
from schedules.llvm.costs import FEWEST_CHUNKS, MANY_POINTS, MOST_CHUNKS, POINTS_PER_CELL, PRIVATE_CELLS, chunks, pays
from schedules.llvm.kernels import touch_lines, with_kernels
from schedules.llvm.owned import OwnedRows
from schedules.llvm.ranges import always_shared, shared_range
from schedules.llvm.staged import BLOCK, RowScatter, base, blocks, identity, separable, short_list, streams
from schedules.loops import unravel
from schedules.rule import Checked, Context

WAYS = 4  # neighbouring points go to different copies, since adding to the cell that was just stored has to wait for the store
GROUP = 64  # points between asking for more of the index and of src
TILE = 128  # cells that are added up side by side


class Private:
    """See the module's text."""

    name = "private"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest):
            return None
        scatter = RowScatter.of(nest, ctx)
        if scatter is None or not separable(nest, ctx) or scatter.width != 1:
            return None
        cells, count = scatter.rows, chunks(scatter.points, scatter.rows, POINTS_PER_CELL, FEWEST_CHUNKS, MOST_CHUNKS)
        worth = pays(ctx, (count, FEWEST_CHUNKS), (scatter.points, MANY_POINTS), (PRIVATE_CELLS - cells, 0))
        if worth is False:
            return None
        stmt = with_kernels(_private(scatter))
        if worth is not True:
            stmt = T.if_(worth, stmt, OwnedRows(sorts=False).statement(scatter))
        return stmt if nest.check is None else Checked(stmt)


def _private(s: RowScatter) -> Stmt:
    nest, ctx = s.nest, s.ctx
    cells, count = s.rows, chunks(s.points, s.rows, POINTS_PER_CELL, FEWEST_CHUNKS, MOST_CHUNKS)
    copies = ctx.workspace(f"{nest.name}_copies", (count, cells), s.acc)
    # floats keep the last of two equal zeros, and the first NaN: in the order of the points
    ways = 1 if s.reduction.idempotent and not s.acc.is_integer else WAYS
    n, points, chunk_count = ctx.sizes(cells), ctx.sizes(s.points), T.maximum(ctx.sizes(count), T.const(1))

    def some(lo: Expr, hi: Expr) -> Stmt:
        """Chunks ``[lo, hi)``, one after the other through the same few copies; one more cell takes what is dropped."""
        own = T.buffer("own", [(n + 1) * ways], s.acc.tir, align=64)
        target = short_list("target", "int32")

        def chunk(g: Expr) -> Stmt:
            first, last = T.quotient(points * g, chunk_count), T.quotient(points * (g + 1), chunk_count)
            flag = Flag(nest.check)

            def settle(c: Expr) -> Stmt:
                total = T.load(own, c * ways)
                for k in range(1, ways):
                    total = s.combine(total, T.load(own, c * ways + k))
                return T.store(copies, [g, c], total)

            return T.seq(
                T.for_((n + 1) * ways, lambda c: T.store(own, [c], identity(nest, s.acc)), "c"),
                flag.around(blocks(first, last, lambda b, m: block(flag, b, m))),
                T.for_(n, settle, "c"),
            )

        def block(flag: Flag, begin: Expr, m: Expr) -> Stmt:
            def resolve(k: Expr) -> Stmt:
                row, ok = s.target(begin + k)
                if nest.check is not None and nest.op.addressing.bounds is Bounds.RAISE and len(s.leading) == 1:
                    # a row that is not valid is counted somewhere: what the copy then holds is lost
                    empty = None if isinstance(cells, int) and cells > 0 else flag.note(T.cast("int64", n <= 0))

                    def put(r: Expr) -> Stmt:
                        cell = inside(r, n)
                        return T.seq(T.store(target, [k], T.cast("int32", cell)), flag.note(T.xor(r, cell)), empty)

                    return T.let("r", row, put)
                taken = T.all_of([ok, s.valid(begin + k)])
                row = row if taken is None else T.select(taken, row, n)
                return T.seq(T.store(target, [k], T.cast("int32", row)), flag.look(s.grid(begin + k)))

            def point(k: Expr, way: Expr) -> Stmt:
                at = T.int64(T.load(target, k)) * ways + way
                return T.store(own, [at], s.combine(T.load(own, at), s.source(begin + k, s.no_window)))

            def group(j: Expr) -> Stmt:
                ask = [
                    touch_lines(T.address_of(buf, *at), T.const(max(1, GROUP * itemsize // 64)))
                    for buf, at, itemsize in streams(nest, s.grid(begin + j * GROUP + BLOCK))
                ]
                some = T.for_(
                    GROUP // WAYS,
                    lambda q: T.seq(*(point(j * GROUP + q * WAYS + k, T.const(k % ways)) for k in range(WAYS))),
                    "q",
                )
                return T.seq(*ask, some)

            whole = T.floordiv(m, T.const(GROUP))
            return T.seq(
                T.for_(m, resolve, "k"),
                T.for_(whole, group, "group"),
                T.for_range(whole * GROUP, m, lambda k: point(k, T.const(0)), "k"),
            )

        return T.seq(T.allocate(own), T.allocate(target), T.for_range(lo, hi, chunk, "chunk"))

    def tile(u: Expr) -> Stmt:
        """Some cells, from all copies."""
        total = T.buffer("total", [TILE], s.acc.tir, align=64)
        begin = u * TILE
        width = T.minimum(n - begin, T.const(TILE))

        def each(body: Callable[[Expr], Stmt]) -> Stmt:
            return T.for_(width, body, "c")

        def finish(c: Expr) -> Stmt:
            return T.store(
                nest.out, unravel(begin + c, nest.shape, ctx.sizes), nest.op.finish(nest.dtype, T.load(total, c), None)
            )

        return T.seq(
            T.allocate(total),
            each(lambda c: T.store(total, [c], base(nest, s.acc, unravel(begin + c, nest.shape, ctx.sizes)))),
            T.for_(
                chunk_count,
                lambda g: each(
                    lambda c: T.store(total, [c], s.combine(T.load(total, c), T.load(copies, g, begin + c)))
                ),
                "g",
            ),
            each(finish),
        )

    tiles = (cells + (TILE - 1)) // TILE
    return T.seq(
        always_shared(ctx, count, some),
        shared_range(ctx, tiles, count * cells, lambda lo, hi: T.for_range(lo, hi, tile, "tile")),
    )
