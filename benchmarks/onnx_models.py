"""Three models whose time goes into gathers and scatters, as ONNX, and inputs for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

Feed = dict[str, Any]

GNN = """
<ir_version: 10, opset_import: ["": 18]>
gnn_layer (float[n, {width}] x, int64[e] source, int64[e] target, float[e] weight) => (float[n, {width}] y) {{
  last = Constant<value_ints = [1]>()
  h = MatMul(x, matrix)
  taken = Gather<axis = 0>(h, source)
  column = Unsqueeze(weight, last)
  message = Mul(taken, column)
  shape = Shape(h)
  zeros = ConstantOfShape(shape)
  points = Unsqueeze(target, last)
  summed = ScatterND<reduction = "add">(zeros, points, message)
  moved = Add(summed, bias)
  y = Relu(moved)
}}"""

BAG = """
<ir_version: 10, opset_import: ["": 18]>
embedding_bag (int64[b, bag] i, float[b, bag] weight) => (float[b, classes] y) {
  last = Constant<value_ints = [2]>()
  one = Constant<value_ints = [1]>()
  rows = Gather<axis = 0>(table, i)
  column = Unsqueeze(weight, last)
  weighted = Mul(rows, column)
  summed = ReduceSum<keepdims = 0>(weighted, one)
  y = MatMul(summed, matrix)
}"""

BEAMS = """
<ir_version: 10, opset_import: ["": 18]>
beam_step (float[b, {beams}, {words}] logits, float[b, {beams}] score, int64[b, {beams}, t] tokens,
           float[b, {beams}, h, t, d] cache, int64[1] at)
  => (float[b, {beams}] best, int64[b, {beams}, t] chosen, float[b, {beams}, h, t, d] kept) {{
  last = Constant<value_ints = [2]>()
  flat = Constant<value_ints = [0, -1]>()
  beams = Constant<value_ints = [{beams}]>()
  words = Constant<value_int = {words}>()
  probability = LogSoftmax<axis = -1>(logits)
  column = Unsqueeze(score, last)
  total = Add(probability, column)
  row = Reshape(total, flat)
  best, ids = TopK<axis = -1>(row, beams)
  beam = Div(ids, words)
  word = Mod(ids, words)
  parent = Unsqueeze(beam, last)
  kept = GatherND<batch_dims = 1>(cache, parent)
  before = GatherND<batch_dims = 1>(tokens, parent)
  update = Unsqueeze(word, last)
  shape = Shape(update)
  place = Expand(at, shape)
  chosen = ScatterElements<axis = 2>(before, place, update)
}}"""


@dataclass(frozen=True)
class Workload:
    """A model, and inputs of some sizes for it."""

    model: onnx.ModelProto
    feed: Callable[..., Feed]


def gnn_layer(width: int = 64) -> Workload:
    """Messages along edges: rows of a product, times weights, summed by target."""
    rng = np.random.default_rng(0)
    model = parsed(GNN.format(width=width), matrix=_normal(rng, width, width) / 8, bias=_normal(rng, width))

    def feed(nodes: int, edges: int) -> Feed:
        return {
            "x": _normal(rng, nodes, width),
            "source": rng.integers(-nodes, nodes, edges),
            "target": rng.integers(0, nodes, edges),
            "weight": _normal(rng, edges),
        }

    return Workload(model, feed)


def embedding_bag(rows: int = 100_000, width: int = 64) -> Workload:
    """Weighted sums of rows of a table, before a product."""
    rng = np.random.default_rng(0)

    def feed(bags: int, size: int) -> Feed:
        return {"i": rng.integers(0, rows, (bags, size)), "weight": _normal(rng, bags, size)}

    return Workload(parsed(BAG, table=_normal(rng, rows, width), matrix=_normal(rng, width, 8)), feed)


def beam_step(beams: int = 4, words: int = 1000) -> Workload:
    """The best beams of each sentence: their tokens, and what was cached for them, taken from their parents."""
    rng = np.random.default_rng(0)

    def feed(sentences: int, length: int, heads: int = 8, width: int = 64) -> Feed:
        return {
            "logits": _normal(rng, sentences, beams, words),
            "score": _normal(rng, sentences, beams),
            "tokens": rng.integers(0, words, (sentences, beams, length)),
            "cache": _normal(rng, sentences, beams, heads, length, width),
            "at": np.array([length - 1]),
        }

    return Workload(parsed(BEAMS.format(beams=beams, words=words)), feed)


def parsed(text: str, **initializers: Any) -> onnx.ModelProto:
    """A model in ONNX's text, with initialisers of these elements."""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(x, name) for name, x in initializers.items())
    return model


def _normal(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape, np.float32)
