"""What stands for a run, for each of its rows, against loops, on all paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from tests.cases import DTYPES, random_data
from tests.oracle import assert_same
from tests.paths import reference

PATHS = ("llvm", "cuda", "reference")
RUNS = [
    [0, 3, 3, 10, 20],
    [0, 0, 0, 0, 7],
    [0, 7, 7, 7, 7],
    [0, 0, 0, 0, 0],
    [0, 1, 2, 3, 4],
]


def module(dtype: str, tail: tuple[Any, ...], path: str, n: Any = "n", k: Any = "k", index: str = "int64") -> Any:
    b = gs.Builder("runs")
    x, offsets = b.input("x", (n, *tail), dtype), b.input("offsets", ("m" if n == "n" else n + 1,), index)
    b.output(b.segment_expand(x, offsets, b.input("like", (k,), "int8").shape[0]))
    if path == "reference":
        return lambda *given: reference(b.graph())(*given)[0]
    return b.build() if path == "llvm" else emulate(b)


def expected(x: Any, offsets: Any) -> Any:
    out = np.zeros((offsets[-1], *x.shape[1:]), x.dtype)
    for p in range(len(out)):
        for s in range(len(x)):
            if offsets[s] <= p < offsets[s + 1]:
                out[p] = x[s]
    return out


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: str, path: str) -> None:
    run = module(dtype, (5,), path)
    for o in RUNS:
        x = random_data(np.random.default_rng(1), (4, 5), dtype)
        assert_same(run(x, np.array(o), np.zeros(o[-1], "int8")), expected(x, o))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("tail", [(), (3, 2), (0,)])
@pytest.mark.parametrize("index", ["uint8", "uint64", "int32"])
def test_rows_and_dtypes_of_offsets(tail: tuple[int, ...], index: str, path: str) -> None:
    run = module("float32", tail, path, 4, 20, index)
    x, o = random_data(np.random.default_rng(1), (4, *tail), "float32"), np.array(RUNS[0], index)
    assert_same(run(x, o, np.zeros(20, "int8")), expected(x, RUNS[0]))


@pytest.mark.parametrize("path", ["llvm", "cuda"])
def test_no_runs(path: str) -> None:
    run = module("int32", (3,), path)
    assert run(np.zeros((0, 3), "int32"), np.array([0]), np.zeros(0, "int8")).shape == (0, 3)
    with pytest.raises(gs.BoundsError):
        run(np.zeros((0, 3), "int32"), np.array([0]), np.zeros(2, "int8"))
    with pytest.raises(gs.ShapeError):
        run(np.zeros((0, 3), "int32"), np.zeros(0, "int64"), np.zeros(0, "int8"))


@pytest.mark.parametrize("path", ["llvm", "cuda"])
def test_offsets_are_checked(path: str) -> None:
    run = module("float32", (2,), path)
    x, like = np.ones((3, 2), "float32"), np.zeros(5, "int8")
    for o, position, value in (
        ([0, 2, 1, 5], (2,), -1),
        ([0, -1, 2, 5], (1,), -1),
        ([0, 9, 2, 5], (1,), 9),
        ([1, 2, 2, 5], (0,), -1),
        ([-1, 2, 2, 5], (0,), -1),
        ([0, 2, 2, 4], (3,), -1),
        ([0, 2, 2, 6], (3,), -1),
        ([0, 2, 2, -(2**63)], (3,), -(2**63) - 2 + 2**64),
    ):
        with pytest.raises(gs.BoundsError) as caught:
            run(x, np.array(o), like)
        assert (caught.value.tensor, caught.value.position, caught.value.value) == ("offsets", position, value)


def test_numbers_of_runs_are_computed_once() -> None:
    b = gs.Builder("once")
    x, o = b.input("x", (4,), "float32"), b.input("o", (5,), "int64")
    one, two = b.segment_expand(x, o, 9), b.segment_expand(x * 2, o, 9)
    assert one.args[1] is two.args[1]
    assert b.segment_expand(x, o, 8).args[1] is not one.args[1]


def test_bad_arguments() -> None:
    b = gs.Builder("runs")
    x, o = b.input("x", (4, 2), "float32"), b.input("o", (5,), "int64")
    with pytest.raises(gs.DTypeError, match="integer"):
        b.segment_expand(x, x[:, 0], 9)
    with pytest.raises(gs.ShapeError, match="one axis"):
        b.segment_expand(x, b.stack([o, o], 0), 9)
    with pytest.raises(gs.ShapeError, match="at least one element"):
        b.segment_expand(x, o[:0], 9)
    with pytest.raises(gs.ShapeError, match="scalar"):
        b.segment_expand(x[0, 0], o, 9)
    with pytest.raises(gs.ShapeError, match="less one"):
        b.segment_expand(x, o[:3], 9)
    with pytest.raises(gs.GSError, match="rows"):
        b.segment_expand(x, o, -1)
