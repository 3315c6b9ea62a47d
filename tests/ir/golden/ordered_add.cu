__device__ __forceinline__ void gs_stream_16(void* p, uint4 v) {
  __stcs((uint4*)p, v);
}

__device__ __forceinline__ void gs_load_16(void* to, const void* from) {
  *(uint4*)to = __ldcs((const uint4*)from);
}

__device__ __forceinline__ void gs_copy_16(void* to, const void* from) {
  *(uint4*)to = *(const uint4*)from;
}

__device__ __forceinline__ int gs_appended_int64_upto(int x) {
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(0xffffffffu, x, step);
    if (threadIdx.x % 32 >= step) x += other;
  }
  return x;
}

__device__ __forceinline__ void gs_appended_int64(int64_t* begin, int64_t* upto, int* sums, int64_t first, unsigned int* chosen) {
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int place = gs_appended_int64_upto(__popc(*chosen)) - __popc(*chosen);
  if (lane == 31) sums[warp] = place + __popc(*chosen);
  __syncthreads();
  int own = sums[lane], others = gs_appended_int64_upto(own);
  place += __shfl_sync(0xffffffffu, others - own, warp);
  for (unsigned int left = *chosen; left; left &= left - 1) begin[*upto + place++] = first + (__ffs(left) - 1);
  *upto += __shfl_sync(0xffffffffu, others, 31);
  __syncthreads();
}

__device__ __forceinline__ void gs_put_int64(int64_t* end, int64_t* lists, int64_t number) {
  lists[atomicAdd((unsigned long long*)end, (unsigned long long)1)] = number;
}

__device__ __forceinline__ int64_t gs_reserved_int64_upto(int64_t x) {
  for (int step = 1; step < 32; step *= 2) {
    int64_t other = __shfl_up_sync(0xffffffffu, x, step);
    if (threadIdx.x % 32 >= step) x += other;
  }
  return x;
}

__device__ __forceinline__ void gs_reserved_int64(int64_t* taken, int64_t* sums, int64_t count, int64_t* begin) {
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int64_t upto = gs_reserved_int64_upto(count);
  if (lane == 31) sums[warp] = upto;
  __syncthreads();
  if (warp == 0) {
    int64_t own = sums[lane], all = gs_reserved_int64_upto(own), first = 0;
    if (lane == 31) first = (int64_t)atomicAdd((unsigned long long*)taken, (unsigned long long)all);
    sums[lane] = __shfl_sync(0xffffffffu, first, 31) + all - own;
  }
  __syncthreads();
  *begin = sums[warp] + upto - count;
}

__device__ __forceinline__ void gs_counted_int64_4(int64_t* counts, int64_t* hit, int64_t* within) {
  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32;
  unsigned int same[4];
  for (int k = 0; k < 4; ++k) {
    same[k] = __match_any_sync(all, (unsigned long long)hit[k]);
    within[k] = 0;
    if (hit[k] >= 0 && (same[k] & ((1u << lane) - 1)) == 0)
      within[k] = (int64_t)atomicAdd((unsigned long long*)(counts + hit[k]), (unsigned long long)__popc(same[k]));
  }
  for (int k = 0; k < 4; ++k)
    within[k] = __shfl_sync(all, within[k], __ffs(same[k]) - 1) + __popc(same[k] & ((1u << lane) - 1));
}

__device__ __forceinline__ void gs_fill_2_int64(void* p, int64_t v) {
  unsigned long long w = v;
  *(ulonglong2*)p = make_ulonglong2(w, w);
}

extern "C" __global__ void __launch_bounds__(256) ordered_add_kernel(int64_t* __restrict__ put_3_counts_ptr, int64_t n) {
  alignas(8) int64_t grid__ptr[3];
  int64_t condval;
  if (n <= (int64_t)1081342) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)512;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = ((n + (int64_t)3) >> (int64_t)1);
  grid__ptr[2] = ((n >> (int64_t)1) + (int64_t)1);
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  int64_t grid2 = grid__ptr[2];
  if ((grid0 == (int64_t)512) && (((((int64_t)blockIdx.x) * grid0) + (int64_t)512) <= grid2)) {
    alignas(8) int64_t i__ptr[2];
    i__ptr[0] = ((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x));
    i__ptr[1] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)256);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    gs_fill_2_int64((&(put_3_counts_ptr[(i0 * (int64_t)2)])), 0);
    gs_fill_2_int64((&(put_3_counts_ptr[(i1 * (int64_t)2)])), 0);
  } else {
    for (int64_t k = (int64_t)0; k < (grid0 >> (int64_t)8); ++k) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        if ((i0_1 * (int64_t)2) <= n) {
          gs_fill_2_int64((&(put_3_counts_ptr[(i0_1 * (int64_t)2)])), 0);
        } else {
          for (int64_t c = (int64_t)0; c < ((n + (int64_t)2) - (i0_1 * (int64_t)2)); ++c) {
            put_3_counts_ptr[((i0_1 * (int64_t)2) + c)] = (int64_t)0;
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) ordered_add_kernel_1(int64_t* __restrict__ i_ptr, int64_t* __restrict__ put_3_counts_ptr, int64_t* __restrict__ put_3_hit_ptr, int64_t* __restrict__ put_3_within_ptr, int64_t k, int64_t n) {
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
      int64_t condval_1;
      if (i_ptr[at0] < (int64_t)0) {
        condval_1 = (i_ptr[at0] + n);
      } else {
        condval_1 = i_ptr[at0];
      }
      condval = condval_1;
    } else {
      condval = (int64_t)-1;
    }
    cell__ptr[0] = condval;
    int64_t condval_2;
    if (i1 < k) {
      int64_t condval_3;
      if (i_ptr[at1] < (int64_t)0) {
        condval_3 = (i_ptr[at1] + n);
      } else {
        condval_3 = i_ptr[at1];
      }
      condval_2 = condval_3;
    } else {
      condval_2 = (int64_t)-1;
    }
    cell__ptr[1] = condval_2;
    int64_t condval_4;
    if (i2 < k) {
      int64_t condval_5;
      if (i_ptr[at2] < (int64_t)0) {
        condval_5 = (i_ptr[at2] + n);
      } else {
        condval_5 = i_ptr[at2];
      }
      condval_4 = condval_5;
    } else {
      condval_4 = (int64_t)-1;
    }
    cell__ptr[2] = condval_4;
    int64_t condval_6;
    if (i3 < k) {
      int64_t condval_7;
      if (i_ptr[at3] < (int64_t)0) {
        condval_7 = (i_ptr[at3] + n);
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
    alignas(8) int64_t hit_ptr[4];
    alignas(8) int64_t within_ptr[4];
    hit_ptr[0] = cell0;
    hit_ptr[1] = cell1;
    hit_ptr[2] = cell2;
    hit_ptr[3] = cell3;
    gs_counted_int64_4((&(put_3_counts_ptr[0])), (&(hit_ptr[0])), (&(within_ptr[0])));
    if ((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) < k) {
      put_3_hit_ptr[(((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31))] = hit_ptr[0];
      put_3_within_ptr[(((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31))] = within_ptr[0];
    }
    if (((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32) < k) {
      put_3_hit_ptr[((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)] = hit_ptr[1];
      put_3_within_ptr[((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)] = within_ptr[1];
    }
    if (((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)64) < k) {
      put_3_hit_ptr[((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)64)] = hit_ptr[2];
      put_3_within_ptr[((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)64)] = within_ptr[2];
    }
    if (((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)96) < k) {
      put_3_hit_ptr[((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)96)] = hit_ptr[3];
      put_3_within_ptr[((((((int64_t)blockIdx.x) * (int64_t)1024) + ((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)128)) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)96)] = within_ptr[3];
    }
  }
}

extern "C" __global__ void __launch_bounds__(1024) ordered_add_kernel_2(int64_t* __restrict__ put_3_counts_ptr, int64_t* __restrict__ put_3_long_ptr, int64_t* __restrict__ put_3_places_ptr, int64_t k, int64_t n) {
  __shared__ alignas(8) int64_t sums_ptr[32];
  alignas(8) int64_t begin_ptr[1];
  alignas(8) int64_t count__ptr[1];
  int64_t condval;
  if (((((int64_t)blockIdx.x) * (int64_t)1024) + ((int64_t)threadIdx.x)) < n) {
    condval = put_3_counts_ptr[((((int64_t)blockIdx.x) * (int64_t)1024) + ((int64_t)threadIdx.x))];
  } else {
    condval = (int64_t)0;
  }
  count__ptr[0] = condval;
  int64_t count0 = count__ptr[0];
  gs_reserved_int64((&(put_3_counts_ptr[n])), (&(sums_ptr[0])), count0, (&(begin_ptr[0])));
  if (((((int64_t)blockIdx.x) * (int64_t)1024) + ((int64_t)threadIdx.x)) < n) {
    put_3_places_ptr[((((int64_t)blockIdx.x) * (int64_t)1024) + ((int64_t)threadIdx.x))] = begin_ptr[0];
  }
  if ((((k + (int64_t)1023) >> (int64_t)10) < count0) && ((int64_t)256 < count0)) {
    gs_put_int64((&(put_3_counts_ptr[(n + (int64_t)1)])), (&(put_3_long_ptr[0])), ((((int64_t)blockIdx.x) * (int64_t)1024) + ((int64_t)threadIdx.x)));
  }
}

extern "C" __global__ void __launch_bounds__(256) ordered_add_kernel_3(int64_t* __restrict__ put_3_counts_ptr, int64_t* __restrict__ put_3_hit_ptr, int64_t* __restrict__ put_3_places_ptr, int64_t* __restrict__ put_3_unordered_ptr, int64_t* __restrict__ put_3_within_ptr, int64_t k) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < k) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    alignas(8) int64_t cell__ptr[1];
    cell__ptr[0] = put_3_hit_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    int64_t cell0 = cell__ptr[0];
    if ((int64_t)0 <= cell0) {
      alignas(8) int64_t count__ptr[1];
      count__ptr[0] = put_3_counts_ptr[cell0];
      int64_t count0 = count__ptr[0];
      if ((count0 <= ((k + (int64_t)1023) >> (int64_t)10)) || (count0 <= (int64_t)1024)) {
        alignas(8) int64_t begin__ptr[1];
        begin__ptr[0] = put_3_places_ptr[cell0];
        int64_t begin0 = begin__ptr[0];
        put_3_unordered_ptr[(begin0 + put_3_within_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))])] = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) ordered_add_kernel_4(int64_t* __restrict__ put_3_counts_ptr, int64_t* __restrict__ put_3_hit_ptr, int64_t* __restrict__ put_3_ordered_ptr, int64_t* __restrict__ put_3_places_ptr, int64_t* __restrict__ put_3_unordered_ptr, int64_t k) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < k) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    alignas(8) int64_t cell__ptr[1];
    cell__ptr[0] = put_3_hit_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    int64_t cell0 = cell__ptr[0];
    if ((int64_t)0 <= cell0) {
      alignas(8) int64_t count__ptr[1];
      count__ptr[0] = put_3_counts_ptr[cell0];
      int64_t count0 = count__ptr[0];
      if ((count0 <= ((k + (int64_t)1023) >> (int64_t)10)) || (count0 <= (int64_t)1024)) {
        alignas(8) int64_t begin__ptr[1];
        begin__ptr[0] = put_3_places_ptr[cell0];
        int64_t begin0 = begin__ptr[0];
        alignas(8) int64_t rank_ptr[1];
        rank_ptr[0] = (int64_t)0;
        for (int64_t k_1 = (int64_t)0; k_1 < (count0 >> (int64_t)2); ++k_1) {
          rank_ptr[0] = ((((rank_ptr[0] + ((int64_t)(put_3_unordered_ptr[((k_1 * (int64_t)4) + begin0)] < ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))))) + ((int64_t)(put_3_unordered_ptr[(((k_1 * (int64_t)4) + begin0) + (int64_t)1)] < ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))))) + ((int64_t)(put_3_unordered_ptr[(((k_1 * (int64_t)4) + begin0) + (int64_t)2)] < ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))))) + ((int64_t)(put_3_unordered_ptr[(((k_1 * (int64_t)4) + begin0) + (int64_t)3)] < ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)))));
        }
        for (int64_t k_2 = (int64_t)0; k_2 < (count0 & (int64_t)3); ++k_2) {
          rank_ptr[0] = (rank_ptr[0] + ((int64_t)(put_3_unordered_ptr[((((count0 >> (int64_t)2) * (int64_t)4) + k_2) + begin0)] < ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)))));
        }
        put_3_ordered_ptr[(begin0 + rank_ptr[0])] = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(1024) ordered_add_kernel_5(int64_t* __restrict__ put_3_counts_ptr, int64_t* __restrict__ put_3_hit_ptr, int64_t* __restrict__ put_3_long_ptr, int64_t* __restrict__ put_3_ordered_ptr, int64_t* __restrict__ put_3_places_ptr, int64_t k, int64_t n) {
  __shared__ alignas(8) int sums_ptr[32];
  alignas(8) int64_t tasks__ptr[1];
  tasks__ptr[0] = put_3_counts_ptr[(n + (int64_t)1)];
  int64_t tasks0 = tasks__ptr[0];
  for (int64_t k_1 = (int64_t)0; k_1 < ((max((tasks0 - ((int64_t)blockIdx.x)), (int64_t)0) + (int64_t)131) / (int64_t)132); ++k_1) {
    alignas(8) int64_t cell__ptr[1];
    cell__ptr[0] = put_3_long_ptr[((k_1 * (int64_t)132) + ((int64_t)blockIdx.x))];
    int64_t cell0 = cell__ptr[0];
    alignas(8) int64_t list__ptr[2];
    list__ptr[0] = put_3_counts_ptr[cell0];
    list__ptr[1] = put_3_places_ptr[cell0];
    int64_t list0 = list__ptr[0];
    int64_t list1 = list__ptr[1];
    if ((((k + (int64_t)1023) >> (int64_t)10) < list0) && ((int64_t)1024 < list0)) {
      alignas(8) int64_t upto_ptr[1];
      alignas(8) uint chosen_ptr[1];
      upto_ptr[0] = (int64_t)0;
      for (int64_t s = (int64_t)0; s < ((k + (int64_t)8191) >> (int64_t)13); ++s) {
        alignas(8) int64_t first__ptr[1];
        first__ptr[0] = ((s * (int64_t)8192) + (((int64_t)threadIdx.x) * (int64_t)8));
        int64_t first0 = first__ptr[0];
        chosen_ptr[0] = (uint)0;
        for (int64_t q = (int64_t)0; q < (int64_t)8; ++q) {
          chosen_ptr[0] = (chosen_ptr[0] + (((uint)(((first0 + q) < k) && (put_3_hit_ptr[min((first0 + q), (k - (int64_t)1))] == cell0))) << ((uint)q)));
        }
        gs_appended_int64((&(put_3_ordered_ptr[list1])), (&(upto_ptr[0])), (&(sums_ptr[0])), first0, (&(chosen_ptr[0])));
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) ordered_add_kernel_6(float* __restrict__ out0_put_3_ptr, int64_t* __restrict__ put_3_counts_ptr, int64_t* __restrict__ put_3_ordered_ptr, int64_t* __restrict__ put_3_places_ptr, float* __restrict__ v_ptr, float* __restrict__ x_ptr, int64_t in_place, int64_t k, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (n * (int64_t)2)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    alignas(8) int64_t count__ptr[1];
    count__ptr[0] = put_3_counts_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))];
    int64_t count0 = count__ptr[0];
    if ((count0 <= ((k + (int64_t)1023) >> (int64_t)10)) || (count0 <= (int64_t)256)) {
      alignas(8) int64_t begin__ptr[1];
      begin__ptr[0] = put_3_places_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))];
      int64_t begin0 = begin__ptr[0];
      alignas(16) float total0_ptr[4];
      alignas(16) float values0_ptr[32];
      alignas(16) float result0_ptr[4];
      for (int64_t q = (int64_t)0; q < (int64_t)4; ++q) {
        float condval;
        if ((in_place % (int64_t)2) == (int64_t)1) {
          condval = out0_put_3_ptr[(((((int64_t)blockIdx.x) * (int64_t)1024) + (((int64_t)threadIdx.x) * (int64_t)4)) + q)];
        } else {
          condval = x_ptr[(((((int64_t)blockIdx.x) * (int64_t)1024) + (((int64_t)threadIdx.x) * (int64_t)4)) + q)];
        }
        total0_ptr[q] = condval;
      }
      alignas(8) int64_t points__ptr[2];
      points__ptr[0] = count0;
      points__ptr[1] = ((count0 >> (int64_t)3) * (int64_t)8);
      int64_t points0 = points__ptr[0];
      int64_t points1 = points__ptr[1];
      for (int64_t s = (int64_t)0; s < (points1 >> (int64_t)3); ++s) {
        alignas(8) int64_t number__ptr[8];
        number__ptr[0] = put_3_ordered_ptr[((s * (int64_t)8) + begin0)];
        number__ptr[1] = put_3_ordered_ptr[(((s * (int64_t)8) + begin0) + (int64_t)1)];
        number__ptr[2] = put_3_ordered_ptr[(((s * (int64_t)8) + begin0) + (int64_t)2)];
        number__ptr[3] = put_3_ordered_ptr[(((s * (int64_t)8) + begin0) + (int64_t)3)];
        number__ptr[4] = put_3_ordered_ptr[(((s * (int64_t)8) + begin0) + (int64_t)4)];
        number__ptr[5] = put_3_ordered_ptr[(((s * (int64_t)8) + begin0) + (int64_t)5)];
        number__ptr[6] = put_3_ordered_ptr[(((s * (int64_t)8) + begin0) + (int64_t)6)];
        number__ptr[7] = put_3_ordered_ptr[(((s * (int64_t)8) + begin0) + (int64_t)7)];
        int64_t number0 = number__ptr[0];
        int64_t number1 = number__ptr[1];
        int64_t number2 = number__ptr[2];
        int64_t number3 = number__ptr[3];
        int64_t number4 = number__ptr[4];
        int64_t number5 = number__ptr[5];
        int64_t number6 = number__ptr[6];
        int64_t number7 = number__ptr[7];
        gs_load_16((&(values0_ptr[0])), (&(v_ptr[((number0 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        gs_load_16((&(values0_ptr[4])), (&(v_ptr[((number1 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        gs_load_16((&(values0_ptr[8])), (&(v_ptr[((number2 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        gs_load_16((&(values0_ptr[12])), (&(v_ptr[((number3 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        gs_load_16((&(values0_ptr[16])), (&(v_ptr[((number4 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        gs_load_16((&(values0_ptr[20])), (&(v_ptr[((number5 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        gs_load_16((&(values0_ptr[24])), (&(v_ptr[((number6 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        gs_load_16((&(values0_ptr[28])), (&(v_ptr[((number7 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        for (int q_1 = 0; q_1 < 4; ++q_1) {
          total0_ptr[q_1] = (total0_ptr[q_1] + values0_ptr[q_1]);
        }
        for (int q_2 = 0; q_2 < 4; ++q_2) {
          total0_ptr[q_2] = (total0_ptr[q_2] + values0_ptr[(q_2 + 4)]);
        }
        for (int q_3 = 0; q_3 < 4; ++q_3) {
          total0_ptr[q_3] = (total0_ptr[q_3] + values0_ptr[(q_3 + 8)]);
        }
        for (int q_4 = 0; q_4 < 4; ++q_4) {
          total0_ptr[q_4] = (total0_ptr[q_4] + values0_ptr[(q_4 + 12)]);
        }
        for (int q_5 = 0; q_5 < 4; ++q_5) {
          total0_ptr[q_5] = (total0_ptr[q_5] + values0_ptr[(q_5 + 16)]);
        }
        for (int q_6 = 0; q_6 < 4; ++q_6) {
          total0_ptr[q_6] = (total0_ptr[q_6] + values0_ptr[(q_6 + 20)]);
        }
        for (int q_7 = 0; q_7 < 4; ++q_7) {
          total0_ptr[q_7] = (total0_ptr[q_7] + values0_ptr[(q_7 + 24)]);
        }
        for (int q_8 = 0; q_8 < 4; ++q_8) {
          total0_ptr[q_8] = (total0_ptr[q_8] + values0_ptr[(q_8 + 28)]);
        }
      }
      for (int64_t s_1 = (int64_t)0; s_1 < ((((points0 + (int64_t)3) - points1) ^ (int64_t)0) >> (int64_t)2); ++s_1) {
        alignas(8) int64_t number__ptr_1[4];
        int64_t condval_1;
        if (((s_1 * (int64_t)4) + points1) < points0) {
          condval_1 = put_3_ordered_ptr[(((s_1 * (int64_t)4) + begin0) + points1)];
        } else {
          condval_1 = (int64_t)0;
        }
        number__ptr_1[0] = condval_1;
        int64_t condval_2;
        if ((((s_1 * (int64_t)4) + points1) + (int64_t)1) < points0) {
          condval_2 = put_3_ordered_ptr[((((s_1 * (int64_t)4) + begin0) + points1) + (int64_t)1)];
        } else {
          condval_2 = (int64_t)0;
        }
        number__ptr_1[1] = condval_2;
        int64_t condval_3;
        if ((((s_1 * (int64_t)4) + points1) + (int64_t)2) < points0) {
          condval_3 = put_3_ordered_ptr[((((s_1 * (int64_t)4) + begin0) + points1) + (int64_t)2)];
        } else {
          condval_3 = (int64_t)0;
        }
        number__ptr_1[2] = condval_3;
        int64_t condval_4;
        if ((((s_1 * (int64_t)4) + points1) + (int64_t)3) < points0) {
          condval_4 = put_3_ordered_ptr[((((s_1 * (int64_t)4) + begin0) + points1) + (int64_t)3)];
        } else {
          condval_4 = (int64_t)0;
        }
        number__ptr_1[3] = condval_4;
        int64_t number0_1 = number__ptr_1[0];
        int64_t number1_1 = number__ptr_1[1];
        int64_t number2_1 = number__ptr_1[2];
        int64_t number3_1 = number__ptr_1[3];
        if (((s_1 * (int64_t)4) + points1) < points0) {
          gs_load_16((&(values0_ptr[0])), (&(v_ptr[((number0_1 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        }
        if ((((s_1 * (int64_t)4) + points1) + (int64_t)1) < points0) {
          gs_load_16((&(values0_ptr[4])), (&(v_ptr[((number1_1 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        }
        if ((((s_1 * (int64_t)4) + points1) + (int64_t)2) < points0) {
          gs_load_16((&(values0_ptr[8])), (&(v_ptr[((number2_1 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        }
        if ((((s_1 * (int64_t)4) + points1) + (int64_t)3) < points0) {
          gs_load_16((&(values0_ptr[12])), (&(v_ptr[((number3_1 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        }
        if (((s_1 * (int64_t)4) + points1) < points0) {
          for (int q_9 = 0; q_9 < 4; ++q_9) {
            total0_ptr[q_9] = (total0_ptr[q_9] + values0_ptr[q_9]);
          }
        }
        if ((((s_1 * (int64_t)4) + points1) + (int64_t)1) < points0) {
          for (int q_10 = 0; q_10 < 4; ++q_10) {
            total0_ptr[q_10] = (total0_ptr[q_10] + values0_ptr[(q_10 + 4)]);
          }
        }
        if ((((s_1 * (int64_t)4) + points1) + (int64_t)2) < points0) {
          for (int q_11 = 0; q_11 < 4; ++q_11) {
            total0_ptr[q_11] = (total0_ptr[q_11] + values0_ptr[(q_11 + 8)]);
          }
        }
        if ((((s_1 * (int64_t)4) + points1) + (int64_t)3) < points0) {
          for (int q_12 = 0; q_12 < 4; ++q_12) {
            total0_ptr[q_12] = (total0_ptr[q_12] + values0_ptr[(q_12 + 12)]);
          }
        }
      }
      for (int q_13 = 0; q_13 < 4; ++q_13) {
        result0_ptr[q_13] = total0_ptr[q_13];
      }
      if (((in_place % (int64_t)2) < (int64_t)1) || ((int64_t)0 < count0)) {
        *(float4*)(out0_put_3_ptr + ((((int64_t)blockIdx.x) * (int64_t)1024) + (((int64_t)threadIdx.x) * (int64_t)4))) = *(float4*)(result0_ptr + (int64_t)0);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(1024) ordered_add_kernel_7(float* __restrict__ out0_put_3_ptr, int64_t* __restrict__ put_3_counts_ptr, int64_t* __restrict__ put_3_long_ptr, int64_t* __restrict__ put_3_ordered_ptr, int64_t* __restrict__ put_3_places_ptr, float* __restrict__ v_ptr, float* __restrict__ x_ptr, int64_t in_place, int64_t n) {
  __shared__ alignas(16) float staged0_ptr[4096];
  alignas(8) int64_t tasks__ptr[1];
  tasks__ptr[0] = put_3_counts_ptr[(n + (int64_t)1)];
  int64_t tasks0 = tasks__ptr[0];
  for (int64_t k = (int64_t)0; k < ((max((tasks0 - ((int64_t)blockIdx.x)), (int64_t)0) + (int64_t)131) / (int64_t)132); ++k) {
    alignas(8) int64_t cell__ptr[1];
    cell__ptr[0] = put_3_long_ptr[((k * (int64_t)132) + ((int64_t)blockIdx.x))];
    int64_t cell0 = cell__ptr[0];
    alignas(8) int64_t list__ptr[2];
    list__ptr[0] = put_3_counts_ptr[cell0];
    list__ptr[1] = put_3_places_ptr[cell0];
    int64_t list0 = list__ptr[0];
    int64_t list1 = list__ptr[1];
    alignas(16) float total0_ptr[4];
    alignas(16) float values0_ptr[32];
    if ((((int64_t)threadIdx.x) < (int64_t)8) && (((int64_t)threadIdx.x) < (int64_t)8)) {
      float condval;
      if ((in_place % (int64_t)2) == (int64_t)1) {
        condval = out0_put_3_ptr[((cell0 * (int64_t)8) + ((int64_t)threadIdx.x))];
      } else {
        condval = x_ptr[((cell0 * (int64_t)8) + ((int64_t)threadIdx.x))];
      }
      total0_ptr[0] = condval;
    }
    for (int64_t s = (int64_t)0; s < ((list0 + (int64_t)511) >> (int64_t)9); ++s) {
      if (((s * (int64_t)512) + (((int64_t)threadIdx.x) >> (int64_t)1)) < list0) {
        alignas(8) int64_t number__ptr[1];
        number__ptr[0] = put_3_ordered_ptr[(((s * (int64_t)512) + (((int64_t)threadIdx.x) >> (int64_t)1)) + list1)];
        int64_t number0 = number__ptr[0];
        gs_load_16((&(values0_ptr[0])), (&(v_ptr[((number0 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])));
        gs_copy_16((&(staged0_ptr[(((int64_t)threadIdx.x) * (int64_t)4)])), (&(values0_ptr[0])));
      }
      __syncthreads();
      alignas(8) int64_t there__ptr[2];
      there__ptr[0] = (((((int64_t)threadIdx.x) < (int64_t)8) && (((int64_t)threadIdx.x) < (int64_t)8)) ? min((list0 - (s * (int64_t)512)), (int64_t)512) : (int64_t)0);
      there__ptr[1] = ((((((int64_t)threadIdx.x) < (int64_t)8) && (((int64_t)threadIdx.x) < (int64_t)8)) ? min((list0 - (s * (int64_t)512)), (int64_t)512) : (int64_t)0) >> (int64_t)2);
      int64_t there0 = there__ptr[0];
      int64_t there1 = there__ptr[1];
      for (int64_t r = (int64_t)0; r < there1; ++r) {
        total0_ptr[0] = (total0_ptr[0] + staged0_ptr[((r * (int64_t)32) + ((int64_t)threadIdx.x))]);
        total0_ptr[0] = (total0_ptr[0] + staged0_ptr[(((r * (int64_t)32) + ((int64_t)threadIdx.x)) + (int64_t)8)]);
        total0_ptr[0] = (total0_ptr[0] + staged0_ptr[(((r * (int64_t)32) + ((int64_t)threadIdx.x)) + (int64_t)16)]);
        total0_ptr[0] = (total0_ptr[0] + staged0_ptr[(((r * (int64_t)32) + ((int64_t)threadIdx.x)) + (int64_t)24)]);
      }
      for (int64_t r_1 = (int64_t)0; r_1 < (there0 - (there1 * (int64_t)4)); ++r_1) {
        total0_ptr[0] = (total0_ptr[0] + staged0_ptr[(((there1 * (int64_t)32) + (r_1 * (int64_t)8)) + ((int64_t)threadIdx.x))]);
      }
      __syncthreads();
    }
    if ((((int64_t)threadIdx.x) < (int64_t)8) && (((int64_t)threadIdx.x) < (int64_t)8)) {
      out0_put_3_ptr[((cell0 * (int64_t)8) + ((int64_t)threadIdx.x))] = total0_ptr[0];
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) ordered_add_kernel_8(float* __restrict__ out0_put_3_ptr, float* __restrict__ x_ptr, int64_t n) {
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

extern "C" __global__ void __launch_bounds__(256) ordered_add_kernel_9(int64_t* __restrict__ i_ptr, float* __restrict__ out0_put_3_ptr, float* __restrict__ v_ptr, int64_t k, int64_t n) {
  int i = ((((int)blockIdx.x) * 256) + ((int)threadIdx.x));
  for (int64_t p0 = (int64_t)0; p0 < k; ++p0) {
    int64_t condval;
    if (i_ptr[p0] < (int64_t)0) {
      condval = (i_ptr[p0] + n);
    } else {
      condval = i_ptr[p0];
    }
    int64_t condval_1;
    if (i_ptr[p0] < (int64_t)0) {
      condval_1 = (i_ptr[p0] + n);
    } else {
      condval_1 = i_ptr[p0];
    }
    if ((((n * (((((int64_t)((int)blockIdx.x)) & (int64_t)7) * (int64_t)256) + ((int64_t)((int)threadIdx.x)))) >> (int64_t)11) <= condval) && (condval_1 < ((n * ((((((int64_t)((int)blockIdx.x)) & (int64_t)7) * (int64_t)256) + ((int64_t)((int)threadIdx.x))) + (int64_t)1)) >> (int64_t)11))) {
      int64_t condval_2;
      if (i_ptr[p0] < (int64_t)0) {
        condval_2 = (i_ptr[p0] + n);
      } else {
        condval_2 = i_ptr[p0];
      }
      int64_t condval_3;
      if (i_ptr[p0] < (int64_t)0) {
        condval_3 = (i_ptr[p0] + n);
      } else {
        condval_3 = i_ptr[p0];
      }
      out0_put_3_ptr[((condval_3 * (int64_t)8) + (((int64_t)((int)blockIdx.x)) >> (int64_t)3))] = (out0_put_3_ptr[((condval_2 * (int64_t)8) + (((int64_t)((int)blockIdx.x)) >> (int64_t)3))] + v_ptr[((p0 * (int64_t)8) + (((int64_t)((int)blockIdx.x)) >> (int64_t)3))]);
    }
  }
}

