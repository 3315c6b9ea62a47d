extern "C" __global__ void __launch_bounds__(256) sum_rows_kernel(float* __restrict__ out0_sum_1_ptr, float* __restrict__ x_ptr, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < n) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    alignas(64) float acc0_ptr[1];
    acc0_ptr[0] = 0x0p+0f/*0.000000e+00*/;
    for (int64_t r0 = (int64_t)0; r0 < (int64_t)8; ++r0) {
      acc0_ptr[0] = (acc0_ptr[0] + x_ptr[(((((int64_t)blockIdx.x) * (int64_t)2048) + (((int64_t)threadIdx.x) * (int64_t)8)) + r0)]);
    }
    out0_sum_1_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] = acc0_ptr[0];
  }
}

