// CUDA's language for a host's C++ compiler: what generated kernels use of it.  The kernels' text is compiled unchanged, with
// this header before it; what needs other threads, and memory that is checked, is in the runtime (tests/cuda/runtime/).
#pragma once
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
// static within a function, and may follow `extern`
#define __shared__ thread_local
#define __CUDACC__ 1
#ifndef __CUDACC_VER_MAJOR__
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#endif

// -- vectors

#define GS_VECTORS(T, NAME, A1, A2, A4)                                                                    \
  struct NAME##1 { T x; };                                                                                 \
  struct __align__(A2) NAME##2 { T x, y; };                                                                \
  struct NAME##3 { T x, y, z; };                                                                           \
  struct __align__(A4) NAME##4 { T x, y, z, w; };                                                          \
  inline NAME##1 make_##NAME##1(T x) { return {x}; }                                                       \
  inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                                               \
  inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                                       \
  inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
GS_VECTORS(signed char, char, 1, 2, 4)
GS_VECTORS(unsigned char, uchar, 1, 2, 4)
GS_VECTORS(short, short, 2, 4, 8)
GS_VECTORS(unsigned short, ushort, 2, 4, 8)
GS_VECTORS(int, int, 4, 8, 16)
GS_VECTORS(unsigned, uint, 4, 8, 16)
GS_VECTORS(long, long, 8, 16, 16)
GS_VECTORS(unsigned long, ulong, 8, 16, 16)
GS_VECTORS(long long, longlong, 8, 16, 16)
GS_VECTORS(unsigned long long, ulonglong, 8, 16, 16)
GS_VECTORS(float, float, 4, 8, 16)
GS_VECTORS(double, double, 8, 16, 16)
#undef GS_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// Constant to a kernel; the runtime, which does not include this header's declarations, sets them between threads.  Not
// static members of anything, so that the compiler may keep them in registers and instruments no access.
extern "C" {
extern const uint3 gs_thread_idx, gs_block_idx, gs_block_dim, gs_grid_dim;
}
#define threadIdx gs_thread_idx
#define blockIdx gs_block_idx
#define blockDim gs_block_dim
#define gridDim gs_grid_dim
constexpr int warpSize = 32;

// -- the runtime

extern "C" {
int gs_block_barrier(int kind, int predicate, int line);
void gs_warp(int op, unsigned mask, int line, const void* in, void* out, int size, int argument, int width);
unsigned gs_active_mask(int line);
void gs_fence(int scope);
void gs_atomic_access(void* p, int size, int is_read_only, int is_awaited);
void gs_streamed_access(void* p, int size);
void gs_plain_access(const void* p, int size, int is_write);
void gs_raw_copy(void* to, const void* from, int size);
void gs_copy_async(void* to, const void* from, int size, int read);
void gs_commit_group();
void gs_wait_group(int pending);
void gs_trap(const char* what);
uint32_t gs_shared_address(const void* p);
void* gs_shared_pointer(uint32_t a);
}

// -- numbers

#define GS_MIN_MAX(T)                                    \
  inline T min(T a, T b) { return b < a ? b : a; }       \
  inline T max(T a, T b) { return a < b ? b : a; }
GS_MIN_MAX(int) GS_MIN_MAX(unsigned) GS_MIN_MAX(long) GS_MIN_MAX(unsigned long)
GS_MIN_MAX(long long) GS_MIN_MAX(unsigned long long)
#undef GS_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

template <class To, class From> inline To gs_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "");
  To y;
  __builtin_memcpy(&y, &x, sizeof y);
  return y;
}
inline float __int_as_float(int x) { return gs_bits<float>(x); }
inline int __float_as_int(float x) { return gs_bits<int>(x); }
inline float __uint_as_float(unsigned x) { return gs_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return gs_bits<unsigned>(x); }
inline double __longlong_as_double(long long x) { return gs_bits<double>(x); }
inline long long __double_as_longlong(double x) { return gs_bits<long long>(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int k = 0; k < 32; ++k) y |= (x >> k & 1u) << (31 - k);
  return y;
}
inline unsigned long long __brevll(unsigned long long x) { return (unsigned long long)__brev(x) << 32 | __brev(x >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (uint64_t)a * b >> 32; }
inline int __mulhi(int a, int b) { return (int64_t)a * b >> 32; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned __int128)a * b >> 64; }
inline long long __mul64hi(long long a, long long b) { return (__int128)a * b >> 64; }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) { return ((uint64_t)hi << 32 | lo) << (n & 31) >> 32; }
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return ((uint64_t)hi << 32 | lo) >> (n & 31); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  uint64_t bytes = (uint64_t)b << 32 | a;
  unsigned r = 0;
  for (int k = 0; k < 4; ++k) r |= (unsigned)(bytes >> 8 * (s >> 4 * k & 7) & 255) << 8 * k;
  return r;
}
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
// -- threads

enum { GS_BARRIER, GS_COUNT, GS_AND, GS_OR };
inline void __syncthreads(int line = __builtin_LINE()) { gs_block_barrier(GS_BARRIER, 0, line); }
inline int __syncthreads_count(int p, int line = __builtin_LINE()) { return gs_block_barrier(GS_COUNT, p, line); }
inline int __syncthreads_and(int p, int line = __builtin_LINE()) { return gs_block_barrier(GS_AND, p, line); }
inline int __syncthreads_or(int p, int line = __builtin_LINE()) { return gs_block_barrier(GS_OR, p, line); }
inline void __threadfence_block() { gs_fence(0); }
inline void __threadfence() { gs_fence(1); }
inline void __threadfence_system() { gs_fence(2); }
inline void __trap() { gs_trap("__trap"); }
inline void __nanosleep(unsigned) { gs_fence(-1); }
inline unsigned __activemask(int line = __builtin_LINE()) { return gs_active_mask(line); }

#include "gs_warp.h"
#include "gs_memory.h"

inline int __dp4a(int a, int b, int c) { return gs_dp4a<int, int>(a, b, c); }
