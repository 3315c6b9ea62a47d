"""Kernels written by hand, each with what a GPU needs of its threads; and what is wrong with them if a part is changed.

A kernel is run by :func:`Kernel.run` and compared with NumPy.  A mutation replaces a piece of text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True)
class Kernel:
    """
    Attributes:
        source: CUDA.
        case: draws arguments; gives the grid, the block, the arguments, bytes of dynamic shared memory, and a function that
            checks the arrays afterwards.
        mutations: (old text, new text, what the error says).
    """

    name: str
    source: str
    case: Callable[[np.random.Generator], tuple[Any, Any, tuple[Any, ...], int, Callable[[], None]]]
    mutations: tuple[tuple[str, str, str], ...]


BLOCK_SUM = r"""
extern "C" __global__ void __launch_bounds__(256) block_sum(float* __restrict__ out, float* __restrict__ x, int64_t n) {
  __shared__ float parts[8];
  float v = 0;
  for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < n; i += (int64_t)gridDim.x * 256) v += x[i];
  for (int step = 16; step; step >>= 1) v += __shfl_down_sync(0xffffffffu, v, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();  // the parts are there
  if (threadIdx.x < 32) {
    v = threadIdx.x < 8 ? parts[threadIdx.x] : 0.0f;
    for (int step = 4; step; step >>= 1) v += __shfl_xor_sync(0xffffffffu, v, step);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}
"""


def _block_sum(rng: np.random.Generator) -> Any:
    x = rng.integers(-9, 9, 3001).astype("float32")
    out = np.zeros(1, "float32")
    return 5, 256, (out, x, x.size), 0, lambda: np.testing.assert_array_equal(out, x.sum())


HISTOGRAM = r"""
extern "C" __global__ void histogram(unsigned int* out, int* bins, int n) {
  extern __shared__ unsigned int counts[];
  for (int b = threadIdx.x; b < 96; b += blockDim.x) counts[b] = 0;
  __syncthreads();  // cleared
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counts[bins[i]], 1u);
  __syncthreads();  // counted
  for (int b = threadIdx.x; b < 96; b += blockDim.x) if (counts[b]) atomicAdd(&out[b], counts[b]);
}
"""


def _histogram(rng: np.random.Generator) -> Any:
    bins = rng.integers(0, 96, 5000).astype("int32")
    out = np.zeros(96, "uint32")
    return (
        3,
        128,
        (out, bins, bins.size),
        384,
        lambda: np.testing.assert_array_equal(out, np.bincount(bins, minlength=96)),
    )


SEGMENTS = r"""
extern "C" __global__ void segments(float* out, int* keys, float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned live = __ballot_sync(0xffffffffu, i < n);
  if (i >= n) return;
  int key = keys[i];
  unsigned same = __match_any_sync(live, key);
  float sum = 0;
  for (int l = 0; l < 32; ++l) {
    float v = __shfl_sync(live, x[i], l);
    if (same >> l & 1) sum += v;
  }
  if (__ffs(same) - 1 == threadIdx.x % 32) atomicAdd(&out[key], sum);
}
"""


def _segments(rng: np.random.Generator) -> Any:
    keys = np.sort(rng.integers(0, 40, 1003)).astype("int32")
    x = rng.integers(-9, 9, keys.size).astype("float32")
    out = np.zeros(40, "float32")
    want = np.bincount(keys, x, minlength=40)
    return 8, 128, (out, keys, x, keys.size), 0, lambda: np.testing.assert_array_equal(out, want)


COPY = r"""
__device__ __forceinline__ void copy16(void* to, const void* from) {
  unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(at), "l"(from) : "memory");
}
extern "C" __global__ void copy_rows(float* out, float* x, int* index, int rows) {
  __shared__ __align__(16) float stage[2][4][32];
  int lane = threadIdx.x % 8, row = threadIdx.x / 8, step = 4 * gridDim.x, r = 4 * blockIdx.x;
  if (r + row < rows) copy16(&stage[0][row][lane * 4], x + (int64_t)index[r + row] * 32 + lane * 4);
  asm volatile("cp.async.commit_group;\n" ::: "memory");
  for (int k = 0; r < rows; r += step, k ^= 1) {
    if (r + step + row < rows) copy16(&stage[k ^ 1][row][lane * 4], x + (int64_t)index[r + step + row] * 32 + lane * 4);
    asm volatile("cp.async.commit_group;\n" ::: "memory");
    asm volatile("cp.async.wait_group 1;\n" ::: "memory");
    __syncthreads();  // copied, by all
    int mine = (row + 1) % 4;  // a row that other threads have copied
    if (r + mine < rows) *(float4*)(out + (r + mine) * 32 + lane * 4) = *(float4*)&stage[k][mine][lane * 4];
    __syncthreads();  // read, by all
  }
}
"""


def _copy(rng: np.random.Generator) -> Any:
    x = rng.standard_normal((50, 32)).astype("float32")
    index = rng.integers(0, 50, 43).astype("int32")
    out = np.zeros((43, 32), "float32")
    return 2, 32, (out, x, index, index.size), 0, lambda: np.testing.assert_array_equal(out, x[index])


LAST_BLOCK = r"""
extern "C" __global__ void last_block(float* out, float* parts, unsigned int* ticket, float* x, int n) {
  __shared__ float warp_sums[4];
  __shared__ bool last;
  float v = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) v += x[i];
  for (int step = 16; step; step >>= 1) v += __shfl_down_sync(0xffffffffu, v, step);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = v;
  __syncthreads();  // sums of warps
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = warp_sums[0] + warp_sums[1] + warp_sums[2] + warp_sums[3];
    __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();  // last is known
  if (last)
    for (int b = threadIdx.x; b < gridDim.x; b += 128) atomicAdd(out, parts[b]);
}
"""


def _last_block(rng: np.random.Generator) -> Any:
    x = rng.integers(-9, 9, 3000).astype("float32")
    out, parts, ticket = np.zeros(1, "float32"), np.zeros(7, "float32"), np.zeros(1, "uint32")
    return 7, 128, (out, parts, ticket, x, x.size), 0, lambda: np.testing.assert_array_equal(out, x.sum())


TILE = r"""
extern "C" __global__ void warp_tile(int* out, int* x) {
  __shared__ int tile[64];
  int w = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  tile[w + lane] = x[blockIdx.x * 64 + threadIdx.x];
  __syncwarp();  // stored
  out[blockIdx.x * 64 + w + lane] = tile[w + 31 - lane];
}
"""


def _tile(rng: np.random.Generator) -> Any:
    x = rng.integers(-9, 9, 192).astype("int32")
    out = np.zeros(192, "int32")
    return 3, 64, (out, x), 0, lambda: np.testing.assert_array_equal(out, x.reshape(-1, 32)[:, ::-1].ravel())


KERNELS = (
    Kernel(
        "block_sum",
        BLOCK_SUM,
        _block_sum,
        (
            ("__syncthreads();  // the parts are there", "", "nobody has written|race"),
            ("atomicAdd(out, v)", "out[0] += v", "race"),
            ("threadIdx.x < 8 ?", "threadIdx.x < 9 ?", "outside an array"),
            ("step = 16", "step = 8", "wrong"),
            ("if (threadIdx.x < 32) {", "if (threadIdx.x < 4) {", "wrong"),
        ),
    ),
    Kernel(
        "histogram",
        HISTOGRAM,
        _histogram,
        (
            ("__syncthreads();  // cleared", "", "race|nobody has written"),
            ("__syncthreads();  // counted", "", "race"),
            ("atomicAdd(&counts[bins[i]], 1u)", "counts[bins[i]] += 1", "race"),
            ("atomicAdd(&out[b], counts[b])", "out[b] += counts[b]", "race"),
            (
                "b < 96; b += blockDim.x) counts[b] = 0",
                "b < 97; b += blockDim.x) counts[b] = 0",
                "dynamic shared memory",
            ),
        ),
    ),
    Kernel(
        "segments",
        SEGMENTS,
        _segments,
        (
            ("__shfl_sync(live, x[i], l)", "__shfl_sync(live, x[i], l + 1)", "wrong"),
            ("atomicAdd(&out[key], sum)", "out[key] += sum", "race"),
            ("if (__ffs(same) - 1 == threadIdx.x % 32) ", "", "wrong"),
            ("if (i >= n) return;", "", r"keys\+4012"),
        ),
    ),
    Kernel(
        "copy_rows",
        COPY,
        _copy,
        (
            ("__syncthreads();  // copied, by all", "", "race|still copying|nobody has written"),
            ("__syncthreads();  // read, by all", "", "race|still copying"),
            ("cp.async.wait_group 1", "cp.async.wait_group 2", "still copying"),
            ("if (r + step + row < rows) copy16(&stage[k ^ 1]", "copy16(&stage[k ^ 1]", "at index\\+172|\\+172"),
            ("x + (int64_t)index[r + row] * 32", "x + (int64_t)index[r + row] * 33", "at x|wrong|multiple"),
        ),
    ),
    Kernel(
        "last_block",
        LAST_BLOCK,
        _last_block,
        (
            ("__threadfence();", "", "race"),
            ("__syncthreads();  // sums of warps", "", "race|nobody has written"),
            ("__syncthreads();  // last is known", "", "race|nobody has written"),
            ("last = atomicAdd(ticket, 1u) == gridDim.x - 1", "last = blockIdx.x == gridDim.x - 1", "race|wrong"),
        ),
    ),
    Kernel("warp_tile", TILE, _tile, (("__syncwarp();  // stored", "", "race|nobody has written"),)),
)
