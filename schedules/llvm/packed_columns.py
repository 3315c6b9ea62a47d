"""Elements picked along an outer axis, where what they are picked from is packed first, so that it is near."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, ceildiv, product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.decisions import Condition, first_of
from gscompile.schedules.llvm.cells import map_share, with_check
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import INDICES_AHEAD, PACKED_TOGETHER
from gscompile.schedules.llvm.costs import Facts, both, pays, picked_from_columns
from gscompile.schedules.llvm.kernels import prefetch_row, with_kernels
from gscompile.schedules.llvm.numbers import (
    PACKED_COLUMNS,
    packed_bytes,
)
from gscompile.schedules.llvm.ranges import always_shared, over_box
from gscompile.schedules.loops import unravel
from gscompile.schedules.rule import Checked, Context
from gscompile.schedules.runs import common_axes, copied


class PackedColumns:
    """Elements picked along an outer axis, the innermost coordinate being the same on both sides: in blocks of columns.

    Neighbours in the result come from rows far apart, so that each element costs a cache line and often a page.  A block of
    columns is packed into local memory first, where it stays in the L2 cache while all rows are picked from it.  4096x1024 by
    4096x1024: 16 ms, so 5.
    """

    name = "packed-columns"

    def __init__(self, always: bool = False) -> None:
        """``always``: wherever a block fits a cache, whatever it is estimated to take."""
        self.always = always

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest) or len(nest.shape) < 2:
            return None
        axis = picked_axis(nest)
        if axis is None:
            return None
        found = copied(nest.safe([T.var(f"c{k}") for k in range(len(nest.shape))]))
        if found is None or common_axes(nest, ctx.sizes):
            return None  # rows of memory, however short
        source = found.source[0]
        itemsize, near = T.itemsize(source), packed_bytes(ctx.target)
        extents = [ctx.sizes.dim(n) for n in T.extents(source)]
        shape = [n for n in extents if n is not None]
        if len(shape) < len(extents):
            return None
        deep = shape[axis]
        most: int = ctx.choose(PACKED_TOGETHER)
        widths = [most, *(b for b in PACKED_COLUMNS if b < most)]
        if isinstance(wide := nest.shape[-1], int):
            widths = [b for b in widths if b < 2 * wide] or widths[-1:]
        fitting = widths if not isinstance(deep, int) else [b for b in widths if deep * b * itemsize <= near][:1]
        if not fitting:
            return None
        blocks = [_PackedColumns(nest, ctx, axis, b, source, T.dtype_of(found.load)) for b in fitting]
        worth: Condition = True
        if not (self.always or ctx.forced(self.name)):
            cells, slab = product(shape), product(shape[axis:]) * itemsize
            facts = Facts(product(nest.shape), itemsize, cells * itemsize, nest.dtype.name)
            decision = picked_from_columns(ctx, nest.name, facts, deep, slab, cells, product(blocks[0].blocks))
            worth = ctx.least(decision, "packed")
        if worth is False:
            return None

        def packed(columns: _PackedColumns, worth: Condition) -> tuple[Condition, Callable[[], Stmt]]:
            fits = pays(ctx, (near - deep * (columns.block * itemsize), 0))
            return both(fits, worth), lambda: with_kernels(always_shared(ctx, product(columns.blocks), columns.share))

        def ways(worth: Condition) -> Stmt:
            plain = (True, lambda: over_box(ctx, nest.shape, nest.cost, lambda: map_share(nest)))
            return first_of([*(packed(columns, worth) for columns in blocks), plain])

        if worth is True:
            return with_check(nest, ways(True))
        return with_check(nest, T.kept(["packs"], [T.cast("int64", worth)], lambda known: ways(known[0] > 0)))


@dataclass(frozen=True, slots=True)
class _PackedColumns:
    """Blocks of columns of a result, picked from packed blocks of the same columns.

    Attributes:
        axis: along which elements are picked.
        block: columns of a block.
        source: the tensor picked from.
        dtype: TIR's name of its type.
    """

    nest: MapNest
    ctx: Context
    axis: int
    block: int
    source: Buffer
    dtype: str

    @property
    def blocks(self) -> list[Dim]:
        """The extents of the outer axes but the picked one, and how many blocks there are on the innermost."""
        *outer, wide = self.nest.shape
        return [*outer[: self.axis], *outer[self.axis + 1 :], ceildiv(wide, self.block)]

    def share(self, lo: Expr, hi: Expr) -> Stmt:
        """The blocks ``[lo, hi)``."""
        size = packed_bytes(self.ctx.target) // T.itemsize(self.source)
        packed = T.buffer("packed", [size], self.dtype, align=64)
        flag = Flag(self.nest.check)

        def unit(u: Expr) -> Stmt:
            *outer, k = unravel(u, self.blocks, self.ctx.sizes)
            return T.let("begin", k * self.block, lambda begin: _Block(self, packed, flag, outer, begin).statement())

        return T.seq(T.allocate(packed), flag.around(T.for_range(lo, hi, unit, "block")))


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of columns, the first of them ``begin``, at the coordinates ``outer`` on all other axes but the picked one."""

    columns: _PackedColumns
    packed: Buffer
    flag: Flag
    outer: list[Expr]
    begin: Expr

    def statement(self) -> Stmt:
        block, wide = self.columns.block, self.columns.ctx.sizes(self.columns.nest.shape[-1])
        return T.if_(self.begin + block <= wide, self.of(T.const(block)), self.of(wide - self.begin))

    def of(self, width: Expr) -> Stmt:
        """Pack this many columns, and pick from them."""
        rows = self.columns.ctx.sizes(self.columns.nest.shape[self.columns.axis])

        def row(r: Expr) -> Stmt:
            later = T.minimum(r + self.columns.ctx.choose(INDICES_AHEAD), rows - 1)
            return T.seq(*self.prefetch(later), T.for_(width, lambda j: self.pick(r, j), "j"))

        return T.seq(self.pack(width), T.for_(rows, row, "r", one_copy=True))

    def pack(self, width: Expr) -> Stmt:
        source, block = self.columns.source, self.columns.block

        def row(r: Expr) -> Stmt:
            return T.for_(width, lambda j: T.store(self.packed, [r * block + j], T.load(source, *self.cell(r, j))), "j")

        return T.for_(T.extents(source)[self.columns.axis], row, "r", one_copy=True)

    def prefetch(self, r: Expr) -> list[Stmt]:
        """Prefetch what finds the elements of a row: all that it reads but the tensor picked from."""
        block, loads = self.columns.block, self.columns.nest.loads(self.cell(r, T.const(0)))
        others = [(buf, at) for buf, at in loads if not buf.same_as(self.columns.source)]
        return [prefetch_row(T.address_of(buf, *at), T.const(block * T.itemsize(buf))) for buf, at in others]

    def pick(self, r: Expr, j: Expr) -> Stmt:
        """A cell of the result, and the test of its index."""
        nest, c = self.columns.nest, self.cell(r, j)
        found = copied(nest.safe(c))
        assert found is not None
        row = found.source[1][self.columns.axis]
        value = T.load(self.packed, row * self.columns.block + (c[-1] - self.begin))
        if found.ok is not None:
            assert found.fill is not None
            value = T.if_then_else(found.ok, value, found.fill)
        return T.seq(T.store(nest.out, c, value), self.flag.test(nest.grid(c)))

    def cell(self, r: Expr, j: Expr) -> list[Expr]:
        """The cell in a row and a column of the block."""
        axis = self.columns.axis
        return [*self.outer[:axis], r, *self.outer[axis:], self.begin + j]


def picked_axis(nest: MapNest) -> int | None:
    """The axis along which elements are picked, every other coordinate being the result's own; None for anything else."""
    c = [T.var(f"c{k}") for k in range(len(nest.shape))]
    found = copied(nest.element(c))
    if found is None or len(found.source[1]) != len(c):
        return None
    moved = [k for k, x in enumerate(found.source[1]) if T.constant_value(x - c[k]) != 0]
    return moved[0] if len(moved) == 1 and moved[0] != len(c) - 1 else None
