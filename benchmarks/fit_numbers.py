"""Fits what the llvm rules count in -- blocks, registers, tiles, distances of streams -- to measurements.

``--measure FILE`` builds workloads on both sides of each cache level with every value of every choice of the rule that carries
them out, one choice at a time, and times them in turns: five minutes on two cores, which should do nothing else.  Given such
files, ``python benchmarks/fit_numbers.py benchmarks/results/*/numbers.json`` prints the time of each value over that of the
default, medians over all workloads, and writes to ``schedules/llvm/fitted.py`` the best of each number: another than the default
if it is better by :data:`WORTH` on every machine.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gscompile as gs
from gscompile.bench.machine import machine
from gscompile.bench.timing import interleaved, timer
from gscompile.build import build
from gscompile.compiler.lower import lower
from gscompile.compiler.targets import resolve
from gscompile.runtime.threads import available_cores
from gscompile.schedules import Explorer

FITTED = Path(__file__).resolve().parent.parent / "schedules" / "llvm" / "fitted.py"
WORTH = 0.03
"""By how much of its time a value has to be better."""
ROUNDS = 7
MOST_BYTES = 32 << 20  # that are read besides the table
TABLES = (64 << 10, 4 << 20, 64 << 20)  # bytes
NOT_NUMBERS = ("grain",)  # of the launch, not of a rule

Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    """A workload.

    Attributes:
        kind: one of :data:`KINDS`.
        row_bytes: that a point moves.
        table_bytes: of the tensor that is indexed.
    """

    kind: str
    dtype: str
    row_bytes: int
    table_bytes: int


def table(case: Case) -> tuple[int, int]:
    """Rows of the table, and elements of a row."""
    return max(case.table_bytes // case.row_bytes, 1), case.row_bytes // np.dtype(case.dtype).itemsize


def take(b: gs.Builder, case: Case, rng: Any) -> list[Array]:
    rows, width = table(case)
    k = min(200_000, MOST_BYTES // case.row_bytes)
    b.output(b.take(b.input("x", (rows, width), case.dtype), b.input("i", (k,), "int64")))
    return [np.ones((rows, width), case.dtype), rng.integers(0, rows, k)]


def bag(b: gs.Builder, case: Case, rng: Any) -> list[Array]:
    rows, width = table(case)
    k = min(20_000, MOST_BYTES // case.row_bytes // 20)
    b.output(b.sum(b.take(b.input("x", (rows, width), case.dtype), b.input("i", (k, 20), "int64")), 1))
    return [np.ones((rows, width), case.dtype), rng.integers(0, rows, (k, 20))]


def put(b: gs.Builder, case: Case, rng: Any) -> list[Array]:
    rows, width = table(case)
    k = min(200_000, MOST_BYTES // case.row_bytes)
    x, i = b.input("x", (rows, width), case.dtype), b.input("i", (k,), "int64")
    b.output(b.put(x, i, b.input("src", (k, width), case.dtype), reduction="add"))
    return [np.ones((rows, width), case.dtype), rng.integers(0, rows, k), np.ones((k, width), case.dtype)]


def cells(b: gs.Builder, case: Case, rng: Any) -> list[Array]:
    n, k = case.table_bytes // np.dtype(case.dtype).itemsize, 1_000_000
    x, i = b.input("x", (n,), case.dtype), b.input("i", (k,), "int64")
    b.output(b.put(x, i, b.input("src", (k,), case.dtype), reduction="add"))
    return [np.ones(n, case.dtype), rng.integers(0, n, k), np.ones(k, case.dtype)]


def columns(b: gs.Builder, case: Case, rng: Any) -> list[Array]:
    """Elements picked along the first axis."""
    rows, width = table(case)
    b.output(b.gather(b.input("x", (rows, width), case.dtype), b.input("i", (1000, width), "int64"), 0))
    return [np.ones((rows, width), case.dtype), rng.integers(0, rows, (1000, width))]


def along_rows(b: gs.Builder, case: Case, rng: Any) -> list[Array]:
    rows, width = table(case)
    k = min(width, 1024)
    b.output(b.gather(b.input("x", (rows, width), case.dtype), b.input("i", (rows, k), "int64"), 1))
    return [np.ones((rows, width), case.dtype), rng.integers(0, width, (rows, k))]


def points(b: gs.Builder, case: Case, rng: Any) -> list[Array]:
    """Single elements at index vectors of two."""
    side, k = math.isqrt(case.table_bytes // np.dtype(case.dtype).itemsize), 1_000_000
    b.output(b.gather_nd(b.input("x", (side, side), case.dtype), b.input("i", (k, 2), "int64")))
    return [np.ones((side, side), case.dtype), rng.integers(0, side, (k, 2))]


def row_sums(b: gs.Builder, case: Case, rng: Any) -> list[Array]:
    rows, width = table(case)
    b.output(b.sum(b.input("x", (rows, width), case.dtype), 1))
    return [np.ones((rows, width), case.dtype)]


def column_sums(b: gs.Builder, case: Case, rng: Any) -> list[Array]:
    rows, width = table(case)
    b.output(b.sum(b.input("x", (rows, width), case.dtype), 0))
    return [np.ones((rows, width), case.dtype)]


KINDS: dict[str, tuple[Callable[..., list[Array]], tuple[int, ...], tuple[str, ...], tuple[int, ...]]] = {
    # bytes of a row, dtypes, bytes of a table
    "take": (take, (16, 64, 256, 1024), ("float32",), TABLES),
    "bag": (bag, (64, 256, 1200), ("float32", "float16"), TABLES),
    "put": (put, (8, 64, 256, 1024), ("float32", "int64"), TABLES),
    "cells": (cells, (4,), ("float32", "float64", "int32", "int64", "float16"), (64, 4 << 10, 64 << 10, 512 << 10)),
    "columns": (columns, (256, 2048, 8192), ("float32", "int8"), (64 << 10, 16 << 20)),
    "along rows": (along_rows, (256, 4096, 65536), ("float32", "int8"), (64 << 10, 16 << 20)),
    "points": (points, (4,), ("float32", "float16", "float64"), TABLES),
    "row sums": (row_sums, (64, 1024, 65536), ("float32", "float64", "float16"), (64 << 10, 16 << 20)),
    "column sums": (column_sums, (64, 1024, 65536), ("float32", "float64", "float16"), (64 << 10, 16 << 20)),
}


def cases() -> Iterator[Case]:
    for kind, (_, rows, dtypes, tables) in KINDS.items():
        yield from (Case(kind, d, r, t) for d in dtypes for r in rows for t in tables)


def measured(case: Case) -> Iterator[dict[str, Any]]:
    """Of each choice the milliseconds of each value."""
    b, target = gs.Builder("numbers"), resolve("llvm")
    given = KINDS[case.kind][0](b, case, np.random.default_rng(0))
    graph, explorer = b.graph(), Explorer({}, available_cores())
    module = build(graph, target)
    lower(graph, target, (), False, explorer=explorer)
    for nest, (_, rule) in zip(explorer.found, module.stats.kernels, strict=True):
        for choice in nest.branches[0].free.values():
            if choice.name in NOT_NUMBERS or not isinstance(choice.default, int):
                continue
            others = {v: build(graph, target, choices={nest.nest: {choice.name: v}}) for v in choice.values}
            out = module(*given)
            times, _ = interleaved({str(v): timer(m.bind(*given, out=out)) for v, m in others.items()}, ROUNDS, 4.0)
            ms = {v: float(f"{np.median(t):.4g}") for v, t in times.items()}
            yield {**case._asdict(), "rule": rule, "choice": choice.name, "default": choice.default, "ms": ms}


def measure(path: Path) -> None:
    rows = []
    for case in cases():
        for row in measured(case):
            rows.append(row)
            print(row, flush=True)
    body = ",\n".join(map(json.dumps, rows))
    path.write_text(f'{{"machine": {json.dumps(machine())},\n"numbers": [\n{body}\n]}}\n')


# -- the fit


NUMBERS: dict[str, tuple[tuple[str, str], ...]] = {
    "ACCUMULATOR_REGISTERS": (("columns", "registers"),),
    "AXIS_BLOCK": (("rows", "tile"), ("chunked", "tile")),
    "COPY_BLOCK": (("copies", "block"),),
    "COPY_PREFETCH_BYTES": (("copies", "prefetched bytes"),),
    "FOLD_CHAINS": (("folds", "chains"),),
    "INDEX_PREFETCH_DISTANCE": (("packed-columns", "prefetch"),),
    "PICK_BLOCK": (("picked-rows", "block"), ("rows", "block")),
    "STREAM_BLOCK": (("privatised", "block"),),
    "VECTOR_PREFETCH_DISTANCE": (("rows", "prefetch"),),
}
"""By its name in ``numbers.py``: of which rules which choices have that default."""


def ratios(data: dict[str, Any], name: str) -> tuple[int, dict[int, float]]:
    """The default of a number, and of each value the median time over that of the default."""
    rows = [r for r in data["numbers"] if (r["rule"], r["choice"]) in NUMBERS[name]]
    default = rows[0]["default"]
    values = sorted({int(v) for r in rows for v in r["ms"]})
    found = {v: [r["ms"][str(v)] / r["ms"][str(default)] for r in rows if str(v) in r["ms"]] for v in values}
    return default, {v: float(np.median(x)) for v, x in found.items()}


def best(name: str, machines: list[dict[str, Any]]) -> int:
    """The value of a number that is best."""
    found = []
    for data in machines:
        default, each = ratios(data, name)
        found.append(each)
        shown = ", ".join(f"{v}: {x:.3f}" for v, x in each.items())
        print(f"{name} on {data['machine']['cpu']}: {default}; {shown}")
    worst = {v: max(each[v] for each in found) for v in found[0] if all(v in each for each in found)}
    least = min(worst, key=lambda v: worst[v])
    return least if worst[least] < 1 - WORTH else default


def write(machines: list[dict[str, Any]]) -> None:
    body = "".join(f'    "{name}": {best(name, machines)},\n' for name in NUMBERS)
    head = FITTED.read_text().partition("NUMBERS: ")[0]
    FITTED.write_text(f"{head}NUMBERS: dict[str, int] = {{\n{body}}}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="*", help="what was measured, of each machine")
    parser.add_argument("--measure", type=Path, metavar="FILE", help="measure this machine")
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
    if options.data:
        write([json.loads(path.read_text()) for path in options.data])


if __name__ == "__main__":
    main()
