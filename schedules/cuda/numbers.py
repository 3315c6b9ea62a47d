"""All numbers of the cuda rules.  They follow from what every GPU since compute capability 7.0 is; a measured one says so."""

from __future__ import annotations

from gscompile.schedules.rule import Target

THREADS_PER_BLOCK = 256
"""Threads of a thread block: a multiple of the warp, small enough that eight fit a multiprocessor."""

RESIDENT_THREADS = 1024
"""Threads of a kernel with several points underway that a multiprocessor need hold: 64 registers of its 65,536 for each.  Where
it is not told, ptxas spills some for 32, 40 or 48 registers and more threads."""

IN_FLIGHT = 4
"""Units of a copy that a thread has underway.  A multiprocessor's share of 5 TB/s is 26 KB in the 700 ns that memory takes:
16 bytes of each of 1,660 threads, of the 2,048 that it holds at most, or of 415 that have four underway."""

STREAMED_BYTES = 32 << 20
"""Of a result that is stored past the L2 cache: of A100's 40 MB half is near a multiprocessor, of H100's 50 MB."""

PANELLED_BYTES = 24 << 20
"""Of a table from which on its columns are taken panel by panel: half of the L2 cache of A100 and H100, beside what streams by.
Measured on an H200: 67 MB gathered along its first axis 291 us, in panels 142."""

PANEL_BYTES = 4 << 20
"""Of a table, in a panel.  Measured: 141 to 146 us with 2 to 8 MB, 153 with 17."""

PANEL_CELLS = 32
"""Neighbours in a panel, at least: whole sectors of the table, and of what streams by."""

PRIVATE_BYTES = 32 << 10
"""Of a block's own accumulators: five blocks fit the 164 KB of shared memory of a multiprocessor of A100, seven that of H100."""

SHARED_BYTES = 48 << 10
"""Of shared memory that a kernel may have without asking for more."""

POINTS_PER_CELL = 2
"""Points that a block has at least for each of its cells: what it adds to global memory is half of them at most, and lies side by
side."""

SECTOR = 32
"""Bytes that memory moves at least: of shorter rows a warp takes whole sectors, instead of each thread a column."""

FOLD_PART = 4096
"""Elements that a block folds at least, 16 by each thread, before its fold is cut into parts."""

WARP_FOLD = 1024
"""Elements of a fold up to which a warp does it, 32 by each lane; a block does longer ones."""

SHORT_FOLD = 32
"""Elements of a fold in a row up to which a thread does it, of 128 bytes that its neighbours need as well."""

BAG_UNITS = 8
"""Lanes that read a row whose width only a call tells: where it is a multiple of theirs, 128 bytes."""

SHORT_BAG = 4
"""Rows of a bag up to which a thread for each column folds them."""

COLUMN_PART = 64
"""Elements of a column that a thread folds at least, before it is cut into parts."""

SERIAL_PARTS = 64
"""Parts that one thread merges at most, where threads do not cooperate."""

ORDERED_THREADS = 16384
"""Threads that fill a GPU, a power of two, because coordinates are divided by it; more would read the indices more often."""

ORDERED_RANGES = 64
"""Ranges of an indexed axis, where the number of columns is known at run time only."""

ORDERED_POINTS = 256
"""Points up to which each of these threads looks at all, rather than that they are listed first, by five launches more."""

SLICES_PER_POINT = 256
"""Slices for each point, from which on each of these threads looks at all points, too: lists take 16 bytes for each slice."""

LIST_THREADS = 1024
"""Threads of a block that takes places for as many lists: the more, the fewer atomics of the one number that they share."""

LIST_UNITS = 32
"""Units of a row that such a block takes at most, where a list is long: 512 bytes."""

LIST_POINTS = 8
"""Points that follow each other which a thread of such a block looks at at once, for a long list."""

LONG_LIST = 256
"""Points of a list up to which a thread for each cell folds them, at least; a block reads more to shared memory."""

RANKED_LIST = 1024
"""Points of a list up to which each of them looks at the list for its place in it, at least."""

LIST_STEPS = 2
"""Times as many points of a list that a thread has underway while it has as many: a list's points are folded one after the other,
and memory takes as long as 100 additions."""

SEGMENT_THREADS = 1024
"""Threads of a block that takes the segments that begin among so many points; half of it for values of 8 bytes."""

SEGMENT_STEPS = 16
"""Points of a segment for each of the few lanes that take it; a block takes longer ones, but none of up to 64 points."""

SEGMENT_PIECE_STEPS = 4
"""Points of a segment's piece that a thread has at least, where blocks share it: one round trip to memory for each fold."""

SEGMENT_POINTS = 16384
"""Points of a segment on average up to which a block takes one: reading them thrice is 4 * 3 round trips to memory."""

LONG_ROW = 1024
"""Elements of a run up to which a warp folds it, 32 by each lane; blocks share longer ones, by as many at least."""

LONG_COLUMN = 64
"""Rows of a run up to which a thread folds a column of it; blocks share longer ones."""

PIECE_STEPS = 8
"""Rows of a shared run that a thread folds at least."""

PIECES = 4096
"""Into which all rows are cut at most, so that a piece is worth its accesses: four for each block that a GPU holds."""

RUNS_LOOKED_AT = 1024
"""Runs of whose lengths a block looks at, at least, to find those that are long: four by each thread."""

SCAN_BLOCK = 256
"""Steps of a scan that one thread takes; a quarter of it where rows are known to be few."""

SCAN_ROWS = 16384
"""Rows of a scan that fill a GPU without cutting any."""

SCAN_UNDERWAY = 16
"""Steps of a scan along the innermost axis that a lane of a warp reads at once: 64 bytes of float32, of 2 KB of the warp."""

SCAN_WARP_ROWS = 2048
"""Rows of such a scan that fill a GPU, with a warp for each."""

SCAN_CARRY_ROWS = 512
"""Rows up to which a block finds what comes before the parts of each; a thread for each of more rows."""

SCAN_CARRY_THREADS = 1024
"""Threads of such a block."""

POINT_BYTES = 40
"""Of memory, for a point that reads its index and looks for something at its place: 8, and a sector of 32."""

LAUNCH_BYTES = 8 << 20
"""Of memory, that move in the 2 us of a launch, at 4.2 TB/s."""

# -- of the GPU: its multiprocessors, of which each holds 2,048 threads, 8 thread blocks


def resident_blocks(target: Target) -> int:
    """Thread blocks that the GPU holds: those that have accumulators of their own, or fold parts of few long folds."""
    return 8 * target.multiprocessors


def most_blocks(target: Target) -> int:
    """Thread blocks of a kernel that walks over its work: twice what the GPU holds."""
    return 2 * resident_blocks(target)


def fold_threads(target: Target) -> int:
    """Threads that fold columns or take stretches of points: half of what the GPU holds; where these are fewer, parts of them."""
    return 1024 * target.multiprocessors
