"""Reductions over axes: a table of folds.

A fold starts at ``identity``, takes elements in row-major order of the reduced axes, and ends with ``finish``.  The fold of
an empty axis is its identity; min, max, argmin and argmax have none there and are refused when the size is known, and give
their identity (the dtype's extreme, index 0) otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gscompile.errors import DTypeError
from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.ops.base import Coords, Element, Sizes, Stored, nested
from gscompile.ir.ops.elementwise import POINTWISE, cast, constant
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES, DType


@dataclass(frozen=True, slots=True)
class Fold:
    """One row: which pointwise function folds, from which identity, over which dtypes.

    Attributes:
        result: dtype of the result, by dtype of the argument (NumPy's rules).
        accumulate: dtype the partial results have.
    """

    name: str
    function: str
    identity: Callable[[DType], float | int | bool]
    result: Callable[[DType], DType]
    accumulate: Callable[[DType], DType]
    needs_element: bool = False
    kinds: str = "fiub"


def _sum_type(d: DType) -> DType:
    """NumPy's: small integers and bool sum in int64, small unsigned in uint64, floats in their own type."""
    if d.is_float:
        return d
    return DTYPES["uint64"] if d.kind == "u" else DTYPES["int64"]


def _wide(d: DType) -> DType:
    return DTYPES["float32"] if d.is_float and d.bits == 16 else d


def _mean_type(d: DType) -> DType:
    return d if d.is_float else DTYPES["float64"]


def _bool(d: DType) -> DType:
    return DTYPES["bool"]


FOLDS: dict[str, Fold] = {
    f.name: f
    for f in [
        Fold("sum", "add", lambda d: 0, _sum_type, lambda d: _wide(_sum_type(d))),
        Fold("prod", "mul", lambda d: 1, _sum_type, lambda d: _wide(_sum_type(d))),
        Fold("mean", "add", lambda d: 0, _mean_type, lambda d: _wide(_mean_type(d))),
        Fold(
            "max", "maximum", lambda d: float("-inf") if d.is_float else d.min, lambda d: d, lambda d: d.compute, True
        ),
        Fold("min", "minimum", lambda d: float("inf") if d.is_float else d.max, lambda d: d, lambda d: d.compute, True),
        Fold("any", "logical_or", lambda d: False, _bool, _bool),
        Fold("all", "logical_and", lambda d: True, _bool, _bool),
    ]
}


@dataclass(frozen=True, slots=True)
class Reduce(Stored):
    """Fold over ``axes``.  Argument: a tensor.  Result: its shape without those axes (extent 1 with ``keepdims``)."""

    fold: Fold
    axes: tuple[int, ...]
    keepdims: bool

    @property
    def name(self) -> str:
        return self.fold.name

    def attributes(self) -> str:
        return f"axes={self.axes}" + (", keepdims=True" if self.keepdims else "")

    def lift(self, source: DType, value: Expr) -> Expr:
        """An element in the accumulator's dtype."""
        return cast(value, source, self.fold.accumulate(source))

    def combine(self, acc: DType, total: Expr, value: Expr) -> Expr:
        """Two partial results, both in the accumulator's dtype."""
        return POINTWISE[self.fold.function].expr(acc, [total, value])

    def finish(self, source: DType, total: Expr, shape: Shape, sizes: Sizes) -> Expr:
        acc = self.fold.accumulate(source)
        if self.fold.name == "mean":
            count = product(shape[a] for a in self.axes)
            if count == 0:
                return constant(float("nan"), self.fold.result(source))  # TVM refuses to divide by a literal 0
            total = total / (constant(count, acc) if isinstance(count, int) else T.cast(acc.name, sizes(count)))
        return cast(total, acc, self.fold.result(source))


@dataclass(frozen=True, slots=True)
class ArgReduce(Stored):
    """Position of the smallest or largest element along ``axis``; the first of equals, and the first NaN before all (NumPy)."""

    largest: bool
    axis: int
    keepdims: bool
    select_last: bool = False

    @property
    def name(self) -> str:
        return "argmax" if self.largest else "argmin"

    @property
    def axes(self) -> tuple[int, ...]:
        return (self.axis,)

    def attributes(self) -> str:
        flags = [("keepdims", self.keepdims), ("select_last", self.select_last)]
        return ", ".join([f"axis={self.axis}", *(f"{k}=True" for k, v in flags if v)])

    def better(self, dtype: DType, value: Expr, best: Expr) -> Expr:
        """Whether ``value``, which comes later, replaces ``best``."""
        beats = POINTWISE[
            ("ge" if self.select_last else "gt") if self.largest else ("le" if self.select_last else "lt")
        ]
        wins = beats.expr(DTYPES["bool"], [value, best])
        if not dtype.is_float:
            return wins
        # Neither compares with a NaN as true.  No select: one whose arms load becomes a branch, which LLVM does not vectorise.
        nan = POINTWISE["isnan"]
        value_nan, best_nan = nan.expr(DTYPES["bool"], [value]), nan.expr(DTYPES["bool"], [best])
        return T.any_of([wins, value_nan if self.select_last else T.all_of([value_nan, T.not_(best_nan)])])


@dataclass(frozen=True, slots=True)
class SegmentReduce(Stored):
    """Folds of runs of rows: ``out[s, ...] = fold of x[begin[s]:end[s], ...]``.

    Arguments: x, and the runs' begins and ends, int64 in [0, rows of x].  Result: x's shape with the number of runs as its
    first extent.  A run that ends before it begins is empty; the fold of an empty run is ``empty``, or its identity for None.
    """

    fold: Fold
    empty: float | int | bool | None = None

    @property
    def name(self) -> str:
        return f"segment_{self.fold.name}"

    def finish(self, source: DType, total: Expr, count: Expr) -> Expr:
        """The value of a run of ``count`` rows."""
        acc, result = self.fold.accumulate(source), self.fold.result(source)
        if self.fold.name == "mean":
            total = total / T.cast(acc.name, T.maximum(count, T.const(1)))
        value = cast(total, acc, result)
        return value if self.empty is None else T.select(count > 0, value, constant(self.empty, result))


def segments(op: SegmentReduce, out: Buffer, x: Element, begin: Element, end: Element, sizes: Sizes) -> Stmt:
    """The TIR of the formula, serial: what every schedule is compared with."""
    source = x.type.dtype
    acc = op.fold.accumulate(source)
    total = T.buffer("total", [1], acc.name, align=8)
    zero = T.const(0)

    def cell(c: list[Expr]) -> Stmt:
        lo, hi = begin(c[0]), end(c[0])

        def row(r: Expr) -> Stmt:
            new = POINTWISE[op.fold.function].expr(acc, [T.load(total, zero), cast(x(r, *c[1:]), source, acc)])
            return T.store(total, [zero], new)

        return T.seq(
            T.store(total, [zero], constant(op.fold.identity(acc), acc)),
            T.for_range(lo, hi, row, "r"),
            T.store(out, c, op.finish(source, T.load(total, zero), hi - lo)),
        )

    extents = [sizes(d) for d in (begin.type.shape[0], *x.type.shape[1:])]
    return T.seq(T.allocate(total), nested("c", extents, cell))


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """The shape that is left."""
    if keepdims:
        return tuple(1 if a in axes else d for a, d in enumerate(shape))
    return tuple(d for a, d in enumerate(shape) if a not in axes)


def full_coords(rank: int, axes: Sequence[int], keepdims: bool, kept: Coords, reduced: Coords) -> list[Expr]:
    """Coordinates in the argument, of a position in the result and one in the reduced axes."""
    left = iter([c for a, c in enumerate(kept) if a not in axes] if keepdims else kept)
    inner = dict(zip(axes, reduced, strict=True))
    return [inner[a] if a in inner else next(left) for a in range(rank)]


def fold(name: str, dtype: DType) -> Fold:
    """The row, if it is defined for the dtype."""
    row = FOLDS[name]
    if dtype.kind not in row.kinds:
        raise DTypeError(f"{name}: not defined for {dtype}")
    return row
