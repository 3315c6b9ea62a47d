"""Scatters on cuda.

All start by copying base to the output (skipped in place) and differ in how points that meet in a cell are kept apart:

* ``Direct``: ``unique=True`` promises that they do not meet.
* ``LastWriter`` (update): the last point of each cell is found first; see :mod:`gscompile.schedules.cuda.last_writer`.
* ``Listed`` (``deterministic=True``, where floats would round differently in another order, and functions that nothing is known
  of): the points of each cell are listed, and taken in row-major order; see :mod:`gscompile.schedules.cuda.listed`.
* ``Ordered``, the same of few points or slices that overlap in part: a thread owns cells and looks at all points, as on llvm.
* ``Atomics``: the fast path; exact for integers and for min and max, in no fixed order for sums of floats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords
from gscompile.ir.index_map import Window
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES, DType
from gscompile.schedules.cuda.atomics import adds_narrow, atomic, atomic_name, narrow_name, widened
from gscompile.schedules.cuda.check import checked, guarded
from gscompile.schedules.cuda.copies import copy_runs
from gscompile.schedules.cuda.fills import filled
from gscompile.schedules.cuda.map import fill_cells
from gscompile.schedules.cuda.matched import combined
from gscompile.schedules.cuda.owners import Owners
from gscompile.schedules.cuda.points import Point, over_cells, over_points, slice_axes, slice_of, slice_shape
from gscompile.schedules.cuda.runs import RowsAdded
from gscompile.schedules.cuda.vectors import store_run, vector_length
from gscompile.schedules.loops import storage
from gscompile.schedules.rule import Checked, Context
from gscompile.schedules.runs import is_run, some_cell

if TYPE_CHECKING:
    from typing_extensions import Self


def copy_base(nest: ScatterNest, ctx: Context, totals: Buffer, acc: DType) -> Stmt:
    """``totals = base``; nothing where the output holds base already."""
    scratch = totals is not nest.out

    def begin(c: Coords) -> Expr:
        value = nest.base(c)
        if scratch and nest.in_place is not None:
            value = T.if_then_else(nest.in_place, T.load(nest.out, *storage(list(c))), value)
        return cast(value, nest.dtype, acc)

    copy = None
    if not scratch and nest.shape:
        whole = MapNest(nest.name, nest.shape, nest.dtype, totals, begin, 1, lambda c: [])
        copy = copy_runs(whole, ctx)
    if copy is None:
        copy = fill_cells(ctx, totals, nest.shape, begin)
    return copy if scratch or nest.in_place is None else T.if_(T.not_(nest.in_place), copy)


def move(nest: ScatterNest, ctx: Context, wins: Callable[[Point], Expr] | None = None, same: bool = True) -> Stmt:
    """``out[map(p)] = src[p]`` for the points that win, several at a time where neighbours lie side by side in memory.

    Args:
        wins: whether a point is to be written; None for always.
        same: neighbours win or lose together.
    """
    last = nest.op.addressing.map.layout[-1:]
    n = vector_of_points(nest, ctx) if same else 1

    def put(p: Point) -> Stmt:
        def beside(q: Expr) -> list[Expr]:
            return [w + q if ("window", k) in last else w for k, w in enumerate(p.window)]

        if n == 1:
            store = T.store(nest.out, p.cell, nest.src(p.grid, p.window))
        else:
            store = store_run(
                nest.out, n, lambda q: [*p.cell[:-1], p.cell[-1] + q], lambda q: nest.src(p.grid, beside(q))
            )
        return T.if_(wins(p) if wins is not None else None, store)

    return over_points(nest, ctx, put, vector=n)


def vector_of_points(nest: ScatterNest, ctx: Context) -> int:
    """How many points one access can move: neighbours along a window that is innermost in both points and output."""
    m = nest.op.addressing.map
    last = m.sources[-1] if m.sources else None
    if not isinstance(last, Window) or m.layout[-1] != ("window", last.window):
        return 1
    width, w = nest.window[last.window], last.window
    grid, window = some_cell(nest.grid), some_cell(nest.window)
    if not isinstance(width, int) or not is_run(lambda c: nest.src(grid, [*window[:w], c, *window[w + 1 :]]), width):
        return 1
    return vector_length(ctx, nest.dtype, width, nest.shape[-1])


class Direct:
    """No two points meet, so plain stores do; a mean needs its count, but that is 1."""

    name = "direct"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest) or not nest.op.unique or nest.op.reduction.arity > 1:
            return None
        op, ctx = nest.op, guarded(ctx, nest)
        base = copy_base(nest, ctx, nest.out, nest.dtype)
        if op.reduction.replaces:
            return checked(nest, T.seq(base, move(nest, ctx)))
        acc = op.accumulator(nest.dtype)

        def put(p: Point) -> Stmt:
            value = cast(nest.src(p.grid, p.window), nest.dtype, acc)
            if op.include_self:
                value = op.reduction.combine(acc, cast(T.load(nest.out, *p.cell), nest.dtype, acc), value)
            return T.store(nest.out, p.cell, op.finish(nest.dtype, value, T.const(1)))

        return checked(nest, T.seq(base, over_points(nest, ctx, put)))


class Atomics:
    """Any reduction; the totals are the output itself where its dtype has atomics, else a wider scratch tensor.

    Rows are added as :mod:`gscompile.schedules.cuda.runs` says, other points as :mod:`gscompile.schedules.cuda.matched` does, or
    one by one where their order matters.
    """

    name = "atomics"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest):
            return None
        return checked(
            nest, AtomicScatter.of(nest, guarded(ctx, nest), adds_narrow(nest.op.reduction, nest.dtype)).statement()
        )


@dataclass(frozen=True, slots=True)
class AtomicScatter:
    """A scatter by atomics.

    Attributes:
        wide: dtype of the totals.
        totals: the output, or scratch of a wider dtype.
        counts: of the points in a cell, for a mean.
    """

    nest: ScatterNest
    ctx: Context
    wide: DType
    totals: Buffer
    counts: Buffer | None

    @classmethod
    def of(cls, nest: ScatterNest, ctx: Context, narrow: bool = False) -> Self:
        """
        Args:
            narrow: floats of 16 bits are added where they are, rather than as float32.
        """
        op, dtype = nest.op, nest.dtype
        wide = dtype if narrow else widened(dtype)
        totals = nest.out if wide == dtype else ctx.workspace(f"{nest.name}_totals", nest.shape or (1,), wide)
        counts = None
        if op.reduction.averaged:
            counts = ctx.workspace(f"{nest.name}_counts", slice_shape(nest), DTYPES["int32"])
        return cls(nest, ctx, wide, totals, counts)

    def statement(self) -> Stmt:
        """The scatter, as several kernels."""
        begin, points = self.added()
        base = copy_base(self.nest, self.ctx, self.totals, self.wide)
        return T.seq(base, begin, *self.counted(), points, self.settled())

    def added(self) -> tuple[Stmt | None, Stmt]:
        """What sets the totals where they do not begin with base, and the points."""
        nest, ctx, op = self.nest, self.ctx, self.nest.op
        if not op.include_self and not op.reduction.commutative:  # the first point is what the others are taken from
            first = Owners.of(nest, ctx, "min")
            begin = over_points(nest, ctx, lambda p: T.if_(first.owns(p), T.store(self.totals, p.cell, self.value(p))))
            others = over_points(nest, ctx, lambda p: T.if_(T.not_(first.owns(p)), self.add(p)))
            return T.seq(first.found(), begin), others
        return None if op.include_self else over_points(nest, ctx, self.reset), self.all_added()

    def all_added(self) -> Stmt:
        """Every point is added."""
        nest, ctx = self.nest, self.ctx
        rows = RowsAdded.of(nest, ctx, self.totals, self.wide, self.value)
        if rows is not None:
            return rows.statement()
        op, axes = atomic_name(nest.op.reduction, nest.dtype), nest.op.addressing.map.layout
        narrow = narrow_name(self.wide)
        if narrow:  # which are not shuffled
            return over_points(nest, ctx, lambda p: atomic(op, self.totals, p.cell, self.value(p), narrow), axes)
        return combined(nest, ctx, self.totals, nest.shape, op, axes, lambda p: p.cell, self.value)

    def value(self, p: Point) -> Expr:
        return cast(self.nest.src(p.grid, p.window), self.nest.dtype, self.wide)

    def reset(self, p: Point) -> Stmt:
        """Forget what base gave a cell."""
        return T.store(self.totals, p.cell, self.neutral())

    def neutral(self) -> Expr:
        """What leaves a total as it is."""
        compute = self.nest.dtype.compute
        return cast(self.nest.op.reduction.neutral(compute), compute, self.wide)

    def add(self, p: Point) -> Stmt:
        return atomic(atomic_name(self.nest.op.reduction, self.nest.dtype), self.totals, p.cell, self.value(p))

    def counted(self) -> list[Stmt]:
        """The counts, where they matter."""
        nest, counts = self.nest, self.counts
        if counts is None:
            return []
        clear = filled(self.ctx, counts, slice_shape(nest), T.const(0, "int32"))
        return [clear, self.all_counted(counts)]

    def all_counted(self, counts: Buffer) -> Stmt:
        """Every point is counted."""
        nest, one = self.nest, T.const(1, "int32")
        shape, axes = slice_shape(nest), slice_axes(nest)
        return combined(nest, self.ctx, counts, shape, "add", axes, lambda p: slice_of(nest, p.cell), lambda p: one)

    def settled(self) -> Stmt | None:
        """Make results of the totals; None where they are."""
        nest, counts = self.nest, self.counts
        if counts is None and self.totals is nest.out:
            return None

        def cell(c: list[Expr]) -> Stmt:
            hits = None if counts is None else T.load(counts, *slice_of(nest, c))
            total = cast(T.load(self.totals, *storage(c)), self.wide, nest.op.accumulator(nest.dtype))
            return T.store(nest.out, storage(c), nest.op.finish(nest.dtype, total, hits))

        return over_cells(self.ctx, nest.shape, cell)
