"""Libraries that compute in the same process, right before each call that is timed: their threads still look for work then."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gscompile.bench.peers.base import Run

WIDTH = 512  # of square matrices; their product takes a few milliseconds


def _torch(threads: int) -> Run:
    import torch

    torch.set_num_threads(threads)
    x = torch.ones(WIDTH, WIDTH)
    return lambda: torch.relu_(x @ x)


def _jax(threads: int) -> Run:
    import jax

    x = jax.numpy.ones((WIDTH, WIDTH), "float32")
    product = jax.jit(lambda x: jax.numpy.maximum(x @ x, 0))
    return lambda: product(x).block_until_ready()


def _onnxruntime(threads: int) -> Run:
    import onnx
    import onnxruntime

    from gscompile.bench.peers.onnxruntime import IR_VERSION, OPSET

    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (WIDTH, WIDTH))
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (WIDTH, WIDTH))
    nodes = [onnx.helper.make_node("MatMul", ["x", "x"], ["p"]), onnx.helper.make_node("Relu", ["p"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "product", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    given = {"x": np.ones((WIDTH, WIDTH), "float32")}
    return lambda: session.run(None, given)


NEIGHBOURS: dict[str, tuple[str, Callable[[int], Run]]] = {
    "torch": ("torch", _torch),
    "jax": ("jax", _jax),
    "ort": ("onnxruntime", _onnxruntime),
}
"""By the name of a process: what it needs, and (threads) -> a product of matrices and an elementwise function."""
