"""Modules and arrays for the tests of calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.runtime import compiled

X, INDEX = np.arange(24, dtype=np.float32).reshape(8, 3), np.array([5, -8, 7, 0])


def made(dtype: str = "float32") -> Any:
    """A compiled take."""
    b = gs.Builder("take")
    b.output(b.take(b.input("x", ("n", 3), dtype), b.input("i", ("k",), "int64")))
    return b.build()


def put() -> Any:
    """A compiled put that adds, and may work in place."""
    b = gs.Builder("put")
    x, i, src = b.input("x", (8, 3), "float32"), b.input("i", (4,), "int64"), b.input("s", (4, 3), "float32")
    b.output(b.put(x, i, src, reduction="add"))
    return b.build()


def locked(out: Any) -> Any:
    out.flags.writeable = False
    return out


def misaligned(shape: tuple[int, ...]) -> Any:
    return np.empty(4 * int(np.prod(shape)) + 1, np.uint8)[1:].view(np.float32).reshape(shape)


class SlowPathError(Exception):
    """Python had to look at the arrays."""


@contextlib.contextmanager
def only_fast(m: Any) -> Iterator[None]:
    """Calls of ``m`` that are not checked in C raise :class:`SlowPathError`."""

    def refuse(*args: Any) -> Any:
        raise SlowPathError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "prepare", refuse)
        yield
