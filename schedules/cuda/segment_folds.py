"""What a thread does of one fold of a segment, and what it is asked for where blocks share the segment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gscompile.ir import tir as T
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.scattering import SegmentFold
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.cuda.atomics import PLAIN, atomic_name, widened

ZERO = T.const(0)

Combine = Callable[[Expr, Expr], Expr]

Each = Callable[[Sequence[int], Callable[[list[Expr]], Stmt]], Stmt]
"""(numbers of steps, an element -> what is done for it) -> the same for all of a thread's, after these steps."""


class Block(Protocol):
    """What long segments need of a block's thread: :class:`gscompile.schedules.cuda.segments.Block`."""

    @property
    def t(self) -> Expr: ...

    @property
    def lane(self) -> Expr: ...

    @property
    def there(self) -> Expr | None: ...

    @property
    def begins(self) -> Buffer: ...

    @property
    def totals(self) -> Sequence[Buffer]: ...

    def of_columns(self, group: Expr) -> Block: ...

    def row(self, p: Expr) -> list[Expr]: ...

    def listed(self, to: Buffer, chosen: Expr, end: Expr) -> Stmt: ...

    def length(self, of: Buffer) -> Expr: ...

    def each(self, begin: Expr, points: Expr, bits: Expr) -> Each: ...

    def stored(self, each: Each) -> Stmt: ...

    def merged_by_block(self, acc: Buffer, combine: Combine, again: bool = True) -> Stmt: ...


def wide(fold: SegmentFold) -> DType:
    """Where a fold accumulates."""
    return widened(fold.dtype)


def combined(fold: SegmentFold) -> Combine:
    """How two values of that dtype are combined."""
    function, dtype = PLAIN[atomic_name(fold.op.reduction, fold.dtype)], wide(fold)
    return lambda a, b: function(dtype, a, b)


def accumulated(fold: SegmentFold, body: Callable[[Buffer], Stmt]) -> Stmt:
    """A thread's accumulator."""
    dtype, compute = wide(fold), fold.dtype.compute
    acc = T.buffer("acc", [1], dtype.tir, align=8, scope="local")
    return T.seq(
        T.allocate(acc), T.store(acc, [ZERO], cast(fold.op.reduction.neutral(compute), compute, dtype)), body(acc)
    )


def taken(fold: SegmentFold, acc: Buffer, c: list[Expr]) -> Stmt:
    """A point, taken in."""
    value = cast(fold.src(c), fold.dtype, wide(fold))
    return T.store(acc, [ZERO], combined(fold)(T.load(acc, ZERO), value))


def total(fold: SegmentFold, acc: Buffer, length: Expr) -> Expr:
    """What a segment of so many points has come to."""
    dtype, whole = wide(fold), T.load(acc, ZERO)
    if fold.op.include_self:
        whole = combined(fold)(cast(fold.base, fold.dtype, dtype), whole)
    return fold.op.finish(fold.dtype, cast(whole, dtype, fold.op.accumulator(fold.dtype)), length)
