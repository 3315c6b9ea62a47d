"""Scatters on cuda.

All start by copying base to the output (skipped in place) and differ in how points that meet in a cell are kept apart:

* ``Direct``: they were promised not to meet.
* ``LastWriter`` (update): first the last point of each cell is found with an atomic maximum, then only that point writes.
* ``Ordered`` (a deterministic result was asked for and floats would round differently in another order): a thread owns
  cells and takes their points in row-major order, as on llvm.
* ``Atomics``: the fast way; exact for integers and for min and max, in no fixed order for sums of floats.
"""

from __future__ import annotations

from collections.abc import Callable

from gscompile import _tvm as T
from gscompile._tvm import Buffer, Expr, Stmt
from gscompile.dims import Dim, Shape, product
from gscompile.index_map import Indexed, Shared
from gscompile.nests import Nest, ScatterNest
from gscompile.ops.elementwise import cast, constant
from gscompile.types import DTYPES, DType
from schedules.cuda.atomics import atomic, atomic_name, widened
from schedules.cuda.launch import launch
from schedules.loops import nested, unravel
from schedules.rule import Context

ORDERED_THREADS = 16384  # enough to fill a GPU; more would read the indices more often


def over(ctx: Context, shape: Shape, body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """A thread per cell of a box."""
    return launch(ctx, ctx.sizes(product(shape)), lambda i: body(unravel(i, shape, ctx.sizes)))


def at(c: list[Expr]) -> list[Expr]:
    """Coordinates in storage: a scalar has one element."""
    return c or [T.const(0)]


def points_shape(nest: ScatterNest) -> Shape:
    """Extents of the points tensor, in its own order."""
    m = nest.op.addressing.map
    grid = dict(zip(m.grid_axes, nest.grid, strict=True))
    return tuple(grid[j] if kind == "index" else nest.window[j] for kind, j in m.layout)


def over_points(
    nest: ScatterNest, ctx: Context, body: Callable[[Expr, list[Expr], list[Expr], list[Expr]], Stmt]
) -> Stmt:
    """A thread per point that takes part; ``body`` gets its number, grid and window position, and cell."""
    shape = points_shape(nest)

    def thread(i: Expr) -> Stmt:
        grid, window = nest.op.addressing.split(unravel(i, shape, ctx.sizes))
        starts, ok = nest.starts(grid)
        return T.if_(ok, body(i, grid, window, at(nest.cell(starts, grid, window))))

    return launch(ctx, ctx.sizes(product(shape)), thread)


def copy_base(nest: ScatterNest, ctx: Context, totals: Buffer, acc: DType) -> Stmt:
    """``totals = base``; nothing where the output is its own base already."""
    own = totals is not nest.out

    def begin(c: list[Expr]) -> Stmt:
        value = nest.base(c)
        if own and nest.in_place is not None:
            value = T.if_then_else(nest.in_place, T.load(nest.out, *at(c)), value)
        return T.store(totals, at(c), cast(value, nest.dtype, acc))

    copy = over(ctx, nest.shape, begin)
    return copy if own or nest.in_place is None else T.if_(T.not_(nest.in_place), copy)


class Direct:
    """No two points meet, so plain stores do; a mean needs its count, but that is one."""

    name = "direct"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest) or not nest.op.unique:
            return None
        op = nest.op
        acc = op.reduction.accumulator(nest.dtype)

        def put(i: Expr, grid: list[Expr], window: list[Expr], cell: list[Expr]) -> Stmt:
            value = cast(nest.src(grid, window), nest.dtype, acc)
            if op.include_self:
                value = op.reduction.combine(acc, cast(T.load(nest.out, *cell), nest.dtype, acc), value)
            return T.store(nest.out, cell, op.finish(nest.dtype, value, T.const(1)))

        return T.seq(copy_base(nest, ctx, nest.out, nest.dtype), over_points(nest, ctx, put))


class LastWriter:
    """``update``: the point that comes last in row-major order wins, whatever order threads run in."""

    name = "last-writer"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest) or nest.op.reduction.name != "update":
            return None
        last = ctx.workspace(f"{nest.name}_last", nest.shape or (1,), DTYPES["int64"])

        def claim(i: Expr, grid: list[Expr], window: list[Expr], cell: list[Expr]) -> Stmt:
            return atomic("max", last, cell, i)

        def put(i: Expr, grid: list[Expr], window: list[Expr], cell: list[Expr]) -> Stmt:
            return T.if_(T.load(last, *cell) == i, T.store(nest.out, cell, nest.src(grid, window)))

        return T.seq(
            copy_base(nest, ctx, nest.out, nest.dtype),
            over(ctx, nest.shape, lambda c: T.store(last, at(c), T.const(-1))),
            over_points(nest, ctx, claim),
            over_points(nest, ctx, put),
        )


class Atomics:
    """Any reduction; the totals are the output itself where its dtype has atomics, else a wider scratch tensor."""

    name = "atomics"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest):
            return None
        op, dtype = nest.op, nest.dtype
        wide = widened(dtype, op.reduction.name)
        totals = nest.out if wide == dtype else ctx.workspace(f"{nest.name}_totals", nest.shape or (1,), wide)
        counts = None
        if op.reduction.name == "mean":
            counts = ctx.workspace(f"{nest.name}_counts", nest.shape or (1,), DTYPES["int32"])
        name = atomic_name(op.reduction.name, dtype)

        def reset(i: Expr, grid: list[Expr], window: list[Expr], cell: list[Expr]) -> Stmt:
            assert op.reduction.identity is not None
            narrow = op.reduction.accumulator(dtype)
            identity = constant(op.reduction.identity(narrow), narrow)
            return T.store(totals, cell, cast(identity, narrow, wide))

        def add(i: Expr, grid: list[Expr], window: list[Expr], cell: list[Expr]) -> Stmt:
            count = None if counts is None else atomic("add", counts, cell, T.const(1, "int32"))
            return T.seq(atomic(name, totals, cell, cast(nest.src(grid, window), dtype, wide)), count)

        def settle(c: list[Expr]) -> Stmt:
            acc = op.reduction.accumulator(dtype)
            count = None if counts is None else T.load(counts, *at(c))
            return T.store(nest.out, at(c), op.finish(dtype, cast(T.load(totals, *at(c)), wide, acc), count))

        return T.seq(
            copy_base(nest, ctx, totals, wide),
            None if counts is None else over(ctx, nest.shape, lambda c: T.store(counts, at(c), T.const(0, "int32"))),
            None if op.include_self else over_points(nest, ctx, reset),
            over_points(nest, ctx, add),
            over(ctx, nest.shape, settle) if counts is not None or totals is not nest.out else None,
        )


class Ordered:
    """A thread owns one position on every shared axis and on every window, and a range on one indexed axis."""

    name = "ordered"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest) or not (ctx.deterministic or nest.op.deterministic):
            return None
        if not nest.dtype.is_float:  # integers give the same in any order
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
        rest = [key for key in m.layout if not (key[0] == "index" and key[1] in shared) and (whole or key[0] == "index")]

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

        return T.seq(
            copy_base(nest, ctx, totals, acc),
            None if counts is None else over(ctx, nest.shape, lambda c: T.store(counts, at(c), T.const(0, "int32"))),
            launch(ctx, ctx.sizes(product(units)), thread),
            over(ctx, nest.shape, settle) if op.reduction.name == "mean" or totals is not nest.out else None,
        )


def _size(d: Dim) -> int:
    return d if isinstance(d, int) else 1 << 40


