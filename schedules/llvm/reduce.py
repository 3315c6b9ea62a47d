"""Reductions over axes, each fold in row-major order, so that results do not depend on the number of threads.

Folds are carried out side by side, as many as there is room for in vector registers.  What they read may be anywhere: where rows
come by way of an index, they are prefetched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.dims import dim_min, product
from gscompile.ir.nests import Nest, ReduceNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.decisions import Condition
from gscompile.schedules.folds import accumulators, fold_step
from gscompile.schedules.llvm.ahead import UNKNOWN_BYTES, Pair, known_bytes, place_in, rows_ahead, scattered
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import CHAINS, FOLDED_AHEAD, REGISTERS
from gscompile.schedules.llvm.kernels import prefetch_row, with_kernels
from gscompile.schedules.llvm.numbers import (
    MIN_COLUMNS,
    NARROW_TABLE_BYTES,
    PREFETCHED_TENSORS,
    RUN_SAMPLES,
    WIDE_ACCUMULATOR_REGISTERS,
    resident_bytes,
)
from gscompile.schedules.llvm.ranges import shared_range
from gscompile.schedules.loops import over_reduced, storage, unravel
from gscompile.schedules.rule import Checked, Context, Target

LAST = 1 << 40  # more tiles than there are: so many tiles later is the last of a share


class Columns:
    """The reduced axes are outside the innermost kept axis: fold a tile of columns side by side, reading rows."""

    name = "columns"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ReduceNest) or nest.inner or not nest.shape:
            return None
        columns = nest.shape[-1]
        if isinstance(columns, int) and columns < MIN_COLUMNS:
            return None
        width = tile_width(nest, ctx)
        gathered = gathered_rows(nest, ctx.target)
        ahead = folded_ahead(nest, ctx, gathered, width) if gathered else 0
        checks = nest.check is not None and rows_share_an_index(nest)

        def tile(first: list[Expr], count: Expr, later: Later, far: Condition) -> Stmt:
            prefetch = Prefetch(nest, gathered, first, later, count, ahead, far) if gathered else None
            return side_by_side(nest, first, width, count, prefetch)

        def valid(first: list[Expr], folds: Stmt) -> Stmt:
            return where_valid(nest, first, folds)

        nests = tiled(nest, ctx, width, tile, gathered, valid if checks else None)
        stmt = with_kernels(nests) if gathered else nests
        return Checked(stmt) if checks else stmt


class Folds:
    """Runs of memory are folded: a few of them in turns, where they are equally long."""

    name = "folds"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ReduceNest):
            return None
        if not nest.shape:
            return chains(nest, [[]])
        # Of several accumulators, the code for many chains is long and takes long to compile.
        alike = same_ranges(nest)
        width = max(ctx.choose(CHAINS) // len(nest.initial) ** 2, 1) if alike else 1
        gathered = gathered_rows(nest, ctx.target, NARROW_TABLE_BYTES) if alike and width > 1 else []
        ahead = folded_ahead(nest, ctx, gathered, width) if gathered else 0

        def tile(first: list[Expr], count: Expr, later: Later, far: Condition) -> Stmt:
            prefetch = Prefetch(nest, gathered, first, later, count, ahead, far) if gathered else None

            def cell(k: Expr | int) -> list[Expr]:
                return [*first[:-1], first[-1] + k]

            n = T.constant_value(count)
            if n is None:
                return T.for_(count, lambda k: chains(nest, [cell(k)]), "c")
            return chains(nest, [cell(k) for k in range(n)], prefetch)

        stmt = tiled(nest, ctx, width, tile, gathered)
        return with_kernels(stmt) if gathered else stmt


def tile_width(nest: ReduceNest, ctx: Context) -> int:
    """How many folds have their accumulators in :data:`~gscompile.schedules.llvm.choices.REGISTERS`: a power of two.

    More for wide rows whose width is known.
    """
    columns, itemsize = nest.shape[-1], sum(d.itemsize for d, _ in nest.initial)
    registers = ctx.choose(REGISTERS)
    if registers == REGISTERS.default and isinstance(columns, int) and itemsize == nest.dtype.itemsize:
        wide = columns * itemsize >= WIDE_ACCUMULATOR_REGISTERS * ctx.target.vector_bytes
        registers = WIDE_ACCUMULATOR_REGISTERS if wide else registers
    fit = registers * ctx.target.vector_bytes // itemsize
    return 1 << max(int(fit).bit_length() - 1, 0)


def same_ranges(nest: ReduceNest) -> bool:
    """Whether all cells fold the same box."""
    here, there = ([T.var(f"{name}{k}") for k in range(len(nest.shape))] for name in "cd")
    pairs = zip(nest.ranges(here), nest.ranges(there), strict=True)
    return all(T.same_expr(x, y) for a, b in pairs for x, y in zip(a, b, strict=True))


Later: TypeAlias = Callable[[Expr], list[Expr]]
"""Of how many tiles later -> that tile's first cell, or that of the last one of the thread's share."""


def tiled(
    nest: ReduceNest,
    ctx: Context,
    width: int,
    body: Callable[[list[Expr], Expr, Later, Condition], Stmt],
    gathered: Sequence[int] = (),
    around: Callable[[list[Expr], Stmt], Stmt] | None = None,
) -> Stmt:
    """``body(first cell, count, later, far)`` for tiles of neighbours on the innermost kept axis, in parallel.

    Tiles are ``width`` wide, but the last of a row may be narrower.  ``far``: whether what is ``gathered`` lies far
    apart; see :func:`folds_scattered`.  ``around(first cell, statement)``: what a tile's statement is part of.
    """
    columns = nest.shape[-1]
    if isinstance(columns, int):
        width = max(1, min(width, columns))
    tiles = (columns + (width - 1)) // width
    outer = [*nest.shape[:-1], tiles]

    def first_cell(u: Expr) -> list[Expr]:
        *row, t = unravel(u, outer, ctx.sizes)
        return [*row, t * width]

    def tiles_of(lo: Expr, hi: Expr, far: Condition) -> Stmt:
        def tile(u: Expr) -> Stmt:
            def at(first: list[Expr]) -> Stmt:
                stmt = narrow_or_wide(first)
                return stmt if around is None else around(first, stmt)

            def narrow_or_wide(first: list[Expr]) -> Stmt:
                def of(count: Expr) -> Stmt:
                    return body(first, count, lambda n: first_cell(T.minimum(u + n, hi - 1)), far)

                if width == 1 or (isinstance(columns, int) and columns % width == 0):
                    return of(T.const(width))
                rest = ctx.sizes(columns) - first[-1]
                # some, or LLVM would have a copy of the loops for none
                narrow = T.const(columns % width) if isinstance(columns, int) else T.maximum(rest, T.const(1))
                return T.if_(rest >= width, of(T.const(width)), of(narrow))

            return T.kept("first", first_cell(u), at)

        return T.for_range(lo, hi, tile, "tile")

    def share(lo: Expr, hi: Expr) -> Stmt:
        if not gathered:
            return tiles_of(lo, hi, True)

        def cell(u: Expr) -> list[Expr]:
            return first_cell(T.minimum(u, hi - 1))

        return folds_scattered(nest, gathered, cell, lo, hi, ctx.sizes(tiles), lambda far: tiles_of(lo, hi, far))

    return shared_range(ctx, product(outer), nest.work, share, nest=nest.name)


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


def rows_share_an_index(nest: ReduceNest) -> bool:
    """Whether the indices that a fold uses are those of its neighbours on the innermost kept axis."""
    c = [T.var(f"c{k}") for k in range(len(nest.shape))]
    r = [T.var(f"r{k}") for k in range(len(nest.ranges(c)))]
    pairs = zip(nest.grid(c, r), nest.grid([*c[:-1], c[-1] + 1], r), strict=True)
    return all(T.same_expr(x, y) for x, y in pairs)


def where_valid(nest: ReduceNest, first: list[Expr], folds: Stmt) -> Stmt:
    """A tile's folds, if all indices that they use are in range: tested just before, which brings them into the L1 cache."""
    flag = Flag(nest.check)
    return flag.around(over_reduced(nest, first, lambda r: T.seq(flag.test(nest.grid(first, r)))), folds)


def side_by_side(nest: ReduceNest, first: list[Expr], width: int, count: Expr, prefetch: Prefetch | None) -> Stmt:
    """``count`` folds, at most ``width``, side by side: of the cell ``first`` and those after it on the innermost kept axis."""
    acc = accumulators(nest, T.constant_value(count) or width, "global")

    def cell(k: Expr) -> list[Expr]:
        return [*first[:-1], first[-1] + k]

    def each(body: Callable[[Expr], Stmt]) -> Stmt:
        return T.for_(count, body, "c")

    def row(r: list[Expr]) -> Stmt:
        return each(lambda k: fold_step(nest, acc, k, cell(k), r))

    return T.seq(
        *(T.allocate(a) for a in acc),
        each(lambda k: T.seq(*(T.store(a, [k], v) for a, (_, v) in zip(acc, nest.initial, strict=True)))),
        prefetch.loops(row) if prefetch else over_reduced(nest, first, row),
        each(lambda k: T.store(nest.out, cell(k), nest.finish([T.load(a, k) for a in acc], cell(k)))),
    )


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
    c = [T.var(f"c{k}") for k in range(len(nest.shape))]
    r = [T.var(f"r{k}") for k in range(len(nest.ranges(c)))]
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


def folded_ahead(nest: ReduceNest, ctx: Context, gathered: list[int], width: int) -> int:
    """How many rows, of tiles ``width`` cells wide, lie between prefetching those of ``gathered`` and folding them."""
    c = [T.var(f"c{k}") for k in range(len(nest.shape))]
    found = reads(nest, c, [T.var(f"r{k}") for k in range(len(nest.ranges(c)))])
    buffers = [found[k][1] for k in gathered]
    columns = nest.shape[-1]
    cells = dim_min(columns, width) if isinstance(columns, int) else width
    row = cells * max(T.itemsize(buf) for buf in buffers)
    return int(rows_ahead(ctx, FOLDED_AHEAD, "copied rows", row, [known_bytes(buf) for buf in buffers]))


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
        return ahead if self.far is True else T.if_(self.far, ahead, over_reduced(self.nest, self.first, step))

    def _box(self, ranges: list[tuple[Expr, Expr]], step: Callable[[list[Expr]], Stmt]) -> Stmt:
        """Boxes of several axes: rows ahead on the innermost."""

        def row(r: list[Expr]) -> Stmt:
            later = T.minimum(r[-1] + self.ahead, ranges[-1][1] - 1)
            return T.seq(self._rows(self.first, [*r[:-1], later]), step(r))

        return over_reduced(self.nest, self.first, row)

    def _segments(self, step: Callable[[list[Expr]], Stmt]) -> Stmt:
        """Ranges that differ: what follows a segment belongs to the next ones, most often."""

        def loops(names: list[Expr]) -> Stmt:
            def row(r: list[Expr]) -> Stmt:
                later = T.minimum(r[0] + self.ahead, T.maximum(names[0], r[0]))
                return T.seq(self._rows(self.first, [later]), step(r))

            return over_reduced(self.nest, self.first, row)

        last = self.nest.ranges(self.later(T.const(LAST)))[0][1] - 1
        return T.kept("ahead", [last], loops)

    def _halves(self, extent: Expr, step: Callable[[list[Expr]], Stmt]) -> Stmt:
        """Equal ranges: the rows ahead are of one tile at first, and of the one after it from some row on: a loop for each,
        unless they are known to be of one."""
        tiles, more = _quotient(self.ahead, extent)

        def half(second: Expr) -> Stmt:
            here, there = self.later(tiles), self.later(tiles + 1)
            cell = [x if T.same_expr(x, y) else T.select(second, y, x) for x, y in zip(here, there, strict=True)]
            shift = T.select(second, more - extent, more)
            turn = T.maximum(extent - more, T.const(0))
            bounds = [T.select(second, turn, T.const(0)), T.select(second, extent, turn)]
            return T.kept("ahead", [*cell, shift, *bounds], loop)

        def loop(names: list[Expr]) -> Stmt:
            *cell, shift, begin, end = names
            return T.for_range(begin, end, lambda r: T.seq(self._rows(cell, [r + shift]), step([r])), "r0")

        if T.constant_value(more) == 0:
            return T.kept("ahead", [*self.later(tiles), T.const(0), T.const(0), extent], loop)
        two = T.const(2) if T.constant_value(extent) is not None else T.opaque(T.const(2))  # or LLVM would unroll it
        return T.for_(two, lambda h: half(h > 0), "half")

    def _rows(self, cell: list[Expr], r: list[Expr]) -> Stmt:
        """Prefetch the rows that a step of a cell reads."""

        def prefetch(names: list[Expr]) -> Stmt:
            loads = reads(self.nest, names[: len(cell)], names[len(cell) :])
            return T.seq(*(self._row(*loads[k]) for k in self.gathered))

        return T.kept("later", [*cell, *r], prefetch)

    def _row(self, condition: Expr | None, buf: Buffer, at: list[Expr]) -> Stmt:
        return T.if_(condition, prefetch_row(T.address_of(buf, *at), self.count * T.itemsize(buf)))


def _quotient(a: int, b: Expr) -> tuple[Expr, Expr]:
    """Quotient and remainder by an extent, or by 1 where that is 0."""
    known = T.constant_value(b)
    if known is not None:
        quotient, remainder = divmod(a, max(known, 1))
        return T.const(quotient), T.const(remainder)
    some = T.maximum(b, T.const(1))
    return T.quotient(T.const(a), some), T.remainder(T.const(a), some)


def chains(nest: ReduceNest, cells: list[list[Expr]], prefetch: Prefetch | None = None) -> Stmt:
    """The folds of some cells that all have the same ranges, in turns: each step waits for the one before it in its fold.

    LLVM vectorises folds of integers, which it may reorder, along the runs.  Those of floats it may not reorder, and would
    vectorise across the runs, by hardware gathers: hence a position that it cannot prove to be the same in each run.
    """
    zero = T.const(0)
    acc = [accumulators(nest, 1, "global") for _ in cells]
    hide = len(cells) > 1 and any(d.is_float for d, _ in nest.initial)

    def step(a: list[Buffer], c: list[Expr], r: list[Expr]) -> Stmt:
        if hide and r:
            return T.let("r", T.opaque(r[-1]), lambda x: fold_step(nest, a, zero, c, [*r[:-1], x]))
        return fold_step(nest, a, zero, c, r)

    folds = list(zip(acc, cells, strict=True))

    def steps(r: list[Expr]) -> Stmt:
        return T.seq(*(step(a, c, r) for a, c in folds))

    return T.seq(
        *(T.allocate(b) for a in acc for b in a),
        *(T.store(b, [zero], v) for a in acc for b, (_, v) in zip(a, nest.initial, strict=True)),
        prefetch.loops(steps) if prefetch else over_reduced(nest, cells[0], steps),
        *(T.store(nest.out, storage(c), nest.finish([T.load(b, zero) for b in a], c)) for a, c in folds),
    )
