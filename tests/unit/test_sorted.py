"""``sorted=True``: who makes the promise, and that it changes nothing where it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import jax as gj
from gscompile.dialects import tensorflow as gt
from gscompile.dialects import xla

Declare = Callable[[gs.Value, gs.Value, gs.Value, gs.Value], Any]


def text(declare: Declare) -> str:
    """A graph of rows that are written, as text."""
    b = gs.Builder("written")
    x, v = b.input("x", (9, 4), "float32"), b.input("v", (6, 4), "float32")
    i, pairs = b.input("i", (6,), "int32"), b.input("p", (6, 2), "int32")
    b.output(declare(x, v, i, pairs))
    return str(b.graph())


def scattered(x: gs.Value, v: gs.Value, index: gs.Value, *, ascending: bool, mode: str | None = None) -> Any:
    """XLA's scatter of rows, or of elements where the indices are pairs."""
    rows = index.rank == 1
    numbers: list[Any] = [[1], [0], [], [], [0], 1] if rows else [[], [0, 1], [], [], [0, 1], 1]
    updates = v if rows else v[:, 0]
    return xla.scatter(x, index, updates, *numbers, ascending, update_computation=lambda a, b: a + b, mode=mode)


@pytest.mark.parametrize(
    ("promised", "declare"),
    [
        (True, lambda x, v, i, p: gj.at(x)[i].add(v, indices_are_sorted=True)),
        (True, lambda x, v, i, p: gj.at(x)[i].min(v, indices_are_sorted=True, mode="clip")),
        (True, lambda x, v, i, p: gj.at(x)[p[:, 0], p[:, 1]].add(v[:, 0], indices_are_sorted=True)),
        (False, lambda x, v, i, p: gj.at(x)[p[:, 0], p[:, 1]].add(v[:, 0], indices_are_sorted=True, mode="clip")),
        (False, lambda x, v, i, p: gj.at(x)[i].add(v)),
        (True, lambda x, v, i, p: gj.segment_sum(v, i, 9, indices_are_sorted=True)),
        (False, lambda x, v, i, p: gj.segment_sum(v, i, 9)),
        (True, lambda x, v, i, p: gt.segment_sum(v, i, num_segments=9)),
        (True, lambda x, v, i, p: gt.segment_max(v, i, num_segments=9)),
        (False, lambda x, v, i, p: gt.unsorted_segment_sum(v, i, 9)),
        (True, lambda x, v, i, p: scattered(x, v, i, ascending=True)),
        (True, lambda x, v, i, p: scattered(x, v, i, ascending=True, mode="clip")),
        (True, lambda x, v, i, p: scattered(x, v, p, ascending=True)),
        (False, lambda x, v, i, p: scattered(x, v, p, ascending=True, mode="clip")),
        (False, lambda x, v, i, p: scattered(x, v, i, ascending=False)),
    ],
)
def test_who_promises(promised: bool, declare: Declare) -> None:
    """Vectors that ascend may not do so once each component is clipped by itself."""
    assert ("sorted=True" in text(declare)) is promised


@pytest.mark.parametrize("reduction", ["update", "add", "sub", "mean", "argmax", "logaddexp"])
def test_it_changes_nothing(reduction: str) -> None:
    rng = np.random.default_rng(0)
    x, v = rng.random((9, 4), np.float32), rng.random((50, 4), np.float32)
    i = np.sort(rng.integers(-20, 20, 50))
    found = []
    for ascending in (False, True):
        b = gs.Builder("rows")
        rows, index, src = (
            b.input("x", (9, 4), "float32"),
            b.input("i", (50,), "int64"),
            b.input("v", (50, 4), "float32"),
        )
        out = b.put(rows, index, src, reduction=reduction, bounds="fill", negative=False, sorted=ascending)
        b.output(*(out if isinstance(out, tuple) else (out,)))
        found.append(b.build()(x, i, v))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
