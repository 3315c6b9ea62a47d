"""Scatters on llvm, all that are left: owner computes.  The rules before this one take those for which there are faster ways.

Each thread owns a slab of the output, ``lo <= coordinate < hi`` on one axis.  Base is copied into it first; then it takes all
points in row-major order, applying those that fall into the slab.  No two threads write the same cell and every cell sees its
points in row-major order, so the result is bitwise the same for any number of threads, without atomics.

The kind of the owned axis decides what a slab costs.  A shared axis, or a window axis outside the grid's loops, just shortens a
loop: each thread visits its own points only.  On an indexed axis every thread reads every index, which is cheap where an index
is small beside the slice that it moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.index_map import Indexed, Place, Shared, Source, Window
from gscompile.ir.nests import CheckNest, Nest
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES, DType
from gscompile.schedules.decisions import Condition, Decision, first_of
from gscompile.schedules.llvm.ahead import far_bytes
from gscompile.schedules.llvm.base_copy import base_source, copy_base
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import CELLS_AHEAD, RUNS
from gscompile.schedules.llvm.costs import Facts, pays, slabs
from gscompile.schedules.llvm.kernels import prefetch_row, with_kernels
from gscompile.schedules.llvm.last_axis import LastAxis
from gscompile.schedules.llvm.numbers import (
    COPIED_BYTES,
    MIN_SCANNING_THREADS,
    OWNED_ROW_BYTES,
    RUN_SAMPLES,
    SAMPLED_POINTS,
    UNITS_PER_CORE,
    WIDE_AXIS,
)
from gscompile.schedules.llvm.ranges import few_units, shared_range
from gscompile.schedules.llvm.row_runs import RowRun, in_runs
from gscompile.schedules.llvm.staged import combined
from gscompile.schedules.loops import assumed, box, storage
from gscompile.schedules.rule import Checked, Context

COUNT_BYTES = 4
"""Of a count: an int32."""

Position: TypeAlias = dict[Place, Expr]
"""The coordinates of a point on those of its axes whose loops have been opened."""


class OwnerComputes:
    """See the module's text; always applies."""

    name = "owner-computes"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest):
            return None
        totals, axis = Totals.of(nest, ctx), owned_axis(nest, ctx.target.cores)
        copy = shared_copy(nest, ctx, totals)
        check = nest.check if reads_once(nest, axis) else None
        slabs = self.slabs(nest, ctx, totals, axis, check, begun=copy is not None)
        stmt = slabs if copy is None else with_kernels(T.seq(copy, slabs))
        return stmt if check is None else Checked(stmt)

    def slabs(
        self, nest: ScatterNest, ctx: Context, totals: Totals, axis: int | None, check: CheckNest | None, begun: bool
    ) -> Stmt:
        """The points, and where it is not ``begun`` what comes before them."""
        if axis is None:
            return Slab(nest, ctx, totals, None, T.const(0), T.const(0), check, begun).statement()
        single = isinstance(nest.op.addressing.map.sources[axis], Indexed) and product(nest.window) == 1
        fewest = MIN_SCANNING_THREADS if single else 2

        def slab(lo: Expr, hi: Expr) -> Stmt:
            return Slab(nest, ctx, totals, axis, lo, hi, check, begun).statement()

        if product(nest.shape[:axis]) != 1:
            alone = ctx.least(in_pieces(nest, ctx, axis, totals), "one thread")
        else:
            alone = few_owned_rows(nest, ctx, axis)
        return shared_range(ctx, nest.shape[axis], nest.work, slab, fewest, alone=alone)


def shared_copy(nest: ScatterNest, ctx: Context, totals: Totals) -> Stmt | None:
    """Base as a copy that all threads share, however they share the points; None where it is no copy of memory.

    169 rows of 17 int64 added along the first axis of 63,129, by one thread 0.63 ms, base copied by two 0.33.
    """
    if totals.widened or nest.op.reduction.arity > 1 or base_source(nest, ctx) is None:
        return None
    cells = product(nest.shape)

    def some(lo: Expr, hi: Expr) -> Stmt:
        copy = copy_base(nest, ctx, lo, hi, 1)
        assert copy is not None
        return copy

    copy = shared_range(ctx, cells, cells * nest.dtype.itemsize // COPIED_BYTES, some)
    return copy if nest.in_place is None else T.if_(T.not_(nest.in_place), copy)


def few_owned_rows(nest: ScatterNest, ctx: Context, axis: int) -> Condition:
    """Whether slabs on an axis are few short rows that points go to: threads would take lines from each other."""
    if not isinstance(nest.op.addressing.map.sources[axis], Indexed):
        return False
    row_bytes = product(nest.shape[axis + 1 :]) * nest.dtype.itemsize
    return pays(ctx, (few_units(nest.shape[axis]), 1), (OWNED_ROW_BYTES - row_bytes, 0))


def in_pieces(nest: ScatterNest, ctx: Context, axis: int, totals: Totals) -> Decision:
    """Whether slabs on an axis pay, which are as many pieces as there are coordinates on the axes before it."""
    itemsize = totals.acc.itemsize
    cells, points = product(nest.shape), product(nest.grid) * product(nest.window)
    table = cells * (itemsize + (0 if totals.counts is None else COUNT_BYTES))
    facts = Facts(points, itemsize, table, totals.acc.name, nest.op.reduction.name)
    return slabs(ctx, nest.name, facts, cells, product(nest.shape[axis:]) * itemsize)


def owned_axis(nest: ScatterNest, cores: int | None) -> int | None:
    """The axis to divide among threads; None if there is none.

    The cheapest kind first; last an indexed axis of single elements, whose indices cost as much as they do.  Within a kind the
    outermost that is wide, so that slabs lie apart in memory, else the longest.
    """
    wide = WIDE_AXIS if cores is None else min(WIDE_AXIS, UNITS_PER_CORE * cores)
    layout = nest.op.addressing.map.layout
    first_grid = next((k for k, (kind, _) in enumerate(layout) if kind == "index"), len(layout))
    leading = {j for kind, j in layout[:first_grid]}
    ranked = []
    for a, s in enumerate(nest.op.addressing.map.sources):
        size = assumed(nest.shape[a])
        if size < 2:
            continue
        if isinstance(s, Shared):
            ranked.append((0, 0, a) if size >= wide else (2, -size, a))
        elif isinstance(s, Window) and not (nest.op.counts and a in shared_counts(nest)):
            shortens = s.window in leading and size >= wide
            ranked.append((0, 0, a) if shortens else (3, -size, a))
        elif isinstance(s, Indexed):
            ranked.append((4 if product(nest.window) == 1 else 1, -size, a))
    return min(ranked)[2] if ranked else None


def reads_once(nest: ScatterNest, axis: int | None) -> bool:
    """Whether threads that own slabs on an axis read each index once between them, so that they may test it, too."""
    layout = nest.op.addressing.map.layout
    outer = all(kind == "index" for kind, _ in layout[: _last_grid(layout) + 1])
    return outer and (axis is None or isinstance(nest.op.addressing.map.sources[axis], Shared))


@dataclass(frozen=True, slots=True)
class Totals:
    """Where partial results live.

    Attributes:
        acc: their dtype.
        totals: the output itself unless its dtype would round at every step.
        counts: of the points in a cell, if they matter, with extent 1 along axes that slices cover whole.
        widened: whether ``totals`` is not the output.
    """

    acc: DType
    totals: Buffer
    counts: Buffer | None
    widened: bool

    @staticmethod
    def of(nest: ScatterNest, ctx: Context) -> Totals:
        acc = nest.op.accumulator(nest.dtype)
        widened = acc != nest.dtype
        totals = ctx.workspace(f"{nest.name}_totals", nest.shape or (1,), acc) if widened else nest.out
        counts = None
        if nest.op.counts:
            counts = ctx.workspace(f"{nest.name}_counts", count_shape(nest), DTYPES["int32"])
        return Totals(acc, totals, counts, widened)


def shared_counts(nest: ScatterNest) -> set[int]:
    """The axes whose cells share a count: a grid point hits all of them in one go, its windows being the inner loops."""
    layout = nest.op.addressing.map.layout
    inner = {w for kind, w in layout[_last_grid(layout) + 1 :] if kind == "window"}
    shared = {a for a, w in nest.covered.items() if w in inner}
    return shared if len(shared) == len(inner) else set()


def count_shape(nest: ScatterNest) -> Shape:
    """Extents of the counts."""
    shared = shared_counts(nest)
    return tuple(1 if a in shared else d for a, d in enumerate(nest.shape)) or (1,)


def count_cell(nest: ScatterNest, cell: list[Expr]) -> list[Expr]:
    """Where a cell's count is."""
    shared = shared_counts(nest)
    return storage([T.const(0) if a in shared else c for a, c in enumerate(cell)])


def _last_grid(layout: Sequence[Place]) -> int:
    return max((k for k, (kind, _) in enumerate(layout) if kind == "index"), default=-1)


@dataclass(frozen=True, slots=True)
class Slab:
    """The cells whose coordinate on ``axis`` is in ``[lo, hi)``; all cells where ``axis`` is None.

    Attributes:
        check: of the indices that it reads.
        begun: whether they hold base already.
    """

    nest: ScatterNest
    ctx: Context
    partial: Totals
    axis: int | None
    lo: Expr
    hi: Expr
    check: CheckNest | None
    begun: bool

    @property
    def source(self) -> Source | None:
        """Where the coordinate on the owned axis comes from."""
        return None if self.axis is None else self.nest.op.addressing.map.sources[self.axis]

    def statement(self) -> Stmt:
        """Everything about these cells."""
        flag, nest = Flag(self.check), self.nest

        def points(ahead: int = 0, run: RowRun | None = None) -> Stmt:
            return PointLoops(self, _last_grid(nest.op.addressing.map.layout), flag, ahead, run).loops(0, {})

        def held() -> Stmt:
            run = RowRun.of(self.partial.totals, self.partial.acc, max(len(nest.shape), 1), self.ctx)
            return run.around(points(run=run))

        apart = self.partial.counts is None and not isinstance(self.source, Indexed)
        along = LastAxis.of(nest, self.ctx, self.partial.acc, self.partial.totals, flag) if apart else None

        def rows(row: Callable[[list[Expr]], Stmt]) -> Stmt:
            return PointLoops(self, _last_grid(nest.op.addressing.map.layout), flag, 0, None).rows(row, 0, {})

        def loops(runs: Condition) -> Stmt:
            ahead = self.far, lambda: with_kernels(points(self.ctx.choose(CELLS_AHEAD)))
            if along is None:
                return flag.around(first_of([(runs, held), ahead, (True, points)]))
            few = along.turns, lambda: rows(along.in_turns)
            near = along.near, lambda: rows(along.in_lists)
            return flag.around(first_of([few, (runs, held), ahead, near, (True, points)]))

        begin = None if self.begun else self.begin()
        return T.seq(begin, self.clear(), self.sampled(loops), self.settle())

    def sampled(self, body: Callable[[Condition], Stmt]) -> Stmt:
        """``body(runs)``: whether points, nearly all of a sample of the first row, go to the cell of the one before.

        A float that is combined with what was just stored waits for it 9 to 14 cycles; integers do not, since CPUs rename them.
        100 rows of 540 points to 20 cells each, in runs: minima of float32, a thread 3.6 -> 1.5 ns per point.
        """
        nest, ctx, sizes = self.nest, self.ctx, self.ctx.sizes
        m = nest.op.addressing.map
        last = m.grid_axes[-1] if m.grid_axes else None
        apart = any(isinstance(s, Shared) and s.axis == last for s in m.sources)
        alone = self.single and self.partial.counts is None
        if not alone or not self.partial.acc.is_float or last is None or apart:
            return body(False)
        if (given := ctx.choose(RUNS)) != RUNS.default:
            return body(given == "yes")
        *outer, length = nest.grid
        enough = pays(ctx, (product(nest.grid), SAMPLED_POINTS), (length, RUN_SAMPLES + 1))
        if enough is False:
            return body(False)
        owned = self.source.axis if isinstance(self.source, Shared) else None
        first = [self.lo if j == owned else T.const(0) for j in m.grid_axes[:-1]]
        some = [None if enough is True else enough, *(x < sizes(d) for x, d in zip(first, outer, strict=True))]

        def alike(p: Expr, then: Stmt) -> Stmt:
            (here, _), (there, _) = (nest.starts([*first, q]) for q in (p, p + 1))
            n = len(here)

            def compared(found: list[Expr]) -> Stmt:
                return T.if_(T.all_of(found[k] == found[n + k] for k in range(n)), then)

            return T.kept("place", [*here, *there], compared)

        return in_runs(sizes(length), alike, body, T.all_of(some))

    @property
    def single(self) -> bool:
        """Whether single elements are combined with the cells of one tensor."""
        nest = self.nest
        return not (nest.window or nest.lanes or nest.op.reduction.replaces)

    @property
    def far(self) -> Condition:
        """Whether single elements that points are combined with lie so far apart that prefetching them pays."""
        nest, partial, ctx = self.nest, self.partial, self.ctx
        sources = nest.op.addressing.map.sources
        indexed = [a for a, s in enumerate(sources) if isinstance(s, Indexed)]
        if not self.single or not indexed:
            return False
        cell = partial.acc.itemsize + (0 if partial.counts is None else COUNT_BYTES)
        found = pays(ctx, (product(nest.shape[indexed[0] :]), far_bytes(ctx.target, waits=True) // cell))
        return found if found is not False and ctx.choose(CELLS_AHEAD) else False

    def cells(self, shape: Shape, body: Callable[[list[Expr]], Stmt]) -> Stmt:
        """Loops over the slab of a tensor that has the output's axes."""
        return box(self.ctx.sizes.shape(shape), self.axis, self.lo, self.hi, body)

    def begin(self) -> Stmt:
        """Copy base; nothing where the output holds it already."""
        nest, partial = self.nest, self.partial

        def base(c: list[Expr]) -> Expr:
            if partial.widened and nest.in_place is not None:
                return T.if_then_else(nest.in_place, T.load(nest.out, *storage(c)), nest.base(c))
            return nest.base(c)

        def cell(c: list[Expr]) -> Stmt:
            if nest.op.reduction.arity > 1:
                return T.seq(*(T.store(lane.out, storage(c), lane.base(c)) for lane in nest.lanes))
            return T.store(partial.totals, storage(c), cast(base(c), nest.dtype, partial.acc))

        copy = self.cells(nest.shape, cell)
        return copy if partial.widened or nest.in_place is None else T.if_(T.not_(nest.in_place), copy)

    def clear(self) -> Stmt | None:
        """Set the counts to 0."""
        nest, counts = self.nest, self.partial.counts
        if counts is None:
            return None
        shape = count_shape(nest) if nest.shape else ()
        return self.cells(shape, lambda c: T.store(counts, storage(c), T.const(0, "int32")))

    def settle(self) -> Stmt | None:
        """Make results of the totals; None where they are."""
        nest, totals, counts = self.nest, self.partial.totals, self.partial.counts
        if not (self.partial.widened or nest.op.reduction.averaged):
            return None

        def cell(c: list[Expr]) -> Stmt:
            count = None if counts is None else T.load(counts, *count_cell(nest, c))
            total = T.load(totals, *storage(c))
            return T.store(nest.out, storage(c), nest.op.finish(nest.dtype, total, count))

        return self.cells(nest.shape, cell)


@dataclass(frozen=True, slots=True)
class PointLoops:
    """The points that fall into a slab, in row-major order.

    Attributes:
        last_grid: the innermost of the points' axes that is one of the grid; windows inside it share one index vector.
        flag: whether an index is out of range.
        ahead: how many points ahead the single elements are prefetched that they are combined with; 0 for not at all.
        run: where the cell is held that neighbouring points are combined with; None for nowhere.
    """

    slab: Slab
    last_grid: int
    flag: Flag
    ahead: int
    run: RowRun | None

    def loops(self, k: int, at: Position) -> Stmt:
        """Loops from the k-th axis of the points on."""
        if k == self.last_grid + 1:
            return self.grid_point(at)
        return self.loop(k, at, lambda more: self.loops(k + 1, more))

    def loop(self, k: int, at: Position, body: Callable[[Position], Stmt]) -> Stmt:
        """The loop over the k-th axis of the points: over the slab only, where that is the owned axis."""
        nest, source = self.slab.nest, self.slab.source
        m = nest.op.addressing.map
        key = kind, j = m.layout[k]
        extent = self.slab.ctx.sizes(nest.grid[m.grid_axes.index(j)] if kind == "index" else nest.window[j])
        name = f"{'g' if kind == 'index' else 'w'}{j}"
        owned = (isinstance(source, Shared) and key == ("index", source.axis)) or (
            isinstance(source, Window) and key == ("window", source.window)
        )
        lo, hi = (self.slab.lo, T.minimum(self.slab.hi, extent)) if owned else (T.const(0), extent)

        def step(i: Expr) -> Stmt:
            here = {**at, key: i}
            return T.seq(self.prefetch(here, lo, hi) if self.ahead and k == self.last_grid else None, body(here))

        return T.for_range(lo, hi, step, name)

    def rows(self, row: Callable[[list[Expr]], Stmt], k: int, at: Position) -> Stmt:
        """Loops from the k-th axis of the points on, but for the last, along which a row is combined."""
        if k == self.last_grid:
            m = self.slab.nest.op.addressing.map
            return row([at["index", j] for j in m.grid_axes[:-1]])
        return self.loop(k, at, lambda more: self.rows(row, k + 1, more))

    def prefetch(self, at: Position, lo: Expr, hi: Expr) -> Stmt:
        """Prefetch the cell of a point that comes later: in the same row, ``[lo, hi)``, or in a later one if rows are short."""
        nest, partial = self.slab.nest, self.slab.partial
        m, n = nest.op.addressing.map, hi - lo
        *outer, last = m.layout
        long = n >= 2 * self.ahead
        places = [T.minimum(at[last] + T.select(long, T.const(self.ahead), T.const(0)), hi - 1)]
        for key in outer[-1:]:
            rows = T.select(long, T.const(0), T.quotient(T.const(2 * self.ahead), T.maximum(n, T.const(1))))
            end = self.slab.ctx.sizes(nest.grid[m.grid_axes.index(key[1])])
            places.append(T.minimum(at[key] + rows, end - 1))

        def point(names: list[Expr]) -> Stmt:
            later = {**at, **dict(zip((last, *outer[-1:]), names, strict=True))}
            grid = [later["index", j] for j in m.grid_axes]
            return T.lets("start", nest.starts(grid)[0], lambda starts: cells(starts, grid))

        def cells(starts: list[Expr], grid: list[Expr]) -> Stmt:
            cell = nest.cell(starts, grid, [])
            read = [(partial.totals, storage(cell))]
            if partial.counts is not None:
                read.append((partial.counts, count_cell(nest, cell)))
            return T.seq(*(prefetch_row(T.address_of(buf, *c), T.const(1)) for buf, c in read))

        return T.kept("later", places, point)

    def grid_point(self, at: Position) -> Stmt:
        """What one index vector moves."""
        nest = self.slab.nest
        grid = [at["index", j] for j in nest.op.addressing.map.grid_axes]
        starts, ok = nest.starts(grid)
        return T.seq(self.flag.test(grid), T.lets("start", starts, lambda names: self.taken(at, grid, names, ok)))

    def taken(self, at: Position, grid: list[Expr], starts: list[Expr], ok: Expr | None) -> Stmt:
        """The slice that begins at ``starts``, if it is not dropped and may be in the slab."""
        nest, source, counts = self.slab.nest, self.slab.source, self.slab.partial.counts
        conditions = [ok]
        if isinstance(source, Indexed) and source.window is None:
            conditions += self.inside(starts[source.component])
        inner = self.last_grid + 1
        # where the cells of the slice share a count, read and raise it once
        if counts is None or not shared_counts(nest):
            return T.if_(T.all_of(conditions), self.windows(inner, at, grid, starts, None))
        window = [at.get(("window", w), T.const(0)) for w in range(len(nest.window))]
        place = count_cell(nest, nest.cell(starts, grid, window))

        def counted(hits: Expr) -> Stmt:
            raised = T.store(counts, place, hits + T.const(1, "int32"))
            return T.seq(raised, self.windows(inner, at, grid, starts, hits))

        return T.if_(T.all_of(conditions), T.let("hits", T.load(counts, *place), counted))

    def windows(self, k: int, at: Position, grid: list[Expr], starts: list[Expr], hits: Expr | None) -> Stmt:
        """Loops over a slice, from the k-th axis of the points on."""
        nest = self.slab.nest
        if k < len(nest.op.addressing.map.layout):
            return self.loop(k, at, lambda more: self.windows(k + 1, more, grid, starts, hits))
        window = [at["window", w] for w in range(len(nest.window))]
        cell = storage(nest.cell(starts, grid, window))
        body = nest.combine(cell, grid, window) if nest.lanes else self.combined(cell, grid, window, hits)
        source = self.slab.source
        if not isinstance(source, Indexed) or source.window is None:
            return body
        assert self.slab.axis is not None
        # a slice may lie across the slab's ends
        return T.if_(T.all_of(self.inside(cell[self.slab.axis])), body)

    def combined(self, cell: list[Expr], grid: list[Expr], window: list[Expr], hits: Expr | None) -> Stmt:
        """What a point does to its cell; ``hits`` is its count before, unless the cell has one of its own."""
        nest, partial = self.slab.nest, self.slab.partial
        value = cast(nest.src(grid, window), nest.dtype, partial.acc)
        if self.run is not None:
            return self.run.add(cell, lambda old, w: nest.op.reduction.combine(partial.acc, old, value))
        new = combined(nest, partial.acc, T.load(partial.totals, *cell), value)
        count = None
        if partial.counts is not None and hits is None:
            place = count_cell(nest, cell)
            hits = T.load(partial.counts, *place)
            count = T.store(partial.counts, place, hits + T.const(1, "int32"))
        if not nest.op.include_self and hits is not None:
            new = T.select(hits == 0, value, new)
        return T.seq(T.store(partial.totals, cell, new), count)

    def inside(self, c: Expr) -> list[Expr]:
        """Whether a coordinate on the owned axis is in the slab."""
        return [self.slab.lo <= c, c < self.slab.hi]
