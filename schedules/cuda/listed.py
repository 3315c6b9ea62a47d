"""Scatters in row-major order on cuda where points are many: the points of each slice of the output are listed first.

A thread for each cell, or 16 bytes of a row, folds its points in the order of the list, over base, and stores the result.  Of a
long list that would be a wait for memory after the other: a block reads many rows at once to shared memory, from which a thread
for each cell folds them.

Bytes of memory, besides those of :mod:`gscompile.schedules.cuda.lists`, for a slice of r bytes: r of src, and 4, for each point,
r of base and r written for each slice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gscompile.ir import tir as T
from gscompile.ir.dims import ceildiv, product
from gscompile.ir.nests import Nest
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.cuda.check import checked, guarded
from gscompile.schedules.cuda.choices import UNDERWAY
from gscompile.schedules.cuda.launch import coordinates, over
from gscompile.schedules.cuda.lists import Lists
from gscompile.schedules.cuda.numbers import LIST_STEPS, LIST_THREADS, LIST_UNITS, ORDERED_POINTS
from gscompile.schedules.cuda.ordered import in_order
from gscompile.schedules.cuda.owners import position_of
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
        points = product(extents(nest, slice_axes(nest)))
        if nest.op.overlapping or nest.lanes or (isinstance(points, int) and points <= ORDERED_POINTS):
            return None
        return checked(nest, _Folds.of(nest, guarded(ctx, nest)).statement())


@dataclass(frozen=True, slots=True)
class _Folds:
    """Folds of points in the order of lists.

    Attributes:
        acc: dtype of a cell while its points are folded.
        value: what a point brings, of that dtype.
        rows: what reads neighbours of a row at once; None where points do not come in rows.
        n: these neighbours, or 1.
    """

    nest: ScatterNest
    ctx: Context
    lists: Lists
    acc: DType
    value: Callable[[Point], Expr]
    rows: RowsAdded | None
    n: int

    @classmethod
    def of(cls, nest: ScatterNest, ctx: Context) -> Self:
        acc = nest.op.accumulator(nest.dtype)

        def value(p: Point) -> Expr:
            return cast(nest.src(p.grid, p.window), nest.dtype, acc)

        rows = RowsAdded.of(nest, ctx, nest.out, acc, value)
        n = rows.n if rows is not None and len(nest.shape) - 1 in nest.covered else 1
        return cls(nest, ctx, Lists.of(nest, ctx), acc, value, None if rows is None else replace(rows, n=n), n)

    def statement(self) -> Stmt:
        """All kernels."""
        return T.seq(self.lists.made(), self.short_lists(), self.long_lists())

    def short_lists(self) -> Stmt:
        """A thread for each cell, or n neighbours in a row."""
        nest, lists, n = self.nest, self.lists, self.n
        box = (*nest.shape[:-1], nest.shape[-1] // n) if nest.shape else ()

        def thread(c: list[Expr], _: Expr) -> Stmt:
            if n > 1:
                c[-1] = c[-1] * n
            cell = lists.slice_number(c)

            def fold(count: Expr) -> Stmt:
                begin = T.int64(lists.begin(cell, count))
                short = T.registers("begin", [begin], lambda x: self.short_list(c, count, x[0]))
                return T.if_(lists.is_short(count), short)

            return T.registers("count", [T.load(lists.counts, cell)], lambda x: fold(*x))

        return over(self.ctx, box, thread)

    def short_list(self, c: list[Expr], count: Expr, begin: Expr) -> Stmt:
        """A thread folds the list of a cell, or of n neighbours in a row."""
        nest, n, underway = self.nest, self.n, self.ctx.choose(UNDERWAY)
        most = underway * LIST_STEPS
        total = T.buffer("total", [n], self.acc.tir, align=16, scope="local")
        values = T.buffer("values", [most * n], self.acc.tir, align=16, scope="local")
        result = T.buffer("result", [n], nest.dtype.tir, align=16, scope="local")

        def beside(q: Expr) -> list[Expr]:
            return [*c[:-1], c[-1] + q] if n > 1 else c

        def each(body: Callable[[Expr], Stmt]) -> Stmt:
            return T.for_(n, body, "q") if n > 1 else body(ZERO)

        def several(first: Expr, count: Expr, together: int) -> Stmt:
            """So many points, or as many as there are."""
            at = [first + u for u in range(together)]
            there = [None if together > underway else k < count for k in at]
            found = [T.load(self.lists.ordered, begin + k) for k in at]
            numbers = [where(here, x, self.lists.number(0)) for here, x in zip(there, found, strict=True)]

            def take(u: int) -> Stmt:
                return each(lambda q: self.take(total, q, T.load(values, q + u * n), at[u] == 0))

            def points(numbers: list[Expr]) -> Stmt:
                return T.seq(
                    *(T.if_(there[u], self.read(c, x, values, u)) for u, x in enumerate(numbers)),
                    *(T.if_(there[u], take(u)) for u in range(together)),
                )

            return T.registers("number", numbers, points)

        def folded(count: Expr, many: Expr) -> Stmt:
            rest = T.quotient(count - many + (underway - 1), T.const(underway))
            return T.seq(
                T.for_(T.quotient(many, T.const(most)), lambda s: several(s * most, count, most), "s"),
                T.for_(rest, lambda s: several(many + s * underway, count, underway), "s"),
            )

        points = [T.int64(count), T.quotient(T.int64(count), T.const(most)) * most]
        place = (
            T.quotient(ravel(c, nest.shape, self.ctx.sizes), T.const(n)) * n
        )  # it is a multiple, which TVM does not know
        changed = None if nest.in_place is None else T.any_of([T.not_(nest.in_place), count > self.lists.number(0)])
        return T.seq(
            *map(T.allocate, (total, values, result)),
            each(lambda q: T.store(total, [q], self.base(beside(q)))),
            T.registers("points", points, lambda x: folded(*x)),
            each(lambda q: T.store(result, [q], nest.op.finish(nest.dtype, T.load(total, q), count))),
            T.if_(changed, moved(nest.out, place, result, ZERO, n)),
        )

    def long_lists(self) -> Stmt:
        """A block for some columns of a slice with a long list, of which it reads as many rows at once as it has threads for."""
        nest, n = self.nest, self.n
        axes = sorted(nest.covered)
        width = product(nest.shape[a] for a in axes) // n
        units = min(LIST_UNITS, 1 << (width - 1).bit_length()) if isinstance(width, int) else LIST_UNITS
        rows, columns = LIST_THREADS // units, units * n
        staged = T.buffer("staged", [LIST_THREADS * n], self.acc.tir, align=16, scope="shared")
        values = T.buffer("values", [n], self.acc.tir, align=16, scope="local")
        total = T.buffer("total", [1], self.acc.tir, align=16, scope="local")
        extent = self.ctx.sizes(width)

        def block(t: Expr, cell: Expr, count: Expr, begin: Expr, part: Expr) -> Stmt:
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
                    T.registers("number", [number], lambda x: self.read(at(unit * n), x[0], values, 0)),
                    by_words(staged, t * n, values, ZERO, n, COPY),
                )

                def take(r: Expr) -> Stmt:
                    return self.take(total, ZERO, T.load(staged, r * columns + t), T.all_of([s == 0, r == 0]))

                there = T.select(folds, T.minimum(count - s * rows, T.const(rows)), ZERO)
                return T.seq(
                    T.if_(T.all_of([k < count, unit < extent]), stage),
                    T.synchronize_block(),
                    T.for_(there, take, "r"),
                    T.synchronize_block(),
                )

            c = at(column)
            result = nest.op.finish(nest.dtype, T.load(total, ZERO), count)
            return T.seq(
                T.if_(folds, T.store(total, [ZERO], self.base(c))),
                T.for_(T.quotient(count + (rows - 1), T.const(rows)), staging, "s"),
                T.if_(folds, T.store(nest.out, storage(c), result)),
            )

        def thread(*known: Expr) -> Stmt:
            return T.seq(T.allocate(values), T.allocate(total), block(*known))

        return self.lists.each_long(ceildiv(width, units), [staged], thread)

    def base(self, c: list[Expr]) -> Expr:
        """What a cell begins with."""
        value = self.nest.base(c)
        if self.nest.in_place is not None:
            value = T.if_then_else(self.nest.in_place, T.load(self.nest.out, *storage(c)), value)
        return cast(value, self.nest.dtype, self.acc)

    def read(self, c: list[Expr], number: Expr, values: Buffer, u: int) -> Stmt:
        """What the point with a number brings to a cell, or to neighbours in a row: the values with that number."""
        point = Point(number, *position_of(self.nest, self.ctx, number, c), c)
        return (
            T.store(values, [T.const(u)], self.value(point)) if self.rows is None else self.rows.read(point, values, u)
        )

    def take(self, total: Buffer, q: Expr, value: Expr, first: Expr | None) -> Stmt:
        """A value is taken in, the first one of a list perhaps."""
        op, old = self.nest.op, T.load(total, q)
        new = op.reduction.combine(self.acc, old, value)
        return T.store(total, [q], new if op.include_self or first is None else T.select(first, value, new))
