"""What the emulated device has of CUDA: intrinsics against their definitions, and mistakes that it must notice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cuda import CudaError, Program, cpu_compiler

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

LANES = np.arange(32)

SOURCE = r"""
extern "C" __global__ void votes(unsigned* out, int* x) {
  int v = x[threadIdx.x], n = 32, l = threadIdx.x, all;
  out[0 * n + l] = __ballot_sync(~0u, v > 2);
  out[1 * n + l] = __any_sync(~0u, v > 2) << 1 | __all_sync(~0u, v < 99);
  out[2 * n + l] = __match_any_sync(~0u, v);
  out[3 * n + l] = __match_all_sync(~0u, v, &all) | all;
  out[4 * n + l] = __shfl_sync(~0u, v, 5, 8);
  out[5 * n + l] = __shfl_up_sync(~0u, v, 3, 16);
  out[6 * n + l] = __shfl_down_sync(~0u, v, 3);
  out[7 * n + l] = (unsigned)__shfl_xor_sync(~0u, (double)v, 6);
  out[8 * n + l] = __reduce_add_sync(~0u, v);
  out[9 * n + l] = __reduce_max_sync(~0u, (unsigned)v);
  out[10 * n + l] = __reduce_xor_sync(~0u, (unsigned)v);
  if (l < 20) out[11 * n + l] = __ballot_sync(__activemask(), 1);
  else out[11 * n + l] = 0;
}
extern "C" __global__ void bits(int* out, unsigned* x) {
  unsigned v = x[threadIdx.x];
  int n = blockDim.x, k = threadIdx.x;
  out[k] = __popc(v), out[n + k] = __ffs(v), out[2 * n + k] = __clz(v), out[3 * n + k] = __brev(v);
  out[4 * n + k] = __syncthreads_count(v & 1), out[5 * n + k] = __syncthreads_or(v == 77);
  out[6 * n + k] = __syncthreads_and(v < 77);
}
extern "C" __global__ void atoms(float* f, double* d, int* i, unsigned long long* u, __half2* h, __nv_bfloat16* b, float4* v) {
  atomicAdd(f, 1.5f), atomicAdd(d, 0.25), atomicMax(i, (int)threadIdx.x), atomicAdd(u, 3ull);
  atomicAdd(h, __half2{1, 2}), atomicAdd(b, __nv_bfloat16(2)), atomicAdd(v, float4{1, 2, 3, 4});
  unsigned long long seen = u[1 + threadIdx.x * 0 + 0] * 0, old;  // u[1] is read by all and written by none
  int* lock = i + 1;
  do { old = atomicCAS(lock, 0, 1); } while (old != 0);
  *(volatile int*)(i + 2) = *(volatile int*)(i + 2) + 1;
  __threadfence();
  atomicExch(lock, 0);
}
extern "C" __global__ void numbers(float* out, float* x) {
  int n = blockDim.x, k = threadIdx.x;
  out[k] = __half(x[k]) * __half(3.0f);
  out[n + k] = __nv_bfloat16(x[k]) + __nv_bfloat16(1.0f);
  out[2 * n + k] = __nv_fp8_e4m3(x[k]);
  out[3 * n + k] = __nv_fp8_e5m2(x[k]);
}
extern "C" __global__ void assembly(float* out, float* x) {
  float a, b, c, d;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
      : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(x + 4 * threadIdx.x));
  asm volatile("st.global.cs.v2.f32 [%0+8], {%1, %2};" ::"l"(out + 4 * threadIdx.x), "f"(b), "f"(a) : "memory");
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(out + 128), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
}
extern "C" __global__ void uneven(int* x) {
  if (threadIdx.x < 7) __syncthreads();
  else { x[threadIdx.x] = 1; __syncwarp(); __syncthreads(); }
}
extern "C" __global__ void left_out(int* x) { x[threadIdx.x] = __shfl_sync(1u, 3, 0); }
extern "C" __global__ void past(int* x, int* y) { y[threadIdx.x] = x[threadIdx.x + 1]; }
extern "C" __global__ void misaligned(float* x, float* y) { *(float4*)y = *(float4*)(x + 1); }
extern "C" __global__ void neighbours(char* x) { x[threadIdx.x] = 1; x[threadIdx.x + 1] = 2; }
extern "C" __global__ void own_bytes(char* x) { x[threadIdx.x] = threadIdx.x; }
extern "C" __global__ void across_blocks(int* x) { if (blockIdx.x == 0) x[0] = 1; else x[1] = x[0]; }
extern "C" __global__ void same_value(int* x) { x[0] = 7; }
extern "C" __global__ void another_value(int* x) { x[0] = threadIdx.x; }
extern "C" __global__ void sequel(int* x) { x[threadIdx.x] = x[(threadIdx.x + 1) % 2]; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(SOURCE, tmp_path_factory.mktemp("language"))


@pytest.mark.parametrize("seed", range(4))
def test_votes_and_shuffles(program: Program, seed: int) -> None:
    x = np.random.default_rng(seed).integers(0, 6, 32).astype("int32")
    out = np.zeros((12, 32), "uint32")
    program.launch("votes", 1, 32, out, x, seed=seed)

    def mask(chosen: np.ndarray) -> int:
        return int(sum(1 << int(k) for k in np.flatnonzero(chosen)))

    up = np.where(LANES % 16 < 3, LANES, LANES - 3)
    down = np.where(LANES > 28, LANES, LANES + 3)
    want = [
        np.full(32, mask(x > 2)),
        np.full(32, int((x > 2).any()) << 1 | 1),
        np.array([mask(x == v) for v in x]),
        np.zeros(32),
        x[LANES // 8 * 8 + 5],
        x[up],
        x[down],
        x[LANES ^ 6],
        np.full(32, x.sum()),
        np.full(32, x.max()),
        np.full(32, np.bitwise_xor.reduce(x)),
    ]
    np.testing.assert_array_equal(out[:11], np.array(want, "uint32"))
    # lanes 0 to 19, together or in parts; a lane belongs to its part
    assert set(out[11, 20:]) == {0} and all(out[11, k] >> k & 1 and out[11, k] < 1 << 20 for k in range(20))


def test_bits_and_barriers_that_count(program: Program) -> None:
    x = np.array([0, 1, 2, 77, 0x80000000, 0xFFFFFFFF, 12, 40], "uint32")
    out = np.zeros((7, 8), "int32")
    program.launch("bits", 1, 8, out, x)
    assert out[0].tolist() == [bin(v).count("1") for v in x]
    assert out[1].tolist() == [(int(v) & -int(v)).bit_length() for v in x]
    assert out[2].tolist() == [32 - int(v).bit_length() for v in x]
    assert out[3].view("uint32").tolist() == [int(f"{v:032b}"[::-1], 2) for v in x]
    assert out[4:, 0].tolist() == [3, 1, 0] and (out[4:] == out[4:, :1]).all()


def test_atomics(program: Program) -> None:
    f, d, i, u = np.zeros(1, "f4"), np.zeros(1), np.zeros(3, "i4"), np.zeros(2, "u8")
    h, b, v = np.zeros(2, "f2"), np.zeros(1, "u2"), np.zeros(4, "f4")
    program.launch("atoms", 4, 8, f, d, i, u, h, b, v)
    assert (f[0], d[0], i.tolist(), u.tolist()) == (48, 8, [7, 0, 32], [96, 0])
    assert h.tolist() == [32, 64] and b[0] == np.float32(64).view("u4") >> 16 and v.tolist() == [32, 64, 96, 128]


def test_small_floats(program: Program) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([0.1, -3.3, 1e-9, 300, 0.0146, 1e5, -0.0, 5e-8], "f4")
    out = np.zeros((4, 8), "f4")
    program.launch("numbers", 1, 8, out, x)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out[0], (x.astype("f2") * np.float16(3)).astype("f4"))
    bf16, e4m3, e5m2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
    np.testing.assert_array_equal(out[1], (x.astype(bf16) + bf16(1)).astype("f4"))
    np.testing.assert_array_equal(out[2], np.clip(x, -448, 448).astype(e4m3).astype("f4"))
    np.testing.assert_array_equal(out[3], np.clip(x, -57344, 57344).astype(e5m2).astype("f4"))


def test_assembly(program: Program) -> None:
    x = np.arange(64, dtype="f4")
    out = np.zeros(132, "f4")
    program.launch("assembly", 1, 16, out, x)
    rows = x.reshape(16, 4)
    np.testing.assert_array_equal(out[:64].reshape(16, 4)[:, 2:], rows[:, 1::-1])
    np.testing.assert_array_equal(out[128:], rows.sum(0))


def test_unknown_assembly(tmp_path: Path) -> None:
    source = 'extern "C" __global__ void f(int* x) { asm volatile("wgmma.fence.sync.aligned;"); }'
    with pytest.raises(AssertionError, match=r"unknown_instruction.*wgmma"):
        Program(source, tmp_path)


@pytest.mark.parametrize(
    ("kernel", "grid", "sizes", "message"),
    [
        ("uneven", 1, [8], "uneven: .*(wait at different barriers|wait for ever)"),
        ("left_out", 1, [32], "with a mask .* that leaves it out"),
        ("past", 1, [8, 8], r"past: thread \(7, 0, 0\) of block 0 reads 4 bytes at x\+32, which has 32"),
        ("misaligned", 1, [8, 8], "no multiple"),
        ("neighbours", 1, [9], "race"),
        ("across_blocks", 2, [2], r"race: .* x\+0"),
        ("another_value", 1, [2], "race: .* writes"),
        ("sequel", 1, [2], "race: .* reads"),
        ("sequel", 70000000000, [2], "a GPU refuses"),
    ],
)
def test_mistakes(program: Program, kernel: str, grid: int, sizes: list[int], message: str) -> None:
    """Noticed with any seed."""
    threads = 32 if kernel == "left_out" else 2 if kernel == "sequel" else 8
    dtype = {"misaligned": "f4", "neighbours": "i1"}.get(kernel, "i4")
    for seed in range(8):
        with pytest.raises(CudaError, match=message):
            program.launch(kernel, grid, threads, *(np.zeros(n, dtype) for n in sizes), seed=seed)


def test_no_mistakes(program: Program) -> None:
    x = np.zeros(8, "i1")
    program.launch("own_bytes", 1, 8, x)
    assert x.tolist() == list(range(8))
    y = np.zeros(1, "i4")
    program.launch("same_value", 3, 8, y)
    assert y[0] == 7
