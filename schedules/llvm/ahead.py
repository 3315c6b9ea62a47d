"""How far ahead rows are prefetched: the part of the cost model that gives a rule's own numbers.

A row should be prefetched as long before it is used as the memory takes to bring it: latency / time per point, of
:data:`~gscompile.schedules.llvm.fitted.TIMES`.  A core waits for so many cache lines at a time, :data:`LINES_UNDERWAY`; more
points ahead than have that many lines only push others out, so that a wait for memory, where every row is one, is hidden no
better.  That gives powers of two, from a least distance that each loop has for itself to :data:`MOST_AHEAD`;
single elements that are combined with cells go to :data:`ELEMENTS_AHEAD`.

Measured with distances of 4 to 64, rows of 4 bytes to 4 KB, tables of 1, 16 and 256 MB (benchmarks/NOTES.md): 32 for rows of one
line from memory, 16 for those of two, where 32 takes 1.1 to 1.4 times as long; 8 or 16 for longer ones, and for all from a
cache.  Copies of 16 to 64 bytes: 16 and 32 alike within 4 %.  Blocks of points between prefetches and distances of index
vectors are fitted by themselves, ``fitted.NUMBERS``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.choices import Choice
from gscompile.schedules.llvm.choices import COPIED_AHEAD
from gscompile.schedules.llvm.costs import ps
from gscompile.schedules.llvm.numbers import (
    CACHE_LATENCY_PS,
    ELEMENT_BYTES,
    ELEMENTS_AHEAD,
    LEAST_SCATTERED,
    LINE_BYTES,
    LINES_UNDERWAY,
    MEMORY_LATENCY_PS,
    MOST_AHEAD,
    NEIGHBOUR_BYTES,
    RUN_SAMPLES,
    last_level_bytes,
)
from gscompile.schedules.loops import assumed, number_in
from gscompile.schedules.rule import Context, Target

UNKNOWN_BYTES = 1 << 40
"""More than a table has."""


def rows_ahead(
    ctx: Context, choice: Choice, way: str, row_bytes: Dim, tables: Sequence[Dim], waits: bool = False
) -> Any:
    """The value of a choice between distances, by default the model's; its own default is the least.

    Args:
        way: whose time per point it is.
        row_bytes: of a row; one that only a call tells is long.
        tables: bytes of each tensor of which a point's rows are prefetched; where only a call tells, they are in memory.
        waits: as :func:`far_bytes` takes it.
    """
    least = int(choice.default)
    row = assumed(row_bytes)
    time = ps(way, "point") + row * ps(way, "line") // LINE_BYTES
    latency = MEMORY_LATENCY_PS if from_memory(ctx.target, tables, waits) else CACHE_LATENCY_PS
    lines = len(tables) * (1 + (row + LINE_BYTES // 2) // LINE_BYTES)  # rows begin anywhere
    elements = waits and row <= ELEMENT_BYTES
    most = ELEMENTS_AHEAD / len(tables) if elements else min(LINES_UNDERWAY / lines, MOST_AHEAD)
    distance = max(min(latency / time, most), least, 1)
    return ctx.choose(replace(choice, default=1 << round(math.log2(distance))))


def copied_ahead(ctx: Context, row_bytes: Dim, tables: Sequence[Buffer]) -> tuple[int, Expr | None]:
    """How many rows ahead rows that an index chooses from tables are prefetched, and when: None, always, as one is known far."""
    sizes, far = list(map(known_bytes, tables)), far_bytes(ctx.target)
    distance = int(rows_ahead(ctx, COPIED_AHEAD, "copied rows", row_bytes, sizes))
    known = any(far <= n < UNKNOWN_BYTES for n in sizes)
    return distance, None if known else T.any_of(T.size_of(buf) >= far for buf in tables)


def known_bytes(buf: Buffer) -> int:
    """Bytes of a tensor; those of one whose size only a call tells count as many."""
    size = T.constant_value(T.size_of(buf))
    return UNKNOWN_BYTES if size is None else size


def place_in(buf: Buffer, at: Sequence[Expr]) -> Expr:
    """Where an element is, in bytes from the tensor's beginning."""
    return number_in(buf, at) * T.itemsize(buf)


Pair: TypeAlias = Callable[[list[Expr], list[Expr]], Stmt]
"""(places, places that are used next) -> what is done with them."""


def scattered(
    step: Expr, look: Callable[[Expr, Pair], Stmt], body: Callable[[Expr], Stmt], enough: Expr, too_few: bool
) -> Stmt:
    """``body(far)``: whether some of :data:`RUN_SAMPLES` pairs of places, in bytes, are :data:`NEIGHBOUR_BYTES` apart and more.

    Otherwise the hardware prefetches what is used next, or a cache holds it.

    Args:
        step: from one sample to the next.
        look: (where a sample stands, what to do with its pair) -> a statement.
        enough: whether there is enough to look at; ``too_few`` is what is taken for ``far`` where there is not.
    """
    zero, apart = T.const(0), T.buffer("apart", [1], "int64", align=8)

    def pair(here: list[Expr], there: list[Expr]) -> Stmt:
        def compared(found: list[Expr]) -> Stmt:
            pairs = zip(found[: len(here)], found[len(here) :], strict=True)
            far = T.any_of(T.maximum(x - y, y - x) > NEIGHBOUR_BYTES for x, y in pairs)
            return T.if_(far, T.store(apart, [zero], T.load(apart, zero) + 1))

        # kept: TVM's simplifier takes long over differences of whole formulas
        return T.kept("place", [*here, *there], compared)

    looks = T.for_(T.const(RUN_SAMPLES), lambda k: look(k * step, pair), "k", one_copy=True)
    begin = T.store(apart, [zero], T.select(enough, zero, T.const(LEAST_SCATTERED)) if too_few else zero)
    return T.seq(T.allocate(apart), begin, T.if_(enough, looks), body(T.load(apart, zero) >= LEAST_SCATTERED))


def from_memory(target: Target, tables: Sequence[Dim], waits: bool = False) -> bool:
    """Whether most rows are found in no cache; ``waits`` as :func:`far_bytes` takes it."""
    return sum(map(assumed, tables)) >= far_bytes(target, waits)


def far_bytes(target: Target, waits: bool = False) -> int:
    """Bytes of tables from which most rows are found in no cache: half an L3 cache, whose other half holds what streams by.

    Args:
        waits: what is done with a row waits for it, as where it is combined with another.  A quarter then: other cores have
            their part of the cache, too.  A chain of loads over 3 MB 17 ns each, over 4 MB of an L3 cache of 32 MB 124.
            Prefetched, adds and minima of single elements and short rows of 8.5 and 12 MB take 0.4 to 1.1 of the time, most
            0.5 to 0.9; elements that are copied, of 9 MB, 0.8 to 1.4.
    """
    return last_level_bytes(target) // (4 if waits else 2)
