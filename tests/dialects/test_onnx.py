"""gscompile.dialects.onnx against ONNX Runtime and the onnx package's reference evaluator, on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import onnx as go
from tests.cases import DTYPES
from tests.dialects.differential import Against, Draw
from tests.frameworks import need, onnx_reference, ort

onnx = need("onnx")
runtime = need("onnxruntime")
ORT = f"onnxruntime {runtime.__version__}"
REFERENCE = f"onnx reference {onnx.__version__}"

DATA = [d for d in DTYPES if d != "bfloat16"]  # onnxruntime takes no bfloat16 array from NumPy
REDUCED = [d for d in DATA if d not in ("float16", "bool")]  # what onnxruntime's CPU reduces
OPSETS = {
    "Gather": (1, 9, 11, 12, 13, 18, 21),
    "GatherElements": (11, 12, 13, 18, 21),
    "GatherND": (11, 12, 13, 18, 21),
    "Scatter": (9, 10),
    "ScatterElements": (11, 13, 15, 16, 17, 18, 21),
    "ScatterND": (11, 13, 15, 16, 17, 18, 21),
}


def against(function: str, judge: str = ORT) -> Against:
    return Against("onnx", function, judge)


def draws(count: int) -> Any:
    return pytest.mark.parametrize("seed", range(count))


def call(op: str, *arrays: Any, **attributes: Any) -> Callable[[], Any]:
    return lambda: getattr(go, op)(*arrays, **attributes)


def agree_with_ort(op: str, opset: int, *arrays: Any, **attributes: Any) -> bool:
    label = (opset, attributes, [(a.shape, a.dtype.name) for a in arrays])
    ours = call(op, *arrays, **attributes, opset=opset)
    return against(op).agree(ours, lambda: ort(op, *arrays, opset=opset, **attributes), label)


def agree_with_reference(op: str, opset: int, *arrays: Any, **attributes: Any) -> bool:
    label = (opset, attributes, [(a.shape, a.dtype.name) for a in arrays])
    ours = call(op, *arrays, **attributes, opset=opset)
    theirs: Callable[[], Any] = lambda: onnx_reference(op, *arrays, opset=opset, **attributes)  # noqa: E731
    return against(op, REFERENCE).agree(ours, theirs, label)


def index_dtype(d: Draw) -> str:
    return str(d.choice(("int64", "int64", "int32")))


def odd_axis(d: Draw, rank: int) -> int:
    """An axis, now and then one that does not exist."""
    return rank if d.maybe(0.04) else d.axis(rank)


# -- gathers ----------------------------------------------------------------------------------------------------------


@draws(60)
def test_gather(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(0 if d.maybe(0.1) else 1, 5))
    x, axis = d.data(shape, d.choice(DATA)), odd_axis(d, len(shape))
    size = shape[axis] if axis < len(shape) and shape else 1
    i = d.index(d.shape(d.integer(0, min(3, 7 - len(shape)))), size, index_dtype(d), wild=0.15)
    if d.maybe(0.04):
        i = i.astype("uint8")
    agree_with_ort("Gather", d.choice(OPSETS["Gather"]), x, i, axis=axis)


def element_index(d: Draw, shape: tuple[int, ...], axis: int, *, equal: bool = False, wild: float = 0.15) -> Any:
    """An index of data's rank; unless ``equal``, shorter on other axes, now and then longer or of another rank."""
    extents = [n if equal or d.maybe(0.5) else d.integer(0 if d.maybe(0.1) else 1, max(n, 1)) for n in shape]
    if axis < len(shape):
        extents[axis] = d.integer(1, 6)
    if not equal and d.maybe(0.05):
        extents[d.axis(len(shape))] += 2
    if not equal and d.maybe(0.04):
        extents.append(2)
    return d.index(extents, shape[axis] if axis < len(shape) else 1, index_dtype(d), wild=wild)


@draws(60)
def test_gather_elements(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(1, 6))
    x, axis = d.data(shape, d.choice(DATA)), odd_axis(d, len(shape))
    agree_with_ort("GatherElements", d.choice(OPSETS["GatherElements"]), x, element_index(d, shape, axis), axis=axis)


def vector_index(d: Draw, shape: tuple[int, ...], batch: int, components: int, wild: float = 0.15) -> Any:
    """Index vectors for data of this shape: one number of each component for the axis that it addresses."""
    grid = (*shape[:batch], *d.shape(d.integer(0, 2)))
    parts = [d.index(grid, shape[batch + k], wild=wild) for k in range(components)]
    return np.stack(parts, -1) if parts else np.zeros((*grid, 0), "int64")


@draws(60)
def test_gather_nd(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(1, 5))
    opset = d.choice(OPSETS["GatherND"])
    batch = d.integer(0, len(shape) - 1) if opset >= 12 and d.maybe(0.5) else 0
    x = d.data(shape, d.choice(DATA))
    i = vector_index(d, shape, batch, d.integer(1, len(shape) - batch))
    if 0 in i.shape[:batch]:
        pytest.skip("onnxruntime divides by an empty batch")
    if d.maybe(0.04):
        i = i.astype("int32")
    attributes = {"batch_dims": batch} if opset >= 12 else {}
    agree_with_ort("GatherND", opset, x, i, **attributes)


# -- scatters ---------------------------------------------------------------------------------------------------------


def reduction_for(d: Draw, opset: int) -> str:
    return str(d.choice(("none", "add", "mul", "max", "min") if opset >= 18 else ("none", "add", "mul")))


def whole(d: Draw, shape: Any, dtype: str) -> Any:
    """Small whole numbers, and no NaN."""
    return d.rng.integers(0, 4, tuple(shape)).astype(dtype)


@draws(80)
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND", "Scatter"])
def test_scatter(op: str, seed: int) -> None:
    d = Draw(seed)
    opset = d.choice(OPSETS[op])
    shape = d.shape(d.integer(1, 5))
    attributes: dict[str, Any] = {}
    if op == "ScatterND":
        i = vector_index(d, shape, 0, d.integer(1, len(shape)))
        points = (*i.shape[:-1], *shape[i.shape[-1] :])
    else:
        attributes["axis"] = odd_axis(d, len(shape))
        i = element_index(d, shape, attributes["axis"])
        points = i.shape
    reduction = reduction_for(d, opset) if opset >= 16 else "none"
    if opset >= 16:
        attributes["reduction"] = reduction
    dtype = d.choice(DATA if reduction == "none" else REDUCED)
    x, u = d.data(shape, dtype), d.data(points, dtype)
    if d.maybe(0.04):
        u = d.data((*points, 2), dtype)
    agree_with_ort(op, opset, x, i, u, **attributes)


@draws(40)
@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_tensor_scatter(mode: str, seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(2, 5), empty=0)
    axis = d.integer(1, len(shape) - 1) - (len(shape) if d.maybe(0.5) else 0)
    if d.maybe(0.06):
        axis = 0
    extents = list(shape)
    extents[axis] = d.integer(1, shape[axis])
    x = d.data(shape, d.choice(DATA))
    u = d.data(extents, x.dtype.name)
    w = d.rng.integers(-1 if mode == "linear" and d.maybe(0.1) else 0, shape[axis], shape[0])
    if mode == "linear" and not d.maybe(0.2):
        w = np.minimum(w, shape[axis] - extents[axis])
    operands = (x, u) if d.maybe(0.1) else (x, u, w.astype("int64"))
    agree_with_ort("TensorScatter", 24, *operands, axis=axis, mode=mode)
    if axis != 0 and not (w < 0).any():  # the reference evaluator takes both
        agree_with_reference("TensorScatter", 24, *operands, axis=axis, mode=mode)


# -- the reference evaluator, within what it gets right ----------------------------------------------------------------


@draws(40)
def test_against_the_reference(seed: int) -> None:
    """Equal extents, indices in range, positive ranks, no NaN in max and min: the rest of it is wrong; see below."""
    d = Draw(seed)
    shape = d.shape(d.integer(1, 4), empty=0)
    x, axis = d.data(shape, d.choice(DATA)), d.axis(len(shape))
    agree_with_reference("Gather", 13, x, d.index(d.shape(2), shape[axis], index_dtype(d), wild=0.15), axis=axis)
    axis %= len(shape)  # it takes the extents for unequal where the axis is counted from the end
    i = element_index(d, shape, axis, equal=True, wild=0)
    agree_with_reference("GatherElements", 13, x, i, axis=axis)
    batch = d.integer(0, len(shape) - 1)
    v = vector_index(d, shape, batch, d.integer(1, len(shape) - batch), wild=0)
    agree_with_reference("GatherND", 13, x, v, batch_dims=batch)
    reduction = reduction_for(d, 18)
    dtype = d.choice([t for t in DATA if t != "bool"]) if reduction != "none" else x.dtype.name
    x = whole(d, shape, dtype)
    agree_with_reference(
        "ScatterElements", 18, x, i, whole(d, i.shape, dtype), axis=axis, reduction=reduction
    )  # duplicates
    n = vector_index(d, shape, 0, d.integer(1, len(shape)), wild=0)
    points = (*n.shape[:-1], *shape[n.shape[-1] :])
    agree_with_reference("ScatterND", 18, x, n, whole(d, points, dtype), reduction=reduction)


# -- deliberate differences, each stated in a docstring ----------------------------------------------------------------


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize(("reduction", "opset"), [("mean", 18), ("max", 16), ("update", 21)])
def test_an_unknown_reduction_is_an_error(op: str, reduction: str, opset: int) -> None:
    x, u = np.arange(3, dtype="f4"), np.ones(2, "f4")
    i = np.array([0, 2])
    i = i[:, None] if op == "ScatterND" else i
    for judge, run in ((ORT, ort), (REFERENCE, onnx_reference)):
        if judge == REFERENCE and op == "ScatterND":
            continue  # it raises
        against(op, judge).differs(
            call(op, x, i, u, reduction=reduction, opset=opset),
            lambda run=run: run(op, x, i, u, reduction=reduction, opset=opset),  # type: ignore[misc]
            gs.ArgumentError,
        )


def test_the_reference_wraps_and_wants_equal_extents() -> None:
    x = np.arange(6, dtype="f4").reshape(2, 3)
    outside = np.array([[5, 0, 1]])
    against("GatherElements", REFERENCE).differs(
        call("GatherElements", x, outside), lambda: onnx_reference("GatherElements", x, outside), gs.BoundsError
    )
    short = np.array([[1, 0]])
    against("GatherElements", REFERENCE).differs(
        call("GatherElements", x, short), lambda: onnx_reference("GatherElements", x, short), np.array([[3, 1]], "f4")
    )


def test_batches_of_different_sizes_are_refused() -> None:
    x, i = np.arange(6, dtype="f4").reshape(2, 3), np.array([[0], [1], [2], [0]])
    against("GatherND").differs(
        call("GatherND", x, i, batch_dims=1), lambda: ort("GatherND", x, i, batch_dims=1), gs.ShapeError
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_many_updates_of_few_elements(dtype: str) -> None:
    d = Draw(7)
    i = d.rng.integers(0, 5, (200, 1))
    for reduction in ("add", "mul", "max", "min"):
        special = reduction in ("max", "min")
        for inner in ((), (8,)):
            x, u = (d.data((n, *inner), dtype, special).clip(-9, 9) for n in (5, 200))
            judge = agree_with_reference if dtype == "float16" else agree_with_ort
            if dtype != "float16" or not special:
                assert judge("ScatterND", 18, x, i, u, reduction=reduction)
            at = np.broadcast_to(i.reshape(200, *(1 for _ in inner)), u.shape).copy()
            if dtype != "float16" or special:  # of float16 ONNX Runtime has no sums, but these
                assert agree_with_ort("ScatterElements", 18, x, at, u, reduction=reduction)


def test_a_write_index_below_zero() -> None:
    x, u, w = np.zeros((1, 4, 2), "f4"), np.ones((1, 2, 2), "f4"), np.array([-1])
    got = go.TensorScatter(x, u, w, mode="circular")
    assert got[0, :, 0].tolist() == [1, 0, 0, 1]
    assert (got == onnx_reference("TensorScatter", x, u, w, mode="circular", opset=24)).all()
    with pytest.raises(gs.BoundsError):
        go.TensorScatter(x, u, w)


# -- rules of the operator sets ---------------------------------------------------------------------------------------

X, AT, U = np.arange(6, dtype="f4").reshape(2, 3), np.array([[0, 1, 1]]), np.ones((1, 3), "f4")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            call("GatherElements", X, AT, opset=10),
            gs.ArgumentError,
            "GatherElements: exists from opset 11; got opset 10",
        ),
        (call("Scatter", X, AT, U, opset=11), gs.ArgumentError, "Scatter: exists from opset 9 to 10; got opset 11"),
        (call("Gather", X, AT, opset=0), gs.ArgumentError, r"Gather: opset must be in \[1, 28\]; got 0"),
        (call("Gather", X, AT, opset=True), gs.ArgumentError, "Gather: opset must be an int; got True"),
        (call("TensorScatter", X, X, opset=23), gs.ArgumentError, "TensorScatter: exists from opset 24"),
        (
            call("TensorScatter", X, X, mode="round"),
            gs.ArgumentError,
            "mode must be 'linear' or 'circular'; got 'round'",
        ),
        (call("GatherND", X, AT, 1, opset=11), gs.ShapeError, r"GatherND: batch_dims must be in \[0, 0\]; got 1"),
        (call("GatherND", X, np.array(0)), gs.ShapeError, "indices must have at least one axis; got a scalar"),
        (call("GatherND", X, AT.astype("i4")), gs.DTypeError, "indices must have dtype int64; got int32"),
        (call("Gather", X, AT.astype("u1")), gs.DTypeError, "indices must have dtype int32 or int64; got uint8"),
        (call("Gather", X, AT, 2), gs.ShapeError, r"Gather: axis must be in \[-2, 1\] for rank 2; got 2"),
        (call("Gather", np.float32(3), AT), gs.ShapeError, "data must have at least one axis; got a scalar"),
        (
            call("ScatterElements", X, AT, U, reduction="add", opset=13),
            gs.ArgumentError,
            "reduction must be none in opset 13; got 'add'",
        ),
        (
            call("ScatterElements", X, AT, U, reduction="min", opset=16),
            gs.ArgumentError,
            "reduction must be none or add or mul in opset 16; got 'min'",
        ),
        (call("ScatterND", X, AT.T, U), gs.ShapeError, r"src \(1, 3\) on axis 0: must be equal to 3"),
        (call("ScatterElements", X, AT, U.astype("f8")), gs.DTypeError, "updates and data must have one dtype"),
    ],
)
def test_messages(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("op", ["Gather", "GatherElements"])
def test_bfloat16_from_opset_13(op: str) -> None:
    import ml_dtypes

    x = X.astype(ml_dtypes.bfloat16)
    assert call(op, x, AT, opset=13)().dtype == x.dtype
    with pytest.raises(gs.DTypeError, match="data must have dtype"):
        call(op, x, AT, opset=12)()


def test_values_of_a_builder() -> None:
    b = gs.Builder()
    x, i = b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64")
    y = go.Gather(x, i)
    assert str(y.type) == "float32(k, 3)"
    got = b.build()(X, np.array([1, -1, 0]))
    assert (got == X[[1, -1, 0]]).all()
