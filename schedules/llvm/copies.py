"""Copies of rows: gathers whose slices are runs of memory.

A block of rows at a time: a loop without branches, which LLVM vectorises, resolves and checks their indices and makes a list of
where the rows begin; a second loop copies them, and prefetches those that stand some places further in the list.  Large results
are written by non-temporal stores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.nests import MapNest, Nest, fail
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.decisions import first_of
from gscompile.schedules.llvm.ahead import place_in, rows_ahead
from gscompile.schedules.llvm.cells import with_check
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.choices import COPIED_AHEAD, COPIED_BYTES_AHEAD, COPIED_TOGETHER, STORES
from gscompile.schedules.llvm.costs import Facts, copied_from_rows, leaves_caches, pays
from gscompile.schedules.llvm.kernels import copy_lines, copy_row, in_lines, prefetch_row, store_fence, with_kernels
from gscompile.schedules.llvm.numbers import (
    COPIED_BYTES,
    L2_BYTES,
    RUN_ROWS,
    SHORT_ROW_BYTES,
)
from gscompile.schedules.llvm.ranges import shared_range
from gscompile.schedules.loops import by_number, nested, unravel
from gscompile.schedules.rule import Checked, Context
from gscompile.schedules.runs import Copied, common_axes, copied


class Copies:
    """See the module's text."""

    name = "copies"

    def __init__(self, always: bool = False) -> None:
        """``always``: rows of any length, whatever they are estimated to take."""
        self.always = always

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest) or not nest.shape:
            return None
        axes = common_axes(nest, ctx.sizes)
        outer, inner = nest.shape[: len(nest.shape) - axes], nest.shape[len(nest.shape) - axes :]
        width, rows = product(inner), product(outer)
        row = width * nest.dtype.itemsize
        if axes == 0 or not outer:
            return None
        work = rows * ((row + (COPIED_BYTES - 1)) // COPIED_BYTES)
        copy = _Rows(nest, ctx, outer, inner)
        if copied(nest.safe(copy.cell(T.var("r")))) is None:
            return None  # an axis of extent 0 is indexed: no index is safe
        always = self.always or ctx.forced(self.name)
        if not always and isinstance(width, int) and isinstance(row, int) and row < SHORT_ROW_BYTES:
            decision = copied_from_rows(ctx, nest.name, copy.facts, width)
            if ctx.least(decision, "copied rows") is not True:
                return None
        return with_check(nest, with_kernels(shared_range(ctx, rows, work, copy.copy_range, nest=nest.name)))


def indexed_bytes(buf: Buffer, at: list[Expr]) -> Expr:
    """Bytes of what an index chooses from: one matrix of a tensor whose first axes are not indexed."""
    return T.size_of(buf, next((k for k, x in enumerate(at) if T.loads_of(x)), 0))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows ``out[c]`` that are copies of rows, or filled, where ``c`` are coordinates on the ``outer`` axes."""

    nest: MapNest
    ctx: Context
    outer: Shape
    inner: Shape

    @property
    def together(self) -> int:
        """Rows whose places are found together."""
        return int(self.ctx.choose(COPIED_TOGETHER))

    @property
    def ahead(self) -> int:
        """Rows between prefetching one and copying it."""
        facts = self.facts
        return int(rows_ahead(self.ctx, COPIED_AHEAD, "copied rows", facts.row_bytes, [facts.table_bytes]))

    @property
    def facts(self) -> Facts:
        """What their time depends on; of a tensor whose size only a call tells, what is assumed."""
        table = T.constant_value(indexed_bytes(*self.source(self.cell(T.var("r"))).source))
        assumed = self.ctx.target.l2_bytes or L2_BYTES
        row = product(self.inner) * self.nest.dtype.itemsize
        return Facts(product(self.outer), row, assumed if table is None else table, self.nest.dtype.name)

    def copy_range(self, lo: Expr, hi: Expr) -> Stmt:
        """Rows ``[lo, hi)``."""
        # where the rows of a block begin in the source, in bytes, and those prefetched meanwhile; -1: to be filled
        places = T.buffer("place", [self.together + self.ahead], "int64", align=64)
        flag = Flag(self.nest.check)

        def block(begin: Expr) -> Stmt:
            def resolve(k: Expr, c: list[Expr]) -> Stmt:
                return T.seq(T.store(places, [k], self.place(c)), flag.test(self.nest.grid(c)))

            def known(n: Expr) -> Stmt:
                return T.seq(self.each_row(begin, n, resolve), self.copies(places, begin, n))

            return T.let("known", T.minimum(hi - begin, T.const(self.together + self.ahead)), known)

        blocks = T.quotient(hi - lo + (self.together - 1), T.const(self.together))
        loop = T.for_(blocks, lambda b: T.let("begin", lo + b * self.together, block), "block", one_copy=True)
        copy = T.seq(T.allocate(places), flag.around(loop), store_fence(self.non_temporal))
        some = None if self.nest.check is None else self.some()
        if self.nest.check is None or some is None:
            return copy
        return T.if_(some, copy, T.if_(lo < hi, fail(self.nest.check.status)))

    def each_row(self, begin: Expr, n: Expr, body: Callable[[Expr, list[Expr]], Stmt]) -> Stmt:
        """``body(k, where the row begin + k begins)`` for so many rows."""
        *before, last = self.outer
        if not before:
            return T.for_(n, lambda k: body(k, self.cell(begin + k)), "k")
        long = pays(self.ctx, (last, RUN_ROWS))
        ways = [(long, lambda: self.in_runs(begin, n, body)), (True, lambda: self.one_by_one(begin, n, body))]
        return first_of(ways)

    def in_runs(self, begin: Expr, n: Expr, body: Callable[[Expr, list[Expr]], Stmt]) -> Stmt:
        """The same, where rows that differ on the last outer axis only have a loop of their own, which LLVM vectorises.

        11 million rows of 3 bytes from each of 2 matrices: 72 ms one by one, 23 so; for runs of 2 rows 1.3 to 3 times as long.
        """
        *before, last = self.outer
        length = T.maximum(self.ctx.sizes(last), T.const(1))

        def run(r: Expr) -> Stmt:
            skipped = r * length - begin
            lo, hi = T.maximum(skipped, T.const(0)), T.minimum(skipped + length, n)

            def rows(lead: list[Expr]) -> Stmt:
                return T.for_range(lo, hi, lambda k: body(k, [*lead, k - skipped, *self.first]), "k")

            return T.kept("at", unravel(r, before, self.ctx.sizes), rows)

        return T.for_range(T.quotient(begin, length), T.quotient(begin + n + length - 1, length), run, "run")

    def one_by_one(self, begin: Expr, n: Expr, body: Callable[[Expr, list[Expr]], Stmt]) -> Stmt:
        """The same, where to find each row costs a division for each axis after the first.

        Where only a call tells the extents, each row's coordinates come from those of the row before: a division by an extent
        takes 2 ns, and no vector does it.
        """
        if all(isinstance(d, int) for d in self.outer[1:]):
            return T.for_(n, lambda k: body(k, self.cell(begin + k)), "k")
        at = T.buffer("at", [len(self.outer)], "int64", align=8)
        axes = [T.const(a) for a in range(len(self.outer))]

        def advanced(c: list[Expr]) -> Stmt:
            steps, carry = [], T.const(1)
            for a in reversed(range(1, len(c))):
                ends = c[a] + carry >= self.ctx.sizes(self.outer[a])
                steps.append(T.store(at, [axes[a]], T.select(ends, T.const(0), c[a] + carry)))
                carry = T.cast("int64", ends)
            return T.seq(*steps, T.store(at, [axes[0]], c[0] + carry))

        def row(k: Expr) -> Stmt:
            def here(c: list[Expr]) -> Stmt:
                return T.seq(body(k, [*c, *self.first]), advanced(c))

            return T.lets("at", [T.load(at, a) for a in axes], here)

        start = unravel(begin, self.outer, self.ctx.sizes)
        return T.seq(
            T.allocate(at), *(T.store(at, [a], x) for a, x in zip(axes, start, strict=True)), T.for_(n, row, "k")
        )

    def copies(self, places: Buffer, begin: Expr, known: Expr) -> Stmt:
        """The rows of a block; ``known`` is how many of them, and of those after it, the list names."""
        nbytes, start = self.nbytes, T.address_of(self.nest.out, *(T.const(0) for _ in self.nest.shape))
        non_temporal = self.non_temporal

        def loop(copy: Callable[[Expr, Expr], Stmt]) -> Stmt:
            def one(k: Expr) -> Stmt:
                later = self.address(T.load(places, T.minimum(k + self.ahead, known - 1)))
                prefetch = prefetch_row(later, T.minimum(nbytes, T.const(self.ctx.choose(COPIED_BYTES_AHEAD))))
                return T.seq(prefetch, T.let("from", T.load(places, k), lambda place: self.row(begin + k, place, copy)))

            return T.for_(T.minimum(known, T.const(self.together)), one, "row")

        rows = loop(lambda to, source: copy_row(to, source, nbytes, non_temporal))
        if T.constant_value(nbytes) is not None:
            return rows
        return T.if_(
            in_lines(start, nbytes, non_temporal), loop(lambda to, source: copy_lines(to, source, nbytes)), rows
        )

    @property
    def non_temporal(self) -> Expr:
        """Whether rows are written past the caches."""
        stores = self.ctx.choose(STORES)
        if stores != STORES.default:
            return T.const(stores == "non-temporal", "bool")
        buf, _ = self.source(self.cell(T.var("r"))).source
        return leaves_caches(self.ctx, product(self.nest.shape) * self.nest.dtype.itemsize, T.size_of(buf))

    def row(self, r: Expr, place: Expr, copy: Callable[[Expr, Expr], Stmt]) -> Stmt:
        """A row that is a copy of the one at ``place``."""
        lead = by_number(r, self.outer)
        found = self.source([*lead, *self.first])
        moved = copy(T.address_of(self.nest.out, *lead, *self.first), self.address(place))
        if found.fill is None:
            return moved
        fill = found.fill
        blank = nested("f", self.ctx.sizes.shape(self.inner), lambda w: T.store(self.nest.out, [*lead, *w], fill))
        return T.if_(place >= 0, moved, blank)

    def cell(self, r: Expr) -> list[Expr]:
        """Where a row begins."""
        return [*unravel(r, self.outer, self.ctx.sizes), *self.first]

    @property
    def first(self) -> list[Expr]:
        """Coordinates of a row's first element, in the row."""
        return [T.const(0) for _ in self.inner]

    def source(self, c: list[Expr]) -> Copied:
        """What the row that begins at a cell is a copy of; with a check, where there are :meth:`some`."""
        found = copied(self.nest.safe(c))
        assert found is not None
        return found if self.nest.check is None else Copied(found.load, found.source)

    def place(self, c: list[Expr]) -> Expr:
        """Where that begins, in bytes from the tensor's beginning, or -1."""
        found = self.source(c)
        place = place_in(*found.source)
        return place if found.ok is None else T.select(found.ok, place, T.const(-1))

    def address(self, place: Expr) -> Expr:
        """The address of a place; for -1 one that may be prefetched."""
        buf, at = self.source(self.cell(T.var("r"))).source
        return T.offset_pointer(T.address_of(buf, *(T.const(0) for _ in at)), place)

    def some(self) -> Expr | None:
        """With a check: whether there is any row to copy from, in a tensor whose size is not known (None: there is)."""
        found = copied(self.nest.safe(self.cell(T.var("r"))))
        return None if found is None else found.ok

    @property
    def nbytes(self) -> Expr:
        """Of a row."""
        return self.ctx.sizes(product(self.inner) * self.nest.dtype.itemsize)
