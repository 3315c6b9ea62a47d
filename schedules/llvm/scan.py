"""Scans: rows in parallel, and blocks of a long axis where there are few rows.

A blocked scan folds every block but the last of its row, adds up what comes before each, and lets each block's total begin
with that.  Whether and where an axis is cut depends on sizes alone, so the result is bitwise the same for any number of
threads.

Totals advance side by side, since each step of one waits for the step before it: those of neighbouring columns, which are
vectors, or where the axis is the innermost one, of some blocks or rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, ceildiv, product
from gscompile.ir.nests import Nest
from gscompile.ir.ops.scan import ScanNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.llvm.numbers import (
    SCAN_BLOCK,
    SCAN_COLUMN_BLOCK,
    SCAN_LANES,
    SCAN_REGISTERS,
    SCAN_UNITS,
    SCAN_WAYS,
)
from gscompile.schedules.llvm.ranges import shared_range
from gscompile.schedules.loops import unravel
from gscompile.schedules.rule import Context


class Scans:
    """See the module's text; always applies to a scan."""

    name = "scans"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScanNest):
            return None
        way: _Way = _Runs(nest, ctx) if nest.axis == len(nest.shape) - 1 else _Columns(nest, ctx)
        return way.statement()


class _Way(ABC):
    """One way to go through the cells.

    Attributes:
        steps: how many a block has.
        units: how many totals, or tiles of them, are independent of each other.
    """

    steps: int
    units: Dim

    def __init__(self, nest: ScanNest, ctx: Context) -> None:
        self.nest, self.ctx = nest, ctx

    def statement(self) -> Stmt:
        nest, extent = self.nest, self.nest.shape[self.nest.axis]
        whole = self.advance(1, None)
        if isinstance(extent, int) and extent <= self.steps:
            return whole
        if isinstance(self.units, int) and self.units >= SCAN_UNITS:
            return whole
        count = ceildiv(extent, self.steps)
        before = self.ctx.workspace(f"{nest.name}_before", nest.with_axis(count), nest.acc)
        blocked = T.seq(self.fold(count, before), self.carry(count, before), self.advance(count, before))
        return (
            blocked if isinstance(self.units, int) else T.if_(self.ctx.sizes(self.units) < SCAN_UNITS, blocked, whole)
        )

    @abstractmethod
    def fold(self, count: Dim, before: Buffer) -> Stmt:
        """The fold of each block but the last, stored as what comes just before the next."""

    @abstractmethod
    def advance(self, count: Dim, before: Buffer | None) -> Stmt:
        """The scan of each of ``count`` blocks of a row, from what comes before it (None: the one block is the row)."""

    def carry(self, count: Dim, before: Buffer) -> Stmt:
        """From what comes just before each block, what comes before it in all."""
        nest = self.nest

        def block(row: list[Expr], b: Expr) -> Stmt:
            at, last = nest.on_axis(row, b), nest.on_axis(row, b - 1)
            total = nest.combine(T.load(before, *last), T.load(before, *at))
            return T.if_(b > 0, T.store(before, at, total), T.store(before, at, nest.initial))

        def rows(lo: Expr, hi: Expr) -> Stmt:
            def row(r: Expr) -> Stmt:
                c = unravel(r, nest.rest, self.ctx.sizes)
                return T.for_(self.ctx.sizes(count), lambda b: block(c, b), "block")

            return T.for_range(lo, hi, row, "row")

        rest = product(nest.rest)
        return shared_range(self.ctx, rest, rest * count, rows)

    def begin(self, b: Expr) -> Expr:
        """The first step of a block."""
        return b * self.steps

    def length(self, count: Dim, b: Expr) -> Expr:
        """How many steps a block has."""
        extent = self.nest.extent
        return extent if count == 1 else T.minimum(extent - self.begin(b), T.const(self.steps))

    def first(self, before: Buffer | None, row: list[Expr], b: Expr) -> Expr:
        """What the total of a block begins with."""
        return self.nest.initial if before is None else T.load(before, *self.nest.on_axis(row, b))

    def totals(self, name: str, extent: int) -> Buffer:
        return T.buffer(name, [extent], self.nest.acc.tir, align=64)


class _Runs(_Way):
    """Along the innermost axis."""

    steps = SCAN_BLOCK

    @property
    def units(self) -> Dim:  # type: ignore[override]
        return product(self.nest.rest)

    def fold(self, count: Dim, before: Buffer) -> Stmt:
        nest, sizes = self.nest, self.ctx.sizes
        folded = count - 1
        lanes = SCAN_LANES if nest.acc.is_float else 1

        def block(u: Expr) -> Stmt:
            *row, b = unravel(u, nest.with_axis(folded), sizes)
            total, zero = self.totals("total", lanes), T.const(0)

            def each(body: Callable[[Expr], Stmt]) -> Stmt:
                return T.for_(lanes, body, "lane")

            def some(k: Expr) -> Stmt:
                first = self.begin(b) + k * lanes
                return each(lambda w: nest.take_in(total, w, row, first + w))

            def add(w: Expr) -> Stmt:
                return T.store(total, [zero], nest.combine(T.load(total, zero), T.load(total, w)))

            return T.seq(
                T.allocate(total),
                each(lambda w: T.store(total, [w], nest.initial)),
                T.for_(SCAN_BLOCK // lanes, some, "k"),
                T.for_range(T.const(1), T.const(lanes), add, "lane"),
                T.store(before, nest.on_axis(row, b + 1), T.load(total, zero)),
            )

        def share(lo: Expr, hi: Expr) -> Stmt:
            return T.for_range(lo, hi, block, "unit")

        return shared_range(self.ctx, product(nest.with_axis(folded)), nest.work, share)

    def advance(self, count: Dim, before: Buffer | None) -> Stmt:
        nest, sizes = self.nest, self.ctx.sizes
        box = nest.with_axis(count)
        units = product(box)

        def some(first: Expr, n: int) -> Stmt:
            places = [unravel(first + w, box, sizes) for w in range(n)]
            ends = [self.length(count, b) for *_, b in places]
            totals = [self.totals(f"total{w}", 1) for w in range(n)]
            zero = T.const(0)

            def turn(k: Expr) -> Stmt:
                # LLVM must not find rows equally far apart, from which it would gather vectors
                return T.let("k", T.opaque(k) if n > 1 else k, lambda k: T.seq(*(step(w, k) for w in range(n))))

            def step(w: int, k: Expr) -> Stmt:
                *row, b = places[w]
                return nest.advance(totals[w], zero, row, self.begin(b) + k)

            together = T.seq(
                *(T.allocate(t) for t in totals),
                *(T.store(t, [zero], self.first(before, p[:-1], p[-1])) for t, p in zip(totals, places, strict=True)),
                T.for_(ends[0], turn, "k"),
            )
            equal = T.all_of([e == ends[0] for e in ends[1:]]) if count != 1 else None
            return together if equal is None else T.if_(equal, together, alone(first, T.const(n)))

        def alone(first: Expr, n: Expr) -> Stmt:
            return T.for_(n, lambda w: T.let("unit", first + w, lambda u: some(u, 1)), "way")

        def group(g: Expr) -> Stmt:
            first = g * SCAN_WAYS
            left = sizes(units) - first
            return T.if_(left >= SCAN_WAYS, some(first, SCAN_WAYS), alone(first, T.minimum(left, T.const(SCAN_WAYS))))

        def share(lo: Expr, hi: Expr) -> Stmt:
            return T.for_range(lo, hi, group, "group")

        return shared_range(self.ctx, ceildiv(units, SCAN_WAYS), nest.work, share)


class _Columns(_Way):
    """Along another axis: a tile of neighbouring columns."""

    steps = SCAN_COLUMN_BLOCK

    def __init__(self, nest: ScanNest, ctx: Context) -> None:
        super().__init__(nest, ctx)
        columns = nest.shape[-1]
        width = SCAN_REGISTERS * ctx.target.vector_bytes // nest.acc.itemsize
        self.width = max(1, min(width, columns)) if isinstance(columns, int) else width
        self.outer = (*nest.rest[:-1], ceildiv(columns, self.width))
        self.units = product(self.outer)

    def fold(self, count: Dim, before: Buffer) -> Stmt:
        nest = self.nest

        def tile(total: Buffer, row: Callable[[Expr], list[Expr]], n: Expr, b: Expr) -> Stmt:
            begin = self.begin(b)
            return T.seq(
                T.for_(n, lambda w: T.store(total, [w], nest.initial), "c"),
                T.for_(
                    self.steps,
                    lambda k: T.for_(n, lambda w: nest.take_in(total, w, row(w), begin + k), "c"),
                    "k",
                ),
                T.for_(n, lambda w: T.store(before, nest.on_axis(row(w), b + 1), T.load(total, w)), "c"),
            )

        return self.tiles(count - 1, tile)

    def advance(self, count: Dim, before: Buffer | None) -> Stmt:
        nest = self.nest

        def tile(total: Buffer, row: Callable[[Expr], list[Expr]], n: Expr, b: Expr) -> Stmt:
            begin = self.begin(b)
            return T.seq(
                T.for_(n, lambda w: T.store(total, [w], self.first(before, row(w), b)), "c"),
                T.for_(
                    self.length(count, b),
                    lambda k: T.for_(n, lambda w: nest.advance(total, w, row(w), begin + k), "c"),
                    "k",
                ),
            )

        return self.tiles(count, tile)

    def tiles(self, count: Dim, body: Callable[[Buffer, Callable[[Expr], list[Expr]], Expr, Expr], Stmt]) -> Stmt:
        """``body(totals, column of the tile -> row, columns, block)`` for each tile of each of ``count`` blocks, in parallel."""
        nest, sizes = self.nest, self.ctx.sizes
        columns = nest.shape[-1]
        box = (*self.outer[: nest.axis], count, *self.outer[nest.axis :])

        def unit(u: Expr) -> Stmt:
            at = unravel(u, box, sizes)
            b, t = at[nest.axis], at[-1]
            outer = [*at[: nest.axis], *at[nest.axis + 1 : -1]]
            first = t * self.width

            def of(n: Expr) -> Stmt:
                total = self.totals("total", self.width)
                return T.seq(T.allocate(total), body(total, lambda w: [*outer, first + w], n, b))

            if isinstance(columns, int) and columns % self.width == 0:
                return of(T.const(self.width))
            left = sizes(columns) - first
            return T.if_(left >= self.width, of(T.const(self.width)), of(left))

        def share(lo: Expr, hi: Expr) -> Stmt:
            return T.for_range(lo, hi, unit, "unit")

        return shared_range(self.ctx, product(box), nest.work, share)
