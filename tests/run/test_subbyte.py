"""Integers narrower than a byte, one element a byte in NumPy: movement, casts, sums with wider accumulators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from gscompile.ir.types import DTYPES
from tests import oracle
from tests.oracle import Array

pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
NAMES = ("int4", "uint4", "int2", "uint2", "int1", "uint1")
INDEX = np.array([4, 0, 4, -1, 2, 0, 4, 9, 4])  # duplicates, one from the end, one out of range


def codes(name: str, shape: tuple[int, ...]) -> Array:
    d = DTYPES[name]
    numbers = d.min + np.arange(np.prod(shape)) * 5 % (d.max - d.min + 1)
    return numbers.astype(d.numpy).reshape(shape)


def bits(x: Any) -> Array:
    return np.asarray(x).view("u1")


@pytest.mark.parametrize("name", NAMES)
def test_casts(name: str) -> None:
    """Wider integers wrap, floats saturate, as for every integer type."""
    d = DTYPES[name]
    wide = np.arange(-300, 300)
    floats = np.array([np.nan, np.inf, -np.inf, 0.7, -0.7, 1.9, 6.5, -7.9, 1e9, -1e9, 300.0], "f4")
    every = np.arange(d.min, d.max + 1).astype(d.numpy)
    b = gs.Builder("net")
    i, f, x = b.input("i", ("n",), "int64"), b.input("f", ("m",), "float32"), b.input("x", ("k",), name)
    b.output(b.cast(i, name), b.cast(f, name), b.cast(x, "float64"), b.cast(x, "int16"), b.cast(x, "bool"))
    wrapped, saturated, as_float, as_int, truth = b.build()(wide, floats, every)
    np.testing.assert_array_equal(bits(wrapped), bits(wide.astype(d.numpy)))
    want = np.clip(np.trunc(np.nan_to_num(floats, posinf=1e9, neginf=-1e9)), d.min, d.max)
    np.testing.assert_array_equal(saturated.astype("f4"), want)
    np.testing.assert_array_equal(as_float, every.astype("f8"))
    np.testing.assert_array_equal(as_int, every.astype("i2"))
    np.testing.assert_array_equal(truth, every.astype("i2") != 0)


@pytest.mark.parametrize("target", ["llvm", "cuda"])
@pytest.mark.parametrize("name", NAMES)
def test_movement_and_reductions(name: str, target: str) -> None:
    """Scatters wrap in the dtype; folds widen to 64 bits; a mean is of the true sum."""
    data, src, d = codes(name, (7, 3)), codes(name, (9, 3)), DTYPES[name]
    names = ("update", "add", "mul", "min", "max", "mean")
    b = gs.Builder("net")
    x, i, v = b.input("x", data.shape, name), b.input("i", INDEX.shape, "int64"), b.input("v", src.shape, name)
    puts = [b.put(x, i, v, reduction=r, bounds="fill") for r in names]
    b.output(*puts, b.take(x, i, bounds="clip"), b.sum(x), b.max(x, 0), x + x, b.sum(b.take(x, i, bounds="wrap"), 0))
    got = (b.build() if target == "llvm" else emulate(b))(data, INDEX, src)
    wide = data.astype("i8")
    m = oracle.take_map(data.shape, INDEX.shape, 0)
    for reduction, a in zip(names, got, strict=False):
        want = oracle.scatter_ref(wide, INDEX, src.astype("i8"), m, reduction, True, "fill")
        np.testing.assert_array_equal(bits(a), bits(want.astype(d.numpy)), reduction)
    taken, total, largest, twice, summed = got[len(names) :]
    np.testing.assert_array_equal(bits(taken), bits(data[np.clip(np.where(INDEX < 0, INDEX + 7, INDEX), 0, 6)]))
    assert total == wide.sum() and total.dtype == ("u8" if d.kind == "u" else "i8")
    np.testing.assert_array_equal(bits(largest), bits(wide.max(0).astype(d.numpy)))
    np.testing.assert_array_equal(bits(twice), bits((wide + wide).astype(d.numpy)))
    np.testing.assert_array_equal(summed, wide[INDEX % 7].sum(0))


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2"])
def test_jax(name: str) -> None:
    """JAX packs them in memory, and shows one a byte."""
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
    from gscompile.dialects import jax as gj

    x, at = jnp.asarray(codes(name, (5, 3))), jnp.array([4, -1, 0, 9, -6])
    for mode in ("fill", "clip", "wrap"):
        for _ in range(3):  # slow path, fast path
            got = gj.take(x, at, axis=0, mode=mode)
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(bits(got), bits(jnp.take(x, at, axis=0, mode=mode)), mode)
    added = gj.at(x)[jnp.array([1, 1, 4])].add(x[:3])
    np.testing.assert_array_equal(bits(added), bits(x.at[jnp.array([1, 1, 4])].add(x[:3])))
