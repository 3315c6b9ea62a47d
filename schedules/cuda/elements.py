"""Gathers of single elements, and of rows with which something is computed: a thread takes neighbouring cells.

It reads their indices at once, as many as 16 bytes hold of the result and of each tensor of indices: 4 cells of float32 by
int32, 2 by int64. Or it reads at once what neighbours find side by side in the rows that an index of their row leads to.
Only a single axis may end with fewer, which go one by one; where a row's extent is no multiple, neighbours would not be
aligned, and where only a call tells, there is a kernel for either. Indices that wrap around a size that only a call tells
are left to ``Cells``: such a division is a function, around whose call a thread of several cells spills registers. A block
takes a chunk, with :data:`UNDERWAY` cells of a thread underway.

A table whose columns are the cells' own, larger than the L2 cache, is gathered panel by panel: blocks that run at the same time
read the same few columns, all rows of which the cache holds.  Else each element would come from memory with its sector.

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
from gscompile.schedules.cuda.choices import ACCESS, ELEMENTS_BLOCK, UNDERWAY
from gscompile.schedules.cuda.launch import by_width, chunked, coordinates, resident
from gscompile.schedules.cuda.map import fill_cells, tests
from gscompile.schedules.cuda.numbers import PANEL_BYTES, PANEL_CELLS, PANELLED_BYTES, SECTOR
from gscompile.schedules.cuda.vectors import COPY, LOAD, STORE, by_size, by_words
from gscompile.schedules.loops import number_in, ravel
from gscompile.schedules.rule import Checked, Context
from gscompile.schedules.runs import some_cell

ZERO = T.const(0)

MOST_CELLS = 4
"""That a thread takes at once."""

MOST_BESIDE = 8
"""The same, where rows are read."""

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
    beside = [] if ahead else _beside(nest, ctx)
    if not (ahead or beside) or T.divides(nest.safe(some_cell(nest.shape))):
        return None
    extent, one_axis = nest.shape[-1], not beside and all(d == 1 for d in nest.shape[:-1])
    loads = T.all_loads(nest.safe(some_cell(nest.shape)))
    sizes = [nest.dtype.itemsize, *(a.nbytes for a in ahead), *(T.itemsize(loads[k][0]) for k in beside)]

    def cells(access: int) -> int:
        """How many a thread takes at once, of accesses of at most so many bytes."""
        most = min([MOST_BESIDE if beside else MOST_CELLS, *(max(access // x, 1) for x in sizes)])
        return max(math.gcd(most, extent) if isinstance(extent, int) and not one_axis else most, 1)

    if cells(int(ACCESS.default)) * max([1, *(a.each for a in ahead)]) < 2:
        return None
    n = cells(int(ctx.choose(ACCESS)))
    kernels = _Cells(nest, ctx, ahead, beside, n, one_axis).kernels()
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


def _beside(nest: MapNest, ctx: Context) -> list[int]:
    """The numbers, among a cell's loads, of those that neighbours make side by side, in rows found by way of an index."""
    cell, found, by_index = some_cell(nest.shape), [], False
    if any(condition is not None for condition, _, _ in T.reads(nest.safe(cell))):  # what may not be there is not read
        return []
    for k, (buf, at) in enumerate(T.all_loads(nest.safe(cell))):
        if not at or not T.same_expr(at[-1], cell[-1]):
            continue
        width = T.extents(buf)[-1]
        if (
            any(T.uses(x, [cell[-1]]) for x in at[:-1])  # neighbours may be in different rows
            or T.constant_value(width - ctx.sizes(nest.shape[-1])) != 0
            or T.itemsize(buf) > int(ACCESS.default) // 2
        ):
            return []
        by_index = by_index or any(T.all_loads(x) for x in at[:-1])
        found.append(k)
    return found if by_index and len(nest.shape) > 1 else []


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells that are taken n at once.

    Attributes:
        ahead: what is read for all n.
        beside: the numbers, among a cell's loads, of those that are made for all n at once.
        rest: the last ones may be fewer.
    """

    nest: MapNest
    ctx: Context
    ahead: Sequence[_Ahead]
    beside: Sequence[int]
    n: int
    rest: bool

    def kernels(self) -> Stmt:
        """The kernel, for numbers of 32 and of 64 bits."""
        nest, ctx, n = self.nest, self.ctx, self.n
        whole_rows: Shape = (*nest.shape[:-1], ceildiv(nest.shape[-1], n))
        panels = self.panels()
        units: Shape = whole_rows if panels == 1 else (panels, *nest.shape[:-1], whole_rows[-1] // panels)
        extent, in_flight = ctx.sizes(nest.shape[-1]), max(1, ctx.choose(UNDERWAY) // n)
        element, test = nest.safe, tests(nest, ctx, together=True)

        def single(row: list[Expr], c: Expr) -> Stmt:
            return T.seq(T.store(nest.out, [*row, c], element([*row, c])), test([*row, c]))

        def unit(i: Expr) -> list[Expr]:
            u = coordinates(ctx, i, units)
            return u if panels == 1 else [*u[1:-1], u[0] * units[-1] + u[-1]]

        def one(i: Expr) -> Stmt:
            u = unit(i)
            begin = u[-1] * n
            if not self.rest or n == 1:
                return self.cells([u])
            rest = T.for_range(begin, extent, lambda c: single(u[:-1], c), "c")
            return T.if_(begin + n <= extent, self.cells([u]), rest)

        def several(numbers: list[Expr]) -> Stmt:
            cells = self.cells([unit(i) for i in numbers])
            return resident(ctx.choose(ELEMENTS_BLOCK), cells) if self.rest and nest.checks else cells

        def kernel(narrow: bool) -> Stmt:
            count, whole = ctx.sizes(product(units)), T.quotient(extent, T.const(n)) if self.rest else None
            batch = several if in_flight > 1 else None
            dtype, block = "int32" if narrow else "int64", ctx.choose(ELEMENTS_BLOCK)
            return chunked(ctx, count, one, batch, in_flight, dtype, block, whole=whole)

        return by_width(ctx, units, kernel)

    def panels(self) -> int:
        """How many parts the rows of cells are cut into that are taken one after the other."""
        shape, itemsize = self.nest.shape, self.nest.dtype.itemsize
        tables = [bytes_of for buf, bytes_of in self.tables() if not any(buf.same_as(a.buf) for a in self.ahead)]
        table, cells = max(tables, default=0), product(shape)
        sector = SECTOR // itemsize  # cells that could use one
        if table < PANELLED_BYTES or not isinstance(cells, int) or cells * itemsize * sector < 2 * table:
            return 1
        assert isinstance(shape[-1], int)
        units = shape[-1] // self.n
        fitting = (k for k in range(-(-table // PANEL_BYTES), units + 1) if units % k == 0)
        panels = next(fitting, 1)
        return panels if units // panels * self.n >= PANEL_CELLS else 1

    def tables(self) -> list[tuple[Buffer, int]]:
        """Tensors that cells read in their own columns and in rows that are found by an index, and their bytes."""
        cell, found = some_cell(self.nest.shape), []
        for buf, at in T.all_loads(self.nest.safe(cell)):
            known = [n for x in T.extents(buf) if (n := T.constant_value(x)) is not None]
            columns = len(at) > 1 and T.same_expr(at[-1], cell[-1])
            if columns and len(known) == len(at) and any(T.all_loads(x) for x in at[:-1]):
                found.append((buf, math.prod(known) * T.itemsize(buf)))
        return found

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
            alone = {axis for axis in a.axes if axis is not None} == {k for k, d in enumerate(nest.shape) if d != 1}
            reads.append(by_words(room, ZERO, a.buf, place * a.each, n * a.each, LOAD if alone else COPY))
        loads = [T.all_loads(nest.safe(begin))[k] for k in self.beside]
        rows = [self.room(f"row{number}_{k}", T.element_dtype(buf), n) for k, (buf, _) in enumerate(loads)]
        reads += [
            by_words(room, ZERO, buf, number_in(buf, at), n, COPY) for room, (buf, at) in zip(rows, loads, strict=True)
        ]
        values, element, test = (
            self.room(f"value{number}", nest.dtype.tir, n),
            nest.safe,
            tests(nest, self.ctx, together=True),
        )
        some = some_cell(nest.shape)
        used = [x for grid in (nest.grid, *(r.grid for r in nest.riding)) for x in grid(some)]
        own = any(T.uses(x, [some[-1]]) for x in used)  # an index for each cell

        def for_each(body: Callable[[Expr, list[Expr]], Stmt | None]) -> Stmt:
            def one(q: Expr) -> Stmt:
                cell = [*begin[:-1], begin[-1] + q]
                here = [T.all_loads(element(cell))[k] for k in self.beside]

                def ahead(buf: Buffer, at: list[Expr]) -> Expr | None:
                    for (other, place), room in zip(here, rows, strict=True):
                        if buf.same_as(other) and all(map(T.same_expr, at, place)):
                            return T.load(room, q)
                    for a, room in zip(self.ahead, rooms, strict=True):
                        component = a.component(buf, at, cell)
                        if component is not None:
                            return T.load(room, q * a.each + component)
                    return None

                return T.with_loads(T.seq(body(q, cell)), ahead)

            return T.for_(n, one, "q") if n > 1 else one(ZERO)

        return [
            T.seq(*map(T.allocate, (*rooms, *rows, values))),
            T.seq(*reads),
            for_each(lambda q, c: T.store(values, [q], element(c))),
            self.stored(ravel(begin, nest.shape, self.ctx.sizes), values),
            for_each(lambda q, c: test(c)) if own else T.seq(test(begin)),
        ]

    def stored(self, place: Expr, values: Buffer) -> Stmt:
        """A unit's values go to the result, past the caches where that is large."""
        out, n = self.nest.out, self.n
        kept, streamed = (by_words(out, place, values, ZERO, n, how) for how in (COPY, STORE))
        return by_size(self.nest, self.ctx, kept, streamed)

    def room(self, name: str, dtype: str, count: int) -> Buffer:
        """Registers of a thread."""
        return T.buffer(name, [count], dtype, align=16, scope="local")
