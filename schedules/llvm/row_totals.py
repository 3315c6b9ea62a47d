"""Where the rows of a scatter are combined, and how a point is added to its row.

Totals are the output itself, scratch of a wider dtype, or a chunk's accumulator.  Where few points come to many rows, wider
totals are made of a row when its first point comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.choices import Choice
from gscompile.schedules.decisions import Condition, first_of
from gscompile.schedules.llvm.ahead import (
    UNKNOWN_BYTES,
    Pair,
    far_bytes,
    from_memory,
    known_bytes,
    place_in,
    rows_ahead,
    scattered,
)
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import ALONE_AHEAD, RUNS
from gscompile.schedules.llvm.kernels import prefetch_row
from gscompile.schedules.llvm.numbers import (
    AVX2_BYTES,
    LISTED_POINTS,
    LONG_ROW_BYTES,
    POINT_BLOCK,
    RUN_SAMPLES,
    last_level_bytes,
    resident_bytes,
)
from gscompile.schedules.llvm.row_runs import RowRun, in_runs
from gscompile.schedules.llvm.staged import RowScatter, combined, in_lists, near_cells
from gscompile.schedules.loops import assumed, by_number, nested, ravel

INDEX_BYTES = 8
"""Of an index: most are int64."""

Adding: TypeAlias = Callable[[Expr, list[Expr]], Stmt]
"""(point, coordinates that lead to its row) -> what the point does there."""


def without_masks(s: RowScatter, row: Callable[[Callable[[Expr], Expr]], Stmt]) -> Stmt:
    """``row(hide)``: what is stored is ``hide(value)``, where LLVM would make masked stores of a choice between old and new.

    It does so for minima and maxima for which there is no instruction: of 64 bits with AVX2; and a CPU does few such stores at a
    time.  A zero that it knows nothing of keeps it from seeing the choice.  Rows of 2,048
    int64 1.54 -> 1.13 ms, of 8 1.43 -> 1.07.
    """
    masked = (
        s.reduction.idempotent and s.acc.is_integer and s.acc.itemsize == 8 and s.ctx.target.vector_bytes == AVX2_BYTES
    )
    if not masked or s.width == 1:
        return row(lambda value: value)
    return T.let("zero", T.opaque(T.const(0)), lambda zero: row(lambda value: value ^ T.cast(s.acc.tir, zero)))


@dataclass(frozen=True, slots=True)
class RowTotals:
    """Where the rows of a scatter are combined.

    Attributes:
        totals: the output, scratch of a wider dtype, or the accumulators of several chunks.
        chunk: the leading coordinates of one of those accumulators.
        touched: by row, whether the totals hold it, and not the output yet; None where they hold all rows.
    """

    scatter: RowScatter
    totals: Buffer
    chunk: tuple[Expr, ...] = ()
    touched: Buffer | None = None

    def add(self, p: Expr, r: Expr) -> Stmt:
        """What a point does to its row."""
        return self.add_at(p, self.lead(r))

    def lead(self, r: Expr) -> list[Expr]:
        """Coordinates that lead to a row."""
        return by_number(r, self.scatter.leading)

    def add_at(self, p: Expr, lead: list[Expr]) -> Stmt:
        """The same, by the row's coordinates."""
        s = self.scatter

        def row(hide: Callable[[Expr], Expr]) -> Stmt:
            def cell(w: list[Expr]) -> Stmt:
                c, value = [*self.chunk, *lead, *w], s.source(p, w)
                value = T.by_codes(value) if s.width == 1 and not s.reduction.replaces else value
                return T.store(self.totals, c, hide(combined(s.nest, s.acc, T.load(self.totals, *c), value)))

            return nested("w", s.window, cell)

        return T.seq(self.touch(lead), without_masks(s, row))

    def touch(self, lead: list[Expr]) -> Stmt | None:
        """Have a row in the totals, of what the output holds."""
        s, touched = self.scatter, self.touched
        if touched is None:
            return None

        def cell(w: list[Expr]) -> Stmt:
            c = [*lead, *w]
            return T.store(self.totals, c, cast(T.load(s.nest.out, *c), s.nest.dtype, s.acc))

        row = nested("w", s.window, cell)
        new = T.load(touched, *lead) == T.const(0, "uint8")
        return T.if_(new, T.seq(T.store(touched, lead, T.const(1, "uint8")), row))

    def taken(self, p: Expr, add: Adding, owned: Callable[[Expr], list[Expr]] = lambda row: []) -> Stmt:
        """``add(p, lead)`` where a point takes part.

        Args:
            owned: the number of a row -> what must hold of it, too.
        """

        def at(lead: list[Expr], takes: Expr | None) -> Stmt:
            return T.if_(
                T.all_of([takes, *owned(ravel(lead, self.scatter.leading, self.scatter.ctx.sizes))]), add(p, lead)
            )

        return self.found(p, at)

    def found(self, p: Expr, body: Callable[[list[Expr], Expr | None], Stmt]) -> Stmt:
        """``body(lead, takes)``: what leads to a point's row, and whether the point takes part (None: it does)."""
        s, grid = self.scatter, self.scatter.grid(p)
        extents = s.ctx.sizes.shape(s.leading)
        starts, ok = s.nest.starts(grid)

        def at(names: list[Expr]) -> Stmt:
            lead = s.nest.cell(names, grid, s.no_window)[: len(s.leading)]
            # where there is a check, starts are clamped into their axes
            inside = [] if s.nest.check is not None else [T.const(0) <= x for x in lead]
            inside += [] if s.nest.check is not None else [x < n for x, n in zip(lead, extents, strict=True)]
            return body(lead, T.all_of([ok, *inside]))

        return T.lets("start", starts, at)

    @property
    def long(self) -> bool:
        """Whether a row is long enough to be prefetched from the L3 cache, too."""
        row = self.scatter.width * self.scatter.acc.itemsize
        return isinstance(row, int) and row >= LONG_ROW_BYTES

    @property
    def tables(self) -> list[Dim]:
        """Bytes of each tensor of which points choose rows."""
        s = self.scatter
        picked = [known_bytes(buf) for buf, _ in s.rows_picked(T.var("p"))]
        return [s.rows * s.width * s.acc.itemsize, *picked]

    @property
    def one_by_one(self) -> bool:
        """Whether updates of single elements, if they are scattered, are better made one by one than resolved in vectors.

        Both points and cells come from memory then: stores that wait for their lines follow each other, and hold up the next
        vectors of indices.  Two million points, cells of 1 to 30 MB, ns in vectors / one by one: int8 at points of three
        components 3.6 to 7.4 / 2.3 to 7.3, of one 1.6 to 3.9 / 1.1 to 4.0, float32 of three from 15 MB 7.0 / 3.9, but of 4 MB
        2.1 / 2.8; sorted points 0.7 to 2.4 / 0.9 to 2.7.  Prefetches gain nothing where nothing is read, up to 64 MB.
        """
        s = self.scatter
        if not s.reduction.replaces or s.width != 1 or not isinstance(s.points, int) or not isinstance(s.rows, int):
            return False
        target, itemsize = s.ctx.target, s.acc.itemsize
        far = far_bytes(target, waits=True)
        near = 4 * resident_bytes(target) if itemsize <= 2 else far
        read = s.points * (INDEX_BYTES * len(s.leading) + s.width * itemsize)
        return near <= s.rows * itemsize < 2 * last_level_bytes(target) and isinstance(read, int) and read >= far

    @property
    def far(self) -> Condition:
        """Whether prefetching rows pays where one thread adds all points.

        Long ones where not all that they are of stays in a core's caches, short ones where most come from memory, and that is
        known, or they are narrow: a prefetch costs 0.6 ns.
        """
        s, target, tables = self.scatter, self.scatter.ctx.target, self.tables
        if self.one_by_one:
            return False
        if self.long:
            return any(assumed(t) > resident_bytes(target) for t in tables)
        if all(isinstance(t, int) and t < UNKNOWN_BYTES for t in tables):
            return from_memory(target, tables, waits=True)
        if not s.narrow:
            return False
        picked = [T.size_of(buf) for buf, _ in s.rows_picked(T.var("p"))]
        return sum(picked, s.ctx.sizes(tables[0])) >= far_bytes(target, waits=True)

    def ahead(self, choice: Choice) -> int:
        """How many points lie between prefetching their rows and adding to them."""
        s = self.scatter
        return int(rows_ahead(s.ctx, choice, "in order", s.width * s.acc.itemsize, self.tables, waits=True))

    def sampled(self, body: Callable[[Condition], Stmt]) -> Stmt:
        """``body(runs)``: whether of :data:`RUN_SAMPLES` points, evenly spread, nearly all have their successor's row."""
        s = self.scatter
        if not s.in_registers:
            return body(False)
        if (given := s.ctx.choose(RUNS)) != RUNS.default:
            return body(given == "yes")
        points = s.ctx.sizes(s.points)

        def alike(p: Expr, then: Stmt) -> Stmt:
            return s.compared(p, p + 1, lambda rows: T.if_(rows[0] == rows[1], then))

        return in_runs(points, alike, body)

    def scattered(self, first: Expr, last: Expr, body: Callable[[Condition], Stmt], far: Condition) -> Stmt:
        """``body(condition)``: whether some points go, or read, far from where their successor does; see :func:`scattered`.

        None do where not ``far``, if that is known at a call.

        200,000 single elements into as many neighbouring cells: 0.28 ms, with
        prefetches 0.42.
        """
        s, step = self.scatter, T.quotient(last - first, T.const(RUN_SAMPLES + 1))

        def places(p: Expr) -> list[Expr]:
            picked = (place_in(buf, at) for buf, at in s.rows_picked(p))
            return [s.target(p)[0] * self.row_bytes, *picked]

        def look(at: Expr, pair: Pair) -> Stmt:
            return T.kept(("p", "q"), [first + at, first + at + 1], lambda points: pair(*map(places, points)))

        enough = T.all_of([step > 0, None if isinstance(far, bool) else far])
        return scattered(step, look, body, enough=enough, too_few=False)

    def added(self, loop: Callable[[Adding], Stmt], runs: Condition) -> Stmt:
        """``loop(add)`` over points, in runs where these are worth looking for."""
        return first_of([(runs, lambda: self.in_runs(loop)), (True, lambda: loop(self.add_at))])

    def in_runs(self, loop: Callable[[Adding], Stmt]) -> Stmt:
        """``loop(add)``, where ``add(p, lead)`` does what :meth:`add_at` does, short rows staying in registers."""
        s = self.scatter
        if not s.in_registers:
            return loop(self.add_at)
        run = RowRun.of(self.totals, s.acc, len(s.leading), s.ctx, s.nest.window, s.window, self.chunk)

        def add(p: Expr, lead: list[Expr]) -> Stmt:
            return run.add(lead, lambda old, w: s.combine(old, s.source(p, w)), self.touch(lead))

        return run.around(loop(add))

    @property
    def row_bytes(self) -> Expr:
        """Of a row of the totals."""
        return self.scatter.ctx.sizes(self.scatter.width * self.scatter.acc.itemsize)

    def prefetch(self, p: Expr, r: Expr, streams: bool = True) -> Stmt:
        """Prefetch the rows that a point reads, its row of the totals among them.

        Args:
            streams: rows that all points read in order, too.
        """
        s = self.scatter
        row = [*self.chunk, *self.lead(r), *s.no_window]
        width = s.ctx.sizes(s.width)
        reads = [(self.totals, row), *(s.rows_read(p) if streams else s.rows_picked(p))]
        if self.touched is not None:
            reads.append((s.nest.out, row))
        return T.seq(*(prefetch_row(T.address_of(buf, *at), width * T.itemsize(buf)) for buf, at in reads))

    @property
    def listed(self) -> bool:
        """Whether rows of points are listed by vectors before the points are added: of single elements in a near table.

        6,324 products of 45 float16, a thread: 14.6 us, so 4.6, float32 5.7, 4.4; sums of 600,000 float32 in 100,000 cells 0.62
        ms, so 0.53.  Updates take 1.1 to 1.5 times as long so.
        """
        s = self.scatter
        listed = near_cells(s.ctx, s.rows, s.acc) and assumed(s.points) >= LISTED_POINTS
        return listed and s.width == 1 and self.touched is None and not s.reduction.replaces

    def in_lists(self, first: Expr, last: Expr, flag: Flag) -> Stmt:
        """Add the points ``[first, last)``, by :func:`in_lists`."""
        s = self.scatter

        def find(p: Expr, put: Callable[[Expr], Stmt]) -> Stmt:
            def at(lead: list[Expr], takes: Expr | None) -> Stmt:
                row = ravel(lead, s.leading, s.ctx.sizes)
                return put(row if takes is None else T.select(takes, row, T.const(-1)))

            return T.seq(flag.test(s.grid(p)), self.found(p, at))

        def add(row: Expr, value: Expr) -> Stmt:
            c = [*self.chunk, *self.lead(row), *s.no_window]
            new = combined(s.nest, s.acc, T.load(self.totals, *c), value)
            return T.if_(None if s.nest.check is not None else row >= 0, T.store(self.totals, c, new))

        return in_lists(first, last, POINT_BLOCK, find, lambda p: s.source(p, s.no_window), s.acc, add)

    def add_all(self, first: Expr, last: Expr, runs: Condition) -> Stmt:
        """Add the points ``[first, last)`` to all rows, in their order: what one thread alone does.

        Args:
            runs: whether runs are worth looking for.
        """
        s = self.scatter
        flag = Flag(s.nest.check)
        far = self.far
        distance = s.ctx.choose(replace(ALONE_AHEAD, default=0)) if far is False else self.ahead(ALONE_AHEAD)

        def ahead(p: Expr) -> Stmt:
            later = T.minimum(p + distance, last - 1)
            return self.prefetch(later, s.target(later)[0], self.long)

        def every(add: Adding, prefetches: bool, one_by_one: bool = False) -> Stmt:
            def point(p: Expr) -> Stmt:
                return T.seq(flag.test(s.grid(p)), ahead(p) if prefetches else None, self.taken(p, add))

            return T.for_range(first, last, point, "p", one_copy=one_by_one)

        def loops(far: Condition) -> Stmt:
            # rows of points in runs are few
            in_runs = (runs, lambda: self.in_runs(lambda add: every(add, False)))
            far_away = (far, lambda: every(self.add_at, distance > 0, self.one_by_one))
            in_lists = (self.listed, lambda: self.in_lists(first, last, flag))
            return first_of([in_runs, far_away, in_lists, (True, lambda: every(self.add_at, False))])

        looks = self.one_by_one or (distance and far is not False and not self.long)
        loop = self.scattered(first, last, loops, far) if looks else loops(distance > 0)
        if s.nest.check is None:
            return loop
        return flag.around(loop if 0 not in s.leading else T.if_(first < last, flag.note(T.const(1))))
