"""Scatters along the last axis, of many points and few cells: points go to several accumulators of each cell in turns.

A point that meets the cell of the one before it waits for what that has stored, 8 to 11 cycles; of few cells every other point
does.  34 by 3 rows of 18,167 products of int32, 3 cells each: a thread 1.5 ns a point, so 1.1.
"""

from __future__ import annotations

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
from gscompile.schedules.llvm.costs import accumulator_ways, pays
from gscompile.schedules.llvm.numbers import POINTS_PER_TURN, TURN_CELLS
from gscompile.schedules.llvm.staged import combined, identity, keeps_order, separable
from gscompile.schedules.rule import Context


@dataclass(frozen=True, slots=True)
class Turns:
    """A scatter of single elements whose last axis only is indexed, row by row.

    Attributes:
        acc: dtype of partial results.
        totals: where they are.
        flag: whether an index is out of range.
        component: which one of an index vector it is.
        ways: accumulators of a cell.
    """

    nest: ScatterNest
    ctx: Context
    acc: DType
    totals: Buffer
    flag: Flag
    component: int
    ways: int

    @staticmethod
    def of(nest: ScatterNest, ctx: Context, acc: DType, totals: Buffer, flag: Flag) -> Turns | None:
        """None where it is no such scatter, or the order of the points matters."""
        m = nest.op.addressing.map
        *outer, last = m.sources or [None]
        single = not (nest.window or nest.lanes or nest.op.reduction.replaces)
        along = (
            isinstance(last, Indexed) and last.window is None and list(m.layout) == [("index", j) for j in m.grid_axes]
        )
        same = [s.axis if isinstance(s, Shared) else None for s in outer] == list(m.grid_axes[:-1])
        if not (single and along and same and separable(nest, ctx)) or keeps_order(nest.op.reduction, acc):
            return None
        assert isinstance(last, Indexed)
        return Turns(nest, ctx, acc, totals, flag, last.component, accumulator_ways(acc.is_integer))

    @property
    def cells(self) -> Dim:
        """Of a row."""
        return self.nest.shape[-1]

    @property
    def pay(self) -> Condition:
        """Whether the cells are few, and the points of each many."""
        each = self.cells * self.ways
        return pays(self.ctx, (TURN_CELLS - each, 0), (self.nest.grid[-1] - each * POINTS_PER_TURN, 0))

    def row(self, lead: list[Expr]) -> Stmt:
        """The points of a row, by its coordinates on all axes but the last."""
        nest, ways, sizes = self.nest, self.ways, self.ctx.sizes
        turns = T.buffer("turns", [TURN_CELLS], self.acc.tir, align=64)
        cells, points = sizes(self.cells), sizes(nest.grid[-1])
        whole = T.quotient(points, T.const(ways))

        def point(p: Expr, way: int) -> Stmt:
            grid = [*lead, p]
            starts, ok = nest.starts(grid)

            def add(names: list[Expr]) -> Stmt:
                at = names[self.component] * ways + way
                value = cast(nest.src(grid, []), nest.dtype, self.acc)
                new = combined(nest, self.acc, T.load(turns, at), value)
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
