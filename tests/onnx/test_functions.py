"""Functions: of a model's own, to any depth, and those by which ONNX defines its operators."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.onnx.models import h, model, node, onnx, ort, run

NEWEST = gs.onnx.definitions.NEWEST  # after what says that onnx is not installed
F = "float32"


def drawn(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(F)


def picks(limit: int, *shape: int) -> Any:
    return np.random.default_rng(0).integers(0, limit, shape)


# operator, since, inputs, outputs, attributes, arrays
DEFINED: list[tuple[str, int, str, str, dict[str, Any], list[Any]]] = [
    ("LayerNormalization", 17, "x s b", "y m v", {"axis": -1}, [drawn(2, 3, 5), drawn(5), drawn(5)]),
    ("LayerNormalization", 17, "x s", "y", {"axis": 1, "epsilon": 1e-3}, [drawn(2, 3, 5), drawn(3, 5)]),
    ("GroupNormalization", 21, "x s b", "y", {"num_groups": 2}, [drawn(2, 4, 3, 5), drawn(4), drawn(4)]),
    ("RMSNormalization", 23, "x s", "y", {"axis": -1}, [drawn(2, 3, 5), drawn(5)]),
    ("Attention", 23, "q k v", "y", {}, [drawn(2, 3, 4, 8), drawn(2, 3, 6, 8), drawn(2, 3, 6, 8)]),
    (
        "Attention",
        23,
        "q k v",
        "y",
        {"is_causal": 1, "q_num_heads": 3, "kv_num_heads": 3},
        [drawn(2, 4, 24), drawn(2, 5, 24), drawn(2, 5, 24)],
    ),
    ("Attention", 23, "q k v m", "y", {}, [*(drawn(2, 3, n, 8) for n in (4, 6, 6)), drawn(4, 6)]),
    ("Attention", 23, "q k v - p r", "y o w", {}, [drawn(2, 3, n, 8) for n in (4, 6, 6, 5, 5)]),
    (
        "RotaryEmbedding",
        23,
        "x c s p",
        "y",
        {},
        [drawn(2, 3, 4, 8), drawn(50, 4), drawn(50, 4), picks(50, 2, 4)],
    ),
    ("RotaryEmbedding", 23, "x c s", "y", {"interleaved": 1}, [drawn(2, 3, 4, 8), drawn(2, 4, 4), drawn(2, 4, 4)]),
    ("NegativeLogLikelihoodLoss", 12, "x t", "y", {}, [drawn(3, 5), picks(5, 3)]),
    (
        "NegativeLogLikelihoodLoss",
        12,
        "x t w",
        "y",
        {"reduction": "sum", "ignore_index": 2},
        [drawn(3, 5, 2), picks(5, 3, 2), drawn(5)],
    ),
    ("SoftmaxCrossEntropyLoss", 12, "x t", "y l", {}, [drawn(3, 5), picks(5, 3)]),
    (
        "SoftmaxCrossEntropyLoss",
        12,
        "x t w",
        "y",
        {"reduction": "none", "ignore_index": -1},
        [drawn(3, 5, 2), picks(5, 3, 2), drawn(5)],
    ),
]


@pytest.mark.parametrize(("op", "since", "inputs", "outputs", "attributes", "arrays"), DEFINED)
def test_an_operator_that_onnx_defines_by_others(
    op: str, since: int, inputs: str, outputs: str, attributes: Any, arrays: Sequence[Any]
) -> None:
    """In the operator sets after the one that its definition was written in, too."""

    def of(opset: int) -> Any:
        types = {n: (a.dtype, a.shape) for n, a in zip(inputs.replace("- ", "").split(), arrays, strict=True)}
        outs = dict.fromkeys(outputs.split(), F)
        return model([node(op, inputs, outputs, **attributes)], types, outs, opset=opset)

    for opset in (since, since + 1, NEWEST):
        gs.onnx.import_model(of(opset))
    newest = min(NEWEST, 26)  # what ONNX Runtime takes
    got, want = run(of(newest), *arrays), ort(of(newest), *arrays)
    for g, w in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, want)), strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_group_normalization_as_it_first_was() -> None:
    """With a scale for each group; ONNX deprecated it as it brought it, and runtimes take it."""
    x, scale, bias = drawn(2, 4, 3), drawn(2), -drawn(2)
    types = {"x": (F, x.shape), "s": (F, [2]), "b": (F, [2])}
    m = model([node("GroupNormalization", "x s b", "y", num_groups=2)], types, {"y": F}, opset=20)
    np.testing.assert_allclose(run(m, x, scale, bias), ort(m, x, scale, bias), rtol=1e-5, atol=1e-6)


# -- functions of the model -------------------------------------------------------------------------------------------


def functions(count: int, each: int, last: Any) -> Any:
    """Functions of which each calls the next so many times, one after the other, and the last one is this node."""
    imports = [h.make_opsetid("", 21), h.make_opsetid("own", 1)]
    made = []
    for k in range(count):
        names = ["x", *(f"t{j}" for j in range(each - 1)), "y"]
        calls = [h.make_node(f"f{k + 1}", [names[j]], [names[j + 1]], domain="own") for j in range(each)]
        made.append(h.make_function("own", f"f{k}", ["x"], ["y"], calls if k < count - 1 else [last], imports))
    call = h.make_node("f0", ["x"], ["y"], "top", domain="own")
    return model([call], {"x": (F, [2, 3])}, {"y": F}, functions=made, opsets=imports[1:])


def test_functions_nested_to_any_depth() -> None:
    m = functions(3000, 1, node("Neg", "x", "y"))
    x = drawn(2, 3)
    np.testing.assert_array_equal(run(m, x), -x)
    with pytest.raises(gs.GraphError, match="takes at most 1 inputs") as e:
        gs.onnx.import_model(functions(3000, 1, node("Neg", "x x", "y")))
    said = r"node 'top' (f0): node 0 (f1): .. 2997 more: node 0 (f2999): node 0 (Neg): takes at most 1 inputs; got 2"
    assert str(e.value) == said


def test_functions_that_stand_for_too_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gscompile.onnx.importer.MAX_EXPANDED", 5000)
    with pytest.raises(gs.GraphError, match="the functions of the model stand for more than 5,000 nodes"):
        gs.onnx.import_model(functions(60, 2, node("Neg", "x", "y")))
    gs.onnx.import_model(functions(10, 2, node("Neg", "x", "y")))


def test_functions_that_call_each_other() -> None:
    with pytest.raises(gs.GraphError, match="the function 'f0' calls itself"):
        gs.onnx.import_model(functions(3, 1, h.make_node("f0", ["x"], ["y"], domain="own")))


def test_a_constant_of_a_function_is_read_once() -> None:
    big = onnx.numpy_helper.from_array(np.ones(1 << 16, F))
    add = [node("Constant", "", "c", value=big), node("Add", "x c", "y")]
    imports = [h.make_opsetid("", 21), h.make_opsetid("own", 1)]
    f = h.make_function("own", "f", ["x"], ["y"], add, imports)
    names = ["x", *(f"t{k}" for k in range(20)), "y"]
    calls = [h.make_node("f", [a], [b], domain="own") for a, b in itertools.pairwise(names)]
    b = gs.onnx.import_model(model(calls, {"x": (F, [1])}, {"y": F}, functions=[f], opsets=imports[1:]))
    arrays = [v.op.array for v in b.graph().constants]
    assert len(arrays) == len(calls) and all(a is arrays[0] for a in arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.functions.append(m.functions[0]), "two functions are called 'f0'"),
        (
            lambda m: m.functions[0].input.append("x"),
            r"node 'top' \(f0\): the function 'f0' has two inputs of one name",
        ),
        (lambda m: m.functions[0].attribute.append("a"), "the function 'f0' needs the attribute 'a'"),
        (lambda m: m.functions[0].output.pop(), r"node 'top' \(f0\): output 0, 'y', is not supported"),
        (lambda m: m.functions[0].opset_import.pop(0), "ONNX, of which the model names no operator set"),
        (lambda m: setattr(m.functions[0].opset_import[0], "version", 1 << 60), "opset 1152921504606846976 is not"),
    ],
)
def test_broken_functions(change: Any, message: str) -> None:
    m = functions(1, 1, node("Neg", "x", "y"))
    change(m)
    with pytest.raises((gs.GraphError, gs.ArgumentError), match=message):
        gs.onnx.import_model(m)


# -- many nodes -------------------------------------------------------------------------------------------------------


def test_a_model_of_20_000_nodes() -> None:
    count = 20_000
    names = ["x", *(f"t{k}" for k in range(count - 1)), "y"]
    nodes = [node("Neg", a, b) for a, b in itertools.pairwise(names)]
    b = gs.onnx.import_model(model(nodes, {"x": (F, [2, 3])}, {"y": F}))
    assert len(b.graph().values) == count + 1


def test_a_sum_of_many_inputs_keeps_no_list_of_them_with_every_node() -> None:
    """The inputs that a shape depends on are looked for when an error names them."""
    names = [f"x{k}" for k in range(2000)]
    nodes = [node("Add", f"{f's{k - 1}' if k else 'x0'} x{k}", f"s{k}") for k in range(2000)]
    m = model([*nodes, node("Expand", "x0 s1999", "y")], {n: ("int64", [1]) for n in names}, {"y": "int64"})
    with pytest.raises(gs.onnx.NeedsValue, match=r"known=\{'x0': .., 'x1': .., 'x10': .., 'x100': .., ..\}") as e:
        gs.onnx.import_model(m)
    assert e.value.inputs == sorted(names)


def test_a_message_names_the_node_once() -> None:
    m = model([node("Unsqueeze", "x axes", "y")], {"x": (F, [2]), "axes": ("int64", [1])}, {"y": F})
    for known, error in (({}, gs.onnx.NeedsValue), ({"axes": np.array([9])}, gs.ShapeError)):
        with pytest.raises(error) as e:
            gs.onnx.import_model(m, known=known)
        assert str(e.value).startswith("node 0 (Unsqueeze): ") and str(e.value).count("node 0") == 1
