"""``x[key]``, with NumPy's rules for basic and advanced indexing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend import core
from gscompile.frontend.arguments import Operand, index_of
from gscompile.frontend.core import GatherOptions
from gscompile.frontend.movement import LONGEST, MovementOps
from gscompile.ir.dims import Dim, Shape, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import Fixed, Indexed, IndexMap, Place, Source, Window
from gscompile.ir.ops.leaf import Constant
from gscompile.ir.ops.movement import Reshape
from gscompile.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Mask:
    """A known mask: how many axes it is for, their extents, and where it is True on each."""

    shape: Shape
    places: tuple[np.ndarray[Any, Any], ...]


@dataclass(slots=True)
class Walk:
    """What the keys so far do.

    Attributes:
        cuts: start, step and extent on each axis of x.
        sources: where each axis of the cut x takes its coordinate from, if there is an array among the keys.
        indices: the arrays, one for each component of the index vector.
        runs: the runs of arrays and ints that stand side by side, each as the number of kept axes before it.
        joined: whether the key before was an array or an int, so that the next one belongs to its run.
        kept: the axes of the result, those of the arrays left out: the number of a window, or None for a new axis.
    """

    cuts: list[tuple[Dim, int, Dim]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    indices: list[Value] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    joined: bool = False
    kept: list[int | None] = field(default_factory=list)

    @property
    def windows(self) -> int:
        return sum(k is not None for k in self.kept)

    def keep(self, cut: tuple[Dim, int, Dim]) -> None:
        """An axis of x that stays, cut."""
        self.sources.append(Window(self.windows))
        self.kept.append(self.windows)
        self.cuts.append(cut)
        self.joined = False

    def pick(self, cut: tuple[Dim, int, Dim], index: Value | None) -> None:
        """An axis that an array picks from, or, cut to one element, an int."""
        if not self.joined:
            self.runs.append(len(self.kept))
        self.sources.append(Fixed() if index is None else Indexed(len(self.indices)))
        self.cuts.append(cut)
        if index is not None:
            self.indices.append(index)
        self.joined = True


class GetItemOps(MovementOps):
    """Python's brackets."""

    def getitem(self, x: Operand, key: Any) -> Value:
        """``x[key]`` as NumPy indexes.

        key: one of these, or a tuple of them: ints, slices, None and one Ellipsis; integer arrays, lists and values, which
            broadcast to each other; bool arrays and lists, whose elements must be known now.  The arrays' axes stand where the
            arrays stand if these (ints among them) stand side by side, and otherwise come first.

        An array's index is checked at the call; a negative one counts from the end.

        Raises:
            ArgumentError: a key is none of these, or a mask that only a call knows.  DTypeError: an array of floats.
            ShapeError: too many keys, an int out of range, shapes that do not fit.
        """
        v = self.draft.as_value("getitem", "x", x)
        keys = [self._key(k) for k in (key if isinstance(key, tuple) else (key,))]
        used = sum(len(k.shape) if isinstance(k, Mask) else k is not None and k is not Ellipsis for k in keys)
        if sum(k is Ellipsis for k in keys) > 1 or used > v.rank:
            raise ShapeError(f"getitem: too many indices for shape {shape_str(v.shape)}: {key!r}")
        if not any(k is Ellipsis for k in keys):
            keys.append(Ellipsis)
        walk = Walk()
        for k in keys:
            self._step(walk, k, v.shape, v.rank - used)
        whole = all((start, step, n) == (0, 1, d) for (start, step, n), d in zip(walk.cuts, v.shape, strict=True))
        cut = v if whole else self._cut(v, walk.cuts)
        kept: list[Dim] = [1 if k is None else cut.shape[walk.sources.index(Window(k))] for k in walk.kept]
        if not walk.indices:
            out = tuple(kept)
            return cut if out == cut.shape else self.draft.add(Reshape(), [cut], TensorType(out, v.dtype))
        return self._picked(cut, walk, kept)

    def _key(self, k: Any) -> Any:
        """A key as None, Ellipsis, a slice, an int, an integer value or a known mask."""
        if k is None or k is Ellipsis or isinstance(k, slice):
            return k
        at = index_of(k)
        if at is not None:
            return at
        if isinstance(k, list):
            k = self._listed(k)
        if not isinstance(k, Value) and not hasattr(k, "dtype"):
            raise ArgumentError(f"getitem: an int, slice, None, Ellipsis or an integer tensor is needed; got {k!r}")
        value = self.draft.as_value("getitem", "index", k)
        if value.dtype.kind == "b":
            return known_mask("getitem", value)
        if not value.dtype.is_integer:
            raise DTypeError(f"getitem: index must have an integer dtype; got {value.dtype}")
        return value

    def _listed(self, k: list[Any]) -> Any:
        """A list as an array; an empty one is of integers."""
        try:
            array = np.asarray(k)
        except ValueError:
            array = np.asarray(k, object)
        if array.dtype.kind not in "iubf":
            raise ArgumentError(f"getitem: a list of ints, or of bools, is needed; got {k!r}")
        return array if array.size else array.astype("int64")

    def _step(self, walk: Walk, k: Any, shape: Shape, rest: int) -> None:
        """One key: it takes the next axis of x, or for Ellipsis the next ``rest``, for a mask as many as it has."""
        axis = len(walk.cuts)
        if k is None:
            walk.kept.append(None)
            walk.joined = False
        elif k is Ellipsis:
            walk.joined = False
            for d in shape[axis : axis + rest]:
                walk.keep((0, 1, d))
        elif isinstance(k, slice):
            walk.keep(self._slice_of(k, shape[axis]))
        elif isinstance(k, Mask):
            extents = shape[axis : axis + len(k.shape)]
            what = f"getitem: a mask {shape_str(k.shape)} for {shape_str(shape)}"
            self.draft.require(
                [
                    ("==", n, d, f"{what} on axis {axis + j}")
                    for j, (n, d) in enumerate(zip(k.shape, extents, strict=True))
                ]
            )
            for d, place in zip(extents, k.places, strict=True):
                walk.pick((0, 1, d), self.draft.constant(place, "getitem: index"))
        elif isinstance(k, Value):
            walk.pick((0, 1, shape[axis]), k)
        else:
            d = shape[axis]
            if not (-d <= k < d if isinstance(d, int) else -LONGEST <= k < LONGEST):
                raise ShapeError(f"getitem: index {k} is out of range on axis {axis} of {shape_str(shape)}")
            self.draft.require([("<=", k + 1 if k >= 0 else -k, d, f"getitem: index {k} on axis {axis}")])
            walk.pick((k if k >= 0 else d + k, 1, 1), None)

    def _picked(self, x: Value, walk: Walk, kept: list[Dim]) -> Value:
        """The gather of the arrays' picks."""
        grid = self.draft.broadcast("getitem", [i.shape for i in walk.indices])
        if len(walk.indices) == 1:
            index, vector = walk.indices[0], None
        else:
            index, vector = self.stack([self._component(i, grid) for i in walk.indices], len(grid)), len(grid)
        at = walk.runs[0] if len(walk.runs) == 1 else 0
        windows: list[Place] = [("window", w) for w in walk.kept if w is not None]
        before = sum(k is not None for k in walk.kept[:at])
        points: list[Place] = [("index", j) for j in range(len(grid))]
        layout = (*windows[:before], *points, *windows[before:])
        through = IndexMap(tuple(walk.sources), layout, vector)
        found = core.gather(self.draft, "getitem", x, index, through, GatherOptions())
        out = (*kept[:at], *grid, *kept[at:])
        return found if out == found.shape else self.draft.add(Reshape(), [found], TensorType(out, found.dtype))

    def _component(self, index: Value, grid: Shape) -> Value:
        """An index as one component of many: int64, of the shape that all broadcast to."""
        if index.dtype.name == "uint64":
            index = self.minimum(index, 2**63 - 1)  # what is above is out of range either way
        return self.broadcast_to(self.cast(index, "int64"), grid)


def known_mask(op: str, value: Value) -> Mask:
    """A mask of elements that are known when the graph is built.

    Raises:
        ArgumentError: only a call knows them, or there is one bool instead of a tensor.
    """
    if not isinstance(value.op, Constant):
        raise ArgumentError(
            f"{op}: how many elements a bool mask picks must be known when the graph is built, and {value.name!r} is known "
            "at the call only; where(mask, x, y) keeps x's shape"
        )
    if value.rank == 0:
        raise ArgumentError(f"{op}: an int, slice, None, Ellipsis or an integer tensor is needed; got a bool")
    return Mask(value.shape, tuple(np.nonzero(np.asarray(value.op.array))))
