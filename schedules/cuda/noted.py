"""Loops of a thread over indices that nobody has tested.

A report within a loop is a branch with atomics, which keeps CUDA's compiler from having the loads of several steps underway: an
index waits for the one before it to be tested, and for what that has found.  So a step whose index is out of range only notes
that there is one, by a predicate, and is left out; a thread that has noted one goes through its loop again, and reports.
Of threads that read the same indices, the columns of a row, one reports.
"""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.nests import ReduceNest
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.cuda.check import test, valid
from gscompile.schedules.rule import Context
from gscompile.schedules.runs import some_cell

ZERO = T.const(0)
SET = T.const(1, "int32")

Step = Callable[[list[Expr], Callable[[], Stmt]], Stmt]
"""(position in the box, what is done with the index that it uses) -> a step."""


def noted(nest: ReduceNest, ctx: Context, c: list[Expr], loop: Callable[[Step], Stmt]) -> Stmt:
    """A thread's loop over the box of a cell, or over a part of it, and the report of the indices there that are out of range.

    Args:
        loop: how each step is made -> the loop, which may be made twice.
    """
    check = nest.check
    if check is None:
        return loop(lambda r, use: use())
    bad = T.buffer("bad", [1], "int32", align=4, scope="local")

    def step(r: list[Expr], use: Callable[[], Stmt]) -> Stmt:
        return T.if_(valid(check, nest.grid(c, r)), use(), T.store(bad, [ZERO], SET))

    again = loop(lambda r, use: T.seq(test(check, nest.grid(c, r), ctx)))
    return T.seq(
        T.allocate(bad),
        T.store(bad, [ZERO], SET - 1),
        loop(step),
        T.if_(T.all_of([T.load(bad, ZERO) != 0, *_first(nest, c)]), again),
    )


def _first(nest: ReduceNest, c: list[Expr]) -> list[Expr]:
    """Whether a cell is the first of those that use the same indices."""
    cell = some_cell(nest.shape)
    ranges = nest.ranges(cell)
    used = [*nest.grid(cell, [T.var(f"r{k}") for k in range(len(ranges))]), *(x for ends in ranges for x in ends)]
    return [
        x == 0
        for x, v in zip(c, cell, strict=True)
        if T.constant_value(v) is None and not any(T.uses(u, [v]) for u in used)
    ]
