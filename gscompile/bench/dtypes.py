"""The workloads in other dtypes: bytes per second against those of float32."""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.bench.measurement import MEDIAN, Request, Row
from gscompile.bench.report import markdown, number
from gscompile.bench.variants import bound, done, sampled, turns
from gscompile.runtime.threads import set_num_threads

HELP = "float16, bfloat16, int8 and float64 against float32, by the byte"
DTYPES = ("float32", "float16", "bfloat16", "int8", "float64")


def measure(request: Request) -> list[Row]:
    """Rows: ``workload``, and by dtype ``ms`` and ``moved_bytes``."""
    set_num_threads(request.threads)
    rows: list[Row] = []
    for w in request.workloads:
        runs, moved = {}, {}
        for dtype in DTYPES:
            typed = w.of(dtype=dtype)
            arrays = typed.arrays(most=request.most)
            runs[dtype], moved[dtype] = bound(typed, arrays, typed.expected(**arrays))[0], typed.moved(arrays)
        times = turns(runs, request.rounds)
        rows.append({"workload": w.name, "ms": sampled(times), "moved_bytes": moved})
        done(rows, len(request.workloads), w.name)
    return rows


def slower(row: Row, dtype: str) -> float:
    """How many times as long a byte takes as one of float32."""
    per_byte: float = row["ms"][dtype][MEDIAN] / row["moved_bytes"][dtype]
    reference: float = row["ms"]["float32"][MEDIAN] / row["moved_bytes"]["float32"]
    return per_byte / reference


def table(rows: Sequence[Row]) -> str:
    others = [d for d in DTYPES if d != "float32"]
    lines = [
        [
            r["workload"],
            number(r["ms"]["float32"][MEDIAN]),
            number(r["moved_bytes"]["float32"] / r["ms"]["float32"][MEDIAN] / 1e6),
            *(f"{slower(r, d):.2f} ({number(r['ms'][d][MEDIAN])} ms)" for d in others),
        ]
        for r in rows
    ]
    text = markdown(["time of a byte / float32's", "float32 ms", "GB/s", *others], lines)
    over = [f"{r['workload']} {d} {slower(r, d):.2f}" for r in rows for d in others if slower(r, d) > 1.2]
    return text + f"\n\nMore than 1.2: {', '.join(over) or 'none'}."
