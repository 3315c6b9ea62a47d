"""Programs for the builder: its own methods, in any order, with any arguments; then a build, and calls."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

import gscompile as gs
from gscompile.ir.bounds import Bounds
from tests.fuzz.draw import Draw, shown

NOT_OPERATORS = {"build", "graph", "input", "create_input", "output"}
METHODS = [
    (n, f) for n, f in inspect.getmembers(gs.Builder, inspect.isfunction) if n[0] != "_" and n not in NOT_OPERATORS
]
INDEXING = [
    (n, f) for n, f in METHODS if n in ("gather", "scatter", "take", "put", "gather_nd", "scatter_nd", "getitem")
]
MAXIMUM_CELLS = 1 << 22  # of a tensor that a case makes


def run(draw: Draw) -> None:
    b = gs.Builder("case")
    pool: list[Any] = []
    for k in range(draw.rng.randint(1, 3)):
        with_index = k == 1 and draw.chance(0.8)
        declare(draw, b, pool, f"x{k}", draw.one_of(["int64", "int32", "uint8"]) if with_index else draw.dtype())
    for _ in range(draw.rng.randint(1, 5)):
        name, method = draw.one_of(INDEXING if draw.chance(0.4) else METHODS)
        add(draw, b, pool, name, method)
    if draw.chance(0.5):
        repr(b)
    values = [v for v in pool if isinstance(v, gs.Value)]
    if not values:
        return
    for v in values[-2:]:
        b.output(v)
    try:
        draw.log(f"build: {b}")
        module = b.build()
    except gs.GSError:
        return
    if not _trusts(b.graph()):
        call(draw, module)


def _trusts(graph: Any) -> bool:
    """Whether an index is used as it is, which promises nothing."""
    indexings = [v.op.indexing for v in graph.values]
    return any(i is not None and i.bounds is Bounds.TRUST for i in indexings)


def declare(draw: Draw, b: Any, pool: list[Any], name: str, dtype: Any) -> None:
    shape = draw.symbolic_shape()
    draw.log(f"input {name} {shown(shape)} {dtype!r}")
    try:
        pool.append(b.input(name, shape, dtype))
    except gs.GSError:
        pool.append(b.input(name, [4, 3], "float32"))


def add(draw: Draw, b: Any, pool: list[Any], name: str, method: Any) -> None:
    def tensor() -> Any:
        if draw.chance(0.9):
            return draw.one_of(pool)
        return draw.array()

    args, kwargs = draw.arguments(method.__get__(b), tensor)
    draw.log(f"{name} {shown(args)} { {k: shown(v) for k, v in kwargs.items()} }")
    try:
        found = getattr(b, name)(*args, **kwargs)
    except gs.GSError:
        return
    for v in found if isinstance(found, tuple | list) else [found]:
        pool.append(v)


def call(draw: Draw, module: Any) -> None:
    """Two calls: one that fits, as far as can be said, and one with something wrong."""
    sizes: dict[str, int] = {}
    arrays = []
    for argument in module.inputs:
        shape = [d if isinstance(d, int) else sizes.setdefault(str(d), draw.rng.randint(0, 5)) for d in argument.shape]
        if np.prod([float(d) for d in shape]) > MAXIMUM_CELLS:
            return
        moved = argument.dtype.kind == "V"  # dates, records
        arrays.append(np.zeros(shape, argument.dtype.numpy) if moved else draw.array(shape, str(argument.dtype)))
    for wrong in (False, True):
        if wrong and arrays:
            k = draw.rng.randrange(len(arrays))
            arrays[k] = draw.array() if draw.chance(0.7) else draw.junk()
        draw.log(f"call {shown(arrays)}")
        try:
            module(*arrays)
        except gs.GSError:
            continue
