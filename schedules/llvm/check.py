"""Index checks: a branch-free pass that finds whether any index is invalid, and a serial one that finds which."""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import status
from gscompile.ir import tir as T
from gscompile.ir.dims import product
from gscompile.ir.nests import Asked, CheckNest, Nest, fail, status_failed
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.llvm.ranges import Share, over_box
from gscompile.schedules.loops import by_number, nested, ravel
from gscompile.schedules.rule import Context


class Flag:
    """Whether some loops have met an invalid index; kept in a register, of one lane or of several.

    Without a check, its methods give no statements.
    """

    def __init__(self, check: CheckNest | None, name: str = "bad", lanes: int = 1) -> None:
        self.check = check
        self.lanes = lanes
        self.bad = T.buffer(name, [lanes], "int64", align=8 if lanes == 1 else 64)

    def clear(self) -> Stmt | None:
        if self.check is None:
            return None
        if self.lanes == 1:
            return T.store(self.bad, [T.const(0)], T.const(0))
        return T.vectorized(self.lanes, lambda v: T.store(self.bad, [v], T.const(0)))

    def test(self, grid: list[Expr], lane: Expr | None = None) -> Stmt | None:
        """Test the index vector at a grid position, by a lane, the first one by default."""
        check = self.check
        if check is None:
            return None
        return T.seq(*(self.note(check.excess(grid, k), lane) for k in range(check.components)))

    def note(self, excess: Expr, lane: Expr | None = None) -> Stmt:
        """Set the flag unless ``excess`` is 0."""
        at = T.const(0) if lane is None else lane
        return T.store(self.bad, [at], T.load(self.bad, at) | excess)

    @property
    def raised(self) -> Expr:
        found = T.load(self.bad, T.const(0))
        for lane in range(1, self.lanes):
            found = found | T.load(self.bad, T.const(lane))
        return found != 0

    def around(self, loops: Stmt, otherwise: Stmt | None = None) -> Stmt:
        """The loops with the flag cleared before them and reported after them; ``otherwise`` if there is nothing to report."""
        if self.check is None:
            return T.seq(loops, otherwise)
        return T.seq(T.allocate(self.bad), self.clear(), loops, T.if_(self.raised, fail(self.check.status), otherwise))


def check_all(check: CheckNest, ctx: Context) -> Stmt:
    """Read all indices, vectorised, and report if some are out of range.

    Those in memory by one loop, whatever their axes: of rows of nine, each row took two divisions.
    """

    flat = check.in_memory and len(check.grid) > 1

    def share() -> Share:
        flag = Flag(check)
        return Share(lambda c: flag.test(by_number(c[0], check.grid)) if flat else flag.test(c), flag.around)

    box = over_box(ctx, (product(check.grid),) if flat else check.grid, 2 * check.components, share)
    return box if flat else T.if_(T.all_of(ctx.sizes(n) > 0 for n in check.grid[1:] if not isinstance(n, int)), box)


def if_valid(check: CheckNest, ctx: Context, stmt: Stmt) -> Stmt:
    """A statement that takes over its check, made of one that does not."""
    return T.seq(check_all(check, ctx), T.if_(T.not_(status_failed(check.status)), stmt))


class Check:
    """The fast path reads the indices once, vectorised; the slow path locates a failure by reading them again."""

    name = "check"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, CheckNest):
            return None

        at, found = T.int64(status.position(nest.place)), T.int64(status.value(nest.place))

        def locate(g: list[Expr]) -> Stmt:
            steps = []
            for k in range(nest.components):
                position = nest.position(g, k)
                flat = ravel(position, nest.index, ctx.sizes)
                earlier = T.all_of([T.not_(nest.valid(g, k)), flat < T.load(nest.status, at)])
                record = T.seq(T.store(nest.status, [at], flat), T.store(nest.status, [found], nest.value(position)))
                steps.append(T.if_(earlier, record))
            return T.seq(*steps)

        def see(g: list[Expr]) -> Stmt:
            valid = [nest.valid(g, k) for k in range(nest.components)]
            return T.if_(T.not_(T.all_of(valid)), fail(nest.status))

        def each(body: Callable[[list[Expr]], Stmt]) -> Stmt:
            return nested("g", ctx.sizes.shape(nest.grid), body, one_copy=True)

        if nest.asked is Asked.WHERE:
            return each(locate)
        if nest.asked is Asked.SELDOM:
            return each(see)
        tested = check_all(nest, ctx)
        return tested if nest.asked is Asked.WHETHER else T.seq(tested, T.if_(status_failed(nest.status), each(locate)))
