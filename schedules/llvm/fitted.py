"""What points cost, in picoseconds, as ``benchmarks/fit.py`` fitted it to ``benchmarks/results/xeon-2core/ways.json``.

Of each way: ``point``, of a point; ``line``, of 64 bytes of its row; ``waits`` and ``line waits``, of both besides where the
table is larger than each of :func:`gscompile.schedules.llvm.costs.levels`; ``scan``, of a point of another owner; ``clear``, of
64 bytes of an accumulator.
"""

from __future__ import annotations

from typing import Any

TIMES: dict[str, dict[str, Any]] = {
    "in order": {
        "point": 469,
        "line": 1581,
        "waits": [0, 0, 0, 0, 0, 0],
        "line waits": [169, 419, 505, 1030, 1437, 1712],
    },
    "index scan": {
        "point": 0,
        "line": 1680,
        "waits": [0, 0, 0, 0, 0, 627],
        "line waits": [0, 1037, 784, 826, 1216, 933],
        "scan": 1092,
    },
    "privatised": {
        "point": 499,
        "line": 0,
        "waits": [336, 0, 0, 0, 0, 0],
        "line waits": [0, 0, 0, 0, 0, 0],
        "clear": 20785,
    },
    "chunked": {
        "point": 698,
        "line": 2028,
        "waits": [0, 0, 0, 17737, 0, 0],
        "line waits": [105, 846, 1911, 3129, 19095, 0],
        "clear": 5344,
    },
    "launch": {"point": 3459836},
}
