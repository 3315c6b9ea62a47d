__device__ __forceinline__ void gs_keep6(int64_t* kept, int64_t* record) {
  if (atomicCAS((unsigned long long*)kept, 0ull, 1ull) == 0)
    for (int k = 1; k < 6; ++k) kept[k] = record[k];
}

__device__ __forceinline__ void gs_stream_8(void* p, uint2 v) {
  __stcs((uint2*)p, v);
}

__device__ __forceinline__ void gs_atomic_max_int64(int64_t* p, long long v) {
  atomicMax((long long*)p, v);
}

extern "C" __global__ void __launch_bounds__(256) gather_nd_kernel(int64_t* __restrict__ status_ptr, int64_t k, int64_t m, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < k) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    if (n <= (int64_t)0) {
      gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - (((((int64_t)blockIdx.x) * (int64_t)512) + (((int64_t)threadIdx.x) * (int64_t)2)) ^ (int64_t)0)));
      gs_atomic_max_int64((&(status_ptr[0])), 1);
    }
    if (m <= (int64_t)0) {
      gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - ((((((int64_t)blockIdx.x) * (int64_t)512) + (((int64_t)threadIdx.x) * (int64_t)2)) + (int64_t)1) ^ (int64_t)0)));
      gs_atomic_max_int64((&(status_ptr[0])), 1);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) gather_nd_kernel_1(int64_t* __restrict__ i_ptr, half* __restrict__ out0_gather_nd_2_ptr, half* __restrict__ x_ptr, int64_t k, int64_t m, int64_t n) {
  alignas(8) int64_t grid__ptr[2];
  int64_t condval;
  if (k <= (int64_t)540672) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)1024;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = k;
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
    alignas(8) int64_t at__ptr[4];
    int64_t once = (i_ptr[(i0 * (int64_t)2)] ^ (int64_t)0);
    int64_t rmod = (once % n);
    int64_t once_1 = (i_ptr[((i0 * (int64_t)2) + (int64_t)1)] ^ (int64_t)0);
    int64_t rmod_1 = (once_1 % m);
    at__ptr[0] = ((((int64_t)min(((uint64_t)(((((n >= (int64_t)0) && (rmod >= (int64_t)0)) || ((n < (int64_t)0) && (rmod <= (int64_t)0))) ? rmod : (rmod + n)) ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * m) + ((int64_t)min(((uint64_t)(((((m >= (int64_t)0) && (rmod_1 >= (int64_t)0)) || ((m < (int64_t)0) && (rmod_1 <= (int64_t)0))) ? rmod_1 : (rmod_1 + m)) ^ (int64_t)0)), ((uint64_t)(m - (int64_t)1)))));
    int64_t once_2 = (i_ptr[(i1 * (int64_t)2)] ^ (int64_t)0);
    int64_t rmod_2 = (once_2 % n);
    int64_t once_3 = (i_ptr[((i1 * (int64_t)2) + (int64_t)1)] ^ (int64_t)0);
    int64_t rmod_3 = (once_3 % m);
    at__ptr[1] = ((((int64_t)min(((uint64_t)(((((n >= (int64_t)0) && (rmod_2 >= (int64_t)0)) || ((n < (int64_t)0) && (rmod_2 <= (int64_t)0))) ? rmod_2 : (rmod_2 + n)) ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * m) + ((int64_t)min(((uint64_t)(((((m >= (int64_t)0) && (rmod_3 >= (int64_t)0)) || ((m < (int64_t)0) && (rmod_3 <= (int64_t)0))) ? rmod_3 : (rmod_3 + m)) ^ (int64_t)0)), ((uint64_t)(m - (int64_t)1)))));
    int64_t once_4 = (i_ptr[(i2 * (int64_t)2)] ^ (int64_t)0);
    int64_t rmod_4 = (once_4 % n);
    int64_t once_5 = (i_ptr[((i2 * (int64_t)2) + (int64_t)1)] ^ (int64_t)0);
    int64_t rmod_5 = (once_5 % m);
    at__ptr[2] = ((((int64_t)min(((uint64_t)(((((n >= (int64_t)0) && (rmod_4 >= (int64_t)0)) || ((n < (int64_t)0) && (rmod_4 <= (int64_t)0))) ? rmod_4 : (rmod_4 + n)) ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * m) + ((int64_t)min(((uint64_t)(((((m >= (int64_t)0) && (rmod_5 >= (int64_t)0)) || ((m < (int64_t)0) && (rmod_5 <= (int64_t)0))) ? rmod_5 : (rmod_5 + m)) ^ (int64_t)0)), ((uint64_t)(m - (int64_t)1)))));
    int64_t once_6 = (i_ptr[(i3 * (int64_t)2)] ^ (int64_t)0);
    int64_t rmod_6 = (once_6 % n);
    int64_t once_7 = (i_ptr[((i3 * (int64_t)2) + (int64_t)1)] ^ (int64_t)0);
    int64_t rmod_7 = (once_7 % m);
    at__ptr[3] = ((((int64_t)min(((uint64_t)(((((n >= (int64_t)0) && (rmod_6 >= (int64_t)0)) || ((n < (int64_t)0) && (rmod_6 <= (int64_t)0))) ? rmod_6 : (rmod_6 + n)) ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * m) + ((int64_t)min(((uint64_t)(((((m >= (int64_t)0) && (rmod_7 >= (int64_t)0)) || ((m < (int64_t)0) && (rmod_7 <= (int64_t)0))) ? rmod_7 : (rmod_7 + m)) ^ (int64_t)0)), ((uint64_t)(m - (int64_t)1)))));
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    int64_t at2 = at__ptr[2];
    int64_t at3 = at__ptr[3];
    half4 v0 = *(half4*)(x_ptr + (at0 * (int64_t)4));
    half4 v1 = *(half4*)(x_ptr + (at1 * (int64_t)4));
    half4 v2 = *(half4*)(x_ptr + (at2 * (int64_t)4));
    half4 v3 = *(half4*)(x_ptr + (at3 * (int64_t)4));
    if ((int64_t)4194304 < k) {
      gs_stream_8((&(out0_gather_nd_2_ptr[(i0 * (int64_t)4)])), (*(uint2 *)(&(v0))));
      gs_stream_8((&(out0_gather_nd_2_ptr[(i1 * (int64_t)4)])), (*(uint2 *)(&(v1))));
      gs_stream_8((&(out0_gather_nd_2_ptr[(i2 * (int64_t)4)])), (*(uint2 *)(&(v2))));
      gs_stream_8((&(out0_gather_nd_2_ptr[(i3 * (int64_t)4)])), (*(uint2 *)(&(v3))));
    } else {
      *(half4*)(out0_gather_nd_2_ptr + (i0 * (int64_t)4)) = v0;
      *(half4*)(out0_gather_nd_2_ptr + (i1 * (int64_t)4)) = v1;
      *(half4*)(out0_gather_nd_2_ptr + (i2 * (int64_t)4)) = v2;
      *(half4*)(out0_gather_nd_2_ptr + (i3 * (int64_t)4)) = v3;
    }
  } else {
    for (int64_t k_1 = (int64_t)0; k_1 < (grid0 >> (int64_t)8); ++k_1) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k_1 * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        alignas(8) int64_t at__ptr_1[1];
        int64_t once_8 = (i_ptr[(i0_1 * (int64_t)2)] ^ (int64_t)0);
        int64_t rmod_8 = (once_8 % n);
        int64_t once_9 = (i_ptr[((i0_1 * (int64_t)2) + (int64_t)1)] ^ (int64_t)0);
        int64_t rmod_9 = (once_9 % m);
        at__ptr_1[0] = ((((int64_t)min(((uint64_t)(((((n >= (int64_t)0) && (rmod_8 >= (int64_t)0)) || ((n < (int64_t)0) && (rmod_8 <= (int64_t)0))) ? rmod_8 : (rmod_8 + n)) ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * m) + ((int64_t)min(((uint64_t)(((((m >= (int64_t)0) && (rmod_9 >= (int64_t)0)) || ((m < (int64_t)0) && (rmod_9 <= (int64_t)0))) ? rmod_9 : (rmod_9 + m)) ^ (int64_t)0)), ((uint64_t)(m - (int64_t)1)))));
        int64_t at0_1 = at__ptr_1[0];
        half4 v0_1 = *(half4*)(x_ptr + (at0_1 * (int64_t)4));
        if ((int64_t)4194304 < k) {
          gs_stream_8((&(out0_gather_nd_2_ptr[(i0_1 * (int64_t)4)])), (*(uint2 *)(&(v0_1))));
        } else {
          *(half4*)(out0_gather_nd_2_ptr + (i0_1 * (int64_t)4)) = v0_1;
        }
      }
    }
  }
}

extern "C" __global__ void gather_nd_kernel_2(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, int64_t* __restrict__ status_ptr, int64_t k, int64_t m, int64_t n, int64_t threads) {
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
      status_ptr[4] = m;
      status_ptr[5] = n;
      gs_keep6((&(kept_ptr[0])), (&(status_ptr[0])));
    }
  }
  if (threads < (int64_t)0) {
    status_ptr[0] = (int64_t)0;
    status_ptr[1] = (int64_t)0;
    status_ptr[2] = (int64_t)0;
  }
}

