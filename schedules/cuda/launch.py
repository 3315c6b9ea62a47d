"""Kernel launches.

A thread's number in its grid is divided into coordinates, which 64-bit numbers make slow: a division by an extent that only a
call tells is some 20 instructions of 32 bits, or 100 of 64.  Where a call may have more threads than 32 bits count, there are
two kernels, of which the host launches the one that fits.  Addresses are always 64 bits wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, Shape, product
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.cuda.choices import BLOCK
from gscompile.schedules.cuda.numbers import RESIDENT_THREADS, THREADS_PER_BLOCK, most_blocks
from gscompile.schedules.loops import unravel
from gscompile.schedules.rule import Context

MOST_NARROW = (1 << 31) - (1 << 24)
"""Threads that 32 bits count, with what a grid goes past the end by."""

Body = Callable[[list[Expr], Expr], Stmt]
"""(coordinates, their row-major number), both int64 -> what a thread does."""


def over(ctx: Context, shape: Shape, body: Body) -> Stmt:
    """A kernel with a thread for each position of a box, neighbours on the innermost axis, under the context's guard."""
    count = ctx.sizes(product(shape))

    def kernel(narrow: bool) -> Stmt:
        def thread(i: Expr) -> Stmt:
            return body(coordinates(ctx, i, shape), T.int64(i))

        return launch(ctx, count, thread, "int32" if narrow else "int64")

    return by_width(ctx, shape, kernel)


def by_width(ctx: Context, shape: Shape, kernel: Callable[[bool], Stmt]) -> Stmt:
    """The kernel for a box, with narrow numbers or without, or both of them and a choice."""
    known = product(shape)
    if not isinstance(known, int) and ctx.target.index_bits is None and not _divides(shape):
        return kernel(False)
    return by_count(ctx, known, kernel)


def by_count(ctx: Context, count: Dim, make: Callable[[bool], Stmt]) -> Stmt:
    """What is made for numbers up to a count that are narrow, or for others, or both and a choice."""
    if isinstance(count, int):
        return make(count <= MOST_NARROW and ctx.target.index_bits != 64)
    if ctx.target.index_bits is not None:
        return make(ctx.target.index_bits == 32)
    return T.if_(ctx.sizes(count) <= MOST_NARROW, make(True), make(False))


def _divides(shape: Shape) -> bool:
    """Whether coordinates in a box take divisions: the first axis that is there takes none, nor does a power of two."""
    divisors = [d for d in shape if d != 1][1:]
    return any(not isinstance(d, int) or d & (d - 1) for d in divisors)


def coordinates(ctx: Context, number: Expr, shape: Shape) -> list[Expr]:
    """Coordinates of a row-major number of 32 or 64 bits, as int64."""
    if T.dtype_of(number) == "int64":
        return unravel(number, shape, ctx.sizes)
    rest = [a for a, d in enumerate(shape) if d != 1]
    at: dict[int, Expr] = {}
    for a in reversed(rest[1:]):
        d = shape[a]
        extent = T.const(d or 1, "int32") if isinstance(d, int) else T.cast("int32", ctx.sizes(d))
        at[a], number = T.remainder(number, extent), T.quotient(number, extent)
    if rest:
        at[rest[0]] = number
    return [T.int64(at[a]) if a in at else T.const(0) for a in range(len(shape))]


def narrow(name: str, values: Sequence[Expr], body: Callable[..., Stmt]) -> Stmt:
    """As :func:`gscompile.ir.tir.registers`, of numbers that 32 bits hold."""
    return T.registers(name, [T.cast("int32", x) for x in values], lambda x: body(*map(T.int64, x)))


def launch(ctx: Context, count: Expr, body: Callable[[Expr], Stmt], dtype: str = "int64") -> Stmt:
    """A kernel with one thread for each number in ``[0, count)``, under the context's guard.

    Args:
        dtype: of the numbers.
    """
    block = ctx.choose(BLOCK)
    blocks = T.maximum(T.floordiv(count + (block - 1), T.const(block)), T.const(1))  # no empty launch

    def thread(b: Expr) -> Stmt:
        def inner(t: Expr) -> Stmt:
            i = b * T.const(block, dtype) + t
            return T.if_(T.all_of([i < T.cast(dtype, count), ctx.guard]), T.let("i", i, body))

        return T.thread_binding("threadIdx.x", block, inner, "t", dtype)

    return T.thread_binding("blockIdx.x", blocks, thread, "b", dtype)


def resident(block: int, body: Stmt) -> Stmt:
    """The body of a kernel of whose threads a multiprocessor need hold no more than :data:`RESIDENT_THREADS`."""
    return T.resident(max(RESIDENT_THREADS // block, 1), body)


def strided(
    ctx: Context,
    count: Expr,
    several: Callable[[list[Expr]], Stmt],
    in_flight: int,
    dtype: str,
    block: int,
    blocks: Expr,
    within: Callable[[Expr, Stmt], Stmt],
) -> Stmt:
    """A kernel for the numbers in ``[0, count)`` whose grid has so many blocks at most, and walks over them.

    Args:
        several: what is done for one number, or for ``in_flight`` of them at once, which lie a grid apart.
        dtype: of the numbers.
        block: threads of a block.
        within: (the thread's number in its block, its walk) -> what the thread does, all of its block together.
    """
    blocks = T.maximum(T.minimum(T.floordiv(count + (block - 1), T.const(block)), blocks), T.const(1))

    def walk(first: Expr, grid: Expr, end: Expr) -> Stmt:
        def step(s: Expr) -> Stmt:
            begin = T.cast(dtype, s) * (grid * in_flight)

            def each(k: Expr) -> Stmt:
                number = begin + grid * T.cast(dtype, k) + first
                return T.registers("i", [number], lambda i: T.if_(i[0] < end, several(i)))

            rest = T.for_(in_flight, each, "k")
            numbers = [begin + grid * k + first for k in range(in_flight)]
            return T.if_(begin + grid * in_flight <= end, T.registers("i", numbers, several), rest)

        several_steps = T.quotient(end + (grid * in_flight - 1), grid * in_flight)
        return T.for_(T.if_then_else(end <= grid * in_flight, T.const(1, dtype), several_steps), step, "step")

    def thread(b: Expr) -> Stmt:
        def inner(t: Expr) -> Stmt:
            known = [T.cast(dtype, x) for x in (blocks * T.const(block), count)]
            first = b * T.const(block, dtype) + t
            return T.if_(ctx.guard, T.registers("grid", known, lambda x: within(t, walk(first, *x))))

        return T.thread_binding("threadIdx.x", block, inner, "t", dtype)

    return T.thread_binding("blockIdx.x", blocks, thread, "b", dtype)


def chunked(
    ctx: Context,
    count: Expr,
    one: Callable[[Expr], Stmt],
    several: Callable[[list[Expr]], Stmt] | None,
    in_flight: int,
    dtype: str,
    block: int,
    condition: Expr | None = None,
    whole: Expr | None = None,
) -> Stmt:
    """A kernel for the numbers in ``[0, count)`` of which a block takes a chunk, each thread ``in_flight`` a block apart.

    Of few numbers, which a GPU's threads can take at once, each thread takes one.

    Args:
        one: what is done for a number.
        several: what is done for so many numbers at once; None for no such way.
        in_flight: how many these are.
        dtype: of the numbers.
        block: threads of a block.
        condition: under which ``several`` may be called, and anything but reports be done; None for always.
        whole: how many numbers ``several`` may be called for, the first ones; None for all.
    """
    few = count <= T.const(most_blocks(ctx.target) * THREADS_PER_BLOCK)
    chunk = T.if_then_else(few, T.const(block), T.const(block * in_flight))
    blocks = T.maximum(T.floordiv(count + (chunk - 1), chunk), T.const(1))

    def walk(b: Expr, t: Expr, size: Expr, end: Expr, whole: Expr) -> Stmt:
        begin = b * size

        def each(k: Expr) -> Stmt:
            number = begin + T.cast(dtype, k) * T.const(block, dtype) + t
            return T.registers("i", [number], lambda i: T.if_(i[0] < end, one(i[0])))

        rest = T.for_(T.quotient(size, T.const(block, dtype)), each, "k")
        if several is None:
            return rest
        numbers = [begin + T.const(k * block, dtype) + t for k in range(in_flight)]
        full = T.const(block * in_flight, dtype)
        all_there = T.all_of([size == full, begin + full <= whole, condition])
        return T.if_(all_there, T.registers("i", numbers, several), rest)

    def thread(b: Expr) -> Stmt:
        def inner(t: Expr) -> Stmt:
            known = [T.cast(dtype, x) for x in (chunk, count, *([] if whole is None else [whole]))]
            return T.if_(ctx.guard, T.registers("grid", known, lambda x: walk(b, t, x[0], x[1], x[-1])))

        return T.thread_binding("threadIdx.x", block, inner, "t", dtype)

    return T.thread_binding("blockIdx.x", blocks, thread, "b", dtype)


def single_thread(body: Stmt) -> Stmt:
    """A kernel of one thread, for what the host would do if it could read device memory."""
    return T.thread_binding("blockIdx.x", 1, lambda b: T.thread_binding("threadIdx.x", 1, lambda t: body, "t"), "b")
