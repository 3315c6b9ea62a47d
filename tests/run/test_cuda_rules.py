"""The cuda rules one by one, against the oracle, without a GPU.

Every case is run twice: emulated with the threads from last to first (:mod:`gscompile.emulation`), and as the CUDA text itself
with the threads shuffled (:mod:`tests.cuda`).  A case names the rule that it is about, and is wrong if another rule takes
its place.
"""

from __future__ import annotations

import itertools
import math
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from gscompile.ir import tir as T
from gscompile.ir.nests import Nest
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.schedules import Context
from gscompile.schedules.cuda import elements, launch, vectors
from gscompile.schedules.cuda.points import over_points
from gscompile.schedules.cuda.scatter import copy_base
from tests import cuda, oracle
from tests.cases import index_palette, numpy_dtype, random_data
from tests.oracle import Array, assert_same

SCATTERS = {"direct", "last-writer", "listed", "ordered", "atomics", "privatised", "sorted-rows", "sorted-elements"}
# rules by which threads wait for each other, and what the emulation, which cannot do that, has in their place
TOGETHER = {"fold-rows": None, "bags": None, "sorted-elements": None, "privatised": "atomics", "listed": "ordered"}
RULES = {"copies", "elements", "cells", "folds", "fold-columns", *TOGETHER, *SCATTERS}
PRIVATE = {"elements", "cells", "slices", "halves"}  # layouts of few cells, or where a call may have few


@dataclass(frozen=True)
class Case:
    """A graph whose only output is made by one rule.

    Attributes:
        declare: adds the graph to a builder.
        runs: inputs, and the result.
        exact: results are compared bit by bit; otherwise sums of floats may differ by rounding.
        access: bytes that a thread moves at once, where that is more than one element.
    """

    name: str
    rule: str
    declare: Callable[[gs.Builder], gs.Value]
    runs: Sequence[tuple[tuple[Array, ...], Array]]
    exact: bool = True
    access: int = 0

    def builder(self) -> gs.Builder:
        b = gs.Builder(self.name)
        b.output(self.declare(b))
        return b

    def check(self, module: Any) -> None:
        assert [rule for _, rule in module.stats.kernels] == [self.rule]
        for arrays, want in self.runs:
            before = [a.copy() for a in arrays]
            got = module(*arrays)
            if self.exact:
                assert_same(got, want, signed_zero=False)
            else:
                np.testing.assert_allclose(
                    got.astype("f8"), want.astype("f8"), rtol=1e-2 if want.itemsize < 4 else 1e-5
                )
            assert all(a.tobytes() == was.tobytes() for a, was in zip(arrays, before, strict=True))
            if len(arrays) == 3 and arrays[0].shape == want.shape and self.rule in SCATTERS:
                out = arrays[0].copy()
                assert module(out, *arrays[1:], out=out) is out
                self.compare(out, want)

    def compare(self, got: Array, want: Array) -> None:
        if self.exact:
            assert_same(got, want, signed_zero=False)
        else:
            np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=1e-2 if want.itemsize < 4 else 1e-5)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


CASES: list[Case] = []


def case(name: str, rule: str, declare: Callable[[gs.Builder], gs.Value], *runs: Any, **options: Any) -> None:
    CASES.append(Case(name, rule, declare, runs, **options))


# -- maps -------------------------------------------------------------------------------------------------------------


def gather_rows(dtype: str, width: int, static: bool, **policy: Any) -> None:
    """Rows of a table; with an empty index, an empty table, and values out of range where the policy allows that."""
    wild = "bounds" in policy

    def declare(b: gs.Builder) -> gs.Value:
        x = b.input("x", (9 if static else "n", width), dtype)
        return b.take(x, b.input("i", (7 if static else "k",), "int64"), **policy)

    def run(n: int, k: int) -> Any:
        x = random_data(rng(n), (n, width), dtype)
        i = rng(k).integers(-3 * n, 3 * n, k) if wild else rng(k).integers(-n, n, k)
        bounds = policy.get("bounds", "raise")
        return (x, i), oracle.gather_ref(x, i, oracle.take_map(x.shape, i.shape, 0), bounds, fill=policy.get("fill", 0))

    runs = [run(9, 7)] if static else [run(9, 7), run(400, 300), run(9, 0)]
    shape = "static" if static else "symbolic"
    size = np.dtype(dtype).itemsize
    access = math.gcd(16, width * size) if dtype != "bool" else size
    name = f"rows_{dtype}_{width}_{shape}_{policy.get('bounds', 'raise')}"
    vectors = access > size
    case(name, "copies", declare, *runs, access=access if vectors else 0)


for dtype in ("int8", "uint16", "float16", "int32", "float32", "uint64", "float64", "bool"):
    gather_rows(dtype, 64, static=False)
    gather_rows(dtype, 6, static=True)
gather_rows("float32", 5, static=False)
gather_rows("int8", 3, static=True)
for bounds in ("clip", "wrap", "fill"):
    gather_rows("float32", 12, static=False, bounds=bounds)
gather_rows("float16", 8, static=False, bounds="fill", fill=-1.5)
gather_rows("int8", 4, static=False, bounds="fill", fill=-7)


def other_maps() -> None:
    x, y = random_data(rng(1), (5, 6, 8), "float32"), random_data(rng(2), (5, 6, 8), "float32")
    i = rng(3).integers(0, 6, (3, 2))
    nd = rng(4).integers(0, 5, (4, 2))

    def inputs(b: gs.Builder) -> tuple[gs.Value, gs.Value]:
        return b.input("x", ("n", "m", 8), "float32"), b.input("y", ("n", "m", 8), "float32")

    def index(b: gs.Builder, *shape: Any) -> gs.Value:
        return b.input("i", shape, "int64")

    case(
        "take_axis_1",
        "copies",
        lambda b: b.take(inputs(b)[0], index(b, "k", 2), axis=1),
        ((x, y, i), x[:, i]),
        access=16,
    )
    case(
        "gather_nd_slices",
        "copies",
        lambda b: b.gather_nd(inputs(b)[0], index(b, "k", 2)),
        ((x, y, nd), x[nd[:, 0], nd[:, 1]]),
        access=16,
    )
    case(
        "take_last_axis", "elements", lambda b: b.take(inputs(b)[0], index(b, "k", 2), axis=2), ((x, y, i), x[:, :, i])
    )
    case("sum_of_two", "cells", lambda b: (lambda p, q: p + q * 0.5)(*inputs(b)), ((x, y), x + y * np.float32(0.5)))
    case("transposed", "cells", lambda b: b.transpose(inputs(b)[0], [0, 2, 1]), ((x, y), x.transpose(0, 2, 1)))
    case("flipped", "cells", lambda b: b.flip(inputs(b)[0], 2), ((x, y), x[:, :, ::-1]))
    case("sliced", "cells", lambda b: inputs(b)[0][:, :, 1:5], ((x, y), x[:, :, 1:5]))  # alignment is lost
    case("rows_of_slices", "copies", lambda b: inputs(b)[0][1:, ::2], ((x, y), x[1:, ::2]), access=16)
    case("scalar", "cells", lambda b: b.full((), 2.5), ((), np.array(2.5, "f4")))


other_maps()


def fills(dtype: str, value: float, *shape: Any) -> None:
    """One value everywhere, 16 bytes at once but for the last elements."""

    def declare(b: gs.Builder) -> gs.Value:
        b.input("x", ("n",), "int8")
        return b.full(shape, value, dtype)

    def run(n: int) -> Any:
        return (np.zeros(n, "int8"),), np.full([n if s == "n" else s for s in shape], value, numpy_dtype(dtype))

    name = "_".join(map(str, ("fill", dtype, *shape)))
    case(name, "cells", declare, *(run(n) for n in (0, 1, 5, 9000 if "n" in shape else 3)), access=16)


for dtype, value in (
    ("bool", 1),
    ("int8", -3),
    ("uint16", 65535),
    ("int32", -5),
    ("int64", -(1 << 40)),
    ("uint64", 1 << 63),
    ("bfloat16", 1.5),
    ("float16", -2.5),
    ("float32", -math.inf),
    ("float64", math.nan),
    ("complex64", 2),
):
    fills(dtype, value, "n", 3)
fills("float32", 0, 7, 3)
fills("int8", 7, 1001, 64)
fills("bool", 1, 5)


def gather_elements(name: str, dtype: str, index: str, how: str, *shapes: tuple[Any, ...], **policy: Any) -> None:
    """Single elements by neighbouring indices, of every kind that the policy allows.

    Args:
        how: ``flat`` for an index of one axis, ``first`` for elements along axis 0, ``points`` for index vectors.
        shapes: of the index: as it is declared, and those of the runs.
    """
    declared, *runs = shapes
    components = declared[-1] if how == "points" else 1
    bounds, negative = policy.get("bounds", "raise"), index[0] == "i"

    def table(rows: Any, width: Any) -> tuple[Any, ...]:
        return {"flat": (rows,), "first": (rows, width), "points": tuple(rows for _ in range(components))}[how]

    def declare(b: gs.Builder) -> gs.Value:
        rows = 5 if bounds == "wrap" else "n"  # the rule leaves what wraps around an unknown size to another
        x, i = b.input("x", table(rows, declared[-1]), dtype), b.input("i", declared, index)
        call = {"flat": b.take, "first": b.gather, "points": b.gather_nd}[how]
        return call(x, i, **policy)

    def run(shape: tuple[int, ...]) -> Any:
        x = random_data(rng(3), table(5, shape[-1]), dtype)
        good, bad = index_palette(5, 1, index, negative)
        values = np.array(good + bad * (bounds != "raise"), index)
        i = rng(len(shape)).choice(values, shape)
        maps = {"flat": oracle.take_map, "first": oracle.element_map, "points": oracle.nd_map}
        through = maps[how](x.shape, i.shape, *([] if how == "points" else [0]))
        return (x, i), oracle.gather_ref(x, i, through, bounds, fill=policy.get("fill", 0))

    case(f"{name}_{dtype}_{index}_{bounds}", "elements", declare, *(run(shape) for shape in runs))


FLAT = (("k",), (1023,), (4,), (3,), (1,), (0,))
for index in ("int8", "uint16", "int32", "int64", "uint64"):
    gather_elements("flat", "float32", index, "flat", *FLAT)
for dtype in ("int8", "float16", "bfloat16", "int64", "float64", "complex64"):
    gather_elements("flat", dtype, "int32", "flat", *FLAT, bounds="clip")
gather_elements("flat", "float32", "int64", "flat", *FLAT, bounds="fill", fill=-1.5)
gather_elements("wrapped", "int16", "int32", "first", (51, 8), (51, 8), bounds="wrap")
gather_elements("fixed", "float32", "int32", "flat", (1023,), (1023,))
gather_elements("even", "float32", "int64", "first", ("k", 8), (300, 8), (1, 8), (0, 8))
gather_elements("odd", "float32", "int32", "first", ("k", 6), (300, 6), (1, 6), bounds="fill", fill=7)
gather_elements("symbolic", "float32", "int32", "first", ("k", "m"), (60, 12), (33, 7), (1, 4), (5, 1), (0, 4))
gather_elements("symbolic", "uint8", "int64", "first", ("k", "m"), (60, 12), (33, 7), bounds="clip")
for index in ("int32", "int64"):
    gather_elements("pairs", "float32", index, "points", ("k", 2), (1023, 2), (1, 2), (0, 2))
gather_elements("quads", "int32", "int32", "points", ("k", 4), (333, 4), (2, 4), bounds="fill", fill=3)


# -- reductions over axes ---------------------------------------------------------------------------------------------


def folds() -> None:
    x = random_data(rng(5), (5, 7, 3), "int32")
    f = rng(6).standard_normal((5, 7, 3)).astype("f4")
    e = np.zeros((0, 7, 3), "f4")

    def over(method: str, dtype: str, *args: Any) -> Callable[[gs.Builder], gs.Value]:
        return lambda b: getattr(b, method)(b.input("x", ("n", 7, 3), dtype), *args)

    case("max", "folds", over("max", "int32", 1), ((x,), x.max(1)), ((x[:0],), x[:0].max(1)))
    case("prod", "fold-columns", over("prod", "int32", [0, 2]), ((x,), x.prod((0, 2))))
    whole = ((f,), np.asarray(f.sum())), ((e,), np.zeros((), "f4"))
    case("sum", "fold-rows", over("sum", "float32"), *whole, exact=False)
    case("mean", "fold-columns", over("mean", "float32", 0), ((f,), f.mean(0)), exact=False)
    case("argmax", "folds", over("argmax", "float32", 2), ((f,), f.argmax(2)), ((e,), e.argmax(2)))
    case("argmin", "fold-columns", over("argmin", "float32", 0), ((f,), f.argmin(0)))


def long_folds(method: str, dtype: str, axis: int | None, *shapes: tuple[int, ...], static: bool = False) -> None:
    """Folds of many lengths, of which those of the last shape are cut into parts, with equal values and NaN among them."""

    def run(shape: tuple[int, ...]) -> Any:
        x = rng(sum(shape)).integers(-9, 9, shape).astype(numpy_dtype(dtype))
        if method.startswith("arg") and dtype.startswith("float") and x.size > 3000:
            x.ravel()[[x.size // 3, x.size // 2]] = np.nan
        with np.errstate(invalid="ignore"):
            how = {"dtype": "f8"} if method == "sum" and dtype.startswith("float") else {}
            want = getattr(x, {"any": "any"}.get(method, method))(axis, **how)
        return (x,), np.asarray(want).astype(want.dtype if method != "sum" or not how else x.dtype)

    def declare(b: gs.Builder) -> gs.Value:
        shape = shapes[-1] if static else tuple("nmk"[: len(shapes[0])])
        return getattr(b, method)(b.input("x", shape, dtype), axis)

    runs = [run(s) for s in (shapes[-1:] if static else shapes)]
    rule = "fold-columns" if axis == 0 else "fold-rows"
    case(
        f"{method}_{dtype}_{axis}_{'static' if static else 'symbolic'}", rule, declare, *runs, exact=dtype != "float32"
    )


ROWS = ((3, 1), (9, 31), (5, 33), (2, 1024), (0, 40), (2, 9001))
for method, dtype in (
    ("sum", "float32"),
    ("argmax", "float32"),
    ("argmin", "float64"),
    ("max", "int32"),
    ("sum", "int64"),
):
    long_folds(method, dtype, 1, *ROWS)
    long_folds(method, dtype, 1, *ROWS, static=True)
    long_folds(method, dtype, 0, (1, 3), (70, 2), (700, 5), (200, 0))
    long_folds(method, dtype, 0, (700, 5), static=True)
long_folds("sum", "int32", None, (1, 1, 1), (3, 0, 7), (90, 11, 10))
long_folds("max", "float32", None, (5, 7, 9), (90, 11, 10), static=True)


def segments() -> None:
    x = rng(8).integers(-9, 9, 4000).astype("int32")
    ends = np.array([0, 1, 1, 40, 33, 3900, 4000])
    want = np.array([x[a:b].sum(dtype="i8") for a, b in itertools.pairwise(ends)])

    def declare(b: gs.Builder) -> gs.Value:
        return b.segment_reduce(b.input("x", ("n",), "int32"), b.input("ends", ("s",), "int64"))

    case("segments", "fold-rows", declare, ((x, ends), want))


folds()
segments()


# -- scatters ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """A scatter's shapes and map; ``symbols`` are declared extents."""

    name: str
    data: tuple[int, ...]
    index: tuple[int, ...]
    map: oracle.Map
    call: Callable[..., gs.Value]
    shapes: tuple[Any, Any, Any]
    high: tuple[int, ...]


def layouts(data: tuple[int, ...], k: int) -> dict[str, Layout]:
    """Elements, rows, blocks on two axes, slices that overlap, and windows that cover half an axis."""
    n, m = data
    # slices of 2 x m at row i[0], column 0
    slices = oracle.Map((("indexed", 0, 0), ("window", 1)), 1, (2, m), (("index", 0), ("window", 0), ("window", 1)))
    half = oracle.Map((("indexed", 0, None), ("window", 0)), None, (4,), (("window", 0), ("index", 0)))

    def by_map(map: oracle.Map) -> Callable[..., gs.Value]:
        from tests.cases import to_gs_map

        return lambda b, *a, **o: b.scatter_map(*a, to_gs_map(map), **o)

    found = [
        Layout(
            "elements",
            data,
            (k, m),
            oracle.element_map(data, (k, m), 0),
            lambda b, *a, **o: b.scatter(*a, 0, **o),
            (("n", m), ("k", m), ("k", m)),
            (n,),
        ),
        Layout(
            "rows",
            data,
            (k,),
            oracle.take_map(data, (k,), 0),
            lambda b, *a, **o: b.put(*a, **o),
            (("n", m), ("k",), ("k", m)),
            (n,),
        ),
        Layout(
            "columns",
            data,
            (k,),
            oracle.take_map(data, (k,), 1),
            lambda b, *a, **o: b.put(*a, 1, **o),
            (("n", m), ("k",), ("n", "k")),
            (m,),
        ),
        Layout(
            "cells",
            data,
            (k, 2),
            oracle.nd_map(data, (k, 2)),
            lambda b, *a, **o: b.scatter_nd(*a, **o),
            (("n", m), ("k", 2), ("k",)),
            (n, m),
        ),
        Layout("slices", data, (k, 1), slices, by_map(slices), ((n, m), ("k", 1), ("k", 2, m)), (n - 1,)),
        Layout("halves", data, (k,), half, by_map(half), ((n, m), ("k",), (4, "k")), (n,)),
    ]
    return {layout.name: layout for layout in found}


def scatters(
    rule: str, dtype: str, reduction: str, layout: str, *, unique: bool = False, bounds: str = "raise", **options: Any
) -> None:
    include_self = options.get("include_self", True)
    if rule == "atomics" and layout in PRIVATE and reduction != "sub":
        rule = "privatised"
    if rule == "ordered" and layout != "slices":  # which overlap
        rule = "listed"

    def run(n: int, k: int) -> Any:
        s = layouts((n, 8), k)[layout]
        seed = rng(n + k)
        data = random_data(seed, s.data, dtype)
        index = np.zeros(s.index, "int64")
        for c, high in enumerate(s.high):
            part = index[..., c : c + 1] if s.map.vector_axis is not None else index
            low, top = (-2 * high - 1, 2 * high + 1) if bounds == "fill" else (0, high)
            part[...] = seed.integers(low, max(top, 1), part.shape)
        if unique:
            index = seed.permutation(max(s.high[0], k))[:k].astype("int64")
            index = index if s.map.vector_axis is None else index[:, None]
            index = np.broadcast_to(index[:, None], s.index).copy() if len(s.index) > index.ndim else index
        src = random_data(seed, s.map.points_shape(s.index), dtype)
        want = oracle.scatter_ref(data, index, src, s.map, reduction, include_self, bounds)
        return (data, index, src), want

    def declare(b: gs.Builder) -> gs.Value:
        s = layouts((9, 8), 1)[layout]
        x = b.input("x", s.shapes[0], dtype)
        i = b.input("i", s.shapes[1], "int64")
        v = b.input("v", s.shapes[2], dtype)
        return s.call(b, x, i, v, reduction=reduction, unique=unique, bounds=bounds, **options)

    most = 7 if unique else 40
    runs = [run(9, most), run(9, 1), run(9, 0)]
    if layout not in ("slices", "halves", "columns"):
        runs += [run(0, 0)] if bounds == "raise" else [run(0, 0), run(0, 5)]
    floats = dtype.startswith(("float", "bfloat")) and reduction in ("add", "sub", "mul", "mean")
    exact = not floats or rule in ("direct", "listed", "ordered")
    what = "_".join(str(v) for v in (rule.replace("-", "_"), dtype, reduction, layout, bounds, *options.values()))
    case(what, rule, declare, *runs, exact=exact)


ALL = ("elements", "rows", "columns", "cells", "slices", "halves")
for layout in ALL:
    scatters("last-writer", "float32", "update", layout)
    scatters("atomics", "int32", "add", layout)
    scatters("atomics", "int64", "mean", layout)
    scatters("atomics", "int32", "sub", layout, include_self=False)
    scatters("ordered", "float32", "add", layout, deterministic=True)
    scatters("ordered", "float16", "mean", layout, deterministic=True, include_self=False)
for dtype in ("int8", "float16", "bfloat16", "uint64", "bool"):
    scatters("last-writer", dtype, "update", "rows", bounds="fill")
    scatters("last-writer", dtype, "update", "elements")
for reduction in ("and", "or", "xor"):
    scatters("atomics", "int8", reduction, "elements")
    scatters("atomics", "uint64", reduction, "cells", bounds="fill")
for layout in ("elements", "rows"):
    scatters("direct", "float32", "update", layout, unique=True)
    scatters("direct", "int8", "update", layout, unique=True)
    scatters("direct", "float16", "add", layout, unique=True)
    scatters("direct", "float32", "mean", layout, unique=True)
    scatters("direct", "int64", "mean", layout, unique=True, include_self=False)
for dtype in ("bool", "int8", "uint16", "int64", "uint64", "float16", "bfloat16", "float32", "float64"):
    for reduction in ("add", "mul", "min", "max"):
        scatters("atomics", dtype, reduction, "rows")
        scatters("atomics", dtype, reduction, "elements", include_self=False)
for dtype in ("uint8", "int16", "uint32", "float16", "float32", "float64"):
    scatters("atomics", dtype, "sub", "elements")
    scatters("atomics", dtype, "sub", "elements", include_self=False)
    scatters("atomics", dtype, "mean", "elements")
    scatters("atomics", dtype, "mean", "rows", include_self=False, bounds="fill")
for dtype in ("float16", "bfloat16", "float32", "float64"):
    for reduction in ("add", "sub", "mul", "min", "max", "mean"):
        if (dtype, reduction) != ("float32", "add"):  # is among the layouts above
            scatters("ordered", dtype, reduction, "elements", deterministic=True)


def sorted_rows(dtype: str, reduction: str, width: int, *, bounds: str = "raise", **options: Any) -> None:
    """Rows whose indices are sorted, in runs of any length; where the policy allows it, some between them are dropped."""

    def declare(b: gs.Builder) -> gs.Value:
        x, i, v = b.input("x", ("n", width), dtype), b.input("i", ("k",), "int64"), b.input("v", ("k", width), dtype)
        return b.put(x, i, v, reduction=reduction, bounds=bounds, negative=False, sorted=True, **options)

    def run(n: int, k: int, spread: int) -> Any:
        data, v = (rng(s).integers(0, 9, (rows, width)).astype(numpy_dtype(dtype)) for s, rows in ((n, n), (2, k)))
        index = np.sort(rng(k).integers(0, spread, k)) * (n // spread)
        if bounds == "fill":
            index[rng(k).random(k) < 0.2] = rng(k).choice([-1, n, 1 << 62, -(1 << 62)])
        how = {"reduction": reduction, "bounds": bounds, "negative": False, **options}
        return (data, index, v), oracle.scatter_ref(data, index, v, oracle.take_map(data.shape, index.shape, 0), **how)

    what = "_".join(str(v) for v in ("sorted", dtype, reduction, width, bounds, *options.values()))
    runs = [run(700, 333, 40), run(600, 300, 300), run(40, 64, 1), run(40, 17, 2), run(9, 1, 9), run(9, 0, 9)]
    case(what, "sorted-rows", declare, *runs, exact=reduction != "mean")


for width in (10, 9):
    sorted_rows("float32", "add", width)
for bounds in ("fill", "clip", "trust"):
    sorted_rows("float32", "add", 4, bounds=bounds)
for dtype in ("bool", "int8", "float16", "bfloat16", "float64"):
    sorted_rows(dtype, "add", 32)
sorted_rows("int64", "mean", 4, include_self=False)
sorted_rows("float32", "mean", 8, bounds="fill")
sorted_rows("uint64", "xor", 4)
sorted_rows("uint16", "max", 19, bounds="fill")
sorted_rows("int32", "min", 8, include_self=False, bounds="fill")


# layout -> shapes of data, index and src for n cells and k points, the axis that is indexed, the oracle's map, the operator
ORDERED: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "elements": lambda n, k: ((n,), (k,), (k,), 0, oracle.take_map, "put"),
    "threes": lambda n, k: ((n, 3), (k,), (k, 3), 0, oracle.take_map, "put"),
    "sevens": lambda n, k: ((n, 7), (k,), (k, 7), 0, oracle.take_map, "put"),
    "grid": lambda n, k: ((n,), (k, 5), (k, 5), 0, oracle.take_map, "put"),
    "columns": lambda n, k: ((6, n), (k,), (6, k), 1, oracle.take_map, "put"),
    "batches": lambda n, k: ((6, n), (6, k), (6, k), 1, oracle.element_map, "scatter"),
    "shared": lambda n, k: ((n, 5), (k, 5), (k, 5), 0, oracle.element_map, "scatter"),
}


def sorted_elements(
    layout: str, dtype: str = "int32", reduction: str = "add", *, bounds: str = "raise", **options: Any
) -> None:
    """Elements, and rows shorter than a sector, whose indices are sorted."""

    def declare(b: gs.Builder) -> gs.Value:
        data, index, src, axis, _, call = ORDERED[layout]("n", "k")
        given = b.input("x", data, dtype), b.input("i", index, "int64"), b.input("v", src, dtype), axis
        how = {"reduction": reduction, "bounds": bounds, "negative": False, "sorted": True, **options}
        value: gs.Value = getattr(b, call)(*given, **how)
        return value

    def run(n: int, k: int, spread: int) -> Any:
        data_shape, index_shape, src_shape, axis, of, _ = ORDERED[layout](n, k)
        data, v = (rng(s).integers(0, 5, x).astype(numpy_dtype(dtype)) for s, x in ((n, data_shape), (2, src_shape)))
        along = {"batches": 1, "shared": 0}.get(layout)  # else in all of the index's order
        index = np.sort(rng(k).integers(0, spread, index_shape), along)
        index = (index if along is not None else np.sort(index, None).reshape(index_shape)) * (n // spread)
        if bounds == "fill":
            index[rng(k).random(index_shape) < 0.3] = rng(k).choice([-1, n, 1 << 62, -(1 << 62)])
        how = {"reduction": reduction, "bounds": bounds, "negative": False, **options}
        return (data, index, v), oracle.scatter_ref(data, index, v, of(data.shape, index.shape, axis), **how)

    what = "_".join(str(v) for v in ("sorted", layout, dtype, reduction, bounds, *options.values()))
    runs = [run(700, 333, 40), run(600, 300, 300), run(40, 64, 1), run(40, 17, 2), run(9, 1, 9), run(9, 0, 9)]
    case(what, "sorted-elements", declare, *runs, exact=reduction != "mean")


for layout in ORDERED:
    sorted_elements(layout, "float32", bounds="fill")
    sorted_elements(layout, "int16", "max")
for dtype in ("bool", "uint8", "float16", "bfloat16", "float64"):
    sorted_elements("elements", dtype, "add", bounds="fill")
sorted_elements("elements", "float32", "mean", bounds="fill", include_self=False)
sorted_elements("threes", "int32", "mean")
sorted_elements("elements", "uint64", "xor", bounds="clip")
sorted_elements("elements", "float32", "min", bounds="trust", include_self=False)


def bags(
    op: str, dtype: str, width: int, symbolic: str = "", index: str = "int64", bounds: str = "raise", fill: int = 7
) -> None:
    """Rows of a table, folded by bags; of a symbolic width, others by columns."""

    def declare(b: gs.Builder) -> gs.Value:
        x = b.input("x", ("n", "w" if symbolic == "width" else width), dtype)
        rows = b.take(x, b.input("i", ("c", "k") if symbolic else (6, 50), index), bounds=bounds, fill=fill)
        value: gs.Value = getattr(b, op)(rows, 1)
        return value

    def run(n: int, c: int, k: int, w: int) -> Any:
        x, i = rng(w).integers(-9, 9, (n, w)).astype(dtype), rng(k).integers(-n, n, (c, k)).astype(index)
        if bounds in ("fill", "clip"):
            i[rng(k).random((c, k)) < 0.3] = rng(k).choice([n, -n - 1, np.iinfo(index).max, np.iinfo(index).min])
        rows = oracle.gather_ref(x, i, oracle.take_map(x.shape, i.shape, 0), bounds, fill=fill)
        total = rows.max(1) if op == "max" else rows.astype("f8").sum(1) / (k if op == "mean" else 1)
        return (x, i), total.astype("int64" if op == "sum" and dtype.startswith("int") else dtype)

    sizes = [(9, 6, 50)] if not symbolic else [(9, 3, 33), (40, 1, 1), (7, 5, 64), (7, 0, 5), (5, 2, 131)]
    widths = (64, 40, 33) if symbolic == "width" else (width,)
    runs = [run(*size, w) for size in sizes for w in widths]
    case("_".join(("bags", op, dtype, str(width), symbolic, index, bounds)), "bags", declare, *runs, exact=op != "mean")


for symbolic in ("", "length", "width"):
    bags("sum", "float32", 64, symbolic, bounds="fill")
bags("sum", "float32", 24, "length")
bags("mean", "float32", 96, "length", "int32", "clip")
bags("sum", "float16", 16, "length", bounds="wrap")
bags("sum", "int32", 40, "length", "int32")
bags("max", "float64", 256, "length", bounds="trust")
bags("max", "int64", 4, "width")

NAMES = [c.name for c in CASES]


def test_every_rule_has_cases() -> None:
    assert {c.rule for c in CASES} == RULES
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("c", [c for c in CASES if TOGETHER.get(c.rule, c.rule)], ids=lambda c: c.name)
def test_emulated(c: Case) -> None:
    """Backward: the order in which a result that depends on it is the most wrong."""
    replace(c, rule=TOGETHER.get(c.rule) or c.rule).check(emulate(c.builder(), backward=True))


def wide_rows(width: Any, dtype: str, bounds: str) -> tuple[gs.Builder, Any]:
    """A gather of rows of many units, and what calls it with rows of so many elements."""
    b = gs.Builder(f"walk_{dtype}_{bounds}")
    x = b.input("x", ("n", "m", width), dtype)
    b.output(b.take(x, b.input("i", ("k", 2), "int64"), axis=1, bounds=bounds, fill=3))

    def run(module: Any, w: int) -> None:
        x = random_data(rng(w), (2, 5, w), dtype)
        i = rng(w).integers(-5 if bounds == "raise" else -9, 5, (21, 2))
        want = oracle.gather_ref(x, i, oracle.take_map(x.shape, i.shape, 1), bounds, fill=3)
        assert [rule for _, rule in module.stats.kernels] == ["copies"]
        assert_same(module(x, i), want)

    return b, run


@pytest.mark.parametrize("options", [{}, {"wide": True}, {"backward": True}], ids=str)
@pytest.mark.parametrize(("streamed", "blocks"), [(0, 1), (1 << 40, 3)])
@pytest.mark.parametrize("bounds", ["raise", "fill"])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_copies_walk(
    dtype: str, bounds: str, streamed: int, blocks: int, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small grid that walks over much work, with rows of any length, those of 16 bytes and others."""
    monkeypatch.setattr(launch, "most_blocks", lambda target: blocks)
    monkeypatch.setattr(vectors, "STREAMED_BYTES", streamed)
    b, run = wide_rows("w", dtype, bounds)
    module = emulate(b, **options)
    for w in (400, 33, 1, 0):
        run(module, w)


@pytest.mark.skipif(cuda.cpu_compiler() is not None, reason=str(cuda.cpu_compiler()))
def test_copies_walk_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "most_blocks", lambda target: 1)
    monkeypatch.setattr(vectors, "STREAMED_BYTES", 1000)
    cases = [wide_rows(w, dtype, "fill") for dtype in ("float16", "uint8", "float64") for w in ("w",)]
    for (_, run), (module, _) in zip(cases, cuda.on_cpu([b for b, _ in cases], tmp_path), strict=True):
        for w in (800, 33, 0):
            run(module, w)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("text", [False, True])
def test_elements_walk(index: str, text: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block that walks over much work, whose last cells are fewer than a thread takes at once."""
    if text and (reason := cuda.cpu_compiler()) is not None:
        pytest.skip(reason)
    monkeypatch.setattr(launch, "most_blocks", lambda target: 1)
    b = gs.Builder("elements_walk")
    b.output(b.take(b.input("x", ("n",), "float32"), b.input("i", ("k",), index)))
    module = cuda.on_cpu([b], tmp_path)[0][0] if text else emulate(b)
    x = rng().random(500, np.float32)
    for k in (1024, 2048, 2047, 4099, 6145):
        i = rng(k).integers(-500, 500, k).astype(index)
        assert_same(module(x, i), x[i])
    for bad in (6144, 4097, 1030, 3):
        i[bad] = 500
        with pytest.raises(gs.BoundsError) as e:
            module(x, i)
        assert (e.value.position, e.value.value) == ((bad,), 500)


def _sum_of_rows(b: gs.Builder, x: gs.Value, y: gs.Value, j: gs.Value, i: gs.Value) -> gs.Value:
    return b.take(x, i) + b.take(x, b.take(j, i)) + b.take(x, i, bounds="fill")


# what is computed by x[j[i]], or by x[i] and x[j[i]], for rows x and elements y; the rule; kernels with and without checks
CHAINS: dict[str, tuple[Callable[..., gs.Value], Callable[..., Array], str, int]] = {
    "scaled": (
        lambda b, x, y, j, i: b.take(x, b.take(j, i)) * 2 + 1,
        lambda x, y, j, i: x[j[i]] * 2 + 1,
        "elements",
        1,
    ),
    "copied": (lambda b, x, y, j, i: b.take(x, b.take(j, i)), lambda x, y, j, i: x[j[i]], "copies", 1),
    "elements": (lambda b, x, y, j, i: b.take(y, b.take(j, i)), lambda x, y, j, i: y[j[i]], "elements", 1),
    "thrice": (lambda b, x, y, j, i: b.take(y, b.take(j, b.take(j, i))), lambda x, y, j, i: y[j[j[i]]], "elements", 1),
    "summed": (_sum_of_rows, lambda x, y, j, i: x[i] + x[j[i]] + x[i], "cells", 1),
    "turned": (
        lambda b, x, y, j, i: b.transpose(b.take(x, b.take(j, i)) + 1),
        lambda x, y, j, i: x[j[i]].T + 1,
        "elements",
        3,
    ),
}


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("name", CHAINS)
def test_checks_of_several_gathers_ride_along(name: str, text: bool, tmp_path: Path) -> None:
    """What the first of them has found is reported, its smallest position; where cells are no rows, they have kernels."""
    if text and (reason := cuda.cpu_compiler()) is not None:
        pytest.skip(reason)
    declare, compute, rule, launches = CHAINS[name]
    b = gs.Builder("chain")
    x, y, j = b.input("x", ("n", 40), "float32"), b.input("y", ("n",), "float32"), b.input("j", ("n",), "int64")
    b.output(declare(b, x, y, j, b.input("i", ("k",), "int32")))
    module = cuda.on_cpu([b], tmp_path)[0][0] if text else emulate(b, backward=True)
    assert (module.stats.kernels[0][1], module.stats.launches) == (rule, launches)
    seed = rng(5)
    arrays = {"x": seed.random((50, 40), np.float32), "y": seed.random(50, np.float32)}
    j, i = seed.integers(-50, 50, 50), seed.integers(-50, 50, 600, "int32")
    assert_same(module(**arrays, j=j, i=i), compute(**arrays, j=j, i=i))
    found = j[i] if name != "thrice" else j[j[i]]
    (at,) = np.nonzero(i % 50 == i[300] % 50)
    last = (j[i] if name == "thrice" else i)[at[0]]  # where the index that is tested last is read
    for bad, value, tensor in (({"j": last}, 50, "j"), ({"i": 555}, -51, "i"), ({"i": 77, "j": last}, 50, "i")):
        both = {"j": j.copy(), "i": i.copy()}
        for k, where in bad.items():
            both[k][where] = value
        with pytest.raises(gs.BoundsError) as e:
            module(**arrays, **both)
        assert (e.value.tensor, e.value.value) == (tensor, value)
        if tensor == "i":
            assert e.value.position == (bad["i"],)
    assert found.shape == i.shape
    empty = {"x": arrays["x"][:0], "y": arrays["y"][:0], "j": j[:0]}
    assert module(**empty, i=i[:0]).size == 0
    with pytest.raises(gs.BoundsError) as e:
        module(**empty, i=i)
    assert (e.value.tensor, e.value.position) == ("i", (0,))


@pytest.mark.parametrize(("first", "launches"), [(True, 3), (False, 6)])
def test_nothing_is_written_in_place_before_checks_that_ride_along(first: bool, launches: int) -> None:
    """They do not where the map comes after the scatter."""
    b = gs.Builder("rides")
    x, j, i = b.input("x", ("n",), "float32"), b.input("j", ("m",), "int64"), b.input("i", ("k",), "int64")
    s = b.input("s", ("n",), "float32")

    def scatter() -> gs.Value:
        return b.put(s, i, b.take(x, i, bounds="fill"), reduction="add")

    added = None if first else scatter()
    rows = b.take(x, b.take(j, i)) * 2
    b.output(rows, scatter() if added is None else added)
    module = emulate(b)
    assert module.stats.launches == launches
    arrays = {"x": np.ones(9, "f4"), "j": np.array([3, 4, 9]), "i": np.array([0, 1, 2])}
    out, s = np.zeros(3, "f4"), np.zeros(9, "f4")
    with pytest.raises(gs.BoundsError) as e:
        module(**arrays, s=s, out=(out, s))
    assert (e.value.tensor, e.value.value) == ("j", 9)
    assert not s.any()
    arrays["j"][2] = -1
    module(**arrays, s=s, out=(out, s))
    assert out.tolist() == [2, 2, 2]
    assert s.tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 0]


# what is folded, by which shapes of a table and an index, the axis, the rule
TESTED: list[tuple[str, Any, Any, int, str]] = [
    ("sum", ("n", 7), ("k", 33), 1, "folds"),
    ("max", ("n", 3, 2), ("k", 5), 1, "folds"),
    ("sum", ("n", "w"), ("k", 3), 1, "folds"),
    ("sum", ("n", 7), ("k",), 0, "fold-columns"),
    ("sum", ("n",), ("k", 33), 1, "fold-rows"),
]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize(("op", "table", "index", "axis", "rule"), TESTED, ids=str)
def test_folds_find_the_first_bad_index(
    op: str, table: Any, index: Any, axis: int, rule: str, text: bool, tmp_path: Path
) -> None:
    """A fold leaves out what is out of range, and the first column's thread finds where it is; without columns, too."""
    if text and (reason := cuda.cpu_compiler()) is not None:
        pytest.skip(reason)
    b = gs.Builder("tested")
    rows = b.take(b.input("x", table, "int8"), b.input("i", index, "int64"))
    b.output(getattr(b, op)(rows, axis))
    module = cuda.on_cpu([b], tmp_path)[0][0] if text else emulate(b, backward=True)
    if text:
        assert [rule for _, rule in module.stats.kernels] == [rule]
    for n, width in ((9, 7), (0, 7), *([(9, 0)] if "w" in table else [])):
        x = rng(n).integers(-9, 9, [{"n": n, "w": width}.get(d, d) for d in table], "int8")
        i = rng(n).integers(-max(n, 1), max(n, 1), [300 if d == "k" else d for d in index])
        if n:
            assert_same(module(x, i), getattr(x[i], op)(axis))
        for bad in (i.size - 1, i.size // 2, 3):
            i.ravel()[bad] = 9
            with pytest.raises(gs.BoundsError) as e:
                module(x, i)
            first = np.unravel_index(bad if n else 0, i.shape)
            assert (e.value.position, e.value.value) == (first, i[first])


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("width", ["w", 600])
def test_rows_of_several_warps_find_the_first_bad_index(width: Any, text: bool, tmp_path: Path) -> None:
    """The thread of a row's first unit tests its index, or a check where rows have none."""
    if text and (reason := cuda.cpu_compiler()) is not None:
        pytest.skip(reason)
    b = gs.Builder("rows")
    b.output(b.take(b.input("x", ("n", width), "float32"), b.input("i", ("k", 2), "int64")))
    module = cuda.on_cpu([b], tmp_path)[0][0] if text else emulate(b, backward=True)
    for w in (600, 33, 0) if width == "w" else (600,):
        x, i = rng(w).random((9, w), np.float32), rng(w).integers(-9, 9, (20, 2))
        assert_same(module(x, i), x[i])
        for bad in ((19, 1), (7, 0)):
            i[bad] = -10
            with pytest.raises(gs.BoundsError) as e:
                module(x, i)
            assert (e.value.position, e.value.value) == (bad, -10)


def test_an_empty_table_is_not_read() -> None:
    """Every index of it is bad, whatever the grid."""
    b = gs.Builder("none")
    b.output(b.take(b.input("x", ("n", 8), "float32"), b.input("i", ("k",), "int64")))
    with pytest.raises(gs.BoundsError) as e:
        emulate(b)(np.zeros((0, 8), "float32"), np.array([3, 4]))
    assert (e.value.position, e.value.value) == ((0,), 3)


@pytest.mark.parametrize(
    ("width", "pitch", "dtype", "several"),
    [(8, 8, "float32", 4), (6, 6, "float16", 2), (4, 6, "float32", 2), (5, 5, "float32", 1)],
)
def test_rows_are_added_by_several(width: int, pitch: int, dtype: str, several: int) -> None:
    """Messages that are fused with a gather and weights, and whose rows are as wide as those that they go to, or less."""
    b = gs.Builder("added")
    rows = b.take(b.input("x", ("n", width), dtype), b.input("j", ("e",), "int32"), bounds="fill")
    messages = rows * b.input("w", ("e", 1), dtype)
    window = gs.IndexMap((gs.Indexed(0), gs.Window(0)), (("index", 0), ("window", 0)), window_sizes=(width,))
    b.output(
        b.scatter_map(b.zeros((9000, pitch), dtype), b.input("i", ("e",), "int64"), messages, window, reduction="add")
    )
    seed = rng(width)
    x, w = (seed.integers(-9, 9, s).astype(dtype) for s in ((7, width), (300, 1)))
    j, i = seed.integers(-9, 9, 300, "int32"), seed.integers(0, 11, 300) * 800
    want = np.zeros((9000, pitch), dtype)
    np.add.at(want[:, :width], i, np.where(((j >= -7) & (j < 7))[:, None], x[j % 7], 0) * w)
    assert_same(emulate(b)(x=x, w=w, i=i, j=j), want, signed_zero=False)
    names = set(re.findall(r"gs_atomic_add_float32(x\d)?\(", b.build({"kind": "cuda", "arch": "sm_90"}).source("cuda")))
    assert names == {f"x{several}" if several > 1 else ""}


class Racing:
    """A user's rule for any scatter that lets points of one cell overwrite each other in whatever order they come."""

    name = "racing"

    def apply(self, nest: Nest, ctx: Context) -> Any:
        if not isinstance(nest, ScatterNest):
            return None
        write = over_points(nest, ctx, lambda p: T.store(nest.out, p.cell, nest.src(p.grid, p.window)))
        return T.seq(copy_base(nest, ctx, nest.out, nest.dtype), write)


def test_a_race_is_found() -> None:
    """The emulation's two orders tell a rule apart whose result depends on the order of threads."""
    (c,) = (c for c in CASES if c.name == "last_writer_float32_update_rows_raise")
    arrays, want = c.runs[0]
    forward, backward = (emulate(c.builder(), rules=[Racing()], backward=b) for b in (False, True))
    assert [rule for _, rule in forward.stats.kernels] == ["racing"]
    assert_same(forward(*arrays), want)
    assert not np.array_equal(backward(*arrays), want)


def test_a_wrong_rule_is_found() -> None:
    (c,) = (c for c in CASES if c.name == "last_writer_float32_update_rows_raise")
    with pytest.raises(AssertionError, match="atomics"):
        replace(c, rule="atomics").check(emulate(c.builder()))


@pytest.mark.parametrize("backward", [False, True])
def test_the_first_bad_index_is_reported(backward: bool) -> None:
    """The smallest row-major position of the first check that fails, over several blocks; nothing is written in place."""
    b = gs.Builder("checks")
    x, v = b.input("x", ("n", 4), "float32"), b.input("v", ("k", 4), "float32")
    i, j = b.input("i", ("k", 2), "int64"), b.input("j", ("k",), "int32")
    picked = b.gather_nd(b.reshape(x, (-1, 2, 2)), i)
    b.output(b.put(x, j, v + b.sum(picked, 1, keepdims=True), reduction="add"))
    m = emulate(b, backward=backward)
    seed = rng(7)
    data, src = seed.random((50, 4), np.float32), seed.random((600, 4), np.float32)
    good_i, good_j = (
        np.stack([seed.integers(0, 50, 600), seed.integers(0, 2, 600)], 1),
        seed.integers(0, 50, 600, "int32"),
    )
    arrays = {"x": data, "v": src, "i": good_i, "j": good_j}
    out = data.copy()
    for bad_i, bad_j, tensor, position, value in [
        ({(599, 1): 2, (301, 0): -51, (301, 1): 7}, {3: 99}, "i", (301, 0), -51),
        ({(256, 1): -3, (257, 0): 50}, {}, "i", (256, 1), -3),
        ({}, {555: 50, 299: -51, 300: 2**31 - 1}, "j", (299,), -51),
    ]:
        i2, j2 = good_i.copy(), good_j.copy()
        for at, bad in bad_i.items():
            i2[at] = bad
        for k, bad in bad_j.items():
            j2[k] = bad
        with pytest.raises(gs.BoundsError) as e:
            m(**{**arrays, "x": out, "i": i2, "j": j2}, out=out)
        assert (e.value.tensor, e.value.position, e.value.value) == (tensor, position, value)
        assert out.tobytes() == data.tobytes()
    want = data.astype("f8")
    np.add.at(want, good_j, src + data.reshape(50, 2, 2)[good_i[:, 0], good_i[:, 1]].sum(1, keepdims=True))
    np.testing.assert_allclose(m(**arrays), want, rtol=1e-4)


MANY = 20
SIZES = {"char": 1, "ushort": 2, "half": 2, "int": 4, "uint": 4, "float": 4, "ulonglong": 8, "double": 8}


@pytest.mark.skipif(cuda.cpu_compiler() is not None, reason=str(cuda.cpu_compiler()))
@pytest.mark.parametrize("rule", sorted(RULES))
def test_cuda_text(rule: str, tmp_path: Path, thorough: bool) -> None:
    """The CUDA source of the cases of a rule, in one library.

    Of many cases one half, by a hash of their names; all with ``--thorough``.
    """
    mine = [c for c in CASES if c.rule == rule]
    if not thorough and len(mine) > MANY:
        mine = sorted(mine, key=lambda c: zlib.crc32(c.name.encode()))[::2]
    for c, (module, source) in zip(mine, cuda.on_cpu([c.builder() for c in mine], tmp_path), strict=True):
        try:
            c.check(module)
        except AssertionError as e:
            raise AssertionError(f"{c.name}: {e}") from e
        if rule in ("copies", "cells"):
            widths = {SIZES[base] * int(n or 1) for base, n in re.findall(r"\*\(([a-z]+)(\d?)\*\)", source)}
            assert widths == ({c.access} if c.access else set()), f"{c.name}: accesses of {widths} bytes"


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_a_table_larger_than_the_cache_is_gathered_in_panels(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A panel holds all rows of a few columns; the result, and what is said of bad indices, are as without."""
    monkeypatch.setattr(elements, "PANELLED_BYTES", 1000)
    monkeypatch.setattr(elements, "PANEL_BYTES", 1500 * numpy_dtype(dtype).itemsize)
    monkeypatch.setattr(vectors, "STREAMED_BYTES", 1000)
    rng = np.random.default_rng(7)
    x, i = random_data(rng, (30, 192), dtype), rng.integers(-30, 30, (41, 192))
    b = gs.Builder("panels")
    b.output(b.gather(b.input("x", x.shape, dtype), b.input("i", i.shape, "int64"), dim=0))
    walked: list[int] = []
    panels = elements._Cells.panels
    monkeypatch.setattr(elements._Cells, "panels", lambda self: walked.append(panels(self)) or walked[-1])
    m = emulate(b)
    assert max(walked) > 1
    assert_same(m(x, i), np.take_along_axis(x, i % 30, 0))
    i[20, 3], i[7, 190] = 30, -31
    with pytest.raises(gs.BoundsError) as e:
        m(x, i)
    assert (e.value.position, e.value.value) == ((7, 190), -31)


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_rows_that_differ_among_neighbours_are_not_read_at_once(shift: int) -> None:
    """An index that is read at a place beside a cell's own, of each column another."""
    seed = rng(6)
    x, i = seed.random((30, 16), np.float32), seed.integers(0, 30, (40, 19))
    b = gs.Builder("beside")
    data, index = b.input("x", x.shape, "float32"), b.input("i", i.shape, "int64")
    b.output(b.gather(data, index[:, shift : shift + 16], dim=0) * 2 + 1)
    m = emulate(b)
    assert_same(m(x, i), np.take_along_axis(x, i[:, shift : shift + 16], 0) * 2 + 1)
    i[20, shift + 5] = 30
    with pytest.raises(gs.BoundsError) as e:
        m(x, i)
    assert e.value.value == 30


VIEWS: dict[str, tuple[tuple[int, int], Callable[..., gs.Value], Callable[[Array], Array]]] = {
    "as it is": ((40, 16), lambda b, v: v, lambda v: v),
    "flipped": ((40, 16), lambda b, v: b.flip(v, 1), lambda v: v[:, ::-1]),
    "turned": ((16, 40), lambda b, v: b.transpose(v, [1, 0]), lambda v: v.T),
    "every other": ((40, 32), lambda b, v: v[:, ::2], lambda v: v[:, ::2]),
    "cut": ((40, 20), lambda b, v: v[:, 1:17], lambda v: v[:, 1:17]),
    "from below": ((40, 16), lambda b, v: b.flip(v, 0), lambda v: v[::-1]),
}


@pytest.mark.parametrize("reduction", ["add", "max"])
@pytest.mark.parametrize("name", VIEWS)
def test_rows_of_views_are_added(name: str, reduction: str) -> None:
    """Only neighbours that lie side by side, where a vector may begin, are read at once."""
    shape, view, compute = VIEWS[name]
    seed = rng(7)
    x, i, v = seed.integers(0, 9, (30, 16)), seed.integers(0, 30, 40), seed.integers(0, 99, shape)
    x, v = x.astype("f4"), v.astype("f4")
    b = gs.Builder("views")
    data, index, src = b.input("x", x.shape, "float32"), b.input("i", i.shape, "int64"), b.input("v", shape, "float32")
    b.output(b.put(data, index, view(b, src), reduction=reduction))
    want = x.copy()
    (np.add if reduction == "add" else np.maximum).at(want, i, compute(v))
    m = emulate(b)
    assert_same(m(x, i, v), want)
    aligned = name in ("as it is", "from below")
    assert ("gs_load_" in b.build({"kind": "cuda", "arch": "sm_90"}).source("cuda")) is aligned
