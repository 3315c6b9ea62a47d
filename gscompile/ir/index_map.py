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

    # -- the maps that operators use

    @staticmethod
    def elements(rank: int, dim: int) -> IndexMap:
        """``data[i0, .., index[i0, .., iK], .., iK]``: axis ``dim`` is indexed, every other axis shared.

        torch.gather, ONNX GatherElements, CINN gather (design document, 1.1); the builder's ``gather`` and ``scatter``.

        Args:
            rank: of data, and of the index.
        """
        (at,) = _axes("dim", [dim], rank)
        sources: tuple[Source, ...] = tuple(Indexed(0) if a == at else Shared(a) for a in range(rank))
        return IndexMap(sources, tuple(("index", a) for a in range(rank)))

    @staticmethod
    def take(rank: int, index_rank: int, axis: int = 0, batch_dims: int = 0) -> IndexMap:
        """``data[b.., i.., index[b.., j..], k..]`` at the point ``[b.., i.., j.., k..]``: the slices along ``axis``.

        numpy.take, ONNX, OpenVINO and TensorFlow Gather (whose ``batch_dims`` these are); the builder's ``take`` and ``put``.

        Args:
            rank, index_rank: of data and of the index.
            batch_dims: how many leading axes, at most ``axis``, data and index share.
        """
        (at,) = _axes("axis", [axis], rank)
        if not 0 <= batch_dims <= min(at, index_rank):
            raise ShapeError(f"index map: batch_dims must be in [0, {min(at, index_rank)}]; got {batch_dims}")
        sources: list[Source] = [Shared(a) for a in range(batch_dims)]
        sources += [Indexed(0) if a == at else Window(a - batch_dims - (a > at)) for a in range(batch_dims, rank)]
        windows: list[Place] = [("window", w) for w in range(rank - batch_dims - 1)]
        grid: list[Place] = [("index", j) for j in range(index_rank)]
        before = at - batch_dims
        layout = (*grid[:batch_dims], *windows[:before], *grid[batch_dims:], *windows[before:])
        return IndexMap(tuple(sources), layout)

    @staticmethod
    def nd(rank: int, index_rank: int, components: int, batch_dims: int = 0, *, vector_axis: int = -1) -> IndexMap:
        """``data[b.., index[b.., j.., 0], .., index[b.., j.., m - 1], k..]`` at ``[b.., j.., k..]``: slices at index vectors.

        ONNX and TensorFlow GatherND; MXNet and TVM topi read the vector along the outermost axis, ``vector_axis=0``; the
        builder's ``gather_nd`` and ``scatter_nd``.

        Args:
            rank, index_rank: of data and of the index.
            components: m, the length of the index vectors.
            batch_dims: how many leading axes data and index share.
            vector_axis: the axis of the index that the vectors lie along.
        """
        (vector,) = _axes("vector_axis", [vector_axis], index_rank)
        first = batch_dims + components
        if not 0 <= batch_dims <= min(rank, index_rank - 1) or not batch_dims <= first <= rank:
            raise ShapeError(
                f"index map: index vectors of length {components} after {batch_dims} batch axes need data of rank at least "
                f"{first} and an index of rank above {batch_dims}; got {rank} and {index_rank}"
            )
        grid = [j for j in range(index_rank) if j != vector]
        sources: list[Source] = [Shared(grid[a]) for a in range(batch_dims)]
        sources += [Indexed(k) for k in range(components)]
        sources += [Window(w) for w in range(rank - first)]
        layout: list[Place] = [("index", j) for j in grid]
        layout += [("window", w) for w in range(rank - first)]
        return IndexMap(tuple(sources), tuple(layout), vector)

    @staticmethod
    def nd_dims(rank: int, dims: Sequence[int]) -> IndexMap:
        """The axes ``dims`` from index vectors along the index's last axis, every other axis shared.

        CINN gather_nd (design document, 1.2); the builder's ``gather_nd`` and ``scatter_nd`` with ``dims``.

        Args:
            rank: of data; the index has one axis more.
        """
        order = {d: k for k, d in enumerate(_axes("dims", dims, rank))}
        sources: tuple[Source, ...] = tuple(Indexed(order[a]) if a in order else Shared(a) for a in range(rank))
        return IndexMap(sources, tuple(("index", a) for a in range(rank)), vector_axis=rank)

    @staticmethod
    def xla(
        rank: int,
        index_rank: int,
        *,
        offset_dims: Sequence[int],
        collapsed_slice_dims: Sequence[int] = (),
        operand_batching_dims: Sequence[int] = (),
        start_indices_batching_dims: Sequence[int] = (),
        start_index_map: Sequence[int],
        index_vector_dim: int,
        slice_sizes: Sequence[Dim],
    ) -> IndexMap:
        """Slices at index vectors, by the dimension numbers of StableHLO's ``gather`` (its specification has the formula).

        Those of its ``scatter`` have other names: update_window_dims are offset_dims, inserted_window_dims collapsed_slice_dims,
        input_batching_dims operand_batching_dims, scatter_indices_batching_dims start_indices_batching_dims,
        scatter_dims_to_operand_dims start_index_map; and slice_sizes are the extents of a slice of updates.

        Args:
            rank, index_rank: of data and of the index.
            offset_dims: the axes of the points that hold a slice, in the order of data's axes.
            collapsed_slice_dims: axes of data on which a slice has one element, and the points have no axis.
            operand_batching_dims, start_indices_batching_dims: axes of data and of the index that go together.
            start_index_map: the axis of data that each component is for.
            index_vector_dim: the axis of the index that the vectors lie along; ``index_rank`` for vectors of one component.
            slice_sizes: the extents of a slice, one for each axis of data.
        """
        if len(slice_sizes) != rank:
            raise ShapeError(
                f"index map: slice_sizes must have {rank} entries, one for each axis of data; got {slice_sizes}"
            )
        if len(operand_batching_dims) != len(start_indices_batching_dims):
            raise ShapeError(
                "index map: operand_batching_dims and start_indices_batching_dims must be equally many; "
                f"got {tuple(operand_batching_dims)} and {tuple(start_indices_batching_dims)}"
            )
        component = {a: k for k, a in enumerate(start_index_map)}
        shared = dict(zip(operand_batching_dims, start_indices_batching_dims, strict=True))
        kept = [a for a in range(rank) if a not in shared and a not in collapsed_slice_dims]
        if len(kept) != len(offset_dims):
            raise ShapeError(f"index map: offset_dims must have {len(kept)} entries; got {tuple(offset_dims)}")
        sources: list[Source] = []
        for a in range(rank):
            if a in shared:
                sources.append(Shared(shared[a]))
            elif a in collapsed_slice_dims:
                sources.append(Indexed(component[a]) if a in component else Fixed())
            else:
                w = kept.index(a)
                sources.append(Indexed(component[a], window=w) if a in component else Window(w))
        grid = iter(j for j in range(index_rank) if j != index_vector_dim)
        place = {d: w for w, d in enumerate(offset_dims)}
        points = len(offset_dims) + index_rank - (index_vector_dim < index_rank)
        layout: list[Place] = [("window", place[d]) if d in place else ("index", next(grid, -1)) for d in range(points)]
        vector = index_vector_dim if index_vector_dim < index_rank else None
        return IndexMap(tuple(sources), tuple(layout), vector, tuple(slice_sizes[a] for a in kept))

    # -- what follows from it

    def with_lane(self) -> IndexMap:
        """The map of tensors whose elements lie on one more axis, the innermost of data and of the points."""
        w = len(self.window_sizes)
        return IndexMap(
            (*self.sources, Window(w)), (*self.layout, ("window", w)), self.vector_axis, (*self.window_sizes, None)
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
    def own_axes(self) -> tuple[int, ...]:
        """Those of ``grid_axes`` that data does not share: points that differ on another one are in different cells."""
        return tuple(j for j in self.grid_axes if Shared(j) not in self.sources)

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


def _axes(argument: str, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes as numbers in ``[0, rank)``, each once."""
    for a in axes:
        if not -rank <= a < rank:
            raise ShapeError(f"index map: {argument} must be in [{-rank}, {rank - 1}] for rank {rank}; got {a}")
    found = tuple(a % rank for a in axes)
    if len(set(found)) != len(found):
        raise ShapeError(f"index map: {argument} names an axis twice: {tuple(axes)}")
    return found
