"""Random calls of every gather and scatter, for property tests.

``cases("scatter_nd")`` is a hypothesis strategy of :class:`Case`: one call with its arrays, which knows how to declare
itself on a builder and what the oracle says it gives.  Shapes have pairwise different extents where the rank allows it,
and indices are drawn from a palette of ugly ones: first, last, negative, just past both ends, the dtype's limits, and
values that look harmless once cut to 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests import oracle
from tests.oracle import Array, Map

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *INTEGERS, "bool")
INDEX_DTYPES = INTEGERS

GATHERS = ("gather", "gather_nd", "gather_nd_dims", "take", "gather_map")
SCATTERS = ("scatter", "scatter_nd", "scatter_nd_dims", "put", "scatter_map")

Draw = Callable[..., Any]
Shape = tuple[int, ...]


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy type that a gscompile dtype name stands for."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def to_gs_map(map: Map, whole: frozenset[int] = frozenset()) -> Any:
    """The oracle's neutral map as a ``gs.IndexMap``: the one place that knows how the latter is written.

    ``whole`` names window coordinates whose extent is to be taken from data's shape instead of being stated.
    """
    import gscompile as gs

    sources: list[Any] = []
    for source in map.sources:
        if source[0] == "indexed":
            sources.append(gs.Indexed(source[1]) if source[2] is None else gs.Indexed(source[1], window=source[2]))
        elif source[0] == "shared":
            sources.append(gs.Shared(source[1]))
        elif source[0] == "window":
            sources.append(gs.Window(source[1]))
        else:
            sources.append(gs.Fixed())
    sizes = tuple(None if w in whole else size for w, size in enumerate(map.windows))
    return gs.IndexMap(
        sources=tuple(sources), layout=tuple(map.layout), vector_axis=map.vector_axis, window_sizes=sizes
    )


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """One call of one operator.

    Attributes:
        op: a name in ``GATHERS`` or ``SCATTERS``.
        args: what places the index: dim, dims, axis, batch_dims.
        map: the same, as the oracle takes it.
        data, index: the arrays, of dtypes ``data_dtype`` and ``index_dtype``.
        src: for a scatter, an array of the points' shape, or a Python scalar.
        symbols: the axes whose extent is a name at build time: ``("data", a)`` or ``("index", j)``.
        tied: index axes that must be as long as an axis of data, by that axis; they share one name.
    """

    op: str
    args: dict[str, Any]
    map: Map
    data_dtype: str
    index_dtype: str
    data: Array
    index: Array
    src: Any = None
    bounds: str = "raise"
    negative: bool = True
    fill: Any = 0
    reduction: str = "update"
    include_self: bool = True
    unique: bool = False
    symbols: frozenset[tuple[str, int]] = frozenset()
    tied: dict[int, int] = field(default_factory=dict)

    @property
    def is_scatter(self) -> bool:
        return self.op in SCATTERS

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The inputs, in the order in which :meth:`build` declares them."""
        return (self.data, self.index, self.src) if isinstance(self.src, np.ndarray) else (self.data, self.index)

    def _extent(self, tensor: str, axis: int) -> int | str:
        if tensor == "index" and axis in self.tied:
            tensor, axis = "data", self.tied[axis]
        size: int = (self.data if tensor == "data" else self.index).shape[axis]
        return f"{tensor[0]}{axis}" if (tensor, axis) in self.symbols else size

    def _whole(self) -> dict[int, int]:
        """The axis of data that each window coordinate covers entirely, where it does."""
        return {
            s[1]: a
            for a, s in enumerate(self.map.sources)
            if s[0] == "window" and self.map.windows[s[1]] == self.data.shape[a]
        }

    def shape(self, tensor: str) -> tuple[int | str, ...]:
        """The shape of an input (``data``, ``index``, ``src``) as it is declared."""
        if tensor != "src":
            rank = (self.data if tensor == "data" else self.index).ndim
            return tuple(self._extent(tensor, a) for a in range(rank))
        whole = self._whole()
        shape: list[int | str] = []
        for kind, n in self.map.layout:
            if kind == "index":
                shape.append(self._extent("index", n))
            else:
                shape.append(self._extent("data", whole[n]) if n in whole else self.map.windows[n])
        return tuple(shape)

    def build(self, builder: Any) -> Any:
        """Declare inputs ``data``, ``index`` and, unless it is a scalar, ``src``; return the operator's result."""
        data = builder.input("data", self.shape("data"), self.data_dtype)
        index = builder.input("index", self.shape("index"), self.index_dtype)
        args: dict[str, Any] = {**self.args, "bounds": self.bounds, "negative": self.negative}
        name = self.op.removesuffix("_dims")
        if name.endswith("_map"):
            whole = {w for w, a in self._whole().items() if ("data", a) in self.symbols}
            args["map"] = to_gs_map(self.map, frozenset(whole))
        if not self.is_scatter:
            return getattr(builder, name)(data, index, fill=self.fill, **args)
        src = self.src
        if isinstance(src, np.ndarray):
            src = builder.input("src", self.shape("src"), self.data_dtype)
        args |= {"reduction": self.reduction, "include_self": self.include_self, "unique": self.unique}
        return getattr(builder, name)(data, index, src, **args)

    def expected(self) -> Array:
        """What the oracle gives; raises :class:`tests.oracle.OracleIndexError`."""
        if self.is_scatter:
            return oracle.scatter_ref(
                self.data, self.index, self.src, self.map, self.reduction, self.include_self, self.bounds, self.negative
            )
        return oracle.gather_ref(self.data, self.index, self.map, self.bounds, self.negative, self.fill)

    def __repr__(self) -> str:
        """Everything that is needed to write the call down by hand."""

        def tensor(name: str, array: Array, dtype: str) -> str:
            return f"{name}: {dtype}{self.shape(name)} shape {array.shape} = {array.tolist()}"

        lines = [f"{self.op}({', '.join(f'{k}={v}' for k, v in self.args.items())}) bounds={self.bounds}"]
        lines[0] += f" negative={self.negative}"
        if self.is_scatter:
            lines[0] += f" reduction={self.reduction} include_self={self.include_self} unique={self.unique}"
        else:
            lines[0] += f" fill={self.fill}"
        if self.op.endswith("_map"):
            lines.append(repr(self.map))
        lines += [tensor("data", self.data, self.data_dtype), tensor("index", self.index, self.index_dtype)]
        if isinstance(self.src, np.ndarray):
            lines.append(tensor("src", self.src, self.data_dtype))
        elif self.is_scatter:
            lines.append(f"src = {self.src}")
        return "Case<" + "\n  ".join(lines) + ">"


# -- shapes -----------------------------------------------------------------------------------------------------------


def _rank(draw: Draw, least: int, most: int = 8) -> int:
    """Mostly 1 to 4, one time in twelve more, and rarely 0 where that is allowed."""
    if most > 4 and draw(st.integers(0, 11)) == 11:
        return draw(st.integers(5, most))
    return draw(st.sampled_from((1, 2, 3, 4) * 4 + ((0,) if least == 0 else ())))


def _components(draw: Draw, most: int) -> int:
    """Length of an index vector: rarely 0."""
    return draw(st.sampled_from((*range(1, most + 1), *range(1, most + 1), *range(1, most + 1), 0)))


def _extents(draw: Draw, rank: int, *, empty: bool = True) -> list[int]:
    """Pairwise different extents, up to rank 4; one time in twelve one of them is 0."""
    if rank > 4:
        shape = list(draw(st.permutations([1, 2, 3, 1, 2, 1, 2, 1][:rank])))
    else:
        shape = list(draw(st.permutations(range(1, 8 if rank < 3 else 6)))[:rank])
    if empty and rank and draw(st.integers(0, 11)) == 11:
        shape[draw(st.integers(0, rank - 1))] = 0
    return shape


def _up_to(draw: Draw, extent: int) -> int:
    """An index extent on a shared axis: as long as data's, or shorter."""
    return extent if extent < 2 or draw(st.booleans()) else draw(st.integers(1, extent))


def _free(draw: Draw, count: int) -> list[int]:
    """Extents of index axes that stand for nothing in data."""
    return [draw(st.sampled_from((3, 4, 2, 5, 1, 6, 3, 4, 2, 5, 7, 2, 3, 4, 5, 0))) for _ in range(count)]


@dataclass(frozen=True)
class Geometry:
    """Shapes, the map over them, and the arguments that spell it."""

    args: dict[str, Any]
    map: Map
    data: Shape
    index: Shape
    tied: dict[int, int]


def _element(draw: Draw) -> Geometry:
    rank = _rank(draw, 1)
    data = _extents(draw, rank)
    dim = draw(st.integers(-rank, rank - 1))
    index = [_free(draw, 1)[0] if a == dim % rank else _up_to(draw, s) for a, s in enumerate(data)]
    return Geometry({"dim": dim}, oracle.element_map(data, index, dim), tuple(data), tuple(index), {})


def _dims(draw: Draw) -> Geometry:
    rank = _rank(draw, 0, 7)
    data = _extents(draw, rank)
    order = draw(st.permutations(range(rank)))[: _components(draw, rank)]
    dims = [d - rank if draw(st.booleans()) else d for d in order]
    index = [_free(draw, 1)[0] if a in order and rank < 5 else _up_to(draw, s) for a, s in enumerate(data)]
    index.append(len(dims))
    return Geometry({"dims": dims}, oracle.dims_map(data, index, dims), tuple(data), tuple(index), {})


def _slices(draw: Draw) -> Geometry:
    rank = _rank(draw, 0)
    data = _extents(draw, rank)
    batch = draw(st.integers(0, min(2, rank)))
    m = _components(draw, rank - batch)
    grid = data[:batch] + _free(draw, draw(st.integers(0, min(2, 8 - (rank - m)))))
    index = (*grid, m)
    tied = {j: j for j in range(batch)}
    return Geometry({"batch_dims": batch}, oracle.nd_map(data, index, batch), tuple(data), index, tied)


def _take(draw: Draw) -> Geometry:
    rank = _rank(draw, 1)
    data = _extents(draw, rank)
    batch = draw(st.integers(0, min(2, rank - 1)))
    axis = draw(st.integers(batch, rank - 1))
    index = tuple(data[:batch] + _free(draw, draw(st.integers(0, min(2, 9 - rank)))))
    args = {"axis": axis - rank if draw(st.booleans()) else axis, "batch_dims": batch}
    tied = {j: j for j in range(batch)}
    return Geometry(args, oracle.take_map(data, index, axis, batch), tuple(data), index, tied)


def _any_map(draw: Draw) -> Geometry:
    """Any mixture of sources, with slices, the vector on any axis, and any layout of the points."""
    rank = _rank(draw, 0, 4)
    data = _extents(draw, rank)
    grid_rank = draw(st.integers(0, 3))
    sources: list[tuple[Any, ...]] = []
    windows: list[int] = []
    components = draw(st.permutations(range(rank)))  # cut to those in use below
    shared: dict[int, int] = {}
    for a, s in enumerate(data):
        kinds = ["indexed", "slice", "indexed", "slice", "window"] if s else ["indexed", "window"]
        kinds += ["shared"] if grid_rank else []
        kinds += ["fixed"] if s else []
        kind = draw(st.sampled_from(kinds))
        if kind == "indexed":
            sources.append(("indexed", components[a], None))
        elif kind == "shared":
            j = draw(st.integers(0, grid_rank - 1))
            shared[j] = min(s, shared.get(j, s))
            sources.append(("shared", j))
        elif kind == "fixed":
            sources.append(("fixed",))
        else:
            sources.append(("indexed", components[a], len(windows)) if kind == "slice" else ("window", len(windows)))
            windows.append(_up_to(draw, s))
    used = sorted(s[1] for s in sources if s[0] == "indexed")
    vector = len(used) != 1 or draw(st.booleans())
    vector_axis = draw(st.integers(0, grid_rank)) if vector else None
    grid = [_up_to(draw, shared[j]) if j in shared else min(3, _free(draw, 1)[0]) for j in range(grid_rank)]

    def axis(j: int) -> int:
        return j if vector_axis is None or j < vector_axis else j + 1

    for a, source in enumerate(sources):
        if source[0] == "indexed":
            sources[a] = ("indexed", used.index(source[1]), source[2])
        elif source[0] == "shared":
            sources[a] = ("shared", axis(source[1]))
    places = [("index", axis(j)) for j in range(grid_rank)] + [("window", w) for w in range(len(windows))]
    layout = tuple(draw(st.permutations(places)))
    index = list(grid)
    if vector_axis is not None:
        index.insert(vector_axis, len(used))
    return Geometry({}, Map(tuple(sources), vector_axis, tuple(windows), layout), tuple(data), tuple(index), {})


GEOMETRY: dict[str, Callable[[Draw], Geometry]] = {
    "gather": _element,
    "gather_nd": _slices,
    "gather_nd_dims": _dims,
    "take": _take,
    "gather_map": _any_map,
}
GEOMETRY |= {s: GEOMETRY[g] for g, s in zip(GATHERS, SCATTERS, strict=True)}


# -- values -----------------------------------------------------------------------------------------------------------


def index_palette(extent: int, window: int, dtype: str, negative: bool) -> tuple[list[int], list[int]]:
    """Valid and invalid index values for an axis, as far as the dtype can hold them."""
    info = np.iinfo(dtype)
    last = extent - window
    good = [*range(last + 1)]
    if negative:
        good += [v - extent for v in range(last + 1)]
    ends = [last + 1, extent, -1, -extent, -extent - 1, last - extent + 1, -2 * extent - 1, 2 * extent]
    limits = [info.max, info.min, 1 << 32, (1 << 32) + 1, -(1 << 32), 1 << 31, 1 << 63, (1 << 63) + 1]

    def fits(values: Sequence[int]) -> list[int]:
        return [v for v in dict.fromkeys(values) if info.min <= v <= info.max]

    return fits(good), [v for v in fits(ends + limits) if v not in good]


def random_data(rng: np.random.Generator, shape: Sequence[int], dtype: str, special: bool = False) -> Array:
    """Floats of many magnitudes, so that the order of a sum shows; integers over their whole range.

    ``special`` mixes in NaN, infinities, negative zero and what is a subnormal in float16.
    """
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        whole = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        small = rng.integers(0 if info.min == 0 else -9, 9, shape).astype(dtype)
        return np.asarray(np.where(rng.random(shape) < 0.5, whole, small))
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)
    if special:
        odd = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-7], shape)
        values = np.where(rng.random(shape) < 0.25, odd, values)
    return np.asarray(values).astype(numpy_dtype(dtype))


def scalars(dtype: str) -> list[Any]:
    """Python scalars that a dtype represents exactly, for ``fill`` and for a scalar ``src``."""
    if dtype == "bool":
        return [False, True]
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return [0, 3, int(info.max), int(info.min)]
    return [0, 1.5, -2.0, float("nan"), float("inf")]


def _draw_index(draw: Draw, g: Geometry, dtype: str, bounds: str, negative: bool) -> tuple[Array, str]:
    """The index, and the policy: changed where no value would be valid and that is not what ``bounds`` is about."""
    palettes = [index_palette(g.data[a], w, dtype, negative) for a, w in map(g.map.indexed, range(g.map.components))]
    index = np.zeros(g.index, dtype)
    points = int(np.prod(g.map.points_shape(g.index)))
    hopeless = index.size > 0 and any(not good for good, _ in palettes)
    if hopeless and (bounds != "raise" or points == 0):
        bounds = "fill"
    ugly = bounds in ("clip", "wrap", "fill") or (bounds == "raise" and points > 0 and draw(st.booleans()))
    # Where an index decides, draws of 0 shrink to the first valid index.
    picks = draw(st.lists(st.integers(0, 255), min_size=index.size, max_size=index.size))
    for position, pick in zip(np.ndindex(*g.index), picks, strict=True):
        good, bad = palettes[0 if g.map.vector_axis is None else position[g.map.vector_axis]]
        spoiled = bad and ugly and pick >= (225 if bounds == "raise" else 128)
        choice = bad if spoiled or not good else good
        index[position] = choice[pick % len(choice)]
    return index, bounds


@st.composite
def cases(draw: Draw, op: str) -> Case:
    """Calls of one operator."""
    g = GEOMETRY[op](draw)
    data_dtype = draw(st.sampled_from(DTYPES))
    index_dtype = draw(st.sampled_from(INDEX_DTYPES))
    negative = draw(st.sampled_from((True, True, False)))
    index, bounds = _draw_index(draw, g, index_dtype, draw(st.sampled_from(("raise", *oracle.BOUNDS))), negative)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    special = draw(st.integers(0, 3)) == 3
    options: dict[str, Any] = {}
    if op in SCATTERS:
        options["reduction"] = draw(st.sampled_from(oracle.reductions_of(data_dtype)))
        options["include_self"] = draw(st.sampled_from((True, True, False)))
        if draw(st.integers(0, 9)) == 9:
            options["src"] = draw(st.sampled_from(scalars(data_dtype)))
        else:
            options["src"] = random_data(rng, g.map.points_shape(g.index), data_dtype, special)
        options["unique"] = draw(st.booleans()) and _distinct(g, index, bounds, negative)
    else:
        options["fill"] = draw(st.sampled_from(scalars(data_dtype)))
    roots = [("data", a) for a in range(len(g.data))]
    roots += [("index", j) for j in range(len(g.index)) if j != g.map.vector_axis and j not in g.tied]
    named = draw(st.sampled_from(("none", "none", "none", "all", "some")))
    symbols = [r for r in roots if named == "all" or (named == "some" and draw(st.booleans()))]
    return Case(
        op=op,
        args=g.args,
        map=g.map,
        data_dtype=data_dtype,
        index_dtype=index_dtype,
        data=random_data(rng, g.data, data_dtype, special),
        index=index,
        bounds=bounds,
        negative=negative,
        symbols=frozenset(symbols),
        tied=g.tied,
        **options,
    )


def _distinct(g: Geometry, index: Array, bounds: str, negative: bool) -> bool:
    try:
        return oracle.distinct(g.data, index, g.map, bounds, negative)
    except oracle.OracleIndexError:
        return False
