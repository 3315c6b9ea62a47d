"""Reductions over axes: random models against ONNX Runtime; no elements, NaN, first and last of equals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.onnx.models import model, node, ort, run

OPERATORS = (
    *(
        "Reduce" + name
        for name in ("Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")
    ),
    *("ArgMax", "ArgMin") * 4,
)


@dataclass(frozen=True)
class Drawn:
    """A model of one reduction, and its input."""

    model: Any
    x: Any
    about: str


def draw(rng: np.random.Generator) -> Drawn:
    op, opset = str(rng.choice(OPERATORS)), int(rng.choice([11, 12, 13, 18, 20, 21]))
    rank = int(rng.integers(0, 5))
    shape = tuple(int(d) for d in rng.choice([0, 1, 2, 3, 5], rank, p=[0.15, 0.15, 0.25, 0.25, 0.2]))
    d = str(rng.choice(["float32", "float32", "float64", "float16", "int32", "int64"]))
    x = rng.integers(-3, 4, shape).astype(d) if op[0] == "A" else rng.integers(1, 4, shape).astype(d)
    if op[0] == "A" and d[0] == "f":
        special = rng.choice([np.nan, np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
        x = np.where(rng.random(shape) < rng.choice([0, 0.3, 0.9]), special, x).astype(d)
    attributes: dict[str, Any] = {"keepdims": int(rng.integers(2))}
    inputs, constants = "x", {}
    if op[0] == "A":
        attributes["axis"] = int(rng.integers(-rank, rank)) if rank else 0
        if opset >= 12:
            attributes["select_last_index"] = int(rng.integers(2))
    else:
        axes = [int(a) - rank * int(rng.integers(2)) for a in rng.permutation(rank)[: rng.integers(0, rank + 1)]]
        if opset >= 18 or (op == "ReduceSum" and opset >= 13):
            inputs, constants = "x axes", {"axes": np.array(axes, "int64")}
            attributes["noop_with_empty_axes"] = int(rng.integers(2))
        elif axes:
            attributes["axes"] = axes
    extents = list(shape) if rng.random() < 0.5 else [f"d{k}" for k in range(rank)]
    out = "int64" if op[0] == "A" else d
    m = model([node(op, inputs, "y", **attributes)], {"x": (d, extents)}, {"y": out}, constants, opset=opset)
    return Drawn(m, x, f"{op} {opset} {d}{shape} of {extents}, {attributes}, {constants}: {x.tolist()}")


def of_integers_without_a_value(drawn: Drawn) -> bool:
    """Logarithms as integers are ONNX Runtime's own: it truncates each exponential."""
    n = drawn.model.graph.node[0]
    return "Log" in n.op_type and drawn.x.dtype.kind == "i"


def test_random_models() -> None:
    rng = np.random.default_rng(0)
    same = refused = 0
    while same + refused < 90:
        drawn = draw(rng)
        if of_integers_without_a_value(drawn):
            continue
        try:
            want = ort(drawn.model, drawn.x)
        except Exception:
            with pytest.raises(gs.GSError):
                run(drawn.model, drawn.x)
            refused += 1
            continue
        got = run(drawn.model, drawn.x)
        assert (got.dtype, got.shape) == (want.dtype, want.shape), drawn.about
        rtol = 2e-3 if got.dtype == "float16" else 1e-6
        np.testing.assert_allclose(got, want, rtol=rtol, err_msg=drawn.about)
        same += 1
    assert same > 60 and refused > 5


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_a_nan_is_neither_the_largest_nor_the_smallest_but_where_it_is_first(op: str, last: int) -> None:
    nan, inf = np.nan, np.inf
    x = np.array(
        [
            [1, nan, 3, 3, nan],
            [nan, 5, 1, 5, 5],
            [-inf, nan, -inf, nan, nan],
            [inf, nan, nan, inf, nan],
            [nan, nan, nan, nan, nan],
            [2, 2, nan, 1, 1],
        ],
        "float32",
    )
    for dtype, extents in (("float32", ["r", "c"]), ("float16", x.shape)):
        m = model([node(op, "x", "y", axis=1, select_last_index=last)], {"x": (dtype, extents)}, {"y": "int64"})
        np.testing.assert_array_equal(run(m, x.astype(dtype)), ort(m, x.astype(dtype)))


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_the_largest_of_no_elements(dtype: str, keepdims: int) -> None:
    """There is none, known when the graph is built or at the call; a result of no elements needs none."""
    for extents in ((2, 0), ["r", "c"]):
        m = model([node("ArgMax", "x", "y", axis=1, keepdims=keepdims)], {"x": (dtype, extents)}, {"y": "int64"})
        with pytest.raises(gs.ShapeError, match=r"^(node 0 \()?ArgMax"):
            run(m, np.zeros((2, 0), dtype))
    for extents in ((0, 0), ["r", "c"]):
        m = model([node("ArgMax", "x", "y", axis=1, keepdims=keepdims)], {"x": (dtype, extents)}, {"y": "int64"})
        assert run(m, np.zeros((0, 0), dtype)).shape == (0, 1)[: 1 + keepdims]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_means_of_no_elements(dtype: str) -> None:
    for extents in ((2, 0, 3), ["a", "b", "c"]):
        m = model([node("ReduceMean", "x", "y", axes=[1])], {"x": (dtype, extents)}, {"y": dtype}, opset=13)
        np.testing.assert_array_equal(run(m, np.zeros((2, 0, 3), dtype)), ort(m, np.zeros((2, 0, 3), dtype)))
