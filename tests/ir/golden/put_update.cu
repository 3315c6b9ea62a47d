__device__ __forceinline__ void gs_atomic_max_int64(int64_t* p, long long v) {
  atomicMax((long long*)p, v);
}

__device__ __forceinline__ void gs_fill_2_int64(void* p, int64_t v) {
  unsigned long long w = v;
  *(ulonglong2*)p = make_ulonglong2(w, w);
}

__device__ __forceinline__ void gs_stream_16(void* p, uint4 v) {
  __stcs((uint4*)p, v);
}

__device__ __forceinline__ void gs_matched_max_int32(int* p, int64_t cell, int v) {
  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32;
  unsigned int same = __match_any_sync(all, (unsigned long long)cell);
  unsigned int before = same & ((1u << lane) - 1), after = same & ~before & ~(1u << lane), rank = __popc(before);
  while (__any_sync(all, after != 0)) {
    int next = after ? __ffs(after) - 1 : (int)lane;
    int a = (int)v, b = __shfl_sync(all, (int)v, next);
    if (after) v = (b > a || b != b) && a == a ? b : a;
    after &= ~__ballot_sync(all, rank & 1);
    rank >>= 1;
  }
  if (before || cell < 0) return;
  p += cell;
  atomicMax((int*)p, v);
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel(int* __restrict__ put_3_owner32_ptr, int64_t n) {
  alignas(8) int64_t grid__ptr[3];
  int64_t condval;
  if (n <= (int64_t)2162688) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)512;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = ((n + (int64_t)3) >> (int64_t)2);
  grid__ptr[2] = (n >> (int64_t)2);
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  int64_t grid2 = grid__ptr[2];
  if ((grid0 == (int64_t)512) && (((((int64_t)blockIdx.x) * grid0) + (int64_t)512) <= grid2)) {
    alignas(8) int64_t i__ptr[2];
    i__ptr[0] = ((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x));
    i__ptr[1] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)256);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    *(int4*)(put_3_owner32_ptr + (i0 * (int64_t)4)) = make_int4(-1, -1, -1, -1);
    *(int4*)(put_3_owner32_ptr + (i1 * (int64_t)4)) = make_int4(-1, -1, -1, -1);
  } else {
    for (int64_t k = (int64_t)0; k < (grid0 >> (int64_t)8); ++k) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        if (((i0_1 * (int64_t)4) + (int64_t)4) <= n) {
          *(int4*)(put_3_owner32_ptr + (i0_1 * (int64_t)4)) = make_int4(-1, -1, -1, -1);
        } else {
          for (int64_t c = (int64_t)0; c < (n - (i0_1 * (int64_t)4)); ++c) {
            put_3_owner32_ptr[((i0_1 * (int64_t)4) + c)] = -1;
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) put_update_kernel_1(int64_t* __restrict__ i_ptr, int* __restrict__ put_3_owner32_ptr, int64_t k, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)8) + (((int64_t)threadIdx.x) >> (int64_t)5)) < ((k + (int64_t)127) >> (int64_t)7)) {
    alignas(8) int64_t i__ptr[4];
    i__ptr[0] = (((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31));
    i__ptr[1] = ((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32);
    i__ptr[2] = ((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)64);
    i__ptr[3] = ((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)96);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    int64_t i2 = i__ptr[2];
    int64_t i3 = i__ptr[3];
    alignas(8) int64_t at__ptr[4];
    at__ptr[0] = ((int64_t)((int)i0));
    at__ptr[1] = ((int64_t)((int)i1));
    at__ptr[2] = ((int64_t)((int)i2));
    at__ptr[3] = ((int64_t)((int)i3));
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    int64_t at2 = at__ptr[2];
    int64_t at3 = at__ptr[3];
    alignas(8) int64_t cell__ptr[4];
    int64_t condval;
    if (i0 < k) {
      int64_t condval_2;
      if (i_ptr[at0] < (int64_t)0) {
        condval_2 = (i_ptr[at0] + n);
      } else {
        condval_2 = i_ptr[at0];
      }
      int64_t condval_3;
      if (i_ptr[at0] < (int64_t)0) {
        condval_3 = (i_ptr[at0] + n);
      } else {
        condval_3 = i_ptr[at0];
      }
      int64_t condval_1;
      if (((int64_t)0 <= condval_2) && (condval_3 < n)) {
        int64_t condval_4;
        if (i_ptr[at0] < (int64_t)0) {
          condval_4 = (i_ptr[at0] + n);
        } else {
          condval_4 = i_ptr[at0];
        }
        condval_1 = ((int64_t)min(((uint64_t)(condval_4 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0))));
      } else {
        condval_1 = (int64_t)-2;
      }
      condval = condval_1;
    } else {
      condval = (int64_t)-1;
    }
    cell__ptr[0] = condval;
    int64_t condval_5;
    if (i1 < k) {
      int64_t condval_7;
      if (i_ptr[at1] < (int64_t)0) {
        condval_7 = (i_ptr[at1] + n);
      } else {
        condval_7 = i_ptr[at1];
      }
      int64_t condval_8;
      if (i_ptr[at1] < (int64_t)0) {
        condval_8 = (i_ptr[at1] + n);
      } else {
        condval_8 = i_ptr[at1];
      }
      int64_t condval_6;
      if (((int64_t)0 <= condval_7) && (condval_8 < n)) {
        int64_t condval_9;
        if (i_ptr[at1] < (int64_t)0) {
          condval_9 = (i_ptr[at1] + n);
        } else {
          condval_9 = i_ptr[at1];
        }
        condval_6 = ((int64_t)min(((uint64_t)(condval_9 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0))));
      } else {
        condval_6 = (int64_t)-2;
      }
      condval_5 = condval_6;
    } else {
      condval_5 = (int64_t)-1;
    }
    cell__ptr[1] = condval_5;
    int64_t condval_10;
    if (i2 < k) {
      int64_t condval_12;
      if (i_ptr[at2] < (int64_t)0) {
        condval_12 = (i_ptr[at2] + n);
      } else {
        condval_12 = i_ptr[at2];
      }
      int64_t condval_13;
      if (i_ptr[at2] < (int64_t)0) {
        condval_13 = (i_ptr[at2] + n);
      } else {
        condval_13 = i_ptr[at2];
      }
      int64_t condval_11;
      if (((int64_t)0 <= condval_12) && (condval_13 < n)) {
        int64_t condval_14;
        if (i_ptr[at2] < (int64_t)0) {
          condval_14 = (i_ptr[at2] + n);
        } else {
          condval_14 = i_ptr[at2];
        }
        condval_11 = ((int64_t)min(((uint64_t)(condval_14 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0))));
      } else {
        condval_11 = (int64_t)-2;
      }
      condval_10 = condval_11;
    } else {
      condval_10 = (int64_t)-1;
    }
    cell__ptr[2] = condval_10;
    int64_t condval_15;
    if (i3 < k) {
      int64_t condval_17;
      if (i_ptr[at3] < (int64_t)0) {
        condval_17 = (i_ptr[at3] + n);
      } else {
        condval_17 = i_ptr[at3];
      }
      int64_t condval_18;
      if (i_ptr[at3] < (int64_t)0) {
        condval_18 = (i_ptr[at3] + n);
      } else {
        condval_18 = i_ptr[at3];
      }
      int64_t condval_16;
      if (((int64_t)0 <= condval_17) && (condval_18 < n)) {
        int64_t condval_19;
        if (i_ptr[at3] < (int64_t)0) {
          condval_19 = (i_ptr[at3] + n);
        } else {
          condval_19 = i_ptr[at3];
        }
        condval_16 = ((int64_t)min(((uint64_t)(condval_19 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0))));
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
    int condval_20;
    if ((int64_t)0 <= cell0) {
      condval_20 = ((int)at0);
    } else {
      condval_20 = 0;
    }
    int v0 = condval_20;
    int condval_21;
    if ((int64_t)0 <= cell1) {
      condval_21 = ((int)at1);
    } else {
      condval_21 = 0;
    }
    int v1 = condval_21;
    int condval_22;
    if ((int64_t)0 <= cell2) {
      condval_22 = ((int)at2);
    } else {
      condval_22 = 0;
    }
    int v2 = condval_22;
    int condval_23;
    if ((int64_t)0 <= cell3) {
      condval_23 = ((int)at3);
    } else {
      condval_23 = 0;
    }
    int v3 = condval_23;
    int condval_24;
    if ((int64_t)0 <= cell0) {
      condval_24 = ((int)at0);
    } else {
      condval_24 = 0;
    }
    gs_matched_max_int32((&(put_3_owner32_ptr[0])), cell0, condval_24);
    int condval_25;
    if ((int64_t)0 <= cell1) {
      condval_25 = ((int)at1);
    } else {
      condval_25 = 0;
    }
    gs_matched_max_int32((&(put_3_owner32_ptr[0])), cell1, condval_25);
    int condval_26;
    if ((int64_t)0 <= cell2) {
      condval_26 = ((int)at2);
    } else {
      condval_26 = 0;
    }
    gs_matched_max_int32((&(put_3_owner32_ptr[0])), cell2, condval_26);
    int condval_27;
    if ((int64_t)0 <= cell3) {
      condval_27 = ((int)at3);
    } else {
      condval_27 = 0;
    }
    gs_matched_max_int32((&(put_3_owner32_ptr[0])), cell3, condval_27);
  }
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel_2(int64_t* __restrict__ put_3_owner64_ptr, int64_t n) {
  alignas(8) int64_t grid__ptr[3];
  int64_t condval;
  if (n <= (int64_t)1081344) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)512;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = ((n + (int64_t)1) >> (int64_t)1);
  grid__ptr[2] = (n >> (int64_t)1);
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  int64_t grid2 = grid__ptr[2];
  if ((grid0 == (int64_t)512) && (((((int64_t)blockIdx.x) * grid0) + (int64_t)512) <= grid2)) {
    alignas(8) int64_t i__ptr[2];
    i__ptr[0] = ((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x));
    i__ptr[1] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)256);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    gs_fill_2_int64((&(put_3_owner64_ptr[(i0 * (int64_t)2)])), -1);
    gs_fill_2_int64((&(put_3_owner64_ptr[(i1 * (int64_t)2)])), -1);
  } else {
    for (int64_t k = (int64_t)0; k < (grid0 >> (int64_t)8); ++k) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        if (((i0_1 * (int64_t)2) + (int64_t)2) <= n) {
          gs_fill_2_int64((&(put_3_owner64_ptr[(i0_1 * (int64_t)2)])), -1);
        } else {
          for (int64_t c = (int64_t)0; c < (n - (i0_1 * (int64_t)2)); ++c) {
            put_3_owner64_ptr[((i0_1 * (int64_t)2) + c)] = (int64_t)-1;
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel_3(int64_t* __restrict__ i_ptr, int64_t* __restrict__ put_3_owner64_ptr, int64_t k, int64_t n) {
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
    if (((int64_t)0 <= condval) && (condval_1 < n)) {
      int64_t condval_2;
      if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] < (int64_t)0) {
        condval_2 = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] + n);
      } else {
        condval_2 = i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
      }
      gs_atomic_max_int64((&(put_3_owner64_ptr[((int64_t)min(((uint64_t)(condval_2 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0))))])), ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)));
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel_4(float* __restrict__ out0_put_3_ptr, float* __restrict__ x_ptr, int64_t n) {
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
      gs_stream_16((&(out0_put_3_ptr[(i0 * (int64_t)4)])), (*(uint4 *)(&(v0))));
      gs_stream_16((&(out0_put_3_ptr[(i1 * (int64_t)4)])), (*(uint4 *)(&(v1))));
    } else {
      *(float4*)(out0_put_3_ptr + (i0 * (int64_t)4)) = v0;
      *(float4*)(out0_put_3_ptr + (i1 * (int64_t)4)) = v1;
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
            gs_stream_16((&(out0_put_3_ptr[(i0_1 * (int64_t)4)])), (*(uint4 *)(&(v0_1))));
          } else {
            *(float4*)(out0_put_3_ptr + (i0_1 * (int64_t)4)) = v0_1;
          }
        } else {
          for (int64_t c = (int64_t)0; c < ((n * (int64_t)8) - (i0_1 * (int64_t)4)); ++c) {
            out0_put_3_ptr[((i0_1 * (int64_t)4) + c)] = x_ptr[((i0_1 * (int64_t)4) + c)];
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel_5(int64_t* __restrict__ i_ptr, float* __restrict__ out0_put_3_ptr, int* __restrict__ put_3_owner32_ptr, float* __restrict__ v_ptr, int64_t k, int64_t n) {
  if (((((int)blockIdx.x) * 256) + ((int)threadIdx.x)) < ((int)(k * (int64_t)2))) {
    int i = ((((int)blockIdx.x) * 256) + ((int)threadIdx.x));
    int64_t condval;
    if (i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))] < (int64_t)0) {
      condval = (i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))] + n);
    } else {
      condval = i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))];
    }
    int64_t condval_1;
    if (i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))] < (int64_t)0) {
      condval_1 = (i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))] + n);
    } else {
      condval_1 = i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))];
    }
    if (((int64_t)0 <= condval) && (condval_1 < n)) {
      int64_t condval_2;
      if (i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))] < (int64_t)0) {
        condval_2 = (i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))] + n);
      } else {
        condval_2 = i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))];
      }
      if (put_3_owner32_ptr[((int64_t)min(((uint64_t)(condval_2 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0))))] == ((((int)blockIdx.x) * 128) + (((int)threadIdx.x) >> 1))) {
        int64_t condval_3;
        if (i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))] < (int64_t)0) {
          condval_3 = (i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))] + n);
        } else {
          condval_3 = i_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))];
        }
        *(float4*)(out0_put_3_ptr + ((((int64_t)min(((uint64_t)(condval_3 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + ((((int64_t)((int)threadIdx.x)) & (int64_t)1) * (int64_t)4))) = *(float4*)(v_ptr + ((((int64_t)((int)blockIdx.x)) * (int64_t)1024) + (((int64_t)((int)threadIdx.x)) * (int64_t)4)));
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel_6(float* __restrict__ out0_put_3_ptr, int* __restrict__ put_3_owner32_ptr, float* __restrict__ v_ptr, int64_t n) {
  if (((((int)blockIdx.x) * 256) + ((int)threadIdx.x)) < ((int)(n * (int64_t)2))) {
    int i = ((((int)blockIdx.x) * 256) + ((int)threadIdx.x));
    if (0 <= put_3_owner32_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))]) {
      *(float4*)(out0_put_3_ptr + ((((int64_t)((int)blockIdx.x)) * (int64_t)1024) + (((int64_t)((int)threadIdx.x)) * (int64_t)4))) = *(float4*)(v_ptr + ((((int64_t)put_3_owner32_ptr[((((int64_t)((int)blockIdx.x)) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) >> (int64_t)1))]) * (int64_t)8) + ((((int64_t)((int)threadIdx.x)) & (int64_t)1) * (int64_t)4)));
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel_7(float* __restrict__ out0_put_3_ptr, int* __restrict__ put_3_owner32_ptr, float* __restrict__ v_ptr, float* __restrict__ x_ptr, int64_t n) {
  alignas(8) int grid__ptr[2];
  int64_t condval;
  if (n <= (int64_t)270336) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)512;
  }
  grid__ptr[0] = ((int)condval);
  grid__ptr[1] = ((int)(n * (int64_t)2));
  int grid0 = grid__ptr[0];
  int grid1 = grid__ptr[1];
  if ((grid0 == 512) && (((((int)blockIdx.x) * grid0) + 512) <= grid1)) {
    alignas(8) int i__ptr[2];
    i__ptr[0] = ((((int)blockIdx.x) * grid0) + ((int)threadIdx.x));
    i__ptr[1] = (((((int)blockIdx.x) * grid0) + ((int)threadIdx.x)) + 256);
    int i0 = i__ptr[0];
    int i1 = i__ptr[1];
    alignas(8) int64_t at__ptr[2];
    int64_t condval_1;
    if (0 <= put_3_owner32_ptr[(i0 >> 1)]) {
      condval_1 = ((((int64_t)put_3_owner32_ptr[(i0 >> 1)]) * (int64_t)2) + (((int64_t)i0) & (int64_t)1));
    } else {
      condval_1 = (((int64_t)0 - ((int64_t)i0)) - (int64_t)1);
    }
    at__ptr[0] = condval_1;
    int64_t condval_2;
    if (0 <= put_3_owner32_ptr[(i1 >> 1)]) {
      condval_2 = ((((int64_t)put_3_owner32_ptr[(i1 >> 1)]) * (int64_t)2) + (((int64_t)i1) & (int64_t)1));
    } else {
      condval_2 = (((int64_t)0 - ((int64_t)i1)) - (int64_t)1);
    }
    at__ptr[1] = condval_2;
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    float4 condval_3;
    if ((int64_t)0 <= at0) {
      condval_3 = *(float4*)(v_ptr + (at0 * (int64_t)4));
    } else {
      condval_3 = *(float4*)(x_ptr + (((int64_t)0 - (at0 * (int64_t)4)) - (int64_t)4));
    }
    float4 v0 = condval_3;
    float4 condval_4;
    if ((int64_t)0 <= at1) {
      condval_4 = *(float4*)(v_ptr + (at1 * (int64_t)4));
    } else {
      condval_4 = *(float4*)(x_ptr + (((int64_t)0 - (at1 * (int64_t)4)) - (int64_t)4));
    }
    float4 v1 = condval_4;
    if ((int64_t)1048576 < n) {
      gs_stream_16((&(out0_put_3_ptr[(((int64_t)i0) * (int64_t)4)])), (*(uint4 *)(&(v0))));
      gs_stream_16((&(out0_put_3_ptr[(((int64_t)i1) * (int64_t)4)])), (*(uint4 *)(&(v1))));
    } else {
      *(float4*)(out0_put_3_ptr + (((int64_t)i0) * (int64_t)4)) = v0;
      *(float4*)(out0_put_3_ptr + (((int64_t)i1) * (int64_t)4)) = v1;
    }
  } else {
    for (int k = 0; k < (grid0 >> 8); ++k) {
      alignas(8) int i__ptr_1[1];
      i__ptr_1[0] = (((k * 256) + (((int)blockIdx.x) * grid0)) + ((int)threadIdx.x));
      int i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        alignas(8) int64_t at__ptr_1[1];
        int64_t condval_5;
        if (0 <= put_3_owner32_ptr[(i0_1 >> 1)]) {
          condval_5 = ((((int64_t)put_3_owner32_ptr[(i0_1 >> 1)]) * (int64_t)2) + (((int64_t)i0_1) & (int64_t)1));
        } else {
          condval_5 = (((int64_t)0 - ((int64_t)i0_1)) - (int64_t)1);
        }
        at__ptr_1[0] = condval_5;
        int64_t at0_1 = at__ptr_1[0];
        float4 condval_6;
        if ((int64_t)0 <= at0_1) {
          condval_6 = *(float4*)(v_ptr + (at0_1 * (int64_t)4));
        } else {
          condval_6 = *(float4*)(x_ptr + (((int64_t)0 - (at0_1 * (int64_t)4)) - (int64_t)4));
        }
        float4 v0_1 = condval_6;
        if ((int64_t)1048576 < n) {
          gs_stream_16((&(out0_put_3_ptr[(((int64_t)i0_1) * (int64_t)4)])), (*(uint4 *)(&(v0_1))));
        } else {
          *(float4*)(out0_put_3_ptr + (((int64_t)i0_1) * (int64_t)4)) = v0_1;
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel_8(int64_t* __restrict__ i_ptr, float* __restrict__ out0_put_3_ptr, int64_t* __restrict__ put_3_owner64_ptr, float* __restrict__ v_ptr, int64_t k, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (k * (int64_t)2)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    int64_t condval;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] < (int64_t)0) {
      condval = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] + n);
    } else {
      condval = i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))];
    }
    int64_t condval_1;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] < (int64_t)0) {
      condval_1 = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] + n);
    } else {
      condval_1 = i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))];
    }
    if (((int64_t)0 <= condval) && (condval_1 < n)) {
      int64_t condval_2;
      if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] < (int64_t)0) {
        condval_2 = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] + n);
      } else {
        condval_2 = i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))];
      }
      if (put_3_owner64_ptr[((int64_t)min(((uint64_t)(condval_2 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0))))] == ((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))) {
        int64_t condval_3;
        if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] < (int64_t)0) {
          condval_3 = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] + n);
        } else {
          condval_3 = i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))];
        }
        *(float4*)(out0_put_3_ptr + ((((int64_t)min(((uint64_t)(condval_3 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))) = *(float4*)(v_ptr + ((((int64_t)blockIdx.x) * (int64_t)1024) + (((int64_t)threadIdx.x) * (int64_t)4)));
      }
    }
  }
}

