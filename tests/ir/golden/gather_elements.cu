__device__ __forceinline__ void gs_atomic_min_int64(int64_t* p, long long v) {
  atomicMin((long long*)p, v);
}

extern "C" __global__ void gather_elements_kernel(int64_t* __restrict__ status_ptr) {
  status_ptr[0] = (int64_t)0;
  status_ptr[1] = (int64_t)9223372036854775807;
  status_ptr[2] = (int64_t)0;
}

extern "C" __global__ void __launch_bounds__(256) gather_elements_kernel_1(int64_t* __restrict__ status_ptr, int64_t k, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (k * (int64_t)8)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    if (n <= (int64_t)0) {
      gs_atomic_min_int64((&(status_ptr[1])), ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)));
      status_ptr[0] = (int64_t)1;
    }
  }
}

extern "C" __global__ void gather_elements_kernel_2(int64_t* __restrict__ i_ptr, int64_t* __restrict__ status_ptr) {
  if (status_ptr[1] != (int64_t)9223372036854775807) {
    int64_t p = status_ptr[1];
    status_ptr[2] = i_ptr[p];
  }
}

extern "C" __global__ void __launch_bounds__(256) gather_elements_kernel_3(int64_t* __restrict__ i_ptr, float* __restrict__ out0_gather_2_ptr, int64_t* __restrict__ status_ptr, float* __restrict__ x_ptr, int64_t k, int64_t n) {
  if ((((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (k * (int64_t)8)) && (status_ptr[0] == (int64_t)0)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    int64_t condval;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] < (int64_t)0) {
      condval = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] + n);
    } else {
      condval = i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    }
    out0_gather_2_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] = x_ptr[((((int64_t)min(((uint64_t)(max((condval ^ (int64_t)0), (int64_t)0) ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)7))];
  }
}

