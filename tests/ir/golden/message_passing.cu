__device__ __forceinline__ void gs_atomic_add_float32(float* p, float v) {
  atomicAdd((float*)p, (float)v);
}

extern "C" __global__ void __launch_bounds__(256) message_passing_kernel(float* __restrict__ out0_put_7_ptr, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (n * (int64_t)8)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    out0_put_7_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] = 0x0p+0f/*0.000000e+00*/;
  }
}

extern "C" __global__ void __launch_bounds__(256) message_passing_kernel_1(int* __restrict__ dst_ptr, float* __restrict__ out0_put_7_ptr, int* __restrict__ src_ptr, float* __restrict__ w_ptr, float* __restrict__ x_ptr, int64_t e, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (e * (int64_t)8)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    int64_t condval;
    if (((int64_t)dst_ptr[((((int64_t)blockIdx.x) * (int64_t)32) + (((int64_t)threadIdx.x) >> (int64_t)3))]) < (int64_t)0) {
      condval = (((int64_t)dst_ptr[((((int64_t)blockIdx.x) * (int64_t)32) + (((int64_t)threadIdx.x) >> (int64_t)3))]) + n);
    } else {
      condval = ((int64_t)dst_ptr[((((int64_t)blockIdx.x) * (int64_t)32) + (((int64_t)threadIdx.x) >> (int64_t)3))]);
    }
    int64_t condval_1;
    if (((int64_t)src_ptr[((((int64_t)blockIdx.x) * (int64_t)32) + (((int64_t)threadIdx.x) >> (int64_t)3))]) < (int64_t)0) {
      condval_1 = (((int64_t)src_ptr[((((int64_t)blockIdx.x) * (int64_t)32) + (((int64_t)threadIdx.x) >> (int64_t)3))]) + n);
    } else {
      condval_1 = ((int64_t)src_ptr[((((int64_t)blockIdx.x) * (int64_t)32) + (((int64_t)threadIdx.x) >> (int64_t)3))]);
    }
    gs_atomic_add_float32((&(out0_put_7_ptr[((condval * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)7))])), (x_ptr[((condval_1 * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)7))] * w_ptr[((((int64_t)blockIdx.x) * (int64_t)32) + (((int64_t)threadIdx.x) >> (int64_t)3))]));
  }
}

