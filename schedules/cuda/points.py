"""The points of a scatter, and threads over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape
from gscompile.ir.index_map import Place
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.cuda.check import if_valid, test, valid
from gscompile.schedules.cuda.launch import over
from gscompile.schedules.loops import storage
from gscompile.schedules.rule import Context


def over_cells(ctx: Context, shape: Shape, body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """A thread per cell of a box."""
    return over(ctx, shape, lambda c, _: body(c))


@dataclass(frozen=True, slots=True)
class Point:
    """Where a thread is: its number among the points, grid and window position, and the cell."""

    number: Expr
    grid: list[Expr]
    window: list[Expr]
    cell: list[Expr]


def extents(nest: ScatterNest, axes: Sequence[Place]) -> Shape:
    """Extents of some axes of the points tensor."""
    grid = dict(zip(nest.op.addressing.map.grid_axes, nest.grid, strict=True))
    return tuple(grid[j] if kind == "index" else nest.window[j] for kind, j in axes)


def over_points(
    nest: ScatterNest,
    ctx: Context,
    body: Callable[[Point], Stmt],
    axes: Sequence[Place] | None = None,
    vector: int = 1,
) -> Stmt:
    """A thread per point that takes part; it tests the point's index, where the nest's are not known to be in range.

    Args:
        axes: of the points tensor, those to run over; window coordinates on the others are 0.
        vector: how many neighbours on the last axis ``body`` takes at once.
    """
    axes = nest.op.addressing.map.layout if axes is None else axes
    shape = extents(nest, axes)
    if vector > 1:
        shape = (*shape[:-1], shape[-1] // vector)

    def thread(c: list[Expr], i: Expr) -> Stmt:
        if vector > 1:
            c[-1] = c[-1] * vector
        point, ok = point_at(nest, axes, c, i)
        return if_valid(nest.check, point.grid, ctx, T.if_(ok, body(point)))

    return over(ctx, shape, thread)


def point_at(nest: ScatterNest, axes: Sequence[Place], at: list[Expr], number: Expr) -> tuple[Point, Expr | None]:
    """The point at a position of the box of some axes, and whether it takes part (None: it does), if its index is in range."""
    known = dict(zip(axes, at, strict=True))
    grid = [known["index", j] for j in nest.op.addressing.map.grid_axes]
    window = [known.get(("window", w), T.const(0)) for w in range(len(nest.window))]
    starts, ok = nest.starts(grid)
    return Point(number, grid, window, storage(nest.cell(starts, grid, window))), ok


def taken(nest: ScatterNest, point: Point, ok: Expr | None) -> Expr | None:
    """Whether a point of :func:`point_at` takes part, its index tested too; None: it does."""
    return T.all_of([valid(nest.check, point.grid) if nest.check else None, ok])


class Placed(NamedTuple):
    """A point of a thread that takes several.

    Attributes:
        point: the point.
        cell: its cell's number; negative where it does not take part, or is none.
        test: what tests its index.
    """

    point: Point
    cell: Expr
    test: Stmt | None


def placed(
    nest: ScatterNest,
    ctx: Context,
    axes: Sequence[Place],
    at: list[Expr],
    number: Expr,
    here: Expr | None,
    place: Callable[[Point], Expr],
) -> Placed:
    """The point at a position of the box of some axes.

    Args:
        here: whether the position is in the box; None: it is.
        place: a point -> its cell's number.
    """
    point, ok = point_at(nest, axes, at, number)
    # not -1 as well: of two choices with the same alternative TVM makes one, and reads what both need before it
    cell = where(here, where(taken(nest, point, ok), place(point), T.const(-2)), T.const(-1))
    report = test(nest.check, point.grid, ctx)
    return Placed(point, cell, None if report is None else T.if_(here, report))


def where(ok: Expr | None, value: Expr, otherwise: Expr) -> Expr:
    """A value that is computed where a condition holds (None: always), and otherwise another."""
    return value if ok is None else T.if_then_else(ok, value, otherwise)


def harmless(value: Expr) -> bool:
    """Whether a point's value may be read whatever its index is, and so need not wait for it."""
    return not any(T.loads_of(x) for _, _, at in T.reads(value) for x in at)


def slice_shape(nest: ScatterNest) -> Shape:
    """Extents of a tensor with one element for all the cells that the same slices hit: 1 along covered axes."""
    axes = nest.covered
    return tuple(1 if a in axes else d for a, d in enumerate(nest.shape)) or (1,)


def slice_axes(nest: ScatterNest) -> list[Place]:
    """The axes of the points tensor that tell apart the points that hit an element of :func:`slice_shape`.

    A point's number in this box grows with its number among the points that hit the same cell.
    """
    windows = nest.covered.values()
    return [(kind, j) for kind, j in nest.op.addressing.map.layout if kind == "index" or j not in windows]


def slice_of(nest: ScatterNest, cell: list[Expr]) -> list[Expr]:
    """Where a cell's element is in a tensor of :func:`slice_shape`."""
    return [T.const(0) if d == 1 else c for c, d in zip(storage(cell), slice_shape(nest), strict=True)]
