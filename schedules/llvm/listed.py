"""Rows that an index chooses, and something is computed of, where only a call tells their width: chains after a take.

Of a loop over such a row LLVM makes three, of long vectors, of short ones and of elements, and which row it is costs as much
as a short row.  Here the places of a block's rows are listed first, by vectors, and checked on the way; columns go by vectors
of ours, the last of which overlaps the one before.
"""

from __future__ import annotations

from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, ceildiv, dim_max
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.llvm.ahead import copied_ahead
from gscompile.schedules.llvm.cells import with_check
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.kernels import prefetch_row, with_kernels
from gscompile.schedules.llvm.numbers import LISTED_ROWS, PICKED_PART
from gscompile.schedules.llvm.ranges import few_units, shared_range
from gscompile.schedules.llvm.tiles import from_list
from gscompile.schedules.llvm.vectors import overlapping, reads_neighbours
from gscompile.schedules.loops import by_number, number_in
from gscompile.schedules.rule import Checked, Context

SHORT_VECTOR_BYTES = 16
"""Of a vector; rows narrower than one go by elements."""


class ListedRows:
    """222,000 rows of 16 int32, one thread: 1.27 ms, so 0.58; 37 columns 2.20, 1.49; 16 of bfloat16 2.65, 1.19."""

    name = "listed-rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest) or len(nest.shape) != 2 or isinstance(nest.shape[1], int):
            return None
        r, c = T.var("r"), T.var("c")
        if not reads_neighbours(lambda k: nest.safe([r, c + k])):
            return None
        found = T.reads(nest.safe([r, c]))
        chosen = [k for k, (_, _, at) in enumerate(found) if any(map(T.loads_of, at[:-1]))]
        widest = max([nest.dtype.itemsize, *(T.itemsize(buf) for _, buf, _ in found)])
        lanes = min(ctx.target.vector_bytes, SHORT_VECTOR_BYTES) // widest
        if lanes < 2 or not chosen:
            return None
        tables = [found[k][1] for k in chosen]
        distance, far = copied_ahead(ctx, nest.shape[1] * nest.dtype.itemsize, tables)
        rows = _Rows(nest, ctx, lanes, chosen, tables, Flag(nest.check), distance, far)
        stmt = shared_range(ctx, rows.units, nest.work // lanes, rows.share, nest=nest.name)
        return with_check(nest, with_kernels(stmt))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a result.

    Attributes:
        lanes: of the vectors that a row is computed by.
        chosen: which of a cell's reads are of rows that an index chooses.
        tables: the tensors that these are of.
        distance, far: as :func:`copied_ahead` says.
    """

    nest: MapNest
    ctx: Context
    lanes: int
    chosen: list[int]
    tables: list[Buffer]
    flag: Flag
    distance: int
    far: Expr | None

    @property
    def few(self) -> Dim:
        """1 where rows are few, so that parts of them are shared; 0 where rows are."""
        return few_units(self.nest.shape[0])

    @property
    def units(self) -> Dim:
        """What is shared: parts of :data:`PICKED_PART` columns of all rows, one at least, which checks; or rows."""
        rows, columns = self.nest.shape
        return rows + (dim_max(ceildiv(columns, PICKED_PART), 1) - rows) * self.few

    def share(self, lo: Expr, hi: Expr) -> Stmt:
        """The units ``[lo, hi)``."""
        if self.few == 0:
            return self.flag.around(self.blocks(lo, hi))
        ends = [lo * PICKED_PART, T.minimum(hi * PICKED_PART, self.ctx.sizes(self.nest.shape[1]))]
        parts = T.lets("column", ends, lambda ends: self.columns(*ends))
        return self.flag.around(T.if_(self.ctx.sizes(self.few) > 0, parts, self.blocks(lo, hi)))

    def columns(self, first: Expr, end: Expr) -> Stmt:
        """The columns ``[first, end)`` of all rows."""

        def row(r: Expr) -> Stmt:
            places = [number_in(b, at) for b, at in self.picked(r)]
            columns = T.lets("place", places, lambda x: T.for_range(first, end, lambda c: self.cell(r, c, x), "c"))
            return T.seq(self.flag.test(self.nest.grid([r, T.const(0)])), columns)

        return T.for_(self.ctx.sizes(self.nest.shape[0]), row, "row", one_copy=True)

    def blocks(self, lo: Expr, hi: Expr) -> Stmt:
        """The rows ``[lo, hi)``, a block at a time."""
        size = LISTED_ROWS + self.distance
        places = [T.buffer(f"places{k}", [size], "int64", align=64) for k in range(len(self.chosen))]

        def block(b: Expr) -> Stmt:
            begin = lo + b * LISTED_ROWS
            return T.let("listed", T.minimum(hi - begin, T.const(size)), lambda n: self.block(places, begin, n))

        blocks = T.quotient(hi - lo + (LISTED_ROWS - 1), T.const(LISTED_ROWS))
        return T.seq(*map(T.allocate, places), T.for_(blocks, block, "block", one_copy=True))

    def picked(self, r: Expr) -> list[tuple[Buffer, list[Expr]]]:
        """Where the rows that an index chooses for a row begin: (tensor, coordinates)."""
        found = T.reads(self.nest.safe([r, T.const(0)]))
        return [(found[k][1], [*found[k][2][:-1], T.const(0)]) for k in self.chosen]

    def block(self, places: list[Buffer], begin: Expr, n: Expr) -> Stmt:
        """A block of rows from ``begin`` on; ``n`` is how many of them, and of those after it, are listed."""
        zero, columns = T.const(0), self.ctx.sizes(self.nest.shape[1])

        def listed(k: Expr) -> Stmt:
            rows = zip(places, self.picked(begin + k), strict=True)
            stores = [T.store(p, [k], number_in(b, at)) for p, (b, at) in rows]
            return T.seq(*stores, self.flag.test(self.nest.grid([begin + k, zero])))

        def row(k: Expr) -> Stmt:
            ahead = self.prefetch(places, T.minimum(k + self.distance, n - 1))
            here = [T.load(p, k) for p in places]
            cells = T.lets(
                "place", here, lambda x: overlapping(columns, self.lanes, lambda c, _: self.cell(begin + k, c, x), "c")
            )
            return T.seq(T.if_(self.far, ahead), cells)

        rows = T.minimum(n, T.const(LISTED_ROWS))
        return T.seq(T.for_(n, listed, "k"), T.for_(rows, row, "row", one_copy=True))

    def prefetch(self, places: list[Buffer], entry: Expr) -> Stmt:
        """Prefetch the rows whose places are this entry of the lists."""

        def row(buf: Buffer, listed: Buffer) -> Stmt:
            begin = T.address_of(buf, *by_number(T.load(listed, entry), T.extents(buf)))
            return prefetch_row(begin, self.ctx.sizes(self.nest.shape[1]) * T.itemsize(buf))

        return T.seq(*map(row, self.tables, places))

    def cell(self, r: Expr, c: Expr, places: list[Expr]) -> Stmt:
        """A cell of a row, of others that begin at ``places``."""
        rows = [(p, *row) for p, row in zip(places, self.picked(r), strict=True)]
        return from_list(T.store(self.nest.out, [r, c], self.nest.safe([r, c])), rows)
