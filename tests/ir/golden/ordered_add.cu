__device__ __forceinline__ void gs_stream_16(void* p, uint4 v) {
  __stcs((uint4*)p, v);
}

extern "C" __global__ void __launch_bounds__(256) ordered_add_kernel(float* __restrict__ out0_put_3_ptr, float* __restrict__ x_ptr, int64_t n) {
  alignas(8) int64_t grid__ptr[3];
  int64_t condval;
  if (n <= (int64_t)270336) {
    condval = (int64_t)256;
  } else {
    condval = (int64_t)1024;
  }
  grid__ptr[0] = condval;
  grid__ptr[1] = (n * (int64_t)2);
  grid__ptr[2] = (n * (int64_t)2);
  int64_t grid0 = grid__ptr[0];
  int64_t grid1 = grid__ptr[1];
  int64_t grid2 = grid__ptr[2];
  if ((grid0 == (int64_t)1024) && (((((int64_t)blockIdx.x) * grid0) + (int64_t)1024) <= grid2)) {
    alignas(8) int64_t i__ptr[4];
    i__ptr[0] = ((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x));
    i__ptr[1] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)256);
    i__ptr[2] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)512);
    i__ptr[3] = (((((int64_t)blockIdx.x) * grid0) + ((int64_t)threadIdx.x)) + (int64_t)768);
    int64_t i0 = i__ptr[0];
    int64_t i1 = i__ptr[1];
    int64_t i2 = i__ptr[2];
    int64_t i3 = i__ptr[3];
    alignas(8) int64_t at__ptr[4];
    at__ptr[0] = i0;
    at__ptr[1] = i1;
    at__ptr[2] = i2;
    at__ptr[3] = i3;
    int64_t at0 = at__ptr[0];
    int64_t at1 = at__ptr[1];
    int64_t at2 = at__ptr[2];
    int64_t at3 = at__ptr[3];
    float4 v0 = *(float4*)(x_ptr + (at0 * (int64_t)4));
    float4 v1 = *(float4*)(x_ptr + (at1 * (int64_t)4));
    float4 v2 = *(float4*)(x_ptr + (at2 * (int64_t)4));
    float4 v3 = *(float4*)(x_ptr + (at3 * (int64_t)4));
    if ((int64_t)1048576 < n) {
      gs_stream_16((&(out0_put_3_ptr[(i0 * (int64_t)4)])), (*(uint4 *)(&(v0))));
      gs_stream_16((&(out0_put_3_ptr[(i1 * (int64_t)4)])), (*(uint4 *)(&(v1))));
      gs_stream_16((&(out0_put_3_ptr[(i2 * (int64_t)4)])), (*(uint4 *)(&(v2))));
      gs_stream_16((&(out0_put_3_ptr[(i3 * (int64_t)4)])), (*(uint4 *)(&(v3))));
    } else {
      *(float4*)(out0_put_3_ptr + (i0 * (int64_t)4)) = v0;
      *(float4*)(out0_put_3_ptr + (i1 * (int64_t)4)) = v1;
      *(float4*)(out0_put_3_ptr + (i2 * (int64_t)4)) = v2;
      *(float4*)(out0_put_3_ptr + (i3 * (int64_t)4)) = v3;
    }
  } else {
    for (int64_t k = (int64_t)0; k < (grid0 >> (int64_t)8); ++k) {
      alignas(8) int64_t i__ptr_1[1];
      i__ptr_1[0] = (((k * (int64_t)256) + (((int64_t)blockIdx.x) * grid0)) + ((int64_t)threadIdx.x));
      int64_t i0_1 = i__ptr_1[0];
      if (i0_1 < grid1) {
        if (i0_1 < (n * (int64_t)2)) {
          alignas(8) int64_t at__ptr_1[1];
          at__ptr_1[0] = i0_1;
          int64_t at0_1 = at__ptr_1[0];
          float4 v0_1 = *(float4*)(x_ptr + (at0_1 * (int64_t)4));
          if ((int64_t)1048576 < n) {
            gs_stream_16((&(out0_put_3_ptr[(i0_1 * (int64_t)4)])), (*(uint4 *)(&(v0_1))));
          } else {
            *(float4*)(out0_put_3_ptr + (i0_1 * (int64_t)4)) = v0_1;
          }
        } else {
          for (int64_t c = (int64_t)0; c < ((n * (int64_t)8) - (i0_1 * (int64_t)4)); ++c) {
            out0_put_3_ptr[((i0_1 * (int64_t)4) + c)] = x_ptr[((i0_1 * (int64_t)4) + c)];
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) ordered_add_kernel_1(int64_t* __restrict__ i_ptr, float* __restrict__ out0_put_3_ptr, float* __restrict__ v_ptr, int64_t k, int64_t n) {
  int i = ((((int)blockIdx.x) * 256) + ((int)threadIdx.x));
  for (int64_t p0 = (int64_t)0; p0 < k; ++p0) {
    int64_t condval;
    if (i_ptr[p0] < (int64_t)0) {
      condval = (i_ptr[p0] + n);
    } else {
      condval = i_ptr[p0];
    }
    int64_t condval_1;
    if (i_ptr[p0] < (int64_t)0) {
      condval_1 = (i_ptr[p0] + n);
    } else {
      condval_1 = i_ptr[p0];
    }
    if ((((n * (((((int64_t)((int)blockIdx.x)) & (int64_t)7) * (int64_t)256) + ((int64_t)((int)threadIdx.x)))) >> (int64_t)11) <= condval) && (condval_1 < ((n * ((((((int64_t)((int)blockIdx.x)) & (int64_t)7) * (int64_t)256) + ((int64_t)((int)threadIdx.x))) + (int64_t)1)) >> (int64_t)11))) {
      int64_t condval_2;
      if (i_ptr[p0] < (int64_t)0) {
        condval_2 = (i_ptr[p0] + n);
      } else {
        condval_2 = i_ptr[p0];
      }
      int64_t condval_3;
      if (i_ptr[p0] < (int64_t)0) {
        condval_3 = (i_ptr[p0] + n);
      } else {
        condval_3 = i_ptr[p0];
      }
      out0_put_3_ptr[((condval_3 * (int64_t)8) + (((int64_t)((int)blockIdx.x)) >> (int64_t)3))] = (out0_put_3_ptr[((condval_2 * (int64_t)8) + (((int64_t)((int)blockIdx.x)) >> (int64_t)3))] + v_ptr[((p0 * (int64_t)8) + (((int64_t)((int)blockIdx.x)) >> (int64_t)3))]);
    }
  }
}

