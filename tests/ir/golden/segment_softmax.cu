__device__ __forceinline__ void gs_first_1024(int* found, unsigned int* words, int chosen) {
  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32;
  const unsigned int mine = __ballot_sync(all, chosen);
  if (lane == 0) words[threadIdx.x / 32] = mine;
  __syncthreads();
  unsigned int word = lane < 32 ? words[lane] : 0;
  unsigned int some = __ballot_sync(all, word != 0), warp = some ? __ffs(some) - 1 : 0;
  word = __shfl_sync(all, word, warp);
  *found = some ? warp * 32 + __ffs(word) - 1 : 1024;
  __syncthreads();
}

__device__ __forceinline__ void gs_listed_1024(int* list, unsigned int* words, int number, int chosen, int end) {
  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned int mine = __ballot_sync(all, chosen);
  if (lane == 0) words[warp] = mine;
  __syncthreads();
  int upto = lane < 32 ? __popc(words[lane]) : 0;
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(all, upto, step);
    if (lane >= step) upto += other;
  }
  int place = __shfl_sync(all, upto, warp) - __popc(mine >> lane);
  if (chosen) list[place] = number;
  if (threadIdx.x == 1023) {
    list[upto] = end;
    list[1025] = upto;
  }
  __syncthreads();
}

__device__ __forceinline__ void gs_found_0_1_0(int64_t* kept, long long at, long long value, long long call) {
  unsigned long long* state = (unsigned long long*)kept;
  volatile int64_t* r = kept;
  const unsigned long long locked = 4611686018427387904ull, mine = call;
  for (;;) {
    unsigned long long seen = *(volatile unsigned long long*)state;
    if ((seen & ~locked) != 0 && (seen & ~locked) != mine) return;
    if (seen == mine && r[1] <= at) return;
    if ((seen & locked) || atomicCAS(state, seen, mine | locked) != seen) continue;
    __threadfence();
    if (seen == 0) { r[1] = 9223372036854775807ll; r[2] = 0; }
    if (at < r[1]) { r[1] = at; r[2] = value; }
    __threadfence();
    atomicExch(state, mine);
    return;
  }
}

extern "C" __global__ void __launch_bounds__(1024, 1) segment_softmax_kernel(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, float* __restrict__ out0_div_10_ptr, float* __restrict__ x_ptr, int64_t threads) {
  alignas(8) float total0_ptr[1];
  alignas(8) float total1_ptr[1];
  alignas(8) int64_t stop_ptr[1];
  alignas(8) int found_ptr[1];
  __shared__ alignas(8) int begins_ptr[1026];
  __shared__ alignas(8) int v_long_ptr[1026];
  __shared__ alignas(8) uint words_ptr[32];
  __shared__ alignas(8) float parts_float32_ptr[256];
  alignas(8) int64_t first__ptr[2];
  first__ptr[0] = (((int64_t)((int)blockIdx.x)) * (int64_t)1024);
  first__ptr[1] = ((int64_t)min(3000, ((((int)blockIdx.x) * 1024) + 1024)));
  int64_t first0 = first__ptr[0];
  int64_t first1 = first__ptr[1];
  if ((first0 + ((int64_t)threadIdx.x)) < first1) {
    int64_t condval;
    if (i_ptr[(first0 + ((int64_t)threadIdx.x))] < (int64_t)0) {
      condval = (i_ptr[(first0 + ((int64_t)threadIdx.x))] + (int64_t)70);
    } else {
      condval = i_ptr[(first0 + ((int64_t)threadIdx.x))];
    }
    int64_t condval_1;
    if (i_ptr[(first0 + ((int64_t)threadIdx.x))] < (int64_t)0) {
      condval_1 = (i_ptr[(first0 + ((int64_t)threadIdx.x))] + (int64_t)70);
    } else {
      condval_1 = i_ptr[(first0 + ((int64_t)threadIdx.x))];
    }
    if ((condval < (int64_t)0) || ((int64_t)70 <= condval_1)) {
      int64_t condval_2;
      if (threads < (int64_t)0) {
        condval_2 = (threads * (int64_t)-1);
      } else {
        condval_2 = threads;
      }
      gs_found_0_1_0((&(kept_ptr[0])), ((first0 + ((int64_t)threadIdx.x)) ^ (int64_t)0), i_ptr[(first0 + ((int64_t)threadIdx.x))], condval_2);
    }
  }
  int condval_3;
  if ((first0 + ((int64_t)threadIdx.x)) < first1) {
    int condval_4;
    if ((int64_t)0 < (first0 + ((int64_t)threadIdx.x))) {
      int64_t condval_5;
      if (i_ptr[(first0 + ((int64_t)threadIdx.x))] < (int64_t)0) {
        condval_5 = (i_ptr[(first0 + ((int64_t)threadIdx.x))] + (int64_t)70);
      } else {
        condval_5 = i_ptr[(first0 + ((int64_t)threadIdx.x))];
      }
      int64_t condval_6;
      if (i_ptr[((first0 + ((int64_t)threadIdx.x)) - (int64_t)1)] < (int64_t)0) {
        condval_6 = (i_ptr[((first0 + ((int64_t)threadIdx.x)) - (int64_t)1)] + (int64_t)70);
      } else {
        condval_6 = i_ptr[((first0 + ((int64_t)threadIdx.x)) - (int64_t)1)];
      }
      condval_4 = ((((int)min(((uint64_t)(condval_5 ^ (int64_t)0)), (uint64_t)69ULL)) != ((int)min(((uint64_t)(condval_6 ^ (int64_t)0)), (uint64_t)69ULL))) ? 1 : 0);
    } else {
      condval_4 = 1;
    }
    condval_3 = condval_4;
  } else {
    condval_3 = 0;
  }
  gs_listed_1024((&(begins_ptr[0])), (&(words_ptr[0])), ((int)((int64_t)threadIdx.x)), condval_3, ((int)(first1 - first0)));
  alignas(8) int count__ptr[2];
  count__ptr[0] = begins_ptr[1025];
  int condval_7;
  if (first1 < (int64_t)3000) {
    int condval_8;
    if ((int64_t)0 < first1) {
      int64_t condval_9;
      if (i_ptr[first1] < (int64_t)0) {
        condval_9 = (i_ptr[first1] + (int64_t)70);
      } else {
        condval_9 = i_ptr[first1];
      }
      int64_t condval_10;
      if (i_ptr[(first1 - (int64_t)1)] < (int64_t)0) {
        condval_10 = (i_ptr[(first1 - (int64_t)1)] + (int64_t)70);
      } else {
        condval_10 = i_ptr[(first1 - (int64_t)1)];
      }
      condval_8 = ((((int)min(((uint64_t)(condval_9 ^ (int64_t)0)), (uint64_t)69ULL)) != ((int)min(((uint64_t)(condval_10 ^ (int64_t)0)), (uint64_t)69ULL))) ? 1 : 0);
    } else {
      condval_8 = 1;
    }
    condval_7 = (1 - condval_8);
  } else {
    condval_7 = 0;
  }
  count__ptr[1] = condval_7;
  int count0 = count__ptr[0];
  int count1 = count__ptr[1];
  if (0 < count0) {
    alignas(8) int bits__ptr[3];
    bits__ptr[0] = 2;
    bits__ptr[1] = 64;
    bits__ptr[2] = 32;
    int bits0 = bits__ptr[0];
    int bits1 = bits__ptr[1];
    int bits2 = bits__ptr[2];
    for (int64_t k = (int64_t)0; k < ((((((int64_t)count0) + ((int64_t)bits2)) - ((int64_t)count1)) - (int64_t)1) / ((int64_t)bits2)); ++k) {
      alignas(8) int j__ptr[2];
      int64_t condval_11;
      if (((k * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0) + (int64_t)3))) < (((int64_t)count0) - ((int64_t)count1))) {
        condval_11 = ((int64_t)begins_ptr[((k * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0) + (int64_t)3)))]);
      } else {
        condval_11 = (int64_t)0;
      }
      j__ptr[0] = ((int)condval_11);
      int64_t condval_12;
      if (((k * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0) + (int64_t)3))) < (((int64_t)count0) - ((int64_t)count1))) {
        condval_12 = ((int64_t)begins_ptr[(((k * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0) + (int64_t)3))) + (int64_t)1)]);
      } else {
        condval_12 = (int64_t)0;
      }
      j__ptr[1] = ((int)condval_12);
      int j0 = j__ptr[0];
      int j1 = j__ptr[1];
      alignas(8) int64_t own__ptr[3];
      own__ptr[0] = ((first0 + ((int64_t)j0)) + ((((int64_t)threadIdx.x) >> (int64_t)3) & (((int64_t)1 << ((int64_t)bits0)) - (int64_t)1)));
      own__ptr[1] = max(((((((((((int64_t)j1) - ((int64_t)j0)) <= ((int64_t)bits1)) ? ((int64_t)j1) : ((int64_t)j0)) + ((int64_t)1 << ((int64_t)bits0))) - ((int64_t)j0)) - ((((int64_t)threadIdx.x) >> (int64_t)3) & (((int64_t)1 << ((int64_t)bits0)) - (int64_t)1))) - (int64_t)1) >> ((int64_t)bits0)), (int64_t)0);
      own__ptr[2] = (((((int64_t)j1) - ((int64_t)j0)) <= ((int64_t)bits1)) ? (((int64_t)j1) - ((int64_t)j0)) : (int64_t)0);
      int64_t own0 = own__ptr[0];
      int64_t own1 = own__ptr[1];
      int64_t own2 = own__ptr[2];
      alignas(8) float acc_ptr[1];
      acc_ptr[0] = -CUDART_INF_F;
      for (int64_t p = (int64_t)0; p < own1; ++p) {
        float t = acc_ptr[0];
        float t_1 = x_ptr[(((own0 * (int64_t)8) + ((p << ((int64_t)bits0)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))];
        acc_ptr[0] = (((t <= t) ^ (bool)1) ? (t + t) : (((t_1 < t) ^ (bool)0) ? t : t_1));
      }
      for (int s = 0; s < bits0; ++s) {
        float other = __shfl_sync((uint)4294967295, acc_ptr[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s)), 32);
        float t_2 = acc_ptr[0];
        acc_ptr[0] = (((t_2 <= t_2) ^ (bool)1) ? (t_2 + t_2) : (((other < t_2) ^ (bool)0) ? t_2 : other));
      }
      float t_3 = acc_ptr[0];
      total0_ptr[0] = (((bool)1 ^ (bool)1) ? -CUDART_INF_F : (((t_3 < -CUDART_INF_F) ^ (bool)0) ? -CUDART_INF_F : t_3));
      alignas(8) float acc_ptr_1[1];
      acc_ptr_1[0] = -0x0p+0f/*-0.000000e+00*/;
      for (int64_t p_1 = (int64_t)0; p_1 < own1; ++p_1) {
        float t_4 = (x_ptr[(((own0 * (int64_t)8) + ((p_1 << ((int64_t)bits0)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
        float t_5 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_4) ? ((t_4 < 0x1.64p+6f/*8.900000e+01*/) ? t_4 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
        float t_6 = nearbyintf((t_5 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
        float t_7 = ((t_5 + (t_6 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_6 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
        int t_8 = (((int)t_6) ^ 0);
        int t_9 = ((t_8 >> 1) ^ 0);
          int v_ = (t_9 + 127) << 23;
          int v__1 = ((t_8 + 127) - t_9) << 23;
        acc_ptr_1[0] = (acc_ptr_1[0] + (((t_4 <= t_4) ^ (bool)1) ? t_4 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_7) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_7) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_7) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_7) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_7) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_7 * t_7)) + t_7) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v_)))) * (*(float *)(&(v__1))))));
      }
      for (int s_1 = 0; s_1 < bits0; ++s_1) {
        float other_1 = __shfl_sync((uint)4294967295, acc_ptr_1[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_1)), 32);
        acc_ptr_1[0] = (acc_ptr_1[0] + other_1);
      }
      total1_ptr[0] = (truncf(0x1p-2f/*2.500000e-01*/) + acc_ptr_1[0]);
      for (int64_t p_2 = (int64_t)0; p_2 < own1; ++p_2) {
        float t_10 = (x_ptr[(((own0 * (int64_t)8) + ((p_2 << ((int64_t)bits0)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
        float t_11 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_10) ? ((t_10 < 0x1.64p+6f/*8.900000e+01*/) ? t_10 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
        float t_12 = nearbyintf((t_11 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
        float t_13 = ((t_11 + (t_12 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_12 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
        int t_14 = (((int)t_12) ^ 0);
        int t_15 = ((t_14 >> 1) ^ 0);
          int v__2 = (t_15 + 127) << 23;
          int v__3 = ((t_14 + 127) - t_15) << 23;
        out0_div_10_ptr[(((own0 * (int64_t)8) + ((p_2 << ((int64_t)bits0)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] = ((((t_10 <= t_10) ^ (bool)1) ? t_10 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_13) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_13) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_13) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_13) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_13) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_13 * t_13)) + t_13) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__2)))) * (*(float *)(&(v__3))))) / total1_ptr[0]);
      }
    }
    int condval_13;
    if (((int64_t)threadIdx.x) < (((int64_t)count0) - ((int64_t)count1))) {
      int64_t condval_14;
      if (((int64_t)threadIdx.x) < ((int64_t)count0)) {
        condval_14 = (((int64_t)begins_ptr[(((int64_t)threadIdx.x) + (int64_t)1)]) - ((int64_t)begins_ptr[((int64_t)threadIdx.x)]));
      } else {
        condval_14 = (int64_t)0;
      }
      condval_13 = ((int)(((int64_t)bits1) < condval_14));
    } else {
      condval_13 = ((int)(((int64_t)threadIdx.x) < ((int64_t)count0)));
    }
    gs_listed_1024((&(v_long_ptr[0])), (&(words_ptr[0])), ((int)((int64_t)threadIdx.x)), condval_13, 0);
    stop_ptr[0] = first1;
    if ((((int64_t)count0) - ((int64_t)count1)) < ((int64_t)count0)) {
      alignas(8) int64_t low_ptr[1];
      low_ptr[0] = first1;
      stop_ptr[0] = (int64_t)3000;
      alignas(8) int64_t steps__ptr[1];
      steps__ptr[0] = ((((((((int64_t)((int)(first1 < (int64_t)1976))) + ((int64_t)((int)(first1 < (int64_t)-1045576)))) + ((int64_t)((int)(first1 < (int64_t)-1073738824)))) + ((int64_t)((int)(first1 < (int64_t)-1099511624776)))) + ((int64_t)((int)(first1 < (int64_t)-1125899906839624)))) + ((int64_t)((int)(first1 < (int64_t)-1152921504606843976)))) + (int64_t)1);
      int64_t steps0 = steps__ptr[0];
      for (int64_t s_2 = (int64_t)0; s_2 < steps0; ++s_2) {
        alignas(8) int64_t apart__ptr[3];
        apart__ptr[0] = low_ptr[0];
        apart__ptr[1] = stop_ptr[0];
        apart__ptr[2] = ((((stop_ptr[0] + (int64_t)1023) - low_ptr[0]) ^ (int64_t)0) >> (int64_t)10);
        int64_t apart0 = apart__ptr[0];
        int64_t apart1 = apart__ptr[1];
        int64_t apart2 = apart__ptr[2];
        int condval_15;
        if ((apart0 + ((((int64_t)threadIdx.x) + (int64_t)1) * apart2)) < apart1) {
          int64_t condval_16;
          if (i_ptr[(apart0 + ((((int64_t)threadIdx.x) + (int64_t)1) * apart2))] < (int64_t)0) {
            condval_16 = (i_ptr[(apart0 + ((((int64_t)threadIdx.x) + (int64_t)1) * apart2))] + (int64_t)70);
          } else {
            condval_16 = i_ptr[(apart0 + ((((int64_t)threadIdx.x) + (int64_t)1) * apart2))];
          }
          condval_15 = ((((int)min(((uint64_t)(condval_16 ^ (int64_t)0)), (uint64_t)69ULL)) != ((int)min(((uint64_t)(((((int64_t)(((uint64_t)i_ptr[(first0 + ((int64_t)begins_ptr[(((int64_t)count0) - (int64_t)1)]))]) >> (uint64_t)63ULL)) * (int64_t)70) + i_ptr[(first0 + ((int64_t)begins_ptr[(((int64_t)count0) - (int64_t)1)]))]) ^ (int64_t)0)), (uint64_t)69ULL))) ? 1 : 0);
        } else {
          condval_15 = 0;
        }
        gs_first_1024((&(found_ptr[0])), (&(words_ptr[0])), condval_15);
        int64_t condval_17;
        if (((int64_t)found_ptr[0]) < (int64_t)1024) {
          condval_17 = (apart0 + ((((int64_t)found_ptr[0]) + (int64_t)1) * apart2));
        } else {
          condval_17 = apart1;
        }
        stop_ptr[0] = condval_17;
        low_ptr[0] = (apart0 + ((((stop_ptr[0] - apart0) - (int64_t)1) / apart2) * apart2));
      }
    }
    alignas(8) int long__ptr[1];
    long__ptr[0] = v_long_ptr[1025];
    int long0 = long__ptr[0];
    for (int m = 0; m < long0; ++m) {
      alignas(8) int m__ptr[1];
      m__ptr[0] = v_long_ptr[m];
      int m0 = m__ptr[0];
      alignas(8) int64_t end__ptr[2];
      end__ptr[0] = (first0 + ((int64_t)begins_ptr[m0]));
      int64_t condval_18;
      if (((int64_t)m0) < (((int64_t)count0) - ((int64_t)count1))) {
        condval_18 = (first0 + ((int64_t)begins_ptr[(((int64_t)m0) + (int64_t)1)]));
      } else {
        condval_18 = stop_ptr[0];
      }
      end__ptr[1] = condval_18;
      int64_t end0 = end__ptr[0];
      int64_t end1 = end__ptr[1];
      alignas(8) int64_t own__ptr_1[3];
      own__ptr_1[0] = (end0 + (((int64_t)threadIdx.x) >> (int64_t)3));
      own__ptr_1[1] = max(((((end1 + (int64_t)127) - end0) - (((int64_t)threadIdx.x) >> (int64_t)3)) >> (int64_t)7), (int64_t)0);
      own__ptr_1[2] = (end1 - end0);
      int64_t own0_1 = own__ptr_1[0];
      int64_t own1_1 = own__ptr_1[1];
      int64_t own2_1 = own__ptr_1[2];
      alignas(8) float acc_ptr_2[1];
      acc_ptr_2[0] = -CUDART_INF_F;
      for (int64_t p_3 = (int64_t)0; p_3 < own1_1; ++p_3) {
        float t_16 = acc_ptr_2[0];
        float t_17 = x_ptr[(((own0_1 * (int64_t)8) + ((p_3 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))];
        acc_ptr_2[0] = (((t_16 <= t_16) ^ (bool)1) ? (t_16 + t_16) : (((t_17 < t_16) ^ (bool)0) ? t_16 : t_17));
      }
      for (int s_3 = 0; s_3 < 2; ++s_3) {
        float other_2 = __shfl_sync((uint)4294967295, acc_ptr_2[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_3)), 32);
        float t_18 = acc_ptr_2[0];
        acc_ptr_2[0] = (((t_18 <= t_18) ^ (bool)1) ? (t_18 + t_18) : (((other_2 < t_18) ^ (bool)0) ? t_18 : other_2));
      }
      if ((((int64_t)threadIdx.x) & (int64_t)31) < (int64_t)8) {
        parts_float32_ptr[(((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)31))] = acc_ptr_2[0];
      }
      __syncthreads();
      acc_ptr_2[0] = parts_float32_ptr[(((int64_t)threadIdx.x) & (int64_t)31)];
      for (int w = 0; w < 7; ++w) {
        float t_19 = acc_ptr_2[0];
        float t_20 = parts_float32_ptr[(((((int64_t)w) * (int64_t)32) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)];
        acc_ptr_2[0] = (((t_19 <= t_19) ^ (bool)1) ? (t_19 + t_19) : (((t_20 < t_19) ^ (bool)0) ? t_19 : t_20));
      }
      __syncthreads();
      for (int s_4 = 0; s_4 < 2; ++s_4) {
        float other_3 = __shfl_sync((uint)4294967295, acc_ptr_2[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_4)), 32);
        float t_21 = acc_ptr_2[0];
        acc_ptr_2[0] = (((t_21 <= t_21) ^ (bool)1) ? (t_21 + t_21) : (((other_3 < t_21) ^ (bool)0) ? t_21 : other_3));
      }
      float t_22 = acc_ptr_2[0];
      total0_ptr[0] = (((bool)1 ^ (bool)1) ? -CUDART_INF_F : (((t_22 < -CUDART_INF_F) ^ (bool)0) ? -CUDART_INF_F : t_22));
      alignas(8) float acc_ptr_3[1];
      acc_ptr_3[0] = -0x0p+0f/*-0.000000e+00*/;
      for (int64_t p_4 = (int64_t)0; p_4 < own1_1; ++p_4) {
        float t_23 = (x_ptr[(((own0_1 * (int64_t)8) + ((p_4 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
        float t_24 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_23) ? ((t_23 < 0x1.64p+6f/*8.900000e+01*/) ? t_23 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
        float t_25 = nearbyintf((t_24 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
        float t_26 = ((t_24 + (t_25 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_25 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
        int t_27 = (((int)t_25) ^ 0);
        int t_28 = ((t_27 >> 1) ^ 0);
          int v__4 = (t_28 + 127) << 23;
          int v__5 = ((t_27 + 127) - t_28) << 23;
        acc_ptr_3[0] = (acc_ptr_3[0] + (((t_23 <= t_23) ^ (bool)1) ? t_23 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_26) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_26) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_26) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_26) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_26) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_26 * t_26)) + t_26) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__4)))) * (*(float *)(&(v__5))))));
      }
      for (int s_5 = 0; s_5 < 2; ++s_5) {
        float other_4 = __shfl_sync((uint)4294967295, acc_ptr_3[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_5)), 32);
        acc_ptr_3[0] = (acc_ptr_3[0] + other_4);
      }
      if ((((int64_t)threadIdx.x) & (int64_t)31) < (int64_t)8) {
        parts_float32_ptr[(((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)31))] = acc_ptr_3[0];
      }
      __syncthreads();
      acc_ptr_3[0] = parts_float32_ptr[(((int64_t)threadIdx.x) & (int64_t)31)];
      for (int w_1 = 0; w_1 < 7; ++w_1) {
        acc_ptr_3[0] = (acc_ptr_3[0] + parts_float32_ptr[(((((int64_t)w_1) * (int64_t)32) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)]);
      }
      __syncthreads();
      for (int s_6 = 0; s_6 < 2; ++s_6) {
        float other_5 = __shfl_sync((uint)4294967295, acc_ptr_3[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_6)), 32);
        acc_ptr_3[0] = (acc_ptr_3[0] + other_5);
      }
      total1_ptr[0] = (truncf(0x1p-2f/*2.500000e-01*/) + acc_ptr_3[0]);
      for (int64_t p_5 = (int64_t)0; p_5 < own1_1; ++p_5) {
        float t_29 = (x_ptr[(((own0_1 * (int64_t)8) + ((p_5 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
        float t_30 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_29) ? ((t_29 < 0x1.64p+6f/*8.900000e+01*/) ? t_29 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
        float t_31 = nearbyintf((t_30 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
        float t_32 = ((t_30 + (t_31 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_31 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
        int t_33 = (((int)t_31) ^ 0);
        int t_34 = ((t_33 >> 1) ^ 0);
          int v__6 = (t_34 + 127) << 23;
          int v__7 = ((t_33 + 127) - t_34) << 23;
        out0_div_10_ptr[(((own0_1 * (int64_t)8) + ((p_5 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] = ((((t_29 <= t_29) ^ (bool)1) ? t_29 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_32) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_32) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_32) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_32) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_32) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_32 * t_32)) + t_32) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__6)))) * (*(float *)(&(v__7))))) / total1_ptr[0]);
      }
    }
  }
}

