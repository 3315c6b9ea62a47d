"""gscompile.dialects.paddle against PaddlePaddle on the CPU; recorded calls where it is not installed."""

from __future__ import annotations

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import paddle as gp
from tests.dialects import judges
from tests.dialects.differential import Against, Draw
from tests.dialects.recorded import against_all, live, recorded, replay
from tests.dialects.recorded import paddle as calls


@pytest.mark.parametrize("function", calls.CASES)
def test_recorded(function: str) -> None:
    version, kept = recorded("paddle")
    chosen = [(call, replay(gives)) for call, gives in kept if call.function == function]
    assert against_all(gp, chosen, f"{version}, recorded") >= 5


@pytest.mark.parametrize("function", calls.CASES)
def test_against_the_cpu(function: str, draws: int) -> None:
    version, some = live(calls, function, draws)
    assert against_all(gp, some, version) >= draws // 3


# What Paddle gives: NaN that is there stays, and so does one that arrives first where nothing is there.
def test_nan_in_maxima() -> None:
    x, i = np.array([0.0, np.nan], "f4"), np.array([0, 0, 1, 1])
    first, last = np.array([np.nan, 1, np.nan, 2], "f4"), np.array([1, np.nan, 2, np.nan], "f4")
    for how, larger in (("amax", [1, np.nan]), ("amin", [0, np.nan])):
        for values in (first, last):
            np.testing.assert_array_equal(gp.put_along_axis(x, i, values, 0, how), larger)
        np.testing.assert_array_equal(gp.put_along_axis(x, i, first, 0, how, False), [np.nan, np.nan])
        np.testing.assert_array_equal(gp.put_along_axis(x, i, last, 0, how, False), [1, 2])


def test_many_values_of_few_elements() -> None:
    paddle = judges.need("paddle")
    d = Draw(7)
    for dtype in ("float32", "float64"):
        i = d.rng.integers(0, 5, (200, 8))
        x, values, special = (
            d.data((5, 8), dtype),
            d.rng.standard_normal((200, 8)).astype(dtype),
            d.data((200, 8), dtype),
        )
        for how in ("add", "mul", "mean", "amin", "amax"):
            for keep in (True, False):
                args = (x, i, special if how.startswith("am") else values, 0, how, keep, False)
                Against("paddle", "put_along_axis", paddle.version).agree(
                    lambda: gp.put_along_axis(*args),  # noqa: B023
                    lambda: paddle.ask("put_along_axis", args, {}),  # noqa: B023
                    (dtype, how, keep),
                )


def test_what_differs_and_what_is_refused() -> None:
    x, i = np.arange(6, dtype="f4").reshape(3, 2), np.array([0, 2])
    with pytest.raises(gs.BoundsError, match="is empty"):  # Paddle returns memory that is not the tensor's
        gp.gather(x[:0], i)
    with pytest.raises(gs.ArgumentError, match="reduce must be"):
        gp.put_along_axis(x, i[None], x[:1], 0, "max")
    with pytest.raises(gs.ShapeError, match=r"\(n, 1\)"):
        gp.gather(x, i[None])
    with pytest.raises(gs.DTypeError, match="x must have dtype"):
        gp.scatter(x > 0, i, x[:2] > 0)
    longer = np.zeros((1, 3), "i8")  # Paddle writes to other memory
    with pytest.raises(gs.ShapeError, match="shared with data"):
        gp.put_along_axis(x, longer, np.ones((1, 3), "f4"), 0)
    half = x.astype("f2")  # Paddle's CPU has no float16, its GPU does
    np.testing.assert_array_equal(gp.scatter(half, i, half[:2]), [[0, 1], [2, 3], [2, 3]])


def test_sizes_known_only_at_run_time() -> None:
    b = gs.Builder("all")
    x, u = b.input("x", ("n", "m"), "float32"), b.input("u", ("k", "m"), "float32")
    i, j = b.input("i", ("k",), "int32"), b.input("j", ("k", "m"), "int64")
    b.output(
        gp.gather(x, i),
        gp.index_select(x, i, 1),
        gp.gather_nd(x, b.unsqueeze(i, 1)),
        gp.scatter(x, i, u, False),
        gp.scatter_nd(b.unsqueeze(i, 1), u, x.shape),
        gp.take_along_axis(x, j, 0),
        gp.put_along_axis(x, j, u, 0, "add"),
    )
    x_, u_ = np.arange(6, dtype="f4").reshape(3, 2), np.array([[5, 7], [1, 2]], "f4")
    got = b.build()(x_, u_, np.array([1, -2], "i4"), np.array([[0, 1], [0, 2]]))
    np.testing.assert_array_equal(got[0], x_[[1, 1]])
    np.testing.assert_array_equal(got[1], x_[:, [1, 0]])
    np.testing.assert_array_equal(got[2], x_[[1, 1]])
    np.testing.assert_array_equal(got[3], [[0, 1], [6, 9], [4, 5]])
    np.testing.assert_array_equal(got[4], [[0, 0], [6, 9], [0, 0]])
    np.testing.assert_array_equal(got[5], [[0, 3], [0, 5]])
    np.testing.assert_array_equal(got[6], [[6, 1], [2, 10], [4, 7]])
