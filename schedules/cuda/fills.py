"""A tensor that is one value everywhere: bases of scatters, counts, results of ``zeros`` and ``full``.

It is stored 16 bytes at once but for its last elements, each block a chunk.  Stores stay in the caches, however large the tensor
is: nothing is read that would need the room, and what is added to the tensor comes next.  Per 16 bytes: one store.
"""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, ceildiv, product
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.choices import ACCESS, BLOCK, UNITS
from gscompile.schedules.cuda.launch import chunked
from gscompile.schedules.cuda.vectors import store_equal
from gscompile.schedules.loops import by_number
from gscompile.schedules.rule import Context


def same_everywhere(value: Expr, cell: list[Expr]) -> bool:
    """Whether a cell's value is that of every cell, and nothing in memory."""
    return not T.all_loads(value) and not T.uses(value, cell)


def filled(ctx: Context, out: Buffer, shape: Shape, value: Expr) -> Stmt:
    """``out = value``, for a value that is the same everywhere."""
    n = max(min(ctx.target.vector_bytes, int(ctx.choose(ACCESS))) // T.itemsize(out), 1)
    size = product(shape)
    elements = ctx.sizes(size)

    def unit(i: Expr) -> Stmt:
        return store_equal(out, T.int64(i) * n, value, n)

    def several(numbers: list[Expr]) -> Stmt:
        return T.seq(*map(unit, numbers))

    def one(i: Expr) -> Stmt:
        begin = T.int64(i) * n
        if n == 1 or (isinstance(size, int) and size % n == 0):
            return unit(i)
        rest = T.for_range(begin, elements, lambda c: T.store(out, by_number(c, T.extents(out)), value), "c")
        return T.if_(begin + n <= elements, unit(i), rest)

    whole = T.quotient(elements, T.const(n))
    return chunked(
        ctx, ctx.sizes(ceildiv(size, n)), one, several, ctx.choose(UNITS), "int64", ctx.choose(BLOCK), whole=whole
    )
