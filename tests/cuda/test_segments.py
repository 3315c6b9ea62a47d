"""Groups of folds over segments: which values are one, and the kernel that computes it, in other orders of threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler.segments import Segments, find_segments
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


def softmax_of(b: gs.Builder, n: Any = 50, k: Any = "k") -> gs.Value:
    return softmax(b, b.input("x", (k,), "float32"), b.input("i", (k,), "int64"), n)


@on_cpu_only
def test_few_long_segments_are_taken_apart(tmp_path: Path) -> None:
    """One block would take each; there are kernels that share them."""
    b = gs.Builder("few")
    b.output(softmax_of(b, 1))
    ((m, _),) = on_cpu([b], tmp_path)
    for k, launched in ((16384, 1), (16385, 5)):
        x = np.random.default_rng(k).random(k, np.float32)
        with counted() as launches:
            got = m(x, np.zeros(k, "int64"))
        assert len(launches) == launched
        np.testing.assert_allclose(got, expected(softmax, x, np.zeros(k, "int64"), 1), rtol=1e-4)
    assert rules(lambda b: softmax_of(b, 2, 100_000)) == ["sorted-elements", "sorted-elements", "cells", "segments"]


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


@pytest.mark.parametrize(
    ("declare", "groups", "others"),
    [
        (lambda b: softmax(b, *given(b), 9), 1, 0),
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
    readers: dict[int, list[tuple[gs.Value, int]]] = {id(v): [] for v in graph.values}
    for v in graph.values:
        for k, a in enumerate(v.args):
            readers[id(a)].append((v, k))
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
