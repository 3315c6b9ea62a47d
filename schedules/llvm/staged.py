"""Scatters of rows, a block of points at a time.

Where all indexed axes of a scatter come before its window axes, it adds rows to rows of a matrix; axes of extent 1 that output
and index share change nothing.  A block's indices are resolved and checked in one loop without branches, which LLVM vectorises,
into a short list that stays in the L1 cache; a second loop then works through the list and can prefetch the memory that it will
need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, Shape, dim_min, product
from gscompile.ir.index_map import Indexed, Shared, Window
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.llvm.costs import Facts
from gscompile.schedules.llvm.numbers import (
    ACCUMULATOR_REGISTERS,
    LOOK_PS,
    NARROW_ELEMENTS,
    NARROW_RARE_POINTS,
    POINT_BLOCK,
    RARE_POINTS,
    RUN_BYTES,
    SPARSE_WIDTH,
    TOUCH_PS,
    WIDEN_PS,
    resident_bytes,
)
from gscompile.schedules.loops import assumed, by_number, nested, not_empty, ravel, storage, unravel
from gscompile.schedules.rule import Context


@dataclass(frozen=True, slots=True)
class RowScatter:
    """A scatter as ``out[row(p), :] = reduce(out[row(p), :], src[p, :])``.

    A point ``p`` is a grid position here, with all of its window: a row of src.

    Attributes:
        leading: extents of the axes before those of the window.
        points: how many rows src has.
        acc: dtype of partial results.
    """

    nest: ScatterNest
    ctx: Context
    leading: Shape
    points: Dim
    acc: DType

    @staticmethod
    def of(nest: ScatterNest, ctx: Context) -> RowScatter | None:
        """None where the scatter is no such thing, or needs counts, or combines several tensors at once."""
        m = nest.op.addressing.map
        shared = [a for a, s in enumerate(m.sources) if isinstance(s, Shared) and nest.shape[a] == 1]
        count = m.components + len(shared)
        indexed = all(
            a in shared or (isinstance(s, Indexed) and s.window is None) for a, s in enumerate(m.sources[:count])
        )
        windows = [s.window for s in m.sources[count:] if isinstance(s, Window)]
        places = [("index", j) for j in m.grid_axes] + [("window", w) for w in windows]
        if not indexed or not count or len(windows) != len(m.sources) - count or list(m.layout) != places:
            return None
        whole = all(nest.window[w] == nest.shape[count + k] for k, w in enumerate(windows))
        if not whole or windows != sorted(windows) or nest.lanes or nest.op.counts:
            return None
        return RowScatter(nest, ctx, nest.shape[:count], product(nest.grid), nest.op.accumulator(nest.dtype))

    @property
    def rows(self) -> Dim:
        """How many rows the matrix has."""
        return product(self.leading)

    @property
    def width(self) -> Dim:
        """Elements of a row."""
        return product(self.nest.window)

    @property
    def narrow(self) -> bool:
        """Whether a row is known to have few elements."""
        return isinstance(self.width, int) and 0 < self.width <= NARROW_ELEMENTS

    @property
    def in_registers(self) -> bool:
        """Whether a row fits vector registers, in which it can stay while points that follow each other go to it."""
        most = min(RUN_BYTES, ACCUMULATOR_REGISTERS * self.ctx.target.vector_bytes)
        return self.narrow or (isinstance(self.width, int) and 0 < self.width * self.acc.itemsize <= most)

    @property
    def facts(self) -> Facts:
        """What its time depends on."""
        row, name = self.width * self.acc.itemsize, self.nest.op.reduction.name
        cells = (dim_min(self.points, self.rows) if self.sparse else self.rows) * self.width
        widened = cells if self.acc != self.nest.dtype else 0
        components = self.nest.op.addressing.map.components
        return Facts(self.points, row, self.rows * row, self.acc.name, name, self.gathered, components, widened)

    @property
    def reduction(self) -> Reduction:
        return self.nest.op.reduction

    @property
    def sparse(self) -> bool:
        """Whether totals of a wider dtype are made row by row, as points come, and not of all rows at first."""
        rows, points, width = self.rows, self.points, self.width
        if isinstance(rows, int) and isinstance(points, int) and isinstance(width, int):
            touched = points * rows // max(points + rows, 1)
            return (rows - touched) * width * WIDEN_PS > rows * LOOK_PS + touched * TOUCH_PS
        return not isinstance(width, int) or width >= SPARSE_WIDTH

    def grid(self, p: Expr) -> list[Expr]:
        """A point's position in the index tensor."""
        return unravel(p, self.nest.grid, self.ctx.sizes)

    def target(self, p: Expr) -> tuple[Expr, Expr | None]:
        """The row a point goes to, and whether it takes part (None: it does)."""
        grid = self.grid(p)
        starts, ok = self.nest.starts(grid)
        cell = self.nest.cell(starts, grid, self.no_window)  # components may index the axes in any order
        return ravel(cell[: len(self.leading)], self.leading, self.ctx.sizes), ok

    def compared(self, p: Expr, q: Expr, body: Callable[[list[Expr]], Stmt]) -> Stmt:
        """``body([row, row])`` of two points, each computed once."""

        def rows(points: list[Expr]) -> Stmt:
            return T.kept(("here", "there"), [self.target(x)[0] for x in points], body)

        return T.kept(("p", "q"), [p, q], rows)

    def valid(self, p: Expr) -> Expr | None:
        """Whether a point's index passes the check that the rule takes over (None: there is none)."""
        check, grid = self.nest.check, self.grid(p)
        return None if check is None else T.all_of(check.valid(grid, k) for k in range(check.components))

    def source(self, p: Expr, window: list[Expr]) -> Expr:
        """The value that arrives, as partial results are kept."""
        return cast(self.nest.src(self.grid(p), window), self.nest.dtype, self.acc)

    @property
    def no_window(self) -> list[Expr]:
        """The window coordinates of rows of one element."""
        return [T.const(0) for _ in self.nest.window]

    @property
    def streamed(self) -> bool:
        """Whether src is read in the order of the points: nothing that it reads depends on what was read before."""
        return bool(T.reads(self.source(T.var("p"), self.no_window))) and not self.gathered

    @property
    def gathered(self) -> bool:
        """Whether something that it reads depends on what was read before."""
        reads = T.reads(self.source(T.var("p"), self.no_window))
        return any(T.loads_of(c) for _, _, at in reads for c in at)

    @property
    def window(self) -> list[Expr]:
        """Extents of the loops over a row's cells."""
        return not_empty(self.nest.window, self.nest.shape, self.ctx.sizes)

    def cells(self, lo: Expr, hi: Expr, body: Callable[[list[Expr]], Stmt]) -> Stmt:
        """``body(coordinates)`` for the cells of rows ``[lo, hi)``."""
        return self.each_row(lo, hi, lambda lead: nested("w", self.window, lambda w: body([*lead, *w])))

    def cells_in_one(self, lo: Expr, hi: Expr, body: Callable[[list[Expr]], Stmt]) -> Stmt:
        """The same as one loop, for what depends on no coordinate but by place: LLVM makes poor code of many short ones.

        float16, 200,000 rows of 8 made float32 and back: 1.86 ms, as one loop 0.45.
        """
        width = self.ctx.sizes(self.width)
        return T.for_range(lo * width, hi * width, lambda k: body(by_number(k, self.nest.shape)), "cell")

    def each_row(self, lo: Expr, hi: Expr, body: Callable[[list[Expr]], Stmt]) -> Stmt:
        """``body(leading coordinates)`` for the rows ``[lo, hi)``."""
        *outer, last = self.ctx.sizes.shape(self.leading)
        n = T.maximum(last, T.const(1))

        def run(o: Expr) -> Stmt:
            """Rows that differ on the last leading axis only: to find one costs a division."""
            lead, skipped = unravel(o, self.leading[:-1], self.ctx.sizes), o * last
            begin, end = T.maximum(lo - skipped, T.const(0)), T.minimum(hi - skipped, last)
            return T.for_range(begin, end, lambda k: body([*lead, k]), "row")

        if not outer:
            return T.for_range(lo, hi, lambda k: body([k]), "row")
        return T.for_range(T.quotient(lo, n), T.quotient(hi + n - 1, n), run, "run")

    def rows_read(self, p: Expr) -> list[tuple[Buffer, list[Expr]]]:
        """Where the rows begin that a point reads."""
        if self.width == 1:
            return []
        last = [*self.no_window[:-1], T.const(1)]
        here, there = (T.reads(self.source(p, w)) for w in (self.no_window, last))
        if len(here) != len(
            there
        ):  # columns are computed otherwise than their neighbours, as parts of complex numbers are
            return []
        found = []
        for (condition, buf, at), (_, _, beside) in zip(here, there, strict=True):
            if condition is None and T.constant_value(beside[-1] - at[-1]) == 1:
                found.append((buf, at))
        return found

    def rows_picked(self, p: Expr) -> list[tuple[Buffer, list[Expr]]]:
        """Those that an index chooses, single elements too; the hardware prefetches the others where points are read in order."""
        single = T.reads(self.source(p, self.no_window)) if self.width == 1 else []
        read = [*self.rows_read(p), *((buf, at) for condition, buf, at in single if condition is None)]
        return [(buf, at) for buf, at in read if any(T.loads_of(x) for x in at)]

    def combine(self, old: Expr, new: Expr) -> Expr:
        return self.reduction.combine(self.acc, old, new)


def separable(nest: ScatterNest, ctx: Context) -> bool:
    """Whether points may be combined in groups, and the groups afterwards.

    Floating-point sums and products then round otherwise than in row-major order, but not more often.
    """
    r = nest.op.reduction
    if nest.op.counts or r.ordered or not (r.associative and r.commutative):
        return False
    if r.idempotent or not nest.dtype.is_float:
        return True
    return not (r.stepwise or nest.op.deterministic or ctx.deterministic)


def keeps_order(reduction: Reduction, acc: DType) -> bool:
    """Whether points must be combined in their order: minima of floats keep the last of two zeros and the first NaN."""
    return reduction.idempotent and not acc.is_integer


def combined(nest: ScatterNest, acc: DType, old: Expr, new: Expr) -> Expr:
    """``old`` reduced with ``new``: a minimum of single elements without a branch, up to :data:`RARE_POINTS` for each cell."""
    value = nest.op.reduction.combine(acc, old, new)
    points = RARE_POINTS if acc.itemsize > 2 else NARROW_RARE_POINTS
    rare = assumed(product(nest.grid)) < points * assumed(product(nest.shape))
    return T.unpredictable(value) if rare and product(nest.window) == 1 else value


def identity(nest: ScatterNest, acc: DType) -> Expr:
    """The value that leaves any other unchanged when combined with it; for sums of floats, that is -0.0."""
    return nest.op.reduction.neutral(acc)


def base(nest: ScatterNest, acc: DType, c: list[Expr]) -> Expr:
    """The value of a cell before the first point, in the dtype of partial results."""
    value = nest.base(c)
    if nest.in_place is not None:
        value = T.if_then_else(nest.in_place, T.load(nest.out, *storage(c)), value)
    return cast(value, nest.dtype, acc)


def streams(nest: ScatterNest, grid: list[Expr]) -> list[tuple[Buffer, list[Expr], int]]:
    """What is read in the order of the points, from a grid position on: buffer, coordinates, bytes per point."""
    found: list[tuple[Buffer, list[Expr], int]] = []
    for x in [*nest.starts(grid)[0], nest.src(grid, [T.const(0) for _ in nest.window])]:
        for condition, buf, at in T.reads(x):
            same = any(buf.same_as(b) and all(map(T.same_expr, at, a)) for b, a, _ in found)
            if condition is None and not same and not any(T.loads_of(c) for c in at):
                found.append((buf, at, T.itemsize(buf)))
    return found


def blocks(lo: Expr, hi: Expr, size: int, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
    """``body(first, count)`` for each block of the points ``[lo, hi)``, of at most :data:`POINT_BLOCK`."""

    def block(k: Expr) -> Stmt:
        first = lo + k * size
        return T.kept(("first", "count"), [first, T.minimum(hi - first, T.const(size))], lambda names: body(*names))

    return T.for_(T.floordiv(hi - lo + (size - 1), T.const(size)), block, "block")


def short_list(name: str, dtype: str) -> Buffer:
    """A list of as many numbers as a block has points."""
    return T.buffer(name, [POINT_BLOCK], dtype, align=64)


def near_cells(ctx: Context, cells: Dim, acc: DType) -> bool:
    """Whether so many cells are known to stay in a core's caches, so that :func:`in_lists` pays."""
    return isinstance(cells, int) and cells * acc.itemsize <= 2 * resident_bytes(ctx.target)


def in_lists(
    lo: Expr,
    hi: Expr,
    size: int,
    find: Callable[[Expr, Callable[[Expr], Stmt]], Stmt],
    value: Callable[[Expr], Expr],
    acc: DType,
    add: Callable[[Expr, Expr], Stmt],
) -> Stmt:
    """Combine the points ``[lo, hi)``, single elements, with their cells, a block of ``size`` at a time.

    Where they go is listed first, by vectors, and what they bring unless that is but read, or constant.

    Args:
        find: (point, put) -> a statement that tests it, and ``put(place)``.
        value: (point) -> what it brings.
        acc: the dtype of that.
        add: (place, value) -> a statement.
    """
    places, brought = short_list("places", "int64"), value(T.var("p"))
    computed = T.as_load(brought) is None and T.reads(brought)
    values = short_list("values", acc.tir) if computed else None

    def block(begin: Expr, count: Expr) -> Stmt:
        def resolve(k: Expr) -> Stmt:
            found = find(begin + k, lambda place: T.store(places, [k], place))
            return T.seq(found, None if values is None else T.store(values, [k], value(begin + k)))

        def combine(k: Expr) -> Stmt:
            new = value(begin + k) if values is None else T.load(values, k)
            return T.let("place", T.load(places, k), lambda place: add(place, new))

        return T.seq(T.for_(count, resolve, "k"), T.for_(count, combine, "k"))

    lists = [T.allocate(x) for x in (places, values) if x is not None]
    return T.seq(*lists, blocks(lo, hi, size, block))


def with_position(name: str, entry: Expr, begin: Expr, size: int, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
    """``body(point, row)`` of an entry of a list, row * size + the point's position from ``begin`` on."""

    def parts(e: Expr) -> Stmt:
        point, row = begin + T.floormod(e, T.const(size)), T.floordiv(e, T.const(size))
        return T.let(f"{name}_point", point, lambda p: T.let(f"{name}_row", row, lambda r: body(p, r)))

    return T.let(name, entry, parts)
