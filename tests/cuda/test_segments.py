"""Groups of folds over segments: which values are one, and the kernel that computes it, in other orders of threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler.segments import Segments, find_segments, readers_of
from tests.cases import numpy_dtype
from tests.cuda import cpu_compiler, on_cpu
from tests.cuda.counters import counted
from tests.oracle import Array

CUDA = {"kind": "cuda", "arch": "sm_80"}
on_cpu_only = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))
Declared = Callable[..., gs.Value]


def total(b: gs.Builder, i: gs.Value, x: gs.Value, n: Any, reduction: str, **o: Any) -> gs.Value:
    """The total of each point's segment, at the point."""
    base = float("-inf") if reduction == "max" else 0
    folded = b.put(b.full((n, *x.shape[1:]), base, x.dtype.name), i, x, reduction=reduction, sorted=True, **o)
    return b.take(folded, i, bounds=o.get("bounds", "raise"))


def softmax(b: gs.Builder, x: gs.Value, i: gs.Value, n: Any, **o: Any) -> gs.Value:
    power = b.exp(x - total(b, i, x, n, "max", **o))
    return power / total(b, i, power, n, "add", **o)


def normalised(b: gs.Builder, x: gs.Value, i: gs.Value, n: Any, **o: Any) -> gs.Value:
    """Without mean, and of variance 1."""
    rest = x - total(b, i, x, n, "mean", include_self=False, **o)
    return rest * b.rsqrt(total(b, i, rest * rest, n, "mean", include_self=False, **o) + 0.5)


def share(b: gs.Builder, x: gs.Value, i: gs.Value, n: Any, **o: Any) -> gs.Value:
    return x / total(b, i, x * x + 1.0, n, "add", **o)


def expected(declare: Declared, x: Array, i: Array, n: int) -> Array:
    def total(values: Array, fold: Any = np.add, first: float = 0.0) -> Any:
        found = np.full((n, *x.shape[1:]), first)
        fold.at(found, i, values)
        return found[i]

    x = x.astype("f8")
    if declare is softmax:
        power = np.exp(x - total(x, np.maximum, -np.inf))
        return power / total(power)
    if declare is share:
        return x / total(x * x + 1)
    rest = x - total(x) / total(np.ones_like(x))
    return rest / np.sqrt(total(rest * rest) / total(np.ones_like(x)) + 0.5)


KINDS = ("same", "uneven", "apart", "uniform")


def indices(kind: str, k: int, n: int) -> Array:
    """Sorted: all the same, none the same if that can be, of many lengths, or uniform."""
    rng = np.random.default_rng(k)
    if kind == "same":
        return np.full(k, rng.integers(0, n))
    if kind == "apart":
        return np.arange(k) * n // max(k, 1)
    weights = rng.zipf(1.3, n).clip(0, 2000).astype("f8") if kind == "uneven" else np.ones(n)
    return np.sort(rng.choice(n, k, p=weights / weights.sum()))


# what, dtype, extents of a row, segments, dtype of the index, policy; every third one has sizes that only a call tells
CASES: list[tuple[Declared, str, tuple[int, ...], int, str, str]] = [
    (softmax, "float32", (), 3000, "int64", "raise"),
    (softmax, "float32", (20,), 70, "int32", "clip"),
    (softmax, "bfloat16", (), 70, "uint8", "raise"),
    (softmax, "float64", (3,), 5, "int64", "trust"),
    (normalised, "float32", (8,), 70, "int16", "wrap"),
    (normalised, "float16", (2, 5), 3000, "int64", "raise"),
    (normalised, "float64", (), 70, "int32", "raise"),
    (share, "float16", (), 5, "int64", "clip"),
    (share, "float32", (16,), 3000, "int32", "raise"),
]
K = 2600  # which three blocks look at


@on_cpu_only
def test_segments(tmp_path: Path) -> None:
    builders = []
    for c, (declare, dtype, row, n, index, bounds) in enumerate(CASES):
        b = gs.Builder(f"g{c}")
        x = b.input("x", (K if c % 3 else "k", *row), dtype)
        b.output(declare(b, x, b.input("i", x.shape[:1], index), n, bounds=bounds))
        builders.append(b)
    for c, (module, _) in enumerate(on_cpu(builders, tmp_path)):
        declare, dtype, row, n, index, _ = CASES[c]
        for k in (K,) if c % 3 else (0, 1, 1025, K):
            for module.seed, kind in enumerate(KINDS if k == K else KINDS[:1]):
                i = indices(kind, k, n)
                x = (np.random.default_rng(k).standard_normal((k, *row)) * 2).astype(numpy_dtype(dtype))
                with counted() as launches:
                    got = module(x, i.astype(index))
                assert len(launches) == 1
                tolerance = {2: 4e-2, 4: 2e-4, 8: 1e-10}[x.itemsize]
                want = expected(declare, x, i, n)
                np.testing.assert_allclose(got.astype("f8"), want, tolerance, tolerance, err_msg=f"{c} {k} {kind}")


@on_cpu_only
def test_maxima_of_unsigned_numbers_from_zero(tmp_path: Path) -> None:
    """TVM aborts the process where it is to compare one with 0."""
    dtypes, builders = ("uint8", "uint32", "uint64"), []
    for dtype in dtypes:
        b = gs.Builder(dtype)
        x, i = b.input("x", (K,), dtype), b.input("i", (K,), "int64")
        b.output(b.take(b.put(b.zeros((70,), dtype), i, x, reduction="max", sorted=True), i) - x)
        builders.append(b)
    i = indices("uneven", K, 70)
    for dtype, (module, _) in zip(dtypes, on_cpu(builders, tmp_path), strict=True):
        x = np.random.default_rng(0).integers(0, 200, K).astype(dtype)
        with counted() as launches:
            got = module(x, i)
        assert len(launches) == 1
        most = np.zeros(70, dtype)
        np.maximum.at(most, i, x)
        np.testing.assert_array_equal(got, most[i] - x)


def softmax_of(b: gs.Builder, n: Any = 50, k: Any = "k", **o: Any) -> gs.Value:
    return softmax(b, b.input("x", (k,), "float32"), b.input("i", (k,), "int64"), n, **o)


@on_cpu_only
def test_few_long_segments_are_taken_apart(tmp_path: Path) -> None:
    """One block would take each; there are kernels that share them.  Where an index is not checked nothing counts tickets."""
    b = gs.Builder("few")
    b.output(softmax_of(b, 1, bounds="trust"))
    ((m, _),) = on_cpu([b], tmp_path)
    for k, launched in ((16384, 1), (16385, 5)):
        x = np.random.default_rng(k).random(k, np.float32)
        with counted() as launches:
            got = m(x, np.zeros(k, "int64"))
        assert len(launches) == launched
        np.testing.assert_allclose(got, expected(softmax, x, np.zeros(k, "int64"), 1), rtol=1e-4)
    apart = ["sorted-elements", "sorted-elements", "cells", "segments"]
    assert rules(lambda b: softmax_of(b, 2, 100_000, bounds="trust")) == apart
    assert rules(lambda b: softmax_of(b, 2, 100_000)) == ["segments"]


@on_cpu_only
@pytest.mark.parametrize("check", ["sync", "deferred"])
def test_a_bad_index_is_named(check: str, tmp_path: Path) -> None:
    b = gs.Builder("bad")
    b.output(softmax_of(b))
    ((m, _),) = on_cpu([b], tmp_path, check=check)
    x, i = np.ones(3000, "float32"), np.sort(np.arange(3000) % 50)
    np.testing.assert_allclose(m(x, i), 1 / 60, rtol=1e-5)
    i[2100], i[2700] = 50, -51
    with pytest.raises(gs.BoundsError) as e:
        m(x, i)
        m.check()
    assert (e.value.tensor, e.value.position, e.value.value) == ("i", (2100,), 50)


@on_cpu_only
def test_a_broken_promise_leads_nowhere_else(tmp_path: Path) -> None:
    """Runs of equal indices are segments, and all of the result is written."""
    b = gs.Builder("broken")
    b.output(softmax_of(b))
    ((m, _),) = on_cpu([b], tmp_path)
    rng = np.random.default_rng(0)
    i = rng.integers(0, 50, 5000)
    i[1024::1024] = (i[1023:-1:1024] + 1) % 50  # none goes on past what a block looks at
    x = rng.random(5000, np.float32)
    got = m(x, i)
    runs = np.cumsum(np.r_[0, i[1:] != i[:-1]])
    np.testing.assert_allclose(got, expected(softmax, x, runs, 5000), rtol=1e-4)


@on_cpu_only
def test_a_batch_has_segments_of_its_own(tmp_path: Path) -> None:
    b = gs.Builder("batch")
    x, i = b.input("x", (3, "k"), "float32"), b.input("i", (3, "k"), "int64")
    sums = b.scatter(b.zeros((3, 9)), i, x, 1, reduction="add", sorted=True)
    b.output(x - b.gather(sums, i, 1))
    ((m, _),) = on_cpu([b], tmp_path)
    rng = np.random.default_rng(3)
    values, index = rng.random((3, 2050), np.float32), np.sort(rng.integers(0, 9, (3, 2050)), 1)
    want = np.stack([v - np.bincount(j, v, 9)[j] for v, j in zip(values, index, strict=True)])
    with counted() as launches:
        np.testing.assert_allclose(m(values, index), want, rtol=1e-4)
    assert len(launches) == 1


# -- segments that offsets give

RUNS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
}
FOLDED: list[
    tuple[str, str, tuple[int, ...], str]
] = [  # dtype, what folds twice, extents of a row, dtype of the offsets
    ("float32", "max sum", (), "int64"),
    ("float32", "mean mean", (20,), "int32"),
    ("float16", "max sum", (3,), "int64"),
    ("bfloat16", "min mean", (), "uint16"),
    ("float64", "max sum", (5,), "int64"),
    ("int32", "max min", (7,), "uint64"),
    ("int32", "sum min", (), "int16"),
]


def twice(b: gs.Builder, x: gs.Value, o: gs.Value, folds: str) -> gs.Value:
    """What is left without one total, and then without half of another."""
    one, other = folds.split()
    rest = x - b.cast(b.segment_expand(b.segment_reduce(x, o, one), o, x.shape[0]), x.dtype.name)
    return rest * 2 - b.cast(b.segment_expand(b.segment_reduce(rest, o, other), o, x.shape[0]), x.dtype.name)


def plain(x: Array, o: Array, folds: str) -> Array:
    """The same, run by run."""
    out, (one, other) = np.zeros_like(x), folds.split()
    for begin, end in itertools.pairwise(map(int, o)):
        if begin < end:
            rest = x[begin:end] - RUNS[one](x[begin:end], axis=0).astype(x.dtype)
            out[begin:end] = rest * 2 - RUNS[other](rest, axis=0).astype(x.dtype)
    return out


def offsets(kind: str, k: int) -> Array:
    """Of runs with lengths of a kind."""
    rng = np.random.default_rng(k)
    inner = {
        "one": [],
        "uneven": np.cumsum(rng.zipf(1.3, k // 8).clip(0, 900)),
        "single": np.arange(k),
        "empty": np.repeat(rng.integers(0, k + 1, 40), 90),  # more than a block has threads
        "first and last": [0, 0, k // 3, k, k],
        "all but one": [0] * 1500 + [k] * 1500,
    }[kind]
    inner = np.sort(np.asarray(inner, "int64"))
    return np.r_[0, inner[inner <= k], k].astype("int64")


@on_cpu_only
def test_runs(tmp_path: Path) -> None:
    """Static and symbolic, against loops over the runs."""
    builders = []
    for c, (dtype, folds, row, index) in enumerate(FOLDED):
        b = gs.Builder(f"r{c}")
        x = b.input("x", (K if c % 3 == 2 else "k", *row), dtype)
        b.output(twice(b, x, b.input("o", ("m",), index), folds))
        builders.append(b)
    kinds = ("one", "uneven", "single", "empty", "first and last", "all but one")
    for c, (module, _) in enumerate(on_cpu(builders, tmp_path)):
        dtype, folds, row, index = FOLDED[c]
        for k in (K,) if c % 3 == 2 else (1, 1024, K):
            for module.seed, kind in enumerate(kinds if k == K else kinds[1:5]):
                o, rng = offsets(kind, k), np.random.default_rng(k)
                values = rng.integers(-90, 90, (k, *row)) if dtype == "int32" else rng.standard_normal((k, *row))
                x = values.astype(numpy_dtype(dtype))
                with counted() as launches:
                    got = module(x, o.astype(index))
                assert len(launches) == 1
                if dtype == "int32":
                    np.testing.assert_array_equal(got, plain(x, o, folds), err_msg=f"{c} {k} {kind}")
                    continue
                tolerance = {2: 6e-2, 4: 3e-4, 8: 1e-10}[x.itemsize]
                want = plain(x.astype("f8"), o, folds)
                scale = max(1.0, float(np.abs(want).max()))
                np.testing.assert_allclose(
                    got.astype("f8"), want, tolerance, tolerance * scale, err_msg=f"{c} {k} {kind}"
                )


def run_softmax(b: gs.Builder, x: gs.Value, o: gs.Value, **options: Any) -> gs.Value:
    def expanded(fold: str, values: gs.Value) -> gs.Value:
        return b.segment_expand(b.segment_reduce(values, o, fold, **options), o, x.shape[0])

    power = b.exp(x - expanded("max", x))
    return power / expanded("sum", power)


def runs_given(b: gs.Builder, k: Any = 300, n: Any = 10) -> tuple[gs.Value, gs.Value]:
    return b.input("x", (k,), "float32"), b.input("o", (n,), "int64")


@on_cpu_only
@pytest.mark.parametrize("check", ["sync", "deferred"])
def test_bad_offsets_are_named(check: str, tmp_path: Path) -> None:
    """One kernel finds each of them; of no points and of no runs a kernel does that looks at nothing else."""
    b = gs.Builder("bad")
    b.output(run_softmax(b, *runs_given(b, "k", "m")))
    ((m, _),) = on_cpu([b], tmp_path, check=check)
    x, good = np.zeros(800, "float32"), np.sort(np.random.default_rng(0).integers(0, 801, 71))
    good[0], good[-1] = 0, 800
    bad = {0: (-1, 1), 70: (799, 801, 0), 7: (-1, 801, 2**62, -(2**63)), 40: (int(good[39]) - 1,)}
    for place, numbers in bad.items():
        for number in numbers:
            o = good.copy()
            o[place] = number
            with pytest.raises(gs.BoundsError) as e:
                m(x, o)
                m.check()
            assert e.value.tensor == "o"
            assert e.value.position in ((place,), (place + 1,))
    for k, o in ((0, [1]), (0, [0, 0, 1]), (3, [3]), (3, [0])):
        with pytest.raises(gs.BoundsError):
            m(np.zeros(k, "float32"), np.array(o))
            m.check()
    for runs in ([0], [0, 0, 0]):
        assert m(x[:0], np.array(runs)).shape == (0,)
    i = np.repeat(np.arange(70), np.diff(good))
    np.testing.assert_allclose(m(x, good), 1 / np.diff(good)[i], rtol=1e-5)
    m.check()


@on_cpu_only
def test_bad_offsets_lead_nowhere_else(tmp_path: Path) -> None:
    """Whatever they are, a kernel stays in its buffers and ends."""
    b = gs.Builder("wild")
    b.output(run_softmax(b, *runs_given(b, "k", "m")))
    ((m, _),) = on_cpu([b], tmp_path)
    for m.seed in range(8):
        rng = np.random.default_rng(m.seed)
        o = rng.integers(-900, 1800, 1200) if m.seed % 2 else rng.integers(-(2**63), 2**63 - 1, 1200)
        with pytest.raises(gs.BoundsError):
            m(np.zeros(900, "float32"), o)


@on_cpu_only
def test_few_long_runs_are_one_kernel(tmp_path: Path) -> None:
    b = gs.Builder("few")
    b.output(run_softmax(b, *runs_given(b, "k", "m")))
    ((m, _),) = on_cpu([b], tmp_path)
    for k in (16384, 16385):
        x, o = np.random.default_rng(k).random(k, np.float32), np.array([0, k])
        with counted() as launches:
            got = m(x, o)
        assert len(launches) == 1
        np.testing.assert_allclose(got, expected(softmax, x, np.zeros(k, "int64"), 1), rtol=1e-4)
    with pytest.raises(gs.BoundsError) as e:
        m(x, np.array([0, k - 1]))
    assert (e.value.tensor, e.value.position) == ("o", (1,))


@on_cpu_only
def test_runs_of_others_and_of_several_groups(tmp_path: Path) -> None:
    """The numbers of the runs are computed where another value needs them; offsets may be computed, too."""
    b = gs.Builder("several")
    x, lengths, w = b.input("x", (K,), "float32"), b.input("lengths", (70,), "int64"), b.input("w", (70,), "float32")
    o = b.concat([b.zeros((1,), "int64"), b.cumsum(lengths)], 0)
    b.output(run_softmax(b, x, o), run_softmax(b, x * b.segment_expand(w, o, K), o))
    ((m, _),) = on_cpu([b], tmp_path)
    assert [rule for _, rule in m.stats.kernels].count("segments") == 2
    values, at = np.random.default_rng(1).random(K, np.float32), offsets("empty", K)[-70:]
    at = np.sort(np.r_[0, at[:-1], K])
    scale, i = np.random.default_rng(2).random(70, np.float32), np.repeat(np.arange(70), np.diff(at))
    for got, x_ in zip(m(values, np.diff(at), scale), (values, values * scale[i]), strict=True):
        np.testing.assert_allclose(got, expected(softmax, x_, i, 70), rtol=1e-4)


def rules(declare: Callable[[gs.Builder], Any], **options: Any) -> list[str]:
    b = gs.Builder("rules")
    found = declare(b)
    b.output(*found) if isinstance(found, tuple) else b.output(found)
    return [rule for _, rule in b.build(CUDA, **options).stats.kernels]


def given(b: gs.Builder) -> tuple[gs.Value, gs.Value]:
    return b.input("x", (300,), "float32"), b.input("i", (300,), "int64")


def summed(b: gs.Builder, x: gs.Value, i: gs.Value, base: gs.Value | None = None, **o: Any) -> gs.Value:
    return b.put(b.zeros((9,)) if base is None else base, i, x, **{"reduction": "add", "sorted": True, **o})


def with_totals(b: gs.Builder) -> Any:
    x, i = given(b)
    sums = summed(b, x, i)
    return x / b.take(sums, i), sums


def with_powers(b: gs.Builder) -> Any:
    """The group ends where others read a value."""
    x, i = given(b)
    power = b.exp(x - total(b, i, x, 9, "max"))
    return power / total(b, i, power, 9, "add"), power


def by_another_index(b: gs.Builder) -> gs.Value:
    x, i = given(b)
    return x / b.take(summed(b, x, i), b.input("j", (300,), "int64"))


def onto_an_input(b: gs.Builder) -> gs.Value:
    x, i = given(b)
    return x / b.take(summed(b, x, i, b.input("base", (9,), "float32")), i)


def two(b: gs.Builder) -> Any:
    """Of the same segments."""
    x, i = given(b)
    return softmax(b, x, i, 9), softmax(b, x * 2, i, 9)


def range_of(b: gs.Builder) -> gs.Value:
    x, i = given(b)
    return total(b, i, x, 9, "max") - total(b, i, x * 2, 9, "add")


def weighted(b: gs.Builder) -> gs.Value:
    """A softmax that another scatter reads, once for each column."""
    x, i = given(b)
    rows = b.input("rows", (300, 4), "float32") * b.reshape(softmax(b, x, i, 9), (300, 1))
    return b.put(b.zeros((9, 4)), i, rows, reduction="add", sorted=True)


def mean(b: gs.Builder, x: gs.Value, i: gs.Value, **o: Any) -> gs.Value:
    """What each point's segment has on the mean: of two totals."""
    return summed(b, x, i) / b.maximum(summed(b, b.full(x.shape, 1.0, "float32"), i), 1.0)


def without_mean(b: gs.Builder) -> gs.Value:
    x, i = given(b)
    return x - b.take(mean(b, x, i), i)


def with_means(b: gs.Builder) -> Any:
    x, i = given(b)
    means = mean(b, x, i)
    return x - b.take(means, i), means


def scaled(b: gs.Builder) -> gs.Value:
    """By numbers of the segments' own, which no point has."""
    x, i = given(b)
    return x / b.take(summed(b, x, i) * b.input("scale", (9,), "float32"), i)


def clipped(b: gs.Builder) -> gs.Value:
    """Of no segments at all each point would have 0, and 1 by the sum."""
    x, i = given(b)
    return x / b.take(summed(b, x, i, bounds="clip") + 1.0, i, bounds="clip")


def of_other_segments(b: gs.Builder) -> gs.Value:
    x, i = given(b)
    return x / b.take(summed(b, x, i) + summed(b, x, b.input("j", (300,), "int64")), i)


@pytest.mark.parametrize(
    ("declare", "groups", "others"),
    [
        (lambda b: softmax(b, *given(b), 9), 1, 0),
        (without_mean, 1, 0),
        (with_means, 0, 4),
        (scaled, 0, 2),
        (clipped, 0, 2),
        (of_other_segments, 0, 3),
        (lambda b: normalised(b, *given(b), 9), 1, 0),
        (lambda b: b.relu(share(b, *given(b), 9)) * 2, 1, 0),
        (range_of, 1, 0),
        (two, 2, 0),
        (weighted, 1, 1),
        (with_powers, 1, 2),
        (with_totals, 0, 2),
        (by_another_index, 0, 2),
        (onto_an_input, 0, 2),
        (lambda b: softmax(b, *given(b), 9, deterministic=True), 0, 3),
        (lambda b: share(b, *given(b), 9, bounds="fill"), 0, 2),
    ],
)
def test_which_values_are_a_group(declare: Callable[[gs.Builder], Any], groups: int, others: int) -> None:
    found = rules(declare)
    assert (found.count("segments"), len(found)) == (groups, groups + others)


def run_totals(b: gs.Builder) -> Any:
    x, o = runs_given(b)
    sums = b.segment_reduce(x, o)
    return x / b.segment_expand(sums, o, 300), sums


def by_other_offsets(b: gs.Builder) -> gs.Value:
    x, o = runs_given(b)
    return x / b.segment_expand(b.segment_reduce(x, o), b.input("p", (10,), "int64"), 300)


def truths(b: gs.Builder) -> gs.Value:
    x, o = runs_given(b)
    return b.where(b.segment_expand(b.segment_reduce(x, o, "any"), o, 300), x, 1.0)


def numbered(b: gs.Builder) -> gs.Value:
    """Nothing says that an index belongs to the offsets."""
    x, o = runs_given(b)
    return x / b.take(b.segment_reduce(x, o), b.input("i", (300,), "int64"))


@pytest.mark.parametrize(
    ("declare", "groups", "checks"),
    [
        (lambda b: run_softmax(b, *runs_given(b)), 1, 1),
        (lambda b: run_softmax(b, *runs_given(b), empty=5), 1, 1),
        (lambda b: b.relu(run_softmax(b, *runs_given(b))) * 2, 1, 1),
        (run_totals, 0, 2),
        (by_other_offsets, 0, 2),
        (truths, 0, 2),
        (numbered, 0, 2),
    ],
)
def test_which_runs_are_a_group(declare: Callable[[gs.Builder], Any], groups: int, checks: int) -> None:
    b = gs.Builder("rules")
    found = declare(b)
    b.output(*found) if isinstance(found, tuple) else b.output(found)
    stats = b.build(CUDA).stats
    assert [rule for _, rule in stats.kernels].count("segments") == groups
    assert stats.checks == checks
    if groups:
        assert (stats.launches, stats.workspace_bytes) == (1, 0)
    assert "segments" not in rules(declare, deterministic=True)


def test_a_long_chain_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its values could be the last one."""
    made, init = [], Segments.__init__

    def counted(self: Segments, values: tuple[gs.Value, ...], last: gs.Value) -> None:
        made.append(len(values))
        init(self, values, last)

    b = gs.Builder("chain")
    x = softmax(b, *given(b), 9)
    for _ in range(3000):
        x = x + 1.0
    b.output(x)
    graph = b.graph()
    readers = readers_of(graph)
    monkeypatch.setattr(Segments, "__init__", counted)
    (group,) = find_segments(graph, readers)
    assert group.last is x
    assert len(made) == 1
    assert made[0] > 3000


def test_a_deterministic_build_has_no_groups() -> None:
    """Sums are those of the points' order."""
    assert "segments" not in rules(softmax_of, deterministic=True)


def test_one_launch_and_no_scratch() -> None:
    b = gs.Builder("one")
    b.output(softmax(b, *given(b), 9))
    stats = b.build(CUDA).stats
    assert (stats.launches, stats.workspace_bytes, stats.checks) == (1, 0, 1)
