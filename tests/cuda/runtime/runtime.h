// What runs kernels on a CPU: one launch at a time, its blocks one after the other, a block's threads as fibers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gs {

constexpr int WARP = 32;
constexpr int MAX_THREADS = 1024;

struct Index {
  unsigned x, y, z;
};

struct Fiber;

// What a thread waits for, and with which arguments.
struct Wait {
  enum Kind : int { NOTHING, BLOCK, LANES, ACTIVE } kind;
  int op, line, size, argument, width;
  unsigned mask;
  alignas(16) unsigned char value[16], result[16];
};

struct Thread {
  Index index;
  int number, lane;
  Fiber* fiber;
  bool exited;
  Wait wait;
  uint32_t clock[WARP];  // of each lane of its warp: how many of its warp barriers are known to be past
};

struct Warp {
  unsigned alive, waiting;  // lanes
  Thread* threads;
};

// Where a launch is; the checks of memory read it at every access.
struct State {
  bool running;
  const char* kernel;
  Index grid, block;
  int threads;      // of a block
  int64_t number;   // of the block
  int epoch;        // block barriers that it has passed
  int alive, arrived;  // threads: that have not ended, that wait at the block's barrier
  Thread* current;
  uint64_t random;
  std::string error;
};
extern State state;
extern Thread threads[MAX_THREADS];
extern Warp warps[MAX_THREADS / WARP];

inline uint32_t draw(uint32_t below) {
  state.random = state.random * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)((state.random >> 32) * below >> 32);
}

// -- fibers.cpp
void suspend();               // the current thread waits; returns when it is made ready
void ready(Thread* t, bool soon);
[[noreturn]] void fail(const char* format, ...);  // ends the launch
std::string name_of(const Thread& t);
bool on_stack(uintptr_t address);

// -- warp.cpp
void thread_exits(Thread& t);
bool release_active_masks();
std::string deadlock();

// -- memory.cpp
void launch_begins(uintptr_t shared, size_t shared_size, uintptr_t dynamic, size_t dynamic_size, size_t dynamic_capacity);
void block_begins();
void segment_begins();        // of the current thread: it starts, or has passed a barrier
void block_ends();
void launch_ends();
bool in_order();              // blocks run from the first to the last

}  // namespace gs
