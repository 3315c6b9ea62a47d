"""Sharing a range among threads.

Measured costs that the constants stand for: a parallel launch costs about 15 us on the calling thread, in which one core does
some 30,000 simple operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, product
from gscompile.ir.tir import Expr, Stmt
from schedules.loops import nested, unravel
from schedules.rule import Context

SERIAL_WORK = 32768  # operations below which a parallel launch does not pay
INNER_WORK = 64  # cells that an innermost loop should at least run over
BLOCK = 4096  # cells of a long innermost axis that make one unit of parallel work


Cell: TypeAlias = Callable[[list[Expr]], Stmt]


@dataclass(frozen=True, slots=True)
class Piece:
    """One thread's share of a box: what to do at a cell, and what surrounds the loops."""

    cell: Cell
    around: Callable[[Stmt], Stmt] = field(default=lambda loops: loops)


def shared_range(
    ctx: Context, extent: Dim, work: Dim, body: Callable[[Expr, Expr], Stmt], fewest: int = 2, large: bool = False
) -> Stmt:
    """``body(lo, hi)`` over ``[0, extent)``: in one piece for little work, else one contiguous piece per thread.

    ``body`` is called for each of the two versions, and must make local buffers of its own each time.

    Args:
        extent: how many units can be given out.
        work: how many simple operations all of them are.
        fewest: threads below which one does everything.
        large: an unknown amount of work is, or comes after so much that a launch does not matter.
    """
    n = ctx.sizes(extent)
    if isinstance(work, int) and work < SERIAL_WORK:
        return body(T.const(0), n)
    if (large or isinstance(work, int)) and fewest <= 2:
        # a launch for one thread costs next to nothing, its own code a build's time
        return always_shared(ctx, extent, body)
    many = T.all_of([ctx.threads > fewest - 1, None if isinstance(work, int) else ctx.sizes(work) >= SERIAL_WORK])
    return T.if_(many, always_shared(ctx, extent, body), body(T.const(0), n))


def always_shared(ctx: Context, extent: Dim, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
    """``body(lo, hi)`` over ``[0, extent)``, one contiguous piece per thread: for work that a launch does not weigh against."""
    n, threads = ctx.sizes(extent), ctx.threads

    def piece(t: Expr) -> Stmt:
        lo, hi = T.quotient(n * t, threads), T.quotient(n * (t + 1), threads)
        return T.let("lo", lo, lambda a: T.let("hi", hi, lambda b: body(a, b)))

    return T.parallel(threads, piece)


def over_box(
    ctx: Context,
    shape: Sequence[Dim],
    cost: int,
    piece: Callable[[], Piece],
    large: bool = False,
) -> Stmt:
    """A statement for every cell of a box, in parallel; ``piece`` makes what one thread's share consists of.

    The innermost axes that together make a decent loop stay loops; the others are fused into one range of rows, whose
    coordinates cost a division per row.  A long innermost axis is cut into blocks, so that a few long rows still share out.
    ``large`` is :func:`shared_range`'s.
    """
    rank = len(shape)
    work = product(shape) * max(cost, 1)
    if rank == 0:
        alone = piece()
        return alone.around(alone.cell([]))

    def share(loops: Callable[[Cell], Callable[[Expr], Stmt]], name: str) -> Callable[[Expr, Expr], Stmt]:
        def body(lo: Expr, hi: Expr) -> Stmt:
            p = piece()
            return p.around(T.for_range(lo, hi, loops(p.cell), name))

        return body

    split = rank - 1  # axes [split, rank) are the inner loops
    while split > 1 and _small(shape[split:]):
        split -= 1
    outer, inner = list(shape[:split]), list(shape[split:])
    long = len(inner) == 1 and (not isinstance(inner[0], int) or inner[0] > 4 * BLOCK)
    if rank == 1:
        return shared_range(ctx, shape[0], work, share(lambda cell: lambda i: cell([i]), "c0"), large=large)
    if long:
        blocks = (inner[0] + (BLOCK - 1)) // BLOCK
        extent = ctx.sizes(inner[0])

        def block(cell: Cell) -> Callable[[Expr], Stmt]:
            def body(u: Expr) -> Stmt:
                *row, k = unravel(u, [*outer, blocks], ctx.sizes)
                begin = k * BLOCK
                return T.for_range(begin, T.minimum(begin + BLOCK, extent), lambda i: cell([*row, i]), "c")

            return body

        return shared_range(ctx, product([*outer, blocks]), work, share(block, "block"), large=large)

    def rows(cell: Cell) -> Callable[[Expr], Stmt]:
        def body(r: Expr) -> Stmt:
            row = unravel(r, outer, ctx.sizes)
            return nested("c", ctx.sizes.shape(inner), lambda c: cell([*row, *c]))

        return body

    return shared_range(ctx, product(outer), work, share(rows, "row"), large=large)


def _small(shape: Sequence[Dim]) -> bool:
    cells = product(shape)
    return isinstance(cells, int) and cells < INNER_WORK
