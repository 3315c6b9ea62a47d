// 16-bit and 8-bit floats.  Arithmetic is that of float, rounded once, which for + - * / and sqrt is the exact result rounded.
#pragma once
#include "gs_cuda.h"

// What a format of 16 bits has in common: NAME is the type, UNPACK and PACK its conversions.
#define GS_FLOAT16(NAME, UNPACK, PACK)                                                                              \
  struct __align__(2) NAME {                                                                                        \
    uint16_t __x;                                                                                                   \
    NAME() = default;                                                                                               \
    template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>                                      \
    NAME(T x) : __x(std::is_same<T, double>::value ? PACK((double)x) : PACK((float)x)) {}                           \
    operator float() const { return UNPACK(__x); }                                                                  \
    NAME& operator+=(NAME o) { return *this = NAME((float)*this + (float)o); }                                      \
    NAME& operator-=(NAME o) { return *this = NAME((float)*this - (float)o); }                                      \
    NAME& operator*=(NAME o) { return *this = NAME((float)*this * (float)o); }                                      \
    NAME& operator/=(NAME o) { return *this = NAME((float)*this / (float)o); }                                      \
    NAME operator-() const { NAME r = *this; r.__x ^= 0x8000; return r; }                                           \
    friend NAME operator+(NAME a, NAME b) { return a += b; }                                                        \
    friend NAME operator-(NAME a, NAME b) { return a -= b; }                                                        \
    friend NAME operator*(NAME a, NAME b) { return a *= b; }                                                        \
    friend NAME operator/(NAME a, NAME b) { return a /= b; }                                                        \
    friend bool operator==(NAME a, NAME b) { return (float)a == (float)b; }                                         \
    friend bool operator!=(NAME a, NAME b) { return (float)a != (float)b; }                                         \
    friend bool operator<(NAME a, NAME b) { return (float)a < (float)b; }                                           \
    friend bool operator>(NAME a, NAME b) { return (float)a > (float)b; }                                           \
    friend bool operator<=(NAME a, NAME b) { return (float)a <= (float)b; }                                         \
    friend bool operator>=(NAME a, NAME b) { return (float)a >= (float)b; }                                         \
  };                                                                                                                \
  struct __align__(4) NAME##2 {                                                                                     \
    NAME x, y;                                                                                                      \
    friend NAME##2 operator+(NAME##2 a, NAME##2 b) { return {a.x + b.x, a.y + b.y}; }                               \
    friend NAME##2 operator-(NAME##2 a, NAME##2 b) { return {a.x - b.x, a.y - b.y}; }                               \
    friend NAME##2 operator*(NAME##2 a, NAME##2 b) { return {a.x * b.x, a.y * b.y}; }                               \
  };                                                                                                                \
  inline NAME __hadd(NAME a, NAME b) { return a + b; }                                                              \
  inline NAME __hsub(NAME a, NAME b) { return a - b; }                                                              \
  inline NAME __hmul(NAME a, NAME b) { return a * b; }                                                              \
  inline NAME __hdiv(NAME a, NAME b) { return a / b; }                                                              \
  inline NAME __hneg(NAME a) { return -a; }                                                                         \
  inline NAME __hfma(NAME a, NAME b, NAME c) { return NAME((double)(float)a * (float)b + (float)c); }               \
  inline bool __heq(NAME a, NAME b) { return a == b; }                                                              \
  inline bool __hne(NAME a, NAME b) { return a != b; }                                                              \
  inline bool __hlt(NAME a, NAME b) { return a < b; }                                                               \
  inline bool __hle(NAME a, NAME b) { return a <= b; }                                                              \
  inline bool __hgt(NAME a, NAME b) { return a > b; }                                                               \
  inline bool __hge(NAME a, NAME b) { return a >= b; }                                                              \
  inline bool __hisnan(NAME a) { return a != a; }                                                                   \
  inline int __hisinf(NAME a) { float f = a; return std::isinf(f) ? (f > 0 ? 1 : -1) : 0; }                         \
  inline NAME __habs(NAME a) { a.__x &= 0x7fff; return a; }                                                         \
  inline NAME __hmax(NAME a, NAME b) { return b > a || a != a ? b : a; }                                            \
  inline NAME __hmin(NAME a, NAME b) { return b < a || a != a ? b : a; }                                            \
  inline NAME __hmax_nan(NAME a, NAME b) { return a != a ? a : b > a || b != b ? b : a; }                           \
  inline NAME __hmin_nan(NAME a, NAME b) { return a != a ? a : b < a || b != b ? b : a; }                           \
  inline NAME##2 __hadd2(NAME##2 a, NAME##2 b) { return a + b; }                                                    \
  inline NAME##2 __hsub2(NAME##2 a, NAME##2 b) { return a - b; }                                                    \
  inline NAME##2 __hmul2(NAME##2 a, NAME##2 b) { return a * b; }                                                    \
  inline NAME##2 __hmax2(NAME##2 a, NAME##2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                     \
  inline NAME##2 __hmin2(NAME##2 a, NAME##2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                     \
  inline NAME##2 __hfma2(NAME##2 a, NAME##2 b, NAME##2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  inline NAME __low2##NAME(NAME##2 v) { return v.x; }                                                               \
  inline NAME __high2##NAME(NAME##2 v) { return v.y; }                                                              \
  GS_MATH16(NAME)                                                                                                   \
  inline NAME atomicAdd(NAME* p, NAME v) { return gs_atomic(p, [v](NAME a) { return a + v; }); }                    \
  inline NAME##2 atomicAdd(NAME##2* p, NAME##2 v) { return gs_atomic(p, [v](NAME##2 a) { return a + v; }); }        \
  inline NAME atomicExch(NAME* p, NAME v) { return gs_atomic(p, [v](NAME) { return v; }); }

#define GS_MATH16(NAME)                                                  \
  inline NAME hexp(NAME x) { return NAME(expf(x)); }                     \
  inline NAME hexp2(NAME x) { return NAME(exp2f(x)); }                   \
  inline NAME hexp10(NAME x) { return NAME(exp10f(x)); }                 \
  inline NAME hlog(NAME x) { return NAME(logf(x)); }                     \
  inline NAME hlog2(NAME x) { return NAME(log2f(x)); }                   \
  inline NAME hlog10(NAME x) { return NAME(log10f(x)); }                 \
  inline NAME hsqrt(NAME x) { return NAME(sqrtf(x)); }                   \
  inline NAME hrsqrt(NAME x) { return NAME(1 / sqrtf(x)); }              \
  inline NAME hsin(NAME x) { return NAME(sinf(x)); }                     \
  inline NAME hcos(NAME x) { return NAME(cosf(x)); }                     \
  inline NAME hfloor(NAME x) { return NAME(floorf(x)); }                 \
  inline NAME hceil(NAME x) { return NAME(ceilf(x)); }                   \
  inline NAME htrunc(NAME x) { return NAME(truncf(x)); }                 \
  inline NAME hrint(NAME x) { return NAME(rintf(x)); }                   \
  inline NAME htanh(NAME x) { return NAME(tanhf(x)); }

inline float gs_half_float(uint16_t x) { return (float)gs_bits<_Float16>(x); }
inline uint16_t gs_float_half(float x) { return gs_bits<uint16_t>((_Float16)x); }
inline uint16_t gs_float_half(double x) { return gs_bits<uint16_t>((_Float16)x); }
inline float gs_bfloat_float(uint16_t x) { return gs_bits<float>((uint32_t)x << 16); }
inline uint16_t gs_float_bfloat(float x) {
  uint32_t u = gs_bits<uint32_t>(x);
  if (x != x) return 0x7fff;
  return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
inline uint16_t gs_float_bfloat(double x) {
  float f = (float)x;  // to odd, so that the second rounding decides
  if ((double)f != x && x == x && !std::isinf(f)) {
    uint32_t u = gs_bits<uint32_t>(f);
    if (std::fabs((double)f) > std::fabs(x)) --u;
    f = gs_bits<float>(u | 1);
  }
  return gs_float_bfloat(f);
}
GS_FLOAT16(__half, gs_half_float, gs_float_half)
GS_FLOAT16(__nv_bfloat16, gs_bfloat_float, gs_float_bfloat)
#undef GS_FLOAT16
#undef GS_MATH16
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline float __half2float(__half x) { return x; }
inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __double2half(double x) { return x; }
inline __half __ushort_as_half(unsigned short x) { return gs_bits<__half>(x); }
inline unsigned short __half_as_ushort(__half x) { return x.__x; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline float __low2float(__half2 v) { return v.x; }
inline float __high2float(__half2 v) { return v.y; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline __nv_bfloat16 __double2bfloat16(double x) { return x; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return gs_bits<__nv_bfloat16>(x); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.__x; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline float __low2float(__nv_bfloat162 v) { return v.x; }
inline float __high2float(__nv_bfloat162 v) { return v.y; }

// -- 8 bits: E exponent bits with BIAS, M mantissa bits; e4m3 has no infinities, and saturates

template <int E, int M, bool INFINITE> inline float gs_float8_float(uint8_t b) {
  constexpr int bias = (1 << (E - 1)) - 1;
  int e = b >> M & ((1 << E) - 1), m = b & ((1 << M) - 1);
  float v;
  if (INFINITE && e == (1 << E) - 1) v = m ? NAN : INFINITY;
  else if (!INFINITE && (b & 127) == 127) v = NAN;
  else v = e ? std::ldexp(1.0f + (float)m / (1 << M), e - bias) : std::ldexp((float)m / (1 << M), 1 - bias);
  return b & 128 ? -v : v;
}
template <int E, int M, bool INFINITE> inline uint8_t gs_float_float8(float x) {
  uint8_t sign = std::signbit(x) ? 128 : 0, best = 127;
  if (x != x) return 127 | sign;
  float a = std::fabs(x), largest = gs_float8_float<E, M, INFINITE>(INFINITE ? 123 : 126);
  if (a >= largest) return sign | (INFINITE ? 123 : 126);
  int low = 0, high = 127;
  while (high - low > 1) {
    int mid = (low + high) / 2;
    (gs_float8_float<E, M, INFINITE>(mid) <= a ? low : high) = mid;
  }
  float below = gs_float8_float<E, M, INFINITE>(low), above = gs_float8_float<E, M, INFINITE>(low + 1);
  best = a - below < above - a || (a - below == above - a && low % 2 == 0) ? low : low + 1;
  return best | sign;
}
#define GS_FLOAT8(NAME, E, M, INFINITE)                                                                            \
  struct NAME {                                                                                                    \
    uint8_t __x;                                                                                                   \
    NAME() = default;                                                                                              \
    template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>                                     \
    NAME(T x) : __x(gs_float_float8<E, M, INFINITE>((float)x)) {}                                                  \
    explicit NAME(__half x) : NAME((float)x) {}                                                                    \
    explicit NAME(__nv_bfloat16 x) : NAME((float)x) {}                                                             \
    operator float() const { return gs_float8_float<E, M, INFINITE>(__x); }                                        \
  };
GS_FLOAT8(__nv_fp8_e4m3, 4, 3, false)
GS_FLOAT8(__nv_fp8_e5m2, 5, 2, true)
#undef GS_FLOAT8
