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
    "ReduceMean": lambda x, axes, keep: builder_of(x).mean(x, axes, keep),
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
    f = n.b.argmax if largest else n.b.argmin
    return f(n[0], n.axis(n[0].rank), bool(n.attr("keepdims")), bool(n.attr("select_last_index")))


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
