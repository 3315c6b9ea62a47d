"""What the schedules promise of the memory: requests, sectors and atomics of compiled graphs, counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.schedules.cuda import sorted_elements, vectors
from tests.cuda import CudaError, cpu_compiler, on_cpu
from tests.cuda.counters import Launch, counted

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

Graph = Callable[[gs.Builder], gs.Value]


MODULES: dict[Hashable, Any] = {}  # that several tests call


def launches(
    folder: Path, declare: Graph, want: Any, *arrays: Any, key: Hashable = None, **options: Any
) -> list[Launch]:
    """What a graph launches for arrays, if its result is the one that is wanted.

    Args:
        key: of the module, where others test the same one with other arrays.
    """
    module = None if key is None else MODULES.get(key)
    if module is None:
        b = gs.Builder("counted")
        b.output(declare(b))
        ((module, _),) = on_cpu([b], folder, **options)
        if key is not None:
            MODULES[key] = module
    with counted() as found:
        got = module(*arrays)
    np.testing.assert_allclose(got.astype("f8"), np.asarray(want).astype("f8"), rtol=1e-4, atol=1e-4)
    return found


def atomics(found: list[Launch]) -> int:
    """Atomics by threads in global memory."""
    return sum(s.lanes for a in found for s in a.sites if s.access == "atomic" and not s.shared)


@pytest.mark.parametrize("streamed", [0, 1 << 40])
def test_copies_of_rows_use_all_of_their_sectors(
    tmp_path: Path, streamed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "STREAMED_BYTES", streamed)
    rng = np.random.default_rng(0)
    x, i = rng.random((500, 40), np.float32), rng.integers(0, 500, 2000)
    (found,) = launches(
        tmp_path, lambda b: b.take(b.input("x", ("n", 40), "float32"), b.input("i", ("k",), "int64")), x[i], x, i
    )
    rows = [s for s in found.sites if s.buffer != "i_ptr"]
    assert {s.access for s in rows} == {"read", "write"}
    assert all(s.size == 16 and s.used >= 1.0 for s in rows)  # more where a warp reads a row twice


@pytest.mark.parametrize(("index", "cells"), [("int32", 4), ("int64", 2)])
def test_neighbouring_indices_are_read_at_once(tmp_path: Path, index: str, cells: int) -> None:
    k = 4096
    rng = np.random.default_rng(5)
    x, i = rng.random(700, np.float32), rng.integers(0, 700, k).astype(index)
    (found,) = launches(
        tmp_path, lambda b: b.take(b.input("x", ("n",), "float32"), b.input("i", ("k",), index)), x[i], x, i
    )
    sites = [s for s in found.sites if s.lanes]
    index_reads, writes = [s for s in sites if s.buffer == "i_ptr"], [s for s in sites if s.access == "write"]
    assert {s.size for s in index_reads} == {16} and {s.size for s in writes} == {4 * cells}
    for some in (index_reads, writes):
        assert sum(s.requests for s in some) == k // cells // 32 and all(s.used == 1.0 for s in some)
    assert sum(s.requests for s in sites if s.buffer == "x_ptr") == k // 32


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint64"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_a_histogram_has_one_global_atomic_per_cell_and_block(tmp_path: Path, dtype: str, symbolic: bool) -> None:
    cells, points = 97, 30_000
    rng = np.random.default_rng(1)
    i, v = rng.zipf(1.3, points) % cells, rng.integers(0, 9, points).astype(dtype)
    want = np.zeros(cells, dtype)
    np.add.at(want, i, v)

    def declare(b: gs.Builder) -> gs.Value:
        x = b.input("x", ("n" if symbolic else cells,), dtype)
        return b.put(x, b.input("i", ("k",), "int64"), b.input("v", ("k",), dtype), reduction="add")

    found = launches(tmp_path, declare, want, np.zeros(cells, dtype), i, v)
    (points_launch,) = (a for a in found if atomics([a]))
    assert 1 < points_launch.blocks <= points // (2 * cells)
    assert atomics(found) <= cells * points_launch.blocks
    assert points_launch.atomics_of_one <= points_launch.blocks
    reads = [s for s in points_launch.sites if s.buffer in ("i_ptr", "v_ptr")]
    assert all(s.used > 0.99 and s.lanes == points for s in reads)
    assert sum(s.l2_sectors for s in reads) * 32 < 1.01 * (i.nbytes + v.nbytes)


def test_few_points_go_to_global_memory(tmp_path: Path) -> None:
    """A block's own cells would cost more than they save."""
    i, v = np.arange(50) % 40, np.ones(50, "int32")

    def declare(b: gs.Builder) -> gs.Value:
        at, values = b.input("i", ("k",), "int64"), b.input("v", ("k",), "int32")
        return b.put(b.zeros((40,), "int32"), at, values, reduction="add")

    found = launches(tmp_path, declare, np.bincount(i, minlength=40), i, v)
    assert atomics(found) == 50 and not any(s.shared for a in found for s in a.sites)


def test_a_bad_index_of_few_cells_is_named(tmp_path: Path) -> None:
    b = gs.Builder("bad")
    at, values = b.input("i", ("k",), "int64"), b.input("v", ("k",), "int32")
    b.output(b.put(b.zeros((40,), "int32"), at, values, reduction="add"))
    ((module, _),) = on_cpu([b], tmp_path)
    i = np.arange(900) % 40
    i[[77, 600]] = -41, 40
    with pytest.raises(gs.BoundsError) as e:
        module(i, np.ones(900, "int32"))
    assert (e.value.position, e.value.value) == ((77,), -41)


@pytest.mark.parametrize(
    ("dtype", "reduction"), [("float32", "add"), ("int64", "max"), ("int32", "add"), ("float16", "add")]
)
@pytest.mark.parametrize("order", ["sorted", "shuffled", "equal"])
def test_rows_of_one_cell_that_follow_each_other_are_added_once(
    tmp_path: Path, dtype: str, reduction: str, order: str
) -> None:
    """Of 4 rows, those that a thread takes; 1,003 of them, so that the last thread has fewer."""
    n, k, width = 300, 1003, 8
    rng = np.random.default_rng(2)
    i = rng.integers(0, n, k)
    i = {"sorted": np.sort(i), "shuffled": i, "equal": np.full(k, 7)}[order]
    v = rng.integers(-9, 9, (k, width)).astype(dtype)
    want = np.zeros((n, width), dtype)
    {"add": np.add, "max": np.maximum}[reduction].at(want, i, v)

    def declare(b: gs.Builder) -> gs.Value:
        x = b.input("x", ("n", width), dtype)
        return b.put(x, b.input("i", ("k",), "int64"), b.input("v", ("k", width), dtype), reduction=reduction)

    key = ("rows", dtype, reduction)
    found = launches(tmp_path, declare, want, np.zeros((n, width), dtype), i, v, key=key)
    runs = sum(len([0, *np.flatnonzero(np.diff(i[q : q + 4]))]) for q in range(0, k, 4))
    lanes = 1 if dtype.startswith("float") else 4  # sm_90 adds 16 bytes at once
    assert atomics(found) == runs * width // 4 * lanes
    assert order != "equal" or runs == -(-k // 4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", ["min", "max"])
@pytest.mark.parametrize(("width", "cells"), [(8, 3000), (3, 7000), (None, 30_000), (None, 40)])
def test_extremes_of_floats(tmp_path: Path, dtype: str, reduction: str, width: int | None, cells: int) -> None:
    """By atomics of integers: NaN of both signs, in memory before and among the values, zeros and infinities; no swaps."""
    rng, k = np.random.default_rng(16), 900
    odd = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1e-42, -1e-42], dtype)
    shape = () if width is None else (width,)

    def numbers(count: int) -> Any:
        x = rng.normal(size=(count, *shape)).astype(dtype)
        return np.where(rng.random(x.shape) < 0.1, rng.choice(odd, x.shape), x)

    x, v, i = numbers(cells), numbers(k), rng.integers(0, min(cells, 40), k)
    want = x.copy()
    with np.errstate(invalid="ignore"):
        {"min": np.minimum, "max": np.maximum}[reduction].at(want, i, v)
    b = gs.Builder("extremes")
    base, at = b.input("x", (cells, *shape), dtype), b.input("i", ("k",), "int64")
    b.output(b.put(base, at, b.input("v", ("k", *shape), dtype), reduction=reduction))
    ((module, source),) = on_cpu([b], tmp_path)
    assert "old = atomicCAS" not in source
    for seed in range(3):
        module.seed = seed
        np.testing.assert_array_equal(module(x, i, v), want)


def test_rows_of_which_a_maximum_changes_little_are_read(tmp_path: Path) -> None:
    """8 bytes for each of two cells, and an atomic for those cells that change."""
    n, k, width = 2000, 1000, 8
    i = np.random.default_rng(17).permutation(k)
    v, x = np.zeros((k, width), "float32"), np.full((n, width), 5, "float32")
    v[::10, 3] = np.arange(6, 106)
    want = x.copy()
    np.maximum.at(want, i, v)

    def declare(b: gs.Builder) -> gs.Value:
        base, at = b.input("x", (n, width), "float32"), b.input("i", ("k",), "int64")
        return b.put(base, at, b.input("v", ("k", width), "float32"), reduction="max")

    found = launches(tmp_path, declare, want, x, i, v)
    looks = [s for a in found for s in a.sites if s.access == "relaxed read"]
    assert {s.size for s in looks} == {8} and sum(s.lanes for s in looks) == k * width // 2
    assert atomics(found) == k // 10


def test_bags_read_16_bytes_and_an_index_once_for_each_warp(tmp_path: Path) -> None:
    bags, length, width = 60, 50, 64
    rng = np.random.default_rng(15)
    x, i = rng.integers(-9, 9, (900, width)).astype("float32"), rng.integers(0, 900, (bags, length))

    def declare(b: gs.Builder) -> gs.Value:
        return b.sum(b.take(b.input("x", ("n", width), "float32"), b.input("i", ("c", length), "int64")), 1)

    (found,) = launches(tmp_path, declare, x[i].sum(1), x, i)
    sites = [s for s in found.sites if s.lanes]
    rows, index = [s for s in sites if s.buffer == "x_ptr"], [s for s in sites if s.buffer == "i_ptr"]
    assert {s.size for s in rows} == {16} and sum(s.lanes for s in rows) == bags * length * width // 4
    assert sum(s.requests for s in rows) == bags * length // 2  # two rows for each
    assert sum(s.lanes for s in index) == bags * length
    assert found.longest <= length // 2 + 2 + 1


def sorted_sums(b: gs.Builder) -> gs.Value:
    x, i, v = b.input("x", ("n", 8), "float32"), b.input("i", ("k",), "int64"), b.input("v", ("k", 8), "float32")
    return b.put(x, i, v, reduction="add", sorted=True)


@pytest.mark.parametrize("spread", [1, 7, 100, 1000])
def test_sorted_rows_take_two_atomics_of_a_stretch(tmp_path: Path, spread: int) -> None:
    """Of 16 rows, for their first and last cell; the others are read and written."""
    n, k, width, stretch = 1000, 1003, 8, 16
    i = np.sort(np.random.default_rng(6).integers(0, spread, k))
    v = np.random.default_rng(7).integers(-9, 9, (k, width)).astype("float32")
    want = np.zeros((n, width), "float32")
    np.add.at(want, i, v)
    found = launches(tmp_path, sorted_sums, want, np.zeros((n, width), "float32"), i, v, key="sorted rows")
    cells = [len(np.unique(i[s : s + stretch])) for s in range(0, k, stretch)]
    assert (
        atomics(found) == sum(min(c, 2) for c in cells) * width // 4 * 1
    )  # sm_90 adds 16 bytes at once, and counts as one
    (adds,) = (a for a in found if atomics([a]))
    plain = [s for s in adds.sites if s.access == "write" and not s.shared]
    assert sum(s.lanes for s in plain) == sum(max(c - 2, 0) for c in cells) * width // 4
    assert all(s.size == 16 for s in plain)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("spread", [1, 9, 1900])
@pytest.mark.parametrize("rounds", [4, 16])
def test_sorted_elements_take_two_atomics_of_a_stretch(
    tmp_path: Path, width: int, spread: int, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each column, for its first and last run; the others are read and written, whatever lies between points of a cell."""
    monkeypatch.setattr(sorted_elements, "fold_threads", lambda target: 1 if rounds == 16 else 1 << 20)
    n, k, each = 2000, 3001, 32 * rounds
    rng = np.random.default_rng(11)
    i = np.sort(rng.integers(0, spread, k))
    i[rng.random(k) < 0.2] = n
    v = rng.integers(-9, 9, (k, width)).astype("float32")
    want = np.zeros((n, width), "float32")
    np.add.at(want, i[i < n], v[i < n])

    def declare(b: gs.Builder) -> gs.Value:
        x, at = b.input("x", ("n", width), "float32"), b.input("i", ("k",), "int64")
        return b.put(x, at, b.input("v", ("k", width), "float32"), reduction="add", bounds="fill", sorted=True)

    key = ("sorted elements", width, rounds)
    found = launches(tmp_path, declare, want, np.zeros((n, width), "float32"), i, v, key=key)
    cells = (i[:, None] * width + np.arange(width)).ravel()
    cells[np.repeat(i == n, width)] = -1
    stretches = [cells[s : s + each] for s in range(0, len(cells), each)]
    columns = [np.unique(s[q::width][s[q::width] >= 0]) for s in stretches for q in range(width)]
    assert atomics(found) == sum(min(len(c), 2) for c in columns)
    (adds,) = (a for a in found if atomics([a]))
    plain = [s for s in adds.sites if s.access == "write" and not s.shared]
    assert sum(s.lanes for s in plain) == sum(max(len(c) - 2, 0) for c in columns)
    reads = [s for s in adds.sites if s.buffer in ("i_ptr", "v_ptr") and s.lanes]
    assert all(s.used > 0.97 or s.buffer == "v_ptr" for s in reads)  # of dropped points no value is read
    assert sum(s.requests for s in reads) == 2 * -(-k * width // 32)


def test_a_mean_of_sorted_rows_counts_without_atomics_but_for_ends(tmp_path: Path) -> None:
    n, k = 50, 900
    i = np.sort(np.random.default_rng(12).integers(0, n, k))
    v = np.random.default_rng(13).integers(-9, 9, (k, 8)).astype("float32")
    want = np.zeros((n, 8), "float32")
    np.add.at(want, i, v)

    def declare(b: gs.Builder) -> gs.Value:
        x, at = b.input("x", ("n", 8), "float32"), b.input("i", ("k",), "int64")
        return b.put(x, at, b.input("v", ("k", 8), "float32"), reduction="mean", include_self=False, sorted=True)

    found = launches(
        tmp_path, declare, want / np.maximum(np.bincount(i, minlength=n), 1)[:, None], np.zeros((n, 8), "float32"), i, v
    )
    counts = [a for a in found if atomics([a]) and not any(s.buffer == "v_ptr" for s in a.sites)]
    assert atomics(counts) == sum(min(len(np.unique(i[s : s + 128])), 2) for s in range(0, k, 128))


def test_a_broken_promise_of_sorted_elements(tmp_path: Path) -> None:
    """Warps race for cells, and do nothing else."""
    b = gs.Builder("broken")
    x, at, values = b.input("x", ("n",), "float32"), b.input("i", ("k",), "int64"), b.input("v", ("k",), "float32")
    b.output(b.put(x, at, values, reduction="add", sorted=True))
    ((module, _),) = on_cpu([b], tmp_path)
    i = np.random.default_rng(14).integers(0, 60, 500) * 3
    data, v = np.full(300, 7, "float32"), np.ones(500, "float32")
    with pytest.raises(CudaError, match="race"):
        module(data, i, v)
    with counted():
        got = module(data, i, v)
    others = np.setdiff1d(np.arange(300), i)
    assert (got[others] == 7).all() and ((got[i] >= 8) & (got[i] <= 7 + 500)).all()


def test_a_broken_promise_of_sorted_rows(tmp_path: Path) -> None:
    """Threads race for cells, and do nothing else."""
    b = gs.Builder("broken")
    b.output(sorted_sums(b))
    ((module, _),) = on_cpu([b], tmp_path)
    i = np.random.default_rng(8).integers(0, 60, 500) * 3
    x, v = np.full((300, 8), 7, "float32"), np.ones((500, 8), "float32")
    with pytest.raises(CudaError, match="race"):
        module(x, i, v)
    with counted():
        got = module(x, i, v)
    others = np.setdiff1d(np.arange(300), i)
    assert (got[others] == 7).all() and ((got[i] >= 8) & (got[i] <= 7 + 500)).all()
    i[77] = 300
    with counted(), pytest.raises(gs.BoundsError):
        module(x, i, v)


@pytest.mark.parametrize("width", [40, 20])
def test_neighbours_on_a_shared_axis_are_not_matched(tmp_path: Path, width: int) -> None:
    """32 of them go to different cells; of 20 columns some would meet those of the next row."""
    n, k = 900, 300
    i = np.random.default_rng(9).integers(0, 4, (k, width))
    v = np.random.default_rng(10).integers(0, 9, (k, width)).astype("int32")
    want = np.zeros((n, width), "int32")
    np.add.at(want, (i, np.arange(width)), v)

    def declare(b: gs.Builder) -> gs.Value:
        x, at = b.input("x", (n, width), "int32"), b.input("i", ("k", width), "int64")
        return b.scatter(x, at, b.input("v", ("k", width), "int32"), 0, reduction="add")

    found = launches(tmp_path, declare, want, np.zeros((n, width), "int32"), i, v)
    cells = (i * width + np.arange(width)).ravel()
    matched = sum(len(np.unique(cells[w : w + 32])) for w in range(0, len(cells), 32))
    assert atomics(found) == (k * width if width >= 32 else matched)
    assert width >= 32 or matched < k * width


@pytest.mark.parametrize(
    ("dtype", "reduction"), [("float32", "add"), ("int64", "add"), ("int32", "min"), ("uint64", "xor")]
)
@pytest.mark.parametrize("order", ["sorted", "shuffled", "equal"])
def test_elements_of_a_warp_that_meet_are_one_atomic(tmp_path: Path, dtype: str, reduction: str, order: str) -> None:
    n, k = 30_000, 1003
    i = np.random.default_rng(3).integers(0, 200, k) * 150
    i = {"sorted": np.sort(i), "shuffled": i, "equal": np.full(k, 29_999)}[order]
    v = np.random.default_rng(4).integers(0, 9, k).astype(dtype)
    want = np.full(n, 3, dtype)
    {"add": np.add, "min": np.minimum, "xor": np.bitwise_xor}[reduction].at(want, i, v)

    def declare(b: gs.Builder) -> gs.Value:
        x, at, values = b.input("x", (n,), dtype), b.input("i", ("k",), "int64"), b.input("v", ("k",), dtype)
        return b.put(x, at, values, reduction=reduction)

    found = launches(tmp_path, declare, want, np.full(n, 3, dtype), i, v, key=("elements", dtype, reduction))
    assert atomics(found) == sum(len(np.unique(i[w : w + 32])) for w in range(0, k, 32))


@pytest.mark.parametrize("symbolic", [False, True])
def test_sorted_elements_of_a_long_shared_axis_take_two_atomics_of_a_stretch(tmp_path: Path, symbolic: bool) -> None:
    """A column's, 16 elements long."""
    n, k, width = 200, 500, 40
    i = np.sort(np.random.default_rng(9).integers(0, 9, (k, width)), 0)
    v = np.random.default_rng(10).integers(0, 9, (k, width)).astype("int32")
    want = np.zeros((n, width), "int32")
    np.add.at(want, (i, np.arange(width)), v)

    def declare(b: gs.Builder) -> gs.Value:
        w: str | int = "w" if symbolic else width
        x, at = b.input("x", (n, w), "int32"), b.input("i", ("k", w), "int64")
        return b.scatter(x, at, b.input("v", ("k", w), "int32"), 0, reduction="add", sorted=True)

    found = launches(tmp_path, declare, want, np.zeros((n, width), "int32"), i, v)
    runs = [len(np.unique(i[s : s + 16, c])) for s in range(0, k, 16) for c in range(width)]
    assert atomics(found) == sum(min(r, 2) for r in runs) < k * width / 8


def test_rows_of_bfloat16_that_are_filled(tmp_path: Path) -> None:
    """Of which TVM writes no vector of eight equal ones."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    b = gs.Builder("filled")
    b.output(b.take(b.input("x", (30, 64), "bfloat16"), b.input("i", ("k",), "int64"), bounds="fill"))
    ((module, _),) = on_cpu([b], tmp_path)
    x = np.arange(30 * 64).reshape(30, 64).astype(ml_dtypes.bfloat16)
    i = np.array([3, 30, -1, -31, 0])
    want = np.where(((i >= -30) & (i < 30))[:, None], x[i % 30].astype("f4"), 0)
    np.testing.assert_array_equal(module(x, i).astype("f4"), want)
