__device__ __forceinline__ void gs_found_0_1_2(int64_t* kept, long long at, long long value, long long call, long long s0, long long s1) {
  unsigned long long* state = (unsigned long long*)kept;
  volatile int64_t* r = kept;
  const unsigned long long locked = 4611686018427387904ull, mine = call;
  for (;;) {
    unsigned long long seen = *(volatile unsigned long long*)state;
    if ((seen & ~locked) != 0 && (seen & ~locked) != mine) return;
    if (seen == mine && r[1] <= at) return;
    if ((seen & locked) || atomicCAS(state, seen, mine | locked) != seen) continue;
    __threadfence();
    if (seen == 0) { r[1] = 9223372036854775807ll; r[2] = 0; r[3] = s0; r[4] = s1; }
    if (at < r[1]) { r[1] = at; r[2] = value; }
    __threadfence();
    atomicExch(state, mine);
    return;
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) bags_kernel(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, float* __restrict__ out0_sum_3_ptr, float* __restrict__ x_ptr, int64_t k, int64_t n, int64_t threads) {
  if (((((int64_t)blockIdx.x) * (int64_t)8) + (((int64_t)threadIdx.x) >> (int64_t)5)) < k) {
    alignas(16) int64_t mine_ptr[1];
    alignas(16) int64_t got_ptr[4];
    alignas(16) float values_ptr[16];
    alignas(16) float acc_ptr[4];
    for (int q = 0; q < 4; ++q) {
      acc_ptr[q] = 0x0p+0f/*0.000000e+00*/;
    }
    alignas(8) int64_t end__ptr[2];
    end__ptr[0] = (int64_t)0;
    end__ptr[1] = (int64_t)20;
    int64_t end0 = end__ptr[0];
    int64_t end1 = end__ptr[1];
    for (int64_t rows = (int64_t)0; rows < max(((((end1 + (int64_t)31) - end0) ^ (int64_t)0) / (int64_t)32), (int64_t)0); ++rows) {
      int64_t condval;
      if ((((rows * (int64_t)32) + end0) + (((int64_t)threadIdx.x) & (int64_t)31)) < end1) {
        condval = i_ptr[(((((((int64_t)blockIdx.x) * (int64_t)160) + (rows * (int64_t)32)) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)20)) + end0) + (((int64_t)threadIdx.x) & (int64_t)31))];
      } else {
        condval = (int64_t)0;
      }
      mine_ptr[0] = condval;
      if ((((rows * (int64_t)32) + end0) + (((int64_t)threadIdx.x) & (int64_t)31)) < end1) {
        int64_t condval_1;
        if (mine_ptr[0] < (int64_t)0) {
          condval_1 = (mine_ptr[0] + n);
        } else {
          condval_1 = mine_ptr[0];
        }
        int64_t condval_2;
        if (mine_ptr[0] < (int64_t)0) {
          condval_2 = (mine_ptr[0] + n);
        } else {
          condval_2 = mine_ptr[0];
        }
        if ((condval_1 < (int64_t)0) || (n <= condval_2)) {
          int64_t condval_3;
          if (threads < (int64_t)0) {
            condval_3 = (threads * (int64_t)-1);
          } else {
            condval_3 = threads;
          }
          gs_found_0_1_2((&(kept_ptr[0])), ((((((((int64_t)blockIdx.x) * (int64_t)160) + (rows * (int64_t)32)) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)20)) + end0) + (((int64_t)threadIdx.x) & (int64_t)31)) ^ (int64_t)0), mine_ptr[0], condval_3, k, n);
        }
      }
      for (int64_t s = (int64_t)0; s < ((min(((end1 - end0) - (rows * (int64_t)32)), (int64_t)32) + (int64_t)7) >> (int64_t)3); ++s) {
        got_ptr[0] = __shfl_sync((uint)4294967295, mine_ptr[0], ((((int)s) * 8) + ((((int)((int64_t)threadIdx.x)) & 31) >> 4)), 32);
        got_ptr[1] = __shfl_sync((uint)4294967295, mine_ptr[0], (((((int)s) * 8) + ((((int)((int64_t)threadIdx.x)) & 31) >> 4)) + 2), 32);
        got_ptr[2] = __shfl_sync((uint)4294967295, mine_ptr[0], (((((int)s) * 8) + ((((int)((int64_t)threadIdx.x)) & 31) >> 4)) + 4), 32);
        got_ptr[3] = __shfl_sync((uint)4294967295, mine_ptr[0], (((((int)s) * 8) + ((((int)((int64_t)threadIdx.x)) & 31) >> 4)) + 6), 32);
        int64_t condval_4;
        if (got_ptr[0] < (int64_t)0) {
          condval_4 = (got_ptr[0] + n);
        } else {
          condval_4 = got_ptr[0];
        }
        int64_t condval_5;
        if (got_ptr[0] < (int64_t)0) {
          condval_5 = (got_ptr[0] + n);
        } else {
          condval_5 = got_ptr[0];
        }
        if (((((((rows * (int64_t)32) + (s * (int64_t)8)) + ((((int64_t)threadIdx.x) & (int64_t)31) >> (int64_t)4)) + end0) < end1) && ((int64_t)0 <= condval_4)) && (condval_5 < n)) {
          int64_t condval_6;
          if (got_ptr[0] < (int64_t)0) {
            condval_6 = (got_ptr[0] + n);
          } else {
            condval_6 = got_ptr[0];
          }
          *(float4*)(values_ptr + (int64_t)0) = *(float4*)(x_ptr + ((((int64_t)min(((uint64_t)(condval_6 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)64) + ((((int64_t)threadIdx.x) & (int64_t)15) * (int64_t)4)));
        }
        int64_t condval_7;
        if (got_ptr[1] < (int64_t)0) {
          condval_7 = (got_ptr[1] + n);
        } else {
          condval_7 = got_ptr[1];
        }
        int64_t condval_8;
        if (got_ptr[1] < (int64_t)0) {
          condval_8 = (got_ptr[1] + n);
        } else {
          condval_8 = got_ptr[1];
        }
        if ((((((((rows * (int64_t)32) + (s * (int64_t)8)) + ((((int64_t)threadIdx.x) & (int64_t)31) >> (int64_t)4)) + end0) + (int64_t)2) < end1) && ((int64_t)0 <= condval_7)) && (condval_8 < n)) {
          int64_t condval_9;
          if (got_ptr[1] < (int64_t)0) {
            condval_9 = (got_ptr[1] + n);
          } else {
            condval_9 = got_ptr[1];
          }
          *(float4*)(values_ptr + (int64_t)4) = *(float4*)(x_ptr + ((((int64_t)min(((uint64_t)(condval_9 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)64) + ((((int64_t)threadIdx.x) & (int64_t)15) * (int64_t)4)));
        }
        int64_t condval_10;
        if (got_ptr[2] < (int64_t)0) {
          condval_10 = (got_ptr[2] + n);
        } else {
          condval_10 = got_ptr[2];
        }
        int64_t condval_11;
        if (got_ptr[2] < (int64_t)0) {
          condval_11 = (got_ptr[2] + n);
        } else {
          condval_11 = got_ptr[2];
        }
        if ((((((((rows * (int64_t)32) + (s * (int64_t)8)) + ((((int64_t)threadIdx.x) & (int64_t)31) >> (int64_t)4)) + end0) + (int64_t)4) < end1) && ((int64_t)0 <= condval_10)) && (condval_11 < n)) {
          int64_t condval_12;
          if (got_ptr[2] < (int64_t)0) {
            condval_12 = (got_ptr[2] + n);
          } else {
            condval_12 = got_ptr[2];
          }
          *(float4*)(values_ptr + (int64_t)8) = *(float4*)(x_ptr + ((((int64_t)min(((uint64_t)(condval_12 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)64) + ((((int64_t)threadIdx.x) & (int64_t)15) * (int64_t)4)));
        }
        int64_t condval_13;
        if (got_ptr[3] < (int64_t)0) {
          condval_13 = (got_ptr[3] + n);
        } else {
          condval_13 = got_ptr[3];
        }
        int64_t condval_14;
        if (got_ptr[3] < (int64_t)0) {
          condval_14 = (got_ptr[3] + n);
        } else {
          condval_14 = got_ptr[3];
        }
        if ((((((((rows * (int64_t)32) + (s * (int64_t)8)) + ((((int64_t)threadIdx.x) & (int64_t)31) >> (int64_t)4)) + end0) + (int64_t)6) < end1) && ((int64_t)0 <= condval_13)) && (condval_14 < n)) {
          int64_t condval_15;
          if (got_ptr[3] < (int64_t)0) {
            condval_15 = (got_ptr[3] + n);
          } else {
            condval_15 = got_ptr[3];
          }
          *(float4*)(values_ptr + (int64_t)12) = *(float4*)(x_ptr + ((((int64_t)min(((uint64_t)(condval_15 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)64) + ((((int64_t)threadIdx.x) & (int64_t)15) * (int64_t)4)));
        }
        int64_t condval_16;
        if (got_ptr[0] < (int64_t)0) {
          condval_16 = (got_ptr[0] + n);
        } else {
          condval_16 = got_ptr[0];
        }
        int64_t condval_17;
        if (got_ptr[0] < (int64_t)0) {
          condval_17 = (got_ptr[0] + n);
        } else {
          condval_17 = got_ptr[0];
        }
        if (((((((rows * (int64_t)32) + (s * (int64_t)8)) + ((((int64_t)threadIdx.x) & (int64_t)31) >> (int64_t)4)) + end0) < end1) && ((int64_t)0 <= condval_16)) && (condval_17 < n)) {
          for (int q_1 = 0; q_1 < 4; ++q_1) {
            acc_ptr[q_1] = (acc_ptr[q_1] + values_ptr[q_1]);
          }
        }
        int64_t condval_18;
        if (got_ptr[1] < (int64_t)0) {
          condval_18 = (got_ptr[1] + n);
        } else {
          condval_18 = got_ptr[1];
        }
        int64_t condval_19;
        if (got_ptr[1] < (int64_t)0) {
          condval_19 = (got_ptr[1] + n);
        } else {
          condval_19 = got_ptr[1];
        }
        if ((((((((rows * (int64_t)32) + (s * (int64_t)8)) + ((((int64_t)threadIdx.x) & (int64_t)31) >> (int64_t)4)) + end0) + (int64_t)2) < end1) && ((int64_t)0 <= condval_18)) && (condval_19 < n)) {
          for (int q_2 = 0; q_2 < 4; ++q_2) {
            acc_ptr[q_2] = (acc_ptr[q_2] + values_ptr[(q_2 + 4)]);
          }
        }
        int64_t condval_20;
        if (got_ptr[2] < (int64_t)0) {
          condval_20 = (got_ptr[2] + n);
        } else {
          condval_20 = got_ptr[2];
        }
        int64_t condval_21;
        if (got_ptr[2] < (int64_t)0) {
          condval_21 = (got_ptr[2] + n);
        } else {
          condval_21 = got_ptr[2];
        }
        if ((((((((rows * (int64_t)32) + (s * (int64_t)8)) + ((((int64_t)threadIdx.x) & (int64_t)31) >> (int64_t)4)) + end0) + (int64_t)4) < end1) && ((int64_t)0 <= condval_20)) && (condval_21 < n)) {
          for (int q_3 = 0; q_3 < 4; ++q_3) {
            acc_ptr[q_3] = (acc_ptr[q_3] + values_ptr[(q_3 + 8)]);
          }
        }
        int64_t condval_22;
        if (got_ptr[3] < (int64_t)0) {
          condval_22 = (got_ptr[3] + n);
        } else {
          condval_22 = got_ptr[3];
        }
        int64_t condval_23;
        if (got_ptr[3] < (int64_t)0) {
          condval_23 = (got_ptr[3] + n);
        } else {
          condval_23 = got_ptr[3];
        }
        if ((((((((rows * (int64_t)32) + (s * (int64_t)8)) + ((((int64_t)threadIdx.x) & (int64_t)31) >> (int64_t)4)) + end0) + (int64_t)6) < end1) && ((int64_t)0 <= condval_22)) && (condval_23 < n)) {
          for (int q_4 = 0; q_4 < 4; ++q_4) {
            acc_ptr[q_4] = (acc_ptr[q_4] + values_ptr[(q_4 + 12)]);
          }
        }
      }
    }
    for (int q_5 = 0; q_5 < 4; ++q_5) {
      float other = __shfl_down_sync((uint)4294967295, acc_ptr[q_5], 16, 32);
      acc_ptr[q_5] = (acc_ptr[q_5] + other);
    }
    if (((((int64_t)threadIdx.x) & (int64_t)31) >> (int64_t)4) == (int64_t)0) {
      alignas(16) float cells_ptr[4];
      for (int q_6 = 0; q_6 < 4; ++q_6) {
        cells_ptr[q_6] = acc_ptr[q_6];
      }
      *(float4*)(out0_sum_3_ptr + (((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)64)) + ((((int64_t)threadIdx.x) & (int64_t)31) * (int64_t)4))) = *(float4*)(cells_ptr + (int64_t)0);
    }
  }
}

