"""Scatters of single elements: the lanes of a warp that meet in a cell are combined by shuffles, then added once.

A warp takes ``in_flight`` times 32 points that follow each other, and reads all of their indices and values first.  Then, 32 by
32, ``match_any`` gives each lane those that go to its cell; they merge in as many steps as their number has bits, none where all
cells differ, and the first of them adds what they have.  So a cell takes one atomic of 32 points at most; whether indices are
sorted or skewed need be neither promised nor known, and others cost a match and a vote.

Per point: its index and value from memory, an atomic per cell of its 32, and about 30 instructions; 12 more for each step of
merging.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.index_map import Place, Shared
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.atomics import atomic, matched
from gscompile.schedules.cuda.choices import BLOCK, UNDERWAY
from gscompile.schedules.cuda.groups import WARP, Group, groups
from gscompile.schedules.cuda.launch import by_width, coordinates, resident
from gscompile.schedules.cuda.points import Placed, Point, extents, over_points, placed
from gscompile.schedules.loops import ravel
from gscompile.schedules.rule import Context


def combined(
    nest: ScatterNest,
    ctx: Context,
    total: Buffer,
    shape: Shape,
    op: str,
    axes: Sequence[Place],
    cell: Callable[[Point], list[Expr]],
    value: Callable[[Point], Expr],
) -> Stmt:
    """A kernel that combines points with their cells; one by one where threads do not work together, the order matters, or lanes
    do not meet.

    Args:
        total: the cells, in global memory.
        shape: their extents.
        op: of :data:`gscompile.schedules.cuda.atomics.ATOMICS`.
        axes: of the points tensor, which tell the points apart.
        cell: a point -> the cell that it goes to.
        value: a point -> what it brings, of the dtype of ``total``.
    """
    r = nest.op.reduction
    if not (ctx.target.cooperative and r.associative and r.commutative) or _apart(nest, axes):
        return over_points(nest, ctx, lambda p: atomic(op, total, cell(p), value(p)), axes)

    def meet(cells: list[Expr], values: list[Expr]) -> Stmt:
        return T.seq(*(matched(op, total, x, y) for x, y in zip(cells, values, strict=True)))

    def lane(first: Expr, narrow: bool) -> Stmt:
        zero = T.const(0, T.element_dtype(total))
        return read_ahead(nest, ctx, axes, first, narrow, lambda p: ravel(cell(p), shape, ctx.sizes), value, zero, meet)

    return by_warps(ctx, extents(nest, axes), lane)


def by_warps(ctx: Context, box: Shape, lane: Callable[[Expr, bool], Stmt]) -> Stmt:
    """A kernel whose warps take :data:`UNDERWAY` times 32 numbers of a box each.

    Args:
        lane: (its first number, whether coordinates are found with 32 bits) -> what it does, for that and those 32 apart.
    """
    each = WARP * ctx.choose(UNDERWAY)

    def kernel(narrow: bool) -> Stmt:
        def warp(group: Group, number: list[Expr]) -> Stmt:
            return resident(ctx.choose(BLOCK), lane(number[0] * each + T.int64(group.lane), narrow))

        return groups(ctx, T.quotient(ctx.sizes(product(box)) + (each - 1), T.const(each)), WARP, warp)

    return by_width(ctx, box, kernel)


def read_ahead(
    nest: ScatterNest,
    ctx: Context,
    axes: Sequence[Place],
    first: Expr,
    narrow: bool,
    place: Callable[[Point], Expr],
    value: Callable[[Point], Expr],
    otherwise: Expr,
    use: Callable[[list[Expr], list[Expr]], Stmt],
) -> Stmt:
    """What a lane of a warp does with :data:`UNDERWAY` points, 32 apart: it reads all of them first.

    Args:
        first: the number of the first one among those of the axes.
        narrow: their coordinates are found with 32 bits.
        place: a point -> its cell's number.
        otherwise: the value of a point that takes no part, or is none.
        use: (their cells' numbers, negative for none, and their values) -> what becomes of these.
    """

    def read(points: list[Placed], cells: list[Expr]) -> Stmt:
        values = [T.if_then_else(x >= 0, value(p.point), otherwise) for x, p in zip(cells, points, strict=True)]
        return T.lets("v", values, lambda v: T.seq(*(p.test for p in points), use(cells, v)))

    return cells_ahead(nest, ctx, axes, first, narrow, place, read)


def cells_ahead(
    nest: ScatterNest,
    ctx: Context,
    axes: Sequence[Place],
    first: Expr,
    narrow: bool,
    place: Callable[[Point], Expr],
    use: Callable[[list[Placed], list[Expr]], Stmt],
) -> Stmt:
    """As :func:`read_ahead`, of cells alone.

    Args:
        use: (the points, registers with their cells' numbers) -> what becomes of these, which includes the tests of points.
    """
    box, width = extents(nest, axes), "int32" if narrow else "int64"
    count = ctx.sizes(product(box))
    varying = [a for a, d in enumerate(box) if d != 1]

    def at_numbers(numbers: list[Expr]) -> Stmt:
        # coordinates are kept: tests, cells and values use each several times, and TVM would look at the divisions each time
        found = [coordinates(ctx, T.cast(width, n), box) for n in numbers]
        return T.registers("at", [x[a] for x in found for a in varying], lambda at: at_points(numbers, at))

    def at_points(numbers: list[Expr], known: list[Expr]) -> Stmt:
        points = []
        for k, n in enumerate(numbers):
            own = dict(zip(varying, known[k * len(varying) :], strict=False))
            at = [own.get(a, T.const(0)) for a in range(len(box))]
            points.append(placed(nest, ctx, axes, at, n, n < count, place))
        return T.registers("cell", [p.cell for p in points], lambda cells: use(points, cells))

    return T.registers("i", [first + WARP * k for k in range(ctx.choose(UNDERWAY))], at_numbers)


def _apart(nest: ScatterNest, axes: Sequence[Place]) -> bool:
    """Whether the points of a warp are known to go to different cells: to neighbours on an axis that index shares with data."""
    kind, j = axes[-1]
    extent = extents(nest, axes)[-1]
    return (
        kind == "index" and Shared(j) in nest.op.addressing.map.sources and isinstance(extent, int) and extent >= WARP
    )
