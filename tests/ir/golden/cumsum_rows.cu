extern "C" __global__ void __launch_bounds__(256) cumsum_rows_kernel(float* __restrict__ cumsum_1_before_ptr, float* __restrict__ x_ptr, int64_t n) {
  if ((((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) + (int64_t)8) < (((n + (int64_t)255) >> (int64_t)8) * (int64_t)8)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    alignas(8) float total_ptr[1];
    total_ptr[0] = -0x0p+0f/*-0.000000e+00*/;
    for (int64_t k = (int64_t)0; k < (int64_t)256; ++k) {
      total_ptr[0] = (total_ptr[0] + x_ptr[((((((int64_t)blockIdx.x) * (int64_t)65536) + ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)2048)) + (k * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))]);
    }
    cumsum_1_before_ptr[(((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) + (int64_t)8)] = total_ptr[0];
  }
}

extern "C" __global__ void __launch_bounds__(256) cumsum_rows_kernel_1(float* __restrict__ cumsum_1_before_ptr, int64_t n) {
  if (((int)threadIdx.x) < 8) {
    int i = ((int)threadIdx.x);
    alignas(8) float total_ptr[1];
    total_ptr[0] = -0x0p+0f/*-0.000000e+00*/;
    for (int64_t block = (int64_t)0; block < ((n + (int64_t)255) >> (int64_t)8); ++block) {
      if ((int64_t)0 < block) {
        total_ptr[0] = (total_ptr[0] + cumsum_1_before_ptr[((block * (int64_t)8) + ((int64_t)((int)threadIdx.x)))]);
      }
      cumsum_1_before_ptr[((block * (int64_t)8) + ((int64_t)((int)threadIdx.x)))] = total_ptr[0];
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) cumsum_rows_kernel_2(float* __restrict__ cumsum_1_before_ptr, float* __restrict__ out0_cumsum_1_ptr, float* __restrict__ x_ptr, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (((n + (int64_t)255) >> (int64_t)8) * (int64_t)8)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    alignas(8) float total_ptr[1];
    total_ptr[0] = cumsum_1_before_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    for (int64_t k = (int64_t)0; k < min(((n - ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)256)) - (((int64_t)blockIdx.x) * (int64_t)8192)), (int64_t)256); ++k) {
      total_ptr[0] = (total_ptr[0] + x_ptr[((((((int64_t)blockIdx.x) * (int64_t)65536) + ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)2048)) + (k * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))]);
      out0_cumsum_1_ptr[((((((int64_t)blockIdx.x) * (int64_t)65536) + ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)2048)) + (k * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] = total_ptr[0];
    }
  }
}

