"""The real frameworks that tests compare with; none of them is needed to run gscompile."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

ORT_OPSET = 18
IR_VERSION = 10  # what every ONNX Runtime since 1.18 reads


def need(module: str) -> Any:
    """The module, or a skip that says how to get it; works inside a test and at the top of a test file."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        pytest.skip(f"needs {module}: pip install '.[conformance]' ({error})", allow_module_level=True)


def onnx_model(op: str, arrays: list[np.ndarray[Any, Any]], attributes: dict[str, Any], opset: int) -> Any:
    """An ONNX model of one node whose inputs ``x0, x1, ...`` have the arrays' types."""
    onnx = need("onnx")
    h = onnx.helper
    names = [f"x{i}" for i in range(len(arrays))]
    inputs = [
        h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays, strict=True)
    ]
    output = h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(arrays[0].dtype), None)
    graph = h.make_graph([h.make_node(op, names, ["y"], **attributes)], op, inputs, [output])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=IR_VERSION)


def ort(op: str, *arrays: np.ndarray[Any, Any], opset: int = ORT_OPSET, **attributes: Any) -> np.ndarray[Any, Any]:
    """One ONNX operator on ONNX Runtime's CPU."""
    runtime = need("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # an index out of range is what some tests are after
    options.intra_op_num_threads = 1
    model = onnx_model(op, list(arrays), attributes, opset)
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    result: np.ndarray[Any, Any] = session.run(None, {f"x{i}": a for i, a in enumerate(arrays)})[0]
    return result


def onnx_reference(
    op: str, *arrays: np.ndarray[Any, Any], opset: int = ORT_OPSET, **attributes: Any
) -> np.ndarray[Any, Any]:
    """One ONNX operator on the reference evaluator."""
    reference = need("onnx.reference")
    evaluator = reference.ReferenceEvaluator(onnx_model(op, list(arrays), attributes, opset))
    result: np.ndarray[Any, Any] = evaluator.run(None, {f"x{i}": a for i, a in enumerate(arrays)})[0]
    return result
