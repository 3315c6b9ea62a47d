"""Cumulative sums and products, against plain loops and NumPy, on all paths."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from tests import oracle
from tests.cases import DTYPES, numpy_dtype, random_data
from tests.oracle import Array, assert_same
from tests.paths import reference

FLAGS = tuple(itertools.product((False, True), repeat=2))
SCANS = {"cumsum": "add", "cumprod": "mul"}
PATHS = ("llvm", "cuda", "cuda backward", "reference")


def module(b: gs.Builder, path: str) -> Any:
    if path == "reference":
        return reference(b.graph())
    return b.build() if path == "llvm" else emulate(b, backward=path == "cuda backward")


def whole(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Whole numbers whose sums and products are exact in every order, with a few larger than 1."""
    rng = np.random.default_rng(seed)
    low = 0 if dtype.startswith("u") or dtype == "bool" else -1
    x = rng.integers(low, 2, shape)
    return np.where(rng.random(shape) < 0.05, 2, x).astype(numpy_dtype(dtype))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: str, path: str) -> None:
    """NumPy's result dtypes; integers wrap, NaN and infinities go on, -0.0 alone stays."""
    b = gs.Builder("scans")
    x = b.input("x", ("n", 6), dtype)
    calls = [(name, axis, *flags) for name in SCANS for axis, flags in zip((0, 1, -1, -2), FLAGS, strict=True)]
    b.output(*(getattr(b, name)(x, axis, exclusive=e, reverse=r) for name, axis, e, r in calls))
    run = module(b, path)
    for n in (5, 1, 0):
        data = random_data(np.random.default_rng(n), (n, 6), dtype)
        for got, (name, axis, e, r) in zip(run(data), calls, strict=True):
            assert_same(got, oracle.scan_ref(data, axis, SCANS[name], None, e, r))
    zeros = np.full((3, 6), -0.0).astype(numpy_dtype(dtype))
    assert_same(run(zeros)[0], oracle.scan_ref(zeros, 0, "add"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "shape", [(7,), (1,), (0,), (5, 6, 3), (4, 0, 2), (0, 3), (2, 1, 3), (3, 70), (70, 3)], ids=str
)
def test_every_axis(shape: tuple[int, ...], path: str) -> None:
    b = gs.Builder("scans")
    x = b.input("x", shape, "int32")
    calls = [(axis, *flags) for axis in range(-len(shape), len(shape)) for flags in FLAGS]
    b.output(*(b.cumsum(x, axis, exclusive=e, reverse=r) for axis, e, r in calls))
    data = random_data(np.random.default_rng(0), shape, "int32")
    for got, (axis, e, r) in zip(module(b, path)(data), calls, strict=True):
        assert_same(got, oracle.scan_ref(data, axis, "add", None, e, r))


@pytest.mark.parametrize("path", PATHS)
def test_result_dtypes(path: str) -> None:
    """Elements are cast first."""
    b = gs.Builder("scans")
    x = b.input("x", (9,), "float32")
    dtypes = ("int8", "uint64", "float16", "bfloat16", "float64", "bool")
    b.output(*(b.cumsum(x, dtype=d) for d in dtypes))
    data = np.linspace(0.2, 60, 9, dtype="float32")
    for got, d in zip(module(b, path)(data), dtypes, strict=True):
        assert_same(got, oracle.scan_ref(data, 0, "add", numpy_dtype(d)))


@pytest.mark.parametrize("path", PATHS[:3])
def test_of_a_scalar_one_element_comes(path: str) -> None:
    b = gs.Builder("scans")
    b.output(b.cumsum(b.input("x", (), "int8"), -1))
    assert_same(module(b, path)(np.array(3, "int8")), np.cumsum(np.array(3, "int8"), axis=-1))


# shapes along whose axis there are blocks on some path: whole ones, a part at the end, few and many rows
LONG = [
    ((20_000,), 0),
    ((8_192,), 0),
    ((3, 9_001), 1),
    ((9_001, 3), 0),
    ((2, 1_300, 70), 1),
    ((70, 4_100), 1),
    ((600, 70), 0),
]


@pytest.mark.parametrize("path", PATHS[:3])
@pytest.mark.parametrize("static", [True, False], ids=["static", "symbolic"])
@pytest.mark.parametrize(("shape", "axis"), LONG, ids=str)
def test_long_axes_go_by_blocks(shape: tuple[int, ...], axis: int, static: bool, path: str) -> None:
    b = gs.Builder("scans")
    x = b.input("x", shape if static else tuple(f"n{k}" for k in range(len(shape))), "int32")
    calls = [("cumsum", False, False), ("cumsum", True, True), ("cumprod", True, False)]
    b.output(*(getattr(b, name)(x, axis, exclusive=e, reverse=r) for name, e, r in calls))
    run = module(b, path)
    for n in (shape[axis], 3):
        data = random_data(np.random.default_rng(n), (*shape[:axis], n, *shape[axis + 1 :]), "int32")
        if static and n != shape[axis]:
            continue
        for got, (name, e, r) in zip(run(data), calls, strict=True):
            y = np.flip(data, axis) if r else data
            want = getattr(np, name)(y, axis=axis)
            if e:
                want = np.roll(want, 1, axis)
                np.moveaxis(want, axis, 0)[0] = 0 if name == "cumsum" else 1
            assert_same(got, np.flip(want, axis) if r else want)


def test_threads_share_the_blocks_and_the_result_stays() -> None:
    rng = np.random.default_rng(0)
    runs = []
    for shape, axis in [((50_000,), 0), ((3, 20_000), 1), ((5_000, 20), 0), ((300, 400), 1)]:
        b = gs.Builder("scans")
        b.output(b.cumsum(b.input("x", shape, "float32"), axis))
        x = rng.standard_normal(shape).astype("float32")
        runs.append((b.build(), x, np.cumsum(x, axis=axis, dtype="float64")))
    was = gs.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            gs.set_num_threads(threads)
            results.append([run(x).tobytes() for run, x, _ in runs])
    finally:
        gs.set_num_threads(was)
    assert results[0] == results[1] == results[2]
    for run, x, want in runs:
        np.testing.assert_allclose(run(x), want, atol=1e-2)


@pytest.mark.parametrize("path", PATHS[:2])
def test_what_is_costly_is_computed_once_before(path: str) -> None:
    """A chain into and out of a scan; a gather's indices are checked."""
    b = gs.Builder("net")
    x, i = b.input("x", (40,), "float32"), b.input("i", ("k",), "int64")
    rows = b.take(b.exp(x), i)
    b.output(b.cumsum(rows) * 2, b.cumsum(b.tanh(rows) + rows))
    run = module(b, path)
    data, at = np.linspace(-1, 1, 40, dtype="float32"), np.array([3, 39, -1, 0, 3])
    got, again = run(data, at)
    picked = np.exp(data)[at]
    np.testing.assert_allclose(got, np.cumsum(picked) * 2, rtol=1e-5)
    np.testing.assert_allclose(again, np.cumsum(np.tanh(picked) + picked), rtol=1e-5)
    with pytest.raises(gs.BoundsError, match="out of range"):
        run(data, np.array([0, 40]))


def test_wrong_arguments() -> None:
    b = gs.Builder("net")
    x = b.input("x", (4, 5), "float32")
    with pytest.raises(gs.ShapeError, match=r"cumsum: axis must be in \[-2, 1\] for rank 2; got 2"):
        b.cumsum(x, 2)
    with pytest.raises(gs.ArgumentError, match="cumprod: reverse must be True or False; got 1"):
        b.cumprod(x, 0, reverse=1)  # type: ignore[arg-type]
    with pytest.raises(gs.ArgumentError, match="cumsum: axis must be an int; got None"):
        b.cumsum(x, None)  # type: ignore[arg-type]
    with pytest.raises(gs.DTypeError, match="unknown dtype 'complex31'"):
        b.cumsum(x, dtype="complex31")
