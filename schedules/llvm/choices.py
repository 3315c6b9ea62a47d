"""What the llvm rules leave open.  Defaults, and what was measured, are in ``numbers.py``.

Defaults of distances between prefetching a row and using it are the least; ``ahead.py`` has the model for those of a loop.

A distance of 0 prefetches what is used right away, which costs the instruction and gains nothing: as good as no prefetch.
"""

from __future__ import annotations

from gscompile.ir.nests import Nest
from gscompile.schedules.choices import Choice
from gscompile.schedules.llvm.numbers import (
    ACCUMULATOR_REGISTERS,
    AXIS_BLOCK,
    COPY_BLOCK,
    COPY_PREFETCH_BYTES,
    ELEMENTS_AHEAD,
    FOLD_CHAINS,
    INDEX_PREFETCH_DISTANCE,
    INNER_CELLS,
    LEAST_ADDED_AHEAD,
    LEAST_COPIED_AHEAD,
    LEAST_FOLDED_AHEAD,
    MAX_CHUNKS,
    MOST_AHEAD,
    MOST_WAYS,
    PICK_BLOCK,
    SERIAL_WORK,
    STREAM_BLOCK,
    VECTOR_PREFETCH_DISTANCE,
)
from gscompile.schedules.rule import Target


def several_threads(nest: Nest, target: Target) -> bool:
    """Whether threads may share it."""
    return target.cores is None or target.cores > 1


GRAIN = Choice("grain", (0, 8192, SERIAL_WORK, 98304, 1 << 40), SERIAL_WORK, several_threads)
"""Operations from which all threads share a nest: 0 for always, the greatest for never."""

# -- rows that are copied
COPIED_TOGETHER = Choice("block", (16, 48, COPY_BLOCK), COPY_BLOCK)
COPIED_AHEAD = Choice("prefetch", (0, 4, 8, LEAST_COPIED_AHEAD, 32), LEAST_COPIED_AHEAD)
COPIED_BYTES_AHEAD = Choice("prefetched bytes", (64, 128, COPY_PREFETCH_BYTES, 512), COPY_PREFETCH_BYTES)
STORES = Choice("stores", ("by size", "plain", "non-temporal"), "by size")

# -- elements that are picked
PICKED_TOGETHER = Choice("block", (16, 32, PICK_BLOCK, 128, 256), PICK_BLOCK)
VECTORS_AHEAD = Choice("prefetch", (64, VECTOR_PREFETCH_DISTANCE, 256, 512), VECTOR_PREFETCH_DISTANCE)
PACKED_TOGETHER = Choice("columns", (8, 16, 32), 32)
INDICES_AHEAD = Choice("prefetch", (0, 4, INDEX_PREFETCH_DISTANCE, 16), INDEX_PREFETCH_DISTANCE)

# -- cells
INNER = Choice("inner", (8, INNER_CELLS, 512), INNER_CELLS)
TILE = Choice("tile", (1024, AXIS_BLOCK, 16384), AXIS_BLOCK)

# -- folds
REGISTERS = Choice("registers", (2, 4, ACCUMULATOR_REGISTERS, 16), ACCUMULATOR_REGISTERS)
CHAINS = Choice("chains", (1, 2, 4, FOLD_CHAINS, 16), FOLD_CHAINS)
FOLDED_AHEAD = Choice("prefetch", (0, 4, 8, LEAST_FOLDED_AHEAD, 32), LEAST_FOLDED_AHEAD)

# -- scatters
ROWS_AHEAD = Choice("prefetch", (0, 4, LEAST_ADDED_AHEAD, 16, 32, ELEMENTS_AHEAD), LEAST_ADDED_AHEAD)
ALONE_AHEAD = Choice("rows ahead", (0, 4, LEAST_ADDED_AHEAD, 16, 32, ELEMENTS_AHEAD), LEAST_ADDED_AHEAD)
"""How far ahead one thread that adds all points prefetches their rows; 0 for not at all, the default of near rows."""
CELLS_AHEAD = Choice("prefetch", (0, 8, 16, MOST_AHEAD), MOST_AHEAD)
"""How far ahead single elements of a large table are prefetched that points along an axis are combined with.

Of 41 MB and more 0.3 to 0.8 of the time, of 16 MB 0.5 to 0.7 on pages of 4 KB, of 8.5 and
12 MB 0.35 to 1.2, on the whole 0.7.  An update does not read: 1.0 to 1.2.
"""
RUNS = Choice("runs", ("by a sample", "yes", "no"), "by a sample")
"""Whether the row of neighbouring points stays in registers."""
CHUNKS = Choice("chunks", (4, 8, 16, 32, MAX_CHUNKS), MAX_CHUNKS)
ACCUMULATORS = Choice("accumulators", (1, 2, MOST_WAYS), MOST_WAYS)
"""Those of a cell, which points go to in turns: by default as ``costs.accumulator_ways`` says."""
STREAMED_TOGETHER = Choice("block", (32, STREAM_BLOCK, 128), STREAM_BLOCK)
