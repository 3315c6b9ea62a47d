"""Which point owns a slice of a scatter's output: the first or the last of those that hit it, by an atomic on its number.

Points that hit the same slice have the same coordinates on the axes that index shares with the output, and on windows that are
not moved by an index: a point's number leaves them out, and a cell knows them.  For rows it is the row's number in src.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, Shape
from gscompile.ir.index_map import Place, Shared, Window
from gscompile.ir.ops.reductions import REDUCTIONS
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES
from gscompile.schedules.cuda.atomics import atomic
from gscompile.schedules.cuda.fills import filled
from gscompile.schedules.cuda.launch import coordinates
from gscompile.schedules.cuda.matched import combined
from gscompile.schedules.cuda.points import Point, extents, over_points, slice_axes
from gscompile.schedules.loops import ravel, storage
from gscompile.schedules.rule import Context

if TYPE_CHECKING:
    from typing_extensions import Self


def telling_axes(nest: ScatterNest) -> list[Place]:
    """The axes of the points tensor that tell apart the points that hit the same cell."""
    known = known_by_cell(nest)
    return [place for place in nest.op.addressing.map.layout if place not in known]


def known_by_cell(nest: ScatterNest) -> dict[Place, int]:
    """The other axes of the points tensor, with the axis of the output that has a point's coordinate there."""
    known: dict[Place, int] = {}
    for a, s in enumerate(nest.op.addressing.map.sources):
        if isinstance(s, Shared):
            known["index", s.axis] = a
        elif isinstance(s, Window):
            known["window", s.window] = a
    return known


def number_of(nest: ScatterNest, ctx: Context, p: Point, dtype: str) -> Expr:
    """A point's number among those that may hit the same cell."""
    coords: dict[Place, Expr] = {("index", j): c for j, c in zip(nest.op.addressing.map.grid_axes, p.grid, strict=True)}
    coords |= {("window", w): c for w, c in enumerate(p.window)}
    axes = telling_axes(nest)
    return T.cast(dtype, ravel([coords[a] for a in axes], extents(nest, axes), ctx.sizes))


def position_of(nest: ScatterNest, ctx: Context, number: Expr, cell: list[Expr]) -> tuple[list[Expr], list[Expr]]:
    """The grid and window position of the point with that number that hits a cell."""
    axes = telling_axes(nest)
    coords = dict(zip(axes, coordinates(ctx, number, extents(nest, axes)), strict=True))
    coords |= {place: cell[a] for place, a in known_by_cell(nest).items()}
    grid = [coords["index", j] for j in nest.op.addressing.map.grid_axes]
    return grid, [coords["window", w] for w in range(len(nest.window))]


@dataclass(frozen=True, slots=True)
class Owners:
    """The owner of each slice.

    Attributes:
        pick: ``min`` for the first point, ``max`` for the last.
        owner: their numbers, int32 or int64: one for the cells that the same slices hit, without the axes that slices cover.
    """

    nest: ScatterNest
    ctx: Context
    pick: str
    owner: Buffer

    @classmethod
    def of(cls, nest: ScatterNest, ctx: Context, pick: str, narrow: bool = False, needed: Dim = 1) -> Self:
        """Scratch memory for them.

        Args:
            narrow: 32 bits count the points.
            needed: 0 in calls that have other owners, else 1.
        """
        first, *rest = slices(nest)
        name, dtype = f"{nest.name}_owner{32 if narrow else 64}", DTYPES["int32" if narrow else "int64"]
        return cls(nest, ctx, pick, ctx.workspace(name, (first * needed, *rest), dtype))

    def found(self) -> Stmt:
        """What finds them: a scatter of the points' numbers by that reduction; lanes of a warp that meet are one atomic.

        Not so for wide numbers: they are rare, and each kernel takes time to compile.
        """
        nest, ctx, shape, axes = self.nest, self.ctx, slices(self.nest), slice_axes(self.nest)
        nobody = T.const(-1 if self.pick == "max" else T.INT64_MAX, self.dtype)
        clear = filled(ctx, self.owner, shape, nobody)

        def place(p: Point) -> list[Expr]:
            return self.place(p.cell)

        if self.dtype == "int64":
            return T.seq(
                clear, over_points(nest, ctx, lambda p: atomic(self.pick, self.owner, place(p), self.number(p)), axes)
            )
        numbers = replace(nest, op=replace(nest.op, reduction=REDUCTIONS[self.pick]))
        return T.seq(clear, combined(numbers, ctx, self.owner, shape, self.pick, axes, place, self.number))

    @property
    def dtype(self) -> str:
        """Of points' numbers."""
        return T.element_dtype(self.owner)

    def place(self, cell: list[Expr]) -> list[Expr]:
        """Where a cell's owner is."""
        return storage([c for a, c in enumerate(cell) if a not in self.nest.covered])

    def number(self, p: Point) -> Expr:
        """A point's number."""
        return number_of(self.nest, self.ctx, p, self.dtype)

    def owns(self, p: Point) -> Expr:
        """Whether a point is an owner."""
        return T.load(self.owner, *self.place(p.cell)) == self.number(p)

    def owned(self, cell: list[Expr]) -> Expr:
        """Whether a cell has an owner."""
        return T.load(self.owner, *self.place(cell)) >= T.const(0, self.dtype)

    def value(self, cell: list[Expr]) -> Expr:
        """What the owner of a cell brings, if it has one."""
        return self.nest.src(*position_of(self.nest, self.ctx, T.load(self.owner, *self.place(cell)), cell))


def slices(nest: ScatterNest) -> Shape:
    """Extents of a tensor with one element for all the cells that the same slices hit, without the axes that slices cover."""
    return tuple(d for a, d in enumerate(nest.shape) if a not in nest.covered) or (1,)
