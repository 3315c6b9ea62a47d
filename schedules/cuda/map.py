"""Maps on cuda that are no copies of rows: a thread per cell, or :mod:`.fills`."""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.check import checked, guarded, test
from gscompile.schedules.cuda.fills import filled, same_everywhere
from gscompile.schedules.cuda.groups import WARP
from gscompile.schedules.cuda.launch import over
from gscompile.schedules.loops import storage
from gscompile.schedules.rule import Checked, Context
from gscompile.schedules.runs import some_cell

Element = Callable[[list[Expr]], Expr]
Test = Callable[[list[Expr]], "Stmt | None"]


class Cells:
    """A thread per cell; always applies to a map."""

    name = "cells"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, MapNest):
            return None
        return checked(nest, fill_cells(guarded(ctx, nest), nest.out, nest.shape, nest.safe, tests(nest, ctx)))


def tests(nest: MapNest, ctx: Context, each: int = 1, together: bool = False) -> Test:
    """A cell -> what tests the indices that it uses; in rows of more threads than a warp has the first cell does.

    Args:
        each: cells of a thread.
        together: as for :func:`gscompile.schedules.cuda.check.test`.
    """
    both = [(nest.check, nest.grid), *((r.check, r.grid) for r in nest.riding)]
    cell = some_cell(nest.shape)
    used = [x for check, grid in both if check is not None for x in grid(cell)]
    row = [k for k, v in enumerate(cell) if T.constant_value(v) is None and not any(T.uses(x, [v]) for x in used)]
    width = product(nest.shape[k] for k in row)
    if isinstance(width, int) and width <= WARP * each:
        row = []

    def found(c: list[Expr]) -> Stmt | None:
        reports = [test(check, grid(c), ctx, together) for check, grid in both]
        if all(x is None for x in reports):
            return None
        return T.if_(T.all_of(c[k] == 0 for k in row if T.constant_value(c[k]) != 0), T.seq(*reports))

    return found


def fill_cells(ctx: Context, out: Buffer, shape: Shape, element: Element, tests: Test = lambda c: None) -> Stmt:
    """``out = element``, a thread per cell; 16 bytes at once of what is the same everywhere."""
    cell = some_cell(shape)
    if shape and tests(cell) is None and same_everywhere(element(cell), cell):
        return filled(ctx, out, shape, element(cell))
    return over(ctx, shape, lambda c, _: T.seq(T.store(out, storage(c), element(c)), tests(c)))
