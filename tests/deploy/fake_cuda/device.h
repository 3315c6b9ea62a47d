/* What makes the CUDA C++ of kernels whose threads share nothing plain C++; included before it.  See driver.c. */
#include <algorithm>
#include <cmath>
#include <cstdint>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __CUDACC_VER_MAJOR__ 0
#define __CUDACC_VER_MINOR__ 0

struct Index {
    unsigned x, y, z;
};
extern "C" {
Index blockIdx, threadIdx;
}
struct alignas(16) float4 {
    float x, y, z, w;
};
struct uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
template <class T> void __stcs(T *p, T v) { *p = v; }
template <class T> T __ldcs(const T *p) { return *p; }

using std::max;
using std::min;

template <class T> T atomicAdd(T *p, T v) {
    T before = *p;
    *p = before + v;
    return before;
}
template <class T> T atomicCAS(T *p, T seen, T v) {
    T before = *p;
    *p = before == seen ? v : before;
    return before;
}
template <class T> T atomicMax(T *p, T v) {
    T before = *p;
    *p = std::max(before, v);
    return before;
}
template <class T> T atomicExch(T *p, T v) {
    T before = *p;
    *p = v;
    return before;
}
inline void __threadfence() {}
