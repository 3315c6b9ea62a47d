"""Folds of a few short rows that an index chooses: sums over bags, one after the other in memory.

Beside so short a row its index costs most: it is wrapped, clamped and checked, and where bags are short, too, LLVM makes
vectors across them, which gather the indices.  Indices of bags that follow each other are a run of memory, whatever bags' length:
the places of a block's rows are listed first, by vectors, and the folds read the list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.nests import Nest, ReduceNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.folds import accumulators
from gscompile.schedules.llvm.ahead import known_bytes
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.costs import slow_gathers
from gscompile.schedules.llvm.folded_rows import anywhere, folded_ahead, reads, same_ranges
from gscompile.schedules.llvm.kernels import prefetch_row, with_kernels
from gscompile.schedules.llvm.numbers import (
    LISTED_APART,
    LISTED_COLUMNS,
    LISTED_ROWS,
    NARROW_TABLE_BYTES,
    NEIGHBOUR_BYTES,
)
from gscompile.schedules.llvm.ranges import shared_range
from gscompile.schedules.llvm.tiles import from_list, side_by_side
from gscompile.schedules.loops import by_number, number_in
from gscompile.schedules.rule import Checked, Context, Target

UNROLLED = 8
"""Rows of a bag up to which LLVM may unroll its loop."""


class Bags:
    """Bags of rows of at most :data:`LISTED_COLUMNS` columns; a block of bags has at most :data:`LISTED_ROWS` rows."""

    name = "bags"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ReduceNest) or (picked := _picked(nest, ctx.target)) is None:
            return None
        found = reads(nest, *anywhere(nest))
        table = found[picked][1]
        near = known_bytes(table) <= NARROW_TABLE_BYTES
        ahead = 0 if near else folded_ahead(nest, ctx, [picked], LISTED_COLUMNS)
        places = T.buffer("places", [LISTED_ROWS + ahead], "int64", align=64)
        vectors = _vectors(nest, table) if len(found) == 1 else []
        flag = Flag(nest.check)

        def share(lo: Expr, hi: Expr) -> Stmt:
            return flag.around(_Share(nest, flag, picked, table, places, ahead, vectors).blocks(lo, hi))

        stmt = shared_range(ctx, nest.shape[0], nest.work, share, nest=nest.name)
        stmt = with_kernels(stmt) if ahead else stmt
        return stmt if nest.check is None else Checked(stmt)


def _picked(nest: ReduceNest, target: Target) -> int | None:
    """Which of the reads of a step is the row that an index chooses, where bags follow each other in memory; None elsewhere."""
    columns = nest.shape[-1] if nest.shape else None
    if nest.inner or len(nest.shape) != 2 or not isinstance(columns, int) or not 0 < columns <= LISTED_COLUMNS:
        return None
    c, r = anywhere(nest)
    ranges = nest.ranges(c)
    if len(ranges) != 1 or T.constant_value(ranges[0][0]) != 0 or not same_ranges(nest):
        return None
    found = [(k, x) for k, x in enumerate(reads(nest, c, r)) if any(map(T.loads_of, x[2]))]
    if len(found) != 1:
        return None
    ((k, (condition, table, at)),) = found
    if columns == 1 and (T.itemsize(table) < 4 or not slow_gathers(target)):
        return None
    loads = [x for y in at[:-1] for x in T.reads(y)]
    if condition is not None or T.loads_of(at[-1]) or not loads:
        return None
    index = loads[0][1]
    if not all(buf.same_as(index) for _, buf, _ in loads):
        return None
    grids = [place for _, _, place in loads] + ([] if nest.check is None else [nest.grid(c, r)])
    in_order = all(len(g) == 2 and T.same_expr(g[0], c[0]) and T.same_expr(g[1], r[0]) for g in grids)
    return k if in_order and T.same_expr(T.extents(index)[1], ranges[0][1]) else None


def _vectors(nest: ReduceNest, table: Buffer) -> list[tuple[int, int]]:
    """First column and lanes of the vectors that a row is folded in; none where that is left to LLVM.

    Of float16 they may overlap: x86 loads a single one into a part of a register, and waits for what the rest of it held.
    """
    n = _columns(nest)
    lanes = 1 << (n.bit_length() - 1)
    if n == 1 or len(nest.initial) > 1 or (lanes < n and T.element_dtype(table) != "float16"):
        return []
    return [(0, lanes)] if lanes == n else [(0, lanes), (n - lanes, lanes)]


def _columns(nest: ReduceNest) -> int:
    columns = nest.shape[-1]
    assert isinstance(columns, int)
    return columns


@dataclass(frozen=True, slots=True)
class _Share:
    """One thread's bags.

    Attributes:
        table: where a step reads by way of the index: ``picked`` of its reads.
        places: the list: where rows begin in the table.
        ahead: rows between prefetching one and folding it; 0 for none that is prefetched.
        vectors: see :func:`_vectors`.
    """

    nest: ReduceNest
    flag: Flag
    picked: int
    table: Buffer
    places: Buffer
    ahead: int
    vectors: list[tuple[int, int]]

    def blocks(self, lo: Expr, hi: Expr) -> Stmt:
        """The bags of ``[lo, hi)``, as many at a time as have a block of rows, or the rows of one in several blocks."""
        (_, length), most = self.nest.ranges([lo, T.const(0)])[0], T.const(LISTED_ROWS)
        known = T.constant_value(length)
        total = accumulators(self.nest, self._accumulators, "global") if known is None or known > LISTED_ROWS else None

        def group(bags: Expr) -> Stmt:
            def nth(g: Expr) -> Stmt:
                first = lo + g * bags
                number = T.minimum(bags, hi - first)
                if total is None:
                    return self._block(None, first, number, T.const(0), length, hi)

                def part(k: Expr) -> Stmt:
                    begin = k * LISTED_ROWS
                    rows = T.maximum(T.minimum(length - begin, most), T.const(0))
                    names = ("first", "bags", "begin", "rows")
                    return T.kept(
                        names, [first, number, begin, rows], lambda x: self._block(total, x[0], x[1], x[2], x[3], hi)
                    )

                parts = T.maximum(T.quotient(length + (LISTED_ROWS - 1), most), T.const(1))
                return T.for_(parts, part, "part", one_copy=True)

            return T.for_(T.quotient(hi - lo + (bags - 1), bags), nth, "block", one_copy=True)

        some = T.maximum(length, T.const(1))
        together = T.maximum(T.quotient(most, some), T.const(1))
        stmt = T.kept("together", [together], lambda x: group(x[0]))
        # beyond the rows of a share, whatever stands in the list is prefetched
        clear = T.for_(T.extents(self.places)[0], lambda k: T.store(self.places, [k], T.const(0)), "j")
        return T.seq(*(T.allocate(b) for b in [self.places, *(total or [])]), clear if self.ahead else None, stmt)

    @property
    def _accumulators(self) -> int:
        return sum(lanes for _, lanes in self.vectors) or _columns(self.nest)

    def _row(self, c: list[Expr], r: Expr) -> tuple[Buffer, list[Expr]]:
        """The tensor and the coordinates of what a step reads by way of the index."""
        return reads(self.nest, c, [r])[self.picked][1:]

    def _block(self, total: list[Buffer] | None, lo: Expr, bags: Expr, begin: Expr, rows: Expr, end: Expr) -> Stmt:
        """Rows ``[begin, begin + rows)`` of so many bags: of several bags all their rows, of one a part.

        Args:
            total: accumulators of a bag between its parts; None where it has one.
            end: of the share's bags.
        """
        zero, length = T.const(0), self.nest.ranges([lo, T.const(0)])[0][1]
        number, count = lo * length + begin, bags * rows

        def listed(j: Expr) -> Stmt:
            buf, at = self._row([zero, zero], number + j)
            place = T.store(self.places, [j], number_in(buf, [*at[:-1], zero]))
            return T.seq(place, self.flag.test(by_number(number + j, [0, 0])))

        def folds(ahead: int) -> Stmt:
            def bag(i: Expr) -> Stmt:
                c0 = T.opaque(lo + i)  # or LLVM would make vectors across bags
                return T.let("bag", c0, lambda c0: self._fold(total, c0, i * rows, begin, rows, ahead))

            return T.for_(bags, bag, "bag", one_copy=True)

        if not self.ahead:
            return T.seq(T.for_(count, listed, "j"), folds(0))
        more = T.minimum(count + self.ahead, end * length - number)
        return T.seq(T.for_(more, listed, "j"), self._where_apart(count, folds(self.ahead), folds(0)))

    def _where_apart(self, rows: Expr, then: Stmt, otherwise: Stmt) -> Stmt:
        """``then`` where some of the listed rows lie far from the one before."""
        apart, zero = T.buffer("apart", [1], "int64", align=8), T.const(0)

        def compared(j: Expr) -> Stmt:
            step = (T.load(self.places, j + 1) - T.load(self.places, j)) * T.itemsize(self.table)
            far = T.cast("int64", T.maximum(step, -step) > NEIGHBOUR_BYTES)
            return T.store(apart, [zero], T.load(apart, zero) + far)

        return T.seq(
            T.allocate(apart),
            T.store(apart, [zero], zero),
            T.for_(rows - 1, compared, "j"),
            T.if_(T.load(apart, zero) >= LISTED_APART, then, otherwise),
        )

    def _prefetch(self, entry: Expr) -> Stmt:
        at = by_number(T.load(self.places, entry), T.extents(self.table))
        return prefetch_row(T.address_of(self.table, *at), T.const(_columns(self.nest) * T.itemsize(self.table)))

    def _fold(self, total: list[Buffer] | None, bag: Expr, entry: Expr, begin: Expr, rows: Expr, ahead: int) -> Stmt:
        """The folds of a bag's columns; its places are listed from ``entry`` on."""

        def cells(body: Callable[[Expr, list[Expr]], Stmt]) -> Stmt:
            def vector(number: int, begin: int, lanes: int) -> Stmt:
                return T.vectorized(lanes, lambda v: body(number + v, [bag, begin + v]))

            if not self.vectors:
                return T.for_(_columns(self.nest), lambda k: body(k, [bag, k]), "c")
            return T.seq(*(vector(k * lanes, begin, lanes) for k, (begin, lanes) in enumerate(self.vectors)))

        def over_rows(step: Callable[[list[Expr]], Stmt]) -> Stmt:
            def row(r: Expr) -> Stmt:
                listed = [(T.load(self.places, entry + r), *self._row([bag, T.const(0)], begin + r))]
                rest = from_list(step([begin + r]), listed)
                return T.seq(self._prefetch(entry + r + ahead), rest) if ahead else rest

            known = T.constant_value(rows)
            return T.for_(rows, row, "r", one_copy=known is None or known > UNROLLED)

        folds = side_by_side(self.nest, self._accumulators, cells, over_rows, total)
        if total is None:
            return folds

        def fresh(k: Expr) -> Stmt:
            return T.seq(*(T.store(t, [k], v) for t, (_, v) in zip(total, self.nest.initial, strict=True)))

        return T.seq(T.if_(begin == 0, T.for_(self._accumulators, fresh)), folds)
