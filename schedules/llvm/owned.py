"""Scatters of rows: each thread owns some rows of the output, and works through a list of the points that go there.

Where rows are narrow and all of them stay in a cache, one thread adds all points without a list in less time than it takes
each thread to make its own.

Otherwise each thread scans all indices for its own points (``index_scan.py``), or, where there are many threads, the points are
sorted by owner first (``partition.py``).  Wide rows whose totals have a wider dtype are made one after the other
(``row_lists.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, dim_max, dim_min
from gscompile.ir.nests import Nest
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Expr, Stmt
from gscompile.ir.types import DTYPES
from gscompile.schedules.decisions import Condition, first_of
from gscompile.schedules.llvm.base_copy import base_source, copy_base
from gscompile.schedules.llvm.choices import ROWS_AHEAD
from gscompile.schedules.llvm.costs import one_by_one, pays
from gscompile.schedules.llvm.index_scan import IndexScan
from gscompile.schedules.llvm.kernels import with_kernels
from gscompile.schedules.llvm.numbers import (
    COPIED_BYTES,
    FETCHED_LINE_WORK,
    L2_BYTES,
    LINE_BYTES,
    SERIAL_WORK,
)
from gscompile.schedules.llvm.partition import ListedPoint, Partition
from gscompile.schedules.llvm.ranges import shared_range
from gscompile.schedules.llvm.row_lists import RowLists
from gscompile.schedules.llvm.row_totals import RowTotals
from gscompile.schedules.llvm.staged import RowScatter, base
from gscompile.schedules.loops import nested
from gscompile.schedules.rule import Checked, Context


class OwnedRows:
    """See the module's text."""

    name = "owned-rows"

    def __init__(self, sorts: bool = True, way: str | None = None) -> None:
        """
        Args:
            sorts: without it, a thread scans all points however many threads there are: less code beside another way.
            way: ``in order``, ``index scan``, ``sorted by owner`` or ``row by row``; by default the one that is estimated to
                take least.
        """
        self.sorts, self.way = sorts, way

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        scatter = RowScatter.of(nest, ctx) if isinstance(nest, ScatterNest) else None
        if scatter is None:
            return None
        stmt = self.statement(scatter)
        return stmt if scatter.nest.check is None else Checked(stmt)

    def statement(self, s: RowScatter) -> Stmt:
        """The scatter, whatever its sizes."""
        decision = one_by_one(s.ctx, s.nest.name, s.facts, self.sorts, RowLists.pay(s))

        def least(way: str) -> Condition:
            return self.way == way if self.way else s.ctx.least(decision, way)

        listed = least("row by row") if RowLists.axis(s) is not None else False
        if listed is True:
            return with_kernels(_row_by_row(s))
        rows, alone = _Rows.of(s), least("in order")
        # where only a call tells, one thread that scans is nearly as good, and takes no code of its own
        ways = [
            (alone is True, rows.in_order),
            (least("sorted by owner"), rows.partitioned),
            (listed, lambda: _row_by_row(s)),
            (True, lambda: shared_range(s.ctx, s.rows, s.nest.work, rows.index_scan, alone=alone)),
        ]
        return with_kernels(first_of(ways))


def _row_by_row(s: RowScatter) -> Stmt:
    """All rows, each with the list of its points."""
    return shared_range(s.ctx, s.rows, s.nest.work, RowLists.of_rows(s).share)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of the output, each owned by one thread."""

    scatter: RowScatter
    into: RowTotals

    @staticmethod
    def of(s: RowScatter) -> _Rows:
        nest = s.nest
        if s.acc == nest.dtype:
            return _Rows(s, RowTotals(s, nest.out))
        totals = s.ctx.workspace(f"{nest.name}_totals", nest.shape, s.acc)
        touched = s.ctx.workspace(f"{nest.name}_touched", s.leading, DTYPES["uint8"]) if s.sparse else None
        return _Rows(s, RowTotals(s, totals, touched=touched))

    @property
    def widened(self) -> bool:
        """Whether the totals are not the output itself."""
        return self.into.totals is not self.scatter.nest.out

    def index_scan(self, lo: Expr, hi: Expr) -> Stmt:
        """The rows ``[lo, hi)``, by an index scan."""
        scan = IndexScan.of(self.into, lo, hi)
        added = scan.statement(T.const(0), self.scatter.ctx.sizes(self.scatter.points))
        return T.seq(self.start(lo, hi), added, self.finish(lo, hi) if self.widened else None)

    def in_order(self) -> Stmt:
        """All rows, the points added by one thread.

        What comes before and after is shared where that saves more than it costs this thread to fetch rows from another core's
        cache; of points in runs, which are few rows, where there is enough of it.  30,000 rows of 32 bytes, 200,000 points:
        0.22 ms, and 0.40 if it is shared; 8,673 of 20, 2,423 points: 7.4 us, 21.
        """
        s = self.scatter
        work, saved = self.saved

        def body(runs: Condition) -> Stmt:
            alone = pays(s.ctx, (saved, SERIAL_WORK)) is False and (True if runs is False else T.not_(runs))
            start, end = (shared_range(s.ctx, s.rows, work, share, alone=alone) for share in (self.start, self.finish))
            added = self.into.add_all(T.const(0), s.ctx.sizes(s.points), runs)
            return T.seq(start, added, end if self.widened else None)

        return self.into.sampled(body)

    @property
    def saved(self) -> tuple[Dim, Dim]:
        """The work before the first point, and how much of it is saved where all threads do it and one adds the points."""
        s = self.scatter
        cells = s.rows * s.width
        copied = cells * s.nest.dtype.itemsize // COPIED_BYTES
        work = copied if self.begins_in_vectors else cells if self.into.touched is None else copied + s.rows
        fetched = dim_min(s.points, s.rows) * ((s.width * s.acc.itemsize + (LINE_BYTES - 1)) // LINE_BYTES)
        fetched = fetched * (3 if self.widened else 1)  # the output's rows, their totals, and these for the end
        near, table = s.ctx.target.l2_bytes or L2_BYTES, cells * s.acc.itemsize
        fetched = fetched * near // dim_max(table, near)  # as many as another core's cache still holds
        return work, dim_max(work - fetched * FETCHED_LINE_WORK, 0)

    @property
    def begins_in_vectors(self) -> bool:
        """Whether the rows before the first point are a copy, or all the same."""
        return not self.widened and self.laid_out_alike

    @property
    def laid_out_alike(self) -> bool:
        """Whether what comes before the first point is a copy of cells in the output's order, or all the same."""
        s = self.scatter
        same = not T.reads(s.nest.base([T.var(f"c{k}") for k in range(len(s.nest.shape))]))
        return same or base_source(s.nest, s.ctx) is not None

    def partitioned(self) -> Stmt:
        """All rows, the points sorted by owner."""

        def parts(p: Partition) -> Stmt:
            end = p.each_owner(self.finish) if self.widened else None
            return T.seq(p.each_owner(self.start), p.each_point(self.listed), end)

        return Partition.around(self.scatter, parts)

    def start(self, lo: Expr, hi: Expr) -> Stmt:
        """The rows before the first point; nothing where they hold that already."""
        s, nest, touched = self.scatter, self.scatter.nest, self.into.touched
        dtype, into = (s.acc, self.into.totals) if touched is None else (nest.dtype, nest.out)
        begin = copy_base(nest, s.ctx, lo, hi, s.width) if into is nest.out else None
        if begin is None:
            cells = s.cells_in_one if self.laid_out_alike else s.cells
            begin = cells(lo, hi, lambda c: T.store(into, c, base(nest, dtype, c)))
        if into is nest.out and nest.in_place is not None:
            begin = T.if_(T.not_(nest.in_place), begin)
        if touched is None:
            return begin
        return T.seq(begin, s.each_row(lo, hi, lambda lead: T.store(touched, lead, T.const(0, "uint8"))))

    def finish(self, lo: Expr, hi: Expr) -> Stmt:
        """The rows of the output, of their totals."""
        s, nest, totals, touched = self.scatter, self.scatter.nest, self.into.totals, self.into.touched

        def cell(c: list[Expr]) -> Stmt:
            return T.store(nest.out, c, nest.op.finish(nest.dtype, T.load(totals, *c), None))

        def row(lead: list[Expr]) -> Stmt:
            cells = nested("w", s.window, lambda w: cell([*lead, *w]))
            return T.if_(T.load(touched, *lead) != T.const(0, "uint8"), cells)

        return s.cells_in_one(lo, hi, cell) if touched is None else s.each_row(lo, hi, row)

    def listed(self, point: ListedPoint, count: Expr) -> Stmt:
        """The points of a list."""

        def step(j: Expr) -> Stmt:
            later = T.minimum(j + self.into.ahead(ROWS_AHEAD), count - 1)
            return T.seq(point("later", later, self.into.prefetch), point("now", j, self.into.add))

        return T.for_(count, step, "j")
