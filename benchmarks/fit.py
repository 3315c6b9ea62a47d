"""Fits the llvm cost model to measurements: ``python benchmarks/fit.py benchmarks/results/NAME/ways.json``.

Measures every way to scatter rows, to pick elements of columns, and to copy short rows, on grids of facts, unless the file holds
that already (``--measure`` does it again, ``--measure copies`` one kind), and writes the least-squares fit to
``schedules/llvm/fitted.py``, which ``ruff format`` then breaks into lines.  Six minutes on two cores; the machine should do
nothing else.  Needs SciPy, which JAX brings (``pip install '.[bench]'``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gscompile as gs
from gscompile.bench.machine import machine
from gscompile.bench.timing import Timer, interleaved, timer
from gscompile.compiler.targets import resolve
from gscompile.runtime.threads import available_cores, set_num_threads
from gscompile.schedules.llvm.chunked import Chunked
from gscompile.schedules.llvm.copies import Copies
from gscompile.schedules.llvm.costs import chunk_count, levels, row_chunks, source_levels
from gscompile.schedules.llvm.elements import PackedColumns
from gscompile.schedules.llvm.map import Rows
from gscompile.schedules.llvm.numbers import MAX_CHUNKS, MIN_CHUNKS, POINTS_PER_CELL, VECTOR_CELLS
from gscompile.schedules.llvm.owned import OwnedRows
from gscompile.schedules.llvm.privatised import Privatised

FITTED = Path(__file__).resolve().parent.parent / "schedules" / "llvm" / "fitted.py"
RULES: dict[str, Callable[[], Any]] = {
    "in order": lambda: OwnedRows(way="in order"),
    "index scan": lambda: OwnedRows(way="index scan"),
    "privatised": lambda: Privatised(always=True),
    "chunked": lambda: Chunked(always=True),
}
ROWS = (1, 4, 16, 64, 256)  # float32 elements of a row
TABLES = tuple(1 << k for k in range(14, 29, 2))  # bytes
POINTS = (4_000, 100_000, 1_000_000)
MOST_BYTES = 256 << 20  # of src
PICKING: dict[str, Callable[[], Any]] = {"packed": lambda: PackedColumns(always=True), "in place": Rows}
DEEP, WIDE = (64, 256, 1024, 4096, 8192), (64, 512, 2048, 8192)
PICKS_PER_ROW = (1 / 16, 1 / 4, 1, 4)
MOST_TABLE_BYTES, MOST_PICKS = 64 << 20, 16 << 20
COPYING: dict[str, Callable[[], Any]] = {"copied rows": lambda: Copies(always=True), "copied cells": Rows}
SHORT = (1, 2, 3, 4, 6, 8, 12, 16)  # elements of a row that is copied
ITEMS = ("int8", "float16", "float32", "float64")
SHORT_TABLES, SHORT_POINTS = (1 << 15, 1 << 19, 1 << 22, 1 << 26), (4_000, 200_000)
MOST_SHORT_BYTES = 64
ROUNDS = 5


class Case(NamedTuple):
    """Float32 rows that are added up, at uniform indices of int64."""

    row: int
    table_bytes: int
    points: int

    @property
    def rows(self) -> int:
        return max(self.table_bytes // (4 * self.row), 1)


def medians(runs: dict[str, Timer]) -> dict[str, float]:
    """Milliseconds of each way, which take turns."""
    times, _ = interleaved(runs, ROUNDS, slice_ms=5.0)
    return {way: float(np.median(ms)) for way, ms in times.items()}


def cases() -> Iterator[Case]:
    for row in ROWS:
        for table in TABLES:
            yield from (Case(row, table, n) for n in POINTS if 4 * row * n <= MOST_BYTES and table >= 4 * row)


def measured(case: Case) -> dict[str, float]:
    """Milliseconds of each way that can be used."""
    rng = np.random.default_rng(0)
    x = np.zeros((case.rows, case.row), "float32")
    i, src = rng.integers(0, case.rows, case.points), rng.random((case.points, case.row), np.float32)
    runs = {}
    for way, rule in RULES.items():
        b = gs.Builder("scatter")
        x_, i_ = b.input("x", x.shape, "float32"), b.input("i", i.shape, "int64")
        src_ = b.input("src", src.shape, "float32")
        b.output(b.put(x_, i_, src_, reduction="add", bounds="clip"))
        module = b.build("llvm", rules=[rule()])
        taken = way if way in ("privatised", "chunked") else OwnedRows.name
        if module.stats.kernels[0][1] == taken:  # else the way cannot be used
            # in place: what comes before the first point costs nothing
            runs[way] = timer(module.bind(x, i, src, out=x))
    return medians(runs)


class Picks(NamedTuple):
    """Float32 elements picked along the first axis, at uniform indices of int64."""

    deep: int
    wide: int
    rows: int

    @property
    def points(self) -> int:
        return self.rows * self.wide

    @property
    def table_bytes(self) -> int:
        return 4 * self.deep * self.wide


def picks() -> Iterator[Picks]:
    for deep in DEEP:
        for wide in WIDE:
            found = (Picks(deep, wide, int(deep * f)) for f in PICKS_PER_ROW)
            yield from (c for c in found if c.table_bytes <= MOST_TABLE_BYTES and c.points <= MOST_PICKS)


def picked(case: Picks) -> dict[str, float]:
    """Milliseconds of each way."""
    rng = np.random.default_rng(0)
    x = rng.random((case.deep, case.wide), np.float32)
    i = rng.integers(0, case.deep, (case.rows, case.wide))
    runs = {}
    for way, rule in PICKING.items():
        b = gs.Builder("gather")
        b.output(b.gather(b.input("x", x.shape, "float32"), b.input("i", i.shape, "int64"), 0))
        runs[way] = timer(b.build("llvm", rules=[rule()]).bind(x, i))
    return medians(runs)


class Short(NamedTuple):
    """Short rows, copied from uniform indices of int64."""

    dtype: str
    width: int
    table_bytes: int
    points: int

    @property
    def row_bytes(self) -> int:
        return self.width * np.dtype(self.dtype).itemsize


def short_rows() -> Iterator[Short]:
    for dtype in ITEMS:
        for width in SHORT:
            found = (Short(dtype, width, t, n) for t in SHORT_TABLES for n in SHORT_POINTS)
            yield from (c for c in found if c.row_bytes <= MOST_SHORT_BYTES)


def copied(case: Short) -> dict[str, float]:
    """Milliseconds of each way."""
    rng = np.random.default_rng(0)
    x = np.zeros((case.table_bytes // case.row_bytes, case.width), case.dtype)
    i = rng.integers(0, len(x), case.points)
    runs = {}
    for way, rule in COPYING.items():
        b = gs.Builder("take")
        b.output(b.take(b.input("x", x.shape, case.dtype), b.input("i", i.shape, "int64"), 0))
        runs[way] = timer(b.build("llvm", rules=[rule()]).bind(x, i))
    return medians(runs)


KINDS: dict[str, tuple[Callable[[], Iterator[Any]], Callable[[Any], dict[str, float]]]] = {
    "rows": (cases, measured),
    "picks": (picks, picked),
    "copies": (short_rows, copied),
}


def measure(path: Path, kinds: Sequence[str]) -> None:
    """Measure some kinds, and keep what the file holds of the others."""
    before: dict[str, list[Any]] = json.loads(path.read_text()) if path.exists() else {}
    rows: dict[str, list[Any]] = {kind: [] if kind in kinds else before.get(kind, []) for kind in KINDS}
    for threads in range(1, available_cores() + 1):
        set_num_threads(threads)
        for kind, case in [(k, c) for k in kinds for c in KINDS[k][0]()]:
            found = {way: float(f"{v:.4g}") for way, v in KINDS[kind][1](case).items()}
            rows[kind].append({"threads": threads, **case._asdict(), "ms": found})
            print(rows[kind][-1], flush=True)
    lines = {kind: ",\n".join(map(json.dumps, found)) for kind, found in rows.items()}
    body = "".join(f',\n"{kind}": [\n{text}\n]' for kind, text in lines.items())
    path.write_text(f'{{"machine": {json.dumps(machine())}{body}}}\n')


# -- the fit


def reached(nbytes: int, sizes: Sequence[int]) -> list[int]:
    """Of each size 1 if so many bytes reach it, else 0."""
    return [min(nbytes // size, 1) for size in sizes]


def features(way: str, case: Case, threads: int) -> list[float]:
    """What the coefficients of a way are multiplied by, in thousands of points."""
    n, target, lines = case.points / 1e3, resolve("llvm").facts, -(-4 * case.row // 64)
    steps = reached(case.table_bytes, levels(target))
    brought = reached(4 * case.row * case.points, source_levels(target))
    each = [n, n * 4 * case.row / 64, *(n * s for s in steps), *(n * lines * s for s in steps + brought)]
    if way == "in order":
        return each
    if way == "index scan":
        return [*(x / threads for x in each), n, float(threads > 1)]
    if way == "privatised":
        chunks = chunk_count(case.points, case.rows, POINTS_PER_CELL, MIN_CHUNKS, MAX_CHUNKS)
    else:
        chunks = row_chunks(case.points * case.row, case.rows * case.row)
    clear = chunks * case.table_bytes / 64 / threads / 1e3
    return [*(x / min(threads, chunks) for x in each), clear, 2.0 * (threads > 1)]


def picking_features(way: str, case: Picks, threads: int) -> list[float]:
    """The same of a way to pick elements."""
    target, n = resolve("llvm").facts, case.points / threads / 1e3
    steps = reached(case.table_bytes, levels(target))
    brought = [n * s for s in reached(4 * case.points, source_levels(target))]
    if way == "in place":
        return [n, *(n * s for s in steps), *brought, float(threads > 1)]
    cells = case.deep * case.wide / threads / 1e3
    return [n, *(cells * s for s in steps), *brought, cells, float(threads > 1)]


def copying_features(way: str, case: Short, threads: int) -> list[float]:
    """The same of a way to copy short rows."""
    target, n = resolve("llvm").facts, case.points / threads / 1e3
    steps = reached(case.table_bytes, levels(target))
    each = [n, n * case.row_bytes / 64] + [n * min(case.width, VECTOR_CELLS)] * (way == "copied cells")
    return [*each, *(n * s for s in steps), float(threads > 1)]


def fitted(way: str, data: dict[str, Any]) -> tuple[list[float], float]:
    """Picoseconds, none negative, and the median error as a ratio."""
    from scipy.optimize import nnls

    a, b = [], []
    for row in data["picks" if way in PICKING else "copies" if way in COPYING else "rows"]:
        if way in row["ms"]:
            if way in PICKING:
                found = picking_features(way, Picks(row["deep"], row["wide"], row["rows"]), row["threads"])
            elif way in COPYING:
                found = copying_features(way, Short(*(row[k] for k in Short._fields)), row["threads"])
            else:
                found = features(way, Case(row["row"], row["table_bytes"], row["points"]), row["threads"])
            ms = row["ms"][way]
            a.append([x / ms for x in found])  # relative errors
            b.append(1.0)
    # features are thousands of points, times milliseconds: a coefficient of 1e-3 ms per 1000 points is 1000 ps
    x, _ = nnls(np.array(a), np.array(b))
    off = np.abs(np.log(np.array(a) @ x))
    return [float(v) * 1e6 for v in x], float(np.exp(np.median(off)))


OTHERS = {"index scan": "scan", "privatised": "clear", "chunked": "clear", "packed": "cell"}


def write(data: dict[str, Any]) -> None:
    """Write the module of the fitted numbers."""
    table, launches, target = {}, [], resolve("llvm").facts
    for way in (*RULES, *PICKING, *COPYING):
        found, off = fitted(way, data)
        numbers = iter([round(v) for v in found])
        times: dict[str, Any] = {"point": next(numbers)}
        if way not in PICKING:
            times["line"] = next(numbers)
        if way == "copied cells":
            times["cell"] = next(numbers)
        lists = (("waits", levels), ("line waits", levels), ("source waits", source_levels))
        for name, steps in lists if way in RULES else lists[:1] if way in COPYING else (lists[0], lists[2]):
            times[name] = [next(numbers) for _ in steps(target)]
        if way in OTHERS:
            times[OTHERS[way]] = next(numbers)
        if way in RULES and way != "in order":
            launches.append(found[-1] * 1e3)
        table[way] = times
        print(f"{way}: off by {off:.2f} on the median: {times}")
    table["launch"] = {"point": round(max(launches))}
    print("launches:", launches)
    body = "".join(f'    "{way}": {json.dumps(times)},\n' for way, times in table.items())
    head = FITTED.read_text().partition("TIMES: ")[0]
    FITTED.write_text(f"{head}TIMES: dict[str, dict[str, Any]] = {{\n{body}}}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--measure", nargs="*", choices=KINDS, help="measure all kinds or some, even if the file is there"
    )
    options = parser.parse_args()
    if options.measure is not None or not options.data.exists():
        measure(options.data, options.measure or [*KINDS])
    write(json.loads(options.data.read_text()))


if __name__ == "__main__":
    main()
