__device__ __forceinline__ void gs_keep5(int64_t* kept, int64_t* record) {
  if (atomicCAS((unsigned long long*)kept, 0ull, 1ull) == 0)
    for (int k = 1; k < 5; ++k) kept[k] = record[k];
}

__device__ __forceinline__ void gs_stream_16(void* p, uint4 v) {
  __stcs((uint4*)p, v);
}

__device__ __forceinline__ void gs_atomic_max_int64(int64_t* p, long long v) {
  atomicMax((long long*)p, v);
}

extern "C" __global__ void __launch_bounds__(256) take_rows_kernel(int64_t* __restrict__ i_ptr, int64_t* __restrict__ status_ptr, int64_t k, int64_t n) {
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
      gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) ^ (int64_t)0)));
      gs_atomic_max_int64((&(status_ptr[0])), 1);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) take_rows_kernel_1(int64_t* __restrict__ i_ptr, float* __restrict__ out0_take_2_ptr, int64_t* __restrict__ status_ptr, float* __restrict__ x_ptr, int64_t k, int64_t n) {
  alignas(8) int64_t grid__ptr[2];
  int64_t condval;
  if (k <= (int64_t)270336) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)1024;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = (k * (int64_t)2);
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  if ((grid0 == (int64_t)1024) && (((((int64_t)blockIdx.x) * grid0) + (int64_t)1024) <= grid1)) {
    alignas(8) int64_t i__ptr[4];
    i__ptr[0] = ((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x));
    i__ptr[1] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)256);
    i__ptr[2] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)512);
    i__ptr[3] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)768);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    int64_t i2 = i__ptr[2];
    int64_t i3 = i__ptr[3];
    int64_t condval_1;
    if (i_ptr[(i0 >> (int64_t)1)] < (int64_t)0) {
      condval_1 = (i_ptr[(i0 >> (int64_t)1)] + n);
    } else {
      condval_1 = i_ptr[(i0 >> (int64_t)1)];
    }
    int64_t condval_2;
    if (i_ptr[(i0 >> (int64_t)1)] < (int64_t)0) {
      condval_2 = (i_ptr[(i0 >> (int64_t)1)] + n);
    } else {
      condval_2 = i_ptr[(i0 >> (int64_t)1)];
    }
    if ((condval_1 < (int64_t)0) || (n <= condval_2)) {
      gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - ((i0 >> (int64_t)1) ^ (int64_t)0)));
      gs_atomic_max_int64((&(status_ptr[0])), 1);
    }
    int64_t condval_3;
    if (i_ptr[(i1 >> (int64_t)1)] < (int64_t)0) {
      condval_3 = (i_ptr[(i1 >> (int64_t)1)] + n);
    } else {
      condval_3 = i_ptr[(i1 >> (int64_t)1)];
    }
    int64_t condval_4;
    if (i_ptr[(i1 >> (int64_t)1)] < (int64_t)0) {
      condval_4 = (i_ptr[(i1 >> (int64_t)1)] + n);
    } else {
      condval_4 = i_ptr[(i1 >> (int64_t)1)];
    }
    if ((condval_3 < (int64_t)0) || (n <= condval_4)) {
      gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - ((i1 >> (int64_t)1) ^ (int64_t)0)));
      gs_atomic_max_int64((&(status_ptr[0])), 1);
    }
    int64_t condval_5;
    if (i_ptr[(i2 >> (int64_t)1)] < (int64_t)0) {
      condval_5 = (i_ptr[(i2 >> (int64_t)1)] + n);
    } else {
      condval_5 = i_ptr[(i2 >> (int64_t)1)];
    }
    int64_t condval_6;
    if (i_ptr[(i2 >> (int64_t)1)] < (int64_t)0) {
      condval_6 = (i_ptr[(i2 >> (int64_t)1)] + n);
    } else {
      condval_6 = i_ptr[(i2 >> (int64_t)1)];
    }
    if ((condval_5 < (int64_t)0) || (n <= condval_6)) {
      gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - ((i2 >> (int64_t)1) ^ (int64_t)0)));
      gs_atomic_max_int64((&(status_ptr[0])), 1);
    }
    int64_t condval_7;
    if (i_ptr[(i3 >> (int64_t)1)] < (int64_t)0) {
      condval_7 = (i_ptr[(i3 >> (int64_t)1)] + n);
    } else {
      condval_7 = i_ptr[(i3 >> (int64_t)1)];
    }
    int64_t condval_8;
    if (i_ptr[(i3 >> (int64_t)1)] < (int64_t)0) {
      condval_8 = (i_ptr[(i3 >> (int64_t)1)] + n);
    } else {
      condval_8 = i_ptr[(i3 >> (int64_t)1)];
    }
    if ((condval_7 < (int64_t)0) || (n <= condval_8)) {
      gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - ((i3 >> (int64_t)1) ^ (int64_t)0)));
      gs_atomic_max_int64((&(status_ptr[0])), 1);
    }
    alignas(8) int64_t at__ptr[4];
    int64_t condval_9;
    if (i_ptr[(i0 >> (int64_t)1)] < (int64_t)0) {
      condval_9 = (i_ptr[(i0 >> (int64_t)1)] + n);
    } else {
      condval_9 = i_ptr[(i0 >> (int64_t)1)];
    }
    at__ptr[0] = ((((int64_t)min(((uint64_t)(condval_9 ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)2) + (i0 & (int64_t)1));
    int64_t condval_10;
    if (i_ptr[(i1 >> (int64_t)1)] < (int64_t)0) {
      condval_10 = (i_ptr[(i1 >> (int64_t)1)] + n);
    } else {
      condval_10 = i_ptr[(i1 >> (int64_t)1)];
    }
    at__ptr[1] = ((((int64_t)min(((uint64_t)(condval_10 ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)2) + (i1 & (int64_t)1));
    int64_t condval_11;
    if (i_ptr[(i2 >> (int64_t)1)] < (int64_t)0) {
      condval_11 = (i_ptr[(i2 >> (int64_t)1)] + n);
    } else {
      condval_11 = i_ptr[(i2 >> (int64_t)1)];
    }
    at__ptr[2] = ((((int64_t)min(((uint64_t)(condval_11 ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)2) + (i2 & (int64_t)1));
    int64_t condval_12;
    if (i_ptr[(i3 >> (int64_t)1)] < (int64_t)0) {
      condval_12 = (i_ptr[(i3 >> (int64_t)1)] + n);
    } else {
      condval_12 = i_ptr[(i3 >> (int64_t)1)];
    }
    at__ptr[3] = ((((int64_t)min(((uint64_t)(condval_12 ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)2) + (i3 & (int64_t)1));
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    int64_t at2 = at__ptr[2];
    int64_t at3 = at__ptr[3];
    float4 v0 = *(float4*)(x_ptr + (at0 * (int64_t)4));
    float4 v1 = *(float4*)(x_ptr + (at1 * (int64_t)4));
    float4 v2 = *(float4*)(x_ptr + (at2 * (int64_t)4));
    float4 v3 = *(float4*)(x_ptr + (at3 * (int64_t)4));
    if ((int64_t)1048576 < k) {
      gs_stream_16((&(out0_take_2_ptr[(i0 * (int64_t)4)])), (*(uint4 *)(&(v0))));
      gs_stream_16((&(out0_take_2_ptr[(i1 * (int64_t)4)])), (*(uint4 *)(&(v1))));
      gs_stream_16((&(out0_take_2_ptr[(i2 * (int64_t)4)])), (*(uint4 *)(&(v2))));
      gs_stream_16((&(out0_take_2_ptr[(i3 * (int64_t)4)])), (*(uint4 *)(&(v3))));
    } else {
      *(float4*)(out0_take_2_ptr + (i0 * (int64_t)4)) = v0;
      *(float4*)(out0_take_2_ptr + (i1 * (int64_t)4)) = v1;
      *(float4*)(out0_take_2_ptr + (i2 * (int64_t)4)) = v2;
      *(float4*)(out0_take_2_ptr + (i3 * (int64_t)4)) = v3;
    }
  } else {
    for (int64_t k_1 = (int64_t)0; k_1 < (grid0 >> (int64_t)8); ++k_1) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k_1 * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        int64_t condval_13;
        if (i_ptr[(i0_1 >> (int64_t)1)] < (int64_t)0) {
          condval_13 = (i_ptr[(i0_1 >> (int64_t)1)] + n);
        } else {
          condval_13 = i_ptr[(i0_1 >> (int64_t)1)];
        }
        int64_t condval_14;
        if (i_ptr[(i0_1 >> (int64_t)1)] < (int64_t)0) {
          condval_14 = (i_ptr[(i0_1 >> (int64_t)1)] + n);
        } else {
          condval_14 = i_ptr[(i0_1 >> (int64_t)1)];
        }
        if ((condval_13 < (int64_t)0) || (n <= condval_14)) {
          gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - ((i0_1 >> (int64_t)1) ^ (int64_t)0)));
          gs_atomic_max_int64((&(status_ptr[0])), 1);
        }
        alignas(8) int64_t at__ptr_1[1];
        int64_t condval_15;
        if (i_ptr[(i0_1 >> (int64_t)1)] < (int64_t)0) {
          condval_15 = (i_ptr[(i0_1 >> (int64_t)1)] + n);
        } else {
          condval_15 = i_ptr[(i0_1 >> (int64_t)1)];
        }
        at__ptr_1[0] = ((((int64_t)min(((uint64_t)(condval_15 ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)2) + (i0_1 & (int64_t)1));
        int64_t at0_1 = at__ptr_1[0];
        float4 v0_1 = *(float4*)(x_ptr + (at0_1 * (int64_t)4));
        if ((int64_t)1048576 < k) {
          gs_stream_16((&(out0_take_2_ptr[(i0_1 * (int64_t)4)])), (*(uint4 *)(&(v0_1))));
        } else {
          *(float4*)(out0_take_2_ptr + (i0_1 * (int64_t)4)) = v0_1;
        }
      }
    }
  }
}

extern "C" __global__ void take_rows_kernel_2(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, int64_t* __restrict__ status_ptr, int64_t k, int64_t n, int64_t threads) {
  if (status_ptr[0] != (int64_t)0) {
    if (status_ptr[1] != (int64_t)0) {
      int64_t p = ((int64_t)9223372036854775807 - status_ptr[1]);
      status_ptr[2] = i_ptr[p];
      status_ptr[1] = p;
    } else {
      status_ptr[1] = (int64_t)9223372036854775807;
    }
    if (threads < (int64_t)0) {
      status_ptr[3] = k;
      status_ptr[4] = n;
      gs_keep5((&(kept_ptr[0])), (&(status_ptr[0])));
    }
  }
  if (threads < (int64_t)0) {
    status_ptr[0] = (int64_t)0;
    status_ptr[1] = (int64_t)0;
    status_ptr[2] = (int64_t)0;
  }
}

