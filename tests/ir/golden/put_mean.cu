__device__ __forceinline__ void gs_atomic_add_float32(float* p, float v) {
  atomicAdd((float*)p, (float)v);
}

__device__ __forceinline__ void gs_atomic_add_int32(int* p, int v) {
  atomicAdd((unsigned int*)p, (unsigned int)v);
}

extern "C" __global__ void __launch_bounds__(256) put_mean_kernel(float* __restrict__ out0_put_3_ptr, float* __restrict__ x_ptr) {
  if (((int)threadIdx.x) < 18) {
    int i = ((int)threadIdx.x);
    *(float4*)(out0_put_3_ptr + (((int)threadIdx.x) * 4)) = *(float4*)(x_ptr + (((int)threadIdx.x) * 4));
  }
}

extern "C" __global__ void __launch_bounds__(256) put_mean_kernel_1(int* __restrict__ put_3_counts_ptr) {
  if (((int)threadIdx.x) < 9) {
    int i = ((int)threadIdx.x);
    put_3_counts_ptr[((int)threadIdx.x)] = 0;
  }
}

extern "C" __global__ void __launch_bounds__(256) put_mean_kernel_2(int64_t* __restrict__ i_ptr, int* __restrict__ put_3_counts_ptr) {
  if (((int)threadIdx.x) < 7) {
    int i = ((int)threadIdx.x);
    int64_t condval;
    if (i_ptr[((int)threadIdx.x)] < (int64_t)0) {
      condval = (i_ptr[((int)threadIdx.x)] + (int64_t)9);
    } else {
      condval = i_ptr[((int)threadIdx.x)];
    }
    gs_atomic_add_int32((&(put_3_counts_ptr[condval])), 1);
  }
}

extern "C" __global__ void __launch_bounds__(256) put_mean_kernel_3(int64_t* __restrict__ i_ptr, float* __restrict__ out0_put_3_ptr, float* __restrict__ v_ptr) {
  if (((int64_t)threadIdx.x) < (int64_t)56) {
    int64_t i = ((int64_t)threadIdx.x);
    int64_t condval;
    if (i_ptr[(((int64_t)threadIdx.x) >> (int64_t)3)] < (int64_t)0) {
      condval = (i_ptr[(((int64_t)threadIdx.x) >> (int64_t)3)] + (int64_t)9);
    } else {
      condval = i_ptr[(((int64_t)threadIdx.x) >> (int64_t)3)];
    }
    gs_atomic_add_float32((&(out0_put_3_ptr[((condval * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)7))])), v_ptr[((int64_t)threadIdx.x)]);
  }
}

extern "C" __global__ void __launch_bounds__(256) put_mean_kernel_4(float* __restrict__ out0_put_3_ptr, int* __restrict__ put_3_counts_ptr) {
  if (((int)threadIdx.x) < 72) {
    int i = ((int)threadIdx.x);
    float condval;
    if (0 < put_3_counts_ptr[(((int)threadIdx.x) >> 3)]) {
      condval = (out0_put_3_ptr[((int)threadIdx.x)] / ((float)(((int64_t)put_3_counts_ptr[(((int)threadIdx.x) >> 3)]) + (int64_t)1)));
    } else {
      condval = out0_put_3_ptr[((int)threadIdx.x)];
    }
    out0_put_3_ptr[((int)threadIdx.x)] = condval;
  }
}

