"""gscompile.dialects.openvino against OpenVINO's CPU plugin; recorded calls where it is not installed."""

from __future__ import annotations

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import openvino as gv
from tests.dialects.recorded import against_all, live, recorded, replay
from tests.dialects.recorded import openvino as calls


@pytest.mark.parametrize("function", calls.CASES)
def test_recorded(function: str) -> None:
    version, kept = recorded("openvino")
    chosen = [(call, replay(gives)) for call, gives in kept if call.function == function]
    assert against_all(gv, chosen, f"{version}, recorded") >= 5


@pytest.mark.parametrize("function", calls.CASES)
def test_against_the_cpu_plugin(function: str, draws: int) -> None:
    version, some = live(calls, function, draws)
    assert against_all(gv, some, version) >= draws // 3


# The plugin raises with several threads; with one its output is what memory held, and Gather-ND checks nothing.
@pytest.mark.parametrize("bad", [3, -4])
def test_an_index_out_of_range_is_an_error(bad: int) -> None:
    x, i = np.arange(6, dtype="f4").reshape(3, 2), np.array([[bad, 0]])
    for call in (
        lambda: gv.gather_elements_6(x, i),
        lambda: gv.gather_nd_5(x, i),
        lambda: gv.gather_nd_8(x, i),
        lambda: gv.scatter_update_3(x, i[0], x[:2], 0),
        lambda: gv.scatter_elements_update_3(x, i, x[:1], 0),
        lambda: gv.scatter_elements_update_12(x, i, x[:1], 0, "mean"),
        lambda: gv.scatter_nd_update_3(x, i, x[0, :1]),
        lambda: gv.scatter_nd_update_15(x, i, x[0, :1], "max"),
    ):
        with pytest.raises(gs.BoundsError, match=str(bad)):
            call()


# The examples of Gather-8's specification: negative indices, and those out of range.
def test_the_specification_s_examples() -> None:
    x = np.array([1, 2, 3, 4, 5])
    np.testing.assert_array_equal(gv.gather_8(x, np.array([0, -2, -1]), 0), [1, 4, 5])
    np.testing.assert_array_equal(gv.gather_8(x, np.array([3, 10, -20]), 0), [4, 0, 0])
    two, i = np.array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]), np.array([[0, 0, 4], [4, 0, 0]])
    np.testing.assert_array_equal(gv.gather_8(two, i, 1, -1), [[1, 1, 5], [10, 6, 6]])


def test_what_differs_and_what_is_refused() -> None:
    x, i = np.arange(6, dtype="f4").reshape(3, 2), np.array([[1, 0]])
    with pytest.raises(gs.ArgumentError, match="reduction must be none or sum"):
        gv.scatter_elements_update_12(x, i, x[:1], 0, "add")
    with pytest.raises(gs.DTypeError, match="mean"):
        gv.scatter_elements_update_12(x > 0, i, x[:1] > 0, 0, "mean")
    with pytest.raises(gs.ShapeError, match="must not be empty"):
        gv.gather_nd_8(x, np.zeros((2, 0), "i4"))
    big = np.array([2**40 + 1, 2**32, 7])  # the plugin cuts data to 32 bits too
    np.testing.assert_array_equal(gv.gather_8(big, np.array([0, 2**32 + 1, -(2**33) - 1]), 0), big)
    big = np.array([-7, 2**62], "i8")
    np.testing.assert_array_equal(
        gv.scatter_elements_update_12(big, np.array([0]), big[:1] + 4, 0, "mean"), [-5, 2**62]
    )
    unsigned = np.array([2**63, 5], "u8")
    mean = gv.scatter_elements_update_12(unsigned, np.array([0, 0]), np.array([4, 5], "u8"), 0, "mean")
    np.testing.assert_array_equal(mean, np.array([(2**63 + 9) // 3, 5], "u8"))


@pytest.mark.parametrize("time", [1, 2, 3, 24, 200])
def test_gather_tree_of_many_steps(time: int) -> None:
    rng = np.random.default_rng(0)
    batch, beam = 4, 3
    step, parent = rng.integers(1, 9, (time, batch, beam)), rng.integers(0, beam, (time, batch, beam))
    length = np.array([time, 0, (time + 1) // 2, time + 5])
    want = np.full((time, batch, beam), 9)
    visited = np.zeros(parent.shape, bool)
    for n, k in np.ndindex(batch, beam):
        at = k
        for t in reversed(range(min(time, length[n]))):
            want[t, n, k] = step[t, n, at]
            visited[t, n, at] = t > 0
            at = parent[t, n, at]
    unread = np.where(visited, parent, np.iinfo("i8").min)
    np.testing.assert_array_equal(gv.gather_tree_1(step, unread, length, np.array(9)), want)
    for bad in (-1, beam, 99) if visited.any() else ():
        t, n, k = rng.choice(np.argwhere(visited))
        wrong = parent.copy()
        wrong[t, n, k] = bad
        with pytest.raises(gs.BoundsError, match=f"parent_idx.* {bad}.* axis 2 .* 0 to 2") as e:
            gv.gather_tree_1(step, wrong, length, np.array(9))
        assert (e.value.tensor, e.value.value) == ("parent_idx", bad)


def test_sizes_known_only_at_run_time() -> None:
    b = gs.Builder("opset")
    x, i = b.input("x", ("n", "m"), "float32"), b.input("i", ("k", "m"), "int32")
    u = b.input("u", ("k", "m"), "float32")
    row = b.input("row", ("k",), "int64")
    b.output(
        gv.gather_8(x, row, 1),
        gv.gather_elements_6(x, i),
        gv.scatter_update_3(x, row, u, 0),
        gv.scatter_elements_update_12(x, i, u, 0, "mean"),
        gv.scatter_nd_update_15(x, b.unsqueeze(row, 1), u, "sum"),
        gv.gather_tree_1(b.unsqueeze(u, 0), b.unsqueeze(u * 0.0, 0), b.cast(row, "float32"), b.full((), 9.0)),
    )
    x_, i_ = np.arange(6, dtype="f4").reshape(3, 2), np.array([[0, 1]], "i4")
    got = b.build()(x_, i_, np.array([[5, 7]], "f4"), np.array([1]))
    np.testing.assert_array_equal(got[0], x_[:, [1]])
    np.testing.assert_array_equal(got[1], [[0, 3]])
    np.testing.assert_array_equal(got[2], [[0, 1], [5, 7], [4, 5]])
    np.testing.assert_array_equal(got[3], [[2.5, 1], [2, 5], [4, 5]])
    np.testing.assert_array_equal(got[4], [[0, 1], [7, 10], [4, 5]])
    np.testing.assert_array_equal(got[5], [[[5, 7]]])
