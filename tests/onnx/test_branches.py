"""If, where the condition is known while the graph is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.onnx.models import h, info, model, node, onnx, run

F = "float32"


def branch(name: str, *nodes: Any, constants: Any = None) -> Any:
    tensors = [onnx.numpy_helper.from_array(a, n) for n, a in (constants or {}).items()]
    return h.make_graph(list(nodes), name, [], [info("z", F, None)], tensors)


def of(then: Any, otherwise: Any, inputs: Any = None, *before: Any, constants: Any = None) -> Any:
    made = h.make_node("If", ["c"], ["y"], "choice", then_branch=then, else_branch=otherwise)
    return model([*before, made], {"x": (F, ["n", 3]), **(inputs or {})}, {"y": F}, constants)


NEG, TWICE = (
    branch("neg", node("Neg", "x", "z")),
    branch("twice", node("Add", "x k", "z"), constants={"k": np.ones(3, F)}),
)
X = np.arange(6, dtype=F).reshape(2, 3)


@pytest.mark.parametrize("choice", [True, False])
def test_a_condition_that_is_a_constant(choice: bool) -> None:
    want = -X if choice else X + 1
    np.testing.assert_array_equal(run(of(NEG, TWICE, constants={"c": np.array(choice)}), X), want)


def test_a_condition_on_a_shape() -> None:
    """As PyTorch asks for the rank, or the extent of an axis; in a branch of a branch, and beside names of both."""
    asks = [node("Shape", "x", "s", start=1), node("Equal", "s three", "e"), node("Squeeze", "e", "c")]
    inner = h.make_node("If", ["c"], ["z"], then_branch=NEG, else_branch=TWICE)
    m = of(branch("b", inner), NEG, None, *asks, constants={"three": np.array([3])})
    np.testing.assert_array_equal(run(m, X), -X)


def test_a_condition_that_a_call_brings() -> None:
    m = of(NEG, TWICE, {"c": ("bool", [])})
    with pytest.raises(gs.onnx.NeedsValue, match=r"^node 'choice' \(If\): input 0, cond = 'c', must be known") as e:
        gs.onnx.import_model(m)
    assert e.value.inputs == ["c"]
    np.testing.assert_array_equal(run(m, X, known={"c": np.array(True)}), -X)
    rep = gs.onnx.Backend.prepare(m)
    for choice, want in ((True, -X), (False, X + 1)):
        np.testing.assert_array_equal(rep.run([X, np.array(choice)])[0], want)


@pytest.mark.parametrize(
    ("then", "message"),
    [
        (
            branch("b", node("Neg", "q", "z")),
            r"^node 'choice' \(If\): node 0 \(Neg\): its input 'q' is given by no node",
        ),
        (branch("b", node("Neg", "x", "x")), "the name 'x' is given twice"),
        (branch("b", node("Neg", "x", "w")), r"^node 'choice' \(If\): output 0, 'y', is not supported"),
        (h.make_graph([], "b", [info("i", F, None)], []), "the branch 'b' must have no inputs"),
    ],
)
def test_broken_branches(then: Any, message: str) -> None:
    with pytest.raises(gs.GraphError, match=message):
        gs.onnx.import_model(of(then, NEG, constants={"c": np.array(True)}))
