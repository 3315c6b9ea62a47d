"""Index checks: a branch-free pass that only asks whether anything is wrong, and a serial one that finds out what."""

from __future__ import annotations

from gscompile import _tvm as T
from gscompile._tvm import Expr, Stmt
from gscompile.nests import CheckNest, Nest, status_failed, status_position
from schedules.llvm.ranges import Piece, over_box
from schedules.loops import nested, ravel
from schedules.rule import Context


class Check:
    """The common case reads the indices once, vectorised; a failure is located by reading them again."""

    name = "check"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, CheckNest):
            return None
        zero = [T.const(0)]

        def piece() -> Piece:
            bad = T.buffer("bad", [1], "int64", align=8)

            def look(g: list[Expr]) -> Stmt:
                return T.seq(
                    *(T.store(bad, zero, T.load(bad, *zero) | nest.excess(g, k)) for k in range(nest.components))
                )

            def around(loops: Stmt) -> Stmt:
                flag = T.if_(T.load(bad, *zero) != 0, T.store(nest.status, zero, T.const(1)))
                return T.seq(T.allocate(bad), T.store(bad, zero, T.const(0)), loops, flag)

            return Piece(look, around)

        at = status_position(nest.slot)

        def locate(g: list[Expr]) -> Stmt:
            steps = []
            for k in range(nest.components):
                position = nest.position(g, k)
                flat = ravel(position, nest.index, ctx.sizes)
                earlier = T.all_of([T.not_(nest.valid(g, k)), flat < T.load(nest.status, at)])
                record = T.seq(T.store(nest.status, [at], flat), T.store(nest.status, [at + 1], nest.value(position)))
                steps.append(T.if_(earlier, record))
            return T.seq(*steps)

        located = nested("g", ctx.sizes.shape(nest.grid), locate)
        if nest.known:
            return located
        return T.seq(over_box(ctx, nest.grid, 2 * nest.components, piece), T.if_(status_failed(nest.status), located))
