"""Gathers of single elements: a thread takes neighbouring cells, whose indices it reads at once.

That are as many as 16 bytes hold of the result and of each tensor of indices: 4 cells of float32 by int32, 2 by int64.  Only a
single axis may end with fewer, which go one by one; where a row's extent is no multiple, neighbours would not be aligned, and
where only a call tells, there is a kernel for either.  Indices that wrap around a size that only a call tells are left to
``Cells``: such a division is a function, around whose call a thread of several cells spills registers.  A grid fills any GPU and
walks over larger work, with :data:`UNDERWAY` cells of a thread underway.

Per cell of float32 by int32: a quarter of a read, a read and a quarter of a store, instead of three accesses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, ceildiv, product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.check import checked, guarded
from gscompile.schedules.cuda.choices import ACCESS, UNDERWAY
from gscompile.schedules.cuda.launch import by_width, chunked, coordinates
from gscompile.schedules.cuda.map import fill_cells, tests
from gscompile.schedules.cuda.vectors import moved
from gscompile.schedules.loops import ravel
from gscompile.schedules.rule import Checked, Context
from gscompile.schedules.runs import some_cell

ZERO = T.const(0)

MOST_CELLS = 4
"""That a thread takes at once."""

MOST_COST = 32
"""Of a cell, in scalar instructions: kernels hold its code several times."""


class Elements:
    """See the module's text."""

    name = "elements"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        kernels = neighbours(nest, guarded(ctx, nest)) if isinstance(nest, MapNest) else None
        return None if kernels is None else checked(nest, kernels)


def neighbours(nest: MapNest, ctx: Context) -> Stmt | None:
    """The kernels of a map of which a thread takes neighbouring cells; None for a map that gains nothing by it."""
    if not nest.shape or nest.dtype.kind == "b" or nest.cost > MOST_COST:
        return None
    ahead = _ahead(nest, ctx)
    if not ahead or T.divides(nest.safe(some_cell(nest.shape))):
        return None
    extent, one_axis = nest.shape[-1], all(d == 1 for d in nest.shape[:-1])

    def cells(access: int) -> int:
        """How many a thread takes at once, of accesses of at most so many bytes."""
        most = min([MOST_CELLS, *(access // x for x in (nest.dtype.itemsize, *(a.nbytes for a in ahead)))])
        return max(math.gcd(most, extent) if isinstance(extent, int) and not one_axis else most, 1)

    if cells(int(ACCESS.default)) * max(a.each for a in ahead) < 2:
        return None
    n = cells(int(ctx.choose(ACCESS)))
    kernels = _Cells(nest, ctx, ahead, n, one_axis).kernels()
    if n == 1 or one_axis or isinstance(extent, int):
        return kernels
    single = fill_cells(ctx, nest.out, nest.shape, nest.safe, tests(nest, ctx))
    return T.if_(T.floormod(ctx.sizes(extent), T.const(n)) == 0, kernels, single)


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A tensor of which each cell reads what stands at its own place, in order to find something by it.

    Attributes:
        axes: of each of its axes the cell's axis, or None for the last one of index vectors.
        each: how many of its elements are a cell's: the components of an index vector.
    """

    buf: Buffer
    axes: tuple[int | None, ...]
    each: int

    @property
    def nbytes(self) -> int:
        """Of a cell."""
        return self.each * T.itemsize(self.buf)

    def component(self, buf: Buffer, at: Sequence[Expr], cell: Sequence[Expr]) -> Expr | None:
        """Which of the cell's elements a load is of; None if of none."""
        if not buf.same_as(self.buf):
            return None
        own = all(T.same_expr(x, cell[a]) for x, a in zip(at, self.axes, strict=True) if a is not None)
        return (T.const(0) if self.axes[-1] is not None else at[-1]) if own else None


def _ahead(nest: MapNest, ctx: Context) -> list[_Ahead]:
    """What can be read for several neighbours at once; all of it is there for every cell."""
    cell = some_cell(nest.shape)
    if nest.shape[-1] == 1:
        return []
    found: list[_Ahead] = []
    for _, at in T.all_loads(nest.safe(cell)):
        for buf, place in (load for x in at for load in T.all_loads(x)):
            if any(buf.same_as(a.buf) for a in found):
                continue
            extents = T.extents(buf)
            each = None if len(place) < 2 else T.constant_value(extents[-1])
            vectors = T.constant_value(place[-1]) is not None and each is not None and each > 0
            axes: list[int | None] = []
            for x, extent in zip(place[: len(place) - vectors], extents, strict=False):
                own = [a for a, c in enumerate(cell) if T.same_expr(x, c)]
                if len(own) != 1 or T.constant_value(extent - ctx.sizes(nest.shape[own[0]])) != 0:
                    break
                axes.append(own[0])
            if len(axes) + vectors < len(place) or not axes or axes[-1] != len(cell) - 1:
                continue
            a = _Ahead(buf, (*axes, None) if vectors else tuple(axes), each if vectors and each else 1)
            if a.nbytes in (1, 2, 4, 8, 16):
                found.append(a)
    return found


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells that are taken n at once.

    Attributes:
        ahead: what is read for all n.
        rest: the last ones may be fewer.
    """

    nest: MapNest
    ctx: Context
    ahead: Sequence[_Ahead]
    n: int
    rest: bool

    def kernels(self) -> Stmt:
        """The kernel, for numbers of 32 and of 64 bits."""
        nest, ctx, n = self.nest, self.ctx, self.n
        units: Shape = (*nest.shape[:-1], ceildiv(nest.shape[-1], n))
        extent, in_flight = ctx.sizes(nest.shape[-1]), max(1, ctx.choose(UNDERWAY) // n)
        element, test = nest.safe, tests(nest, ctx)

        def single(row: list[Expr], c: Expr) -> Stmt:
            return T.seq(T.store(nest.out, [*row, c], element([*row, c])), test([*row, c]))

        def one(i: Expr) -> Stmt:
            u = coordinates(ctx, i, units)
            begin = u[-1] * n
            if not self.rest or n == 1:
                return self.cells([u])
            rest = T.for_range(begin, extent, lambda c: single(u[:-1], c), "c")
            return T.if_(begin + n <= extent, self.cells([u]), rest)

        def several(numbers: list[Expr]) -> Stmt:
            return self.cells([coordinates(ctx, i, units) for i in numbers])

        def kernel(narrow: bool) -> Stmt:
            count, whole = ctx.sizes(product(units)), T.quotient(extent, T.const(n)) if self.rest else None
            batch = several if in_flight > 1 else None
            return chunked(ctx, count, one, batch, in_flight, "int32" if narrow else "int64", whole=whole)

        return by_width(ctx, units, kernel)

    def cells(self, units: list[list[Expr]]) -> Stmt:
        """The cells of several units: all that is read for them before any is stored."""
        computed = [x for u in units for x in u if T.constant_value(x) is None]

        def steps_at(at: list[Expr]) -> Stmt:
            known = iter(at)
            parts = [
                self.unit([x if T.constant_value(x) is not None else next(known) for x in u], k)
                for k, u in enumerate(units)
            ]
            return T.seq(*(s for steps in zip(*parts, strict=True) for s in steps))

        return T.registers("at", computed, steps_at)

    def unit(self, unit: list[Expr], number: int) -> list[Stmt]:
        """The steps of a unit's cells: storage, reads, values, stores, tests."""
        nest, n, begin = self.nest, self.n, [*unit[:-1], unit[-1] * self.n]
        rooms = [self.room(f"ahead{number}_{k}", T.element_dtype(a.buf), n * a.each) for k, a in enumerate(self.ahead)]
        reads = []
        for a, room in zip(self.ahead, rooms, strict=True):
            extents = T.extents(a.buf)[: len(a.axes) - (a.axes[-1] is None)]
            place: Expr = T.const(0)
            for axis, extent in zip(a.axes, extents, strict=False):
                assert axis is not None
                place = place * extent + begin[axis]
            reads.append(moved(room, ZERO, a.buf, place * a.each, n * a.each))
        values, element, test = self.room(f"value{number}", nest.dtype.tir, n), nest.safe, tests(nest, self.ctx)

        def for_each(body: Callable[[Expr, list[Expr]], Stmt | None]) -> Stmt:
            def one(q: Expr) -> Stmt:
                cell = [*begin[:-1], begin[-1] + q]

                def ahead(buf: Buffer, at: list[Expr]) -> Expr | None:
                    for a, room in zip(self.ahead, rooms, strict=True):
                        component = a.component(buf, at, cell)
                        if component is not None:
                            return T.load(room, q * a.each + component)
                    return None

                return T.with_loads(T.seq(body(q, cell)), ahead)

            return T.for_(n, one, "q") if n > 1 else one(ZERO)

        return [
            T.seq(*map(T.allocate, (*rooms, values))),
            T.seq(*reads),
            for_each(lambda q, c: T.store(values, [q], element(c))),
            moved(nest.out, ravel(begin, nest.shape, self.ctx.sizes), values, ZERO, n),
            for_each(lambda q, c: test(c)),
        ]

    def room(self, name: str, dtype: str, count: int) -> Buffer:
        """Registers of a thread."""
        return T.buffer(name, [count], dtype, align=16, scope="local")
