"""Which element of data a point means: an index map, and how the index's values are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.bounds import Bounds, Start, When, excess, in_range, resolve
from gscompile.ir.coords import Coords, Element, Sizes
from gscompile.ir.dims import Dim
from gscompile.ir.index_map import Fixed, Indexed, IndexMap, Shared
from gscompile.ir.tir import Expr


@dataclass(frozen=True, slots=True)
class Addressing:
    """What gather and scatter share.

    Attributes:
        map: see :mod:`gscompile.ir.index_map`.
        bounds: see :mod:`gscompile.ir.bounds`.
        negative: a negative index counts from the end once.
    """

    map: IndexMap
    bounds: Bounds
    negative: bool

    def with_lane(self) -> Addressing:
        """That of tensors whose elements lie on one more axis, the innermost."""
        return replace(self, map=self.map.with_lane())

    def in_words(self, words: int) -> Addressing:
        """Of data whose elements are so many words, on an axis after all others if several."""
        return self if words == 1 else self.with_lane()

    def index_position(self, grid: Coords, component: int) -> list[Expr]:
        """Coordinates in the index tensor: ``grid`` without the vector axis, ``component`` on it."""
        at = list(grid)
        if self.map.vector_axis is not None:
            at.insert(self.map.vector_axis, T.const(component))
        return at

    def index_at(self, index: Element, grid: Coords, component: int) -> Expr:
        """The raw index value."""
        return index(*self.index_position(grid, component))

    def count(self, data: Sequence[Dim], axis: int, sizes: Sizes) -> Expr:
        """How many starts are valid on an indexed axis."""
        return sizes(data[axis] - self.map.slice_size(axis) + 1)

    def start(
        self, component: int, index: Element, grid: Coords, data: Sequence[Dim], sizes: Sizes, checked: When
    ) -> Start:
        """The resolved start of one component at a grid position."""
        axis = self.map.indexed_axes[component]
        return resolve(
            self.index_at(index, grid, component),
            sizes(data[axis]),
            self.count(data, axis, sizes),
            self.bounds,
            self.negative,
            sliced=self.map.slice_size(axis) != 1,
            checked=checked,
        )

    def starts(
        self, index: Element, grid: Coords, data: Sequence[Dim], sizes: Sizes, checked: When
    ) -> tuple[list[Expr], Expr | None]:
        """Every component's start, and whether all are in range (None: they always are)."""
        found = [self.start(k, index, grid, data, sizes, checked) for k in range(self.map.components)]
        conditions = [s.ok for s in found]
        if checked is When.NEVER and self.bounds in (Bounds.RAISE, Bounds.CLIP, Bounds.WRAP):
            # an address cannot be clamped into an axis without a valid position
            conditions.append(self.readable(data, sizes))
        return [s.coord for s in found], T.all_of(conditions)

    def readable(self, data: Sequence[Dim], sizes: Sizes) -> Expr | None:
        """Whether each indexed axis has a valid start; None where that is known."""
        return T.all_of(sizes(c) > 0 for c in self._unknown_counts(data))

    def _unknown_counts(self, data: Sequence[Dim]) -> list[Dim]:
        """How many starts are valid on each indexed axis where that is not known to be one at least."""
        counts = [data[a] - self.map.slice_size(a) + 1 for a in self.map.indexed_axes]
        return [c for c in counts if not isinstance(c, int) or c <= 0]

    def valid(self, component: int, index: Element, grid: Coords, data: Sequence[Dim], sizes: Sizes) -> Expr:
        """Whether an index value passes: in range under ``raise``, a non-empty axis under ``clip`` and ``wrap``."""
        axis = self.map.indexed_axes[component]
        count = self.count(data, axis, sizes)
        if self.bounds is not Bounds.RAISE:
            return count > 0
        sliced = self.map.slice_size(axis) != 1
        return in_range(self.index_at(index, grid, component), sizes(data[axis]), count, self.negative, sliced)

    def excess(self, component: int, index: Element, grid: Coords, data: Sequence[Dim], sizes: Sizes) -> Expr:
        """An int64 that is 0 just where an index value passes (:meth:`valid`)."""
        axis = self.map.indexed_axes[component]
        count = self.count(data, axis, sizes)
        if self.bounds is not Bounds.RAISE:
            return T.cast("int64", count <= 0)
        sliced = self.map.slice_size(axis) != 1
        return excess(self.index_at(index, grid, component), sizes(data[axis]), count, self.negative, sliced)

    def needs_check(self, data: Sequence[Dim]) -> bool:
        """Whether some index value could be invalid."""
        if self.bounds is Bounds.RAISE:
            return self.map.components > 0
        if self.bounds in (Bounds.CLIP, Bounds.WRAP):
            return bool(self._unknown_counts(data))
        return False

    def uses(self, given: bool, nested: bool = False) -> int:
        """How often the expression of an address contains that of the index, about.

        Args:
            given: the index is an input or a constant.
            nested: the address stands in another one.
        """
        # index + (index < 0 ? size : 0); TVM's analysis goes through one address in another several times: four in one
        # another took 1 s of lowering, 4.5 s with symbolic sizes, where three take 0.2 s
        return (4 if nested else 2) * (1 if given else 2) * max(1, self.map.components)

    def split(self, points: Coords) -> tuple[list[Expr], list[Expr]]:
        """A point's coordinates on the grid (in the index tensor's order) and on the window."""
        at = dict(zip(self.map.layout, points, strict=True))
        grid = [at["index", j] for j in self.map.grid_axes]
        return grid, [at["window", w] for w in range(len(self.map.window_sizes))]

    def data_coords(self, starts: Sequence[Expr], grid: Coords, window: Coords) -> list[Expr]:
        """``map(p)``: the formula of :mod:`gscompile.ir.index_map`."""
        on_grid = dict(zip(self.map.grid_axes, grid, strict=True))
        coords: list[Expr] = []
        for s in self.map.sources:
            if isinstance(s, Indexed):
                start = starts[s.component]
                coords.append(start if s.window is None else start + window[s.window])
            elif isinstance(s, Shared):
                coords.append(on_grid[s.axis])
            elif isinstance(s, Fixed):
                coords.append(T.const(0))
            else:
                coords.append(window[s.window])
        return coords
