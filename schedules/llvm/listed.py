"""Rows that an index chooses, and something is computed of, where only a call tells their width: chains after a take.

Of a loop over such a row LLVM makes three, of long vectors, of short ones and of elements, and which row it is costs as much
as a short row.  Here the places of a block's rows are listed first, by vectors, and checked on the way; columns go by vectors
of ours, the last of which overlaps the one before.
"""

from __future__ import annotations

from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.llvm.ahead import far_bytes, known_bytes, rows_ahead
from gscompile.schedules.llvm.cells import with_check
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import COPIED_AHEAD
from gscompile.schedules.llvm.kernels import prefetch_row, with_kernels
from gscompile.schedules.llvm.numbers import LISTED_ROWS
from gscompile.schedules.llvm.ranges import shared_range
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
        rows = _Rows(nest, ctx, lanes, chosen, Flag(nest.check))
        stmt = shared_range(ctx, nest.shape[0], nest.work // lanes, rows.share, nest=nest.name)
        return with_check(nest, with_kernels(stmt))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a result.

    Attributes:
        lanes: of the vectors that a row is computed by.
        chosen: which of a cell's reads are of rows that an index chooses.
    """

    nest: MapNest
    ctx: Context
    lanes: int
    chosen: list[int]
    flag: Flag

    def share(self, lo: Expr, hi: Expr) -> Stmt:
        """The rows ``[lo, hi)``, a block at a time."""
        size = LISTED_ROWS + self.ahead
        places = [T.buffer(f"places{k}", [size], "int64", align=64) for k in range(len(self.chosen))]

        def block(b: Expr) -> Stmt:
            begin = lo + b * LISTED_ROWS
            return T.let("listed", T.minimum(hi - begin, T.const(size)), lambda n: self.block(places, begin, n))

        blocks = T.quotient(hi - lo + (LISTED_ROWS - 1), T.const(LISTED_ROWS))
        loop = T.for_(blocks, block, "block", one_copy=True)
        return T.seq(*map(T.allocate, places), self.flag.around(loop))

    @property
    def ahead(self) -> int:
        """Rows between prefetching one and reading it."""
        row_bytes = self.nest.shape[1] * self.nest.dtype.itemsize
        return int(rows_ahead(self.ctx, COPIED_AHEAD, "copied rows", row_bytes, list(map(known_bytes, self.tables))))

    @property
    def tables(self) -> list[Buffer]:
        """The tensors whose rows an index chooses."""
        return [b for b, _ in self.picked(T.const(0))]

    @property
    def width(self) -> Expr:
        """Columns."""
        return self.ctx.sizes(self.nest.shape[1])

    def picked(self, r: Expr) -> list[tuple[Buffer, list[Expr]]]:
        """Where the rows that an index chooses for a row begin: (tensor, coordinates)."""
        found = T.reads(self.nest.safe([r, T.const(0)]))
        return [(found[k][1], [*found[k][2][:-1], T.const(0)]) for k in self.chosen]

    def block(self, places: list[Buffer], begin: Expr, n: Expr) -> Stmt:
        """A block of rows from ``begin`` on; ``n`` is how many of them, and of those after it, are listed."""

        def listed(k: Expr) -> Stmt:
            rows = zip(places, self.picked(begin + k), strict=True)
            stores = [T.store(p, [k], number_in(b, at)) for p, (b, at) in rows]
            return T.seq(*stores, self.flag.test(self.nest.grid([begin + k, T.const(0)])))

        def row(k: Expr) -> Stmt:
            later = T.if_(self.far, self.prefetch(places, T.minimum(k + self.ahead, n - 1)))
            here = [T.load(p, k) for p in places]
            return T.seq(later, T.lets("place", here, lambda x: self.row(begin + k, x)))

        rows = T.minimum(n, T.const(LISTED_ROWS))
        return T.seq(T.for_(n, listed, "k"), T.for_(rows, row, "row", one_copy=True))

    @property
    def far(self) -> Expr:
        """Whether tables are too large for a cache."""
        far = far_bytes(self.ctx.target)
        return T.any_of(T.size_of(b) >= far for b in self.tables)

    def prefetch(self, places: list[Buffer], entry: Expr) -> Stmt:
        """Prefetch the rows whose places are this entry of the lists."""

        def row(buf: Buffer, listed: Buffer) -> Stmt:
            begin = T.address_of(buf, *by_number(T.load(listed, entry), T.extents(buf)))
            return prefetch_row(begin, self.width * T.itemsize(buf))

        return T.seq(*map(row, self.tables, places))

    def row(self, r: Expr, places: list[Expr]) -> Stmt:
        """A row, of others that begin at ``places``."""
        rows = [(p, *row) for p, row in zip(places, self.picked(r), strict=True)]

        def cell(c: Expr) -> Stmt:
            return from_list(T.store(self.nest.out, [r, c], self.nest.safe([r, c])), rows)

        return overlapping(self.width, self.lanes, cell, "c")
