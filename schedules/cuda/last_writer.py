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

Each kernel takes time to compile.  With symbolic sizes there is one of each step, whose numbers have 32 bits, and three for calls
of more cells or points than these count: they find winners of 64 bits and go by points, over the same copy of base.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords
from gscompile.ir.dims import Dim, dim_min, product, total
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.cuda.check import checked, guarded
from gscompile.schedules.cuda.copies import copy_runs
from gscompile.schedules.cuda.elements import neighbours
from gscompile.schedules.cuda.launch import MOST_NARROW
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
        ctx = guarded(ctx, nest)
        layout, bits = nest.op.addressing.map.layout, ctx.target.index_bits
        boxes = [nest.shape, slices(nest), extents(nest, layout), extents(nest, slice_axes(nest))]
        counts = dict.fromkeys(map(product, boxes))
        if all(isinstance(count, int) for count in counts):
            points = product(extents(nest, telling_axes(nest)))
            if not isinstance(points, int) or points > MOST_NARROW:
                bits = 64
        elif bits is None:
            return checked(nest, _any_size(nest, ctx, counts))
        return checked(nest, _Update.of(nest, ctx, bits).statement())


def _any_size(nest: ScatterNest, ctx: Context, counts: Iterable[Dim]) -> Stmt:
    """Where only a call tells the sizes: one kernel of 32 bits for each step, and few for what these do not count."""
    fit = T.all_of([ctx.sizes(count) <= MOST_NARROW for count in counts])
    assert fit is not None
    wide_needed = dim_min(total(count // (MOST_NARROW + 1) for count in counts), 1)
    return _Update.of(nest, ctx, 32).statement(fit, _Update.of(nest, ctx, 64, wide_needed))


@dataclass(frozen=True, slots=True)
class _Update:
    """The kernels of an update.

    Attributes:
        base: the context of those that do not depend on how wide the winners' numbers are.
    """

    nest: ScatterNest
    ctx: Context
    base: Context
    winners: Owners

    @classmethod
    def of(cls, nest: ScatterNest, ctx: Context, bits: int | None, needed: Dim = 1) -> Self:
        """With numbers of so many bits; None: with 32 of winners, and of others what extents allow."""
        own = replace(ctx, target=replace(ctx.target, index_bits=bits))
        return cls(nest, own, ctx, Owners.of(nest, own, "max", bits != 64, needed))

    def statement(self, fit: Expr | None = None, wide: Self | None = None) -> Stmt:
        """All of them.

        Args:
            fit: where only a call tells: whether 32 bits count all that there is.
            wide: for a call where they do not.
        """
        merged, few = self.merged(), self.few()
        known = T.constant_value(few)
        by_points = few if fit is None else T.any_of([T.not_(fit), few])
        if merged is None or known:
            base, written = self.copied(), self.won_points()
        else:
            by_cells = merged if self.nest.in_place is None else T.if_(self.nest.in_place, self.won(), merged)
            if known is not None and fit is None:
                base, written = None, by_cells
            else:
                base, written = T.if_(by_points, self.copied()), T.if_(few, self.won_points(), by_cells)
        if fit is None or wide is None:
            return T.seq(self.winners.found(), base, written)
        found = T.if_(fit, self.winners.found(), wide.winners.found())
        return T.seq(found, base, T.if_(fit, written, wide.won_points()))

    def few(self) -> Expr:
        """Whether there are so few points that they are looked at again."""
        nest, sizes = self.nest, self.ctx.sizes
        if self.winners.dtype == "int64":
            return T.const(True, "bool")
        points, cells = product(extents(nest, slice_axes(nest))), sizes(product(slices(nest)) * 4)
        row = product(nest.shape[a] for a in nest.covered) * nest.dtype.itemsize
        out_of_place = cells > sizes(points * (row * 2 + POINT_BYTES) + LAUNCH_BYTES)
        if nest.in_place is None:
            return out_of_place
        both = T.all_of([cells > sizes(points * POINT_BYTES), T.any_of([nest.in_place, out_of_place])])
        assert both is not None
        return both

    def copied(self) -> Stmt:
        """Base, where points write."""
        return copy_base(self.nest, self.base, self.nest.out, self.nest.dtype)

    def won_points(self) -> Stmt:
        """The points that have won, over a copy of base."""
        nest = self.nest
        same = slice_axes(nest)[-1:] != list(nest.op.addressing.map.layout[-1:])
        return move(nest, self.ctx, self.winners.owns, same)

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
