"""gscompile.dialects.xla against XLA's CPU compiler: the same operation as StableHLO text, verified and run by jaxlib."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import xla
from gscompile.emulation import emulate
from tests import cuda
from tests.cases import DTYPES, INTEGERS, numpy_dtype
from tests.dialects.differential import Against, Draw
from tests.frameworks import need
from tests.oracle import Array

jax = need("jax")
JUDGE = f"XLA CPU, jaxlib {need('jaxlib').__version__}"
GATHER_SEQUENCES = ("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims")
SCATTER_SEQUENCES = (
    "update_window_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims",
)


def against(function: str) -> Against:
    return Against("xla", function, JUDGE)


def draws(count: int) -> Any:
    return pytest.mark.parametrize("seed", range(count))


# -- StableHLO --------------------------------------------------------------------------------------------------------


def element(dtype: str) -> str:
    """MLIR's name of a dtype."""
    letter = {"float": "f", "bfloat": "bf", "int": "i", "uint": "ui"}
    if dtype == "bool":
        return "i1"
    word = dtype.rstrip("0123456789")
    return letter[word] + dtype[len(word) :]


def tensor(shape: Sequence[int], dtype: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element(dtype)}>"


def run_stablehlo(
    body: Callable[[list[str]], str], arrays: Sequence[Array], results: Sequence[str]
) -> tuple[Array, ...]:
    """Verify, compile and run one operation; ``body`` is given the arguments' types."""
    from jax.extend.backend import get_backend
    from jaxlib import _jax

    types = [tensor(a.shape, a.dtype.name) for a in arrays]
    arguments = ", ".join(f"%a{k}: {t}" for k, t in enumerate(types))
    returned = ", ".join(results)
    names = ", ".join(f"%r#{k}" for k in range(len(results)))
    text = (
        f"module {{ func.func public @main({arguments}) -> ({returned}) {{\n"
        f"  %r:{len(results)} = {body(types)} : ({', '.join(types)}) -> ({returned})\n"
        f"  return {names} : {returned}\n}} }}"
    )
    device = jax.devices("cpu")[0]
    try:
        program = get_backend("cpu").compile_and_load(text, _jax.DeviceList((device,)), _jax.CompileOptions())
    except Exception as error:
        assert "inferred" not in str(error), f"the test states a wrong type: {error}\n{text}"
        raise
    with jax.enable_x64(True):
        given = [jax.device_put(a, device) for a in arrays]
    return tuple(np.asarray(r) for r in program.execute(given))


def xla_gather(operand: Array, indices: Array, **numbers: Any) -> Array:
    sizes, offset, vector = numbers["slice_sizes"], numbers["offset_dims"], numbers["index_vector_dim"]
    dropped = (*numbers["collapsed_slice_dims"], *numbers["operand_batching_dims"])
    windows = iter([n for a, n in enumerate(sizes) if a not in dropped])
    grid = iter([n for j, n in enumerate(indices.shape) if j != vector])
    rank = len(offset) + indices.ndim - (vector < indices.ndim)
    shape = [next(windows if k in offset else grid, 1) for k in range(rank)]

    def body(types: list[str]) -> str:
        names = ", ".join(f"{k} = {list(numbers[k])}" for k in (*GATHER_SEQUENCES, "start_index_map"))
        return (
            f'"stablehlo.gather"(%a0, %a1) <{{dimension_numbers = #stablehlo.gather<{names}, index_vector_dim = {vector}>, '
            f"slice_sizes = array<i64: {', '.join(map(str, sizes))}>, indices_are_sorted = false}}>"
        ).replace("<i64: >", "<i64>")

    return run_stablehlo(body, [operand, indices], [tensor(shape, operand.dtype.name)])[0]


def xla_scatter(
    inputs: Sequence[Array],
    indices: Array,
    updates: Sequence[Array],
    region: Sequence[str],
    unique: bool,
    **numbers: Any,
) -> tuple[Array, ...]:
    """``region`` is the computation's lines; ``%x0 ..`` are the old values, ``%y0 ..`` the new ones."""
    n = len(inputs)

    def body(types: list[str]) -> str:
        scalars = [tensor((), a.dtype.name) for a in inputs]
        arguments = [f"%{v}{k}: {t}" for v in "xy" for k, t in enumerate(scalars)]
        names = ", ".join(f"{k} = {list(numbers[k])}" for k in SCATTER_SEQUENCES)
        operands = ", ".join(f"%a{k}" for k in range(2 * n + 1))
        lines = [line.replace("{0}", element(inputs[0].dtype.name)) for line in region[:-1]]
        results = f"stablehlo.return {region[-1]} : {', '.join(scalars)}"
        return (
            f'"stablehlo.scatter"({operands}) <{{scatter_dimension_numbers = #stablehlo.scatter<{names}, index_vector_dim = '
            f"{numbers['index_vector_dim']}>, indices_are_sorted = false, unique_indices = {str(unique).lower()}}}> ({{\n"
            f"  ^bb0({', '.join(arguments)}):\n    " + "\n    ".join([*lines, results]) + "\n  })"
        )

    return run_stablehlo(body, [*inputs, indices, *updates], [tensor(a.shape, a.dtype.name) for a in inputs])


# -- draws ------------------------------------------------------------------------------------------------------------


def geometry(d: Draw, gather: bool = False) -> dict[str, Any]:
    """Roles of operand's axes, the index tensor and where the window goes; what gather and scatter have in common."""
    shape = d.shape(d.integer(0, 5), empty=0.03)
    free = min(2, 6 - len(shape)) if shape or gather else 0  # XLA fails on several updates of one scalar
    roles = [d.choice(("batch", "drop", "drop", "keep", "keep")) for _ in shape]
    batch = [a for a, r in enumerate(roles) if r == "batch"]
    dropped = [a for a, r in enumerate(roles) if r == "drop"]
    kept = [a for a, r in enumerate(roles) if r == "keep"]
    addressed = [int(a) for a in d.rng.permutation([*dropped, *kept])]
    if addressed:
        addressed = addressed[: d.integer(0 if d.maybe(0.1) else 1, len(addressed))]
    grid: list[tuple[int, int | None]] = [(shape[a], a) for a in batch]
    grid += [(d.integer(1, 4) if d.maybe(0.95) else 0, None) for _ in range(d.integer(0, free))]
    grid = [grid[int(k)] for k in d.rng.permutation(len(grid))]
    index_shape = [n for n, _ in grid]
    scalars = len(addressed) == 1 and d.maybe(0.4)
    vector = len(grid) if scalars else d.integer(0, len(grid))
    paired = {a: j + (not scalars and j >= vector) for j, (_, a) in enumerate(grid) if a is not None}
    if not scalars:
        index_shape.insert(vector, len(addressed))
    rank = len(grid) + len(kept)
    window_dims = sorted(int(k) for k in d.rng.permutation(rank)[: len(kept)])
    dtype = d.choice(INTEGERS)
    longest = max([shape[a] for a in addressed], default=1)
    return {
        "shape": shape,
        "batch": batch,
        "dropped": dropped,
        "kept": kept,
        "addressed": addressed,
        "index": d.index(index_shape, longest, dtype, negative=False, wild=0.5),
        "grid": [n for n, _ in grid],
        "vector": vector,
        "paired": [paired[a] for a in batch],
        "window_dims": window_dims,
        "windows": [max(0 if d.maybe(0.05) else 1, d.integer(1, max(shape[a], 1))) for a in kept],
    }


def spoiled(d: Draw, numbers: dict[str, Any]) -> dict[str, Any]:
    """One of the dimension numbers changed."""
    key = d.choice(list(numbers))
    old = numbers[key]
    if isinstance(old, int):
        return numbers | {key: old + d.choice((-1, 1, 3))}
    how = d.choice(("add", "drop", "reverse", "repeat", "shift"))
    new = {
        "add": [*old, d.integer(0, 5)],
        "drop": old[1:],
        "reverse": old[::-1],
        "repeat": [*old[:1], *old],
        "shift": [a + d.choice((-1, 1, 4)) for a in old],
    }[how]
    return numbers | {key: new}


@draws(120)
def test_gather(seed: int) -> None:
    d = Draw(seed)
    g = geometry(d, gather=True)
    sizes = [1] * len(g["shape"])
    for a, n in zip(g["kept"], g["windows"], strict=True):
        sizes[a] = n
    numbers = {
        "offset_dims": g["window_dims"],
        "collapsed_slice_dims": g["dropped"],
        "operand_batching_dims": g["batch"],
        "start_indices_batching_dims": g["paired"],
        "start_index_map": g["addressed"],
        "index_vector_dim": g["vector"],
        "slice_sizes": sizes,
    }
    if seed % 3 == 0:
        numbers = spoiled(d, numbers)
    x, i = d.data(g["shape"], d.choice(DTYPES)), g["index"]
    against("gather").agree(
        lambda: xla.gather(x, i, **numbers), lambda: xla_gather(x, i, **numbers), (x.shape, i.dtype, i.shape, numbers)
    )


SIMPLE: dict[str, tuple[Callable[..., Any], str]] = {
    "update": (lambda x, y: y, ""),
    "add": (lambda x, y: x + y, "add"),
    "mul": (lambda x, y: y * x, "multiply"),
    "sub": (lambda x, y: x - y, "subtract"),
    "min": (lambda x, y: x.builder.minimum(x, y), "minimum"),
    "max": (lambda x, y: x.builder.maximum(x, y), "maximum"),
}


def simple_region(operation: str) -> list[str]:
    return [f"%s = stablehlo.{operation} %x0, %y0 : tensor<{{0}}>", "%s"] if operation else ["%y0"]


def scatter_numbers(g: dict[str, Any]) -> dict[str, Any]:
    return {
        "update_window_dims": g["window_dims"],
        "inserted_window_dims": g["dropped"],
        "input_batching_dims": g["batch"],
        "scatter_indices_batching_dims": g["paired"],
        "scatter_dims_to_operand_dims": g["addressed"],
        "index_vector_dim": g["vector"],
    }


def points(g: dict[str, Any]) -> tuple[int, ...]:
    windows, grid = iter(g["windows"]), iter(g["grid"])
    return tuple(next(windows if k in g["window_dims"] else grid) for k in range(len(g["grid"]) + len(g["kept"])))


def whole(d: Draw, shape: Sequence[int], dtype: str) -> Array:
    """Small whole numbers, exact in every dtype in sums and products of a few."""
    return d.rng.integers(0, 3, tuple(shape)).astype(numpy_dtype(dtype))


@draws(120)
def test_scatter(seed: int) -> None:
    d = Draw(seed)
    g = geometry(d)
    numbers = scatter_numbers(g)
    name = list(SIMPLE)[seed % 6]
    dtype = d.choice([t for t in DTYPES if t != "bool" or name != "sub"])
    x, i, u = d.data(g["shape"], dtype), g["index"], d.data(points(g), dtype)
    if seed % 4 == 0:
        numbers = spoiled(d, numbers)
    elif seed % 20 == 1 and u.ndim:
        u = u[:-1]
    ours, theirs = SIMPLE[name]
    against("scatter").agree(
        lambda: xla.scatter(x, i, u, **numbers, update_computation=ours),
        lambda: xla_scatter([x], i, [u], simple_region(theirs), False, **numbers)[0],
        (x.shape, x.dtype, i.dtype, i.shape, u.shape, name, numbers),
    )


FREE: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "x - y - y": (
        lambda x, y: x - y - y,
        ["%s = stablehlo.subtract %x0, %y0 : tensor<{0}>", "%t = stablehlo.subtract %s, %y0 : tensor<{0}>", "%t"],
    ),
    "y - x": (lambda x, y: y - x, ["%s = stablehlo.subtract %y0, %x0 : tensor<{0}>", "%s"]),
    "2 x + y": (
        lambda x, y: x * 2 + y,
        [
            "%c = stablehlo.constant dense<2> : tensor<{0}>",
            "%s = stablehlo.multiply %x0, %c : tensor<{0}>",
            "%t = stablehlo.add %s, %y0 : tensor<{0}>",
            "%t",
        ],
    ),
    "x": (lambda x, y: x, ["%x0"]),
    "first of equals": (
        lambda x, y: x.builder.where(x >= y, x - y, y),
        [
            "%c = stablehlo.compare GE, %x0, %y0 : (tensor<{0}>, tensor<{0}>) -> tensor<i1>",
            "%s = stablehlo.subtract %x0, %y0 : tensor<{0}>",
            "%t = stablehlo.select %c, %s, %y0 : tensor<i1>, tensor<{0}>",
            "%t",
        ],
    ),
}


@draws(50)
def test_scatter_with_any_computation(seed: int) -> None:
    d = Draw(1000 + seed)
    g = geometry(d)
    numbers = scatter_numbers(g)
    name = list(FREE)[seed % len(FREE)]
    dtype = d.choice([t for t in DTYPES if t != "bool"])
    x, i, u = d.data(g["shape"], dtype), g["index"], d.data(points(g), dtype)
    ours, region = FREE[name]
    if np.dtype(x.dtype).kind not in "iub":
        region = [line.replace("dense<2>", "dense<2.0>") for line in region]
    against("scatter").agree(
        lambda: xla.scatter(x, i, u, **numbers, update_computation=ours),
        lambda: xla_scatter([x], i, [u], region, False, **numbers)[0],
        (x.shape, x.dtype, i.shape, u.shape, name, numbers),
    )


def largest_with_its_tag(x: Any, tag: Any, y: Any, new: Any) -> tuple[Any, Any]:
    where, wins = x.builder.where, y > x
    return where(wins, y, x), where(wins, new, tag)


def joint_region(dtypes: Sequence[str]) -> list[str]:
    a, b = (f"tensor<{element(t)}>" for t in dtypes)
    return [
        f"%w = stablehlo.compare GT, %y0, %x0 : ({a}, {a}) -> tensor<i1>",
        f"%s = stablehlo.select %w, %y0, %x0 : tensor<i1>, {a}",
        f"%t = stablehlo.select %w, %y1, %x1 : tensor<i1>, {b}",
        "%s, %t",
    ]


@draws(50)
def test_scatter_of_several_inputs(seed: int) -> None:
    d = Draw(2000 + seed)
    g = geometry(d)
    numbers = scatter_numbers(g)
    numeric = [t for t in DTYPES if t != "bool"]
    dtypes = [d.choice(numeric), d.choice(INTEGERS)]  # XLA takes no two floats of different precision
    i = g["index"]
    inputs = [d.data(g["shape"], t) for t in dtypes]
    updates = [d.data(points(g), t) for t in dtypes]
    if seed % 10 == 3:
        updates[1] = updates[1].astype("float32" if dtypes[1] != "float32" else "int32")
    a, b = (f"tensor<{element(t)}>" for t in dtypes)
    ours, region = (
        (largest_with_its_tag, joint_region(dtypes))
        if seed % 2
        else (
            lambda x, p, y, q: (x + y, p.builder.maximum(p, q)),
            [f"%s = stablehlo.add %x0, %y0 : {a}", f"%t = stablehlo.maximum %x1, %y1 : {b}", "%s, %t"],
        )
    )
    against("scatter").agree(
        lambda: xla.scatter(inputs, i, updates, **numbers, update_computation=ours),
        lambda: xla_scatter(inputs, i, updates, region, False, **numbers),
        (dtypes, g["shape"], i.shape, numbers),
    )


@draws(12)
def test_unique_indices(seed: int) -> None:
    d = Draw(seed)
    n = d.integer(3, 9)
    x, i = d.data((n, 3)), d.rng.permutation(n)[: d.integer(0, n)].astype("int32")
    u = d.data((len(i), 2))
    numbers = scatter_numbers(
        {"window_dims": [1], "dropped": [0], "batch": [], "paired": [], "addressed": [0], "vector": 1}
    )
    ours, theirs = SIMPLE[list(SIMPLE)[seed % 6]]
    against("scatter").agree(
        lambda: xla.scatter(x, i, u, **numbers, unique_indices=True, update_computation=ours),
        lambda: xla_scatter([x], i, [u], simple_region(theirs), True, **numbers)[0],
        (x.shape, u.shape),
    )


# -- what the random calls do not reach ------------------------------------------------------------------------------


ROWS = {
    "update_window_dims": [1],
    "inserted_window_dims": [0],
    "input_batching_dims": [],
    "scatter_indices_batching_dims": [],
    "scatter_dims_to_operand_dims": [0],
    "index_vector_dim": 1,
}


def test_several_updates_of_a_scalar() -> None:
    """XLA's CPU compiler fails with an internal error."""
    x, i, u = np.float32(1).reshape(()), np.zeros((3, 0), "i4"), np.arange(1, 4, dtype="f4")
    numbers = ROWS | {"update_window_dims": [], "inserted_window_dims": [], "scatter_dims_to_operand_dims": []}
    against("scatter").differs(
        lambda: xla.scatter(x, i, u, **numbers, update_computation=lambda a, b: a + b),
        lambda: xla_scatter([x], i, [u], simple_region("add"), False, **numbers)[0],
        np.float32(7),
    )


def test_named_reductions_are_found() -> None:
    b = gs.Builder()
    x, i, u = b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64"), b.input("u", ("k", 4), "float32")
    for name, (function, _) in SIMPLE.items():
        y = xla.scatter(x, i, u, **ROWS, update_computation=function)
        assert y.op.reduction.name == name
    twice = xla.scatter(x, i, u, **ROWS, update_computation=lambda a, c: a + c + c)
    assert twice.op.reduction.name == "computation"


def test_symbolic_sizes_and_a_lane_that_nobody_reads() -> None:
    b = gs.Builder()
    x, tags = b.input("x", ("n", 4), "float32"), b.input("tags", ("n", 4), "int64")
    i, u = b.input("i", ("k",), "int64"), b.input("u", ("k", "w"), "float32")
    new = b.input("new", ("k", "w"), "int64")
    best, tag = xla.scatter([x, tags], i, [u, new], **ROWS, update_computation=largest_with_its_tag)
    both, one = b, gs.Builder()
    both.output(tag, best)
    d = Draw(3)
    arrays = [whole(d, (5, 4), "float32"), whole(d, (5, 4), "int64"), np.array([1, 1, 4, 1, 7])]
    arrays += [whole(d, (5, 3), "float32"), d.data((5, 3), "int64")]
    data, old, at, values, marks = arrays
    want = xla_scatter([data, old], at, [values, marks], joint_region(["float32", "int64"]), False, **ROWS)
    m = both.build()
    assert len(m.stats.kernels) == 1
    got = m(*arrays)
    np.testing.assert_array_equal(got[0], want[1])
    np.testing.assert_array_equal(got[1], want[0])

    x, tags = one.input("x", (5, 4), "float32"), one.input("tags", (5, 4), "int64")
    i, u, new = one.input("i", (5,), "int64"), one.input("u", (5, 3), "float32"), one.input("new", (5, 3), "int64")
    one.output(xla.scatter([x, tags], i, [u, new], **ROWS, update_computation=largest_with_its_tag)[1])
    np.testing.assert_array_equal(one.build()(*arrays), want[1])


def tagged(width: int, size: int, dtype: str = "float32") -> tuple[gs.Builder, list[Array], tuple[Array, ...]]:
    """A scatter of two tensors whose points meet, its arguments, and what XLA gives."""
    b, d = gs.Builder(f"tagged_{dtype}"), Draw(size)
    arrays = [whole(d, (size, width), dtype), whole(d, (size, width), "int32")]
    arrays += [d.index((40,), size, wild=0.5), whole(d, (40, width), dtype), d.data((40, width), "int32")]
    x, tags, i, u, new = (b.input(f"a{k}", a.shape, a.dtype.name) for k, a in enumerate(arrays))
    b.output(*xla.scatter([x, tags], i, [u, new], **ROWS, update_computation=largest_with_its_tag))
    want = xla_scatter(arrays[:2], arrays[2], arrays[3:], joint_region([dtype, "int32"]), False, **ROWS)
    return b, arrays, want


@pytest.mark.parametrize("backward", [False, True])
def test_cuda_takes_points_in_order(backward: bool) -> None:
    b, arrays, want = tagged(3, 9)
    m = emulate(b, backward=backward)
    assert [rule for _, rule in m.stats.kernels] == ["ordered"]
    for got, w in zip(m(*arrays), want, strict=True):
        np.testing.assert_array_equal(got, w)


@pytest.mark.skipif(cuda.cpu_compiler() is not None, reason=str(cuda.cpu_compiler()))
def test_the_cuda_text_takes_points_in_order(tmp_path: Path) -> None:
    cases = [tagged(3, 9), tagged(4, 7, "bfloat16"), tagged(1, 5, "int64")]
    for (_, arrays, want), (m, _) in zip(cases, cuda.on_cpu([b for b, *_ in cases], tmp_path), strict=True):
        for got, w in zip(m(*arrays), want, strict=True):
            np.testing.assert_array_equal(got, w)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads(threads: int) -> None:
    b, arrays, want = tagged(700, 300)
    before = gs.get_num_threads()
    gs.set_num_threads(threads)
    try:
        for got, w in zip(b.build()(*arrays), want, strict=True):
            np.testing.assert_array_equal(got, w)
    finally:
        gs.set_num_threads(before)


def test_what_is_refused() -> None:
    x, i, u = np.zeros((4, 3), "f4"), np.zeros((2, 1), "i4"), np.zeros((2, 3), "f4")

    def refused(match: str, function: Any, inputs: Any = x, updates: Any = u) -> None:
        with pytest.raises(gs.ArgumentError, match=match):
            xla.scatter(inputs, i, updates, **ROWS, update_computation=function)

    refused("1 result", lambda a, b: (a, b))
    refused("dtype float32 as result 0; got bool", lambda a, b: a < b)
    refused("arithmetic on scalars", lambda a, b: a.builder.reshape(a.builder.reshape(a + b, (1,)), ()))
    refused("must be a value of this builder", lambda a, b: "x")
    refused("equally many", lambda a, b: a, [x, x], [u])
    refused("truth value", lambda a, b: a if a > b else b)
    refused("more than 400 nodes", lambda a, b: _doubled(a, b))
    with pytest.raises(gs.ShapeError, match=r"slice_sizes must be 1 on collapsed_slice_dims.*\(C9\)"):
        xla.gather(x, i, [1], [0], [], [], [0], 1, [0, 3])


def _doubled(a: Any, b: Any) -> Any:
    for _ in range(12):
        a = a * b + a
    return a
