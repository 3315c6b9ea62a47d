"""Scatters of rows: points that follow each other and meet in a cell are combined in registers, then added once.

A thread takes ``RUN`` rows that follow each other, at one place of their width: it reads their indices, then their values, then
merges each value into the next one's where both go to the same cell, and adds what is left.  Rows whose indices are sorted, or
often the same, then take an atomic for each run instead of each row, and nothing need be promised or sorted for it; others take
one each, and a comparison.

Per 16 bytes of src: as many read, and added once per run of at most ``RUN`` rows; 8 / (units of a row) of an index, and about 27
instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, Shape, ceildiv
from gscompile.ir.index_map import Window
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.cuda.atomics import (
    NARROW,
    NARROW_NEIGHBOURS,
    NEIGHBOURS,
    PLAIN,
    atomic,
    atomic_name,
    atomic_vector,
    narrow_name,
)
from gscompile.schedules.cuda.choices import ACCESS, RUN
from gscompile.schedules.cuda.launch import over
from gscompile.schedules.cuda.points import Point, extents, harmless, placed
from gscompile.schedules.cuda.vectors import LOAD, by_words, moved
from gscompile.schedules.loops import by_number, number_in, ravel
from gscompile.schedules.rule import Context

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, slots=True)
class RowsAdded:
    """Rows of points that are combined with totals by atomics.

    Attributes:
        totals: what they are combined with, of dtype ``wide``.
        value: a point -> what it brings, of that dtype.
        n: neighbours of a row that a thread takes at once: floats that one access combines, or 1.
        along: the axis of the points' layout that a thread's rows follow each other on.
        run: rows that it takes.
    """

    nest: ScatterNest
    ctx: Context
    totals: Buffer
    wide: DType
    value: Callable[[Point], Expr]
    n: int
    along: int
    run: int

    @classmethod
    def of(
        cls, nest: ScatterNest, ctx: Context, totals: Buffer, wide: DType, value: Callable[[Point], Expr]
    ) -> Self | None:
        """None where points do not come in rows."""
        m, r = nest.op.addressing.map, nest.op.reduction
        if not nest.grid or not m.layout or not cls.side_by_side(nest):
            return None
        along = m.layout.index(("index", (m.own_axes or m.grid_axes)[-1]))
        run = ctx.choose(RUN) if m.own_axes and r.associative and r.commutative else 1
        last, n = m.sources[-1] if m.sources else None, 1
        if (wide.name == "float32" or wide.name in NARROW) and isinstance(last, Window):
            width, pitch = nest.window[last.window], nest.shape[-1]
            if m.layout[-1] == ("window", last.window) and isinstance(width, int) and isinstance(pitch, int):
                together = NEIGHBOURS.get(atomic_name(r, nest.dtype), 1)
                together = NARROW_NEIGHBOURS if wide.name in NARROW else together
                n = math.gcd(min(together, ctx.choose(ACCESS) // wide.itemsize), width, pitch)
        return cls(nest, ctx, totals, wide, value, n, along, run)

    @staticmethod
    def side_by_side(nest: ScatterNest) -> bool:
        """Whether neighbours on the points' last axis have the same index, and so are a row."""
        return nest.op.addressing.map.layout[-1][0] == "window"

    def statement(self) -> Stmt:
        """The kernel."""
        box, rows = self.box(self.run)

        def thread(c: list[Expr], number: Expr) -> Stmt:
            return self.taken(c, number, rows, c[self.along] * self.run, self.added)

        return over(self.ctx, box, thread)

    def box(self, length: int) -> tuple[Shape, Expr]:
        """The threads, each of which takes so many rows, and the number of rows on their axis."""
        box: list[Dim] = list(extents(self.nest, self.nest.op.addressing.map.layout))
        rows, box[self.along] = box[self.along], ceildiv(box[self.along], length)
        box[-1] = box[-1] // self.n
        return tuple(box), self.ctx.sizes(rows)

    def taken(
        self,
        c: list[Expr],
        number: Expr,
        rows: Expr,
        first: Expr,
        use: Callable[[list[Expr], Buffer], Stmt],
    ) -> Stmt:
        """What a thread does for rows that follow each other, of so many on their axis.

        Args:
            first: the number of the first one.
            use: (their cells' numbers, negative for none, and their values) -> what becomes of these.
        """
        nest, ctx, layout = self.nest, self.ctx, self.nest.op.addressing.map.layout
        inside = [None if self.run == 1 else first + q < rows for q in range(self.run)]
        rows_at = []
        for q, here in enumerate(inside):
            at = [first + q if k == self.along else x for k, x in enumerate(c)]
            at[-1] = at[-1] * self.n
            place = placed(nest, ctx, layout, at, number, here, lambda p: ravel(p.cell, nest.shape, ctx.sizes))
            rows_at.append(place)
        values = T.buffer(
            "values", [self.run * self.n], self.wide.tir, align=max(self.wide.itemsize * self.n, 8), scope="local"
        )

        def used(cell: list[Expr]) -> Stmt:
            reads = [
                T.if_(here if harmless(self.value(r.point)) else x >= 0, self.read(r.point, values, q))
                for q, (r, x, here) in enumerate(zip(rows_at, cell, inside, strict=True))
            ]
            return T.seq(T.allocate(values), *reads, *(r.test for r in rows_at), use(cell, values))

        return T.registers("cell", [r.cell for r in rows_at], used)

    def added(self, cell: list[Expr], values: Buffer) -> Stmt:
        """Rows' values are added."""
        return T.seq(*(self.add(cell, values, q) for q in range(self.run)))

    def read(self, p: Point, values: Buffer, q: int) -> Stmt:
        """A row's values."""
        runs = self.together(p) if self.n > 1 else []
        alone = T.as_load(self.value(p)) if len(runs) == 1 else None
        if alone is not None and not any(T.all_loads(x) for x in alone[1]):  # which no other point reads
            return by_words(values, T.const(q * self.n), *runs[0], self.n, LOAD)
        runs = runs if len(runs) > 1 else []
        parts = [T.buffer(f"part{k}", [self.n], self.wide.tir, align=16, scope="local") for k in range(len(runs))]

        def one(k: Expr) -> Stmt:
            def known(buf: Buffer, _: list[Expr]) -> Expr | None:
                return next((T.load(x, k) for x, (b, _) in zip(parts, runs, strict=True) if b.same_as(buf)), None)

            store = T.store(values, [k + q * self.n], self.value(self.beside(p, k)))
            return T.with_loads(store, known) if parts else store

        if self.n == 1:
            return one(T.const(0))
        # of 16-bit floats TVM has no conversions of vectors
        loop = T.vectorized if self.nest.dtype.name == "float32" and not parts else T.for_
        reads = (moved(x, T.const(0), buf, place, self.n) for x, (buf, place) in zip(parts, runs, strict=True))
        return T.seq(*map(T.allocate, parts), *reads, loop(self.n, one, "k"))

    def beside(self, p: Point, k: Expr) -> Point:
        """A point so many places further in its row."""
        last = self.nest.op.addressing.map.layout[-1]
        return Point(p.number, p.grid, [x + k if ("window", w) == last else x for w, x in enumerate(p.window)], p.cell)

    def together(self, p: Point) -> list[tuple[Buffer, Expr]]:
        """Where a row's values are made of runs of several tensors: these, and where the runs begin.

        Each is to be read at once: TVM takes a vector of functions apart, and its loads with it.
        """
        value, last = self.value(p), self.nest.op.addressing.map.layout[-1]
        begin, all_loads = p.window[last[1]], T.all_loads(value)
        found: list[tuple[Buffer, Expr]] = []
        for (condition, buf, at), (_, _, after) in zip(
            T.reads(value), T.reads(self.value(self.beside(p, T.const(1)))), strict=True
        ):
            width = T.constant_value(T.extents(buf)[-1])
            even = width is not None and width % self.n == 0 and T.constant_value(at[-1] - begin) == 0
            run = T.constant_value(after[-1] - at[-1]) == 1 and all(map(T.same_expr, at[:-1], after[:-1]))
            alone = sum(b.same_as(buf) for b, _ in all_loads) == 1
            if condition is None and even and run and alone and T.element_dtype(buf) == self.wide.tir:
                found.append((buf, T.quotient(number_in(buf, at), T.const(self.n)) * self.n))
        return found

    def add(self, cell: list[Expr], values: Buffer, q: int) -> Stmt:
        """A row's values go to the next row's, or to memory."""
        op, mine = atomic_name(self.nest.op.reduction, self.nest.dtype), q * self.n
        add = self.atomically(cell[q], values, mine)
        if q + 1 < self.run:

            def merge(k: Expr) -> Stmt:
                old, new = T.load(values, k + mine), T.load(values, k + (mine + self.n))
                return T.store(values, [k + (mine + self.n)], PLAIN[op](self.wide, old, new))

            merged = T.for_(self.n, merge, "k") if self.n > 1 else merge(T.const(0))
            add = T.if_(cell[q] == cell[q + 1], merged, add)
        return T.if_(cell[q] >= 0, add)

    def atomically(self, cell: Expr, values: Buffer, begin: int) -> Stmt:
        """Values go to a cell that other threads may write, too."""
        at = by_number(cell, self.nest.shape)
        op = atomic_name(self.nest.op.reduction, self.nest.dtype)
        narrow = narrow_name(self.wide)
        if self.n > 1:
            return atomic_vector(op, self.totals, at, values, self.n, begin, narrow)
        return atomic(op, self.totals, at, T.load(values, T.const(begin)), narrow)
