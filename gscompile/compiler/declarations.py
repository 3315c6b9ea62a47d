"""A graph as plain tensor expressions: its values' own declarations, without a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gscompile.ir import tir as T
from gscompile.ir.coords import Sizes
from gscompile.ir.graph import Graph, Value
from gscompile.ir.ops.base import Inline, Leaf, Stored
from gscompile.ir.pairs import without_complex
from gscompile.ir.tir import Buffer, Expr, PrimFunc, Stmt
from gscompile.ir.types import TensorType
from gscompile.ir.words import in_words

Tensor = Any


@dataclass(frozen=True, slots=True)
class TensorElement:
    """A te.Tensor, or a buffer of one, as a function of coordinates."""

    type: TensorType
    source: Any
    is_buffer: bool = False

    def __call__(self, *coords: Expr) -> Expr:
        value = T.load(self.source, *coords) if self.is_buffer else self.source(*coords)
        return _bits(value) if T.dtype_of(value) == "bfloat16" else value


def _bits(x: Expr) -> Expr:
    """The bits of a bfloat16, with which gscompile computes, by way of float32: TVM cannot reinterpret a bfloat16 on llvm."""
    return T.cast("uint16", T.reinterpret("uint32", T.cast("float32", x)) >> T.const(16, "uint32"))


def _in_bits(t: Tensor) -> Tensor:
    """A bfloat16 tensor as one of its bits, which a reduction's formula can name: TVM loses a bfloat16 loaded in a let."""
    if str(t.dtype) != "bfloat16":
        return t
    return T.te_compute(f"{t.op.name}_bits", t.shape, lambda *c: _bits(t(*c)))


def declare(graph: Graph, given: Sequence[Tensor], sizes: Sizes) -> dict[int, Tensor]:
    """Every value of a graph as a te.Tensor, by id; ``given`` are the inputs, then the constants."""
    tensors = {id(v): t for v, t in zip([*graph.inputs, *graph.constants], given, strict=True)}
    for v in graph.values:
        if not isinstance(v.op, Leaf):
            tensors[id(v)] = _declare(v, [tensors[id(a)] for a in v.args], sizes)
    return tensors


def _declare(v: Value, args: Sequence[Tensor], sizes: Sizes) -> Tensor:
    """An inline value as a compute of its element, a stored one as an extern of its formula."""
    op, shape = v.op, sizes.shape(v.shape)
    types = [a.type for a in v.args]
    if isinstance(op, Inline):
        elements = [TensorElement(type, t) for type, t in zip(types, args, strict=True)]
        return T.te_compute(v.name, shape, lambda *c: op.element(elements, v.type, c, sizes))
    assert isinstance(op, Stored)

    def body(ins: list[Buffer], out: Buffer) -> Stmt:
        return op.formula(out, v.type, [TensorElement(t, b, True) for t, b in zip(types, ins, strict=True)], sizes)

    return T.te_extern(v.name, shape, v.dtype.tir, [_in_bits(t) for t in args], body)


def reference(graph: Graph) -> PrimFunc:
    """The plain lowering of a graph: ``te.create_prim_func`` of its declarations, no schedule at all.

    Parameters of the function: inputs, constants, outputs.  Every schedule's result is compared with it.  A complex tensor is
    one of its parts, with one more axis, the innermost, of extent 2.
    """
    graph = without_complex(in_words(graph).graph, units=False).graph
    sizes = Sizes.of(graph.symbols)
    leaves = [*graph.inputs, *graph.constants]
    given = [T.te_placeholder(v.name, sizes.shape(v.shape), v.dtype.tir) for v in leaves]
    tensors = declare(graph, given, sizes)
    results: list[Tensor] = []
    for v in graph.outputs:
        t = tensors[id(v)]
        if isinstance(v.op, Leaf) or any(t is r for r in results):  # each parameter is a tensor of its own
            t = T.te_compute(f"{v.name}_copy", sizes.shape(v.shape), t)
        results.append(t)
    return T.te_prim_func([*given, *results])
