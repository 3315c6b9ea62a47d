// Device memory, and what is known of each of its bytes.
#pragma once
#include "runtime.h"

namespace gs {

// Bits: an atomic read-modify-write is WRITE | ATOMIC.  Two are for the counters only: the thread goes on when it has the result
// of an atomic; what is written is the first to leave the caches.
enum Access : int { READ = 0, WRITE = 1, ATOMIC = 2, AWAITED = 4, STREAMED = 8 };

// Of a few bytes: the segments of the last accesses of each kind, or 0.  Two each, because of two threads that differ at least one
// is in conflict with any third; a plain write is after all accesses before it, or there is a race.  Atomic accesses are apart:
// they may be in any order among each other, so that one of them does not stand for a plain access before it.
struct Cell {
  uint32_t write, unused, atomics[2], reads[2], atomic_reads[2];
};

struct Buffer {
  uintptr_t base;
  size_t size;
  int shift;  // a cell is for 1 << shift bytes
  Cell* cells;
  size_t cells_mapped;
  bool readonly, from_host;  // the host does not expect writes; it has written all of it
  char name[64];
};

// What a thread does between two barriers.
struct Segment {
  uint32_t block, thread, epoch, clock;
};

Buffer* buffer_at(uintptr_t a);
extern Buffer shared;

// -- races.cpp
extern bool checking;
void races_begin_launch();
void races_begin_block();
void new_segment();
void check(Buffer& b, size_t offset, int size, int access);
void resolve_suspect();
void fence();
void synchronizes(uintptr_t a, int access);
std::string place(const Buffer& b, size_t offset, int size);

// -- copies.cpp
extern int copies_pending;
void copies_touch(uintptr_t a, int size);
void copies_begin_block();
void copies_end_thread(Thread& t);

// -- counters.cpp
extern bool counting;
void count(uintptr_t code, uintptr_t a, int size, int access, bool in_shared);
void count_operation(int warp);  // of a warp's lanes with each other
void count_barrier();            // of the block
void count_launch_begins();
void count_block_ends();
void count_launch_ends();

}  // namespace gs
