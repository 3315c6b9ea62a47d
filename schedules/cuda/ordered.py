"""Scatters in row-major order on cuda: those whose floats would round differently in another order, and update computations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, product
from gscompile.ir.index_map import Indexed, Place, Shared
from gscompile.ir.nests import Nest
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES, DType
from gscompile.schedules.cuda.check import checked, guarded, if_valid
from gscompile.schedules.cuda.fills import filled
from gscompile.schedules.cuda.launch import over
from gscompile.schedules.cuda.numbers import ORDERED_RANGES, ORDERED_THREADS
from gscompile.schedules.cuda.points import extents, over_cells
from gscompile.schedules.cuda.scatter import copy_base
from gscompile.schedules.loops import assumed, nested, storage
from gscompile.schedules.rule import Checked, Context


def in_order(nest: ScatterNest, ctx: Context) -> bool:
    """Whether points must be taken in row-major order; integers give the same in any."""
    return nest.op.reduction.ordered or (nest.dtype.is_float and (ctx.deterministic or nest.op.deterministic))


class Ordered:
    """A thread owns one position on every shared axis and on every window, and a range on one indexed axis."""

    name = "ordered"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest) or not in_order(nest, ctx):
            return None
        return checked(nest, by_owners(nest, guarded(ctx, nest)))


def by_owners(nest: ScatterNest, ctx: Context) -> Stmt:
    """The kernels."""
    return _Ordered.of(nest, ctx, Owned.whole() if nest.op.overlapping else Owned.of(nest)).statement()


@dataclass(frozen=True, slots=True)
class Owned:
    """What one thread owns.

    Attributes:
        places: the axes of the points on which it owns one position.
        ranged: the indexed axis of the output on which it owns a range.
        ranges: how many ranges that axis is cut into.
    """

    places: tuple[Place, ...]
    ranged: int | None
    ranges: Dim

    @staticmethod
    def whole() -> Owned:
        """Everything: where slices may overlap in part, the order of all points is the only one there is."""
        return Owned((), None, 1)

    @staticmethod
    def of(nest: ScatterNest) -> Owned:
        """One position on every shared axis and every window, and a range on the longest indexed axis."""
        m = nest.op.addressing.map
        shared = sorted({s.axis for s in m.sources if isinstance(s, Shared)})
        index: list[Place] = [("index", j) for j in shared]
        window: list[Place] = [("window", w) for w in range(len(nest.window))]
        places = (*index, *window)
        columns = product(extents(nest, places))
        ranged = max(m.indexed_axes, key=lambda a: assumed(nest.shape[a]), default=None)
        if ranged is None:
            return Owned(places, None, 1)
        extent = nest.shape[ranged]
        most = ORDERED_RANGES
        if isinstance(columns, int) and columns > 0:
            most = max(1, ORDERED_THREADS // columns)
        return Owned(places, ranged, max(min(most, extent), 1) if isinstance(extent, int) else most)


@dataclass(frozen=True, slots=True)
class _Ordered:
    """A scatter whose threads take the points of their cells in row-major order.

    Attributes:
        acc: dtype of the totals.
        totals: the output, or scratch of a wider dtype.
        counts: of the points in a cell, if they matter.
    """

    nest: ScatterNest
    ctx: Context
    owned: Owned
    acc: DType
    totals: Buffer
    counts: Buffer | None

    @staticmethod
    def of(nest: ScatterNest, ctx: Context, owned: Owned) -> _Ordered:
        op, shape = nest.op, nest.shape or (1,)
        acc = op.accumulator(nest.dtype)
        totals = nest.out if acc == nest.dtype else ctx.workspace(f"{nest.name}_totals", shape, acc)
        counts = ctx.workspace(f"{nest.name}_counts", shape, DTYPES["int32"]) if op.counts else None
        return _Ordered(nest, ctx, owned, acc, totals, counts)

    def statement(self) -> Stmt:
        """The scatter, as several kernels."""
        nest, ctx = self.nest, self.ctx
        units = (*extents(nest, self.owned.places), self.owned.ranges)
        others = [replace(nest, dtype=x.dtype, out=x.out, base=x.base) for x in nest.lanes if x.out is not nest.out]
        return T.seq(
            copy_base(nest, ctx, self.totals, self.acc),
            *(copy_base(other, ctx, other.out, other.dtype) for other in others),
            self.clear(),
            over(ctx, units, lambda unit, _: self.thread(unit)),
            self.settle(),
        )

    def clear(self) -> Stmt | None:
        """Set the counts to 0."""
        counts = self.counts
        if counts is None:
            return None
        return filled(self.ctx, counts, self.nest.shape, T.const(0, "int32"))

    def thread(self, unit: list[Expr]) -> Stmt:
        """The points that may go to a thread's cells, in row-major order."""
        nest, owned = self.nest, self.owned
        known = dict(zip(owned.places, unit, strict=False))
        rest = [key for key in nest.op.addressing.map.layout if key not in owned.places]
        inside = self.inside(unit[-1])
        loops = self.ctx.sizes.shape(extents(nest, rest))
        return nested("p", loops, lambda p: self.point(known | dict(zip(rest, p, strict=True)), inside))

    def inside(self, number: Expr) -> Callable[[list[Expr]], list[Expr]]:
        """Whether a slice begins in the range of a number: a function of its starts."""
        axis = self.owned.ranged
        if axis is None:
            return lambda starts: []
        source = self.nest.op.addressing.map.sources[axis]
        assert isinstance(source, Indexed)
        component = source.component
        extent, n = self.ctx.sizes(self.nest.shape[axis]), self.ctx.sizes(self.owned.ranges)
        lo, hi = T.floordiv(extent * number, n), T.floordiv(extent * (number + 1), n)
        return lambda starts: [lo <= starts[component], starts[component] < hi]

    def point(self, at: dict[Place, Expr], inside: Callable[[list[Expr]], list[Expr]]) -> Stmt:
        """What a point does to its cell, if that is the thread's."""
        nest, op, counts = self.nest, self.nest.op, self.counts
        grid = [at["index", j] for j in op.addressing.map.grid_axes]
        window = [at["window", w] for w in range(len(nest.window))]
        starts, ok = nest.starts(grid)
        cell = storage(nest.cell(starts, grid, window))
        taken = T.all_of([ok, *inside(starts)])
        if nest.lanes:
            return if_valid(nest.check, grid, self.ctx, T.if_(taken, nest.combine(cell, grid, window)))
        value = cast(nest.src(grid, window), nest.dtype, self.acc)
        new = op.reduction.combine(self.acc, T.load(self.totals, *cell), value)
        if not op.include_self and counts is not None:
            new = T.select(T.load(counts, *cell) == 0, value, new)
        count = None
        if counts is not None:
            count = T.store(counts, cell, T.load(counts, *cell) + T.const(1, "int32"))
        return if_valid(nest.check, grid, self.ctx, T.if_(taken, T.seq(T.store(self.totals, cell, new), count)))

    def settle(self) -> Stmt | None:
        """Make results of the totals; None where they are."""
        nest, op, counts = self.nest, self.nest.op, self.counts
        if not (op.reduction.averaged or self.totals is not nest.out):
            return None

        def cell(c: list[Expr]) -> Stmt:
            count = None if counts is None else T.load(counts, *storage(c))
            total = T.load(self.totals, *storage(c))
            return T.store(nest.out, storage(c), op.finish(nest.dtype, total, count))

        return over_cells(self.ctx, nest.shape, cell)
