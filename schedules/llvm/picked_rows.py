"""Elements picked from a row of memory at a time: which come next is foreseen by what picks them, or by their row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, Shape, ceildiv, dim_max, product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.llvm.ahead import far_bytes
from gscompile.schedules.llvm.cells import map_share, with_check
from gscompile.schedules.llvm.choices import PICKED_TOGETHER
from gscompile.schedules.llvm.kernels import prefetch_lines, prefetch_row, with_kernels
from gscompile.schedules.llvm.numbers import (
    LINE_BYTES,
    LISTED_PICKS,
    MAX_PICKED_LINES,
    MIN_PICKED_LINES,
    NEAR_PICKS,
    PICKED_PART,
    PICKS_AHEAD,
    PICKS_OF_LINE,
    PREFETCHED_PICKS,
    RUN_SAMPLES,
    SHORT_PICKED_LINES,
)
from gscompile.schedules.llvm.pick_lists import PickLists
from gscompile.schedules.llvm.ranges import Share, few_units, shared_range
from gscompile.schedules.loops import unravel
from gscompile.schedules.rule import Checked, Context


class PickedRows:
    """Elements picked from a row at a time: while one row is picked from, the next one is prefetched, a few lines at a time.

    1,024 of 4,096 columns of 4,096 rows: 7.4 ms, so 3.1.  Prefetching a whole row at once takes 9.2: more lines than a core
    can wait for.

    From short rows, and from near ones, which need no prefetching, copies go by :class:`PickLists`.

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
        count, of_row = ctx.sizes(picks), T.quotient(row_bytes, T.const(LINE_BYTES))
        lines = T.quotient(row_bytes, T.maximum(count, T.const(1)))
        enough = T.all_of([row_bytes >= MIN_PICKED_LINES * LINE_BYTES, lines <= MAX_PICKED_LINES])
        if T.constant_value(enough) == 0:
            return None
        # in short rows the lines of the next one come too late
        far = T.size_of(buf) >= far_bytes(ctx.target)
        several = T.all_of([count > 0, count <= of_row * PICKS_OF_LINE])
        ahead = T.all_of([enough, of_row <= SHORT_PICKED_LINES, several, far])
        lines = T.select(T.all_of([enough, T.not_(ahead)]), T.minimum(lines, of_row), T.const(0))
        step = T.maximum(T.quotient(count, T.maximum(of_row, T.const(1)) * PREFETCHED_PICKS), T.const(1))
        rows = _PickedRows(nest, ctx, ones, number, lines, LINE_BYTES // itemsize, ahead, step, far)
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
        ahead: whether elements are prefetched :data:`PICKS_AHEAD` picks earlier, instead of lines.
        step: which of them: every so many-th.
        far: whether what is picked from is in memory.
    """

    nest: MapNest
    ctx: Context
    ones: int
    number: int
    lines: Expr
    per_line: int
    ahead: Expr
    step: Expr
    far: Expr

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
        """The units ``[lo, hi)``, which are parts of rows, and whole rows where they are listed."""

        def answered(known: list[Expr]) -> Stmt:
            far, ahead, lines = known
            return replace(self, far=far != 0, ahead=ahead != 0, lines=lines).listed_or_in_blocks(lo, hi)

        asked = [T.cast("int64", self.far), T.cast("int64", self.ahead), self.lines]
        known = [x if (value := T.constant_value(x)) is None else T.const(value) for x in asked]
        return T.kept(["far", "ahead", "lines"], known, answered)

    def picked(self, c: list[Expr], k: Expr) -> tuple[Buffer, list[Expr]] | None:
        """What is picked from, and where, for pick ``k`` of a row; None where that cannot be told beforehand."""
        last = [T.const(0)] * self.ones
        table, _ = self.nest.loads([*c, T.const(0), *last])[self.number]
        reads = T.reads(self.nest.safe([*c, k, *last]))
        return next(((buf, at) for _, buf, at in reads if buf.same_as(table)), None)

    def unless_near(self, lo: Expr, hi: Expr, body: Callable[[Expr], Stmt]) -> Stmt:
        """``body(lines)``: no lines where :data:`RUN_SAMPLES` picks of a row are near each other: most lines are not needed.

        The same 574 times of each of 14,322 rows of 2,918 int32: 5.4 ms, so 2.8.
        """
        if T.constant_value(self.lines) == 0:
            return body(self.lines)
        c = unravel(T.quotient(lo, self.ctx.sizes(self.parts)), self.outer, self.ctx.sizes)
        if (found := self.picked(c, T.const(0))) is None:
            return body(self.lines)
        zero, one, span = T.const(0), T.const(1), T.buffer("span", [2], "int64", align=8)
        columns = wide(T.extents(found[0]), found[0])[-1]
        step = T.quotient(self.ctx.sizes(self.picks), T.const(RUN_SAMPLES))

        def note(column: list[Expr]) -> Stmt:
            least, most = T.minimum(T.load(span, zero), column[0]), T.maximum(T.load(span, one), column[0])
            return T.seq(T.store(span, [zero], least), T.store(span, [one], most))

        def look(k: Expr) -> Stmt:
            pick = self.picked(c, k * step)
            assert pick is not None, "as of the first"
            return T.kept("column", wide(pick[1], pick[0])[-1:], note)

        looks = T.for_(T.const(RUN_SAMPLES), look, "k", one_copy=True)
        some = T.all_of([step > 0, lo < hi, self.lines > 0])
        near = T.all_of([some, (T.load(span, one) - T.load(span, zero)) * NEAR_PICKS <= columns])
        begin = T.seq(T.store(span, [zero], columns), T.store(span, [one], zero))
        lines = T.kept("lines", [T.select(near, zero, self.lines)], lambda known: body(known[0]))
        return T.seq(T.allocate(span), begin, T.if_(some, looks), lines)

    def listed_or_in_blocks(self, lo: Expr, hi: Expr) -> Stmt:
        """As :meth:`share`."""
        lists = PickLists.of(self.nest, self.ctx, self.ones)
        if lists is None:
            return self.in_blocks(lo, hi)
        unprefetched = T.any_of([T.not_(self.far), T.all_of([self.lines == 0, T.not_(self.ahead)])])
        listed = T.all_of([self.ctx.sizes(self.picks) <= LISTED_PICKS, unprefetched])
        known = T.constant_value(listed)
        if known is not None:
            return lists.share(lo, hi) if known else self.in_blocks(lo, hi)
        return T.if_(listed, lists.share(lo, hi), self.in_blocks(lo, hi))

    def in_blocks(self, lo: Expr, hi: Expr) -> Stmt:
        """The units ``[lo, hi)``, a row at a time."""
        return self.unless_near(lo, hi, lambda lines: replace(self, lines=lines).blocks(lo, hi))

    def blocks(self, lo: Expr, hi: Expr) -> Stmt:
        """The units ``[lo, hi)`` in blocks of picks of a row."""
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
        """``loop(ahead)`` over rows up to ``end``: ``ahead(r)`` prefetches elements of one so many picks later."""
        if T.constant_value(self.ahead) == 0:
            return loop(lambda r: None)
        picks = self.ctx.sizes(self.picks)
        rows = T.maximum(T.quotient(T.const(PICKS_AHEAD), T.maximum(picks, T.const(1))), T.const(1))

        def ahead(r: Expr, rows: Expr, step: Expr) -> Stmt:
            later = unravel(T.minimum(r + rows, end - 1), self.outer, self.ctx.sizes)

            def pick(c: list[Expr]) -> Stmt:
                def element(j: Expr) -> Stmt:
                    found = self.picked(c, j * step)
                    return T.seq() if found is None else prefetch_row(T.address_of(found[0], *found[1]), T.const(1))

                return T.for_(T.quotient(picks, step), element, "ahead", one_copy=True)

            return T.if_(self.ahead, T.kept("later", later, pick))

        return T.kept(["rows", "step"], [rows, self.step], lambda known: loop(lambda r: ahead(r, *known)))

    @property
    def block(self) -> Expr:
        """Picks of a block: all of a row where nothing is prefetched, and many rows are shared."""
        together = T.const(self.ctx.choose(PICKED_TOGETHER))
        whole = T.all_of([self.lines == 0, self.ctx.sizes(self.parts) == 1])
        return T.select(whole, T.maximum(self.ctx.sizes(self.picks), T.const(1)), together)

    def next_lines(self, r: Expr, p: Expr) -> Stmt:
        """Prefetch the lines of the row after ``r`` that come before block ``p`` of this one."""
        last = T.maximum(self.ctx.sizes(product(self.outer)) - 1, T.const(0))
        later = unravel(T.minimum(r + 1, last), self.outer, self.ctx.sizes)
        there, at = self.nest.loads([*later, *[T.const(0)] * (1 + self.ones)])[self.number]
        row = wide(at, there)[:-1]
        beyond = [T.const(0)] * (len(at) - len(row) - 1)
        return prefetch_lines(T.address_of(there, *row, p * self.lines * self.per_line, *beyond), self.lines)

    def row(self, cells: Share, r: Expr, first: Expr, count: Expr, size: Expr) -> Stmt:
        """The blocks ``[first, first + count)`` of a row, of so many picks each."""
        outer, picks, last = self.outer, self.ctx.sizes(self.picks), [T.const(0)] * self.ones
        c = unravel(r, outer, self.ctx.sizes)

        def block(p: Expr) -> Stmt:
            begin = p * size
            loop = T.for_range(begin, T.minimum(begin + size, picks), lambda i: cells.cell([*c, i, *last]), "c")
            return T.seq(self.next_lines(r, p), loop)

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
