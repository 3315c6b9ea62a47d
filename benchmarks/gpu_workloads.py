"""What ``benchmarks/gpu.py`` computes: every operator, for its results; then workloads that fill a GPU, for their times."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gpu_contenders import Device, fetched

from gscompile.bench import sample
from gscompile.bench.kinds import embedding_bag, gather, gather_nd, message_passing, put, scatter, take
from gscompile.bench.workload import Workload, ascending, distinct, zipf

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the tests' graphs and oracle

DRAWN_BYTES = 32 << 20, 512 << 20  # that a drawn workload moves: more than caches hold, less than takes long to draw

# The rows of gscompile.bench.workloads, of the same names, with so many more points and rows that each moves some 100 MB or more.
ROWS = [
    take("embed_rows_zipf", (500_000, 128), (400_000,), zipf(1.1)),
    take("embed_rows_wide", (32_000, 2048), (32_768,)),
    take("embed_rows_thin", (2_000_000, 16), (4_000_000,)),
    take("select_columns", (16_384, 4096), (2048,), axis=1),
    gather("elements_last", (65_536, 1024), (65_536, 256), 1),
    gather("elements_first", (8192, 2048), (8192, 2048), 0),
    gather_nd("nd_slices", (16, 128, 128, 64), 3, 500_000),
    gather_nd("nd_points", (4096, 4096), 2, 8_000_000),
    put("scatter_nd_rows", (1_000_000, 64), 300_000, draw=distinct),
    put("index_add_rows", (100_000, 64), 1_000_000, "add", zipf(0.8)),
    put("index_add_sorted", (100_000, 64), 1_000_000, "add", ascending(zipf(0.8))),
    scatter("elements_add_first", (100_000, 64), (400_000, 64), 0, "add"),
    put("index_max_rows", (100_000, 64), 1_000_000, "max", zipf(0.8)),
    put("histogram_add", (4_096,), 16_000_000, "add", zipf(1.0)),
    message_passing("message_passing", 2_000_000, 100_000, 64),
    embedding_bag("embedding_bag", 500_000, 64, 16_384, 50),
    take("beam_reorder", (256, 32, 4096), (256, 32), axis=1, batch_dims=1),
    take("tiny_take", (1_000,), (100,)),
]


def drawn(count: int, seed: int) -> list[Workload]:
    """Workloads of :mod:`gscompile.bench.sample`, of a GPU's sizes."""
    return [sample.workload(d) for d in sample.draw(count, seed, *DRAWN_BYTES)]


def results(device: Device, seconds: float) -> Iterator[tuple[str, str | None]]:
    """Every operator under every policy on the device: its name, and how its result differs from the oracle's; None for not at
    all.  Ends after so many seconds.
    """
    try:
        from tests import graphs
    except ImportError as e:  # what only tests need
        yield "every operator", f"not compared: {e}"
        return
    end = time.monotonic() + seconds
    for s in graphs.samples("float32"):
        if time.monotonic() > end:
            yield "the rest", "no time was left"
            return
        try:
            m = device.compile(s.builder)
            found = m(*map(device.put, s.arrays))
            got = [fetched(x) for x in (found if isinstance(found, tuple) else (found,))]
            problems = [_differs(g, w) for g, w in zip(got, s.want, strict=True)]
            yield s.builder.name, next((p for p in problems if p), None)
        except Exception as e:
            yield s.builder.name, f"{type(e).__name__}: {e}"[:300]


def _differs(got: Any, want: Any) -> str | None:
    same = got.dtype == want.dtype and np.array_equal(got, want, equal_nan=got.dtype.kind == "f")
    return None if same else f"got {str(got)[:100]}, expected {str(want)[:100]}"
