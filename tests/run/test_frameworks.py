"""gscompile against the real frameworks, on inputs large enough for every path of a schedule to be taken.

Bit for bit, except for sums and products of floats, which frameworks order as they like.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests import oracle
from tests.cases import to_gs_map
from tests.frameworks import need, onnx_reference, ort
from tests.oracle import assert_same

TORCH_REDUCE = {"add": "sum", "mul": "prod", "mean": "mean", "min": "amin", "max": "amax"}
ONNX_REDUCE = {"update": "none", "add": "add", "mul": "mul", "min": "min", "max": "max"}

SHAPES = [((1009,), 0), ((301, 65), 0), ((65, 301), 1), ((17, 33, 40), 1), ((17, 33, 40), 2), ((9, 4, 5, 32), 2)]


def call(op: str, *arrays: Any, **arguments: Any) -> Any:
    """One operator on arrays, compiled for llvm: data and index, and src for a scatter."""
    builder = gs.Builder("peer")
    names = ("data", "index", "src")
    inputs = [builder.input(n, a.shape, a.dtype) for n, a in zip(names, arrays, strict=False)]
    builder.output(getattr(builder, op)(*inputs, **arguments))
    return builder.build(target="llvm")(*arrays)


def values(rng: np.random.Generator, shape: Any, dtype: str) -> Any:
    """Numbers near 1 in magnitude, so that long products stay finite; small integers, so that sums stay exact."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0 if dtype.startswith("u") else -9, 9, shape).astype(dtype)
    return (rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 1.5, shape)).astype(dtype)


def element_index(rng: np.random.Generator, shape: Any, dim: int, negative: bool = False) -> Any:
    """An index twice as long as data on its axis, and up to half as long on the others."""
    extents = [2 * s if a == dim else int(rng.integers(s // 2 + 1, s + 1)) for a, s in enumerate(shape)]
    return rng.integers(-shape[dim] if negative else 0, shape[dim], extents)


def check(got: Any, want: Any, reduction: str = "update") -> None:
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind == "f" and reduction in ("add", "sub", "mul", "mean"):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        eps = 4e-3 if got.dtype == np.float16 else 1e-4 if got.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(got.astype("float64"), want.astype("float64"), rtol=eps, atol=eps)
    else:
        assert_same(got, want, signed_zero=reduction not in ("min", "max"))


# -- torch ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape,dim", SHAPES)
def test_torch_gather(shape: Any, dim: int) -> None:
    torch = need("torch")
    rng = np.random.default_rng(0)
    data, index = values(rng, shape, "float32"), element_index(rng, shape, dim)
    want = torch.gather(torch.from_numpy(data), dim, torch.from_numpy(index)).numpy()
    check(call("gather", data, index, dim=dim), want)
    check(call("gather", data, index.astype("int32"), dim=dim), want)


@pytest.mark.parametrize("shape,dim", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_torch_scatter_and_scatter_add(shape: Any, dim: int, dtype: str) -> None:
    torch = need("torch")
    rng = np.random.default_rng(1)
    data, index = values(rng, shape, dtype), element_index(rng, shape, dim)
    src = values(rng, index.shape, dtype)
    d, i, s = (torch.from_numpy(t) for t in (data, index, src))
    check(call("scatter", data, index, src, dim=dim), d.scatter(dim, i, s).numpy())
    check(call("scatter", data, index, src, dim=dim, reduction="add"), d.scatter_add(dim, i, s).numpy(), "add")


@pytest.mark.parametrize("reduction", list(TORCH_REDUCE))
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "int64", "uint8"])
def test_torch_scatter_reduce(reduction: str, include_self: bool, dtype: str) -> None:
    torch = need("torch")
    if dtype == "float16" and reduction in ("mul", "mean", "add"):
        pytest.skip("torch rounds after each step; gscompile accumulates in float32 and rounds once")
    rng = np.random.default_rng(2)
    data, index = values(rng, (40, 33), dtype), element_index(rng, (40, 33), 0)
    src = values(rng, index.shape, dtype)
    d, i, s = (torch.from_numpy(t) for t in (data, index, src))
    want = d.scatter_reduce(0, i, s, TORCH_REDUCE[reduction], include_self=include_self).numpy()
    check(call("scatter", data, index, src, dim=0, reduction=reduction, include_self=include_self), want, reduction)


@pytest.mark.parametrize("reduction", ["min", "max"])
def test_torch_scatter_reduce_with_nan(reduction: str) -> None:
    torch = need("torch")
    rng = np.random.default_rng(3)
    data, index = rng.standard_normal((300, 7)).astype("float32"), rng.integers(0, 300, (900, 7))
    src = rng.standard_normal((900, 7)).astype("float32")
    data[rng.random(data.shape) < 0.1] = np.nan
    src[rng.random(src.shape) < 0.1] = np.nan
    d, i, s = (torch.from_numpy(t) for t in (data, index, src))
    want = d.scatter_reduce(0, i, s, TORCH_REDUCE[reduction]).numpy()
    check(call("scatter", data, index, src, dim=0, reduction=reduction), want, reduction)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "bool", "int8", "float64"])
def test_torch_index_select_and_copy(axis: int, dtype: str) -> None:
    torch = need("torch")
    rng = np.random.default_rng(4)
    data = values(rng, (33, 20, 67), dtype)
    index = rng.integers(0, data.shape[axis], 129)
    d, i = torch.from_numpy(data), torch.from_numpy(index)
    rows = d.index_select(axis, i)
    check(call("take", data, index, axis=axis), rows.numpy())
    once = rng.permutation(data.shape[axis])[
        :15
    ]  # of duplicates index_copy keeps any: it runs in parallel over the index
    src = values(rng, [15 if a == axis else s for a, s in enumerate(data.shape)], dtype)
    want = d.index_copy(axis, torch.from_numpy(once), torch.from_numpy(src)).numpy()
    check(call("put", data, once, src, axis=axis), want)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_torch_index_add_and_reduce(axis: int, dtype: str) -> None:
    torch = need("torch")
    rng = np.random.default_rng(5)
    data = values(rng, (33, 20, 67), dtype)
    index = rng.integers(0, data.shape[axis], 129)
    src = values(rng, [129 if a == axis else s for a, s in enumerate(data.shape)], dtype)
    d, i, s = (torch.from_numpy(t) for t in (data, index, src))
    check(call("put", data, index, src, axis=axis, reduction="add"), d.index_add(axis, i, s).numpy(), "add")
    check(call("put", data, index, src, axis=axis, reduction="sub"), d.index_add(axis, i, s, alpha=-1).numpy(), "sub")
    for reduction, name in [("mul", "prod"), ("min", "amin"), ("max", "amax"), ("mean", "mean")]:
        for include_self in (True, False):
            want = d.index_reduce(axis, i, s, name, include_self=include_self).numpy()
            got = call("put", data, index, src, axis=axis, reduction=reduction, include_self=include_self)
            check(got, want, reduction)


def test_torch_embedding() -> None:
    torch = need("torch")
    rng = np.random.default_rng(6)
    table, index = rng.standard_normal((5003, 96)).astype("float32"), rng.integers(0, 5003, (31, 70))
    want = torch.nn.functional.embedding(torch.from_numpy(index), torch.from_numpy(table)).numpy()
    check(call("take", table, index), want)


def test_torch_tensors_go_in_and_come_out() -> None:
    torch = need("torch")
    builder = gs.Builder("peer")
    data, index = builder.input("data", ("n", 8), "bfloat16"), builder.input("index", ("k",), "int64")
    builder.output(builder.take(data, index))
    module = builder.build(target="llvm")
    d, i = torch.randn(50, 8).to(torch.bfloat16), torch.tensor([3, -1, 3, 49])
    got = module(d, i)
    assert isinstance(got, torch.Tensor) and got.dtype == torch.bfloat16
    assert torch.equal(got, d[i])


# -- ONNX -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape,axis", SHAPES)
def test_onnx_gather(shape: Any, axis: int) -> None:
    rng = np.random.default_rng(7)
    data = values(rng, shape, "float32")
    for index_shape in [(), (129,), (3, 50)]:
        index = np.asarray(rng.integers(-shape[axis], shape[axis], index_shape))
        got = call("take", data, index, axis=axis)
        check(got, ort("Gather", data, index, axis=axis))
        check(got, onnx_reference("Gather", data, index, axis=axis))


@pytest.mark.parametrize("shape,axis", SHAPES)
def test_onnx_gather_elements(shape: Any, axis: int) -> None:
    rng = np.random.default_rng(8)
    data, index = values(rng, shape, "float32"), element_index(rng, shape, axis, negative=True)
    check(call("gather", data, index, dim=axis), ort("GatherElements", data, index, axis=axis))


@pytest.mark.parametrize("batch_dims", [0, 1, 2])
@pytest.mark.parametrize("m", [1, 2])
def test_onnx_gather_nd(batch_dims: int, m: int) -> None:
    rng = np.random.default_rng(9)
    data = values(rng, (6, 7, 40, 35), "float32")
    grid = (*data.shape[:batch_dims], 50)
    index = np.stack([rng.integers(-s, s, grid) for s in data.shape[batch_dims : batch_dims + m]], -1)
    got = call("gather_nd", data, index, batch_dims=batch_dims)
    check(got, ort("GatherND", data, index, batch_dims=batch_dims))
    check(got, onnx_reference("GatherND", data, index, batch_dims=batch_dims))


@pytest.mark.parametrize("reduction", list(ONNX_REDUCE))
@pytest.mark.parametrize("shape,axis", SHAPES)
def test_onnx_scatter_elements(shape: Any, axis: int, reduction: str) -> None:
    rng = np.random.default_rng(10)
    data, index = values(rng, shape, "float32"), element_index(rng, shape, axis, negative=True)
    src = values(rng, index.shape, "float32")
    want = ort("ScatterElements", data, index, src, axis=axis, reduction=ONNX_REDUCE[reduction])
    check(call("scatter", data, index, src, dim=axis, reduction=reduction), want, reduction)


@pytest.mark.parametrize("reduction", list(ONNX_REDUCE))
@pytest.mark.parametrize("m", [1, 2, 3])
def test_onnx_scatter_nd(reduction: str, m: int) -> None:
    rng = np.random.default_rng(11)
    data = values(rng, (20, 9, 33), "float32")
    index = np.stack([rng.integers(-s, s, (7, 41)) for s in data.shape[:m]], -1)
    src = values(rng, (7, 41, *data.shape[m:]), "float32")
    got = call("scatter_nd", data, index, src, reduction=reduction)
    check(got, ort("ScatterND", data, index, src, reduction=ONNX_REDUCE[reduction]), reduction)
    check(got, onnx_reference("ScatterND", data, index, src, reduction=ONNX_REDUCE[reduction]), reduction)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "int32", "uint64", "bool"])
def test_onnx_data_types(dtype: str) -> None:
    rng = np.random.default_rng(12)
    data, index = values(rng, (40, 19), dtype), rng.integers(-40, 40, 66)
    check(call("take", data, index), ort("Gather", data, index, axis=0))
    src = values(rng, (66, 19), dtype)
    check(call("scatter_nd", data, index[:, None], src), ort("ScatterND", data, index[:, None], src))


# -- NumPy ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode,negative", [("raise", True), ("clip", False), ("wrap", True), ("wrap", False)])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("index_dtype", ["int8", "uint8", "int32", "uint16", "int64"])
def test_numpy_take_modes(mode: Any, negative: bool, axis: int, index_dtype: str) -> None:
    rng = np.random.default_rng(13)
    data = values(rng, (33, 20, 67), "float32")
    low, high = (-20, 20) if mode == "raise" else (-128, 127)
    index = rng.integers(0 if index_dtype.startswith("u") else low, high, (5, 30)).astype(index_dtype)
    got = call("take", data, index, axis=axis, bounds=mode, negative=negative)
    check(got, np.take(data, index, axis, mode=mode))


@pytest.mark.parametrize("shape,dim", SHAPES)
def test_numpy_take_and_put_along_axis(shape: Any, dim: int) -> None:
    rng = np.random.default_rng(14)
    data = values(rng, shape, "float64")
    extents = [2 * s if a == dim else s for a, s in enumerate(shape)]
    index = rng.integers(-shape[dim], shape[dim], extents)
    check(call("gather", data, index, dim=dim), np.take_along_axis(data, index, dim))
    src, want = values(rng, extents, "float64"), data.copy()
    np.put_along_axis(want, index, src, dim)
    check(call("scatter", data, index, src, dim=dim), want)


@pytest.mark.parametrize(
    "ufunc,reduction",
    [(np.add, "add"), (np.subtract, "sub"), (np.multiply, "mul"), (np.minimum, "min"), (np.maximum, "max")],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "uint16", "uint64"])
def test_numpy_ufunc_at_bit_for_bit(ufunc: Any, reduction: str, dtype: str) -> None:
    """NumPy's ``at`` goes through the index in order, and so does a scatter on llvm."""
    rng = np.random.default_rng(15)
    data = values(rng, (50, 37), dtype)
    index, src = rng.integers(-50, 50, 1000), values(rng, (1000, 37), dtype)
    want = data.copy()
    with np.errstate(all="ignore"):
        ufunc.at(want, index, src)
    assert_same(call("put", data, index, src, reduction=reduction), want, signed_zero=reduction not in ("min", "max"))


def test_numpy_bincount() -> None:
    rng = np.random.default_rng(16)
    ids, weights = rng.integers(0, 100, 5000), rng.standard_normal(5000)
    zeros = np.zeros(100)
    assert_same(call("put", zeros, ids, weights, reduction="add"), np.bincount(ids, weights, 100))


# -- JAX: windows -----------------------------------------------------------------------------------------------------

# data shape, index shape, dimension numbers
WINDOWS: list[Any] = [
    ((50, 37), (40, 1), {"offset_dims": (1,), "collapsed": (0,), "start_index_map": (0,), "slice_sizes": (1, 37)}),
    ((50, 37), (40, 1), {"offset_dims": (1, 2), "collapsed": (), "start_index_map": (1,), "slice_sizes": (50, 8)}),
    ((50, 37), (40, 2), {"offset_dims": (1, 2), "collapsed": (), "start_index_map": (1, 0), "slice_sizes": (5, 8)}),
    (
        (20, 7, 33),
        (6, 9, 2),
        {"offset_dims": (2, 3), "collapsed": (1,), "start_index_map": (2, 1), "slice_sizes": (20, 1, 16)},
    ),
    (
        (6, 50, 33),
        (40, 6, 1),
        {
            "offset_dims": (2,),
            "collapsed": (1,),
            "start_index_map": (1,),
            "slice_sizes": (1, 1, 33),
            "data_batching": (0,),
            "index_batching": (1,),
        },
    ),
    (
        (50, 1, 33),
        (40, 1),
        {"offset_dims": (1,), "collapsed": (0, 1), "start_index_map": (0,), "slice_sizes": (1, 1, 9)},
    ),
]


def window_index(rng: np.random.Generator, data_shape: Any, index_shape: Any, dims: Any) -> Any:
    """Starts from a little before to a little past the valid ones."""
    columns = [
        rng.integers(-4, data_shape[a] - dims["slice_sizes"][a] + 5, index_shape[:-1]) for a in dims["start_index_map"]
    ]
    return np.stack(columns, -1).astype("int32")


@pytest.mark.parametrize("bounds", ["clip", "fill"])
@pytest.mark.parametrize("data_shape,index_shape,dims", WINDOWS)
def test_jax_gather(data_shape: Any, index_shape: Any, dims: Any, bounds: str) -> None:
    lax = need("jax").lax
    rng = np.random.default_rng(17)
    data, index = values(rng, data_shape, "float32"), window_index(rng, data_shape, index_shape, dims)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=dims["offset_dims"],
        collapsed_slice_dims=dims["collapsed"],
        start_index_map=dims["start_index_map"],
        operand_batching_dims=dims.get("data_batching", ()),
        start_indices_batching_dims=dims.get("index_batching", ()),
    )
    want = lax.gather(data, index, numbers, slice_sizes=dims["slice_sizes"], mode=bounds, fill_value=-7.5)
    map = to_gs_map(oracle.xla_map(data_shape, index_shape, **dims))
    fill = {"fill": -7.5} if bounds == "fill" else {}
    check(call("gather_map", data, index, map=map, bounds=bounds, negative=False, **fill), want)


@pytest.mark.parametrize("bounds", ["clip", "fill"])
@pytest.mark.parametrize("reduction", ["update", "add", "mul", "min", "max"])
@pytest.mark.parametrize("data_shape,index_shape,dims", WINDOWS)
def test_jax_scatter(data_shape: Any, index_shape: Any, dims: Any, reduction: str, bounds: str) -> None:
    """Every slice stands after the index axes here: where they stand before, XLA:CPU updates in another order."""
    lax = need("jax").lax
    rng = np.random.default_rng(18)
    data, index = values(rng, data_shape, "float32"), window_index(rng, data_shape, index_shape, dims)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=dims["offset_dims"],
        inserted_window_dims=dims["collapsed"],
        scatter_dims_to_operand_dims=dims["start_index_map"],
        operand_batching_dims=dims.get("data_batching", ()),
        scatter_indices_batching_dims=dims.get("index_batching", ()),
    )
    neutral = oracle.xla_map(data_shape, index_shape, **dims)
    src = values(rng, neutral.points_shape(index_shape), "float32")
    function = getattr(lax, "scatter" if reduction == "update" else f"scatter_{reduction}")
    want = function(data, index, src, numbers, mode=bounds)
    map = to_gs_map(neutral)
    got = call("scatter_map", data, index, src, map=map, reduction=reduction, bounds=bounds, negative=False)
    check(got, want, reduction)


def test_jax_segment_sum_drops_ids_out_of_range() -> None:
    jax = need("jax")
    rng = np.random.default_rng(19)
    src, ids = rng.integers(-9, 9, (900, 12)).astype("int32"), rng.integers(-3, 55, 900).astype("int32")
    want = jax.ops.segment_sum(src, ids, num_segments=50)
    zeros = np.zeros((50, 12), "int32")
    check(call("put", zeros, ids, src, reduction="add", bounds="fill", negative=False), want, "add")
