"""Graphs that together use everything: what must compile for every target.

:func:`operators`, :func:`reductions`, :func:`cells`, :func:`functions`, :func:`folds`, :func:`moves` and :func:`other_dtypes`
yield builders with different names.
Tensors of different graphs have the same names, so that kernels that do the same are the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

import gscompile as gs
from gscompile.ir.ops.elementwise import POINTWISE
from gscompile.ir.ops.reductions import REDUCTIONS
from tests import oracle
from tests.cases import DTYPES, FLOATS, INDEX_DTYPES, random_data, to_gs_map
from tests.oracle import BOUNDS, Array, Map

Call = Callable[..., gs.Value]


@dataclass(frozen=True)
class Operator:
    """A gather and the scatter through the same map.

    Attributes:
        data, index, points: shapes, with the sizes n, m and k.
        map: what the oracle makes of shapes of data and index.
    """

    data: tuple[Any, ...]
    index: tuple[Any, ...]
    points: tuple[Any, ...]
    map: Callable[[Sequence[int], Sequence[int]], Map]
    gather: Call
    scatter: Call


def windows(data: Sequence[int], index: Sequence[int]) -> Map:
    """XLA's dimension numbers: slices of two rows, found by the first axis."""
    return oracle.xla_map(data, index, offset_dims=(1, 2), collapsed=(), start_index_map=(0,), slice_sizes=(2, data[1]))


WINDOWS = to_gs_map(windows((9, 8), (7, 1)), frozenset({1}))

OPERATORS: dict[str, Operator] = {
    "elements": Operator(
        ("n", "m"),
        ("k", "m"),
        ("k", "m"),
        lambda d, i: oracle.element_map(d, i, 0),
        lambda b, x, i, **o: b.gather(x, i, 0, **o),
        lambda b, x, i, v, **o: b.scatter(x, i, v, 0, **o),
    ),
    "slices": Operator(
        ("n", "m", 6),
        ("k", 2),
        ("k", 6),
        oracle.nd_map,
        lambda b, x, i, **o: b.gather_nd(x, i, **o),
        lambda b, x, i, v, **o: b.scatter_nd(x, i, v, **o),
    ),
    "batches": Operator(
        ("n", "m", 6),
        ("n", "k", 1),
        ("n", "k", 6),
        lambda d, i: oracle.nd_map(d, i, 1),
        lambda b, x, i, **o: b.gather_nd(x, i, batch_dims=1, **o),
        lambda b, x, i, v, **o: b.scatter_nd(x, i, v, batch_dims=1, **o),
    ),
    "dims": Operator(
        ("n", "m"),
        ("k", "m", 1),
        ("k", "m"),
        lambda d, i: oracle.dims_map(d, i, [0]),
        lambda b, x, i, **o: b.gather_nd(x, i, dims=[0], **o),
        lambda b, x, i, v, **o: b.scatter_nd(x, i, v, dims=[0], **o),
    ),
    "rows": Operator(
        ("n", "m"),
        ("k",),
        ("k", "m"),
        lambda d, i: oracle.take_map(d, i, 0),
        lambda b, x, i, **o: b.take(x, i, **o),
        lambda b, x, i, v, **o: b.put(x, i, v, **o),
    ),
    "columns": Operator(
        ("n", "m"),
        ("k",),
        ("n", "k"),
        lambda d, i: oracle.take_map(d, i, 1),
        lambda b, x, i, **o: b.take(x, i, axis=1, **o),
        lambda b, x, i, v, **o: b.put(x, i, v, axis=1, **o),
    ),
    "windows": Operator(
        ("n", "m"),
        ("k", 1),
        ("k", 2, "m"),
        windows,
        lambda b, x, i, **o: b.gather_map(x, i, WINDOWS, **o),
        lambda b, x, i, v, **o: b.scatter_map(x, i, v, WINDOWS, **o),
    ),
}
SIZES = {"n": 9, "m": 8, "k": 7}


def shape(symbolic: tuple[Any, ...], static: bool = True) -> tuple[Any, ...]:
    """A shape of an operator, or with the sizes put in."""
    return tuple(SIZES.get(d, d) for d in symbolic) if static else symbolic


def turns(items: Sequence[Any], turn: int, full: bool) -> Sequence[Any]:
    """All items, or the one whose turn it is."""
    return items if full else [items[turn % len(items)]]


def operators(full: bool = True) -> Iterator[gs.Builder]:
    """Every gather and scatter, with symbolic and with static sizes, under every policy; every dtype of indices.

    Not ``full``: under one policy each.
    """
    for turn, (name, op) in enumerate(OPERATORS.items()):
        for static in (False, True):
            b = gs.Builder(f"{name}_{'static' if static else 'symbolic'}")
            x = b.input("x", shape(op.data, static), "float32")
            i = b.input("i", shape(op.index, static), "int64")
            v = b.input("v", shape(op.points, static), "float32")
            b.output(*(op.gather(b, x, i, bounds=p) for p in turns(BOUNDS, turn + static, full)))
            b.output(*(op.scatter(b, x, i, v, bounds=p) for p in turns(BOUNDS, turn + 2 + static, full)))
            yield b
    for turn, dtype in enumerate(INDEX_DTYPES):
        b = gs.Builder(f"index_{dtype}")
        x, i, v = b.input("x", ("n", 8), "float32"), b.input("i", ("k",), dtype), b.input("v", ("k", 8), "float32")
        b.output(*(b.take(x, i, bounds=p) for p in turns(BOUNDS, turn, full)))
        b.output(*(b.put(x, i, v, bounds=p) for p in turns(BOUNDS, turn + 1, full)))
        yield b


@dataclass(frozen=True)
class Sample:
    """A small graph of one operator, inputs, and what the oracle gives."""

    builder: gs.Builder
    arrays: tuple[Array, ...]
    want: tuple[Array, ...]


def samples(dtype: str, wild: bool = False) -> Iterator[Sample]:
    """Of every operator a gather, an ordered sum of duplicates, and an update that drops what is out of range.

    ``wild``: with indices of int64 near its ends.
    """
    for name, op in OPERATORS.items():
        b = gs.Builder(f"{name}_{dtype}")
        index_dtype = "int64" if wild else "int32"
        x, i, v = b.input("x", op.data, dtype), b.input("i", op.index, index_dtype), b.input("v", op.points, dtype)
        total = op.scatter(b, x, i, v, reduction="add", bounds="wrap", deterministic=True)
        b.output(op.gather(b, x, i, bounds="clip"), total, op.scatter(b, x, i, v, bounds="fill"))

        rng = np.random.default_rng(1)
        data, src = random_data(rng, shape(op.data), dtype), random_data(rng, shape(op.points), dtype)
        index = rng.integers(-20, 20, shape(op.index), index_dtype)
        if wild:
            ends = np.array([-(2**63), -(2**63) + 1, 2**63 - 1, 2**62, -(2**62), 2**32, -(2**32) - 1, -(2**31)])
            index = np.where(rng.random(index.shape) < 0.5, rng.choice(ends, index.shape), index)
        m = op.map(data.shape, index.shape)
        want = (
            oracle.gather_ref(data, index, m, "clip"),
            oracle.scatter_ref(data, index, src, m, "add", bounds="wrap"),
            oracle.scatter_ref(data, index, src, m, bounds="fill"),
        )
        yield Sample(b, (data, index, src), want)


VARIANTS: dict[str, dict[str, bool]] = {
    "any": {},
    "without_self": {"include_self": False},
    "unique": {"unique": True},
    "ordered": {"deterministic": True},
    "sorted": {"sorted": True},
}


def reductions(full: bool = True) -> Iterator[gs.Builder]:
    """Every reduction of every dtype, in every variant; not ``full``: in one variant each."""
    for turn, dtype in enumerate(DTYPES):
        for k, (variant, options) in enumerate(VARIANTS.items()):
            if variant == "ordered" and dtype not in FLOATS:
                continue  # integers give the same in any order
            if variant in ("unique", "sorted") and dtype not in ("float16", "float32", "int8", "int64"):
                continue  # plain stores, one dtype like another
            b = gs.Builder(f"reduce_{dtype}_{variant}")
            x, i, v = b.input("x", ("n", 6), dtype), b.input("i", ("k",), "int64"), b.input("v", ("k", 6), dtype)
            for place, r in enumerate(REDUCTIONS.values()):
                if x.dtype.kind in r.kinds and (full or k == (turn + place) % len(VARIANTS)):
                    b.output(b.put(x, i, v, reduction=r.name, bounds="fill", **options))
            yield b


def few() -> Iterator[gs.Builder]:
    """Reductions in row-major order of few points."""
    for dtype in FLOATS:
        b = gs.Builder(f"few_{dtype}")
        x, i, v = b.input("x", ("n", 6), dtype), b.input("i", (50,), "int64"), b.input("v", (50, 6), dtype)
        for r in ("add", "mean", "max"):
            b.output(b.put(x, i, v, reduction=r, bounds="fill", deterministic=True))
        yield b


def repeatable() -> Iterator[gs.Builder]:
    """Folds of floats of which builds are deterministic, as :func:`options` says."""
    for dtype in FLOATS:
        b = gs.Builder(f"repeatable_{dtype}")
        x, i = b.input("x", ("n", 6, "m"), dtype), b.input("i", ("k", 99), "int64")
        b.output(b.sum(x), b.mean(x, 2), b.prod(x, 0), b.sum(b.take(x, i, 0), 1))
        yield b


def options(b: gs.Builder) -> dict[str, bool]:
    """Of a build of one of these graphs."""
    return {"deterministic": b.name.startswith("repeatable_")}


def cells() -> Iterator[gs.Builder]:
    """Reductions of points that are single elements, which may meet in few cells."""
    for dtype in ("int8", "int64", "float16", "float32"):
        b = gs.Builder(f"cells_{dtype}")
        x, i, v = b.input("x", ("n",), dtype), b.input("i", ("k",), "int32"), b.input("v", ("k",), dtype)
        for r in ("add", "max"):
            b.output(b.put(x, i, v, reduction=r), b.put(x, i, v, reduction=r, bounds="fill", include_self=False))
        yield b


def rows() -> Iterator[gs.Builder]:
    """What whole rows of several sectors are combined by: points that are promised to be sorted, segments of them, and bags."""
    for dtype in ("int64", "float16", "float32"):
        b = gs.Builder(f"rows_{dtype}")
        x, i, v = b.input("x", ("n", 32), dtype), b.input("i", ("k",), "int64"), b.input("v", ("k", 32), dtype)
        b.output(*(b.put(x, i, v, reduction=r, sorted=True) for r in ("add", "max")))
        b.output(b.sum(b.take(x, b.input("bags", ("m", 50), "int32")), 1))
        y, j = b.input("y", (500, 32), dtype), b.input("j", (500,), "int64")
        b.output(b.maximum(y, b.take(b.put(b.zeros((70, 32), dtype), j, y, reduction="add", sorted=True), j)))
        o = b.input("o", (71,), "int32")
        b.output(b.maximum(y, b.segment_expand(b.segment_reduce(y, o, "max"), o, 500)))
        yield b


def apply(b: gs.Builder, function: str, *args: gs.Value) -> gs.Value:
    """A row of the table of pointwise functions."""
    if function == "gelu_tanh":
        return b.gelu(args[0], approximate="tanh")
    if function == "where":
        return b.where(b.gt(args[0], args[1]), args[1], args[2])
    result: gs.Value = getattr(b, function)(*args)
    return result


@cache
def takes(function: str) -> list[str]:
    """The dtypes that a pointwise function is defined for."""
    found = []
    for dtype in DTYPES:
        b = gs.Builder()
        try:
            apply(b, function, *(b.input(name, (1,), dtype) for name in "xyz"[: POINTWISE[function].arity]))
        except gs.DTypeError:
            continue
        found.append(dtype)
    return found


GROUP = 8  # functions of one kernel: a larger expression takes TVM more than in proportion


def functions() -> Iterator[gs.Builder]:
    """Every pointwise function of every dtype that it takes, and every cast; several in one kernel, as one sum."""
    for dtype in DTYPES:
        b = gs.Builder(f"functions_{dtype}")
        x, y, z = (b.input(name, ("n",), dtype) for name in "xyz")
        terms = [apply(b, f, *(x, y, z)[: row.arity]) for f, row in POINTWISE.items() if dtype in takes(f)]
        terms += [b.cast(x, d) for d in DTYPES]
        for k in range(0, len(terms), GROUP):
            total = b.cast(terms[k], "float64")
            for t in terms[k + 1 : k + GROUP]:
                total = total + b.cast(t, "float64")
            b.output(total)
        yield b


def folds(full: bool = True) -> Iterator[gs.Builder]:
    """Every reduction over axes, and scan, of every dtype; not ``full``: argmax and argmin of float16."""
    for dtype in DTYPES:
        b = gs.Builder(f"folds_{dtype}")
        x = b.input("x", ("n", 6, "m"), dtype)
        names = ["any", "all", "max", "min"] + (["sum", "prod", "mean"] if dtype != "bool" else [])
        b.output(*(getattr(b, name)(x, [1]) for name in names))
        if full or dtype == "float16":
            b.output(b.argmax(x, 2), b.argmin(x, 0, select_last=True))
        b.output(b.max(x))
        b.output(b.cumsum(x, 1), b.cumprod(x, 2, exclusive=True, reverse=True), b.cumsum(x, 2, dtype=dtype))
        yield b


def moves() -> Iterator[gs.Builder]:
    """What moves elements, and tensors made from nothing."""
    for dtype in ("int8", "bfloat16", "float32", "bool"):
        b = gs.Builder(f"moves_{dtype}")
        x, y = b.input("x", ("n", 4, 6), dtype), b.input("y", ("n", 4, 6), dtype)
        b.output(b.reshape(x, (-1, 8)), b.transpose(x, [2, 0, 1]), b.flip(x, 1), x[:, 1:3, ::2], b.concat([x, y], 1))
        b.output(b.pad(x, [1, 0, 2], [0, 1, 0]), b.stack([x, y]), b.broadcast_to(b.unsqueeze(x, 0), (3, "n", 4, 6)))
        b.output(
            b.iota((5, 4), 1), b.full((3,), 1, dtype), b.size("n"), b.flip(b.flatten(b.take(x, b.iota((4,)), 1)), 0)
        )
        yield b


def other_dtypes() -> Iterator[gs.Builder]:
    """Complex numbers, 8-bit floats, int4 and elements that are only moved."""
    for dtype in ("complex64", "complex128", "float8_e4m3fn", "float8_e8m0fnu", "int4"):
        b = gs.Builder(f"others_{dtype}")
        x, i, s = b.input("x", ("n", 6), dtype), b.input("i", ("k",), "int64"), b.input("s", ("k", 6), dtype)
        b.output(b.take(x, i, bounds="fill"), b.put(x, i, s, reduction="mul"), b.put(x, i, s, reduction="add"))
        b.output(b.sum(x, 1), b.cumprod(x, 0), b.cast(x, "float32"), x * 2, x == x)
        yield b
    for name, dtype in (("dates", "M8[s]"), ("text", "S12"), ("odd", "V5")):
        b = gs.Builder(f"others_{name}")
        x, i, s = b.input("x", ("n", 6), dtype), b.input("i", ("k",), "int64"), b.input("s", ("k", 6), dtype)
        b.output(
            b.take(x, i), b.put(x, i, s), b.transpose(x), b.concat([x, s]), b.where(b.cast(i, "bool")[:, None], s, s)
        )
        yield b


def everything(full: bool = True) -> Iterator[gs.Builder]:
    """All of the above; not ``full``: fewer pairs of what is combined, and each by itself."""
    varied = (make(full) for make in (operators, reductions, folds))
    return chain(*varied, few(), repeatable(), cells(), rows(), functions(), moves(), other_dtypes())
