"""Copies of elements picked from short rows, or from near ones, whose places are listed first, by vectors.

Of a loop over the picks of a row LLVM makes vectors of gathers, and what remains goes one by one, after which it is found whether
an index was invalid: for a short row each of them costs as much as its picks.  Here a list takes many rows, the last vector of
each overlapping the one before, and the loop that loads the elements sees no rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, Shape
from gscompile.ir.nests import MapNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.numbers import LISTED_PICKS
from gscompile.schedules.llvm.vectors import overlapping
from gscompile.schedules.loops import by_number, number_in, unravel
from gscompile.schedules.rule import Context
from gscompile.schedules.runs import copied

LOADED_TOGETHER = 4
"""Elements that a step loads: one by one they take a tenth longer."""


@dataclass(frozen=True, slots=True)
class PickLists:
    """Rows of copies picked from rows, of :data:`~gscompile.schedules.llvm.numbers.LISTED_PICKS` at most.

    Attributes:
        outer: extents of the axes that number the rows.
        picks: of a row.
        ones: how many axes of extent 1 come after that.
        source: what is picked from.
        places: a list.
        flag: of invalid indices, one of each lane.
    """

    nest: MapNest
    ctx: Context
    outer: Shape
    picks: Dim
    ones: int
    source: Buffer
    places: Buffer
    flag: Flag

    @staticmethod
    def of(nest: MapNest, ctx: Context, ones: int) -> PickLists | None:
        """None where cells are no copies."""
        found = copied(nest.safe([T.var(f"c{k}") for k in range(len(nest.shape))]))
        if found is None or found.ok is not None:
            return None
        *outer, picks = nest.shape[: len(nest.shape) - ones]
        places = T.buffer("places", [LISTED_PICKS], "int64", align=64)
        lanes = max(ctx.target.vector_bytes // T.itemsize(places), 1)
        lanes = min(lanes, max(picks, 1)) if isinstance(picks, int) else lanes  # a short row is one vector
        return PickLists(nest, ctx, tuple(outer), picks, ones, found.source[0], places, Flag(nest.check, lanes=lanes))

    def share(self, lo: Expr, hi: Expr) -> Stmt:
        """The rows ``[lo, hi)``."""

        def blocks(known: list[Expr]) -> Stmt:
            (together,) = known

            def block(b: Expr) -> Stmt:
                begin = lo + b * together
                return T.kept(["begin", "rows"], [begin, T.minimum(hi - begin, together)], lambda x: self.block(*x))

            return T.for_(T.quotient(hi - lo + (together - 1), together), block, "block", one_copy=True)

        size = T.const(LISTED_PICKS)
        together = T.quotient(size, T.maximum(T.minimum(self.ctx.sizes(self.picks), size), T.const(1)))
        return T.seq(T.allocate(self.places), self.flag.around(T.kept(["together"], [together], blocks)))

    def block(self, begin: Expr, rows: Expr) -> Stmt:
        """So many rows from ``begin`` on."""
        return T.seq(T.for_(rows, lambda r: self.list_row(begin, r), "row", one_copy=True), self.load(begin, rows))

    def list_row(self, begin: Expr, r: Expr) -> Stmt:
        """List the places of row ``begin + r``, the ``r``-th of a block."""
        picks, lanes, last = self.ctx.sizes(self.picks), self.flag.lanes, [T.const(0)] * self.ones

        def entries(known: list[Expr]) -> Stmt:
            first, *row = known

            def entry(k: Expr, lane: Expr) -> Stmt:
                cell = [*row, k, *last]
                found = copied(self.nest.safe(cell))
                assert found is not None
                place = T.store(self.places, [first + k], number_in(*found.source))
                return T.seq(place, self.flag.test(self.nest.grid(cell), lane))

            return overlapping(picks, lanes, entry, "k", together=1)

        return T.kept("first", [r * picks, *unravel(begin + r, self.outer, self.ctx.sizes)], entries)

    def load(self, begin: Expr, rows: Expr) -> Stmt:
        """Load all of a list, which are the rows from ``begin`` on."""
        nest, picks, together = self.nest, self.ctx.sizes(self.picks), LOADED_TOGETHER
        count = rows * picks
        steps = T.quotient(count, T.const(together))

        def one(k: Expr) -> Stmt:
            # not looked through, or LLVM makes a gather of several
            place = by_number(T.opaque(T.load(self.places, k)), T.extents(self.source))
            return T.store(nest.out, by_number(begin * picks + k, nest.shape), T.load(self.source, *place))

        def step(s: Expr) -> Stmt:
            return T.seq(*(one(s * together + j) for j in range(together)))

        rest = T.for_(count - steps * together, lambda k: one(steps * together + k), "one", one_copy=True)
        return T.seq(T.for_(steps, step, "few", one_copy=True), rest)
