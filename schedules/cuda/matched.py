"""Scatters of single elements: the lanes of a warp that meet in a cell are combined by shuffles, then added once.

A warp takes ``IN_FLIGHT`` times 32 points that follow each other, and reads all of their indices and values first.  Then, 32 by
32, ``match_any`` gives each lane those that go to its cell; they merge in as many steps as their number has bits, none where all
cells differ, and the first of them adds what they have.  So a cell takes one atomic of 32 points at most; whether indices are
sorted or skewed need be neither promised nor known, and others cost a match and a vote.

Per point: its index and value from memory, an atomic per cell of its 32, and about 30 instructions; 12 more for each step of
merging.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gscompile.ir import tir as T
from gscompile.ir.dims import product
from gscompile.ir.index_map import Place
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.atomics import matched
from gscompile.schedules.cuda.check import test
from gscompile.schedules.cuda.groups import WARP, Group, groups
from gscompile.schedules.cuda.launch import by_width, coordinates
from gscompile.schedules.cuda.numbers import IN_FLIGHT
from gscompile.schedules.cuda.points import Point, extents, point_at, taken, where
from gscompile.schedules.rule import Context


def matches(nest: ScatterNest, ctx: Context) -> bool:
    """Whether lanes may combine what they have: its threads work together, and the order of the points does not matter."""
    return ctx.target.cooperative and nest.op.reduction.associative and nest.op.reduction.commutative


def over_warps(
    nest: ScatterNest,
    ctx: Context,
    total: Buffer,
    op: str,
    axes: Sequence[Place],
    place: Callable[[Point], Expr],
    value: Callable[[Point], Expr],
) -> Stmt:
    """A kernel that adds points to their cells.

    Args:
        total: what they are combined with, in global memory.
        op: of :data:`gscompile.schedules.cuda.atomics.MERGE`.
        axes: of the points tensor, which tell the points apart.
        place: a point -> its cell's row-major number in ``total``.
        value: a point -> what it brings, of the dtype of ``total``.
    """
    box = extents(nest, axes)
    count = ctx.sizes(product(box))
    each = WARP * IN_FLIGHT

    def kernel(narrow: bool) -> Stmt:
        def warp(group: Group, number: list[Expr]) -> Stmt:
            first = number[0] * each + T.int64(group.lane)
            numbers = [first + WARP * k for k in range(IN_FLIGHT)]
            inside = [n < count for n in numbers]
            points, cells, tests = [], [], []
            for n, here in zip(numbers, inside, strict=True):
                at = coordinates(ctx, T.cast("int32", n) if narrow else n, box)
                point, ok = point_at(nest, axes, at, n)
                # not -1 as well: of two choices with the same alternative TVM makes one, and reads what both need before it
                cells.append(where(here, where(taken(nest, point, ok), place(point), T.const(-2)), T.const(-1)))
                points.append(point)
                report = test(nest.check, point.grid, ctx)
                tests.append(None if report is None else T.if_(here, report))

            def read(cell: list[Expr]) -> Stmt:
                zero = T.const(0, T.element_dtype(total))
                values = [T.if_then_else(x >= 0, value(p), zero) for x, p in zip(cell, points, strict=True)]
                return T.lets(
                    "v", values, lambda v: T.seq(*(matched(op, total, x, y) for x, y in zip(cell, v, strict=True)))
                )

            return T.seq(*tests, T.registers("cell", cells, read))

        warps = T.quotient(count + (each - 1), T.const(each))
        return groups(ctx, warps, WARP, warp)

    return by_width(ctx, box, kernel)
