"""Loops over cells whose number only a call tells, in vectors of ours.

Of such a loop LLVM makes several, for long ones, for the rest of them, for tensors that overlap, and for either side of each
condition that the loop does not change; of sums over chunks, which have two, it made a dozen.  These are two: one over vectors
and one over what remains.
"""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim
from gscompile.ir.tir import Expr, Stmt
from gscompile.ir.types import DType
from gscompile.schedules.rule import Context

VECTOR_BYTES = 32
"""Of a vector at most: LLVM too prefers these on CPUs that have longer ones."""
MOST_LANES = 8
"""Elements of a vector at most: one fewer may remain, to be done one by one."""
VECTORS_TOGETHER = 4
"""Vectors of a long run."""


def vector_lanes(ctx: Context, dtype: DType, length: Dim, element: Callable[[Expr], Expr]) -> int:
    """How many elements of a row a vector of ours holds; 1 where they are left to LLVM.

    Args:
        length: the row's.
        element: (position in the row) -> what is read there.
    """
    lanes = min(ctx.target.vector_bytes, VECTOR_BYTES) // dtype.itemsize
    ours = not isinstance(length, int) and 1 < lanes <= MOST_LANES and reads_neighbours(element)
    return lanes if ours else 1


def in_vectors(
    lo: Expr, hi: Expr, lanes: int, several: Callable[[Expr], Stmt], one: Callable[[Expr], Stmt], name: str
) -> Stmt:
    """What ``several(i)`` does to so many from i on and ``one(i)`` to one, over ``[lo, hi)``."""
    whole = T.quotient(hi - lo, T.const(lanes))
    vectors = T.for_(whole, lambda k: several(lo + k * lanes), f"{name}_vector", one_copy=True)
    rest = T.for_(hi - lo - whole * lanes, lambda k: one(lo + whole * lanes + k), name, one_copy=True)
    return T.seq(vectors, rest)


def overlapping(
    length: Expr, lanes: int, cell: Callable[[Expr, Expr], Stmt], name: str, together: int = VECTORS_TOGETHER
) -> Stmt:
    """``cell(i, lane)`` over ``[0, length)``, which is done twice to some: the last vector overlaps the one before.

    Long runs go by ``together`` vectors at once, all of which are read before one is written, so that no load
    waits for a store 4 KB from it.
    """

    def vector(begin: Expr, lanes: int) -> Stmt:
        return T.vectorized(lanes, lambda v: cell(begin + v, v))

    several = lanes * together
    runs, whole = T.quotient(length, T.const(several)), T.quotient(length, T.const(lanes))
    first = runs * together if together > 1 else T.const(0)
    vectors = T.seq(
        T.for_(runs, lambda k: vector(k * several, several), f"{name}_run", one_copy=True) if together > 1 else None,
        T.for_(whole - first, lambda k: vector((first + k) * lanes, lanes), f"{name}_vector", one_copy=True),
        T.if_(whole * lanes < length, vector(length - lanes, lanes)),
    )
    return T.if_(length >= lanes, vectors, T.for_(length, lambda k: cell(k, T.const(0)), name, one_copy=True))


def reads_neighbours(element: Callable[[Expr], Expr]) -> bool:
    """Whether neighbours are read from neighbouring places, or from one, whatever is read elsewhere."""
    here, there = (T.reads(element(T.const(k))) for k in (0, 1))
    if len(here) != len(there):
        return False
    for (condition, _, at), (_, _, beside) in zip(here, there, strict=True):
        steps = [T.constant_value(b - a) for a, b in zip(at, beside, strict=True)]
        if condition is not None or any(s != 0 for s in steps[:-1]) or steps[-1:] not in ([0], [1]):
            return False
    return True
