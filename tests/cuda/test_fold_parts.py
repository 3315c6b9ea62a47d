"""Folds of floats by parts: with ``deterministic=True`` every target takes elements in the same order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from tests.cuda import cpu_compiler, on_cpu
from tests.oracle import Array

needs_compiler = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))
RNG = np.random.default_rng(11)


def floats(dtype: str, *shape: int) -> Array:
    """Of different sizes, so that another order gives another sum."""
    return (RNG.standard_normal(shape) * 10.0 ** RNG.integers(-2, 3, shape)).astype(dtype)


def sum_by_parts(x: Array, least: int = 32) -> Array:
    """Of the first axis, by loops."""
    while len(x) > 64:
        parts = min(max(least, -(-len(x) // 64)), 65_536)
        total = np.zeros((parts, *x.shape[1:]), x.dtype)
        for k in range(0, len(x), parts):
            total[: len(x) - k] += x[k : k + parts]
        x = total
    result = np.zeros(x.shape[1:], x.dtype)
    for row in x:
        result = result + row
    return result


COUNTS = [0, 1, 64, 65, 300, 2048, 2049, 100_003, 300_000, 4_300_001]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("known", [True, False])
def test_the_order(count: int, known: bool) -> None:
    x = floats("float32", count)
    b = gs.Builder("parts")
    b.output(b.sum(b.input("x", (count if known else "n",), "float32"), 0))
    np.testing.assert_array_equal(b.build(deterministic=True)(x), sum_by_parts(x))


@pytest.mark.parametrize("count", [0, 5, 65, 300, 9000, 270_000])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_the_order_of_columns(count: int, columns: int) -> None:
    x = floats("float64", count, columns)
    b = gs.Builder("parts")
    b.output(b.sum(b.input("x", ("n", columns), "float64"), 0))
    np.testing.assert_array_equal(b.build(deterministic=True)(x), sum_by_parts(x, 1))


def fold(name: str, axis: Any, *shape: Any, dtype: str = "float32", **options: Any) -> Callable[[gs.Builder], gs.Value]:
    def declare(b: gs.Builder) -> gs.Value:
        value: gs.Value = getattr(b, name)(b.input("x", shape, dtype), axis, **options)
        return value

    return declare


def bags(b: gs.Builder) -> gs.Value:
    return b.sum(b.take(b.input("x", ("n", 64), "float32"), b.input("i", ("k", 99), "int64")), 1)


def picked(b: gs.Builder) -> gs.Value:
    return b.mean(b.gather(b.input("x", ("n", 50), "float32"), b.input("i", ("n", 170), "int64"), 1, bounds="fill"), 1)


def runs(*row: int) -> Callable[[gs.Builder], gs.Value]:
    def declare(b: gs.Builder) -> gs.Value:
        return b.segment_reduce(b.input("x", ("n", *row), "float32"), b.input("o", ("k",), "int64"))

    return declare


def offsets(count: int, cuts: int) -> Array:
    return np.sort(np.r_[0, RNG.integers(0, count, cuts), count])


CASES: dict[str, tuple[Callable[[gs.Builder], gs.Value], Callable[[], list[Array]]]] = {
    "a tensor": (fold("sum", None, "n", 64), lambda: [floats("float32", 700, 64)]),
    "a tensor of known sizes": (fold("sum", None, 70, 64), lambda: [floats("float32", 70, 64)]),
    "rows": (fold("sum", 1, "n", "m"), lambda: [floats("float32", 70, 901)]),
    "short rows": (fold("sum", 1, "n", "m"), lambda: [floats("float32", 70, 64)]),
    "long rows": (fold("mean", 1, "n", 20_003), lambda: [floats("float32", 3, 20_003)]),
    "columns": (fold("sum", 0, "n", 17), lambda: [floats("float32", 5000, 17)]),
    "products": (fold("prod", 0, 50, 17), lambda: [(1 + floats("float64", 50, 17) / 1e3).astype("float32")]),
    "two axes": (
        fold("sum", (0, 1), "n", 77, 5, dtype="float16", keepdims=True),
        lambda: [floats("float16", 20, 77, 5)],
    ),
    "an axis between others": (fold("sum", 1, 6, "n", 5, dtype="float64"), lambda: [floats("float64", 6, 300, 5)]),
    "bags": (bags, lambda: [floats("float32", 90, 64), RNG.integers(-90, 90, (40, 99))]),
    "picked": (picked, lambda: [floats("float32", 90, 50), RNG.integers(-60, 60, (90, 170))]),
    "runs of rows": (runs(8), lambda: [floats("float32", 4000, 8), offsets(4000, 50)]),
    "runs": (runs(), lambda: [floats("float32", 4000), offsets(4000, 5)]),
    "of none": (fold("sum", 0, "n", 4), lambda: [floats("float32", 0, 4)]),
}


def builder(name: str, label: str) -> gs.Builder:
    b = gs.Builder(label)
    b.output(CASES[name][0](b))
    return b


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_every_target_gives_the_same(name: str, tmp_path: Path) -> None:
    llvm, serial = builder(name, "llvm").build(deterministic=True), emulate(builder(name, "serial"), deterministic=True)
    ((warps, _),) = on_cpu([builder(name, "warps")], tmp_path, deterministic=True)
    given = CASES[name][1]()
    want = llvm(*given)
    np.testing.assert_array_equal(serial(*given), want)
    for warps.seed in range(2):
        np.testing.assert_array_equal(warps(*given), want)


def test_threads_do_not_matter() -> None:
    m, x = builder("columns", "threads").build(deterministic=True), floats("float32", 300_000, 17)
    want = sum_by_parts(x, 1)
    before = gs.get_num_threads()
    try:
        for threads in (1, 2, 7):
            gs.set_num_threads(threads)
            np.testing.assert_array_equal(m(x), want)
    finally:
        gs.set_num_threads(before)


@needs_compiler
@pytest.mark.parametrize("position", [(3, 0), (3, 63), (3, 98)])  # of whole rounds of parts, and of the rest
@pytest.mark.parametrize("value", [90, -91, np.iinfo("int64").min, np.iinfo("int64").max])
def test_the_first_bad_index_is_named(position: tuple[int, int], value: int, bag_sums: Any) -> None:
    x, i = CASES["bags"][1]()
    i[position], i[20, 7] = value, 90
    for m in bag_sums:
        with pytest.raises(gs.BoundsError) as e:
            m(x, i)
        assert (e.value.tensor, e.value.position, e.value.value) == ("i", position, value)


@pytest.fixture(scope="module")
def bag_sums(tmp_path_factory: pytest.TempPathFactory) -> Any:
    ((m, _),) = on_cpu([builder("bags", "warps")], tmp_path_factory.mktemp("bags"), deterministic=True)
    return [
        m,
        builder("bags", "llvm").build(deterministic=True),
        emulate(builder("bags", "serial"), deterministic=True),
    ]
