"""When which way of scattering pays: all the numbers in one place.

Units are cells or points touched by one core.  What decides does not depend on the number of threads wherever it could change
how floats round, so that results are the same for any.
"""

from __future__ import annotations

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, dim_max, dim_min
from gscompile.ir.tir import Expr
from schedules.rule import Context

MOST_CHUNKS = 64  # chunks into which points are cut, hence threads that can share a histogram
FEWEST_CHUNKS = 4  # the same, below which too few threads would share
FEWEST_COPIES = 2
MOST_COPIES = 4  # the same where a copy is as large as the output and no cache holds it
# points of a chunk for each cell of its copy, which is cleared and added up once: a tenth of the work
POINTS_PER_CELL = 4
POINTS_PER_COPY = 8  # the same where no cache holds the copy
POINTS_PER_NARROW_COPY = 4  # the same where a row is too narrow to be shared by columns: one thread would do everything
PRIVATE_CELLS = 65536  # cells of a copy that a core's second cache still holds
MANY_POINTS = 32768  # points below which one thread does everything, in row-major order
MOST_OWNERS = 64  # threads among which points are sorted by owner
# threads from which each looks at all points for single elements in rows of its own: two guess wrong half of the time, and
# take three times as long as one
BRANCHING = 8
SORTED = 1 << 17  # points that are sorted at a time: half a megabyte of positions
LOOK = 3  # operations that it takes to see that a point is somebody else's
SORT = 20  # operations that sorting takes per point, which is looked at twice and divided by the rows of an owner
LAUNCHES = 90_000  # operations of one core during the three launches for each SORTED points
# bytes of src from which it matters that a thread reads it in one stretch: less stays in the shared cache
STREAMED = 8 << 20


def chunks(points: Dim, cells: Dim, per_cell: int, fewest: int, most: int) -> Dim:
    """Into how many chunks the points are cut, each with a copy of the cells to itself: a multiple of ``fewest``.

    0 where that does not pay, so that the copies take no memory then.
    """
    return dim_min(points // (dim_max(cells, 1) * per_cell), most) // fewest * fewest


def pays(ctx: Context, *conditions: tuple[Dim, int]) -> Expr | bool:
    """Whether each dimension is at least its number: known now, or an expression for the call."""
    open_ = [(d, n) for d, n in conditions if not isinstance(d, int)]
    if any(isinstance(d, int) and d < n for d, n in conditions):
        return False
    return T.all_of(ctx.sizes(d) >= n for d, n in open_) if open_ else True


def partition_pays(ctx: Context, points: Dim) -> Expr:
    """Whether the threads had better sort the points by owner than look at all of them, each for its own.

    Looking takes each thread LOOK operations a point.  Sorting takes SORT a point among all threads, besides the launches: that
    is less from 10 threads on.
    """
    n, rounds = ctx.sizes(points), ctx.sizes((points + (SORTED - 1)) // SORTED)
    return (n * LOOK - rounds * LAUNCHES) * ctx.threads > n * SORT
