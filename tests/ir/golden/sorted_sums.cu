__device__ __forceinline__ void gs_atomic_add_float32(float* p, float v) {
  atomicAdd((float*)p, (float)v);
}

__device__ __forceinline__ void gs_in_order_add_float32_1(float* p, int64_t cell, float v, int64_t* run, float* sum, unsigned int* ended) {
  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32, first = lane % 1, last = first + 31;
  const unsigned int upto = 4294967295u << first & all >> (31 - lane);
  const bool over = lane >= 31;  // the column goes on in the next round
  unsigned int here = __ballot_sync(all, cell >= 0);
  if (here != all) {  // a point without a cell is taken as one of the run before it
    int64_t carried = __shfl_sync(all, *run, last);
    here &= upto;
    cell = __shfl_sync(all, cell, here ? 31 - __clz(here) : lane);
    if (!here) cell = carried;
  }
  int64_t before = __shfl_sync(all, over ? *run : cell, (lane + 31) % 32);
  float x = (float)v, carry = __shfl_sync(all, (float)*sum, last);
  unsigned int heads = __ballot_sync(all, cell != before && before >= 0), mine = heads & upto;
  if (lane < 1 && !mine) {
    float a = carry, b = x;
    x = a + b;
  }
  int reach = lane + __clz(mine | 1u << first) - 31;
  for (int step = 1; step < 32; step *= 2) {
    float a = __shfl_up_sync(all, x, step), b = x;
    if (step <= reach) x = a + b;
  }
  bool later = mine || *ended >> last & 1;
  if (heads >> (lane + 1) % 32 & 1) {
    p += over ? *run : cell;
    v = over ? *sum : (float)x;
    if (over ? *ended >> lane & 1 : later) {
      float a = (float)*p, b = (float)v;
      *p = a + b;
    } else {
      atomicAdd((float*)p, (float)v);
    }
  }
  *run = cell;
  *sum = x;
  *ended = __ballot_sync(all, later);
}

__device__ __forceinline__ void gs_stream_16(void* p, uint4 v) {
  __stcs((uint4*)p, v);
}

extern "C" __global__ void __launch_bounds__(256) sorted_sums_kernel(float* __restrict__ out0_put_3_ptr, float* __restrict__ x_ptr, int64_t n) {
  alignas(8) int64_t grid__ptr[3];
  int64_t condval;
  if (n <= (int64_t)2162688) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)1024;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = ((n + (int64_t)3) >> (int64_t)2);
  grid__ptr[2] = (n >> (int64_t)2);
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  int64_t grid2 = grid__ptr[2];
  if ((grid0 == (int64_t)1024) && (((((int64_t)blockIdx.x) * grid0) + (int64_t)1024) <= grid2)) {
    alignas(8) int64_t i__ptr[4];
    i__ptr[0] = ((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x));
    i__ptr[1] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)256);
    i__ptr[2] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)512);
    i__ptr[3] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)768);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    int64_t i2 = i__ptr[2];
    int64_t i3 = i__ptr[3];
    alignas(8) int64_t at__ptr[4];
    at__ptr[0] = i0;
    at__ptr[1] = i1;
    at__ptr[2] = i2;
    at__ptr[3] = i3;
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    int64_t at2 = at__ptr[2];
    int64_t at3 = at__ptr[3];
    float4 v0 = *(float4*)(x_ptr + (at0 * (int64_t)4));
    float4 v1 = *(float4*)(x_ptr + (at1 * (int64_t)4));
    float4 v2 = *(float4*)(x_ptr + (at2 * (int64_t)4));
    float4 v3 = *(float4*)(x_ptr + (at3 * (int64_t)4));
    if ((int64_t)8388608 < n) {
      gs_stream_16((&(out0_put_3_ptr[(i0 * (int64_t)4)])), (*(uint4 *)(&(v0))));
      gs_stream_16((&(out0_put_3_ptr[(i1 * (int64_t)4)])), (*(uint4 *)(&(v1))));
      gs_stream_16((&(out0_put_3_ptr[(i2 * (int64_t)4)])), (*(uint4 *)(&(v2))));
      gs_stream_16((&(out0_put_3_ptr[(i3 * (int64_t)4)])), (*(uint4 *)(&(v3))));
    } else {
      *(float4*)(out0_put_3_ptr + (i0 * (int64_t)4)) = v0;
      *(float4*)(out0_put_3_ptr + (i1 * (int64_t)4)) = v1;
      *(float4*)(out0_put_3_ptr + (i2 * (int64_t)4)) = v2;
      *(float4*)(out0_put_3_ptr + (i3 * (int64_t)4)) = v3;
    }
  } else {
    for (int64_t k = (int64_t)0; k < (grid0 >> (int64_t)8); ++k) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        if (((i0_1 * (int64_t)4) + (int64_t)4) <= n) {
          alignas(8) int64_t at__ptr_1[1];
          at__ptr_1[0] = i0_1;
          int64_t at0_1 = at__ptr_1[0];
          float4 v0_1 = *(float4*)(x_ptr + (at0_1 * (int64_t)4));
          if ((int64_t)8388608 < n) {
            gs_stream_16((&(out0_put_3_ptr[(i0_1 * (int64_t)4)])), (*(uint4 *)(&(v0_1))));
          } else {
            *(float4*)(out0_put_3_ptr + (i0_1 * (int64_t)4)) = v0_1;
          }
        } else {
          for (int64_t c = (int64_t)0; c < (n - (i0_1 * (int64_t)4)); ++c) {
            out0_put_3_ptr[((i0_1 * (int64_t)4) + c)] = x_ptr[((i0_1 * (int64_t)4) + c)];
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) sorted_sums_kernel_1(int64_t* __restrict__ i_ptr, float* __restrict__ out0_put_3_ptr, float* __restrict__ v_ptr, int64_t k, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)8) + (((int64_t)threadIdx.x) >> (int64_t)5)) < (((int64_t)1 < (((int64_t)2162688 <= k) ? (int64_t)4 : (int64_t)1)) ? ((k + (int64_t)511) >> (int64_t)9) : ((k + (int64_t)127) >> (int64_t)7))) {
    alignas(8) int64_t run_ptr[1];
    alignas(8) float sum_ptr[1];
    alignas(8) uint ended_ptr[1];
    run_ptr[0] = (int64_t)-1;
    sum_ptr[0] = -0x0p+0f/*-0.000000e+00*/;
    ended_ptr[0] = (uint)0;
    alignas(8) int64_t stretch__ptr[2];
    stretch__ptr[0] = ((((((int64_t)blockIdx.x) * (int64_t)8) + (((int64_t)threadIdx.x) >> (int64_t)5)) * (((int64_t)2162688 <= k) ? (int64_t)4 : (int64_t)1)) * (int64_t)128);
    stretch__ptr[1] = (((int64_t)2162688 <= k) ? (int64_t)4 : (int64_t)1);
    int64_t stretch0 = stretch__ptr[0];
    int64_t stretch1 = stretch__ptr[1];
    for (int64_t part = (int64_t)0; part < min(stretch1, ((((k + (int64_t)127) - stretch0) ^ (int64_t)0) >> (int64_t)7)); ++part) {
      alignas(8) int64_t first__ptr[1];
      first__ptr[0] = (((part * (int64_t)128) + stretch0) + (((int64_t)threadIdx.x) & (int64_t)31));
      int64_t first0 = first__ptr[0];
      alignas(8) int64_t i__ptr[4];
      i__ptr[0] = first0;
      i__ptr[1] = (first0 + (int64_t)32);
      i__ptr[2] = (first0 + (int64_t)64);
      i__ptr[3] = (first0 + (int64_t)96);
      int64_t i0 = i__ptr[0];
      int64_t i1 = i__ptr[1];
      int64_t i2 = i__ptr[2];
      int64_t i3 = i__ptr[3];
      alignas(8) int64_t at__ptr[4];
      at__ptr[0] = i0;
      at__ptr[1] = i1;
      at__ptr[2] = i2;
      at__ptr[3] = i3;
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
      float condval_20;
      if ((int64_t)0 <= cell0) {
        condval_20 = v_ptr[at0];
      } else {
        condval_20 = -0x0p+0f/*-0.000000e+00*/;
      }
      float v0 = condval_20;
      float condval_21;
      if ((int64_t)0 <= cell1) {
        condval_21 = v_ptr[at1];
      } else {
        condval_21 = -0x0p+0f/*-0.000000e+00*/;
      }
      float v1 = condval_21;
      float condval_22;
      if ((int64_t)0 <= cell2) {
        condval_22 = v_ptr[at2];
      } else {
        condval_22 = -0x0p+0f/*-0.000000e+00*/;
      }
      float v2 = condval_22;
      float condval_23;
      if ((int64_t)0 <= cell3) {
        condval_23 = v_ptr[at3];
      } else {
        condval_23 = -0x0p+0f/*-0.000000e+00*/;
      }
      float v3 = condval_23;
      gs_in_order_add_float32_1((&(out0_put_3_ptr[0])), cell0, v0, (&(run_ptr[0])), (&(sum_ptr[0])), (&(ended_ptr[0])));
      gs_in_order_add_float32_1((&(out0_put_3_ptr[0])), cell1, v1, (&(run_ptr[0])), (&(sum_ptr[0])), (&(ended_ptr[0])));
      gs_in_order_add_float32_1((&(out0_put_3_ptr[0])), cell2, v2, (&(run_ptr[0])), (&(sum_ptr[0])), (&(ended_ptr[0])));
      gs_in_order_add_float32_1((&(out0_put_3_ptr[0])), cell3, v3, (&(run_ptr[0])), (&(sum_ptr[0])), (&(ended_ptr[0])));
    }
    if (((((int64_t)threadIdx.x) & (int64_t)31) == (int64_t)31) && ((int64_t)0 <= run_ptr[0])) {
      gs_atomic_add_float32((&(out0_put_3_ptr[run_ptr[0]])), sum_ptr[0]);
    }
  }
}

