"""Scatters that read far more than they write: each thread streams through points of its own, into copies of the output.

A thread that owns rows or columns of the output reads its share of src in pieces, and the hardware fetches what lies between
for nothing: each of two threads moves nearly all of src.  Here the points are cut into a few chunks instead, as many as sizes
alone say, each with a copy of the output.  Copies are combined in the order of the chunks, so that results are the same for any
number of threads; threads beyond the number of chunks share a chunk, each owning a part of its copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, dim_max, dim_min, product
from gscompile.ir.index_map import Indexed, Shared
from gscompile.ir.nests import Nest, ScatterNest
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.tir import Buffer, Expr, Stmt
from schedules.llvm.check import Flag, if_valid
from schedules.llvm.costs import (
    FEWEST_COPIES,
    MANY_POINTS,
    MOST_COPIES,
    POINTS_PER_COPY,
    POINTS_PER_NARROW_COPY,
    STREAMED,
    chunks,
    pays,
)
from schedules.llvm.kernels import touch_lines, with_kernels
from schedules.llvm.owned import OwnedRows, points
from schedules.llvm.ranges import Piece, over_box
from schedules.llvm.scatter import WIDE, OwnerComputes
from schedules.llvm.staged import BLOCK, RowScatter, base, identity, separable, short_list, streams
from schedules.rule import Checked, Context

# of index and src between asking for a line and using it; it is asked for twice and half as far ahead too
AHEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Chunk:
    """How the points of a scatter are cut.

    Attributes:
        extent: how many units of a copy threads may own.
        cells: the cells of the units ``[lo, hi)``: (lo, hi, body of a cell's coordinates).
        count: how many points there are to cut, each with as many elements as the others.
        body: (copies, chunk, first point, last point, lo, hi) -> what those do to the units ``[lo, hi)`` of the chunk's copy.
    """

    extent: Dim
    cells: Callable[[Expr, Expr, Callable[[list[Expr]], Stmt]], Stmt]
    count: Dim
    body: Callable[[Buffer, Expr, Expr, Expr, Expr, Expr], Stmt]


class Chunked:
    """See the module's text."""

    name = "chunked"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest) or not separable(nest, ctx):
            return None
        chunk = _rows(nest, ctx) or _elements(nest, ctx)
        if chunk is None:
            return None
        cells, elements = product(nest.shape), product(nest.grid) * product(nest.window)
        narrow = not nest.window and _size(chunk.extent) < WIDE
        per_cell, least = (
            (POINTS_PER_NARROW_COPY, MANY_POINTS) if narrow else (POINTS_PER_COPY, STREAMED // nest.dtype.itemsize)
        )
        count = chunks(elements, cells, per_cell, FEWEST_COPIES, MOST_COPIES)
        worth = pays(ctx, (count, FEWEST_COPIES), (elements, least))
        if worth is False:
            return None
        stmt = with_kernels(_chunked(nest, ctx, chunk, count))
        if worth is True:
            return stmt if nest.check is None else Checked(stmt)
        other = OwnedRows(sorts=False).apply(nest, ctx) or OwnerComputes().apply(nest, ctx)
        if nest.check is None:
            return T.if_(worth, stmt, other)
        checked = other.stmt if isinstance(other, Checked) else if_valid(nest.check, ctx, other)
        return Checked(T.if_(worth, stmt, checked))


def _rows(nest: ScatterNest, ctx: Context) -> Chunk | None:
    """Points that move rows."""
    s = RowScatter.of(nest, ctx)
    if s is None or not s.streamed:
        return None

    def body(copies: Buffer, g: Expr, first: Expr, last: Expr, lo: Expr, hi: Expr) -> Stmt:
        return points(s, copies, [g], first, last, lo, hi)

    return Chunk(s.rows, s.cells, s.points, body)


def _elements(nest: ScatterNest, ctx: Context) -> Chunk | None:
    """Points of one element, with coordinates shared by index and output on some axis other than the index tensor's first."""
    m = nest.op.addressing.map
    shared = {s.axis: a for a, s in enumerate(m.sources) if isinstance(s, Shared)}
    first = m.grid_axes[0] if m.grid_axes else 0
    if nest.window or nest.lanes or nest.op.counts or not shared or first in shared:
        return None
    if not all(isinstance(s, (Indexed, Shared)) for s in m.sources) or list(m.layout) != [
        ("index", j) for j in m.grid_axes
    ]:
        return None
    place = {j: k for k, j in enumerate(m.grid_axes)}
    owned = max(shared, key=lambda j: _size(nest.grid[place[j]]))
    acc = nest.op.reduction.accumulator(nest.dtype)
    extents = ctx.sizes.shape(nest.grid)
    inner: Dim = product(nest.grid[1:])

    def cells(lo: Expr, hi: Expr, cell: Callable[[list[Expr]], Stmt]) -> Stmt:
        return box(ctx.sizes.shape(nest.shape), shared[owned], lo, hi, cell)

    def body(copies: Buffer, g: Expr, begin: Expr, end: Expr, lo: Expr, hi: Expr) -> Stmt:
        flag = Flag(nest.check)

        # the indices of a row, or of a stretch of it, are resolved and looked at in one vector loop; it is left out if one is bad
        staged = short_list("start", "int64") if m.components == 1 and len(nest.grid) == 2 else None
        wrong = Flag(nest.check, "wrong")

        def stretch(i: Expr, lo: Expr, hi: Expr) -> Stmt:
            def over(body: Callable[[list[Expr]], Stmt]) -> Stmt:
                return box(extents[1:], place[owned] - 1, lo, hi, body)

            def resolve(rest: list[Expr]) -> Stmt:
                starts, _ = nest.starts([i, *rest])
                keep = None if staged is None else T.store(staged, [rest[0] - lo], starts[0])
                return T.seq(keep, wrong.look([i, *rest]))

            def point(rest: list[Expr]) -> Stmt:
                grid = [i, *rest]
                starts, ok = nest.starts(grid)
                if staged is not None:
                    starts = [T.load(staged, rest[0] - lo)]
                cell = [g, *nest.cell(starts, grid, [])]
                value = cast(nest.src(grid, []), nest.dtype, acc)
                return T.if_(ok, T.store(copies, cell, nest.op.reduction.combine(acc, T.load(copies, *cell), value)))

            if nest.check is not None:
                note = flag.note(T.load(wrong.bad, *wrong.zero))
                return T.seq(wrong.clear(), over(resolve), note, T.if_(T.not_(wrong.raised), over(point)))
            return over(point) if staged is None else T.seq(over(resolve), over(point))

        def outer(i: Expr, ahead: Expr) -> Stmt:
            end = T.minimum(hi, extents[place[owned]])
            if staged is None or _size(inner) <= BLOCK:
                row = stretch(i, lo, end)
            else:

                def block(k: Expr) -> Stmt:
                    here = lo + k * BLOCK
                    return T.let("from", here, lambda a: stretch(i, a, T.minimum(a + BLOCK, end)))

                row = T.for_(T.quotient(T.maximum(end - lo, T.const(0)) + (BLOCK - 1), T.const(BLOCK)), block, "block")
            ask = []
            for buf, at, itemsize in streams(nest, [i, *(T.const(0) for _ in nest.grid[1:])]):
                lines = dim_max(dim_min(inner * itemsize, AHEAD_BYTES) // 64, 1)
                for rows in (
                    ahead * 2,
                    ahead,
                    T.quotient(ahead, T.const(2)),
                ):  # CPUs drop what they are asked when busy
                    row_ahead = at[0] + rows * (8 // itemsize)
                    ask.append(touch_lines(T.address_of(buf, row_ahead, *at[1:]), ctx.sizes(lines)))
            return T.seq(*ask, row)

        lists = [
            T.allocate(x) for x in ([] if staged is None else [staged]) + ([] if nest.check is None else [wrong.bad])
        ]
        rows = ctx.sizes(dim_max(AHEAD_BYTES // dim_max(inner * 8, 1), 1))
        points = T.let("ahead", rows, lambda n: T.for_range(begin, end, lambda i: outer(i, n), "i"))
        return T.seq(*lists, flag.around(points))

    return Chunk(nest.shape[shared[owned]], cells, nest.grid[0], body)


def box(extents: Sequence[Expr], axis: int, lo: Expr, hi: Expr, body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """Serial loops over a box, on one axis only over ``[lo, hi)``."""

    def level(done: list[Expr]) -> Stmt:
        k = len(done)
        if k == len(extents):
            return body(done)
        if k == axis:
            return T.for_range(lo, hi, lambda i: level([*done, i]), f"c{k}")
        return T.for_(extents[k], lambda i: level([*done, i]), f"c{k}")

    return level([])


def _size(d: Dim) -> int:
    return d if isinstance(d, int) else 1 << 40


def _chunked(nest: ScatterNest, ctx: Context, chunk: Chunk, count: Dim) -> Stmt:
    return T.let("chunks", T.maximum(ctx.sizes(count), T.const(1)), lambda n: _in_chunks(nest, ctx, chunk, count, n))


def _in_chunks(nest: ScatterNest, ctx: Context, chunk: Chunk, count: Dim, chunks: Expr) -> Stmt:
    acc = nest.op.reduction.accumulator(nest.dtype)
    copies = ctx.workspace(f"{nest.name}_copies", (count, *nest.shape), acc)
    extent, points = ctx.sizes(chunk.extent), ctx.sizes(chunk.count)

    def unit(u: Expr, owners: Expr) -> Stmt:
        def part(g: Expr, o: Expr) -> Stmt:
            lo, hi = T.quotient(extent * o, owners), T.quotient(extent * (o + 1), owners)
            first, last = T.quotient(points * g, chunks), T.quotient(points * (g + 1), chunks)
            start = identity(nest, acc)

            def slab(lo: Expr, hi: Expr) -> Stmt:
                begin = chunk.cells(lo, hi, lambda c: T.store(copies, [g, *c], start))

                def between(first: Expr) -> Stmt:
                    return T.let("last", last, lambda last: chunk.body(copies, g, first, last, lo, hi))

                return T.seq(begin, T.let("first", first, between))

            return T.let("lo", lo, lambda lo: T.let("hi", hi, lambda hi: slab(lo, hi)))

        return T.let("g", T.quotient(u, owners), lambda g: T.let("o", T.remainder(u, owners), lambda o: part(g, o)))

    def share(t: Expr) -> Stmt:
        def units(owners: Expr) -> Stmt:
            all_units = chunks * owners
            lo, hi = T.quotient(all_units * t, ctx.threads), T.quotient(all_units * (t + 1), ctx.threads)
            return T.for_range(lo, hi, lambda u: unit(u, owners), "unit")

        return T.let("owners", T.maximum(T.quotient(ctx.threads, chunks), T.const(1)), units)

    def total(c: list[Expr], most: int) -> Stmt:
        # step by step in a register: of one nested expression TVM's simplifier tries every way through it
        register, zero = T.buffer("total", [1], acc.tir, align=acc.itemsize), T.const(0)

        def add(g: int) -> Stmt:
            there = T.load(copies, T.const(g), *c)
            return T.store(register, [zero], nest.op.reduction.combine(acc, T.load(register, zero), there))

        value = nest.op.finish(nest.dtype, T.load(register, zero), None)
        steps = [T.store(register, [zero], base(nest, acc, c)), *map(add, range(most))]
        return T.seq(T.allocate(register), *steps, T.store(nest.out, c, value))

    def totals(most: int) -> Stmt:
        return over_box(ctx, nest.shape, 1 + most, lambda: Piece(lambda c: total(c, most)), large=True)

    if isinstance(count, int):
        return T.seq(T.parallel(ctx.threads, share), totals(count))
    added = totals(MOST_COPIES)
    for fewer in range(MOST_COPIES - FEWEST_COPIES, 0, -FEWEST_COPIES):
        added = T.if_(chunks <= fewer, totals(fewer), added)
    return T.seq(T.parallel(ctx.threads, share), added)
