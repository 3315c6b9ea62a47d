"""gs.onnx.Backend runs the onnx package's tests for backends: those in ``passing.txt`` pass, and it refuses all others."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.frameworks import need
from tests.onnx import cases

onnx = need("onnx")

# Cases of operators that are supported which are refused, by what the refusal says.
REFUSED = (
    "the element type",  # strings, and floats and integers of less than 8 bits
    "must be a tensor",  # sequences and optionals
    "training_mode is not supported",
)


@pytest.mark.parametrize("name", cases.passing())
def test_node(name: str) -> None:
    assert name in cases.all_cases(), "the installed onnx package has no such case"
    cases.run(cases.all_cases()[name])


def others() -> Iterator[tuple[str, str]]:
    """The cases that are not listed, and what comes of them."""
    known = set(cases.passing())
    return ((name, cases.outcome(case)) for name, case in cases.all_cases().items() if name not in known)


def test_every_other_case_is_refused() -> None:
    """With an error of ours that names the node or the input: none gives a wrong result, and none passes unlisted."""
    for name, why in others():
        assert why, f"{name} passes: add it to the list with python -m tests.onnx.cases"
        assert why.startswith("refused: "), f"{name}: {why}"
        assert ": node " in why or ": input " in why, f"{name}: {why}"


def operators_of(case: object) -> set[str]:
    return {n.op_type for n in case.model.graph.node}  # type: ignore[attr-defined]


def test_every_case_of_a_supported_operator_is_listed() -> None:
    from gscompile.onnx.node import OPERATORS

    for name, why in others():
        if operators_of(cases.all_cases()[name]) <= set(OPERATORS):
            assert any(reason in why for reason in REFUSED), f"{name}: {why}"


def test_every_gather_and_scatter_is_listed() -> None:
    """In every operator set of the node tests; Scatter of opset 11 does not exist any more."""
    indexing = {"Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND", "TensorScatter"}
    wanted = {name for name, case in cases.all_cases().items() if operators_of(case) & indexing == operators_of(case)}
    assert len(wanted) > 20
    assert wanted <= set(cases.passing())


def with_sizes(case: Any) -> Any:
    """The case, with every extent of its inputs left to the call, each as a size of its own."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    dims = [d for i in model.graph.input for d in i.type.tensor_type.shape.dim]
    for k, d in enumerate(dims):
        d.Clear()
        d.dim_param = f"d{k}"
    return dataclasses.replace(case, model=model)


def test_with_sizes_known_only_at_the_call() -> None:
    """The same results; refused only where a size must be a number, or would stretch to another."""
    names = cases.passing()[::16] + [n for n in cases.passing() if "scatter" in n or "gather" in n]
    found = [cases.outcome(with_sizes(cases.all_cases()[name])) for name in names]
    assert {why.partition(": ")[2].partition(":")[0] for why in found if why} <= {"ShapeError", "NeedsValue"}, found
    assert sum(not why for why in found) > 0.75 * len(found)


def test_the_list_is_sorted() -> None:
    assert cases.passing() == sorted(set(cases.passing()))


# -- the interface ----------------------------------------------------------------------------------------------------


def gather_model() -> object:
    h, f = onnx.helper, onnx.TensorProto
    x = h.make_tensor_value_info("x", f.FLOAT, ["n", 3])
    i = h.make_tensor_value_info("i", f.INT64, ["k"])
    y = h.make_tensor_value_info("y", f.FLOAT, ["k", 3])
    graph = h.make_graph([h.make_node("Gather", ["x", "i"], ["y"])], "g", [x, i], [y])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 21)])


X = np.arange(12, dtype="f4").reshape(4, 3)


def test_devices() -> None:
    assert gs.onnx.Backend.supports_device("CPU")
    assert not gs.onnx.Backend.supports_device("TPU")
    with pytest.raises(gs.DeviceError, match="the device 'TPU' is not here"):
        gs.onnx.Backend.prepare(gather_model(), "TPU")


def test_run_by_order_and_by_name() -> None:
    rep = gs.onnx.Backend.prepare(gather_model())
    for index in ([3, 0], [-1]):
        i = np.array(index)
        (y,) = rep.run([X, i])
        np.testing.assert_array_equal(y, X[i])
        (y,) = rep.run({"i": i, "x": X})
        np.testing.assert_array_equal(y, X[i])
    assert len(rep.modules) == 1
    (y,) = gs.onnx.Backend.run_model(gather_model(), [X, np.array([2])])
    np.testing.assert_array_equal(y, X[2:3])
    with pytest.raises(gs.ArgumentError, match="the inputs are x, i; got 1"):
        rep.run([X])
    with pytest.raises(gs.BoundsError):
        rep.run([X, np.array([4])])


def test_run_node() -> None:
    node = onnx.helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=1, reduction="add")
    (y,) = gs.onnx.Backend.run_node(node, [X, np.zeros((4, 2), "i8"), np.ones((4, 2), "f4")])
    assert y[:, 0].tolist() == (X[:, 0] + 2).tolist()
    with pytest.raises(gs.ArgumentError, match="has no attribute 'reduction' in opset 13"):
        gs.onnx.Backend.run_node(node, [X, np.zeros((4, 2), "i8"), np.ones((4, 2), "f4")], opset_version=13)
    twice = onnx.helper.make_node("Add", ["x", "x"], ["y"])
    np.testing.assert_array_equal(gs.onnx.Backend.run_node(twice, [X, X])[0], X + X)
    with pytest.raises(gs.ArgumentError, match="the node has 2 inputs; got 1"):
        gs.onnx.Backend.run_node(twice, [X])


def test_is_compatible() -> None:
    assert gs.onnx.Backend.is_compatible(gather_model())
    model = gather_model()
    model.graph.node[0].op_type = "TopK"  # type: ignore[attr-defined]
    assert not gs.onnx.Backend.is_compatible(model)


def test_one_module_for_each_value_that_decides_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    from gscompile.onnx import backend

    h, f = onnx.helper, onnx.TensorProto
    graph = h.make_graph(
        [h.make_node("Neg", ["s"], ["t"]), h.make_node("Abs", ["t"], ["u"]), h.make_node("Reshape", ["x", "u"], ["y"])],
        "g",
        [h.make_tensor_value_info("x", f.FLOAT, [4, 3]), h.make_tensor_value_info("s", f.INT64, [2])],
        [h.make_tensor_value_info("y", f.FLOAT, None)],
    )
    rep = gs.onnx.Backend.prepare(h.make_model(graph, opset_imports=[h.make_opsetid("", 21)]))
    assert rep.fixed == ["s"] and not rep.modules
    monkeypatch.setattr(backend, "MAX_MODULES", 2)
    for shape in ((6, 2), (2, 6), (6, 2), (3, 4)):
        (y,) = rep.run([X, np.array(shape)])
        np.testing.assert_array_equal(y, X.reshape(shape))
    assert len(rep.modules) == 2
