extern "C" __global__ void __launch_bounds__(256) take_fill_kernel(int64_t* __restrict__ i_ptr, float* __restrict__ out0_take_2_ptr, float* __restrict__ x_ptr) {
  if (((int)threadIdx.x) < 35) {
    int i = ((int)threadIdx.x);
    int64_t condval_1;
    if (i_ptr[(((int)threadIdx.x) / 5)] < (int64_t)0) {
      condval_1 = (i_ptr[(((int)threadIdx.x) / 5)] + (int64_t)9);
    } else {
      condval_1 = i_ptr[(((int)threadIdx.x) / 5)];
    }
    int64_t condval_2;
    if (i_ptr[(((int)threadIdx.x) / 5)] < (int64_t)0) {
      condval_2 = (i_ptr[(((int)threadIdx.x) / 5)] + (int64_t)9);
    } else {
      condval_2 = i_ptr[(((int)threadIdx.x) / 5)];
    }
    float condval;
    if (((int64_t)0 <= condval_1) && (condval_2 < (int64_t)9)) {
      int64_t condval_3;
      if (i_ptr[(((int)threadIdx.x) / 5)] < (int64_t)0) {
        condval_3 = (i_ptr[(((int)threadIdx.x) / 5)] + (int64_t)9);
      } else {
        condval_3 = i_ptr[(((int)threadIdx.x) / 5)];
      }
      condval = x_ptr[((((int)min(((uint64_t)(condval_3 ^ (int64_t)0)), (uint64_t)8ULL)) * 5) + (((int)threadIdx.x) % 5))];
    } else {
      condval = -0x1p+0f/*-1.000000e+00*/;
    }
    out0_take_2_ptr[((int)threadIdx.x)] = condval;
  }
}

