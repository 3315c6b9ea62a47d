"""Kinds of workloads: for each operator the arrays, the declaration and NumPy's result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gscompile.bench.workload import Arguments, Arrays, Draw, Extents, Workload, numpy_dtype, uniform
from gscompile.frontend.builder import Builder

if TYPE_CHECKING:
    from gscompile.ir.graph import Value


def wide(x: Any) -> Any:
    """In 64 bits."""
    return x.astype(np.int64 if x.dtype.kind in "iu" else np.float64)


def take(
    name: str, data: Extents, index: Extents, draw: Draw = uniform, axis: int = 0, batch_dims: int = 0, **rest: Any
) -> Workload:
    """Slices along an axis."""

    def make(a: Arguments) -> Arrays:
        shape = a.cut(*data)
        return {"x": a.data(*shape), "i": a.index(draw, shape[axis], a.cut(*index))}

    def expected(x: Any, i: Any) -> Any:
        return np.take(x, i, axis) if not batch_dims else np.stack([u[j] for u, j in zip(x, i, strict=True)])

    def declare(b: Builder, x: Value, i: Value, **o: Any) -> Value:
        return b.take(x, i, axis, batch_dims, **o)

    options = {"axis": axis, "batch_dims": batch_dims}
    return Workload(name, "take", make, declare, expected, options, selects=lambda x, a: expected(x, a["i"]), **rest)


def gather(name: str, data: Extents, index: Extents, axis: int, draw: Draw = uniform, **rest: Any) -> Workload:
    """Single elements along an axis."""

    def make(a: Arguments) -> Arrays:
        shape = a.cut(*data)
        return {"x": a.data(*shape), "i": a.index(draw, shape[axis], a.cut(*index))}

    def declare(b: Builder, x: Value, i: Value, **o: Any) -> Value:
        return b.gather(x, i, axis, **o)

    def expected(x: Any, i: Any) -> Any:
        return np.take_along_axis(x, i, axis)

    return Workload(
        name, "gather", make, declare, expected, {"axis": axis}, selects=lambda x, a: expected(x, a["i"]), **rest
    )


def gather_nd(name: str, data: Extents, depth: int, count: int, draw: Draw = uniform, **rest: Any) -> Workload:
    """Index vectors for the first ``depth`` axes."""

    def make(a: Arguments) -> Arrays:
        shape = a.cut(*data)
        columns = [a.index(draw, n, a.cut(count)) for n in shape[:depth]]
        return {"x": a.data(*shape), "i": np.stack(columns, 1)}

    def declare(b: Builder, x: Value, i: Value, **o: Any) -> Value:
        return b.gather_nd(x, i, **o)

    def expected(x: Any, i: Any) -> Any:
        return x[tuple(i.T)]

    return Workload(name, "gather_nd", make, declare, expected, selects=lambda x, a: expected(x, a["i"]), **rest)


UFUNCS = {"add": np.add, "mean": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}
ROUNDED = ("add", "mean", "mul")  # reductions whose results depend on the order


def reduced(x: Any, at: Any, src: Any, reduction: str) -> Any:
    """A copy of x with src in it; what was there takes part."""
    out = wide(x)
    if reduction == "update":
        out[at] = src
    else:
        UFUNCS[reduction].at(out, at, wide(src))
    if reduction == "mean":
        counts = np.ones(x.shape)
        np.add.at(counts, at, 1)
        out = out / counts
    return out.astype(x.dtype)


def put(name: str, data: Extents, count: int, reduction: str = "update", draw: Draw = uniform, **rest: Any) -> Workload:
    """Slices of src into those of x, which starts as it is."""

    def make(a: Arguments) -> Arrays:
        shape = a.cut(*data)
        index = a.index(draw, shape[0], a.cut(count))
        return {"x": a.data(*shape), "i": index, "src": a.data(len(index), *shape[1:])}

    def declare(b: Builder, x: Value, i: Value, src: Value, **o: Any) -> Value:
        return b.put(x, i, src, reduction=reduction, **o)

    def expected(x: Any, i: Any, src: Any) -> Any:
        return reduced(x, i, src, reduction)

    return Workload(name, "put", make, declare, expected, {"reduction": reduction}, sums=reduction in ROUNDED, **rest)


def scatter_nd(
    name: str, data: Extents, depth: int, count: int, reduction: str = "update", draw: Draw = uniform, **rest: Any
) -> Workload:
    """Slices of src at index vectors for the first ``depth`` axes, drawn as one number: ``permuted`` has no duplicates."""

    def make(a: Arguments) -> Arrays:
        shape = a.cut(*data)
        flat = a.index(draw, int(np.prod(shape[:depth])), a.cut(count))
        columns = np.unravel_index(flat, shape[:depth])
        index = np.stack(columns, 1).astype(a.index_dtype)
        return {"x": a.data(*shape), "i": index, "src": a.data(len(index), *shape[depth:])}

    def declare(b: Builder, x: Value, i: Value, src: Value, **o: Any) -> Value:
        return b.scatter_nd(x, i, src, reduction=reduction, **o)

    def expected(x: Any, i: Any, src: Any) -> Any:
        return reduced(x, tuple(i.T), src, reduction)

    options = {"reduction": reduction}
    return Workload(name, "scatter_nd", make, declare, expected, options, sums=reduction in ROUNDED, **rest)


def segment_sum(name: str, rows: int, width: int, segments: int, draw: Draw = uniform, **rest: Any) -> Workload:
    """Sums of rows by ids that ascend."""

    def make(a: Arguments) -> Arrays:
        (n, c, m) = a.cut(rows, width, segments)
        return {"x": a.data(n, c), "i": np.sort(a.index(draw, m, (n,))), "like": np.zeros((m, c), numpy_dtype(a.dtype))}

    def declare(b: Builder, x: Value, i: Value, like: Value, **o: Any) -> Value:
        return b.put(like, i, x, reduction="add", **o)

    def expected(x: Any, i: Any, like: Any) -> Any:
        heads = np.flatnonzero(np.diff(i, prepend=-1))
        out = np.zeros(like.shape, wide(x[:0]).dtype)
        out[i[heads]] = np.add.reduceat(wide(x), heads)
        return out.astype(x.dtype)

    return Workload(name, "segment_sum", make, declare, expected, sums=True, **rest)


def chain(name: str, rows: int, width: int, count: int, draw: Draw = uniform, **rest: Any) -> Workload:
    """``x[k[i]] * w + b``: rows by way of a table of numbers, scaled and moved."""

    def make(a: Arguments) -> Arrays:
        (n, c, m) = a.cut(rows, width, count)
        k, i = a.index(uniform, n, (n,)), a.index(draw, n, (m,))
        return {"x": a.data(n, c), "k": k, "i": i, "w": a.data(c), "b": a.data(c)}

    def declare(b: Builder, x: Value, k: Value, i: Value, w: Value, b_: Value, **o: Any) -> Value:
        return b.take(x, b.take(k, i, **o), **o) * w + b_

    def expected(x: Any, k: Any, i: Any, w: Any, b: Any) -> Any:
        return x[k[i]] * w + b

    return Workload(name, "chain", make, declare, expected, sums=True, selects=lambda x, a: x[a["k"][a["i"]]], **rest)


def scatter(
    name: str, data: Extents, index: Extents, axis: int, reduction: str, draw: Draw = uniform, **rest: Any
) -> Workload:
    """Single elements of src along an axis into x, which starts as it is."""

    def make(a: Arguments) -> Arrays:
        shape, grid = a.cut(*data), a.cut(*index)
        return {"x": a.data(*shape), "i": a.index(draw, shape[axis], grid), "src": a.data(*grid)}

    def expected(x: Any, i: Any, src: Any) -> Any:
        at = list(np.ogrid[tuple(slice(n) for n in i.shape)])
        at[axis] = i
        return reduced(x, tuple(at), src, reduction)

    def declare(b: Builder, x: Value, i: Value, src: Value, **o: Any) -> Value:
        return b.scatter(x, i, src, axis, reduction=reduction, **o)

    options = {"axis": axis, "reduction": reduction}
    return Workload(name, "scatter", make, declare, expected, options, sums=reduction in ROUNDED, **rest)


def message_passing(name: str, edges: int, nodes: int, width: int, draw: Draw = uniform, **rest: Any) -> Workload:
    """``out[d[e]] += x[s[e]] * w[e]``: gather, scale, add up.  ``d`` is distributed as ``draw`` says."""

    def make(a: Arguments) -> Arrays:
        (n, c), (e,) = a.cut(nodes, width), a.cut(edges)
        return {
            "x": a.data(n, c),
            "s": a.index(uniform, n, (e,)),
            "w": a.data(e),
            "d": a.index(draw, n, (e,)),
        }

    def declare(b: Builder, x: Value, s: Value, w: Value, d: Value, **o: Any) -> Value:
        return b.put(b.zeros(x.shape, x.dtype), d, b.take(x, s, **o) * b.unsqueeze(w, 1), reduction="add", **o)

    def expected(x: Any, s: Any, w: Any, d: Any) -> Any:
        out = np.zeros_like(wide(x))
        order = np.argsort(d, kind="stable")
        rows = wide(x)[s[order]] * wide(w)[order, None]
        heads = np.flatnonzero(np.diff(d[order], prepend=-1))
        out[d[order][heads]] = np.add.reduceat(rows, heads)
        return out.astype(x.dtype)

    return Workload(name, "message_passing", make, declare, expected, sums=True, selects=lambda x, a: x[a["s"]], **rest)


def embedding_bag(
    name: str, rows: int, width: int, bags: int, length: int, draw: Draw = uniform, **rest: Any
) -> Workload:
    """Sums of rows of a table, ``length`` of them each; of integers in int64."""

    def make(a: Arguments) -> Arrays:
        (n, c) = a.cut(rows, width)
        return {"x": a.data(n, c), "i": a.index(draw, n, a.cut(bags, length))}

    def declare(b: Builder, x: Value, i: Value, **o: Any) -> Value:
        return b.sum(b.take(x, i, **o), 1)

    def expected(x: Any, i: Any) -> Any:
        total = wide(x)[i].sum(1)
        return total if x.dtype.kind == "i" else total.astype(x.dtype)

    return Workload(name, "embedding_bag", make, declare, expected, sums=True, selects=lambda x, a: x[a["i"]], **rest)
