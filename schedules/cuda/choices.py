"""What the cuda rules leave open.  Where a default says so it was measured, on an H200 (``benchmarks/NOTES.md``)."""

from gscompile.schedules.choices import Choice
from gscompile.schedules.cuda.numbers import IN_FLIGHT, POINTS_PER_CELL, THREADS_PER_BLOCK

BLOCK = Choice("block", (64, 128, THREADS_PER_BLOCK, 512, 1024), THREADS_PER_BLOCK)
"""Threads of a thread block."""

ELEMENTS_BLOCK = Choice("elements_block", BLOCK.values, 512)
"""The same, of gathers of single elements: the more of a row a block takes, the more it reads from L1.  Measured: columns picked
from rows of 4,096 floats 182, 130 and 108 us with 128, 256 and 512; others alike."""

PRIVATE_BLOCK = Choice("private_block", BLOCK.values, 128)
"""The same, of blocks with accumulators of their own.  Measured: a histogram of 4,096 cells 119, 150 and 217 us with 128, 256
and 512."""

ACCESS = Choice("access", (4, 8, 16), 16)
"""Bytes that a thread moves at once, at most."""

RUN = Choice("run", (1, 2, IN_FLIGHT, 8), IN_FLIGHT)
"""Rows that follow each other which a thread adds, those of one cell together."""

STRETCH = Choice("stretch", (8, 16, 32, 64), 16)
"""Rows that follow each other which a thread takes where they are promised to be sorted."""

UNITS = Choice("units", (1, 2, IN_FLIGHT, 8), 2)
"""Units of a copy that a thread has loaded before it stores any.  Measured: rows of 64 to 8,192 bytes take 1 to 4 % less with two
than with four, and 4 to 8 % less than with one."""

UNDERWAY = Choice("in_flight", (1, 2, IN_FLIGHT, 8), IN_FLIGHT)
"""Cells that a thread has found before it stores any; points that it has read before it combines any."""

PER_CELL = Choice("per_cell", (1, POINTS_PER_CELL, 8, 32), POINTS_PER_CELL)
"""Points that a block with accumulators of its own has at least for each of its cells: the more, the fewer blocks."""

FOLD = Choice("fold", ("by length", "warp", "block"), "by length")
"""Whether a warp or a block folds a row."""

CACHE = Choice("cache", ("by size", "keep", "stream"), "by size")
"""Whether a copy's result is stored past the caches: where it is larger than they are, never, or always."""
