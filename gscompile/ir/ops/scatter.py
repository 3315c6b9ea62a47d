"""Scatter: ``out = data; for p in row-major order: out[map(p)] = reduce(out[map(p)], src[p])``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gscompile.ir import tir as T
from gscompile.ir.addressing import Addressing
from gscompile.ir.bounds import Bounds, When
from gscompile.ir.coords import Coords, Element, Sizes, nested
from gscompile.ir.dims import Shape
from gscompile.ir.index_map import Place
from gscompile.ir.ops.base import Applied, Stored, Tree
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.scattering import Lane, Scattering, ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import OpaqueDType, TensorType

Argument = TypeVar("Argument")


@dataclass(frozen=True, slots=True)
class Scatter(Scattering, Stored):
    """Arguments: data, index, src.  Result: data's type.

    A reduction of n tensors at once makes n values, one for each ``lane``, that are computed together: the data of all lanes
    and the src of all lanes are arguments of each, after its own three.

    Attributes:
        lane: which of the reduction's tensors this is.
    """

    lane: int = 0

    @property
    def name(self) -> str:
        return self.spelled

    def attributes(self) -> str:
        a = self.addressing
        parts = [f"reduction={self.reduction.name}", f"bounds={a.bounds.value}"]
        parts += [f"{k}={v}" for k, v in [("negative", a.negative), ("include_self", self.include_self)] if not v]
        parts += [
            f"{k}={v}"
            for k, v in [("unique", self.unique), ("sorted", self.sorted), ("deterministic", self.deterministic)]
            if v
        ]
        parts += [f"lane={self.lane}"] if self.reduction.arity > 1 else []
        return ", ".join(parts)

    @property
    def indexing(self) -> Addressing:
        return self.addressing

    @property
    def lanes(self) -> int:
        return self.reduction.arity

    @property
    def in_place_argument(self) -> int:
        return 0

    def with_lane(self) -> Scatter:
        return replace(self, addressing=self.addressing.with_lane())

    def moves(self, position: int) -> bool:
        return self.reduction.replaces and position != 1

    def in_words(self, dtype: OpaqueDType, rank: int) -> Scatter:
        return replace(self, addressing=self.addressing.in_words(dtype.words))

    def repeats(self, position: int, out: Shape, arg: Shape) -> bool:
        return position == 1

    def tree(self, out: TensorType, args: Sequence[Tree], types: Sequence[TensorType]) -> Tree:
        return Tree.over(args, [self.addressing.uses(a.given) if k == 1 else 1 for k, a in enumerate(args)])

    def joint(self, args: Sequence[int]) -> Hashable:
        return (replace(self, lane=0), args[1], *args[3:])

    def lane_type(self, lane: int, out: TensorType, args: Sequence[TensorType]) -> TensorType:
        return self.operands(args)[lane][0]

    def operands(self, args: Sequence[Argument]) -> list[tuple[Argument, Argument]]:
        """The data and src of every lane, from a value's arguments."""
        n = self.reduction.arity
        return list(zip(args[3 : 3 + n], args[3 + n :], strict=True)) if n > 1 else [(args[0], args[2])]

    def nest(self, at: Applied) -> ScatterNest:
        a, shape, index = self.addressing, at.type.shape, at.args[1]
        lanes = tuple(
            _lane(a, data, src, out) for (data, src), out in zip(self.operands(at.args), at.outs, strict=True)
        )
        own = lanes[self.lane]
        return ScatterNest(
            name=at.name,
            op=self,
            shape=shape,
            dtype=at.type.dtype,
            out=own.out,
            grid=a.map.grid_shape(index.type.shape),
            window=a.map.window_shape(shape),
            base=own.base,
            starts=lambda g: a.starts(index, g, shape, at.sizes, When.BEFORE),
            src=own.src,
            cost=at.cost,
            in_place=at.in_place,
            check=at.check,
            lanes=lanes if self.reduction.ordered else (),
        )

    def formula(self, out: Buffer, type: TensorType, args: Sequence[Element], sizes: Sizes) -> Stmt:
        """Exactly as written above.

        A tensor expression cannot raise: under ``bounds="raise"`` a point that is out of range is dropped.
        """
        data, index, src = args
        a, dtype = self.addressing, type.dtype
        if a.bounds is Bounds.RAISE:
            a = replace(a, bounds=Bounds.FILL)
        shape, points = data.type.shape, src.type.shape
        acc_type = self.accumulator(dtype)
        extents = sizes.shape(shape)
        count = T.buffer("count", extents if extents else [1], "int64", align=8)
        total = T.buffer("total", extents if extents else [1], acc_type.tir, align=acc_type.itemsize)
        at: Callable[[Coords], Coords] = lambda c: c if len(c) else [T.const(0)]  # noqa: E731

        def begin(c: Coords) -> Stmt:
            clear = T.store(count, at(c), T.const(0)) if self.counts else None
            return T.seq(T.store(total, at(c), cast(data(*c), dtype, acc_type)), clear)

        def point(p: Coords) -> Stmt:
            grid, window = a.split(p)
            starts, ok = a.starts(index, grid, shape, sizes, When.NEVER)
            cell = at(a.data_coords(starts, grid, window))
            value = cast(src(*p), dtype, acc_type)
            new = self.reduction.combine(acc_type, T.load(total, *cell), value)
            if self.counts and not self.include_self:
                new = T.if_then_else(T.load(count, *cell) == 0, value, new)
            hit = T.store(count, cell, T.load(count, *cell) + 1) if self.counts else None
            return T.if_(ok, T.seq(T.store(total, cell, new), hit))

        def end(c: Coords) -> Stmt:
            hits = T.load(count, *at(c)) if self.counts else None
            return T.store(out, c, self.finish(dtype, T.load(total, *at(c)), hits))

        return T.seq(
            T.allocate(total),
            T.allocate(count) if self.counts else None,
            nested("c", extents, begin),
            nested("p", sizes.shape(points), point),
            nested("c", extents, end),
        )


def _lane(a: Addressing, data: Element, src: Element, out: Buffer) -> Lane:
    return Lane(data.type.dtype, out, lambda c: data(*c), _points(a, src))


def _points(a: Addressing, src: Element) -> Callable[[Coords, Coords], Expr]:
    """(grid, window) -> the value that arrives."""

    def at(grid: Coords, window: Coords) -> Expr:
        known: dict[Place, Expr] = {("index", j): g for j, g in zip(a.map.grid_axes, grid, strict=True)}
        known |= {("window", w): x for w, x in enumerate(window)}
        return src(*(known[p] for p in a.map.layout))

    return at
