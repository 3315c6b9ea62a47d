"""OpenVINO's CPU plugin, with tensors that share the arrays' memory.

Some of its calls end the process (a Gather with batch_dims of few bytes, anything empty), which the process around each
contender contains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gscompile.bench.peers.base import Run
from gscompile.bench.workload import Arrays, Workload


class OpenVino:
    name = "openvino"
    packages = ("openvino",)

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Sequence[Run]:
        result = w.expected(**arrays)
        return [_request(f, arrays, result, threads) for f in _functions(w.options).get(w.kind, [])]


def _functions(o: Mapping[str, Any]) -> dict[str, list[Callable[..., Any]]]:
    """What makes the node of each kind of workload from its parameters."""
    from openvino import opset1, opset3, opset6, opset8, opset12, opset15

    names = {"update": "none", "add": "sum", "mul": "prod"}
    axis, reduction = o.get("axis", 0), names.get(o.get("reduction", ""), o.get("reduction"))

    def rows(x: Any, i: Any, src: Any, reduction: Any) -> Any:
        return opset15.scatter_nd_update(x, opset1.unsqueeze(i, np.int64(-1)), src, reduction)

    def elements(x: Any, i: Any, src: Any) -> Any:
        return opset12.scatter_elements_update(x, i, src, np.int64(axis), reduction)

    def expanded(x: Any, i: Any, src: Any) -> Any:
        column = opset1.reshape(i, np.array([-1, *[1] * (len(src.shape) - 1)]), False)
        return elements(x, opset3.broadcast(column, np.array(list(src.shape))), src)

    def message_passing(x: Any, s: Any, w: Any, d: Any) -> Any:
        read = opset1.multiply(opset8.gather(x, s, np.int64(0)), opset1.unsqueeze(w, np.int64(1)))
        zero = opset8.convert_like(np.float32(0), x)
        return rows(opset3.broadcast(zero, np.array(list(x.shape))), d, read, "sum")

    ways: list[Callable[..., Any]] = [lambda x, i, src: rows(x, i, src, reduction), expanded]
    if reduction == "none":
        ways.append(lambda x, i, src: opset3.scatter_update(x, i, src, np.int64(0)))
    return {
        "take": [lambda x, i: opset8.gather(x, i, np.int64(axis), o["batch_dims"])],
        "gather": [lambda x, i: opset6.gather_elements(x, i, axis)],
        "gather_nd": [lambda x, i: opset8.gather_nd(x, i)],
        "put": ways,
        "scatter_nd": [lambda x, i, src: opset15.scatter_nd_update(x, i, src, reduction)],
        "segment_sum": [lambda x, i, like: rows(like, i, x, "sum")],
        "chain": [
            lambda x, k, i, w, b: opset1.add(
                opset1.multiply(opset8.gather(x, opset8.gather(k, i, np.int64(0)), np.int64(0)), w), b
            )
        ],
        "scatter": [elements],
        "message_passing": [message_passing],
        "embedding_bag": [opset3.embedding_bag_packed_sum],
    }


def _request(function: Callable[..., Any], given: Arrays, result: Any, threads: int) -> Run:
    import openvino
    from openvino import opset1

    def tensor(x: Any) -> Any:
        if x.dtype.name == "bfloat16":
            return openvino.Tensor(x.view(np.uint16), x.shape, openvino.Type.bf16)
        return openvino.Tensor(x, shared_memory=True)

    tensors = {k: tensor(v) for k, v in given.items()}
    parameters = [opset1.parameter(list(t.shape), t.element_type) for t in tensors.values()]
    model = openvino.Model([function(*parameters)], parameters)
    # f32: it would compute in bfloat16 where the CPU can
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()
    y = np.empty(result.shape, result.dtype)
    for k, t in enumerate(tensors.values()):
        request.set_input_tensor(k, t)
    request.set_output_tensor(0, tensor(y))

    def run() -> Any:
        request.infer()
        return y

    return run
