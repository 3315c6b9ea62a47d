"""Maps on cuda: a thread per cell, or per 16 bytes."""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.nests import MapNest, Nest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.cuda.launch import launch
from gscompile.schedules.cuda.vectors import store_run, vector_length
from gscompile.schedules.loops import storage, unravel
from gscompile.schedules.rule import Context
from gscompile.schedules.runs import is_run, some_cell

Element = Callable[[list[Expr]], Expr]


class Vectors:
    """Each thread moves up to 16 bytes: copies of rows that vectors divide evenly."""

    name = "vectors"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, MapNest):
            return None
        return copy_rows(ctx, nest.out, nest.shape, nest.dtype, nest.element)


class Cells:
    """A thread per cell; always applies to a map."""

    name = "cells"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, MapNest):
            return None
        return fill_cells(ctx, nest.out, nest.shape, nest.element)


def copy_rows(ctx: Context, out: Buffer, shape: Shape, dtype: DType, element: Element) -> Stmt | None:
    """``out = element``, several elements per thread; None where that is no copy of rows."""
    if not shape:
        return None
    *outer, width = shape
    n = vector_length(ctx, dtype, width)
    somewhere = some_cell(outer)
    if n == 1 or not isinstance(width, int) or not is_run(lambda c: element([*somewhere, c]), width):
        return None
    units = (*outer, width // n)

    def thread(i: Expr) -> Stmt:
        *row, c = unravel(i, units, ctx.sizes)
        return store_run(out, n, lambda q: [*row, c * n + q], lambda q: element([*row, c * n + q]))

    return launch(ctx, ctx.sizes(product(units)), thread)


def fill_cells(ctx: Context, out: Buffer, shape: Shape, element: Element) -> Stmt:
    """``out = element``, a thread per cell."""

    def thread(i: Expr) -> Stmt:
        c = unravel(i, shape, ctx.sizes)
        return T.store(out, storage(c), element(c))

    return launch(ctx, ctx.sizes(product(shape)), thread)
