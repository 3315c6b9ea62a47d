"""Scatters of rows whose points are promised to be sorted: no atomics but for the cells at both ends of a stretch.

A thread takes a stretch of :data:`STRETCH` rows that follow each other, at one place of their width, :data:`RUN` of them at
once: it reads their indices, then their values, and adds up those of a cell in registers.  A cell whose points lie inside of a
stretch is this thread's alone, and is read and written as usual; the first and the last one may go on in the next stretch, and
take an atomic.  Points that are dropped end no run.  Where the promise is broken, threads race for a cell, whose value is then
undefined.  Single elements whose last axis is one that index shares with data are rows, too, with an index for each element.

Per 16 bytes of src: as many read; per run of equal indices 16 bytes read and written, or an atomic, of which there are two per
stretch at most; 8 / (units of a row) of an index, and about 20 instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.nests import Nest
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.atomics import PLAIN, atomic_name
from gscompile.schedules.cuda.check import checked, guarded
from gscompile.schedules.cuda.choices import BLOCK, STRETCH
from gscompile.schedules.cuda.launch import over, resident
from gscompile.schedules.cuda.runs import RowsAdded
from gscompile.schedules.cuda.scatter import AtomicScatter
from gscompile.schedules.cuda.sorted_elements import counted, in_runs
from gscompile.schedules.cuda.vectors import moved
from gscompile.schedules.loops import by_number
from gscompile.schedules.rule import Checked, Context

ZERO, ONE = T.const(0), T.const(1)


class SortedRows:
    """See the module's text."""

    name = "sorted-rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest) or not in_runs(nest):
            return None
        s = _Scatter.of(nest, guarded(ctx, nest))
        return None if s.stretches is None else checked(nest, s.statement())


@dataclass(frozen=True, slots=True)
class _Scatter(AtomicScatter):
    """A scatter of sorted rows."""

    @property
    def stretches(self) -> _Stretches | None:
        """None where points do not come in rows."""
        return _Stretches.of(self.nest, self.ctx, self.totals, self.wide, self.value)

    def all_added(self) -> Stmt:
        assert self.stretches is not None
        return self.stretches.statement()

    def all_counted(self, counts: Buffer) -> Stmt:
        return counted(self, counts)


@dataclass(frozen=True, slots=True)
class _Stretches(RowsAdded):
    """Rows that a thread takes one after the other."""

    @staticmethod
    def side_by_side(nest: ScatterNest) -> bool:
        """Or the last axis is one that index shares with data: a thread has one position on it, its neighbour the next."""
        m = nest.op.addressing.map
        kind, j = m.layout[-1]
        return kind == "window" or (bool(m.own_axes) and j not in m.own_axes)

    def statement(self) -> Stmt:
        length = max(self.run, self.ctx.choose(STRETCH))
        box, rows = self.box(length)
        return over(self.ctx, box, lambda c, i: resident(self.ctx.choose(BLOCK), self.stretch(c, i, rows, length)))

    def stretch(self, c: list[Expr], number: Expr, rows: Expr, length: int) -> Stmt:
        """What a thread does for up to so many rows that follow each other."""
        total = T.buffer("total", [self.n], self.wide.tir, align=16, scope="local")
        run = T.buffer("run", [2], "int64", align=8, scope="local")  # its cell, and whether there was one before it
        begin = c[self.along] * length

        def part(k: Expr) -> Stmt:
            return self.taken(c, number, rows, begin + k * self.run, lambda x, v: self.runs(x, v, total, run))

        parts = T.quotient(rows - begin + (self.run - 1), T.const(self.run))
        return T.seq(
            T.allocate(total),
            T.allocate(run),
            T.store(run, [ZERO], T.const(-1)),
            T.store(run, [ONE], ZERO),
            T.for_(T.minimum(parts, T.const(length // self.run)), part, "part"),
            T.if_(T.load(run, ZERO) >= 0, self.atomically(T.load(run, ZERO), total, 0)),
        )

    def runs(self, cell: list[Expr], values: Buffer, total: Buffer, run: Buffer) -> Stmt:
        """Rows' values go to their run's total, which goes to memory where another run begins."""
        own, op = T.load(run, ZERO), atomic_name(self.nest.op.reduction, self.nest.dtype)

        def each(body: Callable[[Expr], Stmt]) -> Stmt:
            return T.for_(self.n, body, "k") if self.n > 1 else body(ZERO)

        def row(q: int) -> Stmt:
            def add(k: Expr) -> Stmt:
                return T.store(total, [k], PLAIN[op](self.wide, T.load(total, k), T.load(values, k + q * self.n)))

            ended = T.if_(T.load(run, ONE) != 0, self.alone(own, total), self.atomically(own, total, 0))
            begun = T.seq(
                T.if_(own >= 0, T.seq(ended, T.store(run, [ONE], ONE))),
                T.store(run, [ZERO], cell[q]),
                each(lambda k: T.store(total, [k], T.load(values, k + q * self.n))),
            )
            return T.if_(cell[q] >= 0, T.if_(cell[q] == own, each(add), begun))

        return T.seq(*map(row, range(self.run)))

    def alone(self, cell: Expr, total: Buffer) -> Stmt:
        """A total goes to a cell that no other thread writes."""
        op = atomic_name(self.nest.op.reduction, self.nest.dtype)
        if self.n == 1:
            at = by_number(cell, self.nest.shape)
            return T.store(self.totals, at, PLAIN[op](self.wide, T.load(self.totals, *at), T.load(total, ZERO)))
        place = T.quotient(cell, T.const(self.n)) * self.n  # it is a multiple, which TVM does not know
        old = T.buffer("old", [self.n], self.wide.tir, align=16, scope="local")

        def add(k: Expr) -> Stmt:
            return T.store(old, [k], PLAIN[op](self.wide, T.load(old, k), T.load(total, k)))

        return T.seq(
            T.allocate(old),
            moved(old, ZERO, self.totals, place, self.n),
            T.for_(self.n, add, "k"),
            moved(self.totals, place, old, ZERO, self.n),
        )
