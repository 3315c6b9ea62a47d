"""Softmax over segments: one kernel for sorted points and for runs; else three read the points; in the order of any seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.ir.dims import evaluate
from tests.cuda import cpu_compiler, on_cpu
from tests.cuda.counters import counted
from tests.oracle import Array

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

N, K = 70, 1500


def sorted_points(b: gs.Builder, x: gs.Value, i: gs.Value, _: gs.Value) -> gs.Value:
    row = x.shape[1:]
    most = b.put(b.full((N, *row), float("-inf"), "float32"), i, x, reduction="max", sorted=True)
    power = b.exp(x - b.take(most, i))
    return power / b.take(b.put(b.zeros((N, *row)), i, power, reduction="add", sorted=True), i)


def offsets(b: gs.Builder, x: gs.Value, i: gs.Value, ends: gs.Value) -> gs.Value:
    power = b.exp(x - b.take(b.segment_reduce(x, ends, "max"), i))
    return power / b.take(b.segment_reduce(power, ends, "sum"), i)


def runs(b: gs.Builder, x: gs.Value, _: gs.Value, ends: gs.Value) -> gs.Value:
    power = b.exp(x - b.segment_expand(b.segment_reduce(x, ends, "max"), ends, x.shape[0]))
    return power / b.segment_expand(b.segment_reduce(power, ends, "sum"), ends, x.shape[0])


def safe(b: gs.Builder, x: gs.Value, i: gs.Value, _: gs.Value) -> gs.Value:
    """As PyG and JAX users write it: a number is added to the sum, and a maximum that is not finite is none."""
    most = b.put(b.full((N, *x.shape[1:]), float("-inf"), "float32"), i, x, reduction="max", sorted=True)
    power = b.exp(x - b.take(b.where(b.isfinite(most), most, 0.0), i))
    return power / b.take(b.put(b.zeros(most.shape), i, power, reduction="add", sorted=True) + 1e-16, i)


def safe_runs(b: gs.Builder, x: gs.Value, _: gs.Value, ends: gs.Value) -> gs.Value:
    most = b.segment_reduce(x, ends, "max")
    power = b.exp(x - b.segment_expand(b.where(b.isfinite(most), most, 0.0), ends, x.shape[0]))
    return power / b.segment_expand(b.segment_reduce(power, ends, "sum") + 1e-16, ends, x.shape[0])


def of_a_batch(b: gs.Builder, x: gs.Value, i: gs.Value, _: gs.Value) -> gs.Value:
    """Segments of each row of a matrix: the first axis is shared."""
    rows, rules = x.shape[0], {"sorted": True}
    most = b.scatter(b.full((rows, N), float("-inf"), "float32"), i, x, 1, reduction="max", **rules)
    power = b.exp(x - b.gather(most, i, 1))
    return power / b.gather(b.scatter(b.zeros((rows, N)), i, power, 1, reduction="add", **rules), i, 1)


def expected(x: Array, i: Array) -> Array:
    most, total = np.full((N, *x.shape[1:]), -np.inf), np.zeros((N, *x.shape[1:]))
    np.maximum.at(most, i, x)
    power = np.exp(x - most[i])
    np.add.at(total, i, power)
    return power / total[i]


CASES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "elements": (sorted_points, (K,)),
    "short rows": (sorted_points, (K, 3)),
    "rows": (sorted_points, (K, 32)),
    "offsets": (offsets, (K,)),
    "runs": (runs, (K,)),
    "rows of runs": (runs, (K, 20)),
    "a number added": (safe, (K,)),
    "a number added, rows": (safe, (K, 5)),
    "a number added, runs": (safe_runs, (K, 3)),
    "a batch": (of_a_batch, (3, K // 3)),
}

# with offsets one tests them and one the index, of which the compiler does not know that it belongs to them
LAUNCHES = dict.fromkeys(CASES, 1) | {"offsets": 5}
# of each of two folds three blocks would share long runs: they take tickets, and one says that it has looked; of rows two blocks
# would share long segments: each takes a ticket and waits, and the first takes another, as nothing is long
ATOMICS = dict.fromkeys(CASES, 0) | {"offsets": 2 * (3 + 1)}
ATOMICS |= dict.fromkeys(("short rows", "rows of runs", "a number added, rows", "a number added, runs"), 2 * 2 + 1)
ATOMICS |= {"rows": 4 * 2 * 2 + 1, "rows of runs": 3 * 2 * 2 + 1}


def test_softmax_over_segments(tmp_path: Path) -> None:
    builders, calls = [], []
    for k, (name, (declare, shape)) in enumerate(CASES.items()):
        rng, b = np.random.default_rng(k), gs.Builder(f"g{k}")
        index = np.sort(rng.integers(0, N, shape if name == "a batch" else K), -1)
        ends = np.searchsorted(index.reshape(-1), np.arange(N + 1))
        x = rng.standard_normal(shape).astype("float32") * 9
        tensors = [b.input(n, a.shape, a.dtype) for n, a in (("x", x), ("i", index), ("ends", ends))]
        b.output(declare(b, *tensors))
        builders.append(b)
        batch = name == "a batch"
        want = np.stack([expected(a, j) for a, j in zip(x, index, strict=True)]) if batch else expected(x, index)
        calls.append((name, (x, index, ends), want))
    for (module, _), (name, given, want) in zip(on_cpu(builders, tmp_path), calls, strict=True):
        for module.seed in (1, 2, 3):
            with counted() as launches:
                got = module(*given)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6, err_msg=name)
        assert len(launches) == LAUNCHES[name], name
        assert sum(launch.total("lanes", access="atomic") for launch in launches) == ATOMICS[name], name


def test_nothing_of_the_size_of_the_points_is_kept() -> None:
    """On a CPU the powers are, which take longer than memory does."""
    b = gs.Builder("softmax")
    x, i = b.input("x", ("k",), "float32"), b.input("i", ("k",), "int64")
    b.output(sorted_points(b, x, i, i))
    kernels, scratch = zip(
        *((s.kernels, s.workspace_bytes) for s in (b.build(t).stats for t in ("cuda", "llvm"))), strict=True
    )
    assert [rule for _, rule in kernels[0]] == ["segments"]
    assert len(kernels[1]) == 4
    many, more = (evaluate(scratch[0], {"k": k}) for k in (5_000_000, 50_000_000))
    assert many == more < 32_768 < evaluate(scratch[1], {"k": 1_000_000})


@pytest.mark.parametrize(("readers", "tensors", "stored"), [(2, 3, 0), (2, 4, 1), (3, 2, 0), (3, 3, 1)])
def test_who_reads_less_computes_again(readers: int, tensors: int, stored: int) -> None:
    b = gs.Builder("again")
    given = [b.input(f"x{k}", ("n", 64), "float32") for k in range(tensors)]
    value = b.exp(sum(given[1:], given[0]) if tensors > 1 else given[0])
    for k in range(readers):
        b.output(b.sum(value * (k + 1), 1))
    assert len(b.build({"kind": "cuda", "arch": "sm_80"}).stats.kernels) == readers + stored


@pytest.mark.parametrize(("width", "stored"), [((), 1), ((8,), 0)])
def test_single_elements_of_a_table_are_not_picked_again(width: tuple[int, ...], stored: int) -> None:
    """Each of them is 32 bytes; rows are read whole."""
    b = gs.Builder("again")
    x, i = b.input("x", ("n", *width), "float32"), b.input("i", ("k", 64), "int64")
    value = b.exp(b.take(x, i))
    for k in range(2):
        b.output(b.sum(value * (k + 1), 1))
    assert len(b.build({"kind": "cuda", "arch": "sm_80"}).stats.kernels) == 2 + stored
