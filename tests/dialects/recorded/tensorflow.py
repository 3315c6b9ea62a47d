"""Random calls of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.cases import DTYPES, FLOATS, INTEGERS, numpy_dtype
from tests.dialects.differential import Draw
from tests.dialects.recorded import Call
from tests.oracle import Array

NUMBERS = (*FLOATS, *INTEGERS)


def is_safe(call: Call) -> bool:
    """Whether a call is to agree: XLA gathers from some batches of unequal extents, which the dialect refuses."""
    if "device" not in call.options or call.function != "gather":
        return True
    x, i = call.args
    batch, axis = (call.options[name] for name in ("batch_dims", "axis"))
    batch += i.ndim if batch < 0 else 0
    return axis == 0 or x.shape[:batch] == i.shape[:batch]


def vectors(d: Draw, grid: Sequence[int], extents: Sequence[int], dtype: str, wild: float = 0.15) -> Array:
    """Index vectors for axes of these extents, one after the other on the last axis."""
    parts = [d.index(grid, n, dtype, negative=False, wild=wild) for n in extents]
    return np.stack(parts, -1) if parts else np.zeros((*grid, 0), dtype)


def whole(d: Draw, shape: Sequence[int], dtype: str) -> Array:
    """Small whole numbers, so that sums and products are exact in every dtype."""
    return d.rng.integers(0, 3, tuple(shape)).astype(numpy_dtype(dtype))


def gather(d: Draw, **options: Any) -> Call:
    shape = d.shape(d.integer(0 if d.maybe(0.05) else 1, 6))
    rank = len(shape)
    axis, batch = d.axis(rank), 0
    if rank and d.maybe(0.4):
        batch = d.integer(0, axis % rank)
    rest = d.shape(d.integer(0, 2))
    grid = [*shape[:batch], *rest]
    if batch and d.maybe(0.1):
        grid[0] += 1
    size = shape[axis] if shape else 1
    i = d.index(grid, size, d.choice(("int64", "int32", "int16")), negative=False, wild=0.15)
    if d.maybe(0.03):
        i = i.astype("int8")
    if d.maybe(0.3):
        batch -= len(grid)
    if d.maybe(0.05):
        batch += 1
    given = None if d.maybe(0.2) and axis == batch else axis
    return Call("gather", (d.data(shape, d.choice(DTYPES)), i), {"axis": given, "batch_dims": batch, **options})


def gather_nd(d: Draw, **options: Any) -> Call:
    shape = d.shape(d.integer(0 if d.maybe(0.05) else 1, 6))
    batch = d.integer(0, max(len(shape) - 1, 0)) if d.maybe(0.4) else 0
    m = d.integer(0, len(shape) - batch)
    grid = [*shape[:batch], *d.shape(d.integer(0, 2))]
    if batch and d.maybe(0.1):
        grid[0] += 1
    i = vectors(d, grid, shape[batch : batch + m], d.choice(("int64", "int32", "int16")))
    if d.maybe(0.05):
        batch = d.integer(-1, 4)
    if d.maybe(0.2):
        options["bad_indices_policy"] = d.choice(("", "IGNORE", "ERROR", "DEFAULT", "NONE"))
    return Call("gather_nd", (d.data(shape, d.choice(DTYPES)), i), {"batch_dims": batch, **options})


def scatter_parts(d: Draw, dtypes: Sequence[str]) -> tuple[Array, Array, Array]:
    """Data, indices and updates; now and then they do not fit."""
    shape = d.shape(d.integer(0 if d.maybe(0.1) else 1, 6))
    m = d.integer(0 if d.maybe(0.05) else min(1, len(shape)), len(shape))
    grid = d.shape(d.integer(0 if d.maybe(0.1) else 1, 2))
    dtype = d.choice(dtypes)
    i = vectors(d, grid, shape[:m], d.choice(("int64", "int32")))
    if d.maybe(0.03):
        i = i.astype("int16")
    points = [*grid, *shape[m:]]
    if points and d.maybe(0.05):
        points[-1] += 1
    elif d.maybe(0.05):
        points = d.choice(([], [m, *shape[1:]]))  # one number for all; as if one vector were many of length 1
    return d.data(shape, dtype), i, d.data(points, dtype)


def scatter_nd(d: Draw, **options: Any) -> Call:
    base, i, updates = scatter_parts(d, DTYPES)
    if d.maybe(0.2):
        options["bad_indices_policy"] = d.choice(("", "IGNORE", "ERROR", "DEFAULT", "NONE"))
    return Call("scatter_nd", (i, updates, list(base.shape)), options)


def tensor_scatter(name: str) -> Callable[..., Call]:
    def draw(d: Draw, **options: Any) -> Call:
        if name != "update" and d.maybe(0.2):
            options["bad_indices_policy"] = d.choice(("", "IGNORE", "ERROR", "DEFAULT"))
        rarely = name == "sub" and "device" in options and d.maybe(0.8)  # XLA's difference of bools ends the process
        base, i, updates = scatter_parts(d, NUMBERS if rarely else DTYPES)
        function = f"tensor_scatter_nd_{name}"
        return Call(function, (base, i, updates), options)

    return draw


def segments(name: str, unsorted: bool) -> Callable[..., Call]:
    def draw(d: Draw, **options: Any) -> Call:
        shape = d.shape(d.integer(0 if d.maybe(0.05) else 1, 6))
        dtype = d.choice(FLOATS if name == "sqrt_n" and d.maybe(0.9) else DTYPES if d.maybe(0.1) else NUMBERS)
        data = d.data(shape, dtype)
        wide = ("int64", "int32", "int16") if unsorted and name in ("sum", "mean", "sqrt_n") else ("int64", "int32")
        function = f"{'unsorted_' if unsorted else ''}segment_{name}"
        if unsorted:
            ishape = [*shape[: d.integer(0, len(shape))]]
            if ishape and d.maybe(0.05):
                ishape[0] += 1
            count = d.integer(1, 6)
            i = d.index(ishape, count, d.choice(wide), negative=False)
            if i.size and d.maybe(0.3):
                i.flat[d.integer(0, i.size - 1)] = d.choice((-1, -7, np.iinfo(i.dtype).min))
            if i.size and d.maybe(0.15):
                i.flat[d.integer(0, i.size - 1)] = d.choice((count, count + 3, np.iinfo(i.dtype).max))
            args: tuple[Any, ...] = (data, i, count)
        else:
            n = shape[0] if shape else 1
            i = np.sort(d.rng.integers(0, 6, n + d.maybe(0.05))).astype(d.choice(wide))
            if i.size and d.maybe(0.15):
                i.flat[d.integer(0, i.size - 1)] = d.choice((-1, 3))
            if d.maybe(0.03):
                i = i[None]
            args = (data, i)
        exact = "device" not in options or name not in ("mean", "sqrt_n")
        rough = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6)
        return Call(function, args, options, rtol=0 if exact else rough)

    return draw


CASES: dict[str, Callable[..., Call]] = {
    "gather": gather,
    "gather_nd": gather_nd,
    "scatter_nd": scatter_nd,
    **{f"tensor_scatter_nd_{n}": tensor_scatter(n) for n in ("update", "add", "sub", "min", "max")},
    **{f"unsorted_segment_{n}": segments(n, True) for n in ("sum", "prod", "min", "max", "mean", "sqrt_n")},
    **{f"segment_{n}": segments(n, False) for n in ("sum", "prod", "min", "max", "mean")},
}
XLA = [f for f in CASES if not f.startswith("segment_")]  # tf2xla has no sorted segments
