"""Gathers and scatters, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable

from gscompile.dialects import onnx as dialect
from gscompile.errors import ShapeError
from gscompile.ir.dims import shape_str
from gscompile.ir.graph import Value
from gscompile.onnx.node import Node, operator


def _of_dialect(name: str) -> Callable[[Node], Value]:
    """The dialect's function of the same name, with the inputs in its order and the attributes by name."""
    function = getattr(dialect, name)

    def convert(n: Node) -> Value:
        inputs = [n[k] if n.has(k) else None for k in range(len(n))]
        # PyTorch writes the reductions of opset 18 into models of 16 and 17, where runtimes overwrite
        early = n.opset in (16, 17) and n.attr("reduction") in ("max", "min")
        found: Value = function(*inputs, **n.attributes, opset=18 if early else n.opset)
        return found

    return convert


_GATHERS = ("Gather", "GatherElements", "GatherND")
_SCATTERS = ("Scatter", "ScatterElements", "ScatterND", "TensorScatter")
for _name in (*_GATHERS, *_SCATTERS):
    operator(_name)(_of_dialect(_name))


@operator("OneHot", 9, "depth must be known while the graph is built")
def one_hot(n: Node) -> Value:
    """``on`` where the new axis is at the index, counted from the end if negative; nowhere for an index out of range."""
    b, index, values = n.b, n.b.cast(n[0], "int64"), n[2]
    depth = int(n.scalar(1))
    if depth < 0:
        raise ShapeError(f"depth must not be negative; got {depth}")
    rank = index.rank + 1
    axis = n.axis(rank)
    shape = (*index.shape[:axis], depth, *index.shape[axis:])
    at = b.unsqueeze(b.where(index < 0, index + depth, index), axis)
    return b.where(b.eq(b.iota(shape, axis), at), values[1], values[0])


@operator("ReverseSequence", 10)
def reverse_sequence(n: Node) -> Value:
    """The first ``sequence_lens[k]`` elements of each sequence backwards, the rest as it is."""
    b, x, lengths = n.b, n[0], n[1]
    time, batch = n.axis(x.rank, "time_axis"), n.axis(x.rank, "batch_axis")
    if {time, batch} != {0, 1}:
        raise ShapeError(f"time_axis and batch_axis must be 0 and 1; got {time} and {batch}")
    if lengths.rank != 1:
        raise ShapeError(f"sequence_lens must have rank 1; got shape {shape_str(lengths.shape)}")
    grid = (x.shape[batch], x.shape[time])
    at, ends = b.iota(grid, 1), b.unsqueeze(lengths, 1)
    at = b.where(at < ends, ends - 1 - at, at)
    found = b.take(x if batch == 0 else b.transpose(x, (1, 0, *range(2, x.rank))), at, 1, batch_dims=1, negative=False)
    return found if batch == 0 else b.transpose(found, (1, 0, *range(2, x.rank)))
