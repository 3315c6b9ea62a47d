"""Rows of floats of 16 bits that are added where they are on cuda: sums that round at every step."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from gscompile.ir.ops.reductions import variant
from tests.cuda import cpu_compiler, on_cpu
from tests.cuda.counters import counted
from tests.oracle import Array

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

DTYPES = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
# width of a row -> bytes of an atomic on sm_90
ACCESSES = {64: 16, 12: 8, 6: 4, 3: 2}


def graph(dtype: str, width: int, name: str = "rows") -> gs.Builder:
    b = gs.Builder(name)
    x, i = b.input("x", ("n", width), dtype), b.input("i", ("k",), "int64")
    b.output(b.put(x, i, b.input("v", ("k", width), dtype), reduction=variant("add", stepwise=True)))
    return b


def drawn(dtype: str, width: int, n: int = 900, k: int = 2000) -> tuple[tuple[Array, Array, Array], Array]:
    """Numbers whose sums are exact, so that their order does not matter."""
    rng = np.random.default_rng(width)
    x, v = (rng.integers(-3, 4, (rows, width)).astype(DTYPES[dtype]) for rows in (n, k))
    i = np.where(rng.random(k) < 0.3, np.roll(np.arange(k) % n, 1), rng.integers(-n, n, k))
    want = x.astype("float32")
    np.add.at(want, i, v.astype("float32"))
    return (x, i, v), want


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_added_where_they_are(dtype: str, arch: str, tmp_path: Path) -> None:
    made = on_cpu([graph(dtype, width, f"rows{width}") for width in ACCESSES], tmp_path, arch=arch)
    for (m, _), (width, access) in zip(made, ACCESSES.items(), strict=True):
        given, want = drawn(dtype, width)
        for m.seed in (0, 1):
            with counted() as found:
                got = m(*given)
            assert np.array_equal(got.astype("float32"), want)
            atomics = {s.size for a in found for s in a.sites if s.access == "atomic"}
            assert atomics == {access if arch == "sm_90" else min(access, 4)}
            assert len(found) == 2  # base is copied, and the points are added


@pytest.mark.parametrize("dtype", DTYPES)
def test_without_a_gpu(dtype: str) -> None:
    given, want = drawn(dtype, 6)
    assert np.array_equal(emulate(graph(dtype, 6))(*given).astype("float32"), want)


def test_a_step_is_rounded(tmp_path: Path) -> None:
    """2,048 + 1 + 1 is 2,048 in float16."""
    ((m, _),) = on_cpu([graph("float16", 2)], tmp_path)
    x, i = np.full((700, 2), 2048, "float16"), np.array([3, 5, 3, 699, 3])
    assert np.array_equal(m(x, i, np.ones((5, 2), "float16")), x)
