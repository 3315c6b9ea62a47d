"""gscompile.dialects.tensorrt against the numbers of TensorRT's cookbook, and ONNX's rules in NumPy.

The cookbook's examples are those of its page on the gather layer ("Gather Layer", sections ModeDefault, ModeElement and ModeND),
whose input tensor is ``100 * c + 10 * h + w`` of shape (1, 3, 4, 5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import tensorrt as gt
from tests.dialects.differential import Against, Draw
from tests.oracle import Array

PAGE = "the cookbook's page on the gather layer"
CHANNEL, HEIGHT, WIDTH = np.ogrid[0:3, 0:4, 0:5]
INPUT = (100 * CHANNEL + 10 * HEIGHT + WIDTH).astype("float32")[None]


def page(function: str, got: Any, want: Any) -> None:
    Against("tensorrt", function, PAGE).agree(lambda: got, lambda: np.asarray(want, "float32"))


def numpy_rule(function: str, ours: Any, theirs: Any, label: Any) -> None:
    Against("tensorrt", function, "the header's rules in NumPy").agree(ours, theirs, label)


def test_the_page_s_examples() -> None:
    nd = gt.GatherMode.ND

    def gather(index: Any, batch: int) -> Any:
        return gt.add_gather_v2(INPUT, np.array(index, "int32"), nd, num_elementwise_dims=batch)

    page("add_gather_v2", gather([[[0, 1, 2], [0, 2, -1]]], 1), [[12, 24]])
    page("add_gather_v2", gather([[[2, 1], [3, 0], [1, 2]]], 2), [[21, 130, 212]])
    rows = [[0, 10, 20, 30], [102, 112, 122, 132], [201, 211, 221, 231]]
    page("add_gather_v2", gather([[[[0]] * 4, [[2]] * 4, [[1]] * 4]], 3), [rows])
    slices = [[20, 21, 22, 23, 24], [130, 131, 132, 133, 134], [210, 211, 212, 213, 214]]
    page("add_gather_v2", gather([[[2], [3], [1]]], 2), [slices])  # the page prints the first row's end as "22,2324"


def test_the_page_s_formulas() -> None:
    i = np.array([[0, 3], [2, 1], [1, 1]], "int32")
    page("add_gather", gt.add_gather(INPUT, i, 2), INPUT[:, :, i])
    e = np.random.default_rng(0).integers(0, 4, INPUT.shape).astype("int32")
    page("add_gather_v2", gt.add_gather_v2(INPUT, e, "ELEMENT", axis=2), np.take_along_axis(INPUT, e, 2))


def looked_up(x: Array, axis: int, i: Array) -> tuple[Array, Array]:
    """Indices counted from the start, and which are in range."""
    n = x.shape[axis]
    wrapped = np.where(i < 0, i + n, i)
    ok = (wrapped >= 0) & (wrapped < n)
    return np.where(ok, wrapped, 0), ok


@pytest.mark.parametrize("seed", range(40))
def test_gather(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(1, 5), empty=0)
    x = d.data(shape, d.choice(("float32", "int32", "bool", "float16", "int8")))
    axis = d.integer(0, len(shape) - 1)
    i = d.index(d.shape(d.integer(0, 2)), shape[axis], d.choice(("int32", "int64")), wild=0.5)
    at, ok = looked_up(x, axis, i)
    mask = ok.reshape((1,) * axis + i.shape + (1,) * (len(shape) - axis - 1))
    want = np.where(mask, np.take(x, at, axis), x.dtype.type(0))
    numpy_rule("add_gather", lambda: gt.add_gather(x, i, axis), lambda: want, (shape, axis, i.shape))
    other = list(shape)
    other[axis] = d.integer(1, 6)
    i = d.index(other, shape[axis], "int32", wild=0.5)
    at, ok = looked_up(x, axis, i)
    want = np.where(ok, np.take_along_axis(x, at, axis), x.dtype.type(0))
    mode = gt.GatherMode.ELEMENT
    numpy_rule("add_gather_v2", lambda: gt.add_gather_v2(x, i, mode, axis=axis), lambda: want, (shape, axis, i.shape))


@pytest.mark.parametrize(("rows", "index_rows"), [(3, 3), (1, 3), (3, 1)])
def test_gather_with_a_batch_axis(rows: int, index_rows: int) -> None:
    x = np.arange(rows * 8.0, dtype="float32").reshape(rows, 2, 4)
    i = np.random.default_rng(0).integers(0, 4, (index_rows, 5)).astype("int32")
    want = np.stack([x[k % rows][:, i[k % index_rows]] for k in range(3)])
    numpy_rule(
        "add_gather_v2", lambda: gt.add_gather_v2(x, i, "DEFAULT", axis=2, num_elementwise_dims=1), lambda: want, ""
    )


@pytest.mark.parametrize("seed", range(20))
def test_scatter(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(1, 4), empty=0)
    x = d.data(shape)
    axis = d.integer(0, len(shape) - 1)
    i = d.index(shape, shape[axis], "int32", negative=False)
    u = d.data(shape)
    want = x.copy()
    for p in np.ndindex(*shape):
        want[(*p[:axis], i[p], *p[axis + 1 :])] = u[p]
    numpy_rule("add_scatter", lambda: gt.add_scatter(x, i, u, gt.ScatterMode.ELEMENT, axis=axis), lambda: want, shape)
    m = d.integer(1, len(shape))
    i = np.stack([d.index((4,), n, "int64", negative=False) for n in shape[:m]], -1)
    u = d.data((4, *shape[m:]))
    want = x.copy()
    for k, at in enumerate(i):
        want[tuple(at)] = u[k]
    numpy_rule("add_scatter", lambda: gt.add_scatter(x, i, u, "ND"), lambda: want, (shape, i.shape))


# What the cookbook's page shows TensorRT to refuse, and the header's rules.
def test_what_is_refused() -> None:
    i = np.zeros((1, 3, 4, 1), "int32")
    with pytest.raises(gs.ShapeError, match="num_elementwise_dims must be in"):
        gt.add_gather_v2(INPUT, i, "ND", num_elementwise_dims=4)
    with pytest.raises(gs.ShapeError, match="index vectors of length 3"):
        gt.add_gather_v2(INPUT, np.zeros((1, 3, 3), "int32"), "ND", num_elementwise_dims=2)
    with pytest.raises(gs.ShapeError, match="batch axis 0"):
        gt.add_gather_v2(INPUT, np.zeros((2, 3), "int32"), "ND", num_elementwise_dims=1)
    with pytest.raises(gs.ShapeError, match="axis must be in"):
        gt.add_gather(INPUT, i, -1)
    with pytest.raises(gs.ShapeError, match="num_elementwise_dims"):
        gt.add_gather_v2(INPUT, i, "ELEMENT", num_elementwise_dims=1)
    with pytest.raises(gs.ArgumentError, match="mode must be DEFAULT or ELEMENT or ND"):
        gt.add_gather_v2(INPUT, i, "NDS")
    with pytest.raises(gs.DTypeError, match="input must have dtype"):
        gt.add_gather(INPUT.astype("float64"), i, 0)
    with pytest.raises(gs.BoundsError):
        gt.add_scatter(INPUT[0, 0], np.full((1, 5), 4, "int32"), INPUT[0, 0, :1], "ELEMENT")


def test_sizes_known_only_at_run_time() -> None:
    b = gs.Builder("layers")
    x, i = b.input("x", ("n", "m"), "float32"), b.input("i", ("k",), "int32")
    b.output(gt.add_gather(x, i, 1), gt.add_gather_v2(x, b.unsqueeze(i, 1), "ND"))
    got = b.build()(INPUT[0, 0], np.array([2, -1, 9], "int32"))
    want = np.array([INPUT[0, 0, 2], INPUT[0, 0, 3], np.zeros(5)])
    np.testing.assert_array_equal(got[0][:, 0], INPUT[0, 0, :, 2])
    np.testing.assert_array_equal(got[1], want)
