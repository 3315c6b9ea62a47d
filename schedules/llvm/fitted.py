"""What points cost, in picoseconds, as ``benchmarks/fit.py`` fitted it to ``benchmarks/results/xeon-2core/ways.json``.

Of each way: ``point``, of a point; ``line``, of 64 bytes of its row; ``waits`` and ``line waits``, of both besides where the
table is larger than each of :func:`gscompile.schedules.llvm.costs.levels`; ``source waits``, of a line where what all points
bring is larger than each of :func:`gscompile.schedules.llvm.costs.source_levels`; ``scan``, of a point of another owner;
``clear``, of 64 bytes of an accumulator.
"""

from __future__ import annotations

from typing import Any

TIMES: dict[str, dict[str, Any]] = {
    "in order": {
        "point": 557,
        "line": 1263,
        "waits": [0, 0, 0, 0, 0, 548],
        "line waits": [61, 461, 448, 1003, 1557, 1206],
        "source waits": [465, 1343],
    },
    "index scan": {
        "point": 0,
        "line": 1253,
        "waits": [0, 0, 0, 0, 0, 671],
        "line waits": [0, 982, 730, 673, 1248, 909],
        "source waits": [787, 1709],
        "scan": 1179,
    },
    "privatised": {
        "point": 507,
        "line": 0,
        "waits": [357, 0, 0, 0, 0, 0],
        "line waits": [0, 0, 0, 0, 0, 0],
        "source waits": [0, 0],
        "clear": 21809,
    },
    "chunked": {
        "point": 810,
        "line": 1450,
        "waits": [0, 11, 279, 12682, 0, 0],
        "line waits": [0, 761, 1623, 2654, 18542, 0],
        "source waits": [272, 1080],
        "clear": 7351,
    },
    "launch": {"point": 3052438},
}
