"""Copies of rows: gathers whose slices are runs of memory."""

from __future__ import annotations

from collections.abc import Callable

from gscompile import _tvm as T
from gscompile._tvm import Expr, Stmt
from gscompile.dims import Dim, product
from gscompile.nests import MapNest, Nest
from schedules.llvm.cells import valid, with_check
from schedules.llvm.check import failed
from schedules.llvm.kernels import copy_lines, copy_row, drain, in_lines, touch_row, with_kernels
from schedules.llvm.ranges import shared_range
from schedules.loops import nested, unravel
from schedules.rule import Checked, Context
from schedules.runs import common_axes, copied

SHORT = 32  # bytes of a row below which a loop over cells is as good
PAST_CACHES = 8 << 20  # bytes of output from which stores go past the caches: more than a core's share of them
AHEAD = 16  # rows between asking for one and copying it


class Copies:
    """A row at a time, asked for some rows ahead; large results are written past the caches."""

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
        nbytes, total = ctx.sizes(row), ctx.sizes(rows * row)
        past = total >= PAST_CACHES
        zeros: list[Expr] = [T.const(0)] * axes

        def body(lo: Expr, hi: Expr) -> Stmt:
            loop = copied_by(lo, hi, lambda to, source: copy_row(to, source, nbytes, past))
            if not isinstance(row, int):
                lines = copied_by(lo, hi, lambda to, source: copy_lines(to, source, nbytes))
                loop = T.if_(
                    in_lines(T.address_of(nest.out, *(T.const(0) for _ in nest.shape)), nbytes, past), lines, loop
                )
            return T.seq(loop, drain())

        def copied_by(lo: Expr, hi: Expr, copy_one: Callable[[Expr, Expr], Stmt]) -> Stmt:
            def one(r: Expr) -> Stmt:
                c = unravel(r, outer, ctx.sizes)
                if nest.check is None:
                    return T.seq(ask(r, hi), row_at(c))
                return T.seq(ask(r, hi), T.if_(valid(nest, [*c, *zeros]), row_at(c), failed(nest.check)))

            def row_at(c: list[Expr]) -> Stmt:
                found = copied(nest.element([*c, *zeros]))
                assert found is not None
                to, source = T.address_of(nest.out, *c, *zeros), T.address_of(found.source[0], *found.source[1])
                copy = copy_one(to, source)
                if found.ok is not None:
                    assert found.fill is not None
                    fill = found.fill
                    blank = nested("f", ctx.sizes.shape(inner), lambda w: T.store(nest.out, [*c, *w], fill))
                    copy = T.if_(found.ok, copy, blank)
                return copy

            return T.for_range(lo, hi, one, "row")

        def ask(r: Expr, hi: Expr) -> Stmt | None:
            if len(outer) > 1 or not _worth_asking(rows):
                return None
            later = copied(nest.element([T.minimum(r + AHEAD, hi - 1), *zeros]))
            assert later is not None
            return touch_row(T.address_of(later.source[0], *later.source[1]), nbytes)

        work = rows * ((row + 31) // 32) if isinstance(row, int) else rows * row
        return with_check(nest, with_kernels(shared_range(ctx, rows, work, body)))


def _worth_asking(rows: Dim) -> bool:
    return not isinstance(rows, int) or rows > 4 * AHEAD
