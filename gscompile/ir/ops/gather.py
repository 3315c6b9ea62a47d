"""Gather: ``points[p] = data[map(p)]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.addressing import Addressing
from gscompile.ir.bounds import When
from gscompile.ir.coords import Coords, Element, Sizes
from gscompile.ir.dims import Shape
from gscompile.ir.ops.base import Inline, Tree, reads_again
from gscompile.ir.ops.elementwise import constant
from gscompile.ir.tir import Expr
from gscompile.ir.types import DType, TensorType


@dataclass(frozen=True, slots=True)
class Gather(Inline):
    """Arguments: data, index.  Result: shape ``map.points_shape(data, index)``, data's dtype.

    Under ``raise`` the addresses are clamped, unless ``checked`` says that the indices are found to be in range.  A point that
    has nowhere to point to, on an axis without a valid position, is then 0.
    """

    spelled: str
    addressing: Addressing
    fill: float | int | bool = 0
    checked: When = When.NEVER

    @property
    def name(self) -> str:
        return self.spelled

    def attributes(self) -> str:
        a = self.addressing
        return f"bounds={a.bounds.value}" + ("" if a.negative else ", negative=False")

    @property
    def indexing(self) -> Addressing:
        return self.addressing

    def picks(self, position: int) -> bool:
        return position == 0

    def repeats(self, position: int, out: Shape, arg: Shape) -> bool:
        return reads_again(out, arg) if position == 0 else bool(self.addressing.map.window_sizes)

    def tree(self, out: DType, args: Sequence[Tree]) -> Tree:
        """The index's expression stands where data's has coordinates."""
        data, index = args
        reads = data.spots * self.addressing.uses(index.given)
        return Tree(1 + data.nodes + reads * index.nodes, data.spots + reads * index.spots)

    def assuming(self, checked: When) -> Gather:
        return replace(self, checked=checked)

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        data, index = args
        grid, window = self.addressing.split(coords)
        starts, ok = self.addressing.starts(index, grid, data.type.shape, sizes, self.checked)
        value: Callable[[], Expr] = lambda: data(*self.addressing.data_coords(starts, grid, window))  # noqa: E731
        if ok is None:
            return value()
        return T.if_then_else(ok, value(), constant(self.fill, out.dtype))
