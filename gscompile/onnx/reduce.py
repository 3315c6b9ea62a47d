"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from gscompile.frontend.arguments import axis_of
from gscompile.frontend.builder import builder_of
from gscompile.ir.dims import product
from gscompile.ir.graph import Value
from gscompile.ir.ops.reduce import reduced_shape
from gscompile.ir.types import DType
from gscompile.onnx.node import Node, operator

Body: TypeAlias = Callable[[Value, list[int], bool], Value]  # of a tensor, axes and keepdims


def _reduction(body: Body) -> Callable[[Node], Value]:
    """A converter: which axes, and the result in the input's dtype.

    16-bit floats are computed in float32 as a whole, and integers in the builder's wider types.
    """

    def convert(n: Node) -> Value:
        x = n[0]
        axes = n.axes("axes", 1, x.rank)
        if not axes:
            if n.attr("noop_with_empty_axes"):
                return n.b.cast(body(_wide(x), [], True), x.dtype) if n.op not in _EXTREMES else x
            axes = list(range(x.rank))
        keep = bool(n.attr("keepdims"))
        if n.op in _EXTREMES and product(x.shape[a] for a in axes) == 0:
            return n.b.full(reduced_shape(x.shape, tuple(sorted(axes)), keep), _EXTREMES[n.op](x.dtype), x.dtype)
        return n.b.cast(body(_wide(x), axes, keep), x.dtype)

    return convert


def _wide(x: Value) -> Value:
    return builder_of(x).cast(x, "float32") if x.dtype.is_float and x.dtype.bits == 16 else x


def _mean(x: Value, axes: list[int], keep: bool) -> Value:
    """0 of no elements, as ONNX Runtime has it; the definition leaves it open."""
    b, count = builder_of(x), product(x.shape[a] for a in axes)
    found = b.mean(x, axes, keep)
    if isinstance(count, int) and count:
        return found
    return b.where(b.eq(b.size(count), 0), b.full((), 0, found.dtype), found)


def _log_sum_exp(x: Value, axes: list[int], keep: bool) -> Value:
    """As ``top + log(sum(exp(x - top)))``, top being the largest, so that nothing overflows."""
    b = builder_of(x)
    x = x if x.dtype.is_float else b.cast(x, "float64")
    if product(x.shape[a] for a in axes) == 0:
        return b.log(b.sum(b.exp(x), axes, keep))
    top = b.max(x, axes, keepdims=True)
    top = b.where(b.isfinite(top), top, 0.0)
    found = b.log(b.sum(b.exp(x - top), axes, keepdims=True)) + top
    return found if keep else b.squeeze(found, axes)


def _lowest(d: DType) -> Any:
    return float("-inf") if d.is_float else d.min if d.is_integer else False


def _highest(d: DType) -> Any:
    return float("inf") if d.is_float else d.max if d.is_integer else True


_EXTREMES = {"ReduceMax": _lowest, "ReduceMin": _highest}  # and what they give of no elements

_BODIES: dict[str, Body] = {
    "ReduceSum": lambda x, axes, keep: builder_of(x).sum(x, axes, keep),
    "ReduceMean": _mean,
    "ReduceProd": lambda x, axes, keep: builder_of(x).prod(x, axes, keep),
    "ReduceMax": lambda x, axes, keep: builder_of(x).max(x, axes, keep),
    "ReduceMin": lambda x, axes, keep: builder_of(x).min(x, axes, keep),
    "ReduceL1": lambda x, axes, keep: builder_of(x).sum(builder_of(x).abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: builder_of(x).sqrt(builder_of(x).sum(builder_of(x).square(x), axes, keep)),
    "ReduceSumSquare": lambda x, axes, keep: builder_of(x).sum(builder_of(x).square(x), axes, keep),
    "ReduceLogSum": lambda x, axes, keep: builder_of(x).log(builder_of(x).sum(x, axes, keep)),
    "ReduceLogSumExp": _log_sum_exp,
}
for _name, _body in _BODIES.items():
    operator(_name)(_reduction(_body))


def _arg(n: Node, largest: bool) -> Value:
    """The position of the first of the largest or smallest, or the last; a NaN is neither, unless it is the first element.

    So it is in ONNX Runtime, which compares each element with the best before it.
    """
    b, x, keep, last = n.b, n[0], bool(n.attr("keepdims")), bool(n.attr("select_last_index"))
    a = n.axis(x.rank)
    shape = reduced_shape(x.shape, (a,), keep)
    count = product(shape)
    if count == 0:
        return b.full(shape, 0, "int64")
    b.draft.require([("<=", count, count * x.shape[a], f"{n.op}: a result of no elements has no value; axis {a}")])
    find = b.argmax if largest else b.argmin
    if not x.dtype.is_float:
        return find(x, a, keep, last)
    worst = float("-inf" if largest else "inf")
    number = b.logical_not(b.isnan(x))
    found = find(b.where(number, x, worst), a, keep, last)
    if last:  # of infinities and NaNs, the last that is no NaN
        best = (b.max if largest else b.min)(b.where(number, x, worst), a, keep)
        found = b.where(b.eq(best, worst), b.argmax(number, a, keep, True), found)
    return b.where(b.isnan(b.reshape(b.slice(x, [0], [1], [a]), shape)), b.full((), 0, "int64"), found)


operator("ArgMax")(lambda n: _arg(n, True))
operator("ArgMin")(lambda n: _arg(n, False))


@operator("CumSum", 11, "axis must be known while the graph is built")
def cum_sum(n: Node) -> Value:
    x = n[0]
    a = axis_of(n.op, "axis", n.number(n.scalar(1), "axis"), x.rank)
    flags = [bool(n.choice(name, (0, 1))) for name in ("exclusive", "reverse")]
    return n.b.cumsum(x, a, exclusive=flags[0], reverse=flags[1], dtype=x.dtype)


def _spatial(n: Node) -> tuple[Value, list[int]]:
    return n[0], list(range(2, n[0].rank))


@operator("GlobalAveragePool")
def global_average_pool(n: Node) -> Value:
    x, axes = _spatial(n)
    return n.b.mean(x, axes, keepdims=True)


@operator("GlobalMaxPool")
def global_max_pool(n: Node) -> Value:
    x, axes = _spatial(n)
    return n.b.max(x, axes, keepdims=True)
