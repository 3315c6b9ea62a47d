"""When which way of scattering pays.

What decides does not depend on the number of threads wherever it could change how floats round, so that results are the same
for any.
"""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, dim_max, dim_min
from gscompile.ir.tir import Expr
from gscompile.schedules.llvm.numbers import PARALLEL_POINTS, SCAN_COST, SORT_BLOCK, SORT_COST, SORT_LAUNCH_COST
from gscompile.schedules.rule import Context


def chunks(points: Dim, cells: Dim, per_cell: int, least: int, most: int) -> Dim:
    """Into how many chunks the points are cut, each with an accumulator of all cells: a multiple of ``least``.

    0 where that does not pay, so that the accumulators take no memory then.
    """
    return dim_min(points // (dim_max(cells, 1) * per_cell), most) // least * least


def pays(ctx: Context, *conditions: tuple[Dim, int]) -> Expr | bool:
    """Whether each dimension is at least its number: a bool if that is known now, else an expression for run time."""
    unknown = [(d, n) for d, n in conditions if not isinstance(d, int)]
    if any(isinstance(d, int) and d < n for d, n in conditions):
        return False
    return T.all_of(ctx.sizes(d) >= n for d, n in unknown) if unknown else True


def partition_pays(ctx: Context, points: Dim) -> Expr | bool:
    """Whether sorting the points by owner is cheaper than an index scan by each thread: as :func:`pays`.

    A scan takes each thread SCAN_COST operations a point.  Sorting takes SORT_COST a point among all threads, besides the
    launches: that is less from 10 threads on.  A machine of fewer cores does without its code.
    """
    if isinstance(points, int) and points < PARALLEL_POINTS:
        return False
    if ctx.target.cores is not None and ctx.target.cores * SCAN_COST <= SORT_COST:
        return False
    n, rounds = ctx.sizes(points), ctx.sizes((points + (SORT_BLOCK - 1)) // SORT_BLOCK)
    return (n * SCAN_COST - rounds * SORT_LAUNCH_COST) * ctx.threads > n * SORT_COST
