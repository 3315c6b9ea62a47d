"""Scatters on llvm, whatever they are: owner computes.  The rules before this one take those that they know better ways for.

Each thread owns a slab of the output, ``lo <= coordinate < hi`` on one axis.  It copies base into its slab and then takes all
points in row-major order, applying those that fall into the slab.  No two threads write the same cell and every cell sees its
points in row-major order, so the result is bitwise the same for any number of threads, without atomics.

What the owned axis is decides what the slab costs.  A shared axis, or a window axis outside the grid's loops, just shortens
a loop: each thread sees only its own points.  On an indexed axis every thread reads every index, which is cheap while an
index is small beside the slice it moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.index_map import Indexed, Place, Shared, Window
from gscompile.ir.nests import Nest, ScatterNest
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES
from schedules.llvm.costs import BRANCHING
from schedules.llvm.ranges import shared_range
from schedules.rule import Context

WIDE = 64  # extent from which an axis gives every thread enough of its own


class OwnerComputes:
    """See the module's text; always applies."""

    name = "owner-computes"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest):
            return None
        scratch = Scratch.of(nest, ctx)
        axis = owned_axis(nest)
        if axis is None:
            return slab(nest, ctx, scratch, None, T.const(0), T.const(0))
        single = isinstance(nest.op.addressing.map.sources[axis], Indexed) and product(nest.window) == 1
        fewest = BRANCHING if single else 2
        work = nest.work
        return shared_range(ctx, nest.shape[axis], work, lambda lo, hi: slab(nest, ctx, scratch, axis, lo, hi), fewest)


def owned_axis(nest: ScatterNest) -> int | None:
    """The axis to divide among threads: the cheapest kind first, the longest within a kind; None if there is none."""
    layout = nest.op.addressing.map.layout
    first_grid = next((k for k, (kind, _) in enumerate(layout) if kind == "index"), len(layout))
    leading = {j for kind, j in layout[:first_grid]}
    ranked = []
    for a, s in enumerate(nest.op.addressing.map.sources):
        extent = nest.shape[a]
        size = extent if isinstance(extent, int) else 1 << 40
        if size < 2:
            continue
        if isinstance(s, Shared):
            ranked.append((0 if size >= WIDE else 2, -size, a))
        elif isinstance(s, Window) and not (nest.op.counts and a in shared_counts(nest)):
            own = s.window in leading and size >= WIDE
            ranked.append((0 if own else 3, -size, a))
        elif isinstance(s, Indexed):
            ranked.append((1, -size, a))
    return min(ranked)[2] if ranked else None


class Scratch:
    """Where partial results live.

    ``totals`` is the output itself unless its dtype would round at every step; ``counts`` is there only if the number of
    points in a cell matters, with extent 1 along axes that slices cover whole.
    """

    def __init__(self, totals: Buffer, counts: Buffer | None, own: bool) -> None:
        self.totals = totals
        self.counts = counts
        self.own = own

    @staticmethod
    def of(nest: ScatterNest, ctx: Context) -> Scratch:
        acc = nest.op.reduction.accumulator(nest.dtype)
        own = acc != nest.dtype
        totals = ctx.workspace(f"{nest.name}_totals", nest.shape or (1,), acc) if own else nest.out
        counts = None
        if nest.op.counts:
            counts = ctx.workspace(f"{nest.name}_counts", count_shape(nest), DTYPES["int32"])
        return Scratch(totals, counts, own)


def shared_counts(nest: ScatterNest) -> set[int]:
    """The axes whose cells share a count: a grid point hits all of them in one go, its windows being the inner loops."""
    layout = nest.op.addressing.map.layout
    inner = {w for kind, w in layout[_last_grid(layout) + 1 :] if kind == "window"}
    shared = {a for a, w in nest.covered.items() if w in inner}
    return shared if len(shared) == len(inner) else set()


def count_shape(nest: ScatterNest) -> Shape:
    """Extents of the counts."""
    shared = shared_counts(nest)
    return tuple(1 if a in shared else d for a, d in enumerate(nest.shape)) or (1,)


def count_cell(nest: ScatterNest, cell: list[Expr]) -> list[Expr]:
    """Where a cell's count is."""
    shared = shared_counts(nest)
    return [T.const(0) if a in shared else c for a, c in enumerate(cell)] or [T.const(0)]


def _last_grid(layout: Sequence[Place]) -> int:
    return max((k for k, (kind, _) in enumerate(layout) if kind == "index"), default=-1)


def slab(nest: ScatterNest, ctx: Context, scratch: Scratch, axis: int | None, lo: Expr, hi: Expr) -> Stmt:
    """Everything about the cells whose coordinate on ``axis`` is in ``[lo, hi)``."""
    acc = nest.op.reduction.accumulator(nest.dtype)
    counts, totals = scratch.counts, scratch.totals

    def box(shape: Shape, body: Callable[[list[Expr]], Stmt]) -> Stmt:
        def level(done: list[Expr]) -> Stmt:
            k = len(done)
            if k == len(shape):
                return body(done)
            if k == axis:
                return T.for_range(lo, hi, lambda i: level([*done, i]), f"c{k}")
            return T.for_(ctx.sizes(shape[k]), lambda i: level([*done, i]), f"c{k}")

        return level([])

    def at(c: list[Expr]) -> list[Expr]:
        return c or [T.const(0)]

    def base(c: list[Expr]) -> Expr:
        if scratch.own and nest.in_place is not None:
            return T.if_then_else(nest.in_place, T.load(nest.out, *at(c)), nest.base(c))
        return nest.base(c)

    begin = box(nest.shape, lambda c: T.store(totals, at(c), cast(base(c), nest.dtype, acc)))
    if nest.op.reduction.arity > 1:
        begin = box(nest.shape, lambda c: T.seq(*(T.store(lane.out, at(c), lane.base(c)) for lane in nest.lanes)))
    if not scratch.own and nest.in_place is not None:
        begin = T.if_(T.not_(nest.in_place), begin)
    clear = None
    if counts is not None:
        clear = box(count_shape(nest) if nest.shape else (), lambda c: T.store(counts, at(c), T.const(0, "int32")))
    end = None
    if scratch.own or nest.op.reduction.averaged:

        def settle(c: list[Expr]) -> Stmt:
            count = None if counts is None else T.load(counts, *count_cell(nest, c))
            return T.store(nest.out, at(c), nest.op.finish(nest.dtype, T.load(totals, *at(c)), count))

        end = box(nest.shape, settle)
    return T.seq(begin, clear, points(nest, ctx, scratch, axis, lo, hi), end)


def points(nest: ScatterNest, ctx: Context, scratch: Scratch, axis: int | None, lo: Expr, hi: Expr) -> Stmt:
    """The points that fall into the slab, in row-major order."""
    op, sources = nest.op, nest.op.addressing.map.sources
    layout = op.addressing.map.layout
    acc = op.reduction.accumulator(nest.dtype)
    counts, totals = scratch.counts, scratch.totals
    source = None if axis is None else sources[axis]
    last_grid = _last_grid(layout)
    extents = {**{("index", j): d for j, d in zip(op.addressing.map.grid_axes, nest.grid, strict=True)}}
    extents |= {("window", w): d for w, d in enumerate(nest.window)}

    def place(k: int, at: dict[tuple[str, int], Expr]) -> Stmt:
        """Loops from the k-th axis of the points on."""
        if k == last_grid + 1:
            return begin_point(at)
        return loop(k, at, lambda more: place(k + 1, more))

    def loop(k: int, at: dict[tuple[str, int], Expr], body: Callable[[dict[tuple[str, int], Expr]], Stmt]) -> Stmt:
        key = layout[k]
        name = f"{'g' if key[0] == 'index' else 'w'}{key[1]}"
        extent = ctx.sizes(extents[key])
        owned = (isinstance(source, Shared) and key == ("index", source.axis)) or (
            isinstance(source, Window) and key == ("window", source.window)
        )
        if owned:
            return T.for_range(lo, T.minimum(hi, extent), lambda i: body({**at, key: i}), name)
        return T.for_(extent, lambda i: body({**at, key: i}), name)

    def begin_point(at: dict[tuple[str, int], Expr]) -> Stmt:
        grid = [at["index", j] for j in op.addressing.map.grid_axes]
        starts, ok = nest.starts(grid)

        def named(k: int, names: list[Expr]) -> Stmt:
            if k < len(starts):
                return T.let(f"start{k}", starts[k], lambda v: named(k + 1, [*names, v]))
            return inside(at, grid, names, ok)

        return named(0, [])

    def inside(at: dict[tuple[str, int], Expr], grid: list[Expr], starts: list[Expr], ok: Expr | None) -> Stmt:
        conditions = [ok]
        if isinstance(source, Indexed) and source.window is None:
            c = starts[source.component]
            conditions += [lo <= c, c < hi]
        # where the cells of the slice share a count, read and raise it once
        if counts is None or not shared_counts(nest):
            return T.if_(T.all_of(conditions), windows(last_grid + 1, at, grid, starts, None))
        window = [at.get(("window", w), T.const(0)) for w in range(len(nest.window))]
        count = count_cell(nest, nest.cell(starts, grid, window))
        body = T.let(
            "hits",
            T.load(counts, *count),
            lambda hits: T.seq(
                T.store(counts, count, hits + T.const(1, "int32")), windows(last_grid + 1, at, grid, starts, hits)
            ),
        )
        return T.if_(T.all_of(conditions), body)

    def windows(
        k: int, at: dict[tuple[str, int], Expr], grid: list[Expr], starts: list[Expr], hits: Expr | None
    ) -> Stmt:
        if k < len(layout):
            return loop(k, at, lambda more: windows(k + 1, more, grid, starts, hits))
        window = [at["window", w] for w in range(len(nest.window))]
        cell = nest.cell(starts, grid, window) or [T.const(0)]
        if nest.lanes:
            return owned(cell, nest.combine(cell, grid, window))
        value = cast(nest.src(grid, window), nest.dtype, acc)
        new = op.reduction.combine(acc, T.load(totals, *cell), value)
        count_update = None
        if counts is not None and hits is None:
            at_count = count_cell(nest, cell)
            hits = T.load(counts, *at_count)
            count_update = T.store(counts, at_count, hits + T.const(1, "int32"))
        if not op.include_self and hits is not None:
            new = T.select(hits == 0, value, new)
        return owned(cell, T.seq(T.store(totals, cell, new), count_update))

    def owned(cell: list[Expr], body: Stmt) -> Stmt:
        """Of a slice that may lie across the slab's ends, the cells inside."""
        if not isinstance(source, Indexed) or source.window is None:
            return body
        c = cell[axis if axis is not None else 0]
        return T.if_(T.all_of([lo <= c, c < hi]), body)

    return place(0, {})
