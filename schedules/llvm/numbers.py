"""All numbers of the llvm rules: what each counts, and what was measured.

"Operations" are simple scalar operations of one core, of which it does about two in a nanosecond.  Measured on two machines with
two cores and AVX-512, an EPYC (1 MB of L2 cache a core, 32 MB of L3) and a Xeon (2 MB, 260 MB); benchmarks/NOTES.md has the
tables.

Numbers that decide how points are grouped decide how sums of floats round.  They are the same on every machine and for any
number of threads, so that results are, too.  Numbers that decide only how fast a result comes follow the machine's caches where
:class:`schedules.rule.Target` knows them, up to the sizes that were measured.
"""

from __future__ import annotations

from schedules.rule import Target

# -- the machine

LINE_BYTES = (
    64  # of a cache line: x86-64's and nearly all of arm64's.  Where lines are longer, some prefetches are redundant
)
L2_BYTES = 1 << 20  # of a core's L2 cache, where the target does not say


def packed_bytes(target: Target) -> int:
    """Bytes that stay in a core's L2 cache beside what streams through it.

    512 KB of 1 MB: 4096 x 1024 elements picked from packed columns 16 -> 5.3 ms.  More was not measured.
    """
    return min((target.l2_bytes or L2_BYTES) // 2, 512 << 10)


def resident_bytes(target: Target) -> int:
    """Bytes of a tensor that stays in a core's caches, so that prefetching its rows gains nothing: 256 KB of 1 MB."""
    return min((target.l2_bytes or L2_BYTES) // 4, 256 << 10)


# -- sharing loops among threads (ranges.py)

SERIAL_WORK = 32768  # operations; below, one thread does all: a parallel launch costs the calling thread about 15 us
INNER_CELLS = 64  # cells that the innermost loops should at least run over, since finding a row costs a division
AXIS_BLOCK = 4096  # cells of a long innermost axis that make one unit of parallel work

# -- rows copied (copies.py, kernels.py)

MIN_ROW_BYTES = 32  # of a row; a loop over the cells of shorter ones is as good
# bytes of an output from which it is written by non-temporal stores: more than a core's part of the L3 cache.  100,000 rows of
# 512 bytes: 2.0 ms, by plain vector stores 2.9
NON_TEMPORAL_BYTES = 8 << 20
# bytes of a row from which non-temporal stores take whole lines, with a head and a tail of 16 bytes at a time.  Rows of 64
# bytes: 3.1 ms without, 4.0 with; of 512 the same; of 8 KB: 3.8 and 3.0
WHOLE_LINES_BYTES = 256
FEW_LINES = (
    4  # lines of a row that a loop of its own copies.  Rows of 64 bytes, length known at run time: 6.0 -> 4.6 ms
)
PREFETCH_LINES = 8  # lines that gs_prefetch_row prefetches at most
COPY_BLOCK = (
    80  # rows whose places are found together.  48 to 1,008: the same; this keeps the list below 1 KB, on the stack
)
COPY_PREFETCH_DISTANCE = 16  # rows between prefetching one and copying it.  8, 32 or 48: within 3 %, or worse
# bytes of a row that are prefetched; the hardware's prefetcher fetches the rest.  Rows of 1,200 bytes: 1.66 ms, with 512 1.83
COPY_PREFETCH_BYTES = 256

# -- elements picked (elements.py)

PICK_BLOCK = 64  # elements picked between two prefetches
MIN_PICKED_LINES = 4  # lines of a row from which the next row is prefetched
# lines of the next row per PICK_BLOCK.  Where more would be needed, few elements are picked from a row, and most of its lines
# not at all.  1,024 of 4,096 columns of 4,096 rows: 7.4 -> 3.1 ms; all 256 lines of a row at once: 9.2
MAX_PICKED_LINES = 32
PACKED_COLUMNS = (32, 16)  # columns of a packed block: the first of which a block fits packed_bytes()
PICKS_PER_PACKED = 4  # packed elements for each that is picked, at most, or packing does not pay (not measured)
# rows of indices between prefetching one and picking by it: index and result are strided by whole pages.  Into L1 4.4 to 5.4
# ms, into L2 7.8
INDEX_PREFETCH_DISTANCE = 8

# -- reductions (reduce.py)

# vector registers that hold the accumulators of a tile, of 16, or 32 with AVX-512.  Sums over bags of 64 columns: 1.67 -> 1.38
# ms
ACCUMULATOR_REGISTERS = 8
MIN_COLUMNS = 4  # columns from which folds go side by side (not measured)
# folds of runs of memory that take turns, since each waits for its own last step.  Sums of rows of 1,000 floats: 0.83 -> 0.146
# ns an element
FOLD_CHAINS = 8
FOLD_PREFETCH_DISTANCE = 16  # rows between prefetching one and folding it: 1.38 -> 1.10 ms.  10 to 32: within 3 %
PREFETCHED_TENSORS = 4  # tensors of which rows are prefetched, at most: a core waits for about ten lines at a time

# -- scatters of rows (staged.py, owned.py, partition.py)

# points whose indices are resolved together: a list of them takes 8 KB, so that two fit the L1 cache beside the rows
POINT_BLOCK = 1024
ROW_PREFETCH_DISTANCE = 8  # points between prefetching a row and adding to it
# points; below, one thread takes all of them in row-major order.  "add elements" of rows of 16, 10^5 points: 4.93 -> 0.95 ns a
# point
PARALLEL_POINTS = 32768
MAX_OWNERS = 64  # threads among which points are sorted by owner: their counts are a table of 64 x 64
SORT_BLOCK = 1 << 17  # points that are sorted at a time: half a megabyte of positions
SCAN_COST = 3  # operations that it takes to see that a point belongs to another thread
SORT_COST = 20  # operations per point that sorting takes, which reads it twice and divides it by the rows of an owner
SORT_LAUNCH_COST = 90_000  # operations: three parallel launches for each SORT_BLOCK
WIDE_AXIS = 64  # extent from which an axis gives every thread enough to own
# threads from which each scans all points for single elements in rows of its own: two mispredict half of the points and take
# 4.7 ns a point, where one alone takes 1.5
MIN_SCANNING_THREADS = 8

# -- privatised accumulators (privatised.py, chunked.py): these decide how sums of floats round

MIN_CHUNKS = 4  # chunks, below which too few threads would share the points
MAX_CHUNKS = 64  # chunks into which points are cut, hence threads that can share them
MIN_PARTIALS = (
    2  # the same where each accumulator is as large as the output and no cache holds it: clearing and summing cost more
)
MAX_PARTIALS = 4
POINTS_PER_CELL = (
    4  # points of a chunk for each cell of its accumulator, which is cleared and summed once: a tenth of the work
)
POINTS_PER_PARTIAL_CELL = 8  # the same where no cache holds the accumulator
POINTS_PER_NARROW_CELL = 4  # the same where a row is too narrow to be shared by columns: one thread would do everything
PRIVATISED_CELLS = 65536  # cells of an accumulator that a core's L2 cache holds: half a megabyte of float64
# neighbouring points go to different accumulators, since an addition to the cell stored last waits for that store.  4,000,000
# points into one cell: 13 -> 3.9 ms
ACCUMULATOR_WAYS = 4
# points between prefetching more of index and src, POINT_BLOCK points ahead.  4,000,000 points into 4,096 cells: 3.1 -> 1.8 ms
STREAM_BLOCK = 64
SUM_TILE = 128  # cells whose accumulators are summed side by side: at most 1 KB, on the stack
# bytes of src from which each thread must read one contiguous range of it: less stays in the L3 cache.  51 MB by two threads:
# 44 GB/s in halves, 19.5 by interleaved rows
STREAMED_BYTES = 8 << 20
# bytes of index and src between prefetching a line and using it; it is prefetched at twice and at half that distance, too,
# since CPUs drop prefetches when busy.  elements_add_first: once 12.6 ms, twice 10.0, three times 8.9
STREAM_PREFETCH_BYTES = 4096
