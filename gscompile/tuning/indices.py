"""Arrays to measure on: indices of a distribution, or given ones, always in range; other inputs are drawn at random."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gscompile.bench.workload import Draw, all_equal, ascending, blocked, numpy_dtype, permuted, runs, uniform, zipf
from gscompile.errors import ArgumentError, GSError, missing_extra
from gscompile.ir.addressing import Addressing
from gscompile.ir.bounds import Bounds
from gscompile.ir.dims import Dim, dim_min, evaluate, shape_str
from gscompile.ir.graph import Graph, Value
from gscompile.ir.ops.leaf import Input
from gscompile.ir.ops.movement import Cast, RunNumbers
from gscompile.ir.ops.reduce import SegmentArg, SegmentReduce

Spec: TypeAlias = Any
"""A distribution's name, an array, or the path of a file with one."""

PLAIN: Mapping[str, Draw] = {
    "uniform": uniform,
    "sorted": ascending(uniform),
    "permutation": permuted,
    "constant": all_equal,
}
WITH_NUMBER = {"zipf": (zipf, float), "blocked": (blocked, int), "runs": (runs, int)}
KNOWN = (*PLAIN, "zipf:1.1", "blocked:64", "runs:32")


def draw_of(spec: str) -> Draw:
    """The draw of a distribution's name, as ``zipf:1.1``.

    Raises:
        ArgumentError: there is no such distribution, or its number is not positive.
    """
    name, colon, number = spec.partition(":")
    if not colon and name in PLAIN:
        return PLAIN[name]
    if name in WITH_NUMBER:
        make, kind = WITH_NUMBER[name]
        try:
            given = kind(number)
        except ValueError:
            given = 0
        if 0 < given < 10**9:
            return make(given)
    raise ArgumentError(f"indices: there is no distribution {spec!r}; known: {', '.join(KNOWN)}")


@dataclass(frozen=True, slots=True)
class IndexInput:
    """An input that indexes others.

    Attributes:
        value: the input.
        limits: of each component of its index vectors, how many values are valid, from 0 on.
        axis: that the vectors lie along; None where its elements are indices by themselves.
        offsets: they are where runs of rows begin and end, and ascend from 0 to the limit.
        any: out of range is fine, too.
    """

    value: Value
    limits: tuple[Dim, ...]
    axis: int | None = None
    offsets: bool = False
    any: bool = False


def index_inputs(graph: Graph) -> dict[str, IndexInput]:
    """The inputs that index others, as they are or moved, by name."""
    found: dict[str, IndexInput] = {}
    for v in graph.values:
        if isinstance(v.op, (SegmentReduce, SegmentArg)):
            for source in _inputs(v.args[1], computed=True):
                found[source.name] = IndexInput(source, (v.args[0].shape[0],), offsets=True)
        if isinstance(v.op, RunNumbers):
            for source in _inputs(v.args[1], computed=True):
                found[source.name] = IndexInput(source, v.shape, offsets=True)
        a = v.op.indexing
        if a is None:
            continue
        data, index = v.args[0], v.args[1]
        limits = tuple(data.shape[axis] - a.map.slice_size(axis) + 1 for axis in a.map.indexed_axes)
        for source in _inputs(index):
            found[source.name] = _met(found.get(source.name), _of(a, source, index, limits))
    return {v.name: found[v.name] for v in graph.inputs if v.name in found}


def _of(a: Addressing, source: Value, index: Value, limits: tuple[Dim, ...]) -> IndexInput:
    anything = a.bounds in (Bounds.CLIP, Bounds.WRAP, Bounds.FILL)
    if source.shape == index.shape and a.map.vector_axis is not None:
        return IndexInput(source, limits, a.map.vector_axis, any=anything)
    return IndexInput(source, limits if len(limits) == 1 else (_least(*limits),), any=anything)


def _met(one: IndexInput | None, other: IndexInput) -> IndexInput:
    """What is in range of both."""
    if one is None:
        return other
    if (len(one.limits), one.axis) == (len(other.limits), other.axis):
        limits = tuple(map(_least, one.limits, other.limits))
        return IndexInput(one.value, limits, one.axis, one.offsets or other.offsets, one.any and other.any)
    return IndexInput(one.value, (_least(*one.limits, *other.limits),), any=one.any and other.any)


def _least(*dims: Dim) -> Dim:
    least = dims[0]
    for d in dims[1:]:
        least = dim_min(least, d)
    return least


def _inputs(index: Value, computed: bool = False) -> list[Value]:
    """The inputs whose elements a value has as they are, or cast; those too that it is computed from, if ``computed``."""
    found, stack, seen = [], [index], set()
    while stack:
        v = stack.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        if isinstance(v.op, Input):
            found.append(v)
        stack += [x for k, x in enumerate(v.args) if computed or v.op.moves(k) or isinstance(v.op, Cast)]
    return found


def specs_of(graph: Graph, indices: Any) -> dict[str, Spec]:
    """What was given for each index input: a distribution's name or an array.

    Args:
        indices: nothing, a distribution for all of them, or by name of an input a distribution, an array, or a file.

    Raises:
        ArgumentError: an input is none that indexes, or there is no such distribution or file.
    """
    known = index_inputs(graph)
    if indices is None or isinstance(indices, str):
        given: Mapping[str, Spec] = dict.fromkeys(known, indices or "uniform")
    elif isinstance(indices, Mapping):
        given = indices
    else:
        raise ArgumentError(f"indices: a distribution, or a dict by name of an input; got {type(indices).__name__}")
    if unknown := [n for n in given if n not in known]:
        there = f"there are {', '.join(known)}" if known else "there is none"
        raise ArgumentError(f"indices: no input {unknown[0]!r} of {graph.name} indexes another; {there}")
    return {name: _spec(name, given.get(name, "uniform")) for name in known}


def _spec(name: str, spec: Spec) -> Spec:
    if isinstance(spec, (str, Path)):
        if Path(str(spec).rpartition(":")[0] or str(spec)).suffix in READERS or Path(spec).suffix in READERS:
            return read_array(str(spec))
        draw_of(str(spec))
        return str(spec)
    try:
        array = np.asarray(spec)
    except Exception as e:  # another library's
        raise ArgumentError(f"indices: {name}: no array: {e}") from None
    if array.dtype.kind not in "iu":
        raise ArgumentError(f"indices: {name}: an array of integers or a distribution is needed; got {array.dtype}")
    return array


def read_array(text: str) -> Any:
    """The integers of ``FILE.npy``, ``FILE.npz:NAME`` or ``FILE.parquet:COLUMN``.

    Raises:
        ArgumentError: there is no such file, or no integers in it.  MissingExtraError: a .parquet, without pyarrow.
    """
    path, part = (text, "") if Path(text).suffix in READERS else (text.rpartition(":")[0], text.rpartition(":")[2])
    try:
        array = READERS[Path(path).suffix](path, part)
    except GSError:
        raise
    except Exception as e:  # another library's
        why = (e.strerror if isinstance(e, OSError) else None) or str(e).strip("\"'").partition("\n")[0]
        raise ArgumentError(f"indices: {text}: cannot be read: {why}") from None
    if array.dtype.kind not in "iu":
        raise ArgumentError(f"indices: {text}: has {array.dtype}, and indices are integers")
    return array


def _npz(path: str, part: str) -> Any:
    with np.load(path, allow_pickle=False) as file:
        return file[_of_several(part, file.files, "array")]


def _parquet(path: str, part: str) -> Any:
    try:
        from pyarrow import parquet
    except ImportError as e:
        raise missing_extra("pyarrow", "parquet", "a column of a .parquet file") from e
    file = parquet.ParquetFile(path)
    column = file.read([_of_several(part, file.schema_arrow.names, "column")]).column(0)
    if column.null_count:
        raise ValueError(f"{column.null_count} of {len(column)} rows have no value")
    return column.to_numpy()


def _of_several(part: str, names: Sequence[str], what: str) -> str:
    """The one that was named; the only one, if none was."""
    if part in names or (not part and len(names) == 1):
        return part or names[0]
    raise ValueError(
        f"it has the {what}s {', '.join(names)}: FILE:{what.upper()} says which" if names else f"no {what}"
    )


READERS = {".npy": lambda path, part: np.load(path, allow_pickle=False), ".npz": _npz, ".parquet": _parquet}


def text_of(spec: Spec) -> str:
    """How records name what was given."""
    if isinstance(spec, str):
        return spec
    return f"array:{hashlib.sha256(np.ascontiguousarray(spec).tobytes()).hexdigest()[:12]}"


def sizes_of(graph: Graph, sizes: Mapping[str, int] | None, specs: Mapping[str, Spec]) -> dict[str, int]:
    """A number for each symbolic size: given, or the extent of an array that was given.

    Raises:
        ArgumentError: one is missing, is no size, or is not one of the graph's.
    """
    found: dict[str, int] = {}
    for name, spec in specs.items():
        value = next(v for v in graph.inputs if v.name == name)
        if not isinstance(spec, str) and spec.ndim == value.rank:
            found |= {str(d): n for d, n in zip(value.shape, spec.shape, strict=True) if str(d) in graph.symbols}
    found |= sizes or {}
    symbols = list(graph.symbols)
    if unknown := [n for n in found if n not in symbols]:
        raise ArgumentError(f"sizes: {graph.name} has no size {unknown[0]!r}; it has {', '.join(symbols) or 'none'}")
    if wrong := [n for n, x in found.items() if type(x) is not int or x < 0]:
        raise ArgumentError(f"sizes: {wrong[0]} is an int that is not negative; got {found[wrong[0]]!r}")
    if missing := [n for n in symbols if n not in found]:
        how = " ".join(f"--size {n}=1000" for n in missing)
        given = ", ".join(f'"{n}": 1000' for n in missing)
        raise ArgumentError(
            f"sizes: {graph.name} needs a number for {', '.join(missing)}, as {how}, or in Python sizes={{{given}}}"
        )
    return found


def arrays(graph: Graph, specs: Mapping[str, Spec], sizes: Mapping[str, int], seed: int = 0) -> list[Any]:
    """An array for each input.

    Raises:
        ArgumentError: an array that was given has another shape, or values that are out of range.
    """
    rng, known = np.random.default_rng(seed), index_inputs(graph)
    found = []
    for v in graph.inputs:
        shape = tuple(evaluate(d, sizes) for d in v.shape)
        dtype = numpy_dtype(v.dtype.name)
        if v.name in known:
            found.append(_indices(known[v.name], specs[v.name], shape, sizes, rng).astype(dtype))
        else:
            found.append(_data(rng, shape, dtype))
    return found


def _indices(
    index: IndexInput, spec: Spec, shape: tuple[int, ...], sizes: Mapping[str, int], rng: np.random.Generator
) -> Any:
    limits = [evaluate(n, sizes) for n in index.limits]
    if not isinstance(spec, str):
        return _given(index, spec, shape, limits)
    if index.offsets:
        inner = np.sort(rng.integers(0, limits[0] + 1, max(shape[0] - 2, 0)))
        return np.concatenate([[0], inner, [limits[0]]])[: shape[0]] if shape[0] > 1 else np.zeros(shape, int)
    if math.prod(shape) == 0:
        return np.zeros(shape, int)
    if min(limits) < 1:
        raise ArgumentError(f"indices: {index.value.name} indexes an axis without a valid position")
    draw = draw_of(spec)
    if index.axis is None:
        return draw(rng, limits[0], shape)
    # vectors are drawn as one number, so that sorted ones are sorted as vectors
    grid = (*shape[: index.axis], *shape[index.axis + 1 :])
    return np.stack(np.unravel_index(draw(rng, math.prod(limits), grid), limits), index.axis)


def _given(index: IndexInput, array: Any, shape: tuple[int, ...], limits: list[int]) -> Any:
    name = index.value.name
    if array.shape != shape:
        raise ArgumentError(
            f"indices: {name} has the shape {shape_str(shape)}; got an array of {shape_str(array.shape)}"
        )
    if array.size and not index.any:
        parts = [array] if index.axis is None else np.moveaxis(array, index.axis, 0)
        for part, limit in zip(parts, limits, strict=False):
            low, high = int(part.min()), int(part.max())
            if low < -limit or high >= limit + index.offsets:
                raise ArgumentError(f"indices: {name}: values from {low} to {high}, for an axis of {limit}")
    return array


def _data(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers that are drawn once and repeated where there are many: drawing takes longer than all else."""
    count = math.prod(shape)
    block: Any = rng.standard_normal(min(count, 1_000_003), np.float32)
    if dtype.kind in "iub":
        block = np.abs(block * 25) if dtype.kind == "u" else block * 25 if dtype.kind == "i" else block > 0
    return np.resize(block.astype(dtype), shape) if count else np.empty(shape, dtype)
