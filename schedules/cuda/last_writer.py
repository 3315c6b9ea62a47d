"""``update`` on cuda: the point that comes last in row-major order wins, in whatever order threads run.

First an atomic maximum over the points' numbers finds the winner of each slice of the output, in an array of 32 bits each where
they count the points.  Then there are two ways to bring the winners' values to the output:

* By cells: each cell is a copy of its winner's element of src, or of base's where it has none.  That is a map, which the rules of
  maps carry out, 16 bytes at a time where rows allow, and each byte of the output is written once.  In place, cells without a
  winner stay.
* By points: base is copied first, then every point looks whether it has won, and writes.

Bytes of memory, for a slice of r bytes.  Both ways: 4 written to clear a slice's winner; for a point 8 of its index, and 32, a
sector, for its atomic.  By cells: 4 read for a slice, r of src or of base read and r written.  By points: for a point 8 of its
index again, and 32 for the winner of its slice; r read and r written for each winner, and out of place 2 r for each slice, and
one launch more.  By points is less in large tables that few points hit: in place for fewer than a tenth of the slices, as where a
cache of keys and values grows by a few.  Only a call tells this where sizes are symbolic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords
from gscompile.ir.dims import Dim, dim_min, product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.cuda.check import checked, guarded
from gscompile.schedules.cuda.copies import copy_runs
from gscompile.schedules.cuda.elements import neighbours
from gscompile.schedules.cuda.launch import MOST_NARROW, by_count
from gscompile.schedules.cuda.numbers import LAUNCH_BYTES, POINT_BYTES
from gscompile.schedules.cuda.owners import Owners, slices, telling_axes
from gscompile.schedules.cuda.points import extents, over_cells, slice_axes
from gscompile.schedules.cuda.scatter import copy_base, move, vector_of_points
from gscompile.schedules.cuda.vectors import store_run
from gscompile.schedules.rule import Checked, Context

if TYPE_CHECKING:
    from typing_extensions import Self


class LastWriter:
    """See the module's text."""

    name = "last-writer"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest) or not nest.op.reduction.replaces:
            return None
        guard = guarded(ctx, nest)
        points = product(extents(nest, telling_axes(nest)))
        return checked(nest, by_count(ctx, points, lambda narrow: _Update.of(nest, guard, points, narrow).statement()))


@dataclass(frozen=True, slots=True)
class _Update:
    """The kernels of an update."""

    nest: ScatterNest
    ctx: Context
    winners: Owners

    @classmethod
    def of(cls, nest: ScatterNest, ctx: Context, points: Dim, narrow: bool) -> Self:
        """With winners of so many points."""
        needed: Dim = 1
        if not narrow:
            if not isinstance(points, int) and ctx.target.index_bits is None:
                needed = dim_min(points // (MOST_NARROW + 1), 1)
            ctx = replace(ctx, target=replace(ctx.target, index_bits=64))  # one width of all numbers
        return cls(nest, ctx, Owners.of(nest, ctx, "max", narrow, needed))

    def statement(self) -> Stmt:
        """All of them."""
        nest, merged = self.nest, self.merged()
        if merged is None:
            written = self.by_points()
        else:
            by_cells = merged if nest.in_place is None else T.if_(nest.in_place, self.won(), merged)
            few = self.few()
            known = T.constant_value(few)
            written = (
                T.if_(few, self.by_points(), by_cells) if known is None else self.by_points() if known else by_cells
            )
        return T.seq(self.winners.found(), written)

    def few(self) -> Expr:
        """Whether there are so few points that they are looked at again."""
        nest, sizes = self.nest, self.ctx.sizes
        if self.winners.dtype == "int64":
            return T.const(False, "bool")
        points, cells = product(extents(nest, slice_axes(nest))), sizes(product(slices(nest)) * 4)
        row = product(nest.shape[a] for a in nest.covered) * nest.dtype.itemsize
        out_of_place = cells > sizes(points * (row * 2 + POINT_BYTES) + LAUNCH_BYTES)
        if nest.in_place is None:
            return out_of_place
        both = T.all_of([cells > sizes(points * POINT_BYTES), T.any_of([nest.in_place, out_of_place])])
        assert both is not None
        return both

    def by_points(self) -> Stmt:
        """Base is copied, and the winners write."""
        nest, ctx = self.nest, self.ctx
        same = slice_axes(nest)[-1:] != list(nest.op.addressing.map.layout[-1:])
        return T.seq(copy_base(nest, ctx, nest.out, nest.dtype), move(nest, ctx, self.winners.owns, same))

    def merged(self) -> Stmt | None:
        """The output, of winners' values and base; None where that is a map of single cells that wait for each other's loads."""
        nest, ctx = self.nest, self.ctx
        if not nest.shape:
            return None

        def element(c: Coords) -> Expr:
            cell = list(c)
            return T.if_then_else(self.winners.owned(cell), self.winners.value(cell), nest.base(c))

        whole = MapNest(nest.name, nest.shape, nest.dtype, nest.out, element, nest.cost, lambda c: [])
        rows = copy_runs(whole, ctx, merges=True)
        return rows if rows is not None else neighbours(whole, ctx)

    def won(self) -> Stmt:
        """The cells that have a winner."""
        nest, winners = self.nest, self.winners
        n = vector_of_points(nest, self.ctx) if len(nest.shape) - 1 in nest.covered else 1

        def thread(c: list[Expr]) -> Stmt:
            c[-1] = c[-1] * n

            def beside(q: Expr) -> list[Expr]:
                return [*c[:-1], c[-1] + q]

            store = T.store(nest.out, c, winners.value(c))
            if n > 1:
                store = store_run(nest.out, n, beside, lambda q: winners.value(beside(q)))
            return T.if_(winners.owned(c), store)

        return over_cells(self.ctx, (*nest.shape[:-1], nest.shape[-1] // n), thread)
