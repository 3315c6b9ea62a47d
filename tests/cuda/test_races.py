"""The race detector against all pairs of accesses: random programs for threads, with a race or without, in any order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from tests.cuda import CudaError, Program, cpu_compiler

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

BLOCKS, THREADS, CELLS, STEPS = 2, 64, 192, 7
NOTHING, READ, WRITE, ATOMIC, BARRIER, WARP = range(6)

# a step of a thread is an operation and a cell; the cells are of T, and shared or global
SOURCE = r"""
template <class T> inline void interpret(T* x, T* out, const int* steps, int count) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  T sum = 0;
  for (int s = 0; s < count; ++s) {
    int op = steps[(thread * count + s) * 2], cell = steps[(thread * count + s) * 2 + 1];
    if (op == 1) sum += x[cell];
    if (op == 2) x[cell] = (T)(1 + s * 128 + thread);
    if (op == 3) atomicAdd((int*)x + cell, 1);
    if (op == 4) __syncthreads();
    if (op == 5) __syncwarp();
  }
  out[thread] = sum;
}
extern "C" __global__ void in_global(int* out, int* steps, int* x, int count) { interpret(x, out, steps, count); }
extern "C" __global__ void in_bytes(short* out, int* steps, short* x, int count) { interpret(x, out, steps, count); }
extern "C" __global__ void in_shared(int* out, int* steps, int* unused, int count) {
  __shared__ int x[192];
  for (int k = threadIdx.x; k < 192; k += blockDim.x) x[k] = 0;
  __syncthreads();
  interpret(x, out, steps, count);
}
"""


@dataclass(frozen=True)
class Access:
    op: int
    thread: int  # of all
    epoch: int  # barriers of its block before it
    clock: int  # barriers of its warp before it

    def races(self, other: Access, shared: bool) -> bool:
        if self.op == READ == other.op or self.op == ATOMIC == other.op or self.thread == other.thread:
            return False
        if self.thread // THREADS != other.thread // THREADS:
            return not shared
        if self.epoch != other.epoch:
            return False
        return self.thread // 32 != other.thread // 32 or self.clock == other.clock


def draw(rng: np.random.Generator, atomics: bool) -> np.ndarray:
    """Few accesses, to cells that a few threads share; barriers are steps of a whole block or a whole warp."""
    steps = np.zeros((BLOCKS * THREADS, STEPS, 2), "int32")
    for s in range(STEPS):
        if s % 2:
            for block in range(BLOCKS):
                if rng.random() < 0.5:
                    steps[block * THREADS : (block + 1) * THREADS, s, 0] = BARRIER
                else:
                    for warp in range(THREADS // 32):
                        if rng.random() < 0.6:
                            steps[block * THREADS + warp * 32 :][:32, s, 0] = WARP
        else:
            some = rng.choice(BLOCKS * THREADS if rng.random() < 0.1 else THREADS, 2, replace=False)
            steps[some, s, 0] = rng.integers(READ, (ATOMIC if atomics else WRITE) + 1, 2)
            steps[some, s, 1] = rng.integers(0, 6, 2)
    return steps


def has_race(steps: np.ndarray, shared: bool) -> bool:
    accesses: dict[int, list[Access]] = {}
    for thread, program in enumerate(steps):
        epoch = clock = 0
        for op, cell in program:
            if op in (READ, WRITE, ATOMIC):
                accesses.setdefault(int(cell), []).append(Access(int(op), thread, epoch, clock))
            epoch += op == BARRIER
            clock += op == WARP
    return any(a.races(b, shared) for found in accesses.values() for a, b in itertools.combinations(found, 2))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(SOURCE, tmp_path_factory.mktemp("races"))


@pytest.mark.parametrize("kernel", ["in_global", "in_bytes", "in_shared"])
def test_a_race_is_found_if_there_is_one(program: Program, kernel: str) -> None:
    dtype = np.dtype("int16" if kernel == "in_bytes" else "int32")
    counts = {True: 0, False: 0}
    for k in range(400):
        steps = draw(np.random.default_rng(k), atomics=kernel != "in_bytes")
        want = has_race(steps, shared=kernel == "in_shared")
        counts[want] += 1
        for seed in (0, k + 1):
            out, x = np.zeros(BLOCKS * THREADS, dtype), np.zeros(CELLS, dtype)
            try:
                program.launch(kernel, BLOCKS, THREADS, out, steps, x, STEPS, seed=seed)
                found = False
            except CudaError as e:
                assert "race: " in str(e), e
                found = True
            assert found is want, (k, seed)
    assert min(counts.values()) > 20, counts
