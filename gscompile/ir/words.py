"""Opaque elements as words: a graph that moves dates, records or text becomes one that moves unsigned integers.

An element of 1, 2, 4 or 8 bytes is one integer of that size.  Any other is a run of the widest integers that divide it, on an
axis of its own after all others: 12 bytes are three of 4, 16 are two of 8, 5 are five of one.  Neighbours stay neighbours, so
the rules that move runs of memory move them.  Only the operators know where such an axis goes (``Operator.in_words``); nothing
after this sees an opaque type.
"""

from __future__ import annotations

from dataclasses import replace

from gscompile.ir.graph import Graph, Rewritten, Value
from gscompile.ir.ops.movement import Reshape
from gscompile.ir.types import OpaqueDType, TensorType


def in_words(graph: Graph) -> Rewritten:
    """The graph itself where nothing in it is opaque."""
    if not any(isinstance(v.dtype, OpaqueDType) for v in graph.values):
        return Rewritten.unchanged(graph)
    made: dict[int, Value] = {}
    origin: dict[int, Value] = {}
    values: list[Value] = []

    def add(v: Value) -> Value:
        values.append(v)
        return v

    for v in graph.values:
        args = [made[id(a)] for a in v.args]
        moved = next((t for t in (v.dtype, *(a.dtype for a in v.args)) if isinstance(t, OpaqueDType)), None)
        new = replace(v, args=tuple(args))
        if moved is not None:
            # What is one value for a whole element, as a condition is, gets an axis of extent 1.
            beside = [k for k, a in enumerate(v.args) if a.dtype.kind != "V" and v.op.aligns(k)]
            for k in beside if moved.words > 1 else ():
                shape = (*args[k].shape, 1)
                name = f"{v.name}_arg{k}"
                args[k] = add(
                    replace(args[k], name=name, type=TensorType(shape, args[k].dtype), op=Reshape(), args=(args[k],))
                )
                origin[id(args[k])] = v.args[k]
            shape = (*v.shape, moved.words) if moved.words > 1 else v.shape
            new = replace(v, type=TensorType(shape, moved.word), op=v.op.in_words(moved, v.rank), args=tuple(args))
        made[id(v)] = add(new)
        origin[id(new)] = v
    outputs = tuple(made[id(v)] for v in graph.outputs)
    return Rewritten(Graph(graph.name, tuple(values), outputs, graph.constraints), origin)
