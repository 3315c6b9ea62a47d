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
from gscompile.ir.ops.fill import Fill, made_of, word_values
from gscompile.ir.tir import Expr
from gscompile.ir.types import OpaqueDType, TensorType


@dataclass(frozen=True, slots=True)
class Gather(Inline):
    """Arguments: data, index.  Result: shape ``map.points_shape(data, index)``, data's dtype.

    A point that has nowhere to point to, on an axis without a valid position, is 0, unless ``checked`` says that there is none.
    """

    spelled: str
    addressing: Addressing
    fill: Fill = 0
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

    def with_lane(self) -> Gather:
        return replace(self, addressing=self.addressing.with_lane())

    def picks(self, position: int) -> bool:
        return position == 0

    def repeats(self, position: int, out: Shape, arg: Shape) -> bool:
        return reads_again(out, arg) if position == 0 else bool(self.addressing.map.window_sizes)

    def tree(self, out: TensorType, args: Sequence[Tree], types: Sequence[TensorType]) -> Tree:
        """The index's expression stands where data's has coordinates."""
        data, index = args
        reads = data.spots * self.addressing.uses(index.given, nested=data.spots > 1)
        nodes, spots = 1 + data.nodes + reads * index.nodes, data.spots + reads * index.spots
        return Tree(nodes, spots, depth=Tree.above(args))

    def moves(self, position: int) -> bool:
        return position == 0

    def in_words(self, dtype: OpaqueDType, rank: int) -> Gather:
        fill = word_values(self.fill, dtype) if isinstance(self.fill, bytes) else 0
        return replace(self, addressing=self.addressing.in_words(dtype.words), fill=fill)

    def assuming(self, checked: When) -> Gather:
        return replace(self, checked=checked)

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        data, index = args
        grid, window = self.addressing.split(coords)
        starts, ok = self.addressing.starts(index, grid, data.type.shape, sizes, self.checked)
        value: Callable[[], Expr] = lambda: data(*self.addressing.data_coords(starts, grid, window))  # noqa: E731
        if ok is None:
            return value()
        return T.if_then_else(ok, value(), made_of(self.fill, out.dtype, coords))
