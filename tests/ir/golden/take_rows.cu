__device__ __forceinline__ void gs_stream_16(void* p, uint4 v) {
  __stcs((uint4*)p, v);
}

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

extern "C" __global__ void __launch_bounds__(256) take_rows_kernel(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, int64_t k, int64_t n, int64_t threads) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < k) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    int64_t condval;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] < (int64_t)0) {
      condval = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] + n);
    } else {
      condval = i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    }
    int64_t condval_1;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] < (int64_t)0) {
      condval_1 = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] + n);
    } else {
      condval_1 = i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    }
    if ((condval < (int64_t)0) || (n <= condval_1)) {
      int64_t condval_2;
      if (threads < (int64_t)0) {
        condval_2 = (threads * (int64_t)-1);
      } else {
        condval_2 = threads;
      }
      gs_found_0_1_2((&(kept_ptr[0])), (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) ^ (int64_t)0), i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))], condval_2, k, n);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) take_rows_kernel_1(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, float* __restrict__ out0_take_2_ptr, float* __restrict__ x_ptr, int64_t k, int64_t n, int64_t threads) {
  alignas(8) int64_t grid__ptr[2];
  int64_t condval;
  if (k <= (int64_t)270336) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)512;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = (k * (int64_t)2);
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  if ((grid0 == (int64_t)512) && (((((int64_t)blockIdx.x) * grid0) + (int64_t)512) <= grid1)) {
    alignas(8) int64_t i__ptr[2];
    i__ptr[0] = ((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x));
    i__ptr[1] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)256);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    alignas(8) int64_t at__ptr[2];
    int64_t condval_1;
    if (i_ptr[(i0 >> (int64_t)1)] < (int64_t)0) {
      condval_1 = (i_ptr[(i0 >> (int64_t)1)] + n);
    } else {
      condval_1 = i_ptr[(i0 >> (int64_t)1)];
    }
    at__ptr[0] = ((((int64_t)min(((uint64_t)(condval_1 ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)2) + (i0 & (int64_t)1));
    int64_t condval_2;
    if (i_ptr[(i1 >> (int64_t)1)] < (int64_t)0) {
      condval_2 = (i_ptr[(i1 >> (int64_t)1)] + n);
    } else {
      condval_2 = i_ptr[(i1 >> (int64_t)1)];
    }
    at__ptr[1] = ((((int64_t)min(((uint64_t)(condval_2 ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)2) + (i1 & (int64_t)1));
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    float4 v0 = *(float4*)(x_ptr + (at0 * (int64_t)4));
    float4 v1 = *(float4*)(x_ptr + (at1 * (int64_t)4));
    if ((int64_t)1048576 < k) {
      gs_stream_16((&(out0_take_2_ptr[(i0 * (int64_t)4)])), (*(uint4 *)(&(v0))));
      gs_stream_16((&(out0_take_2_ptr[(i1 * (int64_t)4)])), (*(uint4 *)(&(v1))));
    } else {
      *(float4*)(out0_take_2_ptr + (i0 * (int64_t)4)) = v0;
      *(float4*)(out0_take_2_ptr + (i1 * (int64_t)4)) = v1;
    }
    int64_t condval_3;
    if (i_ptr[(i0 >> (int64_t)1)] < (int64_t)0) {
      condval_3 = (i_ptr[(i0 >> (int64_t)1)] + n);
    } else {
      condval_3 = i_ptr[(i0 >> (int64_t)1)];
    }
    int64_t condval_4;
    if (i_ptr[(i0 >> (int64_t)1)] < (int64_t)0) {
      condval_4 = (i_ptr[(i0 >> (int64_t)1)] + n);
    } else {
      condval_4 = i_ptr[(i0 >> (int64_t)1)];
    }
    if ((condval_3 < (int64_t)0) || (n <= condval_4)) {
      int64_t condval_5;
      if (threads < (int64_t)0) {
        condval_5 = (threads * (int64_t)-1);
      } else {
        condval_5 = threads;
      }
      gs_found_0_1_2((&(kept_ptr[0])), ((i0 >> (int64_t)1) ^ (int64_t)0), i_ptr[(i0 >> (int64_t)1)], condval_5, k, n);
    }
    int64_t condval_6;
    if (i_ptr[(i1 >> (int64_t)1)] < (int64_t)0) {
      condval_6 = (i_ptr[(i1 >> (int64_t)1)] + n);
    } else {
      condval_6 = i_ptr[(i1 >> (int64_t)1)];
    }
    int64_t condval_7;
    if (i_ptr[(i1 >> (int64_t)1)] < (int64_t)0) {
      condval_7 = (i_ptr[(i1 >> (int64_t)1)] + n);
    } else {
      condval_7 = i_ptr[(i1 >> (int64_t)1)];
    }
    if ((condval_6 < (int64_t)0) || (n <= condval_7)) {
      int64_t condval_8;
      if (threads < (int64_t)0) {
        condval_8 = (threads * (int64_t)-1);
      } else {
        condval_8 = threads;
      }
      gs_found_0_1_2((&(kept_ptr[0])), ((i1 >> (int64_t)1) ^ (int64_t)0), i_ptr[(i1 >> (int64_t)1)], condval_8, k, n);
    }
  } else {
    for (int64_t k_1 = (int64_t)0; k_1 < (grid0 >> (int64_t)8); ++k_1) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k_1 * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        alignas(8) int64_t at__ptr_1[1];
        int64_t condval_9;
        if (i_ptr[(i0_1 >> (int64_t)1)] < (int64_t)0) {
          condval_9 = (i_ptr[(i0_1 >> (int64_t)1)] + n);
        } else {
          condval_9 = i_ptr[(i0_1 >> (int64_t)1)];
        }
        at__ptr_1[0] = ((((int64_t)min(((uint64_t)(condval_9 ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)2) + (i0_1 & (int64_t)1));
        int64_t at0_1 = at__ptr_1[0];
        float4 v0_1 = *(float4*)(x_ptr + (at0_1 * (int64_t)4));
        if ((int64_t)1048576 < k) {
          gs_stream_16((&(out0_take_2_ptr[(i0_1 * (int64_t)4)])), (*(uint4 *)(&(v0_1))));
        } else {
          *(float4*)(out0_take_2_ptr + (i0_1 * (int64_t)4)) = v0_1;
        }
        int64_t condval_10;
        if (i_ptr[(i0_1 >> (int64_t)1)] < (int64_t)0) {
          condval_10 = (i_ptr[(i0_1 >> (int64_t)1)] + n);
        } else {
          condval_10 = i_ptr[(i0_1 >> (int64_t)1)];
        }
        int64_t condval_11;
        if (i_ptr[(i0_1 >> (int64_t)1)] < (int64_t)0) {
          condval_11 = (i_ptr[(i0_1 >> (int64_t)1)] + n);
        } else {
          condval_11 = i_ptr[(i0_1 >> (int64_t)1)];
        }
        if ((condval_10 < (int64_t)0) || (n <= condval_11)) {
          int64_t condval_12;
          if (threads < (int64_t)0) {
            condval_12 = (threads * (int64_t)-1);
          } else {
            condval_12 = threads;
          }
          gs_found_0_1_2((&(kept_ptr[0])), ((i0_1 >> (int64_t)1) ^ (int64_t)0), i_ptr[(i0_1 >> (int64_t)1)], condval_12, k, n);
        }
      }
    }
  }
}

