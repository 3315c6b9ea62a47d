"""What import_model refuses, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.onnx import cases
from tests.onnx.models import h, model, node, onnx

F = "float32"
X = {"x": (F, [2, 3])}


def refused(m: Any, error: type[gs.GSError], message: str) -> None:
    with pytest.raises(error, match=message) as e:
        gs.onnx.import_model(m)
    assert type(e.value) is error


def of(*nodes: Any, opset: int = 21, **inputs: Any) -> Any:
    return model(list(nodes), {**X, **inputs}, {"y": F}, opset=opset)


def subgraph() -> Any:
    return h.make_graph([node("Identity", "x", "z")], "then", [], [h.make_tensor_value_info("z", 1, [2, 3])])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: of(node("TopK", "x k", "y z"), k=("int64", [1])),
            gs.GraphError,
            r"node 0 \(TopK\): the operator TopK is not supported$",
        ),
        (
            lambda: of(h.make_node("Neg", ["x"], ["y"], "negate", domain="com.x")),
            gs.GraphError,
            r"node 'negate' \(Neg\): the operator Neg of domain 'com.x'",
        ),
        (lambda: of(node("Negg", "x", "y")), gs.GraphError, "ONNX has no operator Negg"),
        (
            lambda: of(node("GatherElements", "x i", "y"), opset=10, i=("int64", [1, 3])),
            gs.GraphError,
            "the operator GatherElements exists from opset 11 on; the model has 10",
        ),
        (
            lambda: of(node("Scatter", "x i x", "y"), opset=11, i=("int64", [2, 3])),
            gs.GraphError,
            "the operator Scatter was removed at opset 11",
        ),
        (
            lambda: of(node("Cast", "x", "y", to="FLOAT"), opset=5),
            gs.GraphError,
            "the operator Cast is supported from opset 6 on; the model has 5",
        ),
        (lambda: of(node("Neg", "x", "y"), opset=99), gs.GraphError, "opset 99 is not supported: 1 to 28 are"),
        (
            lambda: of(node("Loop", "- c x", "y", body=subgraph()), c=("bool", [])),
            gs.GraphError,
            "the operator Loop is not supported: it holds another graph",
        ),
        (lambda: of(node("Neg", "z", "y")), gs.GraphError, "its input 'z' is given by no node before it"),
        (lambda: of(node("Neg", "x", "x")), gs.GraphError, "the name 'x' is given twice"),
        (lambda: of(node("Neg", "x", "z")), gs.GraphError, "no node gives the output 'y'"),
        (lambda: of(node("Gather", "x -", "y")), gs.GraphError, "input 1, indices, is missing"),
        (lambda: of(node("Gather", "x", "y")), gs.GraphError, "input 1, indices, is missing"),
        (lambda: of(node("Neg", "x", "")), gs.GraphError, "gives at least 1 outputs; the model names 0"),
        (lambda: of(node("Neg", "x x", "y")), gs.GraphError, "takes at most 1 inputs; got 2"),
        (lambda: of(node("Neg", "x", "y z")), gs.GraphError, "output 1, 'z', is not supported"),
        (lambda: of(node("Gather", "x x", "y")), gs.DTypeError, "input 1, indices, cannot be float32 in opset 13"),
        (
            lambda: of(node("Add", "x i", "y"), i=("int64", [3])),
            gs.DTypeError,
            "input 1, B, must have the dtype of A, float32; got int64",
        ),
        (lambda: of(node("Not", "x", "y")), gs.DTypeError, "input 0, X, cannot be float32"),
        (lambda: of(node("Concat", "x x", "y")), gs.ArgumentError, "the attribute axis is missing"),
        (lambda: of(node("Concat", "x x", "y", axis=0.5)), gs.DTypeError, "the attribute axis must be of type INT"),
        (lambda: of(node("Neg", "x", "y", alpha=1)), gs.ArgumentError, "Neg has no attribute 'alpha' in opset 13"),
        (lambda: of(node("Flatten", "x", "y", axis=3)), gs.ShapeError, r"axis must be in \[-2, 2\]; got 3"),
        (
            lambda: of(node("Add", "x z", "y"), z=(F, [2, 4])),
            gs.ShapeError,
            r"shapes \(2, 3\) and \(2, 4\) do not broadcast",
        ),
        (
            lambda: of(node("Gelu", "x", "y", approximate="erf")),
            gs.ArgumentError,
            "approximate must be 'none' or 'tanh'; got 'erf'",
        ),
        (lambda: of(node("Mod", "x x", "y")), gs.ArgumentError, "fmod must be 1 for floats before opset 28"),
        (
            lambda: of(node("Cast", "x", "y", to=onnx.TensorProto.INT4)),
            gs.DTypeError,
            r"node 0 \(Cast\): to: the element type INT4",
        ),
        (lambda: of(node("Cast", "x", "y", to=1234)), gs.DTypeError, "the element type 1234 is not supported"),
        (
            lambda: of(node("Cast", "x", "y", to=onnx.TensorProto.INT32)),
            gs.DTypeError,
            "the model says that output 'y' is FLOAT; it is int32",
        ),
        (
            lambda: of(node("Constant", "", "y", value_string="a")),
            gs.GraphError,
            "the attribute value_string is not supported",
        ),
        (
            lambda: of(node("Constant", "", "y")),
            gs.ArgumentError,
            "exactly one attribute must hold the value; got none",
        ),
        (
            lambda: of(node("ScatterElements", "x i x", "y", reduction="mean"), i=("int64", [2, 3])),
            gs.ArgumentError,
            "reduction must be none or add or mul or max or min",
        ),
        (lambda: of(node("Dropout", "x - t", "y")), gs.GraphError, "its input 't' is given by no node"),
        (lambda: of(node("Split", "x", "y z", num_outputs=3)), gs.ArgumentError, "num_outputs must be 2"),
        (
            lambda: of(node("Split", "x", "y z", axis=1), opset=13),
            gs.ShapeError,
            "2 equal parts, and the axis: must be equal to 3; got 2",
        ),
    ],
)
def test_nodes(make: Any, error: type[gs.GSError], message: str) -> None:
    refused(make(), error, message)


def test_kinds_of_inputs() -> None:
    m = of(node("Neg", "x", "y"))
    strings = h.make_tensor_value_info("s", onnx.TensorProto.STRING, [2])
    sequence = h.make_tensor_sequence_value_info("q", onnx.TensorProto.FLOAT, [2])
    for added, error, message in (
        (strings, gs.DTypeError, "input 's': the element type STRING is not supported"),
        (sequence, gs.DTypeError, "input 'q' must be a tensor; it is a sequence"),
        (onnx.ValueInfoProto(name="n"), gs.DTypeError, "input 'n' must be a tensor; it is of no type"),
        (m.graph.input[0], gs.GraphError, "two inputs are called 'x'"),
    ):
        other = onnx.ModelProto()
        other.CopyFrom(m)
        other.graph.input.append(added)
        refused(other, error, message)


def test_broken_initialisers() -> None:
    def one(**fields: Any) -> Any:
        m = of(node("Add", "x w", "y"))
        t = m.graph.initializer.add(name="w", data_type=onnx.TensorProto.FLOAT, dims=[3])
        t.raw_data = bytes(12)
        for k, v in fields.items():
            if isinstance(v, list):
                del getattr(t, k)[:]
                getattr(t, k).extend(v)
            else:
                setattr(t, k, v)
        return m

    gs.onnx.import_model(one())
    refused(one(raw_data=b"123"), gs.GraphError, r"initialiser 'w': float32\(3,\) needs 12 bytes; got 3")
    refused(one(dims=[1 << 40, 1 << 40]), gs.GraphError, "needs 4835703278458516698824704 bytes; got 12")
    refused(one(dims=[-3]), gs.ShapeError, r"initialiser 'w': negative extent in shape \(-3,\)")
    refused(one(data_type=onnx.TensorProto.STRING), gs.DTypeError, "initialiser 'w': the element type STRING")
    refused(one(data_type=0), gs.DTypeError, "initialiser 'w': the element type UNDEFINED")
    few = one()
    few.graph.initializer[0].ClearField("raw_data")
    few.graph.initializer[0].float_data.extend([1.0, 2.0])
    refused(few, gs.GraphError, "initialiser 'w': its data cannot be read")
    sparse = of(node("Neg", "x", "y"))
    sparse.graph.sparse_initializer.add().values.name = "s"
    refused(sparse, gs.GraphError, "sparse initialisers are not supported: 's'")


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(gs.ArgumentError, match=r"cannot read .*gone.onnx: No such file"):
        gs.onnx.import_model(tmp_path / "gone.onnx")
    with pytest.raises(gs.ArgumentError, match=r"cannot read .*: Is a directory"):
        gs.onnx.import_model(tmp_path)
    with pytest.raises(gs.ArgumentError, match=r"a path, bytes or an onnx.ModelProto is needed; got 3"):
        gs.onnx.import_model(3)
    refused(b"\xff\xff not a model", gs.GraphError, "these bytes are no ONNX model")
    refused(b"", gs.GraphError, "the model has no graph")
    for name in ("broken.onnx", "broken.json", "broken.textproto"):
        (tmp_path / name).write_bytes(b"\xff{ not a model")
        refused(tmp_path / name, gs.GraphError, f"{name} is no ONNX model")


def attempt(data: Any) -> bool:
    """Whether it is taken; any error but ours fails the test."""
    try:
        gs.onnx.import_model(data).graph()
    except gs.GSError:
        return False
    return True


def sample() -> list[Any]:
    """Node tests of every operator in the table."""
    found: dict[str, Any] = {}
    for name in cases.passing():
        m = cases.all_cases()[name].model
        found.setdefault(" ".join(n.op_type for n in m.graph.node), m)
    return list(found.values())


def test_cut_and_flipped_bytes() -> None:
    rng = np.random.default_rng(0)
    taken = 0
    for m in sample():
        data = m.SerializeToString()
        for _ in range(8):
            broken = bytearray(data[: rng.integers(1, len(data))] if rng.random() < 0.3 else data)
            broken[rng.integers(0, len(broken))] = rng.integers(0, 256)
            taken += attempt(bytes(broken))
    assert taken > 10  # names of the model, of the producer


def test_changed_nodes() -> None:
    """Inputs left out, swapped or of other types and ranks; attributes of other values: ours is the only error."""
    rng = np.random.default_rng(0)
    taken = refusals = 0
    for m in sample():
        for _ in range(8):
            other = onnx.ModelProto()
            other.CopyFrom(m)
            n = other.graph.node[rng.integers(len(other.graph.node))]
            change = rng.integers(5)
            if change == 0 and n.input:
                del n.input[rng.integers(len(n.input))]
            elif change == 1 and len(n.input) > 1:
                n.input[0], n.input[1] = n.input[1], n.input[0]
            elif change == 2 and other.graph.input:
                t = other.graph.input[rng.integers(len(other.graph.input))].type.tensor_type
                t.elem_type = int(rng.choice([1, 2, 6, 7, 9, 10, 16]))
            elif change == 3 and other.graph.input:
                dims = other.graph.input[rng.integers(len(other.graph.input))].type.tensor_type.shape.dim
                if dims and rng.random() < 0.5:
                    dims.pop()
                else:
                    dims.add(dim_value=int(rng.integers(0, 4)))
            else:
                for a in n.attribute:
                    a.i, a.f = int(rng.integers(-9, 9)), -1.5
                    if a.ints:
                        a.ints[0] += 7
            ok = attempt(other)
            taken, refusals = taken + ok, refusals + (not ok)
    assert taken > 100 and refusals > 100


def test_an_index_out_of_range_names_the_node_and_the_input() -> None:
    """Though the index is computed from an input and an initialiser."""
    nodes = [node("Constant", "", "one", value=h.make_tensor("one", 7, [], [1])), node("Add", "i one", "j")]
    look = h.make_node("Gather", ["x", "j"], ["y"], "look")
    m = gs.onnx.import_model(
        model([*nodes, look], {"x": (F, ["n", 3]), "i": ("int64", [2])}, {"y": F}, opset=21)
    ).build()
    assert m(np.ones((5, 3), F), np.array([0, 3])).shape == (2, 3)
    with pytest.raises(gs.BoundsError, match=r"^node 'look' \(Gather\): i\[1\] gives 5, which is out of range") as e:
        m(np.ones((5, 3), F), np.array([0, 4]))
    assert (e.value.op, e.value.tensor, e.value.position, e.value.value) == ("node 'look' (Gather)", "i", (1,), 5)


def test_no_operator_that_a_node_is_made_of_is_named() -> None:
    calls = {
        "Tile": (node("Tile", "x r", "y"), [-2, 1], "shape: a dimension must not be negative; got -2"),
        "Expand": (node("Expand", "x r", "y"), [2, 5], r"shapes \(2, 3\) and \(2, 5\) do not broadcast"),
        "GatherND": (node("GatherND", "x r", "y"), [[0, 1, 1]], "index vectors of length 3"),
        "Reshape": (node("Reshape", "x r", "y"), [4, 2], r"number of elements of \(2, 3\)"),
        "GatherElements": (node("GatherElements", "x r", "y"), [0], "index must have rank 2"),
        "Squeeze": (node("Squeeze", "x r", "y"), [1], r"\(2, 3\) on axis 1: must be equal to 1; got 3"),
    }
    for name, (n, r, message) in calls.items():
        constants = {"r": np.array(r)}
        refused(
            model([n], X, {"y": F}, constants=constants, opset=17), gs.ShapeError, rf"^node 0 \({name}\): {message}"
        )
