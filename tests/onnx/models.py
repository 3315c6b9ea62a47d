"""Small models, written shortly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gscompile as gs
from tests.frameworks import IR_VERSION, need

Array = Any
onnx = need("onnx")
h = onnx.helper


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    """``node("Add", "x y", "z")``; ``-`` stands for an input that is left out."""
    names = ["" if n == "-" else n for n in inputs.split()]
    return h.make_node(op, names, outputs.split(), **attributes)


def info(name: str, dtype: Any, shape: Sequence[Any] | None) -> Any:
    return h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


def model(
    nodes: Sequence[Any],
    inputs: Mapping[str, tuple[Any, Sequence[Any] | None]],
    outputs: Mapping[str, Any],
    constants: Mapping[str, Array] | None = None,
    opset: int = 21,
    **more: Any,
) -> Any:
    """A model; inputs are (dtype, shape), outputs dtypes."""
    graph = h.make_graph(
        nodes,
        "m",
        [info(n, d, s) for n, (d, s) in inputs.items()],
        [info(n, d, None) for n, d in outputs.items()],
        [onnx.numpy_helper.from_array(a, n) for n, a in (constants or {}).items()],
    )
    imports = [h.make_opsetid("", opset), *more.pop("opsets", [])]
    return h.make_model(graph, opset_imports=imports, ir_version=IR_VERSION, **more)


def run(m: Any, *arrays: Array, **options: Any) -> Any:
    """What gscompile gives."""
    return gs.onnx.import_model(m, **options).build()(*arrays)


def ort(m: Any, *arrays: Array) -> Any:
    """What ONNX Runtime gives."""
    runtime = need("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays, strict=True)})
    return results[0] if len(results) == 1 else tuple(results)


def corpus() -> list[Any]:
    """Small models that import, of every family of operators, kind of attribute and way to hold elements: for fuzzing."""
    f, i = "float32", "int64"
    x, k, m = {"x": (f, ["n", 3])}, {"i": (i, ["k"])}, {"x": (f, [2, 3])}
    y = {"y": f}
    one, pair = np.array([1]), np.array([1, 2])
    own = [h.make_opsetid("", 21), h.make_opsetid("own", 1)]
    inner = h.make_function("own", "g", ["a"], ["b"], [node("Relu", "a", "b")], own)
    scaled = node("LeakyRelu", "a", "t")
    scaled.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    outer = h.make_function(
        "own", "f", ["a"], ["b"], [scaled, h.make_node("g", ["t"], ["b"], domain="own")], own, ["slope"]
    )
    branch = h.make_graph([node("Identity", "x", "z")], "b", [], [info("z", f, None)])
    held = {"c": np.arange(3, dtype=f), "j": pair}
    listed = model([node("Add", "x c", "y")], x, y)
    listed.graph.initializer.append(h.make_tensor("c", onnx.TensorProto.FLOAT, [3], [1.0, 2.0, 3.0]))
    outside = model([node("Add", "x c", "y")], x, y)
    t = outside.graph.initializer.add(name="c", data_type=1, dims=[3], data_location=onnx.TensorProto.EXTERNAL)
    for key, value in {"location": "data.bin", "offset": "0", "length": "12"}.items():
        t.external_data.add(key=key, value=value)
    made = onnx.numpy_helper.from_array
    heads = {n: (f, [2, 3, s, 8]) for n, s in (("q", 4), ("k", 6), ("v", 6))}
    shapes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n", axis=0),
        node("Unsqueeze", "n zeros", "u"),
        node("Concat", "u minus", "t", axis=0),
        node("Reshape", "x t", "r"),
        node("Range", "zero n one", "p"),
        node("Gather", "r p", "y"),
    ]
    numbers = {"zero": np.array(0), "one": np.array(1), "zeros": np.array([0]), "minus": np.array([-1])}
    return [
        model([node("Gather", "x i", "y", axis=0)], {**x, **k}, y),
        model([node("GatherElements", "x e", "y", axis=1)], {**m, "e": (i, [2, 2])}, y),
        model([node("GatherND", "x e", "y", batch_dims=1)], {**m, "e": (i, [2, 1])}, y),
        model([node("ScatterElements", "x e x", "y", axis=1, reduction="add")], {**m, "e": (i, [2, 3])}, y),
        model([node("ScatterND", "x e u", "y", reduction="max")], {**m, "e": (i, [1, 1]), "u": (f, [1, 3])}, y),
        model(shapes, x, y, numbers),
        model([node("ConstantOfShape", "j", "y", value=made(np.array([2.0], f)))], {}, y, held),
        model([node("Constant", "", "c", value=made(np.ones(3, f))), node("Mul", "x c", "y")], x, y),
        model([node("Constant", "", "c", value_floats=[1.0, 2.0, 3.0]), node("Sub", "x c", "y")], x, y),
        model([node("Constant", "", "s", value_ints=[3, 2]), node("Reshape", "x s", "y", allowzero=1)], m, y),
        model([node("Expand", "x j", "e"), node("Tile", "e j", "y")], {"x": (f, [1, 1])}, y, held),
        model([node("Slice", "x a b a a", "y")], m, y, {"a": one, "b": np.array([3])}),
        model([node("Pad", "x p", "y", mode="reflect")], m, y, {"p": np.array([0, 1, 0, 1])}),
        model([node("Split", "x j", "y z", axis=1)], m, {**y, "z": f}, held),
        model([node("Einsum", "x x", "y", equation="ab,cb->ac")], x, y),
        model([node("OneHot", "i d v", "y", axis=-1)], k, y, {"d": np.array(4), "v": np.array([0, 1], f)}),
        model(
            [node("ReduceLogSumExp", "x a", "r"), node("ArgMax", "r", "a2"), node("Cast", "a2", "y", to=1)],
            m,
            y,
            {"a": one},
        ),
        model([node("CumSum", "x a", "c", reverse=1), node("Softmax", "c", "y", axis=0)], x, y, {"a": np.array(0)}),
        model([node("MatMul", "x w", "t"), node("Gemm", "t w", "y", transB=1)], x, y, {"w": np.eye(3, dtype=f)}),
        model([node("LayerNormalization", "x c c", "y", axis=-1, epsilon=1e-3)], x, y, held),
        model([node("Attention", "q k v", "y", is_causal=1)], heads, y, opset=24),
        model([node("SoftmaxCrossEntropyLoss", "x i", "y", reduction="sum")], {**m, "i": (i, [2])}, y),
        model([node("DepthToSpace", "x", "y", blocksize=2, mode="CRD")], {"x": (f, [1, 4, "h", 3])}, y),
        model([node("Resize", "x", "y"), node("If", "b", "z", then_branch=branch, else_branch=branch)], m, y),
        model(
            [h.make_node("f", ["x"], ["y"], domain="own", slope=0.5)], x, y, functions=[inner, outer], opsets=own[1:]
        ),
        model([node("Transpose", "x", "t", perm=[1, 0]), node("Concat", "t t", "y", axis=-1)], x, y),
        model([node("BitShift", "i i", "s", direction="LEFT"), node("Cast", "s", "y", to=1)], {"i": ("uint8", [3])}, y),
        listed,
        outside,
    ]
