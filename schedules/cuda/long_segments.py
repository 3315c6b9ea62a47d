"""Segments of points of which some are much longer than others: blocks share the long ones, fold by fold, in one kernel.

Every so manieth point is a mark.  A segment that has two marks that follow each other is long.  Each of its marks stands for a
piece: the points from the mark to the next one or to the segment's end, and for the first of them those before it as well.

A grid begins with some blocks that take tickets, one after the other.  Whoever has the first looks at all marks, a thread at
each, and leaves where the segments of those begin and end that are long.  Then there is a ticket for each piece and fold, all of
the first fold before those of the second: the block folds the piece, and leaves what it has in scratch memory, where those of the
next fold find it.  They merge what all pieces of the segment have come to, each for itself and always in the same order, so that
results are the same in each call.  With the last tickets go the points' results.  A block waits until all tickets of the fold
before are done with, which blocks have that run already.  Where nothing is long the first ticket is the only one.

All other segments are taken as if there were no long ones, by the other blocks.  Whether a segment is long, these and those that
share it say by its ends alone.  Broken promises make pieces that do not belong together, and results that are undefined; there
are as many tickets as pieces all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, ceildiv, dim_min, product
from gscompile.ir.ops.scattering import SegmentsNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES
from gscompile.schedules.cuda.launch import narrow
from gscompile.schedules.cuda.numbers import SEGMENT_PIECE_STEPS, SEGMENT_THREADS
from gscompile.schedules.cuda.segment_folds import Block, accumulated, combined, taken, total, wide
from gscompile.schedules.cuda.tickets import turn, wait
from gscompile.schedules.rule import Context

ZERO, ONE, NO = T.const(0), T.const(1), T.const(0, "int32")

MOST_ACROSS = 1 << 16
"""Pieces that lie side by side, at most: tickets are numbers of 32 bits."""


@dataclass(frozen=True, slots=True)
class LongSegments:
    """What blocks share.

    Attributes:
        threads: of a block.
        width: neighbours that have a column each.
        across: pieces that lie side by side, for all columns.
        least: points from one mark to the next, at least; no fewer than a block looks at.
        word: 0 at first.
        lows, highs: by mark, where its segment begins and ends, if it is long.
        parts: by fold, what pieces come to.
    """

    nest: SegmentsNest
    ctx: Context
    threads: int
    width: int
    across: Dim
    least: int
    word: tuple[Buffer, Expr]
    lows: Buffer
    highs: Buffer
    parts: Sequence[Buffer]

    @staticmethod
    def of(nest: SegmentsNest, ctx: Context, threads: int, width: int) -> LongSegments | None:
        """None where no segment can be long, or blocks cannot share one."""
        points, across = nest.shape[nest.own], ceildiv(product(nest.shape[nest.own + 1 :]), width)
        least = max(threads, SEGMENT_PIECE_STEPS * threads // width)
        if product(nest.shape[: nest.own]) != 1 or (isinstance(points, int) and points <= least):
            return None
        word = ctx.word(nest.name)
        if word is None:
            return None
        marks = dim_min(threads, ceildiv(points, least))

        def scratch(name: str, extent: Dim, dtype: str) -> Buffer:
            return ctx.workspace(f"{nest.name}_{name}", (extent,), DTYPES[dtype])

        return LongSegments(
            nest,
            ctx,
            threads,
            width,
            across,
            least,
            word,
            scratch("lows", marks, "int64"),
            scratch("highs", marks, "int64"),
            [scratch(f"part{k}", marks * across * width, wide(f).name) for k, f in enumerate(nest.folds)],
        )

    @property
    def extent(self) -> Expr:
        return self.ctx.sizes(self.nest.shape[self.nest.own])

    @property
    def log_piece(self) -> Expr:
        """log2 of the points from one mark to the next: there are as many marks as threads at most."""
        more = (T.cast("int64", self.extent > T.const(self.threads * self.least << k)) for k in range(32))
        log = sum(more, T.const(self.least.bit_length() - 1))
        return T.select(self.ctx.sizes(self.across) <= MOST_ACROSS, log, T.const(60))

    @property
    def marks(self) -> Expr:
        return self.mark_from(self.extent, self.log_piece)

    @staticmethod
    def mark_from(p: Expr, log_piece: Expr) -> Expr:
        """The first mark that is not before a point."""
        return (p + ((ONE << log_piece) - 1)) >> log_piece

    @property
    def blocks(self) -> Expr:
        """That take tickets, at most as many as a GPU holds."""
        most = self.ctx.target.multiprocessors * max(2 * SEGMENT_THREADS // self.threads, 1)
        blocks = T.minimum(self.marks * self.ctx.sizes(self.across), T.const(most))
        return T.select(self.marks > 1, blocks, ZERO)

    def is_long(self, begin: Expr, end: Expr) -> Expr:
        """Whether a segment has two marks."""
        return (self.mark_from(begin, self.log_piece) + 1) << self.log_piece < end

    def statement(self, block: Block) -> Stmt:
        """What a thread of the blocks does that take tickets."""
        told = T.buffer("told", [1], "int32", align=8, scope="shared")
        number, low, high = (_register(n, d) for n, d in (("ticket", "int32"), ("low", "int64"), ("high", "int64")))

        def known(*x: Expr) -> Stmt:
            return _Shared(self, block, told, number, low, high, *x).statement()

        body = narrow("marks", [self.log_piece, self.marks, self.ctx.sizes(self.across)], known)
        return T.seq(*map(T.allocate, (told, number, low, high)), body)


@dataclass(frozen=True, slots=True)
class _Shared:
    """What a thread does of the blocks that take tickets.

    Attributes:
        told: shared memory for what one thread tells the others.
        number, low, high: registers: of a ticket, and where a segment begins and ends.
        log_piece, marks: log2 of the points from one mark to the next, and how many these are.
        across: pieces that lie side by side.
    """

    long: LongSegments
    block: Block
    told: Buffer
    number: Buffer
    low: Buffer
    high: Buffer
    log_piece: Expr
    marks: Expr
    across: Expr

    @property
    def word(self) -> Expr:
        buf, at = self.long.word
        return T.address_of(buf, at)

    @property
    def piece(self) -> Expr:
        """Points from one mark to the next."""
        return ONE << self.log_piece

    @property
    def ticket(self) -> Expr:
        return T.int64(T.load(self.number, ZERO))

    def statement(self) -> Stmt:
        looks = T.seq(self.look(), T.synchronize_block(), self.turn(1))
        is_long = T.cast("int32", T.load(self.high, ZERO) > T.load(self.low, ZERO))
        block, folds = self.block, len(self.long.nest.folds)

        def pieces(count: Expr, units: Expr, most: Expr) -> Stmt:
            def work(fold: Expr, unit: Expr) -> Stmt:
                return T.seq(wait(self.word, fold * units + 1), self.take(fold, unit, count))

            def fold(number: Expr) -> Stmt:
                return narrow("unit", [number, self.ticket - 1 - number * units], work)

            def one(k: Expr) -> Stmt:
                piece = narrow("fold", [T.quotient(self.ticket - 1, units)], fold)
                return T.if_(
                    self.ticket <= units * (folds + 1), T.seq(piece, T.synchronize_block(), self.turn(1, k + 1 < most))
                )

            return T.for_(most, one, "k")

        def listed(count: Expr) -> Stmt:
            units = count * self.across
            blocks = T.maximum(self.long.blocks, ONE)
            return narrow("count", [count, units, T.quotient(units * (folds + 1) + (blocks - 1), blocks)], pieces)

        return T.seq(
            self.turn(0),
            T.if_(self.ticket == 0, looks),
            wait(self.word, ONE),
            T.store(self.low, [ZERO], ZERO),
            T.store(self.high, [ZERO], ZERO),
            T.if_(block.t < self.marks, self.ends(block.t)),
            block.listed(block.begins, is_long, ZERO),
            narrow("pieces", [block.length(block.begins)], listed),
        )

    def turn(self, done: int, more: Expr | None = None) -> Stmt:
        return turn(self.word, self.told, done, more, self.number)

    def ends(self, mark: Expr) -> Stmt:
        """Where the segment of a mark begins and ends, as the first block has found it."""
        return T.seq(
            T.store(self.low, [ZERO], T.load(self.long.lows, mark)),
            T.store(self.high, [ZERO], T.load(self.long.highs, mark)),
        )

    # -- marks

    def look(self) -> Stmt:
        """Find the segments of all marks, and where those begin and end that are long."""
        t, n, offsets = self.block.t, self.long.extent, self.long.nest.offsets
        low, high = T.load(self.low, ZERO), T.load(self.high, ZERO)
        found = self.by_starts() if offsets is None else self.by_offsets(offsets)
        place = t * self.piece

        def leave(x: list[Expr]) -> Stmt:
            a, b = x
            is_long = T.all_of([a <= place, place < b, self.long.is_long(a, b)])
            return T.seq(
                T.store(self.long.lows, [t], T.select(is_long, a, ZERO)),
                T.store(self.long.highs, [t], T.select(is_long, b, ZERO)),
            )

        ends = [T.maximum(low, ZERO), T.minimum(high, n)]
        return T.seq(found, T.if_(t < self.marks, T.registers("ends", ends, leave)))

    def by_offsets(self, offsets: Callable[[Expr], Expr]) -> Stmt:
        """Of all offsets some, for which one read after the other is of shared memory; then those between two of them."""
        t, threads, begins = self.block.t, self.long.threads, self.block.begins
        segments = self.long.ctx.sizes(self.long.nest.segments)
        step = T.quotient(segments + threads, T.const(threads))  # offsets are one more
        at = _register("at", "int64")
        first = offsets(T.minimum(t * step, segments))
        mark = T.minimum(self.long.mark_from(T.maximum(first, ZERO), self.log_piece), self.marks)

        def among(step: Expr) -> Stmt:
            def before(k: Expr) -> Expr:
                return T.int64(T.load(begins, k)) <= t

            def not_after(j: Expr) -> Expr:
                return offsets(j) <= t * self.piece

            def between(limit: list[Expr]) -> Stmt:
                return _advance([(at, limit[0], not_after)], step)

            return T.seq(
                _advance([(at, T.const(threads), before)], T.const(threads)),
                T.store(at, [ZERO], T.load(at, ZERO) * step),
                T.registers("limit", [T.minimum(T.load(at, ZERO) + step, segments)], between),
                *(
                    T.store(to, [ZERO], offsets(T.minimum(T.load(at, ZERO) + d, segments)))
                    for d, to in enumerate((self.low, self.high))
                ),
            )

        return T.seq(
            T.allocate(at),
            T.store(begins, [t], T.cast("int32", mark)),
            T.store(at, [ZERO], ZERO),
            T.synchronize_block(),
            T.registers("step", [step], lambda x: T.if_(t < self.marks, among(x[0]))),
        )

    def by_starts(self) -> Stmt:
        """The ends of a segment that has a mark beside its own: first between which marks they are, then where."""
        t, block, nest, n = self.block.t, self.block, self.long.nest, self.long.extent
        low, high = self.low, self.high

        def own(start: list[Expr]) -> Stmt:
            def same(p: Expr) -> Expr:
                return T.all_of(T.int64(a) == b for a, b in zip(nest.starts(block.row(p)), start, strict=True))

            def other(p: Expr) -> Expr:
                starts = zip(nest.starts(block.row(p)), start, strict=True)
                return T.any_of(T.int64(a) != b for a, b in starts)

            def find(begins_first: Expr) -> Stmt:
                ahead = T.select(begins_first, ZERO, t)  # nothing is before the first point
                marks = T.seq(
                    _advance(
                        [
                            (low, ahead, lambda k: other(k * self.piece)),
                            (high, self.marks, lambda k: same(k * self.piece)),
                        ],
                        self.marks,
                    ),
                    *(T.store(r, [ZERO], T.load(r, ZERO) * self.piece) for r in (low, high)),
                )
                ends = [
                    T.select(begins_first, ZERO, T.load(low, ZERO) + self.piece),
                    T.minimum(T.load(high, ZERO) + self.piece, n),
                ]
                points = T.registers(
                    "until", ends, lambda x: _advance([(low, x[0], other), (high, x[1], same)], self.piece)
                )
                return T.seq(
                    marks,
                    points,
                    T.store(low, [ZERO], T.select(begins_first, ZERO, T.load(low, ZERO) + 1)),
                    T.store(high, [ZERO], T.load(high, ZERO) + 1),
                )

            beside = [
                T.if_then_else(t > 0, _flag(same((t - 1) * self.piece)), NO),
                T.if_then_else(t + 1 < self.marks, _flag(same((t + 1) * self.piece)), NO),
                _flag(same(ZERO)),
            ]
            return T.registers(
                "beside", beside, lambda x: T.if_(x[0] + x[1] > NO, find(x[2] > NO), T.store(high, [ZERO], ZERO))
            )

        starts = [T.int64(x) for x in nest.starts(block.row(t * self.piece))]
        return T.seq(
            T.store(low, [ZERO], ZERO),
            T.store(high, [ZERO], t),
            T.if_(t < self.marks, T.registers("start", starts, own)),
        )

    # -- pieces

    def take(self, fold: Expr, unit: Expr, count: Expr) -> Stmt:
        """A piece: all totals that are known, the fold that is next, or the points' results.

        Args:
            fold: which one is next; so many as there are for none.
            unit: the number of the piece, all columns of a mark first.
            count: marks of long segments.
        """
        place, group = T.quotient(unit, self.across), T.remainder(unit, self.across)
        mark = T.int64(T.load(self.block.begins, place))

        def piece(place: Expr, group: Expr, mark: Expr) -> Stmt:
            low, high = T.load(self.low, ZERO), T.load(self.high, ZERO)
            first = self.long.mark_from(low, self.log_piece)
            last = (high - 1) >> self.log_piece
            begin = T.select(mark == first, low, mark * self.piece)
            end = T.minimum(high, (mark + 1) * self.piece)
            # with promises broken not all of these need be listed
            ahead, behind = T.maximum(place - (mark - first), ZERO), T.minimum(place + (last - mark), count - 1)

            def known(x: list[Expr]) -> Stmt:
                block = self.block.of_columns(group)
                return narrow(
                    "ahead", [ahead, behind - ahead + 1], lambda *y: self.fold(block, fold, place, group, *x, *y)
                )

            return T.seq(self.ends(mark), T.registers("ends", [begin, end, high - low], known))

        return narrow("place", [place, group, mark], piece)

    def fold(
        self,
        block: Block,
        fold: Expr,
        place: Expr,
        group: Expr,
        begin: Expr,
        end: Expr,
        length: Expr,
        first: Expr,
        pieces: Expr,
    ) -> Stmt:
        """The same, of a piece whose place among all is known, that of the first one of its segment, and how many this has."""
        width, t, nest = self.long.width, self.block.t, self.long.nest
        lanes, lane = self.long.threads // width, block.lane
        end = end if block.there is None else T.select(block.there, end, begin)
        column = T.remainder(t, T.const(width))

        def several(count: Expr) -> Expr:
            return T.maximum(T.quotient(count - lane + (lanes - 1), T.const(lanes)), ZERO)

        def at(place: Expr) -> Expr:
            return (place * self.across + group) * width + column

        def work(points: Expr, others: Expr) -> Stmt:
            each = block.each(begin + lane, points, T.const(lanes.bit_length() - 1))

            def one(k: int) -> Stmt:
                f, part, combine = nest.folds[k], self.long.parts[k], combined(nest.folds[k])
                again = k + 1 < len(nest.folds)

                def known(acc: Buffer) -> Stmt:
                    def step(j: Expr) -> Stmt:
                        other = T.load(part, at(first + lane + j * lanes))
                        return T.store(acc, [ZERO], combine(T.load(acc, ZERO), other))

                    return T.seq(
                        T.for_(others, step, "j"),
                        block.merged_by_block(acc, combine, again),
                        T.store(block.totals[k], [ZERO], total(f, acc, length)),
                    )

                def next_one(acc: Buffer) -> Stmt:
                    return T.seq(
                        each(f.needs, lambda c: taken(f, acc, c)),
                        block.merged_by_block(acc, combine, again),
                        T.if_(t < width, T.store(part, [at(place)], T.load(acc, ZERO))),
                    )

                return T.if_(fold > k, accumulated(f, known), T.if_(fold == k, accumulated(f, next_one)))

            return T.seq(*map(one, range(len(nest.folds))), T.if_(fold == len(nest.folds), block.stored(each)))

        return narrow("steps", [several(end - begin), several(pieces)], work)


def _register(name: str, dtype: str) -> Buffer:
    return T.buffer(name, [1], dtype, align=8, scope="local")


def _flag(condition: Expr) -> Expr:
    return T.select(condition, T.const(1, "int32"), NO)


def _advance(places: Sequence[tuple[Buffer, Expr, Callable[[Expr], Expr]]], most: Expr) -> Stmt:
    """Move each place to the last number below a limit of which something holds, as it does up to there; it stays if of none.

    Args:
        most: numbers from a place to its limit, at most.
    """
    bits = sum((T.cast("int64", most > T.const(1 << k)) for k in range(40)), ZERO)

    def step(s: Expr, bits: Expr) -> Stmt:
        def moved(x: list[Expr]) -> Stmt:
            holds = [
                T.if_then_else(k < limit, _flag(there(k)), NO) for k, (_, limit, there) in zip(x, places, strict=True)
            ]
            return T.registers(
                "holds",
                holds,
                lambda ys: T.seq(
                    *(
                        T.store(p, [ZERO], T.select(y > NO, k, T.load(p, ZERO)))
                        for y, k, (p, _, _) in zip(ys, x, places, strict=True)
                    )
                ),
            )

        distance = ONE << (bits - 1 - s)
        return T.registers("next", [T.load(p, ZERO) + distance for p, _, _ in places], moved)

    return T.registers("bits", [bits], lambda x: T.for_(x[0], lambda s: step(s, x[0]), "s"))
