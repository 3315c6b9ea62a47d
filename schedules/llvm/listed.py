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
from gscompile.schedules.llvm.vectors import overlapping, side_by_side
from gscompile.schedules.loops import by_number, number_in
from gscompile.schedules.rule import Checked, Context

VECTOR_BYTES = 16
"""Of a vector; rows narrower than one go by elements."""


class ListedRows:
    """222,000 rows of 16 int32, one thread: 1.26 ms, so 0.62; 37 columns 2.07, 1.43; 16 of bfloat16 2.6, 1.06."""

    name = "listed-rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest) or len(nest.shape) != 2 or isinstance(nest.shape[1], int):
            return None
        chosen = _chosen(nest)
        read = [T.itemsize(buf) for _, buf, _ in T.reads(nest.safe([T.var("r"), T.var("c")]))]
        lanes = min(ctx.target.vector_bytes, VECTOR_BYTES) // max([nest.dtype.itemsize, *read])
        if lanes < 2 or not chosen:
            return None
        rows = _Rows(nest, ctx, lanes, chosen, Flag(nest.check))
        stmt = shared_range(ctx, nest.shape[0], nest.work // lanes, rows.share, nest=nest.name)
        return with_check(nest, with_kernels(stmt))


def _chosen(nest: MapNest) -> list[int]:
    """Which of a cell's reads are of rows that an index chooses; none where an index chooses elements."""
    r, c = T.var("r"), T.var("c")
    if not side_by_side(lambda k: nest.safe([r, c + k])):
        return []
    return [k for k, (_, _, at) in enumerate(T.reads(nest.safe([r, c]))) if any(map(T.loads_of, at[:-1]))]


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
        tables = [known_bytes(b) for b, _ in self.picked(T.const(0))]
        row_bytes = self.nest.shape[1] * self.nest.dtype.itemsize
        return int(rows_ahead(self.ctx, COPIED_AHEAD, "copied rows", row_bytes, tables))

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
        sizes = [T.size_of(b) for b, _ in self.picked(T.const(0))]
        far = far_bytes(self.ctx.target)
        return T.any_of(size >= far for size in sizes)

    def prefetch(self, places: list[Buffer], entry: Expr) -> Stmt:
        tables = [b for b, _ in self.picked(T.const(0))]
        rows = [
            T.address_of(b, *by_number(T.load(p, entry), T.extents(b))) for p, b in zip(places, tables, strict=True)
        ]
        return T.seq(*(prefetch_row(a, self.width * T.itemsize(b)) for a, b in zip(rows, tables, strict=True)))

    def row(self, r: Expr, places: list[Expr]) -> Stmt:
        """A row, of others that begin at ``places``."""
        rows = [(p, *row) for p, row in zip(places, self.picked(r), strict=True)]

        def cell(c: Expr) -> Stmt:
            return from_list(T.store(self.nest.out, [r, c], self.nest.safe([r, c])), rows)

        return overlapping(self.width, self.lanes, cell, "c")
