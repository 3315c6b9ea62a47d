"""Folds of runs of rows, of which some are much longer than others: long ones are shared by blocks, in one kernel.

A grid begins with some blocks more than the runs take.  The first of these look at the length of each run and list those that are
long, with room for what their pieces come to: so many rows each, of a warp's columns at most.  The others wait for that, and each
takes every so manieth piece.  Its threads fold the piece, column by column, neighbours by neighbours, and leave what they have in
scratch memory; whoever does so last for a run merges its pieces, in their order.  Everything else is as if there were no long
runs, which those that take the others leave alone.

Which block does what is said by tickets, so that a block waits only for blocks that run already.  Tickets, the list's length and
who has looked are one number, which is 0 at first (:attr:`gscompile.schedules.rule.Context.word`).  Where pieces begin depends on
sizes alone, so that results are the same in each call.  Offsets need not ascend: if there is no room for all long runs, since
they lie above each other, each is folded by a thread, which takes long.

Per element as without: 4 bytes and about 6 instructions for a float32; per run two offsets more, from the caches; per piece, of
1,024 elements and more, some 8 accesses that wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, ceildiv, dim_min, exact_quotient, product
from gscompile.ir.nests import Partial, ReduceNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES
from gscompile.schedules.cuda.atomics import C_TYPES
from gscompile.schedules.cuda.groups import WARP
from gscompile.schedules.cuda.launch import resident
from gscompile.schedules.cuda.noted import Step, noted
from gscompile.schedules.cuda.numbers import (
    LONG_COLUMN,
    LONG_ROW,
    PIECE_STEPS,
    PIECES,
    RUNS_LOOKED_AT,
    SECTOR,
    resident_blocks,
)
from gscompile.schedules.cuda.tickets import WORD
from gscompile.schedules.folds import fold_step, replaced
from gscompile.schedules.loops import storage, unravel
from gscompile.schedules.rule import Context

ZERO, ONE = T.const(0), T.const(1)

UNITS, ENTRIES, LOOKED = 26, 15, 11
"""Bits of the word, from the lowest: pieces, runs that are listed, blocks that have looked; the others count tickets."""

MOST_ACROSS = 1 << 20
"""Pieces that lie side by side, at most."""

Short = Callable[[Expr, Expr], Stmt]
"""(number of the block, of the thread) -> what it does for runs that are not long."""


@dataclass(frozen=True, slots=True)
class LongRuns:
    """Runs of rows that are shared by blocks.

    Attributes:
        block: threads of a block.
        word: 0 at first.
        rows: how many there are.
        width: neighbours that have a column each, a power of two.
        across: pieces that lie side by side, for all columns.
        long, begins: the list, in scratch memory: numbers of runs, and of their first pieces.
        done: how many pieces of a run's columns are done, at the first of these.
        parts: what pieces come to.
    """

    nest: ReduceNest
    ctx: Context
    partial: Partial
    block: int
    word: tuple[Buffer, Expr]
    rows: Dim
    width: int
    across: Dim
    long: Buffer
    begins: Buffer
    done: Buffer
    parts: list[Buffer]

    @staticmethod
    def of(nest: ReduceNest, ctx: Context, block: int) -> LongRuns | None:
        """None where folds are none of runs, or no run can be long, or blocks cannot share one."""
        partial, c = nest.partial, [T.var(f"c{k}") for k in range(len(nest.shape))]
        if partial is None or not ctx.target.cooperative or not c:
            return None
        ends = [x for pair in nest.ranges(c) for x in pair]
        if len(ends) != 2 or any(T.uses(x, c[1:]) for x in ends):
            return None
        if not all(d.bits in (32, 64) for d, _ in partial.initial):
            return None  # what shuffles move
        columns = product(nest.shape[1:])
        rows = exact_quotient(nest.elements, columns) if columns != 0 else None
        word = None if rows is None else ctx.word(nest.name)
        if rows is None or word is None:
            return None
        width = SECTOR // partial.initial[0][0].itemsize
        if isinstance(columns, int):
            width = min(1 << (columns - 1).bit_length(), WARP)
        across, least = ceildiv(columns, width), LONG_ROW if len(nest.shape) == 1 else LONG_COLUMN
        if isinstance(across, int) and across > MOST_ACROSS:
            return None
        if isinstance(rows, int) and rows <= least:
            return None
        length = T.constant_value(ends[1] - ends[0])
        if length is not None and length <= least:
            return None
        # runs that are long, and their pieces, at most, where no two have a row in common
        few = ceildiv(rows, least)
        entries = dim_min(2 * PIECES, few) + 1
        units = dim_min(3 * PIECES, (few + ceildiv(rows, _least_piece(least, block, width))) * across) + 2 * across

        def scratch(name: str, extent: Dim, dtype: str) -> Buffer:
            return ctx.workspace(f"{nest.name}_{name}", (extent,), DTYPES[dtype])

        return LongRuns(
            nest,
            ctx,
            partial,
            block,
            word,
            rows,
            width,
            across,
            scratch("long", entries, "int64"),
            scratch("begins", entries, "int32"),
            scratch("done", units, "int32"),
            [scratch(f"piece{k}", units * width, d.name) for k, (d, _) in enumerate(partial.initial)],
        )

    # -- the kernel

    def kernel(self, blocks: Expr, short: Callable[[Expr], Short]) -> Stmt:
        """The kernel.

        Args:
            blocks: that runs take which are not long.
            short: (rows from which on a run is long) -> what these do.
        """
        ctx, target = self.ctx, self.ctx.target
        shortest = LONG_ROW if len(self.nest.shape) == 1 else LONG_COLUMN
        rows, runs = ctx.sizes(self.rows), ctx.sizes(self.nest.shape[0])
        least = T.quotient(rows * ctx.sizes(self.across) + (PIECES - 1), T.const(PIECES))
        piece = T.maximum(least, T.const(_least_piece(shortest, self.block, self.width)))
        long = T.maximum(T.quotient(least, T.const(2)), T.const(shortest))
        if not isinstance(self.across, int):  # the word has bits for so many pieces
            long = T.select(ctx.sizes(self.across) <= MOST_ACROSS, long, rows)
        most = min(resident_blocks(target), 2048)
        looking = T.minimum(T.quotient(runs, T.const(RUNS_LOOKED_AT)) + 1, T.const(min(target.multiprocessors, 1024)))
        share = T.minimum(T.quotient(rows * ctx.sizes(self.across), piece) + 1, T.const(most))
        more = T.select(rows > long, looking + share, ZERO)

        def thread(b: Expr) -> Stmt:
            def inner(t: Expr) -> Stmt:
                def known(x: list[Expr]) -> Stmt:
                    piece, long, looking, share, more = x
                    shared = _Shared(self, t, piece, long, looking, share)
                    return T.if_(b < more, shared.statement(), short(long)(b - more, t))

                # ptxas would spill some where it is not told how many threads are resident
                body = T.registers("known", [piece, long, looking, share, more], known)
                return T.if_(ctx.guard, resident(self.block, body))

            return T.thread_binding("threadIdx.x", self.block, inner, "t")

        return T.thread_binding("blockIdx.x", T.maximum(blocks + more, ONE), thread, "b")

    def length(self, run: Expr) -> Expr:
        """Rows of a run."""
        ((lo, hi),) = self.nest.ranges([run, *(ZERO for _ in self.nest.shape[1:])])
        return hi - lo


@dataclass(frozen=True, slots=True)
class _Shared:
    """What a thread does of the blocks that share long runs.

    Attributes:
        t: its number.
        piece, long: rows of a piece, and from how many on a run is long.
        looking, share: blocks that list runs, and that take pieces.
    """

    runs: LongRuns
    t: Expr
    piece: Expr
    long: Expr
    looking: Expr
    share: Expr

    def statement(self) -> Stmt:
        told, role = _shared("told", 2, "int32"), _register("role", "int32", 1)
        number = T.int64(T.load(role, ZERO))
        return T.seq(
            T.allocate(told),
            T.allocate(role),
            _ticket(self.word, told, role),
            T.if_(number < self.looking, self.look(number), self.work(number - self.looking, told)),
        )

    @property
    def word(self) -> Expr:
        buf, at = self.runs.word
        return T.address_of(buf, at)

    @property
    def across(self) -> Expr:
        return self.runs.ctx.sizes(self.runs.across)

    # -- the list

    def look(self, number: Expr) -> Stmt:
        """List the long ones of every so manieth runs."""
        runs = self.runs
        got = _register("got", "int32", 2)

        def one(run: Expr, length: Expr) -> Stmt:
            long, begins, done = runs.long, runs.begins, runs.done
            units = T.quotient(length + (self.piece - 1), self.piece) * self.across
            most = [T.cast("int32", T.extents(x)[0]) for x in (done, long)]
            need = T.cast("int32", T.minimum(units, T.const((1 << 31) - 1)))
            entry, first = (T.load(got, T.const(k)) for k in (0, 1))
            listed = T.seq(
                T.store(long, [T.int64(entry)], run),
                T.store(begins, [T.int64(entry)], first),
                T.for_(self.across, lambda g: T.store(done, [T.int64(first) + g], T.const(0, "int32")), "g"),
            )
            return T.seq(_reserve(self.word, got, need, *most), T.if_(entry >= 0, listed))

        return T.seq(T.allocate(got), self.each(number, self.looking, one), _looked(self.word))

    def each(self, number: Expr, blocks: Expr, one: Callable[[Expr, Expr], Stmt]) -> Stmt:
        """(a run, its length) -> what a thread does for it, for each long one of every so manieth runs."""
        block, count = self.runs.block, self.runs.ctx.sizes(self.runs.nest.shape[0])

        def some(k: Expr) -> Stmt:
            run = (k * blocks + number) * block + self.t
            length = T.if_then_else(run < count, self.runs.length(run), ZERO)
            return T.registers("length", [run, length], lambda x: T.if_(x[1] > self.long, one(*x)))

        return T.for_(T.quotient(count + (blocks * block - 1), blocks * block), some, "k")

    def alone(self, run: Expr) -> Stmt:
        """A thread folds a run."""
        nest = self.runs.nest

        def column(g: Expr) -> Stmt:
            c = [run, *unravel(g, nest.shape[1:], self.runs.ctx.sizes)]
            ((lo, hi),) = nest.ranges(c)

            def inside(acc: list[Buffer]) -> Stmt:
                return T.seq(self.steps(acc, c, lambda one: T.for_range(lo, hi, one, "r")), self.finish(acc, c))

            return self.folded(inside)

        return T.for_(self.runs.ctx.sizes(product(nest.shape[1:])), column, "column")

    # -- pieces

    def work(self, number: Expr, told: Buffer) -> Stmt:
        """Take every so manieth piece; of runs that are not listed, since there was no room for all, every so manieth run."""
        found, entry = _register("found", "int32", 2), _register("entry", "int32", 1)
        units, entries = (T.load(found, T.const(k)) for k in (0, 1))
        long, begins = self.runs.long, self.runs.begins
        run, first = _register("run", "int64", 1), _register("begin", "int32", 1)

        def unit(k: Expr) -> Stmt:
            u, at = number + k * self.share, T.int64(T.load(entry, ZERO))
            return T.seq(
                _entry(begins, entries, T.cast("int32", u), told, entry),
                _seen(run, T.address_of(long, at)),
                _seen(first, T.address_of(begins, at)),
                self.take(u, T.load(run, ZERO), T.int64(T.load(first, ZERO)), told),
            )

        rounds = T.quotient(T.int64(units) - number + (self.share - 1), self.share)
        return T.seq(
            *map(T.allocate, (found, entry, run, first)),
            _list(self.word, told, T.cast("int32", self.looking), found),
            T.if_(
                T.int64(units) <= T.extents(self.runs.done)[0],
                T.for_(T.maximum(rounds, ZERO), unit, "u"),
                self.each(number, self.share, lambda run, _: self.alone(run)),
            ),
        )

    def take(self, unit: Expr, run: Expr, first: Expr, told: Buffer) -> Stmt:
        """Fold a piece; if it is the last one of its run and columns that is done, merge these."""
        runs, width, lanes = self.runs, self.runs.width, self.runs.block // self.runs.width
        ctx, rest = runs.ctx, runs.nest.shape[1:]
        number, lane = T.quotient(unit - first, self.across), T.quotient(self.t, T.const(width))
        group = T.remainder(unit - first, self.across)
        column = group * width + T.remainder(self.t, T.const(width))
        there = column < ctx.sizes(product(rest))
        c = [run, *unravel(T.select(there, column, ZERO), rest, ctx.sizes)]
        last, done = _register("last", "int32", 1), runs.done

        def inside(acc: list[Buffer], x: list[Expr]) -> Stmt:
            lo, length, number, group = x
            begin = number * self.piece
            end = T.select(there, T.minimum(begin + self.piece, length), begin)
            count = T.maximum(T.quotient(end - begin - lane + (lanes - 1), T.const(lanes)), ZERO)
            keep = (
                T.store(p, [unit * width + self.t], T.load(a, ZERO)) for p, a in zip(self.runs.parts, acc, strict=True)
            )
            pieces = T.quotient(length + (self.piece - 1), self.piece)
            return T.seq(
                self.steps(acc, c, lambda one: T.for_(count, lambda k: one(lo + begin + lane + k * lanes), "r")),
                self.merged(acc),
                T.if_(self.t < width, T.seq(*keep)),
                _done(T.address_of(done, first + group), told, T.cast("int32", pieces), last),
                T.if_(
                    T.load(last, ZERO) != 0, self.folded(lambda a: self.merge(a, c, there, lane, first, group, pieces))
                ),
            )

        ((lo, hi),) = runs.nest.ranges(c)
        known = T.registers("own", [lo, hi - lo, number, group], lambda x: self.folded(lambda acc: inside(acc, x)))
        return T.seq(T.allocate(last), known)

    def merge(
        self, acc: list[Buffer], c: list[Expr], there: Expr, lane: Expr, first: Expr, group: Expr, pieces: Expr
    ) -> Stmt:
        """The pieces of a run's columns become its cells."""
        width, lanes = self.runs.width, self.runs.block // self.runs.width
        seen = [_register(f"seen{k}", d.name, 1) for k, (d, _) in enumerate(self.runs.partial.initial)]

        def one(k: Expr) -> Stmt:
            at = (first + (lane + k * lanes) * self.across + group) * width + T.remainder(self.t, T.const(width))
            loads = (_seen(s, T.address_of(p, at)) for s, p in zip(seen, self.runs.parts, strict=True))
            merged = self.runs.partial.merge([T.load(a, ZERO) for a in acc], [T.load(s, ZERO) for s in seen])
            return T.seq(*loads, replaced(acc, ZERO, merged))

        count = T.maximum(T.quotient(pieces - lane + (lanes - 1), T.const(lanes)), ZERO)
        cell = T.if_(T.all_of([self.t < width, there]), self.finish(acc, c))
        return T.seq(*map(T.allocate, seen), T.for_(count, one, "p"), self.merged(acc), cell)

    # -- folds

    def folded(self, body: Callable[[list[Buffer]], Stmt]) -> Stmt:
        """A thread's accumulators."""
        initial = self.runs.partial.initial
        acc = [_register(f"acc{k}", d.name, 1) for k, (d, _) in enumerate(initial)]
        first = (T.store(a, [ZERO], v) for a, (_, v) in zip(acc, initial, strict=True))
        return T.seq(*map(T.allocate, acc), *first, body(acc))

    def steps(self, acc: Sequence[Buffer], c: list[Expr], rows: Callable[[Callable[[Expr], Stmt]], Stmt]) -> Stmt:
        """Rows, taken in.

        Args:
            rows: what is done with a row -> the loop over them.
        """
        nest = replace(self.runs.nest, step=self.runs.partial.step)

        def loop(step: Step) -> Stmt:
            return rows(lambda r: step([r], lambda: fold_step(nest, acc, ZERO, c, [r])))

        return noted(nest, self.runs.ctx, c, loop)

    def finish(self, acc: Sequence[Buffer], c: list[Expr]) -> Stmt:
        return T.store(self.runs.nest.out, storage(c), self.runs.nest.finish([T.load(a, ZERO) for a in acc], c))

    def merged(self, acc: Sequence[Buffer]) -> Stmt:
        """What a block's threads have of each column goes to the first of them."""
        width, warps = self.runs.width, self.runs.block // WARP
        merge, lane = self.runs.partial.merge, T.remainder(self.t, T.const(WARP))
        shared = [_shared(f"warps{k}", warps * width, T.element_dtype(a)) for k, a in enumerate(acc)]

        def values() -> list[Expr]:
            return [T.load(a, ZERO) for a in acc]

        def step(k: Expr) -> Stmt:
            distance = T.const(WARP // 2, "int32") >> T.cast("int32", k)
            others = [T.from_lane_below(x, distance) for x in values()]
            return T.lets("other", others, lambda x: replaced(acc, ZERO, merge(values(), x)))

        def warp(w: Expr) -> Stmt:
            return replaced(acc, ZERO, merge(values(), [T.load(s, (w + 1) * width + self.t) for s in shared]))

        place = T.quotient(self.t, T.const(WARP)) * width + lane
        leave = (T.store(s, [place], x) for s, x in zip(shared, values(), strict=True))
        return T.seq(
            *map(T.allocate, shared),
            T.for_((WARP // width).bit_length() - 1, step, "s"),
            T.if_(lane < width, T.seq(*leave)),
            T.synchronize_block(),
            T.if_(self.t < width, T.for_(warps - 1, warp, "w")),
        )


def _least_piece(long: int, block: int, width: int) -> int:
    """Rows of a piece, at least."""
    return max(long, block // width * PIECE_STEPS)


def _register(name: str, dtype: str, count: int) -> Buffer:
    return T.buffer(name, [count], dtype, align=8, scope="local")


def _shared(name: str, count: int, dtype: str) -> Buffer:
    return T.buffer(name, [count], dtype, align=8, scope="shared")


def _at(buf: Buffer) -> Expr:
    return T.address_of(buf, ZERO)


def _ticket(word: Expr, told: Buffer, role: Buffer) -> Stmt:
    """The number of the block among those that ask, in the order in which they do."""
    source = (
        f"__device__ __forceinline__ void gs_ticket(int64_t* word, int* told, int* role) {{\n"
        f"  if (threadIdx.x == 0) *told = (int)(atomicAdd(({WORD}*)word, 1ull << {UNITS + ENTRIES + LOOKED})"
        f" >> {UNITS + ENTRIES + LOOKED});\n"
        f"  __syncthreads();\n"
        f"  *role = *told;\n"
        f"  __syncthreads();\n}}\n"
    )
    return T.evaluate(T.device_call("gs_ticket", word, _at(told), _at(role), source=source))


def _reserve(word: Expr, got: Buffer, need: Expr, units: Expr, entries: Expr) -> Stmt:
    """A place in the list and the first of so many pieces; -1 if there is no room, as the number of all pieces then says."""
    source = (
        f"__device__ __forceinline__ void gs_reserve(int64_t* word, int* got, int need, int units, int entries) {{\n"
        f"  {WORD} seen = *(volatile {WORD}*)word, old, next;\n"
        f"  do {{\n"
        f"    old = seen;\n"
        f"    got[0] = (int)(old >> {UNITS} & {(1 << ENTRIES) - 1});\n"
        f"    got[1] = (int)(old & {(1 << UNITS) - 1});\n"
        f"    next = old + (1ull << {UNITS}) + need;\n"
        f"    if (got[0] >= entries || need > units - got[1]) {{\n"
        f"      next = old - got[1] + units + 1;\n"
        f"      got[0] = -1;\n"
        f"    }}\n"
        f"    seen = atomicCAS(({WORD}*)word, old, next);\n"
        f"  }} while (seen != old);\n}}\n"
    )
    return T.evaluate(T.device_call("gs_reserve", word, _at(got), need, units, entries, source=source))


def _looked(word: Expr) -> Stmt:
    """The block has listed what it had to."""
    source = (
        f"__device__ __forceinline__ void gs_looked(int64_t* word) {{\n"
        f"  __syncthreads();\n"
        f"  if (threadIdx.x == 0) {{\n"
        f"    __threadfence();\n"
        f"    atomicAdd(({WORD}*)word, 1ull << {UNITS + ENTRIES});\n"
        f"  }}\n}}\n"
    )
    return T.evaluate(T.device_call("gs_looked", word, source=source))


def _list(word: Expr, told: Buffer, looking: Expr, found: Buffer) -> Stmt:
    """How many pieces and runs are listed, once so many blocks have looked."""
    source = (
        f"__device__ __forceinline__ void gs_list(int64_t* word, int* told, int looking, int* found) {{\n"
        f"  if (threadIdx.x == 0) {{\n"
        f"    {WORD} seen;\n"
        f"    while ((int)((seen = atomicAdd(({WORD}*)word, 0ull)) >> {UNITS + ENTRIES} & {(1 << LOOKED) - 1}) != looking)"
        f" __nanosleep(100);\n"
        f"    __threadfence();\n"
        f"    told[0] = (int)(seen & {(1 << UNITS) - 1});\n"
        f"    told[1] = (int)(seen >> {UNITS} & {(1 << ENTRIES) - 1});\n"
        f"  }}\n"
        f"  __syncthreads();\n"
        f"  found[0] = told[0];\n"
        f"  found[1] = told[1];\n"
        f"  __syncthreads();\n}}\n"
    )
    return T.evaluate(T.device_call("gs_list", word, _at(told), looking, _at(found), source=source))


def _entry(begins: Buffer, entries: Expr, unit: Expr, told: Buffer, entry: Buffer) -> Stmt:
    """In which place of the list the run of a piece is."""
    source = (
        "__device__ __forceinline__ void gs_entry(int* begins, int entries, int unit, int* told, int* entry) {\n"
        "  volatile int* first = begins;\n"
        "  for (int k = threadIdx.x; k < entries; k += blockDim.x)\n"
        "    if (first[k] <= unit && (k + 1 == entries || first[k + 1] > unit)) *told = k;\n"
        "  __syncthreads();\n"
        "  *entry = *told;\n}\n"
    )
    return T.evaluate(T.device_call("gs_entry", _at(begins), entries, unit, _at(told), _at(entry), source=source))


def _done(count: Expr, told: Buffer, pieces: Expr, last: Buffer) -> Stmt:
    """Whether the block's piece is the last one of so many that is done."""
    source = (
        "__device__ __forceinline__ void gs_done(int* count, int* told, int pieces, int* last) {\n"
        "  __syncthreads();\n"
        "  if (threadIdx.x == 0) {\n"
        "    __threadfence();\n"
        "    *told = atomicAdd(count, 1) == pieces - 1;\n"
        "    __threadfence();\n"
        "  }\n"
        "  __syncthreads();\n"
        "  *last = *told;\n"
        "  __syncthreads();\n}\n"
    )
    return T.evaluate(T.device_call("gs_done", count, _at(told), pieces, _at(last), source=source))


def _seen(to: Buffer, address: Expr) -> Stmt:
    """What another block has stored, which no cache of this one's may have from before."""
    dtype = T.element_dtype(to)
    c = f"{dtype}_t" if dtype in ("int64", "uint64") else C_TYPES[dtype]
    source = (
        f"__device__ __forceinline__ void gs_seen_{dtype}({c}* to, {c}* from) {{\n  *to = *(volatile {c}*)from;\n}}\n"
    )
    return T.evaluate(T.device_call(f"gs_seen_{dtype}", _at(to), address, source=source))
