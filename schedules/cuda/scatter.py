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

from gscompile.ir import tir as T
from gscompile.ir.index_map import Place, Window
from gscompile.ir.nests import Nest, ScatterNest
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES, DType
from schedules.cuda.atomics import atomic, atomic_name, widened
from schedules.cuda.map import copy_rows, fill_cells
from schedules.cuda.points import Point, at, extents, over, over_points, slice_axes, slice_of, slice_shape
from schedules.cuda.vectors import lanes, store_run
from schedules.loops import ravel
from schedules.rule import Context
from schedules.runs import is_run, some_cell


def copy_base(nest: ScatterNest, ctx: Context, totals: Buffer, acc: DType) -> Stmt:
    """``totals = base``; nothing where the output is its own base already."""
    own = totals is not nest.out

    def begin(c: list[Expr]) -> Expr:
        value = nest.base(c)
        if own and nest.in_place is not None:
            value = T.if_then_else(nest.in_place, T.load(nest.out, *at(c)), value)
        return cast(value, nest.dtype, acc)

    copy = None if own else copy_rows(ctx, totals, nest.shape, nest.dtype, begin)
    if copy is None:
        copy = fill_cells(ctx, totals, nest.shape, begin)
    return copy if own or nest.in_place is None else T.if_(T.not_(nest.in_place), copy)


def move(nest: ScatterNest, ctx: Context, wins: Callable[[Point], Expr] | None = None, same: bool = True) -> Stmt:
    """``out[map(p)] = src[p]`` for the points that win, some neighbours at a time where they lie side by side.

    Args:
        wins: whether a point is to be written; None for always.
        same: neighbours win or lose together.
    """
    last = nest.op.addressing.map.layout[-1:]
    n = lanes_of_points(nest, ctx) if same else 1

    def put(p: Point) -> Stmt:
        def beside(q: Expr) -> list[Expr]:
            return [w + q if ("window", k) in last else w for k, w in enumerate(p.window)]

        if n == 1:
            store = T.store(nest.out, p.cell, nest.src(p.grid, p.window))
        else:
            store = store_run(
                nest.out, n, lambda q: [*p.cell[:-1], p.cell[-1] + q], lambda q: nest.src(p.grid, beside(q))
            )
        return T.if_(wins(p) if wins is not None else None, store)

    return over_points(nest, ctx, put, lanes=n)


def lanes_of_points(nest: ScatterNest, ctx: Context) -> int:
    """How many points one access can move: neighbours along a window that is innermost in both points and output."""
    m = nest.op.addressing.map
    last = m.sources[-1] if m.sources else None
    if not isinstance(last, Window) or m.layout[-1] != ("window", last.window):
        return 1
    width, w = nest.window[last.window], last.window
    grid, window = some_cell(nest.grid), some_cell(nest.window)
    if not isinstance(width, int) or not is_run(lambda c: nest.src(grid, [*window[:w], c, *window[w + 1 :]]), width):
        return 1
    return lanes(ctx, nest.dtype, width, nest.shape[-1])


class Direct:
    """No two points meet, so plain stores do; a mean needs its count, but that is one."""

    name = "direct"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest) or not nest.op.unique or nest.op.reduction.arity > 1:
            return None
        op = nest.op
        base = copy_base(nest, ctx, nest.out, nest.dtype)
        if op.reduction.replaces:
            return T.seq(base, move(nest, ctx))
        acc = op.reduction.accumulator(nest.dtype)

        def put(p: Point) -> Stmt:
            value = cast(nest.src(p.grid, p.window), nest.dtype, acc)
            if op.include_self:
                value = op.reduction.combine(acc, cast(T.load(nest.out, *p.cell), nest.dtype, acc), value)
            return T.store(nest.out, p.cell, op.finish(nest.dtype, value, T.const(1)))

        return T.seq(base, over_points(nest, ctx, put))


class LastWriter:
    """``update``: the point that comes last in row-major order wins, whatever order threads run in.

    An atomic maximum of the points' numbers finds that point; neighbours that always meet the same points share it.
    """

    name = "last-writer"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest) or not nest.op.reduction.replaces:
            return None
        claim, wins = claimed(nest, ctx, "max")
        same = slice_axes(nest)[-1:] != list(nest.op.addressing.map.layout[-1:])
        return T.seq(copy_base(nest, ctx, nest.out, nest.dtype), claim, move(nest, ctx, wins, same))


def claimed(nest: ScatterNest, ctx: Context, pick: str) -> tuple[Stmt, Callable[[Point], Expr]]:
    """Give each slice of the output to the first (``min``) or last (``max``) of the points that hit it.

    Returns:
        what finds the owners, and whether a point is one.
    """
    m, shape, axes = nest.op.addressing.map, slice_shape(nest), slice_axes(nest)
    owner = ctx.workspace(f"{nest.name}_owner", shape, DTYPES["int64"])
    nobody = T.const(-1 if pick == "max" else T.INT64_MAX)
    box = extents(nest, axes)

    def owns(p: Point) -> Expr:
        coords: dict[Place, Expr] = {("index", j): c for j, c in zip(m.grid_axes, p.grid, strict=True)}
        coords |= {("window", w): c for w, c in enumerate(p.window)}
        number = ravel([coords[a] for a in axes], box, ctx.sizes)
        return T.load(owner, *slice_of(nest, p.cell)) == number

    find = T.seq(
        over(ctx, shape, lambda c: T.store(owner, c, nobody)),
        over_points(nest, ctx, lambda p: atomic(pick, owner, slice_of(nest, p.cell), p.number), axes),
    )
    return find, owns


class Atomics:
    """Any reduction; the totals are the output itself where its dtype has atomics, else a wider scratch tensor."""

    name = "atomics"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest):
            return None
        op, dtype = nest.op, nest.dtype
        wide = widened(dtype)
        totals = nest.out if wide == dtype else ctx.workspace(f"{nest.name}_totals", nest.shape or (1,), wide)
        name = atomic_name(op.reduction, dtype)
        counts = None
        if op.reduction.averaged:
            counts = ctx.workspace(f"{nest.name}_counts", slice_shape(nest), DTYPES["int32"])

        def count(p: Point) -> Stmt:
            return atomic("add", counts, slice_of(nest, p.cell), T.const(1, "int32"))

        def value(p: Point) -> Expr:
            return cast(nest.src(p.grid, p.window), dtype, wide)

        def reset(p: Point) -> Stmt:
            return T.store(totals, p.cell, cast(op.reduction.neutral(dtype.compute), dtype.compute, wide))

        def add(p: Point) -> Stmt:
            return atomic(name, totals, p.cell, value(p))

        begin = None
        if not op.include_self and not op.reduction.commutative:  # the first point is what the others are taken from
            claim, first = claimed(nest, ctx, "min")
            begin = T.seq(claim, over_points(nest, ctx, lambda p: T.if_(first(p), T.store(totals, p.cell, value(p)))))
            points = over_points(nest, ctx, lambda p: T.if_(T.not_(first(p)), add(p)))
        else:
            begin = None if op.include_self else over_points(nest, ctx, reset)
            points = over_points(nest, ctx, add)

        def settle(c: list[Expr]) -> Stmt:
            acc = op.reduction.accumulator(dtype)
            hits = None if counts is None else T.load(counts, *slice_of(nest, c))
            return T.store(nest.out, at(c), op.finish(dtype, cast(T.load(totals, *at(c)), wide, acc), hits))

        return T.seq(
            copy_base(nest, ctx, totals, wide),
            begin,
            None if counts is None else over(ctx, slice_shape(nest), lambda c: T.store(counts, c, T.const(0, "int32"))),
            None if counts is None else over_points(nest, ctx, count, slice_axes(nest)),
            points,
            over(ctx, nest.shape, settle) if counts is not None or totals is not nest.out else None,
        )
