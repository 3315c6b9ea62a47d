"""A slice of at most one row, of an axis whose size only a call knows, broadcasts as one row does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.ir.dims import SymDim, at_most_one, dim_max, dim_min
from tests.paths import Sheet

N = SymDim.var("n")


def test_on_every_path() -> None:
    sheet = Sheet()
    sheet.input("x", ("n", 3), "int32")
    bodies: dict[str, Any] = {
        "the first": lambda b, v: v.x - v.x[:1],
        "before": lambda b, v: v.x[:1] - v.x,
        "the last": lambda b, v: v.x * v.x[-1:],
        "two of them": lambda b, v: v.x[:1] + v.x[-1:] * v.x[:1],
        "stored": lambda b, v: b.cumsum(v.x[:1], 1) * v.x,
        "reduced": lambda b, v: b.sum(v.x[:1] * v.x, 0),
        "gathered": lambda b, v: b.take(v.x[:1] + v.x, b.iota((2,)), 1),
    }
    for label, body in bodies.items():
        sheet.check(label, body)
    for n in (0, 1, 2, 9):
        sheet.run(x=np.arange(3 * n, dtype="int32").reshape(n, 3) - 4)


def test_broadcast_to() -> None:
    b = gs.Builder()
    x, y = b.input("x", ("n", 2), "int32"), b.input("y", ("k",), "int32")
    b.output(b.broadcast_to(x[1:2], (*y.shape, 2)))
    m = b.build()
    rows = np.arange(6, dtype="int32").reshape(3, 2)
    np.testing.assert_array_equal(m(rows, np.zeros(4, "int32")), np.tile(rows[1], (4, 1)))
    with pytest.raises(gs.ShapeError, match="must be equal to k = 4; got"):
        m(rows[:1], np.zeros(4, "int32"))
    assert m(rows[:1], np.zeros(0, "int32")).shape == (0, 2)


@pytest.mark.parametrize("wanted", [0, 5])
def test_against_a_number(wanted: int) -> None:
    b = gs.Builder()
    b.output(b.input("x", ("n",), "int32")[:1] + b.zeros((wanted,), "int32"))
    m = b.build()
    np.testing.assert_array_equal(m(np.array([7, 8], "int32")), np.full(wanted, 7))
    if wanted:
        with pytest.raises(gs.ShapeError, match="operands on axis -1"):
            m(np.zeros(0, "int32"))


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (0, True),
        (1, True),
        (2, False),
        (N, False),
        (dim_min(N, 1), True),
        (dim_min(N, 2), False),
        (dim_max(dim_min(N, 3) - 2, 0), True),
        (dim_max(dim_min(N, 4) - 2, 0), False),
        (dim_max(N - 1, 0), False),
        (dim_min(N, 1) * dim_min(N, 1), False),
        (2 * dim_min(N, 1), False),
        (2 * dim_min(N, 1) - 1, True),
        (1 - N, True),
        (2 - dim_min(N, 1), False),
        (N // 2, False),
    ],
)
def test_extents_of_at_most_one(dim: Any, expected: bool) -> None:
    assert at_most_one(dim) is expected
