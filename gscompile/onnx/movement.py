"""Shapes, and elements that move without changing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gscompile.errors import ArgumentError, GraphError, ShapeError
from gscompile.frontend.builder import builder_of
from gscompile.ir.dims import Dim, SymDim, ceildiv, dim_max, dim_min, exact_quotient, product, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.types import DTYPES
from gscompile.onnx.known import LIMIT
from gscompile.onnx.node import Node, Tensor, dtype_of, known_tensor, operator

_INT64 = DTYPES["int64"]

# -- shapes as tensors ------------------------------------------------------------------------------------------------


@operator("Shape")
def shape(n: Node) -> Tensor:
    dims = n.tensor(0).shape
    start, end = n.attr("start") or 0, n.attr("end")
    return known_tensor(n.outputs[0], _objects(dims[start:end]), _INT64)


@operator("Size")
def size(n: Node) -> Tensor:
    return known_tensor(n.outputs[0], _objects(product(n.tensor(0).shape)), _INT64)


def _objects(dims: Any) -> Any:
    found = np.empty(np.shape(dims) if isinstance(dims, tuple) else (), dtype=object)
    found[...] = dims
    return found


# -- made from nothing ------------------------------------------------------------------------------------------------


@operator("Constant", note="no sparse tensors, no strings")
def constant(n: Node) -> Tensor:
    given = [name for name in n.schema.attributes if n.attr(name) is not None]
    if len(given) != 1:
        raise ArgumentError(f"exactly one attribute must hold the value; got {', '.join(given) or 'none'}")
    (name,) = given
    x = n.attr(name)
    if name == "value":
        array, d = n.read(x, "value")
    elif name in ("value_int", "value_ints", "value_float", "value_floats"):
        d = DTYPES["int64" if "int" in name else "float32"]
        array = np.array(x, d.numpy)
    else:
        raise GraphError(f"the attribute {name} is not supported")
    return Tensor(n.outputs[0], d, array)


@operator("ConstantOfShape", 9)
def constant_of_shape(n: Node) -> Any:
    dims = n.sizes(0)
    value = n.attr("value")
    array, d = (np.zeros(1, "f4"), DTYPES["float32"]) if value is None else n.read(value, "value")
    if array.size != 1:
        raise ShapeError(f"value must have one element; got shape {array.shape}")
    numbers = [k for k in dims if isinstance(k, int)]
    if any(k < 0 for k in numbers):
        raise ShapeError(f"input must not hold a negative extent; got {shape_str(dims)}")
    if numbers == dims and not d.is_float and math.prod(numbers) <= LIMIT:
        return Tensor(n.outputs[0], d, np.full(numbers, array.item(), d.numpy))
    return n.b.full(dims, array.item(), d)


@operator("Range", 11)
def arange(n: Node) -> Value:
    d = n.tensor(0).dtype
    start, limit, step = (n.scalar(k) for k in range(3))
    if isinstance(step, SymDim):
        raise ShapeError(f"delta must be a number; it is the size {step}, which only a call tells")
    if step == 0:
        raise ArgumentError("delta must not be 0")
    if any(isinstance(x, float) and not math.isfinite(x) for x in (start, limit, step)):
        raise ArgumentError(f"start, limit and delta must be finite; got {start}, {limit}, {step}")
    if not all(isinstance(x, SymDim) or x == int(x) for x in (start, limit, step)):
        count: Dim = max(int(np.ceil((limit - start) / step)), 0)
        wide = "float64" if d.name == "float64" else "float32"
        return n.b.cast(n.b.cast(n.b.iota((count,)), wide) * step + start, d)
    start, limit, step = (x if isinstance(x, SymDim) else int(x) for x in (start, limit, step))
    assert isinstance(step, int)
    count = dim_max(ceildiv(limit - start, step) if step > 0 else ceildiv(start - limit, -step), 0)
    first = n.b.size(start) if isinstance(start, SymDim) else start
    return n.b.cast(n.b.iota((count,)) * step + first, d)


@operator("EyeLike", 9)
def eye_like(n: Node) -> Value:
    dims, wanted = n.tensor(0).shape, n.attr("dtype")
    if len(dims) != 2:
        raise ShapeError(f"input must have rank 2; got shape {shape_str(dims)}")
    d = n.tensor(0).dtype if wanted is None else dtype_of(wanted, "dtype")
    b = n.b
    return b.cast(b.eq(b.iota(dims, 1) - b.iota(dims, 0), n.attr("k")), d)


# -- other shapes -----------------------------------------------------------------------------------------------------


operator("Identity")(lambda n: n.tensor(0))
operator("Transpose")(lambda n: n.b.transpose(n[0], n.attr("perm")))
operator("Concat", 4)(lambda n: n.b.concat(n.values, n.attr("axis")))


@operator("Reshape")
def reshape(n: Node) -> Value:
    x, dims = n[0], n.listed("shape", 1) or []
    if not n.attr("allowzero"):
        if len(dims) > x.rank and any(d == 0 for d in dims[x.rank :]):
            raise ShapeError(
                f"shape {shape_str(dims)} takes an extent from an axis that {shape_str(x.shape)} does not have"
            )
        dims = [x.shape[k] if isinstance(d, int) and d == 0 else d for k, d in enumerate(dims)]
    return n.b.reshape(x, dims)


@operator("Flatten")
def flatten(n: Node) -> Value:
    x, axis = n[0], n.attr("axis")
    low = -x.rank if n.opset >= 11 else 0
    if not low <= axis <= x.rank:
        raise ShapeError(f"axis must be in [{low}, {x.rank}]; got {axis}")
    axis += x.rank if axis < 0 else 0
    return n.b.reshape(x, (product(x.shape[:axis]), product(x.shape[axis:])))


@operator("Squeeze")
def squeeze(n: Node) -> Value:
    return n.b.squeeze(n[0], n.axes("axes", 1, n[0].rank))


@operator("Unsqueeze")
def unsqueeze(n: Node) -> Value:
    wanted = n.listed("axes", 1) or []
    return n.b.unsqueeze(n[0], [n.number(a, "axes") for a in wanted])


@operator("Expand", 8)
def expand(n: Node) -> Value:
    return n.b.broadcast_to(n[0], n.b.draft.broadcast("Expand", [n[0].shape, tuple(n.sizes(1))]))


@operator("Tile", 6)
def tile(n: Node) -> Value:
    x, repeats = n[0], n.sizes(1)
    if len(repeats) != x.rank:
        raise ShapeError(f"repeats must have {x.rank} elements, one for each axis; got {len(repeats)}")
    for a, r in enumerate(repeats):
        if r != 1:
            before, after, d = x.shape[:a], x.shape[a + 1 :], x.shape[a]
            many = n.b.broadcast_to(n.b.unsqueeze(x, a), (*before, r, d, *after))
            x = n.b.reshape(many, (*before, r * d, *after))
    return x


@operator("Slice")
def cut(n: Node) -> Value:
    x = n[0]
    starts, ends = n.listed("starts", 1), n.listed("ends", 2)
    axes = n.axes("axes", 3, x.rank)
    steps = n.ints(4) if n.has(4) else None
    return n.b.slice(x, starts, ends, axes, steps)


@operator("Split", 2)
def split(n: Node) -> Sequence[Value]:
    x, a, count = n[0], n.axis(n[0].rank), len(n.outputs)
    d = x.shape[a]
    sizes = n.listed("split", 1)
    if sizes is not None:
        if len(sizes) != count:
            raise ShapeError(f"split must have {count} elements, one for each output; got {len(sizes)}")
        if any(isinstance(s, int) and s < 0 for s in sizes):
            raise ShapeError(f"split must not hold a negative extent; got {shape_str(sizes)}")
        ends = list(itertools.accumulate(sizes))
        n.b.draft.require([("==", ends[-1], d, "the sum of split, and the axis")])
    elif n.defines("num_outputs"):  # the last part may be shorter
        if n.attr("num_outputs") != count:
            raise ArgumentError(f"num_outputs must be {count}, as many as there are; got {n.attr('num_outputs')}")
        ends = [dim_min(ceildiv(d, count) * (k + 1), d) for k in range(count)]
    else:
        ends = [(d // count) * (k + 1) for k in range(count)]
        n.b.draft.require([("==", ends[-1], d, f"{count} equal parts, and the axis")])
    return [n.b.slice(x, [start], [end], [a]) for start, end in zip([0, *ends], ends, strict=False)]


@operator("Trilu", 14)
def trilu(n: Node) -> Value:
    b, x = n.b, n[0]
    if x.rank < 2:
        raise ShapeError(f"input must have at least two axes; got shape {shape_str(x.shape)}")
    k: Any = n[1] if n.has(1) else 0
    if n.has(1) and n[1].rank:
        k = b.reshape(n[1], ())
    right = b.iota(x.shape, x.rank - 1) - b.iota(x.shape, x.rank - 2)
    return b.where(right >= k if n.attr("upper") else right <= k, x, b.full((), 0, x.dtype))


# -- pad --------------------------------------------------------------------------------------------------------------


@operator("Pad", 2)
def pad(n: Node) -> Value:
    x, modes = n[0], ("constant", "reflect", "edge", *(("wrap",) if n.opset >= 19 else ()))
    mode = n.choice("mode", modes)
    pads = [n.number(p, "pads") for p in n.listed("pads", 1) or []]
    axes = list(range(x.rank))
    if n.has(3):
        axes = n.axes("axes", 3, x.rank) or []
    if len(pads) != 2 * len(axes):
        raise ShapeError(f"pads must have {2 * len(axes)} elements, two for each axis; got {len(pads)}")
    low, high = [0] * x.rank, [0] * x.rank
    for k, a in enumerate(axes):
        low[a], high[a] = pads[k], pads[k + len(axes)]
    if mode == "constant":
        return _pad_constant(n, x, low, high)
    for a in sorted(set(axes)):
        if low[a] or high[a]:
            x = _pad_moved(x, a, low[a], high[a], mode)
    return x


def _pad_constant(n: Node, x: Value, low: list[int], high: list[int]) -> Value:
    if n.defines("value"):
        return n.b.pad(x, low, high, n.attr("value"))
    if not n.has(2):
        return n.b.pad(x, low, high, 0)
    if n.tensor(2).known is not None:
        return n.b.pad(x, low, high, n.scalar(2))
    inside = n.b.pad(n.b.full(x.shape, True, "bool"), low, high, False)
    return n.b.where(inside, n.b.pad(x, low, high, 0), n.b.reshape(n[2], ()))


def _pad_moved(x: Value, axis: int, low: int, high: int, mode: str) -> Value:
    """An axis padded with elements of its own: reflected, repeated at the edge, or wrapped round."""
    b, d = builder_of(x), x.shape[axis]
    if d == 0:
        raise ShapeError(f"mode {mode!r} cannot continue an empty axis; shape {shape_str(x.shape)}")
    at = b.iota((d + (low + high),)) - low
    if mode == "reflect":
        period = b.size(2 * (d - 1))
        at = b.mod(at, period)  # 0 on an axis of extent 1, whose period is 0
        at = b.minimum(at, period - at)
    return b.take(x, at, axis, bounds="wrap" if mode == "wrap" else "clip", negative=False)


# -- depth and space --------------------------------------------------------------------------------------------------


def _blocks(n: Node) -> tuple[Value, int, Any]:
    x, block = n[0], n.attr("blocksize")
    if x.rank != 4:
        raise ShapeError(f"input must have rank 4; got shape {shape_str(x.shape)}")
    if block < 1:
        raise ArgumentError(f"blocksize must be positive; got {block}")
    mode = n.choice("mode", ("DCR", "CRD")) if n.defines("mode") else "DCR"
    return x, block, mode


def _part(extent: Dim, block: int, what: str) -> Dim:
    found = exact_quotient(extent, block)
    if found is None and isinstance(extent, int):
        raise ShapeError(f"{what} must be a multiple of {block}; got {extent}")
    return extent // block if found is None else found


@operator("DepthToSpace")
def depth_to_space(n: Node) -> Value:
    x, s, mode = _blocks(n)
    batch, depth, rows, columns = x.shape
    c = _part(depth, s * s, "the depth")
    if mode == "DCR":
        y = n.b.transpose(n.b.reshape(x, (batch, s, s, c, rows, columns)), (0, 3, 4, 1, 5, 2))
    else:
        y = n.b.transpose(n.b.reshape(x, (batch, c, s, s, rows, columns)), (0, 1, 4, 2, 5, 3))
    return n.b.reshape(y, (batch, c, rows * s, columns * s))


@operator("SpaceToDepth")
def space_to_depth(n: Node) -> Value:
    x, s, mode = _blocks(n)
    batch, c, rows, columns = x.shape
    h, w = _part(rows, s, "the rows"), _part(columns, s, "the columns")
    y = n.b.reshape(x, (batch, c, h, s, w, s))
    y = n.b.transpose(y, (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return n.b.reshape(y, (batch, c * (s * s), h, w))
