"""An error's first word is the function that the user called, whatever this is made of.

Each function is called with arguments drawn from pools in which few fit; what is refused is refused in its name.
"""

from __future__ import annotations

import importlib
import inspect
import random
import re
from typing import Any

import pytest

import gscompile as gs
from gscompile.frontend.parameters import Parameters

NUMBERS: list[Any] = [0, 1, -1, 99, 1.5, "x", None, (0,), (0, 1), [5], True, "sum", "max"]
METHODS = sorted(
    n
    for n in dir(gs.Builder)
    if not n.startswith("_") and callable(getattr(gs.Builder, n)) and n not in ("pointwise", "graph", "build")
)
FUNCTIONS = [
    (dialect, name)
    for dialect in gs.dialects.__all__
    for name, f in vars(importlib.import_module(f"gscompile.dialects.{dialect}")).items()
    if inspect.isfunction(f) and f.__module__ == f"gscompile.dialects.{dialect}" and not name.startswith("_")
]


def values(b: gs.Builder) -> list[gs.Value]:
    types = [
        ("float32", (2, 3)),
        ("float32", ("n",)),
        ("int64", (2,)),
        ("int64", (2, 3)),
        ("bool", (2, 3)),
        ("int32", ()),
    ]
    return [b.input(f"v{k}", shape, dtype) for k, (dtype, shape) in enumerate(types)]


def refusals(call: Any, tensors: set[str], sequences: set[str], seed: str) -> list[str]:
    """What the function says to thirty calls that it refuses."""
    rng, said = random.Random(seed), []
    parameters = [
        p for p in inspect.signature(call).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    for _ in range(30):
        b = gs.Builder("net")
        pool = values(b)
        given = {}
        for p in parameters:
            if p.name in sequences and rng.random() < 0.8:
                given[p.name] = rng.choices(pool, k=rng.randint(0, 2))
            elif p.name in tensors:
                given[p.name] = rng.choice(pool)
            elif p.default is p.empty or rng.random() < 0.3:
                given[p.name] = rng.choice(NUMBERS)
        try:
            with_builder = inspect.signature(call).bind(**given)
            target = getattr(b, call.__name__) if getattr(gs.Builder, call.__name__, None) is call else call
            args = with_builder.args[1:] if target is not call else with_builder.args
            target(*args, **with_builder.kwargs)
        except gs.GSError as e:
            said.append(str(e))
    return said


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    method = getattr(gs.Builder, name)
    tensors = {n for n, p in inspect.signature(method).parameters.items() if p.annotation == "Operand"}
    for message in refusals(method, tensors, {"values"}, name):
        assert re.match(rf"{name}(?!\w)", message), message


@pytest.mark.parametrize(("dialect", "name"), FUNCTIONS, ids=[".".join(f) for f in FUNCTIONS])
def test_dialects(dialect: str, name: str) -> None:
    function = getattr(importlib.import_module(f"gscompile.dialects.{dialect}"), name)
    held = Parameters.of(inspect.unwrap(function)).tensors
    sequences = {n for n, h in held.items() if h.sequence}
    likely = {"data", "segment_ids", "inputs", "updates", "scatter_indices", "a", "indices", "x"}  # of those not eager
    for message in refusals(function, {*held, *likely}, sequences, f"{dialect}.{name}"):
        assert re.match(rf"{name}(?!\w)", message), message
