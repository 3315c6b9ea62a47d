__device__ __forceinline__ void gs_keep5(int64_t* kept, int64_t* record) {
  if (atomicCAS((unsigned long long*)kept, 0ull, 1ull) == 0)
    for (int k = 1; k < 5; ++k) kept[k] = record[k];
}

__device__ __forceinline__ void gs_matched_add_float32(float* p, int64_t cell, float v) {
  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32;
  unsigned int same = __match_any_sync(all, (unsigned long long)cell);
  unsigned int before = same & ((1u << lane) - 1), after = same & ~before & ~(1u << lane), rank = __popc(before);
  while (__any_sync(all, after != 0)) {
    int next = after ? __ffs(after) - 1 : (int)lane;
    float a = (float)v, b = __shfl_sync(all, (float)v, next);
    if (after) v = a + b;
    after &= ~__ballot_sync(all, rank & 1);
    rank >>= 1;
  }
  if (before || cell < 0) return;
  p += cell;
  atomicAdd((float*)p, (float)v);
}

__device__ __forceinline__ void gs_atomic_add_float32(float* p, float v) {
  atomicAdd((float*)p, (float)v);
}

__device__ __forceinline__ void gs_stream_16(void* p, uint4 v) {
  __stcs((uint4*)p, v);
}

__device__ __forceinline__ void gs_atomic_max_int64(int64_t* p, long long v) {
  atomicMax((long long*)p, v);
}

extern "C" __global__ void __launch_bounds__(256) scatter_add_kernel(int64_t* __restrict__ i_ptr, int64_t* __restrict__ status_ptr, int64_t k, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (k * (int64_t)8)) {
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

extern "C" __global__ void __launch_bounds__(256) scatter_add_kernel_1(float* __restrict__ out0_scatter_3_ptr, float* __restrict__ x_ptr, int64_t n) {
  alignas(8) int64_t grid__ptr[3];
  int64_t condval;
  if (n <= (int64_t)270336) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)512;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = (n * (int64_t)2);
  grid__ptr[2] = (n * (int64_t)2);
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  int64_t grid2 = grid__ptr[2];
  if ((grid0 == (int64_t)512) && (((((int64_t)blockIdx.x) * grid0) + (int64_t)512) <= grid2)) {
    alignas(8) int64_t i__ptr[2];
    i__ptr[0] = ((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x));
    i__ptr[1] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)256);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    alignas(8) int64_t at__ptr[2];
    at__ptr[0] = i0;
    at__ptr[1] = i1;
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    float4 v0 = *(float4*)(x_ptr + (at0 * (int64_t)4));
    float4 v1 = *(float4*)(x_ptr + (at1 * (int64_t)4));
    if ((int64_t)1048576 < n) {
      gs_stream_16((&(out0_scatter_3_ptr[(i0 * (int64_t)4)])), (*(uint4 *)(&(v0))));
      gs_stream_16((&(out0_scatter_3_ptr[(i1 * (int64_t)4)])), (*(uint4 *)(&(v1))));
    } else {
      *(float4*)(out0_scatter_3_ptr + (i0 * (int64_t)4)) = v0;
      *(float4*)(out0_scatter_3_ptr + (i1 * (int64_t)4)) = v1;
    }
  } else {
    for (int64_t k = (int64_t)0; k < (grid0 >> (int64_t)8); ++k) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        if (i0_1 < (n * (int64_t)2)) {
          alignas(8) int64_t at__ptr_1[1];
          at__ptr_1[0] = i0_1;
          int64_t at0_1 = at__ptr_1[0];
          float4 v0_1 = *(float4*)(x_ptr + (at0_1 * (int64_t)4));
          if ((int64_t)1048576 < n) {
            gs_stream_16((&(out0_scatter_3_ptr[(i0_1 * (int64_t)4)])), (*(uint4 *)(&(v0_1))));
          } else {
            *(float4*)(out0_scatter_3_ptr + (i0_1 * (int64_t)4)) = v0_1;
          }
        } else {
          for (int64_t c = (int64_t)0; c < ((n * (int64_t)8) - (i0_1 * (int64_t)4)); ++c) {
            out0_scatter_3_ptr[((i0_1 * (int64_t)4) + c)] = x_ptr[((i0_1 * (int64_t)4) + c)];
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(128) scatter_add_kernel_2(int64_t* __restrict__ i_ptr, float* __restrict__ out0_scatter_3_ptr, int64_t* __restrict__ status_ptr, float* __restrict__ v_ptr, int64_t in_place, int64_t k, int64_t n) {
  if (((in_place % (int64_t)2) < (int64_t)1) || (status_ptr[1] == (int64_t)0)) {
    alignas(8) int64_t grid__ptr[2];
    grid__ptr[0] = (max(min(((k + (int64_t)15) >> (int64_t)4), min((int64_t)1056, ((k * (int64_t)8) / max((n * (int64_t)16), (int64_t)1)))), (int64_t)1) * (int64_t)128);
    grid__ptr[1] = (k * (int64_t)8);
    int64_t grid0 = grid__ptr[0];
    int64_t grid1 = grid__ptr[1];
    __shared__ alignas(16) float v_private_ptr[8192];
    for (int64_t c = (int64_t)0; c < ((n + (int64_t)15) >> (int64_t)4); ++c) {
      if (((c * (int64_t)128) + ((int64_t)threadIdx.x)) < (n * (int64_t)8)) {
        v_private_ptr[((c * (int64_t)128) + ((int64_t)threadIdx.x))] = -0x0p+0f/*-0.000000e+00*/;
      }
    }
    __syncthreads();
    int64_t condval;
    if (grid1 <= (grid0 * (int64_t)4)) {
      condval = (int64_t)1;
    } else {
      condval = ((((grid0 * (int64_t)4) + grid1) - (int64_t)1) / (grid0 * (int64_t)4));
    }
    for (int64_t step = (int64_t)0; step < condval; ++step) {
      if ((((step + (int64_t)1) * grid0) * (int64_t)4) <= grid1) {
        alignas(8) int64_t i__ptr[4];
        i__ptr[0] = (((((int64_t)blockIdx.x) * (int64_t)128) + ((step * grid0) * (int64_t)4)) + ((int64_t)threadIdx.x));
        i__ptr[1] = ((((((int64_t)blockIdx.x) * (int64_t)128) + ((step * grid0) * (int64_t)4)) + grid0) + ((int64_t)threadIdx.x));
        i__ptr[2] = ((((((int64_t)blockIdx.x) * (int64_t)128) + ((step * grid0) * (int64_t)4)) + (grid0 * (int64_t)2)) + ((int64_t)threadIdx.x));
        i__ptr[3] = ((((((int64_t)blockIdx.x) * (int64_t)128) + ((step * grid0) * (int64_t)4)) + (grid0 * (int64_t)3)) + ((int64_t)threadIdx.x));
        int64_t i0 = i__ptr[0];
        int64_t i1 = i__ptr[1];
        int64_t i2 = i__ptr[2];
        int64_t i3 = i__ptr[3];
        alignas(8) int cell__ptr[4];
        int64_t condval_2;
        if (i_ptr[i0] < (int64_t)0) {
          condval_2 = (i_ptr[i0] + n);
        } else {
          condval_2 = i_ptr[i0];
        }
        int64_t condval_3;
        if (i_ptr[i0] < (int64_t)0) {
          condval_3 = (i_ptr[i0] + n);
        } else {
          condval_3 = i_ptr[i0];
        }
        int condval_1;
        if (((int64_t)0 <= condval_2) && (condval_3 < n)) {
          int64_t condval_4;
          if (i_ptr[i0] < (int64_t)0) {
            condval_4 = (i_ptr[i0] + n);
          } else {
            condval_4 = i_ptr[i0];
          }
          condval_1 = ((int)((((int64_t)min(((uint64_t)(condval_4 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + (i0 & (int64_t)7)));
        } else {
          condval_1 = -1;
        }
        cell__ptr[0] = condval_1;
        int64_t condval_6;
        if (i_ptr[i1] < (int64_t)0) {
          condval_6 = (i_ptr[i1] + n);
        } else {
          condval_6 = i_ptr[i1];
        }
        int64_t condval_7;
        if (i_ptr[i1] < (int64_t)0) {
          condval_7 = (i_ptr[i1] + n);
        } else {
          condval_7 = i_ptr[i1];
        }
        int condval_5;
        if (((int64_t)0 <= condval_6) && (condval_7 < n)) {
          int64_t condval_8;
          if (i_ptr[i1] < (int64_t)0) {
            condval_8 = (i_ptr[i1] + n);
          } else {
            condval_8 = i_ptr[i1];
          }
          condval_5 = ((int)((((int64_t)min(((uint64_t)(condval_8 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + (i1 & (int64_t)7)));
        } else {
          condval_5 = -1;
        }
        cell__ptr[1] = condval_5;
        int64_t condval_10;
        if (i_ptr[i2] < (int64_t)0) {
          condval_10 = (i_ptr[i2] + n);
        } else {
          condval_10 = i_ptr[i2];
        }
        int64_t condval_11;
        if (i_ptr[i2] < (int64_t)0) {
          condval_11 = (i_ptr[i2] + n);
        } else {
          condval_11 = i_ptr[i2];
        }
        int condval_9;
        if (((int64_t)0 <= condval_10) && (condval_11 < n)) {
          int64_t condval_12;
          if (i_ptr[i2] < (int64_t)0) {
            condval_12 = (i_ptr[i2] + n);
          } else {
            condval_12 = i_ptr[i2];
          }
          condval_9 = ((int)((((int64_t)min(((uint64_t)(condval_12 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + (i2 & (int64_t)7)));
        } else {
          condval_9 = -1;
        }
        cell__ptr[2] = condval_9;
        int64_t condval_14;
        if (i_ptr[i3] < (int64_t)0) {
          condval_14 = (i_ptr[i3] + n);
        } else {
          condval_14 = i_ptr[i3];
        }
        int64_t condval_15;
        if (i_ptr[i3] < (int64_t)0) {
          condval_15 = (i_ptr[i3] + n);
        } else {
          condval_15 = i_ptr[i3];
        }
        int condval_13;
        if (((int64_t)0 <= condval_14) && (condval_15 < n)) {
          int64_t condval_16;
          if (i_ptr[i3] < (int64_t)0) {
            condval_16 = (i_ptr[i3] + n);
          } else {
            condval_16 = i_ptr[i3];
          }
          condval_13 = ((int)((((int64_t)min(((uint64_t)(condval_16 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + (i3 & (int64_t)7)));
        } else {
          condval_13 = -1;
        }
        cell__ptr[3] = condval_13;
        int cell0 = cell__ptr[0];
        int cell1 = cell__ptr[1];
        int cell2 = cell__ptr[2];
        int cell3 = cell__ptr[3];
        float v0 = v_ptr[i0];
        float v1 = v_ptr[i1];
        float v2 = v_ptr[i2];
        float v3 = v_ptr[i3];
        int64_t condval_17;
        if (i_ptr[i0] < (int64_t)0) {
          condval_17 = (i_ptr[i0] + n);
        } else {
          condval_17 = i_ptr[i0];
        }
        int64_t condval_18;
        if (i_ptr[i0] < (int64_t)0) {
          condval_18 = (i_ptr[i0] + n);
        } else {
          condval_18 = i_ptr[i0];
        }
        if ((condval_17 < (int64_t)0) || (n <= condval_18)) {
          gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (i0 ^ (int64_t)0)));
          gs_atomic_max_int64((&(status_ptr[0])), 1);
        }
        int64_t condval_19;
        if (i_ptr[i1] < (int64_t)0) {
          condval_19 = (i_ptr[i1] + n);
        } else {
          condval_19 = i_ptr[i1];
        }
        int64_t condval_20;
        if (i_ptr[i1] < (int64_t)0) {
          condval_20 = (i_ptr[i1] + n);
        } else {
          condval_20 = i_ptr[i1];
        }
        if ((condval_19 < (int64_t)0) || (n <= condval_20)) {
          gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (i1 ^ (int64_t)0)));
          gs_atomic_max_int64((&(status_ptr[0])), 1);
        }
        int64_t condval_21;
        if (i_ptr[i2] < (int64_t)0) {
          condval_21 = (i_ptr[i2] + n);
        } else {
          condval_21 = i_ptr[i2];
        }
        int64_t condval_22;
        if (i_ptr[i2] < (int64_t)0) {
          condval_22 = (i_ptr[i2] + n);
        } else {
          condval_22 = i_ptr[i2];
        }
        if ((condval_21 < (int64_t)0) || (n <= condval_22)) {
          gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (i2 ^ (int64_t)0)));
          gs_atomic_max_int64((&(status_ptr[0])), 1);
        }
        int64_t condval_23;
        if (i_ptr[i3] < (int64_t)0) {
          condval_23 = (i_ptr[i3] + n);
        } else {
          condval_23 = i_ptr[i3];
        }
        int64_t condval_24;
        if (i_ptr[i3] < (int64_t)0) {
          condval_24 = (i_ptr[i3] + n);
        } else {
          condval_24 = i_ptr[i3];
        }
        if ((condval_23 < (int64_t)0) || (n <= condval_24)) {
          gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (i3 ^ (int64_t)0)));
          gs_atomic_max_int64((&(status_ptr[0])), 1);
        }
        if (0 <= cell0) {
          gs_atomic_add_float32((&(v_private_ptr[cell0])), v0);
        }
        if (0 <= cell1) {
          gs_atomic_add_float32((&(v_private_ptr[cell1])), v1);
        }
        if (0 <= cell2) {
          gs_atomic_add_float32((&(v_private_ptr[cell2])), v2);
        }
        if (0 <= cell3) {
          gs_atomic_add_float32((&(v_private_ptr[cell3])), v3);
        }
      } else {
        for (int64_t k_1 = (int64_t)0; k_1 < (int64_t)4; ++k_1) {
          alignas(8) int64_t i__ptr_1[1];
          i__ptr_1[0] = ((((((int64_t)blockIdx.x) * (int64_t)128) + ((step * grid0) * (int64_t)4)) + (grid0 * k_1)) + ((int64_t)threadIdx.x));
          int64_t i0_1 = i__ptr_1[0];
          if (i0_1 < grid1) {
            alignas(8) int cell__ptr_1[1];
            int64_t condval_26;
            if (i_ptr[i0_1] < (int64_t)0) {
              condval_26 = (i_ptr[i0_1] + n);
            } else {
              condval_26 = i_ptr[i0_1];
            }
            int64_t condval_27;
            if (i_ptr[i0_1] < (int64_t)0) {
              condval_27 = (i_ptr[i0_1] + n);
            } else {
              condval_27 = i_ptr[i0_1];
            }
            int condval_25;
            if (((int64_t)0 <= condval_26) && (condval_27 < n)) {
              int64_t condval_28;
              if (i_ptr[i0_1] < (int64_t)0) {
                condval_28 = (i_ptr[i0_1] + n);
              } else {
                condval_28 = i_ptr[i0_1];
              }
              condval_25 = ((int)((((int64_t)min(((uint64_t)(condval_28 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + (i0_1 & (int64_t)7)));
            } else {
              condval_25 = -1;
            }
            cell__ptr_1[0] = condval_25;
            int cell0_1 = cell__ptr_1[0];
            float v0_1 = v_ptr[i0_1];
            int64_t condval_29;
            if (i_ptr[i0_1] < (int64_t)0) {
              condval_29 = (i_ptr[i0_1] + n);
            } else {
              condval_29 = i_ptr[i0_1];
            }
            int64_t condval_30;
            if (i_ptr[i0_1] < (int64_t)0) {
              condval_30 = (i_ptr[i0_1] + n);
            } else {
              condval_30 = i_ptr[i0_1];
            }
            if ((condval_29 < (int64_t)0) || (n <= condval_30)) {
              gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (i0_1 ^ (int64_t)0)));
              gs_atomic_max_int64((&(status_ptr[0])), 1);
            }
            if (0 <= cell0_1) {
              gs_atomic_add_float32((&(v_private_ptr[cell0_1])), v0_1);
            }
          }
        }
      }
    }
    __syncthreads();
    for (int64_t c_1 = (int64_t)0; c_1 < ((n + (int64_t)15) >> (int64_t)4); ++c_1) {
      if (((c_1 * (int64_t)128) + ((int64_t)threadIdx.x)) < (n * (int64_t)8)) {
        float own = v_private_ptr[((c_1 * (int64_t)128) + ((int64_t)threadIdx.x))];
        if ((*(uint *)(&(own))) != (uint)2147483648) {
          gs_atomic_add_float32((&(out0_scatter_3_ptr[((c_1 * (int64_t)128) + ((int64_t)threadIdx.x))])), own);
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) scatter_add_kernel_3(int64_t* __restrict__ i_ptr, float* __restrict__ out0_scatter_3_ptr, int64_t* __restrict__ status_ptr, float* __restrict__ v_ptr, int64_t in_place, int64_t k, int64_t n) {
  if ((((((int64_t)blockIdx.x) * (int64_t)8) + (((int64_t)threadIdx.x) >> (int64_t)5)) < ((k + (int64_t)15) >> (int64_t)4)) && (((in_place % (int64_t)2) < (int64_t)1) || (status_ptr[1] == (int64_t)0))) {
    alignas(8) int64_t i__ptr[4];
    i__ptr[0] = (((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31));
    i__ptr[1] = ((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32);
    i__ptr[2] = ((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)64);
    i__ptr[3] = ((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)96);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    int64_t i2 = i__ptr[2];
    int64_t i3 = i__ptr[3];
    alignas(8) int64_t at__ptr[8];
    at__ptr[0] = (i0 >> (int64_t)3);
    at__ptr[1] = (i0 & (int64_t)7);
    at__ptr[2] = (i1 >> (int64_t)3);
    at__ptr[3] = (i1 & (int64_t)7);
    at__ptr[4] = (i2 >> (int64_t)3);
    at__ptr[5] = (i2 & (int64_t)7);
    at__ptr[6] = (i3 >> (int64_t)3);
    at__ptr[7] = (i3 & (int64_t)7);
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    int64_t at2 = at__ptr[2];
    int64_t at3 = at__ptr[3];
    int64_t at4 = at__ptr[4];
    int64_t at5 = at__ptr[5];
    int64_t at6 = at__ptr[6];
    int64_t at7 = at__ptr[7];
    alignas(8) int64_t cell__ptr[4];
    int64_t condval;
    if (i0 < (k * (int64_t)8)) {
      int64_t condval_2;
      if (i_ptr[((at0 * (int64_t)8) + at1)] < (int64_t)0) {
        condval_2 = (i_ptr[((at0 * (int64_t)8) + at1)] + n);
      } else {
        condval_2 = i_ptr[((at0 * (int64_t)8) + at1)];
      }
      int64_t condval_3;
      if (i_ptr[((at0 * (int64_t)8) + at1)] < (int64_t)0) {
        condval_3 = (i_ptr[((at0 * (int64_t)8) + at1)] + n);
      } else {
        condval_3 = i_ptr[((at0 * (int64_t)8) + at1)];
      }
      int64_t condval_1;
      if (((int64_t)0 <= condval_2) && (condval_3 < n)) {
        int64_t condval_4;
        if (i_ptr[((at0 * (int64_t)8) + at1)] < (int64_t)0) {
          condval_4 = (i_ptr[((at0 * (int64_t)8) + at1)] + n);
        } else {
          condval_4 = i_ptr[((at0 * (int64_t)8) + at1)];
        }
        condval_1 = ((((int64_t)min(((uint64_t)(condval_4 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + at1);
      } else {
        condval_1 = (int64_t)-2;
      }
      condval = condval_1;
    } else {
      condval = (int64_t)-1;
    }
    cell__ptr[0] = condval;
    int64_t condval_5;
    if (i1 < (k * (int64_t)8)) {
      int64_t condval_7;
      if (i_ptr[((at2 * (int64_t)8) + at3)] < (int64_t)0) {
        condval_7 = (i_ptr[((at2 * (int64_t)8) + at3)] + n);
      } else {
        condval_7 = i_ptr[((at2 * (int64_t)8) + at3)];
      }
      int64_t condval_8;
      if (i_ptr[((at2 * (int64_t)8) + at3)] < (int64_t)0) {
        condval_8 = (i_ptr[((at2 * (int64_t)8) + at3)] + n);
      } else {
        condval_8 = i_ptr[((at2 * (int64_t)8) + at3)];
      }
      int64_t condval_6;
      if (((int64_t)0 <= condval_7) && (condval_8 < n)) {
        int64_t condval_9;
        if (i_ptr[((at2 * (int64_t)8) + at3)] < (int64_t)0) {
          condval_9 = (i_ptr[((at2 * (int64_t)8) + at3)] + n);
        } else {
          condval_9 = i_ptr[((at2 * (int64_t)8) + at3)];
        }
        condval_6 = ((((int64_t)min(((uint64_t)(condval_9 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + at3);
      } else {
        condval_6 = (int64_t)-2;
      }
      condval_5 = condval_6;
    } else {
      condval_5 = (int64_t)-1;
    }
    cell__ptr[1] = condval_5;
    int64_t condval_10;
    if (i2 < (k * (int64_t)8)) {
      int64_t condval_12;
      if (i_ptr[((at4 * (int64_t)8) + at5)] < (int64_t)0) {
        condval_12 = (i_ptr[((at4 * (int64_t)8) + at5)] + n);
      } else {
        condval_12 = i_ptr[((at4 * (int64_t)8) + at5)];
      }
      int64_t condval_13;
      if (i_ptr[((at4 * (int64_t)8) + at5)] < (int64_t)0) {
        condval_13 = (i_ptr[((at4 * (int64_t)8) + at5)] + n);
      } else {
        condval_13 = i_ptr[((at4 * (int64_t)8) + at5)];
      }
      int64_t condval_11;
      if (((int64_t)0 <= condval_12) && (condval_13 < n)) {
        int64_t condval_14;
        if (i_ptr[((at4 * (int64_t)8) + at5)] < (int64_t)0) {
          condval_14 = (i_ptr[((at4 * (int64_t)8) + at5)] + n);
        } else {
          condval_14 = i_ptr[((at4 * (int64_t)8) + at5)];
        }
        condval_11 = ((((int64_t)min(((uint64_t)(condval_14 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + at5);
      } else {
        condval_11 = (int64_t)-2;
      }
      condval_10 = condval_11;
    } else {
      condval_10 = (int64_t)-1;
    }
    cell__ptr[2] = condval_10;
    int64_t condval_15;
    if (i3 < (k * (int64_t)8)) {
      int64_t condval_17;
      if (i_ptr[((at6 * (int64_t)8) + at7)] < (int64_t)0) {
        condval_17 = (i_ptr[((at6 * (int64_t)8) + at7)] + n);
      } else {
        condval_17 = i_ptr[((at6 * (int64_t)8) + at7)];
      }
      int64_t condval_18;
      if (i_ptr[((at6 * (int64_t)8) + at7)] < (int64_t)0) {
        condval_18 = (i_ptr[((at6 * (int64_t)8) + at7)] + n);
      } else {
        condval_18 = i_ptr[((at6 * (int64_t)8) + at7)];
      }
      int64_t condval_16;
      if (((int64_t)0 <= condval_17) && (condval_18 < n)) {
        int64_t condval_19;
        if (i_ptr[((at6 * (int64_t)8) + at7)] < (int64_t)0) {
          condval_19 = (i_ptr[((at6 * (int64_t)8) + at7)] + n);
        } else {
          condval_19 = i_ptr[((at6 * (int64_t)8) + at7)];
        }
        condval_16 = ((((int64_t)min(((uint64_t)(condval_19 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + at7);
      } else {
        condval_16 = (int64_t)-2;
      }
      condval_15 = condval_16;
    } else {
      condval_15 = (int64_t)-1;
    }
    cell__ptr[3] = condval_15;
    int64_t cell0 = cell__ptr[0];
    int64_t cell1 = cell__ptr[1];
    int64_t cell2 = cell__ptr[2];
    int64_t cell3 = cell__ptr[3];
    float condval_20;
    if ((int64_t)0 <= cell0) {
      condval_20 = v_ptr[((at0 * (int64_t)8) + at1)];
    } else {
      condval_20 = 0x0p+0f/*0.000000e+00*/;
    }
    float v0 = condval_20;
    float condval_21;
    if ((int64_t)0 <= cell1) {
      condval_21 = v_ptr[((at2 * (int64_t)8) + at3)];
    } else {
      condval_21 = 0x0p+0f/*0.000000e+00*/;
    }
    float v1 = condval_21;
    float condval_22;
    if ((int64_t)0 <= cell2) {
      condval_22 = v_ptr[((at4 * (int64_t)8) + at5)];
    } else {
      condval_22 = 0x0p+0f/*0.000000e+00*/;
    }
    float v2 = condval_22;
    float condval_23;
    if ((int64_t)0 <= cell3) {
      condval_23 = v_ptr[((at6 * (int64_t)8) + at7)];
    } else {
      condval_23 = 0x0p+0f/*0.000000e+00*/;
    }
    float v3 = condval_23;
    if (i0 < (k * (int64_t)8)) {
      int64_t condval_24;
      if (i_ptr[((at0 * (int64_t)8) + at1)] < (int64_t)0) {
        condval_24 = (i_ptr[((at0 * (int64_t)8) + at1)] + n);
      } else {
        condval_24 = i_ptr[((at0 * (int64_t)8) + at1)];
      }
      int64_t condval_25;
      if (i_ptr[((at0 * (int64_t)8) + at1)] < (int64_t)0) {
        condval_25 = (i_ptr[((at0 * (int64_t)8) + at1)] + n);
      } else {
        condval_25 = i_ptr[((at0 * (int64_t)8) + at1)];
      }
      if ((condval_24 < (int64_t)0) || (n <= condval_25)) {
        gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (((at0 * (int64_t)8) + at1) ^ (int64_t)0)));
        gs_atomic_max_int64((&(status_ptr[0])), 1);
      }
    }
    if (i1 < (k * (int64_t)8)) {
      int64_t condval_26;
      if (i_ptr[((at2 * (int64_t)8) + at3)] < (int64_t)0) {
        condval_26 = (i_ptr[((at2 * (int64_t)8) + at3)] + n);
      } else {
        condval_26 = i_ptr[((at2 * (int64_t)8) + at3)];
      }
      int64_t condval_27;
      if (i_ptr[((at2 * (int64_t)8) + at3)] < (int64_t)0) {
        condval_27 = (i_ptr[((at2 * (int64_t)8) + at3)] + n);
      } else {
        condval_27 = i_ptr[((at2 * (int64_t)8) + at3)];
      }
      if ((condval_26 < (int64_t)0) || (n <= condval_27)) {
        gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (((at2 * (int64_t)8) + at3) ^ (int64_t)0)));
        gs_atomic_max_int64((&(status_ptr[0])), 1);
      }
    }
    if (i2 < (k * (int64_t)8)) {
      int64_t condval_28;
      if (i_ptr[((at4 * (int64_t)8) + at5)] < (int64_t)0) {
        condval_28 = (i_ptr[((at4 * (int64_t)8) + at5)] + n);
      } else {
        condval_28 = i_ptr[((at4 * (int64_t)8) + at5)];
      }
      int64_t condval_29;
      if (i_ptr[((at4 * (int64_t)8) + at5)] < (int64_t)0) {
        condval_29 = (i_ptr[((at4 * (int64_t)8) + at5)] + n);
      } else {
        condval_29 = i_ptr[((at4 * (int64_t)8) + at5)];
      }
      if ((condval_28 < (int64_t)0) || (n <= condval_29)) {
        gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (((at4 * (int64_t)8) + at5) ^ (int64_t)0)));
        gs_atomic_max_int64((&(status_ptr[0])), 1);
      }
    }
    if (i3 < (k * (int64_t)8)) {
      int64_t condval_30;
      if (i_ptr[((at6 * (int64_t)8) + at7)] < (int64_t)0) {
        condval_30 = (i_ptr[((at6 * (int64_t)8) + at7)] + n);
      } else {
        condval_30 = i_ptr[((at6 * (int64_t)8) + at7)];
      }
      int64_t condval_31;
      if (i_ptr[((at6 * (int64_t)8) + at7)] < (int64_t)0) {
        condval_31 = (i_ptr[((at6 * (int64_t)8) + at7)] + n);
      } else {
        condval_31 = i_ptr[((at6 * (int64_t)8) + at7)];
      }
      if ((condval_30 < (int64_t)0) || (n <= condval_31)) {
        gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (((at6 * (int64_t)8) + at7) ^ (int64_t)0)));
        gs_atomic_max_int64((&(status_ptr[0])), 1);
      }
    }
    gs_matched_add_float32((&(out0_scatter_3_ptr[0])), cell0, v0);
    gs_matched_add_float32((&(out0_scatter_3_ptr[0])), cell1, v1);
    gs_matched_add_float32((&(out0_scatter_3_ptr[0])), cell2, v2);
    gs_matched_add_float32((&(out0_scatter_3_ptr[0])), cell3, v3);
  }
}

extern "C" __global__ void scatter_add_kernel_4(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, int64_t* __restrict__ status_ptr, int64_t k, int64_t n, int64_t threads) {
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

