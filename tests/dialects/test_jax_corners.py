"""Corners of JAX's and XLA's gathers and scatters that people meet: empty axes, masks, modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import jax as gj
from gscompile.dialects import xla as gx
from tests.frameworks import need

jax = need("jax")
lax, jnp = jax.lax, jax.numpy
X = np.arange(6.0).reshape(2, 3)
ROW, BOTH = np.array([True, False]), np.array([[True, False, True], [False, False, True]])


@pytest.mark.parametrize("mode", [None, "fill", "clip", "promise_in_bounds", "drop"])
def test_an_axis_without_elements_gives_zeros(mode: str | None) -> None:
    index = np.array([[0, 1], [2, -1]])
    for dtype in ("float32", "int8", "bool"):
        x = np.zeros((2, 0), dtype)
        want = np.asarray(jnp.take_along_axis(jnp.asarray(x), jnp.asarray(index), 1, mode=mode))
        got = gj.take_along_axis(x, index, 1, mode=mode)
        assert np.array_equal(got, want), dtype
        assert got.dtype == want.dtype


@pytest.mark.parametrize(
    ("key", "values"),
    [
        (ROW, 9.0),
        (ROW, np.array([7.0, 8.0, 9.0])),
        (BOTH, 9.0),
        (BOTH, np.array([7.0, 8.0, 9.0])),
        ((ROW, 1), 5.0),
        ((slice(None), BOTH[0]), 2.0),
        ((..., BOTH[0]), 2.0),
        ((ROW, BOTH[0]), np.array([7.0, 8.0])),
        ((None, BOTH), 2.0),
        (np.zeros(2, bool), 1.0),
    ],
)
def test_masks_at(key: Any, values: Any) -> None:
    ours, theirs = gj.at(X)[key], jnp.asarray(X).at[key]
    assert np.array_equal(ours.get(), theirs.get())
    for method in ("set", "add", "multiply", "max"):
        assert np.array_equal(getattr(ours, method)(values), getattr(theirs, method)(values)), method


def test_masks_at_are_refused() -> None:
    for key in (np.array([True, False, True]), BOTH[:, :2], (0, 0, ROW)):
        with pytest.raises(gs.ShapeError, match="mask"):
            gj.at(X)[key].set(1.0)
    b = gs.Builder("masks")
    x, m = b.input("x", (2, 3), "float64"), b.input("m", (2, 3), "bool")
    with pytest.raises(gs.ArgumentError, match=r"at: how many elements a bool mask picks"):
        gj.at(x)[m].set(1.0)
    b.output(gj.at(x)[BOTH].add(1.0), gj.at(x)[b.constant(BOTH)].set(0.0))
    added, cleared = b.build()(X, BOTH)
    assert np.array_equal(added, X + BOTH)
    assert np.array_equal(cleared, X * ~BOTH)


@pytest.mark.parametrize("mode", [None, "fill", "clip", "drop", "promise_in_bounds", *lax.GatherScatterMode])
def test_modes_of_slices(mode: Any) -> None:
    if mode is getattr(lax.GatherScatterMode, "ONE_HOT", 0):
        with pytest.raises(gs.ArgumentError, match="mode must be"):
            gx.gather(np.zeros(2), np.array([[0]]), [1], [], [], [], [0], 1, [1], mode=mode)
        return
    starts = np.array([[-3], [8], [2], [20]])
    for dtype in ("float32", "int32", "uint8", "bool"):
        x = np.arange(10).astype(dtype)
        want = lax.gather(jnp.asarray(x), starts, lax.GatherDimensionNumbers((1,), (), (0,)), (3,), mode=mode)
        got = gx.gather(x, starts, [1], [], [], [], [0], 1, [3], mode=mode)
        assert np.array_equal(got, want, equal_nan=dtype == "float32"), dtype
    x, ones = np.arange(10, dtype="float32"), np.ones((4, 3), "float32")
    want = lax.scatter_add(jnp.asarray(x), starts, ones, lax.ScatterDimensionNumbers((1,), (), (0,)), mode=mode)
    got = gx.scatter(x, starts, ones, [1], [], [], [], [0], 1, update_computation=lambda a, b: a + b, mode=mode)
    assert np.array_equal(got, want)


def test_a_mode_is_refused_and_a_fill_value_taken() -> None:
    x, starts = np.arange(4.0), np.array([[3], [1]])
    assert gx.gather(x, starts, [1], [], [], [], [0], 1, [2], mode="fill", fill_value=7).tolist() == [[7, 7], [1, 2]]
    for mode in ("FILL_OR_DROP", "fill_or_drop", 1, "wrap"):
        with pytest.raises(gs.ArgumentError, match="gather: mode must be"):
            gx.gather(x, starts, [1], [], [], [], [0], 1, [2], mode=mode)


def test_a_batching_axis_without_elements() -> None:
    x, index = np.zeros((0, 4)), np.zeros((0, 2, 1), int)
    assert gx.gather(x, index, [], [1], [0], [0], [1], 2, [0, 1]).shape == (0, 2)
    assert gx.gather(x, index, [], [1], [0], [0], [1], 2, [1, 1], mode="clip").shape == (0, 2)
    with pytest.raises(gs.ShapeError, match="C21"):
        gx.gather(x, index, [], [1], [0], [0], [1], 2, [1, 1])
    assert gx.scatter(x, index, np.zeros((0, 2)), [], [1], [0], [0], [1], 2).shape == (0, 4)
