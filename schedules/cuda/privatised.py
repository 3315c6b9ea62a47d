"""Scatters of many points into few cells: each block combines its points in shared memory.

A block begins with accumulators of the identity, walks over its points with :data:`UNDERWAY` of them underway, whose indices and
values it reads before it combines any, and then combines those of its cells that are no longer the identity with global memory:
at most one global atomic per cell and block, neighbours side by side.  There are so many blocks that each has at least
:data:`PER_CELL` points for each of its cells.  Where a call has fewer points, or more cells than fit
:data:`PRIVATE_BYTES`, each point goes to global memory as it does by ``Atomics``.

Per point of a histogram: 8 bytes of an int64 index and those of the value from memory, an atomic in shared memory, and about 20
instructions; ``Atomics`` has an atomic in L2 instead, of which one address takes one at a time on the whole GPU.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.index_map import Place
from gscompile.ir.nests import Nest
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES, DType
from gscompile.schedules.cuda.atomics import atomic, atomic_name, widened
from gscompile.schedules.cuda.check import checked, guarded, test
from gscompile.schedules.cuda.choices import PER_CELL, PRIVATE_BLOCK, UNDERWAY
from gscompile.schedules.cuda.launch import by_width, coordinates, resident, strided
from gscompile.schedules.cuda.numbers import POINTS_PER_CELL, PRIVATE_BYTES, resident_blocks
from gscompile.schedules.cuda.points import (
    Point,
    extents,
    harmless,
    point_at,
    slice_axes,
    slice_of,
    slice_shape,
    taken,
    where,
)
from gscompile.schedules.cuda.scatter import AtomicScatter
from gscompile.schedules.loops import by_number, ravel
from gscompile.schedules.rule import Checked, Context


class Privatised:
    """See the module's text."""

    name = "privatised"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ScatterNest) or not ctx.target.cooperative:
            return None
        r = nest.op.reduction
        if r.arity > 1 or r.function is None or not (r.associative and r.commutative):
            return None
        few = _few(nest, ctx)
        if few is None or T.constant_value(few) == 0:
            return None
        s = AtomicScatter.of(nest, guarded(ctx, nest))
        return checked(nest, _Private(nest, s.ctx, s.wide, s.totals, s.counts, few).statement())


def _few(nest: ScatterNest, ctx: Context) -> Expr | None:
    """Whether there are few cells, and enough points; None where that is not asked.

    Where only a call tells how many cells there are, it is asked for points that are single elements.
    """
    room = PRIVATE_BYTES // widened(nest.dtype).itemsize
    cells = product(nest.shape)
    if isinstance(cells, int):
        if not 0 < cells <= room:
            return None
    elif product(nest.window) != 1:
        return None
    points = ctx.sizes(product(extents(nest, nest.op.addressing.map.layout)))
    return T.all_of([ctx.sizes(cells) <= room, points >= ctx.sizes(cells) * POINTS_PER_CELL])


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells of one tensor that points are combined in.

    Attributes:
        total: the tensor, in global memory.
        shape: its extents.
        op: of :data:`gscompile.schedules.cuda.atomics.ATOMICS`.
        neutral: what leaves a cell as it is, and the bits of that.
        axes: of the points tensor, which tell the points apart.
        place: a point -> the cell that it goes to.
        value: a point -> what it brings.
    """

    total: Buffer
    shape: Shape
    dtype: DType
    op: str
    neutral: tuple[Expr, int]
    axes: Sequence[Place]
    place: Callable[[Point], list[Expr]]
    value: Callable[[Point], Expr]


@dataclass(frozen=True, slots=True)
class _Private(AtomicScatter):
    """A scatter whose blocks have accumulators of their own.

    Attributes:
        few: where they do.
    """

    few: Expr

    def all_added(self) -> Stmt:
        nest = self.nest
        compute, r = nest.dtype.compute, nest.op.reduction
        assert r.identity is not None
        identity = r.identity(compute)
        bits = _bits(-0.0 if self.wide.is_float and identity == 0 else identity, self.wide)
        cells = _Cells(
            self.totals,
            nest.shape,
            self.wide,
            atomic_name(r, nest.dtype),
            (self.neutral(), bits),
            nest.op.addressing.map.layout,
            lambda p: p.cell,
            self.value,
        )
        return self.combined(cells, AtomicScatter.all_added(self))

    def all_counted(self, counts: Buffer) -> Stmt:
        nest, one, zero = self.nest, T.const(1, "int32"), T.const(0, "int32")
        cells = _Cells(
            counts,
            slice_shape(nest),
            DTYPES["int32"],
            "add",
            (zero, 0),
            slice_axes(nest),
            lambda p: slice_of(nest, p.cell),
            lambda p: one,
        )
        return self.combined(cells, AtomicScatter.all_counted(self, counts))

    def combined(self, cells: _Cells, otherwise: Stmt) -> Stmt:
        """The points combined block by block where the cells are few."""
        box = extents(self.nest, cells.axes)
        blocks = by_width(self.ctx, box, lambda narrow: self.kernel(cells, box, "int32" if narrow else "int64"))
        return blocks if T.constant_value(self.few) == 1 else T.if_(self.few, blocks, otherwise)

    def kernel(self, cells: _Cells, box: Shape, dtype: str) -> Stmt:
        """The kernel that numbers the points of a box with a dtype."""
        ctx, sizes, known = self.ctx, self.ctx.sizes, product(cells.shape)
        room = known if isinstance(known, int) else PRIVATE_BYTES // self.wide.itemsize
        private = T.buffer("private", [room], cells.dtype.tir, align=16, scope="shared")
        count, points = sizes(known), sizes(product(box))
        enough = T.quotient(points, T.maximum(count * ctx.choose(PER_CELL), T.const(1)))

        def several(numbers: list[Expr]) -> Stmt:
            at = [point_at(self.nest, cells.axes, coordinates(ctx, i, box), i) for i in numbers]
            takes = [taken(self.nest, p, ok) for p, ok in at]
            places = [T.cast("int32", ravel(cells.place(p), cells.shape or (1,), sizes)) for p, _ in at]
            values = [cells.value(p) for p, _ in at]
            places = [where(ok, x, T.const(-1, "int32")) for x, ok in zip(places, takes, strict=True)]
            values = [x if harmless(x) else where(ok, x, cells.neutral[0]) for x, ok in zip(values, takes, strict=True)]

            def combine(place: list[Expr], value: list[Expr]) -> Stmt:
                adds = [atomic(cells.op, private, [x], v) for x, v in zip(place, value, strict=True)]
                found = [None if ok is None else x >= 0 for x, ok in zip(place, takes, strict=True)]
                return T.seq(*(test(self.nest.check, p.grid, ctx) for p, _ in at), *map(T.if_, found, adds))

            return T.registers("cell", places, lambda x: T.lets("v", values, lambda v: combine(x, v)))

        block = ctx.choose(PRIVATE_BLOCK)

        def within(t: Expr, walk: Stmt) -> Stmt:
            def each(body: Callable[[Expr], Stmt]) -> Stmt:
                """A body for each cell, neighbours by neighbours."""

                def one(k: Expr) -> Stmt:
                    cell = k * block + T.int64(t)
                    return T.if_(cell < count, body(cell))

                return T.for_(T.quotient(count + (block - 1), T.const(block)), one, "c")

            def settle(cell: Expr) -> Stmt:
                def add(v: Expr) -> Stmt:
                    bits = T.reinterpret(f"uint{cells.dtype.bits}", v) if cells.dtype.is_float else v
                    changed = bits != T.const(cells.neutral[1], T.dtype_of(bits))
                    return T.if_(changed, atomic(cells.op, cells.total, by_number(cell, cells.shape), v))

                return T.let("own", T.load(private, cell), add)

            body = T.seq(
                T.allocate(private),
                each(lambda cell: T.store(private, [cell], cells.neutral[0])),
                T.synchronize_block(),
                walk,
                T.synchronize_block(),
                each(settle),
            )
            # extremes of float64 look at a cell first, for which ptxas would spill rather than give up a block
            looks = cells.dtype.is_float and cells.dtype.bits == 64 and cells.op in ("min", "max")
            return resident(block, body) if looks else body

        most = T.minimum(T.const(resident_blocks(ctx.target)), enough)
        return strided(ctx, points, several, ctx.choose(UNDERWAY), dtype, block, most, within)


def _bits(value: float, dtype: DType) -> int:
    """A number as it is compared: a float by its bits."""
    if not dtype.is_float:
        return int(value)
    return int.from_bytes(struct.pack("<f" if dtype.bits == 32 else "<d", value), "little")
