"""Fits the llvm cost model to measurements: ``python benchmarks/fit.py benchmarks/results/*/ways.json``.

``--measure FILE`` measures every way to scatter rows, to pick elements of columns, and to copy short rows, on grids of facts, on
this machine (``--kind copies``: one of these, keeping what the file holds of the others): six minutes on two cores, which should
do nothing else.  Each machine is fitted with the sizes of its own caches, by least squares, alone and together with the others.
Of these fits the one goes to ``schedules/llvm/fitted.py`` that chooses best on all machines: the time of the way with the least
estimate over that of the best way, on the geometric mean; none where what is there chooses as well.  ``ruff format`` then
breaks its lines.  Needs SciPy, which JAX brings (``pip install '.[bench]'``).
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
from gscompile.schedules.llvm.costs import (
    accumulator_ways,
    gathered_bytes,
    levels,
    private_chunks,
    row_chunks,
    source_levels,
    unwaited,
)
from gscompile.schedules.llvm.fitted import TIMES
from gscompile.schedules.llvm.map import Rows
from gscompile.schedules.llvm.numbers import LINE_BYTES, MAX_CHUNKS, VECTOR_CELLS
from gscompile.schedules.llvm.owned import OwnedRows
from gscompile.schedules.llvm.packed_columns import PackedColumns
from gscompile.schedules.llvm.privatised import Privatised
from gscompile.schedules.rule import Target

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
DEEP, WIDE = (4, 16, 64, 256, 1024, 4096, 8192), (64, 512, 2048, 8192, 40_000)
PICKS_PER_ROW = (1 / 16, 1 / 4, 1, 4, 16)
MOST_TABLE_BYTES, MOST_PICKS = 64 << 20, 16 << 20
COPYING: dict[str, Callable[[], Any]] = {"copied rows": lambda: Copies(always=True), "copied cells": Rows}
SHORT = (1, 2, 3, 4, 6, 8, 12, 16)  # elements of a row that is copied
ITEMS = ("int8", "float16", "float32", "float64")
SHORT_TABLES, SHORT_POINTS = (1 << 15, 1 << 19, 1 << 22, 1 << 24, 1 << 26), (4_000, 200_000, 2_000_000)
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
            found = (Picks(deep, wide, int(deep * f)) for f in PICKS_PER_ROW if deep * f >= 1)
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
    x = np.ones((case.table_bytes // case.row_bytes, case.width), case.dtype)  # zeros would be one page
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
    here = resolve("llvm").facts
    target = {"arch": here.arch, "vector_bytes": here.vector_bytes}
    lines = {kind: ",\n".join(map(json.dumps, found)) for kind, found in rows.items() if found}
    body = "".join(f',\n"{kind}": [\n{text}\n]' for kind, text in lines.items())
    path.write_text(f'{{"machine": {json.dumps(machine())},\n"target": {json.dumps(target)}{body}}}\n')


# -- the fit


def reached(nbytes: int, sizes: Sequence[int]) -> list[int]:
    """Of each size 1 if so many bytes reach it, else 0."""
    return [min(nbytes // size, 1) for size in sizes]


def machine_of(data: dict[str, Any]) -> Target:
    """The machine that was measured."""
    caches = {level: int(size.removesuffix("K")) << 10 for level, size in data["machine"]["caches"].items()}
    cpu = data.get("target", {"arch": "", "vector_bytes": 32})
    return Target("llvm", cpu["vector_bytes"], cpu["arch"], caches["L2"], caches["L3"], data["machine"]["cores"])


def features(way: str, case: Case, threads: int, target: Target) -> list[float]:
    """What the coefficients of a way are multiplied by, in thousands of points."""
    n, lines = case.points / 1e3, -(-4 * case.row // 64)
    steps = reached(case.table_bytes, levels(target))
    brought = reached(4 * case.row * case.points, source_levels(target))
    each = [n, n * 4 * case.row / 64, *(n * s for s in steps), *(n * lines * s for s in steps + brought)]
    if way == "in order":
        return each
    if way == "index scan":
        return [*(x / threads for x in each), n, float(threads > 1)]
    if way == "privatised":
        chunks = private_chunks(case.points, case.rows, accumulator_ways(integer=False), MAX_CHUNKS)
    else:
        chunks = row_chunks(case.points * case.row, case.rows * case.row)
    clear = chunks * case.table_bytes / 64 / threads / 1e3
    return [*(x / min(threads, chunks) for x in each), clear, 2.0 * (threads > 1)]


def picking_features(way: str, case: Picks, threads: int, target: Target) -> list[float]:
    """The same of a way to pick elements."""
    n = case.points / threads / 1e3
    steps = reached(case.table_bytes, levels(target))
    brought = [n * s for s in reached(4 * case.points, source_levels(target))]
    if way == "in place":
        lines, first = n * min(4 * case.deep, LINE_BYTES) / LINE_BYTES, unwaited(case.deep)
        steps = [s if k >= first else 0 for k, s in enumerate(steps)]
        return [n, *(lines * s for s in steps), *brought, float(threads > 1)]
    cells = case.deep * case.wide / threads / 1e3
    return [n, *(cells * s for s in steps), *brought, cells, float(threads > 1)]


def copying_features(way: str, case: Short, threads: int, target: Target) -> list[float]:
    """The same of a way to copy short rows."""
    n = case.points / threads / 1e3
    steps = reached(case.table_bytes, levels(target))
    each = [n, n * case.row_bytes / 64]
    if way == "copied cells":
        together = n * min(case.width, VECTOR_CELLS)
        each += [together, n * gathered_bytes(case.row_bytes // case.width, case.width, target)]
    return [*each, *(n * s for s in steps), float(threads > 1)]


FEATURES: dict[str, tuple[type[Any], Callable[..., list[float]], dict[str, Any]]] = {
    "rows": (Case, features, RULES),
    "picks": (Picks, picking_features, PICKING),
    "copies": (Short, copying_features, COPYING),
}


def matrix(way: str, kind: str, data: dict[str, Any]) -> tuple[list[list[float]], list[int], list[float]]:
    """Features of a machine's measurements of a way, the measurements' numbers, and milliseconds."""
    case, found, _ = FEATURES[kind]
    rows = [(k, row) for k, row in enumerate(data[kind]) if way in row["ms"]]
    target = machine_of(data)
    each = [found(way, case(*(row[f] for f in case._fields)), row["threads"], target) for _, row in rows]
    return each, [k for k, _ in rows], [row["ms"][way] for _, row in rows]


def fitted(way: str, kind: str, machines: Sequence[dict[str, Any]]) -> list[float]:
    """Picoseconds, none negative."""
    from scipy.optimize import nnls

    found = [matrix(way, kind, data) for data in machines]
    a = np.concatenate([np.array(x) / np.array(ms)[:, None] for x, _, ms in found])  # relative errors
    # features are thousands of points, times milliseconds: a coefficient of 1e-3 ms per 1000 points is 1000 ps
    return [float(v) * 1e6 for v in nnls(a, np.ones(len(a)))[0]]


def chosen(kind: str, numbers: dict[str, list[float]], data: dict[str, Any]) -> list[float]:
    """How many times as long as the best way the one takes that is estimated to take least, where several were measured."""
    estimates: list[dict[str, float]] = [{} for _ in data[kind]]
    for way in FEATURES[kind][2]:
        each, places, _ = matrix(way, kind, data)
        for k, estimate in zip(places, np.array(each) @ numbers[way], strict=True):
            estimates[k][way] = estimate
    several = [(row["ms"], e) for row, e in zip(data[kind], estimates, strict=True) if len(e) > 1]
    return [ms[min(e, key=e.__getitem__)] / min(ms.values()) for ms, e in several]


def best_fit(kind: str, machines: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Of each way the numbers of the fit that chooses best on the machines where it was measured."""
    machines = [data for data in machines if data.get(kind)]
    names = [data["machine"]["cpu"] for data in machines]
    ways = FEATURES[kind][2]
    fits = [({way: standing(way, kind) for way in ways}, "as they stand")]
    for some, name in _sets(machines, names):
        fits.append(({way: fitted(way, kind, some) for way in ways}, f"fitted to {name}"))
    losses = []
    for numbers, name in fits:
        found = [np.array(chosen(kind, numbers, data)) for data in machines]
        losses.append(float(np.mean([np.log(x).mean() for x in found])))
        each = ", ".join(
            f"{n} {np.exp(np.log(x).mean()):.3f} (95 %: {np.quantile(x, 0.95):.2f})"
            for n, x in zip(names, found, strict=True)
        )
        print(f"{kind}, {name}: chosen / best on {each}")
    return fits[int(np.argmin(losses))][0]


def standing(way: str, kind: str) -> list[float]:
    """The numbers of a way as they are, in the order of its features."""
    times = TIMES[way]
    listed = (v if isinstance(v, list) else [v] for v in times.values())
    numbers = [float(v) for each in listed for v in each]
    if way == "in order":
        return numbers
    launches = kind == "rows" or way == "packed"
    return [*numbers, TIMES["launch"]["point"] / 1e3 if launches else 0.0]


def _sets(machines: Sequence[Any], names: Sequence[str]) -> Iterator[tuple[Sequence[Any], str]]:
    """Each machine, and all of them."""
    yield from (([data], name) for data, name in zip(machines, names, strict=True))
    if len(machines) > 1:
        yield machines, "all"


OTHERS = {"index scan": "scan", "privatised": "clear", "chunked": "clear", "packed": "cell"}


def write(machines: Sequence[dict[str, Any]]) -> None:
    """Write the module of the fitted numbers."""
    table, launches, target = {}, [], machine_of(machines[0])
    for kind in FEATURES:
        for way, found in best_fit(kind, machines).items():
            numbers = iter([round(v) for v in found])
            times: dict[str, Any] = {"point": next(numbers)}
            if kind != "picks":
                times["line"] = next(numbers)
            if way == "copied cells":
                times["cell"], times["gathered byte"] = next(numbers), next(numbers)
            lists = (("waits", levels), ("line waits", levels), ("source waits", source_levels))
            for name, steps in {"rows": lists, "picks": (lists[0], lists[2]), "copies": lists[:1]}[kind]:
                times[name] = [next(numbers) for _ in steps(target)]
            if way in OTHERS:
                times[OTHERS[way]] = next(numbers)
            if kind == "rows" and way != "in order":
                launches.append(found[-1] * 1e3)
            table[way] = times
    table["launch"] = {"point": round(max(launches))}
    body = "".join(f'    "{way}": {json.dumps(times)},\n' for way, times in table.items())
    head, _, rest = FITTED.read_text().partition("TIMES: ")
    numbers = rest[rest.index("NUMBERS: ") :]
    FITTED.write_text(f"{head}TIMES: dict[str, dict[str, Any]] = {{\n{body}}}\n\n{numbers}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, nargs="*", help="what was measured, of each machine")
    parser.add_argument("--measure", type=Path, metavar="FILE", help="measure this machine")
    parser.add_argument("--kind", choices=KINDS, help="of --measure; all by default")
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, [options.kind] if options.kind else [*KINDS])
    if options.data:
        write([json.loads(path.read_text()) for path in options.data])


if __name__ == "__main__":
    main()
