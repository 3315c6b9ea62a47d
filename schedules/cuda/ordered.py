"""Scatters in row-major order on cuda: those whose floats would round differently in another, and update computations."""

from __future__ import annotations

from dataclasses import replace

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, product
from gscompile.ir.index_map import Indexed, Shared
from gscompile.ir.nests import Nest, ScatterNest
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.tir import Expr, Stmt
from gscompile.ir.types import DTYPES
from schedules.cuda.launch import launch
from schedules.cuda.points import at, over
from schedules.cuda.scatter import copy_base
from schedules.loops import nested, unravel
from schedules.rule import Context

ORDERED_THREADS = 16384  # enough to fill a GPU; more would read the indices more often


class Ordered:
    """A thread owns one position on every shared axis and on every window, and a range on one indexed axis."""

    name = "ordered"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest):
            return None
        # integers give the same in any order
        asked = nest.dtype.is_float and (ctx.deterministic or nest.op.deterministic)
        if not asked and not nest.op.reduction.ordered:
            return None
        return self.serial(nest, ctx) if nest.op.overlapping else self.owned(nest, ctx)

    def owned(self, nest: ScatterNest, ctx: Context) -> Stmt:
        m = nest.op.addressing.map
        shared = sorted({s.axis for s in m.sources if isinstance(s, Shared)})
        grid_extent = dict(zip(m.grid_axes, nest.grid, strict=True))
        owned: list[Dim] = [grid_extent[j] for j in shared]
        columns = product([*owned, *nest.window])
        ranged = max(m.indexed_axes, key=lambda a: _size(nest.shape[a]), default=None)
        ranges: Dim = 1
        if ranged is not None:
            extent = nest.shape[ranged]
            most = max(1, ORDERED_THREADS // columns) if isinstance(columns, int) and columns > 0 else 64
            ranges = min(most, extent) if isinstance(extent, int) else most
            ranges = max(ranges, 1) if isinstance(ranges, int) else ranges
        return self.loops(nest, ctx, shared, ranged, ranges)

    def serial(self, nest: ScatterNest, ctx: Context) -> Stmt:
        """Slices may overlap in part: one thread takes every point, the only order there is."""
        return self.loops(nest, ctx, [], None, 1, whole=True)

    def loops(
        self, nest: ScatterNest, ctx: Context, shared: list[int], ranged: int | None, ranges: Dim, whole: bool = False
    ) -> Stmt:
        op, m = nest.op, nest.op.addressing.map
        acc = op.reduction.accumulator(nest.dtype)
        totals = nest.out if acc == nest.dtype else ctx.workspace(f"{nest.name}_totals", nest.shape or (1,), acc)
        counts = ctx.workspace(f"{nest.name}_counts", nest.shape or (1,), DTYPES["int32"]) if op.counts else None
        grid_extent = dict(zip(m.grid_axes, nest.grid, strict=True))
        window = () if whole else tuple(nest.window)
        units = (*(grid_extent[j] for j in shared), *window, ranges)
        rest = [
            key for key in m.layout if not (key[0] == "index" and key[1] in shared) and (whole or key[0] == "index")
        ]

        def point(known: dict[tuple[str, int], Expr], lo: Expr | None, hi: Expr | None) -> Stmt:
            grid = [known["index", j] for j in m.grid_axes]
            w = [known["window", k] for k in range(len(nest.window))]
            starts, ok = nest.starts(grid)
            cell = at(nest.cell(starts, grid, w))
            conditions = [ok]
            if ranged is not None and lo is not None and hi is not None:
                source = m.sources[ranged]
                assert isinstance(source, Indexed)
                conditions += [lo <= starts[source.component], starts[source.component] < hi]
            if nest.lanes:
                return T.if_(T.all_of(conditions), nest.combine(cell, grid, w))
            value = cast(nest.src(grid, w), nest.dtype, acc)
            new = op.reduction.combine(acc, T.load(totals, *cell), value)
            if not op.include_self and counts is not None:
                new = T.select(T.load(counts, *cell) == 0, value, new)
            count = None
            if counts is not None:
                count = T.store(counts, cell, T.load(counts, *cell) + T.const(1, "int32"))
            return T.if_(T.all_of(conditions), T.seq(T.store(totals, cell, new), count))

        def thread(i: Expr) -> Stmt:
            c = unravel(i, units, ctx.sizes)
            known: dict[tuple[str, int], Expr] = {("index", j): x for j, x in zip(shared, c, strict=False)}
            known |= {("window", k): c[len(shared) + k] for k in range(len(window))}
            lo = hi = None
            if ranged is not None:
                extent, n = ctx.sizes(nest.shape[ranged]), ctx.sizes(ranges)
                lo, hi = T.floordiv(extent * c[-1], n), T.floordiv(extent * (c[-1] + 1), n)
            extents = [ctx.sizes(grid_extent[j] if kind == "index" else nest.window[j]) for kind, j in rest]
            return nested("p", extents, lambda p: point(known | dict(zip(rest, p, strict=True)), lo, hi))

        def settle(c: list[Expr]) -> Stmt:
            count = None if counts is None else T.load(counts, *at(c))
            return T.store(nest.out, at(c), op.finish(nest.dtype, T.load(totals, *at(c)), count))

        others = [replace(nest, dtype=x.dtype, out=x.out, base=x.base) for x in nest.lanes if x.out is not nest.out]
        return T.seq(
            copy_base(nest, ctx, totals, acc),
            *(copy_base(other, ctx, other.out, other.dtype) for other in others),
            None if counts is None else over(ctx, nest.shape, lambda c: T.store(counts, at(c), T.const(0, "int32"))),
            launch(ctx, ctx.sizes(product(units)), thread),
            over(ctx, nest.shape, settle) if op.reduction.averaged or totals is not nest.out else None,
        )


def _size(d: Dim) -> int:
    return d if isinstance(d, int) else 1 << 40
