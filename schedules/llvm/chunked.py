"""Scatters that read far more than they write: each thread streams through its own points, into a privatised accumulator.

A thread that owns rows or columns of the output reads its part of src in pieces, and the hardware prefetches what lies between
to no use: each of two threads moves nearly all of src.  Here the points are cut into a few chunks instead, as many as sizes alone
say, each with a privatised accumulator as large as the output.  These partial results are combined in the order of the chunks, so
that results are the same for any number of threads; threads beyond the number of chunks share a chunk, each owning a slab of its
accumulator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, product
from gscompile.ir.nests import Nest
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.decisions import Condition, first_of
from gscompile.schedules.llvm.check import if_valid
from gscompile.schedules.llvm.column_scatter import ColumnScatter
from gscompile.schedules.llvm.costs import both, chunk_count, grouped, pays, row_chunks
from gscompile.schedules.llvm.index_scan import IndexScan
from gscompile.schedules.llvm.kernels import with_kernels
from gscompile.schedules.llvm.numbers import (
    CHUNKED_ELEMENTS,
    MAX_PARTIALS,
    MIN_PARTIALS,
    PARALLEL_POINTS,
    POINTS_PER_NARROW_CELL,
    POINTS_PER_PARTIAL_CELL,
    RUN_SAMPLES,
    STREAMED_BYTES,
)
from gscompile.schedules.llvm.owned import OwnedRows
from gscompile.schedules.llvm.ranges import Share, few_units, over_box
from gscompile.schedules.llvm.row_totals import RowTotals
from gscompile.schedules.llvm.scatter import OwnerComputes
from gscompile.schedules.llvm.staged import RowScatter, base, identity, separable
from gscompile.schedules.llvm.vectors import vector_lanes
from gscompile.schedules.rule import Checked, Context


class Chunked:
    """See the module's text."""

    name = "chunked"

    def __init__(self, always: bool = False) -> None:
        """``always``: wherever it can be used, whatever it is estimated to take."""
        self.always = always

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest) or not separable(nest, ctx):
            return None
        stream = _RowStream.of(nest, ctx) or ColumnScatter.of(nest, ctx)
        if stream is None:
            return None
        cells, elements = product(nest.shape), product(nest.grid) * product(nest.window)
        per_cell: int
        least: Dim
        if isinstance(stream, _RowStream):
            per_cell, count = 1, row_chunks(elements, cells)
            least = PARALLEL_POINTS if stream.scatter.gathered else CHUNKED_ELEMENTS
        else:
            per_cell, least, count = _column_chunks(stream.extent, elements, cells, nest.dtype.itemsize)
        if isinstance(stream.count, int) and stream.count < MIN_PARTIALS * per_cell:
            return None  # whatever the other sizes
        always = self.always or ctx.forced(self.name)
        worth = pays(ctx, (count, MIN_PARTIALS), (elements - least, 0))
        if worth is not False and isinstance(stream, _RowStream) and not self.always:
            worth = both(worth, ctx.least(grouped(ctx, nest.name, stream.scatter.facts, self.name, count), self.name))
        if worth is False:
            return None

        def ways(worth: Condition) -> Stmt:
            chunks = (worth, lambda: with_kernels(_chunked(nest, ctx, stream, count)))
            return first_of([chunks, (True, lambda: _other(nest, ctx))])

        rows = stream.scatter if isinstance(stream, _RowStream) and not always else None
        # one thread may be best for narrow rows otherwise, sorted or not
        stmt = ways(worth) if rows is None or rows.narrow else _unless_sorted(rows, worth, ways)
        return stmt if nest.check is None else Checked(stmt)


def _column_chunks(columns: Dim, elements: Dim, cells: Dim, itemsize: int) -> tuple[int, Dim, Dim]:
    """Of elements along columns: how many a cell needs at least, how many there must be, and into how many chunks they are cut.

    Few columns are cut into chunks early, since threads cannot share them otherwise.
    """
    few = few_units(columns)
    narrow, wide = (
        chunk_count(elements, cells, n, MIN_PARTIALS, MAX_PARTIALS)
        for n in (POINTS_PER_NARROW_CELL, POINTS_PER_PARTIAL_CELL)
    )
    streamed = STREAMED_BYTES // itemsize
    per_cell = POINTS_PER_PARTIAL_CELL if few == 0 else POINTS_PER_NARROW_CELL
    return per_cell, few * PARALLEL_POINTS + (1 - few) * streamed, few * narrow + (1 - few) * wide


def _unless_sorted(s: RowScatter, worth: Condition, body: Callable[[Condition], Stmt]) -> Stmt:
    """``body(worth)``, but of false where :data:`RUN_SAMPLES` points, evenly spread, go up the rows, and the rows evenly, too.

    Then a thread that owns rows reads a part of src of its own, and needs no accumulator: 200,000 rows of 64 floats into 10,000,
    sorted: in chunks 1.39 ms, by an index scan 1.08.  Of few rows threads would write to the same cache lines all the time, where
    one thread's end and the next one's begin: 19,232 of 37 float64 into two 0.33 ms, by one thread 0.14.
    """
    several = pays(s.ctx, (1 - few_units(s.rows), 1))
    if several is False:
        return body(worth)
    zero, last, half = T.const(0), s.ctx.sizes(s.points) - 1, T.quotient(s.ctx.sizes(s.rows), T.const(2))
    falls, step = T.buffer("falls", [1], "int64", align=8), T.quotient(last, T.const(RUN_SAMPLES))

    def if_(p: Expr, q: Expr, condition: Callable[[Expr, Expr], Expr | None]) -> Stmt:
        """Note it where a condition holds of two points' rows."""
        note = T.store(falls, [zero], T.const(1))
        return s.compared(p, q, lambda rows: T.if_(condition(*rows), note))

    quarter = T.quotient(last, T.const(4))
    looks = T.seq(
        T.store(falls, [zero], zero),
        if_(quarter, last - quarter, lambda low, high: T.any_of([low >= half, high < half])),
        T.for_(
            T.const(RUN_SAMPLES),
            lambda k: if_(k * step, (k + 1) * step, lambda here, there: here > there),
            "k",
            one_copy=True,
        ),
    )
    some = both(both(worth, several), pays(s.ctx, (s.points, 1)))
    found = looks if some is True else T.if_(some, looks)
    chosen = body(both(worth, T.load(falls, zero) > 0))
    return T.seq(T.allocate(falls), T.store(falls, [zero], T.const(1)), found, chosen)


def _other(nest: ScatterNest, ctx: Context) -> Stmt:
    """Where chunks do not pay: as the rules that come after this one do it, and check."""
    other = OwnedRows(sorts=False).apply(nest, ctx) or OwnerComputes().apply(nest, ctx)
    if nest.check is None or isinstance(other, Checked):
        return other.stmt if isinstance(other, Checked) else other
    return if_valid(nest.check, ctx, other)


class _Stream(Protocol):
    """The points of a scatter, in the order in which index and src are read, to be cut into chunks."""

    @property
    def extent(self) -> Dim:
        """How many units of an accumulator threads may own: rows, or columns."""
        ...

    @property
    def count(self) -> Dim:
        """How many points there are to cut, each with as many elements as the others."""
        ...

    def cells(self, lo: Expr, hi: Expr, body: Callable[[list[Expr]], Stmt]) -> Stmt:
        """``body(coordinates)`` for the cells of the units ``[lo, hi)``."""
        ...

    def add(self, partials: Buffer, chunk: Expr, first: Expr, last: Expr, lo: Expr, hi: Expr) -> Stmt:
        """What the points ``[first, last)`` do to the units ``[lo, hi)`` of a chunk's accumulator."""
        ...


@dataclass(frozen=True, slots=True)
class _RowStream:
    """The rows of src."""

    scatter: RowScatter

    @staticmethod
    def of(nest: ScatterNest, ctx: Context) -> _RowStream | None:
        """None where there are none, or each point brings a wide row from a table, beside which an index scan costs little."""
        s = RowScatter.of(nest, ctx)
        return _RowStream(s) if s is not None and (s.streamed or (s.gathered and s.narrow)) else None

    @property
    def extent(self) -> Dim:
        return self.scatter.rows

    @property
    def count(self) -> Dim:
        return self.scatter.points

    def cells(self, lo: Expr, hi: Expr, body: Callable[[list[Expr]], Stmt]) -> Stmt:
        return self.scatter.cells_in_one(lo, hi, body)

    def add(self, partials: Buffer, chunk: Expr, first: Expr, last: Expr, lo: Expr, hi: Expr) -> Stmt:
        into, ctx = RowTotals(self.scatter, partials, (chunk,)), self.scatter.ctx
        if has_one_owner(ctx):
            return into.sampled(lambda runs: into.add_all(first, last, runs))
        scan = IndexScan.of(into, lo, hi)

        def added(runs: Condition) -> Stmt:
            whole = hi - lo == ctx.sizes(self.extent)
            return T.if_(whole, into.add_all(first, last, runs), scan.scan(first, last, runs))

        return into.sampled(added)


def has_one_owner(ctx: Context) -> bool:
    """Whether a chunk is never shared: on a machine of few cores there is no code for that, however many threads there are."""
    return ctx.target.cores is not None and ctx.target.cores < 2 * MIN_PARTIALS


def _chunked(nest: ScatterNest, ctx: Context, stream: _Stream, count: Dim) -> Stmt:
    def statement(chunks: Expr) -> Stmt:
        acc = nest.op.accumulator(nest.dtype)
        partials = ctx.workspace(f"{nest.name}_partials", (count, *nest.shape), acc)
        return _Chunks(nest, ctx, stream, count, chunks, acc, partials).statement()

    # hidden: code that cannot be reached for the sizes that are known, TVM simplifies until it divides by zero
    return T.kept(["chunks"], [T.hidden(T.maximum(ctx.sizes(count), T.const(1)))], lambda names: statement(*names))


@dataclass(frozen=True, slots=True)
class _Chunks:
    """A scatter, chunk by chunk.

    Attributes:
        count: how many chunks, 0 where they do not pay.
        chunks: the same, but at least 1.
        acc: dtype of partial results.
        partials: what each chunk comes to, by chunk and cell.
    """

    nest: ScatterNest
    ctx: Context
    stream: _Stream
    count: Dim
    chunks: Expr
    acc: DType
    partials: Buffer

    def statement(self) -> Stmt:
        """All chunks, and the sums over them."""
        return T.seq(T.parallel(self.ctx.threads, self.share), self.totals())

    def share(self, t: Expr) -> Stmt:
        """One thread's part: of each chunk as many slabs as there are threads for it."""

        def slabs(owners: Expr) -> Stmt:
            total, threads = self.chunks * owners, self.ctx.threads
            lo, hi = T.quotient(total * t, threads), T.quotient(total * (t + 1), threads)
            return T.for_range(lo, hi, lambda u: self.numbered(u, owners), "unit")

        if has_one_owner(self.ctx):
            return slabs(T.const(1))
        owners = T.maximum(T.quotient(self.ctx.threads, self.chunks), T.const(1))
        return T.kept(["owners"], [owners], lambda names: slabs(*names))

    def numbered(self, u: Expr, owners: Expr) -> Stmt:
        """The slab of a number, of all slabs of all chunks."""
        extent = self.ctx.sizes(self.stream.extent)

        def part(g: Expr, o: Expr) -> Stmt:
            start, end = T.quotient(extent * o, owners), T.quotient(extent * (o + 1), owners)
            return T.kept(("lo", "hi"), [start, end], lambda ends: self.slab(g, *ends))

        return T.kept(("g", "o"), [T.quotient(u, owners), T.remainder(u, owners)], lambda place: part(*place))

    def slab(self, g: Expr, lo: Expr, hi: Expr) -> Stmt:
        """The units ``[lo, hi)`` of a chunk's accumulator."""
        start, points = identity(self.nest, self.acc), self.ctx.sizes(self.stream.count)
        clear = self.stream.cells(lo, hi, lambda c: T.store(self.partials, [g, *c], start))

        def add(ends: list[Expr]) -> Stmt:
            first, last = ends
            return self.stream.add(self.partials, g, first, last, lo, hi)

        return T.seq(clear, T.kept(("first", "last"), [T.quotient(points * k, self.chunks) for k in (g, g + 1)], add))

    def totals(self) -> Stmt:
        """All cells of the output, of all chunks in their order."""
        if isinstance(self.count, int):
            return self.sums([T.const(g) for g in range(self.count)])
        some = [T.const(g) for g in range(MIN_PARTIALS)]
        # kept: under the condition that there are so many, TVM's simplifier knows the least, which vectors read anyway
        more = [T.minimum(T.const(g), self.chunks - 1) for g in range(MIN_PARTIALS, MAX_PARTIALS)]
        return T.kept("partial", more, lambda places: self.sums([*some, *places]))

    def sums(self, places: Sequence[Expr]) -> Stmt:
        """The same, of chunks with these numbers, which are the last one's where there are fewer chunks."""
        shape, lead = self.nest.shape, [T.const(0) for _ in self.nest.shape[1:]]
        lanes = vector_lanes(self.ctx, self.acc, shape[-1] if shape else 1, lambda i: self.nest.base([*lead, i]))
        several = (lanes, lambda c: self.total(c, places, lanes)) if lanes > 1 else None
        share: Callable[[], Share] = lambda: Share(lambda c: self.total(c, places, 1), vector=several)  # noqa: E731
        return over_box(self.ctx, shape, 1 + len(places), share, large=True)

    def total(self, c: list[Expr], places: Sequence[Expr], lanes: int) -> Stmt:
        """So many cells of the output from one on.

        Step by step in a register: in one nested expression TVM's simplifier tries every way through.
        """
        nest, acc = self.nest, self.acc
        register = T.buffer("total", [lanes], acc.tir, align=acc.itemsize)

        def each(step: Callable[[list[Expr], Expr], Stmt]) -> Stmt:
            if lanes == 1:
                return step(c, T.const(0))
            return T.vectorized(lanes, lambda v: step([*c[:-1], c[-1] + v], v))

        def keep(value: Callable[[list[Expr], Expr], Expr]) -> Stmt:
            return each(lambda at, v: T.store(register, [v], value(at, v)))

        def add(g: int) -> Stmt:
            def added(at: list[Expr], v: Expr) -> Expr:
                there = T.load(self.partials, places[g], *at)
                if not isinstance(self.count, int) and g >= MIN_PARTIALS:  # one version for any number of chunks
                    there = T.select(self.chunks > g - g % MIN_PARTIALS, there, identity(nest, acc))
                return nest.op.reduction.combine(acc, T.load(register, v), there)

            return keep(added)

        def out(at: list[Expr], v: Expr) -> Stmt:
            return T.store(nest.out, at, nest.op.finish(nest.dtype, T.load(register, v), None))

        steps = [keep(lambda at, v: base(nest, acc, at)), *map(add, range(len(places))), each(out)]
        return T.seq(T.allocate(register), *steps)
