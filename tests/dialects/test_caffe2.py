"""gscompile.dialects.caffe2 against what Caffe2 (of the torch 1.8.1 wheel, CPU) was seen to give.

Seen by running that release: which negative indices wrap, what is refused, ScatterWeightedSum's two passes with duplicates
(``x = 1``, indices (1, 1), ``w0 = 0.5``: the row is scaled twice, then both updates are added), the last of ScatterAssign's
duplicates wins.  Shapes are those of its operators' documentation, written in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import caffe2 as gc
from tests.dialects.differential import Against, Draw

SEEN = "caffe2 of torch 1.8.1, numbers seen"


def agree(function: str, ours: Any, theirs: Any, label: Any = "") -> None:
    Against("caffe2", function, SEEN).agree(ours, theirs, label)


def refuse() -> Any:
    raise IndexError("refused by caffe2")


@pytest.mark.parametrize("seed", range(40))
def test_gather(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(2, 5), empty=0)
    x = d.data(shape, d.choice(("float32", "int32", "bool", "float64")))
    axis = d.integer(0, len(shape) - 1)
    wrap = d.maybe(0.5)
    i = d.index(d.shape(d.integer(0, 2)), shape[axis], d.choice(("int32", "int64")), wild=0.2)
    low = -shape[axis] if wrap or axis == 0 else 0
    fits = bool(np.all((i >= low) & (i < shape[axis])))
    label = (shape, axis, wrap, i.shape)
    theirs: Any = (lambda: np.take(x, i, axis)) if fits else refuse
    agree("Gather", lambda: gc.Gather(x, i, axis=axis, wrap_indices=wrap), theirs, label)
    fits = bool(np.all((i >= 0) & (i < shape[1])))
    agree("BatchGather", lambda: gc.BatchGather(x, i), (lambda: np.take(x, i, 1)) if fits else refuse, label)


def test_gather_that_matches_outer_axes() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    i = np.array([[0, 2], [1, 1]])
    want = np.stack([x[k][i[k]] for k in range(2)])
    agree("Gather", lambda: gc.Gather(x, i, axis=1, match_outer=True), lambda: want)
    agree("Gather", lambda: gc.Gather(x, i[:1], axis=1, match_outer=True), refuse)


@pytest.mark.parametrize("seed", range(30))
def test_scatter(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(2, 4), empty=0)
    x, u = d.data(shape), d.data(shape)
    axis = d.integer(0, len(shape) - 1)
    i = d.index(shape, shape[axis], d.choice(("int32", "int64")), negative=False, wild=0.2)
    want = x.copy()

    def theirs() -> Any:
        for p in np.ndindex(*shape):
            if not 0 <= i[p] < shape[axis]:
                raise IndexError("refused by caffe2")
            want[(*p[:axis], i[p], *p[axis + 1 :])] = u[p]
        return want

    agree("Scatter", lambda: gc.Scatter(x, i, u, axis=axis), theirs, (shape, axis))


def test_scatter_assign() -> None:
    x, rows = np.zeros((3, 2), "f4"), np.array([[1, 2], [3, 4]], "f4")
    agree(
        "ScatterAssign",
        lambda: gc.ScatterAssign(x, np.array([1, 1]), rows),
        lambda: np.array([[0, 0], [3, 4], [0, 0]], "f4"),
    )
    assert not x.any()
    with pytest.raises(gs.BoundsError, match="-1"):  # where caffe2 writes before the tensor
        gc.ScatterAssign(x, np.array([0, -1]), rows)


def test_scatter_weighted_sum() -> None:
    x, half, one = np.array([1.0, 1.0, 1.0], "f4"), np.array([0.5], "f4"), np.array([1.0], "f4")
    i, two = np.array([1, 1], "i4"), np.array([2.0, 2.0], "f4")
    want = np.array([1.0, 0.25 + 2 + 2, 1.0], "f4")
    agree("ScatterWeightedSum", lambda: gc.ScatterWeightedSum(x, half, i, [two], [one]), lambda: want)
    want = np.array([1.0, 0.25 + 4 + 2, 1.0], "f4")
    agree("ScatterWeightedSum", lambda: gc.ScatterWeightedSum(x, half, i, [two, two], [one, half]), lambda: want)
    agree("ScatterWeightedSum", lambda: gc.ScatterWeightedSum(x, half, i + 2, [two], [one]), refuse)


def test_what_is_refused() -> None:
    x, i = np.zeros((3, 2), "f4"), np.array([0, 1])
    with pytest.raises(gs.DTypeError, match="indices must have dtype"):
        gc.Gather(x, i.astype("u1"))
    with pytest.raises(gs.ShapeError, match="match_outer needs"):
        gc.Gather(x, np.array(0), axis=1, match_outer=True)
    with pytest.raises(gs.ShapeError, match="axis must be in"):
        gc.Scatter(x, np.zeros((3, 2), "i4"), x, axis=-1)
    with pytest.raises(gs.ArgumentError, match="as many"):
        gc.ScatterWeightedSum(x, x[:1, 0], i, [x[:2]], [])


def test_sizes_known_only_at_run_time() -> None:
    b = gs.Builder("ops")
    x, i = b.input("x", ("n", "m"), "float32"), b.input("i", ("k",), "int32")
    w, u = b.input("w", (1,), "float32"), b.input("u", ("k", "m"), "float32")
    b.output(gc.Gather(x, i), gc.BatchGather(x, i), gc.ScatterAssign(x, i, u), gc.ScatterWeightedSum(x, w, i, [u], [w]))
    x_ = np.arange(6, dtype="f4").reshape(3, 2)
    got = b.build()(x_, np.array([0, 1], "i4"), np.array([2], "f4"), np.ones((2, 2), "f4"))
    np.testing.assert_array_equal(got[0], x_[:2])
    np.testing.assert_array_equal(got[1], x_[:, [0, 1]])
    np.testing.assert_array_equal(got[2], [[1, 1], [1, 1], [4, 5]])
    np.testing.assert_array_equal(got[3], [[2, 4], [6, 8], [4, 5]])
