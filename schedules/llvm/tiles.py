"""Tiles: neighbours on the innermost kept axis, which are folded side by side with their accumulators in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.dims import product
from gscompile.ir.nests import ReduceNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.decisions import Condition
from gscompile.schedules.folds import accumulators, fold_step
from gscompile.schedules.llvm.choices import REGISTERS
from gscompile.schedules.llvm.folded_rows import Later, Prefetch, folds_scattered, reads
from gscompile.schedules.llvm.numbers import WIDE_ACCUMULATOR_REGISTERS
from gscompile.schedules.llvm.ranges import shared_range
from gscompile.schedules.loops import number_in, over_reduced, unravel
from gscompile.schedules.rule import Context

VECTORS = 4
"""Vectors side by side of a tile that has at most half the cells of others; shorter ones have a quarter of the lanes."""
PAIRED_LANES = 8
"""Of vectors from which two are used for as many cells as two hold; 149,000 rows of 20 floats 0.47 ms by four, by two 0.36."""
ROW_BLOCK = 64
"""Rows whose places are listed before they are folded."""


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


def tiled(
    nest: ReduceNest,
    ctx: Context,
    width: int,
    body: Callable[[list[Expr], Expr, Later, Condition], Stmt],
    gathered: Sequence[int] = (),
    around: Callable[[list[Expr], Stmt], Stmt] | None = None,
    apart: bool = True,
    one_by_one: bool = False,
) -> Stmt:
    """``body(first cell, count, later, far)`` for tiles of neighbours on the innermost kept axis, in parallel.

    Tiles are ``width`` wide, but the last of a row may be narrower.  ``far``: whether what is ``gathered`` lies far
    apart; see :func:`folds_scattered`.

    Args:
        around: (first cell, statement) -> what a tile's statement is part of.
        apart: ``body`` stands twice where that depends on a call, with a ``count`` of ``width`` and with one that is less.
        one_by_one: LLVM is kept from making vectors across tiles.
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
                if not apart and not isinstance(columns, int):
                    return of(T.maximum(T.minimum(rest, T.const(width)), T.const(1)))
                # some, or LLVM would have a copy of the loops for none
                narrow = T.const(columns % width) if isinstance(columns, int) else T.maximum(rest, T.const(1))
                return T.if_(rest >= width, of(T.const(width)), of(narrow))

            return T.kept("first", first_cell(u), at)

        def alone(u: Expr) -> Stmt:
            return T.let("u", T.opaque(u), tile)

        return T.for_range(lo, hi, alone if one_by_one else tile, "tile")

    def share(lo: Expr, hi: Expr) -> Stmt:
        if not gathered:
            return tiles_of(lo, hi, True)

        def cell(u: Expr) -> list[Expr]:
            return first_cell(T.minimum(u, hi - 1))

        return folds_scattered(nest, gathered, cell, lo, hi, ctx.sizes(tiles), lambda far: tiles_of(lo, hi, far))

    return shared_range(ctx, product(outer), nest.work, share, nest=nest.name)


Cells: TypeAlias = Callable[[Callable[[Expr, list[Expr]], Stmt]], Stmt]
"""``body(number of an accumulator, cell)`` -> that for each of a tile's cells."""
Rows: TypeAlias = Callable[[Callable[[list[Expr]], Stmt]], Stmt]
"""``step(position in the box)`` -> loops over what a tile folds."""


def known_tile(nest: ReduceNest, first: list[Expr], count: int, prefetch: Prefetch | None) -> Stmt:
    """Folds of the cell ``first`` and the ``count - 1`` after it."""

    def cells(body: Callable[[Expr, list[Expr]], Stmt]) -> Stmt:
        return T.for_(count, lambda k: body(k, [*first[:-1], first[-1] + k]), "c")

    return side_by_side(nest, count, cells, _rows(nest, first, prefetch))


def variable_tile(nest: ReduceNest, first: list[Expr], width: int, count: Expr, prefetch: Prefetch | None) -> Stmt:
    """Folds of at most ``width`` cells, whose number only a call tells, in registers: vectors of them, which may overlap.

    What vectors have in common is computed twice rather than in a loop of its own.  Accumulators that are loaded and stored at
    each step make the next one wait: bags of 64 floats 11.7 ns a row, 4.4 in registers; columns of 12 floats added up 0.33.
    """
    half, rows = width // 2, _rows(nest, first, prefetch)

    def halves(body: Callable[[Expr, list[Expr]], Stmt]) -> Stmt:
        """The first cells and the last ones, so many of each."""

        def run(number: int, begin: Expr) -> Stmt:
            return _vector(nest, half, lambda v: body(number + v, [*first[:-1], begin + v]))

        return T.seq(run(0, first[-1]), run(half, first[-1] + count - half))

    def fold(most: int, cells: Cells) -> Stmt:
        return side_by_side(nest, most, cells, rows)

    def in_blocks(width: int) -> Stmt:
        assert prefetch is not None
        return _in_blocks(nest, first, width, count, prefetch)

    shorter = in_blocks if prefetch is not None and prefetch.one_range else None
    narrow = _in_vectors(nest, first, half, count, fold, shorter)
    return T.if_(count > half, side_by_side(nest, 2 * half, halves, rows), narrow)


def _vector(nest: ReduceNest, lanes: int, body: Callable[[Expr], Stmt]) -> Stmt:
    """``body(v)`` for each lane; LLVM makes vectors of several accumulators, whose names TVM cannot have for each lane."""
    if lanes == 1:
        return body(T.const(0))
    return T.vectorized(lanes, body) if len(nest.initial) == 1 else T.for_(lanes, body, "v")


def _rows(nest: ReduceNest, first: list[Expr], prefetch: Prefetch | None) -> Rows:
    """The loops over all that is folded."""

    def rows(step: Callable[[list[Expr]], Stmt]) -> Stmt:
        return prefetch.loops(step) if prefetch else over_reduced(nest, first, step)

    return rows


def _in_blocks(nest: ReduceNest, first: list[Expr], width: int, count: Expr, prefetch: Prefetch) -> Stmt:
    """A block of rows at a time: their places are listed and rows ahead prefetched in one loop, for vectors of any length.

    Accumulators are in memory between blocks.
    """
    (begin, end), zero = nest.ranges(first)[0], T.const(0)
    total = accumulators(nest, width, "global")
    picked = prefetch.unconditional
    places = [T.buffer(f"place{k}", [ROW_BLOCK], "int64", align=64) for k in range(len(picked))]

    def rows_at(r: Expr) -> list[tuple[Buffer, list[Expr]]]:
        found = reads(nest, first, [r])
        return [(found[k][1], found[k][2]) for k in picked]

    def block(lo: Expr, n: Expr) -> Stmt:
        def listed(ahead: Callable[[Expr], Stmt] | None) -> Stmt:
            def row(r: Expr) -> Stmt:
                rows = zip(places, rows_at(lo + r), strict=True)
                stores = (T.store(p, [r], number_in(b, [*x[:-1], zero])) for p, (b, x) in rows)
                return T.seq(*stores, ahead(lo + r) if ahead else None)

            return T.for_(n, row, "r0", one_copy=True)

        def fold(most: int, cells: Cells) -> Stmt:
            def rows(step: Callable[[list[Expr]], Stmt]) -> Stmt:
                return T.for_(n, lambda r: known(step, r), "r0", one_copy=True)

            return side_by_side(nest, most, cells, rows, total)

        def known(step: Callable[[list[Expr]], Stmt], r: Expr) -> Stmt:
            """A step whose rows' places are listed."""
            rows = zip(places, rows_at(lo + r), strict=True)
            return from_list(step([lo + r]), [(T.load(p, r), *row) for p, row in rows])

        lists = prefetch.ahead_of(listed)
        if prefetch.far is not True:
            lists = T.if_(prefetch.far, lists, listed(None))
        return T.seq(lists, _in_vectors(nest, first, width, count, fold))

    def nth(k: Expr) -> Stmt:
        lo = begin + k * ROW_BLOCK
        return T.kept(("begin", "rows"), [lo, T.minimum(end - lo, T.const(ROW_BLOCK))], lambda x: block(*x))

    some = T.maximum(end - begin, T.const(1))  # cells of nothing are stored, too
    return T.seq(
        *(T.allocate(b) for b in [*places, *total]),
        T.for_(width, lambda k: T.seq(*(T.store(a, [k], v) for a, (_, v) in zip(total, nest.initial, strict=True)))),
        T.for_(T.quotient(some + (ROW_BLOCK - 1), T.const(ROW_BLOCK)), nth, "block", one_copy=True),
    )


def from_list(step: Stmt, rows: Sequence[tuple[Expr, Buffer, list[Expr]]]) -> Stmt:
    """A step that reads some rows where a list says that they begin: (place in the tensor, tensor, coordinates)."""

    def change(buf: Buffer, x: list[Expr]) -> Expr | None:
        for place, b, y in rows:
            if buf.same_as(b) and all(map(T.same_expr, x[:-1], y[:-1])):
                return T.load_vector(buf, place + x[-1], 1)
        return None

    return T.with_loads(step, change)


def _in_vectors(
    nest: ReduceNest,
    first: list[Expr],
    width: int,
    count: Expr,
    body: Callable[[int, Cells], Stmt],
    shorter: Callable[[int], Stmt] | None = None,
) -> Stmt:
    """``body(accumulators, cells)`` for at most ``width`` cells, with vectors as long as their number allows.

    Args:
        shorter: what is done instead for fewer cells than a vector of these has, which it is given.
    """
    lanes = max(width // VECTORS, 1)
    stmt = _overlapping(nest, first, lanes, width // lanes, count, body)
    if lanes == 1:
        return stmt
    if lanes >= PAIRED_LANES and width > 2 * lanes:
        stmt = T.if_(count > 2 * lanes, stmt, _overlapping(nest, first, lanes, 2, count, body))
    return T.if_(count >= lanes, stmt, shorter(lanes) if shorter else _in_vectors(nest, first, lanes, count, body))


def _overlapping(
    nest: ReduceNest, first: list[Expr], lanes: int, vectors: int, count: Expr, body: Callable[[int, Cells], Stmt]
) -> Stmt:
    """``body(accumulators, cells)`` for ``count`` cells, at least ``lanes``, in so many vectors."""
    begins = T.buffer("vector", [vectors], "int64", align=8)

    def cells(body: Callable[[Expr, list[Expr]], Stmt]) -> Stmt:
        def vector(k: Expr) -> Stmt:
            return _vector(nest, lanes, lambda v: body(k * lanes + v, [*first[:-1], T.load(begins, k) + v]))

        return T.for_(vectors, vector, "k")

    begin = T.for_(vectors, lambda k: T.store(begins, [k], first[-1] + T.minimum(k * lanes, count - lanes)))
    return T.seq(T.allocate(begins), begin, body(lanes * vectors, cells))


def side_by_side(nest: ReduceNest, width: int, cells: Cells, rows: Rows, total: Sequence[Buffer] | None = None) -> Stmt:
    """The folds of some cells, ``width`` of them, side by side.

    Args:
        total: accumulators in memory, from which they start and to which they go.
    """
    acc = accumulators(nest, width, "global")

    def begin(k: Expr, c: list[Expr]) -> Stmt:
        values = [v for _, v in nest.initial] if total is None else [T.load(t, k) for t in total]
        return T.seq(*(T.store(a, [k], v) for a, v in zip(acc, values, strict=True)))

    def end(k: Expr, c: list[Expr]) -> Stmt:
        kept = [] if total is None else [T.store(t, [k], T.load(a, k)) for t, a in zip(total, acc, strict=True)]
        return T.seq(*kept, T.store(nest.out, c, nest.finish([T.load(a, k) for a in acc], c)))

    return T.seq(
        *(T.allocate(a) for a in acc),
        cells(begin),
        rows(lambda r: cells(lambda k, c: fold_step(nest, acc, k, c, r))),
        cells(end),
    )
