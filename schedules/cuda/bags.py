"""Folds of rows that an index finds: bags of embeddings.  A warp takes a bag, a lane 16 bytes of a row.

As many lanes as rows have units of 16 bytes, up to 32, read a row, so that a warp reads several rows at once, and has
:data:`UNDERWAY` times as many underway.  Of 32 rows it reads the indices at once, a lane each, which also tests it; shuffles
hand them to the lanes of their rows.  What lanes have of the same columns is merged by shuffles in the end.  The order of the
sums depends on sizes alone.

Per 16 bytes: as many read, 1 / (units of a row) of an index, a shuffle of it, and the fold of its elements.  A thread for each
column reads 4 bytes at once, and an index again for each 128 bytes of its row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.nests import Nest, ReduceNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.check import checked, guarded, test, valid
from gscompile.schedules.cuda.choices import BLOCK, UNDERWAY
from gscompile.schedules.cuda.groups import WARP, Group, groups
from gscompile.schedules.cuda.launch import resident
from gscompile.schedules.cuda.numbers import BAG_UNITS, SECTOR, SHORT_BAG, WARP_FOLD, fold_threads
from gscompile.schedules.cuda.reduce import in_parts, serial
from gscompile.schedules.cuda.vectors import moved
from gscompile.schedules.fold_parts import keeps_order
from gscompile.schedules.folds import fold_step, replaced
from gscompile.schedules.loops import by_number, number_in, ravel
from gscompile.schedules.rule import Checked, Context
from gscompile.schedules.runs import some_cell

ZERO = T.const(0)
UNIT = 16
"""Bytes that a lane reads at once."""


class Bags:
    """See the module's text."""

    name = "bags"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ReduceNest) or nest.inner or not ctx.target.cooperative:
            return None
        if keeps_order(nest, ctx):
            return None
        if nest.partial is None or [d.bits in (32, 64) for d, _ in nest.partial.initial] != [True]:
            return None  # what shuffles move
        ctx = guarded(ctx, nest)
        found = _Rows.of(nest, ctx)
        if found is None or T.element_dtype(found.table) == "bool":
            return None  # TVM has no vectors of bool for cuda
        width = nest.shape[-1]
        n = UNIT // T.itemsize(found.table)
        units = math.gcd(width // n, WARP) if isinstance(width, int) else BAG_UNITS
        if isinstance(width, int) and (width % n or units * UNIT < SECTOR):
            return None
        length = found.length([ZERO for _ in nest.shape])
        if length is None:
            return checked(nest, self.bags(found, n, units, None))
        if (T.constant_value(length) or SHORT_BAG + 1) <= SHORT_BAG:
            return None
        return checked(nest, self.bags(found, n, units, length))

    @staticmethod
    def bags(rows: _Rows, n: int, units: int, length: Expr | None) -> Stmt:
        """The kernel, or a choice between it and what folds columns.

        Args:
            length: rows of every bag; None where each has its own.
        """
        nest, ctx = rows.nest, rows.ctx
        width = ctx.sizes(nest.shape[-1])
        fits = [] if isinstance(nest.shape[-1], int) else [T.floormod(width, T.const(n * units)) == 0]
        if length is not None:  # few long ones are cut into parts
            lanes = T.quotient(ctx.sizes(product(nest.shape)), T.const(n))
            fits.append(T.any_of([length <= WARP_FOLD, lanes >= fold_threads(ctx.target)]))
        kernel, condition = rows.kernel(n, units), T.all_of(fits)
        known = 1 if condition is None else T.constant_value(condition)
        if known is not None and known:
            return kernel
        columns = serial(nest, ctx) if length is None else in_parts(nest, ctx) or serial(nest, ctx)
        return columns if known is not None else T.if_(condition, kernel, columns)


@dataclass(frozen=True, slots=True)
class _Rows:
    """A fold of rows of a table, each of which one element of an index finds.

    Attributes:
        there: (cell, row of the bag) -> the condition under which the table is read, and the coordinates.
        place: (cell, row of the bag) -> where the index is read.
    """

    nest: ReduceNest
    ctx: Context
    table: Buffer
    index: Buffer
    there: Callable[[list[Expr], Expr], tuple[Expr | None, list[Expr]]]
    place: Callable[[list[Expr], Expr], list[Expr]]

    @staticmethod
    def of(nest: ReduceNest, ctx: Context) -> _Rows | None:
        """None for another fold."""
        assert nest.partial is not None
        fold, c, r = replace(nest, step=nest.partial.step), some_cell(nest.shape), T.var("r")
        if not c or len(nest.ranges(c)) != 1:
            return None
        acc = _registers("acc", nest.partial.initial[0][0].name, 1)

        def reads(c: list[Expr], r: Expr) -> list[tuple[Expr | None, Buffer, list[Expr]]]:
            """Those of the table, which are by way of an index."""
            (value,) = fold.step([T.load(acc, ZERO)], c, [r])
            return [x for x in T.reads(value) if any(T.loads_of(at) for at in x[2])]

        found = reads(c, r)
        if len(found) != 1:
            return None
        condition, table, at = found[0]
        indices = [load for x in at[:-1] for load in T.all_loads(x)]
        column = c[-1]
        own = [*at[:-1], *([] if condition is None else [condition])]
        if not indices or nest.shape[-1] == 1 or any(T.uses(x, [column]) for x in own):
            return None
        index, where = indices[0]
        same = all(b.same_as(index) and all(map(T.same_expr, x, where)) for b, x in indices)
        every = [b for b, _ in T.all_loads(fold.step([T.load(acc, ZERO)], c, [r])[0]) if b.same_as(table)]
        rows = T.constant_value(at[-1] - column) == 0 and len(every) == 1
        whole = T.constant_value(T.extents(table)[-1] - ctx.sizes(nest.shape[-1])) == 0
        if not same or index.same_as(table) or not rows or not whole or any(T.loads_of(x) for x in where):
            return None

        def place(c: list[Expr], r: Expr) -> list[Expr]:
            return next(at for x in reads(c, r)[0][2][:-1] for _, at in T.all_loads(x))

        return _Rows(fold, ctx, table, index, lambda c, r: reads(c, r)[0][::2], place)

    def length(self, c: list[Expr]) -> Expr | None:
        """The rows of every bag; None where each has its own."""
        some = some_cell(self.nest.shape)
        ends = [x for pair in self.nest.ranges(some) for x in pair]
        if any(T.uses(x, some) for x in ends):
            return None
        ((lo, hi),) = self.nest.ranges(c)
        return hi - lo

    def kernel(self, n: int, units: int) -> Stmt:
        """A kernel with a warp for each bag and so many units, of n elements, of its columns."""
        nest, sides = self.nest, WARP // units
        underway = min(self.ctx.choose(UNDERWAY), units)
        box: Shape = (*nest.shape[:-1], nest.shape[-1] // (n * units))
        mine = _registers("mine", T.element_dtype(self.index), 1)
        got = _registers("got", T.element_dtype(self.index), underway)
        values = _registers("values", T.element_dtype(self.table), underway * n)
        assert nest.partial is not None
        ((dtype, first),) = nest.partial.initial
        acc, check = _registers("acc", dtype.name, n), nest.check

        def warp(group: Group, at: list[Expr]) -> Stmt:
            unit, side = T.floormod(group.lane, T.const(units)), T.floordiv(group.lane, T.const(units))
            c = [*at[:-1], (at[-1] * units + unit) * n]
            ((lo, hi),) = nest.ranges(c)

            def rows(begin: Expr, end: Expr) -> Stmt:
                """The next 32."""
                own = begin + group.lane
                report = test(check, nest.grid(c, [own]), self.ctx)
                taken = T.if_then_else(own < end, T.load(self.index, *self.place(c, own)), T.const(0, mine_dtype))

                def some(s: Expr) -> Stmt:
                    numbers = [s * (sides * underway) + u * sides + side for u in range(underway)]
                    return T.seq(
                        *(
                            T.store(got, [T.const(u)], T.from_lane(T.load(mine, ZERO), x))
                            for u, x in enumerate(numbers)
                        ),
                        *(self.read(c, begin + x, end, got, values, u, n) for u, x in enumerate(numbers)),
                        *(self.fold(c, begin + x, end, got, values, acc, u, n) for u, x in enumerate(numbers)),
                    )

                count = T.minimum(end - begin, T.const(WARP))
                return T.seq(
                    T.store(mine, [ZERO], taken),
                    None if report is None else T.if_(own < end, self.replaced(report, mine, ZERO)),
                    T.for_(T.quotient(count + (sides * underway - 1), T.const(sides * underway)), some, "s"),
                )

            def bag(begin: Expr, end: Expr) -> Stmt:
                blocks = T.maximum(T.quotient(end - begin + (WARP - 1), T.const(WARP)), ZERO)
                return T.for_(blocks, lambda k: rows(begin + k * WARP, end), "rows")

            fold = T.seq(
                *map(T.allocate, (mine, got, values, acc)),
                T.for_(n, lambda q: T.store(acc, [q], first), "q"),
                T.registers("end", [lo, hi], lambda e: bag(*e)),
                self.merged(acc, n, sides),
                T.if_(side == 0, self.stored(acc, c, n)),
            )
            # extremes look for NaNs, checks report, and ptxas would spill rather than give up a block
            integers = "int" in T.element_dtype(self.table)
            light = check is None and (T.constant_value(first) == 0 or (integers and dtype.is_float))
            return fold if light else resident(self.ctx.choose(BLOCK), fold)

        mine_dtype = T.element_dtype(self.index)
        return groups(self.ctx, box, WARP, warp)

    def replaced(self, stmt: Stmt, index: Buffer, at: Expr, value: Expr | None = None) -> Stmt:
        """A statement with what has been read in place of the index, and of the table."""

        def known(buf: Buffer, _: list[Expr]) -> Expr | None:
            if buf.same_as(self.index):
                return T.load(index, at)
            return value if buf.same_as(self.table) else None

        return T.with_loads(stmt, known)

    def taken(self, c: list[Expr], row: Expr, end: Expr, *more: Expr | None) -> Expr | None:
        """Whether a row takes part."""
        check = self.nest.check
        return T.all_of([row < end, None if check is None else valid(check, self.nest.grid(c, [row])), *more])

    def read(self, c: list[Expr], row: Expr, end: Expr, got: Buffer, values: Buffer, u: int, n: int) -> Stmt:
        """A lane's unit of a row."""
        condition, at = self.there(c, row)
        place = number_in(self.table, at)
        unit = moved(values, T.const(u * n), self.table, T.quotient(place, T.const(n)) * n, n)
        guarded = T.if_(self.taken(c, row, end, condition), unit)

        def known(buf: Buffer, _: list[Expr]) -> Expr | None:
            return T.load(got, T.const(u)) if buf.same_as(self.index) else None

        return T.with_loads(guarded, known)

    def fold(
        self, c: list[Expr], row: Expr, end: Expr, got: Buffer, values: Buffer, acc: Buffer, u: int, n: int
    ) -> Stmt:
        """A lane's unit of a row, taken in."""

        def one(q: Expr) -> Stmt:
            step = fold_step(self.nest, [acc], q, [*c[:-1], c[-1] + q], [row])
            return self.replaced(step, got, T.const(u), T.load(values, q + u * n))

        taken = T.if_(self.taken(c, row, end), T.for_(n, one, "q"))
        return self.replaced(taken, got, T.const(u))

    def merged(self, acc: Buffer, n: int, sides: int) -> Stmt:
        """What lanes have of the same columns goes to the first of them."""
        partial = self.nest.partial
        assert partial is not None

        def step(s: Expr) -> Stmt:
            distance = T.const(WARP // 2, "int32") >> T.cast("int32", s)

            def one(q: Expr) -> Stmt:
                other = T.from_lane_below(T.load(acc, q), distance)
                return T.let("other", other, lambda x: replaced([acc], q, partial.merge([T.load(acc, q)], [x])))

            return T.for_(n, one, "q")

        return T.for_(sides.bit_length() - 1, step, "s")

    def stored(self, acc: Buffer, c: list[Expr], n: int) -> Stmt:
        """A unit of cells."""
        nest, place = self.nest, ravel(c, self.nest.shape, self.ctx.sizes)
        cells = _registers("cells", nest.dtype.tir, n)

        def one(q: Expr) -> Stmt:
            return T.store(cells, [q], nest.finish([T.load(acc, q)], [*c[:-1], c[-1] + q]))

        if n * nest.dtype.itemsize <= UNIT:
            keep = moved(nest.out, T.quotient(place, T.const(n)) * n, cells, ZERO, n)
        else:
            keep = T.for_(n, lambda q: T.store(nest.out, by_number(place + q, nest.shape), T.load(cells, q)), "q")
        return T.seq(T.allocate(cells), T.for_(n, one, "q"), keep)


def _registers(name: str, dtype: str, count: int) -> Buffer:
    return T.buffer(name, [count], dtype, align=16, scope="local")
