extern "C" __global__ void __launch_bounds__(256) cumsum_rows_kernel(float* __restrict__ cumsum_1_before_ptr, float* __restrict__ x_ptr, int64_t n) {
  if ((((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) + (int64_t)8) < (((n + (int64_t)63) >> (int64_t)6) * (int64_t)8)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    alignas(8) float total_ptr[1];
    total_ptr[0] = -0x0p+0f/*-0.000000e+00*/;
    for (int64_t k = (int64_t)0; k < (int64_t)64; ++k) {
      total_ptr[0] = (total_ptr[0] + x_ptr[((((((int64_t)blockIdx.x) * (int64_t)16384) + ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)512)) + (k * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))]);
    }
    cumsum_1_before_ptr[(((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) + (int64_t)8)] = total_ptr[0];
  }
}

extern "C" __global__ void __launch_bounds__(1024) cumsum_rows_kernel_1(float* __restrict__ cumsum_1_before_ptr, int64_t n) {
  alignas(8) float total_ptr[1];
  alignas(8) float upto_ptr[1];
  __shared__ alignas(8) float warps_ptr[32];
  total_ptr[0] = -0x0p+0f/*-0.000000e+00*/;
  for (int64_t part = (int64_t)0; part < min(((n + (int64_t)65471) >> (int64_t)16), max(((((n + (int64_t)63) >> (int64_t)6) - (((int64_t)threadIdx.x) * ((n + (int64_t)65471) >> (int64_t)16))) - (int64_t)1), (int64_t)0)); ++part) {
    total_ptr[0] = (total_ptr[0] + cumsum_1_before_ptr[((((min((((int64_t)threadIdx.x) * ((n + (int64_t)65471) >> (int64_t)16)), (((n + (int64_t)63) >> (int64_t)6) - (int64_t)1)) * (int64_t)8) + (part * (int64_t)8)) + ((int64_t)blockIdx.x)) + (int64_t)8)]);
  }
  upto_ptr[0] = total_ptr[0];
  for (int s = 0; s < 5; ++s) {
    float other = __shfl_sync((uint)4294967295, upto_ptr[0], ((int)max(((((int64_t)threadIdx.x) & (int64_t)31) - ((int64_t)(1 << s))), (int64_t)0)), 32);
    if (((int64_t)(1 << s)) <= (((int64_t)threadIdx.x) & (int64_t)31)) {
      upto_ptr[0] = (other + upto_ptr[0]);
    }
  }
  if ((((int64_t)threadIdx.x) & (int64_t)31) == (int64_t)31) {
    warps_ptr[(((int64_t)threadIdx.x) >> (int64_t)5)] = upto_ptr[0];
  }
  float others = __shfl_sync((uint)4294967295, upto_ptr[0], ((int)max(((((int64_t)threadIdx.x) & (int64_t)31) - (int64_t)1), (int64_t)0)), 32);
  total_ptr[0] = (((((int64_t)threadIdx.x) % (int64_t)32) == (int64_t)0) ? -0x0p+0f/*-0.000000e+00*/ : others);
  __syncthreads();
  upto_ptr[0] = warps_ptr[(((int64_t)threadIdx.x) & (int64_t)31)];
  for (int s_1 = 0; s_1 < 5; ++s_1) {
    float other_1 = __shfl_sync((uint)4294967295, upto_ptr[0], ((int)max(((((int64_t)threadIdx.x) & (int64_t)31) - ((int64_t)(1 << s_1))), (int64_t)0)), 32);
    if (((int64_t)(1 << s_1)) <= (((int64_t)threadIdx.x) & (int64_t)31)) {
      upto_ptr[0] = (other_1 + upto_ptr[0]);
    }
  }
  float others_1 = __shfl_sync((uint)4294967295, upto_ptr[0], ((int)max(((((int64_t)threadIdx.x) >> (int64_t)5) - (int64_t)1), (int64_t)0)), 32);
  if ((int64_t)31 < ((int64_t)threadIdx.x)) {
    total_ptr[0] = (others_1 + total_ptr[0]);
  }
  for (int64_t part_1 = (int64_t)0; part_1 < min(((n + (int64_t)65471) >> (int64_t)16), max(((((n + (int64_t)63) >> (int64_t)6) - (((int64_t)threadIdx.x) * ((n + (int64_t)65471) >> (int64_t)16))) - (int64_t)1), (int64_t)0)); ++part_1) {
    total_ptr[0] = (total_ptr[0] + cumsum_1_before_ptr[((((min((((int64_t)threadIdx.x) * ((n + (int64_t)65471) >> (int64_t)16)), (((n + (int64_t)63) >> (int64_t)6) - (int64_t)1)) * (int64_t)8) + (part_1 * (int64_t)8)) + ((int64_t)blockIdx.x)) + (int64_t)8)]);
    cumsum_1_before_ptr[((((min((((int64_t)threadIdx.x) * ((n + (int64_t)65471) >> (int64_t)16)), (((n + (int64_t)63) >> (int64_t)6) - (int64_t)1)) * (int64_t)8) + (part_1 * (int64_t)8)) + ((int64_t)blockIdx.x)) + (int64_t)8)] = total_ptr[0];
  }
}

extern "C" __global__ void __launch_bounds__(256) cumsum_rows_kernel_2(float* __restrict__ cumsum_1_before_ptr, float* __restrict__ out0_cumsum_1_ptr, float* __restrict__ x_ptr, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (((n + (int64_t)63) >> (int64_t)6) * (int64_t)8)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    alignas(8) float total_ptr[1];
    float condval;
    if ((int64_t)7 < ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))) {
      condval = cumsum_1_before_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    } else {
      condval = -0x0p+0f/*-0.000000e+00*/;
    }
    total_ptr[0] = condval;
    for (int64_t k = (int64_t)0; k < min(((n - ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)64)) - (((int64_t)blockIdx.x) * (int64_t)2048)), (int64_t)64); ++k) {
      total_ptr[0] = (total_ptr[0] + x_ptr[((((((int64_t)blockIdx.x) * (int64_t)16384) + ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)512)) + (k * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))]);
      out0_cumsum_1_ptr[((((((int64_t)blockIdx.x) * (int64_t)16384) + ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)512)) + (k * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] = total_ptr[0];
    }
  }
}

