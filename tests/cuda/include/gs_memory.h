// Atomics, loads and stores with a hint to the caches, asynchronous copies.
#pragma once

// An atomic is one access, whatever its width; no other thread runs between its read and its write.
template <class T, class F> T gs_atomic(T* p, F f, int awaited = 0) {
  T old;
  gs_atomic_access(p, sizeof(T), 0, awaited);
  gs_raw_copy(&old, p, sizeof(T));
  T next = f(old);
  gs_raw_copy(p, &next, sizeof(T));
  return old;
}

#define GS_ATOMIC(NAME, T, FORMULA)                                                              \
  inline T NAME(T* p, T v) { return gs_atomic(p, [v](T a) { return (T)(FORMULA); }); }           \
  inline T NAME##_block(T* p, T v) { return NAME(p, v); }                                        \
  inline T NAME##_system(T* p, T v) { return NAME(p, v); }
typedef unsigned long long gs_u64;
typedef long long gs_s64;
GS_ATOMIC(atomicAdd, int, (unsigned)a + (unsigned)v)
GS_ATOMIC(atomicAdd, unsigned, a + v)
GS_ATOMIC(atomicAdd, gs_u64, a + v)
GS_ATOMIC(atomicAdd, float, a + v)
GS_ATOMIC(atomicAdd, double, a + v)
GS_ATOMIC(atomicSub, int, (unsigned)a - (unsigned)v)
GS_ATOMIC(atomicSub, unsigned, a - v)
GS_ATOMIC(atomicInc, unsigned, a >= v ? 0 : a + 1)
GS_ATOMIC(atomicDec, unsigned, a == 0 || a > v ? v : a - 1)
#define GS_INTEGERS(NAME, FORMULA) \
  GS_ATOMIC(NAME, int, FORMULA) GS_ATOMIC(NAME, unsigned, FORMULA) GS_ATOMIC(NAME, gs_s64, FORMULA) GS_ATOMIC(NAME, gs_u64, FORMULA)
GS_INTEGERS(atomicMin, v < a ? v : a)
GS_INTEGERS(atomicMax, v > a ? v : a)
GS_INTEGERS(atomicAnd, a & v)
GS_INTEGERS(atomicOr, a | v)
GS_INTEGERS(atomicXor, a ^ v)
GS_ATOMIC(atomicExch, int, v)
GS_ATOMIC(atomicExch, unsigned, v)
GS_ATOMIC(atomicExch, gs_u64, v)
GS_ATOMIC(atomicExch, float, v)
#undef GS_INTEGERS
#undef GS_ATOMIC
#define GS_CAS(T) \
  inline T atomicCAS(T* p, T seen, T v) { return gs_atomic(p, [=](T a) { return a == seen ? v : a; }, 1); }
GS_CAS(int) GS_CAS(unsigned) GS_CAS(gs_u64) GS_CAS(unsigned short)
#undef GS_CAS

// sm_90: one access of as many atomics as there are elements
inline float2 atomicAdd(float2* p, float2 v) {
  return gs_atomic(p, [v](float2 a) { return float2{a.x + v.x, a.y + v.y}; });
}
inline float4 atomicAdd(float4* p, float4 v) {
  return gs_atomic(p, [v](float4 a) { return float4{a.x + v.x, a.y + v.y, a.z + v.z, a.w + v.w}; });
}

template <class T> T gs_load_relaxed(const T* p) {
  T v;
  gs_atomic_access((void*)p, sizeof(T), 1, 0);
  gs_raw_copy(&v, p, sizeof(T));
  return v;
}
template <class T> void gs_store_relaxed(T* p, T v) {
  gs_atomic_access(p, sizeof(T), 0, 0);
  gs_raw_copy(p, &v, sizeof(T));
}

template <class T> inline T __ldg(const T* p) { return *p; }
template <class T> inline T __ldca(const T* p) { return *p; }
template <class T> inline T __ldcg(const T* p) { return *p; }
template <class T> inline T __ldcs(const T* p) { return *p; }
template <class T> inline T __ldlu(const T* p) { return *p; }
template <class T> inline T __ldcv(const T* p) { return *p; }
template <class T> inline void __stwb(T* p, T v) { *p = v; }
template <class T> inline void __stcg(T* p, T v) { *p = v; }
template <class T> inline void __stcs(T* p, T v) {
  gs_streamed_access(p, sizeof(T));
  gs_raw_copy(p, &v, sizeof(T));
}
template <class T> inline void __stwt(T* p, T v) { *p = v; }

inline size_t __cvta_generic_to_shared(const void* p) { return gs_shared_address(p); }
inline size_t __cvta_generic_to_global(const void* p) { return (size_t)p; }
inline void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0) {
  gs_copy_async(to, from, (int)size, (int)(size - zeros));
}
inline void __pipeline_commit() { gs_commit_group(); }
inline void __pipeline_wait_prior(size_t pending) { gs_wait_group((int)pending); }

// -- what inline assembly becomes (tests/cuda/ptx.py)

// a register holds bits
template <class To, class From> To gs_as(From v) {
  To to{};
  __builtin_memcpy(&to, &v, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
  return to;
}
template <class To, class From> void gs_move(To& to, From v) { to = gs_as<To>(v); }
// the widest access of a thread is of 16 bytes; 32 are two
template <class T, int N> struct __attribute__((aligned(sizeof(T) * N < 16 ? sizeof(T) * N : 16))) gs_elements {
  T x[N];
};
template <class A, class B> int gs_dp4a(unsigned a, unsigned b, int c) {
  using X = std::conditional_t<std::is_signed<A>::value, int8_t, uint8_t>;
  using Y = std::conditional_t<std::is_signed<B>::value, int8_t, uint8_t>;
  for (int k = 0; k < 4; ++k) c += (int)(X)(a >> 8 * k) * (int)(Y)(b >> 8 * k);
  return c;
}
