"""What the cuda rules leave open.  None of the defaults has been measured; see ``numbers.py``."""

from gscompile.schedules.choices import Choice
from gscompile.schedules.cuda.numbers import IN_FLIGHT, POINTS_PER_CELL, THREADS_PER_BLOCK

BLOCK = Choice("block", (64, 128, THREADS_PER_BLOCK, 512, 1024), THREADS_PER_BLOCK)
"""Threads of a thread block."""

ACCESS = Choice("access", (4, 8, 16), 16)
"""Bytes that a thread moves at once, at most."""

WALK = Choice("walk", ("chunks", "grid"), "chunks")
"""Whether a block takes a chunk, or what lies a grid apart."""

RUN = Choice("run", (1, 2, IN_FLIGHT, 8), IN_FLIGHT)
"""Rows that follow each other which a thread adds, those of one cell together."""

STRETCH = Choice("stretch", (8, 16, 32, 64), 16)
"""Rows that follow each other which a thread takes where they are promised to be sorted."""

UNDERWAY = Choice("in_flight", (1, 2, IN_FLIGHT, 8), IN_FLIGHT)
"""Units of a copy that a thread has loaded before it stores any; points that it has read before it combines any."""

PER_CELL = Choice("per_cell", (1, POINTS_PER_CELL, 8, 32), POINTS_PER_CELL)
"""Points that a block with accumulators of its own has at least for each of its cells: the more, the fewer blocks."""

FOLD = Choice("fold", ("by length", "warp", "block"), "by length")
"""Whether a warp or a block folds a row."""

CACHE = Choice("cache", ("by size", "keep", "stream"), "by size")
"""Whether a copy's result is stored past the caches: where it is larger than they are, never, or always."""
