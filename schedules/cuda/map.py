"""Maps on cuda: a thread per cell, or per 16 bytes."""

from __future__ import annotations

from gscompile import _tvm as T
from gscompile._tvm import Expr, Stmt
from gscompile.dims import product
from gscompile.nests import MapNest, Nest
from schedules.cuda.launch import launch
from schedules.loops import unravel
from schedules.rule import Context


class Vectors:
    """Each thread moves 16 bytes: the innermost axis is contiguous in everything that is read, and divides evenly."""

    name = "vectors"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, MapNest) or not nest.shape or nest.dtype.kind == "b":
            return None
        lanes = ctx.target.vector_bytes // nest.dtype.itemsize
        width = nest.shape[-1]
        if not isinstance(width, int) or width % lanes or lanes < 2 or not copies(nest):
            return None
        units = (*nest.shape[:-1], width // lanes)

        def thread(i: Expr) -> Stmt:
            *row, c = unravel(i, units, ctx.sizes)

            def lane(q: Expr) -> Stmt:
                at = [*row, c * lanes + q]
                return T.store(nest.out, at, nest.element(at))

            return T.vectorized(lanes, lane, "q")

        return launch(ctx, ctx.sizes(product(units)), thread)


def copies(nest: MapNest) -> bool:
    """Whether a cell is one element of one tensor, at the same innermost coordinate, however the others are found.

    The innermost coordinate may not occur elsewhere: then a run of cells is a run of memory, aligned alike.
    """
    here = [T.var(f"c{k}") for k in range(len(nest.shape))]
    moved = [*here[:-1], here[-1] + 1]
    if not T.same_expr(nest.element(here), _last_load(nest, here)):
        return False
    unit = 0
    for (buf, a), (_, b) in zip(nest.loads(here), nest.loads(moved), strict=True):
        if any(T.constant_value(y - x) != 0 for x, y in zip(a[:-1], b[:-1], strict=True)):
            return False
        step = T.constant_value(b[-1] - a[-1])
        if step == 1:
            if T.constant_value(a[-1] - here[-1]) != 0 or T.last_extent(buf) != nest.shape[-1]:
                return False
            unit += 1
        elif step != 0:
            return False
    return unit == 1


def _last_load(nest: MapNest, here: list[Expr]) -> Expr:
    loads = nest.loads(here)
    return T.load(loads[-1][0], *loads[-1][1]) if loads else T.const(0)


class Cells:
    """A thread per cell; always applies to a map."""

    name = "cells"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, MapNest):
            return None

        def thread(i: Expr) -> Stmt:
            c = unravel(i, nest.shape, ctx.sizes)
            return T.store(nest.out, c or [T.const(0)], nest.element(c))

        return launch(ctx, ctx.sizes(product(nest.shape)), thread)
