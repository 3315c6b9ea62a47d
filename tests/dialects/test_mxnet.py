"""gscompile.dialects.mxnet against what MXNet 1.9.1 (CPU) was seen to give.

Seen by running it: take's modes (``clip`` sends a negative index to 0, ``raise`` refuses -1), floats as indices are truncated,
pick clips or wraps, gather_nd of 1.9.1 counts negative coordinates from the end and raises IndexError out of range.  The example
of gather_nd is that of the article "Gather-Scatter operators" (its example 2 read along the outermost axis), which prints [2, 2].
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import mxnet as gm
from tests.dialects.differential import Against, Draw

SEEN = "mxnet 1.9.1, numbers seen"
INDEX = ("int32", "int64", "float32", "uint8")


def agree(function: str, ours: Any, theirs: Any, label: Any = "") -> None:
    Against("mxnet", function, SEEN).agree(ours, theirs, label)


def refuse() -> Any:
    raise IndexError("refused by mxnet")


def index(d: Draw, shape: Any, size: int, wild: float = 0.4) -> Any:
    """An index of any numeric dtype; floats have a fraction, to be truncated."""
    dtype = d.choice(INDEX)
    i = d.index(shape, size, "int32" if dtype == "float32" else dtype, wild=wild)
    return np.clip(i, -1000, 1000).astype("f4") + np.where(i < 0, -0.5, 0.5).astype("f4") if dtype == "float32" else i


@pytest.mark.parametrize("seed", range(50))
def test_take(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(1, 5), empty=0)
    x, axis = d.data(shape, d.choice(("float32", "int32", "float16"))), d.axis(len(shape))
    i = index(d, d.shape(d.integer(0, 2)), shape[axis])
    whole = np.trunc(i).astype("int64")
    for mode in ("clip", "wrap", "raise"):
        bad = mode == "raise" and bool(np.any((whole < 0) | (whole >= shape[axis])))
        at = whole % shape[axis] if mode == "wrap" else np.clip(whole, 0, shape[axis] - 1)
        theirs = refuse if bad else lambda: np.take(x, at, axis)  # noqa: B023
        agree("take", lambda: gm.take(x, i, axis, mode), theirs, (shape, axis, i.dtype, mode))  # noqa: B023


@pytest.mark.parametrize("seed", range(40))
def test_pick(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(1, 5), empty=0)
    x, axis = d.data(shape), d.axis(len(shape))
    kept = list(shape)
    kept[axis] = 1
    i = index(d, kept, shape[axis])
    whole, last = np.trunc(i).astype("int64"), shape[axis] - 1
    given = i if d.maybe(0.5) else np.squeeze(i, axis)
    for mode, at in (("clip", np.clip(whole, 0, last)), ("wrap", whole % shape[axis])):
        want = np.take_along_axis(x, at, axis)
        for keepdims in (True, False):
            agree(
                "pick",
                lambda: gm.pick(x, given, axis, keepdims, mode),  # noqa: B023
                lambda: want if keepdims else np.squeeze(want, axis),  # noqa: B023
                (shape, axis, mode, keepdims),
            )


def test_batch_take_and_embedding() -> None:
    x = np.arange(12, dtype="f4").reshape(4, 3)
    agree("batch_take", lambda: gm.batch_take(x, np.array([0, 2, -5, 9])), lambda: np.array([0, 5, 6, 11], "f4"))
    i = np.array([[0.0, 3.9], [-1.0, 7.0]], "f4")
    agree("Embedding", lambda: gm.Embedding(i, x, 4, 3), lambda: x[[[0, 3], [0, 3]]])
    with pytest.raises(gs.ShapeError, match="Embedding"):
        gm.Embedding(i, x, 5, 3)
    with pytest.raises(gs.DTypeError, match="weight must have dtype float32"):
        gm.Embedding(i, x.astype("f8"), 4, 3)
    with pytest.raises(gs.ShapeError, match="batch_take"):
        gm.batch_take(x, np.array([0]))


def test_gather_nd_of_the_article() -> None:
    x, i = np.array([[1, 2], [3, 4]], "f4"), np.array([[0, 0], [1, 1]])
    article = Against("mxnet", "gather_nd", "the article's example")
    article.agree(lambda: gm.gather_nd(x, i), lambda: np.array([2, 2], "f4"))


@pytest.mark.parametrize("seed", range(40))
def test_nd(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(1, 5), empty=0)
    m, grid = d.integer(1, len(shape)), d.shape(d.integer(1, 2))
    i = np.stack([d.index(grid, n, "int64") for n in shape[:m]])
    if i.size and d.maybe(0.3):
        i.flat[d.integer(0, i.size - 1)] = d.choice((9, -9))
    if d.maybe(0.3):
        i = i.astype("f4")
    x = d.data(shape, d.choice(("float32", "int32", "float64")))
    at = tuple(i.astype("int64"))
    agree("gather_nd", lambda: gm.gather_nd(x, i), lambda: x[at], (shape, i.shape))
    u = d.data((*grid, *shape[m:]))
    want = np.zeros(shape, "f4")

    def theirs() -> Any:  # in the order of the index; out of range, where MXNet corrupts its heap, an error
        for p in np.ndindex(*grid):
            want[tuple(a[p] for a in at)] = u[p]
        return want

    agree("scatter_nd", lambda: gm.scatter_nd(u, i, list(shape)), theirs, (shape, i.shape))


def test_what_is_refused() -> None:
    x, i = np.zeros((3, 2), "f4"), np.array([0, 1])
    with pytest.raises(gs.ArgumentError, match="mode must be clip or wrap"):
        gm.pick(x, i, mode="raise")
    with pytest.raises(gs.ShapeError, match="index must have rank 1"):
        gm.pick(x, i[None, None])
    with pytest.raises(gs.ShapeError, match="on axis 0"):
        gm.pick(x, i)
    with pytest.raises(gs.ShapeError, match="first extent"):
        gm.gather_nd(x, np.zeros((3, 4), "i4"))
    with pytest.raises(gs.DTypeError, match="indices must have dtype"):
        gm.take(x, i > 0)
    assert gm.pick(x + 1, np.array([7]), None) == 1


def test_sizes_known_only_at_run_time() -> None:
    b = gs.Builder("ops")
    x, i = b.input("x", ("n", "m"), "float32"), b.input("i", ("n",), "float32")
    b.output(gm.take(x, i), gm.pick(x, i), gm.batch_take(x, i), gm.gather_nd(x, b.unsqueeze(i, 0)))
    x_, i_ = np.arange(6, dtype="f4").reshape(3, 2), np.array([1, 0, 1.9], "f4")
    got = b.build()(x_, i_)
    np.testing.assert_array_equal(got[0], x_[[1, 0, 1]])
    np.testing.assert_array_equal(got[1], [1, 2, 5])
    np.testing.assert_array_equal(got[2], [1, 2, 5])
    np.testing.assert_array_equal(got[3], x_[[1, 0, 1]])
