"""Bags of rows that an index finds, in the order of any seed: with offsets, with weights, with indices that are out of range."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.cuda import cpu_compiler, on_cpu
from tests.oracle import Array

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

N, K = 40, 150
OFFSETS = np.array([0, 0, 1, 34, 33, 34, 66, 130, 150, 150])  # empty, of one row, backwards, of 32 rows, of 64

Build = Callable[[gs.Builder, gs.Value, gs.Value, gs.Value, gs.Value], gs.Value]


def bags(how: str, bounds: str = "raise", weights: str = "") -> Build:
    def build(b: gs.Builder, x: gs.Value, i: gs.Value, w: gs.Value, ends: gs.Value) -> gs.Value:
        rows = b.take(x, i, bounds=bounds)
        if weights:
            rows = rows * (w if weights == "of rows" else b.take(w, i, bounds="clip"))
        return b.segment_reduce(rows, ends, how, empty=7)

    return build


CASES: dict[str, tuple[str, int, str, str, str]] = {
    "sums": ("float32", 64, "sum", "raise", ""),
    "sums of wide rows": ("float32", 256, "sum", "raise", ""),
    "means of float16": ("float16", 32, "mean", "raise", ""),
    "maxima": ("int32", 16, "max", "clip", ""),
    "dropped": ("float32", 16, "sum", "fill", ""),
    "odd rows": ("float32", 18, "sum", "fill", ""),
    "weighted": ("float32", 32, "sum", "raise", "of rows"),
    "weighted and dropped": ("float64", 8, "mean", "fill", "of rows"),
    "weights of the table": ("float32", 32, "sum", "raise", "of the table"),
}

FOLDS: dict[str, Any] = {"sum": np.sum, "mean": np.mean, "max": np.max}


def expected(x: Array, i: Array, w: Array, how: str, bounds: str, weights: str) -> Array:
    """Row after row."""
    out = np.full((len(OFFSETS) - 1, x.shape[1]), 7.0)
    for s, (begin, end) in enumerate(pairwise(OFFSETS)):
        rows = []
        for r in range(begin, end):
            at = i[r] + N if -N <= i[r] < 0 else i[r]
            inside = 0 <= at < N
            at = min(max(at, 0), N - 1)
            row = x[at].astype("f8") if inside or bounds == "clip" else np.zeros(x.shape[1])
            rows.append(row * ((w[r] if weights == "of rows" else w[at]) if weights else 1))
        if rows:
            out[s] = FOLDS[how](rows, 0)
    return out


def test_bags_with_offsets(tmp_path: Path) -> None:
    builders, calls = [], []
    for k, (name, (dtype, width, how, bounds, weights)) in enumerate(CASES.items()):
        b, rng = gs.Builder(f"g{k}"), np.random.default_rng(k)
        x = rng.integers(-9, 9, (N, width)).astype(dtype)
        i = rng.integers(-N, N, K)
        i[[0, 40, K - 1]] = N - 1, -N, 0
        if bounds != "raise":
            i[[1, 33, 77, 149]] = N, -N - 1, np.iinfo("int64").min, np.iinfo("int64").max
        w = rng.integers(-3, 3, (N if weights == "of the table" else K, 1)).astype(dtype)
        values = b.input("x", ("n", width), dtype), b.input("i", ("k",), "int64")
        others = b.input("w", ("m", 1), dtype) if weights == "of the table" else b.input("w", ("k", 1), dtype)
        b.output(bags(how, bounds, weights)(b, *values, others, b.input("ends", ("s",), "int64")))
        builders.append(b)
        calls.append((name, (x, i, w, OFFSETS), expected(x, i, w, how, bounds, weights)))
    for (module, _), (name, given, want) in zip(on_cpu(builders, tmp_path), calls, strict=True):
        for module.seed in (1, 2):
            np.testing.assert_allclose(module(*given).astype("f8"), want, rtol=2e-3, err_msg=name)
        for bad in (-1, K + 1):
            ends = OFFSETS.copy()
            ends[4] = bad
            with pytest.raises(gs.BoundsError):
                module(*given[:3], ends)


@pytest.mark.parametrize("length", [50, "l"])
def test_weighted_bags_of_one_length(length: int | str, tmp_path: Path) -> None:
    b, rng = gs.Builder("weighted"), np.random.default_rng(3)
    x, i = b.input("x", ("n", 64), "float32"), b.input("i", ("c", length), "int64")
    b.output(b.sum(b.take(x, i) * b.input("w", ("c", length, 1), "float32"), 1))
    ((module, _),) = on_cpu([b], tmp_path)
    for size in [50] if length == 50 else [50, 33, 5, 1, 0]:
        table, index = rng.integers(-9, 9, (N, 64)).astype("float32"), rng.integers(-N, N, (7, size))
        weights = rng.integers(-3, 3, (7, size, 1)).astype("float32")
        want = np.zeros((7, 64))
        for bag in range(7):
            for r in range(size):
                want[bag] += table[index[bag, r]].astype("f8") * weights[bag, r]
        for module.seed in (1, 2):
            np.testing.assert_allclose(module(table, index, weights), want, rtol=1e-4)


def test_bags_of_bools(tmp_path: Path) -> None:
    """TVM has no vectors of them: they are counted by columns."""
    b, rng = gs.Builder("bools"), np.random.default_rng(4)
    b.output(b.sum(b.take(b.input("x", ("n", 64), "bool"), b.input("i", (9, 20), "int64")), 1))
    ((module, _),) = on_cpu([b], tmp_path)
    table, index = rng.random((N, 64)) < 0.5, rng.integers(-N, N, (9, 20))
    np.testing.assert_array_equal(module(table, index), table[index].sum(1))
