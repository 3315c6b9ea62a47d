"""Workloads drawn from the space of real use, reproducibly: ``gscompile bench --sample N --seed S``.

A workload is drawn as a *description*, a dict that JSON can hold: the kind's function in :mod:`gscompile.bench.kinds`, its
arguments, the distribution of the indices, dtypes, whether sizes are symbolic.  ``--json`` saves it with its row, and ``--rows``
measures saved ones again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gscompile.bench import kinds
from gscompile.bench.workload import (
    Draw,
    Workload,
    all_equal,
    ascending,
    blocked,
    permuted,
    skewed,
    sorted_runs,
    uniform,
)
from gscompile.errors import ArgumentError

Description: TypeAlias = dict[str, Any]
Rng: TypeAlias = np.random.Generator

LEAST_BYTES, MOST_BYTES = 4 << 10, 256 << 20  # that move
INDEX_BYTES = 8  # of an index; what the indices are together is at most MOST_BYTES, too
WIDTHS = (1, 2, 3, 5, 7, 12, 20, 37, 50, 100, 300, *(1 << k for k in range(12)))  # elements of a row or slice
DTYPES = {
    "float32": 6,
    "float64": 2,
    "float16": 2,
    "bfloat16": 2,
    "int8": 2,
    "int16": 1,
    "int32": 2,
    "int64": 2,
    "uint8": 1,
}
DRAWS: dict[str, Draw] = {
    "uniform": uniform,
    "zipf": skewed,
    "sorted": ascending(uniform),
    "sorted in long runs": sorted_runs,
    "constant": all_equal,
    "permutation": permuted,
    "blocked": blocked(16),
}
REDUCTIONS = ("update", "add", "add", "max", "min", "mul", "mean")


# -- drawing


def draw(count: int, seed: int, least: int = LEAST_BYTES, most: int = MOST_BYTES) -> list[Description]:
    """``count`` descriptions; the first n of a seed are the same whatever the count.

    Args:
        least, most: bytes that move.
    """
    return [_one(np.random.default_rng([seed, k]), seed, k, least, most) for k in range(count)]


def _one(rng: Rng, seed: int, k: int, least: int, most: int) -> Description:
    kind = _pick(rng, list(SHAPES))
    dtype = _pick(rng, list(DTYPES), list(DTYPES.values()))
    if kind == "embedding_bag" and dtype == "uint8":
        dtype = "int8"  # libraries disagree about the dtype of a sum of unsigned numbers
    distribution = _pick(rng, list(DRAWS))
    found = SHAPES[kind](rng, _log(rng, least, most), np.dtype("uint16" if dtype == "bfloat16" else dtype).itemsize)
    reduction = found.get("reduction")
    if reduction == "update":
        distribution = "permutation"  # of duplicates, most peers leave open which one stays
    if reduction == "mean" and not dtype.startswith(("float", "bfloat")):
        found["reduction"] = "add"
    symbolic = bool(rng.random() < 0.5)
    words = [kind, found.get("reduction", ""), dtype, distribution, "symbolic" if symbolic else ""]
    sizes = " ".join(
        f"{n}={'x'.join(map(str, v)) if isinstance(v, tuple) else v}" for n, v in found.items() if n != "reduction"
    )
    return {
        "kind": kind,
        "name": f"{seed}.{k} {' '.join(filter(None, words))} {sizes}",
        "arguments": found,
        "draw": distribution,
        "dtype": dtype,
        "index_dtype": _pick(rng, ["int32", "int64"]),
        "symbolic": symbolic,
    }


def _pick(rng: Rng, of: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
    p = None if weights is None else np.array(weights) / sum(weights)
    return of[int(rng.choice(len(of), p=p))]


def _log(rng: Rng, low: float, high: float) -> int:
    """Log-uniform in [low, high]."""
    return max(1, round(math.exp(rng.uniform(math.log(max(low, 1)), math.log(max(high, low, 1))))))


def _table(rng: Rng, points: int, cell: int) -> int:
    """How many rows of ``cell`` bytes there are to pick from, for so many points."""
    return min(_log(rng, max(points / 16, 1), points * 16), max(1, MOST_BYTES // cell))


def _rows(rng: Rng, moved: int, itemsize: int) -> tuple[int, int, int]:
    """(rows of a table, width, points) where so many bytes are read and as many written."""
    width = min(_pick(rng, WIDTHS), max(1, moved // (2 * itemsize)))
    points = min(max(1, moved // (2 * width * itemsize)), MOST_BYTES // INDEX_BYTES)
    return _table(rng, points, width * itemsize), width, points


def _take(rng: Rng, moved: int, itemsize: int) -> Description:
    rows, width, points = _rows(rng, moved, itemsize)
    where = _pick(rng, ["rows", "rows", "axis", "batch"])
    if where == "rows":
        return {"data": (rows, width), "index": (points,), "axis": 0}
    outer = _log(rng, 1, points)
    rows, points = max(1, rows // outer), max(1, points // outer)
    if where == "batch":
        return {"data": (outer, rows, width), "index": (outer, points), "axis": 1, "batch_dims": 1}
    return {"data": (outer, rows, width)[: 3 if width > 1 else 2], "index": (points,), "axis": 1}


def _gather(rng: Rng, moved: int, itemsize: int) -> Description:
    points = max(1, moved // (2 * itemsize + INDEX_BYTES))
    rank = int(rng.integers(1, 4))
    shape, left = [], points
    for k in range(rank):
        shape.append(left if k == rank - 1 else _log(rng, 1, left))
        left = max(1, left // shape[-1])
    rng.shuffle(shape)
    axis = int(rng.integers(rank))
    data = [*shape]
    data[axis] = min(_log(rng, 1, 16 * shape[axis]), max(1, MOST_BYTES * shape[axis] // (itemsize * math.prod(shape))))
    return {"data": tuple(data), "index": tuple(shape), "axis": axis}


def _vectors(rng: Rng, moved: int, itemsize: int) -> tuple[tuple[int, ...], int, int]:
    """(shape of the data, depth of the index vectors, how many vectors)."""
    rows, width, points = _rows(rng, moved, itemsize)
    depth = int(rng.integers(1, 5))
    if rng.random() < 0.4:  # single elements
        rows, points, width = min(rows * width, MOST_BYTES // itemsize), points * width, 1
    shape = []
    for k in range(depth):
        shape.append(rows if k == depth - 1 else _log(rng, 1, rows))
        rows = max(1, rows // shape[-1])
    rng.shuffle(shape)
    points = min(max(1, points), MOST_BYTES // (INDEX_BYTES * depth))
    return (*shape, *([width] if width > 1 else [])), depth, points


def _gather_nd(rng: Rng, moved: int, itemsize: int) -> Description:
    data, depth, count = _vectors(rng, moved, itemsize)
    return {"data": data, "depth": depth, "count": count}


def _scatter_nd(rng: Rng, moved: int, itemsize: int) -> Description:
    data, depth, count = _vectors(rng, moved, itemsize)
    reduction = _pick(rng, REDUCTIONS[:-1])
    return {
        "data": data,
        "depth": depth,
        "count": _distinct(count, math.prod(data[:depth]), reduction),
        "reduction": reduction,
    }


def _distinct(count: int, cells: int, reduction: str) -> int:
    return min(count, cells) if reduction == "update" else count


def _put(rng: Rng, moved: int, itemsize: int) -> Description:
    rows, width, points = _rows(rng, moved, itemsize)
    reduction = _pick(rng, REDUCTIONS)
    data = (rows,) if width == 1 else (rows, width)
    return {"data": data, "count": _distinct(points, rows, reduction), "reduction": reduction}


def _scatter(rng: Rng, moved: int, itemsize: int) -> Description:
    found = _gather(rng, moved, itemsize)
    return {**found, "reduction": _pick(rng, REDUCTIONS[1:])}  # update: there is no grid of distinct indices


def _segment_sum(rng: Rng, moved: int, itemsize: int) -> Description:
    _, width, points = _rows(rng, moved, itemsize)
    return {"rows": points, "width": width, "segments": _log(rng, 1, points)}


def _chain(rng: Rng, moved: int, itemsize: int) -> Description:
    rows, width, points = _rows(rng, moved, itemsize)
    return {"rows": rows, "width": width, "count": points}


def _message_passing(rng: Rng, moved: int, itemsize: int) -> Description:
    _, width, edges = _rows(rng, moved, itemsize)
    return {"edges": edges, "nodes": max(1, edges // _log(rng, 1, 64)), "width": width}


def _embedding_bag(rng: Rng, moved: int, itemsize: int) -> Description:
    rows, width, points = _rows(rng, moved, itemsize)
    length = _log(rng, 1, min(points, 200))
    return {"rows": rows, "width": width, "bags": max(1, points // length), "length": length}


SHAPES: dict[str, Callable[[Rng, int, int], Description]] = {
    "take": _take,
    "gather": _gather,
    "gather_nd": _gather_nd,
    "put": _put,
    "scatter": _scatter,
    "scatter_nd": _scatter_nd,
    "segment_sum": _segment_sum,
    "embedding_bag": _embedding_bag,
    "message_passing": _message_passing,
    "chain": _chain,
}
"""By kind: (random generator, bytes that move, bytes of an element) -> arguments of the kind's function."""


# -- workloads of descriptions


def workload(d: Mapping[str, Any]) -> Workload:
    """The workload of a description.

    Raises:
        ArgumentError: it is none.
    """
    try:
        arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in d["arguments"].items()}
        rest = {k: d[k] for k in ("dtype", "index_dtype", "symbolic")}
        make = getattr(kinds, SHAPES[d["kind"]].__name__[1:])
        made: Workload = make(d["name"], **arguments, **rest, draw=DRAWS[d["draw"]], drawn=d)
    except (KeyError, TypeError, AttributeError) as e:
        raise ArgumentError(f"bench: --rows: this describes no workload ({e!r}): {str(d)[:200]}") from None
    return made


def saved(path: Path) -> list[Workload]:
    """The workloads of a file that ``--json`` wrote.

    Raises:
        ArgumentError: it holds none.
    """
    try:
        rows = json.loads(path.read_text())["rows"]
        found = [row["drawn"] for row in rows]
    except (OSError, ValueError, TypeError, KeyError) as e:
        raise ArgumentError(f"bench: --rows: {path} holds no drawn workloads: {e!r}") from None
    return [workload(d) for d in found]
