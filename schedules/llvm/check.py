"""Index checks: a branch-free pass that only asks whether anything is wrong, and a serial one that finds out what."""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.nests import CheckNest, Nest, status_failed, status_position
from gscompile.ir.tir import Expr, Stmt
from schedules.llvm.ranges import Piece, over_box
from schedules.loops import nested, ravel
from schedules.rule import Context


class Flag:
    """Whether some loops have met an index that is not valid; kept in a register.

    Without a check all of it is nothing.
    """

    def __init__(self, check: CheckNest | None, name: str = "bad") -> None:
        self.check = check
        self.bad = T.buffer(name, [1], "int64", align=8)
        self.zero = [T.const(0)]

    def clear(self) -> Stmt | None:
        return None if self.check is None else T.store(self.bad, self.zero, T.const(0))

    def look(self, grid: list[Expr]) -> Stmt | None:
        """Look at the index vector at a grid position."""
        check = self.check
        return None if check is None else T.seq(*(self.note(check.excess(grid, k)) for k in range(check.components)))

    def note(self, excess: Expr) -> Stmt:
        return T.store(self.bad, self.zero, T.load(self.bad, *self.zero) | excess)

    @property
    def raised(self) -> Expr:
        return T.load(self.bad, *self.zero) != 0

    def around(self, loops: Stmt, otherwise: Stmt | None = None) -> Stmt:
        """What sets the flag before the loops, and reports it after them; what is done if there is nothing to report."""
        if self.check is None:
            return T.seq(loops, otherwise)
        return T.seq(T.allocate(self.bad), self.clear(), loops, T.if_(self.raised, failed(self.check), otherwise))


def failed(check: CheckNest) -> Stmt:
    """Tell that some index is out of range."""
    return T.store(check.status, [T.const(0)], T.const(1))


def look_at_all(check: CheckNest, ctx: Context) -> Stmt:
    """Read all indices, vectorised, and tell if some are out of range."""

    def piece() -> Piece:
        flag = Flag(check)
        return Piece(flag.look, flag.around)

    return over_box(ctx, check.grid, 2 * check.components, piece)


def if_valid(check: CheckNest, ctx: Context, stmt: Stmt) -> Stmt:
    """A statement that takes its check over, made of one that does not."""
    return T.seq(look_at_all(check, ctx), T.if_(T.not_(status_failed(check.status)), stmt))


class Check:
    """The common case reads the indices once, vectorised; a failure is located by reading them again."""

    name = "check"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, CheckNest):
            return None

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
        return T.seq(look_at_all(nest, ctx), T.if_(status_failed(nest.status), located))
