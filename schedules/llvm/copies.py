"""Copies of rows: gathers whose slices are runs of memory.

A block of rows at a time: their indices are resolved and checked in one loop without branches, which LLVM vectorises, into a list
of where the rows begin; a second loop copies them, and asks for rows some places further in the list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from schedules.llvm.cells import with_check
from schedules.llvm.check import Flag, failed
from schedules.llvm.kernels import copy_lines, copy_row, drain, in_lines, touch_row, with_kernels
from schedules.llvm.ranges import shared_range
from schedules.loops import nested, unravel
from schedules.rule import Checked, Context
from schedules.runs import Copied, common_axes, copied

SHORT = 32  # bytes of a row below which a loop over cells is as good
PAST_CACHES = 8 << 20  # bytes of output from which stores go past the caches: more than a core's share of them
AHEAD = 16  # rows between asking for one and copying it
ASKED = 256  # bytes of a row that are asked for: the hardware foresees the rest
BLOCK = 80  # rows of a block: with those ahead a list of less than 1 KB, which TVM puts on the stack


class Copies:
    """See the module's text; large results are written past the caches."""

    name = "copies"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest) or not nest.shape:
            return None
        axes = common_axes(nest, ctx.sizes)
        outer, inner = nest.shape[: len(nest.shape) - axes], nest.shape[len(nest.shape) - axes :]
        row = product(inner) * nest.dtype.itemsize
        if axes == 0 or not outer or (isinstance(row, int) and row < SHORT):
            return None
        rows = product(outer)
        work = rows * ((row + 31) // 32) if isinstance(row, int) else rows * row
        copy = _Rows(nest, ctx, outer, inner)
        if copied(copy.element(copy.cell(T.var("r")))) is None:
            return None  # an axis of extent 0 is indexed: no index is safe
        return with_check(nest, with_kernels(shared_range(ctx, rows, work, copy.range)))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows ``out[c]`` that are copies of rows, or filled, where ``c`` are coordinates on the ``outer`` axes."""

    nest: MapNest
    ctx: Context
    outer: Shape
    inner: Shape

    def range(self, lo: Expr, hi: Expr) -> Stmt:
        """Rows ``[lo, hi)``."""
        places = T.buffer("place", [BLOCK + AHEAD], "int64", align=64)  # where rows begin, in bytes; -1: nowhere
        flag = Flag(self.nest.check)

        def block(begin: Expr) -> Stmt:
            def resolve(k: Expr) -> Stmt:
                c = self.cell(begin + k)
                return T.seq(T.store(places, [k], self.place(c)), flag.look(self.nest.grid(c)))

            def known(n: Expr) -> Stmt:
                return T.seq(T.for_(n, resolve, "k"), self.copies(places, begin, n))

            return T.let("known", T.minimum(hi - begin, T.const(BLOCK + AHEAD)), known)

        blocks = T.quotient(hi - lo + (BLOCK - 1), T.const(BLOCK))
        loop = T.for_(blocks, lambda b: T.let("begin", lo + b * BLOCK, block), "block")
        copy = T.seq(T.allocate(places), flag.around(loop), drain())
        some = None if self.nest.check is None else self.some()
        if self.nest.check is None or some is None:
            return copy
        return T.if_(some, copy, T.if_(lo < hi, failed(self.nest.check)))

    def copies(self, places: Buffer, begin: Expr, known: Expr) -> Stmt:
        """The rows of a block, of which, and of some after it, the list says where they are copied from."""
        nbytes, start = self.nbytes, T.address_of(self.nest.out, *(T.const(0) for _ in self.nest.shape))
        past = self.ctx.sizes(product(self.nest.shape) * self.nest.dtype.itemsize) >= PAST_CACHES

        def loop(copy: Callable[[Expr, Expr], Stmt]) -> Stmt:
            def one(k: Expr) -> Stmt:
                later = self.address(T.load(places, T.minimum(k + AHEAD, known - 1)))
                ask = touch_row(later, T.minimum(nbytes, T.const(ASKED)))
                return T.seq(ask, T.let("from", T.load(places, k), lambda place: self.row(begin + k, place, copy)))

            return T.for_(T.minimum(known, T.const(BLOCK)), one, "row")

        rows = loop(lambda to, source: copy_row(to, source, nbytes, past))
        if T.constant_value(nbytes) is not None:
            return rows
        return T.if_(in_lines(start, nbytes, past), loop(lambda to, source: copy_lines(to, source, nbytes)), rows)

    def row(self, r: Expr, place: Expr, copy: Callable[[Expr, Expr], Stmt]) -> Stmt:
        """A row that is a copy of the one at ``place``."""
        c = self.cell(r)
        found = self.source(c)
        copied = copy(T.address_of(self.nest.out, *c), self.address(place))
        if found.fill is None:
            return copied
        fill = found.fill
        blank = nested(
            "f", self.ctx.sizes.shape(self.inner), lambda w: T.store(self.nest.out, [*c[: len(self.outer)], *w], fill)
        )
        return T.if_(place >= 0, copied, blank)

    def cell(self, r: Expr) -> list[Expr]:
        """Where a row begins."""
        return [*unravel(r, self.outer, self.ctx.sizes), *(T.const(0) for _ in self.inner)]

    @property
    def element(self) -> Callable[[list[Expr]], Expr]:
        """What a cell is, safe with any index."""
        return self.nest.element if self.nest.clamped is None else self.nest.clamped

    def source(self, c: list[Expr]) -> Copied:
        """What the row that begins at a cell is a copy of; with a check, where there are :meth:`some`."""
        found = copied(self.element(c))
        assert found is not None
        return found if self.nest.check is None else Copied(found.load, found.source)

    def place(self, c: list[Expr]) -> Expr:
        """Where that begins, in bytes from the tensor's beginning, or -1."""
        found = self.source(c)
        buf, at = found.source
        place = T.const(0)
        for x, extent in zip(at, T.extents(buf), strict=True):
            place = place * extent + x
        place = place * T.itemsize(buf)
        return place if found.ok is None else T.select(found.ok, place, T.const(-1))

    def address(self, place: Expr) -> Expr:
        """The address of a place; for -1 one that may be asked for."""
        buf, at = self.source(self.cell(T.var("r"))).source
        return T.offset_pointer(T.address_of(buf, *(T.const(0) for _ in at)), place)

    def some(self) -> Expr | None:
        """With a check: whether there is any row to copy from, in a tensor whose size is not known (None: there is)."""
        found = copied(self.element(self.cell(T.var("r"))))
        return None if found is None else found.ok

    @property
    def nbytes(self) -> Expr:
        """Of a row."""
        return self.ctx.sizes(product(self.inner) * self.nest.dtype.itemsize)
