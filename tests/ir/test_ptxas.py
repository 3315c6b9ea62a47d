"""Registers, spills and shared memory of the golden graphs' kernels, as ptxas counts them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

import gscompile as gs
from gscompile.compiler import cubin, nvcc
from tests import cuda
from tests.ir.ptxas import Resources, compiled, ptxas, resources, version
from tests.ir.test_golden import GRAPHS

ARCHS = ("sm_80", "sm_90")
TABLE = Path(__file__).with_name("ptxas.txt")
pytestmark = pytest.mark.skipif(
    ptxas() is None or nvcc.available() is None,
    reason="needs ptxas and nvcc or NVRTC: a CUDA toolkit, or the extras cuda and ptxas",
)


@lru_cache(maxsize=1)
def sources() -> dict[str, str]:
    """The CUDA source of each graph."""
    sources = {}
    for name, declare in GRAPHS.items():
        b = gs.Builder(name)
        b.output(declare(b))
        sources[name] = b.build({"kind": "cuda", "arch": ARCHS[0]}).source("cuda")
    return sources


@lru_cache(maxsize=1)
def found() -> dict[tuple[str, str], Resources]:
    """(kernel, architecture) -> resources."""
    joined = cuda.joined(sources())
    return {
        (kernel, arch): r
        for arch in ARCHS
        for kernel, r in resources(compiled(joined, arch, "ptx").decode(), arch).items()
    }


def table() -> str:
    lines = [f"ptxas {version()}", f"{'kernel':<28}{'arch':>6}{'registers':>11}{'stack':>7}{'spilled':>9}{'shared':>8}"]
    for (kernel, arch), r in sorted(found().items()):
        lines.append(f"{kernel:<28}{arch:>6}{r.registers:>11}{r.stack:>7}{r.spilled:>9}{r.shared:>8}")
    return "\n".join(lines) + "\n"


def test_nothing_is_spilled() -> None:
    assert len(found()) >= 2 * len(GRAPHS)
    assert {kernel: r for kernel, r in found().items() if r.spilled} == {}


def test_golden_table(request: pytest.FixtureRequest) -> None:
    """With the version of ptxas that the table is of; another may allocate registers otherwise."""
    if request.config.getoption("--update-golden"):
        TABLE.write_text(table())
    was = TABLE.read_text()
    if was.splitlines()[0] != f"ptxas {version()}":
        pytest.skip(f"{TABLE.name} is of {was.splitlines()[0]}, here is {version()}")
    assert table() == was


def test_spills_are_seen() -> None:
    source = r"""
    extern "C" __global__ void __launch_bounds__(1024, 2) many(double* x) {
      double v[80];
      for (int k = 0; k < 80; ++k) v[k] = x[threadIdx.x + k * 1024];
      __syncthreads();
      for (int k = 0; k < 80; ++k) x[threadIdx.x + k * 1024] = v[79 - k] * v[(k * 7) % 80];
    }"""
    unrolled = source.replace("for (", '_Pragma("unroll") for (')
    r = resources(compiled(unrolled, "sm_80", "ptx").decode(), "sm_80")["many"]
    assert r.registers <= 32 and r.spilled > 0


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_machine_code_says_the_same(arch: str) -> None:
    joined = cuda.joined(sources())
    want = resources(compiled(joined, arch, "ptx").decode(), arch)
    got = cubin.resources(compiled(joined, arch, "cubin"), arch)
    assert {k: (r.registers, r.shared_bytes) for k, r in got.items()} == {
        k: (r.registers, r.shared) for k, r in want.items()
    }
    assert {k: r.local_bytes for k, r in got.items()} == {k: r.stack for k, r in want.items()}
    assert any(r.shared_bytes for r in got.values()) and all(0 < r.occupancy <= 1 for r in got.values())
