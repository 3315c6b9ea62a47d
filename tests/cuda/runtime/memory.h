// Device memory, and what is known of each of its bytes.
#pragma once
#include "runtime.h"

namespace gs {

enum Access : int { READ = 0, WRITE = 1, ATOMIC = 2 };  // bits: an atomic read-modify-write is WRITE | ATOMIC

// Of a few bytes: who wrote and read last, as numbers of segments times two, plus one for an atomic access.  Two of each,
// because of two threads that differ at least one is in conflict with any third.
struct Cell {
  uint32_t writers[2], readers[2];
};
constexpr uint32_t UNWRITTEN = 0, FROM_HOST = 2;

struct Buffer {
  uintptr_t base;
  size_t size;
  int shift;  // a cell is for 1 << shift bytes
  Cell* cells;
  size_t cells_mapped;
  bool readonly, named;
  char name[64];
};

// What a thread does between two barriers.
struct Segment {
  uint32_t block;
  uint16_t thread, epoch;
  uint32_t clock;
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
void count_launch_begins();
void count_block_ends();
void count_launch_ends();

}  // namespace gs
