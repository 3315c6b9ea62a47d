__device__ __forceinline__ void gs_atomic_max_int64(int64_t* p, long long v) {
  atomicMax((long long*)p, v);
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel(float* __restrict__ out0_put_3_ptr, float* __restrict__ x_ptr, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (n * (int64_t)2)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    *(float4*)(out0_put_3_ptr + ((((int64_t)blockIdx.x) * (int64_t)1024) + (((int64_t)threadIdx.x) * (int64_t)4))) = *(float4*)(x_ptr + ((((int64_t)blockIdx.x) * (int64_t)1024) + (((int64_t)threadIdx.x) * (int64_t)4)));
  }
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel_1(int64_t* __restrict__ put_3_owner_ptr, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < n) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    put_3_owner_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] = (int64_t)-1;
  }
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel_2(int64_t* __restrict__ i_ptr, int64_t* __restrict__ put_3_owner_ptr, int64_t k, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < k) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    int64_t condval;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] < (int64_t)0) {
      condval = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] + n);
    } else {
      condval = i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    }
    int64_t condval_1;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] < (int64_t)0) {
      condval_1 = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] + n);
    } else {
      condval_1 = i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
    }
    if (((int64_t)0 <= condval) && (condval_1 < n)) {
      int64_t condval_2;
      if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] < (int64_t)0) {
        condval_2 = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))] + n);
      } else {
        condval_2 = i_ptr[((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x))];
      }
      gs_atomic_max_int64((&(put_3_owner_ptr[((int64_t)min(((uint64_t)(condval_2 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0))))])), ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)));
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) put_update_kernel_3(int64_t* __restrict__ i_ptr, float* __restrict__ out0_put_3_ptr, int64_t* __restrict__ put_3_owner_ptr, float* __restrict__ v_ptr, int64_t k, int64_t n) {
  if (((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x)) < (k * (int64_t)2)) {
    int64_t i = ((((int64_t)blockIdx.x) * (int64_t)256) + ((int64_t)threadIdx.x));
    int64_t condval;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] < (int64_t)0) {
      condval = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] + n);
    } else {
      condval = i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))];
    }
    int64_t condval_1;
    if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] < (int64_t)0) {
      condval_1 = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] + n);
    } else {
      condval_1 = i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))];
    }
    if (((int64_t)0 <= condval) && (condval_1 < n)) {
      int64_t condval_2;
      if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] < (int64_t)0) {
        condval_2 = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] + n);
      } else {
        condval_2 = i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))];
      }
      if (put_3_owner_ptr[((int64_t)min(((uint64_t)(condval_2 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0))))] == ((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))) {
        int64_t condval_3;
        if (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] < (int64_t)0) {
          condval_3 = (i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))] + n);
        } else {
          condval_3 = i_ptr[((((int64_t)blockIdx.x) * (int64_t)128) + (((int64_t)threadIdx.x) >> (int64_t)1))];
        }
        *(float4*)(out0_put_3_ptr + ((((int64_t)min(((uint64_t)(condval_3 ^ (int64_t)0)), ((uint64_t)max((n - (int64_t)1), (int64_t)0)))) * (int64_t)8) + ((((int64_t)threadIdx.x) & (int64_t)1) * (int64_t)4))) = *(float4*)(v_ptr + ((((int64_t)blockIdx.x) * (int64_t)1024) + (((int64_t)threadIdx.x) * (int64_t)4)));
      }
    }
  }
}

