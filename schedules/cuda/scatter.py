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
from gscompile.index_map import Window
from gscompile.nests import Nest, ScatterNest
from gscompile.ops.elementwise import cast, constant
from gscompile.types import DTYPES, DType
from schedules.cuda.atomics import atomic, atomic_name, widened
from schedules.cuda.map import copy_rows, fill_cells
from schedules.cuda.points import Point, at, extents, over, over_points, slice_axes, slice_of, slice_shape
from schedules.cuda.vectors import is_run, lanes, store_run
from schedules.loops import ravel
from schedules.rule import Context


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
    grid = [T.var(f"g{k}") for k in range(len(nest.grid))]
    window = [T.var(f"w{k}") for k in range(len(nest.window))]
    if not isinstance(width, int) or not is_run(lambda c: nest.src(grid, [*window[:w], c, *window[w + 1 :]]), width):
        return 1
    return lanes(ctx, nest.dtype, width, nest.shape[-1])


class Direct:
    """No two points meet, so plain stores do; a mean needs its count, but that is one."""

    name = "direct"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest) or not nest.op.unique:
            return None
        op = nest.op
        base = copy_base(nest, ctx, nest.out, nest.dtype)
        if op.reduction.name == "update":
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

    Each slice of the output is first claimed by its last point, with an atomic maximum of the points' numbers.
    """

    name = "last-writer"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScatterNest) or nest.op.reduction.name != "update":
            return None
        shape, axes = slice_shape(nest), slice_axes(nest)
        last = ctx.workspace(f"{nest.name}_last", shape, DTYPES["int64"])
        box = extents(nest, axes)

        def wins(p: Point) -> Expr:
            coords = {("index", j): c for j, c in zip(nest.op.addressing.map.grid_axes, p.grid, strict=True)}
            coords |= {("window", w): c for w, c in enumerate(p.window)}
            number = ravel([coords[a] for a in axes], box, ctx.sizes)
            return T.load(last, *slice_of(nest, p.cell)) == number

        return T.seq(
            copy_base(nest, ctx, nest.out, nest.dtype),
            over(ctx, shape, lambda c: T.store(last, c, T.const(-1))),
            over_points(nest, ctx, lambda p: atomic("max", last, slice_of(nest, p.cell), p.number), axes),
            move(nest, ctx, wins, same=axes[-1:] != list(nest.op.addressing.map.layout[-1:])),
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
        name = atomic_name(op.reduction.name, dtype)
        counts = None
        if op.reduction.name == "mean":
            counts = ctx.workspace(f"{nest.name}_counts", slice_shape(nest), DTYPES["int32"])

        def count(p: Point) -> Stmt:
            return atomic("add", counts, slice_of(nest, p.cell), T.const(1, "int32"))

        def reset(p: Point) -> Stmt:
            assert op.reduction.identity is not None
            narrow = op.reduction.accumulator(dtype)
            identity = constant(op.reduction.identity(narrow), narrow)
            return T.store(totals, p.cell, cast(identity, narrow, wide))

        def add(p: Point) -> Stmt:
            return atomic(name, totals, p.cell, cast(nest.src(p.grid, p.window), dtype, wide))

        def settle(c: list[Expr]) -> Stmt:
            acc = op.reduction.accumulator(dtype)
            hits = None if counts is None else T.load(counts, *slice_of(nest, c))
            return T.store(nest.out, at(c), op.finish(dtype, cast(T.load(totals, *at(c)), wide, acc), hits))

        return T.seq(
            copy_base(nest, ctx, totals, wide),
            None if op.include_self else over_points(nest, ctx, reset),
            None if counts is None else over(ctx, slice_shape(nest), lambda c: T.store(counts, c, T.const(0, "int32"))),
            None if counts is None else over_points(nest, ctx, count, slice_axes(nest)),
            over_points(nest, ctx, add),
            over(ctx, nest.shape, settle) if counts is not None or totals is not nest.out else None,
        )
