"""All numbers of the llvm rules: what each counts, and what was measured.

*Operations* are simple scalar operations of one core, which does about two in a nanosecond.  Measured on two machines with two
cores and AVX-512: an EPYC (1 MB of L2 cache per core, 32 MB of L3) and a Xeon (2 MB, 260 MB); benchmarks/NOTES.md has the tables.

Those of :data:`~gscompile.schedules.llvm.fitted.NUMBERS` are the best of several values, by ``benchmarks/fit_numbers.py``.

Numbers that decide how points are grouped decide how sums of floats round.  They are the same on every machine and for any
number of threads, so that results are, too.  Numbers that decide only how fast a result comes follow the machine's caches where
:class:`gscompile.schedules.rule.Target` knows them, up to the sizes that were measured.
"""

from __future__ import annotations

from gscompile.schedules.llvm.fitted import NUMBERS
from gscompile.schedules.rule import Target

# -- the machine

LINE_BYTES = 64
"""Bytes of a cache line: x86-64's and nearly all of arm64's.  Where lines are longer, some prefetches are redundant."""

L1_BYTES = 32 << 10
"""Bytes of a core's L1 data cache."""

L2_BYTES = 1 << 20
"""Bytes of a core's L2 cache, where the target does not say."""


L3_BYTES = 16 << 20
"""Bytes of the L3 cache, where the target does not say."""


def packed_bytes(target: Target) -> int:
    """Bytes that stay in a core's L2 cache beside what streams through it.

    512 KB of 1 MB: 4096 x 1024 elements picked from packed columns 16 -> 5.3 ms.  More was not measured.
    """
    return min((target.l2_bytes or L2_BYTES) // 2, 512 << 10)


def resident_bytes(target: Target) -> int:
    """Bytes of a tensor that stays in a core's caches, so that prefetching its rows gains nothing: 256 KB of 1 MB."""
    return min((target.l2_bytes or L2_BYTES) // 4, 256 << 10)


def last_level_bytes(target: Target) -> int:
    """Bytes from which what is read and written in one pass is found in no cache by the next.

    All 32 MB of an L3 cache.  260 MB, which other machines on the same CPU share, were not measured.
    """
    return min(target.l3_bytes or L3_BYTES, 32 << 20)


# -- prefetches of rows (ahead.py)

CACHE_LATENCY_PS = 14_000
"""Picoseconds until a line comes from a cache: a chain of loads over 256 KB 5.6 ns each, over 1 MB 15.7, over 4 MB 17.3."""

MEMORY_LATENCY_PS = 150_000
"""The same from memory, the walk to its page included: over 16 MB 136 ns, 64 MB 150, 256 MB 176."""

LINES_UNDERWAY = 40
"""Cache lines that a core may wait for at a time, those of its L2 cache among them."""

MOST_AHEAD = 32
"""Rows between prefetching one and using it, at most."""

ELEMENT_BYTES = 8
"""Bytes of a row up to which :data:`ELEMENTS_AHEAD` holds."""

ELEMENTS_AHEAD = 64
"""The same of single elements that are combined with cells, divided by the tensors of which they are.

10.9 million int8 of as many, in runs of 16, times a weight, added to as many in runs: 16 ahead 38 ms, 32 28, 48 to 256 24 to 27;
two million int16 added to or compared with five million 16 ahead 8.0 to 11.2, 32 7.1 to 8.1, 64 5.5 to 6.4, 128 as 64.  Of
20 MB and more, 16 to 128 are alike.
"""


# -- sharing loops among threads (ranges.py)

SERIAL_WORK = 24576
"""Operations below which one thread does all of them: some 12 us.

A parallel launch costs the calling thread 3 us, and where the others sleep or their cores are busy, 20 or 30: rows of 64 floats
picked, scaled and added to others, 222 KB, by one thread / two 6.1 us / 4.8, after a pause 9.3 / 26; 444 KB 12 / 8, 20 / 38; 888
KB 29 / 14, 44 / 29.
"""

OPERATION_PS = 500
"""Picoseconds of an operation."""

VECTOR_LANE_BYTES = 4
"""Bytes of a lane in what a vector is taken to do in one operation: narrower types are often computed in 32 bits."""

AVX2_BYTES = 32
"""Of a vector register of a CPU that has AVX2 and not AVX-512."""

LEAST_GATHERED = 4
"""Bytes of the smallest element that x86's gathers load."""

COPIED_BYTES = 16
"""Bytes that an operation copies: a core copies 20 to 30 in a nanosecond."""

FETCHED_LINE_WORK = 16
"""Operations in which a cache line comes from another core's cache: 8 ns, several of them underway."""

INNER_CELLS = 64
"""Cells that the innermost loops should at least run over, since finding a row costs a division."""

VECTOR_CELLS = 4
"""Cells of a row from which vectors of its own cells are faster than vectors across rows, which LLVM gathers cell by cell.

862,000 rows of 16 int32, picked, scaled and moved: 8.8 ms -> 3.2; 100,000 picked and scaled, ns a row: of 6 float32 3.1 -> 1.3,
of 6 float64 3.5 -> 1.7, of 4 float16 3.0 -> 1.7, of 4 int8 1.5 -> 1.1, but of 3 int8 1.4 -> 2.1; of 5 and 7 float32 1.3 -> 1.4
and 1.8 -> 1.9.
"""

WIDE_VECTOR_CELLS = 3
"""The same of cells of 4 bytes and more: 3 float32 1.7 -> 1.3, 3 float64 2.0 -> 1.4."""

ROUNDED_TOGETHER = 8
"""Cells of a row of 9 to 15 bfloat16 that are computed as one vector, which LLVM does for rows of 8, 9 and 16 and more only."""

AXIS_BLOCK = NUMBERS["AXIS_BLOCK"]
"""Cells of a long innermost axis that make one unit of parallel work."""

# -- copies of rows (copies.py, kernels.py)

RUN_ROWS = 8
"""Rows that differ on the last outer axis only, from which they have a loop of their own.

200,000 rows of 4 floats, one by one / so: runs of 2 0.28 ms / 0.70, of 7 0.46 / 0.40, of 16 0.42 / 0.23; of sizes that only a
call tells: 0.93 / 1.15, 0.86 / 0.77, 0.85 / 0.61.
"""

SHORT_ROW_BYTES = 64
"""Bytes of a row below which a loop over its cells may be as good."""

WHOLE_LINES_BYTES = 256
"""Bytes of a row from which non-temporal stores take whole lines, with a head and a tail of 16 bytes at a time.

Rows of 64 bytes: 3.1 ms without, 4.0 with; of 512 the same; of 8 KB 3.8 and 3.0.
"""

FEW_LINES = 4
"""Lines of a row up to which a loop of its own copies it.  Rows of 64 bytes, length known at run time: 6.0 -> 4.6 ms."""

PREFETCH_LINES = 8
"""Lines that ``gs_prefetch_row`` prefetches at most."""

COPY_BLOCK = NUMBERS["COPY_BLOCK"]
"""Rows whose places are found together: a list of them takes less than 1 KB, so that TVM puts it on the stack.

48 to 1,008: the same.
"""

LEAST_COPIED_AHEAD = 16
"""Rows between prefetching one and copying it, at least.  8 for rows of 64 bytes and more: within 3 %, or worse."""

COPY_PREFETCH_BYTES = NUMBERS["COPY_PREFETCH_BYTES"]
"""Bytes of a row that are prefetched; the hardware fetches the rest.  Rows of 1,200 bytes: 1.66 ms, with 512 1.83."""

# -- picked elements (picked_rows.py, pick_lists.py, packed_columns.py)

PICK_BLOCK = NUMBERS["PICK_BLOCK"]
"""Elements picked between two prefetches."""

VECTOR_PREFETCH_DISTANCE = NUMBERS["VECTOR_PREFETCH_DISTANCE"]
"""Cells between prefetching an index vector and reading it.  512: the same; blocks of 128 or 256 a tenth slower."""

STREAMED_ROWS = 16
"""Rows of a table from which elements are picked along the first axis that the hardware prefetches, as far as a cache holds them.

9 x 178,148 of 16 x 178,148 float32 in place 1.5 ms, packed 4.2; of 32, 6.9 and 5.2.
"""

STREAMED_LEVELS = 3
"""Of the levels of the machine's caches, those below memory, from which it does."""

UNGATHERED_PS = 900
"""Picoseconds by which an element of a slab that is picked in place takes longer where LLVM makes no gathers: on a Zen 3."""

STREAMED_BYTE_PS = 100
"""Picoseconds of a byte that one thread reads from memory in order."""

MIN_PICKED_LINES = 4
"""Lines of a row from which the next one is prefetched."""

MAX_PICKED_LINES = 96
"""Lines of the next row that are prefetched per :data:`PICK_BLOCK`, at most.

Where it would take more, few elements are picked from a row, and most of its lines not needed at all.  1,024 of 4,096 columns
of 4,096 rows: 7.4 -> 3.1 ms; all 256 lines of a row at once: 9.2.  40,000 rows, 30 of 300 floats (40 lines) 3.2 -> 1.2 ms, 27 of
141 doubles (41) 2.3 -> 1.7, 15 (75) 2.5 -> 2.3; 20,000 rows, 60 of 1,000 floats (66) 5.4 -> 4.4; 130 of 4,096 (126) 2.2 -> 2.5.
"""

NEAR_PICKS = 4
"""Of a row that is picked from, the part, one so-many-th, that picks may span without other lines of it being prefetched."""

SHORT_PICKED_LINES = 20
"""Lines of a row up to which what is picked is prefetched by the indices of later rows, not lines of the next row.

708,874 rows, 14 of 47 int64, one thread: 35 ms, so 17, of one column 44, 11; 64,281 rows, 250 of 250 floats (16 lines) 16.6, 9.6,
60 of 250 9.7, 4.3; 40 of 500 (31 lines) 7.9, 13.6; 500 of 1,000 19, 34.
"""

PICKS_OF_LINE = 32
"""Elements picked for each line of a row up to which they are: 25 for each of 12 43 ms, so 27; 170 of 5 59, 66."""

PREFETCHED_PICKS = 2
"""Of the elements picked for each line of a row, how many are prefetched: most lines then are, and no more than twice.

164,281 rows, 60 of 78 int32: all of them 11.0 ms, 2 a line 5.8, 1 a line 5.3; 160 of 190 29, 15, 21.
"""

PICKS_AHEAD = 32
"""Elements between prefetching one and picking it; at least a row."""

LISTED_PICKS = 1024
"""Elements picked from short or near rows whose places are listed at a time, and of a row at most."""

PICKED_PART = 32768
"""Elements picked from a row that are a unit of parallel work, where rows are few."""

PACKED_COLUMNS = (32, 16)
"""Columns of a packed block: the first of which a block fits :func:`packed_bytes`; of symbolic rows a call finds out.

On a Zen 3, 32 / 16 columns, ms: 2,048 of 2,048 rows of 1,024 float32 3.1 / 4.1, 1,000 of 3,000 int8 2.4 / 3.3, 20 of 200,000
float32 5.9 / 7.5.  4,096 rows of 1,024, of which 32 do not fit, 8.5 by 16, in place 22 to 31.
"""

INDEX_PREFETCH_DISTANCE = NUMBERS["INDEX_PREFETCH_DISTANCE"]
"""Rows of indices between prefetching one and picking by it: index and result are strided by whole pages.

Into the L1 cache 4.4 to 5.4 ms, into L2 7.8.
"""

# -- reductions (reduce.py)

ACCUMULATOR_REGISTERS = NUMBERS["ACCUMULATOR_REGISTERS"]
"""Vector registers that hold the accumulators of a tile; there are 16, or 32 with AVX-512.

Sums over bags of rows of 64: 1.67 ms in memory, 1.38 in registers.
"""

WIDE_ACCUMULATOR_REGISTERS = 16
"""The same for rows that fill as many, where nothing else has to be kept: the indices of a bag are read half as often.

Bags of 3 and 30 rows of 4 KB: float32 1.23 and 1.18 times as fast, int64 1.04 and 1.18, float64 0.99 and 1.17; of 1 KB 1.01 to
1.10; float16, which is widened, 1.02 and 0.93.
"""

MIN_COLUMNS = 4
"""Columns from which folds go side by side (not measured)."""

NARROW_TABLE_BYTES = 1 << 20
"""Bytes of a table from which gathered rows of fewer columns are prefetched, too.

100,000 bags of 9 rows of 3 float32, of 12 MB 6.8 ms -> 1.9; 971,000 of 196 MB 76 -> 40.  2,000 of 154 single int16 of 400 KB
0.18 -> 0.36.
"""

FOLD_CHAINS = NUMBERS["FOLD_CHAINS"]
"""Folds of runs of memory that take turns, since each waits for its own last step.

Sums of rows of 1,000 floats: 0.83 -> 0.146 ns per element.
"""

LEAST_FOLDED_AHEAD = 16
"""Rows between prefetching one and folding it, at least.  Sums over bags: 1.38 -> 1.10 ms; 8 takes 1.05 to 1.3 times as long."""

LISTED_COLUMNS = 16
"""Columns up to which the rows of bags are listed before they are folded: 0.8 of the time on the mean; 20 to 64 columns 0.99."""

LISTED_ROWS = 256
"""Rows that are listed at a time: 2 KB of places (not measured)."""

LISTED_APART = 4
"""How many of them must lie far from the one before, for rows to be prefetched (not measured)."""

PREFETCHED_TENSORS = 4
"""Tensors of which rows are prefetched, at most (not measured)."""

# -- scatters of rows (staged.py, owned.py, partition.py, scatter.py)

POINT_BLOCK = 1024
"""Points whose indices are resolved together: a list of them takes 8 KB, so that two fit the L1 cache beside the rows."""

LISTED_POINTS = 256
"""Points of a row along the last axis whose cells are listed together; fewer are not, nor single elements of one row.

Rows of 1,000 sums of float32 1.02 ms, by lists of 256 or 128 0.87, of 1,000 0.88; of float64, which come from memory, 1.5,
so 2.0.
"""

LISTED_TILE = 1024
"""Columns of a row that are combined together, in the L1 cache, with the points on the row's list."""

LISTED_BLOCKS = 4
"""Blocks in a row that had to be listed, from which the span of most is not looked at: indices in no order cost 4 % less."""

SPAN_EVERY = 8
"""One in so many blocks whose span is looked at all the same."""

LEAST_ADDED_AHEAD = 8
"""Points between prefetching a row and adding to it, at least."""

LONG_ROW_BYTES = 128
"""Bytes of a row from which one thread that adds all points prefetches it wherever it is in no cache of the core's own.

200,000 rows of 256 bytes into 10,000: by one thread 3.8 ms -> 2.7, by two in chunks 2.1 -> 1.7.  Of 80 bytes: 0.57 -> 0.62.
Shorter ones are prefetched where they come from memory: 200,000 of 4 bytes into 16 MB 1.63 ms -> 1.00, into 4 MB 0.45 -> 0.56.
"""

NEIGHBOUR_BYTES = 4096
"""Bytes between the rows of two points in a row, up to which the hardware prefetches, or a cache has, what is next."""

LEAST_SCATTERED = 4
"""How many of :data:`RUN_SAMPLES` points must be farther apart, for short rows to be prefetched."""

IN_ORDER = 16
"""How many elements after one another is looked at to find out whether they come in order: more than runs and blocks have."""

NARROW_ELEMENTS = 8
"""Elements of a row up to which it is narrow.  That decides how points are grouped."""

RUN_BYTES = 160
"""Bytes of a row's totals up to which it may stay in registers while neighbouring points go there: five of AVX2's.

10^6 rows of 4 floats into one: 5.0 ms, in registers 1.2; of 14,294 single elements, no two neighbours alike, 9.8 us and 11.4.
50,000 sorted rows into two, ns per row: of 12 float32 8.4 -> 2.2, of 20 float16 10.5 -> 2.3, of 37 bfloat16 16.7 -> 3.6, of 64
float32 7.9 -> 6.4; into 1,000: 6.7 -> 3.1, 5.8 -> 3.4, 6.9 -> 5.0, 9 -> 11.  The latter's build takes a third longer.
"""

RUN_SAMPLES = 16
"""Points that are looked at to find out whether neighbours are alike, or points are sorted."""

MANY_POINTS = 1 << 20
"""Points from which :data:`MANY_SAMPLES` times as many are looked at, to find out whether neighbours are alike.

Of five in a cell, each 16 looked at say one time in six that runs pay, where they take twice as long; 64 do one time in 100.
"""

MANY_SAMPLES = 4
"""See :data:`MANY_POINTS`."""

SAMPLED_POINTS = 4096
"""Points from which a sample costs little beside them, where a loop over points has no other use for one: 50 ns."""

LEAST_RUNS = 15
"""How many of these must be, for runs to pay: where a run ends, a branch is mispredicted.

Sorted single elements, plain / in runs, ns per point: two floats in a cell 1.1 / 3.8, six 1.1 / 2.0, ten 1.2 / 1.6, thirty 1.5 /
1.2; of int64, float16 and int8 alike.  Of 6 million points two 2.9 / 4.1, six 3.2 / 2.3, thirty 3.6 / 2.8; on a Zen 3, of 8
million, five 1.8 / 3.6, eight 2.0 / 2.8, twelve 2.2 / 2.3, thirty 2.7 / 1.8.
"""

RARE_POINTS = 32
"""See :data:`NARROW_RARE_POINTS`."""

NARROW_RARE_POINTS = 256
"""Points for each cell up to which minima and maxima of single elements choose without a branch: it is mispredicted too often.

The latter where elements have one or two bytes, which LLVM takes more instructions for.

Points along the first axis of matrices of 516 columns, 50, 152, 500, 1,000 and 2,000 rows, 8,000 points for each column, ns with
a branch / without: of int32 3.0 / 3.1, 3.6 / 3.7, 4.4 / 4.5, 8.8 / 7.9, 10.5 / 8.2; of int8 2.0 / 2.1, 3.0 / 2.8, 3.8 / 2.4,
6.0 / 4.0, 6.6 / 3.8.
"""

COMPONENT_PS = 1300
"""Picoseconds of another component of an index vector: 1.6 million points of four 10.9 ms by one thread, 7.7 by two."""

SPARSE_WIDTH = 16
"""Elements of a row from which wider totals are made when a first point comes, where sizes are not known."""

GATHER_PS = 2500
"""Picoseconds of a point whose source is gathered from a table of its own, whose size is not asked for."""

FAR_GATHER_PS = 8000
"""The same besides, where the tables are half the L3 cache or more.

Messages of one float, 4.7 million, uniform, into as many, 19 MB: by one thread 149 ms, by two that scan 101, in two chunks 95 to
125.
"""

GATHER_SCAN_PS = 2600
"""Picoseconds by which an index scan of such points takes longer, of rows that share cache lines.

Messages of one float, uniform, by one thread / two that scan / in two chunks: 4.7 million into 427,258 28 / 34 / 15 ms, 297,127
into as many 1.5 / 1.9 / 1.0.
"""

WIDEN_PS = 310
"""Picoseconds of a cell whose total has a wider dtype, to make it and to round it.

200,000 rows of 8 float16, 20,000 points: 0.45 ms, of 16 1.0.
"""

LOOK_PS = 2200
"""Picoseconds of a row whose totals are made when a first point comes: to copy its base, and to ask whether one came.

With :data:`TOUCH_PS`, all totals at first / row by row: 20,000 points into 200,000 rows of 2 float16 0.14 ms / 0.33, of 8 0.45 /
0.62, of 16 1.03 / 0.70; 100,000 points, of 8 0.8 / 2.4, of 16 2.8 / 3.4; into 20,000 rows of 64 5,000 points 0.29 / 0.18.
"""

TOUCH_PS = 9300
"""Picoseconds of making a row's totals then: a mispredicted branch, and three cache lines instead of one."""

LISTED_WIDTH = 128
"""Elements of a row from which rows may be made one after the other.  Of 64: 0.5 to 1.1 times as fast as an index scan."""

LISTED_POINT_PS = 18_000
"""Picoseconds of a point on a row's list: the row that it brings lies anywhere."""

LISTED_CELL_PS = 150
"""Picoseconds of a cell of a wider dtype that stays in the L1 cache from its making to its rounding."""

MAX_OWNERS = 64
"""Threads among which points are sorted by owner: the lengths of their lists are a table of 64 x 64."""

SORT_BLOCK = 1 << 17
"""Points that are sorted at a time: lists of a megabyte.  2 ** 12 to 2 ** 16: 1.0 to 1.4 times as long."""

SORT_PS = 4_000
"""Picoseconds of putting a point on a list: 1,300 to 3,800 by one thread."""

SORT_LAUNCH_PS = 30_000_000
"""Picoseconds of the two parallel launches per :data:`SORT_BLOCK`."""

MIN_SORTING_CORES = 7
"""Cores below which points are never sorted by owner, so that there is no code for it."""

WIDE_AXIS = 64
"""Extent from which an axis gives every thread enough to own, of a machine of any number of cores."""

UNITS_PER_CORE = 6
"""The same of a machine whose cores are known, for each of them.  2 x 13 x 84, columns / rows: two threads 24 us / 11."""

CELL_PS = 150
"""Picoseconds of a cell that one thread copies, clears and finishes (not fitted)."""

MOVED_BYTE_PS = 60
"""Picoseconds of a byte of an output of which each thread has half in its cache after one call, and often the other half next."""

TAKEN_LINE_PS = 25_000
"""Picoseconds of a point that is added to a cache line to which another thread adds as well.

19,232 rows of 37 float64 into two, by two threads 0.33 ms, by one 0.14; means of float32 0.40 and 0.09.
"""

OWNED_ROW_BYTES = 512
"""Bytes of a row up to which one thread makes means of few rows: two of 20 floats 2.0 of the time, of 100 1.9, of 300 1.0."""

SLAB_END_PS = 700_000
"""Picoseconds of a point, times bytes of a thread's part of a row, where lines are written by two threads.

Elements along the first axis of 300 x 20, 47, 100, 300 floats, by one thread 0.9, 0.75, 1.1, 1.3 ns per point, by each of two
that own columns 17, 4.6, 2.9, 3; of 6,141 x 300, by one 4.0, by each of two 4.4.
"""

NARROW_FLOAT_PS = 1_500
"""Picoseconds to convert, compare and round a float of 16 bits by itself.

Maxima along the first axis of 131 x 16 x 28, by one thread 3.2 to 3.7 ns per point, of float32 1.6 to 2.2; by two 2.4 to 3.1, 1.3
to 1.8.
"""

MIN_SCANNING_THREADS = 8
"""Threads from which each scans all points for the narrow rows that it owns.

Single elements: two threads mispredict every second point and take 4.7 ns per point, where one alone takes 1.5.
"""

# -- privatised accumulators (privatised.py, chunked.py): these decide how sums of floats round

PARALLEL_POINTS = 32768
"""Points below which they are not cut into chunks.

Single elements into rows of 16, 10^5 points: 4.93 -> 0.95 ns per point.
"""

MIN_CHUNKS = 4
"""Chunks below which too few threads would share the points."""

MAX_CHUNKS = 64
"""Chunks into which points are cut at most, hence threads that can share them."""

MIN_PARTIALS = 2
"""As :data:`MIN_CHUNKS`, where an accumulator is as large as the output and no cache holds it: it costs more to clear and sum."""

MAX_PARTIALS = 4
"""As :data:`MAX_CHUNKS`, there."""

POINTS_PER_CELL = 4
"""Points of a chunk per accumulator of a cell, which is cleared and summed once: a tenth of the work.

10^6 points into 4,096 cells, 60 chunks / 12: float32 1.38 / 1.14 ms, int64 1.28 / 0.96.
"""

POINTS_PER_TURN = 16
"""As :data:`POINTS_PER_CELL`, of a row along which points go to several accumulators in turns.  4: up to 1.4 times as long."""

TURN_CELLS = 512
"""Accumulators of the cells of a row, which stay in the L1 cache."""

POINTS_PER_PARTIAL_CELL = 8
"""As :data:`POINTS_PER_CELL`, where no cache holds the accumulator."""

POINTS_PER_NARROW_CELL = 4
"""The same where rows are too narrow to be shared by columns, so that otherwise one thread would do everything."""

CHUNKED_ELEMENTS = 131072
"""Elements of all points' rows below which they are not cut into chunks: 4,000 rows of 16 floats 5 us, in chunks 15."""

PRIVATISED_BYTES = 3 << 20
"""Bytes of a thread's accumulators, up to which they are privatised.

Sizes that only a call tells, by one thread / privatised: 100,000 cells, 16 points each, uint8 3.3 ms / 1.4, int32 5.7 / 2.0,
float32 3.1 / 2.2, sorted 5.0 / 1.1, 4.9 / 1.3, 3.9 / 1.4; 400,000 int32 (3.2 MB), 8 each, 10.5 / 4.6.  400,000 float32 (6.4 MB),
16 each, in two chunks of one accumulator 10.3, privatised 23.
"""

FLOAT_CHAIN_PS = 3250
"""Picoseconds from loading the accumulator of a point to having stored it, where the next point loads it again.

4,000,000 points into one cell: by one accumulator 13 ms, by four in turns 3.9.
"""

INTEGER_CHAIN_PS = 1640
"""The same of integers, which some CPUs forward from a store at once: by one, two or four alike on an EPYC."""

MOST_WAYS = 4
"""Accumulators of a cell that points go to in turns, at most."""

ORDERED_CELLS = 2048
"""Cells up to which each has so many accumulators where the order of their points matters: all of them stay in the L1 cache."""

STREAM_BLOCK = NUMBERS["STREAM_BLOCK"]
"""Points between two prefetches of index and src, each :data:`POINT_BLOCK` points ahead.

4,000,000 points into 4,096 cells: 3.1 -> 1.8 ms.
"""

SUM_TILE = 128
"""Cells whose accumulators are summed side by side: at most 1 KB, on the stack."""

STREAMED_BYTES = 8 << 20
"""Bytes of src from which each thread must read one contiguous range of it: less stays in the L3 cache.

51 MB by two threads: 44 GB/s in halves, 19.5 by interleaved rows.
"""

STREAM_PREFETCH_BYTES = 4096
"""Prefetch distance in index and src, in bytes.

Lines are prefetched at twice and at half that distance, too, since CPUs drop prefetches when busy: elements_add_first once
12.6 ms, twice 10.0, three times 8.9.
"""

# -- scans (scan.py)

SCAN_UNITS = 64
"""Rows, or tiles of columns, that are enough for every core; with fewer a long axis is cut into blocks."""

SCAN_BLOCK = 4096
"""Steps of a block along the innermost axis."""

SCAN_COLUMN_BLOCK = 512
"""Steps of a block along another axis, where each step has columns."""

SCAN_WAYS = 4
"""Blocks or rows whose totals advance in turns: a sum of floats takes 4 cycles."""

SCAN_LANES = 32
"""Partial folds of a block of floats along the innermost axis; of integers LLVM makes vectors by itself."""

SCAN_REGISTERS = 8
"""Vector registers that hold the totals of a tile of columns."""
