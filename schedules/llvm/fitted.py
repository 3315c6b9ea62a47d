"""What points cost, in picoseconds, as ``benchmarks/fit.py`` fitted it to ``benchmarks/results/xeon-2core/ways.json``.

Of each way: ``point``, of a point; ``line``, of 64 bytes of its row; ``waits`` and ``line waits``, of both besides where the
table is larger than each of :func:`gscompile.schedules.llvm.costs.levels`; ``source waits``, of a line where what all points
bring is larger than each of :func:`gscompile.schedules.llvm.costs.source_levels`; ``scan``, of a point of another owner;
``clear``, of 64 bytes of an accumulator; ``cell``, of an element that is copied, or packed, which the ``waits`` of that way are
of, too.
"""

from __future__ import annotations

from typing import Any

TIMES: dict[str, dict[str, Any]] = {
    "in order": {
        "point": 542,
        "line": 1292,
        "waits": [0, 0, 0, 0, 0, 331],
        "line waits": [75, 395, 503, 1058, 1483, 1352],
        "source waits": [468, 1419],
    },
    "index scan": {
        "point": 0,
        "line": 1317,
        "waits": [0, 0, 0, 0, 28, 754],
        "line waits": [0, 914, 736, 844, 1011, 978],
        "source waits": [771, 1287],
        "scan": 1164,
    },
    "privatised": {
        "point": 514,
        "line": 0,
        "waits": [330, 0, 0, 0, 0, 0],
        "line waits": [0, 0, 0, 0, 0, 0],
        "source waits": [0, 0],
        "clear": 21221,
    },
    "chunked": {
        "point": 784,
        "line": 1488,
        "waits": [0, 312, 0, 14156, 0, 0],
        "line waits": [0, 400, 1704, 4289, 15144, 0],
        "source waits": [295, 1161],
        "clear": 7458,
    },
    "packed": {"point": 402, "waits": [8, 49, 147, 216, 272, 0], "source waits": [462, 2324], "cell": 38},
    "in place": {"point": 366, "waits": [59, 298, 1354, 1887, 1978, 0], "source waits": [181, 0]},
    "copied rows": {"point": 565, "line": 1194, "waits": [0, 208, 0, 2710, 0, 0]},
    "copied cells": {"point": 284, "line": 1246, "cell": 42, "waits": [0, 180, 0, 2538, 0, 0]},
    "launch": {"point": 2441947},
}
