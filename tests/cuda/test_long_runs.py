"""Long runs of rows are shared by blocks: the same results in the order of any seed, and no block with most of the work."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import gscompile as gs
from tests.cuda import cpu_compiler, on_cpu
from tests.cuda.counters import counted
from tests.oracle import Array

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

FOLDS = {"sum": np.sum, "mean": np.mean, "max": np.max}

# a long run at the beginning, in the middle, at the end; empty ones; one as long as a run may be that a warp or a thread folds
ASCENDING = {
    "one": [0, 5000],
    "ends": [0, 2100, 2100, 2101, 2130, 2900, 5000],
    "middle": [0, 3, 3, 130, 259, 4700, 4989, 5000],
    "at the limit": [0, 1024, 2049, 2177, 2306, 5000],
    "all": [0, 1500, 3200, 5000],
    "none": [0, 100, 200, 300, 301],
}
# they lie above each other, so that there is no room for some
OTHERS = {
    "overlapping": [0, 4000, 1000, 5000, 5000, 2],
    "down and up": [0, 5000] * 12,
}


def build(row: tuple[int, ...], dtype: str, fold: str, static: bool, runs: int) -> gs.Builder:
    b = gs.Builder(f"runs_{runs}")
    x = b.input("x", ((5000 if static else "n"), *(row if static else map("c{}".format, range(len(row))))), dtype)
    b.output(b.segment_reduce(x, b.input("o", (runs + 1 if static else "m",), "int64"), fold, empty=-7))
    return b


def values(row: tuple[int, ...], dtype: str) -> Array:
    rng = np.random.default_rng(1)
    return (rng.standard_normal((5000, *row)) * 40).astype(dtype)


def expected(x: Array, offsets: list[int], fold: str) -> Array:
    cells = [x[a:b] for a, b in itertools.pairwise(offsets)]
    wide = "f8" if x.dtype.kind == "f" else "i8"
    return np.array([FOLDS[fold](c.astype(wide), 0) if len(c) else np.full(x.shape[1:], -7) for c in cells])


@pytest.mark.parametrize("static", [True, False], ids=["static", "symbolic"])
@pytest.mark.parametrize(
    ("row", "dtype", "fold"),
    [
        ((), "float32", "sum"),
        ((), "int32", "max"),
        ((3,), "float32", "mean"),
        ((2, 4), "float64", "sum"),
        ((41,), "int64", "sum"),
    ],
    ids=str,
)
def test_any_lengths(row: tuple[int, ...], dtype: str, fold: str, static: bool, tmp_path: Path) -> None:
    x = values(row, dtype)
    known = {len(o): None for o in (*ASCENDING.values(), *OTHERS.values())}
    builders = (
        [build(row, dtype, fold, static, runs - 1) for runs in known] if static else [build(row, dtype, fold, False, 0)]
    )
    modules = dict(zip(known, (m for m, _ in on_cpu(builders, tmp_path)), strict=False))
    for name, offsets in (ASCENDING | OTHERS).items():
        m = modules[len(offsets)] if static else next(iter(modules.values()))
        want, first = expected(x, offsets, fold), None
        for m.seed in range(3):
            got = np.asarray(m(x, np.array(offsets)))
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3, err_msg=name)
            if first is not None:
                np.testing.assert_array_equal(got, first, err_msg=name)  # bit for bit, whoever took which piece
            first = got


def test_an_offset_that_is_out_of_range(tmp_path: Path) -> None:
    ((m, _),) = on_cpu([build((), "float32", "sum", True, 3)], tmp_path)
    x = values((), "float32")
    for m.seed in range(3):
        with pytest.raises(gs.BoundsError) as caught:
            m(x, np.array([0, 3000, 5001, 5000]))
        assert (caught.value.position, caught.value.value) == ((2,), 5001)
        np.testing.assert_allclose(
            m(x, np.array([0, 3000, 3001, 5000])), expected(x, [0, 3000, 3001, 5000], "sum"), rtol=1e-4
        )


def test_two_folds_have_their_own_lists(tmp_path: Path) -> None:
    b = gs.Builder("two")
    x, o = b.input("x", (5000,), "float32"), b.input("o", (4,), "int64")
    b.output(b.segment_reduce(x, o, "sum"), b.segment_reduce(x * 2, o, "max"))
    ((m, _),) = on_cpu([b], tmp_path)
    a, offsets = values((), "float32"), [0, 10, 4000, 5000]
    for m.seed in range(3):
        total, most = m(a, np.array(offsets))
        np.testing.assert_allclose(total, expected(a, offsets, "sum"), rtol=1e-4)
        np.testing.assert_allclose(most, expected(a * 2, offsets, "max"), rtol=1e-4)


@pytest.mark.parametrize("row", [(), (8,)], ids=str)
def test_no_warp_has_most_of_the_work(row: tuple[int, ...], tmp_path: Path) -> None:
    rows = 60_000
    b = gs.Builder("spread")
    x, o = b.input("x", (rows, *row), "float32"), b.input("o", (101,), "int64")
    b.output(b.segment_reduce(x, o))
    ((m, _),) = on_cpu([b], tmp_path)
    offsets = np.r_[np.arange(100) * 20, rows]
    a = np.ones((rows, *row), "float32")
    with counted() as launches:
        got = np.asarray(m(a, offsets))
    np.testing.assert_array_equal(got, np.broadcast_to(np.diff(offsets).reshape(-1, *(1 for _ in row)), got.shape))
    fold = launches[-1]
    assert fold.longest_dram_waits + fold.longest_l2_waits < 60, fold  # a warp alone waits 500 times, a thread 15,000
