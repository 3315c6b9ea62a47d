"""Corners of NumPy's gathers and scatters that people meet: its error for an axis, and masks in ``ufunc.at``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.exceptions import AxisError

import gscompile as gs
from gscompile.dialects import numpy as gn

X = np.arange(6.0).reshape(2, 3)
AT = np.zeros((2, 1), int)
ROW, BOTH = np.array([True, False]), np.array([[True, False, True], [False, False, True]])


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.take(X, AT, axis=2),
        lambda m: m.take(X, AT, axis=-3),
        lambda m: m.take_along_axis(X, AT, 5),
        lambda m: m.put_along_axis(X, AT, 1.0, 5),
        lambda m: m.cumsum(X, 2),
        lambda m: m.cumprod(X, -4),
        lambda m: m.cumsum(np.array(5.0), 1),
    ],
)
def test_an_axis_that_is_not_there(call: Callable[[Any], Any]) -> None:
    with pytest.raises(AxisError) as theirs:
        call(np)
    with pytest.raises(AxisError) as ours:
        call(gn)
    assert isinstance(ours.value, gs.ShapeError)
    assert "axis must be in" in str(ours.value)
    assert (ours.value.axis, ours.value.ndim) == (theirs.value.axis, theirs.value.ndim)


@pytest.mark.parametrize(
    ("indices", "b"),
    [
        (ROW, 1.0),
        (BOTH, np.array([1.0, 2, 3])),
        ((ROW, np.array(1)), 1.0),
        ((ROW, BOTH[0]), 1.0),
        ([True, False], 1.0),
        ([0, 1], 1.0),
        (np.zeros(2, bool), 1.0),
        (BOTH, None),
    ],
)
def test_masks_in_ufunc_at(indices: Any, b: Any) -> None:
    want, got = X.copy(), X.copy()
    ufunc, rest = (np.negative, ()) if b is None else (np.add, (b,))
    ufunc.at(want, indices, *rest)
    gn.ufunc_at(ufunc, got, indices, *rest)
    assert np.array_equal(got, want)


def test_masks_in_ufunc_at_are_refused() -> None:
    for mask in (BOTH[0], BOTH[:, :2], (ROW, ROW)):
        with pytest.raises(gs.ShapeError, match="ufunc_at: extents of a mask"):
            gn.ufunc_at("add", X.copy(), mask, 1.0)
    builder = gs.Builder("masks")
    x, m = builder.input("x", (2, 3), "float64"), builder.input("m", (2, 3), "bool")
    with pytest.raises(gs.ArgumentError, match="ufunc_at: how many elements a bool mask picks"):
        gn.ufunc_at("add", x, m, 1.0)
    builder.output(gn.ufunc_at("add", x, BOTH, 1.0))
    assert np.array_equal(builder.build()(X, BOTH), X + BOTH)
