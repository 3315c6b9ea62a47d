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
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (k * (int64_t)8)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    int64_t condval;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] < (int64_t)0) {
      condval = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] + n);
    } else {
      condval = i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    }
    out0_gather_2_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] = x_ptr[((((int64_t)min(((uint64_t)(max((condval ^ (int64_t)0), (int64_t)0) ^ (int64_t)0)), ((uint64_t)(n - (int64_t)1)))) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)7))];
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
}

