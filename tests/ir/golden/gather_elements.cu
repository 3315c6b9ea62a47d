__device__ __forceinline__ void gs_keep5(int64_t* kept, int64_t* record) {
  if (atomicCAS((unsigned long long*)kept, 0ull, 1ull) == 0)
    for (int k = 1; k < 5; ++k) kept[k] = record[k];
}

__device__ __forceinline__ void gs_atomic_max_int64(int64_t* p, long long v) {
  atomicMax((long long*)p, v);
}

extern "C" __global__ void __launch_bounds__(256) gather_elements_kernel(int64_t* __restrict__ status_ptr, int64_t k, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (k * (int64_t)8)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    if (n <= (int64_t)0) {
      gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) ^ (int64_t)0)));
      gs_atomic_max_int64((&(status_ptr[0])), 1);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) gather_elements_kernel_1(int64_t* __restrict__ i_ptr, float* __restrict__ out0_gather_2_ptr, float* __restrict__ x_ptr, int64_t k, int64_t n) {
  alignas(8) int64_t grid__ptr[2];
  int64_t condval;
  if (k <= (int64_t)135168) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)512;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = (k * (int64_t)4);
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  if ((grid0 == (int64_t)512) && (((((int64_t)blockIdx.x) * grid0) + (int64_t)512) <= grid1)) {
    alignas(8) int64_t i__ptr[2];
    i__ptr[0] = ((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x));
    i__ptr[1] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)256);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    alignas(8) int64_t at__ptr[4];
    at__ptr[0] = (i0 >> (int64_t)2);
    at__ptr[1] = (i0 & (int64_t)3);
    at__ptr[2] = (i1 >> (int64_t)2);
    at__ptr[3] = (i1 & (int64_t)3);
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    int64_t at2 = at__ptr[2];
    int64_t at3 = at__ptr[3];
    alignas(16) int64_t ahead0_0_ptr[2];
    alignas(16) float value0_ptr[2];
    alignas(16) int64_t ahead1_0_ptr[2];
    alignas(16) float value1_ptr[2];
    *(longlong2*)(ahead0_0_ptr + (int64_t)0) = *(longlong2*)(i_ptr + ((at0 * (int64_t)8) + (at1 * (int64_t)2)));
    *(longlong2*)(ahead1_0_ptr + (int64_t)0) = *(longlong2*)(i_ptr + ((at2 * (int64_t)8) + (at3 * (int64_t)2)));
    for (int64_t q = (int64_t)0; q < (int64_t)2; ++q) {
      int64_t condval_1;
      if (ahead0_0_ptr[q] < (int64_t)0) {
        condval_1 = (ahead0_0_ptr[q] + n);
      } else {
        condval_1 = ahead0_0_ptr[q];
      }
      value0_ptr[q] = x_ptr[(((((int64_t)min(((uint64_t)(max((condval_1 ^ (int64_t)0), (int64_t)0) ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)8) + (at1 * (int64_t)2)) + q)];
    }
    for (int64_t q_1 = (int64_t)0; q_1 < (int64_t)2; ++q_1) {
      int64_t condval_2;
      if (ahead1_0_ptr[q_1] < (int64_t)0) {
        condval_2 = (ahead1_0_ptr[q_1] + n);
      } else {
        condval_2 = ahead1_0_ptr[q_1];
      }
      value1_ptr[q_1] = x_ptr[(((((int64_t)min(((uint64_t)(max((condval_2 ^ (int64_t)0), (int64_t)0) ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)8) + (at3 * (int64_t)2)) + q_1)];
    }
    *(float2*)(out0_gather_2_ptr + ((at0 * (int64_t)8) + (at1 * (int64_t)2))) = *(float2*)(value0_ptr + (int64_t)0);
    *(float2*)(out0_gather_2_ptr + ((at2 * (int64_t)8) + (at3 * (int64_t)2))) = *(float2*)(value1_ptr + (int64_t)0);
  } else {
    for (int64_t k_1 = (int64_t)0; k_1 < (grid0 >> (int64_t)8); ++k_1) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k_1 * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        alignas(8) int64_t at__ptr_1[2];
        at__ptr_1[0] = (i0_1 >> (int64_t)2);
        at__ptr_1[1] = (i0_1 & (int64_t)3);
        int64_t at0_1 = at__ptr_1[0];
        int64_t at1_1 = at__ptr_1[1];
        alignas(16) int64_t ahead0_0_ptr_1[2];
        alignas(16) float value0_ptr_1[2];
        *(longlong2*)(ahead0_0_ptr_1 + (int64_t)0) = *(longlong2*)(i_ptr + ((at0_1 * (int64_t)8) + (at1_1 * (int64_t)2)));
        for (int64_t q_2 = (int64_t)0; q_2 < (int64_t)2; ++q_2) {
          int64_t condval_3;
          if (ahead0_0_ptr_1[q_2] < (int64_t)0) {
            condval_3 = (ahead0_0_ptr_1[q_2] + n);
          } else {
            condval_3 = ahead0_0_ptr_1[q_2];
          }
          value0_ptr_1[q_2] = x_ptr[(((((int64_t)min(((uint64_t)(max((condval_3 ^ (int64_t)0), (int64_t)0) ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)8) + (at1_1 * (int64_t)2)) + q_2)];
        }
        *(float2*)(out0_gather_2_ptr + ((at0_1 * (int64_t)8) + (at1_1 * (int64_t)2))) = *(float2*)(value0_ptr_1 + (int64_t)0);
      }
    }
  }
}

extern "C" __global__ void gather_elements_kernel_2(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, int64_t* __restrict__ status_ptr, int64_t k, int64_t n, int64_t threads) {
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

