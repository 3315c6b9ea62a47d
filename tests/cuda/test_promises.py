"""Scatters whose points are promised to be sorted, by every kind of index map: the rules see which points follow each other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.ir.index_map import Indexed, IndexMap, Place, Shared, Source, Window
from tests.cuda import cpu_compiler, on_cpu
from tests.oracle import Array

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

FIRST: Place = ("index", 0)
SECOND: Place = ("index", 1)
THIRD: Place = ("index", 2)
ROW: Place = ("window", 0)


@dataclass(frozen=True)
class Case:
    """A map, the extents of index without its vector axis, and of data but for its rows."""

    map: IndexMap
    grid: tuple[int, ...]
    data: tuple[int, ...]


ROWS = {
    "plain": Case(IndexMap((Indexed(0), Window(0)), (FIRST, ROW)), (150,), (9,)),
    "batch first": Case(IndexMap((Shared(0), Indexed(0), Window(0)), (FIRST, SECOND, ROW)), (3, 90), (3, 5)),
    "batch last": Case(IndexMap((Indexed(0), Shared(1), Window(0)), (FIRST, SECOND, ROW)), (9, 70), (4, 70)),
    "batch between": Case(
        IndexMap((Indexed(0), Shared(1), Window(0)), (FIRST, SECOND, THIRD, ROW)), (4, 3, 40), (7, 4)
    ),
    "only batch": Case(IndexMap((Shared(0), Indexed(0), Window(0)), (FIRST, ROW)), (40,), (40, 3)),
    "two axes": Case(IndexMap((Indexed(0), Window(0)), (FIRST, SECOND, ROW)), (9, 40), (11,)),
    "two axes, exchanged": Case(IndexMap((Indexed(0), Window(0)), (SECOND, FIRST, ROW)), (40, 9), (11,)),
    "vectors": Case(IndexMap((Indexed(0), Indexed(1), Window(0)), (FIRST, ROW), vector_axis=1), (150,), (3, 4)),
    "rows in between": Case(IndexMap((Indexed(0), Window(0)), (FIRST, ROW, SECOND)), (9, 40), (11,)),
}
REDUCTIONS = [("float32", "add", True), ("float16", "mean", False), ("int32", "max", False), ("float64", "mul", True)]


def sorted_index(case: Case) -> Array:
    """Places that ascend for each position on the shared axes; some are dropped."""
    m, rng = case.map, np.random.default_rng(len(case.data))
    extents = [case.data[a] for a in m.indexed_axes]
    flat = rng.integers(0, np.prod(extents), case.grid)
    own = m.own_axes
    moved = np.moveaxis(flat, own, range(len(own)))
    shape = moved.shape
    flat = np.moveaxis(np.sort(moved.reshape(-1, *shape[len(own) :]), 0).reshape(shape), range(len(own)), own)
    vectors = np.stack(np.unravel_index(flat, extents), -1)
    vectors[rng.random(case.grid) < 0.1] = 1000
    return vectors[..., 0] if m.vector_axis is None else vectors


def coordinate(s: Source, vector: Array, grid: tuple[int, ...], window: tuple[int, ...]) -> int:
    """Of a cell on an axis of data."""
    if isinstance(s, Indexed):
        return int(vector[s.component])
    return grid[s.axis] if isinstance(s, Shared) else window[0]


def expected(case: Case, reduction: str, include: bool, x: Array, i: Array, v: Array) -> Array:
    """Point after point."""
    m, out, count = case.map, x.astype("f8"), np.full(x.shape, int(include))
    width = [range(v.shape[m.layout.index(ROW)])] if ROW in m.layout else []
    for grid in itertools.product(*map(range, case.grid)):
        vector = np.atleast_1d(i[grid])
        if (vector == 1000).any():
            continue
        for window in itertools.product(*width):
            cell = tuple(coordinate(s, vector, grid, window) for s in m.sources)
            value = float(v[tuple(grid[j] if kind == "index" else window[j] for kind, j in m.layout)])
            old = out[cell] if count[cell] else {"max": -np.inf, "mul": 1.0}.get(reduction, 0.0)
            out[cell] = max(old, value) if reduction == "max" else old * value if reduction == "mul" else old + value
            count[cell] += 1
    return out / np.maximum(count, 1) if reduction == "mean" else out


@pytest.mark.parametrize(("width", "promised"), [(8, True), (3, True), (None, True), (8, False)])
def test_points_of_every_map(width: int | None, promised: bool, tmp_path: Path) -> None:
    """Rows of 8, of 3, and single elements; in other orders of threads, none of which race."""
    builders, calls = [], []
    for k, (name, case) in enumerate(ROWS.items()):
        m, (dtype, reduction, include) = case.map, REDUCTIONS[0 if width == 8 else k % len(REDUCTIONS)]
        if width is None:
            m = IndexMap(m.sources[:-1], tuple(p for p in m.layout if p != ROW), m.vector_axis)
        case, b = Case(m, case.grid, case.data), gs.Builder(f"g{k}")
        index = sorted_index(case)
        shape = (*case.data, *([] if width is None else [width]))
        x, i = b.input("x", shape, dtype), b.input("i", index.shape, "int64")
        points = tuple(n for n in m.points_shape(shape, index.shape) if isinstance(n, int))
        v = b.input("v", points, dtype)
        rules: dict[str, Any] = {"reduction": reduction, "include_self": include, "sorted": promised, "bounds": "fill"}
        b.output(b.scatter_map(x, i, v, m, **rules))
        builders.append(b)
        rng = np.random.default_rng(k)
        arrays = [rng.integers(-9, 9, shape), index, rng.integers(-9, 9, points)]
        if reduction == "mul":
            arrays[2] = np.where(arrays[2] < 0, -1, 1)
        given = [arrays[0].astype(dtype), index, arrays[2].astype(dtype)]
        calls.append((name, given, expected(case, reduction, include, *given)))
    for (module, _), (name, given, want) in zip(on_cpu(builders, tmp_path), calls, strict=True):
        for module.seed in (1, 2, 3):
            got = module(*given)
            np.testing.assert_allclose(got.astype("f8"), want, rtol=1e-3, err_msg=name)
