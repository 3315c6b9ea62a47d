"""Copies of rows: gathers whose slices are runs of memory, bases of scatters, plain copies.

A unit is what one access moves: 16 bytes where a row's bytes are a multiple of that, else as many as divide them, down to an
element.  Threads are numbered over all units of all rows, so that none is idle whatever the length of a row, and a warp's
accesses lie side by side.  Lanes in the same row read the same index, which the load unit hands to all of them: per warp and
row one sector of 32 bytes, from L1 but for the first.

A block takes a chunk, of which each thread has :data:`UNITS` units underway, a block apart: it finds
where they are, loads them all, stores them all, and tests their indices last: a test is a branch, behind which nothing is
read ahead. A tensor that is copied whole may end within a unit; other rows of
unknown length have a kernel for units, and one for elements. Small work has a unit per thread. Blocks that walk over the
work, a grid apart, take 5 to 12 % longer on an H200: the last round is not whole, and the hardware evens out blocks that
take longer. What is only read goes through ``ld.global.nc``, as nvcc makes of ``__restrict__`` by itself; a result larger
than an L2 cache is stored by ``st.global.cs``, which leaves the cache to what is gathered.

Per 16 bytes: 16 read, 16 written and 8 / (units of a row) of an index from memory, and about 25 instructions: 3 of numbers, 2
to 10 of coordinates, 8 of the index and its test, 4 of addresses, a load, a store.

Rows of two tensors are merged in the same way where each cell is a copy of an element of one of them, as :mod:`.last_writer` has
it: a unit is loaded from the tensor that it is in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, Shape, ceildiv, product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.check import checked, guarded
from gscompile.schedules.cuda.choices import BLOCK, UNITS
from gscompile.schedules.cuda.launch import by_width, chunked, coordinates, resident
from gscompile.schedules.cuda.map import tests
from gscompile.schedules.cuda.vectors import by_size, stream, vector_length, whole_fill
from gscompile.schedules.loops import by_number, ravel
from gscompile.schedules.rule import Checked, Context
from gscompile.schedules.runs import Copied, common_axes, copied


class Copies:
    """See the module's text."""

    name = "copies"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest):
            return None
        copy = copy_runs(nest, guarded(ctx, nest))
        return None if copy is None else checked(nest, copy)


def copy_runs(nest: MapNest, ctx: Context, merges: bool = False) -> Stmt | None:
    """The kernels of a map that copies rows, one of which is launched; None for another map.

    Args:
        merges: the rows may be those of two tensors; the map has no check.
    """
    safe = replace(nest, element=nest.safe)
    axes = common_axes(safe, ctx.sizes, merges)
    if axes == 0:
        return None
    rows = _Rows(safe, ctx, axes, merges)
    if copied(rows.element(rows.cell([T.var(f"c{k}") for k in rows.outer], T.var("w")))) is None:
        return None
    n = vector_length(ctx, nest.dtype, rows.width) if isinstance(rows.width, int) else ctx.target.vector_bytes
    if isinstance(rows.width, int):
        return rows.kernels(n)
    n = 1 if nest.dtype.kind == "b" else n // nest.dtype.itemsize
    if n == 1:
        return rows.kernels(1)
    if rows.one_tensor():
        return rows.whole(n)
    even = T.floormod(ctx.sizes(rows.width), T.const(n)) == 0
    return T.if_(even, rows.kernels(n), rows.kernels(1))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of the last axes of a map, each a copy of a run of memory.

    Attributes:
        axes: how many axes make a row.
        merges: each may be a copy of a run in one of two tensors.
    """

    nest: MapNest
    ctx: Context
    axes: int
    merges: bool

    @property
    def outer(self) -> Shape:
        return self.nest.shape[: len(self.nest.shape) - self.axes]

    @property
    def width(self) -> Dim:
        """Elements of a row."""
        return product(self.nest.shape[len(self.outer) :])

    @property
    def element(self) -> Callable[[list[Expr]], Expr]:
        return self.nest.element

    def cell(self, row: list[Expr], place: Expr) -> list[Expr]:
        """The cell at a place of a row."""
        return [*row, *(T.const(0) for _ in range(self.axes - 1)), place]

    def kernels(self, n: int) -> Stmt:
        """The kernel that moves n elements at once, for numbers of 32 and of 64 bits."""
        units = (*self.outer, self.width // n)

        def kernel(narrow: bool) -> Stmt:
            dtype = "int32" if narrow else "int64"

            def at(numbers: list[Expr]) -> list[list[Expr]]:
                return [coordinates(self.ctx, i, units) for i in numbers]

            def one(i: Expr) -> Stmt:
                tests, move = self.units(at([i]), n)
                return T.seq(T.if_(self.some(), move), tests)

            def several(numbers: list[Expr]) -> Stmt:
                tests, move = self.units(at(numbers), n)
                return resident(self.ctx.choose(BLOCK), T.seq(move, tests)) if self.divides() else T.seq(move, tests)

            count, batch = self.ctx.sizes(product(units)), several if self.batched(n) else None
            return chunked(
                self.ctx, count, one, batch, self.ctx.choose(UNITS), dtype, self.ctx.choose(BLOCK), self.some()
            )

        return by_width(self.ctx, units, kernel)

    def divides(self) -> bool:
        """Whether finding a unit takes a division that is a function, around whose calls several units are kept in registers."""
        return T.divides(self.element(self.cell([T.var(f"c{k}") for k in range(len(self.outer))], T.const(0))))

    def one_tensor(self) -> bool:
        """Whether there is one row, all of a tensor, wherever it ends."""
        if self.outer or self.nest.check is not None:
            return False
        found = self.source([], T.const(0))
        return len(found.source[1]) == self.axes and found.ok is None

    def whole(self, n: int) -> Stmt:
        """The kernel that copies a tensor, n elements at once but for the last ones."""
        ctx, out, buf = self.ctx, self.nest.out, self.source([], T.const(0)).source[0]
        width = ctx.sizes(self.width)

        def element(place: Expr) -> Stmt:
            return T.store(out, self.flat(place), T.load(buf, *by_number(place, T.extents(buf))))

        def several(numbers: list[Expr]) -> Stmt:
            return self.units([[T.int64(i)] for i in numbers], n)[1]

        def one(i: Expr) -> Stmt:
            begin = T.int64(i) * n
            rest = T.for_range(begin, width, element, "c")
            return T.if_(begin + n <= width, several([i]), rest)

        count, whole = ctx.sizes(ceildiv(self.width, n)), T.quotient(width, T.const(n))
        return chunked(ctx, count, one, several, ctx.choose(UNITS), "int64", ctx.choose(BLOCK), whole=whole)

    def batched(self, n: int) -> bool:
        """Whether units can be loaded before any is stored: TVM has to write what fills them as a vector."""
        found = self.source([T.var(f"c{k}") for k in range(len(self.outer))], T.const(0))
        return found.ok is None or self.other(found) is not None or whole_fill(self.nest.dtype, n)

    def some(self) -> Expr | None:
        """With a check: whether there is any row to copy from, in a tensor whose size is not known; None if there is."""
        if self.nest.check is None:
            return None
        found = copied(self.element(self.cell([T.const(0) for _ in self.outer], T.const(0))))
        return None if found is None else found.ok

    def source(self, row: list[Expr], place: Expr) -> Copied:
        """What the cell at a place of a row is a copy of; with a check, where there is :meth:`some`."""
        found = copied(self.element(self.cell(row, place)))
        assert found is not None
        return found if self.nest.check is None else Copied(found.load, found.source)

    def units(self, units: list[list[Expr]], n: int) -> tuple[Stmt, Stmt]:
        """The tests of units' indices, and what finds the units, then loads them, then stores them."""
        tested = tests(self.nest, self.ctx, n)
        reports = [tested(self.cell(u[:-1], u[-1] * n)) for u in units]
        parts = [self.source(u[:-1], u[-1] * n) for u in units]
        places = [self.place(p, u[-1], n) for p, u in zip(parts, units, strict=True)]

        def move(at: list[Expr]) -> Stmt:
            if not self.batched(n):
                return T.seq(*(self.filled(u, p, x, n) for u, p, x in zip(units, parts, at, strict=True)))
            values = [self.load(p, x, n) for p, x in zip(parts, at, strict=True)]
            return T.lets("v", values, lambda v: self.stores(units, v, n))

        return T.seq(*reports), T.registers("at", places, move)

    def place(self, part: Copied, unit: Expr, n: int) -> Expr:
        """Where a unit is in the tensor that it is copied from, in units; of two tensors, in the other one -1 - where."""
        at = self.place_in(part.source, unit, n)
        other = self.other(part)
        return at if other is None else T.if_then_else(part.ok, at, -1 - self.place_in(other, unit, n))

    def other(self, part: Copied) -> tuple[Buffer, list[Expr]] | None:
        """Where a unit is else; None if it is filled, or always a copy of the same tensor."""
        return part.other if self.merges else None

    def place_in(self, source: tuple[Buffer, list[Expr]], unit: Expr, n: int) -> Expr:
        """Where a unit is in a tensor, in units."""
        buf, at = source
        lead = len(at) - self.axes
        row: Expr = T.const(0)
        for x, extent in zip(at[:lead], T.extents(buf)[:lead], strict=True):
            row = row * extent + x
        return row * self.ctx.sizes(self.width // n) + unit

    def load(self, part: Copied, at: Expr, n: int) -> Expr:
        """A unit's value."""
        value = T.load_vector(part.source[0], at * n, n)
        other = self.other(part)
        if other is not None:
            return T.if_then_else(at >= 0, value, T.load_vector(other[0], (-1 - at) * n, n))
        return value if part.ok is None else T.if_then_else(part.ok, value, T.broadcast(part.fill, n))

    def filled(self, unit: list[Expr], part: Copied, at: Expr, n: int) -> Stmt:
        """A unit that is copied, or filled element by element."""
        to, place = self.to(unit, n), at * n
        fill = T.for_(n, lambda q: T.store(self.nest.out, self.flat(to + q), part.fill), "q")
        return T.if_(part.ok, T.store_vector(self.nest.out, to, T.load_vector(part.source[0], place, n)), fill)

    def stores(self, units: list[list[Expr]], values: list[Expr], n: int) -> Stmt:
        """The stores, past the caches where the result is large."""
        out, places = self.nest.out, [self.to(u, n) for u in units]
        kept = T.seq(*(T.store_vector(out, to, v) for to, v in zip(places, values, strict=True)))
        streamed = T.seq(
            *(stream(out, to, v, n * self.nest.dtype.itemsize) for to, v in zip(places, values, strict=True))
        )
        return by_size(self.nest, self.ctx, kept, streamed)

    def to(self, unit: list[Expr], n: int) -> Expr:
        """Where a unit is in the result, in elements."""
        return ravel(unit, (*self.outer, self.width // n), self.ctx.sizes) * n

    def flat(self, place: Expr) -> list[Expr]:
        return [*(T.const(0) for _ in self.nest.shape[1:]), place]
