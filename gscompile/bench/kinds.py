"""Kinds of workloads: for each operator the arrays, the declaration and NumPy's result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gscompile.bench.workload import Arguments, Arrays, Draw, Extents, Workload, uniform
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

    return Workload(name, "take", make, declare, expected, {"axis": axis, "batch_dims": batch_dims}, **rest)


def gather(name: str, data: Extents, index: Extents, axis: int, draw: Draw = uniform, **rest: Any) -> Workload:
    """Single elements along an axis."""

    def make(a: Arguments) -> Arrays:
        shape = a.cut(*data)
        return {"x": a.data(*shape), "i": a.index(draw, shape[axis], a.cut(*index))}

    def declare(b: Builder, x: Value, i: Value, **o: Any) -> Value:
        return b.gather(x, i, axis, **o)

    return Workload(name, "gather", make, declare, lambda x, i: np.take_along_axis(x, i, axis), {"axis": axis}, **rest)


def gather_nd(name: str, data: Extents, depth: int, count: int, draw: Draw = uniform, **rest: Any) -> Workload:
    """Index vectors for the first ``depth`` axes."""

    def make(a: Arguments) -> Arrays:
        shape = a.cut(*data)
        columns = [a.index(draw, n, a.cut(count)) for n in shape[:depth]]
        return {"x": a.data(*shape), "i": np.stack(columns, 1)}

    def declare(b: Builder, x: Value, i: Value, **o: Any) -> Value:
        return b.gather_nd(x, i, **o)

    return Workload(name, "gather_nd", make, declare, lambda x, i: x[tuple(i.T)], **rest)


UFUNCS = {"add": np.add, "max": np.maximum, "min": np.minimum}


def put(name: str, data: Extents, count: int, reduction: str = "update", draw: Draw = uniform, **rest: Any) -> Workload:
    """Slices of src into those of x, which starts as it is."""

    def make(a: Arguments) -> Arrays:
        shape = a.cut(*data)
        index = a.index(draw, shape[0], a.cut(count))
        return {"x": a.data(*shape), "i": index, "src": a.data(len(index), *shape[1:])}

    def expected(x: Any, i: Any, src: Any) -> Any:
        out = wide(x)
        if reduction == "update":
            out[i] = src
        else:
            UFUNCS[reduction].at(out, i, wide(src))
        return out.astype(x.dtype)

    def declare(b: Builder, x: Value, i: Value, src: Value, **o: Any) -> Value:
        return b.put(x, i, src, reduction=reduction, **o)

    return Workload(name, "put", make, declare, expected, {"reduction": reduction}, sums=reduction == "add", **rest)


def scatter(
    name: str, data: Extents, index: Extents, axis: int, reduction: str, draw: Draw = uniform, **rest: Any
) -> Workload:
    """Single elements of src along an axis into x, which starts as it is."""

    def make(a: Arguments) -> Arrays:
        shape, grid = a.cut(*data), a.cut(*index)
        return {"x": a.data(*shape), "i": a.index(draw, shape[axis], grid), "src": a.data(*grid)}

    def expected(x: Any, i: Any, src: Any) -> Any:
        out = wide(x)
        at = list(np.ogrid[tuple(slice(n) for n in i.shape)])
        at[axis] = i
        UFUNCS[reduction].at(out, tuple(at), wide(src))
        return out.astype(x.dtype)

    def declare(b: Builder, x: Value, i: Value, src: Value, **o: Any) -> Value:
        return b.scatter(x, i, src, axis, reduction=reduction, **o)

    options = {"axis": axis, "reduction": reduction}
    return Workload(name, "scatter", make, declare, expected, options, sums=reduction == "add", **rest)


def message_passing(name: str, edges: int, nodes: int, width: int, **rest: Any) -> Workload:
    """``out[d[e]] += x[s[e]] * w[e]``: gather, scale, add up."""

    def make(a: Arguments) -> Arrays:
        (n, c), (e,) = a.cut(nodes, width), a.cut(edges)
        return {
            "x": a.data(n, c),
            "s": a.index(uniform, n, (e,)),
            "w": a.data(e),
            "d": a.index(uniform, n, (e,)),
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

    return Workload(name, "message_passing", make, declare, expected, sums=True, **rest)


def embedding_bag(name: str, rows: int, width: int, bags: int, length: int, **rest: Any) -> Workload:
    """Sums of rows of a table, ``length`` of them each; of integers in int64."""

    def make(a: Arguments) -> Arrays:
        (n, c) = a.cut(rows, width)
        return {"x": a.data(n, c), "i": a.index(uniform, n, a.cut(bags, length))}

    def declare(b: Builder, x: Value, i: Value, **o: Any) -> Value:
        return b.sum(b.take(x, i, **o), 1)

    def expected(x: Any, i: Any) -> Any:
        total = wide(x)[i].sum(1)
        return total if x.dtype.kind == "i" else total.astype(x.dtype)

    return Workload(name, "embedding_bag", make, declare, expected, sums=True, **rest)
