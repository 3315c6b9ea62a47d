"""Scatters of many points into few cells: privatised accumulators.

The points are cut into chunks, how many depends on sizes alone.  Each chunk is combined into an accumulator of its own, with all
cells, and the accumulators are combined in the order of the chunks afterwards: the result is bitwise the same for any number of
threads, and no thread scans another's points.  4,000,000 points into 4,096 cells, Zipf(1): 32.8 ms where each of two threads
scans all points for its own, 1.9 with privatised accumulators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, dim_max, dim_min
from gscompile.ir.nests import Nest
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.decisions import first_of
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import ACCUMULATORS, CHUNKS, STREAMED_TOGETHER
from gscompile.schedules.llvm.costs import accumulator_ways, both, grouped, pays, private_chunks
from gscompile.schedules.llvm.kernels import prefetch_lines, with_kernels
from gscompile.schedules.llvm.numbers import (
    LINE_BYTES,
    MIN_PARTIALS,
    MOST_WAYS,
    ORDERED_CELLS,
    PARALLEL_POINTS,
    POINT_BLOCK,
    PRIVATISED_BYTES,
    RARE_POINTS,
    SUM_TILE,
)
from gscompile.schedules.llvm.owned import OwnedRows
from gscompile.schedules.llvm.ranges import always_shared, shared_range
from gscompile.schedules.llvm.staged import (
    RowScatter,
    base,
    blocks,
    combined,
    identity,
    keeps_order,
    separable,
    short_list,
    streams,
)
from gscompile.schedules.loops import assumed, unravel
from gscompile.schedules.rule import Checked, Context


class Privatised:
    """See the module's text."""

    name = "privatised"

    def __init__(self, always: bool = False) -> None:
        """``always``: wherever it can be used, whatever it is estimated to take."""
        self.always = always

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest):
            return None
        s = RowScatter.of(nest, ctx)
        if s is None or not separable(nest, ctx) or s.width != 1:
            return None
        ways = accumulators_of(s)
        count = private_chunks(s.points, s.rows, ways, ctx.choose(CHUNKS))
        most = PRIVATISED_BYTES // s.acc.itemsize
        fits = pays(ctx, (count, MIN_PARTIALS), (s.points, PARALLEL_POINTS), (most - s.rows * ways, 0))
        if fits is False:
            return None
        least = self.always or ctx.least(grouped(ctx, nest.name, s.facts, self.name, count), self.name)
        worth = both(fits, least)
        if worth is False or (worth is not True and (len(s.leading) > 1 or s.gathered)):
            # a call decides between two ways: for index vectors and gathered sources, costlier to read, chunks are the other
            return None
        chunks = (worth, lambda: with_kernels(_Chunks.of(s, count, ways).statement()))
        stmt = first_of([chunks, (True, lambda: OwnedRows(sorts=False).statement(s))])
        return stmt if nest.check is None else Checked(stmt)


def accumulators_of(s: RowScatter) -> Dim:
    """How many accumulators a cell has, so that points need not wait for each other: see :class:`_Lanes`."""
    if not keeps_order(s.reduction, s.acc):
        return int(s.ctx.choose(replace(ACCUMULATORS, default=accumulator_ways(s.acc.is_integer))))
    few = 1 - dim_min(s.rows // (ORDERED_CELLS + 1), 1)
    one = few == 0 or s.ctx.choose(replace(ACCUMULATORS, values=(1, MOST_WAYS))) == 1
    return 1 if one else dim_max(few * MOST_WAYS, 1)


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Where the points lie that are added in turns, :data:`MOST_WAYS` of them, one of each lane.

    Lanes are neighbouring points, and go to the accumulators of their cells in turns.  Where the order matters in which points
    meet, each accumulator has a run of the chunk's points instead, and what these come to is combined in their order.
    515,020 minima of sorted float32 into 4 cells: a thread 1.9 ns per point, in runs 0.6.

    Attributes:
        ways: accumulators of a cell.
        runs: into how many runs a chunk is cut, 1 or :data:`MOST_WAYS`.
        reach: points of each.
        last: where the last one begins, from the first one on.  Runs may overlap: minima stay what they are.
    """

    ways: int
    runs: int
    reach: Expr
    last: Expr

    @staticmethod
    def around(ways: int, runs: int, points: Expr, body: Callable[[_Lanes], Stmt]) -> Stmt:
        """``body(lanes)`` for a chunk of so many points."""
        if runs == 1:
            return body(_Lanes(ways, runs, points, T.const(0)))
        reach = T.floordiv(points + (runs - 1), T.const(runs))
        return T.kept(["reach", "last_run"], [reach, points - reach], lambda names: body(_Lanes(ways, runs, *names)))

    def run(self, r: Expr) -> Expr:
        """Where a run begins, from the first one on."""
        return T.const(0) if self.runs == 1 else T.minimum(r * self.reach, self.last)

    @property
    def block(self) -> int:
        """Points of a run in a block."""
        return POINT_BLOCK // self.runs

    @property
    def step(self) -> int:
        """Points of a run in a turn."""
        return MOST_WAYS // self.runs

    def lane(self, k: int) -> tuple[Expr, Expr]:
        """Where a lane begins: its point, and its place in the list of a block."""
        beside = T.const(k)
        return (beside, beside) if self.runs == 1 else (self.run(beside), beside * self.block)


@dataclass(frozen=True, slots=True)
class _Chunks:
    """A scatter of single elements, chunk by chunk.

    Attributes:
        count: how many chunks.
        partials: what each chunk comes to, by chunk and cell.
        ways: accumulators of a cell.
    """

    scatter: RowScatter
    count: Dim
    partials: Buffer
    ways: Dim

    @staticmethod
    def of(s: RowScatter, count: Dim, ways: Dim) -> _Chunks:
        return _Chunks(s, count, s.ctx.workspace(f"{s.nest.name}_partials", (count, s.rows), s.acc), ways)

    @property
    def together(self) -> int:
        """Points between two prefetches."""
        return int(self.scatter.ctx.choose(STREAMED_TOGETHER))

    @property
    def cells(self) -> Expr:
        """How many cells there are."""
        return self.scatter.ctx.sizes(self.scatter.rows)

    @property
    def chunks(self) -> Expr:
        """How many chunks there are, at least 1."""
        return T.maximum(self.scatter.ctx.sizes(self.count), T.const(1))

    def statement(self) -> Stmt:
        """All chunks, and the sums over them."""
        s = self.scatter
        tiles = (s.rows + (SUM_TILE - 1)) // SUM_TILE
        return T.seq(
            always_shared(s.ctx, self.count, self.some),
            shared_range(s.ctx, tiles, self.count * s.rows, lambda lo, hi: T.for_range(lo, hi, self.tile, "tile")),
        )

    def some(self, lo: Expr, hi: Expr) -> Stmt:
        """Chunks ``[lo, hi)``, one after the other in the same storage; one more cell takes the points that are dropped."""
        s = self.scatter
        size = (self.cells + 1) * s.ctx.sizes(self.ways)
        totals = T.buffer("private", [size], s.acc.tir, align=64)
        values = short_list("value", s.acc.tir) if s.nest.dtype.name == "float16" != s.acc.name and s.streamed else None
        private = _Private(self, totals, short_list("target", "int32"), values)
        loop = T.for_range(lo, hi, private.chunk, "chunk")
        return T.seq(*map(T.allocate, [totals, private.target, *([] if values is None else [values])]), loop)

    def tile(self, u: Expr) -> Stmt:
        """Some cells of the output, of all chunks."""
        s, nest = self.scatter, self.scatter.nest
        total = T.buffer("total", [SUM_TILE], s.acc.tir, align=64)
        begin = u * SUM_TILE
        width = T.minimum(self.cells - begin, T.const(SUM_TILE))
        width = T.maximum(width, T.const(1))  # some, or LLVM would have a copy of the loops for none

        def each(body: Callable[[Expr], Stmt]) -> Stmt:
            return T.for_(width, body, "c")

        def at(c: Expr) -> list[Expr]:
            return unravel(begin + c, nest.shape, s.ctx.sizes)

        def add(g: Expr) -> Stmt:
            return each(lambda c: T.store(total, [c], s.combine(T.load(total, c), T.load(self.partials, g, begin + c))))

        return T.seq(
            T.allocate(total),
            each(lambda c: T.store(total, [c], base(nest, s.acc, at(c)))),
            T.for_(self.chunks, add, "g"),
            each(lambda c: T.store(nest.out, at(c), nest.op.finish(nest.dtype, T.load(total, c), None))),
        )


@dataclass(frozen=True, slots=True)
class _Private:
    """What one thread has to itself.

    Attributes:
        totals: the accumulators of a cell side by side.
        target: the cells to which the points of a block go.
        values: what they bring, where that is float16, which vectors convert: one by one takes 2.3 times as long, since x86
            loads each into a register of which it keeps the rest.  Bfloat16 and int8 gain nothing.
    """

    chunks: _Chunks
    totals: Buffer
    target: Buffer
    values: Buffer | None

    def chunk(self, g: Expr) -> Stmt:
        """A chunk's points."""
        s, ways, count = self.chunks.scatter, self.chunks.ways, self.chunks.chunks
        points, ordered = s.ctx.sizes(s.points), keeps_order(s.reduction, s.acc)

        def between(ends: list[Expr]) -> Stmt:
            def by(ways: int) -> Stmt:
                first, last = ends
                return _Lanes.around(ways, ways if ordered else 1, last - first, lambda x: self.added(g, x, first))

            if isinstance(ways, int):
                return by(ways)
            return T.if_(s.ctx.sizes(ways) > 1, by(MOST_WAYS), by(1))

        return T.kept(["first", "last"], [T.quotient(points * k, count) for k in (g, g + 1)], between)

    def added(self, g: Expr, lanes: _Lanes, first: Expr) -> Stmt:
        """The points of a chunk from ``first`` on, and what they come to."""
        s, cells, ways = self.chunks.scatter, self.chunks.cells, lanes.ways
        flag = Flag(s.nest.check)

        def settle(c: Expr) -> Stmt:
            total = T.load(self.totals, c * ways)
            for k in range(1, ways):
                total = s.combine(total, T.load(self.totals, c * ways + k))
            return T.store(self.chunks.partials, [g, c], total)

        each = blocks(first, first + lanes.reach, lanes.block, lambda begin, n: self.block(flag, lanes, begin, n))
        return T.seq(
            T.for_((cells + 1) * ways, lambda c: T.store(self.totals, [c], identity(s.nest, s.acc)), "c"),
            flag.around(each),
            T.for_(cells, settle, "c"),
        )

    def block(self, flag: Flag, lanes: _Lanes, begin: Expr, n: Expr) -> Stmt:
        """``n`` points of each run, of the first one from ``begin`` on: first where they go, then their additions."""
        group = self.chunks.together // lanes.runs
        groups = T.floordiv(n, T.const(group))

        def each(lo: Expr, body: Callable[[Expr, Expr, Expr], Stmt], one_copy: bool = False) -> Stmt:
            """``body(point, place in the list, run)`` for the points from the ``lo``-th of each run on."""

            def run(r: Expr) -> Stmt:
                point, place = begin + lanes.run(r), r * lanes.block
                return T.for_range(lo, n, lambda k: body(point + k, place + k, r), "k", one_copy)

            return run(T.const(0)) if lanes.runs == 1 else T.for_(lanes.runs, run, "run", one_copy=True)

        zero = T.const(0)
        return T.seq(
            each(zero, lambda p, place, r: self.resolve(flag, p, place)),
            None if self.values is None else each(zero, lambda p, place, r: self.convert(p, place)),
            T.for_(groups, lambda j: self.group(lanes, begin, j * group, group), "group"),
            each(groups * group, lambda p, place, r: self.add(lanes, p, place, r), one_copy=True),
        )

    def resolve(self, flag: Flag, p: Expr, place: Expr) -> Stmt:
        """Find the cell that a point goes to, and check its index."""
        s, cells = self.chunks.scatter, self.chunks.cells
        row, ok = s.target(p)
        # A point with an invalid index is added somewhere: the call raises, and what the accumulator holds is lost.  Of several
        # axes one may be empty, where another has a position that no accumulator has.
        taken = ok if len(s.leading) == 1 else T.all_of([ok, s.valid(p)])
        row = row if taken is None else T.select(taken, row, cells)
        return T.seq(T.store(self.target, [place], T.cast("int32", row)), flag.test(s.grid(p)))

    def convert(self, p: Expr, place: Expr) -> Stmt:
        """Convert what a point brings."""
        assert self.values is not None
        s = self.chunks.scatter
        return T.store(self.values, [place], s.source(p, s.no_window))

    def add(self, lanes: _Lanes, p: Expr, place: Expr, way: Expr) -> Stmt:
        """Add a point to one of the accumulators of its cell."""
        s = self.chunks.scatter
        value = s.source(p, s.no_window) if self.values is None else T.load(self.values, place)
        at = T.int64(T.load(self.target, place)) * lanes.ways + way
        # LLVM makes branches of minima of 16-bit floats; those of integers become slower without, up to 1.2 times
        rare = s.acc.is_float and assumed(s.points) < RARE_POINTS * assumed(s.rows)
        old = T.load(self.totals, at)
        return T.store(self.totals, [at], combined(s.nest, s.acc, old, value) if rare else s.combine(old, value))

    def group(self, lanes: _Lanes, begin: Expr, done: Expr, count: int) -> Stmt:
        """``count`` points of each run, and a prefetch of what a later block reads."""
        s = self.chunks.scatter

        def prefetch(r: Expr) -> Stmt:
            later = s.grid(begin + lanes.run(r) + done + lanes.block)
            return T.seq(
                *(
                    prefetch_lines(T.address_of(buf, *at), T.const(max(1, count * itemsize // LINE_BYTES)))
                    for buf, at, itemsize in streams(s.nest, later)
                )
            )

        def turn(q: Expr) -> Stmt:
            def lane(k: int) -> Stmt:
                (point, place), at = lanes.lane(k), done + q * lanes.step
                return self.add(lanes, begin + point + at, place + at, T.const(k % lanes.ways))

            return T.seq(*map(lane, range(MOST_WAYS)))

        ahead = prefetch(T.const(0)) if lanes.runs == 1 else T.for_(lanes.runs, prefetch, "run", one_copy=True)
        return T.seq(ahead, T.for_(count // lanes.step, turn, "q"))
