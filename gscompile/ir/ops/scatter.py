"""Scatter: ``out = data; for p in row-major order: out[map(p)] = reduce(out[map(p)], src[p])``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gscompile.ir import tir as T
from gscompile.ir.bounds import Bounds, When
from gscompile.ir.index_map import Indexed
from gscompile.ir.ops.base import Coords, Element, Sizes, Stored, nested
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.gather import Addressing
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES, DType

if TYPE_CHECKING:
    from gscompile.ir.graph import Value


@dataclass(frozen=True, slots=True)
class Scatter(Stored):
    """Arguments: data, index, src.  Result: data's type.

    A reduction of n tensors at once makes n values, one for each ``lane``, that are computed together: the data of all lanes
    and the src of all lanes are arguments of each, after its own three.

    Attributes:
        addressing: the map and the index rules.
        reduction: how values meet in a cell.
        include_self: whether data's own value takes part in a cell that some point hits.
        unique: a promise that no two points hit the same cell.
        deterministic: the result must be that of the row-major order, bit for bit, on every target.
        lane: which of the reduction's tensors this is.
    """

    spelled: str
    addressing: Addressing
    reduction: Reduction
    include_self: bool = True
    unique: bool = False
    deterministic: bool = False
    lane: int = 0

    @property
    def name(self) -> str:
        return self.spelled

    def attributes(self) -> str:
        a = self.addressing
        parts = [f"reduction={self.reduction.name}", f"bounds={a.bounds.value}"]
        parts += [f"{k}={v}" for k, v in [("negative", a.negative), ("include_self", self.include_self)] if not v]
        parts += [f"{k}={v}" for k, v in [("unique", self.unique), ("deterministic", self.deterministic)] if v]
        parts += [f"lane={self.lane}"] if self.reduction.arity > 1 else []
        return ", ".join(parts)

    @property
    def counts(self) -> bool:
        """Whether the number of points in each cell matters."""
        return self.reduction.name == "mean" or (not self.include_self and self.reduction.name != "update")

    def operands(self, args: Sequence[Value]) -> list[tuple[Value, Value]]:
        """The data and src of every lane, from a value's arguments."""
        n = self.reduction.arity
        return list(zip(args[3 : 3 + n], args[3 + n :], strict=True)) if n > 1 else [(args[0], args[2])]

    @property
    def overlapping(self) -> bool:
        """Whether slices of different grid points can overlap partly, so that counts differ within a slice."""
        return any(isinstance(s, Indexed) and s.window is not None for s in self.addressing.map.sources)

    def finish(self, dtype: DType, total: Expr, count: Expr | None) -> Expr:
        """The value of a cell: ``total`` in the accumulator's dtype, and how many points hit it."""
        acc = self.reduction.accumulator(dtype)
        if self.reduction.name != "mean":
            return cast(total, acc, dtype)
        assert count is not None
        count = T.int64(count)
        n = count + (1 if self.include_self else 0)
        if acc.is_float:
            wide = acc.compute
            quotient = cast(total, acc, wide) / T.cast(wide.name, T.maximum(n, T.const(1)))
            mean = cast(quotient, wide, acc)
        else:
            wide = DTYPES["uint64"] if acc.kind == "u" else DTYPES["int64"]
            quotient = T.floordiv(T.cast(wide.name, total), T.cast(wide.name, T.maximum(n, T.const(1))))
            mean = T.cast(acc.name, quotient)
        return cast(T.select(count > 0, mean, total), acc, dtype)


def formula(op: Scatter, out: Buffer, dtype: DType, data: Element, index: Element, src: Element, sizes: Sizes) -> Stmt:
    """The TIR of the formula, serial, exactly as written above: what every schedule is compared with.

    A tensor expression cannot raise: under ``bounds="raise"`` a point that is out of range is dropped.
    """
    a = op.addressing
    if a.bounds is Bounds.RAISE:
        a = replace(a, bounds=Bounds.FILL)
    shape, points = data.type.shape, src.type.shape
    acc_type = op.reduction.accumulator(dtype)
    extents = sizes.shape(shape)
    count = T.buffer("count", extents if extents else [1], "int64", align=8)
    total = T.buffer("total", extents if extents else [1], acc_type.tir, align=acc_type.itemsize)
    at: Callable[[Coords], Coords] = lambda c: c if len(c) else [T.const(0)]  # noqa: E731

    def begin(c: Coords) -> Stmt:
        clear = T.store(count, at(c), T.const(0)) if op.counts else None
        return T.seq(T.store(total, at(c), cast(data(*c), dtype, acc_type)), clear)

    def point(p: Coords) -> Stmt:
        grid, window = a.split(p)
        starts, ok = a.starts(index, grid, shape, sizes, When.NEVER)
        cell = at(a.data_coords(starts, grid, window))
        value = cast(src(*p), dtype, acc_type)
        new = op.reduction.combine(acc_type, T.load(total, *cell), value)
        if op.counts and not op.include_self:
            new = T.if_then_else(T.load(count, *cell) == 0, value, new)
        hit = T.store(count, cell, T.load(count, *cell) + 1) if op.counts else None
        return T.if_(ok, T.seq(T.store(total, cell, new), hit))

    def end(c: Coords) -> Stmt:
        hits = T.load(count, *at(c)) if op.counts else None
        return T.store(out, c, op.finish(dtype, T.load(total, *at(c)), hits))

    return T.seq(
        T.allocate(total),
        T.allocate(count) if op.counts else None,
        nested("c", extents, begin),
        nested("p", sizes.shape(points), point),
        nested("c", extents, end),
    )
