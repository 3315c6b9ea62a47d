"""What ``x[idx]`` names in JAX: an index tensor and a map, from ints, slices, None, Ellipsis and integer arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gscompile.dialects._rules import INTEGERS, need_dtype
from gscompile.errors import ShapeError
from gscompile.frontend.builder import Builder, builder_of
from gscompile.frontend.movement import slice_of
from gscompile.ir.dims import Dim, Shape, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import Indexed, IndexMap, Place, Source, Window


def from_end(index: Value, size: Dim) -> Value:
    """An index of which the negative ones count from the end: the sum is of the index's dtype."""
    if index.dtype.kind == "u":
        return index
    b = builder_of(index)
    return b.where(index < 0, index + b.size(size, index.dtype), index)


def cut(index: Value) -> Value:
    """An index as JAX hands it to XLA, in 32 bits."""
    return index if index.dtype.bits < 32 else builder_of(index).cast(index, "int32")


def need_room(op: str, index: Value, size: Dim) -> None:
    """Raises ShapeError where the extent is no number of the index's dtype."""
    if index.dtype.bits < 32:
        builder_of(index).draft.require(
            [("<=", size, index.dtype.max, f"{op}: the axis that an index of {index.dtype} is for")]
        )


@dataclass(frozen=True, slots=True)
class Named:
    """What ``x[idx]`` names.

    Attributes:
        index: the index tensor.
        shape: of ``x[idx]``: that of the map's points, and 1 where idx is None.
        picked: the axes of x that an int or an array indexes.
    """

    index: Value
    map: IndexMap
    shape: Shape
    picked: tuple[int, ...]


def named_by(op: str, x: Value, indices: Sequence[Value], pattern: tuple[Any, ...], negative: bool) -> Named:
    """NumPy's rules: ints and arrays broadcast to one grid, whose axes come where they stand side by side, or else first.

    Args:
        indices: the arrays of idx.
        pattern: idx, with ``"array"`` for an array, ``"new"`` for None, ``"rest"`` for Ellipsis and
            ``("slice", start, stop, step)``.
        negative: whether a negative index counts from the end.

    Raises:
        DTypeError, ShapeError.
    """
    for k, i in enumerate(indices):
        need_dtype(op, f"index {k}", i, INTEGERS)
    keys = _keys(op, x, pattern)
    b = builder_of(x)
    grid = b.draft.broadcast(op, [i.shape for i in indices])
    together = [k for k, p in enumerate(keys) if p == "array" or (isinstance(p, int) and indices)]
    first = together[0] if together and together == list(range(together[0], together[-1] + 1)) else 0
    walk = _Walk(op, b, x, grid, iter(indices), negative)
    for k, p in enumerate(keys):
        if k == first and indices:
            walk.add_grid()
        if p == "new":
            walk.shape.append(1)
        elif p == "array" or isinstance(p, int):
            walk.add_index(p)
        else:
            walk.add_slice(slice(*p[1:]))
    return walk.named()


def _keys(op: str, x: Value, pattern: tuple[Any, ...]) -> tuple[Any, ...]:
    """A pattern that names every axis of x: whole slices for the Ellipsis, or at the end."""
    used = sum(p not in ("new", "rest") for p in pattern)
    if used > x.rank:
        raise ShapeError(f"{op}: too many indices for x of shape {shape_str(x.shape)}: {used}")
    if pattern.count("rest") > 1:
        raise ShapeError(f"{op}: an index may have one Ellipsis")
    rest = (("slice", None, None, None),) * (x.rank - used)
    at = pattern.index("rest") if "rest" in pattern else len(pattern)
    return (*pattern[:at], *rest, *pattern[at + 1 :])


@dataclass(slots=True)
class _Walk:
    """The keys of an index, taken one after the other.

    Attributes:
        grid: what the arrays broadcast to: the first axes of the index.
        runs: the axes of the index after those, one for each slice that is not whole.
        parts: the components of the index, each with the number of the run that it goes along, or None for the grid.
    """

    op: str
    b: Builder
    x: Value
    grid: Shape
    arrays: Iterator[Value]
    negative: bool
    sources: list[Source] = field(default_factory=list)
    layout: list[Place] = field(default_factory=list)
    shape: list[Dim] = field(default_factory=list)
    parts: list[tuple[Value, int | None]] = field(default_factory=list)
    runs: list[Dim] = field(default_factory=list)
    picked: list[int] = field(default_factory=list)
    windows: int = 0

    def add_grid(self) -> None:
        """The result's axes of the arrays."""
        self.layout += [("index", j) for j in range(len(self.grid))]
        self.shape += self.grid

    def add_index(self, key: Any) -> None:
        """The next axis is indexed by an int, or by the next array."""
        axis = len(self.sources)
        self.picked.append(axis)
        value = self.b.full((), key, "int64") if isinstance(key, int) else next(self.arrays)
        if self.negative:
            if value.dtype.kind == "i":
                need_room(self.op, value, self.x.shape[axis])
            value = from_end(value, self.x.shape[axis])
        self.sources.append(Indexed(len(self.parts)))
        self.parts.append((self.b.cast(cut(value), "int64"), None))

    def add_slice(self, key: slice) -> None:
        """The next axis is a window where all of it is meant, and otherwise indexed by a run of numbers."""
        d = self.x.shape[len(self.sources)]
        start, step, extent = slice_of(key, d)
        if (start, step, extent) == (0, 1, d):
            self.sources.append(Window(self.windows))
            self.layout.append(("window", self.windows))
            self.windows += 1
        else:
            run = self.b.iota((extent,)) * step + (start if isinstance(start, int) else self.b.size(start))
            self.sources.append(Indexed(len(self.parts)))
            self.layout.append(("index", len(self.grid) + len(self.runs)))
            self.parts.append((run, len(self.runs)))
            self.runs.append(extent)
        self.shape.append(extent)

    def named(self) -> Named:
        """The components broadcast to each other and stacked, and the map."""
        full = (*self.grid, *self.runs)
        each = []
        for value, over in self.parts:
            if over is not None:
                value = self.b.reshape(value, (self.runs[over], *(1 for _ in self.runs[over + 1 :])))
            elif self.runs:
                value = self.b.reshape(value, (*value.shape, *(1 for _ in self.runs)))
            each.append(self.b.broadcast_to(value, full))
        index = self.b.stack(each, len(full)) if each else self.b.zeros((0,), "int64")
        through = IndexMap(tuple(self.sources), tuple(self.layout), len(full))
        return Named(index, through, tuple(self.shape), tuple(self.picked))
