"""Deep and large graphs: no recursion over depth, no work out of proportion, nests that are alike compiled once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler.lower import lower
from gscompile.compiler.plan import DEEP
from gscompile.compiler.targets import resolve
from gscompile.emulation import emulate

Step = Callable[[gs.Builder, gs.Value], gs.Value]

# each is its own inverse, or idempotent, or counts, so that 2 n of them have a known result
STEPS: dict[str, tuple[Step, str, Callable[[Any, int], Any]]] = {
    "neg": (lambda b, y: -y, "float32", lambda x, n: x),
    "transpose": (lambda b, y: b.transpose(y), "float32", lambda x, n: x),
    "flip": (lambda b, y: b.flip(y, 0), "float32", lambda x, n: x),
    "reshape": (lambda b, y: b.reshape(y, (6, 8) if y.shape == (8, 6) else (8, 6)), "float32", lambda x, n: x),
    "abs": (lambda b, y: b.abs(y), "float32", lambda x, n: abs(x)),
    "relu": (lambda b, y: b.relu(y), "float32", lambda x, n: np.maximum(x, 0)),
    "count": (lambda b, y: y + 1, "int64", lambda x, n: x + n),
    "not": (lambda b, y: b.logical_not(y), "bool", lambda x, n: x),
    "double": (lambda b, y: y + y, "uint8", lambda x, n: x * 0),
    "half": (lambda b, y: b.neg(y), "float16", lambda x, n: x),
    "least": (lambda b, y: b.minimum(y, y), "float32", lambda x, n: x),
    "sum": (lambda b, y: y - b.sum(y, 0, keepdims=True) * 0, "float32", lambda x, n: x),
}


def chain(name: str, length: int) -> gs.Builder:
    step, dtype, _ = STEPS[name]
    b = gs.Builder(name)
    y = b.input("x", (8, 6), dtype)
    for _ in range(length):
        y = step(b, y)
    b.output(y)
    return b


def given(dtype: str) -> Any:
    return (np.random.default_rng(0).standard_normal((8, 6)) * 9).astype(dtype)


@pytest.mark.parametrize("name", STEPS)
def test_a_chain_of_a_thousand_operators(name: str) -> None:
    _, dtype, expected = STEPS[name]
    x = given(dtype)
    assert np.array_equal(chain(name, 1000).build()(x), expected(x, 1000))


@pytest.mark.parametrize("name", ["neg", "flip", "least"])
def test_a_chain_of_twenty_thousand_operators(name: str, thorough: bool) -> None:
    """Where each value is used twice, of five thousand; of as many as the others with ``--thorough``."""
    _, dtype, expected = STEPS[name]
    x, length = given(dtype), 20_000 if thorough or name != "least" else 5_000
    assert np.array_equal(chain(name, length).build()(x), expected(x, length))


@pytest.mark.parametrize("name", ["flip", "abs", "sum"])
def test_cuda_kernels_of_a_chain(name: str) -> None:
    _, dtype, expected = STEPS[name]
    x = given(dtype)
    assert np.array_equal(emulate(chain(name, 20 * DEEP))(x), expected(x, 20 * DEEP))


def test_few_nests_are_one_function() -> None:
    assert not lower(chain("sum", 4).graph(), resolve("llvm")).parts


@pytest.mark.parametrize("name", ["flip", "sum", "relu"])
def test_nests_that_are_alike_are_compiled_once(name: str) -> None:
    short, long = (lower(chain(name, n).graph(), resolve("llvm")) for n in (32 * DEEP, 64 * DEEP))
    assert len(short.summary.stats.kernels) >= 32
    assert len(long.summary.stats.kernels) > 1.9 * len(short.summary.stats.kernels)
    assert len(long.parts) <= len(short.parts) + 1 <= 16  # however long the chain is


def test_scatters_one_on_another() -> None:
    b = gs.Builder("puts")
    x, i, s = b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64"), b.input("s", ("k", 3), "float32")
    y = x
    for _ in range(300):
        y = b.put(y, i, s, reduction="add")
    b.output(y)
    m = b.build()
    at, added = np.array([3, 0, 3, -1]), np.arange(12, dtype="float32").reshape(4, 3)
    want = np.zeros((5, 3), "float32")
    np.add.at(want, at, added)
    assert np.array_equal(m(np.zeros((5, 3), "float32"), at, added), want * 300)
    with pytest.raises(gs.BoundsError, match=r"i\[1\] = 5 is out of range"):
        m(np.zeros((5, 3), "float32"), np.array([3, 5, 3, -1]), added)


def test_a_gather_of_a_gather_a_thousand_times() -> None:
    b = gs.Builder("gathers")
    x, i = b.input("x", ("n", 3), "float32"), b.input("i", ("n",), "int64")
    y = x
    for _ in range(1000):
        y = b.take(y, i)
    b.output(y)
    a, turned = given("float32")[:, :3], np.roll(np.arange(8), 1)
    assert np.array_equal(b.build()(a, turned), np.roll(a, 1000 % 8, 0))


def test_where_an_index_comes_from_is_followed_a_bounded_way() -> None:
    b = gs.Builder("far")
    x, i = b.input("x", (9,), "float32"), b.input("i", (4,), "int64")
    j = i
    for _ in range(300):
        j = j + 0
    k = i
    for _ in range(100):
        k = b.minimum(k, k)
    b.output(b.take(x, j), b.take(x, k))
    m = b.build()
    with pytest.raises(gs.BoundsError, match=r"\[2\] = 9 is out of range"):
        m(np.zeros(9, "float32"), np.array([0, 1, 9, 2]))


@pytest.mark.parametrize("count", [33, 300])
def test_a_concatenation_of_many(count: int) -> None:
    b = gs.Builder("wide")
    parts = [b.input(f"x{k}", (f"n{k}", 3), "float32") for k in range(count)]
    b.output(b.concat(parts))
    arrays = [np.full((k % 4, 3), k, "float32") for k in range(count)]
    assert np.array_equal(b.build()(*arrays), np.concatenate(arrays))


def test_wide_in_and_out() -> None:
    b = gs.Builder("wide")
    xs = [b.input(f"x{k}", (5,), "float32") for k in range(200)]
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    b.output(total, *(x * total for x in xs))
    arrays = [np.full(5, k, "float32") for k in range(200)]
    got = b.build()(*arrays)
    assert all(
        np.array_equal(g, w) for g, w in zip(got, [sum(arrays), *(a * sum(arrays) for a in arrays)], strict=True)
    )


@pytest.mark.parametrize(("name", "at_least"), [("abs", 32), ("relu", 6)])
def test_chains_of_functions_are_fused(name: str, at_least: int) -> None:
    kernels = lower(chain(name, 60).graph(), resolve("llvm")).summary.stats.kernels
    assert len(kernels) <= 60 // at_least + 1


def test_relu_keeps_nan_and_has_no_negative_zero() -> None:
    b = gs.Builder("relu")
    b.output(b.relu(b.input("x", (5,), "float32")))
    got = b.build()(np.array([np.nan, -0.0, -np.inf, np.inf, 2], "float32"))
    assert np.isnan(got[0]) and got[1:].tolist() == [0, 0, np.inf, 2] and not np.signbit(got[1])


@pytest.mark.parametrize("size", ["fixed", "symbolic"])
def test_gathers_of_gathers(size: str) -> None:
    """Three of them are composed, not more: the analysis of addresses in addresses grows with a power of their number."""
    r = np.random.default_rng(0)
    x = r.standard_normal((40, 3)).astype("float32")
    expected = x
    b = gs.Builder()
    y = b.input("x", ("N" if size == "symbolic" else 40, 3), "float32")
    indices = []
    for k in range(40):
        n = int(r.integers(30, 60))
        index = b.input(f"i{k}", (f"n{k}" if size == "symbolic" else n,), "int64")
        y = b.take(y, index, dim=0)
        indices.append(r.integers(-len(expected), len(expected), n))
        expected = expected[indices[-1]]
    b.output(y)
    for m in (b.build(), emulate(b)):
        assert len(m.stats.kernels) >= 13
        assert np.array_equal(m(x, *indices), expected)
