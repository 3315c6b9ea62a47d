__device__ __forceinline__ void gs_atomic_add_float32x4(float* p, float* v) {
#if __CUDA_ARCH__ >= 900
  atomicAdd((float4*)p, *(float4*)v);
#else
  for (int k = 0; k < 4; ++k) atomicAdd(p + k, v[k]);
#endif
}

extern "C" __global__ void __launch_bounds__(256) message_passing_kernel(float* __restrict__ out0_put_7_ptr, int64_t n) {
  alignas(8) int64_t grid__ptr[3];
  int64_t condval;
  if (n <= (int64_t)270336) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)512;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = (n * (int64_t)2);
  grid__ptr[2] = (n * (int64_t)2);
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  int64_t grid2 = grid__ptr[2];
  if ((grid0 == (int64_t)512) && (((((int64_t)blockIdx.x) * grid0) + (int64_t)512) <= grid2)) {
    alignas(8) int64_t i__ptr[2];
    i__ptr[0] = ((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x));
    i__ptr[1] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)256);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    *(float4*)(out0_put_7_ptr + (i0 * (int64_t)4)) = make_float4(0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/);
    *(float4*)(out0_put_7_ptr + (i1 * (int64_t)4)) = make_float4(0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/);
  } else {
    for (int64_t k = (int64_t)0; k < (grid0 >> (int64_t)8); ++k) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        if (i0_1 < (n * (int64_t)2)) {
          *(float4*)(out0_put_7_ptr + (i0_1 * (int64_t)4)) = make_float4(0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/, 0x0p+0f/*0.000000e+00*/);
        } else {
          for (int64_t c = (int64_t)0; c < ((n * (int64_t)8) - (i0_1 * (int64_t)4)); ++c) {
            out0_put_7_ptr[((i0_1 * (int64_t)4) + c)] = 0x0p+0f/*0.000000e+00*/;
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) message_passing_kernel_1(int* __restrict__ dst_ptr, float* __restrict__ out0_put_7_ptr, int* __restrict__ src_ptr, float* __restrict__ w_ptr, float* __restrict__ x_ptr, int64_t e, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (((e + (int64_t)3) >> (int64_t)2) * (int64_t)2)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    alignas(8) int64_t cell__ptr[4];
    int64_t condval;
    if (((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) < e) {
      int64_t condval_1;
      if (((int64_t)dst_ptr[((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4))]) < (int64_t)0) {
        condval_1 = (((int64_t)dst_ptr[((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4))]) + n);
      } else {
        condval_1 = ((int64_t)dst_ptr[((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4))]);
      }
      condval = ((condval_1 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4));
    } else {
      condval = (int64_t)-1;
    }
    cell__ptr[0] = condval;
    int64_t condval_2;
    if ((((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1) < e) {
      int64_t condval_3;
      if (((int64_t)dst_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1)]) < (int64_t)0) {
        condval_3 = (((int64_t)dst_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1)]) + n);
      } else {
        condval_3 = ((int64_t)dst_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1)]);
      }
      condval_2 = ((condval_3 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4));
    } else {
      condval_2 = (int64_t)-1;
    }
    cell__ptr[1] = condval_2;
    int64_t condval_4;
    if ((((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2) < e) {
      int64_t condval_5;
      if (((int64_t)dst_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2)]) < (int64_t)0) {
        condval_5 = (((int64_t)dst_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2)]) + n);
      } else {
        condval_5 = ((int64_t)dst_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2)]);
      }
      condval_4 = ((condval_5 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4));
    } else {
      condval_4 = (int64_t)-1;
    }
    cell__ptr[2] = condval_4;
    int64_t condval_6;
    if ((((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3) < e) {
      int64_t condval_7;
      if (((int64_t)dst_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3)]) < (int64_t)0) {
        condval_7 = (((int64_t)dst_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3)]) + n);
      } else {
        condval_7 = ((int64_t)dst_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3)]);
      }
      condval_6 = ((condval_7 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4));
    } else {
      condval_6 = (int64_t)-1;
    }
    cell__ptr[3] = condval_6;
    int64_t cell0 = cell__ptr[0];
    int64_t cell1 = cell__ptr[1];
    int64_t cell2 = cell__ptr[2];
    int64_t cell3 = cell__ptr[3];
    alignas(16) float values_ptr[16];
    if ((int64_t)0 <= cell0) {
      float4 __1;
        int64_t condval_8;
        if (((int64_t)src_ptr[((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4))]) < (int64_t)0) {
          condval_8 = (((int64_t)src_ptr[((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4))]) + n);
        } else {
          condval_8 = ((int64_t)src_ptr[((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4))]);
        }
        float4 v_ = *(float4*)(x_ptr + ((condval_8 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4)));
        float4 v__1 = make_float4(w_ptr[((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4))], w_ptr[((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4))], w_ptr[((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4))], w_ptr[((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4))]);
        __1.x = (v_.x*v__1.x);
        __1.y = (v_.y*v__1.y);
        __1.z = (v_.z*v__1.z);
        __1.w = (v_.w*v__1.w);
      *(float4*)(values_ptr + (int64_t)0) = __1;
    }
    if ((int64_t)0 <= cell1) {
      float4 __2;
        int64_t condval_9;
        if (((int64_t)src_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1)]) < (int64_t)0) {
          condval_9 = (((int64_t)src_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1)]) + n);
        } else {
          condval_9 = ((int64_t)src_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1)]);
        }
        float4 v__2 = *(float4*)(x_ptr + ((condval_9 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4)));
        float4 v__3 = make_float4(w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1)], w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1)], w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1)], w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)1)]);
        __2.x = (v__2.x*v__3.x);
        __2.y = (v__2.y*v__3.y);
        __2.z = (v__2.z*v__3.z);
        __2.w = (v__2.w*v__3.w);
      *(float4*)(values_ptr + (int64_t)4) = __2;
    }
    if ((int64_t)0 <= cell2) {
      float4 __3;
        int64_t condval_10;
        if (((int64_t)src_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2)]) < (int64_t)0) {
          condval_10 = (((int64_t)src_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2)]) + n);
        } else {
          condval_10 = ((int64_t)src_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2)]);
        }
        float4 v__4 = *(float4*)(x_ptr + ((condval_10 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4)));
        float4 v__5 = make_float4(w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2)], w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2)], w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2)], w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)2)]);
        __3.x = (v__4.x*v__5.x);
        __3.y = (v__4.y*v__5.y);
        __3.z = (v__4.z*v__5.z);
        __3.w = (v__4.w*v__5.w);
      *(float4*)(values_ptr + (int64_t)8) = __3;
    }
    if ((int64_t)0 <= cell3) {
      float4 __4;
        int64_t condval_11;
        if (((int64_t)src_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3)]) < (int64_t)0) {
          condval_11 = (((int64_t)src_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3)]) + n);
        } else {
          condval_11 = ((int64_t)src_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3)]);
        }
        float4 v__6 = *(float4*)(x_ptr + ((condval_11 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4)));
        float4 v__7 = make_float4(w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3)], w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3)], w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3)], w_ptr[(((((int64_t)blockIdx.x) * (int64_t)512) + ((((int64_t)threadIdx.x) >> (int64_t)1) * (int64_t)4)) + (int64_t)3)]);
        __4.x = (v__6.x*v__7.x);
        __4.y = (v__6.y*v__7.y);
        __4.z = (v__6.z*v__7.z);
        __4.w = (v__6.w*v__7.w);
      *(float4*)(values_ptr + (int64_t)12) = __4;
    }
    if ((int64_t)0 <= cell0) {
      if (cell0 == cell1) {
        for (int k = 0; k < 4; ++k) {
          values_ptr[(k + 4)] = (values_ptr[k] + values_ptr[(k + 4)]);
        }
      } else {
        gs_atomic_add_float32x4((&(out0_put_7_ptr[cell0])), (&(values_ptr[0])));
      }
    }
    if ((int64_t)0 <= cell1) {
      if (cell1 == cell2) {
        for (int k_1 = 0; k_1 < 4; ++k_1) {
          values_ptr[(k_1 + 8)] = (values_ptr[(k_1 + 4)] + values_ptr[(k_1 + 8)]);
        }
      } else {
        gs_atomic_add_float32x4((&(out0_put_7_ptr[cell1])), (&(values_ptr[4])));
      }
    }
    if ((int64_t)0 <= cell2) {
      if (cell2 == cell3) {
        for (int k_2 = 0; k_2 < 4; ++k_2) {
          values_ptr[(k_2 + 12)] = (values_ptr[(k_2 + 8)] + values_ptr[(k_2 + 12)]);
        }
      } else {
        gs_atomic_add_float32x4((&(out0_put_7_ptr[cell2])), (&(values_ptr[8])));
      }
    }
    if ((int64_t)0 <= cell3) {
      gs_atomic_add_float32x4((&(out0_put_7_ptr[cell3])), (&(values_ptr[12])));
    }
  }
}

