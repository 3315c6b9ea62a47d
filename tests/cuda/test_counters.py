"""The counts of memory requests, of kernels whose counts can be worked out by hand."""

from __future__ import annotations

import platform
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import gscompile as gs
from tests.cuda import Program, cpu_compiler, on_cpu
from tests.cuda.counters import SECTOR, Chain, Launch, counted

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

SOURCE = r"""
extern "C" __global__ void strided(float* y, float* x, int step) {
  y[blockIdx.x * 64 + threadIdx.x] = x[(blockIdx.x * 64 + threadIdx.x) * step];
}
extern "C" __global__ void wide(float4* y, float4* x) { y[threadIdx.x] = x[threadIdx.x]; }
extern "C" __global__ void filled(float4* y) { y[threadIdx.x] = make_float4(0, 0, 0, 0); }
extern "C" __global__ void streamed(uint4* y, uint4* x) { __stcs(y + threadIdx.x, x[threadIdx.x]); }
extern "C" __global__ void again(float* y, float* x) {
  float v = 0;
  for (int k = 0; k < 5; ++k) v += x[(threadIdx.x + 8 * k) % 64];
  y[threadIdx.x] = v;
}
extern "C" __global__ void banks(float* y, int step) {
  __shared__ float s[1056];
  for (int k = threadIdx.x; k < 1056; k += 32) s[k] = k;
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x * step];
}
extern "C" __global__ void one_cell(int* y) { atomicAdd(y + threadIdx.x / 16, 1); }
extern "C" __global__ void found(float* y, float* x, int* i) { y[threadIdx.x] = x[i[threadIdx.x]]; }
extern "C" __global__ void swapped(int* y) { atomicCAS(y, atomicCAS(y, 0, 1), 2); }
extern "C" __global__ void sparse(float* y, float* x, int n) {
  float v = 0;
  for (int k = 0; k < n; ++k) v += x[32 * threadIdx.x + 8 * k];
  y[threadIdx.x] = v;
}
extern "C" __global__ void folded(int* y, int* x) {
  __shared__ int s[2];
  if (threadIdx.x < 2) s[threadIdx.x] = 0;
  __syncthreads();
  int v = x[threadIdx.x];
  for (int k = 16; k; k /= 2) v += __shfl_down_sync(~0u, v, k);
  if (threadIdx.x % 32 == 0) atomicAdd(s + blockIdx.x % 2 * (threadIdx.x / 64), v);
  __syncthreads();
  if (threadIdx.x < 2) y[blockIdx.x * 2 + threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void turns(int* y, int* x) {
  for (int k = 0; k < 4; ++k) {
    if (threadIdx.x / 32 == k) y[k] = x[threadIdx.x];
    __syncthreads();
  }
}
extern "C" __global__ void apart(int* y, int* x, int odd) {
  int v = x[threadIdx.x];
  if (v & odd) y[threadIdx.x] = (v * 3 ^ 5) * (v - 7) ^ v * v;
  else y[threadIdx.x] = (v * 7 ^ 9) * (v - 3) ^ v * v;
}
extern "C" __global__ void past(uint4* y, uint4* x, int streamed) {
  int i = blockIdx.x * 32 + threadIdx.x;
  uint4 v = x[i % 1024];
  if (streamed) __stcs(y + i, v); else y[i] = v;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(SOURCE, tmp_path_factory.mktemp("counters"))


def count(program: Program, kernel: str, grid: int, block: int, *args: object, **caches: int) -> Launch:
    with counted(**caches) as launches:
        program.launch(kernel, grid, block, *args)
    (launch,) = launches
    return launch


def site(launch: Launch, buffer: str, access: str = "read") -> object:
    (found,) = (s for s in launch.sites if s.buffer == buffer and s.access == access)
    return found


@pytest.mark.parametrize(("step", "sectors"), [(1, 4), (2, 8), (8, 32), (64, 32), (0, 1)])
def test_strides(program: Program, step: int, sectors: int) -> None:
    launch = count(program, "strided", 3, 64, np.zeros(192, "f4"), np.zeros(192 * 64, "f4"), step)
    x, y = site(launch, "x"), site(launch, "y", "write")
    assert (launch.blocks, launch.threads, launch.warps) == (3, 64, 6)
    assert (x.requests, x.lanes, x.sectors) == (6, 192, 6 * sectors)
    assert (y.requests, y.sectors, y.used) == (6, 24, 1.0)
    assert launch.written_back == 24 and launch.dram_bytes == 32 * (24 + x.dram_sectors)


def test_wide_accesses(program: Program) -> None:
    launch = count(program, "wide", 1, 32, np.zeros(128, "f4"), np.zeros(128, "f4"))
    x = site(launch, "x")
    assert (x.size, x.requests, x.sectors, x.wavefronts) == (16, 1, 16, 4)


def test_vectors_are_stored_at_once(program: Program) -> None:
    filled = count(program, "filled", 1, 32, np.ones(128, "f4"))
    streamed = count(program, "streamed", 1, 32, np.zeros(128, "u4"), np.zeros(128, "u4"))
    for launch in (filled, streamed):
        y = site(launch, "y", "write")
        assert (y.size, y.requests, y.sectors, y.used) == (16, 1, 16, 1.0)


def test_caches(program: Program) -> None:
    launch = count(program, "again", 1, 64, np.zeros(64, "f4"), np.zeros(64, "f4"))
    x = site(launch, "x")
    assert (x.requests, x.sectors, x.l2_sectors, x.dram_sectors) == (10, 40, 8, 8)
    assert launch.longest == 6


@pytest.mark.parametrize(("step", "turns"), [(1, 1), (2, 2), (32, 32), (33, 1), (0, 1)])
def test_bank_conflicts(program: Program, step: int, turns: int) -> None:
    launch = count(program, "banks", 1, 32, np.zeros(32, "f4"), step)
    reads = site(launch, "shared memory")
    assert (reads.requests, reads.wavefronts) == (1, turns)


def test_atomics(program: Program) -> None:
    y = np.zeros(4, "i4")
    launch = count(program, "one_cell", 3, 64, y)
    found = site(launch, "y", "atomic")
    assert y.tolist() == [48] * 4 and launch.atomics_of_one == 48
    assert (found.requests, found.lanes, found.sectors) == (6, 192, 6)


@pytest.mark.parametrize(("fetch", "sectors"), [(32, 64), (64, 64), (128, 128)])
def test_sectors_that_come_together(program: Program, fetch: int, sectors: int) -> None:
    """Of each line the first two of four."""
    x = site(count(program, "sparse", 1, 32, np.zeros(32, "f4"), np.zeros(1024, "f4"), 2, fetch=fetch), "x")
    assert (x.requests, x.l2_sectors, x.l2_accesses, x.dram_sectors) == (2, 64, 64, sectors)
    y = count(program, "strided", 1, 64, np.zeros(64, "f4"), np.zeros(64 * 16, "f4"), 16, fetch=fetch)
    assert site(y, "x").dram_sectors == 64 * min(2, fetch // SECTOR) and y.written_back == 8
    assert site(y, "y", "write").l2_accesses == 4 and site(y, "y", "write").dram_sectors == 0


def test_operations_of_warps_and_blocks(program: Program) -> None:
    launch = count(program, "folded", 2, 128, np.zeros(4, "i4"), np.arange(128, dtype="i4"))
    # a read, five shuffles, an atomic and two barriers; the first warp stores zeros, reads and writes as well
    assert (launch.barriers, launch.operations) == (4, 2 * (4 * 9 + 3))
    assert launch.chain == Chain(2 * 12, 0, 1, 1) and launch.longest_chain == Chain(12, 0, 1, 1)
    assert launch.shared_atomics_of_one == 4
    turns = count(program, "turns", 1, 128, np.zeros(4, "i4"), np.arange(128, dtype="i4"))
    assert turns.operations == 4 * (2 + 4) and turns.chain == Chain(4 * 2 + 4, 0, 0, 4)  # one warp after the other


@pytest.mark.skipif(platform.machine() != "x86_64", reason="counts instructions of an x86-64")
def test_instructions_of_lanes_that_part(tmp_path: Path) -> None:
    traced = Program(SOURCE, tmp_path, traced=True)
    x = np.arange(64, dtype="i4")
    both, one = (count(traced, "apart", 1, 64, np.zeros(64, "i4"), x, odd) for odd in (1, 0))
    assert one.instructions == 2 * one.chain.instructions and 6 <= one.chain.instructions <= 30
    assert one.chain.instructions + 5 <= both.chain.instructions <= 2 * one.chain.instructions
    assert count(traced, "apart", 2, 64, np.zeros(64, "i4"), x, 0).instructions == 2 * one.instructions


def waits(launch: Launch) -> tuple[int, ...]:
    return launch.l2_waits, launch.dram_waits, launch.longest_l2_waits, launch.longest_dram_waits


def test_waits(program: Program) -> None:
    y, x, i = np.zeros(64, "f4"), np.zeros(64, "f4"), np.arange(64, dtype="i4")
    assert waits(count(program, "strided", 3, 64, np.zeros(192, "f4"), np.zeros(192, "f4"), 1)) == (0, 6, 0, 1)
    assert waits(count(program, "found", 1, 64, y, x, i)) == (0, 4, 0, 2)  # a place, then what is there
    assert waits(count(program, "again", 1, 64, y, x)) == (0, 4, 0, 2)  # four of five together
    assert waits(count(program, "again", 1, 64, y, x, in_flight=5)) == (0, 2, 0, 1)
    assert waits(count(program, "one_cell", 3, 64, np.zeros(4, "i4"))) == (0, 0, 0, 0)
    assert waits(count(program, "swapped", 1, 32, np.zeros(1, "i4"))) == (1, 1, 1, 1)
    assert waits(count(program, "banks", 1, 32, y, 1)) == (0, 0, 0, 0)


def test_what_is_streamed_leaves_the_cache_first(program: Program) -> None:
    y, x = np.zeros(1 << 18, "u4"), np.zeros(4096, "u4")
    kept, streamed = (
        site(count(program, "past", 2048, 32, y, x, s, l1=0, l2=64 << 10), "x").dram_sectors for s in (0, 1)
    )
    assert streamed == 512 < kept


def test_what_is_still_to_be_written(tmp_path: Path) -> None:
    """It is the last launch's that computes; the one that ends the call is not listed."""
    b = gs.Builder("written")
    i, v = np.arange(5000) % 700 * 8, np.ones(5000, "f4")
    b.output(
        b.put(
            b.zeros((5600,), "float32"),
            b.input("i", i.shape, "int64"),
            b.input("v", v.shape, "float32"),
            reduction="add",
        )
    )
    ((module, _),) = on_cpu([b], tmp_path)
    with counted() as launches:
        module(i, v)
    assert not any(launch.keeps_a_record for launch in launches)
    assert launches[-1].written_back >= 5600 * 4 // SECTOR and not any(launch.written_back for launch in launches[:-1])


def test_a_graph_by_way_and_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """``benchmarks/cuda_choices.py``: a warp whose points hit one cell adds them up, and makes one atomic of them."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    choices = import_module("cuda_choices")
    b = gs.Builder("counted")
    x, i, s = b.input("x", (300,), "int32"), b.input("i", ("e",), "int64"), b.input("s", ("e",), "int32")
    b.output(b.put(x, i, s, reduction="add"))
    found = choices.rows(b, ["constant", "uniform"], {"e": 3000})
    assert list(dict.fromkeys(r["choice"] for r in found)) == ["default", "privatised", "atomics"]
    assert len(found) == 3 * 2 * 2  # base is copied, points are added
    by_place = {(r["choice"], r["indices"]): r for r in found if r["kernel"].endswith("_2")}
    warps = -(-3000 // 32)
    one, many = by_place["atomics", "constant"], by_place["atomics", "uniform"]
    assert one["atomics"] == one["atomics_of_one_address"] == warps and one["shared_turns_per_request"] is None
    assert warps < many["atomics"] <= 3000 and many["sectors_per_request"] > one["sectors_per_request"] >= 4
    assert by_place["privatised", "uniform"]["shared_turns_per_request"] > 1
    assert "| counted_kernel_2 |" in choices.table(found)
