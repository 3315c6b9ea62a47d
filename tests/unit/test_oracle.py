"""The oracle against the real frameworks, wherever one of them defines the same thing."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests import oracle
from tests.cases import INDEX_DTYPES, numpy_dtype, random_data
from tests.frameworks import need, onnx_reference, ort
from tests.oracle import OracleIndexError, assert_same, gather_ref, scatter_ref

SEEDS = range(4)
TORCH_REDUCE = {"add": "sum", "mul": "prod", "mean": "mean", "min": "amin", "max": "amax"}


def elements(rng: np.random.Generator, negative: bool = False) -> tuple[Any, Any, int]:
    """Data, an index that is shorter than it on shared axes, and the axis it indexes."""
    rank = int(rng.integers(1, 5))
    data = rng.permutation([2, 3, 4, 5])[:rank]
    dim = int(rng.integers(0, rank))
    shape = [int(rng.integers(1, 8)) if a == dim else int(rng.integers(1, s + 1)) for a, s in enumerate(data)]
    low = -data[dim] if negative else 0
    return rng.standard_normal(data).astype("float32"), rng.integers(low, data[dim], shape), dim


# -- gather -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_gather_is_torch_gather(seed: int) -> None:
    torch = need("torch")
    data, index, dim = elements(np.random.default_rng(seed))
    want = torch.gather(torch.from_numpy(data), dim, torch.from_numpy(index)).numpy()
    assert_same(gather_ref(data, index, oracle.element_map(data.shape, index.shape, dim)), want)


@pytest.mark.parametrize("seed", SEEDS)
def test_gather_is_onnx_gather_elements(seed: int) -> None:
    data, index, dim = elements(np.random.default_rng(seed), negative=True)
    want = ort("GatherElements", data, index, axis=dim)
    assert_same(gather_ref(data, index, oracle.element_map(data.shape, index.shape, dim)), want)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_gather_is_take_along_axis(dim: int) -> None:
    rng = np.random.default_rng(dim + 9)
    data = rng.standard_normal((2, 3, 4))
    shape = [2, 3, 4]
    shape[dim] = 7
    index = rng.integers(-data.shape[dim], data.shape[dim], shape)
    got = gather_ref(data, index, oracle.element_map(data.shape, index.shape, dim))
    assert_same(got, np.take_along_axis(data, index, dim))


def test_gather_with_one_dim_is_gather_nd_with_dims() -> None:
    for seed in range(8):
        data, index, dim = elements(np.random.default_rng(seed), negative=True)
        wide = index[..., None]
        assert_same(
            gather_ref(data, index, oracle.element_map(data.shape, index.shape, dim)),
            gather_ref(data, wide, oracle.dims_map(data.shape, wide.shape, [dim])),
        )


@pytest.mark.parametrize("dims", [d for m in range(4) for d in itertools.permutations(range(3), m)])
def test_gather_nd_with_dims_is_advanced_indexing(dims: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(dims))
    data = rng.standard_normal((3, 4, 5))
    grid = [6 if a in dims else n - 1 for a, n in enumerate(data.shape)]
    index = np.stack(
        [rng.integers(-data.shape[d], data.shape[d], grid) for d in dims] or [np.zeros((*grid, 0), int)], -1
    )
    if not dims:
        index = np.zeros((*grid, 0), int)
    at: list[Any] = list(np.indices(grid))
    for k, d in enumerate(dims):
        at[d] = index[..., k]
    assert_same(gather_ref(data, index, oracle.dims_map(data.shape, index.shape, dims)), data[tuple(at)])


@pytest.mark.parametrize("batch", [0, 1, 2])
@pytest.mark.parametrize("m", [1, 2])
def test_gather_nd_is_onnx_gather_nd(batch: int, m: int) -> None:
    rng = np.random.default_rng(10 * batch + m)
    data = rng.standard_normal((2, 3, 4, 5)).astype("float32")
    extents = data.shape[batch : batch + m]
    shape = (*data.shape[:batch], 7)
    index = np.stack([rng.integers(-s, s, shape) for s in extents], -1)
    got = gather_ref(data, index, oracle.nd_map(data.shape, index.shape, batch))
    assert_same(got, ort("GatherND", data, index, batch_dims=batch))
    assert_same(got, onnx_reference("GatherND", data, index, batch_dims=batch))


def test_gather_nd_with_the_vector_outermost_is_advanced_indexing() -> None:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((3, 4, 5))
    index = np.stack([rng.integers(0, 3, (6, 2)), rng.integers(0, 4, (6, 2))])
    assert_same(gather_ref(data, index, oracle.nd_map(data.shape, index.shape, 0, 0)), data[index[0], index[1]])


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_take_is_numpy_take_and_onnx_gather(axis: int, rank: int) -> None:
    rng = np.random.default_rng(axis + 5 * rank + 1)
    data = rng.standard_normal((3, 4, 5)).astype("float32")
    s = data.shape[axis]
    index = np.asarray(rng.integers(-s, s, (2, 6)[:rank]))
    got = gather_ref(data, index, oracle.take_map(data.shape, index.shape, axis))
    assert_same(got, np.take(data, index, axis))
    assert_same(got, ort("Gather", data, index, axis=axis))
    assert_same(got, onnx_reference("Gather", data, index, axis=axis))


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_take_with_a_batch_is_take_per_batch(axis: int) -> None:
    rng = np.random.default_rng(axis)
    data = rng.standard_normal((2, 3, 4, 5))
    index = rng.integers(-data.shape[axis], data.shape[axis], (2, 6, 7))
    want = np.stack([np.take(d, i, axis - 1) for d, i in zip(data, index, strict=True)])
    assert_same(gather_ref(data, index, oracle.take_map(data.shape, index.shape, axis, 1)), want)
    assert_same(gather_ref(data, index, oracle.take_map(data.shape, index.shape, axis, -2)), want)


# -- index values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", ["clip", "wrap"])
def test_clip_and_wrap_are_numpys(bounds: Any) -> None:
    data = np.arange(5)
    index = np.array([-(2**20), -11, -6, -5, -1, 0, 4, 5, 6, 11, 2**20 - 1])  # NumPy's wrap subtracts in a loop
    negative = bounds == "wrap"
    got = gather_ref(data, index, oracle.take_map(data.shape, index.shape, 0), bounds, negative)
    assert_same(got, np.take(data, index, mode=bounds))


def test_clip_with_negatives_clips_after_counting_from_the_end() -> None:
    data = np.arange(5)
    index = np.array([-7, -6, -5, -1, 0, 4, 5])
    got = gather_ref(data, index, oracle.take_map(data.shape, index.shape, 0), "clip")
    assert got.tolist() == [0, 0, 0, 4, 0, 4, 4]


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_an_index_of_any_dtype_means_its_value(dtype: str) -> None:
    data = np.arange(300)
    info = np.iinfo(dtype)
    values = [v for v in (0, 1, 127, 128, 255, 256, 299, -1, -128, -129, -300) if info.min <= v <= info.max]
    index = np.array(values, dtype)
    assert gather_ref(data, index, oracle.take_map((300,), index.shape, 0)).tolist() == [v % 300 for v in values]
    if info.max >= 300:
        bad = np.array([info.max], dtype)
        with pytest.raises(OracleIndexError) as caught:
            gather_ref(data, bad, oracle.take_map((300,), bad.shape, 0))
        assert caught.value.value == info.max


def test_raise_names_the_first_offender_of_the_index_tensor() -> None:
    data = np.zeros((3, 4))
    index = np.array([[0, 3], [2, 4], [3, 0]])
    with pytest.raises(OracleIndexError) as caught:
        gather_ref(data, index, oracle.nd_map(data.shape, index.shape))
    assert (caught.value.position, caught.value.value, caught.value.valid) == ((1, 1), 4, (-4, 3))
    turned = index.T.copy()  # the vector outermost: another element comes first
    with pytest.raises(OracleIndexError) as caught:
        gather_ref(data, turned, oracle.nd_map(data.shape, turned.shape, 0, 0))
    assert (caught.value.position, caught.value.value, caught.value.valid) == ((0, 2), 3, (-3, 2))
    with pytest.raises(OracleIndexError) as caught:
        gather_ref(data, np.array(-1), oracle.take_map(data.shape, (), 0), negative=False)
    assert (caught.value.position, caught.value.value, caught.value.valid) == ((), -1, (0, 2))


def test_an_empty_axis_has_no_valid_index() -> None:
    data = np.zeros((0, 2))
    for bounds in ("raise", "clip", "wrap"):
        with pytest.raises(OracleIndexError) as caught:
            gather_ref(data, np.array([0]), oracle.take_map(data.shape, (1,), 0), bounds)
        assert caught.value.valid is None
    want = np.full((1, 2), 7.0)
    assert_same(gather_ref(data, np.array([0]), oracle.take_map(data.shape, (1,), 0), "fill", fill=7), want)


def test_an_index_that_no_point_reads_is_checked_too() -> None:
    """NumPy, torch.index_select and ONNX Runtime's Gather raise; torch.index_add and ONNX Runtime's GatherND do not."""
    data = np.zeros((3, 0))
    with pytest.raises(IndexError):
        np.take(data, [5], 0)
    with pytest.raises(OracleIndexError):
        gather_ref(data, np.array([5]), oracle.take_map(data.shape, (1,), 0))


# -- scatter ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8", "uint8"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", list(TORCH_REDUCE))
def test_scatter_is_torch_scatter_reduce(reduction: str, include_self: bool, dtype: str) -> None:
    torch = need("torch")
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        shape, index, dim = elements(rng)
        low, high = (0, 20) if dtype == "uint8" else (-20, 20)
        data = rng.integers(low, high, shape.shape).astype(dtype)
        src = rng.integers(low, high, index.shape).astype(dtype)
        want = (
            torch.from_numpy(data)
            .scatter_reduce(
                dim,
                torch.from_numpy(index),
                torch.from_numpy(src),
                TORCH_REDUCE[reduction],
                include_self=include_self,
            )
            .numpy()
        )
        got = scatter_ref(data, index, src, oracle.element_map(data.shape, index.shape, dim), reduction, include_self)
        if dtype == "float32" and reduction in ("mean", "mul"):
            np.testing.assert_allclose(got, want, rtol=1e-6)
        else:
            assert_same(got, want, signed_zero=False)


@pytest.mark.parametrize("reduction", ["min", "max"])
def test_min_and_max_propagate_nan_as_torch_does(reduction: str) -> None:
    torch = need("torch")
    nan = float("nan")
    data = np.array([1.0, nan, 1.0, nan, 5.0], "float32")
    index, src = np.array([0, 1, 2, 3, 2, 0]), np.array([nan, 2.0, 3.0, nan, 0.5, 1.0], "float32")
    want = torch.from_numpy(data).scatter_reduce(
        0, torch.from_numpy(index), torch.from_numpy(src), TORCH_REDUCE[reduction]
    )
    assert_same(scatter_ref(data, index, src, oracle.element_map((5,), (6,), 0), reduction), want.numpy())


def test_integer_mean_floors_as_torch_does() -> None:
    torch = need("torch")
    data, index, src = np.array([-3, 7]), np.array([0, 0, 1]), np.array([-2, -2, 0])
    want = torch.from_numpy(data).scatter_reduce(0, torch.from_numpy(index), torch.from_numpy(src), "mean").numpy()
    got = scatter_ref(data, index, src, oracle.element_map((2,), (3,), 0), "mean")
    assert got.tolist() == want.tolist() == [-3, 3]


def test_integer_mean_wraps_before_it_divides() -> None:
    data, index, src = np.array([100], "int8"), np.zeros(2, int), np.array([100, 1], "int8")
    got = scatter_ref(data, index, src, oracle.element_map((1,), (2,), 0), "mean")
    assert got.tolist() == [(201 - 256) // 3]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("reduction", ["add", "mul", "mean"])
def test_half_precision_accumulates_in_float32_and_rounds_once(dtype: str, reduction: str) -> None:
    rng = np.random.default_rng(1)
    data = random_data(rng, (3,), dtype)
    index, src = rng.integers(0, 3, 12), random_data(rng, (12,), dtype)
    got = scatter_ref(data, index, src, oracle.element_map((3,), (12,), 0), reduction)
    wide = scatter_ref(
        data.astype("float32"), index, src.astype("float32"), oracle.element_map((3,), (12,), 0), reduction
    )
    with np.errstate(over="ignore"):
        assert_same(got, wide.astype(numpy_dtype(dtype)))
    assert got.dtype == numpy_dtype(dtype)


@pytest.mark.parametrize(
    "ufunc,reduction",
    [(np.add, "add"), (np.subtract, "sub"), (np.multiply, "mul"), (np.minimum, "min"), (np.maximum, "max")],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "uint16", "uint64"])
def test_scatter_is_numpy_ufunc_at_in_the_same_order(ufunc: Any, reduction: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    data, src = random_data(rng, (5, 3), dtype), random_data(rng, (40, 3), dtype)
    index = rng.integers(-5, 5, 40)
    want = data.copy()
    with np.errstate(all="ignore"):
        ufunc.at(want, index, src)
    got = scatter_ref(data, index, src, oracle.take_map(data.shape, index.shape, 0), reduction)
    assert_same(got, want, signed_zero=reduction not in ("min", "max"))


@pytest.mark.parametrize(
    "ufunc,reduction", [(np.add, "add"), (np.multiply, "mul"), (np.maximum, "max"), (np.minimum, "min")]
)
def test_bool_reductions_are_numpys(ufunc: Any, reduction: str) -> None:
    rng = np.random.default_rng(5)
    data, src, index = rng.random(6) < 0.5, rng.random(9) < 0.5, rng.integers(0, 6, 9)
    want = data.copy()
    ufunc.at(want, index, src)
    assert_same(scatter_ref(data, index, src, oracle.element_map((6,), (9,), 0), reduction), want)


def test_update_is_put_along_axis_and_the_last_write_wins() -> None:
    data = np.zeros((3, 4))
    index = np.array([[0, 2, -3, 1], [0, 2, 0, -2]])
    src = np.arange(8.0).reshape(2, 4)
    want = data.copy()
    np.put_along_axis(want, index, src, 0)
    assert_same(scatter_ref(data, index, src, oracle.element_map(data.shape, index.shape, 0)), want)
    assert want[0].tolist() == [4, 0, 6, 0]


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("seed", SEEDS)
def test_scatter_is_onnx_scatter_elements(reduction: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data, index, dim = elements(rng, negative=True)
    src = rng.standard_normal(index.shape).astype("float32")
    want = ort("ScatterElements", data, index, src, axis=dim, reduction=reduction)
    name = "update" if reduction == "none" else reduction
    assert_same(scatter_ref(data, index, src, oracle.element_map(data.shape, index.shape, dim), name), want)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_scatter_nd_is_onnx_scatter_nd(reduction: str, m: int) -> None:
    rng = np.random.default_rng(m)
    data = rng.standard_normal((3, 4, 5)).astype("float32")
    index = np.stack([rng.integers(-s, s, (2, 6)) for s in data.shape[:m]], -1)
    src = rng.standard_normal((2, 6, *data.shape[m:])).astype("float32")
    name = "update" if reduction == "none" else reduction
    got = scatter_ref(data, index, src, oracle.nd_map(data.shape, index.shape), name)
    assert_same(got, ort("ScatterND", data, index, src, reduction=reduction))
    assert_same(got, onnx_reference("ScatterND", data, index, src, reduction=reduction))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_put_is_torch_index_add_copy_and_reduce(axis: int) -> None:
    torch = need("torch")
    rng = np.random.default_rng(axis)
    data = rng.integers(-9, 9, (3, 4, 5))
    index = rng.integers(0, data.shape[axis], 7)
    shape = [7 if a == axis else s for a, s in enumerate(data.shape)]
    src = rng.integers(-9, 9, shape)
    map = oracle.take_map(data.shape, index.shape, axis)
    d, i, s = (torch.from_numpy(t) for t in (data, index, src))
    assert_same(scatter_ref(data, index, src, map, "add"), d.index_add(axis, i, s).numpy())
    assert_same(scatter_ref(data, index, src, map, "sub"), d.index_add(axis, i, s, alpha=-1).numpy())
    assert_same(scatter_ref(data, index, src, map), d.index_copy(axis, i, s).numpy())
    assert_same(scatter_ref(data, index, 4, map), d.index_fill(axis, i, 4).numpy())
    for reduction, name in [("mul", "prod"), ("min", "amin"), ("max", "amax"), ("mean", "mean")]:
        for include_self in (True, False):
            want = d.index_reduce(axis, i, s, name, include_self=include_self).numpy()
            assert_same(scatter_ref(data, index, src, map, reduction, include_self), want)


def test_scatter_drops_a_point_out_of_range_under_fill() -> None:
    data, index, src = np.arange(4), np.array([0, 4, -4, -5, 3]), np.array([10, 20, 30, 40, 50])
    map = oracle.element_map((4,), (5,), 0)
    assert scatter_ref(data, index, src, map, bounds="fill").tolist() == [30, 1, 2, 50]
    assert scatter_ref(data, index, src, map, bounds="fill", negative=False).tolist() == [10, 1, 2, 50]
    assert data.tolist() == [0, 1, 2, 3]


# -- windows: XLA -----------------------------------------------------------------------------------------------------

# data shape, index shape, dimension numbers
XLA = [
    ((5, 7), (4, 1), {"offset_dims": (1,), "collapsed": (0,), "start_index_map": (0,), "slice_sizes": (1, 7)}),
    ((5, 7), (4, 1), {"offset_dims": (0, 1), "collapsed": (), "start_index_map": (1,), "slice_sizes": (5, 3)}),
    ((5, 7), (4, 2), {"offset_dims": (0, 2), "collapsed": (), "start_index_map": (1, 0), "slice_sizes": (2, 3)}),
    (
        (5, 7, 3),
        (2, 4, 2),
        {"offset_dims": (1, 3), "collapsed": (1,), "start_index_map": (0, 1), "slice_sizes": (2, 1, 2)},
    ),
    ((5, 1, 3), (4, 1), {"offset_dims": (1,), "collapsed": (0, 1), "start_index_map": (0,), "slice_sizes": (1, 1, 2)}),
    (
        (2, 6, 5),
        (4, 2, 1),
        {
            "offset_dims": (2,),
            "collapsed": (1,),
            "start_index_map": (1,),
            "slice_sizes": (1, 1, 5),
            "data_batching": (0,),
            "index_batching": (1,),
        },
    ),
    ((6,), (0, 1), {"offset_dims": (1,), "collapsed": (), "start_index_map": (0,), "slice_sizes": (2,)}),
]


def jax_numbers(dims: dict[str, Any]) -> tuple[Any, Any]:
    """The same dimension numbers for ``lax.gather`` and ``lax.scatter``."""
    lax = need("jax").lax
    batching = (dims.get("data_batching", ()), dims.get("index_batching", ()))
    gather = lax.GatherDimensionNumbers(
        offset_dims=dims["offset_dims"],
        collapsed_slice_dims=dims["collapsed"],
        start_index_map=dims["start_index_map"],
        operand_batching_dims=batching[0],
        start_indices_batching_dims=batching[1],
    )
    scatter = lax.ScatterDimensionNumbers(
        update_window_dims=dims["offset_dims"],
        inserted_window_dims=dims["collapsed"],
        scatter_dims_to_operand_dims=dims["start_index_map"],
        operand_batching_dims=batching[0],
        scatter_indices_batching_dims=batching[1],
    )
    return gather, scatter


@pytest.mark.parametrize("bounds", ["clip", "fill"])
@pytest.mark.parametrize("data_shape,index_shape,dims", XLA)
def test_gather_with_windows_is_xlas(data_shape: Any, index_shape: Any, dims: Any, bounds: str) -> None:
    lax = need("jax").lax
    rng = np.random.default_rng(0)
    data = rng.integers(-99, 99, data_shape).astype("int32")
    index = rng.integers(-3, 9, index_shape).astype("int32")
    map = oracle.xla_map(data_shape, index_shape, **dims)
    numbers, _ = jax_numbers(dims)
    want = lax.gather(data, index, numbers, slice_sizes=dims["slice_sizes"], mode=bounds, fill_value=-1)
    assert_same(gather_ref(data, index, map, bounds, False, -1), np.asarray(want))


@pytest.mark.parametrize("bounds", ["clip", "fill"])
@pytest.mark.parametrize("reduction", ["update", "add", "mul", "min", "max"])
@pytest.mark.parametrize("data_shape,index_shape,dims", XLA)
def test_scatter_with_windows_is_xlas(
    data_shape: Any, index_shape: Any, dims: Any, reduction: str, bounds: str
) -> None:
    lax = need("jax").lax
    rng = np.random.default_rng(1)
    data = rng.integers(-9, 9, data_shape).astype("int32")
    index = rng.integers(-2, 8, index_shape).astype("int32")
    map = oracle.xla_map(data_shape, index_shape, **dims)
    src = rng.integers(-9, 9, map.points_shape(index_shape)).astype("int32")
    _, numbers = jax_numbers(dims)
    function = getattr(lax, "scatter" if reduction == "update" else f"scatter_{reduction}")
    want = function(data, index, src, numbers, mode=bounds)
    if reduction == "update":
        map, src = grid_first(map, src)
    assert_same(scatter_ref(data, index, src, map, reduction, True, bounds, False), np.asarray(want))


def grid_first(map: oracle.Map, src: Any) -> tuple[oracle.Map, Any]:
    """The same points with the index axes outermost.

    XLA:CPU goes over the index first and over a slice's elements second, wherever the slices' axes stand in the
    updates; here the order is row-major over the points.  They differ where slices overlap and stand before the index
    axes.
    """
    order = sorted(range(len(map.layout)), key=lambda o: map.layout[o][0] == "window")
    layout = tuple(map.layout[o] for o in order)
    return oracle.Map(map.sources, map.vector_axis, map.windows, layout), src.transpose(order)


def test_update_order_is_row_major_over_the_points() -> None:
    dims = {"offset_dims": (0,), "collapsed": (), "start_index_map": (0,), "slice_sizes": (2,)}
    data, index, src = np.zeros(3, int), np.array([[0], [1]]), np.array([[1, 2], [3, 4]])  # src is (window, index)
    map = oracle.xla_map(data.shape, index.shape, **dims)
    assert scatter_ref(data, index, src, map).tolist() == [1, 3, 4]
    map, src = grid_first(map, src)
    assert scatter_ref(data, index, src, map).tolist() == [1, 2, 4]


def test_windows_under_raise_and_wrap() -> None:
    data = np.arange(5)
    map = oracle.xla_map((5,), (1, 1), offset_dims=(1,), collapsed=(), start_index_map=(0,), slice_sizes=(2,))
    for value, want in [(0, [0, 1]), (3, [3, 4]), (-5, [0, 1]), (-2, [3, 4])]:
        assert gather_ref(data, np.array([[value]]), map).tolist() == [want]
    for value in (4, -1, -6):
        with pytest.raises(OracleIndexError) as caught:
            gather_ref(data, np.array([[value]]), map)
        assert (caught.value.value, caught.value.valid) == (value, (-5, 3))
    for value in (-5, -1, 4, 9):
        start = value % 4
        assert gather_ref(data, np.array([[value]]), map, "wrap").tolist() == [[start, start + 1]]


# -- the comparison itself --------------------------------------------------------------------------------------------


def test_assert_same_sees_what_it_should() -> None:
    one = np.array([1.0, np.nan, 0.0], "float32")
    assert_same(one, one.copy())
    assert_same(one, np.array([1.0, -np.nan, -0.0], "float32"), signed_zero=False)
    for other in [
        np.array([1.0, np.nan, -0.0], "float32"),
        np.array([1.0, 2.0, 0.0], "float32"),
        np.array([1.0, np.nan, 0.0], "float64"),
        np.array([[1.0, np.nan, 0.0]], "float32"),
        np.array([np.nextafter(np.float32(1), np.float32(2)), np.nan, 0.0], "float32"),
    ]:
        with pytest.raises(AssertionError):
            assert_same(one, other)
    half = np.array([1.5, np.nan, -0.0]).astype(numpy_dtype("bfloat16"))
    assert_same(half, half.copy())
    with pytest.raises(AssertionError):
        assert_same(half, np.array([1.5, np.nan, 0.0]).astype(numpy_dtype("bfloat16")))
