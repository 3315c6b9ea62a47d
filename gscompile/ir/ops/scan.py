"""Cumulative sums and products: ``out[.., k, ..] = fold of x[.., 0..k, ..]`` along one axis.

``exclusive`` leaves an element's own value out, ``reverse`` begins at the axis's end.  The nest says what a step does; how the
steps are shared out is a rule's to decide, which may cut the axis into blocks and fold those first: of integers that changes
nothing, floats round otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords, Element, Sizes, nested
from gscompile.ir.dims import Dim, Shape
from gscompile.ir.nests import CellsNest
from gscompile.ir.ops.base import Applied, Stored
from gscompile.ir.ops.elementwise import cast, constant
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DType, TensorType


@dataclass(frozen=True, slots=True)
class ScanNest(CellsNest):
    """A total goes along an axis, takes in each element, and is stored after that, or before if ``exclusive``.

    A *row* is a position on the other axes; *steps* count from where the total begins, the axis's end if ``reverse``.

    Attributes:
        axis: the axis along which it goes.
        acc: the total's dtype.
        initial: what it begins with.
        element: a cell's element in that dtype.
        combine: the total of two parts, the earlier one first.
        finish: (total, step) -> the cell.
    """

    name: str
    shape: Shape
    dtype: DType
    out: Buffer
    axis: int
    extent: Expr
    exclusive: bool
    reverse: bool
    acc: DType
    initial: Expr
    element: Callable[[Coords], Expr]
    combine: Callable[[Expr, Expr], Expr]
    finish: Callable[[Expr, Expr], Expr]
    cost: int

    @property
    def rest(self) -> Shape:
        """Extents of the other axes: the box of rows."""
        return self.with_axis()

    def with_axis(self, *extent: Dim) -> Shape:
        """The shape with another extent on the axis, or without it."""
        return (*self.shape[: self.axis], *extent, *self.shape[self.axis + 1 :])

    def cell(self, row: Coords, step: Expr) -> list[Expr]:
        """The coordinates of a step's cell."""
        return self.on_axis(row, self.extent - 1 - step if self.reverse else step)

    def on_axis(self, row: Coords, c: Expr) -> list[Expr]:
        """The coordinates of a row's cell at ``c``."""
        return [*row[: self.axis], c, *row[self.axis :]]

    def take_in(self, total: Buffer, slot: Expr, row: Coords, step: Expr) -> Stmt:
        """The total takes in a step's element."""
        value = self.element(self.cell(row, step))
        return T.store(total, [slot], self.combine(T.load(total, slot), value))

    def advance(self, total: Buffer, slot: Expr, row: Coords, step: Expr) -> Stmt:
        """A step: the total takes in its element, and its cell is stored."""
        store = T.store(self.out, self.cell(row, step), self.finish(T.load(total, slot), step))
        both = [self.take_in(total, slot, row, step), store]
        return T.seq(*(reversed(both) if self.exclusive else both))


@dataclass(frozen=True, slots=True)
class Scan(Stored):
    """Argument: a tensor of at least one axis.  Result: its shape.

    Elements are cast to the result's dtype first; 16-bit floats accumulate in float32, and each result is rounded.
    """

    spelled: str
    reduction: Reduction
    axis: int
    exclusive: bool
    reverse: bool

    @property
    def name(self) -> str:
        return self.spelled

    def attributes(self) -> str:
        flags = [("exclusive", self.exclusive), ("reverse", self.reverse)]
        return ", ".join([f"axis={self.axis}", *(f"{k}=True" for k, v in flags if v)])

    def repeats(self, position: int, out: Shape, arg: Shape) -> bool:
        return True  # to fold a block first, it is read twice

    def scan(self, name: str, type: TensorType, out: Buffer, x: Element, sizes: Sizes, cost: int = 1) -> ScanNest:
        """The nest over an element."""
        result, reduction = type.dtype, self.reduction
        acc = reduction.accumulator(result)
        assert reduction.identity is not None
        first = constant(reduction.identity(acc), acc)

        def finish(total: Expr, step: Expr) -> Expr:
            # of nothing, a sum is 0.0, though it begins with -0.0 so that it may be -0.0
            return cast(T.select(step == 0, first, total) if self.exclusive and acc.is_float else total, acc, result)

        return ScanNest(
            name=name,
            shape=type.shape,
            dtype=result,
            out=out,
            axis=self.axis,
            extent=sizes(type.shape[self.axis]),
            exclusive=self.exclusive,
            reverse=self.reverse,
            acc=acc,
            initial=reduction.neutral(acc),
            element=lambda c: cast(cast(x(*c), x.type.dtype, result), result, acc),
            combine=lambda a, b: reduction.combine(acc, a, b),
            finish=finish,
            cost=cost,
        )

    def nest(self, at: Applied) -> ScanNest:
        return self.scan(at.name, at.type, at.outs[0], at.args[0], at.sizes, at.cost)

    def formula(self, out: Buffer, type: TensorType, args: Sequence[Element], sizes: Sizes) -> Stmt:
        nest, zero = self.scan(self.name, type, out, args[0], sizes), T.const(0)
        total = T.buffer("total", [1], nest.acc.tir, align=8)

        def row(c: list[Expr]) -> Stmt:
            steps = T.for_(nest.extent, lambda k: nest.advance(total, zero, c, k), "k")
            return T.seq(T.store(total, [zero], nest.initial), steps)

        return T.seq(T.allocate(total), nested("c", sizes.shape(nest.rest), row))
