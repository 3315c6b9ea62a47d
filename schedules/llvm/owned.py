"""Scatters of rows: each thread owns some rows of the output, and works through a list of the points that go there.

The list says which points of a block are the thread's own, in their order; it is made without branches, which would be
mispredicted for half of the points, and tells which rows of src and of the output will be needed next.
"""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.dims import product
from gscompile.ir.nests import Nest, ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from schedules.llvm.check import Flag
from schedules.llvm.copies import PAST_CACHES
from schedules.llvm.costs import MANY_POINTS, partition_pays
from schedules.llvm.kernels import copy_row, drain, touch_row, with_kernels
from schedules.llvm.partition import Partition
from schedules.llvm.ranges import shared_range
from schedules.llvm.staged import BLOCK, RowScatter, base, blocks, short_list
from schedules.loops import nested, unravel
from schedules.rule import Checked, Context
from schedules.runs import copied

AHEAD = 8  # rows between asking for one and adding it


class OwnedRows:
    """See the module's text."""

    name = "owned-rows"

    def __init__(self, sorts: bool = True) -> None:
        """Without ``sorts``, a thread looks at all points however many threads there are: less code beside another way."""
        self.sorts = sorts

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        scatter = RowScatter.of(nest, ctx) if isinstance(nest, ScatterNest) else None
        if scatter is None:
            return None
        stmt = self.statement(scatter)
        return stmt if scatter.nest.check is None else Checked(stmt)

    def statement(self, s: RowScatter) -> Stmt:
        """The scatter, whatever its sizes."""
        nest, ctx = s.nest, s.ctx
        own = s.acc != nest.dtype
        totals = ctx.workspace(f"{nest.name}_totals", nest.shape, s.acc) if own else nest.out

        def start(lo: Expr, hi: Expr) -> Stmt:
            begin = copy_base(s, lo, hi) or s.cells(lo, hi, lambda c: T.store(totals, c, base(nest, s.acc, c)))
            return T.if_(T.not_(nest.in_place), begin) if not own and nest.in_place is not None else begin

        def finish(lo: Expr, hi: Expr) -> Stmt:
            def cell(c: list[Expr]) -> Stmt:
                return T.store(nest.out, c, nest.op.finish(nest.dtype, T.load(totals, *c), None))

            return s.cells(lo, hi, cell)

        def slab(lo: Expr, hi: Expr) -> Stmt:
            """The rows ``[lo, hi)``."""
            added = points(s, totals, [], T.const(0), ctx.sizes(s.points), lo, hi)
            return T.seq(start(lo, hi), added, finish(lo, hi) if own else None)

        scan = shared_range(ctx, s.rows, nest.work, slab)
        if not self.sorts or (isinstance(s.points, int) and s.points < MANY_POINTS):
            return with_kernels(scan)

        def listed(at: Callable[[Expr], Expr], first: Expr, last: Expr) -> Stmt:
            def step(j: Expr) -> Stmt:
                later = at(T.minimum(j + AHEAD, last - 1))
                asked = ask(s, totals, [], later, s.target(later)[0])
                return T.seq(asked, T.let("p", at(j), take))

            def take(p: Expr) -> Stmt:
                return T.let("r", s.target(p)[0], lambda r: add(s, totals, [], p, r))

            return T.for_range(first, last, step, "j")

        parts = Partition(s)
        end = parts.each_owner(finish) if own else None
        sorted_ = T.seq(parts.each_owner(start), parts.each_point(listed), end)
        return with_kernels(T.if_(partition_pays(ctx, s.points), sorted_, scan))


def copy_base(s: RowScatter, lo: Expr, hi: Expr) -> Stmt | None:
    """The rows ``[lo, hi)`` as a copy of one stretch of memory, past the caches where all of it is large; None if it is none.

    214,272 rows of 64: 3.5 ms, as a loop over elements 5.3.
    """
    nest, ctx = s.nest, s.ctx
    first = [*unravel(lo, s.leading, ctx.sizes), *s.no_window]
    here = [T.var(f"c{k}") for k in range(len(nest.shape))]
    found = copied(nest.base(here))
    if s.acc != nest.dtype or found is None or found.ok is not None:
        return None
    source, at = found.source
    if len(at) != len(here):  # data reshaped
        return None
    extents = [T.constant_value(a - b) for a, b in zip(T.extents(source), ctx.sizes.shape(nest.shape), strict=True)]
    if any(T.constant_value(x - c) != 0 for x, c in zip(at, here, strict=True)) or any(d != 0 for d in extents):
        return None
    row = ctx.sizes(s.width * nest.dtype.itemsize)
    past = ctx.sizes(product(nest.shape) * nest.dtype.itemsize) >= PAST_CACHES
    # by way of uint64, or NarrowDataType may pass an int32, with which the kernel is another function
    nbytes = T.cast("int64", T.cast("uint64", (hi - lo) * row))
    return T.seq(copy_row(T.address_of(nest.out, *first), T.address_of(source, *first), nbytes, past), drain())


def points(s: RowScatter, totals: Buffer, copy: list[Expr], first: Expr, last: Expr, lo: Expr, hi: Expr) -> Stmt:
    """Of the points ``[first, last)`` those that go to rows ``[lo, hi)``, in their order.

    Args:
        copy: which of several copies ``totals`` holds is meant: its leading coordinates.
    """
    nest = s.nest
    mine = short_list("mine", "int64")  # row * BLOCK + position in the block
    length = T.buffer("length", [1], "int64", align=8)
    zero = [T.const(0)]
    flag = Flag(nest.check)

    def block(begin: Expr, count: Expr) -> Stmt:
        def pick(k: Expr) -> Stmt:
            row, ok = s.target(begin + k)
            # a single index that is not valid lies outside all rows
            valid = None if len(s.leading) == 1 else s.valid(begin + k)

            def put(r: Expr) -> Stmt:
                taken = T.all_of([ok, valid, lo <= r, r < hi])
                n = T.load(length, *zero)
                return T.seq(
                    T.store(mine, [n], r * BLOCK + k),
                    T.store(length, zero, n + T.cast("int64", taken)),
                )

            return T.let("r", row, put)

        def entry(name: str, j: Expr, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
            """``body(point, row)`` of an entry of the list."""

            def parts(e: Expr) -> Stmt:
                p, r = begin + T.floormod(e, T.const(BLOCK)), T.floordiv(e, T.const(BLOCK))
                return T.let(f"{name}_point", p, lambda p: T.let(f"{name}_row", r, lambda r: body(p, r)))

            return T.let(name, T.load(mine, j), parts)

        def step(j: Expr) -> Stmt:
            later = entry(
                "later", T.minimum(j + AHEAD, T.load(length, *zero) - 1), lambda p, r: ask(s, totals, copy, p, r)
            )
            return T.seq(later, entry("now", j, lambda p, r: add(s, totals, copy, p, r)))

        look = None
        if nest.check is not None:  # by itself, as a loop of vectors
            look = T.for_(count, lambda k: flag.look(s.grid(begin + k)) or T.nothing(), "k")
        return T.seq(
            look,
            T.store(length, zero, T.const(0)),
            T.for_(count, pick, "k"),
            T.for_(T.load(length, *zero), step, "j"),
        )

    return T.seq(T.allocate(mine), T.allocate(length), flag.around(blocks(first, last, block)))


def add(s: RowScatter, totals: Buffer, copy: list[Expr], p: Expr, r: Expr) -> Stmt:
    """What a point does to its row."""
    lead = unravel(r, s.leading, s.ctx.sizes)

    def cell(w: list[Expr]) -> Stmt:
        c = [*copy, *lead, *w]
        return T.store(totals, c, s.combine(T.load(totals, *c), s.source(p, w)))

    return nested("w", s.ctx.sizes.shape(s.nest.window), cell)


def ask(s: RowScatter, totals: Buffer, copy: list[Expr], p: Expr, r: Expr) -> Stmt:
    """Ask for the rows that a point will need."""
    rows = [(totals, [*copy, *unravel(r, s.leading, s.ctx.sizes), *s.no_window]), *s.rows_read(p)]
    width = s.ctx.sizes(s.width)
    return T.seq(*(touch_row(T.address_of(buf, *at), width * T.itemsize(buf)) for buf, at in rows))
