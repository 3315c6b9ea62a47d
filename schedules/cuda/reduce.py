"""Reductions over axes on cuda, repeatable: where folds are cut, and in which order parts are merged, depends on sizes and
the number of multiprocessors alone.

A run of memory is folded by a warp or a block, whose threads take neighbours (:class:`Rows`); other folds by a thread for each
cell, neighbours by neighbours (:class:`Columns`).  Where there are fewer cells than a GPU has room for, their folds are cut into
parts, which go to scratch memory, and a second kernel merges them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, product
from gscompile.ir.nests import Nest, Partial, ReduceNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.cuda.check import checked, guarded
from gscompile.schedules.cuda.choices import BLOCK, FOLD
from gscompile.schedules.cuda.groups import WARP, Group, groups, tree
from gscompile.schedules.cuda.launch import MOST_NARROW, by_width, coordinates, launch, over, resident
from gscompile.schedules.cuda.long_runs import LongRuns, Short
from gscompile.schedules.cuda.noted import Step, noted
from gscompile.schedules.cuda.numbers import (
    COLUMN_PART,
    FOLD_PART,
    SERIAL_PARTS,
    SHORT_FOLD,
    WARP_FOLD,
    fold_threads,
    resident_blocks,
)
from gscompile.schedules.fold_parts import keeps_order
from gscompile.schedules.folds import accumulators, fold_step, replaced
from gscompile.schedules.loops import over_reduced, storage
from gscompile.schedules.rule import Checked, Context

ZERO = T.const(0)


class Rows:
    """Folds of runs of memory: rows, whole tensors, segments of vectors.

    A warp for up to :data:`WARP_FOLD` elements, a block for more; lanes take neighbours, so that each access of a warp is one
    run, then merge what they have in five shuffles, and warps by way of shared memory in five more.  A long fold of few is cut
    into parts of at least :data:`FOLD_PART` elements, for the blocks that a GPU holds, and a second kernel merges these.
    Elements are read once: 4 bytes and about 6 instructions for a float32.
    """

    name = "fold-rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ReduceNest) or not nest.inner or nest.partial is None or not ctx.target.cooperative:
            return None
        if keeps_order(nest, ctx):
            return None
        if not all(isinstance(d, DType) and d.bits in (32, 64) for d, _ in nest.partial.initial):
            return None  # what shuffles move
        fold = _Fold.of(nest, guarded(ctx, nest))
        length = fold.length([T.var(f"c{k}") for k in range(len(nest.shape))])
        known = None if fold.uneven else T.constant_value(length)
        if known is not None and known <= SHORT_FOLD:
            return None
        if fold.uneven:
            return checked(nest, fold.shared() or fold.direct(WARP))
        who = ctx.choose(FOLD)
        if who == "warp" or (who == FOLD.default and known is not None and known <= WARP_FOLD):
            return checked(nest, fold.direct(WARP))
        whole = fold.cut(resident_blocks(ctx.target), FOLD_PART, by_block=True)
        if who == FOLD.default and known is None:
            whole = T.if_(length <= WARP_FOLD, fold.direct(WARP), whole)
        return checked(nest, whole)


class Columns:
    """Folds across rows, a thread for each cell: neighbours read neighbours, and an index once for all lanes.

    Where cells are fewer than half of the threads that a GPU holds, folds are cut into parts of at least :data:`COLUMN_PART`
    elements, a thread for each, and a second kernel merges these.  Elements are read once: 4 bytes and about 6 instructions
    for a float32.
    """

    name = "fold-columns"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ReduceNest) or nest.partial is None:
            return None
        parts = in_parts(nest, guarded(ctx, nest))
        return None if parts is None else checked(nest, parts)


class Folds:
    """A thread per fold, in row-major order; always applies to a reduction."""

    name = "folds"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ReduceNest):
            return None
        ctx = guarded(ctx, nest)
        runs = None if keeps_order(nest, ctx) else shared(nest, ctx)
        return checked(nest, runs or serial(nest, ctx))


def in_order(nest: ReduceNest, ctx: Context) -> Stmt:
    """Folds in row-major order, which test their own indices."""
    return serial(nest, guarded(ctx, nest))


def shared(nest: ReduceNest, ctx: Context) -> Stmt | None:
    """A thread per fold, and blocks for long runs; None where there are none."""
    runs = LongRuns.of(nest, ctx, ctx.choose(BLOCK))
    if runs is None:
        return None
    count = ctx.sizes(product(nest.shape))

    def kernel(narrow: bool) -> Stmt:
        dtype = "int32" if narrow else "int64"

        def fold(long: Expr, i: Expr) -> Stmt:
            def one(c: list[Expr]) -> Stmt:
                return T.if_(runs.length(c[0]) <= long, fold_serially(nest, ctx, c))

            return T.registers("c", coordinates(ctx, i, nest.shape), one)

        def short(long: Expr) -> Short:
            def thread(b: Expr, t: Expr) -> Stmt:
                i = T.cast(dtype, b * runs.block + t)
                return T.if_(i < T.cast(dtype, count), T.let("i", i, lambda i: fold(long, i)))

            return thread

        return runs.kernel(T.quotient(count + (runs.block - 1), T.const(runs.block)), short)

    return by_width(ctx, nest.shape, kernel)


def in_parts(nest: ReduceNest, ctx: Context) -> Stmt | None:
    """The kernels of :class:`Columns`; None where no fold would be cut."""
    fold = _Fold.of(nest, ctx)
    if fold.uneven:
        return None
    length = T.constant_value(fold.length([]))
    cells, fill = product(nest.shape), fold_threads(ctx.target)
    if (length is not None and length <= COLUMN_PART) or (isinstance(cells, int) and cells >= fill):
        return None
    return fold.cut(fill, COLUMN_PART, by_block=False)


def serial(nest: ReduceNest, ctx: Context) -> Stmt:
    """A thread per fold."""
    # of the least and the most of integers of 8 and 16 bits ptxas spills some, where it is not told how many threads are resident
    narrow = any(d.is_integer and d.bits < 32 for d, _ in nest.initial)

    def thread(c: list[Expr], _: Expr) -> Stmt:
        fold = fold_serially(nest, ctx, c)
        return resident(ctx.choose(BLOCK), fold) if narrow else fold

    return over(ctx, nest.shape, thread)


def fold_serially(nest: ReduceNest, ctx: Context, c: list[Expr]) -> Stmt:
    """A thread folds a cell."""

    def loop(step: Step) -> Stmt:
        return over_reduced(nest, c, lambda r: step(r, lambda: fold_step(nest, acc, ZERO, c, r)))

    acc = accumulators(nest, 1, "local")
    return T.seq(
        *(T.allocate(a) for a in acc),
        *(T.store(a, [ZERO], v) for a, (_, v) in zip(acc, nest.initial, strict=True)),
        noted(nest, ctx, c, loop),
        T.store(nest.out, storage(c), nest.finish([T.load(a, ZERO) for a in acc], c)),
    )


@dataclass(frozen=True, slots=True)
class _Fold:
    """Folds that may be cut into parts.

    Attributes:
        uneven: each cell has a box of its own.
    """

    nest: ReduceNest
    ctx: Context
    partial: Partial
    uneven: bool

    @staticmethod
    def of(nest: ReduceNest, ctx: Context) -> _Fold:
        assert nest.partial is not None
        c = [T.var(f"c{k}") for k in range(len(nest.shape))]
        uneven = any(T.uses(x, c) for ends in nest.ranges(c) for x in ends)
        return _Fold(nest, ctx, nest.partial, uneven)

    @property
    def block(self) -> int:
        """Threads of a block that folds: they decide how floats round."""
        return int(self.ctx.choose(BLOCK))

    def box(self, c: list[Expr]) -> list[Expr]:
        """The extents of a cell's box."""
        return [hi - lo for lo, hi in self.nest.ranges(c)]

    def length(self, c: list[Expr]) -> Expr:
        """How many elements a cell's fold has."""
        total: Expr = T.const(1)
        for extent in self.box(c or [ZERO for _ in self.nest.shape]):
            total = total * extent
        return total

    def direct(self, lanes: int) -> Stmt:
        """A kernel with a warp or a block for each cell."""

        return groups(self.ctx, self.nest.shape, lanes, self.group)

    def group(self, g: Group, c: list[Expr]) -> Stmt:
        """What a warp or a block does for a cell."""
        return self.folded(
            g.lanes,
            lambda acc: T.seq(
                self.steps(acc, c, g.lane, self.length(c), g.lanes),
                tree(acc, self.partial.merge, g),
                T.if_(g.lane == 0, self.finish(acc, c)),
            ),
        )

    def shared(self) -> Stmt | None:
        """A kernel with a warp for each cell, and blocks for long runs; None where there are none."""
        runs = LongRuns.of(self.nest, self.ctx, self.block)
        if runs is None:
            return None
        count, each = self.ctx.sizes(product(self.nest.shape)), runs.block // WARP

        def short(long: Expr) -> Short:
            def warp(b: Expr, t: Expr) -> Stmt:
                run = b * each + T.quotient(t, T.const(WARP))
                group = Group(T.remainder(t, T.const(WARP)), WARP)
                return T.if_(run < count, T.if_(runs.length(run) <= long, self.group(group, [run])))

            return warp

        return runs.kernel(T.quotient(count + (each - 1), T.const(each)), short)

    def folded(self, lanes: int, body: Callable[[list[Buffer]], Stmt]) -> Stmt:
        """A thread's accumulators."""
        acc = [
            T.buffer(f"acc{k}", [1], d.name, align=8, scope="local") for k, (d, _) in enumerate(self.partial.initial)
        ]
        first = [T.store(a, [ZERO], v) for a, (_, v) in zip(acc, self.partial.initial, strict=True)]
        return T.seq(*map(T.allocate, acc), *first, body(acc))

    def steps(self, acc: list[Buffer], c: list[Expr], begin: Expr, end: Expr, stride: int) -> Stmt:
        """A thread's elements: every so manieth of those numbered ``[begin, end)``, taken in."""
        nest = replace(self.nest, step=self.partial.step)
        ranges = nest.ranges(c)

        def loop(dtype: str) -> Stmt:
            def steps(step: Step) -> Stmt:
                def one(k: Expr) -> Stmt:
                    number = T.cast(dtype, begin + k * stride)
                    at = [number] if len(ranges) == 1 else _unravel(number, self.box(c))
                    r = [lo + T.int64(x) for (lo, _), x in zip(ranges, at, strict=True)]
                    return step(r, lambda: fold_step(nest, acc, ZERO, c, r))

                count = T.maximum(T.quotient(end - begin + (stride - 1), T.const(stride)), ZERO)
                return T.for_(count, one, "j")

            return noted(nest, self.ctx, c, steps)

        known = None if self.uneven else T.constant_value(self.length([]))
        if len(ranges) == 1 or known is not None:
            return loop("int64")
        return T.if_(self.length(c) <= MOST_NARROW, loop("int32"), loop("int64"))

    def finish(self, acc: list[Buffer], c: list[Expr]) -> Stmt:
        """Store a cell; of no elements it is what the whole fold begins with."""
        values, length = [T.load(a, ZERO) for a in acc], self.length(c)
        known = T.constant_value(length)
        if len(acc) > 1 and (known is None or known == 0):
            values = [T.select(length > 0, x, v) for x, (_, v) in zip(values, self.nest.initial, strict=True)]
        return T.store(self.nest.out, storage(c), self.nest.finish(values, c))

    def cut(self, fill: int, least: int, by_block: bool) -> Stmt:
        """Two kernels, for folds cut into parts; one, where there are enough of them.

        Args:
            fill: blocks or threads that fill a GPU.
            least: elements of a part.
            by_block: a block, not a thread, folds a part.
        """
        ctx, shape = self.ctx, self.nest.shape
        cells, length = ctx.sizes(product(shape)), self.length([])
        most = T.quotient(T.const(fill), T.maximum(cells, T.const(1)))
        parts = T.maximum(T.minimum(most, T.quotient(length, T.const(least))), T.const(1))
        if not ctx.target.cooperative:
            parts = T.minimum(parts, T.const(SERIAL_PARTS))
        whole = self.direct(self.block) if by_block else serial(self.nest, ctx)
        slots: Dim = product(shape) + fill
        rooms = [
            ctx.workspace(f"{self.nest.name}_part{k}", (slots,), d) for k, (d, _) in enumerate(self.partial.initial)
        ]

        def both(parts: Expr) -> Stmt:
            fold = self.fold_parts(rooms, parts, cells, by_block)
            return T.seq(fold, self.merge_parts(rooms, parts, cells))

        known = T.constant_value(parts)
        if known == 1:
            return whole
        return both(parts) if known is not None else T.if_(parts > 1, both(parts), whole)

    def fold_parts(self, rooms: Sequence[Buffer], parts: Expr, cells: Expr, by_block: bool) -> Stmt:
        """The kernel that folds parts, and stores them."""
        length = self.length([])
        share = T.quotient(length + (parts - 1), parts)

        def part(p: Expr, number: Expr, lane: Expr, lanes: int, merged: Callable[[list[Buffer]], Stmt | None]) -> Stmt:
            c = coordinates(self.ctx, number, self.nest.shape)
            ends = [p * share, T.minimum((p + 1) * share, length)]

            def body(acc: list[Buffer], begin: Expr, end: Expr) -> Stmt:
                keep = T.seq(
                    *(T.store(r, [p * cells + number], T.load(a, ZERO)) for r, a in zip(rooms, acc, strict=True))
                )
                fold = self.steps(acc, c, begin + lane, end, lanes)
                return T.seq(fold, merged(acc), T.if_(lane == 0, keep) if lanes > 1 else keep)

            return T.registers("end", ends, lambda e: self.folded(lanes, lambda acc: body(acc, *e)))

        def split(i: Expr, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
            at = [T.quotient(i, T.maximum(cells, T.const(1))), T.remainder(i, T.maximum(cells, T.const(1)))]
            return T.registers("part", at, lambda x: body(x[0], x[1]))

        if by_block:
            return groups(
                self.ctx,
                parts * cells,
                self.block,
                lambda g, i: split(
                    i[0], lambda p, n: part(p, n, g.lane, g.lanes, lambda acc: tree(acc, self.partial.merge, g))
                ),
            )
        return launch(self.ctx, parts * cells, lambda i: split(i, lambda p, n: part(p, n, ZERO, 1, lambda acc: None)))

    def merge_parts(self, rooms: Sequence[Buffer], parts: Expr, cells: Expr) -> Stmt:
        """The kernel that merges them, by a warp for each cell, or by a thread where threads do not cooperate."""

        def body(
            c: list[Expr], number: Expr, lane: Expr, lanes: int, merged: Callable[[list[Buffer]], Stmt | None]
        ) -> Stmt:
            def inside(acc: list[Buffer]) -> Stmt:
                def one(k: Expr) -> Stmt:
                    at = (lane + k * lanes) * cells + number
                    new = self.partial.merge([T.load(a, ZERO) for a in acc], [T.load(r, at) for r in rooms])
                    return replaced(acc, ZERO, new)

                count = T.quotient(parts - lane + (lanes - 1), T.const(lanes))
                end = self.finish(acc, c)
                return T.seq(T.for_(count, one, "p"), merged(acc), T.if_(lane == 0, end) if lanes > 1 else end)

            return self.folded(lanes, inside)

        shape = self.nest.shape
        if not self.ctx.target.cooperative:
            return over(self.ctx, shape, lambda c, i: body(c, i, ZERO, 1, lambda acc: None))
        return groups(
            self.ctx,
            cells,
            32,
            lambda g, i: body(
                coordinates(self.ctx, i[0], shape), i[0], g.lane, 32, lambda acc: tree(acc, self.partial.merge, g)
            ),
        )


def _unravel(number: Expr, box: Sequence[Expr]) -> list[Expr]:
    """Coordinates of a row-major number in a box that is not empty."""
    at: list[Expr] = []
    dtype = T.dtype_of(number)
    for extent in reversed(box[1:]):
        extent = T.cast(dtype, extent)
        at.insert(0, T.remainder(number, extent))
        number = T.quotient(number, extent)
    return [number, *at]
