"""Folds over segments of points that follow each other, and what becomes of the points by their totals: one kernel.

A block looks at as many points as it has threads and takes the segments that begin there.  Those that end there, too, and are
not long go to a few lanes each, as many as a segment has points on average, up to a warp.  The others it takes all together, one
after the other; of the last one it looks for the end, a thread at each of so many points at once.  Lanes fold what they have of a
segment and merge that by shuffles, and warps by way of shared memory, so that all know the total, which stays in a register.
Columns of a row are folded each for itself, a sector of them by neighbours.

A segment begins where a point's cell is not that of the point before.  Where the promise of sorted indices is broken each run of
equal ones is a segment, or several blocks write the same points: results are undefined, and nothing else.

Where offsets say what segments are, a block looks for the first one that is not before its points, as many threads at once as for
an end, and marks those up to the first one that is past its points: a bit for each point.  That one is the last segment's end.

Much longer ones are shared by blocks (:mod:`gscompile.schedules.cuda.long_segments`), where something counts tickets.

Per point its index, each time it is folded its value, which caches have but for the first time, and the result.  Sums are the
same in each call: which lane has which point depends on sizes and indices alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, ceildiv, product
from gscompile.ir.nests import Nest
from gscompile.ir.ops.scattering import SegmentFold, SegmentsNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.atomics import atomic
from gscompile.schedules.cuda.check import checked, guarded, test
from gscompile.schedules.cuda.groups import WARP
from gscompile.schedules.cuda.launch import coordinates, narrow
from gscompile.schedules.cuda.long_segments import LongSegments
from gscompile.schedules.cuda.numbers import RESIDENT_THREADS, SECTOR, SEGMENT_POINTS, SEGMENT_STEPS, SEGMENT_THREADS
from gscompile.schedules.cuda.segment_folds import Combine, Each, accumulated, combined, taken, total, wide
from gscompile.schedules.loops import unravel
from gscompile.schedules.rule import Checked, Context

ZERO, ONE, NO = T.const(0), T.const(1), T.const(0, "int32")


class Segments:
    """See the module's text."""

    name = "segments"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, SegmentsNest):
            return None
        known = _Kernel.of(nest, guarded(ctx, nest))
        few = ctx.sizes(nest.shape[nest.own]) <= ctx.sizes(nest.segments) * SEGMENT_POINTS
        if known.long is not None or T.constant_value(T.cast("int32", few)) == 1:
            return checked(nest, known.statement())
        if T.constant_value(T.cast("int32", few)) == 0:
            return checked(nest, nest.apart())
        return checked(nest, T.if_(few, known.statement(), nest.apart()))


@dataclass(frozen=True, slots=True)
class _Kernel:
    """The kernel of a nest.

    Attributes:
        threads: of a block.
        width: neighbours that have a column each, a power of two.
        long: segments that blocks share; None for none.
    """

    nest: SegmentsNest
    ctx: Context
    threads: int
    width: int
    long: LongSegments | None

    @staticmethod
    def of(nest: SegmentsNest, ctx: Context) -> _Kernel:
        size = max(nest.dtype.itemsize, *(wide(f).itemsize for f in nest.folds))
        threads = SEGMENT_THREADS if size <= 4 else SEGMENT_THREADS // 2
        columns, most = product(nest.shape[nest.own + 1 :]), SECTOR // nest.dtype.itemsize
        width = min(1 << (max(columns, 1) - 1).bit_length(), most) if isinstance(columns, int) else most
        return _Kernel(nest, ctx, threads, width, LongSegments.of(nest, ctx, threads, width))

    def statement(self) -> Stmt:
        nest, ctx, threads = self.nest, self.ctx, self.threads
        points, columns = nest.shape[nest.own], product(nest.shape[nest.own + 1 :])
        tasks: Shape = (*nest.shape[: nest.own], ceildiv(points, threads), ceildiv(columns, self.width))
        count = ctx.sizes(product(tasks))
        more = None if self.long is None else self.long.blocks
        blocks = count if more is None else count + more

        def thread(b: Expr, t: Expr) -> Stmt:
            at = coordinates(ctx, b if more is None else b - more, tasks)
            block = Block.of(nest, ctx, threads, self.width, t, at, self.long)
            return T.if_(T.all_of([b < blocks, ctx.guard]), block.statement(None if more is None else b < more))

        def body(b: Expr) -> Stmt:
            return T.thread_binding("threadIdx.x", threads, lambda t: thread(b, t), "t")

        return T.thread_binding("blockIdx.x", T.maximum(blocks, ONE), body, "b")


Merge = Callable[[Buffer, Combine], Stmt]
"""(what a thread has of a fold, how two are combined) -> what makes it the total of all threads of a segment."""


@dataclass(frozen=True, slots=True)
class Block:
    """What a thread of a block does.

    Attributes:
        threads: how many there are, and points that they look at.
        width: neighbours that have a column each, a power of two.
        t: the thread's number.
        at: where the block is: on the shared axes, along the segments, and across them.
        shared: segments that blocks share; None for none.
        totals, steps: registers for those of the nest.
        stop, found: registers: where the last segment ends, and the first of some threads.
        marks: shared memory for a bit of each point, where offsets say which are marked; otherwise None.
        begins, long: lists in shared memory: the points at which segments begin, and the numbers of those that all threads take.
        words: shared memory for a bit of each thread.
        parts: shared memory, by dtype, for what warps have of a fold.
    """

    nest: SegmentsNest
    ctx: Context
    threads: int
    width: int
    t: Expr
    at: list[Expr]
    shared: LongSegments | None
    totals: Sequence[Buffer]
    steps: Sequence[Buffer]
    stop: Buffer
    found: Buffer
    begins: Buffer
    long: Buffer
    words: Buffer
    marks: Buffer | None
    parts: dict[str, Buffer]

    @staticmethod
    def of(
        nest: SegmentsNest,
        ctx: Context,
        threads: int,
        width: int,
        t: Expr,
        at: list[Expr],
        shared: LongSegments | None,
    ) -> Block:
        def register(name: str, dtype: str) -> Buffer:
            return T.buffer(name, [1], dtype, align=8, scope="local")

        def memory(name: str, count: int, dtype: str) -> Buffer:
            return T.buffer(name, [count], dtype, align=8, scope="shared")

        return Block(
            nest,
            ctx,
            threads,
            width,
            t,
            at,
            shared,
            [register(f"total{k}", f.dtype.tir) for k, f in enumerate(nest.folds)],
            [register(f"step{k}", T.element_dtype(s.stands)) for k, s in enumerate(nest.steps)],
            register("stop", "int64"),
            register("found", "int32"),
            memory("begins", threads + 2, "int32"),
            memory("long", threads + 2, "int32"),
            memory("words", threads // WARP, "uint32"),
            None if nest.offsets is None else memory("marks", threads // WARP, "uint32"),
            {d.tir: memory(f"parts_{d.tir}", threads // WARP * width, d.tir) for d in map(wide, nest.folds)},
        )

    def statement(self, takes_tickets: Expr | None) -> Stmt:
        """The thread's part of the kernel; some blocks do nothing but share long segments."""
        stands = [(b, r) for r, several in zip(self.totals, self.nest.totals, strict=True) for b in several]
        stands += [(s.stands, r) for s, r in zip(self.nest.steps, self.steps, strict=True)]

        def known(buf: Buffer, _: list[Expr]) -> Expr | None:
            return next((T.load(register, ZERO) for b, register in stands if buf.same_as(b)), None)

        registers = [*self.totals, *self.steps, self.stop, self.found]
        marks = [] if self.marks is None else [self.marks]
        memory = [self.begins, self.long, self.words, *marks, *self.parts.values()]
        first, n = self.at[-2] * self.threads, self.extent
        ends = [first, T.minimum(n, first + self.threads)]
        body = T.registers("first", ends, lambda x: self.looks(*x))
        if self.shared is not None:
            body = T.if_(takes_tickets, self.shared.statement(self), body)
        blocks = max(RESIDENT_THREADS // self.threads, 1)
        return T.resident(blocks, T.with_loads(T.seq(*map(T.allocate, (*registers, *memory)), body), known))

    # -- where things are

    @property
    def extent(self) -> Expr:
        """Of the axis on which segments lie."""
        return self.ctx.sizes(self.nest.shape[self.nest.own])

    def of_columns(self, group: Expr) -> Block:
        """The same for other columns, by the number of the block across them, where no axis is shared."""
        return replace(self, at=[ZERO, group])

    @property
    def log_width(self) -> int:
        return self.width.bit_length() - 1

    @property
    def log_lanes(self) -> int:
        """log2 of the lanes of a warp that have different points."""
        return (WARP // self.width).bit_length() - 1

    @property
    def lane(self) -> Expr:
        """Which of the points are the thread's, where all of the block share them."""
        return self.t >> self.log_width

    @property
    def column(self) -> Expr:
        return self.at[-1] * self.width + T.floormod(self.t, T.const(self.width))

    @property
    def there(self) -> Expr | None:
        """Whether the thread's column is one; None: it is."""
        columns = product(self.nest.shape[self.nest.own + 1 :])
        whole = isinstance(columns, int) and columns % self.width == 0
        return None if whole else self.column < self.ctx.sizes(columns)

    def point(self, p: Expr) -> list[Expr]:
        """The thread's element of the point ``p`` on the axis of segments."""
        return [*self.at[:-2], p, *unravel(self.column, self.nest.shape[self.nest.own + 1 :], self.ctx.sizes)]

    def row(self, p: Expr) -> list[Expr]:
        """The first element of a point."""
        return [*self.at[:-2], p, *(ZERO for _ in self.nest.shape[self.nest.own + 1 :])]

    def apart(self, p: Expr, q: Expr) -> Expr:
        """1 where two points are in different segments, else 0."""
        starts = zip(self.nest.starts(self.row(p)), self.nest.starts(self.row(q)), strict=True)
        return T.select(T.any_of(a != b for a, b in starts), T.const(1, "int32"), NO)

    def begins_at(self, p: Expr) -> Expr:
        """1 where a point is the first one or in another segment than the one before it, else 0."""
        return T.if_then_else(p > 0, self.apart(p, p - 1), T.const(1, "int32"))

    def begin(self, j: Expr) -> Expr:
        """Where a segment begins, as a number among the block's points; after the last segment, how many these are."""
        return T.int64(T.load(self.begins, j))

    def listed(self, to: Buffer, chosen: Expr, end: Expr) -> Stmt:
        return _listed(to, self.words, T.cast("int32", self.t), chosen, T.cast("int32", end), self.threads)

    def length(self, of: Buffer) -> Expr:
        return T.int64(T.load(of, T.const(self.threads + 1)))

    # -- what is done

    def looks(self, first: Expr, end: Expr) -> Stmt:
        """Look at the block's points, and take the segments that begin there."""
        p, n = first + self.t, self.extent

        def some(count: Expr, goes_on: Expr) -> Stmt:
            return T.if_(count > 0, self.takes(first, end, count, count - goes_on))

        def listed(begins: Expr, goes_on: Expr) -> Stmt:
            return T.seq(
                self.listed(self.begins, begins, end - first),
                narrow("count", [self.length(self.begins), goes_on], some),
            )

        one = T.const(1, "int32")
        if self.nest.offsets is not None:
            goes_on = T.select(T.load(self.stop, ZERO) > end, one, NO)
            return T.seq(self.tests(p), self.mark(first, end, self.nest.offsets), listed(self.marked(self.t), goes_on))
        report = test(self.nest.check, self.nest.grid(self.row(p)), self.ctx)
        return T.seq(
            None if report is None else T.if_(p < end, report),
            listed(
                T.if_then_else(p < end, self.begins_at(p), NO),
                T.if_then_else(end < n, one - self.begins_at(end), NO),
            ),
        )

    def tests(self, p: Expr) -> Stmt | None:
        """Test the offsets, each by some thread of the blocks of the first columns."""
        check = self.nest.check
        if check is None:
            return None
        count = self.ctx.sizes(check.grid[0])
        points = T.quotient(self.extent + (self.threads - 1), T.const(self.threads)) * self.threads

        def some(k: Expr) -> Stmt | None:
            report = test(check, [p + k * points], self.ctx)
            return None if report is None else T.if_(p + k * points < count, report)

        def each(points: Expr) -> Stmt:
            return T.for_(T.quotient(count + (points - 1), points), some, "k")

        every = T.registers("points", [points], lambda x: each(*x))
        return T.if_(self.at[-1] == 0, every)

    def mark(self, first: Expr, end: Expr, offsets: Callable[[Expr], Expr]) -> Stmt:
        """Mark the offsets that are among the block's points, and find the first one that is not before their end."""
        t, threads, last, marks = self.t, self.threads, self.ctx.sizes(self.nest.segments), self.marks
        assert marks is not None

        def some(begin: Expr) -> Stmt:
            def here(at: Expr) -> Stmt:
                inside = T.all_of([at >= first, at < end])
                place = T.cast("uint32", at - first)
                bit = T.const(1, "uint32") << (place & T.const(WARP - 1, "uint32"))
                word = T.quotient(at - first, T.const(WARP))
                return T.seq(
                    T.if_(inside, atomic("or", marks, [word], bit)),
                    _first(self.found, self.words, T.cast("int32", at >= end), threads),
                )

            at = T.if_then_else(begin + t <= last, offsets(T.minimum(begin + t, last)), self.extent)
            k = T.int64(T.load(self.found, ZERO))
            found = offsets(T.minimum(begin + k, last))
            stop = T.store(self.stop, [ZERO], T.maximum(end, T.minimum(found, self.extent)))
            return T.seq(T.registers("offset", [at], lambda x: here(*x)), T.if_(k < threads, stop))

        def every(begin: Expr) -> Stmt:
            rounds = T.quotient(last - begin + threads, T.const(threads))
            unfound = T.load(self.found, ZERO) == T.const(threads, "int32")
            return T.seq(
                T.store(self.found, [ZERO], T.const(threads, "int32")),
                T.store(self.stop, [ZERO], self.extent),
                T.for_(rounds, lambda k: T.if_(unfound, some(begin + k * threads)), "k"),
            )

        return T.seq(
            _cleared(marks, threads),
            self.find(T.const(-1), last, lambda j: T.cast("int32", offsets(j) >= first)),
            T.registers("begin", [T.load(self.stop, ZERO)], lambda x: every(*x)),
        )

    def marked(self, t: Expr) -> Expr:
        """1 where the point with that number is, else 0."""
        assert self.marks is not None
        word = T.load(self.marks, T.quotient(t, T.const(WARP)))
        return T.cast("int32", (word >> T.cast("uint32", T.floormod(t, T.const(WARP)))) & T.const(1, "uint32"))

    def takes(self, first: Expr, end: Expr, count: Expr, whole: Expr) -> Stmt:
        """The segments.

        Args:
            count, whole: how many there are, and how many end among the block's points: all, or all but the last.
        """
        t, bits = self.t, self.lane_bits()
        long = T.maximum(T.const(WARP * 2), T.const(SEGMENT_STEPS) << bits)

        def by_lanes(bits: Expr, long: Expr, many: Expr) -> Stmt:
            length = T.if_then_else(t < count, self.begin(t + 1) - self.begin(t), ZERO)
            is_long = T.if_then_else(t < whole, T.cast("int32", length > long), T.cast("int32", t < count))

            def some(k: Expr) -> Stmt:
                return self.by_lanes(first, k * many + (t >> (bits + self.log_width)), whole, bits, long)

            rounds = T.quotient(whole + (many - 1), many)
            return T.seq(T.for_(rounds, some, "k"), self.listed(self.long, is_long, ZERO))

        def by_block(k: Expr) -> Stmt:
            return narrow("m", [T.load(self.long, k)], lambda j: self.by_block(first, j, whole))

        def find_end(begin: Expr) -> Stmt:
            return self.find(end, self.extent, lambda p: self.apart(p, begin))

        many = T.const(self.threads) >> (bits + self.log_width)
        is_known = self.nest.offsets is not None
        return T.seq(
            narrow("bits", [bits, long, many], by_lanes),
            None if is_known else T.store(self.stop, [ZERO], end),
            None if is_known else T.if_(count > whole, find_end(first + self.begin(count - 1))),
            narrow("long", [self.length(self.long)], lambda x: T.for_(x, by_block, "m")),
        )

    def lane_bits(self) -> Expr:
        """log2 of the lanes that have different points of a segment."""
        n, segments = self.extent, self.ctx.sizes(self.nest.segments)
        enough = (T.cast("int64", n >= segments * (1 << k)) for k in range(1, self.log_lanes + 1))
        return sum(enough, ZERO)

    def by_lanes(self, first: Expr, j: Expr, whole: Expr, bits: Expr, long: Expr) -> Stmt:
        """A few lanes take the segment with that number, if it ends among the block's points and is not long."""

        def segment(begin: Expr, end: Expr) -> Stmt:
            end = T.select(T.all_of([end - begin <= long, self.there]), end, begin)
            lane = (self.t >> self.log_width) & ((ONE << bits) - 1)
            return self.segment(first + begin, first + end, lane, bits, lambda *x: self.merged(bits, *x))

        ends = [T.if_then_else(j < whole, self.begin(j + d), ZERO) for d in (0, 1)]
        return narrow("j", ends, segment)

    def by_block(self, first: Expr, j: Expr, whole: Expr) -> Stmt:
        """All threads take the segment with that number."""
        begin = first + self.begin(j)
        end = T.if_then_else(j < whole, first + self.begin(j + 1), T.load(self.stop, ZERO))
        bits = T.const((self.threads // self.width).bit_length() - 1)

        def some(begin: Expr, end: Expr) -> Stmt:
            own = end if self.there is None else T.select(self.there, end, begin)
            whole = self.segment(begin, own, self.lane, bits, self.merged_by_block)
            return whole if self.shared is None else T.if_(T.not_(self.shared.is_long(begin, end)), whole)

        return T.registers("end", [begin, end], lambda x: some(*x))

    def segment(self, begin: Expr, end: Expr, lane: Expr, bits: Expr, merge: Merge) -> Stmt:
        """A segment's folds, one after the other, and its points.

        Args:
            lane, bits: which of the points are this thread's: of so many threads, log2.
        """
        points = T.maximum((end - begin - lane + ((ONE << bits) - 1)) >> bits, ZERO)

        def folds(begin: Expr, points: Expr, count: Expr) -> Stmt:
            each = self.each(begin, points, bits)

            def fold(f: SegmentFold, register: Buffer) -> Stmt:
                def whole(acc: Buffer) -> Stmt:
                    return T.seq(
                        each(f.needs, lambda c: taken(f, acc, c)),
                        merge(acc, combined(f)),
                        T.store(register, [ZERO], total(f, acc, count)),
                    )

                return accumulated(f, whole)

            return T.seq(*map(fold, self.nest.folds, self.totals), self.stored(each))

        return T.registers("own", [begin + lane, points, end - begin], lambda x: folds(*x))

    def each(self, begin: Expr, points: Expr, bits: Expr) -> Each:
        """What is done for each of so many points of a thread, which lie so far apart, log2."""

        def some(needs: Sequence[int], body: Callable[[list[Expr]], Stmt]) -> Stmt:
            def one(k: Expr) -> Stmt:
                c = self.point(begin + (k << bits))
                return T.seq(*(T.store(self.steps[s], [ZERO], self.nest.steps[s].element(c)) for s in needs), body(c))

            return T.for_(points, one, "p")

        return some

    def stored(self, each: Each) -> Stmt:
        """The points' results."""
        return each(self.nest.needs, lambda c: T.store(self.nest.out, c, self.nest.element(c)))

    def merged(self, bits: Expr, acc: Buffer, combine: Combine) -> Stmt:
        """What so many lanes have, log2, that lie ``width`` apart: as many shuffles."""
        lane = T.cast("int32", T.floormod(self.t, T.const(WARP)))

        def step(k: Expr) -> Stmt:
            distance = T.const(self.width, "int32") << T.cast("int32", k)
            other = T.from_lane(T.load(acc, ZERO), T.xor(lane, distance))
            return T.let("other", other, lambda x: T.store(acc, [ZERO], combine(T.load(acc, ZERO), x)))

        return T.for_(bits, step, "s")

    def merged_by_block(self, acc: Buffer, combine: Combine, again: bool = True) -> Stmt:
        """What all threads have, column by column: in each warp, and what warps leave again in each.

        Args:
            again: it is done again before threads wait for each other.
        """
        part, results = self.parts[T.element_dtype(acc)], self.threads // WARP * self.width
        lanes, lane = min(results, WARP), T.floormod(self.t, T.const(WARP))
        own = T.floormod(self.t, T.const(lanes))

        def find(k: Expr) -> Stmt:
            return T.store(acc, [ZERO], combine(T.load(acc, ZERO), T.load(part, (k + 1) * lanes + own)))

        leave = T.store(part, [T.floordiv(self.t, T.const(WARP)) * self.width + lane], T.load(acc, ZERO))
        return T.seq(
            self.merged(T.const(self.log_lanes), acc, combine),
            T.if_(lane < self.width, leave),
            T.synchronize_block(),
            T.store(acc, [ZERO], T.load(part, own)),
            T.for_(results // lanes - 1, find, "w"),
            T.synchronize_block() if again else None,
            self.merged(T.const((lanes // self.width).bit_length() - 1), acc, combine),
        )

    def find(self, low: Expr, high: Expr, is_there: Callable[[Expr], Expr]) -> Stmt:
        """Store where something begins to be true, between two numbers; the higher one if nowhere.

        Each step looks at as many numbers as there are threads, equally far apart; the next one looks between two of them.
        """
        threads = self.threads
        least = T.buffer("low", [1], "int64", align=8, scope="local")

        def step(low_: Expr, high_: Expr, distance: Expr) -> Stmt:
            p, k = low_ + (self.t + 1) * distance, T.int64(T.load(self.found, ZERO))
            last = T.quotient(T.load(self.stop, ZERO) - low_ - 1, distance)
            return T.seq(
                _first(self.found, self.words, T.if_then_else(p < high_, is_there(p), NO), threads),
                T.store(self.stop, [ZERO], T.select(k < threads, low_ + (k + 1) * distance, high_)),
                T.store(least, [ZERO], low_ + last * distance),
            )

        def narrower(_: Expr) -> Stmt:
            ends = [T.load(least, ZERO), T.load(self.stop, ZERO)]
            distance = T.quotient(ends[1] - ends[0] + (threads - 1), T.const(threads))
            return T.registers("apart", [*ends, distance], lambda x: step(*x))

        bits = threads.bit_length() - 1
        steps = sum((T.cast("int64", high - low > T.const(1 << bits * k)) for k in range(1, 62 // bits + 1)), ONE)
        return T.seq(
            T.allocate(least),
            T.store(least, [ZERO], low),
            T.store(self.stop, [ZERO], high),
            T.registers("steps", [steps], lambda x: T.for_(x[0], narrower, "s")),
        )


def _listed(to: Buffer, words: Buffer, number: Expr, chosen: Expr, end: Expr, threads: int) -> Stmt:
    """The numbers of the threads that are chosen, in order; ``end`` behind them, and how many there are in the last place."""
    name = f"gs_listed_{threads}"
    source = (
        f"__device__ __forceinline__ void {name}(int* list, unsigned int* words, int number, int chosen, int end) {{\n"
        f"  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
        f"  const unsigned int mine = __ballot_sync(all, chosen);\n"
        f"  if (lane == 0) words[warp] = mine;\n"
        f"  __syncthreads();\n"
        f"  int upto = lane < {threads // WARP} ? __popc(words[lane]) : 0;\n"
        f"  for (int step = 1; step < 32; step *= 2) {{\n"
        f"    int other = __shfl_up_sync(all, upto, step);\n"
        f"    if (lane >= step) upto += other;\n"
        f"  }}\n"
        f"  int place = __shfl_sync(all, upto, warp) - __popc(mine >> lane);\n"
        f"  if (chosen) list[place] = number;\n"
        f"  if (threadIdx.x == {threads - 1}) {{\n"
        f"    list[upto] = end;\n"
        f"    list[{threads + 1}] = upto;\n"
        f"  }}\n"
        f"  __syncthreads();\n}}\n"
    )
    start = [T.address_of(b, ZERO) for b in (to, words)]
    return T.evaluate(T.device_call(name, *start, number, chosen, end, source=source))


def _cleared(words: Buffer, threads: int) -> Stmt:
    """No bit of any thread, for all after their next barrier.

    Where TVM sees a store it puts a barrier before what reads, though that is in a branch.
    """
    name = f"gs_cleared_{threads}"
    source = (
        f"__device__ __forceinline__ void {name}(unsigned int* words) {{\n"
        f"  if (threadIdx.x < {threads // WARP}) words[threadIdx.x] = 0;\n}}\n"
    )
    return T.evaluate(T.device_call(name, T.address_of(words, ZERO), source=source))


def _first(found: Buffer, words: Buffer, chosen: Expr, threads: int) -> Stmt:
    """The number of the first thread that is chosen; that of threads if none is."""
    name = f"gs_first_{threads}"
    source = (
        f"__device__ __forceinline__ void {name}(int* found, unsigned int* words, int chosen) {{\n"
        f"  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32;\n"
        f"  const unsigned int mine = __ballot_sync(all, chosen);\n"
        f"  if (lane == 0) words[threadIdx.x / 32] = mine;\n"
        f"  __syncthreads();\n"
        f"  unsigned int word = lane < {threads // WARP} ? words[lane] : 0;\n"
        f"  unsigned int some = __ballot_sync(all, word != 0), warp = some ? __ffs(some) - 1 : 0;\n"
        f"  word = __shfl_sync(all, word, warp);\n"
        f"  *found = some ? warp * 32 + __ffs(word) - 1 : {threads};\n"
        f"  __syncthreads();\n}}\n"
    )
    start = [T.address_of(b, ZERO) for b in (found, words)]
    return T.evaluate(T.device_call(name, *start, chosen, source=source))
