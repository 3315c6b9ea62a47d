__device__ __forceinline__ void gs_atomic_add_float32x4(float* p, float* v) {
#if __CUDA_ARCH__ >= 900
  atomicAdd((float4*)p, *(float4*)v);
#else
  for (int k = 0; k < 4; ++k) atomicAdd(p + k, v[k]);
#endif
}

extern "C" __global__ void __launch_bounds__(256) message_passing_kernel(float* __restrict__ out0_put_7_ptr, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (n * (int64_t)8)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    out0_put_7_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] = 0x0p+0f/*0.000000e+00*/;
  }
}

extern "C" __global__ void __launch_bounds__(256) message_passing_kernel_1(int* __restrict__ dst_ptr, float* __restrict__ out0_put_7_ptr, int* __restrict__ src_ptr, float* __restrict__ w_ptr, float* __restrict__ x_ptr, int64_t e, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (e * (int64_t)2)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    alignas(16) float values_ptr[4];
    float4 __1;
      int64_t condval;
      if (((int64_t)src_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))]) < (int64_t)0) {
        condval = (((int64_t)src_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))]) + n);
      } else {
        condval = ((int64_t)src_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))]);
      }
      float4 v_ = *(float4*)(x_ptr + ((condval * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4)));
      float4 v__1 = make_float4(w_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))], w_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))], w_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))], w_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))]);
      __1.x = (v_.x*v__1.x);
      __1.y = (v_.y*v__1.y);
      __1.z = (v_.z*v__1.z);
      __1.w = (v_.w*v__1.w);
    *(float4*)(values_ptr + (int64_t)0) = __1;
    int64_t condval_1;
    if (((int64_t)dst_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))]) < (int64_t)0) {
      condval_1 = (((int64_t)dst_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))]) + n);
    } else {
      condval_1 = ((int64_t)dst_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))]);
    }
    gs_atomic_add_float32x4((&(out0_put_7_ptr[((condval_1 * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))])), (&(values_ptr[0])));
  }
}

