"""Rows whose length only a call tells, in vectors.

Of a loop over such a row LLVM makes several, for long ones, for the rest of them, for tensors that overlap, and for either side
of each condition that the loop does not change; they were half of what it compiled for sums of rows.  These are two: one over
vectors and one over what remains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim
from gscompile.ir.tir import Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.loops import nested
from gscompile.schedules.rule import Context

VECTOR_BYTES = 32
"""Of a vector at most: LLVM too prefers these on CPUs that have longer ones."""
MOST_LANES = 8
"""Elements of a vector at most: one fewer may remain, to be done one by one."""


def vector_lanes(ctx: Context, dtype: DType, length: Dim, elements: Sequence[Callable[[Expr], Expr]]) -> int:
    """How many elements of a row a vector holds; 1 where LLVM may make what it likes of the loop.

    Args:
        length: the row's.
        elements: (position in the row) -> what is read there.
    """
    lanes = min(ctx.target.vector_bytes, VECTOR_BYTES) // dtype.itemsize
    known = isinstance(length, int) or not 1 < lanes <= MOST_LANES
    return lanes if not known and dtype.itemsize > 1 and all(map(_side_by_side, elements)) else 1


def in_vectors(
    lo: Expr, hi: Expr, lanes: int, several: Callable[[Expr], Stmt], one: Callable[[Expr], Stmt], name: str
) -> Stmt:
    """What ``several(i)`` does to so many from i on and ``one(i)`` to one, over ``[lo, hi)``."""
    whole = T.quotient(hi - lo, T.const(lanes))
    vectors = T.for_(whole, lambda k: several(lo + k * lanes), f"{name}_vector", one_copy=True)
    rest = T.for_(hi - lo - whole * lanes, lambda k: one(lo + whole * lanes + k), name, one_copy=True)
    return T.seq(vectors, rest)


def row_in_vectors(
    ctx: Context,
    dtype: DType,
    shape: Sequence[Dim],
    read: Sequence[Callable[[list[Expr]], Expr]],
    body: Callable[[list[Expr]], Stmt],
) -> Stmt:
    """``body(w)`` for each position in a row of several axes; ``read``: what is read at one."""
    extents = ctx.sizes.shape(shape)
    if not shape:
        return body([])
    zeros, zero = [T.const(0) for _ in shape[1:]], T.const(0)
    lanes = vector_lanes(ctx, dtype, shape[-1], [lambda w, r=r: r([*zeros, w]) for r in read])  # type: ignore[misc]
    if lanes == 1:
        return nested("w", extents, body)

    def row(lead: list[Expr]) -> Stmt:
        def several(w: Expr) -> Stmt:
            return T.vectorized(lanes, lambda v: body([*lead, w + v]))

        return in_vectors(zero, extents[-1], lanes, several, lambda w: body([*lead, w]), "w")

    return nested("w", extents[:-1], row)


def _side_by_side(element: Callable[[Expr], Expr]) -> bool:
    """Whether neighbours are read from neighbouring places, or from one, whatever is read elsewhere."""
    here, there = (T.reads(element(T.const(k))) for k in (0, 1))
    if len(here) != len(there):
        return False
    for (condition, _, at), (_, _, beside) in zip(here, there, strict=True):
        steps = [T.constant_value(b - a) for a, b in zip(at, beside, strict=True)]
        if condition is not None or any(steps[:-1]) or steps[-1:] not in ([0], [1]):
            return False
    return True
