"""The workloads: what is computed, on which arrays.

Sizes are those at which users of embeddings, graphs, beam search and histograms call these operators.  Float32 data and
int64 indices unless the name says otherwise; every workload has a result that NumPy computes too, for the check that comes
before any timing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gscompile.builder import Builder

if TYPE_CHECKING:
    from gscompile.graph import Value

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    """One row of the table.

    Attributes:
        kind: what peers must know how to do; see :mod:`gscompile.bench.peers`.
        make: random generator -> the arrays, by name.
        declare: (builder, one value per array) -> the result.
        expected: NumPy's result.
        options: what else the kind takes: ``axis``, ``reduction`` ...
        moved: the least bytes that must move, if it is not what the module says (a gather of few rows of a large table).
    """

    name: str
    kind: str
    make: Callable[[np.random.Generator], Arrays]
    declare: Callable[..., Value]
    expected: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = True

    def builder(self, arrays: Arrays, symbolic: bool = False, **options: Any) -> Builder:
        """The graph for these arrays; with symbolic sizes, if wanted, wherever an axis is longer than 1."""
        b = Builder(self.name)
        names: dict[int, str] = {}
        values = []
        for name, x in arrays.items():
            shape = [names.setdefault(n, f"n{len(names)}") if symbolic and n > 8 else n for n in x.shape]
            values.append(b.input(name, shape, x.dtype))
        b.output(self.declare(b, *values, **options))
        return b


def zipf(rng: np.random.Generator, a: float, size: int, count: int) -> Any:
    """``count`` indices below ``size`` whose frequencies fall like 1 / rank^a, the ranks dealt out at random."""
    weights = 1.0 / np.arange(1, size + 1) ** a
    drawn = rng.choice(size, count, p=weights / weights.sum())
    return rng.permutation(size)[drawn].astype(np.int64)


def f32(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape, np.float32)


def _take(name: str, make: Callable[[np.random.Generator], Arrays], axis: int = 0, batch_dims: int = 0) -> Workload:
    def expected(x: Any, i: Any) -> Any:
        return np.take(x, i, axis) if not batch_dims else np.stack([a[j] for a, j in zip(x, i, strict=True)])

    return Workload(
        name,
        "take",
        make,
        lambda b, x, i, **o: b.take(x, i, axis, batch_dims, **o),
        expected,
        {"axis": axis, "batch_dims": batch_dims},
    )


def _elements(name: str, data: tuple[int, int], index: tuple[int, int], axis: int) -> Workload:
    return Workload(
        name,
        "gather",
        lambda rng: {"x": f32(rng, *data), "i": rng.integers(0, data[axis], index)},
        lambda b, x, i, **o: b.gather(x, i, axis, **o),
        lambda x, i: np.take_along_axis(x, i, axis),
        {"axis": axis},
    )


def _points(name: str, data: tuple[int, ...], count: int) -> Workload:
    m = 3 if len(data) == 4 else 2

    def make(rng: np.random.Generator) -> Arrays:
        return {"x": f32(rng, *data), "i": np.stack([rng.integers(0, n, count) for n in data[:m]], 1)}

    return Workload(
        name,
        "gather_nd",
        make,
        lambda b, x, i, **o: b.gather_nd(x, i, **o),
        lambda x, i: x[tuple(i.T)],
    )


def _put(
    name: str, rows: int, width: int, reduction: str, index: Callable[[np.random.Generator], Any], copy: bool = False
) -> Workload:
    """Rows of src into rows of x, which starts as it is."""

    def make(rng: np.random.Generator) -> Arrays:
        i = index(rng)
        shape = (width,) if width else ()
        return {"x": f32(rng, rows, *shape), "i": i, "src": f32(rng, len(i), *shape)}

    def expected(x: Any, i: Any, src: Any) -> Any:
        out = x.astype(np.float64)
        if reduction == "update":
            out[i] = src
        else:
            {"add": np.add, "max": np.maximum}[reduction].at(out, i, src)
        return out.astype(np.float32)

    return Workload(
        name,
        "put",
        make,
        lambda b, x, i, src, **o: b.put(x, i, src, reduction=reduction, **o),
        expected,
        {"reduction": reduction},
        exact=reduction != "add",
    )


def _message_passing(edges: int, nodes: int, width: int) -> Workload:
    def make(rng: np.random.Generator) -> Arrays:
        return {
            "x": f32(rng, nodes, width),
            "s": rng.integers(0, nodes, edges),
            "w": f32(rng, edges),
            "d": rng.integers(0, nodes, edges),
        }

    def declare(b: Builder, x: Value, s: Value, w: Value, d: Value, **o: Any) -> Value:
        return b.put(b.zeros(x.shape), d, b.take(x, s, **o) * b.unsqueeze(w, 1), reduction="add", **o)

    def expected(x: Any, s: Any, w: Any, d: Any) -> Any:
        out = np.zeros(x.shape)
        order = np.argsort(d, kind="stable")
        rows = x[s[order]].astype(np.float64) * w[order, None]
        heads = np.flatnonzero(np.diff(d[order], prepend=-1))
        out[d[order][heads]] = np.add.reduceat(rows, heads)
        return out.astype(np.float32)

    return Workload("message_passing", "message_passing", make, declare, expected, exact=False)


def _embedding_bag(rows: int, width: int, bags: int, length: int) -> Workload:
    return Workload(
        "embedding_bag",
        "embedding_bag",
        lambda rng: {"x": f32(rng, rows, width), "i": rng.integers(0, rows, (bags, length))},
        lambda b, x, i, **o: b.sum(b.take(x, i, **o), 1),
        lambda x, i: x[i].sum(1, dtype=np.float64).astype(np.float32),
        exact=False,
    )


def _elements_add_first() -> Workload:
    def expected(x: Any, i: Any, src: Any) -> Any:
        out = x.astype(np.float64)
        np.add.at(out, (i, np.arange(x.shape[1])[None]), src)
        return out.astype(np.float32)

    return Workload(
        "elements_add_first",
        "scatter",
        lambda rng: {
            "x": f32(rng, 10_000, 64),
            "i": rng.integers(0, 10_000, (200_000, 64)),
            "src": f32(rng, 200_000, 64),
        },
        lambda b, x, i, src, **o: b.scatter(x, i, src, 0, reduction="add", **o),
        expected,
        {"axis": 0, "reduction": "add"},
        exact=False,
    )


WORKLOADS: dict[str, Workload] = {
    w.name: w
    for w in [
        _take("embed_rows_zipf", lambda rng: {"x": f32(rng, 50_000, 128), "i": zipf(rng, 1.1, 50_000, 100_000)}),
        _take("embed_rows_wide", lambda rng: {"x": f32(rng, 32_000, 2048), "i": rng.integers(0, 32_000, 8_192)}),
        _take("embed_rows_thin", lambda rng: {"x": f32(rng, 200_000, 16), "i": rng.integers(0, 200_000, 1_000_000)}),
        _take("select_columns", lambda rng: {"x": f32(rng, 4096, 4096), "i": rng.integers(0, 4096, 1024)}, axis=1),
        _elements("elements_last", (4096, 1024), (4096, 256), 1),
        _elements("elements_first", (4096, 1024), (4096, 1024), 0),
        _points("nd_slices", (8, 128, 128, 64), 100_000),
        _points("nd_points", (1024, 1024), 1_000_000),
        # no duplicates: most peers leave it to chance which of several rows stays
        _put("scatter_nd_rows", 214_272, 64, "update", lambda rng: rng.permutation(214_272)[:30_000]),
        _put("index_add_rows", 10_000, 64, "add", lambda rng: zipf(rng, 0.8, 10_000, 200_000)),
        _put("index_add_sorted", 10_000, 64, "add", lambda rng: np.sort(zipf(rng, 0.8, 10_000, 200_000))),
        _elements_add_first(),
        _put("index_max_rows", 10_000, 64, "max", lambda rng: zipf(rng, 0.8, 10_000, 200_000)),
        _put("histogram_add", 4_096, 0, "add", lambda rng: zipf(rng, 1.0, 4_096, 4_000_000)),
        _message_passing(400_000, 20_000, 64),
        _embedding_bag(100_000, 64, 4_096, 50),
        _take(
            "beam_reorder",
            lambda rng: {"x": f32(rng, 64, 32, 512), "i": rng.integers(0, 32, (64, 32))},
            axis=1,
            batch_dims=1,
        ),
        _take("tiny_take", lambda rng: {"x": f32(rng, 1_000), "i": rng.integers(0, 1_000, 100)}),
    ]
}
