extern "C" __global__ void __launch_bounds__(256) take_fill_kernel(int64_t* __restrict__ i_ptr, float* __restrict__ out0_take_2_ptr, float* __restrict__ x_ptr) {
  alignas(8) int grid__ptr[2];
  grid__ptr[0] = 256;
  grid__ptr[1] = 35;
  int grid0 = grid__ptr[0];
  int grid1 = grid__ptr[1];
  if ((grid0 == 1024) && (1024 <= grid1)) {
    alignas(8) int i__ptr[4];
    i__ptr[0] = ((int)threadIdx.x);
    i__ptr[1] = (((int)threadIdx.x) + 256);
    i__ptr[2] = (((int)threadIdx.x) + 512);
    i__ptr[3] = (((int)threadIdx.x) + 768);
    int i0 = i__ptr[0];
    int i1 = i__ptr[1];
    int i2 = i__ptr[2];
    int i3 = i__ptr[3];
    alignas(8) int64_t at__ptr[4];
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
    int64_t condval_2;
    if (i_ptr[((i2 / 5) + ((i2 % 5) >> 31))] < (int64_t)0) {
      condval_2 = (i_ptr[((i2 / 5) + ((i2 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_2 = i_ptr[((i2 / 5) + ((i2 % 5) >> 31))];
    }
    at__ptr[2] = ((((int64_t)((int)min(((uint64_t)(condval_2 ^ (int64_t)0)), (uint64_t)8ULL))) * (int64_t)5) + ((((int64_t)i2) + (int64_t)2147483650) % (int64_t)5));
    int64_t condval_3;
    if (i_ptr[((i3 / 5) + ((i3 % 5) >> 31))] < (int64_t)0) {
      condval_3 = (i_ptr[((i3 / 5) + ((i3 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_3 = i_ptr[((i3 / 5) + ((i3 % 5) >> 31))];
    }
    at__ptr[3] = ((((int64_t)((int)min(((uint64_t)(condval_3 ^ (int64_t)0)), (uint64_t)8ULL))) * (int64_t)5) + ((((int64_t)i3) + (int64_t)2147483650) % (int64_t)5));
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    int64_t at2 = at__ptr[2];
    int64_t at3 = at__ptr[3];
    int64_t condval_5;
    if (i_ptr[((i0 / 5) + ((i0 % 5) >> 31))] < (int64_t)0) {
      condval_5 = (i_ptr[((i0 / 5) + ((i0 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_5 = i_ptr[((i0 / 5) + ((i0 % 5) >> 31))];
    }
    int64_t condval_6;
    if (i_ptr[((i0 / 5) + ((i0 % 5) >> 31))] < (int64_t)0) {
      condval_6 = (i_ptr[((i0 / 5) + ((i0 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_6 = i_ptr[((i0 / 5) + ((i0 % 5) >> 31))];
    }
    float condval_4;
    if (((int64_t)0 <= condval_5) && (condval_6 < (int64_t)9)) {
      condval_4 = x_ptr[at0];
    } else {
      condval_4 = -0x1p+0f/*-1.000000e+00*/;
    }
    float v0 = condval_4;
    int64_t condval_8;
    if (i_ptr[((i1 / 5) + ((i1 % 5) >> 31))] < (int64_t)0) {
      condval_8 = (i_ptr[((i1 / 5) + ((i1 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_8 = i_ptr[((i1 / 5) + ((i1 % 5) >> 31))];
    }
    int64_t condval_9;
    if (i_ptr[((i1 / 5) + ((i1 % 5) >> 31))] < (int64_t)0) {
      condval_9 = (i_ptr[((i1 / 5) + ((i1 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_9 = i_ptr[((i1 / 5) + ((i1 % 5) >> 31))];
    }
    float condval_7;
    if (((int64_t)0 <= condval_8) && (condval_9 < (int64_t)9)) {
      condval_7 = x_ptr[at1];
    } else {
      condval_7 = -0x1p+0f/*-1.000000e+00*/;
    }
    float v1 = condval_7;
    int64_t condval_11;
    if (i_ptr[((i2 / 5) + ((i2 % 5) >> 31))] < (int64_t)0) {
      condval_11 = (i_ptr[((i2 / 5) + ((i2 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_11 = i_ptr[((i2 / 5) + ((i2 % 5) >> 31))];
    }
    int64_t condval_12;
    if (i_ptr[((i2 / 5) + ((i2 % 5) >> 31))] < (int64_t)0) {
      condval_12 = (i_ptr[((i2 / 5) + ((i2 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_12 = i_ptr[((i2 / 5) + ((i2 % 5) >> 31))];
    }
    float condval_10;
    if (((int64_t)0 <= condval_11) && (condval_12 < (int64_t)9)) {
      condval_10 = x_ptr[at2];
    } else {
      condval_10 = -0x1p+0f/*-1.000000e+00*/;
    }
    float v2 = condval_10;
    int64_t condval_14;
    if (i_ptr[((i3 / 5) + ((i3 % 5) >> 31))] < (int64_t)0) {
      condval_14 = (i_ptr[((i3 / 5) + ((i3 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_14 = i_ptr[((i3 / 5) + ((i3 % 5) >> 31))];
    }
    int64_t condval_15;
    if (i_ptr[((i3 / 5) + ((i3 % 5) >> 31))] < (int64_t)0) {
      condval_15 = (i_ptr[((i3 / 5) + ((i3 % 5) >> 31))] + (int64_t)9);
    } else {
      condval_15 = i_ptr[((i3 / 5) + ((i3 % 5) >> 31))];
    }
    float condval_13;
    if (((int64_t)0 <= condval_14) && (condval_15 < (int64_t)9)) {
      condval_13 = x_ptr[at3];
    } else {
      condval_13 = -0x1p+0f/*-1.000000e+00*/;
    }
    float v3 = condval_13;
    out0_take_2_ptr[i0] = v0;
    out0_take_2_ptr[i1] = v1;
    out0_take_2_ptr[i2] = v2;
    out0_take_2_ptr[i3] = v3;
  } else {
    for (int k = 0; k < (grid0 >> 8); ++k) {
      alignas(8) int i__ptr_1[1];
      i__ptr_1[0] = ((k * 256) + ((int)threadIdx.x));
      int i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        alignas(8) int64_t at__ptr_1[1];
        int64_t condval_16;
        if (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] < (int64_t)0) {
          condval_16 = (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] + (int64_t)9);
        } else {
          condval_16 = i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))];
        }
        at__ptr_1[0] = ((((int64_t)((int)min(((uint64_t)(condval_16 ^ (int64_t)0)), (uint64_t)8ULL))) * (int64_t)5) + ((((int64_t)i0_1) + (int64_t)2147483650) % (int64_t)5));
        int64_t at0_1 = at__ptr_1[0];
        int64_t condval_18;
        if (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] < (int64_t)0) {
          condval_18 = (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] + (int64_t)9);
        } else {
          condval_18 = i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))];
        }
        int64_t condval_19;
        if (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] < (int64_t)0) {
          condval_19 = (i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))] + (int64_t)9);
        } else {
          condval_19 = i_ptr[((i0_1 / 5) + ((i0_1 % 5) >> 31))];
        }
        float condval_17;
        if (((int64_t)0 <= condval_18) && (condval_19 < (int64_t)9)) {
          condval_17 = x_ptr[at0_1];
        } else {
          condval_17 = -0x1p+0f/*-1.000000e+00*/;
        }
        float v0_1 = condval_17;
        out0_take_2_ptr[i0_1] = v0_1;
      }
    }
  }
}

