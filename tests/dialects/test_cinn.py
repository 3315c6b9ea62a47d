"""gscompile.dialects.cinn against the CINN design document's numbers, and its loops written out.

CINN itself is not installable here.  The judges are the numbers that the document prints (its section 3), and its Python code
(section 5) with the mistakes repaired: ``scatter_nd`` reads src where the document's reads an undefined x, and what the merged
kernels do with an index out of range.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import cinn
from tests.cases import DTYPES, INTEGERS
from tests.dialects.differential import Against, Draw
from tests.oracle import Array

DOCUMENT = "CINN design document, 2022-08-16"
SHIPPED = "CINN as shipped, read"
A = np.arange(12, dtype="float32").reshape(4, 3)
INDEX = np.array([[0, 1, 1], [3, 2, 0]])


def against(function: str, judge: str = DOCUMENT) -> Against:
    return Against("cinn", function, judge)


def draws(count: int) -> Any:
    return pytest.mark.parametrize("seed", range(count))


def reads(x: Array, at: Sequence[int]) -> Any:
    """``x[at]``, 0 out of range."""
    return x[tuple(at)] if all(0 <= c < n for c, n in zip(at, x.shape, strict=True)) else 0


def gather_nd(x: Array, index: Array, dims: Sequence[int]) -> Array:
    """The document's loop: the coordinates in dims from the index, the others the position's."""
    y = np.empty(index.shape[:-1], x.dtype)
    for p in np.ndindex(*y.shape):
        at = list(p)
        for k, dim in enumerate(dims):
            at[dim] = int(index[(*p, k)])
        y[p] = reads(x, at)
    return y


def scatter_nd(y: Array, src: Array, index: Array, dims: Sequence[int]) -> Array:
    y = y.copy()
    for p in np.ndindex(*src.shape):
        at = list(p)
        for k, dim in enumerate(dims):
            at[dim] = int(index[(*p, k)])
        if all(0 <= c < n for c, n in zip(at, y.shape, strict=True)):
            y[tuple(at)] = src[p]
    return y


def slices(x: Array, index: Array, axis: int) -> Array:
    """The slices of x at a 1-D index, 0 out of range."""
    moved = np.moveaxis(x, axis, 0)
    parts = [moved[i] if 0 <= i < len(moved) else np.zeros(moved.shape[1:], x.dtype) for i in map(int, index)]
    return np.moveaxis(np.array(parts, x.dtype).reshape(len(parts), *moved.shape[1:]), 0, axis)


def put(x: Array, updates: Array, index: Array, axis: int, add: bool) -> Array:
    """For each element of the result, its slice of updates is searched in the index."""
    out = np.moveaxis(x.copy(), axis, 0)
    new = np.moveaxis(updates, axis, 0)
    for row, k in itertools.product(range(len(out)), range(len(index))):
        if int(index[k]) == row:
            out[row] = out[row] + new[k] if add else new[k]
    return np.moveaxis(out, 0, axis)


# -- the document's example -------------------------------------------------------------------------------------------


def test_the_documents_numbers() -> None:
    b1 = np.array([[0, 4, 5], [9, 7, 2]], "float32")
    b2 = np.array([[0, 1, 1], [0, 5, 3]], "float32")
    b3 = np.array([[0, 0, 2], [0, 4, 5], [0, 7, 0], [9, 0, 0]], "float32")
    zero = np.zeros((4, 3), "float32")
    gather, scatter = against("gather"), against("scatter")
    gather.agree(lambda: cinn.gather(A, dim=0, index=INDEX), lambda: b1)
    gather.agree(lambda: cinn.gather(A, dim=1, index=INDEX), lambda: b2)
    scatter.agree(lambda: cinn.scatter(zero, dim=0, index=INDEX, src=b1), lambda: b3)
    nd = INDEX[..., None]
    against("gather_nd").agree(lambda: cinn.gather_nd(A, nd, dims=[0]), lambda: b1)
    against("gather_nd").agree(lambda: cinn.gather_nd(A, nd, dims=[1]), lambda: b2)
    against("scatter_nd").agree(lambda: cinn.scatter_nd(zero, b1, nd, dims=[0]), lambda: b3)
    against("scatter_nd").agree(lambda: cinn.scatter_nd(zero, b1, nd), lambda: b3)


def test_the_documents_shapes() -> None:
    b = gs.NetBuilder("test_basic")
    a, i = b.create_input(gs.Float(32), (8, 24), "A"), b.create_input(gs.Int(32), (3, 24), "index")
    g = cinn.gather(a, index=i, dim=0)
    z = cinn.scatter(b.create_input(gs.Float(32), (8, 24), "Z"), index=i, dim=0, src=g)
    assert (g.shape, z.shape) == ((3, 24), (8, 24))


# -- the document's loops ---------------------------------------------------------------------------------------------


def elements(d: Draw) -> tuple[Array, int, Array]:
    shape = d.shape(d.integer(1, 6))
    dim = d.axis(len(shape))
    other = [n if d.maybe(0.6) else d.integer(min(n, 1), n) for n in shape]
    other[dim] = d.integer(0 if d.maybe(0.1) else 1, 5)
    return (
        d.data(shape, d.choice(DTYPES)),
        dim,
        d.index(other, shape[dim], d.choice(INTEGERS), negative=False, wild=0.4),
    )


@draws(50)
def test_gather(seed: int) -> None:
    x, dim, i = elements(Draw(seed))
    named: dict[str, Any] = {"axis": dim} if seed % 2 else {"dim": dim}
    against("gather").agree(
        lambda: cinn.gather(x, i, **named), lambda: gather_nd(x, i[..., None], [dim]), (x.shape, dim, i.shape)
    )


@draws(50)
def test_scatter(seed: int) -> None:
    d = Draw(seed)
    y, dim, i = elements(d)
    src = d.data(i.shape, y.dtype.name)
    against("scatter").agree(
        lambda: cinn.scatter(y, src, i, dim), lambda: scatter_nd(y, src, i[..., None], [dim]), (y.shape, dim, i.shape)
    )


def vectors(d: Draw) -> tuple[Array, list[int], Array]:
    shape = d.shape(d.integer(0, 5))
    dims = [int(a) - (len(shape) if d.maybe(0.3) else 0) for a in d.rng.permutation(len(shape))]
    dims = dims[: d.integer(0, len(shape))]
    plain = [a % len(shape) for a in dims]
    grid = [d.integer(1, 4) if a in plain else n for a, n in enumerate(shape)]
    dtype = d.choice(INTEGERS)
    parts = [d.index(grid, shape[a], dtype, negative=False, wild=0.3) for a in plain]
    index = np.stack(parts, -1) if parts else np.zeros((*grid, 0), dtype)
    return d.data(shape, d.choice(DTYPES)), dims, index


@draws(50)
def test_gather_nd(seed: int) -> None:
    x, dims, i = vectors(Draw(seed))
    against("gather_nd").agree(
        lambda: cinn.gather_nd(x, i, dims), lambda: gather_nd(x, i, dims), (x.shape, dims, i.dtype, i.shape)
    )


@draws(50)
def test_scatter_nd(seed: int) -> None:
    d = Draw(seed)
    y, dims, i = vectors(d)
    src = d.data(i.shape[:-1], y.dtype.name)
    against("scatter_nd").agree(
        lambda: cinn.scatter_nd(y, src, i, dims), lambda: scatter_nd(y, src, i, dims), (y.shape, dims, i.dtype, i.shape)
    )


# -- what shipped -----------------------------------------------------------------------------------------------------


def rows(d: Draw) -> tuple[Array, int, Array]:
    shape = d.shape(d.integer(1, 5))
    axis = d.axis(len(shape))
    i = d.index((d.integer(0, 5),), shape[axis], d.choice(INTEGERS), negative=False, wild=0.3)
    return d.data(shape, d.choice(DTYPES)), axis, i


@draws(40)
def test_index_select_and_gather_of_slices(seed: int) -> None:
    x, axis, i = rows(Draw(seed))
    label = (x.shape, axis, i.dtype, i.shape)
    against("index_select", SHIPPED).agree(lambda: cinn.index_select(x, i, axis), lambda: slices(x, i, axis), label)
    if x.ndim > 1:
        against("gather", SHIPPED).agree(lambda: cinn.gather(x, i, axis=axis), lambda: slices(x, i, axis), label)


@draws(40)
def test_shipped_gather_nd(seed: int) -> None:
    d = Draw(seed)
    shape = d.shape(d.integer(1, 5))
    m = d.integer(1, len(shape))
    grid = d.shape(d.integer(0, 2))
    dtype = d.choice(INTEGERS)
    i = np.stack([d.index(grid, n, dtype, negative=False, wild=0.2) for n in shape[:m]], -1)
    x = d.data(shape, d.choice(DTYPES))

    def want() -> Array:
        y = np.zeros((*grid, *shape[m:]), x.dtype)
        for p in np.ndindex(*grid):
            at = [int(c) for c in i[p]]
            if all(0 <= c < n for c, n in zip(at, shape[:m], strict=True)):
                y[p] = x[tuple(at)]
        return y

    against("gather_nd", SHIPPED).agree(lambda: cinn.gather_nd(x, i), want, (shape, i.dtype, i.shape))


@draws(60)
def test_scatter_assign_and_add(seed: int) -> None:
    d = Draw(seed)
    x, axis, i = rows(d)
    shape = list(x.shape)
    shape[axis] = len(i)
    updates = d.data(shape, x.dtype.name)
    label = (x.shape, x.dtype, axis, i.dtype, i.shape)
    against("scatter_assign", SHIPPED).agree(
        lambda: cinn.scatter_assign(x, updates, i, axis), lambda: put(x, updates, i, axis, False), label
    )
    whole, more = (d.rng.integers(0, 3, s).astype(x.dtype) for s in (x.shape, shape))
    against("scatter_add", SHIPPED).agree(
        lambda: cinn.scatter_add(whole, more, i, axis), lambda: put(whole, more, i, axis, True), label
    )


def test_what_is_refused() -> None:
    x, i = np.zeros((3, 4), "float32"), np.zeros((2, 4), "int64")

    def refused(match: str, call: Callable[[], Any]) -> None:
        with pytest.raises(gs.GSError, match=match):
            call()

    refused("dim and axis are two names", lambda: cinn.gather(x, i, 0, axis=0))
    refused("index must have dtype", lambda: cinn.gather(x, x))
    refused("dim must be in", lambda: cinn.gather(x, i, 2))
    refused("src and y must have one dtype", lambda: cinn.scatter(x, i, i))
    refused("index must have rank 1", lambda: cinn.index_select(x, i))
    refused("index must have rank 3", lambda: cinn.scatter_nd(x, x, i))
    refused("shared with data", lambda: cinn.gather(x, np.zeros((2, 5), int), 0))
    refused("extent len\\(dims\\) = 1", lambda: cinn.gather_nd(x, np.zeros((3, 4, 2), int), [0]))
    refused("updates and x must have one dtype", lambda: cinn.scatter_add(x, i, i[0]))
