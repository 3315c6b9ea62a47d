"""Gathers of single elements, arranged so that what is picked from is near.

A loop over elements that lie anywhere waits for memory at each, because no hardware foresees which come next.  What it picks
from can be foreseen: a row, or a few columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, Shape, ceildiv, dim_max, product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.decisions import first_of
from gscompile.schedules.llvm.ahead import far_bytes
from gscompile.schedules.llvm.cells import map_share, with_check
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import INDICES_AHEAD, PACKED_TOGETHER, PICKED_TOGETHER
from gscompile.schedules.llvm.costs import Facts, both, pays, picked_from_columns
from gscompile.schedules.llvm.kernels import prefetch_lines, prefetch_row, with_kernels
from gscompile.schedules.llvm.numbers import (
    LINE_BYTES,
    MAX_PICKED_LINES,
    MIN_PICKED_LINES,
    PACKED_COLUMNS,
    PICKED_PART,
    PICKS_AHEAD,
    PICKS_OF_LINE,
    PREFETCHED_PICKS,
    SHORT_PICKED_LINES,
    packed_bytes,
)
from gscompile.schedules.llvm.ranges import Share, always_shared, few_units, over_box, shared_range
from gscompile.schedules.loops import unravel
from gscompile.schedules.rule import Checked, Context
from gscompile.schedules.runs import common_axes, copied


class PickedRows:
    """Elements picked from a row at a time: while one row is picked from, the next one is prefetched, a few lines at a time.

    1,024 of 4,096 columns of 4,096 rows: 7.4 ms, so 3.1.  Prefetching a whole row at once takes 9.2: more lines than a core
    can wait for.

    Where rows are few, many picks are cut into parts, which threads share evenly: 500,000 of one row of 10^6 0.98 ms, 0.50.
    """

    name = "picked-rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest):
            return None
        ones = ones_of(nest.shape)
        if len(nest.shape) < 2 + ones:
            return None
        number = picked_row(nest, ones)
        if number is None:
            return None
        buf, _ = nest.loads([T.var(f"c{k}") for k in range(len(nest.shape))])[number]
        itemsize, picks = T.itemsize(buf), nest.shape[len(nest.shape) - ones - 1]
        row_bytes = wide(T.extents(buf), buf)[-1] * itemsize
        # all lines of the next row over all blocks of this one; none where that is too little or too much to prefetch
        lines = T.quotient(row_bytes, T.maximum(ctx.sizes(picks), T.const(1)))
        enough = T.all_of([row_bytes >= MIN_PICKED_LINES * LINE_BYTES, lines <= MAX_PICKED_LINES])
        of_row = T.quotient(row_bytes, T.const(LINE_BYTES))
        lines = T.minimum(lines, of_row)
        if T.constant_value(enough) == 0:
            return None
        # in short rows the lines of the next one come too late
        count, from_memory = ctx.sizes(picks), T.size_of(buf) >= far_bytes(ctx.target)
        several = T.all_of([count > 0, count <= of_row * PICKS_OF_LINE])
        short = T.all_of([enough, of_row <= SHORT_PICKED_LINES, several, from_memory])
        lines = T.select(T.all_of([enough, T.not_(short)]), lines, T.const(0))
        step = T.maximum(T.quotient(count, T.maximum(of_row, T.const(1)) * PREFETCHED_PICKS), T.const(1))
        rows = _PickedRows(nest, ctx, ones, number, lines, LINE_BYTES // itemsize, short, step)
        units = product(rows.outer) * rows.parts
        return with_check(nest, with_kernels(shared_range(ctx, units, nest.work, rows.share, nest=nest.name)))


@dataclass(frozen=True, slots=True)
class _PickedRows:
    """Rows of a result whose elements are picked from a row each.

    Attributes:
        ones: how many axes of extent 1 come last, after that of the picks.
        number: which of the nest's loads is the row.
        lines: how many lines of the next row to prefetch before each block.
        per_line: elements of a cache line.
        short: whether elements of a row are prefetched :data:`PICKS_AHEAD` picks earlier, instead of lines.
        step: which of them: every so many-th.
    """

    nest: MapNest
    ctx: Context
    ones: int
    number: int
    lines: Expr
    per_line: int
    short: Expr
    step: Expr

    @property
    def outer(self) -> Shape:
        """Extents of the axes that number the rows."""
        return self.nest.shape[: len(self.nest.shape) - self.ones - 1]

    @property
    def picks(self) -> Dim:
        """Of a row."""
        return self.nest.shape[len(self.outer)]

    @property
    def parts(self) -> Dim:
        """Into how many the picks of a row are cut, where rows are few."""
        return 1 + dim_max(ceildiv(self.picks, PICKED_PART) - 1, 0) * few_units(product(self.outer))

    def share(self, lo: Expr, hi: Expr) -> Stmt:
        """The units ``[lo, hi)``, which are parts of rows."""
        cells = map_share(self.nest)
        parts = self.ctx.sizes(self.parts)
        ends = [T.quotient(lo, parts), T.quotient(hi + (parts - 1), parts)]

        def rows(known: list[Expr]) -> Stmt:
            block, parts, first, end, blocks = known
            each = T.quotient(blocks + (parts - 1), parts)

            def row(at: list[Expr]) -> Stmt:
                def part(k: Expr) -> Stmt:
                    return self.row(cells, at[0], k * each, T.minimum(each, blocks - k * each), block)

                skipped = at[0] * parts
                begins = [T.maximum(lo - skipped, T.const(0)), T.minimum(hi - skipped, parts)]
                return T.kept("part", begins, lambda ends: T.for_range(ends[0], ends[1], part, "part"))

            def loop(ahead: Callable[[Expr], Stmt | None]) -> Stmt:
                return T.for_range(first, end, lambda r: T.seq(ahead(r), T.kept("row", [r], row)), "row")

            return cells.around(self.with_elements_ahead(end, loop))

        def cut(known: list[Expr]) -> Stmt:
            blocks = T.quotient(self.ctx.sizes(self.picks) + (known[0] - 1), known[0])
            return T.kept(
                ["parts", "first", "end", "blocks"], [parts, *ends, blocks], lambda more: rows([*known, *more])
            )

        return T.kept(["block"], [self.block], cut)

    def with_elements_ahead(self, end: Expr, loop: Callable[[Callable[[Expr], Stmt | None]], Stmt]) -> Stmt:
        """``loop(ahead)`` over rows up to ``end``: ``ahead(r)`` prefetches, where rows are short, of one so many picks later."""
        if T.constant_value(self.short) == 0:
            return loop(lambda r: None)
        picks, last = self.ctx.sizes(self.picks), [T.const(0)] * self.ones
        rows = T.maximum(T.quotient(T.const(PICKS_AHEAD), T.maximum(picks, T.const(1))), T.const(1))

        def ahead(r: Expr, rows: Expr, step: Expr) -> Stmt:
            later = unravel(T.minimum(r + rows, end - 1), self.outer, self.ctx.sizes)
            table, _ = self.nest.loads([*later, T.const(0), *last])[self.number]

            def pick(c: list[Expr]) -> Stmt:
                def element(j: Expr) -> Stmt:
                    found = [at for _, buf, at in T.reads(self.nest.safe([*c, j * step, *last])) if buf.same_as(table)]
                    return T.seq(*(prefetch_row(T.address_of(table, *at), T.const(1)) for at in found[:1]))

                return T.for_(T.quotient(picks, step), element, "ahead", one_copy=True)

            return T.if_(self.short, T.kept("later", later, pick))

        return T.kept(["rows", "step"], [rows, self.step], lambda known: loop(lambda r: ahead(r, *known)))

    @property
    def block(self) -> Expr:
        """Picks of a block: all of a row where nothing is prefetched, and many rows are shared."""
        together = T.const(self.ctx.choose(PICKED_TOGETHER))
        whole = T.all_of([self.lines == 0, self.ctx.sizes(self.parts) == 1])
        return T.select(whole, T.maximum(self.ctx.sizes(self.picks), T.const(1)), together)

    def row(self, cells: Share, r: Expr, first: Expr, count: Expr, size: Expr) -> Stmt:
        """The blocks ``[first, first + count)`` of a row, of so many picks each."""
        outer, picks, last = self.outer, self.ctx.sizes(self.picks), [T.const(0)] * self.ones
        c = unravel(r, outer, self.ctx.sizes)
        later = unravel(T.minimum(r + 1, self.ctx.sizes(product(outer)) - 1), outer, self.ctx.sizes)
        there, at = self.nest.loads([*later, T.const(0), *last])[self.number]
        row = wide(at, there)[:-1]
        beyond = [T.const(0)] * (len(at) - len(row) - 1)

        def block(p: Expr) -> Stmt:
            begin = p * size
            line = T.address_of(there, *row, p * self.lines * self.per_line, *beyond)
            end = T.minimum(begin + size, picks)
            loop = T.for_range(begin, end, lambda i: cells.cell([*c, i, *last]), "c")
            return T.seq(prefetch_lines(line, self.lines), loop)

        def each_block(k: Expr) -> Stmt:
            return T.kept("p", [first + k], lambda p: block(p[0]))

        return T.for_(count, each_block, "block", one_copy=True)


def ones_of(shape: Sequence[Dim | None]) -> int:
    """How many of the last axes are known to have extent 1."""
    return next((k for k, d in enumerate(reversed(shape)) if d != 1), len(shape))


def wide(of_axes: list[Expr], buf: Buffer) -> list[Expr]:
    """What belongs to the axes of a tensor, without its last ones of extent 1."""
    return of_axes[: len(of_axes) - ones_of([T.constant_value(n) for n in T.extents(buf)])]


def picked_row(nest: MapNest, ones: int) -> int | None:
    """Which of a nest's loads picks elements from a row of memory as the innermost coordinate changes; None if none does.

    Args:
        ones: how many axes of extent 1 come after that one.
    """
    c = [T.var(f"c{k}") for k in range(len(nest.shape))]
    k, last = len(c) - ones - 1, [T.const(0)] * ones
    beside, below = [*c[:k], T.var("other"), *last], [*(T.var(f"d{j}") for j in range(k)), c[k], *last]
    cells = [*c[: k + 1], *last], beside, below
    for number, loads in enumerate(zip(*map(nest.loads, cells), strict=True)):
        at, at_there, at_later = (wide(x, buf) for buf, x in loads)
        picks = bool(at) and T.loads_of(at[-1]) and not T.same_expr(at[-1], at_there[-1])
        if picks and _same(at[:-1], at_there[:-1]) and not _same(at[:-1], at_later[:-1]):
            return number
    return None


def _same(a: list[Expr], b: list[Expr]) -> bool:
    return all(T.same_expr(x, y) for x, y in zip(a, b, strict=True))


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
        fitting = [b for b in widths if not isinstance(deep, int) or deep * b * itemsize <= near]
        if not fitting:
            return None
        columns = _PackedColumns(nest, ctx, axis, fitting[0], source, T.dtype_of(found.load))
        worth = pays(ctx, (near - deep * (columns.block * itemsize), 0))
        if not (self.always or ctx.forced(self.name)):
            cells, blocks = product(shape), product(columns.blocks)
            facts = Facts(product(nest.shape), itemsize, cells * itemsize, nest.dtype.name)
            worth = both(worth, ctx.least(picked_from_columns(ctx, nest.name, facts, deep, cells, blocks), "packed"))
        if worth is False:
            return None
        packed = (worth, lambda: with_kernels(always_shared(ctx, product(columns.blocks), columns.share)))
        plain = (True, lambda: over_box(ctx, nest.shape, nest.cost, lambda: map_share(nest)))
        return with_check(nest, first_of([packed, plain]))


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
