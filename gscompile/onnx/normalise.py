"""Normalisations, with statistics that are given or computed."""

from __future__ import annotations

from gscompile.errors import ArgumentError, ShapeError
from gscompile.frontend.builder import builder_of
from gscompile.ir.graph import Value
from gscompile.onnx.node import Node, operator


def _channels(x: Value, v: Value) -> Value:
    """A vector with an element for each channel (axis 1), so that it broadcasts with x."""
    return builder_of(x).reshape(v, (-1, *(1 for _ in range(x.rank - 2))))


@operator("BatchNormalization", note="training_mode must be 0; before opset 7, is_test must be 1; before 9, spatial")
def batch_normalization(n: Node) -> Value:
    if n.attr("training_mode") or (n.defines("is_test") and not n.attr("is_test")):
        raise ArgumentError("training_mode is not supported")
    if n.defines("spatial") and n.attr("spatial") != 1:
        raise ArgumentError("spatial must be 1")
    b, x = n.b, n[0]
    if x.rank < 2:
        raise ShapeError(f"X must have at least two axes; got rank {x.rank}")
    scale, bias, mean, variance = (_channels(x, n[k]) for k in range(1, 5))
    factor = scale / b.sqrt(variance + n.attr("epsilon"))
    return b.cast((x - mean) * factor + bias, x.dtype)


@operator("InstanceNormalization")
def instance_normalization(n: Node) -> Value:
    b, x = n.b, n[0]
    axes = list(range(2, x.rank))
    centred = x - b.mean(x, axes, keepdims=True)
    variance = b.mean(b.square(centred), axes, keepdims=True)
    return centred / b.sqrt(variance + n.attr("epsilon")) * _channels(x, n[1]) + _channels(x, n[2])


@operator("LpNormalization")
def lp_normalization(n: Node) -> Value:
    b, x = n.b, n[0]
    euclidean = n.choice("p", (1, 2)) == 2
    norm = b.sum(b.square(x) if euclidean else b.abs(x), n.axis(x.rank), keepdims=True)
    norm = b.sqrt(norm) if euclidean else norm
    return b.where(b.eq(norm, 0), b.full((), 0, x.dtype), x / norm)
