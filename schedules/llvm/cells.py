"""Cells of a map, with its index check where the rule takes that over."""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.nests import MapNest
from gscompile.ir.tir import Stmt
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.ranges import CellBody, Share
from gscompile.schedules.loops import storage
from gscompile.schedules.rule import Checked


def map_share(nest: MapNest) -> Share:
    """One thread's cells.

    With a check, the indices are clamped into range, and whether any had to be is collected in a register, so that the loops
    stay free of branches and the indices are read once.
    """
    if nest.check is None:
        return Share(lambda c: T.store(nest.out, storage(c), nest.element(c)))
    assert nest.clamped is not None
    clamped = nest.clamped
    return checked_share(nest, lambda c: T.store(nest.out, storage(c), clamped(c)))


def checked_share(nest: MapNest, cell: CellBody) -> Share:
    """Cells that are safe with any index, and the check of each."""
    flag = Flag(nest.check)
    return Share(lambda c: T.seq(cell(c), flag.test(nest.grid(c))), flag.around)


def with_check(nest: MapNest, stmt: Stmt) -> Stmt | Checked:
    """What a rule returns that made its statement of such cells."""
    return stmt if nest.check is None else Checked(stmt)
