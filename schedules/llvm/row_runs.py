"""Runs of points that go to the same row: it stays in registers until they end.

Where points that follow each other go to the same row, an addition to memory waits for the store before it.  Whether they come so
is found out at run time, from a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.llvm.numbers import LEAST_RUNS, MANY_POINTS, MANY_SAMPLES, RUN_SAMPLES
from gscompile.schedules.loops import nested, ravel
from gscompile.schedules.rule import Context

Combining: TypeAlias = Callable[[Expr, list[Expr]], Expr]
"""(what a cell of the row holds, window coordinates) -> what it becomes."""


def in_runs(
    length: Expr,
    alike: Callable[[Expr, Stmt], Stmt],
    body: Callable[[Expr], Stmt],
    some: Expr | None = None,
) -> Stmt:
    """``body(runs)``: whether of :data:`RUN_SAMPLES` points, evenly spread, nearly all have their successor's row.

    Of many points :data:`MANY_SAMPLES` times as many are looked at, and as large a part of them must have it.

    Args:
        length: how many points there are.
        alike: (the place of a point, a statement) -> the statement where it and its successor have the same row.
        some: what must hold for any point to be looked at.
    """
    zero, equal, known = T.const(0), T.buffer("equal", [1], "int64", align=8), T.constant_value(length)

    def of(number: Callable[[int], Expr]) -> Expr:
        """A number that depends on how many times as many points are looked at."""
        if known is not None:
            return number(MANY_SAMPLES if known >= MANY_POINTS else 1)
        return T.select(length >= MANY_POINTS, number(MANY_SAMPLES), number(1))

    step = of(lambda times: T.quotient(length, T.const(times * RUN_SAMPLES + 1)))
    samples, least = of(lambda times: T.const(times * RUN_SAMPLES)), of(lambda times: T.const(times * LEAST_RUNS))
    count = T.store(equal, [zero], T.load(equal, zero) + 1)
    looks = T.for_(samples, lambda k: alike(k * step, count), "k", one_copy=True)
    enough = T.all_of([step > 0, some])
    return T.seq(
        T.allocate(equal), T.store(equal, [zero], zero), T.if_(enough, looks), body(T.load(equal, zero) >= least)
    )


@dataclass(frozen=True, slots=True)
class RowRun:
    """A row of some totals, in registers.

    Attributes:
        totals: by ``chunk``, the coordinates that lead to a row, and those in its window.
        chunk: leading coordinates that all rows have.
        window: extents of a row's axes; none for single elements.
        loops: those of the loops over its cells.
        ctx: of the rule.
        axes: the numbers of the coordinates that lead to a row.
        here: the coordinates that lead to the row that is held; the first is negative where none is.
        held: its cells.
    """

    totals: Buffer
    chunk: tuple[Expr, ...]
    window: Shape
    loops: Sequence[Expr]
    ctx: Context
    axes: range
    here: Buffer
    held: Buffer

    @staticmethod
    def of(
        totals: Buffer,
        acc: DType,
        axes: int,
        ctx: Context,
        window: Shape = (),
        loops: Sequence[Expr] = (),
        chunk: tuple[Expr, ...] = (),
    ) -> RowRun:
        """Of totals of dtype ``acc``, to whose rows ``axes`` coordinates lead."""
        here = T.buffer("here", [axes], "int64", align=8)
        held = T.buffer("run", [ctx.sizes(product(window))], acc.tir, align=64)
        return RowRun(totals, chunk, window, loops, ctx, range(axes), here, held)

    def around(self, loop: Stmt) -> Stmt:
        """A loop over points, before which no row is held, and after which the last one is stored."""
        nowhere = (T.store(self.here, [T.const(k)], T.const(-1)) for k in self.axes)
        return T.seq(T.allocate(self.here), T.allocate(self.held), *nowhere, loop, self.leave())

    def add(self, lead: list[Expr], combine: Combining, before: Stmt | None = None) -> Stmt:
        """Combine the row that ``lead`` leads to; ``before`` comes before it is loaded."""
        changed = T.any_of(T.load(self.here, T.const(k)) != lead[k] for k in self.axes)
        moved = (T.store(self.here, [T.const(k)], lead[k]) for k in self.axes)
        loaded = self.each(lambda at, w: T.store(self.held, [at], T.load(self.totals, *self.cell(w))))
        combined = self.each(lambda at, w: T.store(self.held, [at], combine(T.load(self.held, at), w)))
        return T.seq(T.if_(changed, T.seq(self.leave(), *moved, before, loaded)), combined)

    def leave(self) -> Stmt:
        """Store the row that is held."""
        kept = self.each(lambda at, w: T.store(self.totals, self.cell(w), T.load(self.held, at)))
        return T.if_(T.load(self.here, T.const(0)) >= 0, kept)

    def each(self, body: Callable[[Expr, list[Expr]], Stmt]) -> Stmt:
        """``body(number, window coordinates)`` for the cells of a row."""
        return nested("w", self.loops, lambda w: body(ravel(w, self.window, self.ctx.sizes), w))

    def cell(self, w: list[Expr]) -> list[Expr]:
        """The coordinates of a cell of the row that is held."""
        return [*self.chunk, *(T.load(self.here, T.const(k)) for k in self.axes), *w]
