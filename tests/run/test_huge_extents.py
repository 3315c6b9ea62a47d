"""Fixed extents that no int32 holds: they build as fast as others, and indices reach all of them and nothing else."""

from __future__ import annotations

import mmap
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.run.test_guard_pages import TARGETS, Array, Say, build, in_child, slices_of

EXTENTS = (1 << 30, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, 1 << 33, 1 << 39, 1 << 40)
MAP_NORESERVE = 0x4000  # <sys/mman.h>

Graph = Callable[[gs.Builder, int], gs.Value]

GRAPHS: dict[str, Graph] = {
    "many indices": lambda b, n: b.take(b.input("x", (8,), "int8"), b.input("i", (n,), "int64")),
    "of few rows": lambda b, n: b.take(b.input("x", (8, 64), "float32"), b.input("i", (n,), "int32")) * 2,
    "of many cells": lambda b, n: b.take(b.input("x", (n,), "int8"), b.input("i", (5,), "uint64"), bounds="wrap"),
    "along long rows": lambda b, n: b.gather(b.input("x", (3, n), "int8"), b.input("i", (3, n), "int64"), 1),
    "two components": lambda b, n: b.gather_nd(
        b.input("x", (n, 3), "int8"), b.input("i", (n, 2), "int64"), bounds="fill"
    ),
    "folded": lambda b, n: b.sum(b.take(b.input("x", (8,), "float32"), b.input("i", (n,), "int64")), 0),
    "runs": lambda b, n: b.segment_reduce(b.input("x", (n,), "float32"), b.input("o", (n,), "int64")),
    "added to many": lambda b, n: b.put(
        b.input("x", (n,), "float32"), b.input("i", (5,), "int64"), b.input("v", (5,), "float32"), reduction="add"
    ),
    "many added": lambda b, n: b.put(
        b.input("x", (7,), "float32"), b.input("i", (n,), "int64"), b.input("v", (n,), "float32"), reduction="add"
    ),
    "means of many": lambda b, n: b.put(
        b.input("x", (7,), "float32"), b.input("i", (n,), "int64"), b.input("v", (n,), "float32"), reduction="mean"
    ),
    "reshaped": lambda b, n: b.take(b.reshape(b.input("x", (3, n), "int8"), (3 * n,)), b.input("i", (5,), "int64")),
    "running sums": lambda b, n: b.cumsum(b.input("x", (n,), "int32")),
}


def builds(say: Say, target: str, extents: tuple[int, ...], names: list[str]) -> None:
    longest = 0.0
    for name in names:
        for n in extents:
            say(f"{name}, {n}")
            b = gs.Builder("huge")
            b.output(GRAPHS[name](b, n))
            begin = time.process_time()
            build(b, target, False)
            longest = max(longest, time.process_time() - begin)
    say(f"built, {longest}")


@pytest.mark.parametrize("target", TARGETS)
def test_they_build(target: str) -> None:
    """In a process of its own, as a build that does not end could not be interrupted."""
    some = [k for n, k in enumerate(GRAPHS) if n % 2 == (target == "cuda")]
    end = in_child(builds, target, (1 << 30, 1 << 31), some, timeout=60)
    assert end.code == 0, str(end)
    assert float(end.said.removeprefix("built, ")) < 5


@pytest.mark.parametrize("target", TARGETS)
def test_all_of_them_build(target: str) -> None:
    end = in_child(builds, target, EXTENTS, list(GRAPHS), timeout=60)
    assert end.code == 0, str(end)


@pytest.fixture(scope="module")
def huge() -> Array:
    """As many zero bytes as can be had of 2^40; pages that are not written take no memory."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    for n in (1 << 40, 1 << 33):
        try:
            return np.frombuffer(mmap.mmap(-1, n, flags=flags), np.int8)
        except OSError:
            continue
    raise AssertionError("no 8 GiB of addresses")


linux = pytest.mark.skipif(sys.platform != "linux", reason="maps more memory than there is, as Linux allows")


@linux
@pytest.mark.parametrize("width", [1, 3])
def test_the_ends_of_int64(huge: Array, width: int) -> None:
    """Every policy, for cells and for slices: positions around both ends of the axis and of the index's type."""
    n = huge.size
    count = n - width + 1
    i = np.array([0, 5, count - 1, -1, -n, -width, count, n, -n - 1, -(1 << 63), (1 << 63) - 1, 1 << 62, -(1 << 62)])
    places = {k: at for at, k in enumerate(dict.fromkeys([*range(9), *range(count - 3, n)]))}
    for k, at in places.items():
        huge[k] = at + 1
    wrapped = [int(v) + n if v < 0 else int(v) for v in i]

    def at(start: int) -> list[int]:
        return [int(huge[start + k]) for k in range(width)]

    want: dict[str, Any] = {
        "clip": [at(min(max(v, 0), count - 1)) for v in wrapped],
        "fill": [at(v) if 0 <= v < count else [99] * width for v in wrapped],
        "wrap": [at(int(v) % count) for v in i],
    }
    b = gs.Builder("ends")
    x, index = b.input("x", (n,), "int8"), b.input("i", (len(i), 1), "int64")
    for bounds in want:
        b.output(b.gather_map(x, index, slices_of(width), bounds=bounds, fill=99))
    for name, got in zip(want, b.build()(huge, i[:, None]), strict=True):
        assert got.tolist() == want[name], name

    b = gs.Builder("checked")
    x, index = b.input("x", (n,), "int8"), b.input("i", (1, 1), "int64")
    b.output(b.gather_map(x, index, slices_of(width)))
    m = b.build()
    for value, start in zip(i, wrapped, strict=True):
        if 0 <= start < count:
            assert m(huge, np.array([[value]])).tolist() == [at(start)]
            continue
        with pytest.raises(gs.BoundsError) as caught:
            m(huge, np.array([[value]]))
        assert caught.value.value == value


@linux
def test_cells_are_written_in_place(huge: Array) -> None:
    n = huge.size
    b = gs.Builder("written")
    x, i = b.input("x", (n,), "int8"), b.input("i", (4,), "int64")
    b.output(b.put(x, i, b.input("v", (4,), "int8"), bounds="fill"))
    b.build()(huge, np.array([-2, n // 2 + 1, 1 << 62, -n]), np.array([11, 12, 13, 14], np.int8), out=huge)
    assert [huge[k] for k in (n - 2, n // 2 + 1, 0)] == [11, 12, 14]


@linux
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("shape", [(1 << 32, 2), ((1 << 32) + 1, 1), (2, 1 << 32), (1, (1 << 32) + 3)], ids=str)
def test_elements_at_index_vectors(huge: Array, shape: tuple[int, int], symbolic: bool) -> None:
    """Products of a coordinate and a stride one of which takes more than 32 bits, and those that just do not."""
    x = huge[: shape[0] * shape[1]].reshape(shape)
    for index_dtype in ("int32", "int64"):
        low = -(1 << 31) if index_dtype == "int32" else -(1 << 32)
        near = [[min(max(v, -n), n - 1) for v in (0, 1, -1, -2, low, -low - 1)] for n in shape]
        i = np.array([(r, c) for r in near[0] for c in near[1]], index_dtype)
        at = [np.where(i[:, k] < 0, i[:, k].astype(np.int64) + n, i[:, k]) for k, n in enumerate(shape)]
        flat = at[0] * shape[1] + at[1]
        huge[flat] = np.arange(len(flat)) + 1
        b = gs.Builder("vectors")
        data = b.input("x", ("n", "m") if symbolic else shape, "int8")
        b.output(b.gather_nd(data, b.input("i", ("k", 2), index_dtype)))
        m = b.build()
        assert m(x, i).tolist() == huge[flat].tolist()
        huge[flat] = 0
