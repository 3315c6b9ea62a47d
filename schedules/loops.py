"""Loops that both targets share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords, Sizes, nested, ravel, unravel
from gscompile.ir.dims import Dim
from gscompile.ir.nests import ReduceNest
from gscompile.ir.tir import Buffer, Expr, Stmt

__all__ = [
    "assumed",
    "box",
    "by_number",
    "nested",
    "not_empty",
    "number_in",
    "over_reduced",
    "ravel",
    "storage",
    "unravel",
]


def storage(c: list[Expr]) -> list[Expr]:
    """Where a cell is in storage: a scalar has one element."""
    return c or [T.const(0)]


def by_number(number: Expr, axes: Sequence[object]) -> list[Expr]:
    """Coordinates of a row-major position: its number on the last axis, and 0 on those before, for which it would take divisions.

    Storage is row-major, so that they are the same place.
    """
    return [*(T.const(0) for _ in axes[1:]), number]


def number_in(buf: Buffer, at: Sequence[Expr]) -> Expr:
    """The row-major position of an element in a buffer."""
    number: Expr = T.const(0)
    for x, extent in zip(at, T.extents(buf), strict=True):
        number = number * extent + x
    return number


def assumed(d: Dim) -> int:
    """An extent for comparisons: one that is known at run time only counts as large."""
    return d if isinstance(d, int) else 1 << 40


def not_empty(extents: Sequence[Dim], shape: Sequence[Dim], sizes: Sizes) -> list[Expr]:
    """Extents of loops of a nest with a result of this shape, for llvm: it runs where there are cells, and LLVM is told so.

    It would make a copy of the loops around one that may have no steps.
    """
    return [T.maximum(sizes(d), T.const(1)) if d in shape and not isinstance(d, int) else sizes(d) for d in extents]


def box(extents: Sequence[Expr], axis: int | None, lo: Expr, hi: Expr, body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """Serial loops over a box, on ``axis`` only over ``[lo, hi)``."""

    def level(done: list[Expr]) -> Stmt:
        k = len(done)
        if k == len(extents):
            return body(done)
        if k == axis:
            return T.for_range(lo, hi, lambda i: level([*done, i]), f"c{k}")
        return T.for_(extents[k], lambda i: level([*done, i]), f"c{k}")

    return level([])


def over_reduced(nest: ReduceNest, c: Coords, body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """Serial loops over the box that is reduced to a cell, in row-major order."""
    ranges = nest.ranges(c)

    def level(done: list[Expr]) -> Stmt:
        k = len(done)
        return body(done) if k == len(ranges) else T.for_range(*ranges[k], lambda i: level([*done, i]), f"r{k}")

    return level([])
