"""Sizes, bytes and work that memory cannot hold, or 63 bits cannot count, are errors of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import jax as gj
from tests.frameworks import need

pytestmark = pytest.mark.usefixtures("call_path")


def grid(*last: int) -> Any:
    """A module whose result has as many rows and columns as its inputs, which take no memory, are long."""
    b = gs.Builder("grid")
    rows, columns = b.input("rows", ("n", 0), "float32"), b.input("columns", ("m", 0), "float32")
    b.output(b.zeros((rows.shape[0], columns.shape[0], *last), "float32"))
    return b.build()


def summed() -> Any:
    b = gs.Builder("summed")
    rows, columns = b.input("rows", ("n", 0), "float32"), b.input("columns", ("m", 0), "float32")
    one = b.input("one", (1, 1), "float32")
    b.output(b.sum(b.broadcast_to(one, (rows.shape[0], columns.shape[0]))))
    return b.build()


def take() -> Any:
    b = gs.Builder("take")
    b.output(b.take(b.input("x", ("n",), "float32"), b.input("i", ("k",), "int64")))
    return b.build()


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_results(library: str) -> None:
    def empty(shape: tuple[int, ...]) -> Any:
        return np.empty(shape, "float32") if library == "numpy" else need("torch").empty(shape)

    m, nothing, total = grid(), grid(0), summed()
    assert m(empty((2, 0)), empty((3, 0))).shape == (2, 3)
    for a, b in ((1 << 40, 1 << 40), (1 << 31, 1 << 30), (1 << 60, 2)):
        args = empty((a, 0)), empty((b, 0))
        for module in (m, nothing):
            for call in (module, module.bind):
                with pytest.raises(gs.ShapeError, match=r"grid: output .* would have shape .*past 2\^63 - 1 bytes"):
                    call(*args)
    for a, b in ((1 << 30, 1 << 30), (1 << 24, 1 << 24)):
        args = empty((a, 0)), empty((b, 0))
        assert nothing(*args).shape == nothing(*args).shape == (a, b, 0)
        for call in (m, m.bind):
            with pytest.raises(gs.OutOfMemoryError, match=r"grid: output .*: no room for an array of shape"):
                call(*args)
    with pytest.raises(gs.ShapeError, match=r"summed: with n = .*, m = .*, the work is more than 2\^63 - 1 steps"):
        total(empty((1 << 40, 0)), empty((1 << 40, 0)), np.ones((1, 1), "float32"))


def test_copies_of_broadcast_arrays() -> None:
    torch, m, i = need("torch"), take(), np.array([3])
    for x in (
        np.broadcast_to(np.float32(1), (1 << 60,)),
        np.broadcast_to(np.float32(1), (1 << 45,)),
        torch.ones(1).expand(1 << 61),
        torch.ones(1).expand(1 << 45),
    ):
        for call in (m, m.bind):
            with pytest.raises(gs.OutOfMemoryError, match="take: input x: no room for an array of shape"):
                call(x, i)
    with pytest.raises(gs.OutOfMemoryError, match="take: input i: no room"):
        m(np.ones(4, "float32"), np.broadcast_to(np.int64(1), (1 << 59,)))


def test_scratch_memory() -> None:
    b = gs.Builder("scratch")
    rows, i = b.input("rows", ("n", 0), "float32"), b.input("i", ("k",), "int64")
    b.output(b.take(b.put(b.zeros((rows.shape[0], 8), "float32"), i, b.zeros((i.shape[0], 8), "float32")), i))
    m = b.build()
    with pytest.raises(gs.OutOfMemoryError, match="scratch: scratch memory: no room"):
        m(np.empty((1 << 45, 0), "float32"), np.array([1, 2]))


def test_extents_past_an_index() -> None:
    for extent in (1 << 63, 1 << 70):
        b = gs.Builder()
        with pytest.raises(gs.ShapeError, match=r"less than 2\^63"):
            b.input("x", (extent,), "float32")
        with pytest.raises(gs.ShapeError, match=r"less than 2\^63"):
            b.zeros((extent,), "float32")
    x, i = np.ones(3, "float32"), np.array([0, 1, 2])
    for extent in (1 << 62, 1 << 70):
        with pytest.raises(gs.ShapeError, match=r"2\^63"):
            gj.segment_sum(x, i, num_segments=extent)
    with pytest.raises(gs.OutOfMemoryError):
        gj.segment_sum(x, i, num_segments=1 << 45)
