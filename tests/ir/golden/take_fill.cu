extern "C" __global__ void __launch_bounds__(256) take_fill_kernel(int64_t* __restrict__ i_ptr, float* __restrict__ out0_take_2_ptr, float* __restrict__ x_ptr) {
  alignas(8) int grid__ptr[2];
  grid__ptr[0] = 256;
  grid__ptr[1] = 35;
  int grid0 = grid__ptr[0];
  int grid1 = grid__ptr[1];
  if ((grid0 == 512) && (512 <= grid1)) {
    alignas(8) int i__ptr[2];
    i__ptr[0] = ((int)threadIdx.x);
    i__ptr[1] = (((int)threadIdx.x) + 256);
    int i0 = i__ptr[0];
    int i1 = i__ptr[1];
    alignas(8) int64_t at__ptr[2];
    int64_t condval;
    if (i_ptr[((i0 / 5) + ((i0 % 5) >> 31))] < (int64_t)0) {
      condval = (i_ptr[((i0 / 5) + ((i0 % 5) >> 31))] + (int64_t)9);
    } else {
      condval = i_ptr[((i0 / 5) + ((i0 % 5) >> 31))];
    }
    at__ptr[0] = ((((int64_t)((int)min(((uint64_t)(condval ^ (int64_t)0)), (uint64_t)8ULL))) * (int64_t)5) + ((((int64_t)i0) + (int64_t)2147483650) % (int64_t)5));
    int64_t condval_1;
    if (i_ptr[((i1 / 5) + ((i1 % 5) >> 31))] < (int64_t)0) {
      condval_1 = (i_ptr[((i1 / 5) + ((i1 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_1 = i_ptr[((i1 / 5) + ((i1 % 5) >> 31))];
    }
    at__ptr[1] = ((((int64_t)((int)min(((uint64_t)(condval_1 ^ (int64_t)0)), (uint64_t)8ULL))) * (int64_t)5) + ((((int64_t)i1) + (int64_t)2147483650) % (int64_t)5));
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    int64_t condval_3;
    if (i_ptr[((i0 / 5) + ((i0 % 5) >> 31))] < (int64_t)0) {
      condval_3 = (i_ptr[((i0 / 5) + ((i0 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_3 = i_ptr[((i0 / 5) + ((i0 % 5) >> 31))];
    }
    int64_t condval_4;
    if (i_ptr[((i0 / 5) + ((i0 % 5) >> 31))] < (int64_t)0) {
      condval_4 = (i_ptr[((i0 / 5) + ((i0 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_4 = i_ptr[((i0 / 5) + ((i0 % 5) >> 31))];
    }
    float condval_2;
    if (((int64_t)0 <= condval_3) && (condval_4 < (int64_t)9)) {
      condval_2 = x_ptr[at0];
    } else {
      condval_2 = -0x1p+0f/*-1.000000e+00*/;
    }
    float v0 = condval_2;
    int64_t condval_6;
    if (i_ptr[((i1 / 5) + ((i1 % 5) >> 31))] < (int64_t)0) {
      condval_6 = (i_ptr[((i1 / 5) + ((i1 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_6 = i_ptr[((i1 / 5) + ((i1 % 5) >> 31))];
    }
    int64_t condval_7;
    if (i_ptr[((i1 / 5) + ((i1 % 5) >> 31))] < (int64_t)0) {
      condval_7 = (i_ptr[((i1 / 5) + ((i1 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_7 = i_ptr[((i1 / 5) + ((i1 % 5) >> 31))];
    }
    float condval_5;
    if (((int64_t)0 <= condval_6) && (condval_7 < (int64_t)9)) {
      condval_5 = x_ptr[at1];
    } else {
      condval_5 = -0x1p+0f/*-1.000000e+00*/;
    }
    float v1 = condval_5;
    out0_take_2_ptr[i0] = v0;
    out0_take_2_ptr[i1] = v1;
  } else {
    for (int k = 0; k < (grid0 >> 8); ++k) {
      alignas(8) int i__ptr_1[1];
      i__ptr_1[0] = ((k * 256) + ((int)threadIdx.x));
      int i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        alignas(8) int64_t at__ptr_1[1];
        int64_t condval_8;
        if (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] < (int64_t)0) {
          condval_8 = (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] + (int64_t)9);
        } else {
          condval_8 = i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))];
        }
        at__ptr_1[0] = ((((int64_t)((int)min(((uint64_t)(condval_8 ^ (int64_t)0)), (uint64_t)8ULL))) * (int64_t)5) + ((((int64_t)i0_1) + (int64_t)2147483650) % (int64_t)5));
        int64_t at0_1 = at__ptr_1[0];
        int64_t condval_10;
        if (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] < (int64_t)0) {
          condval_10 = (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] + (int64_t)9);
        } else {
          condval_10 = i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))];
        }
        int64_t condval_11;
        if (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] < (int64_t)0) {
          condval_11 = (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] + (int64_t)9);
        } else {
          condval_11 = i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))];
        }
        float condval_9;
        if (((int64_t)0 <= condval_10) && (condval_11 < (int64_t)9)) {
          condval_9 = x_ptr[at0_1];
        } else {
          condval_9 = -0x1p+0f/*-1.000000e+00*/;
        }
        float v0_1 = condval_9;
        out0_take_2_ptr[i0_1] = v0_1;
      }
    }
  }
}

