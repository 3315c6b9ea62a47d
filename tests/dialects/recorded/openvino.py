"""Random calls of OpenVINO's CPU plugin."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.cases import DTYPES, INTEGERS, numpy_dtype
from tests.dialects.differential import Draw
from tests.dialects.recorded import Call
from tests.dialects.recorded.tensorflow import whole
from tests.oracle import Array


def is_safe(call: Call) -> bool:
    """Whether a call gives something to compare with: from data without elements, Gather and GatherND read other memory.

    No call has an index out of range where the plugin would touch other memory, and none scatters vectors into data without
    elements, which it ignores.
    """
    return call.args[0].size > 0 or not call.function.startswith("gather_") or call.function == "gather_elements_6"


def held(d: Draw, shape: Sequence[int], dtype: str) -> Array:
    """Any data that 32 bits hold: the plugin computes in no more."""
    x = d.data(shape, dtype)
    if dtype == "float64":
        return np.asarray(np.where(np.isinf(x), 9, x).astype("float32").astype(dtype))
    if dtype in ("uint32", "int64", "uint64"):
        return np.asarray((x & x.dtype.type(2**31 - 1)) - x.dtype.type(9 if dtype == "int64" else 0))
    return x


def summed(d: Draw, shape: Sequence[int], dtype: str) -> Array:
    """Data for sums and products: small whole numbers where the plugin rounds in its own way."""
    return held(d, shape, dtype) if dtype in ("float16", "float32") else whole(d, shape, dtype)


def wide(d: Draw, i: Array) -> Array:
    """Indices, now and then with more bits than the 32 that the plugin looks at."""
    if i.dtype != "int64" or d.maybe(0.7):
        return i
    return np.asarray(i + d.rng.integers(-3, 4, i.shape) * 2**32)


def gather(version: int) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        shape = d.shape(d.integer(1, 6))
        axis, batch = d.axis(len(shape)), 0
        if version > 1 and d.maybe(0.4):
            batch = d.integer(0, axis % len(shape))
        grid = [*shape[:batch], *d.shape(d.integer(0, 2))]
        if batch and d.maybe(0.1):
            grid[0] += 1
        wild = 0.3 if len(shape) > 1 else 0  # of data with one axis the plugin may read what lies beside it
        dtype, inside = d.choice(("int64", "int32", "int8", "uint8", "int16", "uint16")), version == 8 or wild > 0
        i = d.index(grid, shape[axis], dtype, negative=inside, wild=wild)
        i = wide(d, i)
        if d.maybe(0.05):
            axis += len(shape)
        options = {"axis": axis}
        if version > 1:
            options["batch_dims"] = batch - len(grid) if d.maybe(0.3) else batch + d.maybe(0.05)
        return Call(f"gather_{version}", (held(d, shape, d.choice(DTYPES)), i), options)

    return draw


def gather_elements(d: Draw) -> Call:
    shape = d.shape(d.integer(1, 6))
    axis = d.axis(len(shape))
    other = [*shape]
    other[axis] = d.integer(1, 6) if shape[axis] else 0
    if d.maybe(0.1):
        other[d.axis(len(shape))] += 1
    i = d.index(other, shape[axis], d.choice(("int64", "int32")))
    if d.maybe(0.05):
        i = i[None] if d.maybe(0.5) else i.astype("int16")
    return Call("gather_elements_6", (held(d, shape, d.choice(DTYPES)), i), {"axis": axis})


def vectors(d: Draw, grid: Sequence[int], extents: Sequence[int], dtype: str) -> Array:
    parts = [d.index(grid, n, dtype) for n in extents]
    return np.stack(parts, -1) if parts else np.zeros((*grid, 0), dtype)


def gather_nd(version: int) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        shape = d.shape(d.integer(1, 6))
        batch = d.integer(0, len(shape) - 1) if d.maybe(0.5) else 0
        m = d.integer(1, len(shape) - batch)
        grid = [*shape[:batch], *d.shape(d.integer(0, 2))]
        if batch and d.maybe(0.1):
            grid[0] += 1
        i = vectors(d, grid, shape[batch : batch + m], d.choice(("int64", "int32", "int8", "uint8")))
        given = batch + d.choice((-1, 1, 4)) if d.maybe(0.05) else batch
        if given >= i.ndim - 1 > 0 and given != batch:
            given = 7
        return Call(f"gather_nd_{version}", (held(d, shape, d.choice(DTYPES)), i), {"batch_dims": given})

    return draw


def gather_tree(d: Draw) -> Call:
    time, batch, beam = (d.integer(1, 5) for _ in range(3))
    dtype = d.choice(("int32", "int32", "float32"))
    step = d.rng.integers(0, 6, (time, batch, beam)).astype(dtype)
    parent = d.rng.integers(0, beam, (time, batch, beam)).astype(dtype)
    length = d.rng.integers(1, time + 3, batch + d.maybe(0.05)).astype(dtype if d.maybe(0.95) else "int64")
    return Call("gather_tree_1", (step, parent, length, np.array(d.integer(0, 6), dtype)))


def scatter_update(d: Draw) -> Call:
    shape = d.shape(d.integer(1, 5))
    axis = d.axis(len(shape))
    a = axis % len(shape)
    grid = d.shape(d.integer(1, 2)) if shape[a] else (0,)
    i = wide(d, d.index(grid, shape[a], d.choice(("int64", "int32", "int8", "uint8")), negative=False))
    dtype = d.choice(DTYPES)
    points = [*shape[:a], *grid, *shape[a + 1 :]]
    if d.maybe(0.08):
        points[d.axis(len(points))] += 1
    return Call("scatter_update_3", (held(d, shape, dtype), i, held(d, points, dtype)), {"axis": axis})


def scatter_elements(version: int) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        shape = d.shape(d.integer(1, 6))
        axis = d.axis(len(shape))
        other = [n if d.maybe(0.5) else d.integer(min(n, 1), n) for n in shape]
        other[axis] = d.integer(1, 6) if shape[axis] else 0
        i = wide(d, d.index(other, shape[axis], d.choice(("int64", "int32", "int8", "uint8"))))
        points = [*other]
        if d.maybe(0.06):
            points[d.axis(len(points))] += 1
        dtype, options = d.choice(DTYPES), {"axis": axis}
        if version == 12:
            how = d.choice(("none", "sum", "prod", "min", "max", "mean"))
            options |= {"reduction": how, "use_init_val": d.maybe(0.5)}
            if how in ("none", "min", "max"):
                x, u = held(d, shape, dtype), held(d, points, dtype)
            elif how == "mean" and dtype in INTEGERS and numpy_dtype(dtype).kind == "i":
                x, u = (d.rng.integers(-9, 9, s).astype(dtype) for s in (shape, points))
            else:
                x, u = summed(d, shape, dtype), summed(d, points, dtype)
            rough = {"bfloat16": 2e-2, "float64": 1e-6}.get(dtype, 0) if how == "mean" else 0
            return Call("scatter_elements_update_12", (x, i, u), options, rtol=rough)
        return Call("scatter_elements_update_3", (held(d, shape, dtype), i, held(d, points, dtype)), options)

    return draw


def scatter_nd(version: int) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        shape = d.shape(d.integer(1, 5), empty=0)
        m = d.integer(1, len(shape))
        grid = d.shape(d.integer(0, 2))
        i = vectors(d, grid, shape[:m], d.choice(("int64", "int32")))
        if d.maybe(0.04):
            i = i.astype("int16")
        points = [*grid, *shape[m:]]
        if points and d.maybe(0.06):
            points[d.axis(len(points))] += 1
        dtype, options = d.choice(DTYPES), {}
        how = d.choice(("none", "sum", "sub", "prod", "min", "max"))
        if version == 15:
            options = {"reduction": how}
        exact = version == 15 and how in ("sum", "sub", "prod")
        values = summed if exact else held
        return Call(
            f"scatter_nd_update_{version}", (values(d, shape, dtype), wide(d, i), values(d, points, dtype)), options
        )

    return draw


CASES: dict[str, Callable[[Draw], Call]] = {
    **{f"gather_{v}": gather(v) for v in (1, 7, 8)},
    "gather_elements_6": gather_elements,
    **{f"gather_nd_{v}": gather_nd(v) for v in (5, 8)},
    "gather_tree_1": gather_tree,
    "scatter_update_3": scatter_update,
    **{f"scatter_elements_update_{v}": scatter_elements(v) for v in (3, 12)},
    **{f"scatter_nd_update_{v}": scatter_nd(v) for v in (3, 15)},
}
