"""The index map: where each axis of ``data`` takes its coordinate from.

Every gather and scatter is one map, read or written through:

    gather:   points[p] = data[map(p)]
    scatter:  out = data;  for p in row-major order:  out[map(p)] = reduce(out[map(p)], src[p])

A *point* ``p`` has coordinates on the index tensor's axes (its *grid*) and on the window; ``layout`` says which axis of the
points tensor (gather's output, scatter's ``src``) is which.  At a point, the *index vector* is read at the point's grid
position, and each axis of ``data`` takes its coordinate from one source:

    Indexed(k)            component k of the index vector
    Indexed(k, window=w)  that, plus window coordinate w (a slice of more than one element, as in XLA)
    Shared(j)             the same coordinate as axis j of the index tensor (a batch axis)
    Window(w)             window coordinate w
    Fixed()               0

The formulas follow the CINN design document (gather and scatter, section 3), with the index read at the point's full
position, and XLA's gather and scatter for windows and layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from gscompile.errors import ArgumentError, ShapeError
from gscompile.ir.dims import Dim, Shape, shape_str


@dataclass(frozen=True, slots=True)
class Indexed:
    """Component ``component`` of the index vector, plus window coordinate ``window`` if there is one."""

    component: int
    window: int | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """The coordinate on axis ``axis`` of the index tensor."""

    axis: int


@dataclass(frozen=True, slots=True)
class Window:
    """Window coordinate ``window``, which runs over the whole axis unless the map gives it a smaller size."""

    window: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """Coordinate 0."""


Source: TypeAlias = Indexed | Shared | Window | Fixed
Place: TypeAlias = tuple[Literal["index", "window"], int]


@dataclass(frozen=True, slots=True)
class IndexMap:
    """See the module's text.

    Attributes:
        sources: one per axis of ``data``.
        layout: one per axis of the points tensor: ``("index", j)`` or ``("window", w)``, each grid axis and each window
            coordinate exactly once.
        vector_axis: the axis of the index tensor that holds the index vector's components (negative counts from the
            end); None where the index tensor's elements are themselves the only component.
        window_sizes: extent of each window coordinate; None for the whole of the ``Window`` axis it belongs to.
    """

    sources: tuple[Source, ...]
    layout: tuple[Place, ...]
    vector_axis: int | None = None
    window_sizes: tuple[Dim | None, ...] = ()

    def __post_init__(self) -> None:
        for s in self.sources:
            if not isinstance(s, (Indexed, Shared, Window, Fixed)):
                raise ArgumentError(f"index map: a source is Indexed, Shared, Window or Fixed; got {s!r}")
        for place in self.layout:
            if not (isinstance(place, tuple) and len(place) == 2 and place[0] in ("index", "window")):
                raise ArgumentError(f"index map: a place in layout is ('index', j) or ('window', w); got {place!r}")
        windows = [s.window for s in self.sources if isinstance(s, (Indexed, Window)) and s.window is not None]
        if not self.window_sizes:
            object.__setattr__(self, "window_sizes", (None,) * len(windows))
        if sorted(windows) != list(range(len(self.window_sizes))):
            raise ShapeError(
                f"index map: each window coordinate must belong to one axis of data; got {sorted(windows)}"
            )
        places = [j for kind, j in self.layout if kind == "window"]
        if sorted(places) != list(range(len(windows))):
            raise ShapeError(
                f"index map: layout must name each of {len(windows)} window coordinates once; got {places}"
            )
        if len(set(self.layout)) != len(self.layout):
            raise ShapeError(f"index map: layout names an axis twice: {self.layout}")
        if self.vector_axis is not None and self.vector_axis < 0:
            object.__setattr__(self, "vector_axis", self.vector_axis + self.index_rank)
        if sorted(j for kind, j in self.layout if kind == "index") != list(self.grid_axes):
            raise ShapeError(
                f"index map: layout must name each axis of the index tensor but axis {self.vector_axis} once; got {self.layout}"
            )
        components = sorted(s.component for s in self.sources if isinstance(s, Indexed))
        if components != list(range(len(components))):
            raise ShapeError(f"index map: each component must index one axis of data; got components {components}")
        if self.vector_axis is None and len(components) != 1:
            raise ShapeError(f"index map: without a vector axis there is exactly one component; got {len(components)}")
        for s in self.sources:
            if isinstance(s, Shared) and s.axis not in self.grid_axes:
                raise ShapeError(f"index map: Shared({s.axis}) is not an axis of the index grid {self.grid_axes}")
            if isinstance(s, Indexed) and s.window is not None and self.window_sizes[s.window] is None:
                raise ShapeError(
                    f"index map: an indexed window needs its size in window_sizes; got {self.window_sizes}"
                )

    @property
    def rank(self) -> int:
        """Rank of data."""
        return len(self.sources)

    @property
    def index_rank(self) -> int:
        """Rank of the index tensor."""
        return sum(kind == "index" for kind, _ in self.layout) + (self.vector_axis is not None)

    @property
    def grid_axes(self) -> tuple[int, ...]:
        """The index tensor's axes without the vector axis."""
        return tuple(j for j in range(self.index_rank) if j != self.vector_axis)

    @property
    def indexed_axes(self) -> tuple[int, ...]:
        """The axis of data that each component indexes."""
        by_component = {s.component: a for a, s in enumerate(self.sources) if isinstance(s, Indexed)}
        return tuple(by_component[k] for k in range(len(by_component)))

    @property
    def components(self) -> int:
        """Length of the index vector."""
        return len(self.indexed_axes)

    def window_shape(self, data: Sequence[Dim]) -> Shape:
        """The extent of each window coordinate."""
        sizes = list(self.window_sizes)
        for a, s in enumerate(self.sources):
            if isinstance(s, Window) and sizes[s.window] is None:
                sizes[s.window] = data[a]
        return tuple(s for s in sizes if s is not None)

    def grid_shape(self, index: Sequence[Dim]) -> Shape:
        """The extents of the index tensor without its vector axis."""
        return tuple(index[j] for j in self.grid_axes)

    def points_shape(self, data: Sequence[Dim], index: Sequence[Dim]) -> Shape:
        """The shape of gather's output and of scatter's src."""
        window = self.window_shape(data)
        return tuple(index[j] if kind == "index" else window[j] for kind, j in self.layout)

    def slice_size(self, axis: int) -> Dim:
        """How many elements a point's slice takes on an indexed axis."""
        s = self.sources[axis]
        if isinstance(s, Indexed) and s.window is not None:
            size = self.window_sizes[s.window]
            assert size is not None
            return size
        return 1

    def check(self, op: str, data: Shape, index: Shape) -> list[tuple[str, Dim, Dim, str]]:
        """Raise ShapeError where the shapes cannot fit; what only run time can tell is returned as constraints.

        A constraint is ``(relation, a, b, message)`` with relation ``"<="`` or ``"=="``.
        """
        if len(data) != self.rank:
            raise ShapeError(f"{op}: data must have rank {self.rank}; got shape {shape_str(data)}")
        if len(index) != self.index_rank:
            raise ShapeError(f"{op}: index must have rank {self.index_rank}; got shape {shape_str(index)}")
        rules: list[tuple[str, Dim, Dim, str]] = []
        if self.vector_axis is not None:
            rules.append(("==", index[self.vector_axis], self.components, f"{op}: extent of index on its vector axis"))
        window = self.window_shape(data)
        for a, s in enumerate(self.sources):
            where = f"on axis {a} of data {shape_str(data)}"
            if isinstance(s, Shared):
                rules.append(
                    (
                        "<=",
                        index[s.axis],
                        data[a],
                        f"{op}: extent of index {shape_str(index)} on axis {s.axis}, shared with data, {where}",
                    )
                )
            elif isinstance(s, Window):
                rules.append(("<=", window[s.window], data[a], f"{op}: window size {where}"))
            elif isinstance(s, Indexed) and s.window is not None:
                rules.append(("<=", window[s.window], data[a], f"{op}: slice size {where}"))
            elif isinstance(s, Fixed):
                rules.append(("<=", 1, data[a], f"{op}: coordinate 0 {where}"))
        return undecided(rules)


def undecided(rules: Sequence[tuple[str, Dim, Dim, str]]) -> list[tuple[str, Dim, Dim, str]]:
    """Drop the rules that hold for every size, raise for those that hold for none, keep the rest for run time."""
    kept = []
    for relation, a, b, message in rules:
        if a == b:
            continue
        if isinstance(a, int) and isinstance(b, int):
            if relation == "<=" and a <= b:
                continue
            raise ShapeError(f"{message}: must be {'equal to' if relation == '==' else 'at most'} {b}; got {a}")
        if (relation, a) == ("<=", 0):
            continue
        kept.append((relation, a, b, message))
    return kept


# -- the maps that operators use --------------------------------------------------------------------------------------


def element_map(rank: int, dim: int) -> IndexMap:
    """torch.gather, ONNX GatherElements, CINN gather: axis ``dim`` indexed, every other axis shared."""
    sources: tuple[Source, ...] = tuple(Indexed(0) if a == dim else Shared(a) for a in range(rank))
    return IndexMap(sources, tuple(("index", a) for a in range(rank)))


def nd_dims_map(rank: int, dims: Sequence[int]) -> IndexMap:
    """CINN gather_nd with ``dims``: those axes from the index vector (last axis of the index), every other shared."""
    order = {d: k for k, d in enumerate(dims)}
    sources: tuple[Source, ...] = tuple(Indexed(order[a]) if a in order else Shared(a) for a in range(rank))
    return IndexMap(sources, tuple(("index", a) for a in range(rank)), vector_axis=rank)


def nd_map(rank: int, index_rank: int, components: int, batch_dims: int = 0, vector_axis: int = -1) -> IndexMap:
    """ONNX and TensorFlow GatherND: ``batch_dims`` axes shared, the next ``components`` indexed, the rest windows.

    MXNet and TVM topi read the vector along the outermost axis: ``vector_axis=0``.
    """
    vector_axis %= index_rank
    grid = [j for j in range(index_rank) if j != vector_axis]
    first = batch_dims + components
    sources: list[Source] = [Shared(grid[a]) for a in range(batch_dims)]
    sources += [Indexed(k) for k in range(components)]
    sources += [Window(w) for w in range(rank - first)]
    layout: list[Place] = [("index", j) for j in grid]
    layout += [("window", w) for w in range(rank - first)]
    return IndexMap(tuple(sources), tuple(layout), vector_axis)


def take_map(rank: int, index_rank: int, axis: int, batch_dims: int = 0) -> IndexMap:
    """ONNX, TensorFlow, OpenVINO Gather: batch axes shared, ``axis`` indexed, the rest windows, index axes at ``axis``."""
    sources: list[Source] = []
    before: list[Place] = []
    after: list[Place] = []
    window = 0
    for a in range(rank):
        if a < batch_dims:
            sources.append(Shared(a))
        elif a == axis:
            sources.append(Indexed(0))
        else:
            sources.append(Window(window))
            (before if a < axis else after).append(("window", window))
            window += 1
    batch: list[Place] = [("index", j) for j in range(batch_dims)]
    rest: list[Place] = [("index", j) for j in range(batch_dims, index_rank)]
    return IndexMap(tuple(sources), tuple(batch + before + rest + after))
