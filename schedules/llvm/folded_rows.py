"""The rows that folds read: where an index chooses them they are prefetched, some steps before they are folded.

Rows are those of tiles, neighbouring cells that are folded side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.dims import dim_min
from gscompile.ir.nests import ReduceNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.decisions import Condition
from gscompile.schedules.llvm.ahead import UNKNOWN_BYTES, Pair, known_bytes, place_in, rows_ahead, scattered
from gscompile.schedules.llvm.choices import FOLDED_AHEAD
from gscompile.schedules.llvm.costs import slow_gathers
from gscompile.schedules.llvm.kernels import prefetch_row
from gscompile.schedules.llvm.numbers import MIN_COLUMNS, PREFETCHED_TENSORS, RUN_SAMPLES, resident_bytes
from gscompile.schedules.loops import over_reduced
from gscompile.schedules.rule import Context, Target

LAST = 1 << 40  # more tiles than there are: so many tiles later is the last of a share


def same_ranges(nest: ReduceNest) -> bool:
    """Whether all cells fold the same box."""
    here, there = ([T.var(f"{name}{k}") for k in range(len(nest.shape))] for name in "cd")
    pairs = zip(nest.ranges(here), nest.ranges(there), strict=True)
    return all(T.same_expr(x, y) for a, b in pairs for x, y in zip(a, b, strict=True))


def anywhere(nest: ReduceNest) -> tuple[list[Expr], list[Expr]]:
    """Variables: a cell, and a position in its box."""
    c = [T.var(f"c{k}") for k in range(len(nest.shape))]
    return c, [T.var(f"r{k}") for k in range(len(nest.ranges(c)))]


Read: TypeAlias = tuple[Expr | None, Buffer, list[Expr]]


def reads(nest: ReduceNest, c: list[Expr], r: list[Expr]) -> list[Read]:
    """What a step loads besides its accumulators."""
    steps = nest.step([T.var(f"a{k}", d.tir) for k, (d, _) in enumerate(nest.initial)], c, r)
    return [load for value in steps for load in T.reads(value)]


def gathered_rows(nest: ReduceNest, target: Target, least: int = 0) -> list[int]:
    """Which of the :func:`reads` of a step are rows that an index chooses, out of tensors too large for a core's caches.

    Args:
        least: bytes that such a tensor is known to have; 0 where its size need not be known.
    """
    c, r = anywhere(nest)
    beside = reads(nest, [*c[:-1], c[-1] + 1], r)
    found: list[int] = []
    seen: list[list[Expr]] = []
    for k, (_, buf, at) in enumerate(reads(nest, c, r)):
        other = beside[k][2]
        if (
            any(T.loads_of(x) for x in at[:-1])
            and all(T.same_expr(x, y) for x, y in zip(at[:-1], other[:-1], strict=True))
            and T.constant_value(other[-1] - at[-1]) == 1
            and (least < known_bytes(buf) < UNKNOWN_BYTES if least else known_bytes(buf) > resident_bytes(target))
            and not any(T.same_expr(T.address_of(buf, *at), T.address_of(buf, *x)) for x in seen)
        ):
            found.append(k)
            seen.append(at)
    return found[:PREFETCHED_TENSORS]


def gathers_slowly(nest: ReduceNest, target: Target) -> bool:
    """Whether folds of a few gathered rows take longer in vectors across them, which LLVM makes where it unrolls a fold.

    60,000 rows of 1 to 3 elements on a Zen 4, 2 to 20 in each fold, one by one / in vectors: float32, float64 and int32 0.65 to
    0.9 on the mean, from 0.3; of 2 and 3 int16 and bfloat16 0.7 to 1.0, but of 1 up to 2.2; int8 and longer rows 1.0 to 1.1.
    """
    columns = nest.shape[-1]
    if not isinstance(columns, int) or columns >= MIN_COLUMNS or not slow_gathers(target):
        return False
    picked = [buf for _, buf, at in reads(nest, *anywhere(nest)) if any(map(T.loads_of, at))]
    return any(T.itemsize(buf) >= (4 if columns == 1 else 2) for buf in picked)


def folded_ahead(nest: ReduceNest, ctx: Context, gathered: list[int], width: int) -> int:
    """How many rows, of tiles ``width`` cells wide, lie between prefetching those of ``gathered`` and folding them."""
    found = reads(nest, *anywhere(nest))
    buffers = [found[k][1] for k in gathered]
    columns = nest.shape[-1]
    cells = dim_min(columns, width) if isinstance(columns, int) else width
    row = cells * max(T.itemsize(buf) for buf in buffers)
    return int(rows_ahead(ctx, FOLDED_AHEAD, "copied rows", row, [known_bytes(buf) for buf in buffers]))


Later: TypeAlias = Callable[[Expr], list[Expr]]
"""Of how many tiles later -> that tile's first cell, or that of the last one of the thread's share."""


def folds_scattered(
    nest: ReduceNest,
    gathered: Sequence[int],
    cell: Callable[[Expr], list[Expr]],
    lo: Expr,
    hi: Expr,
    tiles: Expr,
    body: Callable[[Condition], Stmt],
) -> Stmt:
    """``body(far)``: whether some tiles of ``[lo, hi)`` end far from where the one below begins; see :func:`scattered`.

    Bags of 15 rows of 5 floats, of 24 MB, in runs: 0.61 ms,
    with prefetches 1.25; uniform 6.2 and 5.2.

    Args:
        cell: of a tile, or the last one, its first cell.
        tiles: of a row, after which the one below comes.
    """
    ranges, zero = nest.ranges(cell(lo)), T.const(0)
    alike = len(ranges) == 1 and same_ranges(nest)
    if not alike or any(reads(nest, cell(lo), [zero])[k][0] is not None for k in gathered):
        return body(True)
    extent, step = ranges[0][1], T.quotient(hi - lo, T.const(RUN_SAMPLES + 1))

    def places(u: Expr, r: Expr) -> list[Expr]:
        found = reads(nest, cell(u), [r])
        return [place_in(buf, at) for _, buf, at in (found[k] for k in gathered)]

    def look(at: Expr, pair: Pair) -> Stmt:
        return pair(places(lo + at, extent - 1), places(lo + at + tiles, zero))

    return scattered(step, look, body, enough=T.all_of([step > 0, extent > 0]), too_few=True)


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Rows prefetched some steps before they are folded; those of the next tiles towards the end of a tile.

    Attributes:
        gathered: which of the :func:`reads` of a step.
        first: the tile's first cell.
        later: the first cells of tiles that come later.
        count: the tile's cells.
        ahead: rows between prefetching one and folding it.
        far: whether rows are prefetched at all.
    """

    nest: ReduceNest
    gathered: list[int]
    first: list[Expr]
    later: Later
    count: Expr
    ahead: int
    far: Condition

    def loops(self, step: Callable[[list[Expr]], Stmt]) -> Stmt:
        """The loops over a tile's rows, with prefetches."""
        ranges = self.nest.ranges(self.first)
        if len(ranges) > 1:
            return self._box(ranges, step)
        if not same_ranges(self.nest):
            return self._segments(step)
        ahead = self._halves(ranges[0][1], step)
        if self.far is True or self._asked_each_time:
            return ahead
        return T.if_(self.far, ahead, over_reduced(self.nest, self.first, step))

    @property
    def _asked_each_time(self) -> bool:
        """Whether each step asks if rows are prefetched: one loop in place of two, of tiles for which there are several."""
        return self.far is not True and T.constant_value(self.count) is None

    @property
    def one_range(self) -> bool:
        """Whether the box of a cell has one axis."""
        return len(self.nest.ranges(self.first)) == 1

    @property
    def unconditional(self) -> list[int]:
        """Which of the :attr:`gathered` reads every step has."""
        found = reads(self.nest, self.first, [T.var("r0")])
        return [k for k in self.gathered if found[k][0] is None]

    def ahead_of(self, body: Callable[[Callable[[Expr], Stmt]], Stmt]) -> Stmt:
        """``body(prefetch(r))``: what is prefetched at a step of a box of one axis."""
        extent = self.nest.ranges(self.first)[0][1]
        if not same_ranges(self.nest):
            return self._last(lambda last: body(lambda r: self._after(r, last)))
        tiles, more = _quotient(self.ahead, extent)
        here, there = self.later(tiles), self.later(tiles + 1)

        def around(names: list[Expr]) -> Stmt:
            a, b, more = names[: len(here)], names[len(here) : -1], names[-1]

            def prefetch(r: Expr) -> Stmt:
                next_tile = r + more >= extent
                return self._rows(_one_of(next_tile, b, a), [r + more - T.select(next_tile, extent, T.const(0))])

            return body(prefetch)

        # opaque, or LLVM would divide for each row that is prefetched
        cells = [x if T.is_simple(x) else T.opaque(x) for x in [*here, *there]]
        return T.kept("ahead", [*cells, more], around)

    def _box(self, ranges: list[tuple[Expr, Expr]], step: Callable[[list[Expr]], Stmt]) -> Stmt:
        """Boxes of several axes: rows ahead on the innermost."""

        def row(r: list[Expr]) -> Stmt:
            later = T.minimum(r[-1] + self.ahead, ranges[-1][1] - 1)
            return T.seq(self._rows(self.first, [*r[:-1], later]), step(r))

        return over_reduced(self.nest, self.first, row)

    def _segments(self, step: Callable[[list[Expr]], Stmt]) -> Stmt:
        """Ranges that differ: what follows a segment belongs to the next ones, most often."""

        def loops(last: Expr) -> Stmt:
            return over_reduced(self.nest, self.first, lambda r: T.seq(self._after(r[0], last), step(r)))

        return self._last(loops)

    def _last(self, body: Callable[[Expr], Stmt]) -> Stmt:
        """``body(the last row of a thread's segments)``."""
        last = self.nest.ranges(self.later(T.const(LAST)))[0][1] - 1
        return T.kept("ahead", [last], lambda names: body(names[0]))

    def _after(self, r: Expr, last: Expr) -> Stmt:
        """Prefetch the row so far after a segment's row ``r``."""
        return self._rows(self.first, [T.minimum(r + self.ahead, T.maximum(last, r))])

    def _halves(self, extent: Expr, step: Callable[[list[Expr]], Stmt]) -> Stmt:
        """Equal ranges: the rows ahead are of one tile at first, and of the one after it from some row on: a loop for each,
        unless they are known to be of one."""
        tiles, more = _quotient(self.ahead, extent)
        asked = self._asked_each_time
        turn = T.maximum(extent - more, T.const(0))
        if asked:
            turn = T.select(self.far, turn, extent)

        def half(second: Expr) -> Stmt:
            cell = _one_of(second, self.later(tiles + 1), self.later(tiles))
            shift = T.select(second, more - extent, more)
            bounds = [T.select(second, turn, T.const(0)), T.select(second, extent, turn)]
            return T.kept("ahead", [*cell, shift, *bounds], loop)

        def loop(names: list[Expr]) -> Stmt:
            *cell, shift, begin, end = names

            def row(r: Expr) -> Stmt:
                rows = self._rows(cell, [r + shift])
                return T.seq(T.if_(self.far, rows) if asked else rows, step([r]))

            return T.for_range(begin, end, row, "r0", one_copy=asked)

        if T.constant_value(more) == 0:
            return T.kept("ahead", [*self.later(tiles), T.const(0), T.const(0), extent], loop)
        two = T.const(2) if T.constant_value(extent) is not None else T.opaque(T.const(2))  # or LLVM would unroll it
        return T.for_(T.select(self.far, two, T.const(1)) if asked else two, lambda h: half(h > 0), "half")

    def _rows(self, cell: list[Expr], r: list[Expr]) -> Stmt:
        """Prefetch the rows that a step of a cell reads."""

        def prefetch(names: list[Expr]) -> Stmt:
            loads = reads(self.nest, names[: len(cell)], names[len(cell) :])
            return T.seq(*(self._row(*loads[k]) for k in self.gathered))

        return T.kept("later", [*cell, *r], prefetch)

    def _row(self, condition: Expr | None, buf: Buffer, at: list[Expr]) -> Stmt:
        return T.if_(condition, prefetch_row(T.address_of(buf, *at), self.count * T.itemsize(buf)))


def _one_of(condition: Expr, then: list[Expr], otherwise: list[Expr]) -> list[Expr]:
    """One of two cells; a choice of those coordinates only that differ."""
    return [y if T.same_expr(x, y) else T.select(condition, x, y) for x, y in zip(then, otherwise, strict=True)]


def _quotient(a: int, b: Expr) -> tuple[Expr, Expr]:
    """Quotient and remainder by an extent, or by 1 where that is 0."""
    known = T.constant_value(b)
    if known is not None:
        quotient, remainder = divmod(a, max(known, 1))
        return T.const(quotient), T.const(remainder)
    some = T.maximum(b, T.const(1))
    return T.quotient(T.const(a), some), T.remainder(T.const(a), some)
