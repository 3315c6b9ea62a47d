"""Loops that both targets share."""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.nests import ReduceNest
from gscompile.ir.ops.coords import Coords, nested, ravel, unravel
from gscompile.ir.tir import Expr, Stmt

__all__ = ["nested", "over_reduced", "ravel", "unravel"]


def over_reduced(nest: ReduceNest, c: Coords, body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """Serial loops over what is reduced into a cell, in row-major order."""
    ranges = nest.ranges(c)

    def level(done: list[Expr]) -> Stmt:
        k = len(done)
        return body(done) if k == len(ranges) else T.for_range(*ranges[k], lambda i: level([*done, i]), f"r{k}")

    return level([])
