"""Scans on cuda by warps and blocks, whatever the order of threads; and what they read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.cuda import cpu_compiler, on_cpu
from tests.cuda.counters import counted

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

SHAPES = [
    ((7,), 0),
    ((3000,), 0),
    ((5, 1700), 1),
    ((2100, 7), 1),  # a warp for each row
    ((520, 513), 1),  # a thread adds up
    ((700, 1), 0),
    ((1700, 3), 0),
    ((4, 600, 5), 1),
    ((0,), 0),
    ((3, 0), 1),
    ((0, 3), 1),
]
LONG = ((530_000,), 0)  # more parts than a block has threads
WAYS: list[tuple[str, str, dict[str, bool]]] = [
    ("cumsum", "float32", {}),
    ("cumsum", "int32", {"exclusive": True}),
    ("cumprod", "float64", {"reverse": True}),
    ("cumsum", "float16", {"exclusive": True, "reverse": True}),
    ("cumsum", "bool", {}),
]


@pytest.mark.parametrize(("op", "dtype", "options"), WAYS, ids=[f"{op}-{dtype}" for op, dtype, _ in WAYS])
def test_scans_are_those_of_numpy(op: str, dtype: str, options: dict[str, bool], tmp_path: Path) -> None:
    rng, builders, given = np.random.default_rng(3), [], []
    for k, (shape, axis) in enumerate([*SHAPES, *([LONG] if dtype == "float32" else [])]):
        # the ways take turns with sizes that are known; of none that are known nothing is launched
        symbolic = 0 in shape or (k + len(op) + len(dtype) + len(options)) % 2 == 0
        b = gs.Builder(f"scan{k}")
        sizes: Any = [f"n{k}" for k in range(len(shape))] if symbolic else shape
        b.output(getattr(b, op)(b.input("x", sizes, dtype), axis, **options))
        builders.append(b)
        given.append((shape, axis))
    for (m, _), (shape, axis) in zip(on_cpu(builders, tmp_path), given, strict=True):
        assert m.stats.kernels[0][1] == "scans"
        # float16 holds the sums of up to 600 of these, and is infinite or NaN in none
        x = rng.integers(-1, 2, shape) if op == "cumsum" else rng.choice([-1, 1], shape)
        x = x.astype(dtype)
        want = np.flip(x, axis) if options.get("reverse") else x
        wide = {"f": "float64", "i": "int64", "b": "int64"}[x.dtype.kind]
        want = getattr(np, op)(want, axis, dtype=wide)
        if options.get("exclusive"):
            want = want - (np.flip(x, axis) if options.get("reverse") else x)
        want = np.flip(want, axis) if options.get("reverse") else want
        for m.seed in (0, 1):
            got = m(x)
            np.testing.assert_array_equal(got, want.astype(got.dtype))


@pytest.mark.parametrize(("shape", "axis"), [((50_000,), 0), ((20, 4096), 1)])
def test_elements_are_read_twice_side_by_side(shape: tuple[int, ...], axis: int, tmp_path: Path) -> None:
    b = gs.Builder("sectors")
    b.output(b.cumsum(b.input("x", shape, "float32"), axis))
    ((m, _),) = on_cpu([b], tmp_path)
    x = np.ones(shape, "float32")
    with counted() as found:
        m(x)
    assert len(found) == 3 and sum(s.lanes for a in found for s in a.sites if s.access == "atomic") == 0
    sites = [s for a in found for s in a.sites if s.buffer.startswith(("x", "out"))]
    assert sum(s.lanes for s in sites if s.access == "read") <= 2 * x.size
    assert sum(s.lanes for s in sites if s.access == "write") == x.size
    assert all(s.used > 0.9 for s in sites)
