"""Cells of a map, with its index check where the rule takes that over."""

from __future__ import annotations

from gscompile import _tvm as T
from gscompile._tvm import Expr, Stmt
from gscompile.nests import MapNest
from schedules.llvm.ranges import Cell, Piece
from schedules.rule import Checked


def cells(nest: MapNest) -> Piece:
    """One thread's cells.

    With a check, the indices are clamped into range, and whether any had to be is collected in a register, so that the loops
    stay free of branches and the indices are read once.
    """
    if nest.check is None:
        return Piece(lambda c: T.store(nest.out, c or [T.const(0)], nest.element(c)))
    assert nest.clamped is not None
    clamped = nest.clamped
    return flagged(nest, lambda c: T.store(nest.out, c or [T.const(0)], clamped(c)))


def flagged(nest: MapNest, cell: Cell) -> Piece:
    """Cells that are safe with any index, and the check of each."""
    check = nest.check
    assert check is not None
    bad = T.buffer("bad", [1], "int64", align=8)
    zero = [T.const(0)]

    def look(c: list[Expr]) -> Stmt:
        grid = nest.grid(c)
        beyond = (T.store(bad, zero, T.load(bad, *zero) | check.excess(grid, k)) for k in range(check.components))
        return T.seq(cell(c), *beyond)

    def around(loops: Stmt) -> Stmt:
        told = T.if_(T.load(bad, *zero) != 0, failed(nest))
        return T.seq(T.allocate(bad), T.store(bad, zero, T.const(0)), loops, told)

    return Piece(look, around)


def valid(nest: MapNest, c: list[Expr]) -> Expr:
    """Whether the index behind a cell is in range."""
    check = nest.check
    assert check is not None
    grid = nest.grid(c)
    return T.all_of(check.valid(grid, k) for k in range(check.components))


def failed(nest: MapNest) -> Stmt:
    """Tell that some index is out of range."""
    assert nest.check is not None
    return T.store(nest.check.status, [T.const(0)], T.const(1))


def with_check(nest: MapNest, stmt: Stmt) -> Stmt | Checked:
    """What a rule returns that made its statement of such cells."""
    return stmt if nest.check is None else Checked(stmt)
