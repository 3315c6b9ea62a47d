"""Scatters of single elements along the last axis, row by row.

In turns, where points are many and cells few: points go to several accumulators of each cell.  A point that meets the cell of
the one before it waits for what that has stored, 8 to 11 cycles; of few cells every other point does.  34 by 3 rows of 18,167
products of int32, 3 cells each: a thread 1.5 ns a point, so 1.1.

In lists, where the cells of a row stay in a core's caches: the cells of a block's points, and their values, are listed by
vectors first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim
from gscompile.ir.index_map import Indexed, Shared
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.decisions import Condition
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.costs import pays
from gscompile.schedules.llvm.numbers import LISTED_POINTS, MOST_WAYS, POINTS_PER_TURN, TURN_CELLS
from gscompile.schedules.llvm.staged import combined, identity, in_lists, keeps_order, near_cells, separable
from gscompile.schedules.rule import Context


@dataclass(frozen=True, slots=True)
class LastAxis:
    """A scatter of single elements whose last axis only is indexed.

    Attributes:
        acc: dtype of partial results.
        totals: where they are.
        flag: whether an index is out of range.
        component: which one of an index vector it is.
    """

    nest: ScatterNest
    ctx: Context
    acc: DType
    totals: Buffer
    flag: Flag
    component: int

    @staticmethod
    def of(nest: ScatterNest, ctx: Context, acc: DType, totals: Buffer, flag: Flag) -> LastAxis | None:
        """None where it is no such scatter."""
        m = nest.op.addressing.map
        *outer, last = m.sources or [None]
        single = not (nest.window or nest.lanes or nest.op.reduction.replaces)
        along = (
            isinstance(last, Indexed) and last.window is None and list(m.layout) == [("index", j) for j in m.grid_axes]
        )
        same = [s.axis if isinstance(s, Shared) else None for s in outer] == list(m.grid_axes[:-1])
        if not (single and along and same):
            return None
        assert isinstance(last, Indexed)
        return LastAxis(nest, ctx, acc, totals, flag, last.component)

    @property
    def cells(self) -> Dim:
        """Of a row."""
        return self.nest.shape[-1]

    @property
    def turns(self) -> Condition:
        """Whether points go to accumulators in turns: their order does not matter, cells are few, and points of each many."""
        if not separable(self.nest, self.ctx) or keeps_order(self.nest.op.reduction, self.acc):
            return False
        each = self.cells * MOST_WAYS
        return pays(self.ctx, (TURN_CELLS - each, 0), (self.nest.grid[-1] - each * POINTS_PER_TURN, 0))

    @property
    def near(self) -> bool:
        """Whether the cells of a row are known to stay in a core's caches.

        A million sums of float32 into 1,000 rows of 1,000: 1.02 ms, by lists 0.87; of int16, rows of 256, 0.69, 0.49.
        """
        points = self.nest.grid[-1]
        long = isinstance(points, int) and points >= LISTED_POINTS and self.acc.itemsize < 8
        return long and near_cells(self.ctx, self.cells, self.acc)

    def value(self, grid: list[Expr]) -> Expr:
        """What a point brings, as partial results are kept."""
        return cast(self.nest.src(grid, []), self.nest.dtype, self.acc)

    def in_lists(self, lead: list[Expr]) -> Stmt:
        """The points of a row, by its coordinates on all axes but the last."""
        nest = self.nest

        def find(p: Expr, put: Callable[[Expr], Stmt]) -> Stmt:
            starts, ok = nest.starts([*lead, p])

            def at(names: list[Expr]) -> Stmt:
                place = names[self.component]
                return put(place if ok is None else T.select(ok, place, T.const(-1)))

            return T.seq(self.flag.test([*lead, p]), T.lets("start", starts, at))

        def add(place: Expr, value: Expr) -> Stmt:
            new = combined(nest, self.acc, T.load(self.totals, *lead, place), value)
            # an index may have changed between its test and its place
            inside = T.all_of([T.const(0) <= place, place < self.ctx.sizes(self.cells)])
            ok = nest.starts([*lead, T.const(0)])[1]
            return T.if_(None if ok is None else inside, T.store(self.totals, [*lead, place], new))

        points = self.ctx.sizes(nest.grid[-1])
        return in_lists(T.const(0), points, LISTED_POINTS, find, lambda p: self.value([*lead, p]), self.acc, add)

    def in_turns(self, lead: list[Expr]) -> Stmt:
        """The same."""
        nest, ways, sizes = self.nest, MOST_WAYS, self.ctx.sizes
        turns = T.buffer("turns", [TURN_CELLS], self.acc.tir, align=64)
        cells, points = sizes(self.cells), sizes(nest.grid[-1])
        whole = T.quotient(points, T.const(ways))

        def point(p: Expr, way: int) -> Stmt:
            grid = [*lead, p]
            starts, ok = nest.starts(grid)

            def add(names: list[Expr]) -> Stmt:
                at = names[self.component] * ways + way
                new = combined(nest, self.acc, T.load(turns, at), self.value(grid))
                return T.if_(ok, T.store(turns, [at], new))

            return T.seq(self.flag.test(grid), T.lets("start", starts, add))

        def group(q: Expr) -> Stmt:
            return T.seq(*(point(q * ways + k, k) for k in range(ways)))

        def settle(c: Expr) -> Stmt:
            total = T.load(self.totals, *lead, c)
            for k in range(ways):
                total = nest.op.reduction.combine(self.acc, total, T.load(turns, c * ways + k))
            return T.store(self.totals, [*lead, c], total)

        return T.seq(
            T.allocate(turns),
            T.for_(cells * ways, lambda k: T.store(turns, [k], identity(nest, self.acc)), "k"),
            T.for_(whole, group, "group", one_copy=True),
            T.for_(points - whole * ways, lambda k: point(whole * ways + k, 0), "p", one_copy=True),
            T.for_(cells, settle, "c"),
        )
