"""Scatters of single elements along columns, a row of the grid at a time.

On the first axis of the grid points follow each other in memory; on some other axis index and output share a coordinate, the
columns, of which each thread may own some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, dim_max, dim_min, product
from gscompile.ir.index_map import Indexed, Shared
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.kernels import prefetch_lines
from gscompile.schedules.llvm.numbers import LINE_BYTES, POINT_BLOCK, STREAM_PREFETCH_BYTES
from gscompile.schedules.llvm.staged import combined, short_list, streams
from gscompile.schedules.loops import assumed, box
from gscompile.schedules.rule import Context


@dataclass(frozen=True, slots=True)
class ColumnScatter:
    """A scatter of single elements with a shared axis.

    Attributes:
        column: the shared axis, the longest if there are several, as an axis of the output.
        grid_column: the same as an axis of the grid.
    """

    nest: ScatterNest
    ctx: Context
    column: int
    grid_column: int

    @staticmethod
    def of(nest: ScatterNest, ctx: Context) -> ColumnScatter | None:
        """None where the scatter is no such thing, or needs counts, or combines several tensors at once."""
        m = nest.op.addressing.map
        shared = {s.axis: a for a, s in enumerate(m.sources) if isinstance(s, Shared)}
        first = m.grid_axes[0] if m.grid_axes else 0
        if nest.window or nest.lanes or nest.op.counts or not shared or first in shared:
            return None
        in_order = list(m.layout) == [("index", j) for j in m.grid_axes]
        if not in_order or not all(isinstance(s, (Indexed, Shared)) for s in m.sources):
            return None
        place = {j: k for k, j in enumerate(m.grid_axes)}
        longest = max(shared, key=lambda j: assumed(nest.grid[place[j]]))
        return ColumnScatter(nest, ctx, shared[longest], place[longest])

    @property
    def extent(self) -> Dim:
        """How many columns threads may own."""
        return self.nest.shape[self.column]

    @property
    def count(self) -> Dim:
        """How many rows the grid has."""
        return self.nest.grid[0]

    def cells(self, lo: Expr, hi: Expr, body: Callable[[list[Expr]], Stmt]) -> Stmt:
        """``body(coordinates)`` for the cells of the columns ``[lo, hi)``."""
        return box(self.ctx.sizes.shape(self.nest.shape), self.column, lo, hi, body)

    def add(self, partials: Buffer, chunk: Expr, first: Expr, last: Expr, lo: Expr, hi: Expr) -> Stmt:
        """What the grid's rows ``[first, last)`` do to the columns ``[lo, hi)`` of a chunk's accumulator."""
        return _Rows.of(self, partials, chunk, lo, hi).statement(first, last)


@dataclass(frozen=True, slots=True)
class _Rows:
    """A thread that adds the elements of some columns, row by row.

    The indices of a row, or of a block of it, are resolved and tested in one vector loop; it is left out if one is invalid.

    Attributes:
        staged: the resolved indices of a block; None where the grid has other than two axes or an index several components.
        flag: whether any index was invalid.
        wrong: whether one of the block is.
    """

    scatter: ColumnScatter
    partials: Buffer
    chunk: Expr
    lo: Expr
    hi: Expr
    staged: Buffer | None
    flag: Flag
    wrong: Flag

    @staticmethod
    def of(s: ColumnScatter, partials: Buffer, chunk: Expr, lo: Expr, hi: Expr) -> _Rows:
        nest = s.nest
        single = nest.op.addressing.map.components == 1 and len(nest.grid) == 2
        staged = short_list("start", "int64") if single else None
        return _Rows(s, partials, chunk, lo, hi, staged, Flag(nest.check), Flag(nest.check, "wrong"))

    @property
    def row_points(self) -> Dim:
        """How many points a row of the grid has."""
        return product(self.scatter.nest.grid[1:])

    def statement(self, first: Expr, last: Expr) -> Stmt:
        """The rows ``[first, last)``."""
        staged = [] if self.staged is None else [self.staged]
        tested = [] if self.scatter.nest.check is None else [self.wrong.bad]
        # rows between prefetching one and adding it, where elements have 8 bytes
        distance = dim_max(STREAM_PREFETCH_BYTES // dim_max(self.row_points * 8, 1), 1)

        def rows(ahead: Expr) -> Stmt:
            return T.for_range(first, last, lambda i: T.seq(*self.prefetch(i, ahead), self.row(i)), "i")

        loops = T.let("ahead", self.scatter.ctx.sizes(distance), rows)
        return T.seq(*(T.allocate(x) for x in staged + tested), self.flag.around(loops))

    def prefetch(self, i: Expr, ahead: Expr) -> list[Stmt]:
        """Prefetch rows of index and src that come later: each three times, because CPUs drop prefetches when busy."""
        nest, ctx = self.scatter.nest, self.scatter.ctx
        prefetches = []
        for buf, at, itemsize in streams(nest, [i, *(T.const(0) for _ in nest.grid[1:])]):
            lines = dim_max(dim_min(self.row_points * itemsize, STREAM_PREFETCH_BYTES) // LINE_BYTES, 1)
            for rows in (ahead * 2, ahead, T.quotient(ahead, T.const(2))):
                later = at[0] + rows * (8 // itemsize)
                prefetches.append(prefetch_lines(T.address_of(buf, later, *at[1:]), ctx.sizes(lines)))
        return prefetches

    def row(self, i: Expr) -> Stmt:
        """The thread's columns of a row, in blocks where there is a list to keep short."""
        s = self.scatter
        end = T.minimum(self.hi, s.ctx.sizes(s.nest.grid[s.grid_column]))
        if self.staged is None or assumed(self.row_points) <= POINT_BLOCK:
            return self.block(i, self.lo, end)

        def block(k: Expr) -> Stmt:
            begin = self.lo + k * POINT_BLOCK
            return T.let("from", begin, lambda a: self.block(i, a, T.minimum(a + POINT_BLOCK, end)))

        width = T.maximum(end - self.lo, T.const(0))
        return T.for_(T.quotient(width + (POINT_BLOCK - 1), T.const(POINT_BLOCK)), block, "block")

    def block(self, i: Expr, lo: Expr, hi: Expr) -> Stmt:
        """The columns ``[lo, hi)`` of a row."""

        def over(body: Callable[[list[Expr], Expr], Stmt]) -> Stmt:
            s = self.scatter
            extents = s.ctx.sizes.shape(s.nest.grid)[1:]
            return box(extents, s.grid_column - 1, lo, hi, lambda rest: body([i, *rest], rest[0] - lo))

        if self.scatter.nest.check is not None:
            note = self.flag.note(T.load(self.wrong.bad, T.const(0)))
            add = T.if_(T.not_(self.wrong.raised), over(self.point))
            return T.seq(self.wrong.clear(), over(self.resolve), note, add)
        return over(self.point) if self.staged is None else T.seq(over(self.resolve), over(self.point))

    def resolve(self, grid: list[Expr], place: Expr) -> Stmt:
        """Put where a point goes on the list, and test its index."""
        starts, _ = self.scatter.nest.starts(grid)
        keep = None if self.staged is None else T.store(self.staged, [place], starts[0])
        return T.seq(keep, self.wrong.test(grid))

    def point(self, grid: list[Expr], place: Expr) -> Stmt:
        """Add a point to its cell."""
        nest = self.scatter.nest
        acc = nest.op.accumulator(nest.dtype)
        starts, ok = nest.starts(grid)
        if self.staged is not None:
            starts = [T.load(self.staged, place)]
        cell = [self.chunk, *nest.cell(starts, grid, [])]
        value = cast(nest.src(grid, []), nest.dtype, acc)
        new = combined(nest, acc, T.load(self.partials, *cell), value)
        return T.if_(ok, T.store(self.partials, cell, new))
