"""Folds: of axes, of runs of rows, and the positions of extremes.

A fold takes elements in row-major order.  Of no elements it is its identity; min, max, argmin and argmax have none there and
are refused when the size is known, and give the dtype's extreme, or index 0, otherwise.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords, Element, Sizes, nested
from gscompile.ir.dims import Shape, product
from gscompile.ir.nests import Partial, ReduceNest
from gscompile.ir.ops.base import Applied, Stored
from gscompile.ir.ops.elementwise import POINTWISE, Scalar, cast, constant, filler
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES, DType, TensorType


@dataclass(frozen=True, slots=True)
class Steps:
    """How one cell is folded; see :class:`gscompile.ir.nests.ReduceNest`.

    Attributes:
        ranges: cell -> begin and end of each axis of its box.
        initial: dtype and first value of each accumulator.
        step: (accumulators, element, position in the box) -> accumulators.
        finish: (accumulators, cell) -> the cell's value.
        source: (cell, position in the box) -> where the element is in the argument.
        inner: a run of memory is folded.
        initial_part, step_part, merge, box, rounds: of folds of parts; see :class:`gscompile.ir.nests.Partial`.
    """

    ranges: Callable[[Coords], list[tuple[Expr, Expr]]]
    initial: tuple[tuple[DType, Expr], ...]
    step: Callable[[Sequence[Expr], Any, Coords], list[Expr]]
    finish: Callable[[Sequence[Expr], Coords], Expr]
    source: Callable[[Coords, Coords], list[Expr]]
    inner: bool
    initial_part: tuple[tuple[DType, Expr], ...] = ()
    step_part: Callable[[Sequence[Expr], Any, Coords], list[Expr]] | None = None
    merge: Callable[[Sequence[Expr], Sequence[Expr]], list[Expr]] | None = None
    box: Shape | None = None
    rounds: bool = False


class Folding(Stored):
    """An operator each of whose cells is a fold of elements of its first argument, in row-major order."""

    __slots__ = ()

    @abstractmethod
    def steps(self, args: Sequence[Element], sizes: Sizes) -> Steps:
        """How a cell is folded."""

    def taken(self, x: Element, at: list[Expr]) -> Any:
        """What a step takes in of the argument."""
        return x(*at)

    def nest(self, at: Applied) -> ReduceNest:
        x, s = at.args[0], self.steps(at.args, at.sizes)
        step, merge, partial = s.step_part or s.step, s.merge, None
        if merge is not None:
            partial = Partial(
                s.initial_part or s.initial,
                lambda a, c, r: step(a, self.taken(x, s.source(c, r)), r),
                merge,
                s.box,
                s.rounds,
            )
        return ReduceNest(
            name=at.name,
            shape=at.type.shape,
            dtype=at.type.dtype,
            out=at.outs[0],
            elements=product(x.type.shape),
            ranges=s.ranges,
            initial=s.initial,
            step=lambda a, c, r: s.step(a, self.taken(x, s.source(c, r)), r),
            finish=s.finish,
            cost=at.cost,
            inner=s.inner,
            check=at.check,
            grid=lambda c, r: at.grid(s.source(c, r)),
            partial=partial,
        )

    def formula(self, out: Buffer, type: TensorType, args: Sequence[Element], sizes: Sizes) -> Stmt:
        x, s, zero = args[0], self.steps(args, sizes), T.const(0)
        acc = [T.buffer(f"acc{k}", [1], d.name, align=8) for k, (d, _) in enumerate(s.initial)]

        def row(c: list[Expr], ranges: list[tuple[Expr, Expr]], r: list[Expr]) -> Stmt:
            if len(r) < len(ranges):
                return T.for_range(*ranges[len(r)], lambda i: row(c, ranges, [*r, i]), f"r{len(r)}")
            new = s.step([T.load(a, zero) for a in acc], self.taken(x, s.source(c, r)), r)
            return _stored(acc, new, [])

        def cell(c: list[Expr]) -> Stmt:
            return T.seq(
                *(T.store(a, [zero], v) for a, (_, v) in zip(acc, s.initial, strict=True)),
                row(c, s.ranges(c), []),
                T.store(out, c, s.finish([T.load(a, zero) for a in acc], c)),
            )

        return T.seq(*map(T.allocate, acc), nested("c", sizes.shape(type.shape), cell))


def _stored(acc: Sequence[Buffer], new: Sequence[Expr], names: list[Expr]) -> Stmt:
    """The accumulators' new values, all computed before any is stored."""
    k = len(names)
    if k == len(acc):
        return T.seq(*(T.store(a, [T.const(0)], v) for a, v in zip(acc, names, strict=True)))
    return T.let(f"new{k}", new[k], lambda v: _stored(acc, new, [*names, v]))


def _over_axes(axes: Sequence[int], keepdims: bool, x: TensorType, sizes: Sizes) -> tuple[Any, Any, bool]:
    """The ``ranges``, ``source`` and ``inner`` of :class:`Steps` for a fold over some axes."""
    ranges = [(T.const(0), sizes(x.shape[a])) for a in axes]
    inner = list(axes) == list(range(x.rank - len(axes), x.rank))
    return lambda c: ranges, lambda c, r: full_coords(x.rank, axes, keepdims, c, r), inner


def _merge(reduction: Reduction, acc: DType) -> Callable[[Sequence[Expr], Sequence[Expr]], list[Expr]] | None:
    """How folds of two parts are merged; None where elements have to be taken in their order."""
    if not (reduction.associative and reduction.commutative):
        return None
    return lambda a, b: [reduction.combine(acc, a[0], b[0])]


def _rounds(reduction: Reduction, acc: DType) -> bool:
    """Whether another division into parts gives another result."""
    return acc.is_float and not reduction.idempotent


def _initial(reduction: Reduction, result: DType, acc: DType) -> tuple[tuple[DType, Expr]]:
    assert reduction.identity is not None
    return ((acc, constant(reduction.identity(result), acc)),)


@dataclass(frozen=True, slots=True)
class Reduce(Folding):
    """Fold over ``axes``.  Argument: a tensor.  Result: its shape without those axes (extent 1 with ``keepdims``)."""

    reduction: Reduction
    axes: tuple[int, ...]
    keepdims: bool

    @property
    def name(self) -> str:
        return self.reduction.fold

    def attributes(self) -> str:
        return f"axis={self.axes}" + (", keepdims=True" if self.keepdims else "")

    @property
    def folds(self) -> bool:
        return True

    def steps(self, args: Sequence[Element], sizes: Sizes) -> Steps:
        x = args[0].type
        result = self.reduction.result(x.dtype)
        acc = self.reduction.accumulator(result)
        ranges, source, inner = _over_axes(self.axes, self.keepdims, x, sizes)

        def step(a: Sequence[Expr], value: Expr, r: Coords) -> list[Expr]:
            return [self.reduction.combine(acc, a[0], cast(value, x.dtype, acc))]

        def finish(a: Sequence[Expr], c: Coords) -> Expr:
            total = a[0]
            if self.reduction.averaged:
                count = product(x.shape[k] for k in self.axes)
                if count == 0:
                    return constant(float("nan"), result)  # TVM refuses to divide by a literal 0
                total = total / (constant(count, acc) if isinstance(count, int) else T.cast(acc.name, sizes(count)))
            return cast(total, acc, result)

        initial = _initial(self.reduction, result, acc)
        merge, box = _merge(self.reduction, acc), tuple(x.shape[a] for a in self.axes)
        rounds = _rounds(self.reduction, acc)
        return Steps(ranges, initial, step, finish, source, inner, merge=merge, box=box, rounds=rounds)


@dataclass(frozen=True, slots=True)
class ArgReduce(Folding):
    """Position of the smallest or largest element along ``axis``; the first of equals, and the first NaN before all (NumPy)."""

    largest: bool
    axis: int
    keepdims: bool
    select_last: bool = False

    @property
    def name(self) -> str:
        return "argmax" if self.largest else "argmin"

    def attributes(self) -> str:
        flags = [("keepdims", self.keepdims), ("select_last", self.select_last)]
        return ", ".join([f"axis={self.axis}", *(f"{k}=True" for k, v in flags if v)])

    @property
    def folds(self) -> bool:
        return True

    def steps(self, args: Sequence[Element], sizes: Sizes) -> Steps:
        x = args[0].type
        wide = x.dtype.compute
        ranges, source, inner = _over_axes([self.axis], self.keepdims, x, sizes)

        def step(a: Sequence[Expr], value: Expr, r: Coords) -> list[Expr]:
            value = cast(value, x.dtype, wide)
            wins = T.any_of([r[0] == 0, self.better(x.dtype, value, a[0])])
            return [T.select(wins, value, a[0]), T.select(wins, r[0], a[1])]

        initial = ((wide, constant(0, wide)), (DTYPES["int64"], T.const(0)))

        def step_part(a: Sequence[Expr], value: Expr, r: Coords) -> list[Expr]:
            return self.first_of(x.dtype, a, [cast(value, x.dtype, wide), r[0]])

        def merge(a: Sequence[Expr], b: Sequence[Expr]) -> list[Expr]:
            order = T.any_of([b[1] < 0, T.all_of([T.const(0) <= a[1], a[1] < b[1]])])
            ab, ba = self.first_of(x.dtype, a, b), self.first_of(x.dtype, b, a)
            return [T.select(order, p, q) for p, q in zip(ab, ba, strict=True)]

        nothing = ((wide, constant(0, wide)), (DTYPES["int64"], T.const(-1)))
        return Steps(ranges, initial, step, lambda a, c: a[1], source, inner, nothing, step_part, merge)

    def first_of(self, dtype: DType, a: Sequence[Expr], b: Sequence[Expr]) -> list[Expr]:
        """The better of two elements and where they stand, of which the latter comes later; -1: there is none."""
        wins = T.any_of([a[1] < 0, T.all_of([T.const(0) <= b[1], self.better(dtype, b[0], a[0])])])
        return [T.select(wins, b[0], a[0]), T.select(wins, b[1], a[1])]

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
class SegmentReduce(Folding):
    """Folds of runs of rows: ``out[s, ...] = fold of x[begin[s]:end[s], ...]``.

    Arguments: x, and the runs' begins and ends, int64 in [0, rows of x].  Result: x's shape with the number of runs as its
    first extent.  A run that ends before it begins is empty; the fold of an empty run is ``empty``, or its identity for None.
    """

    reduction: Reduction
    empty: Scalar | None = None

    @property
    def name(self) -> str:
        return f"segment_{self.reduction.fold}"

    def steps(self, args: Sequence[Element], sizes: Sizes) -> Steps:
        x, (begin, end) = args[0].type, args[1:]
        result = self.reduction.result(x.dtype)
        acc = self.reduction.accumulator(result)

        def step(a: Sequence[Expr], value: Expr, r: Coords) -> list[Expr]:
            return [self.reduction.combine(acc, a[0], cast(value, x.dtype, acc))]

        return Steps(
            ranges=lambda c: [(begin(c[0]), end(c[0]))],
            initial=_initial(self.reduction, result, acc),
            step=step,
            finish=lambda a, c: self.finish(x.dtype, a[0], end(c[0]) - begin(c[0]), c),
            source=lambda c, r: [r[0], *c[1:]],
            inner=x.rank == 1,
            merge=_merge(self.reduction, acc),
            rounds=_rounds(self.reduction, acc),
        )

    def finish(self, source: DType, total: Expr, count: Expr, coords: Coords) -> Expr:
        """The value at ``coords``, of a run of ``count`` rows."""
        result = self.reduction.result(source)
        acc = self.reduction.accumulator(result)
        if self.reduction.averaged:
            total = total / T.cast(acc.name, T.maximum(count, T.const(1)))
        value = cast(total, acc, result)
        return value if self.empty is None else T.select(count > 0, value, filler(self.empty, result, coords))


@dataclass(frozen=True, slots=True)
class SegmentArg(Folding):
    """The row of the smallest or largest element of each run of rows, as :class:`ArgReduce` finds it.

    Arguments: as :class:`SegmentReduce`.  Result: int64; for an empty run the number of rows of x.
    """

    best: ArgReduce

    @property
    def name(self) -> str:
        return f"segment_{self.best.name}"

    def steps(self, args: Sequence[Element], sizes: Sizes) -> Steps:
        x, (begin, end) = args[0].type, args[1:]
        wide = x.dtype.compute

        def step(a: Sequence[Expr], value: Expr, r: Coords) -> list[Expr]:
            value = cast(value, x.dtype, wide)
            wins = T.any_of([a[1] < 0, self.best.better(x.dtype, value, a[0])])
            return [T.select(wins, value, a[0]), T.select(wins, r[0], a[1])]

        return Steps(
            ranges=lambda c: [(begin(c[0]), end(c[0]))],
            initial=((wide, constant(0, wide)), (DTYPES["int64"], T.const(-1))),
            step=step,
            finish=lambda a, c: T.select(a[1] < 0, sizes(x.shape[0]), a[1]),
            source=lambda c, r: [r[0], *c[1:]],
            inner=x.rank == 1,
        )


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
