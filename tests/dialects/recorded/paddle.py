"""Random calls of PaddlePaddle on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.dialects.differential import Draw
from tests.dialects.recorded import Call
from tests.dialects.recorded.openvino import vectors
from tests.dialects.recorded.tensorflow import whole
from tests.oracle import Array

INDEX = ("int64", "int64", "int32")
GATHER = ("bool", "int8", "int16", "int32", "int64", "uint8", "bfloat16", "float32", "float64")
SELECT = ("bool", "int32", "int64", "bfloat16", "float32", "float64")
GATHER_ND = ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64")
SCATTER = ("int32", "int64", "float32", "float64")
ALONG = ("int16", "int32", "int64", "uint8", "float32", "float64")


def is_safe(call: Call) -> bool:
    """Whether a call gives something to compare with: put_along_axis writes to other memory where its indices do not fit.

    No call has data or updates without elements, where Paddle reads other memory or gives other shapes.
    """
    if call.function != "put_along_axis":
        return True
    x, i, _, axis, _, include_self, _ = call.args
    if x.ndim != i.ndim:
        return True
    fits = all(m <= n for a, (m, n) in enumerate(zip(i.shape, x.shape, strict=True)) if a != axis % x.ndim)
    return fits and (include_self or bool(np.all((i >= -x.shape[axis]) & (i < x.shape[axis]))))


def rows(function: str, dtypes: Any) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        shape = d.shape(d.integer(0 if d.maybe(0.05) else 1, 6), empty=0)
        axis = d.axis(len(shape))
        grid: tuple[int, ...] = (d.integer(1, 6),)
        if d.maybe(0.3):
            grid = d.choice(((), (3, 1), (2, 2), (1, 1), (1, 1, 1)))
        i = d.index(grid, shape[axis] if shape else 1, d.choice(INDEX), wild=0.15)
        if function == "index_select" and d.maybe(0.04):
            i = i.astype("int16")  # for which gather gives a tensor of another shape
        if function == "gather" and axis < 0:
            axis += len(shape)
        if d.maybe(0.04):
            axis = len(shape)
        given = None if function == "gather" and axis == 0 else axis
        return Call(function, (d.data(shape, d.choice(dtypes)), i, given))

    return draw


def gather_nd(d: Draw) -> Call:
    shape = d.shape(d.integer(1, 6), empty=0)
    m = d.integer(1, len(shape))
    return Call("gather_nd", (d.data(shape, d.choice(GATHER_ND)), wild_vectors(d, d.shape(d.integer(0, 2)), shape[:m])))


def wild_vectors(d: Draw, grid: Any, extents: Any) -> Array:
    i = vectors(d, grid, extents, d.choice(INDEX))
    if i.size and d.maybe(0.12):
        i.flat[d.integer(0, i.size - 1)] = d.choice((7, -7, np.iinfo(i.dtype).max, np.iinfo(i.dtype).min))
    return i


def scatter(d: Draw) -> Call:
    shape = d.shape(d.integer(1, 5), empty=0)
    dtype, overwrite = d.choice(SCATTER), d.maybe(0.5)
    grid: tuple[int, ...] = (d.integer(1, 6),)
    if d.maybe(0.2):
        grid = d.choice(((), (3, 1), (2, 2)))
    i = d.index(grid, shape[0], d.choice(INDEX), wild=0.15)
    count = [grid[0] + d.integer(0, 1)] if grid else []
    if d.maybe(0.05):
        count = [1, *count]
    points = [*count, *shape[1:]]
    if d.maybe(0.06):
        points[-1:] = [points[-1] + 1] if points else [1]
    return Call("scatter", (d.data(shape, dtype), i, d.data(points, dtype), overwrite))


def scatter_nd(add: bool) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        shape = d.shape(d.integer(1, 5), empty=0)
        m = d.integer(1, len(shape))
        grid, dtype = d.shape(d.integer(0, 2), empty=0), d.choice((*SCATTER, "uint8"))
        points = [*grid, *shape[m:]]
        if points and d.maybe(0.06):
            points[d.axis(len(points))] += 1
        i, updates = wild_vectors(d, grid, shape[:m]), d.data(points, dtype)
        if add:
            return Call("scatter_nd_add", (d.data(shape, dtype), i, updates))
        return Call("scatter_nd", (i, updates, list(shape)))

    return draw


def along(d: Draw, shape: Any, axis: int, broadcast: bool) -> Array:
    other = [*shape]
    for a, n in enumerate(shape):
        if d.maybe(0.3):
            other[a] = 1 if broadcast else d.integer(1, n)
    other[axis] = d.integer(1, 6)
    if d.maybe(0.06):
        other[d.axis(len(shape))] += 1
    i = d.index(other, shape[axis], d.choice(INDEX), wild=0.15)
    return i[None] if d.maybe(0.03) else i


def take_along_axis(d: Draw) -> Call:
    shape, broadcast = d.shape(d.integer(1, 6), empty=0), d.maybe(0.6)
    axis = d.axis(len(shape))
    x = [1 if broadcast and d.maybe(0.1) else n for n in shape]
    x[axis] = shape[axis]
    args = (d.data(x, d.choice(ALONG)), along(d, shape, axis, broadcast), axis, broadcast)
    return Call("take_along_axis", args)


def put_along_axis(d: Draw) -> Call:
    shape, broadcast = d.shape(d.integer(1, 6), empty=0), d.maybe(0.6)
    axis, dtype = d.axis(len(shape)), d.choice(ALONG)
    i = along(d, shape, axis, broadcast)
    how, keep = d.choice(("assign", "add", "mul", "multiply", "mean", "amin", "amax")), d.maybe(0.6)
    points = [*i.shape]
    if broadcast:
        points = [1 if d.maybe(0.3) else n for n in points]
    elif d.maybe(0.3):
        points = [n + d.integer(0, 1) for n in points]
    if d.maybe(0.05):
        points[-1] += 1
    few = how == "mean" and not dtype.startswith("float")
    x, values = (whole(d, s, dtype) if few else d.data(s, dtype) for s in (shape, points))
    given: Any = 2.0 if dtype == "float32" and d.maybe(0.3) else values
    return Call("put_along_axis", (x, i, given, axis, how, keep, broadcast))


CASES: dict[str, Callable[[Draw], Call]] = {
    "gather": rows("gather", GATHER),
    "index_select": rows("index_select", SELECT),
    "gather_nd": gather_nd,
    "scatter": scatter,
    "scatter_nd": scatter_nd(False),
    "scatter_nd_add": scatter_nd(True),
    "take_along_axis": take_along_axis,
    "put_along_axis": put_along_axis,
}
