"""The founding documents' own numbers.

Each test names its document; the numbers are copied from it.  Where a document is wrong, the test says how and holds to
what its author must have meant.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests import oracle
from tests.cases import to_gs_map
from tests.oracle import assert_same


def call(op: str, *arrays: Any, **arguments: Any) -> Any:
    """One operator on arrays, compiled for llvm: data and index, and src for a scatter."""
    builder = gs.Builder("document")
    names = ("data", "index", "src")
    inputs = [builder.input(n, a.shape, a.dtype) for n, a in zip(names, arrays, strict=False)]
    builder.output(getattr(builder, op)(*inputs, **arguments))
    return builder.build(target="llvm")(*arrays)


def f32(values: Any) -> Any:
    return np.array(values, "float32")


# -- the CINN design (003) --------------------------------------------------------------------------------------------

A = np.arange(12, dtype="float32").reshape(4, 3)
INDEX = np.array([[0, 1, 1], [3, 2, 0]])
B_1 = f32([[0, 4, 5], [9, 7, 2]])
B_2 = f32([[0, 1, 1], [0, 5, 3]])
B_3 = f32([[0, 0, 2], [0, 4, 5], [0, 7, 0], [9, 0, 0]])


def test_cinn_b1() -> None:
    assert_same(call("gather", A, INDEX, dim=0), B_1)


def test_cinn_b2_needs_out_of_range_to_give_zero() -> None:
    """Its index 3 lies outside an axis of 3; the document printed what a device showed that gives 0 there."""
    assert_same(call("gather", A, INDEX, dim=1, bounds="fill"), B_2)
    with pytest.raises(gs.BoundsError) as caught:
        call("gather", A, INDEX, dim=1)
    assert (caught.value.position, caught.value.value, caught.value.valid) == ((1, 0), 3, (-3, 2))
    assert "gather" in str(caught.value) and "index" in str(caught.value)


def test_cinn_b3() -> None:
    assert_same(call("scatter", np.zeros((4, 3), "float32"), INDEX, B_1, dim=0), B_3)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cinn_gather_is_gather_nd_with_one_dim(dim: int) -> None:
    """Section 1.3: gather_nd(dims=[d], index=index.unsqueeze(-1))."""
    rng = np.random.default_rng(0)
    data, index = rng.standard_normal((4, 3)), rng.integers(-3, 3, (3, 3))
    want = call("gather", data, index, dim=dim)
    assert_same(call("gather_nd", data, index[..., None], dims=[dim]), want)


@pytest.mark.parametrize("reduction", ["update", "add"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cinn_scatter_is_scatter_nd_with_one_dim(dim: int, reduction: str) -> None:
    """Section 2.3: scatter_nd(dims=[d], index=index.unsqueeze(-1))."""
    rng = np.random.default_rng(1)
    data, index, src = rng.standard_normal((4, 3)), rng.integers(-3, 3, (3, 3)), rng.standard_normal((3, 3))
    want = call("scatter", data, index, src, dim=dim, reduction=reduction)
    assert_same(call("scatter_nd", data, index[..., None], src, dims=[dim], reduction=reduction), want)


@pytest.mark.parametrize("dims", [[0], [2], [0, 1], [2, 0], [2, 1, 0], [1, 2, 0]])
def test_cinn_gather_nd_and_scatter_nd_formulas(dims: list[int]) -> None:
    """Sections 1.2 and 2.2, as the document's Python has them: axes in dims from the vector, the others from the position."""
    rng = np.random.default_rng(len(dims))
    shape = (4, 5, 3)
    grid = tuple(6 if a in dims else s for a, s in enumerate(shape))
    x = rng.integers(-99, 99, shape)
    index = np.stack([rng.integers(0, shape[d], grid) for d in dims], -1)
    got = call("gather_nd", x, index, dims=dims)
    assert got.shape == index.shape[:-1]
    src = rng.integers(-99, 99, grid)
    scattered = call("scatter_nd", x, index, src, dims=dims)
    want = x.copy()
    for indices in itertools.product(*map(range, grid)):
        x_indices = list(indices)
        for i, d in enumerate(dims):
            x_indices[d] = int(index[(*indices, i)])
        assert got[indices] == x[tuple(x_indices)]
        want[tuple(x_indices)] = src[indices]
    assert_same(scattered, want)


def test_cinn_gather_nd_without_dims_takes_the_first_axes() -> None:
    """ "If dims is not given it follows from index's shape: the first n axes"."""
    rng = np.random.default_rng(4)
    data = rng.standard_normal((4, 3))
    index = np.stack([rng.integers(0, 4, (4, 3)), rng.integers(0, 3, (4, 3))], -1)
    assert_same(call("gather_nd", data, index), call("gather_nd", data, index, dims=[0, 1]))


def test_cinn_shapes_of_the_overview() -> None:
    """X of (16, 16, 3), I like it but for one axis of 12, values below 16; Y has I's shape and scatter undoes gather."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((16, 16, 3)).astype("float32")
    for dim, shape in [(0, (12, 16, 3)), (1, (16, 12, 3))]:
        index = np.argsort(rng.random((16, 16, 3)), axis=dim).take(range(12), axis=dim)  # each value at most once
        y = call("gather", x, index, dim=dim)
        assert y.shape == shape
        assert_same(call("scatter", x, index, y, dim=dim), x)


def test_cinn_builder_example() -> None:
    builder = gs.NetBuilder("test_basic")
    a = builder.create_input(gs.Float(32), (8, 24), "A")
    i = builder.create_input(gs.Int(32), (3, 24), "index")
    b = builder.gather(a, index=i, dim=0)
    assert b.shape == (3, 24)
    z = builder.create_input(gs.Float(32), (8, 24), "Z")
    z = builder.scatter(z, index=i, dim=0, src=b)  # the document writes scr
    assert z.shape == (8, 24)
    rng = np.random.default_rng(6)
    data, base = rng.standard_normal((2, 8, 24)).astype("float32")
    index = rng.integers(0, 8, (3, 24)).astype("int32")
    want = base.copy()
    np.put_along_axis(want, index, np.take_along_axis(data, index, 0), 0)
    assert_same(builder.build(target="llvm")(data, index, base), want)


# -- ONNX Gather (004) ------------------------------------------------------------------------------------------------


def test_onnx_gather_axis_0() -> None:
    data = f32([[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]])
    output = f32([[[1.0, 1.2], [2.3, 3.4]], [[2.3, 3.4], [4.5, 5.7]]])
    assert_same(call("take", data, np.array([[0, 1], [1, 2]]), axis=0), output)


def test_onnx_gather_axis_1() -> None:
    data = f32([[1.0, 1.2, 1.9], [2.3, 3.4, 3.9], [4.5, 5.7, 5.9]])
    output = f32([[[1.0, 1.9]], [[2.3, 3.9]], [[4.5, 5.9]]])
    assert_same(call("take", data, np.array([[0, 2]]), axis=1), output)


def test_onnx_gather_formulas() -> None:
    """The table of Gather-13: data's shape, indices' shape, axis, output's shape and formula."""
    P, Q, R, S = 4, 5, 3, 2
    rng = np.random.default_rng(7)
    matrix, cube = rng.standard_normal((P, Q)), rng.standard_normal((P, Q, R))

    indices = np.array(-2)
    output = call("take", matrix, indices, axis=0)
    assert output.shape == (Q,)
    assert all(output[q] == matrix[indices, q] for q in range(Q))

    output = call("take", cube, indices, axis=1)
    assert output.shape == (P, R)
    assert all(output[p, r] == cube[p, indices, r] for p in range(P) for r in range(R))

    indices = rng.integers(-P, P, (R, S))
    output = call("take", matrix, indices, axis=0)
    assert output.shape == (R, S, Q)
    assert all(output[r, s, q] == matrix[indices[r, s], q] for r in range(R) for s in range(S) for q in range(Q))

    indices = rng.integers(-Q, Q, (R, S))
    output = call("take", matrix, indices, axis=1)
    assert output.shape == (P, R, S)
    assert all(output[p, r, s] == matrix[p, indices[r, s]] for p in range(P) for r in range(R) for s in range(S))


@pytest.mark.parametrize("value", [3, -4])
def test_onnx_gather_out_of_range_is_an_error(value: int) -> None:
    """ "It will be an error if any of the index values are out of bounds [-s, s-1]"."""
    with pytest.raises(IndexError):
        call("take", np.zeros((3, 2), "float32"), np.array([0, value]))


@pytest.mark.parametrize("axis", [2, -3])
def test_onnx_gather_axis_out_of_range(axis: int) -> None:
    with pytest.raises(gs.ShapeError):
        call("take", np.zeros((3, 2), "float32"), np.array([0]), axis=axis)


# -- OpenVINO Gather-8 (001) ------------------------------------------------------------------------------------------

BATCH_2 = np.arange(1, 11).reshape(2, 5)
OPENVINO: list[tuple[Any, Any, dict[str, Any], Any]] = [
    (np.arange(1, 6), [0, 0, 4], {"axis": 0}, [1, 1, 5]),
    (BATCH_2, [[0, 0, 4], [4, 0, 0]], {"axis": 1, "batch_dims": 1}, [[1, 1, 5], [10, 6, 6]]),
    (
        np.arange(1, 21).reshape(2, 2, 5),
        [[[0, 0, 4], [4, 0, 0]], [[1, 2, 4], [4, 3, 2]]],
        {"axis": 2, "batch_dims": 2},
        [[[1, 1, 5], [10, 6, 6]], [[12, 13, 15], [20, 19, 18]]],
    ),
    (
        np.arange(1, 41).reshape(2, 1, 5, 4),
        [[1, 2, 4], [4, 3, 2]],
        {"axis": 2, "batch_dims": 1},
        [[[[5, 6, 7, 8], [9, 10, 11, 12], [17, 18, 19, 20]]], [[[37, 38, 39, 40], [33, 34, 35, 36], [29, 30, 31, 32]]]],
    ),
    (BATCH_2, [[0, 0, 4], [4, 0, 0]], {"axis": 1, "batch_dims": -1}, [[1, 1, 5], [10, 6, 6]]),
    (np.arange(1, 6), [0, -2, -1], {"axis": 0}, [1, 4, 5]),
    (np.arange(1, 6), [3, 10, -20], {"axis": 0, "bounds": "fill"}, [4, 0, 0]),
]


@pytest.mark.parametrize("data,indices,arguments,output", OPENVINO, ids=[f"example{k + 1}" for k in range(7)])
def test_openvino_examples(data: Any, indices: Any, arguments: dict[str, Any], output: Any) -> None:
    assert_same(call("take", data, np.array(indices), **arguments), np.array(output))


def test_openvino_shape_of_the_layer() -> None:
    """The XML at the end: data (2, 64, 128), indices (2, 32, 21), axis 1, batch_dims 1."""
    rng = np.random.default_rng(8)
    data, indices = (
        rng.standard_normal((2, 64, 128)).astype("float32"),
        rng.integers(0, 64, (2, 32, 21)).astype("int32"),
    )
    output = call("take", data, indices, axis=1, batch_dims=1)
    assert_same(output, np.stack([data[b][indices[b]] for b in range(2)]))
    assert output.shape == (2, 32, 21, 128)


@pytest.mark.parametrize("batch_dims", [2, 3, -4])
def test_openvino_batch_dims_beyond_axis(batch_dims: int) -> None:
    with pytest.raises(gs.ShapeError):
        call("take", np.zeros((2, 3, 4)), np.zeros((2, 3, 5), int), axis=1, batch_dims=batch_dims)


# -- TensorRT (002) ---------------------------------------------------------------------------------------------------

# The sample's input: hundreds, tens and ones are the coordinates of channel, height and width.
TRT = (100 * np.arange(3)[:, None, None] + 10 * np.arange(4)[:, None] + np.arange(5)).astype("float32")[None]
TENSORRT_ND: list[tuple[int, Any, Any]] = [
    (1, [[[0, 1, 2], [0, 2, -1]]], [[12, 24]]),  # the first matrix prints 1 for 12; its own explanation has 12
    (2, [[[2, 1], [3, 0], [1, 2]]], [[21, 130, 212]]),
    (
        3,
        [[[[0], [0], [0], [0]], [[2], [2], [2], [2]], [[1], [1], [1], [1]]]],
        [[[0, 10, 20, 30], [102, 112, 122, 132], [201, 211, 221, 231]]],
    ),
    (
        2,
        [[[2], [3], [1]]],
        [[[20, 21, 22, 23, 24], [130, 131, 132, 133, 134], [210, 211, 212, 213, 214]]],
    ),
]


@pytest.mark.parametrize("elementwise_dims,index,output", TENSORRT_ND)
def test_tensorrt_nd_mode(elementwise_dims: int, index: Any, output: Any) -> None:
    index = np.array(index, "int32")
    got = call("gather_nd", TRT, index, batch_dims=elementwise_dims)
    assert_same(got, f32(output))
    assert got.ndim == index.ndim + TRT.ndim - index.shape[-1] - 1 - elementwise_dims


def test_tensorrt_nd_mode_without_elementwise_dims_is_onnx_gather_nd() -> None:
    index = np.array([[[0, 1, 2], [0, 2, -1]]])
    assert_same(call("gather_nd", TRT, index), TRT[tuple(index[..., k] for k in range(3))])


@pytest.mark.parametrize("axis", range(4))
def test_tensorrt_default_mode(axis: int) -> None:
    """output[:, .., i_0, .., i_{q-1}, .., :] = data[:, .., index[i_0, .., i_{q-1}], .., :]; for axis 2 as in the sample."""
    index = np.random.default_rng(axis).integers(-TRT.shape[axis], TRT.shape[axis], (3, 2)).astype("int32")
    output = call("take", TRT, index, axis=axis)
    assert output.shape == (*TRT.shape[:axis], 3, 2, *TRT.shape[axis + 1 :])
    for at in np.ndindex(*index.shape):
        assert_same(output[(slice(None),) * axis + at], TRT[(slice(None),) * axis + (index[at],)])


def test_tensorrt_default_mode_on_axis_0_adds_to_the_rank_too() -> None:
    """The document makes an exception for axis 0; there is none."""
    assert call("take", TRT, np.zeros((3, 2), "int32"), axis=0).shape == (3, 2, 3, 4, 5)


@pytest.mark.parametrize("axis", range(4))
def test_tensorrt_element_mode(axis: int) -> None:
    """output[.., i_p, ..] = data[.., index[.., i_p, ..], ..], all of one shape."""
    index = np.random.default_rng(axis).integers(-TRT.shape[axis], TRT.shape[axis], TRT.shape).astype("int32")
    output = call("gather", TRT, index, dim=axis)
    for at in np.ndindex(*TRT.shape):
        assert output[at] == TRT[(*at[:axis], index[at], *at[axis + 1 :])]


def test_tensorrt_element_mode_needs_equal_extents_only_off_the_axis() -> None:
    index = np.random.default_rng(9).integers(0, 4, (1, 3, 6, 5))
    assert_same(call("gather", TRT, index, dim=2), np.take_along_axis(TRT, index, 2))


@pytest.mark.parametrize(
    "index_shape,elementwise_dims",
    [
        ((1, 3, 3), 2),  # index.shape[-1] <= r - nB
        ((1, 2, 4), 1),
        ((1, 2, 1), 4),  # nB < min(q, r)
        ((1, 1), 2),
        ((2, 2, 1), 1),  # data.shape[:nB] = index.shape[:nB]
        ((1, 4, 1), 2),
        ((1, 2, 1), 2),
    ],
)
def test_tensorrt_nd_mode_errors(index_shape: tuple[int, ...], elementwise_dims: int) -> None:
    with pytest.raises(gs.ShapeError):
        call("gather_nd", TRT, np.zeros(index_shape, "int32"), batch_dims=elementwise_dims)


# -- the survey of gather and scatter operators (000) ------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_survey_gather_elements_and_scatter_elements(axis: int) -> None:
    """out[i][j][k] = input[index[i][j][k]][j][k] for axis 0, and so on; output[index[i][j][k]][j][k] = updates[i][j][k]."""
    rng = np.random.default_rng(10)
    data = rng.integers(-99, 99, (3, 4, 5))
    index = np.argsort(rng.random(data.shape), axis=axis)  # no duplicates
    updates = rng.integers(-99, 99, data.shape)
    gathered = call("gather", data, index, dim=axis)
    scattered = call("scatter", data, index, updates, dim=axis)
    for at in np.ndindex(*data.shape):
        cell = list(at)
        cell[axis] = int(index[at])
        assert gathered[at] == data[tuple(cell)]
        assert scattered[tuple(cell)] == updates[at]
    assert_same(call("gather", data, index - data.shape[axis], dim=axis), gathered)  # [-s, s-1]


def test_survey_gather_nd_example_1() -> None:
    data = np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    assert_same(call("gather_nd", data, np.array([[[0, 0]], [[1, 0]]])), np.array([[[1, 2]], [[5, 6]]]))


def test_survey_gather_nd_example_2() -> None:
    """The indices' brackets are misplaced in the document."""
    assert_same(call("gather_nd", np.array([[1, 2], [3, 4]]), np.array([[-2, 0], [1, 1]])), np.array([1, 4]))


def test_survey_gather_nd_example_2_in_mxnets_order() -> None:
    """Coordinates (0, 1) and (0, 1), read along the outermost axis; -2 counts as 0."""
    data, index = np.array([[1, 2], [3, 4]]), np.array([[-2, 0], [1, 1]])
    map = to_gs_map(oracle.nd_map(data.shape, index.shape, 0, 0))
    assert_same(call("gather_map", data, index, map=map), np.array([2, 2]))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_survey_gather_nd_and_scatter_nd_slices(m: int) -> None:
    """r - m = 0 an element, 1 a line, 2 a sheet; updates have rank q + r - m - 1."""
    rng = np.random.default_rng(m)
    data = rng.integers(-99, 99, (3, 4, 5))
    cells = rng.permutation(int(np.prod(data.shape[:m])))[:2]  # no duplicates
    index = np.stack(np.unravel_index(cells, data.shape[:m]), -1)
    gathered = call("gather_nd", data, index)
    assert gathered.ndim == index.ndim + data.ndim - m - 1
    updates = rng.integers(-99, 99, gathered.shape)
    scattered = call("scatter_nd", data, index, updates)
    for k in range(2):
        assert_same(gathered[k], data[tuple(index[k])])
        assert_same(scattered[tuple(index[k])], updates[k])


def test_survey_tensorflow_scatter_nd_sums_duplicates_into_zeros() -> None:
    """Example 1's shapes: updates 2x2x2, indices 2x2x2x2, output 3x2."""
    rng = np.random.default_rng(11)
    indices = np.stack([rng.integers(0, 3, (2, 2, 2)), rng.integers(0, 2, (2, 2, 2))], -1)
    updates = rng.integers(-9, 9, (2, 2, 2))
    want = np.zeros((3, 2), int)
    np.add.at(want, (indices[..., 0], indices[..., 1]), updates)
    assert_same(call("scatter_nd", np.zeros((3, 2), int), indices, updates, reduction="add"), want)


def test_survey_gather_axis() -> None:
    """output[0, 0, 0] = input[index[0, 0], 0] = input[0, 0] = 20, output[0, 0, 1] = input[0, 1] = 30; the rest is drawn."""
    data = np.array([[20, 30], [40, 50], [60, 70]])
    output = call("take", data, np.array([[0, 2], [1, 0]]), axis=0)
    assert output.shape == (2, 2, 2)
    assert (output[0, 0, 0], output[0, 0, 1]) == (20, 30)
    assert_same(output, data[[[0, 2], [1, 0]]])


@pytest.mark.parametrize("mode,negative", [("raise", True), ("wrap", True), ("clip", False)])
def test_survey_numpy_take_modes(mode: Any, negative: bool) -> None:
    data = np.arange(5)
    index = np.array([0, 4, -1, -5] if mode == "raise" else [0, 4, 5, 11, -1, -5, -6, -11])
    assert_same(call("take", data, index, bounds=mode, negative=negative), np.take(data, index, mode=mode))
