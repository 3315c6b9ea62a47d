"""What points cost, in picoseconds, as ``benchmarks/fit.py`` fitted it to what was measured on two
machines, ``benchmarks/results/*/ways.json``.

Of each way: ``point``, of a point; ``line``, of 64 bytes of its row; ``waits`` and ``line waits``, of both besides where the
table is larger than each of :func:`gscompile.schedules.llvm.costs.levels`; ``source waits``, of a line where what all points
bring is larger than each of :func:`gscompile.schedules.llvm.costs.source_levels`; ``scan``, of a point of another owner;
``clear``, of 64 bytes of an accumulator; ``cell``, of an element that is copied, or packed, which the ``waits`` of that way are
of, too; ``gathered byte``, of one of a row of several elements that vectors across rows gather, where gathers are slow.

The numbers that rules count in, by their names in ``numbers.py``, are those that ``benchmarks/fit_numbers.py`` found best,
``benchmarks/results/*/numbers.json``.
"""

from __future__ import annotations

from typing import Any

TIMES: dict[str, dict[str, Any]] = {
    "in order": {
        "point": 620,
        "line": 1294,
        "waits": [0, 0, 0, 0, 537, 1810],
        "line waits": [75, 363, 537, 1154, 964, 13],
        "source waits": [318, 1695],
    },
    "index scan": {
        "point": 0,
        "line": 1479,
        "waits": [0, 0, 0, 116, 604, 788],
        "line waits": [0, 636, 708, 1049, 632, 567],
        "source waits": [333, 1866],
        "scan": 1209,
    },
    "privatised": {
        "point": 857,
        "line": 0,
        "waits": [223, 0, 0, 0, 0, 0],
        "line waits": [0, 0, 0, 0, 0, 0],
        "source waits": [473, 0],
        "clear": 0,
    },
    "chunked": {
        "point": 771,
        "line": 1457,
        "waits": [0, 0, 0, 8318, 0, 0],
        "line waits": [84, 524, 933, 2422, 5975, 0],
        "source waits": [135, 1490],
        "clear": 6234,
    },
    "packed": {"point": 402, "waits": [8, 49, 147, 216, 272, 0], "source waits": [462, 2324], "cell": 38},
    "in place": {"point": 366, "waits": [59, 298, 1354, 1887, 1978, 0], "source waits": [181, 0]},
    "copied rows": {"point": 852, "line": 1277, "waits": [0, 269, 132, 1593, 532, 0]},
    "copied cells": {"point": 143, "line": 1362, "cell": 205, "gathered byte": 50, "waits": [0, 535, 142, 1451, 41, 0]},
    "launch": {"point": 3445421},
}

NUMBERS: dict[str, int] = {
    "ACCUMULATOR_REGISTERS": 8,
    "AXIS_BLOCK": 4096,
    "COPY_BLOCK": 80,
    "COPY_PREFETCH_BYTES": 256,
    "FOLD_CHAINS": 8,
    "INDEX_PREFETCH_DISTANCE": 8,
    "PICK_BLOCK": 64,
    "STREAM_BLOCK": 64,
    "VECTOR_PREFETCH_DISTANCE": 128,
}
