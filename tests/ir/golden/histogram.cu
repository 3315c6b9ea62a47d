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

__device__ __forceinline__ void gs_atomic_add_int32(int* p, int v) {
  atomicAdd((unsigned int*)p, (unsigned int)v);
}

__device__ __forceinline__ void gs_found_0_1_1(int64_t* kept, long long at, long long value, long long call, long long s0) {
  unsigned long long* state = (unsigned long long*)kept;
  volatile int64_t* r = kept;
  const unsigned long long locked = 4611686018427387904ull, mine = call;
  for (;;) {
    unsigned long long seen = *(volatile unsigned long long*)state;
    if ((seen & ~locked) != 0 && (seen & ~locked) != mine) return;
    if (seen == mine && r[1] <= at) return;
    if ((seen & locked) || atomicCAS(state, seen, mine | locked) != seen) continue;
    __threadfence();
    if (seen == 0) { r[1] = 9223372036854775807ll; r[2] = 0; r[3] = s0; }
    if (at < r[1]) { r[1] = at; r[2] = value; }
    __threadfence();
    atomicExch(state, mine);
    return;
  }
}

extern "C" __global__ void __launch_bounds__(256) histogram_kernel(int* __restrict__ out0_put_3_ptr) {
  alignas(8) int64_t grid__ptr[3];
  grid__ptr[0] = (int64_t)256;
  grid__ptr[1] = (int64_t)16;
  grid__ptr[2] = (int64_t)16;
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  int64_t grid2 = grid__ptr[2];
  if ((grid0 == (int64_t)512) && ((int64_t)512 <= grid2)) {
    alignas(8) int64_t i__ptr[2];
    i__ptr[0] = ((int64_t)threadIdx.x);
    i__ptr[1] = (((int64_t)threadIdx.x) + (int64_t)256);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    *(int4*)(out0_put_3_ptr + (i0 * (int64_t)4)) = make_int4(0, 0, 0, 0);
    *(int4*)(out0_put_3_ptr + (i1 * (int64_t)4)) = make_int4(0, 0, 0, 0);
  } else {
    for (int64_t k = (int64_t)0; k < (grid0 >> (int64_t)8); ++k) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = ((k * (int64_t)256) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        *(int4*)(out0_put_3_ptr + (i0_1 * (int64_t)4)) = make_int4(0, 0, 0, 0);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(128) histogram_kernel_1(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, int* __restrict__ out0_put_3_ptr, int* __restrict__ v_ptr, int64_t k, int64_t threads) {
  alignas(8) int64_t grid__ptr[2];
  grid__ptr[0] = (min(((k + (int64_t)127) >> (int64_t)7), min((int64_t)1056, (k >> (int64_t)7))) * (int64_t)128);
  grid__ptr[1] = k;
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  __shared__ alignas(16) int v_private_ptr[64];
  if (((int64_t)threadIdx.x) < (int64_t)64) {
    v_private_ptr[((int64_t)threadIdx.x)] = 0;
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
        condval_2 = (i_ptr[i0] + (int64_t)64);
      } else {
        condval_2 = i_ptr[i0];
      }
      int64_t condval_3;
      if (i_ptr[i0] < (int64_t)0) {
        condval_3 = (i_ptr[i0] + (int64_t)64);
      } else {
        condval_3 = i_ptr[i0];
      }
      int condval_1;
      if (((int64_t)0 <= condval_2) && (condval_3 < (int64_t)64)) {
        int64_t condval_4;
        if (i_ptr[i0] < (int64_t)0) {
          condval_4 = (i_ptr[i0] + (int64_t)64);
        } else {
          condval_4 = i_ptr[i0];
        }
        condval_1 = ((int)min(((uint64_t)(condval_4 ^ (int64_t)0)), (uint64_t)63ULL));
      } else {
        condval_1 = -1;
      }
      cell__ptr[0] = condval_1;
      int64_t condval_6;
      if (i_ptr[i1] < (int64_t)0) {
        condval_6 = (i_ptr[i1] + (int64_t)64);
      } else {
        condval_6 = i_ptr[i1];
      }
      int64_t condval_7;
      if (i_ptr[i1] < (int64_t)0) {
        condval_7 = (i_ptr[i1] + (int64_t)64);
      } else {
        condval_7 = i_ptr[i1];
      }
      int condval_5;
      if (((int64_t)0 <= condval_6) && (condval_7 < (int64_t)64)) {
        int64_t condval_8;
        if (i_ptr[i1] < (int64_t)0) {
          condval_8 = (i_ptr[i1] + (int64_t)64);
        } else {
          condval_8 = i_ptr[i1];
        }
        condval_5 = ((int)min(((uint64_t)(condval_8 ^ (int64_t)0)), (uint64_t)63ULL));
      } else {
        condval_5 = -1;
      }
      cell__ptr[1] = condval_5;
      int64_t condval_10;
      if (i_ptr[i2] < (int64_t)0) {
        condval_10 = (i_ptr[i2] + (int64_t)64);
      } else {
        condval_10 = i_ptr[i2];
      }
      int64_t condval_11;
      if (i_ptr[i2] < (int64_t)0) {
        condval_11 = (i_ptr[i2] + (int64_t)64);
      } else {
        condval_11 = i_ptr[i2];
      }
      int condval_9;
      if (((int64_t)0 <= condval_10) && (condval_11 < (int64_t)64)) {
        int64_t condval_12;
        if (i_ptr[i2] < (int64_t)0) {
          condval_12 = (i_ptr[i2] + (int64_t)64);
        } else {
          condval_12 = i_ptr[i2];
        }
        condval_9 = ((int)min(((uint64_t)(condval_12 ^ (int64_t)0)), (uint64_t)63ULL));
      } else {
        condval_9 = -1;
      }
      cell__ptr[2] = condval_9;
      int64_t condval_14;
      if (i_ptr[i3] < (int64_t)0) {
        condval_14 = (i_ptr[i3] + (int64_t)64);
      } else {
        condval_14 = i_ptr[i3];
      }
      int64_t condval_15;
      if (i_ptr[i3] < (int64_t)0) {
        condval_15 = (i_ptr[i3] + (int64_t)64);
      } else {
        condval_15 = i_ptr[i3];
      }
      int condval_13;
      if (((int64_t)0 <= condval_14) && (condval_15 < (int64_t)64)) {
        int64_t condval_16;
        if (i_ptr[i3] < (int64_t)0) {
          condval_16 = (i_ptr[i3] + (int64_t)64);
        } else {
          condval_16 = i_ptr[i3];
        }
        condval_13 = ((int)min(((uint64_t)(condval_16 ^ (int64_t)0)), (uint64_t)63ULL));
      } else {
        condval_13 = -1;
      }
      cell__ptr[3] = condval_13;
      int cell0 = cell__ptr[0];
      int cell1 = cell__ptr[1];
      int cell2 = cell__ptr[2];
      int cell3 = cell__ptr[3];
      int v0 = v_ptr[i0];
      int v1 = v_ptr[i1];
      int v2 = v_ptr[i2];
      int v3 = v_ptr[i3];
      int64_t condval_17;
      if (i_ptr[i0] < (int64_t)0) {
        condval_17 = (i_ptr[i0] + (int64_t)64);
      } else {
        condval_17 = i_ptr[i0];
      }
      int64_t condval_18;
      if (i_ptr[i0] < (int64_t)0) {
        condval_18 = (i_ptr[i0] + (int64_t)64);
      } else {
        condval_18 = i_ptr[i0];
      }
      if ((condval_17 < (int64_t)0) || ((int64_t)64 <= condval_18)) {
        int64_t condval_19;
        if (threads < (int64_t)0) {
          condval_19 = (threads * (int64_t)-1);
        } else {
          condval_19 = threads;
        }
        gs_found_0_1_1((&(kept_ptr[0])), (i0 ^ (int64_t)0), i_ptr[i0], condval_19, k);
      }
      int64_t condval_20;
      if (i_ptr[i1] < (int64_t)0) {
        condval_20 = (i_ptr[i1] + (int64_t)64);
      } else {
        condval_20 = i_ptr[i1];
      }
      int64_t condval_21;
      if (i_ptr[i1] < (int64_t)0) {
        condval_21 = (i_ptr[i1] + (int64_t)64);
      } else {
        condval_21 = i_ptr[i1];
      }
      if ((condval_20 < (int64_t)0) || ((int64_t)64 <= condval_21)) {
        int64_t condval_22;
        if (threads < (int64_t)0) {
          condval_22 = (threads * (int64_t)-1);
        } else {
          condval_22 = threads;
        }
        gs_found_0_1_1((&(kept_ptr[0])), (i1 ^ (int64_t)0), i_ptr[i1], condval_22, k);
      }
      int64_t condval_23;
      if (i_ptr[i2] < (int64_t)0) {
        condval_23 = (i_ptr[i2] + (int64_t)64);
      } else {
        condval_23 = i_ptr[i2];
      }
      int64_t condval_24;
      if (i_ptr[i2] < (int64_t)0) {
        condval_24 = (i_ptr[i2] + (int64_t)64);
      } else {
        condval_24 = i_ptr[i2];
      }
      if ((condval_23 < (int64_t)0) || ((int64_t)64 <= condval_24)) {
        int64_t condval_25;
        if (threads < (int64_t)0) {
          condval_25 = (threads * (int64_t)-1);
        } else {
          condval_25 = threads;
        }
        gs_found_0_1_1((&(kept_ptr[0])), (i2 ^ (int64_t)0), i_ptr[i2], condval_25, k);
      }
      int64_t condval_26;
      if (i_ptr[i3] < (int64_t)0) {
        condval_26 = (i_ptr[i3] + (int64_t)64);
      } else {
        condval_26 = i_ptr[i3];
      }
      int64_t condval_27;
      if (i_ptr[i3] < (int64_t)0) {
        condval_27 = (i_ptr[i3] + (int64_t)64);
      } else {
        condval_27 = i_ptr[i3];
      }
      if ((condval_26 < (int64_t)0) || ((int64_t)64 <= condval_27)) {
        int64_t condval_28;
        if (threads < (int64_t)0) {
          condval_28 = (threads * (int64_t)-1);
        } else {
          condval_28 = threads;
        }
        gs_found_0_1_1((&(kept_ptr[0])), (i3 ^ (int64_t)0), i_ptr[i3], condval_28, k);
      }
      if (0 <= cell0) {
        gs_atomic_add_int32((&(v_private_ptr[cell0])), v0);
      }
      if (0 <= cell1) {
        gs_atomic_add_int32((&(v_private_ptr[cell1])), v1);
      }
      if (0 <= cell2) {
        gs_atomic_add_int32((&(v_private_ptr[cell2])), v2);
      }
      if (0 <= cell3) {
        gs_atomic_add_int32((&(v_private_ptr[cell3])), v3);
      }
    } else {
      for (int64_t k_1 = (int64_t)0; k_1 < (int64_t)4; ++k_1) {
        alignas(8) int64_t i__ptr_1[1];
        i__ptr_1[0] = ((((((int64_t)blockIdx.x) * (int64_t)128) + ((step * grid0) * (int64_t)4)) + (grid0 * k_1)) + ((int64_t)threadIdx.x));
        int64_t i0_1 = i__ptr_1[0];
        if (i0_1 < grid1) {
          alignas(8) int cell__ptr_1[1];
          int64_t condval_30;
          if (i_ptr[i0_1] < (int64_t)0) {
            condval_30 = (i_ptr[i0_1] + (int64_t)64);
          } else {
            condval_30 = i_ptr[i0_1];
          }
          int64_t condval_31;
          if (i_ptr[i0_1] < (int64_t)0) {
            condval_31 = (i_ptr[i0_1] + (int64_t)64);
          } else {
            condval_31 = i_ptr[i0_1];
          }
          int condval_29;
          if (((int64_t)0 <= condval_30) && (condval_31 < (int64_t)64)) {
            int64_t condval_32;
            if (i_ptr[i0_1] < (int64_t)0) {
              condval_32 = (i_ptr[i0_1] + (int64_t)64);
            } else {
              condval_32 = i_ptr[i0_1];
            }
            condval_29 = ((int)min(((uint64_t)(condval_32 ^ (int64_t)0)), (uint64_t)63ULL));
          } else {
            condval_29 = -1;
          }
          cell__ptr_1[0] = condval_29;
          int cell0_1 = cell__ptr_1[0];
          int v0_1 = v_ptr[i0_1];
          int64_t condval_33;
          if (i_ptr[i0_1] < (int64_t)0) {
            condval_33 = (i_ptr[i0_1] + (int64_t)64);
          } else {
            condval_33 = i_ptr[i0_1];
          }
          int64_t condval_34;
          if (i_ptr[i0_1] < (int64_t)0) {
            condval_34 = (i_ptr[i0_1] + (int64_t)64);
          } else {
            condval_34 = i_ptr[i0_1];
          }
          if ((condval_33 < (int64_t)0) || ((int64_t)64 <= condval_34)) {
            int64_t condval_35;
            if (threads < (int64_t)0) {
              condval_35 = (threads * (int64_t)-1);
            } else {
              condval_35 = threads;
            }
            gs_found_0_1_1((&(kept_ptr[0])), (i0_1 ^ (int64_t)0), i_ptr[i0_1], condval_35, k);
          }
          if (0 <= cell0_1) {
            gs_atomic_add_int32((&(v_private_ptr[cell0_1])), v0_1);
          }
        }
      }
    }
  }
  __syncthreads();
  if (((int64_t)threadIdx.x) < (int64_t)64) {
    int own = v_private_ptr[((int64_t)threadIdx.x)];
    if (own != 0) {
      gs_atomic_add_int32((&(out0_put_3_ptr[((int64_t)threadIdx.x)])), own);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) histogram_kernel_2(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, int* __restrict__ out0_put_3_ptr, int* __restrict__ v_ptr, int64_t k, int64_t threads) {
  if ((((int64_t)((int)threadIdx.x)) >> (int64_t)5) < ((k + (int64_t)127) >> (int64_t)7)) {
    alignas(8) int64_t i__ptr[4];
    i__ptr[0] = (((((int64_t)((int)threadIdx.x)) >> (int64_t)5) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) & (int64_t)31));
    i__ptr[1] = ((((((int64_t)((int)threadIdx.x)) >> (int64_t)5) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) & (int64_t)31)) + (int64_t)32);
    i__ptr[2] = ((((((int64_t)((int)threadIdx.x)) >> (int64_t)5) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) & (int64_t)31)) + (int64_t)64);
    i__ptr[3] = ((((((int64_t)((int)threadIdx.x)) >> (int64_t)5) * (int64_t)128) + (((int64_t)((int)threadIdx.x)) & (int64_t)31)) + (int64_t)96);
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
        condval_2 = (i_ptr[at0] + (int64_t)64);
      } else {
        condval_2 = i_ptr[at0];
      }
      int64_t condval_3;
      if (i_ptr[at0] < (int64_t)0) {
        condval_3 = (i_ptr[at0] + (int64_t)64);
      } else {
        condval_3 = i_ptr[at0];
      }
      int64_t condval_1;
      if (((int64_t)0 <= condval_2) && (condval_3 < (int64_t)64)) {
        int64_t condval_4;
        if (i_ptr[at0] < (int64_t)0) {
          condval_4 = (i_ptr[at0] + (int64_t)64);
        } else {
          condval_4 = i_ptr[at0];
        }
        condval_1 = ((int64_t)min(((uint64_t)(condval_4 ^ (int64_t)0)), (uint64_t)63ULL));
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
        condval_7 = (i_ptr[at1] + (int64_t)64);
      } else {
        condval_7 = i_ptr[at1];
      }
      int64_t condval_8;
      if (i_ptr[at1] < (int64_t)0) {
        condval_8 = (i_ptr[at1] + (int64_t)64);
      } else {
        condval_8 = i_ptr[at1];
      }
      int64_t condval_6;
      if (((int64_t)0 <= condval_7) && (condval_8 < (int64_t)64)) {
        int64_t condval_9;
        if (i_ptr[at1] < (int64_t)0) {
          condval_9 = (i_ptr[at1] + (int64_t)64);
        } else {
          condval_9 = i_ptr[at1];
        }
        condval_6 = ((int64_t)min(((uint64_t)(condval_9 ^ (int64_t)0)), (uint64_t)63ULL));
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
        condval_12 = (i_ptr[at2] + (int64_t)64);
      } else {
        condval_12 = i_ptr[at2];
      }
      int64_t condval_13;
      if (i_ptr[at2] < (int64_t)0) {
        condval_13 = (i_ptr[at2] + (int64_t)64);
      } else {
        condval_13 = i_ptr[at2];
      }
      int64_t condval_11;
      if (((int64_t)0 <= condval_12) && (condval_13 < (int64_t)64)) {
        int64_t condval_14;
        if (i_ptr[at2] < (int64_t)0) {
          condval_14 = (i_ptr[at2] + (int64_t)64);
        } else {
          condval_14 = i_ptr[at2];
        }
        condval_11 = ((int64_t)min(((uint64_t)(condval_14 ^ (int64_t)0)), (uint64_t)63ULL));
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
        condval_17 = (i_ptr[at3] + (int64_t)64);
      } else {
        condval_17 = i_ptr[at3];
      }
      int64_t condval_18;
      if (i_ptr[at3] < (int64_t)0) {
        condval_18 = (i_ptr[at3] + (int64_t)64);
      } else {
        condval_18 = i_ptr[at3];
      }
      int64_t condval_16;
      if (((int64_t)0 <= condval_17) && (condval_18 < (int64_t)64)) {
        int64_t condval_19;
        if (i_ptr[at3] < (int64_t)0) {
          condval_19 = (i_ptr[at3] + (int64_t)64);
        } else {
          condval_19 = i_ptr[at3];
        }
        condval_16 = ((int64_t)min(((uint64_t)(condval_19 ^ (int64_t)0)), (uint64_t)63ULL));
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
      condval_20 = v_ptr[at0];
    } else {
      condval_20 = 0;
    }
    int v0 = condval_20;
    int condval_21;
    if ((int64_t)0 <= cell1) {
      condval_21 = v_ptr[at1];
    } else {
      condval_21 = 0;
    }
    int v1 = condval_21;
    int condval_22;
    if ((int64_t)0 <= cell2) {
      condval_22 = v_ptr[at2];
    } else {
      condval_22 = 0;
    }
    int v2 = condval_22;
    int condval_23;
    if ((int64_t)0 <= cell3) {
      condval_23 = v_ptr[at3];
    } else {
      condval_23 = 0;
    }
    int v3 = condval_23;
    if (i0 < k) {
      int64_t condval_24;
      if (i_ptr[at0] < (int64_t)0) {
        condval_24 = (i_ptr[at0] + (int64_t)64);
      } else {
        condval_24 = i_ptr[at0];
      }
      int64_t condval_25;
      if (i_ptr[at0] < (int64_t)0) {
        condval_25 = (i_ptr[at0] + (int64_t)64);
      } else {
        condval_25 = i_ptr[at0];
      }
      if ((condval_24 < (int64_t)0) || ((int64_t)64 <= condval_25)) {
        int64_t condval_26;
        if (threads < (int64_t)0) {
          condval_26 = (threads * (int64_t)-1);
        } else {
          condval_26 = threads;
        }
        gs_found_0_1_1((&(kept_ptr[0])), (at0 ^ (int64_t)0), i_ptr[at0], condval_26, k);
      }
    }
    if (i1 < k) {
      int64_t condval_27;
      if (i_ptr[at1] < (int64_t)0) {
        condval_27 = (i_ptr[at1] + (int64_t)64);
      } else {
        condval_27 = i_ptr[at1];
      }
      int64_t condval_28;
      if (i_ptr[at1] < (int64_t)0) {
        condval_28 = (i_ptr[at1] + (int64_t)64);
      } else {
        condval_28 = i_ptr[at1];
      }
      if ((condval_27 < (int64_t)0) || ((int64_t)64 <= condval_28)) {
        int64_t condval_29;
        if (threads < (int64_t)0) {
          condval_29 = (threads * (int64_t)-1);
        } else {
          condval_29 = threads;
        }
        gs_found_0_1_1((&(kept_ptr[0])), (at1 ^ (int64_t)0), i_ptr[at1], condval_29, k);
      }
    }
    if (i2 < k) {
      int64_t condval_30;
      if (i_ptr[at2] < (int64_t)0) {
        condval_30 = (i_ptr[at2] + (int64_t)64);
      } else {
        condval_30 = i_ptr[at2];
      }
      int64_t condval_31;
      if (i_ptr[at2] < (int64_t)0) {
        condval_31 = (i_ptr[at2] + (int64_t)64);
      } else {
        condval_31 = i_ptr[at2];
      }
      if ((condval_30 < (int64_t)0) || ((int64_t)64 <= condval_31)) {
        int64_t condval_32;
        if (threads < (int64_t)0) {
          condval_32 = (threads * (int64_t)-1);
        } else {
          condval_32 = threads;
        }
        gs_found_0_1_1((&(kept_ptr[0])), (at2 ^ (int64_t)0), i_ptr[at2], condval_32, k);
      }
    }
    if (i3 < k) {
      int64_t condval_33;
      if (i_ptr[at3] < (int64_t)0) {
        condval_33 = (i_ptr[at3] + (int64_t)64);
      } else {
        condval_33 = i_ptr[at3];
      }
      int64_t condval_34;
      if (i_ptr[at3] < (int64_t)0) {
        condval_34 = (i_ptr[at3] + (int64_t)64);
      } else {
        condval_34 = i_ptr[at3];
      }
      if ((condval_33 < (int64_t)0) || ((int64_t)64 <= condval_34)) {
        int64_t condval_35;
        if (threads < (int64_t)0) {
          condval_35 = (threads * (int64_t)-1);
        } else {
          condval_35 = threads;
        }
        gs_found_0_1_1((&(kept_ptr[0])), (at3 ^ (int64_t)0), i_ptr[at3], condval_35, k);
      }
    }
    gs_matched_add_int32((&(out0_put_3_ptr[0])), cell0, v0);
    gs_matched_add_int32((&(out0_put_3_ptr[0])), cell1, v1);
    gs_matched_add_int32((&(out0_put_3_ptr[0])), cell2, v2);
    gs_matched_add_int32((&(out0_put_3_ptr[0])), cell3, v3);
  }
}

