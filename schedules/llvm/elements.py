"""Gathers of single elements, arranged so that what is picked from is near.

A loop over elements that lie anywhere waits for memory at each, because no hardware foresees which come next.  What it picks
from can be foreseen: a row, or a few columns.
"""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, ceildiv, product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Expr, Stmt
from schedules.llvm.cells import cells, flagged, with_check
from schedules.llvm.kernels import touch_lines, touch_row, with_kernels
from schedules.llvm.ranges import Piece, always_shared, over_box, shared_range
from schedules.loops import unravel
from schedules.rule import Checked, Context
from schedules.runs import copied

LINE = 64  # bytes of a cache line
PIECE = 64  # elements picked between asking for lines
MOST_LINES = 32  # of the next row per piece; where fewer elements are picked from it, most of its lines are not needed
NEAR = 512 << 10  # bytes that stay in a core's second-level cache beside what streams through it
COLUMNS = (32, 16)  # of a packed block
AHEAD = 8  # rows of indices asked for ahead


class PickedRows:
    """Elements picked from a row at a time: while one row is picked from, the next one is asked for, a few lines at a time.

    1,024 of 4,096 columns of 4,096 rows: 7.4 ms, so 3.1.  Asking for a whole row at once takes 9.2: more lines than a core
    can wait for.
    """

    name = "picked-rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest) or len(nest.shape) < 2:
            return None
        number = picked_row(nest)
        if number is None:
            return None
        outer, picks = nest.shape[:-1], nest.shape[-1]
        buf, _ = nest.loads([T.var(f"c{k}") for k in range(len(nest.shape))])[number]
        size = T.itemsize(buf)
        row_bytes = T.extents(buf)[-1] * size
        n = ctx.sizes(picks)
        # all lines of the next row over all pieces of this one; none where that is too little or too much to ask for
        lines = T.quotient(row_bytes, T.maximum(n, T.const(1)))
        enough = T.all_of([row_bytes >= 4 * LINE, lines <= MOST_LINES])
        if T.constant_value(enough) == 0:
            return None
        lines = T.select(enough, lines, T.const(0))

        def share(lo: Expr, hi: Expr) -> Stmt:
            part = cells(nest)

            def row(r: Expr) -> Stmt:
                c = unravel(r, outer, ctx.sizes)
                later = unravel(T.minimum(r + 1, hi - 1), outer, ctx.sizes)
                there, at = nest.loads([*later, T.const(0)])[number]

                def piece(p: Expr) -> Stmt:
                    begin = p * PIECE
                    asked = touch_lines(T.address_of(there, *at[:-1], p * lines * (LINE // size)), lines)
                    end = T.minimum(begin + PIECE, n)
                    return T.seq(asked, T.for_range(begin, end, lambda i: part.cell([*c, i]), "c"))

                return T.for_(T.quotient(n + (PIECE - 1), T.const(PIECE)), piece, "piece")

            return part.around(T.for_range(lo, hi, row, "row"))

        return with_check(nest, with_kernels(shared_range(ctx, product(outer), nest.work, share)))


def picked_row(nest: MapNest) -> int | None:
    """Which of a nest's loads picks elements from a row of memory as the innermost coordinate changes; None if none does."""
    c = [T.var(f"c{k}") for k in range(len(nest.shape))]
    beside, below = [*c[:-1], T.var("other")], [T.var(f"d{k}") for k in range(len(c) - 1)] + [c[-1]]
    for number, (here, there, later) in enumerate(zip(*map(nest.loads, (c, beside, below)), strict=True)):
        at, at_there, at_later = here[1], there[1], later[1]
        picks = T.loads_of(at[-1]) and not T.same_expr(at[-1], at_there[-1])
        if picks and _same(at[:-1], at_there[:-1]) and not _same(at[:-1], at_later[:-1]):
            return number
    return None


def _same(a: list[Expr], b: list[Expr]) -> bool:
    return all(T.same_expr(x, y) for x, y in zip(a, b, strict=True))


class PackedColumns:
    """Elements picked along an outer axis, the innermost coordinate being the same on both sides: in blocks of columns.

    Neighbours in the result come from rows far apart, so that each element costs a cache line and often a page.  A block of
    columns is copied into memory of its own first, where it stays in the second-level cache while all rows are picked from it.
    4096x1024 by 4096x1024: 16 ms, so 5.
    """

    name = "packed-columns"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest) or len(nest.shape) < 2:
            return None
        axis = picked_axis(nest)
        if axis is None:
            return None
        found = copied((nest.clamped or nest.element)([T.var(f"c{k}") for k in range(len(nest.shape))]))
        if found is None:
            return None
        buf = found.source[0]
        size = T.itemsize(buf)
        deep, wide, rows = T.extents(buf)[axis], T.extents(buf)[-1], ctx.sizes(nest.shape[axis])
        fitting = [b for b in COLUMNS if T.constant_value(deep * b * size <= NEAR) != 0]
        if not fitting:
            return None
        block = fitting[0]
        batch = [d for a, d in enumerate(nest.shape[:-1]) if a != axis]
        units = product([*batch, ceildiv(nest.shape[-1], block)])
        worth = T.all_of(
            [
                deep * block * size <= NEAR,
                deep * wide * size > NEAR,
                rows * 4 >= deep,
                T.any_of([ctx.threads == 1, ctx.sizes(units) >= ctx.threads]),
            ]
        )
        if T.constant_value(worth) == 0:
            return None
        packed = always_shared(ctx, units, lambda lo, hi: self.piece(nest, ctx, axis, block, batch, lo, hi))
        plain = over_box(ctx, nest.shape, nest.cost, lambda: cells(nest))
        return with_check(nest, T.if_(worth, with_kernels(packed), plain))

    def piece(self, nest: MapNest, ctx: Context, axis: int, block: int, batch: list[Dim], lo: Expr, hi: Expr) -> Stmt:
        """The blocks ``[lo, hi)`` of all batches."""
        element = nest.clamped or nest.element
        columns = ctx.sizes(nest.shape[-1])
        last = len(nest.shape) - 1

        def picked(c: list[Expr]) -> Expr:
            found = copied(element(c))
            assert found is not None
            value = T.load(packed, found.source[1][axis] * block + (c[last] - begin_of[0]))
            if found.ok is None:
                return value
            assert found.fill is not None
            return T.if_then_else(found.ok, value, found.fill)

        begin_of: list[Expr] = []
        source = copied(element([T.var(f"c{k}") for k in range(len(nest.shape))]))
        assert source is not None
        buf = source.source[0]
        packed = T.buffer("packed", [NEAR // T.itemsize(buf)], T.dtype_of(source.load), align=64)
        part = Piece(lambda c: T.store(nest.out, c, picked(c)))
        if nest.check is not None:
            part = flagged(nest, part.cell)

        def unit(u: Expr) -> Stmt:
            *outer, k = unravel(u, [*batch, ceildiv(nest.shape[-1], block)], ctx.sizes)
            return T.let("begin", k * block, lambda begin: at_block(outer, begin))

        def at_block(outer: list[Expr], begin: Expr) -> Stmt:
            begin_of[:] = [begin]

            def cell(r: Expr, j: Expr) -> list[Expr]:
                return [*outer[:axis], r, *outer[axis:], begin + j]

            def columns_of(width: Expr) -> Stmt:
                pack = T.for_(
                    T.extents(buf)[axis],
                    lambda r: T.for_(width, lambda j: T.store(packed, [r * block + j], T.load(buf, *cell(r, j))), "j"),
                    "r",
                )

                def pick(r: Expr) -> Stmt:
                    later = T.minimum(r + AHEAD, ctx.sizes(nest.shape[axis]) - 1)
                    asked = [
                        touch_row(T.address_of(b, *at), T.const(block * T.itemsize(b)))
                        for b, at in nest.loads(cell(later, T.const(0)))
                        if not b.same_as(buf)
                    ]
                    return T.seq(*asked, T.for_(width, lambda j: part.cell(cell(r, j)), "j"))

                return T.seq(pack, T.for_(ctx.sizes(nest.shape[axis]), pick, "r"))

            whole = begin + block <= columns
            return T.if_(whole, columns_of(T.const(block)), columns_of(columns - begin))

        return T.seq(T.allocate(packed), part.around(T.for_range(lo, hi, unit, "block")))


def picked_axis(nest: MapNest) -> int | None:
    """The axis along which elements are picked, every other coordinate being the result's own; None for anything else."""
    c = [T.var(f"c{k}") for k in range(len(nest.shape))]
    found = copied(nest.element(c))
    if found is None or len(found.source[1]) != len(c):
        return None
    moved = [k for k, x in enumerate(found.source[1]) if T.constant_value(x - c[k]) != 0]
    return moved[0] if len(moved) == 1 and moved[0] != len(c) - 1 else None
