"""Long segments are shared by blocks, fold by fold: the same results for any seed, and no block has most of the work."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.cases import numpy_dtype
from tests.cuda import cpu_compiler, on_cpu
from tests.cuda.counters import counted
from tests.cuda.device import CudaError
from tests.oracle import Array

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

SEGMENTS = 6

# a row, a dtype, what is made of the points, and points from one mark to the next
CASES: list[tuple[tuple[int, ...], str, str, int]] = [
    ((), "float32", "softmax", 4096),
    ((8,), "float32", "softmax", 1024),
    ((3,), "float16", "normalised", 1024),
    ((), "bfloat16", "softmax", 4096),
    ((), "float64", "normalised", 2048),
    ((20,), "float32", "share", 1024),
    ((3,), "int32", "share", 1024),
]


def lengths(kind: str, piece: int) -> list[int]:
    """Of the segments; together always five pieces and some points."""
    n = 5 * piece + 77
    first = {
        "one": [3, 0, 4 * piece, 1, 5],
        "all": [n, 0, 0, 0, 0],
        "ends": [2 * piece + 9, 1, 0, 70, 3],
        "last": [1, 2, 3, 4, 0],
        "several": [2 * piece - 1, 5, 0, 2 * piece + 30, 2],
        "marks": [2 * piece, piece, piece + 1, piece - 1, 0],  # from mark to mark, and one more or less
    }[kind]
    return [*first, n - sum(first)]


KINDS = ("one", "all", "ends", "last", "several", "marks")


def totals(b: gs.Builder, x: gs.Value, by: gs.Value, runs: bool) -> Any:
    """(values, reduction) -> the total of each point's segment, at the point."""

    def total(values: gs.Value, reduction: str) -> gs.Value:
        if runs:
            return b.segment_expand(b.segment_reduce(values, by, reduction), by, x.shape[0])
        if reduction == "max":
            base = b.full((SEGMENTS, *x.shape[1:]), float("-inf"), x.dtype.name)
        else:
            base = b.zeros((SEGMENTS, *x.shape[1:]), x.dtype.name)
        kind, rest = ("add", {}) if reduction == "sum" else (reduction, {"include_self": reduction != "mean"})
        return b.take(b.put(base, by, values, reduction=kind, sorted=True, **rest), by)

    return total


def build(row: tuple[int, ...], dtype: str, what: str, n: int | None, runs: bool) -> gs.Builder:
    b = gs.Builder("_".join(map(str, (what, "of_runs" if runs else "sorted", dtype, *row))))
    x = b.input("x", ("n" if n is None else n, *row), dtype)
    by = b.input("by", ("m" if n is None else SEGMENTS + 1,) if runs else x.shape[:1], "int64")
    total = totals(b, x, by, runs)
    if what == "softmax":
        power = b.exp(x - total(x, "max"))
        b.output(power / total(power, "sum"))
    elif what == "normalised":
        rest = x - total(x, "mean")
        b.output(rest * b.rsqrt(total(rest * rest, "mean") + 0.5))
    else:
        b.output(x * 2 - total(x, "sum"))
    return b


def expected(x: Array, index: Array, what: str) -> Array:
    wide = x.astype("i8" if x.dtype.kind == "i" else "f8")

    def total(values: Array, fold: Any = np.add, first: Any = 0) -> Array:
        found = np.full((SEGMENTS, *x.shape[1:]), first, values.dtype)
        fold.at(found, index, values)
        return found[index]

    if what == "softmax":
        power = np.exp(wide - total(wide, np.maximum, -np.inf))
        return power / total(power)
    if what == "share":
        return wide * 2 - total(wide)
    count = total(np.ones_like(wide))
    rest = wide - total(wide) / count
    return rest / np.sqrt(total(rest * rest) / count + 0.5)


@pytest.mark.parametrize("runs", [True, False], ids=["offsets", "sorted"])
@pytest.mark.parametrize("static", [True, False], ids=["static", "symbolic"])
def test_any_lengths(static: bool, runs: bool, tmp_path: Path) -> None:
    builders = [build(row, d, what, 5 * piece + 77 if static else None, runs) for row, d, what, piece in CASES]
    for c, (m, _) in enumerate(on_cpu(builders, tmp_path)):
        row, dtype, what, piece = CASES[c]
        for k, kind in enumerate(KINDS):
            if (k + c) % 2 and c:
                continue  # all kinds for the first case, half of them for each other
            given = lengths(kind, piece)
            index, x = (
                np.repeat(np.arange(SEGMENTS), given),
                np.random.default_rng(k).standard_normal((sum(given), *row)),
            )
            x = (x * (3 if what != "share" else 40)).astype(numpy_dtype(dtype))
            want, first = expected(x, index, what), None
            by = np.r_[0, np.cumsum(given)] if runs else index
            for m.seed in range(3):
                with counted() as launches:
                    got = np.asarray(m(x, by))
                assert len(launches) == 1
                where = f"{CASES[c]} {kind} {m.seed}"
                tolerance = {2: 4e-2, 4: 2e-3, 8: 1e-10}[x.itemsize]
                scale = np.abs(want).max() if what != "softmax" else 1
                np.testing.assert_allclose(got.astype("f8"), want, tolerance, tolerance * scale, err_msg=where)
                if first is not None:
                    np.testing.assert_array_equal(got, first, err_msg=where)  # bit for bit, whoever took which piece
                first = got


@pytest.mark.parametrize("runs", [True, False], ids=["offsets", "sorted"])
@pytest.mark.parametrize("row", [(), (8,)], ids=str)
def test_no_warp_has_most_of_the_work(row: tuple[int, ...], runs: bool, tmp_path: Path) -> None:
    ((m, _),) = on_cpu([build(row, "float32", "softmax", None, runs)], tmp_path)
    given = [20, 0, 100_000, 30, 7, 3]
    index = np.repeat(np.arange(SEGMENTS), given)
    x = np.random.default_rng(0).standard_normal((sum(given), *row)).astype("float32")
    with counted() as launches:
        got = np.asarray(m(x, np.r_[0, np.cumsum(given)] if runs else index))
    np.testing.assert_allclose(got, expected(x, index, "softmax"), rtol=1e-3, atol=1e-9)
    (launch,) = launches
    assert launch.longest_dram_waits + launch.longest_l2_waits < 60, launch  # a block alone waits 75 times, of rows 600


def test_promises_that_are_broken(tmp_path: Path) -> None:
    """Whatever offsets and indices are, a kernel stays in its buffers and ends."""
    builders = [build((), "float32", "softmax", None, runs) for runs in (True, False)]
    (by_offsets, _), (by_index, _) = on_cpu(builders, tmp_path)
    n, x = 20_000, np.zeros(20_000, "float32")
    broken = [[0, n, 0, n, 0, n], [0, 15_000, 3, 15_000, 5000, n], [0, 9000, 18_000, 17_999, n, n], [9000, 0, n, 1]]
    for by_offsets.seed, offsets in enumerate([*broken, [-(2**63), 2**63 - 1, 0, n], [7, n], [0, n - 1]]):
        # where segments overlap two blocks write the same points, which is a race of results that nobody reads
        with pytest.raises((gs.BoundsError, CudaError), match=r"out of range| race: .* out0"):
            by_offsets(x, np.array(offsets))
    np.testing.assert_allclose(by_offsets(x, np.array([0, n])), 1 / n, rtol=1e-5)
    for by_index.seed in range(3):
        i = np.repeat(np.random.default_rng(by_index.seed).integers(0, SEGMENTS, 40), 500)
        assert np.isfinite(by_index(x, i)).all()
        i[15_000] = SEGMENTS
        with pytest.raises(gs.BoundsError) as caught:
            by_index(x, i)
        assert (caught.value.position, caught.value.value) == ((15_000,), SEGMENTS)


def test_two_groups_have_their_own_tickets(tmp_path: Path) -> None:
    b, n = gs.Builder("two"), 20_000
    x, o = b.input("x", (n,), "float32"), b.input("o", (4,), "int64")
    p = b.input("p", (4,), "int64")
    total = totals(b, x, o, True)
    other = totals(b, x, p, True)
    b.output(x - total(x, "mean"), x - other(x, "mean"))
    ((m, _),) = on_cpu([b], tmp_path)
    assert [rule for _, rule in m.stats.kernels].count("segments") == 2
    a = np.random.default_rng(0).standard_normal(n).astype("float32")
    ends = np.array([0, 3, 15_000, n]), np.array([0, 9000, 9001, n])
    for m.seed in range(3):
        for got, o in zip(m(a, *ends), ends, strict=True):
            parts = [a[i:j].astype("f8") - a[i:j].mean(dtype="f8") for i, j in itertools.pairwise(o)]
            np.testing.assert_allclose(got, np.concatenate(parts), rtol=1e-3, atol=1e-5)
