"""Graphs that tests of tuning share."""

from __future__ import annotations

from collections.abc import Callable

import gscompile as gs


def rows(n: int = 3000, points: int = 5000, width: int = 4) -> gs.Builder:
    """Rows that are copied."""
    b = gs.Builder("rows")
    b.output(b.take(b.input("x", (n, width), "float32"), b.input("i", (points,), "int64")))
    return b


def added(n: int = 300, points: int = 200_000, width: int = 1) -> gs.Builder:
    """Rows that are added to others."""
    b = gs.Builder("added")
    shape = (width,) if width > 1 else ()
    x, i, s = (
        b.input("x", (n, *shape), "int32"),
        b.input("i", (points,), "int64"),
        b.input("s", (points, *shape), "int32"),
    )
    b.output(b.put(x, i, s, reduction="add"))
    return b


def symbolic() -> gs.Builder:
    """Rows that are added, of sizes that a call tells."""
    b = gs.Builder("symbolic")
    x, i, s = b.input("x", ("n", 8), "int32"), b.input("i", ("e",), "int64"), b.input("s", ("e", 8), "int32")
    b.output(b.put(x, i, s, reduction="add"))
    return b


def columns() -> gs.Builder:
    """Elements picked along the first axis."""
    b = gs.Builder("columns")
    b.output(b.gather(b.input("x", (64, 100), "float32"), b.input("i", (48, 100), "int64"), dim=0))
    return b


def bags() -> gs.Builder:
    """Sums of rows."""
    b = gs.Builder("bags")
    b.output(b.sum(b.take(b.input("x", (500, 32), "int32"), b.input("i", (700, 20), "int64")), axis=1))
    return b


def chain() -> gs.Builder:
    """Two nests: rows that are scaled and added, of which some are picked."""
    b = gs.Builder("chain")
    x, i, j = b.input("x", (400, 16), "int32"), b.input("i", (900,), "int64"), b.input("j", (50,), "int32")
    total = b.put(b.zeros((300, 16), "int32"), b.input("k", (900,), "int64"), b.take(x, i) * 2, reduction="add")
    b.output(b.take(total, j))
    return b


def long_rows() -> gs.Builder:
    """Rows that are prefetched before they are added."""
    b = gs.Builder("long_rows")
    x, i, s = b.input("x", (5000, 64), "int32"), b.input("i", (40_000,), "int64"), b.input("s", (40_000, 64), "int32")
    b.output(b.put(x, i, s, reduction="add"))
    return b


ALL: dict[str, Callable[[], gs.Builder]] = {
    f.__name__: f for f in (rows, added, symbolic, columns, bags, chain, long_rows)
}
SIZES = {"n": 200, "e": 3000}
