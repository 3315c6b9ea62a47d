__device__ __forceinline__ void gs_keep3(int64_t* kept, int64_t* record) {
  if (atomicCAS((unsigned long long*)kept, 0ull, 1ull) == 0)
    for (int k = 1; k < 3; ++k) kept[k] = record[k];
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

__device__ __forceinline__ void gs_atomic_max_int64(int64_t* p, long long v) {
  atomicMax((long long*)p, v);
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

__device__ __forceinline__ void gs_wait(int64_t* word, int done) {
  if (threadIdx.x == 0) {
    while ((int)(atomicAdd((unsigned long long*)word, 0ull) >> 32) < done) __nanosleep(100);
    __threadfence();
  }
  __syncthreads();
}

__device__ __forceinline__ void gs_turn(int64_t* word, int* told, int done, int more, int* number) {
  if (threadIdx.x == 0) {
    __threadfence();
    *told = (int)atomicAdd((unsigned long long*)word, ((unsigned long long)done << 32) + more);
  }
  __syncthreads();
  *number = *told;
}

extern "C" __global__ void __launch_bounds__(1024, 1) segment_softmax_kernel(int64_t* __restrict__ div_10_highs_ptr, int64_t* __restrict__ div_10_lows_ptr, float* __restrict__ div_10_part0_ptr, float* __restrict__ div_10_part1_ptr, int64_t* __restrict__ i_ptr, float* __restrict__ out0_div_10_ptr, int64_t* __restrict__ status_ptr, float* __restrict__ x_ptr) {
  alignas(8) float total0_ptr[1];
  alignas(8) float total1_ptr[1];
  alignas(8) int64_t stop_ptr[1];
  alignas(8) int found_ptr[1];
  __shared__ alignas(8) int begins_ptr[1026];
  __shared__ alignas(8) int v_long_ptr[1026];
  __shared__ alignas(8) uint words_ptr[32];
  __shared__ alignas(8) float parts_float32_ptr[256];
  if (((int)blockIdx.x) < 3) {
    __shared__ alignas(8) int told_ptr[1];
    alignas(8) int ticket_ptr[1];
    alignas(8) int64_t low_ptr[1];
    alignas(8) int64_t high_ptr[1];
    alignas(8) int marks__ptr[3];
    marks__ptr[0] = 10;
    marks__ptr[1] = 3;
    marks__ptr[2] = 1;
    int marks0 = marks__ptr[0];
    int marks1 = marks__ptr[1];
    int marks2 = marks__ptr[2];
    gs_turn((&(status_ptr[2])), (&(told_ptr[0])), 0, 1, (&(ticket_ptr[0])));
    if (ticket_ptr[0] == 0) {
      low_ptr[0] = (int64_t)0;
      high_ptr[0] = ((int64_t)threadIdx.x);
      if (((int64_t)threadIdx.x) < ((int64_t)marks1)) {
        alignas(8) int64_t start__ptr[1];
        int64_t condval;
        if (i_ptr[(((int64_t)threadIdx.x) * ((int64_t)1 << ((int64_t)marks0)))] < (int64_t)0) {
          condval = (i_ptr[(((int64_t)threadIdx.x) * ((int64_t)1 << ((int64_t)marks0)))] + (int64_t)70);
        } else {
          condval = i_ptr[(((int64_t)threadIdx.x) * ((int64_t)1 << ((int64_t)marks0)))];
        }
        start__ptr[0] = ((int64_t)((int)min(((uint64_t)(condval ^ (int64_t)0)), (uint64_t)69ULL)));
        int64_t start0 = start__ptr[0];
        alignas(8) int beside__ptr[3];
        int condval_1;
        if ((int64_t)0 < ((int64_t)threadIdx.x)) {
          int64_t condval_2;
          if (i_ptr[((((int64_t)threadIdx.x) - (int64_t)1) * ((int64_t)1 << ((int64_t)marks0)))] < (int64_t)0) {
            condval_2 = (i_ptr[((((int64_t)threadIdx.x) - (int64_t)1) * ((int64_t)1 << ((int64_t)marks0)))] + (int64_t)70);
          } else {
            condval_2 = i_ptr[((((int64_t)threadIdx.x) - (int64_t)1) * ((int64_t)1 << ((int64_t)marks0)))];
          }
          condval_1 = ((((int64_t)((int)min(((uint64_t)(condval_2 ^ (int64_t)0)), (uint64_t)69ULL))) == start0) ? 1 : 0);
        } else {
          condval_1 = 0;
        }
        beside__ptr[0] = condval_1;
        int condval_3;
        if ((((int64_t)threadIdx.x) + (int64_t)1) < ((int64_t)marks1)) {
          int64_t condval_4;
          if (i_ptr[((((int64_t)threadIdx.x) + (int64_t)1) * ((int64_t)1 << ((int64_t)marks0)))] < (int64_t)0) {
            condval_4 = (i_ptr[((((int64_t)threadIdx.x) + (int64_t)1) * ((int64_t)1 << ((int64_t)marks0)))] + (int64_t)70);
          } else {
            condval_4 = i_ptr[((((int64_t)threadIdx.x) + (int64_t)1) * ((int64_t)1 << ((int64_t)marks0)))];
          }
          condval_3 = ((((int64_t)((int)min(((uint64_t)(condval_4 ^ (int64_t)0)), (uint64_t)69ULL))) == start0) ? 1 : 0);
        } else {
          condval_3 = 0;
        }
        beside__ptr[1] = condval_3;
        int64_t condval_5;
        if (i_ptr[0] < (int64_t)0) {
          condval_5 = (i_ptr[0] + (int64_t)70);
        } else {
          condval_5 = i_ptr[0];
        }
        beside__ptr[2] = ((((int64_t)((int)min(((uint64_t)(condval_5 ^ (int64_t)0)), (uint64_t)69ULL))) == start0) ? 1 : 0);
        int beside0 = beside__ptr[0];
        int beside1 = beside__ptr[1];
        int beside2 = beside__ptr[2];
        if (0 < (beside0 + beside1)) {
          alignas(8) int64_t bits__ptr[1];
          bits__ptr[0] = ((((((((((((((((((((((((((((((((int64_t)((int)(1 < marks1))) + ((int64_t)((int)(2 < marks1)))) + ((int64_t)((int)(4 < marks1)))) + ((int64_t)((int)(8 < marks1)))) + ((int64_t)((int)(16 < marks1)))) + ((int64_t)((int)(32 < marks1)))) + ((int64_t)((int)(64 < marks1)))) + ((int64_t)((int)(128 < marks1)))) + ((int64_t)((int)(256 < marks1)))) + ((int64_t)((int)(512 < marks1)))) + ((int64_t)((int)(1024 < marks1)))) + ((int64_t)((int)(2048 < marks1)))) + ((int64_t)((int)(4096 < marks1)))) + ((int64_t)((int)(8192 < marks1)))) + ((int64_t)((int)(16384 < marks1)))) + ((int64_t)((int)(32768 < marks1)))) + ((int64_t)((int)(65536 < marks1)))) + ((int64_t)((int)(131072 < marks1)))) + ((int64_t)((int)(262144 < marks1)))) + ((int64_t)((int)(524288 < marks1)))) + ((int64_t)((int)(1048576 < marks1)))) + ((int64_t)((int)(2097152 < marks1)))) + ((int64_t)((int)(4194304 < marks1)))) + ((int64_t)((int)(8388608 < marks1)))) + ((int64_t)((int)(16777216 < marks1)))) + ((int64_t)((int)(33554432 < marks1)))) + ((int64_t)((int)(67108864 < marks1)))) + ((int64_t)((int)(134217728 < marks1)))) + ((int64_t)((int)(268435456 < marks1)))) + ((int64_t)((int)(536870912 < marks1)))) + ((int64_t)((int)(1073741824 < marks1))));
          int64_t bits0 = bits__ptr[0];
          for (int64_t s = (int64_t)0; s < bits0; ++s) {
            alignas(8) int64_t next__ptr[2];
            next__ptr[0] = (low_ptr[0] + ((int64_t)1 << ((bits0 - s) - (int64_t)1)));
            next__ptr[1] = (high_ptr[0] + ((int64_t)1 << ((bits0 - s) - (int64_t)1)));
            int64_t next0 = next__ptr[0];
            int64_t next1 = next__ptr[1];
            alignas(8) int holds__ptr[2];
            int condval_6;
            if (next0 < ((0 < beside2) ? (int64_t)0 : ((int64_t)threadIdx.x))) {
              int64_t condval_7;
              if (i_ptr[(next0 * ((int64_t)1 << ((int64_t)marks0)))] < (int64_t)0) {
                condval_7 = (i_ptr[(next0 * ((int64_t)1 << ((int64_t)marks0)))] + (int64_t)70);
              } else {
                condval_7 = i_ptr[(next0 * ((int64_t)1 << ((int64_t)marks0)))];
              }
              condval_6 = ((((int64_t)((int)min(((uint64_t)(condval_7 ^ (int64_t)0)), (uint64_t)69ULL))) != start0) ? 1 : 0);
            } else {
              condval_6 = 0;
            }
            holds__ptr[0] = condval_6;
            int condval_8;
            if (next1 < ((int64_t)marks1)) {
              int64_t condval_9;
              if (i_ptr[(next1 * ((int64_t)1 << ((int64_t)marks0)))] < (int64_t)0) {
                condval_9 = (i_ptr[(next1 * ((int64_t)1 << ((int64_t)marks0)))] + (int64_t)70);
              } else {
                condval_9 = i_ptr[(next1 * ((int64_t)1 << ((int64_t)marks0)))];
              }
              condval_8 = ((((int64_t)((int)min(((uint64_t)(condval_9 ^ (int64_t)0)), (uint64_t)69ULL))) == start0) ? 1 : 0);
            } else {
              condval_8 = 0;
            }
            holds__ptr[1] = condval_8;
            int holds0 = holds__ptr[0];
            int holds1 = holds__ptr[1];
            int64_t condval_10;
            if (0 < holds0) {
              condval_10 = next0;
            } else {
              condval_10 = low_ptr[0];
            }
            low_ptr[0] = condval_10;
            int64_t condval_11;
            if (0 < holds1) {
              condval_11 = next1;
            } else {
              condval_11 = high_ptr[0];
            }
            high_ptr[0] = condval_11;
          }
          low_ptr[0] = (low_ptr[0] * ((int64_t)1 << ((int64_t)marks0)));
          high_ptr[0] = (high_ptr[0] * ((int64_t)1 << ((int64_t)marks0)));
          alignas(8) int64_t until__ptr[2];
          int64_t condval_12;
          if (0 < beside2) {
            condval_12 = (int64_t)0;
          } else {
            condval_12 = (low_ptr[0] + ((int64_t)1 << ((int64_t)marks0)));
          }
          until__ptr[0] = condval_12;
          until__ptr[1] = min((high_ptr[0] + ((int64_t)1 << ((int64_t)marks0))), (int64_t)3000);
          int64_t until0 = until__ptr[0];
          int64_t until1 = until__ptr[1];
          alignas(8) int64_t bits__ptr_1[1];
          bits__ptr_1[0] = (((((((((((((((((((((((((((((((((((((((((int64_t)((int)((int64_t)1 < ((int64_t)1 << ((int64_t)marks0))))) + ((int64_t)((int)((int64_t)2 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)4 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)8 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)16 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)32 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)64 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)128 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)256 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)512 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)1024 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)2048 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)4096 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)8192 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)16384 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)32768 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)65536 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)131072 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)262144 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)524288 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)1048576 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)2097152 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)4194304 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)8388608 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)16777216 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)33554432 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)67108864 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)134217728 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)268435456 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)536870912 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)1073741824 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)2147483648 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)4294967296 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)8589934592 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)17179869184 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)34359738368 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)68719476736 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)137438953472 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)274877906944 < ((int64_t)1 << ((int64_t)marks0)))))) + ((int64_t)((int)((int64_t)549755813888 < ((int64_t)1 << ((int64_t)marks0))))));
          int64_t bits0_1 = bits__ptr_1[0];
          for (int64_t s_1 = (int64_t)0; s_1 < bits0_1; ++s_1) {
            alignas(8) int64_t next__ptr_1[2];
            next__ptr_1[0] = (low_ptr[0] + ((int64_t)1 << ((bits0_1 - s_1) - (int64_t)1)));
            next__ptr_1[1] = (high_ptr[0] + ((int64_t)1 << ((bits0_1 - s_1) - (int64_t)1)));
            int64_t next0_1 = next__ptr_1[0];
            int64_t next1_1 = next__ptr_1[1];
            alignas(8) int holds__ptr_1[2];
            int condval_13;
            if (next0_1 < until0) {
              int64_t condval_14;
              if (i_ptr[next0_1] < (int64_t)0) {
                condval_14 = (i_ptr[next0_1] + (int64_t)70);
              } else {
                condval_14 = i_ptr[next0_1];
              }
              condval_13 = ((((int64_t)((int)min(((uint64_t)(condval_14 ^ (int64_t)0)), (uint64_t)69ULL))) != start0) ? 1 : 0);
            } else {
              condval_13 = 0;
            }
            holds__ptr_1[0] = condval_13;
            int condval_15;
            if (next1_1 < until1) {
              int64_t condval_16;
              if (i_ptr[next1_1] < (int64_t)0) {
                condval_16 = (i_ptr[next1_1] + (int64_t)70);
              } else {
                condval_16 = i_ptr[next1_1];
              }
              condval_15 = ((((int64_t)((int)min(((uint64_t)(condval_16 ^ (int64_t)0)), (uint64_t)69ULL))) == start0) ? 1 : 0);
            } else {
              condval_15 = 0;
            }
            holds__ptr_1[1] = condval_15;
            int holds0_1 = holds__ptr_1[0];
            int holds1_1 = holds__ptr_1[1];
            int64_t condval_17;
            if (0 < holds0_1) {
              condval_17 = next0_1;
            } else {
              condval_17 = low_ptr[0];
            }
            low_ptr[0] = condval_17;
            int64_t condval_18;
            if (0 < holds1_1) {
              condval_18 = next1_1;
            } else {
              condval_18 = high_ptr[0];
            }
            high_ptr[0] = condval_18;
          }
          int64_t condval_19;
          if (0 < beside2) {
            condval_19 = (int64_t)0;
          } else {
            condval_19 = (low_ptr[0] + (int64_t)1);
          }
          low_ptr[0] = condval_19;
          high_ptr[0] = (high_ptr[0] + (int64_t)1);
        } else {
          high_ptr[0] = (int64_t)0;
        }
      }
      if (((int64_t)threadIdx.x) < ((int64_t)marks1)) {
        alignas(8) int64_t ends__ptr[2];
        ends__ptr[0] = max(low_ptr[0], (int64_t)0);
        ends__ptr[1] = min(high_ptr[0], (int64_t)3000);
        int64_t ends0 = ends__ptr[0];
        int64_t ends1 = ends__ptr[1];
        div_10_lows_ptr[((int64_t)threadIdx.x)] = ((((ends0 <= (((int64_t)threadIdx.x) * ((int64_t)1 << ((int64_t)marks0)))) && ((((int64_t)threadIdx.x) * ((int64_t)1 << ((int64_t)marks0))) < ends1)) && (((((ends0 + (int64_t)1023) >> (int64_t)10) + (int64_t)1) << (int64_t)10) < ends1)) ? ends0 : (int64_t)0);
        div_10_highs_ptr[((int64_t)threadIdx.x)] = ((((ends0 <= (((int64_t)threadIdx.x) * ((int64_t)1 << ((int64_t)marks0)))) && ((((int64_t)threadIdx.x) * ((int64_t)1 << ((int64_t)marks0))) < ends1)) && (((((ends0 + (int64_t)1023) >> (int64_t)10) + (int64_t)1) << (int64_t)10) < ends1)) ? ends1 : (int64_t)0);
      }
      __syncthreads();
      gs_turn((&(status_ptr[2])), (&(told_ptr[0])), 1, 1, (&(ticket_ptr[0])));
    }
    gs_wait((&(status_ptr[2])), 1);
    low_ptr[0] = (int64_t)0;
    high_ptr[0] = (int64_t)0;
    if (((int64_t)threadIdx.x) < ((int64_t)marks1)) {
      low_ptr[0] = div_10_lows_ptr[((int64_t)threadIdx.x)];
      high_ptr[0] = div_10_highs_ptr[((int64_t)threadIdx.x)];
    }
    gs_listed_1024((&(begins_ptr[0])), (&(words_ptr[0])), ((int)((int64_t)threadIdx.x)), ((int)(low_ptr[0] < high_ptr[0])), 0);
    alignas(8) int pieces__ptr[1];
    pieces__ptr[0] = begins_ptr[1025];
    int pieces0 = pieces__ptr[0];
    alignas(8) int count__ptr[3];
    count__ptr[0] = pieces0;
    count__ptr[1] = ((int)(((int64_t)pieces0) * ((int64_t)marks2)));
    count__ptr[2] = ((int)(((int64_t)pieces0) * ((int64_t)marks2)));
    int count0 = count__ptr[0];
    int count1 = count__ptr[1];
    int count2 = count__ptr[2];
    for (int k = 0; k < count2; ++k) {
      if (((int64_t)ticket_ptr[0]) <= (((int64_t)count1) * (int64_t)3)) {
        alignas(8) int fold__ptr[1];
        fold__ptr[0] = ((int)((((int64_t)ticket_ptr[0]) - (int64_t)1) / ((int64_t)count1)));
        int fold0 = fold__ptr[0];
        alignas(8) int unit__ptr[2];
        unit__ptr[0] = fold0;
        unit__ptr[1] = ((int)((((int64_t)ticket_ptr[0]) - (((int64_t)fold0) * ((int64_t)count1))) - (int64_t)1));
        int unit0 = unit__ptr[0];
        int unit1 = unit__ptr[1];
        gs_wait((&(status_ptr[2])), ((int)((((int64_t)unit0) * ((int64_t)count1)) + (int64_t)1)));
        alignas(8) int place__ptr[3];
        place__ptr[0] = ((int)(((int64_t)unit1) / ((int64_t)marks2)));
        place__ptr[1] = ((int)(((int64_t)unit1) % ((int64_t)marks2)));
        place__ptr[2] = begins_ptr[(((int64_t)unit1) / ((int64_t)marks2))];
        int place0 = place__ptr[0];
        int place1 = place__ptr[1];
        int place2 = place__ptr[2];
        low_ptr[0] = div_10_lows_ptr[place2];
        high_ptr[0] = div_10_highs_ptr[place2];
        alignas(8) int64_t ends__ptr_1[3];
        int64_t condval_20;
        if (((int64_t)place2) == (((low_ptr[0] + ((int64_t)1 << ((int64_t)marks0))) - (int64_t)1) >> ((int64_t)marks0))) {
          condval_20 = low_ptr[0];
        } else {
          condval_20 = (((int64_t)place2) * ((int64_t)1 << ((int64_t)marks0)));
        }
        ends__ptr_1[0] = condval_20;
        ends__ptr_1[1] = min(high_ptr[0], ((((int64_t)place2) + (int64_t)1) * ((int64_t)1 << ((int64_t)marks0))));
        ends__ptr_1[2] = (high_ptr[0] - low_ptr[0]);
        int64_t ends0_1 = ends__ptr_1[0];
        int64_t ends1_1 = ends__ptr_1[1];
        int64_t ends2 = ends__ptr_1[2];
        alignas(8) int ahead__ptr[2];
        ahead__ptr[0] = ((int)max(((((int64_t)place0) + (((low_ptr[0] + ((int64_t)1 << ((int64_t)marks0))) - (int64_t)1) >> ((int64_t)marks0))) - ((int64_t)place2)), (int64_t)0));
        ahead__ptr[1] = ((int)(min((((((int64_t)place0) + ((high_ptr[0] - (int64_t)1) >> ((int64_t)marks0))) + (int64_t)1) - ((int64_t)place2)), ((int64_t)count0)) - max(((((int64_t)place0) + (((low_ptr[0] + ((int64_t)1 << ((int64_t)marks0))) - (int64_t)1) >> ((int64_t)marks0))) - ((int64_t)place2)), (int64_t)0)));
        int ahead0 = ahead__ptr[0];
        int ahead1 = ahead__ptr[1];
        alignas(8) int steps__ptr[2];
        steps__ptr[0] = ((int)max((((((ends1_1 + (int64_t)127) - ends0_1) - (((int64_t)threadIdx.x) >> (int64_t)3)) ^ (int64_t)0) / (int64_t)128), (int64_t)0));
        steps__ptr[1] = ((int)max(((((((int64_t)ahead1) + (int64_t)127) - (((int64_t)threadIdx.x) >> (int64_t)3)) ^ (int64_t)0) / (int64_t)128), (int64_t)0));
        int steps0 = steps__ptr[0];
        int steps1 = steps__ptr[1];
        if (0 < unit0) {
          alignas(8) float acc_ptr[1];
          acc_ptr[0] = -CUDART_INF_F;
          for (int64_t j = (int64_t)0; j < ((int64_t)steps1); ++j) {
            float t = acc_ptr[0];
            float t_1 = div_10_part0_ptr[(((((j * ((int64_t)marks2)) * (int64_t)1024) + (((((int64_t)ahead0) + (((int64_t)threadIdx.x) >> (int64_t)3)) * ((int64_t)marks2)) * (int64_t)8)) + (((int64_t)place1) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))];
            acc_ptr[0] = (((t <= t) ^ (bool)1) ? (t + t) : (((t_1 < t) ^ (bool)0) ? t : t_1));
          }
          for (int s_2 = 0; s_2 < 2; ++s_2) {
            float other = __shfl_sync((uint)4294967295, acc_ptr[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_2)), 32);
            float t_2 = acc_ptr[0];
            acc_ptr[0] = (((t_2 <= t_2) ^ (bool)1) ? (t_2 + t_2) : (((other < t_2) ^ (bool)0) ? t_2 : other));
          }
          if ((((int64_t)threadIdx.x) & (int64_t)31) < (int64_t)8) {
            parts_float32_ptr[(((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)31))] = acc_ptr[0];
          }
          __syncthreads();
          acc_ptr[0] = parts_float32_ptr[(((int64_t)threadIdx.x) & (int64_t)31)];
          for (int w = 0; w < 7; ++w) {
            float t_3 = acc_ptr[0];
            float t_4 = parts_float32_ptr[(((((int64_t)w) * (int64_t)32) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)];
            acc_ptr[0] = (((t_3 <= t_3) ^ (bool)1) ? (t_3 + t_3) : (((t_4 < t_3) ^ (bool)0) ? t_3 : t_4));
          }
          __syncthreads();
          for (int s_3 = 0; s_3 < 2; ++s_3) {
            float other_1 = __shfl_sync((uint)4294967295, acc_ptr[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_3)), 32);
            float t_5 = acc_ptr[0];
            acc_ptr[0] = (((t_5 <= t_5) ^ (bool)1) ? (t_5 + t_5) : (((other_1 < t_5) ^ (bool)0) ? t_5 : other_1));
          }
          float t_6 = acc_ptr[0];
          total0_ptr[0] = (((bool)1 ^ (bool)1) ? -CUDART_INF_F : (((t_6 < -CUDART_INF_F) ^ (bool)0) ? -CUDART_INF_F : t_6));
        } else {
          if (unit0 == 0) {
            alignas(8) float acc_ptr_1[1];
            acc_ptr_1[0] = -CUDART_INF_F;
            for (int64_t p = (int64_t)0; p < ((int64_t)steps0); ++p) {
              float t_7 = acc_ptr_1[0];
              float t_8 = x_ptr[(((((ends0_1 * (int64_t)8) + ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)8)) + ((p << (int64_t)7) * (int64_t)8)) + (((int64_t)place1) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))];
              acc_ptr_1[0] = (((t_7 <= t_7) ^ (bool)1) ? (t_7 + t_7) : (((t_8 < t_7) ^ (bool)0) ? t_7 : t_8));
            }
            for (int s_4 = 0; s_4 < 2; ++s_4) {
              float other_2 = __shfl_sync((uint)4294967295, acc_ptr_1[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_4)), 32);
              float t_9 = acc_ptr_1[0];
              acc_ptr_1[0] = (((t_9 <= t_9) ^ (bool)1) ? (t_9 + t_9) : (((other_2 < t_9) ^ (bool)0) ? t_9 : other_2));
            }
            if ((((int64_t)threadIdx.x) & (int64_t)31) < (int64_t)8) {
              parts_float32_ptr[(((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)31))] = acc_ptr_1[0];
            }
            __syncthreads();
            acc_ptr_1[0] = parts_float32_ptr[(((int64_t)threadIdx.x) & (int64_t)31)];
            for (int w_1 = 0; w_1 < 7; ++w_1) {
              float t_10 = acc_ptr_1[0];
              float t_11 = parts_float32_ptr[(((((int64_t)w_1) * (int64_t)32) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)];
              acc_ptr_1[0] = (((t_10 <= t_10) ^ (bool)1) ? (t_10 + t_10) : (((t_11 < t_10) ^ (bool)0) ? t_10 : t_11));
            }
            __syncthreads();
            for (int s_5 = 0; s_5 < 2; ++s_5) {
              float other_3 = __shfl_sync((uint)4294967295, acc_ptr_1[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_5)), 32);
              float t_12 = acc_ptr_1[0];
              acc_ptr_1[0] = (((t_12 <= t_12) ^ (bool)1) ? (t_12 + t_12) : (((other_3 < t_12) ^ (bool)0) ? t_12 : other_3));
            }
            if (((int64_t)threadIdx.x) < (int64_t)8) {
              div_10_part0_ptr[((((((int64_t)place0) * ((int64_t)marks2)) * (int64_t)8) + (((int64_t)place1) * (int64_t)8)) + ((int64_t)threadIdx.x))] = acc_ptr_1[0];
            }
          }
        }
        if (1 < unit0) {
          alignas(8) float acc_ptr_2[1];
          acc_ptr_2[0] = -0x0p+0f/*-0.000000e+00*/;
          for (int64_t j_1 = (int64_t)0; j_1 < ((int64_t)steps1); ++j_1) {
            acc_ptr_2[0] = (acc_ptr_2[0] + div_10_part1_ptr[(((((j_1 * ((int64_t)marks2)) * (int64_t)1024) + (((((int64_t)ahead0) + (((int64_t)threadIdx.x) >> (int64_t)3)) * ((int64_t)marks2)) * (int64_t)8)) + (((int64_t)place1) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))]);
          }
          for (int s_6 = 0; s_6 < 2; ++s_6) {
            float other_4 = __shfl_sync((uint)4294967295, acc_ptr_2[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_6)), 32);
            acc_ptr_2[0] = (acc_ptr_2[0] + other_4);
          }
          if ((((int64_t)threadIdx.x) & (int64_t)31) < (int64_t)8) {
            parts_float32_ptr[(((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)31))] = acc_ptr_2[0];
          }
          __syncthreads();
          acc_ptr_2[0] = parts_float32_ptr[(((int64_t)threadIdx.x) & (int64_t)31)];
          for (int w_2 = 0; w_2 < 7; ++w_2) {
            acc_ptr_2[0] = (acc_ptr_2[0] + parts_float32_ptr[(((((int64_t)w_2) * (int64_t)32) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)]);
          }
          for (int s_7 = 0; s_7 < 2; ++s_7) {
            float other_5 = __shfl_sync((uint)4294967295, acc_ptr_2[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_7)), 32);
            acc_ptr_2[0] = (acc_ptr_2[0] + other_5);
          }
          total1_ptr[0] = (truncf(0x1p-2f/*2.500000e-01*/) + acc_ptr_2[0]);
        } else {
          if (unit0 == 1) {
            alignas(8) float acc_ptr_3[1];
            acc_ptr_3[0] = -0x0p+0f/*-0.000000e+00*/;
            for (int64_t p_1 = (int64_t)0; p_1 < ((int64_t)steps0); ++p_1) {
              float t_13 = (x_ptr[(((((ends0_1 * (int64_t)8) + ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)8)) + ((p_1 << (int64_t)7) * (int64_t)8)) + (((int64_t)place1) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
              float t_14 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_13) ? ((t_13 < 0x1.64p+6f/*8.900000e+01*/) ? t_13 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
              float t_15 = nearbyintf((t_14 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
              float t_16 = ((t_14 + (t_15 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_15 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
              int t_17 = (((int)t_15) ^ 0);
              int t_18 = ((t_17 >> 1) ^ 0);
                int v_ = (t_18 + 127) << 23;
                int v__1 = ((t_17 + 127) - t_18) << 23;
              acc_ptr_3[0] = (acc_ptr_3[0] + (((t_13 <= t_13) ^ (bool)1) ? t_13 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_16) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_16) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_16) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_16) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_16) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_16 * t_16)) + t_16) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v_)))) * (*(float *)(&(v__1))))));
            }
            for (int s_8 = 0; s_8 < 2; ++s_8) {
              float other_6 = __shfl_sync((uint)4294967295, acc_ptr_3[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_8)), 32);
              acc_ptr_3[0] = (acc_ptr_3[0] + other_6);
            }
            if ((((int64_t)threadIdx.x) & (int64_t)31) < (int64_t)8) {
              parts_float32_ptr[(((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)31))] = acc_ptr_3[0];
            }
            __syncthreads();
            acc_ptr_3[0] = parts_float32_ptr[(((int64_t)threadIdx.x) & (int64_t)31)];
            for (int w_3 = 0; w_3 < 7; ++w_3) {
              acc_ptr_3[0] = (acc_ptr_3[0] + parts_float32_ptr[(((((int64_t)w_3) * (int64_t)32) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)]);
            }
            for (int s_9 = 0; s_9 < 2; ++s_9) {
              float other_7 = __shfl_sync((uint)4294967295, acc_ptr_3[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_9)), 32);
              acc_ptr_3[0] = (acc_ptr_3[0] + other_7);
            }
            if (((int64_t)threadIdx.x) < (int64_t)8) {
              div_10_part1_ptr[((((((int64_t)place0) * ((int64_t)marks2)) * (int64_t)8) + (((int64_t)place1) * (int64_t)8)) + ((int64_t)threadIdx.x))] = acc_ptr_3[0];
            }
          }
        }
        if (unit0 == 2) {
          for (int64_t p_2 = (int64_t)0; p_2 < ((int64_t)steps0); ++p_2) {
            float t_19 = (x_ptr[(((((ends0_1 * (int64_t)8) + ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)8)) + ((p_2 << (int64_t)7) * (int64_t)8)) + (((int64_t)place1) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
            float t_20 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_19) ? ((t_19 < 0x1.64p+6f/*8.900000e+01*/) ? t_19 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
            float t_21 = nearbyintf((t_20 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
            float t_22 = ((t_20 + (t_21 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_21 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
            int t_23 = (((int)t_21) ^ 0);
            int t_24 = ((t_23 >> 1) ^ 0);
              int v__2 = (t_24 + 127) << 23;
              int v__3 = ((t_23 + 127) - t_24) << 23;
            out0_div_10_ptr[(((((ends0_1 * (int64_t)8) + ((((int64_t)threadIdx.x) >> (int64_t)3) * (int64_t)8)) + ((p_2 << (int64_t)7) * (int64_t)8)) + (((int64_t)place1) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] = ((((t_19 <= t_19) ^ (bool)1) ? t_19 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_22) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_22) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_22) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_22) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_22) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_22 * t_22)) + t_22) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__2)))) * (*(float *)(&(v__3))))) / total1_ptr[0]);
          }
        }
        __syncthreads();
        gs_turn((&(status_ptr[2])), (&(told_ptr[0])), 1, (((k + 1) < count2) ? 1 : 0), (&(ticket_ptr[0])));
      }
    }
  } else {
    alignas(8) int64_t first__ptr[2];
    first__ptr[0] = ((((int64_t)((int)blockIdx.x)) * (int64_t)1024) - (int64_t)3072);
    first__ptr[1] = ((int64_t)min(3000, ((((int)blockIdx.x) * 1024) - 2048)));
    int64_t first0 = first__ptr[0];
    int64_t first1 = first__ptr[1];
    if ((first0 + ((int64_t)threadIdx.x)) < first1) {
      int64_t condval_21;
      if (i_ptr[(first0 + ((int64_t)threadIdx.x))] < (int64_t)0) {
        condval_21 = (i_ptr[(first0 + ((int64_t)threadIdx.x))] + (int64_t)70);
      } else {
        condval_21 = i_ptr[(first0 + ((int64_t)threadIdx.x))];
      }
      int64_t condval_22;
      if (i_ptr[(first0 + ((int64_t)threadIdx.x))] < (int64_t)0) {
        condval_22 = (i_ptr[(first0 + ((int64_t)threadIdx.x))] + (int64_t)70);
      } else {
        condval_22 = i_ptr[(first0 + ((int64_t)threadIdx.x))];
      }
      if ((condval_21 < (int64_t)0) || ((int64_t)70 <= condval_22)) {
        gs_atomic_max_int64((&(status_ptr[1])), ((int64_t)9223372036854775807 - ((first0 + ((int64_t)threadIdx.x)) ^ (int64_t)0)));
        gs_atomic_max_int64((&(status_ptr[0])), 1);
      }
    }
    int condval_23;
    if ((first0 + ((int64_t)threadIdx.x)) < first1) {
      int condval_24;
      if ((int64_t)0 < (first0 + ((int64_t)threadIdx.x))) {
        int64_t condval_25;
        if (i_ptr[(first0 + ((int64_t)threadIdx.x))] < (int64_t)0) {
          condval_25 = (i_ptr[(first0 + ((int64_t)threadIdx.x))] + (int64_t)70);
        } else {
          condval_25 = i_ptr[(first0 + ((int64_t)threadIdx.x))];
        }
        int64_t condval_26;
        if (i_ptr[((first0 + ((int64_t)threadIdx.x)) - (int64_t)1)] < (int64_t)0) {
          condval_26 = (i_ptr[((first0 + ((int64_t)threadIdx.x)) - (int64_t)1)] + (int64_t)70);
        } else {
          condval_26 = i_ptr[((first0 + ((int64_t)threadIdx.x)) - (int64_t)1)];
        }
        condval_24 = ((((int)min(((uint64_t)(condval_25 ^ (int64_t)0)), (uint64_t)69ULL)) != ((int)min(((uint64_t)(condval_26 ^ (int64_t)0)), (uint64_t)69ULL))) ? 1 : 0);
      } else {
        condval_24 = 1;
      }
      condval_23 = condval_24;
    } else {
      condval_23 = 0;
    }
    gs_listed_1024((&(begins_ptr[0])), (&(words_ptr[0])), ((int)((int64_t)threadIdx.x)), condval_23, ((int)(first1 - first0)));
    alignas(8) int count__ptr_1[2];
    count__ptr_1[0] = begins_ptr[1025];
    int condval_27;
    if (first1 < (int64_t)3000) {
      int condval_28;
      if ((int64_t)0 < first1) {
        int64_t condval_29;
        if (i_ptr[first1] < (int64_t)0) {
          condval_29 = (i_ptr[first1] + (int64_t)70);
        } else {
          condval_29 = i_ptr[first1];
        }
        int64_t condval_30;
        if (i_ptr[(first1 - (int64_t)1)] < (int64_t)0) {
          condval_30 = (i_ptr[(first1 - (int64_t)1)] + (int64_t)70);
        } else {
          condval_30 = i_ptr[(first1 - (int64_t)1)];
        }
        condval_28 = ((((int)min(((uint64_t)(condval_29 ^ (int64_t)0)), (uint64_t)69ULL)) != ((int)min(((uint64_t)(condval_30 ^ (int64_t)0)), (uint64_t)69ULL))) ? 1 : 0);
      } else {
        condval_28 = 1;
      }
      condval_27 = (1 - condval_28);
    } else {
      condval_27 = 0;
    }
    count__ptr_1[1] = condval_27;
    int count0_1 = count__ptr_1[0];
    int count1_1 = count__ptr_1[1];
    if (0 < count0_1) {
      alignas(8) int bits__ptr_2[3];
      bits__ptr_2[0] = 2;
      bits__ptr_2[1] = 64;
      bits__ptr_2[2] = 32;
      int bits0_2 = bits__ptr_2[0];
      int bits1 = bits__ptr_2[1];
      int bits2 = bits__ptr_2[2];
      for (int64_t k_1 = (int64_t)0; k_1 < ((((((int64_t)count0_1) + ((int64_t)bits2)) - ((int64_t)count1_1)) - (int64_t)1) / ((int64_t)bits2)); ++k_1) {
        alignas(8) int j__ptr[2];
        int64_t condval_31;
        if (((k_1 * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0_2) + (int64_t)3))) < (((int64_t)count0_1) - ((int64_t)count1_1))) {
          condval_31 = ((int64_t)begins_ptr[((k_1 * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0_2) + (int64_t)3)))]);
        } else {
          condval_31 = (int64_t)0;
        }
        j__ptr[0] = ((int)condval_31);
        int64_t condval_32;
        if (((k_1 * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0_2) + (int64_t)3))) < (((int64_t)count0_1) - ((int64_t)count1_1))) {
          condval_32 = ((int64_t)begins_ptr[(((k_1 * ((int64_t)bits2)) + (((int64_t)threadIdx.x) >> (((int64_t)bits0_2) + (int64_t)3))) + (int64_t)1)]);
        } else {
          condval_32 = (int64_t)0;
        }
        j__ptr[1] = ((int)condval_32);
        int j0 = j__ptr[0];
        int j1 = j__ptr[1];
        alignas(8) int64_t own__ptr[3];
        own__ptr[0] = ((first0 + ((int64_t)j0)) + ((((int64_t)threadIdx.x) >> (int64_t)3) & (((int64_t)1 << ((int64_t)bits0_2)) - (int64_t)1)));
        own__ptr[1] = max(((((((((((int64_t)j1) - ((int64_t)j0)) <= ((int64_t)bits1)) ? ((int64_t)j1) : ((int64_t)j0)) + ((int64_t)1 << ((int64_t)bits0_2))) - ((int64_t)j0)) - ((((int64_t)threadIdx.x) >> (int64_t)3) & (((int64_t)1 << ((int64_t)bits0_2)) - (int64_t)1))) - (int64_t)1) >> ((int64_t)bits0_2)), (int64_t)0);
        own__ptr[2] = (((((int64_t)j1) - ((int64_t)j0)) <= ((int64_t)bits1)) ? (((int64_t)j1) - ((int64_t)j0)) : (int64_t)0);
        int64_t own0 = own__ptr[0];
        int64_t own1 = own__ptr[1];
        int64_t own2 = own__ptr[2];
        alignas(8) float acc_ptr_4[1];
        acc_ptr_4[0] = -CUDART_INF_F;
        for (int64_t p_3 = (int64_t)0; p_3 < own1; ++p_3) {
          float t_25 = acc_ptr_4[0];
          float t_26 = x_ptr[(((own0 * (int64_t)8) + ((p_3 << ((int64_t)bits0_2)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))];
          acc_ptr_4[0] = (((t_25 <= t_25) ^ (bool)1) ? (t_25 + t_25) : (((t_26 < t_25) ^ (bool)0) ? t_25 : t_26));
        }
        for (int s_10 = 0; s_10 < bits0_2; ++s_10) {
          float other_8 = __shfl_sync((uint)4294967295, acc_ptr_4[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_10)), 32);
          float t_27 = acc_ptr_4[0];
          acc_ptr_4[0] = (((t_27 <= t_27) ^ (bool)1) ? (t_27 + t_27) : (((other_8 < t_27) ^ (bool)0) ? t_27 : other_8));
        }
        float t_28 = acc_ptr_4[0];
        total0_ptr[0] = (((bool)1 ^ (bool)1) ? -CUDART_INF_F : (((t_28 < -CUDART_INF_F) ^ (bool)0) ? -CUDART_INF_F : t_28));
        alignas(8) float acc_ptr_5[1];
        acc_ptr_5[0] = -0x0p+0f/*-0.000000e+00*/;
        for (int64_t p_4 = (int64_t)0; p_4 < own1; ++p_4) {
          float t_29 = (x_ptr[(((own0 * (int64_t)8) + ((p_4 << ((int64_t)bits0_2)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
          float t_30 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_29) ? ((t_29 < 0x1.64p+6f/*8.900000e+01*/) ? t_29 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
          float t_31 = nearbyintf((t_30 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
          float t_32 = ((t_30 + (t_31 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_31 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
          int t_33 = (((int)t_31) ^ 0);
          int t_34 = ((t_33 >> 1) ^ 0);
            int v__4 = (t_34 + 127) << 23;
            int v__5 = ((t_33 + 127) - t_34) << 23;
          acc_ptr_5[0] = (acc_ptr_5[0] + (((t_29 <= t_29) ^ (bool)1) ? t_29 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_32) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_32) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_32) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_32) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_32) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_32 * t_32)) + t_32) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__4)))) * (*(float *)(&(v__5))))));
        }
        for (int s_11 = 0; s_11 < bits0_2; ++s_11) {
          float other_9 = __shfl_sync((uint)4294967295, acc_ptr_5[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_11)), 32);
          acc_ptr_5[0] = (acc_ptr_5[0] + other_9);
        }
        total1_ptr[0] = (truncf(0x1p-2f/*2.500000e-01*/) + acc_ptr_5[0]);
        for (int64_t p_5 = (int64_t)0; p_5 < own1; ++p_5) {
          float t_35 = (x_ptr[(((own0 * (int64_t)8) + ((p_5 << ((int64_t)bits0_2)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
          float t_36 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_35) ? ((t_35 < 0x1.64p+6f/*8.900000e+01*/) ? t_35 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
          float t_37 = nearbyintf((t_36 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
          float t_38 = ((t_36 + (t_37 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_37 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
          int t_39 = (((int)t_37) ^ 0);
          int t_40 = ((t_39 >> 1) ^ 0);
            int v__6 = (t_40 + 127) << 23;
            int v__7 = ((t_39 + 127) - t_40) << 23;
          out0_div_10_ptr[(((own0 * (int64_t)8) + ((p_5 << ((int64_t)bits0_2)) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] = ((((t_35 <= t_35) ^ (bool)1) ? t_35 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_38) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_38) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_38) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_38) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_38) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_38 * t_38)) + t_38) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__6)))) * (*(float *)(&(v__7))))) / total1_ptr[0]);
        }
      }
      int condval_33;
      if (((int64_t)threadIdx.x) < (((int64_t)count0_1) - ((int64_t)count1_1))) {
        int64_t condval_34;
        if (((int64_t)threadIdx.x) < ((int64_t)count0_1)) {
          condval_34 = (((int64_t)begins_ptr[(((int64_t)threadIdx.x) + (int64_t)1)]) - ((int64_t)begins_ptr[((int64_t)threadIdx.x)]));
        } else {
          condval_34 = (int64_t)0;
        }
        condval_33 = ((int)(((int64_t)bits1) < condval_34));
      } else {
        condval_33 = ((int)(((int64_t)threadIdx.x) < ((int64_t)count0_1)));
      }
      gs_listed_1024((&(v_long_ptr[0])), (&(words_ptr[0])), ((int)((int64_t)threadIdx.x)), condval_33, 0);
      stop_ptr[0] = first1;
      if ((((int64_t)count0_1) - ((int64_t)count1_1)) < ((int64_t)count0_1)) {
        alignas(8) int64_t low_ptr_1[1];
        low_ptr_1[0] = first1;
        stop_ptr[0] = (int64_t)3000;
        alignas(8) int64_t steps__ptr_1[1];
        steps__ptr_1[0] = ((((((((int64_t)((int)(first1 < (int64_t)1976))) + ((int64_t)((int)(first1 < (int64_t)-1045576)))) + ((int64_t)((int)(first1 < (int64_t)-1073738824)))) + ((int64_t)((int)(first1 < (int64_t)-1099511624776)))) + ((int64_t)((int)(first1 < (int64_t)-1125899906839624)))) + ((int64_t)((int)(first1 < (int64_t)-1152921504606843976)))) + (int64_t)1);
        int64_t steps0_1 = steps__ptr_1[0];
        for (int64_t s_12 = (int64_t)0; s_12 < steps0_1; ++s_12) {
          alignas(8) int64_t apart__ptr[3];
          apart__ptr[0] = low_ptr_1[0];
          apart__ptr[1] = stop_ptr[0];
          apart__ptr[2] = ((((stop_ptr[0] + (int64_t)1023) - low_ptr_1[0]) ^ (int64_t)0) >> (int64_t)10);
          int64_t apart0 = apart__ptr[0];
          int64_t apart1 = apart__ptr[1];
          int64_t apart2 = apart__ptr[2];
          int condval_35;
          if ((apart0 + ((((int64_t)threadIdx.x) + (int64_t)1) * apart2)) < apart1) {
            int64_t condval_36;
            if (i_ptr[(apart0 + ((((int64_t)threadIdx.x) + (int64_t)1) * apart2))] < (int64_t)0) {
              condval_36 = (i_ptr[(apart0 + ((((int64_t)threadIdx.x) + (int64_t)1) * apart2))] + (int64_t)70);
            } else {
              condval_36 = i_ptr[(apart0 + ((((int64_t)threadIdx.x) + (int64_t)1) * apart2))];
            }
            condval_35 = ((((int)min(((uint64_t)(condval_36 ^ (int64_t)0)), (uint64_t)69ULL)) != ((int)min(((uint64_t)(((((int64_t)(((uint64_t)i_ptr[(first0 + ((int64_t)begins_ptr[(((int64_t)count0_1) - (int64_t)1)]))]) >> (uint64_t)63ULL)) * (int64_t)70) + i_ptr[(first0 + ((int64_t)begins_ptr[(((int64_t)count0_1) - (int64_t)1)]))]) ^ (int64_t)0)), (uint64_t)69ULL))) ? 1 : 0);
          } else {
            condval_35 = 0;
          }
          gs_first_1024((&(found_ptr[0])), (&(words_ptr[0])), condval_35);
          int64_t condval_37;
          if (((int64_t)found_ptr[0]) < (int64_t)1024) {
            condval_37 = (apart0 + ((((int64_t)found_ptr[0]) + (int64_t)1) * apart2));
          } else {
            condval_37 = apart1;
          }
          stop_ptr[0] = condval_37;
          low_ptr_1[0] = (apart0 + ((((stop_ptr[0] - apart0) - (int64_t)1) / apart2) * apart2));
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
        int64_t condval_38;
        if (((int64_t)m0) < (((int64_t)count0_1) - ((int64_t)count1_1))) {
          condval_38 = (first0 + ((int64_t)begins_ptr[(((int64_t)m0) + (int64_t)1)]));
        } else {
          condval_38 = stop_ptr[0];
        }
        end__ptr[1] = condval_38;
        int64_t end0 = end__ptr[0];
        int64_t end1 = end__ptr[1];
        if (end1 <= ((((end0 + (int64_t)1023) >> (int64_t)10) + (int64_t)1) << (int64_t)10)) {
          alignas(8) int64_t own__ptr_1[3];
          own__ptr_1[0] = (end0 + (((int64_t)threadIdx.x) >> (int64_t)3));
          own__ptr_1[1] = max(((((end1 + (int64_t)127) - end0) - (((int64_t)threadIdx.x) >> (int64_t)3)) >> (int64_t)7), (int64_t)0);
          own__ptr_1[2] = (end1 - end0);
          int64_t own0_1 = own__ptr_1[0];
          int64_t own1_1 = own__ptr_1[1];
          int64_t own2_1 = own__ptr_1[2];
          alignas(8) float acc_ptr_6[1];
          acc_ptr_6[0] = -CUDART_INF_F;
          for (int64_t p_6 = (int64_t)0; p_6 < own1_1; ++p_6) {
            float t_41 = acc_ptr_6[0];
            float t_42 = x_ptr[(((own0_1 * (int64_t)8) + ((p_6 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))];
            acc_ptr_6[0] = (((t_41 <= t_41) ^ (bool)1) ? (t_41 + t_41) : (((t_42 < t_41) ^ (bool)0) ? t_41 : t_42));
          }
          for (int s_13 = 0; s_13 < 2; ++s_13) {
            float other_10 = __shfl_sync((uint)4294967295, acc_ptr_6[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_13)), 32);
            float t_43 = acc_ptr_6[0];
            acc_ptr_6[0] = (((t_43 <= t_43) ^ (bool)1) ? (t_43 + t_43) : (((other_10 < t_43) ^ (bool)0) ? t_43 : other_10));
          }
          if ((((int64_t)threadIdx.x) & (int64_t)31) < (int64_t)8) {
            parts_float32_ptr[(((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)31))] = acc_ptr_6[0];
          }
          __syncthreads();
          acc_ptr_6[0] = parts_float32_ptr[(((int64_t)threadIdx.x) & (int64_t)31)];
          for (int w_4 = 0; w_4 < 7; ++w_4) {
            float t_44 = acc_ptr_6[0];
            float t_45 = parts_float32_ptr[(((((int64_t)w_4) * (int64_t)32) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)];
            acc_ptr_6[0] = (((t_44 <= t_44) ^ (bool)1) ? (t_44 + t_44) : (((t_45 < t_44) ^ (bool)0) ? t_44 : t_45));
          }
          __syncthreads();
          for (int s_14 = 0; s_14 < 2; ++s_14) {
            float other_11 = __shfl_sync((uint)4294967295, acc_ptr_6[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_14)), 32);
            float t_46 = acc_ptr_6[0];
            acc_ptr_6[0] = (((t_46 <= t_46) ^ (bool)1) ? (t_46 + t_46) : (((other_11 < t_46) ^ (bool)0) ? t_46 : other_11));
          }
          float t_47 = acc_ptr_6[0];
          total0_ptr[0] = (((bool)1 ^ (bool)1) ? -CUDART_INF_F : (((t_47 < -CUDART_INF_F) ^ (bool)0) ? -CUDART_INF_F : t_47));
          alignas(8) float acc_ptr_7[1];
          acc_ptr_7[0] = -0x0p+0f/*-0.000000e+00*/;
          for (int64_t p_7 = (int64_t)0; p_7 < own1_1; ++p_7) {
            float t_48 = (x_ptr[(((own0_1 * (int64_t)8) + ((p_7 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
            float t_49 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_48) ? ((t_48 < 0x1.64p+6f/*8.900000e+01*/) ? t_48 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
            float t_50 = nearbyintf((t_49 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
            float t_51 = ((t_49 + (t_50 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_50 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
            int t_52 = (((int)t_50) ^ 0);
            int t_53 = ((t_52 >> 1) ^ 0);
              int v__8 = (t_53 + 127) << 23;
              int v__9 = ((t_52 + 127) - t_53) << 23;
            acc_ptr_7[0] = (acc_ptr_7[0] + (((t_48 <= t_48) ^ (bool)1) ? t_48 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_51) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_51) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_51) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_51) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_51) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_51 * t_51)) + t_51) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__8)))) * (*(float *)(&(v__9))))));
          }
          for (int s_15 = 0; s_15 < 2; ++s_15) {
            float other_12 = __shfl_sync((uint)4294967295, acc_ptr_7[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_15)), 32);
            acc_ptr_7[0] = (acc_ptr_7[0] + other_12);
          }
          if ((((int64_t)threadIdx.x) & (int64_t)31) < (int64_t)8) {
            parts_float32_ptr[(((((int64_t)threadIdx.x) >> (int64_t)5) * (int64_t)8) + (((int64_t)threadIdx.x) & (int64_t)31))] = acc_ptr_7[0];
          }
          __syncthreads();
          acc_ptr_7[0] = parts_float32_ptr[(((int64_t)threadIdx.x) & (int64_t)31)];
          for (int w_5 = 0; w_5 < 7; ++w_5) {
            acc_ptr_7[0] = (acc_ptr_7[0] + parts_float32_ptr[(((((int64_t)w_5) * (int64_t)32) + (((int64_t)threadIdx.x) & (int64_t)31)) + (int64_t)32)]);
          }
          __syncthreads();
          for (int s_16 = 0; s_16 < 2; ++s_16) {
            float other_13 = __shfl_sync((uint)4294967295, acc_ptr_7[0], ((((int)((int64_t)threadIdx.x)) & 31) ^ (8 << s_16)), 32);
            acc_ptr_7[0] = (acc_ptr_7[0] + other_13);
          }
          total1_ptr[0] = (truncf(0x1p-2f/*2.500000e-01*/) + acc_ptr_7[0]);
          for (int64_t p_8 = (int64_t)0; p_8 < own1_1; ++p_8) {
            float t_54 = (x_ptr[(((own0_1 * (int64_t)8) + ((p_8 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] + (total0_ptr[0] * -0x1p+0f/*-1.000000e+00*/));
            float t_55 = ((-0x1.ap+6f/*-1.040000e+02*/ < t_54) ? ((t_54 < 0x1.64p+6f/*8.900000e+01*/) ? t_54 : 0x1.64p+6f/*8.900000e+01*/) : -0x1.ap+6f/*-1.040000e+02*/);
            float t_56 = nearbyintf((t_55 * 0x1.71547652b82fep+0f/*1.442695e+00*/));
            float t_57 = ((t_55 + (t_56 * -0x1.63p-1f/*-6.933594e-01*/)) + (t_56 * 0x1.bd0105c4242eap-13f/*2.121944e-04*/));
            int t_58 = (((int)t_56) ^ 0);
            int t_59 = ((t_58 >> 1) ^ 0);
              int v__10 = (t_59 + 127) << 23;
              int v__11 = ((t_58 + 127) - t_59) << 23;
            out0_div_10_ptr[(((own0_1 * (int64_t)8) + ((p_8 << (int64_t)7) * (int64_t)8)) + (((int64_t)threadIdx.x) & (int64_t)7))] = ((((t_54 <= t_54) ^ (bool)1) ? t_54 : (((((((((((((((0x1.a0d2ce64969e6p-13f/*1.987569e-04*/ * t_57) + 0x1.6e879c3f007ddp-10f/*1.398200e-03*/) * t_57) + 0x1.11120fb3cb51dp-7f/*8.333452e-03*/) * t_57) + 0x1.555381d73fd31p-5f/*4.166580e-02*/) * t_57) + 0x1.555553b661d99p-3f/*1.666667e-01*/) * t_57) + 0x1.000000672a44fp-1f/*5.000000e-01*/) * (t_57 * t_57)) + t_57) + 0x1p+0f/*1.000000e+00*/) * (*(float *)(&(v__10)))) * (*(float *)(&(v__11))))) / total1_ptr[0]);
          }
        }
      }
    }
  }
}

extern "C" __global__ void segment_softmax_kernel_1(int64_t* __restrict__ i_ptr, int64_t* __restrict__ kept_ptr, int64_t* __restrict__ status_ptr, int64_t threads) {
  if (status_ptr[0] != (int64_t)0) {
    if (status_ptr[1] != (int64_t)0) {
      int64_t p = ((int64_t)9223372036854775807 - status_ptr[1]);
      status_ptr[2] = i_ptr[p];
      status_ptr[1] = p;
    } else {
      status_ptr[1] = (int64_t)9223372036854775807;
    }
    if (threads < (int64_t)0) {
      gs_keep3((&(kept_ptr[0])), (&(status_ptr[0])));
    }
  }
  if (threads < (int64_t)0) {
    status_ptr[0] = (int64_t)0;
    status_ptr[1] = (int64_t)0;
    status_ptr[2] = (int64_t)0;
  }
}

