"""Gathers of single elements by index vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import ceildiv, product
from gscompile.ir.nests import MapNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.llvm.ahead import far_bytes
from gscompile.schedules.llvm.cells import map_share
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import PICKED_TOGETHER, VECTORS_AHEAD
from gscompile.schedules.llvm.costs import leaves_caches
from gscompile.schedules.llvm.kernels import (
    copy_lines,
    in_lines,
    prefetch_lines,
    prefetch_row,
    store_fence,
    with_kernels,
)
from gscompile.schedules.llvm.numbers import LINE_BYTES
from gscompile.schedules.llvm.ranges import shared_range
from gscompile.schedules.loops import by_number
from gscompile.schedules.rule import Context
from gscompile.schedules.runs import copied

UINT32_VALUES = 1 << 32


def index_vectors(nest: MapNest) -> tuple[int, int] | None:
    """Of a list of cells with an index vector each: which of the nest's loads begins it, and its bytes; None for others."""
    if len(nest.shape) != 1:
        return None
    c = T.var("c0")
    here, there = nest.loads([c]), nest.loads([c + 1])
    if not any(T.loads_of(x) for _, at in here for x in at):
        return None
    for number, ((buf, at), (_, beside)) in enumerate(zip(here, there, strict=True)):
        extents = T.extents(buf)
        if len(at) != 2 or any(T.loads_of(x) for x in at) or T.constant_value(at[-1]) != 0:
            continue
        count, step = T.constant_value(extents[-1]), T.constant_value(beside[0] - at[0])
        if count is not None and count > 1 and count * T.itemsize(buf) <= LINE_BYTES and step == 1:
            return number, count * T.itemsize(buf)
    return None


@dataclass(frozen=True, slots=True)
class PickedByVectors:
    """Cells with an index vector each, some at a time, before which the vectors of later ones are prefetched.

    A core has too few instructions underway to reach far enough by itself: 5.9 million float16 by vectors of four int64, by one
    thread 27 ms -> 19, by two 14 -> 9.8.

    Where a cell is a copy, the places of a block are found first, by vectors, and then its elements are loaded.  Of a loop that
    does both LLVM takes each number out of its vector several times, for the product and for the address.

    Attributes:
        number: which of the nest's loads begins a vector.
        nbytes: of a vector.
    """

    nest: MapNest
    ctx: Context
    number: int
    nbytes: int

    def statement(self) -> Stmt:
        """All cells, whole blocks of them by each thread."""
        together, cells = T.const(self.together), self.ctx.sizes(self.nest.shape[0])

        def share(lo: Expr, hi: Expr) -> Stmt:
            return self.share(lo * together, T.minimum(hi * together, cells))

        blocks = ceildiv(self.nest.shape[0], self.together)
        return with_kernels(shared_range(self.ctx, blocks, self.nest.work, share, nest=self.nest.name))

    def share(self, lo: Expr, hi: Expr) -> Stmt:
        """The cells ``[lo, hi)``."""
        part = map_share(self.nest)
        found = copied(self.nest.safe([T.var("c0")]))
        if found is None or found.ok is not None:

            def cells(_: Expr, begin: Expr) -> Stmt:
                count = T.minimum(T.const(self.together), hi - begin)
                return T.for_(count, lambda k: part.cell([begin + k]), "c")

            return part.around(self.blocks(lo, hi, 0, cells))
        source, _ = found.source
        narrow = T.all_of([T.extents(source)[0] < UINT32_VALUES, _strides(source)[0] < UINT32_VALUES])
        if (known := T.constant_value(narrow)) is not None:
            return self.in_two(lo, hi, source, bool(known))
        seldom = part.around(T.for_(hi - lo, lambda k: part.cell([lo + k]), "c", one_copy=True))
        return T.if_(narrow, self.in_two(lo, hi, source, True), seldom)

    def in_two(self, lo: Expr, hi: Expr, source: Buffer, narrow: bool) -> Stmt:
        """The cells ``[lo, hi)``: while the elements of a block are loaded, the places of the next one are known.

        Args:
            narrow: neither the source's strides nor its first extent need more than 32 bits, so that one instruction of any CPU
                multiplies vectors of them.
        """
        places = T.buffer("place", [2 * self.together], "int64", align=64)  # of two blocks
        picks = T.buffer("picked", [self.together], self.nest.dtype.tir, align=64)  # what non-temporal stores write
        per_line = LINE_BYTES // self.nest.dtype.itemsize
        written = product(self.nest.shape) * self.nest.dtype.itemsize
        start = T.address_of(self.nest.out, T.const(0))
        far = T.size_of(source) >= far_bytes(self.ctx.target)
        large = leaves_caches(self.ctx, written, T.size_of(source))
        streams = T.const(False, "bool") if self.together % per_line else in_lines(start, T.const(LINE_BYTES), large)
        flag, zero = Flag(self.nest.check), T.const(0)

        def place(c: Expr) -> Expr:
            cell = copied(self.nest.safe([c]))
            assert cell is not None
            *outer, inner = cell.source[1]
            *steps, _ = _strides(source)
            return sum((_low(x) * _low(s) if narrow else x * s for x, s in zip(outer, steps, strict=True)), inner)

        def block(b: Expr, begin: Expr) -> Stmt:
            here = T.remainder(b, T.const(2)) * self.together
            count = T.maximum(T.minimum(hi - begin, T.const(self.together)), zero)
            before, there = begin - self.together, self.together - here
            picked = T.select(b > 0, T.minimum(hi - before, T.const(self.together)), zero)

            def find(k: Expr) -> Stmt:
                c = begin + k
                return T.seq(T.store(places, [here + k], place(c)), flag.test(self.nest.grid([c])))

            def pick(k: Expr, out: Buffer, at: Expr) -> Stmt:
                return T.store(out, [at], T.load(source, *by_number(T.load(places, there + k), T.extents(source))))

            def pick_far(k: Expr, out: Buffer, at: Expr) -> Stmt:
                later = T.address_of(source, *by_number(T.load(places, here + k), T.extents(source)))
                return T.seq(prefetch_row(later, T.const(T.itemsize(source))), pick(k, out, at))

            def line(k: Expr) -> Stmt:
                to = T.address_of(self.nest.out, before + k * per_line)
                return copy_lines(to, T.address_of(picks, k * per_line), T.const(LINE_BYTES))

            def cells(of: Callable[[Expr, Buffer, Expr], Stmt]) -> Stmt:
                return T.for_(picked, lambda k: of(k, self.nest.out, before + k), "c", one_copy=True)

            whole = T.all_of([picked == self.together, count == self.together])
            lines = T.for_(self.together // per_line, line, "line", one_copy=True)
            streamed = T.seq(T.for_(self.together, lambda k: pick_far(k, picks, k), "c", one_copy=True), lines)
            loops = T.if_(
                T.all_of([streams, whole]), streamed, T.if_(T.all_of([far, whole]), cells(pick_far), cells(pick))
            )
            return T.seq(T.for_(count, find, "k"), loops)

        blocks = T.seq(self.blocks(lo, hi, 1, block), store_fence(large))
        return T.seq(T.allocate(places), T.allocate(picks), flag.around(blocks))

    def blocks(self, lo: Expr, hi: Expr, more: int, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
        """``body(number, first cell)`` for each block of ``[lo, hi)`` and so many after it."""
        ahead, lines = self.ctx.choose(VECTORS_AHEAD), T.const(max(1, self.together * self.nbytes // LINE_BYTES))

        def block(b: Expr, begin: Expr) -> Stmt:
            buf, at = self.nest.loads([begin + ahead])[self.number]
            return T.seq(prefetch_lines(T.address_of(buf, *at), lines), body(b, begin))

        count = T.quotient(hi - lo + (self.together - 1), T.const(self.together)) + more
        return T.for_(count, lambda b: T.let("begin", lo + b * self.together, lambda begin: block(b, begin)), "block")

    @property
    def together(self) -> int:
        """Cells of a block."""
        return int(self.ctx.choose(PICKED_TOGETHER))


def _strides(buf: Buffer) -> list[Expr]:
    """Elements between neighbours on each axis."""
    strides = [T.const(1)]
    for extent in reversed(T.extents(buf)[1:]):
        strides.insert(0, strides[0] * extent)
    return strides


def _low(x: Expr) -> Expr:
    """An int64 that needs no more than 32 bits, in a form that says so."""
    return T.cast("int64", T.cast("uint32", x))
