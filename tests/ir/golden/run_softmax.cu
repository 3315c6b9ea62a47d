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

__device__ __forceinline__ void gs_atomic_or_uint32(unsigned int* p, unsigned int v) {
  atomicOr((unsigned int*)p, (unsigned int)v);
}

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

__device__ __forceinline__ void gs_cleared_1024(unsigned int* words) {
  if (threadIdx.x < 32) words[threadIdx.x] = 0;
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

extern "C" __global__ void __launch_bounds__(1024, 1) run_softmax_kernel(int64_t* __restrict__ kept_ptr, int* __restrict__ o_ptr, float* __restrict__ out0_div_41_ptr, float* __restrict__ x_ptr, int64_t threads) {
  alignas(8) float total0_ptr[1];
  alignas(8) float total1_ptr[1];
  alignas(8) float step0_ptr[1];
  alignas(8) int64_t stop_ptr[1];
  alignas(8) int found_ptr[1];
  __shared__ alignas(8) int begins_ptr[1026];
  __shared__ alignas(8) int v_long_ptr[1026];
  __shared__ alignas(8) uint words_ptr[32];
  __shared__ alignas(8) uint marks_ptr[32];
  __shared__ alignas(8) float parts_float32_ptr[256];
  alignas(8) int64_t first__ptr[2];
  first__ptr[0] = (((int64_t)((int)blockIdx.x)) * (int64_t)1024);
  first__ptr[1] = ((int64_t)min(3000, ((((int)blockIdx.x) * 1024) + 1024)));
  int64_t first0 = first__ptr[0];
  int64_t first1 = first__ptr[1];
  alignas(8) int64_t points__ptr[1];
  points__ptr[0] = (int64_t)3072;
  int64_t points0 = points__ptr[0];
  for (int64_t k = (int64_t)0; k < ((points0 + (int64_t)71) / points0); ++k) {
    if (((k * (int64_t)128) + (((first0 + ((int64_t)threadIdx.x)) / (int64_t)24) + (((first0 + ((int64_t)threadIdx.x)) % (int64_t)24) >> (int64_t)63))) < (int64_t)3) {
      int64_t condval;
      if ((((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x)) < (int64_t)1) {
        condval = ((((int64_t)o_ptr[0]) == (int64_t)0) ? (int64_t)0 : (int64_t)-1);
      } else {
        int64_t condval_1;
        if ((((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x)) < (int64_t)71) {
          condval_1 = (((int64_t)((((uint64_t)(((__uint128_t)(((uint64_t)((((int64_t)o_ptr[(((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x))]) ^ (int64_t)0) ^ (int64_t)0)) ^ (uint64_t)0ULL)) + (((__uint128_t)(((((uint64_t)((((int64_t)o_ptr[((((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x)) - (int64_t)1)]) ^ (int64_t)0) ^ (int64_t)0)) ^ (uint64_t)0ULL) ^ (uint64_t)18446744073709551615ULL) ^ (uint64_t)0ULL)) + ((__uint128_t)((uint64_t)1ULL ^ (uint64_t)0ULL))))) ^ (uint64_t)0ULL) ^ (uint64_t)0ULL)) ^ (int64_t)0);
        } else {
          condval_1 = ((((int64_t)o_ptr[70]) == (int64_t)3000) ? (int64_t)0 : (int64_t)-1);
        }
        condval = condval_1;
      }
      int64_t condval_2;
      if ((((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x)) < (int64_t)1) {
        condval_2 = ((((int64_t)o_ptr[0]) == (int64_t)0) ? (int64_t)0 : (int64_t)-1);
      } else {
        int64_t condval_3;
        if ((((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x)) < (int64_t)71) {
          condval_3 = (((int64_t)((((uint64_t)(((__uint128_t)(((uint64_t)((((int64_t)o_ptr[(((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x))]) ^ (int64_t)0) ^ (int64_t)0)) ^ (uint64_t)0ULL)) + (((__uint128_t)(((((uint64_t)((((int64_t)o_ptr[((((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x)) - (int64_t)1)]) ^ (int64_t)0) ^ (int64_t)0)) ^ (uint64_t)0ULL) ^ (uint64_t)18446744073709551615ULL) ^ (uint64_t)0ULL)) + ((__uint128_t)((uint64_t)1ULL ^ (uint64_t)0ULL))))) ^ (uint64_t)0ULL) ^ (uint64_t)0ULL)) ^ (int64_t)0);
        } else {
          condval_3 = ((((int64_t)o_ptr[70]) == (int64_t)3000) ? (int64_t)0 : (int64_t)-1);
        }
        condval_2 = condval_3;
      }
      if ((condval < (int64_t)0) || ((int64_t)3001 <= condval_2)) {
        int64_t condval_4;
        if ((((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x)) < (int64_t)1) {
          condval_4 = ((((int64_t)o_ptr[0]) == (int64_t)0) ? (int64_t)0 : (int64_t)-1);
        } else {
          int64_t condval_5;
          if ((((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x)) < (int64_t)71) {
            condval_5 = (((int64_t)((((uint64_t)(((__uint128_t)(((uint64_t)((((int64_t)o_ptr[(((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x))]) ^ (int64_t)0) ^ (int64_t)0)) ^ (uint64_t)0ULL)) + (((__uint128_t)(((((uint64_t)((((int64_t)o_ptr[((((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x)) - (int64_t)1)]) ^ (int64_t)0) ^ (int64_t)0)) ^ (uint64_t)0ULL) ^ (uint64_t)18446744073709551615ULL) ^ (uint64_t)0ULL)) + ((__uint128_t)((uint64_t)1ULL ^ (uint64_t)0ULL))))) ^ (uint64_t)0ULL) ^ (uint64_t)0ULL)) ^ (int64_t)0);
          } else {
            condval_5 = ((((int64_t)o_ptr[70]) == (int64_t)3000) ? (int64_t)0 : (int64_t)-1);
          }
          condval_4 = condval_5;
        }
        int64_t condval_6;
        if (threads < (int64_t)0) {
          condval_6 = (threads * (int64_t)-1);
        } else {
          condval_6 = threads;
        }
        gs_found_0_1_0((&(kept_ptr[0])), ((((k * (int64_t)3072) + first0) + ((int64_t)threadIdx.x)) ^ (int64_t)0), condval_4, condval_6);
      }
    }
  }
  gs_cleared_1024((&(marks_ptr[0])));
  alignas(8) int64_t low_ptr[1];
  low_ptr[0] = (int64_t)-1;
  stop_ptr[0] = (int64_t)70;
  alignas(8) int64_t steps__ptr[1];
  steps__ptr[0] = (int64_t)1;
  int64_t steps0 = steps__ptr[0];
  for (int64_t s = (int64_t)0; s < steps0; ++s) {
    alignas(8) int64_t apart__ptr[3];
    apart__ptr[0] = low_ptr[0];
    apart__ptr[1] = stop_ptr[0];
    apart__ptr[2] = ((((stop_ptr[0] + (int64_t)1023) - low_ptr[0]) ^ (int64_t)0) >> (int64_t)10);
    int64_t apart0 = apart__ptr[0];
    int64_t apart1 = apart__ptr[1];
    int64_t apart2 = apart__ptr[2];
    int condval_7;
    if ((apart0 + ((((int64_t)threadIdx.x) + (int64_t)1) * apart2)) < apart1) {
      condval_7 = ((int)(first0 <= ((int64_t)o_ptr[(apart0 + ((((int64_t)threadIdx.x) + (int64_t)1) * apart2))])));
    } else {
      condval_7 = 0;
    }
    gs_first_1024((&(found_ptr[0])), (&(words_ptr[0])), condval_7);
    int64_t condval_8;
    if (((int64_t)found_ptr[0]) < (int64_t)1024) {
      condval_8 = (apart0 + ((((int64_t)found_ptr[0]) + (int64_t)1) * apart2));
    } else {
      condval_8 = apart1;
    }
    stop_ptr[0] = condval_8;
    low_ptr[0] = (apart0 + ((((stop_ptr[0] - apart0) - (int64_t)1) / apart2) * apart2));
  }
  alignas(8) int64_t begin__ptr[1];
  begin__ptr[0] = stop_ptr[0];
  int64_t begin0 = begin__ptr[0];
  found_ptr[0] = 1024;
  stop_ptr[0] = (int64_t)3000;
  for (int64_t k_1 = (int64_t)0; k_1 < ((((int64_t)1094 - begin0) ^ (int64_t)0) >> (int64_t)10); ++k_1) {
    if (found_ptr[0] == 1024) {
      alignas(8) int64_t offset__ptr[1];
      int64_t condval_9;
      if ((((k_1 * (int64_t)1024) + begin0) + ((int64_t)threadIdx.x)) <= (int64_t)70) {
        condval_9 = ((int64_t)o_ptr[(((k_1 * (int64_t)1024) + begin0) + ((int64_t)threadIdx.x))]);
      } else {
        condval_9 = (int64_t)3000;
      }
      offset__ptr[0] = condval_9;
      int64_t offset0 = offset__ptr[0];
      if ((first0 <= offset0) && (offset0 < first1)) {
        gs_atomic_or_uint32((&(marks_ptr[(((offset0 - first0) ^ (int64_t)0) >> (int64_t)5)])), ((uint)1 << (((uint)(offset0 - first0)) & (uint)31)));
      }
      gs_first_1024((&(found_ptr[0])), (&(words_ptr[0])), ((int)(first1 <= offset0)));
      if (found_ptr[0] < 1024) {
        stop_ptr[0] = max(first1, min(((int64_t)o_ptr[min((((k_1 * (int64_t)1024) + begin0) + ((int64_t)found_ptr[0])), (int64_t)70)]), (int64_t)3000));
      }
    }
  }
  gs_listed_1024((&(begins_ptr[0])), (&(words_ptr[0])), ((int)((int64_t)threadIdx.x)), ((int)((marks_ptr[(((int64_t)threadIdx.x) >> (int64_t)5)] >> ((uint)(((int64_t)threadIdx.x) & (int64_t)31))) & (uint)1)), ((int)(first1 - first0)));
  alignas(8) int count__ptr[2];
  count__ptr[0] = begins_ptr[1025];
  count__ptr[1] = ((first1 < stop_ptr[0]) ? 1 : 0);
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
    for (int64_t k_2 = (int64_t)0; k_2 < ((((((int64_t)count0) + ((int64_t)bits2)) - ((int64_t)count1)) - (int64_t)1) / ((int64_t)bits2)); ++k_2) {
      alignas(8) int j__ptr[2];
      int64_t condval_10;
      if (((k_2 * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0) + (int64_t)3))) < (((int64_t)count0) - ((int64_t)count1))) {
        condval_10 = ((int64_t)begins_ptr[((k_2 * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0) + (int64_t)3)))]);
      } else {
        condval_10 = (int64_t)0;
      }
      j__ptr[0] = ((int)condval_10);
      int64_t condval_11;
      if (((k_2 * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0) + (int64_t)3))) < (((int64_t)count0) - ((int64_t)count1))) {
        condval_11 = ((int64_t)begins_ptr[(((k_2 * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0) + (int64_t)3))) + (int64_t)1)]);
      } else {
        condval_11 = (int64_t)0;
      }
      j__ptr[1] = ((int)condval_11);
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
      for (int s_1 = 0; s_1 < bits0; ++s_1) {
        float other = __shfl_sync((uint)4294967295, acc_ptr[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_1)), 32);
        float t_2 = acc_ptr[0];
        acc_ptr[0] = (((t_2 <= t_2) ^ (bool)1) ? (t_2 + t_2) : (((other < t_2) ^ (bool)0) ? t_2 : other));
      }
      total0_ptr[0] = acc_ptr[0];
      alignas(8) float acc_ptr_1[1];
      acc_ptr_1[0] = -0x0p+0f/*-0.000000e+00*/;
      for (int64_t p_1 = (int64_t)0; p_1 < own1; ++p_1) {
        step0_ptr[0] = (x_ptr[(((own0 * (int64_t)8) + ((p_1 << ((int64_t)bits0)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
        float t_3 = step0_ptr[0];
        float t_4 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_3) ? ((t_3 < 0x1.64p+6f/*8.900000e+01*/) ? t_3 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
        float t_5 = nearbyintf((t_4 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
        float t_6 = ((t_4 + (t_5 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_5 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
        int t_7 = (((int)t_5) ^ 0);
        int t_8 = ((t_7 >> 1) ^ 0);
          int v_ = (t_8 + 127) << 23;
          int v__1 = ((t_7 + 127) - t_8) << 23;
        acc_ptr_1[0] = (acc_ptr_1[0] + (((t_3 <= t_3) ^ (bool)1) ? t_3 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_6) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_6) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_6) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_6) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_6) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_6 * t_6)) + t_6) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v_)))) * (*(float *)(&(v__1))))));
      }
      for (int s_2 = 0; s_2 < bits0; ++s_2) {
        float other_1 = __shfl_sync((uint)4294967295, acc_ptr_1[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_2)), 32);
        acc_ptr_1[0] = (acc_ptr_1[0] + other_1);
      }
      total1_ptr[0] = acc_ptr_1[0];
      for (int64_t p_2 = (int64_t)0; p_2 < own1; ++p_2) {
        step0_ptr[0] = (x_ptr[(((own0 * (int64_t)8) + ((p_2 << ((int64_t)bits0)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
        float t_9 = step0_ptr[0];
        float t_10 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_9) ? ((t_9 < 0x1.64p+6f/*8.900000e+01*/) ? t_9 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
        float t_11 = nearbyintf((t_10 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
        float t_12 = ((t_10 + (t_11 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_11 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
        int t_13 = (((int)t_11) ^ 0);
        int t_14 = ((t_13 >> 1) ^ 0);
          int v__2 = (t_14 + 127) << 23;
          int v__3 = ((t_13 + 127) - t_14) << 23;
        out0_div_41_ptr[(((own0 * (int64_t)8) + ((p_2 << ((int64_t)bits0)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] = ((((t_9 <= t_9) ^ (bool)1) ? t_9 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_12) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_12) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_12) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_12) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_12) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_12 * t_12)) + t_12) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__2)))) * (*(float *)(&(v__3))))) / total1_ptr[0]);
      }
    }
    int condval_12;
    if (((int64_t)threadIdx.x) < (((int64_t)count0) - ((int64_t)count1))) {
      int64_t condval_13;
      if (((int64_t)threadIdx.x) < ((int64_t)count0)) {
        condval_13 = (((int64_t)begins_ptr[(((int64_t)threadIdx.x) + (int64_t)1)]) - ((int64_t)begins_ptr[((int64_t)threadIdx.x)]));
      } else {
        condval_13 = (int64_t)0;
      }
      condval_12 = ((int)(((int64_t)bits1) < condval_13));
    } else {
      condval_12 = ((int)(((int64_t)threadIdx.x) < ((int64_t)count0)));
    }
    gs_listed_1024((&(v_long_ptr[0])), (&(words_ptr[0])), ((int)((int64_t)threadIdx.x)), condval_12, 0);
    alignas(8) int long__ptr[1];
    long__ptr[0] = v_long_ptr[1025];
    int long0 = long__ptr[0];
    for (int m = 0; m < long0; ++m) {
      alignas(8) int m__ptr[1];
      m__ptr[0] = v_long_ptr[m];
      int m0 = m__ptr[0];
      alignas(8) int64_t end__ptr[2];
      end__ptr[0] = (first0 + ((int64_t)begins_ptr[m0]));
      int64_t condval_14;
      if (((int64_t)m0) < (((int64_t)count0) - ((int64_t)count1))) {
        condval_14 = (first0 + ((int64_t)begins_ptr[(((int64_t)m0) + (int64_t)1)]));
      } else {
        condval_14 = stop_ptr[0];
      }
      end__ptr[1] = condval_14;
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
        float t_15 = acc_ptr_2[0];
        float t_16 = x_ptr[(((own0_1 * (int64_t)8) + ((p_3 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))];
        acc_ptr_2[0] = (((t_15 <= t_15) ^ (bool)1) ? (t_15 + t_15) : (((t_16 < t_15) ^ (bool)0) ? t_15 : t_16));
      }
      for (int s_3 = 0; s_3 < 2; ++s_3) {
        float other_2 = __shfl_sync((uint)4294967295, acc_ptr_2[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_3)), 32);
        float t_17 = acc_ptr_2[0];
        acc_ptr_2[0] = (((t_17 <= t_17) ^ (bool)1) ? (t_17 + t_17) : (((other_2 < t_17) ^ (bool)0) ? t_17 : other_2));
      }
      if ((((int64_t)threadIdx.x) & (int64_t)31) < (int64_t)8) {
        parts_float32_ptr[(((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)31))] = acc_ptr_2[0];
      }
      __syncthreads();
      acc_ptr_2[0] = parts_float32_ptr[(((int64_t)threadIdx.x) & (int64_t)31)];
      for (int w = 0; w < 7; ++w) {
        float t_18 = acc_ptr_2[0];
        float t_19 = parts_float32_ptr[(((((int64_t)w) * (int64_t)32) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)];
        acc_ptr_2[0] = (((t_18 <= t_18) ^ (bool)1) ? (t_18 + t_18) : (((t_19 < t_18) ^ (bool)0) ? t_18 : t_19));
      }
      __syncthreads();
      for (int s_4 = 0; s_4 < 2; ++s_4) {
        float other_3 = __shfl_sync((uint)4294967295, acc_ptr_2[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_4)), 32);
        float t_20 = acc_ptr_2[0];
        acc_ptr_2[0] = (((t_20 <= t_20) ^ (bool)1) ? (t_20 + t_20) : (((other_3 < t_20) ^ (bool)0) ? t_20 : other_3));
      }
      total0_ptr[0] = acc_ptr_2[0];
      alignas(8) float acc_ptr_3[1];
      acc_ptr_3[0] = -0x0p+0f/*-0.000000e+00*/;
      for (int64_t p_4 = (int64_t)0; p_4 < own1_1; ++p_4) {
        step0_ptr[0] = (x_ptr[(((own0_1 * (int64_t)8) + ((p_4 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
        float t_21 = step0_ptr[0];
        float t_22 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_21) ? ((t_21 < 0x1.64p+6f/*8.900000e+01*/) ? t_21 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
        float t_23 = nearbyintf((t_22 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
        float t_24 = ((t_22 + (t_23 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_23 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
        int t_25 = (((int)t_23) ^ 0);
        int t_26 = ((t_25 >> 1) ^ 0);
          int v__4 = (t_26 + 127) << 23;
          int v__5 = ((t_25 + 127) - t_26) << 23;
        acc_ptr_3[0] = (acc_ptr_3[0] + (((t_21 <= t_21) ^ (bool)1) ? t_21 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_24) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_24) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_24) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_24) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_24) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_24 * t_24)) + t_24) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__4)))) * (*(float *)(&(v__5))))));
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
      total1_ptr[0] = acc_ptr_3[0];
      for (int64_t p_5 = (int64_t)0; p_5 < own1_1; ++p_5) {
        step0_ptr[0] = (x_ptr[(((own0_1 * (int64_t)8) + ((p_5 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
        float t_27 = step0_ptr[0];
        float t_28 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_27) ? ((t_27 < 0x1.64p+6f/*8.900000e+01*/) ? t_27 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
        float t_29 = nearbyintf((t_28 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
        float t_30 = ((t_28 + (t_29 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_29 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
        int t_31 = (((int)t_29) ^ 0);
        int t_32 = ((t_31 >> 1) ^ 0);
          int v__6 = (t_32 + 127) << 23;
          int v__7 = ((t_31 + 127) - t_32) << 23;
        out0_div_41_ptr[(((own0_1 * (int64_t)8) + ((p_5 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] = ((((t_27 <= t_27) ^ (bool)1) ? t_27 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_30) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_30) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_30) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_30) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_30) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_30 * t_30)) + t_30) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__6)))) * (*(float *)(&(v__7))))) / total1_ptr[0]);
      }
    }
  }
  if (threads < (int64_t)0) {
    status_ptr[0] = (int64_t)0;
    status_ptr[1] = (int64_t)0;
    status_ptr[2] = (int64_t)0;
  }
}

