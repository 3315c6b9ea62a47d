"""Scatters in row-major order on cuda where points are many: the points of each slice of the output are listed first.

A thread for each cell, or 16 bytes of a row, folds its points in the order of the list, over base, and stores the result.  Of a
long list that would be a wait for memory after the other: a block reads many rows at once to shared memory, from which a thread
for each cell folds them.

Bytes of memory, besides those of :mod:`gscompile.schedules.cuda.lists`, for a slice of r bytes: r of src, and 4, for each point,
r of base and r written for each slice.  Where slices are more than ``SLICES_PER_POINT`` times the points, most lists would be of
none, and :mod:`gscompile.schedules.cuda.ordered` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from gscompile.ir import tir as T
from gscompile.ir.dims import ceildiv, product
from gscompile.ir.nests import Nest
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.scattering import Lane, ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.cuda.check import checked, guarded
from gscompile.schedules.cuda.choices import BLOCK, UNDERWAY
from gscompile.schedules.cuda.launch import coordinates, over, resident
from gscompile.schedules.cuda.lists import Lists
from gscompile.schedules.cuda.numbers import (
    LIST_STEPS,
    LIST_THREADS,
    LIST_UNITS,
    ORDERED_POINTS,
    SHARED_BYTES,
    SLICES_PER_POINT,
)
from gscompile.schedules.cuda.ordered import by_owners, in_order
from gscompile.schedules.cuda.owners import position_of, slices
from gscompile.schedules.cuda.points import Point, extents, slice_axes, where
from gscompile.schedules.cuda.runs import RowsAdded
from gscompile.schedules.cuda.vectors import COPY, by_words, moved
from gscompile.schedules.loops import ravel, storage
from gscompile.schedules.rule import Checked, Context

if TYPE_CHECKING:
    from typing_extensions import Self

ZERO = T.const(0)


class Listed:
    """See the module's text."""

    name = "listed"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest) or not in_order(nest, ctx) or not ctx.target.cooperative:
            return None
        points, cells = product(extents(nest, slice_axes(nest))), product(slices(nest))
        if nest.op.overlapping or (isinstance(points, int) and points <= ORDERED_POINTS) or product(nest.shape) == 0:
            return None
        if sum(lane.dtype.itemsize for lane in nest.lanes) * LIST_THREADS > SHARED_BYTES:
            return None
        ctx = guarded(ctx, nest)
        many = ctx.sizes(cells) <= ctx.sizes(points * SLICES_PER_POINT)
        known = T.constant_value(many)
        if known is not None and not known:
            return None
        listed = _Folds.of(nest, ctx).statement()
        return checked(nest, listed if known else T.if_(many, listed, by_owners(nest, ctx)))


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the tensors that points go to.

    Attributes:
        acc: dtype of a cell while its points are folded.
        total, values, result: registers for a thread's cells.
        staged: shared memory for what a block's threads have read.
    """

    lane: Lane
    acc: DType
    total: Buffer
    values: Buffer
    result: Buffer
    staged: Buffer

    def value(self, p: Point) -> Expr:
        """What a point brings, of dtype ``acc``."""
        return _brought(self.lane, self.acc, p)


def _brought(lane: Lane, acc: DType, p: Point) -> Expr:
    return cast(lane.src(p.grid, p.window), lane.dtype, acc)


@dataclass(frozen=True, slots=True)
class _Folds:
    """Folds of points in the order of lists.

    Attributes:
        parts: the tensors, of :meth:`own`.
        rows: what reads neighbours of a row at once; None where points do not come in rows.
        n: these neighbours, or 1.
        most: points that a thread has read before it folds any, where a list has as many.
    """

    nest: ScatterNest
    ctx: Context
    lists: Lists
    parts: tuple[_Part, ...]
    rows: RowsAdded | None
    n: int
    most: int

    @classmethod
    def of(cls, nest: ScatterNest, ctx: Context) -> Self:
        lane, acc = Lane(nest.dtype, nest.out, nest.base, nest.src), nest.op.accumulator(nest.dtype)
        rows = None if nest.lanes else RowsAdded.of(nest, ctx, nest.out, acc, partial(_brought, lane, acc))
        n = rows.n if rows is not None and len(nest.shape) - 1 in nest.covered else 1
        most = ctx.choose(UNDERWAY) * (1 if nest.lanes else LIST_STEPS)
        return cls(nest, ctx, Lists.of(nest, ctx), (), None if rows is None else replace(rows, n=n), n, most)

    def own(self) -> Self:
        """The same with registers and shared memory for a kernel of its own."""
        nest, n = self.nest, self.n

        def part(k: int, lane: Lane, acc: DType) -> _Part:
            def buffer(name: str, size: int, dtype: DType, scope: str) -> Buffer:
                return T.buffer(f"{name}{k}", [size], dtype.tir, align=16, scope=scope)

            return _Part(
                lane,
                acc,
                total=buffer("total", n, acc, "local"),
                values=buffer("values", self.most * n, acc, "local"),
                result=buffer("result", n, lane.dtype, "local"),
                staged=buffer("staged", LIST_THREADS * n, acc, "shared"),
            )

        acc = nest.op.accumulator(nest.dtype)
        alone = (Lane(nest.dtype, nest.out, nest.base, nest.src),)
        parts = (part(k, x, x.dtype if nest.lanes else acc) for k, x in enumerate(nest.lanes or alone))
        return replace(self, parts=tuple(parts))

    def statement(self) -> Stmt:
        """All kernels."""
        return T.seq(self.lists.made(), self.short_lists(), self.own().long_lists())

    def short_lists(self) -> Stmt:
        """A thread for each cell, or n neighbours in a row."""
        nest, lists, n = self.nest, self.lists, self.n
        box = (*nest.shape[:-1], nest.shape[-1] // n) if nest.shape else ()

        def thread(c: list[Expr], _: Expr) -> Stmt:
            if n > 1:
                c[-1] = c[-1] * n
            cell = lists.slice_number(c)

            def fold(count: Expr) -> Stmt:
                begin = T.int64(T.load(lists.places, cell))
                short = T.registers("begin", [begin], lambda x: self.own().short_list(c, count, x[0]))
                return T.if_(lists.is_short(count), short)

            folded = T.registers("count", [T.load(lists.counts, cell)], lambda x: fold(*x))
            return resident(self.ctx.choose(BLOCK), folded)

        return over(self.ctx, box, thread)

    def short_list(self, c: list[Expr], count: Expr, begin: Expr) -> Stmt:
        """A thread folds the list of a cell, or of n neighbours in a row."""
        nest, n, most, underway = self.nest, self.n, self.most, self.ctx.choose(UNDERWAY)

        def each(body: Callable[[Expr], Stmt]) -> Stmt:
            return T.for_(n, body, "q") if n > 1 else body(ZERO)

        def several(first: Expr, count: Expr, together: int) -> Stmt:
            """So many points, or as many as there are."""
            at = [first + u for u in range(together)]
            there = [None if together > underway else k < count for k in at]
            found = [T.load(self.lists.ordered, begin + k) for k in at]
            numbers = [where(here, x, self.lists.number(0)) for here, x in zip(there, found, strict=True)]

            def take(u: int) -> Stmt:
                return each(lambda q: self.take(q, [T.load(p.values, q + u * n) for p in self.parts], at[u] == 0))

            def points(numbers: list[Expr]) -> Stmt:
                return T.seq(
                    *(T.if_(there[u], self.read(c, x, u)) for u, x in enumerate(numbers)),
                    *(T.if_(there[u], take(u)) for u in range(together)),
                )

            return T.registers("number", numbers, points)

        def folded(count: Expr, many: Expr) -> Stmt:
            rest = T.quotient(count - many + (underway - 1), T.const(underway))
            return T.seq(
                T.for_(T.quotient(many, T.const(most)), lambda s: several(s * most, count, most), "s"),
                T.for_(rest, lambda s: several(many + s * underway, count, underway), "s"),
            )

        points = [T.int64(count), T.quotient(T.int64(count), T.const(most)) * most if most > underway else ZERO]
        # it is a multiple, which TVM does not know
        place = T.quotient(ravel(c, nest.shape, self.ctx.sizes), T.const(n)) * n
        changed = None if nest.in_place is None else T.any_of([T.not_(nest.in_place), count > self.lists.number(0)])
        return T.seq(
            *(T.allocate(x) for p in self.parts for x in (p.total, p.values, p.result)),
            each(lambda q: self.begun([*c[:-1], c[-1] + q] if n > 1 else c, q)),
            T.registers("points", points, lambda x: folded(*x)),
            *(each(lambda q, p=p: T.store(p.result, [q], self.finished(p, q, count))) for p in self.parts),  # type: ignore[misc]
            T.if_(changed, T.seq(*(moved(p.lane.out, place, p.result, ZERO, n) for p in self.parts))),
        )

    def long_lists(self) -> Stmt:
        """A block for some columns of a slice with a long list, of which it reads as many rows at once as it has threads for."""
        nest, n = self.nest, self.n
        axes = sorted(nest.covered)
        width = product(nest.shape[a] for a in axes) // n
        units = min(LIST_UNITS, 1 << (width - 1).bit_length()) if isinstance(width, int) else LIST_UNITS
        rows, columns, each = LIST_THREADS // units, units * n, self.ctx.choose(UNDERWAY)
        extent = self.ctx.sizes(width)

        def thread(t: Expr, cell: Expr, count: Expr, begin: Expr, part: Expr) -> Stmt:
            whole = self.lists.coordinates(cell)

            def at(column: Expr) -> list[Expr]:
                own = dict(zip(axes, coordinates(self.ctx, column, tuple(nest.shape[a] for a in axes)), strict=True))
                return [own.get(a, x) for a, x in enumerate(whole)]

            unit = part * units + T.floormod(t, T.const(units))
            column = part * columns + t
            folds = T.all_of([t < columns, column < extent * n])

            def staging(s: Expr) -> Stmt:
                k = s * rows + T.floordiv(t, T.const(units))
                number = T.load(self.lists.ordered, begin + k)
                stage = T.seq(
                    T.registers("number", [number], lambda x: self.read(at(unit * n), x[0], 0)),
                    *(by_words(p.staged, t * n, p.values, ZERO, n, COPY) for p in self.parts),
                )

                def take(r: Expr) -> Stmt:
                    values = [T.load(p.staged, r * columns + t) for p in self.parts]
                    return self.take(ZERO, values, T.all_of([s == 0, r == 0]))

                def fold(there: Expr, many: Expr) -> Stmt:
                    def several(k: Expr) -> Stmt:
                        return T.seq(*(take(k * each + u) for u in range(each)))

                    rest = T.for_(there - many * each, lambda k: take(many * each + k), "r")
                    return T.seq(T.for_(many, several, "r"), rest)

                there = T.select(folds, T.minimum(count - s * rows, T.const(rows)), ZERO)
                return T.seq(
                    T.if_(T.all_of([k < count, unit < extent]), stage),
                    T.synchronize_block(),
                    T.registers("there", [there, T.quotient(there, T.const(each))], lambda x: fold(*x)),
                    T.synchronize_block(),
                )

            c = at(column)
            stores = T.seq(*(T.store(p.lane.out, storage(c), self.finished(p, ZERO, count)) for p in self.parts))
            return T.seq(
                *(T.allocate(x) for p in self.parts for x in (p.total, p.values)),
                T.if_(folds, self.begun(c, ZERO)),
                T.for_(T.quotient(count + (rows - 1), T.const(rows)), staging, "s"),
                T.if_(folds, stores),
            )

        return self.lists.each_long(ceildiv(width, units), [p.staged for p in self.parts], thread)

    def begun(self, c: list[Expr], q: Expr) -> Stmt:
        """A cell's totals are what it begins with."""

        def base(p: _Part) -> Expr:
            value = p.lane.base(c)
            if self.nest.in_place is not None:
                value = T.if_then_else(self.nest.in_place, T.load(p.lane.out, *storage(c)), value)
            return cast(value, p.lane.dtype, p.acc)

        return T.seq(*(T.store(p.total, [q], base(p)) for p in self.parts))

    def read(self, c: list[Expr], number: Expr, u: int) -> Stmt:
        """What the point with a number brings to a cell, or to neighbours in a row: the values with that number."""
        point = Point(number, *position_of(self.nest, self.ctx, number, c), c)
        if self.rows is not None:
            return self.rows.read(point, self.parts[0].values, u)
        return T.seq(*(T.store(p.values, [T.const(u)], p.value(point)) for p in self.parts))

    def take(self, q: Expr, values: list[Expr], first: Expr | None) -> Stmt:
        """A point's values are taken in, those of the first one of a list perhaps."""
        op, totals = self.nest.op, [T.load(p.total, q) for p in self.parts]

        def store(results: list[Expr]) -> Stmt:
            return T.seq(*(T.store(p.total, [q], x) for p, x in zip(self.parts, results, strict=True)))

        if self.nest.lanes:
            dtypes = [p.lane.dtype for p in self.parts]
            return T.lets(
                "old", totals, lambda old: T.lets("new", values, lambda new: op.reduction.step(dtypes, old, new, store))
            )
        new = op.reduction.combine(self.parts[0].acc, totals[0], values[0])
        return store([new if op.include_self or first is None else T.select(first, values[0], new)])

    def finished(self, p: _Part, q: Expr, count: Expr) -> Expr:
        """A cell's result."""
        total = T.load(p.total, q)
        return total if self.nest.lanes else self.nest.op.finish(p.lane.dtype, total, count)
