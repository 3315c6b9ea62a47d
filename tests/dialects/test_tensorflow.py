"""gscompile.dialects.tensorflow against TensorFlow, on the CPU and through XLA; recorded calls where it is not installed."""

from __future__ import annotations

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import tensorflow as gt
from gscompile.dialects._tensorflow_segments import PACKET
from tests.cases import FLOATS, numpy_dtype
from tests.dialects.differential import Against, Draw
from tests.dialects.judges import need
from tests.dialects.recorded import against_all, live, recorded, replay
from tests.dialects.recorded import tensorflow as calls


@pytest.mark.parametrize("function", calls.CASES)
def test_recorded(function: str) -> None:
    version, kept = recorded("tensorflow")
    chosen = [(call, replay(gives)) for call, gives in kept if call.function == function]
    assert against_all(gt, chosen, f"{version}, recorded") >= 5


@pytest.mark.parametrize("function", calls.CASES)
def test_against_the_cpu(function: str, draws: int) -> None:
    version, some = live(calls, function, draws)
    assert against_all(gt, some, version) >= draws // 3


@pytest.mark.parametrize("function", calls.XLA)
def test_against_xla(function: str, draws: int) -> None:
    version, some = live(calls, function, draws * 3 // 4, device="xla")
    assert against_all(gt, some, f"{version} XLA") >= draws // 4


# The row of the GPU, which no machine of these tests has: from tf.gather's and tf.scatter_nd's documentation, "On GPU, if an out
# of bound index is found, a 0 is stored in the corresponding output value" and "out of bound indices are ignored".
def test_the_gpu_s_rules() -> None:
    x, i = np.array([1.0, 2.0, 3.0]), np.array([2, -1, 3, 0])
    against = Against("tensorflow", "gather", "the documentation of device='gpu'")
    against.agree(lambda: gt.gather(x, i, device="gpu"), lambda: np.array([3.0, 0.0, 0.0, 1.0]))
    against.agree(lambda: gt.gather_nd(x, i[:, None], device="gpu"), lambda: np.array([3.0, 0.0, 0.0, 1.0]))
    u = np.array([10.0, 20.0, 30.0, 40.0])
    against.agree(lambda: gt.scatter_nd(i[:, None], u, [3], device="gpu"), lambda: np.array([40.0, 0.0, 10.0]))
    against.agree(lambda: gt.tensor_scatter_nd_add(x, i[:, None], u, device="gpu"), lambda: np.array([41.0, 2.0, 13.0]))
    against.agree(lambda: gt.unsorted_segment_sum(u, i, 3, device="gpu"), lambda: np.array([40.0, 0.0, 10.0]))


def test_what_xla_alone_takes() -> None:
    judge = need("tensorflow")
    x, i, u = np.zeros((3, 2), "f4"), np.array([[1], [5]]), np.array([[1, 2], [3, np.nan]], "f4")
    for function, *args, options in (
        ("tensor_scatter_nd_update", x, i.astype("u2"), u, {}),
        ("tensor_scatter_nd_update", x, np.array([1]), u[0], {}),  # one vector
        ("tensor_scatter_nd_add", x, np.array([2, 1]), u[0, 1], {}),
        ("tensor_scatter_nd_add", x, i, np.float32(3).reshape(()), {}),  # one number for both
        ("tensor_scatter_nd_max", x, i, u, {"bad_indices_policy": "NONE"}),
        ("scatter_nd", i, u, [3, 2], {"bad_indices_policy": "NONE"}),
        ("gather_nd", x, i, {"bad_indices_policy": "NONE"}),
        ("unsorted_segment_max", u[1:], np.array([0]), 2, {}),  # the NaN stays
        ("unsorted_segment_min", u, np.array([0, 0]), 2, {}),  # this one does not
    ):
        Against("tensorflow", function, f"{judge.version} XLA").agree(
            lambda: getattr(gt, function)(*args, device="xla", **options),  # noqa: B023
            lambda: judge.ask(function, tuple(args), {"device": "xla", **options}),  # noqa: B023
            function,
        )


def test_xla_gathers_from_nothing() -> None:
    judge = need("tensorflow")
    x, i = np.zeros((0, 2, 3), "f4"), np.array([[0, 1]])
    for function, args in (("gather", (x, i)), ("gather_nd", (x, i)), ("gather_nd", (x.T, i)), ("gather", (x, i[:0]))):
        Against("tensorflow", function, f"{judge.version} XLA").agree(
            lambda: getattr(gt, function)(*args, device="xla"),  # noqa: B023
            lambda: judge.ask(function, args, {"device": "xla"}),  # noqa: B023
        )


# What TensorFlow's CPU gives: only what follows the last NaN of a segment counts, but of whole packets of a sorted segment.
def test_nan_in_maxima() -> None:
    nan, ids = np.array([1.0, np.nan, 0.5, 2.0, np.nan]), np.array([0, 0, 0, 1, 1])
    np.testing.assert_array_equal(gt.unsorted_segment_max(nan, ids, 2), [0.5, np.nan])
    np.testing.assert_array_equal(gt.unsorted_segment_max(nan, ids, 2, device="gpu"), [np.nan, np.nan])
    np.testing.assert_array_equal(gt.unsorted_segment_max(nan, ids, 2, device="xla"), [1.0, 2.0])
    for dtype, packet in PACKET.items():
        x = np.repeat(nan[:, None], 2 * packet + 1, 1).astype(numpy_dtype(dtype))
        got = gt.segment_max(x, ids).astype("f8")
        np.testing.assert_array_equal(got[:, :-1], [[1.0] * 2 * packet, [2.0] * 2 * packet])
        np.testing.assert_array_equal(got[:, -1], [0.5, np.nan])
        assert np.isnan(gt.segment_max(x[1:2], ids[:1]).astype("f8")).all()
        assert np.isneginf(gt.segment_max(x[[1, 4]], ids[:2]).astype("f8")[:, :-1]).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_many_slices_of_few_segments(dtype: str) -> None:
    tensorflow = need("tensorflow")
    d = Draw(7)
    ids = d.rng.integers(-1, 5, 200).astype("i4")
    for inner in (1, 8, 65):
        shape = (200, inner)
        x, special = d.rng.standard_normal(shape).astype(numpy_dtype(dtype)), d.data(shape, dtype)
        base = d.data((5, inner), dtype)
        some = [(f"unsorted_segment_{name}", (x, ids, 5)) for name in ("sum", "prod", "mean", "sqrt_n")]
        some += [(f"unsorted_segment_{name}", (special, ids, 5)) for name in ("min", "max")]
        some += [(f"tensor_scatter_nd_{name}", (base, ids[ids >= 0, None], x[ids >= 0])) for name in ("add", "sub")]
        some += [
            (f"tensor_scatter_nd_{name}", (base, ids[ids >= 0, None], special[ids >= 0])) for name in ("min", "max")
        ]
        sorted_ids = np.sort(np.maximum(ids, 0))
        some += [("segment_mean", (x, sorted_ids)), ("segment_max", (special, sorted_ids))]
        for function, args in some:
            Against("tensorflow", function, tensorflow.version).agree(
                lambda: getattr(gt, function)(*args),  # noqa: B023
                lambda: tensorflow.ask(function, args, {}),  # noqa: B023
                (function, dtype, inner),
            )


def test_what_differs_and_what_is_refused() -> None:
    x, i = np.zeros((2, 3), "f4"), np.array([0, 1])
    with pytest.raises(gs.ArgumentError, match="device must be"):
        gt.gather(x, i, device="tpu")
    with pytest.raises(gs.ArgumentError, match="bad_indices_policy"):
        gt.gather_nd(x, i, bad_indices_policy="DROP")
    with pytest.raises(gs.DTypeError, match="bool"):
        gt.tensor_scatter_nd_add(x > 0, i[:, None], x > 0)
    with pytest.raises(gs.ShapeError, match="indices must have rank 2 or more"):
        gt.tensor_scatter_nd_update(x, i, x)
    one = gt.tensor_scatter_nd_add(x, i, np.array(2, "f4"), device="xla")
    np.testing.assert_array_equal(one, [[0, 2, 0], [0, 0, 0]])
    with pytest.raises(gs.ShapeError, match="equal to 2; got 1"):
        gt.gather_nd(x, i[:1, None], batch_dims=1)
    with pytest.raises(gs.BoundsError, match="is empty"):
        gt.unsorted_segment_sum(x, np.array([-1, -1]), 0)
    with pytest.raises(gs.BoundsError):
        gt.segment_sum(x, np.array([1, 0]))


def test_sizes_known_only_at_run_time() -> None:
    b = gs.Builder("all")
    x = b.input("x", ("n", 3), "float32")
    i, ids = b.input("i", ("k",), "int32"), b.input("ids", ("n",), "int64")
    u = b.input("u", ("k", 3), "float32")
    with pytest.raises(gs.ArgumentError, match="num_segments"):
        gt.segment_sum(x, ids)
    b.output(
        gt.gather(x, i),
        gt.gather_nd(x, b.unsqueeze(i, 1)),
        gt.scatter_nd(b.unsqueeze(i, 1), u, [x.shape[0], 3]),
        gt.tensor_scatter_nd_max(x, b.unsqueeze(i, 1), u),
        gt.unsorted_segment_mean(x, ids, "n"),
        gt.segment_sum(x, ids, num_segments=i.shape[0]),
    )
    m = b.build()
    rng = np.random.default_rng(0)
    for n, k in ((5, 4), (2, 7)):
        x_, u_ = rng.integers(0, 9, (n, 3)).astype("f4"), rng.integers(0, 9, (k, 3)).astype("f4")
        i_, ids_ = rng.integers(0, n, k).astype("i4"), np.sort(rng.integers(0, min(n, k), n))
        got = m(x_, i_, ids_, u_)
        np.testing.assert_array_equal(got[0], x_[i_])
        np.testing.assert_array_equal(got[1], x_[i_])
        want = np.zeros((n, 3), "f4")
        np.add.at(want, i_, u_)
        np.testing.assert_array_equal(got[2], want)
        want = x_.copy()
        np.maximum.at(want, i_, u_)
        np.testing.assert_array_equal(got[3], want)
        counts = np.maximum(np.bincount(ids_, minlength=n), 1)[:, None]
        want = np.zeros((n, 3), "f4")
        np.add.at(want, ids_, x_)
        np.testing.assert_allclose(got[4], want / counts, rtol=1e-6)
        want = np.zeros((k, 3), "f4")
        np.add.at(want, ids_, x_)
        np.testing.assert_array_equal(got[5], want)
