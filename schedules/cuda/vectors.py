"""Moving several elements at once: up to 16 bytes, the most that one access of a thread can be.

A copy's cell is one element of one tensor.  Where the innermost coordinate is the same on both sides and occurs nowhere
else, a run of cells is a run of memory, whatever finds the row: the rows of a gather, a scatter's base, its slices.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.cuda.choices import ACCESS
from gscompile.schedules.rule import Context
from gscompile.schedules.runs import Copied, copied


def vector_length(ctx: Context, dtype: DType, *widths: Dim) -> int:
    """How many elements one access can move, aligned in rows of all these widths; TVM has no vectors of bool for cuda."""
    most = min(ctx.target.vector_bytes, ctx.choose(ACCESS))
    nbytes = dtype.itemsize if dtype.kind == "b" else most
    for width in widths:
        nbytes = math.gcd(nbytes, width * dtype.itemsize) if isinstance(width, int) else dtype.itemsize
    return max(1, nbytes // dtype.itemsize)


def store_run(out: Buffer, n: int, cell: Callable[[Expr], list[Expr]], value: Callable[[Expr], Expr]) -> Stmt:
    """``out[cell(q)] = value(q)`` for q < n at once, where ``value`` is a run that ``is_run`` has found."""

    def part(pick: Callable[[Copied], Expr]) -> Stmt:
        def one(q: Expr) -> Stmt:
            parts = copied(value(q))
            assert parts is not None
            return T.store(out, cell(q), pick(parts))

        return T.vectorized(n, one, "q")

    first = copied(value(T.const(0)))
    assert first is not None
    if first.ok is None:
        return part(lambda p: p.load)
    return T.if_(first.ok, part(lambda p: p.load), part(lambda p: p.fill))
