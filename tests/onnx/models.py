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
