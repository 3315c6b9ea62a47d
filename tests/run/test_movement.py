"""Movement and reductions at every rank from 0 to 8, one operator read through another, on llvm and emulated cuda.

What each operator does in the ranks of everyday use is in :mod:`tests.run.test_operators`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.oracle import Array
from tests.paths import Sheet

EXTENTS = (3, 1, 2, 4, 1, 2, 3, 2)


def counted(shape: tuple[int, ...]) -> Array:
    return np.arange(int(np.prod(shape)), dtype="int32").reshape(shape)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("rank", range(9))
def test_every_rank(rank: int, symbolic: bool) -> None:
    """The first axis, where there is one, is of a size known at build time or at the call."""
    shape = EXTENTS[:rank]
    sheet = Sheet(("llvm", "cuda"))
    sheet.input("x", ("n", *shape[1:]) if symbolic and rank else shape, "int32")
    turned = tuple(range(1, rank)) + (0,) * (rank > 0)
    odd = tuple(range(0, rank, 2))
    bodies: dict[str, Any] = {
        "transpose": lambda b, v: b.transpose(v.x),
        "turned": lambda b, v: b.transpose(v.x, turned) + 1,
        "flip": lambda b, v: b.flip(v.x),
        "flip of transpose": lambda b, v: b.flip(b.transpose(v.x), odd),
        "pad": lambda b, v: b.pad(v.x, [1] * rank, [0] * rank, -1),
        "flat": lambda b, v: b.flip(b.reshape(v.x, (-1,))),
        "steps": lambda b, v: v.x[tuple(slice(None, None, -2 if a % 2 else 2) for a in range(rank))],
        "sum": lambda b, v: b.sum(v.x),
        "sum odd": lambda b, v: b.sum(v.x, odd, keepdims=True),
        "max of the rest": lambda b, v: b.max(v.x, tuple(a - rank for a in range(1, rank, 2))),
        "mean": lambda b, v: b.mean(v.x, odd),
        "any": lambda b, v: b.any(v.x, odd),
        "argmax": lambda b, v: b.argmax(b.flip(v.x), keepdims=True),
        "argmin": lambda b, v: b.argmin(b.transpose(v.x), 0 if rank else None),
        "broadcast": lambda b, v: b.broadcast_to(b.sum(v.x, odd, keepdims=True), v.x.shape),
    }
    if rank:
        bodies["concat"] = lambda b, v: b.concat([v.x, b.flip(v.x), v.x[1:]], 0)
    if rank < 8:
        bodies["stack"] = lambda b, v: b.stack([v.x, v.x * 2], rank // 2)
        bodies["unsqueeze"] = lambda b, v: b.squeeze(b.unsqueeze(b.transpose(v.x), 0), 0)
    for label, body in bodies.items():
        sheet.check(label, body)
    for n in (3, 1, 6) if symbolic and rank else (shape[0] if rank else 0,):
        sheet.run(x=counted((n, *shape[1:]) if rank else ()))


@pytest.mark.parametrize("n", [0, 2, 3, 7])
def test_sizes_as_bounds(n: int) -> None:
    b = gs.Builder()
    x, y = b.input("x", (5, 2), "int32"), b.input("y", ("n",), "int32")
    size = y.shape[0]
    b.output(b.slice(x, [0], [size]), x[size:], x[-4:size], b.slice(x, [size], [-1], steps=[2]), y[: size + 3])
    got = b.build()(counted((5, 2)), counted((n,)))
    want = counted((5, 2))
    for g, w in zip(got, (want[:n], want[n:], want[-4:n], want[n:-1:2], counted((n,))), strict=True):
        np.testing.assert_array_equal(g, w)


def test_a_bound_must_not_be_negative() -> None:
    b = gs.Builder()
    x, y = b.input("x", (5,), "int32"), b.input("y", ("n",), "int32")
    b.output(x[: y.shape[0] - 2])
    m = b.build()
    np.testing.assert_array_equal(m(counted((5,)), counted((4,))), [0, 1])
    with pytest.raises(gs.ShapeError, match="slice: the bound n-2, negated: must be at most 0"):
        m(counted((5,)), counted((1,)))
    with pytest.raises(gs.ShapeError, match="needs a positive step"):
        b.slice(x, [y.shape[0]], [0], steps=[-1])
