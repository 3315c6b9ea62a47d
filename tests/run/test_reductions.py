"""Reductions that the oracle's loops do not settle bit for bit, and those of bits where points are many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from tests import oracle
from tests.cases import FLOATS, numpy_dtype
from tests.oracle import Array
from tests.paths import reference

PATHS = ("llvm", "cuda", "cuda backward", "cuda ordered", "reference")
INDEX = np.array([4, 0, 4, -1, 2, 0, 4, 9, 4])  # duplicates, one from the end, one out of range


def results(b: gs.Builder, path: str, *arrays: Array) -> Any:
    if path == "reference":
        return reference(b.graph())(*arrays)
    if path == "llvm":
        return b.build()(*arrays)
    return emulate(b, deterministic=path == "cuda ordered", backward=path == "cuda backward")(*arrays)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_logaddexp(dtype: str, path: str) -> None:
    """NumPy's, of infinities and NaN too; 16-bit floats round once."""
    rng = np.random.default_rng(0)
    data, src = (rng.standard_normal((n, 3)).astype(numpy_dtype(dtype)) * 3 for n in (7, 9))
    src[0], src[2], data[2, 0], src[4, 0] = -np.inf, np.inf, np.inf, np.inf
    data[1], src[3, 1], src[1, 2] = -np.inf, np.nan, -np.inf
    b = gs.Builder("net")
    x, i, v = b.input("x", data.shape, dtype), b.input("i", INDEX.shape, "int64"), b.input("v", src.shape, dtype)
    put = lambda **options: b.put(x, i, v, reduction="logaddexp", bounds="fill", **options)  # noqa: E731
    b.output(put(), put(include_self=False), b.put(x, b.iota((7,)), b.exp(x), reduction="logaddexp", unique=True))
    both, without, apart = results(b, path, data, INDEX, src)
    rtol = {2: 2**-7 if dtype == "bfloat16" else 2**-10, 4: 1e-6, 8: 1e-14}[data.itemsize]
    m = oracle.take_map(data.shape, INDEX.shape, 0)
    for got, include_self in ((both, True), (without, False)):
        want = oracle.scatter_ref(data, INDEX, src, m, "logaddexp", include_self, "fill")
        np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=rtol)
        assert got.dtype == data.dtype
    wide = data.astype("f8")
    np.testing.assert_allclose(apart.astype("f8"), np.logaddexp(wide, np.exp(wide)), rtol=2 * rtol)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "float32"])
@pytest.mark.parametrize("shape", [(500,), (300, 40)], ids=str)
def test_many_points(shape: tuple[int, ...], dtype: str) -> None:
    """Some 100,000 of them in few cells, which llvm combines in groups where it may."""
    rng = np.random.default_rng(0)
    index = rng.integers(0, shape[0], 100_000 // int(np.prod(shape[1:], initial=1)))
    src = rng.integers(0, 2, (len(index), *shape[1:])).astype(dtype)
    if dtype not in ("bool", "float32"):
        src = rng.integers(0, 127, src.shape).astype(dtype) | np.array(64, dtype)
    data = src[: shape[0]].copy() if len(src) >= shape[0] else np.ones(shape, dtype)
    functions = {"logaddexp": np.logaddexp} if dtype == "float32" else _BITS
    b = gs.Builder("net")
    x, i, v = (b.input(n, a.shape, a.dtype) for n, a in zip("xiv", (data, index, src), strict=True))
    b.output(*(b.put(x, i, v, reduction=name) for name in functions))
    found = b.build()(data, index, src)
    for got, function in zip(found if isinstance(found, tuple) else [found], functions.values(), strict=True):
        want = data.copy()
        function.at(want, index, src)
        np.testing.assert_allclose(got, want, rtol=1e-4 if dtype == "float32" else 0)


_BITS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@pytest.mark.parametrize(("name", "dtype"), [("and", "float32"), ("xor", "bfloat16"), ("logaddexp", "int32")])
def test_what_they_are_not_defined_for(name: str, dtype: str) -> None:
    b = gs.Builder("net")
    x, i = b.input("x", (4,), dtype), b.input("i", (3,), "int64")
    with pytest.raises(gs.DTypeError, match=f"put: reduction '{name}' is not defined for {dtype}"):
        b.put(x, i, 1, reduction=name)
