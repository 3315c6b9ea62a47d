"""Loops whose iterations are divided among threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, dim_max, dim_min, product
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.decisions import Condition
from gscompile.schedules.llvm.choices import INNER, TILE
from gscompile.schedules.llvm.costs import shared
from gscompile.schedules.llvm.numbers import WIDE_AXIS
from gscompile.schedules.llvm.vectors import in_vectors
from gscompile.schedules.loops import nested, not_empty, unravel
from gscompile.schedules.rule import Context

CellBody: TypeAlias = Callable[[list[Expr]], Stmt]
"""Coordinates of a cell -> what is done there."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is done with a unit of a box so many units earlier, where that pays.

    Attributes:
        distance: in units, between that and the unit's cells.
        condition: whether it pays; None where that is known.
        body: the first cell of a unit -> what is done.
    """

    distance: int
    condition: Expr | None
    body: CellBody


@dataclass(frozen=True, slots=True)
class Share:
    """One thread's share of a box: what to do at a cell, and what surrounds the loops.

    Attributes:
        vector: (lanes, what to do at so many neighbours along the last axis at once, by the coordinates of the first); None where
            it is left to LLVM of what it makes vectors.
    """

    cell: CellBody
    around: Callable[[Stmt], Stmt] = field(default=lambda loops: loops)
    vector: tuple[int, CellBody] | None = None


def few_units(extent: Dim) -> Dim:
    """1 where units are fewer than :data:`WIDE_AXIS`, so that threads share parts of them; 0 elsewhere."""
    return dim_min(dim_max(WIDE_AXIS - extent, 0), 1)


def shared_range(
    ctx: Context,
    extent: Dim,
    work: Dim,
    body: Callable[[Expr, Expr], Stmt],
    fewest: int = 2,
    large: bool = False,
    alone: Condition = False,
    nest: str = "",
) -> Stmt:
    """``body(lo, hi)`` over ``[0, extent)``: once for little work, else once per thread, for a contiguous range each.

    Where the amount of work is known at a call only, little work is a parallel loop of one task, which its launcher calls right
    away: a serial version beside the parallel one would nearly double the build's time.

    Args:
        extent: how many units can be given out.
        work: how many simple operations all of them are.
        fewest: threads below which one does everything, as it does on a machine of fewer cores.
        large: where the amount of work is unknown, it is large, or comes after so much that a launch does not matter.
        alone: when one thread does everything, however much it is.
        nest: :func:`shared`'s.
    """
    cores = ctx.target.cores
    if alone is True or (cores is not None and cores < fewest) or (pays_off := shared(ctx, work, nest)) is False:
        return body(T.const(0), ctx.sizes(extent))
    much = None if isinstance(pays_off, bool) or large else pays_off
    enough = ctx.threads >= fewest if fewest > 2 else None
    several = T.all_of([much, enough, None if alone is False else T.not_(alone)])
    if several is None:
        return always_shared(ctx, extent, body)
    # by way of memory, as T.kept, since a select would compute its condition in each part
    tasks, zero = T.buffer("tasks", [1], "int64", align=8), T.const(0)
    chosen = T.if_(several, T.store(tasks, [zero], ctx.threads), T.store(tasks, [zero], T.const(1)))
    loop = T.let("n", T.load(tasks, zero), lambda n: _shared(ctx, extent, n, body))
    return T.seq(T.allocate(tasks), chosen, loop)


def always_shared(ctx: Context, extent: Dim, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
    """``body(lo, hi)`` over ``[0, extent)``, one contiguous range per thread: for work beside which a launch is cheap."""
    return _shared(ctx, extent, ctx.threads, body)


def _shared(ctx: Context, extent: Dim, tasks: Expr, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
    n = ctx.sizes(extent)

    def share(t: Expr) -> Stmt:
        # not kept: where TVM knows nothing of the ends of a share, its code generator fails on some maps of indices
        lo, hi = T.quotient(n * t, tasks), T.quotient(n * (t + 1), tasks)
        return T.let("lo", lo, lambda a: T.let("hi", hi, lambda b: body(a, b)))

    return T.parallel(tasks, share)


def over_box(
    ctx: Context,
    shape: Sequence[Dim],
    cost: int,
    make_share: Callable[[], Share],
    large: bool = False,
    apart: int | None = None,
    first: int = 0,
    lanes: int = 1,
    nest: str = "",
    ahead: Ahead | None = None,
) -> Stmt:
    """A statement for every cell of a box that is not empty, in parallel.

    The innermost axes that together make a decent loop stay loops; the others are fused into one range of rows, whose
    coordinates cost a division per row.  A long innermost axis is cut into blocks, so that a few long rows still share out.

    Args:
        cost: rough operations per cell.
        make_share: makes what one thread's share consists of; called once for each version of the loops.
        large: :func:`shared_range`'s.
        apart: what is read for a row lies elsewhere than for the next one, so that LLVM must not make vectors across rows of so
            many cells and more; None: it may always.
        first: so many cells of a row have a loop of their own, a row being one axis.
        lanes: cells that one operation computes.
        nest: :func:`shared`'s.
        ahead: what is done ahead of each unit, which then has one copy of its loops.
    """
    if not shape:
        alone = make_share()
        return alone.around(alone.cell([]))
    units = _units(ctx, shape, apart, first)

    def body(lo: Expr, hi: Expr) -> Stmt:
        share = make_share()
        if ahead is None:
            return share.around(T.for_range(lo, hi, lambda u: units.loops(u, share), units.name))

        def unit(k: Expr) -> Stmt:
            u = lo + k
            later = T.kept("ahead", units.begin(T.minimum(u + ahead.distance, hi - 1)), ahead.body)
            return T.seq(T.if_(ahead.condition, later), units.loops(u, share))

        return share.around(T.for_(hi - lo, unit, units.name, one_copy=True))

    return shared_range(ctx, units.extent, product(shape) * max(cost, 1) // lanes, body, large=large, nest=nest)


@dataclass(frozen=True, slots=True)
class _Units:
    """How a box is cut: how many units, a name for their loop, (unit, share) -> loops over its cells, unit -> its first cell."""

    extent: Dim
    name: str
    loops: Callable[[Expr, Share], Stmt]
    begin: Callable[[Expr], list[Expr]]


def _units(ctx: Context, shape: Sequence[Dim], apart: int | None, first: int) -> _Units:
    split = len(shape) - 1  # axes [split, rank) are the inner loops
    if split == 0:
        hide = _hidden(1, apart)
        return _Units(shape[0], "c0", lambda i, share: share.cell([T.opaque(i) if hide else i]), lambda i: [i])
    while split > 1 and _small(shape[split:], ctx.choose(INNER)):
        split -= 1
    outer, inner = list(shape[:split]), list(shape[split:])
    tile = ctx.choose(TILE)
    cells = product(inner[1:])  # a number, where there are any
    if isinstance(cells, int) and (not isinstance(inner[0], int) or inner[0] * cells > 4 * tile):
        return _blocks(ctx, outer, inner, tile // max(cells, 1), _hidden(cells, apart))
    hide = _hidden(product(inner), apart)

    def row(r: Expr, share: Share) -> Stmt:
        def loops(c: list[Expr]) -> Stmt:
            if not first:
                return nested("c", not_empty(inner, inner, ctx.sizes), lambda w: share.cell([*c, *w]))
            (width,) = ctx.sizes.shape(inner)
            ends = (T.const(0), T.const(first)), (T.const(first), width)
            return T.seq(*(T.for_range(lo, hi, lambda w: share.cell([*c, w]), "c") for lo, hi in ends))

        return T.kept("at", unravel(T.opaque(r) if hide else r, outer, ctx.sizes), loops)

    zeros = [T.const(0) for _ in inner]
    return _Units(product(outer), "row", row, lambda r: [*unravel(r, outer, ctx.sizes), *zeros])


def _blocks(ctx: Context, outer: list[Dim], inner: list[Dim], block: int, hide: bool) -> _Units:
    """Blocks of so many of the first of the ``inner`` axes; ``hide`` which of them a cell is of."""
    wide, rest = ctx.sizes(inner[0]), ctx.sizes.shape(inner[1:])
    cut = [*outer, (inner[0] + (block - 1)) // block]

    def unit(u: Expr, share: Share) -> Stmt:
        def cells(place: list[Expr]) -> Stmt:
            *row, begin = place
            end = T.minimum(begin + block, wide)

            def of(i: Expr) -> Stmt:
                return nested("d", rest, lambda w: share.cell([*row, T.opaque(i) if hide else i, *w]))

            if share.vector is None or rest:
                return T.for_range(begin, end, of, "c")
            lanes, several = share.vector
            return in_vectors(begin, end, lanes, lambda i: several([*row, i]), of, "c")

        return T.kept("at", begins(u), cells)

    def begins(u: Expr) -> list[Expr]:
        *row, k = unravel(u, cut, ctx.sizes)
        return [*row, k * block]

    return _Units(product(cut), "block", unit, lambda u: [*begins(u), *(T.const(0) for _ in rest)])


def _hidden(cells: Dim, apart: int | None) -> bool:
    """Whether rows of so many cells are kept apart: what is not known of a row's number, LLVM makes no vectors across."""
    return apart is not None and isinstance(cells, int) and cells >= apart


def _small(shape: Sequence[Dim], enough: int) -> bool:
    cells = product(shape)
    return isinstance(cells, int) and cells < enough
