__device__ __forceinline__ void gs_atomic_add_float32(float* p, float v) {
  atomicAdd((float*)p, (float)v);
}

__device__ __forceinline__ void gs_atomic_min_int64(int64_t* p, long long v) {
  atomicMin((long long*)p, v);
}

extern "C" __global__ void scatter_add_kernel(int64_t* __restrict__ status_ptr) {
  status_ptr[0] = (int64_t)0;
  status_ptr[1] = (int64_t)9223372036854775807;
  status_ptr[2] = (int64_t)0;
}

extern "C" __global__ void __launch_bounds__(256) scatter_add_kernel_1(int64_t* __restrict__ i_ptr, int64_t* __restrict__ status_ptr, int64_t k, int64_t n) {
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
      gs_atomic_min_int64((&(status_ptr[1])), ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)));
      status_ptr[0] = (int64_t)1;
    }
  }
}

extern "C" __global__ void scatter_add_kernel_2(int64_t* __restrict__ i_ptr, int64_t* __restrict__ status_ptr) {
  if (status_ptr[1] != (int64_t)9223372036854775807) {
    int64_t p = status_ptr[1];
    status_ptr[2] = i_ptr[p];
  }
}

extern "C" __global__ void __launch_bounds__(256) scatter_add_kernel_3(float* __restrict__ out0_scatter_3_ptr, int64_t* __restrict__ status_ptr, float* __restrict__ x_ptr, int64_t n) {
  if ((((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (n * (int64_t)2)) && (status_ptr[0] == (int64_t)0)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    *(float4*)(out0_scatter_3_ptr + ((((int64_t)blockIdx.x) * (int64_t)1024) + (((int64_t)threadIdx.x) * (int64_t)4))) = *(float4*)(x_ptr + ((((int64_t)blockIdx.x) * (int64_t)1024) + (((int64_t)threadIdx.x) * (int64_t)4)));
  }
}

extern "C" __global__ void __launch_bounds__(256) scatter_add_kernel_4(int64_t* __restrict__ i_ptr, float* __restrict__ out0_scatter_3_ptr, int64_t* __restrict__ status_ptr, float* __restrict__ v_ptr, int64_t k, int64_t n) {
  if ((((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (k * (int64_t)8)) && (status_ptr[0] == (int64_t)0)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    int64_t condval;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] < (int64_t)0) {
      condval = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] + n);
    } else {
      condval = i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    }
    gs_atomic_add_float32((&(out0_scatter_3_ptr[((((int64_t)min(((uint64_t)(condval ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)7))])), v_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))]);
  }
}

