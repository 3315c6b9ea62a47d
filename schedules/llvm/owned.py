"""Scatters of rows: each thread owns some rows of the output, and works through a list of the points that go there.

The list says which points of a block are the thread's own, in their order; it is made without branches, which would be
mispredicted for half of the points, and tells which rows of src and of the output will be needed next.
"""

from __future__ import annotations

from collections.abc import Callable

from gscompile import _tvm as T
from gscompile._tvm import Buffer, Expr, Stmt
from gscompile.nests import Nest, ScatterNest
from schedules.llvm.kernels import touch_row, with_kernels
from schedules.llvm.ranges import shared_range
from schedules.llvm.staged import BLOCK, Flag, RowScatter, base, blocks, short_list
from schedules.loops import nested, unravel
from schedules.rule import Checked, Context

AHEAD = 8  # rows between asking for one and adding it


class OwnedRows:
    """See the module's text."""

    name = "owned-rows"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        scatter = RowScatter.of(nest, ctx) if isinstance(nest, ScatterNest) else None
        if scatter is None:
            return None
        stmt = self.statement(scatter)
        return stmt if scatter.nest.check is None else Checked(stmt)

    def statement(self, s: RowScatter) -> Stmt:
        """The scatter, whatever its sizes."""
        nest, ctx = s.nest, s.ctx
        own = s.acc != nest.dtype
        totals = ctx.workspace(f"{nest.name}_totals", nest.shape, s.acc) if own else nest.out

        def slab(lo: Expr, hi: Expr) -> Stmt:
            """The rows ``[lo, hi)``."""

            begin = s.cells(lo, hi, lambda c: T.store(totals, c, base(nest, s.acc, c)))
            if not own and nest.in_place is not None:
                begin = T.if_(T.not_(nest.in_place), begin)
            end = None
            if own:
                end = s.cells(
                    lo, hi, lambda c: T.store(nest.out, c, nest.op.finish(nest.dtype, T.load(totals, *c), None))
                )
            return T.seq(begin, points(s, totals, [], T.const(0), ctx.sizes(s.points), lo, hi), end)

        work = s.rows * s.width + s.points * s.width * max(nest.cost, 1)
        return with_kernels(shared_range(ctx, s.rows, work, slab))


def points(s: RowScatter, totals: Buffer, copy: list[Expr], first: Expr, last: Expr, lo: Expr, hi: Expr) -> Stmt:
    """Of the points ``[first, last)`` those that go to rows ``[lo, hi)``, in their order.

    Args:
        copy: which of several copies ``totals`` holds is meant: its leading coordinates.
    """
    nest, ctx = s.nest, s.ctx
    mine = short_list("mine", "int64")  # row * BLOCK + position in the block
    length = T.buffer("length", [1], "int64", align=8)
    zero = [T.const(0)]
    flag = Flag(nest.check)

    def block(begin: Expr, count: Expr) -> Stmt:
        def pick(k: Expr) -> Stmt:
            row, ok = s.target(begin + k)
            # a single index that is not valid lies outside all rows
            valid = None if len(s.leading) == 1 else s.valid(begin + k)

            def put(r: Expr) -> Stmt:
                taken = T.all_of([ok, valid, lo <= r, r < hi])
                n = T.load(length, *zero)
                return T.seq(
                    T.store(mine, [n], r * BLOCK + k),
                    T.store(length, zero, n + T.cast("int64", taken)),
                    flag.look(s.grid(begin + k)),
                )

            return T.let("r", row, put)

        def entry(name: str, j: Expr, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
            """``body(point, row)`` of an entry of the list."""

            def parts(e: Expr) -> Stmt:
                p, r = begin + T.floormod(e, T.const(BLOCK)), T.floordiv(e, T.const(BLOCK))
                return T.let(f"{name}_point", p, lambda p: T.let(f"{name}_row", r, lambda r: body(p, r)))

            return T.let(name, T.load(mine, j), parts)

        def add(p: Expr, r: Expr) -> Stmt:
            lead = unravel(r, s.leading, ctx.sizes)

            def cell(w: list[Expr]) -> Stmt:
                c = [*copy, *lead, *w]
                return T.store(totals, c, s.combine(T.load(totals, *c), s.source(p, w)))

            return nested("w", ctx.sizes.shape(nest.window), cell)

        def ask(p: Expr, r: Expr) -> Stmt:
            rows = [(totals, [*copy, *unravel(r, s.leading, ctx.sizes), *s.no_window]), *s.rows_read(p)]
            width = ctx.sizes(s.width)
            return T.seq(*(touch_row(T.address_of(buf, *at), width * T.itemsize(buf)) for buf, at in rows))

        def step(j: Expr) -> Stmt:
            return T.seq(entry("later", T.minimum(j + AHEAD, T.load(length, *zero) - 1), ask), entry("now", j, add))

        return T.seq(
            T.store(length, zero, T.const(0)),
            T.for_(count, pick, "k"),
            T.for_(T.load(length, *zero), step, "j"),
        )

    return T.seq(T.allocate(mine), T.allocate(length), flag.around(blocks(first, last, block)))
