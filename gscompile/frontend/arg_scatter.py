"""``reduction="argmax"`` and ``"argmin"``: what a scatter leaves in a cell, and where that came from."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from gscompile.errors import DTypeError
from gscompile.frontend import core
from gscompile.frontend.arguments import Operand, flag
from gscompile.frontend.core import Lane, ScatterOptions
from gscompile.frontend.draft import Draft
from gscompile.ir.dims import Dim
from gscompile.ir.graph import Value
from gscompile.ir.index_map import IndexMap
from gscompile.ir.ops.arg_scatter import NOWHERE, BestAt
from gscompile.ir.ops.movement import Full, Iota, SizeOf
from gscompile.ir.types import DTYPES, TensorType

ARGS = ("argmax", "argmin")
INT64 = DTYPES["int64"]


def scatter(
    draft: Draft,
    op: str,
    data: Value,
    index: Value,
    src: Operand,
    through: IndexMap,
    options: ScatterOptions,
    name: str | None = None,
) -> Value:
    """As :func:`gscompile.frontend.core.scatter`, for ``argmax`` and ``argmin`` too, which give a pair of values."""
    if options.reduction not in ARGS:
        return core.scatter(draft, op, data, index, src, through, options, name)
    if data.dtype.kind not in "fiub":
        raise DTypeError(f"{op}: reduction {options.reduction!r} is not defined for {data.dtype}")
    draft.require(through.check(op, data.shape, index.shape))
    points = through.points_shape(data.shape, index.shape)
    source = core.source(draft, op, data, src, points)
    number = _numbers(draft, through, points, index)
    nowhere = draft.add(Full(NOWHERE), [], TensorType(data.shape, INT64))
    reduce = BestAt.of(str(options.reduction), flag(op, "include_self", options.include_self))
    options = replace(options, reduction=reduce, include_self=True)
    operands = [data, nowhere, source, number]
    best = core.scatter(draft, op, data, index, source, through, options, name, Lane(0, operands))
    at = core.scatter(draft, op, nowhere, index, number, through, options, None, Lane(1, operands))
    count: Value = draft.scalar(1, INT64)
    for j in through.own_axes:
        count = draft.pointwise("mul", count, _size(draft, index.shape[j]))
    pair = best, draft.pointwise("where", draft.pointwise("lt", at, 0), count, at)
    return cast(Value, pair)


def _numbers(draft: Draft, through: IndexMap, points: tuple[Dim, ...], index: Value) -> Value:
    """Every point's row-major number on the axes of the index that data does not share."""
    type = TensorType(points, INT64)
    number = draft.add(Full(0), [], type)
    for k, j in enumerate(through.own_axes):
        along = draft.add(Iota(through.layout.index(("index", j))), [], type)
        if k:
            number = draft.pointwise("mul", number, _size(draft, index.shape[j]))
        number = draft.pointwise("add", number, along) if k else along
    return number


def _size(draft: Draft, d: Dim) -> Value:
    return draft.add(SizeOf(d), [], TensorType((), INT64))
