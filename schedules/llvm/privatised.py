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
from gscompile.ir.dims import Dim
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
        cells = PRIVATISED_BYTES // (s.acc.itemsize * ways)
        fits = pays(ctx, (count, MIN_PARTIALS), (s.points, PARALLEL_POINTS), (cells - s.rows, 0))
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


def accumulators_of(s: RowScatter) -> int:
    """How many accumulators the points of a chunk go to in turns."""
    if keeps_order(s.reduction, s.acc):
        return 1
    return int(s.ctx.choose(replace(ACCUMULATORS, default=accumulator_ways(s.acc.is_integer))))


@dataclass(frozen=True, slots=True)
class _Chunks:
    """A scatter of single elements, chunk by chunk.

    Attributes:
        count: how many chunks.
        partials: what each chunk comes to, by chunk and cell.
        ways: how many accumulators the points of a chunk go to in turns.
    """

    scatter: RowScatter
    count: Dim
    partials: Buffer
    ways: int

    @staticmethod
    def of(s: RowScatter, count: Dim, ways: int) -> _Chunks:
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
        size = (self.cells + 1) * self.ways
        s = self.scatter
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
        s, cells, ways = self.chunks.scatter, self.chunks.cells, self.chunks.ways
        points, count = s.ctx.sizes(s.points), self.chunks.chunks
        first, last = T.quotient(points * g, count), T.quotient(points * (g + 1), count)
        flag = Flag(s.nest.check)

        def settle(c: Expr) -> Stmt:
            total = T.load(self.totals, c * ways)
            for k in range(1, ways):
                total = s.combine(total, T.load(self.totals, c * ways + k))
            return T.store(self.chunks.partials, [g, c], total)

        return T.seq(
            T.for_((cells + 1) * ways, lambda c: T.store(self.totals, [c], identity(s.nest, s.acc)), "c"),
            flag.around(blocks(first, last, lambda begin, n: self.block(flag, begin, n))),
            T.for_(cells, settle, "c"),
        )

    def block(self, flag: Flag, begin: Expr, n: Expr) -> Stmt:
        """The points ``[begin, begin + n)``: first where they go, then their additions, so many between two prefetches."""
        together = self.chunks.together
        whole = T.floordiv(n, T.const(together))
        return T.seq(
            T.for_(n, lambda k: self.resolve(flag, begin, k), "k"),
            None if self.values is None else T.for_(n, lambda k: self.convert(begin, k), "k"),
            T.for_(whole, lambda j: self.group(begin, j), "group"),
            T.for_(
                n - whole * together, lambda k: self.add(begin, whole * together + k, T.const(0)), "k", one_copy=True
            ),
        )

    def resolve(self, flag: Flag, begin: Expr, k: Expr) -> Stmt:
        """Find the cell that a point goes to, and check its index."""
        s, cells = self.chunks.scatter, self.chunks.cells
        row, ok = s.target(begin + k)
        # A point with an invalid index is added somewhere: the call raises, and what the accumulator holds is lost.  Of several
        # axes one may be empty, where another has a position that no accumulator has.
        taken = ok if len(s.leading) == 1 else T.all_of([ok, s.valid(begin + k)])
        row = row if taken is None else T.select(taken, row, cells)
        return T.seq(T.store(self.target, [k], T.cast("int32", row)), flag.test(s.grid(begin + k)))

    def convert(self, begin: Expr, k: Expr) -> Stmt:
        """Convert what a point brings."""
        assert self.values is not None
        s = self.chunks.scatter
        return T.store(self.values, [k], s.source(begin + k, s.no_window))

    def add(self, begin: Expr, k: Expr, way: Expr) -> Stmt:
        """Add a point to one of the accumulators of its cell."""
        s = self.chunks.scatter
        value = s.source(begin + k, s.no_window) if self.values is None else T.load(self.values, k)
        at = T.int64(T.load(self.target, k)) * self.chunks.ways + way
        # LLVM makes branches of minima of 16-bit floats; those of integers become slower without, up to 1.2 times
        rare = s.acc.is_float and assumed(s.points) < RARE_POINTS * assumed(s.rows)
        old = T.load(self.totals, at)
        return T.store(self.totals, [at], combined(s.nest, s.acc, old, value) if rare else s.combine(old, value))

    def group(self, begin: Expr, j: Expr) -> Stmt:
        """Points between two prefetches, and a prefetch of what a later block reads."""
        s, together = self.chunks.scatter, self.chunks.together
        prefetches = [
            prefetch_lines(T.address_of(buf, *at), T.const(max(1, together * itemsize // LINE_BYTES)))
            for buf, at, itemsize in streams(s.nest, s.grid(begin + j * together + POINT_BLOCK))
        ]

        def unrolled(q: Expr) -> Stmt:
            first = j * together + q * MOST_WAYS
            turns = range(MOST_WAYS)
            return T.seq(*(self.add(begin, first + k, T.const(k % self.chunks.ways)) for k in turns))

        return T.seq(*prefetches, T.for_(together // MOST_WAYS, unrolled, "q"))
