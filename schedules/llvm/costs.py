"""When which way of scattering pays: all the numbers in one place.

Units are cells or points touched by one core.  What decides does not depend on the number of threads wherever it could change
how floats round, so that results are the same for any.
"""

from __future__ import annotations

from gscompile import _tvm as T
from gscompile._tvm import Expr
from gscompile.dims import Dim, dim_max, dim_min
from schedules.rule import Context

MOST_CHUNKS = 64  # chunks into which points are cut, hence threads that can share a histogram
MOST_COPIES = 4  # the same where a copy is as large as the output and no cache holds it
POINTS_PER_CELL = (
    8  # points of a chunk for each cell of its own copy, which is cleared and added up once: a twentieth of the work
)
PRIVATE_CELLS = 65536  # cells of a copy that a core's second cache still holds
MANY_POINTS = 32768  # points below which one thread does everything, in row-major order
STREAMED = (
    8 << 20
)  # bytes of src from which it matters that a thread reads it in one stretch: less stays in the shared cache


def chunks(points: Dim, cells: Dim, most: int) -> Dim:
    """Into how many chunks the points are cut, each with a copy of the cells to itself; 1 where that does not pay."""
    return dim_max(dim_min(points // (dim_max(cells, 1) * POINTS_PER_CELL), most), 1)


def pays(ctx: Context, *conditions: tuple[Dim, int]) -> Expr | bool:
    """Whether each dimension is at least its number: known now, or an expression for the call."""
    open_ = [(d, n) for d, n in conditions if not isinstance(d, int)]
    if any(isinstance(d, int) and d < n for d, n in conditions):
        return False
    return T.all_of(ctx.sizes(d) >= n for d, n in open_) if open_ else True
