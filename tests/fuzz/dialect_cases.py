"""Calls of the dialects' functions with arrays."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import gscompile as gs
import gscompile.dialects
from tests.fuzz.draw import Draw, shown


def functions() -> list[tuple[str, Callable[..., Any]]]:
    """Every public function of every dialect whose framework is not needed for NumPy arrays."""
    found = []
    for info in pkgutil.iter_modules(gscompile.dialects.__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"gscompile.dialects.{info.name}")
        for name, f in inspect.getmembers(module, inspect.isfunction):
            if not name.startswith("_") and f.__module__ == module.__name__:
                found.append((f"{info.name}.{name}", f))
    return found


FUNCTIONS = functions()


def run(draw: Draw) -> None:
    name, function = draw.one_of(FUNCTIONS)

    def tensor() -> Any:
        if draw.chance(0.3):
            return draw.array(dtype=draw.one_of(["int64", "int32", "int64", "uint8"]))
        return draw.array(shape[: draw.rng.randint(0, len(shape))] if draw.chance(0.5) else shape)

    shape = draw.shape()
    args, kwargs = draw.arguments(function, tensor)
    draw.log(f"{name} {shown(args)} { {k: shown(v) for k, v in kwargs.items()} }")
    with contextlib.suppress(gs.GSError):
        function(*args, **kwargs)
