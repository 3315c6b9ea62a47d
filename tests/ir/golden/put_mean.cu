__device__ __forceinline__ void gs_atomic_add_float32x4(float* p, float* v) {
#if __CUDA_ARCH__ >= 900
  atomicAdd((float4*)p, *(float4*)v);
#else
  for (int k = 0; k < 4; ++k) atomicAdd(p + k, v[k]);
#endif
}

__device__ __forceinline__ void gs_load_16(void* to, const void* from) {
  *(uint4*)to = __ldcs((const uint4*)from);
}

__device__ __forceinline__ void gs_matched_add_int32(int* p, int64_t cell, int v) {
  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32;
  unsigned int same = __match_any_sync(all, (unsigned long long)cell);
  unsigned int before = same & ((1u << lane) - 1), after = same & ~before & ~(1u << lane), rank = __popc(before);
  while (__any_sync(all, after != 0)) {
    int next = after ? __ffs(after) - 1 : (int)lane;
    unsigned int a = (unsigned int)v, b = __shfl_sync(all, (unsigned int)v, next);
    if (after) v = a + b;
    after &= ~__ballot_sync(all, rank & 1);
    rank >>= 1;
  }
  if (before || cell < 0) return;
  p += cell;
  atomicAdd((unsigned int*)p, (unsigned int)v);
}

extern "C" __global__ void __launch_bounds__(256) put_mean_kernel(float* __restrict__ out0_put_3_ptr, float* __restrict__ x_ptr) {
  alignas(8) int grid__ptr[2];
  grid__ptr[0] = 256;
  grid__ptr[1] = 18;
  int grid0 = grid__ptr[0];
  int grid1 = grid__ptr[1];
  if ((grid0 == 512) && (512 <= grid1)) {
    alignas(8) int i__ptr[2];
    i__ptr[0] = ((int)threadIdx.x);
    i__ptr[1] = (((int)threadIdx.x) + 256);
    int i0 = i__ptr[0];
    int i1 = i__ptr[1];
    alignas(8) int64_t at__ptr[2];
    at__ptr[0] = ((int64_t)i0);
    at__ptr[1] = ((int64_t)i1);
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    float4 v0 = *(float4*)(x_ptr + (at0 * (int64_t)4));
    float4 v1 = *(float4*)(x_ptr + (at1 * (int64_t)4));
    *(float4*)(out0_put_3_ptr + (((int64_t)i0) * (int64_t)4)) = v0;
    *(float4*)(out0_put_3_ptr + (((int64_t)i1) * (int64_t)4)) = v1;
  } else {
    for (int k = 0; k < (grid0 >> 8); ++k) {
      alignas(8) int i__ptr_1[1];
      i__ptr_1[0] = ((k * 256) + ((int)threadIdx.x));
      int i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        alignas(8) int64_t at__ptr_1[1];
        at__ptr_1[0] = ((int64_t)i0_1);
        int64_t at0_1 = at__ptr_1[0];
        float4 v0_1 = *(float4*)(x_ptr + (at0_1 * (int64_t)4));
        *(float4*)(out0_put_3_ptr + (((int64_t)i0_1) * (int64_t)4)) = v0_1;
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) put_mean_kernel_1(int* __restrict__ put_3_counts_ptr) {
  alignas(8) int64_t grid__ptr[3];
  grid__ptr[0] = (int64_t)256;
  grid__ptr[1] = (int64_t)3;
  grid__ptr[2] = (int64_t)2;
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  int64_t grid2 = grid__ptr[2];
  if ((grid0 == (int64_t)512) && ((int64_t)512 <= grid2)) {
    alignas(8) int64_t i__ptr[2];
    i__ptr[0] = ((int64_t)threadIdx.x);
    i__ptr[1] = (((int64_t)threadIdx.x) + (int64_t)256);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    *(int4*)(put_3_counts_ptr + (i0 * (int64_t)4)) = make_int4(0, 0, 0, 0);
    *(int4*)(put_3_counts_ptr + (i1 * (int64_t)4)) = make_int4(0, 0, 0, 0);
  } else {
    for (int64_t k = (int64_t)0; k < (grid0 >> (int64_t)8); ++k) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = ((k * (int64_t)256) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        if (i0_1 <= (int64_t)1) {
          *(int4*)(put_3_counts_ptr + (i0_1 * (int64_t)4)) = make_int4(0, 0, 0, 0);
        } else {
          for (int64_t c = (int64_t)0; c < ((int64_t)9 - (i0_1 * (int64_t)4)); ++c) {
            put_3_counts_ptr[((i0_1 * (int64_t)4) + c)] = 0;
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) put_mean_kernel_2(int64_t* __restrict__ i_ptr, int* __restrict__ put_3_counts_ptr) {
  if (((int)threadIdx.x) < 32) {
    alignas(8) int64_t i__ptr[4];
    i__ptr[0] = ((int64_t)((int)threadIdx.x));
    i__ptr[1] = (((int64_t)((int)threadIdx.x)) + (int64_t)32);
    i__ptr[2] = (((int64_t)((int)threadIdx.x)) + (int64_t)64);
    i__ptr[3] = (((int64_t)((int)threadIdx.x)) + (int64_t)96);
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
    if (i0 < (int64_t)7) {
      int64_t condval_1;
      if (i_ptr[at0] < (int64_t)0) {
        condval_1 = (i_ptr[at0] + (int64_t)9);
      } else {
        condval_1 = i_ptr[at0];
      }
      condval = condval_1;
    } else {
      condval = (int64_t)-1;
    }
    cell__ptr[0] = condval;
    int64_t condval_2;
    if (i1 < (int64_t)7) {
      int64_t condval_3;
      if (i_ptr[at1] < (int64_t)0) {
        condval_3 = (i_ptr[at1] + (int64_t)9);
      } else {
        condval_3 = i_ptr[at1];
      }
      condval_2 = condval_3;
    } else {
      condval_2 = (int64_t)-1;
    }
    cell__ptr[1] = condval_2;
    int64_t condval_4;
    if (i2 < (int64_t)7) {
      int64_t condval_5;
      if (i_ptr[at2] < (int64_t)0) {
        condval_5 = (i_ptr[at2] + (int64_t)9);
      } else {
        condval_5 = i_ptr[at2];
      }
      condval_4 = condval_5;
    } else {
      condval_4 = (int64_t)-1;
    }
    cell__ptr[2] = condval_4;
    int64_t condval_6;
    if (i3 < (int64_t)7) {
      int64_t condval_7;
      if (i_ptr[at3] < (int64_t)0) {
        condval_7 = (i_ptr[at3] + (int64_t)9);
      } else {
        condval_7 = i_ptr[at3];
      }
      condval_6 = condval_7;
    } else {
      condval_6 = (int64_t)-1;
    }
    cell__ptr[3] = condval_6;
    int64_t cell0 = cell__ptr[0];
    int64_t cell1 = cell__ptr[1];
    int64_t cell2 = cell__ptr[2];
    int64_t cell3 = cell__ptr[3];
    int condval_8;
    if ((int64_t)0 <= cell0) {
      condval_8 = 1;
    } else {
      condval_8 = 0;
    }
    int v0 = condval_8;
    int condval_9;
    if ((int64_t)0 <= cell1) {
      condval_9 = 1;
    } else {
      condval_9 = 0;
    }
    int v1 = condval_9;
    int condval_10;
    if ((int64_t)0 <= cell2) {
      condval_10 = 1;
    } else {
      condval_10 = 0;
    }
    int v2 = condval_10;
    int condval_11;
    if ((int64_t)0 <= cell3) {
      condval_11 = 1;
    } else {
      condval_11 = 0;
    }
    int v3 = condval_11;
    int condval_12;
    if ((int64_t)0 <= cell0) {
      condval_12 = 1;
    } else {
      condval_12 = 0;
    }
    gs_matched_add_int32((&(put_3_counts_ptr[0])), cell0, condval_12);
    int condval_13;
    if ((int64_t)0 <= cell1) {
      condval_13 = 1;
    } else {
      condval_13 = 0;
    }
    gs_matched_add_int32((&(put_3_counts_ptr[0])), cell1, condval_13);
    int condval_14;
    if ((int64_t)0 <= cell2) {
      condval_14 = 1;
    } else {
      condval_14 = 0;
    }
    gs_matched_add_int32((&(put_3_counts_ptr[0])), cell2, condval_14);
    int condval_15;
    if ((int64_t)0 <= cell3) {
      condval_15 = 1;
    } else {
      condval_15 = 0;
    }
    gs_matched_add_int32((&(put_3_counts_ptr[0])), cell3, condval_15);
  }
}

extern "C" __global__ void __launch_bounds__(256) put_mean_kernel_3(int64_t* __restrict__ i_ptr, float* __restrict__ out0_put_3_ptr, float* __restrict__ v_ptr) {
  if (((int)threadIdx.x) < 4) {
    int i = ((int)threadIdx.x);
    alignas(8) int64_t cell__ptr[4];
    int64_t condval;
    if (i_ptr[((((int)threadIdx.x) >> 1) * 4)] < (int64_t)0) {
      condval = (i_ptr[((((int)threadIdx.x) >> 1) * 4)] + (int64_t)9);
    } else {
      condval = i_ptr[((((int)threadIdx.x) >> 1) * 4)];
    }
    cell__ptr[0] = ((condval * (int64_t)8) + ((((int64_t)((int)threadIdx.x)) & (int64_t)1) * (int64_t)4));
    int64_t condval_1;
    if (i_ptr[(((((int)threadIdx.x) >> 1) * 4) + 1)] < (int64_t)0) {
      condval_1 = (i_ptr[(((((int)threadIdx.x) >> 1) * 4) + 1)] + (int64_t)9);
    } else {
      condval_1 = i_ptr[(((((int)threadIdx.x) >> 1) * 4) + 1)];
    }
    cell__ptr[1] = ((condval_1 * (int64_t)8) + ((((int64_t)((int)threadIdx.x)) & (int64_t)1) * (int64_t)4));
    int64_t condval_2;
    if (i_ptr[(((((int)threadIdx.x) >> 1) * 4) + 2)] < (int64_t)0) {
      condval_2 = (i_ptr[(((((int)threadIdx.x) >> 1) * 4) + 2)] + (int64_t)9);
    } else {
      condval_2 = i_ptr[(((((int)threadIdx.x) >> 1) * 4) + 2)];
    }
    cell__ptr[2] = ((condval_2 * (int64_t)8) + ((((int64_t)((int)threadIdx.x)) & (int64_t)1) * (int64_t)4));
    int64_t condval_3;
    if (((int64_t)((int)threadIdx.x)) < (int64_t)2) {
      int64_t condval_4;
      if (i_ptr[(((((int)threadIdx.x) >> 1) * 4) + 3)] < (int64_t)0) {
        condval_4 = (i_ptr[(((((int)threadIdx.x) >> 1) * 4) + 3)] + (int64_t)9);
      } else {
        condval_4 = i_ptr[(((((int)threadIdx.x) >> 1) * 4) + 3)];
      }
      condval_3 = ((condval_4 * (int64_t)8) + (((int64_t)((int)threadIdx.x)) * (int64_t)4));
    } else {
      condval_3 = (int64_t)-1;
    }
    cell__ptr[3] = condval_3;
    int64_t cell0 = cell__ptr[0];
    int64_t cell1 = cell__ptr[1];
    int64_t cell2 = cell__ptr[2];
    int64_t cell3 = cell__ptr[3];
    alignas(16) float values_ptr[16];
    gs_load_16((&(values_ptr[0])), (&(v_ptr[(((((int)threadIdx.x) >> 1) * 32) + ((((int)threadIdx.x) & 1) * 4))])));
    gs_load_16((&(values_ptr[4])), (&(v_ptr[((((((int)threadIdx.x) >> 1) * 32) + ((((int)threadIdx.x) & 1) * 4)) + 8)])));
    gs_load_16((&(values_ptr[8])), (&(v_ptr[((((((int)threadIdx.x) >> 1) * 32) + ((((int)threadIdx.x) & 1) * 4)) + 16)])));
    if (((int)threadIdx.x) < 2) {
      gs_load_16((&(values_ptr[12])), (&(v_ptr[((((int)threadIdx.x) * 4) + 24)])));
    }
    if ((int64_t)0 <= cell0) {
      if (cell0 == cell1) {
        for (int k = 0; k < 4; ++k) {
          values_ptr[(k + 4)] = (values_ptr[k] + values_ptr[(k + 4)]);
        }
      } else {
        gs_atomic_add_float32x4((&(out0_put_3_ptr[cell0])), (&(values_ptr[0])));
      }
    }
    if ((int64_t)0 <= cell1) {
      if (cell1 == cell2) {
        for (int k_1 = 0; k_1 < 4; ++k_1) {
          values_ptr[(k_1 + 8)] = (values_ptr[(k_1 + 4)] + values_ptr[(k_1 + 8)]);
        }
      } else {
        gs_atomic_add_float32x4((&(out0_put_3_ptr[cell1])), (&(values_ptr[4])));
      }
    }
    if ((int64_t)0 <= cell2) {
      if (cell2 == cell3) {
        for (int k_2 = 0; k_2 < 4; ++k_2) {
          values_ptr[(k_2 + 12)] = (values_ptr[(k_2 + 8)] + values_ptr[(k_2 + 12)]);
        }
      } else {
        gs_atomic_add_float32x4((&(out0_put_3_ptr[cell2])), (&(values_ptr[8])));
      }
    }
    if ((int64_t)0 <= cell3) {
      gs_atomic_add_float32x4((&(out0_put_3_ptr[cell3])), (&(values_ptr[12])));
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) put_mean_kernel_4(float* __restrict__ out0_put_3_ptr, int* __restrict__ put_3_counts_ptr) {
  if (((int)threadIdx.x) < 72) {
    int i = ((int)threadIdx.x);
    float condval;
    if (0 < put_3_counts_ptr[(((int)threadIdx.x) >> 3)]) {
      condval = (out0_put_3_ptr[((int)threadIdx.x)] / ((float)(((int64_t)put_3_counts_ptr[(((int)threadIdx.x) >> 3)]) + (int64_t)1)));
    } else {
      condval = out0_put_3_ptr[((int)threadIdx.x)];
    }
    out0_put_3_ptr[((int)threadIdx.x)] = condval;
  }
}

