// What the lanes of a warp do together.  The order of the numbers is the runtime's (tests/cuda/runtime/warp.cpp).
#pragma once

enum {
  GS_SYNCWARP, GS_SHUFFLE, GS_SHUFFLE_UP, GS_SHUFFLE_DOWN, GS_SHUFFLE_XOR, GS_BALLOT, GS_MATCH_ANY, GS_MATCH_ALL,
  GS_ADD_UNSIGNED, GS_MIN_SIGNED, GS_MAX_SIGNED, GS_MIN_UNSIGNED, GS_MAX_UNSIGNED, GS_REDUCE_AND, GS_REDUCE_OR, GS_REDUCE_XOR
};

inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) {
  gs_warp(GS_SYNCWARP, mask, line, nullptr, nullptr, 0, 0, 0);
}

template <class T> T gs_shuffle(int op, unsigned mask, T v, int argument, int width, int line) {
  static_assert(sizeof(T) <= 16, "a shuffle of more than 16 bytes");
  T out;
  gs_warp(op, mask, line, &v, &out, sizeof v, argument, width);
  return out;
}
#define GS_SHUFFLES(NAME, OP, ARGUMENT)                                                                          \
  template <class T> T NAME(unsigned mask, T v, ARGUMENT a, int width = 32, int line = __builtin_LINE()) {       \
    return gs_shuffle(OP, mask, v, (int)a, width, line);                                                         \
  }
GS_SHUFFLES(__shfl_sync, GS_SHUFFLE, int)
GS_SHUFFLES(__shfl_up_sync, GS_SHUFFLE_UP, unsigned)
GS_SHUFFLES(__shfl_down_sync, GS_SHUFFLE_DOWN, unsigned)
GS_SHUFFLES(__shfl_xor_sync, GS_SHUFFLE_XOR, int)
#undef GS_SHUFFLES

inline unsigned __ballot_sync(unsigned mask, int p, int line = __builtin_LINE()) {
  unsigned r, v = p != 0;
  gs_warp(GS_BALLOT, mask, line, &v, &r, 4, 0, 0);
  return r;
}
inline int __any_sync(unsigned mask, int p, int line = __builtin_LINE()) { return __ballot_sync(mask, p, line) != 0; }
inline int __all_sync(unsigned mask, int p, int line = __builtin_LINE()) { return __ballot_sync(mask, !p, line) == 0; }

template <class T> unsigned __match_any_sync(unsigned mask, T v, int line = __builtin_LINE()) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "match takes 32 or 64 bits");
  unsigned r[2];  // as many bytes come back as are given
  gs_warp(GS_MATCH_ANY, mask, line, &v, r, sizeof v, 0, 0);
  return r[0];
}
template <class T> unsigned __match_all_sync(unsigned mask, T v, int* all, int line = __builtin_LINE()) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "match takes 32 or 64 bits");
  unsigned r[2];
  gs_warp(GS_MATCH_ALL, mask, line, &v, r, sizeof v, 0, 0);
  *all = r[0] != 0;
  return r[0];
}

#define GS_REDUCE(NAME, T, OP)                                                     \
  inline T NAME(unsigned mask, T v, int line = __builtin_LINE()) {                 \
    T r;                                                                           \
    gs_warp(OP, mask, line, &v, &r, 4, 0, 0);                                      \
    return r;                                                                      \
  }
GS_REDUCE(__reduce_add_sync, unsigned, GS_ADD_UNSIGNED)
GS_REDUCE(__reduce_add_sync, int, GS_ADD_UNSIGNED)
GS_REDUCE(__reduce_min_sync, int, GS_MIN_SIGNED)
GS_REDUCE(__reduce_max_sync, int, GS_MAX_SIGNED)
GS_REDUCE(__reduce_min_sync, unsigned, GS_MIN_UNSIGNED)
GS_REDUCE(__reduce_max_sync, unsigned, GS_MAX_UNSIGNED)
GS_REDUCE(__reduce_and_sync, unsigned, GS_REDUCE_AND)
GS_REDUCE(__reduce_or_sync, unsigned, GS_REDUCE_OR)
GS_REDUCE(__reduce_xor_sync, unsigned, GS_REDUCE_XOR)
#undef GS_REDUCE
