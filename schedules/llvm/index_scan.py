"""Index scans: a thread goes through all points, block by block, and adds those whose rows it owns.

The least and the greatest row of a block, which vectors find, tell whether it owns none of the block's points, or all of them and
close together: it skips those blocks, or adds them as they come.  So sorted indices cost each thread little more than its own
points.  Of any other block it makes a list of the points that it owns, in their order, without branches, which would be
mispredicted for half of the points; the list tells which rows of src and of the output to prefetch.  After some such blocks it
looks at the span of one in :data:`SPAN_EVERY` only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import INT64_MAX
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.decisions import Condition
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import ROWS_AHEAD
from gscompile.schedules.llvm.numbers import (
    LISTED_BLOCKS,
    POINT_BLOCK,
    SPAN_EVERY,
    resident_bytes,
)
from gscompile.schedules.llvm.row_totals import Adding, RowTotals
from gscompile.schedules.llvm.staged import blocks, short_list, with_position


@dataclass(frozen=True, slots=True)
class IndexScan:
    """A thread that goes through all points and adds those whose rows it owns, ``[lo, hi)``.

    Attributes:
        owned: a block's points that it owns, as row * POINT_BLOCK + position in the block.
        length: how many they are.
        span: the least and the greatest row of a block.
        listed: how many blocks in a row had to be listed.
    """

    into: RowTotals
    lo: Expr
    hi: Expr
    owned: Buffer
    length: Buffer
    span: Buffer
    listed: Buffer
    flag: Flag

    @staticmethod
    def of(into: RowTotals, lo: Expr, hi: Expr) -> IndexScan:
        length, listed = (T.buffer(name, [1], "int64", align=8) for name in ("length", "listed"))
        span, owned = T.buffer("span", [2], "int64", align=16), short_list("owned", "int64")
        return IndexScan(into, lo, hi, owned, length, span, listed, Flag(into.scatter.nest.check))

    def statement(self, first: Expr, last: Expr) -> Stmt:
        return self.into.sampled(lambda runs: self.scan(first, last, runs))

    def scan(self, first: Expr, last: Expr, runs: Condition) -> Stmt:
        """The points ``[first, last)``; ``runs``: whether runs are worth looking for."""
        each = blocks(first, last, POINT_BLOCK, lambda begin, count: self.block(begin, count, runs))
        loops = self.flag.around(T.seq(self.test(first, last), self.count(T.const(0)), each))
        return T.seq(*map(T.allocate, (self.owned, self.length, self.span, self.listed)), loops)

    def count(self, blocks: Expr) -> Stmt:
        """Say how many blocks in a row had to be listed."""
        return T.store(self.listed, [T.const(0)], blocks)

    def test(self, first: Expr, last: Expr) -> Stmt | None:
        """Test as large a share of the points as this thread's share of the rows; together the threads test all."""
        s = self.into.scatter
        if s.nest.check is None:
            return None
        rows, points = s.ctx.sizes(s.rows), last - first
        some = T.maximum(rows, T.const(1))
        # hidden: TVM would multiply fixed sizes out, past int64
        each, rest = T.hidden(T.quotient(points, some)), T.remainder(points, some)

        def share(row: Expr) -> Expr:
            """Where the share of this row begins; ``points * row`` might overflow."""
            return first + each * row + T.minimum(row, rest)

        end = T.select(self.hi < rows, share(self.hi), last)  # all of them where there is no row
        return T.for_range(share(self.lo), end, lambda p: self.flag.test(s.grid(p)) or T.nothing(), "p")

    def block(self, begin: Expr, count: Expr, runs: Condition) -> Stmt:
        """Skip a block, add its points as they come, or list those that are owned, and add these."""
        least, greatest = T.load(self.span, T.const(0)), T.load(self.span, T.const(1))
        whole = T.all_of([self.lo <= least, greatest < self.hi, self.near(greatest - least)])

        def every(add: Adding) -> Stmt:
            return T.for_(count, lambda k: self.direct(begin + k, add), "k")

        direct = T.seq(self.count(T.const(0)), self.into.added(every, runs))
        listed = T.seq(
            self.count(T.load(self.listed, T.const(0)) + 1),
            T.store(self.length, [T.const(0)], T.const(0)),
            T.for_(count, lambda k: self.pick(begin, k), "k", one_copy=True),
            T.for_(T.load(self.length, T.const(0)), lambda j: self.step(begin, j), "j"),
        )
        some = T.all_of([least < self.hi, self.lo <= greatest])
        return T.seq(self.measure(begin, count), T.if_(some, T.if_(whole, direct, listed), self.count(T.const(0))))

    def near(self, rows: Expr) -> Expr:
        """Whether so many rows stay in a core's caches."""
        return rows * self.into.row_bytes <= resident_bytes(self.into.scatter.ctx.target)

    def measure(self, begin: Expr, count: Expr) -> Stmt:
        """Find the least and the greatest row of a block, those of points that are dropped among them.

        After blocks that had to be listed all rows are the span; where one thread owns all rows, which are near or narrow, any.
        """
        s = self.into.scatter
        rows = s.ctx.sizes(s.rows)

        def span(least: Expr, greatest: Expr) -> Stmt:
            return T.seq(T.store(self.span, [T.const(0)], least), T.store(self.span, [T.const(1)], greatest))

        def meet(r: Expr) -> Stmt:
            least, greatest = T.load(self.span, T.const(0)), T.load(self.span, T.const(1))
            return span(T.minimum(least, r), T.maximum(greatest, r))

        looks = T.for_(count, lambda k: T.let("r", s.target(begin + k)[0], meet), "k")
        alone = T.all_of([self.lo <= 0, self.hi >= rows, None if s.narrow else self.near(rows)])
        found = T.seq(span(T.const(INT64_MAX), T.const(-1)), looks)
        listed = T.load(self.listed, T.const(0))
        mixed = T.all_of([listed >= LISTED_BLOCKS, T.floormod(listed, T.const(SPAN_EVERY)) != 0])
        return T.if_(alone, span(self.lo, self.lo), T.if_(mixed, span(T.const(0), rows - 1), found))

    def direct(self, p: Expr, add: Adding) -> Stmt:
        """Add a point of a block whose rows are all owned; the indices may have changed since."""
        return self.into.taken(p, add, lambda row: [self.lo <= row, row < self.hi])

    def pick(self, begin: Expr, k: Expr) -> Stmt:
        """Put a point on the list if its row is owned."""
        s = self.into.scatter
        row, ok = s.target(begin + k)

        def put(r: Expr) -> Stmt:
            taken = T.all_of([ok, self.lo <= r, r < self.hi])
            n = T.load(self.length, T.const(0))
            return T.seq(
                T.store(self.owned, [n], r * POINT_BLOCK + k),
                T.store(self.length, [T.const(0)], n + T.cast("int64", taken)),
            )

        return T.let("r", row, put)

    def step(self, begin: Expr, j: Expr) -> Stmt:
        """Add a point of the list, and prefetch for a later one."""
        later = T.minimum(j + self.into.ahead(ROWS_AHEAD), T.load(self.length, T.const(0)) - 1)
        prefetch = self.entry("later", begin, later, self.into.prefetch)
        return T.seq(prefetch, self.entry("now", begin, j, self.into.add))

    def entry(self, name: str, begin: Expr, j: Expr, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
        """``body(point, row)`` of an entry of the list."""
        return with_position(name, T.load(self.owned, j), begin, POINT_BLOCK, body)
