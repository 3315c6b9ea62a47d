"""``reduction="argmax"`` and ``"argmin"``: against loops, on llvm and on cuda's kernels, for sizes known and unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate

Array = np.ndarray[Any, Any]


def loops(
    x: Array, i: Array, s: Array, largest: bool, include_self: bool, bounds: str = "raise"
) -> tuple[Array, Array]:
    """``put`` along axis 0, as pytorch_scatter's scatter_max, but that NaN beats every number."""
    value, at = x.copy(), np.full(x.shape, len(i))
    for e, row in enumerate(i):
        if bounds == "fill" and not -len(x) <= row < len(x):
            continue
        for f in np.ndindex(x.shape[1:]):
            old, new = value[(row, *f)], s[(e, *f)]
            first = not include_self and at[(row, *f)] == len(i)
            better = new > old if largest else new < old
            if first or better or (new != new and old == old):
                value[(row, *f)], at[(row, *f)] = new, e
    return value, at


def drawn(dtype: str, n: int, k: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(n * k)
    x, s = (rng.integers(0 if dtype[0] in "ub" else -4, 4, (m, 3)).astype(dtype) for m in (n, k))
    if dtype.startswith("float"):
        s[rng.random(s.shape) < 0.1] = np.nan
    return x, rng.integers(-n, n, k), s


@pytest.mark.parametrize(
    ("dtype", "symbolic"), [("float32", False), ("float32", True), ("float16", False), ("int8", True), ("bool", False)]
)
def test_against_loops(dtype: str, symbolic: bool) -> None:
    n, k = 5, 40
    b = gs.Builder("best")
    rows, points = ("n", "k") if symbolic else (n, k)
    x, i, s = b.input("x", (rows, 3), dtype), b.input("i", (points,), "int64"), b.input("s", (points, 3), dtype)
    ways = [(how, include_self) for how in ("argmax", "argmin") for include_self in (False, True)]
    for how, include_self in ways:
        b.output(*b.put(x, i, s, reduction=how, include_self=include_self))
    arrays = drawn(dtype, n, k)
    want = [a for how, include_self in ways for a in loops(*arrays, how == "argmax", include_self)]
    for results in (b.build()(*arrays), emulate(b)(*arrays)):
        for got, expected in zip(results, want, strict=True):
            assert got.dtype == expected.dtype
            assert np.array_equal(got, expected, equal_nan=dtype.startswith("float"))


def test_positions_on_other_maps() -> None:
    b = gs.Builder("maps")
    x, e = b.input("x", (2, 5), "float32"), b.input("e", (2, 4), "int64")
    s = b.input("s", (2, 4), "float32")
    elements = b.scatter(x, e, s, 1, reduction="argmax", include_self=False)
    grid = b.put(x, b.input("g", (2, 3), "int64"), b.input("t", (2, 3, 5), "float32"), reduction="argmin")
    dropped = b.put(x, b.constant([0, 9]), s[:, :1], reduction="argmax", bounds="fill", include_self=False)
    none = b.put(x, b.zeros((0,), "int64"), 1, reduction="argmax")
    b.output(*elements, *grid, *dropped, *none)
    rng = np.random.default_rng(1)
    data, src, t = (rng.random(shape).astype("float32") for shape in [(2, 5), (2, 4), (2, 3, 5)])
    at, g = rng.integers(0, 5, (2, 4)), rng.integers(0, 2, (2, 3))
    results = b.build()(data, at, src, g, t)
    for r in range(2):
        value, place = loops(data[r], at[r], src[r], True, False)
        assert np.array_equal(results[0][r], value)
        assert np.array_equal(results[1][r], place)
    value, place = loops(data, g.ravel(), t.reshape(6, 5), False, True)
    assert np.array_equal(results[2], value)
    assert np.array_equal(results[3], place)  # row-major among the index's elements
    assert np.array_equal(results[5], [[0] * 5, [2] * 5])
    assert np.array_equal(results[6], data)
    assert not results[7].any()  # as many as there are points: none


def test_the_same_for_any_number_of_threads() -> None:
    b = gs.Builder("threads")
    x, i, s = b.input("x", ("n",), "int32"), b.input("i", ("k",), "int64"), b.input("s", ("k",), "int32")
    b.output(*b.put(x, i, s, reduction="argmax", include_self=False))
    m = b.build()
    rng = np.random.default_rng(0)
    arrays = np.zeros(50, "int32"), rng.integers(0, 50, 100_000), rng.integers(0, 9, 100_000).astype("int32")
    before = gs.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            gs.set_num_threads(threads)
            found.append(m(*arrays))
    finally:
        gs.set_num_threads(before)
    for value, at in found:
        assert np.array_equal(at, found[0][1])
        assert (value == 8).all()
        assert (arrays[2][at] == 8).all()
        assert all(not (arrays[2][:p][arrays[1][:p] == cell] == 8).any() for cell, p in enumerate(at))  # the first


def test_mistakes() -> None:
    b = gs.Builder("mistakes")
    x, i = b.input("x", (4,), "float32"), b.input("i", (3,), "int64")
    with pytest.raises(gs.ShapeError, match="put: src"):
        b.put(x, i, b.zeros((2,)), reduction="argmax")
    with pytest.raises(gs.ArgumentError, match="scatter: unknown reduction 'argbest'"):
        b.scatter(x, i, 1, reduction="argbest")
    with pytest.raises(gs.DTypeError, match="put: src must have data's dtype"):
        b.put(x, i, i, reduction="argmin")
    b.output(*b.put(x, i, 1, reduction="argmin"))
    with pytest.raises(gs.BoundsError, match=r"i\[1\] = 4"):
        b.build()(np.zeros(4, "float32"), np.array([0, 4, 0]))


@pytest.mark.parametrize("rows", [20, "k"])
def test_runs_of_rows(rows: int | str) -> None:
    b = gs.Builder("runs")
    x, flat = b.input("x", (rows, 3), "float32"), b.input("flat", (rows,), "float16")
    o = b.input("o", (5,), "int64")
    for how in ("argmax", "argmin"):
        b.output(*b.segment_reduce(x, o, how), *b.segment_reduce(flat, o, how, empty=0))
    _, _, data = drawn("float32", 5, 20)
    offsets = np.array([3, 9, 9, 4, 20])  # the second run and the third are empty
    arrays = data, data[:, 0].astype("float16"), offsets
    for results in (b.build()(*arrays), emulate(b)(*arrays)):
        for k, arg in enumerate((np.argmax, np.argmin)):
            for n, a in enumerate(arrays[:2]):
                value, at = results[4 * k + 2 * n : 4 * k + 2 * n + 2]
                for s in range(4):
                    run = a[offsets[s] : offsets[s + 1]]
                    if len(run):
                        assert np.array_equal(at[s], offsets[s] + arg(run, 0))
                        assert np.array_equal(value[s], np.take_along_axis(a, at[s][None], 0)[0], equal_nan=True)
                    else:
                        assert (at[s] == 20).all()
