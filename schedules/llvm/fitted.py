"""What points cost, in picoseconds, as ``benchmarks/fit.py`` fitted it to ``benchmarks/results/xeon-2core/ways.json``.

Of each way: ``point``, of a point; ``line``, of 64 bytes of its row; ``waits`` and ``line waits``, of both besides where the
table is larger than each of :func:`gscompile.schedules.llvm.costs.levels`; ``scan``, of a point of another owner; ``clear``, of
64 bytes of an accumulator.
"""

from __future__ import annotations

from typing import Any

TIMES: dict[str, dict[str, Any]] = {
    "in order": {
        "point": 500,
        "line": 1611,
        "waits": [0, 0, 0, 0, 0, 0],
        "line waits": [122, 558, 427, 899, 1593, 1586],
    },
    "index scan": {
        "point": 0,
        "line": 1808,
        "waits": [0, 236, 0, 0, 0, 170],
        "line waits": [0, 1205, 695, 587, 1440, 1009],
        "scan": 808,
    },
    "privatised": {
        "point": 487,
        "line": 0,
        "waits": [330, 0, 0, 0, 0, 0],
        "line waits": [0, 0, 0, 0, 0, 0],
        "clear": 21801,
    },
    "chunked": {
        "point": 494,
        "line": 2078,
        "waits": [0, 0, 1046, 28640, 0, 0],
        "line waits": [208, 1275, 2584, 2324, 0, 0],
        "clear": 2061,
    },
    "launch": {"point": 3058619},
}
