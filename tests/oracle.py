"""The reference: plain Python loops over the formula, sharing nothing with the implementation.

    gather:   points[p] = data[map(p)]
    scatter:  out = data;  for p in row-major order:  out[map(p)] = reduce(out[map(p)], src[p])

NumPy serves only as storage and for the arithmetic of one scalar at a time.  A map is data, see :class:`Map`.  Index
values are Python integers from the moment they are read, so no index dtype can overflow here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

BOUNDS = ("raise", "clip", "wrap", "fill", "trust")
# those whose results are compared bit for bit; logaddexp's are not
REDUCTIONS = ("update", "add", "sub", "mul", "min", "max", "mean", "and", "or", "xor")
_KINDS = {"sub": "fciu", "mean": "fciu", "and": "iub", "or": "iub", "xor": "iub"}

Coords = tuple[int, ...]
Array = np.ndarray[Any, Any]


class OracleIndexError(IndexError):
    """An index is out of range under ``raise``, or an axis has no valid index at all under ``clip`` and ``wrap``."""

    def __init__(self, position: Coords, value: int, valid: tuple[int, int] | None) -> None:
        super().__init__(f"index {value} at {position}, valid {valid}")
        self.position = position
        self.value = value
        self.valid = valid


@dataclass(frozen=True)
class Map:
    """Where each axis of data takes its coordinate from, and how the points lie.

    Attributes:
        sources: per axis of data one of ``("indexed", k, window or None)``, ``("shared", j)``, ``("window", w)`` and
            ``("fixed",)``; j counts the index tensor's axes, its vector axis included.
        vector_axis: the axis of the index tensor that holds the vector's components, not negative; None for a scalar.
        windows: the extent of each window coordinate.
        layout: per axis of the points ``("index", j)`` or ``("window", w)``.
    """

    sources: tuple[tuple[Any, ...], ...]
    vector_axis: int | None
    windows: tuple[int, ...]
    layout: tuple[tuple[str, int], ...]

    @property
    def components(self) -> int:
        """Length of the index vector."""
        return sum(s[0] == "indexed" for s in self.sources)

    def indexed(self, component: int) -> tuple[int, int]:
        """The axis of data that a component indexes, and how many elements a slice takes there."""
        for axis, source in enumerate(self.sources):
            if source[0] == "indexed" and source[1] == component:
                return axis, 1 if source[2] is None else self.windows[source[2]]
        raise AssertionError(f"no axis is indexed by component {component}")

    def points_shape(self, index_shape: Sequence[int]) -> Coords:
        """The shape of gather's result and of scatter's src."""
        return tuple(index_shape[n] if kind == "index" else self.windows[n] for kind, n in self.layout)


# -- the maps of the operators ----------------------------------------------------------------------------------------


def element_map(data_shape: Sequence[int], index_shape: Sequence[int], dim: int) -> Map:
    """gather(dim): axis ``dim`` comes from the index, every other axis is shared."""
    rank = len(data_shape)
    assert len(index_shape) == rank
    dim %= rank
    sources = tuple(("indexed", 0, None) if a == dim else ("shared", a) for a in range(rank))
    return Map(sources, None, (), tuple(("index", a) for a in range(rank)))


def dims_map(data_shape: Sequence[int], index_shape: Sequence[int], dims: Sequence[int]) -> Map:
    """CINN's gather_nd(dims): the axes in ``dims`` come from the index vector, every other axis is shared."""
    rank = len(data_shape)
    assert len(index_shape) == rank + 1 and index_shape[-1] == len(dims)
    named = [d % rank for d in dims] if rank else []
    sources: list[tuple[Any, ...]] = []
    for a in range(rank):
        sources.append(("indexed", named.index(a), None) if a in named else ("shared", a))
    return Map(tuple(sources), rank, (), tuple(("index", a) for a in range(rank)))


def nd_map(data_shape: Sequence[int], index_shape: Sequence[int], batch_dims: int = 0, vector_axis: int = -1) -> Map:
    """gather_nd: ``batch_dims`` axes shared, as many indexed as the vector is long, the rest windows."""
    vector_axis %= len(index_shape)
    m = index_shape[vector_axis]
    grid = [j for j in range(len(index_shape)) if j != vector_axis]
    sources: list[tuple[Any, ...]] = []
    windows: list[int] = []
    for a, extent in enumerate(data_shape):
        if a < batch_dims:
            sources.append(("shared", grid[a]))
        elif a < batch_dims + m:
            sources.append(("indexed", a - batch_dims, None))
        else:
            sources.append(("window", len(windows)))
            windows.append(extent)
    layout = [("index", j) for j in grid] + [("window", w) for w in range(len(windows))]
    return Map(tuple(sources), vector_axis, tuple(windows), tuple(layout))


def take_map(data_shape: Sequence[int], index_shape: Sequence[int], axis: int, batch_dims: int = 0) -> Map:
    """take: ``batch_dims`` axes shared, ``axis`` indexed, the rest windows; the other index axes stand at ``axis``."""
    axis %= len(data_shape)
    batch_dims = batch_dims + len(index_shape) if batch_dims < 0 else batch_dims
    sources: list[tuple[Any, ...]] = []
    windows: list[int] = []
    layout: list[tuple[str, int]] = []
    for a, extent in enumerate(data_shape):
        if a < batch_dims:
            sources.append(("shared", a))
            layout.append(("index", a))
        elif a == axis:
            sources.append(("indexed", 0, None))
            layout += [("index", j) for j in range(batch_dims, len(index_shape))]
        else:
            sources.append(("window", len(windows)))
            layout.append(("window", len(windows)))
            windows.append(extent)
    return Map(tuple(sources), None, tuple(windows), tuple(layout))


def xla_map(
    data_shape: Sequence[int],
    index_shape: Sequence[int],
    *,
    offset_dims: Sequence[int],
    collapsed: Sequence[int],
    start_index_map: Sequence[int],
    slice_sizes: Sequence[int],
    data_batching: Sequence[int] = (),
    index_batching: Sequence[int] = (),
) -> Map:
    """XLA's dimension numbers, the index vector on the last axis (``jax.lax.gather``)."""
    vector_axis = len(index_shape) - 1
    sources: list[tuple[Any, ...]] = []
    windows: list[int] = []
    for a in range(len(data_shape)):
        window: int | None = None
        if a not in collapsed and a not in data_batching:
            window = len(windows)
            windows.append(slice_sizes[a])
        if a in start_index_map:
            sources.append(("indexed", list(start_index_map).index(a), window))
        elif a in data_batching:
            sources.append(("shared", index_batching[list(data_batching).index(a)]))
        elif window is not None:
            sources.append(("window", window))
        else:
            sources.append(("fixed",))
    layout: list[tuple[str, int]] = []
    grid = iter(range(vector_axis))
    offset = iter(range(len(windows)))
    for o in range(vector_axis + len(windows)):
        layout.append(("window", next(offset)) if o in offset_dims else ("index", next(grid)))
    return Map(tuple(sources), vector_axis, tuple(windows), tuple(layout))


# -- reading the index ------------------------------------------------------------------------------------------------


def valid_range(extent: int, window: int, negative: bool) -> tuple[int, int] | None:
    """The smallest and the largest value that ``raise`` lets pass; None where there is none.

    With a window not every value between them passes: those from ``1 - window`` to -1 do not.
    """
    last = extent - window
    return None if last < 0 else (-extent if negative else 0, last)


def start_of(value: int, extent: int, window: int, bounds: str, negative: bool) -> int | None:
    """The start that an index value means on an axis; None where it is out of range under ``raise`` or ``fill``.

    ``wrap`` is the floor modulo of the value as it stands; every other policy first adds the extent to a negative
    value, once.  ``clip`` and ``wrap`` give None where no start is valid.
    """
    count = extent - window + 1
    if bounds == "wrap":
        return value % count if count > 0 else None
    if negative and value < 0:
        value += extent
    if bounds == "clip":
        return min(max(value, 0), count - 1) if count > 0 else None
    return value if 0 <= value < count else None


def all_starts(
    data_shape: Sequence[int], index: Array, map: Map, bounds: str, negative: bool
) -> dict[Coords, int | None]:
    """The start that each element of the index means, by its position, in row-major order of the index.

    Every element is looked at, whether or not a point reads it.
    """
    starts: dict[Coords, int | None] = {}
    for position in np.ndindex(*index.shape):
        component = 0 if map.vector_axis is None else position[map.vector_axis]
        axis, window = map.indexed(component)
        value = int(index[position])
        start = start_of(value, data_shape[axis], window, bounds, negative)
        if start is None and bounds != "fill":
            if bounds == "trust":
                raise AssertionError(f"index {value} at {position} breaks the promise of bounds='trust'")
            raise OracleIndexError(
                position, value, valid_range(data_shape[axis], window, negative and index.dtype.kind == "i")
            )
        starts[position] = start
    return starts


def cells(
    data_shape: Sequence[int], index: Array, map: Map, bounds: str = "raise", negative: bool = True
) -> Iterator[tuple[Coords, Coords | None]]:
    """Each point, in row-major order, and its cell of data; None where ``fill`` applies."""
    starts = all_starts(data_shape, index, map, bounds, negative)
    for point in np.ndindex(*map.points_shape(index.shape)):
        at = dict(zip(map.layout, point, strict=True))
        vector: list[int | None] = []
        for k in range(map.components):
            position = tuple(k if j == map.vector_axis else at["index", j] for j in range(index.ndim))
            vector.append(starts[position])
        if None in vector:
            yield point, None
            continue
        cell: list[int] = []
        for source in map.sources:
            if source[0] == "indexed":
                start = vector[source[1]]
                assert start is not None
                cell.append(start if source[2] is None else start + at["window", source[2]])
            elif source[0] == "shared":
                cell.append(at["index", source[1]])
            elif source[0] == "window":
                cell.append(at["window", source[1]])
            else:
                cell.append(0)
        yield point, tuple(cell)


def distinct(data_shape: Sequence[int], index: Array, map: Map, bounds: str, negative: bool) -> bool:
    """Whether no two points meet in one cell."""
    hit = [cell for _, cell in cells(data_shape, index, map, bounds, negative) if cell is not None]
    return len(hit) == len(set(hit))


# -- the operators ----------------------------------------------------------------------------------------------------


def gather_ref(
    data: Array, index: Array, map: Map, bounds: str = "raise", negative: bool = True, fill: Any = 0
) -> Array:
    """``points[p] = data[map(p)]``."""
    out = np.zeros(map.points_shape(index.shape), data.dtype)
    for point, cell in cells(data.shape, index, map, bounds, negative):
        out[point] = fill if cell is None else data[cell]
    return out


def scatter_ref(
    data: Array,
    index: Array,
    src: Any,
    map: Map,
    reduction: str = "update",
    include_self: bool = True,
    bounds: str = "raise",
    negative: bool = True,
) -> Array:
    """``out = data; for p in row-major order: out[map(p)] = reduce(out[map(p)], src[p])``; data is left alone.

    ``src`` is an array of the points' shape, or a scalar.
    """
    assert reduction in (*REDUCTIONS, "logaddexp")
    shape = map.points_shape(index.shape)
    if isinstance(src, np.ndarray) and src.ndim == len(shape):
        assert src.shape == shape, f"src has shape {src.shape}, the points {shape}"
    else:
        src = np.full(shape, src, data.dtype)
    out = data.copy()
    arrived: dict[Coords, list[Any]] = {}
    for point, cell in cells(data.shape, index, map, bounds, negative):
        if cell is not None:
            arrived.setdefault(cell, []).append(src[point])
    for cell, values in arrived.items():
        if reduction == "update":
            out[cell] = values[-1]
        else:
            out[cell] = reduce_cell(reduction, data.dtype, [data[cell], *values] if include_self else values)
    return out


def scan_ref(
    x: Array, axis: int, reduction: str, dtype: Any = None, exclusive: bool = False, reverse: bool = False
) -> Array:
    """``out[.., k, ..]``: the elements up to k reduced with ``add`` or ``mul``, in NumPy's result dtype or another."""
    if dtype is None and x.dtype.kind in "iub":
        dtype = "uint64" if x.dtype.kind == "u" else "int64"
    x = x.astype(x.dtype if dtype is None else dtype).reshape(x.shape or (1,))
    out = np.empty_like(x)
    lines, results = (np.moveaxis(a, axis, -1) for a in (x, out))
    for row in np.ndindex(lines.shape[:-1]):
        values = list(lines[row])
        for k in range(len(values)):
            taken = values[k + exclusive :][::-1] if reverse else values[: k + (not exclusive)]
            nothing = 0 if reduction == "add" else 1
            results[(*row, k)] = reduce_cell(reduction, x.dtype, taken) if taken else nothing
    return out


def reductions_of(dtype: str) -> list[str]:
    """Those that are defined for a dtype."""
    kind = "f" if "float" in dtype else dtype[0]
    return [r for r in REDUCTIONS if kind in _KINDS.get(r, "fciub")]


def reduce_cell(reduction: str, dtype: np.dtype[Any], values: Sequence[Any]) -> Any:
    """Values of one dtype reduced from left to right; the result is a value of that dtype."""
    if dtype == np.bool_:
        return _reduce_bool(reduction, [bool(v) for v in values])
    if dtype.kind in "iu":
        return _reduce_integer(reduction, dtype, [int(v) for v in values])
    return (_reduce_complex if dtype.kind == "c" else _reduce_float)(reduction, dtype, values)


def _reduce_bool(reduction: str, values: Sequence[bool]) -> bool:
    if reduction in ("add", "max", "or"):
        return any(values)
    if reduction == "xor":
        return sum(values) % 2 == 1
    assert reduction in ("mul", "min", "and"), f"{reduction} of bool is an error"
    return all(values)


def _reduce_integer(reduction: str, dtype: np.dtype[Any], values: Sequence[int]) -> int:
    total = values[0]
    for v in values[1:]:
        if reduction in ("add", "mean"):
            total = total + v
        elif reduction == "sub":
            total = total - v
        elif reduction == "mul":
            total = total * v
        elif reduction in ("and", "or", "xor"):
            total = total & v if reduction == "and" else total | v if reduction == "or" else total ^ v
        else:
            total = min(total, v) if reduction == "min" else max(total, v)
    bits = 8 * dtype.itemsize
    total %= 1 << bits
    if dtype.kind == "i" and total >= 1 << (bits - 1):
        total -= 1 << bits
    return total // len(values) if reduction == "mean" else total


def _reduce_float(reduction: str, dtype: np.dtype[Any], values: Sequence[Any]) -> Any:
    wide = np.float32 if dtype.itemsize == 2 else dtype.type
    with np.errstate(all="ignore"):
        total = wide(values[0])
        for value in values[1:]:
            v = wide(value)
            if reduction in ("add", "mean"):
                total = total + v
            elif reduction == "sub":
                total = total - v
            elif reduction == "mul":
                total = total * v
            elif reduction == "logaddexp":
                total = np.logaddexp(total, v)
            elif total == total:  # not yet NaN
                less = v < total
                if v != v or (less if reduction == "min" else v > total):
                    total = v
        if reduction == "mean":
            total = total / wide(len(values))
        return dtype.type(total)


def _reduce_complex(reduction: str, dtype: np.dtype[Any], values: Sequence[Any]) -> Any:
    """Parts are numbers of half the width; an order goes by the real part, then by the imaginary one, a NaN before all."""
    part = np.dtype(f"f{dtype.itemsize // 2}").type

    def nan(z: tuple[Any, Any]) -> bool:
        return bool(z[0] != z[0] or z[1] != z[1])

    a, b = part(values[0].real), part(values[0].imag)
    with np.errstate(all="ignore"):
        for value in values[1:]:
            c, d = part(value.real), part(value.imag)
            if reduction in ("add", "mean"):
                a, b = a + c, b + d
            elif reduction == "sub":
                a, b = a - c, b - d
            elif reduction == "mul":
                a, b = a * c - b * d, a * d + b * c
            elif not nan((a, b)):
                stays = (a, b) <= (c, d) if reduction == "min" else (a, b) >= (c, d)
                if nan((c, d)) or not stays:
                    a, b = c, d
        if reduction == "mean":
            a, b = a / part(len(values)), b / part(len(values))
    out = np.empty((), dtype)
    out.real, out.imag = a, b
    return out[()]


# -- comparing --------------------------------------------------------------------------------------------------------


def _alike(got: Array, want: Array) -> tuple[Array, Array]:
    """Both as arrays, of equal shape and dtype."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"dtype {got.dtype}, expected {want.dtype}"
    return got, want


def _all_same(same: Any, got: Array, want: Array) -> None:
    """Every element is; else how many are not, and the first of them."""
    if not np.all(same):
        bad = tuple(int(c) for c in np.argwhere(~np.asarray(same))[0])
        count = int(np.sum(~same))
        raise AssertionError(f"{count} of {got.size} differ, first at {bad}: {got[bad]!r}, expected {want[bad]!r}")


def assert_same(got: Array, want: Array, *, signed_zero: bool = True) -> None:
    """Equal shape, dtype and bits; a NaN equals any NaN, and 0.0 equals -0.0 unless ``signed_zero``."""
    got, want = _alike(got, want)
    if got.dtype.kind == "c":
        got, want = (np.stack([x.real, x.imag], -1) for x in (got, want))
    if got.dtype.kind in "biu":
        same = got == want
    else:
        same = (got == want) | ((got != got) & (want != want))
        if signed_zero:
            same &= (np.signbit(got) == np.signbit(want)) | (want != want)
    _all_same(same, got, want)


def assert_same_folds(got: Array, want: Array, magnitude: Array) -> None:
    """As floats are folded in any order: what is finite differs by a few roundings of float32, or of float64, and of the dtype.

    Args:
        magnitude: by cell, the same fold of absolute values, in float64.
    """
    got, want = _alike(got, want)
    exact, by = want.astype("f8"), magnitude
    step = np.finfo("f8" if want.dtype.itemsize == 8 else "f4").eps
    last = {1: 2.0**-2, 2: 2.0**-7 if want.dtype.name == "bfloat16" else 2.0**-10}.get(want.dtype.itemsize, step)
    with np.errstate(invalid="ignore"):
        same = (
            (exact == got)
            | (np.isnan(exact) & np.isnan(got))
            | (np.isfinite(exact) & (np.abs(got.astype("f8") - exact) <= by * 64 * step + np.abs(exact) * last))
        )
    _all_same(same, got, want)
