"""ONNX Runtime, with bound inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gscompile.bench.peers.base import Run
from gscompile.bench.workload import Arrays, Workload

OPSET = 18
IR_VERSION = 10
INT64 = 7  # ONNX's number of the dtype

Node = tuple[str, list[str], str, dict[str, Any]]
"""(operator, inputs, output, attributes); the last node's output is ``y``."""

Graph = tuple[list[Node], dict[str, Any]]
"""Nodes, and the constants that they read."""


class OnnxRuntime:
    name = "ort"
    packages = ("onnxruntime", "onnx")

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Sequence[Run]:
        result = w.expected(**arrays)
        return [_session(graph, arrays, result, threads) for graph in _graphs(w, arrays)]


def _graphs(w: Workload, arrays: Arrays) -> list[Graph]:
    """The models that compute a workload."""
    o = w.options
    last, ends = np.array([-1]), {"axes": np.array([1])}
    if w.kind == "take" and o["batch_dims"]:
        nodes = [("Unsqueeze", ["i", "last"], "vectors", {}), ("GatherND", ["x", "vectors"], "y", {"batch_dims": 1})]
        return [(nodes, {"last": last})]
    if w.kind == "take":
        return [([("Gather", ["x", "i"], "y", {"axis": o["axis"]})], {})]
    if w.kind == "gather":
        return [([("GatherElements", ["x", "i"], "y", {"axis": o["axis"]})], {})]
    if w.kind == "gather_nd":
        return [([("GatherND", ["x", "i"], "y", {})], {})]
    if w.kind == "chain":
        steps: list[Node] = [
            ("Gather", ["k", "i"], "rows", {}),
            ("Gather", ["x", "rows"], "read", {}),
            ("Mul", ["read", "w"], "scaled", {}),
            ("Add", ["scaled", "b"], "y", {}),
        ]
        return [(steps, {})]
    reduction = {"update": "none"}.get(o.get("reduction", ""), o.get("reduction"))
    if reduction == "mean":  # ONNX has none
        return []
    if w.kind == "segment_sum":
        return _rows("like", "i", "x", "add", arrays["x"].shape)
    if w.kind == "scatter_nd":
        long: Node = ("Cast", ["i"], "long", {"to": INT64})
        return [([long, ("ScatterND", ["x", "long", "src"], "y", {"reduction": reduction})], {})]
    if w.kind == "scatter":
        attributes = {"axis": o["axis"], "reduction": reduction}
        return [([("ScatterElements", ["x", "i", "src"], "y", attributes)], {})]
    if w.kind == "put":
        return _rows("x", "i", "src", str(reduction), arrays["src"].shape)
    if w.kind == "embedding_bag":
        nodes = [("Gather", ["x", "i"], "rows", {}), ("ReduceSum", ["rows", "axes"], "y", {"keepdims": 0})]
        return [(nodes, ends)]
    if w.kind == "message_passing":
        shape = (len(arrays["s"]), *arrays["x"].shape[1:])
        before: list[Node] = [
            ("Gather", ["x", "s"], "read", {}),
            ("Unsqueeze", ["w", "axes"], "column", {}),
            ("Mul", ["read", "column"], "rows", {}),
        ]
        constants = {**ends, "zeros": np.zeros_like(arrays["x"])}
        return [([*before, *nodes], {**constants, **c}) for nodes, c in _rows("zeros", "d", "rows", "add", shape)]
    return []


def _rows(x: str, i: str, src: str, reduction: str, shape: tuple[int, ...]) -> list[Graph]:
    """Rows by ScatterND, which with several threads has lost some of the duplicates it adds, and by ScatterElements."""
    ones = [1] * (len(shape) - 1)
    long: Node = ("Cast", [i], "long", {"to": INT64})  # nothing where it is already
    vectors: list[Node] = [
        long,
        ("Unsqueeze", ["long", "last"], "vectors", {}),
        ("ScatterND", [x, "vectors", src], "y", {"reduction": reduction}),
    ]
    elements: list[Node] = [
        long,
        ("Reshape", ["long", "column_shape"], "index_column", {}),
        ("Expand", ["index_column", "rows_shape"], "index_rows", {}),
        ("ScatterElements", [x, "index_rows", src], "y", {"axis": 0, "reduction": reduction}),
    ]
    constants = {"column_shape": np.array([-1, *ones]), "rows_shape": np.array(shape)}
    return [(vectors, {"last": np.array([-1])}), (elements, constants)]


def _session(graph: Graph, given: Arrays, result: Any, threads: int) -> Run:
    import onnxruntime
    from onnx import helper, numpy_helper

    def info(name: str, x: Any) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)

    nodes = [helper.make_node(op, inputs, [output], **attributes) for op, inputs, output, attributes in graph[0]]
    constants = [numpy_helper.from_array(v, k) for k, v in graph[1].items()]
    made = helper.make_graph(nodes, "workload", [info(k, v) for k, v in given.items()], [info("y", result)], constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    y = np.empty(result.shape, result.dtype)
    values = {k: onnxruntime.OrtValue.ortvalue_from_numpy(v) for k, v in given.items()}
    for k, v in values.items():
        binding.bind_ortvalue_input(k, v)
    binding.bind_output("y", "cpu", 0, y.dtype, y.shape, y.ctypes.data)

    def run() -> Any:
        session.run_with_iobinding(binding)
        return y

    return run
