"""TensorFlow's sorted segments, which its CPU reduces in packets; see :mod:`gscompile.dialects.tensorflow`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gscompile.dialects._rules import beaten, compared, need_dtype, need_rank, rounding, truncated_quotient, without_nan
from gscompile.errors import ArgumentError, DTypeError
from gscompile.frontend.arguments import named
from gscompile.frontend.builder import builder_of
from gscompile.frontend.eager import Size, Tensor, eager
from gscompile.ir.dims import as_shape, product
from gscompile.ir.graph import Value
from gscompile.ir.ops.reductions import Reduction

INDEX = ("int32", "int64")
# how many elements Eigen takes at a time, in the wheel for x86-64
PACKET = {"float16": 8, "bfloat16": 8, "float32": 8, "float64": 4}


def no_bool(op: str, x: Value) -> None:
    if x.dtype.kind == "b":
        raise DTypeError(f"{op}: bool is not supported")


def rows_of(op: str, ids: Any, num_segments: Any) -> Any:
    """The number of segments: as given, or the last id of an array plus 1."""
    if num_segments is not None:
        return num_segments
    if isinstance(ids, Value):
        raise ArgumentError(f"{op}: num_segments must be given where segment_ids is a value of a builder")
    try:
        known = np.asarray(ids)
    except (TypeError, ValueError):
        known = np.empty(0, object)
    if known.dtype.kind not in "iu" and known.size:
        raise DTypeError(f"{op}: segment_ids must be integers; got {ids!r:.100}")
    return max(int(known[-1]) + 1, 0) if known.ndim == 1 and known.size else 0


@eager
def segment_sum(data: Tensor, segment_ids: Tensor, num_segments: Size) -> Value:
    return _sorted("segment_sum", data, segment_ids, num_segments, "add", 0)


@eager
def segment_prod(data: Tensor, segment_ids: Tensor, num_segments: Size) -> Value:
    return _sorted("segment_prod", data, segment_ids, num_segments, "mul", 1)


@eager
def segment_max(data: Tensor, segment_ids: Tensor, num_segments: Size) -> Value:
    return _sorted("segment_max", data, segment_ids, num_segments, "max", 0)


@eager
def segment_min(data: Tensor, segment_ids: Tensor, num_segments: Size) -> Value:
    return _sorted("segment_min", data, segment_ids, num_segments, "min", 0)


@eager
def segment_mean(data: Tensor, segment_ids: Tensor, num_segments: Size) -> Value:
    b = builder_of(data)
    total = _sorted("segment_mean", data, segment_ids, num_segments, "add", 0)
    ones = b.full(segment_ids.shape, 1, "int64" if data.dtype.is_float else data.dtype)
    count = b.cast(b.maximum(_sorted("segment_mean", ones, segment_ids, num_segments, "add", 0), 1), data.dtype)
    count = b.reshape(count, (count.shape[0], *(1 for _ in total.shape[1:])))
    return truncated_quotient(total, count) if data.dtype.is_integer else total / count


def _sorted(op: str, data: Value, ids: Value, num_segments: int, reduction: str, gap: float) -> Value:
    """Reductions of the slices of each id, and ``gap`` for an id without any."""
    b = builder_of(data)
    need_dtype(op, "segment_ids", ids, INDEX)
    need_rank(op, "segment_ids", ids, 1)
    need_rank(op, "data", data, 1, 8)
    no_bool(op, data)
    (rows,) = named(op, "num_segments", as_shape, [num_segments])
    (points,) = ids.shape
    before = b.slice(b.pad(ids, [1], [0]), [0], [points])
    checked = b.where(ids < before, -1, ids)  # an id that falls counts as none

    def folded(x: Value, how: str | Reduction) -> Value:
        base = b.full((rows, *x.shape[1:]), gap, x.dtype)
        return b.put(base, checked, x, reduction=how, include_self=False, negative=False, sorted=True)

    if reduction not in ("min", "max") or not data.dtype.is_float:
        return folded(data, rounding(reduction))
    width = product(data.shape[1:])
    packed = width // PACKET[data.dtype.name] * PACKET[data.dtype.name]

    def one_by_one(x: Value) -> Value:
        base = b.full((rows, *x.shape[1:]), float("inf") if reduction == "min" else float("-inf"), x.dtype)
        return b.put(base, checked, x, reduction=compared(op, reduction, x.dtype), negative=False, sorted=True)

    hit = b.put(b.full((rows,), False, "bool"), checked, True, negative=False)
    hit = b.reshape(hit, (rows, *(1 for _ in data.shape[1:])))
    if packed == 0:
        return b.where(hit, one_by_one(data), gap)
    after = b.slice(b.pad(ids, [0], [1], -1), [1], [points + 1])
    alone = b.unsqueeze(b.logical_and(b.logical_or(ids != before, b.iota(ids.shape) == 0), ids != after), 1)
    flat = b.reshape(data, (data.shape[0], width))
    packets = flat[:, :packed]
    parts = [folded(b.where(alone, packets, without_nan(packets, reduction)), beaten(reduction))]
    if packed != width:
        parts.append(one_by_one(flat[:, packed:]))
    return b.where(hit, b.reshape(b.concat(parts, 1), (rows, *data.shape[1:])), gap)
