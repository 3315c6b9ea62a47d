"""gscompile.dialects.topi against tvm.topi compiled for the CPU; never with an index that TOPI would follow out of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te
from tvm import topi as tvm_topi

import gscompile as gs
from gscompile.compiler.linked import Linked
from gscompile.dialects import topi as gt
from tests.cases import INTEGERS
from tests.dialects.differential import Against, Draw
from tests.oracle import Array
from tests.paths import UNOPTIMISED

JUDGE = f"tvm.topi {tvm.__version__}"
DATA = ("float16", "float32", "float64", *INTEGERS)


def against(function: str) -> Against:
    return Against("topi", function, JUDGE)


def draws(count: int) -> Any:
    return pytest.mark.parametrize("seed", range(count))


def whole(d: Draw, shape: Any, dtype: str) -> Array:
    return d.rng.integers(0, 3, tuple(shape)).astype(dtype)


def run_topi(declare: Callable[..., Any], *arrays: Array) -> Array:
    """A TOPI operator of these arrays."""
    inputs = [te.placeholder(a.shape, a.dtype.name, f"a{k}") for k, a in enumerate(arrays)]
    result = declare(*inputs)
    func = te.create_prim_func([*inputs, result]).with_attr("global_symbol", "main")
    out = np.zeros([int(n) for n in result.shape], str(result.dtype))
    passed = [tvm.runtime.tensor(a) for a in arrays]
    buffer = tvm.runtime.tensor(out)
    Linked(tvm.compile(func, target=UNOPTIMISED))["main"](*passed, buffer)
    return buffer.numpy()


def extents(d: Draw, rank: int) -> tuple[int, ...]:
    return d.shape(rank, empty=0)


def safe(d: Draw, shape: Sequence[int], size: int, negative: bool = False) -> Array:
    return d.index(shape, size, d.choice(INTEGERS), negative=negative)


@draws(40)
def test_gather(seed: int) -> None:
    d = Draw(seed)
    shape = extents(d, d.integer(1, 6))
    x, axis = d.data(shape, d.choice(DATA)), d.axis(len(shape))
    other = [n if d.maybe(0.6) else d.integer(1, n) for n in shape]
    other[axis] = d.integer(0 if d.maybe(0.1) else 1, 5)
    if d.maybe(0.06):
        other.append(1)
    i = safe(d, other, shape[axis])
    if d.maybe(0.05):
        i = i.astype("float32")
    if d.maybe(0.05):
        axis = len(shape)
    against("gather").agree(
        lambda: gt.gather(x, axis, i),
        lambda: run_topi(lambda a, b: tvm_topi.gather(a, axis, b), x, i),
        (shape, axis, i.shape),
    )


def vectors(d: Draw, shape: Sequence[int], negative: bool = False) -> Array:
    """Index vectors for the leading axes of ``shape``, along the first axis."""
    m = d.integer(1, len(shape))
    grid = extents(d, d.integer(0, 2))
    dtype = d.choice(INTEGERS)
    return np.stack([d.index(grid, n, dtype, negative=negative) for n in shape[:m]])


@draws(40)
def test_gather_nd(seed: int) -> None:
    d = Draw(seed)
    batch = d.integer(0, 2) if d.maybe(0.4) else 0
    shape = extents(d, d.integer(batch + 1, 5))
    x = d.data(shape, d.choice(DATA))
    m = d.integer(1, len(shape) - batch)
    grid = (*shape[:batch], *extents(d, d.integer(0, 2)))
    dtype = d.choice(INTEGERS)
    i = np.stack([d.index(grid, n, dtype, negative=False) for n in shape[batch : batch + m]])
    if d.maybe(0.08):
        i = np.concatenate([i] * (len(shape) + 1))
    against("gather_nd").agree(
        lambda: gt.gather_nd(x, i, batch),
        lambda: run_topi(lambda a, b: tvm_topi.gather_nd(a, b, batch), x, i),
        (shape, i.dtype, i.shape, batch),
    )


@draws(60)
def test_take(seed: int) -> None:
    d = Draw(seed)
    mode = ("clip", "wrap", "nan", "fast")[seed % 4]
    shape = extents(d, d.integer(1, 5))
    axis = None if d.maybe(0.15) and mode != "nan" else d.axis(len(shape))
    x = d.data(shape, d.choice(("float32", "float64") if mode == "nan" and d.maybe(0.9) else DATA))
    size = x.size if axis is None else shape[axis]
    batch = 0
    if mode == "clip" and axis is not None and d.maybe(0.4):
        batch = d.integer(0, axis % len(shape))
    wild = {"clip": 0.5, "wrap": 0.5}.get(mode, 0.0)
    grid = (*shape[:batch], *extents(d, d.integer(0, 2)))
    i = d.index(grid, size, d.choice(("int32", "int64", "int8", "int16")), negative=wild > 0, wild=0)
    if wild or mode == "nan":
        i = (i + d.rng.integers(-4, 5, i.shape)).astype(i.dtype)
    if mode == "nan":
        i = np.abs(i)
    against("take").agree(
        lambda: gt.take(x, i, axis, batch, mode),
        lambda: run_topi(lambda a, b: tvm_topi.take(a, b, axis, batch, mode), x, i),
        (shape, x.dtype, axis, i.dtype, i.shape, batch, mode),
    )


@draws(60)
def test_scatter_elements(seed: int) -> None:
    d = Draw(seed)
    reduction = ("update", "add", "mul", "min", "max", "mean")[seed % 6]
    shape = extents(d, d.integer(1, 5))
    dtype, axis = d.choice(DATA), d.axis(len(shape))
    x = d.data(shape, dtype)
    other = [d.integer(1, n) if d.maybe(0.3) else n for n in shape]
    other[axis] = d.integer(1, 5)
    i, u = safe(d, other, shape[axis], negative=True), d.data(other, dtype)
    if d.maybe(0.06):
        reduction = "median"
    against("scatter_elements").agree(
        lambda: gt.scatter_elements(x, i, u, axis, reduction),
        lambda: run_topi(lambda a, b, c: tvm_topi.scatter_elements(a, b, c, axis, reduction), x, i, u),
        (shape, dtype, axis, i.dtype, i.shape, reduction),
    )


@draws(50)
def test_scatter_nd(seed: int) -> None:
    d = Draw(seed)
    mode = ("update", "add", "mul", "min", "max")[seed % 5]
    shape = extents(d, d.integer(1, 5))
    dtype = d.choice(DATA)
    x, i = d.data(shape, dtype), vectors(d, shape)
    u = d.data((*i.shape[1:], *shape[i.shape[0] :]), dtype)
    if d.maybe(0.06):
        mode = "median"
    elif d.maybe(0.06) and u.ndim:
        u = np.concatenate([u, u])
    elif d.maybe(0.06):
        i = np.concatenate([i] * (len(shape) + 1))
    against("scatter_nd").agree(
        lambda: gt.scatter_nd(x, i, u, mode),
        lambda: run_topi(lambda a, b, c: tvm_topi.scatter_nd(a, b, c, mode), x, i, u),
        (shape, dtype, i.dtype, i.shape, u.shape, mode),
    )


@draws(40)
def test_index_put(seed: int) -> None:
    d = Draw(seed)
    accumulate = seed % 2 == 1
    shape = extents(d, d.integer(1, 4))
    dtype = d.choice(DATA)
    x = d.data(shape, dtype)
    grid = extents(d, d.integer(1, 2))
    count = len(shape) + (d.choice((-1, 1)) if d.maybe(0.06) else 0)
    each = []
    for k in range(count):
        part = tuple(1 if d.maybe(0.2) else n for n in grid)
        each.append(safe(d, part, shape[min(k, len(shape) - 1)], negative=True))
    points = np.broadcast_shapes(*(i.shape for i in each)) if each else grid
    u = np.ones(points, dtype)  # the order of duplicates is left to chance
    against("index_put").agree(
        lambda: gt.index_put(x, each, u, accumulate),
        lambda: run_topi(lambda a, c, *b: tvm_topi.index_put(a, b, c, accumulate), x, u, *each),
        (shape, dtype, [i.shape for i in each], accumulate),
    )


# -- where TOPI is wrong, or leaves the tensor ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_many_updates_of_few_elements(dtype: str) -> None:
    d = Draw(7)
    i = d.rng.integers(0, 5, (1, 300))
    for shape in ((), (8,)):
        x, u = (d.rng.standard_normal((n, *shape)).astype(dtype) for n in (5, 300))
        special = d.data((300, *shape), dtype)
        for mode, values in (("add", u), ("mul", u), ("min", special), ("max", special)):
            against("scatter_nd").agree(
                lambda: gt.scatter_nd(x, i, values, mode),  # noqa: B023
                lambda: run_topi(lambda a, b, c: tvm_topi.scatter_nd(a, b, c, mode), x, i, values),  # noqa: B023
                (mode, shape),
            )


@pytest.mark.parametrize("mode", ["wrap", "fast", "nan"])
def test_batches_in_other_modes_than_clip(mode: str) -> None:
    x, i = np.arange(12, dtype="float32").reshape(2, 3, 2), np.array([[2, 0], [1, 1]])
    against("take").differs(
        lambda: gt.take(x, i, 1, 1, mode),
        lambda: run_topi(lambda a, b: tvm_topi.take(a, b, 1, 1, mode), x, i),
        np.stack([x[0, [2, 0]], x[1, [1, 1]]]),
    )


@pytest.mark.parametrize("axis", [None, 0])
def test_unknown_mode(axis: int | None) -> None:
    x, i = np.arange(3.0), np.array([2, 4])
    against("take").agree(
        lambda: gt.take(x, i, axis, 0, "loud"),
        lambda: run_topi(lambda a, b: tvm_topi.take(a, b, axis, 0, "loud"), x, i),
    )


def test_nan_without_an_axis() -> None:
    x, i = np.arange(4, dtype="float32").reshape(2, 2), np.array([3, 4])
    against("take").differs(
        lambda: gt.take(x, i, mode="nan"),
        lambda: run_topi(lambda a, b: tvm_topi.take(a, b, mode="nan"), x, i),
        np.array([3, np.nan], "float32"),
    )


def test_indices_out_of_range_are_errors() -> None:
    x, one = np.zeros((2, 3)), np.ones(1)
    for bad in (-1, 2):
        calls: list[Callable[[], Any]] = [
            lambda: gt.gather(x, 0, np.array([[bad]])),  # noqa: B023
            lambda: gt.gather_nd(x, np.array([[bad], [0]])),  # noqa: B023
            lambda: gt.take(x, np.array([bad]), 0),  # noqa: B023
            lambda: gt.scatter_nd(x, np.array([[bad], [0]]), one, "add"),  # noqa: B023
            lambda: gt.scatter_elements(x, np.array([[bad * 3]]), np.ones((1, 1))),  # noqa: B023
            lambda: gt.index_put(x, (np.array([bad * 3]), np.array([0])), one),  # noqa: B023
        ]
        for call in calls:
            with pytest.raises(gs.BoundsError, match="out of range for axis 0"):
                call()


def test_values_of_a_builder_and_symbolic_sizes() -> None:
    b = gs.Builder()
    x, i, u = b.input("x", ("n", "m"), "float32"), b.input("i", (1, "k"), "int32"), b.input("u", ("k", "m"), "float32")
    j = b.input("j", ("n", "q"), "int32")
    b.output(gt.take(x, j, 1, 1, "wrap"), gt.scatter_nd(x, i, u, "add"), gt.gather(x, 1, j), gt.gather_nd(x, i))
    d = Draw(1)
    arrays = d.data((4, 3), "float32"), np.array([[0, 3, 3]], "int32"), d.data((3, 3), "float32")
    rows = d.index((4, 2), 3, "int32", negative=False)
    a, at, values = arrays
    added = a.copy()
    np.add.at(added, at[0], values)
    along = np.take_along_axis(a, rows, 1)
    for got, want in zip(b.build()(*arrays, rows), [along, added, along, a[at[0]]], strict=True):
        np.testing.assert_array_equal(got, want)
