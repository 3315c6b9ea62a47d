// Races: two threads access a byte, one of them writes, not both are atomic, and nothing orders them.
//
// A segment is what a thread does between two barriers; accesses are remembered by their segments.  One is before the current
// thread's if it is of an earlier launch, of the same thread, of the same block before a barrier of the block, of the same warp
// before a __syncwarp of both, or if its thread executed a fence and then an atomic at an address where the current thread, or
// one that its block has had a barrier with, executed an atomic afterwards.

#include "memory.h"

#include <cstdio>
#include <cstring>
#include <unordered_map>

#include <sys/mman.h>

namespace gs {

bool checking = true;

static std::vector<Segment> segments;  // of this launch
static uint32_t launch_first = 16, block_first = 16, current = 16;

// -- what atomics order ------------------------------------------------------------------------------------------------

struct Release {
  uint32_t segment;  // the last before the fence
};
struct Acquire {
  uintptr_t address;
  size_t count;
  int thread, epoch;
};
static std::unordered_map<uintptr_t, std::vector<Release>> releases;
static std::vector<Acquire> acquired;  // by this block
static uint32_t fenced[MAX_THREADS];   // each thread's last segment before its last fence, or 0

static const Segment& segment(uint32_t id) { return segments[id - launch_first]; }

void new_segment() {
  if (!checking) return;
  resolve_suspect();
  const Thread& t = *state.current;
  current = launch_first + (uint32_t)segments.size();
  if (current > 0x7ffffff0u) fail("too many segments for one process: run fewer threads");
  segments.push_back({(uint32_t)state.number, (uint16_t)t.number, (uint16_t)state.epoch, t.clock[t.lane]});
}

void races_begin_launch() {
  launch_first += (uint32_t)segments.size();
  segments.clear();
  releases.clear();
  memset(fenced, 0, sizeof fenced);
}

void races_begin_block() {
  block_first = launch_first + (uint32_t)segments.size();
  acquired.clear();
  memset(fenced, 0, sizeof fenced);
}

void fence() {
  if (!checking) return;
  fenced[state.current->number] = current;
  new_segment();
}

void synchronizes(uintptr_t a, int access) {
  if (!checking) return;
  const Thread& t = *state.current;
  auto& list = releases[a];
  if (!list.empty()) acquired.push_back({a, list.size(), t.number, state.epoch});
  if ((access & WRITE) && fenced[t.number]) list.push_back({fenced[t.number]});
}

static bool ordered_by_atomics(const Segment& s, uint32_t id) {
  for (const Acquire& a : acquired) {
    if (a.thread != state.current->number && a.epoch >= state.epoch) continue;
    const auto& list = releases[a.address];
    for (size_t k = 0; k < a.count; ++k) {
      const Segment& r = segment(list[k].segment);
      if (r.block == s.block && ((r.thread == s.thread && id <= list[k].segment) || s.epoch < r.epoch)) return true;
    }
  }
  return false;
}

static bool slowly_before(uint32_t id) {
  const Segment& s = segment(id);
  const Thread& t = *state.current;
  if (s.block == (uint32_t)state.number) {
    if (s.thread == t.number || s.epoch < (uint16_t)state.epoch) return true;
    if (s.thread / WARP == t.number / WARP && t.clock[s.thread % WARP] > s.clock) return true;
  }
  return !acquired.empty() && ordered_by_atomics(s, id);
}

// Whether an access is before everything that the current thread does now.
static inline bool before(uint32_t access) {
  uint32_t id = access >> 1;
  return id < launch_first || id == current || slowly_before(id);
}

// -- reports -----------------------------------------------------------------------------------------------------------

std::string place(const Buffer& b, size_t offset, int size) {
  char text[120];
  snprintf(text, sizeof text, "%d bytes at %s+%zu", size, b.name, offset);
  return text;
}

static std::string race(const Buffer& b, size_t offset, int size, int access, uint32_t other, bool wrote) {
  const Segment& s = segment(other >> 1);
  const Thread& o = threads[s.thread];
  char text[500];
  snprintf(text, sizeof text, "race: %s %s %s, which thread (%u, %u, %u) of block %u %s, and nothing orders them",
           name_of(*state.current).c_str(), access & ATOMIC ? "atomically accesses" : access & WRITE ? "writes" : "reads",
           place(b, offset, size).c_str(), o.index.x, o.index.y, o.index.z, s.block,
           other & 1 ? "accesses atomically" : wrote ? "writes" : "reads");
  return text;
}

// Two threads that write the same value do no harm: whether they do is known after the write.
static struct {
  bool open;
  void* at;
  int size;
  unsigned char was[16];
  std::string text;
} suspect;

void resolve_suspect() {
  if (!suspect.open) return;
  suspect.open = false;
  if (memcmp(suspect.at, suspect.was, suspect.size)) fail("%s", suspect.text.c_str());
}

static void two_writes(Buffer& b, size_t offset, int size, int access, uint32_t other) {
  std::string text = race(b, offset, size, access, other, true);
  if (size > 16 || (access & ATOMIC) || (other & 1)) fail("%s", text.c_str());
  suspect.open = true;
  suspect.at = (void*)(b.base + offset);
  suspect.size = size;
  memcpy(suspect.was, suspect.at, size);
  suspect.text = text;
}

// -- cells -------------------------------------------------------------------------------------------------------------

// Remember an access beside one that is not before it; of three, keep two of different blocks, or else warps.
static void remember(uint32_t list[2], uint32_t me) {
  if (before(list[0])) {
    list[0] = me;
  } else if (before(list[1])) {
    list[1] = me;
  } else {
    const Segment &a = segment(list[0] >> 1), &b = segment(list[1] >> 1);
    const Thread& t = *state.current;
    if (a.block == b.block && (a.block != (uint32_t)state.number || (a.thread / WARP == b.thread / WARP && a.thread / WARP != t.number / WARP)))
      list[1] = me;
  }
}

static void split(Buffer& b) {
  size_t count = (b.size >> 2) + 1;
  Cell* old = b.cells;
  size_t old_mapped = b.cells_mapped, size = (b.size + 8) * sizeof(Cell);
  b.cells = (Cell*)mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  b.cells_mapped = size;
  b.shift = 0;
  for (size_t k = 0; k < count; ++k)
    for (size_t l = 0; l < 4; ++l) b.cells[4 * k + l] = old[k];
  munmap(old, old_mapped);
}

static inline bool written(const Buffer& b, const Cell& c) {
  return &b == &shared ? c.writers[0] >> 1 >= block_first : c.writers[0] != UNWRITTEN;
}

void check(Buffer& b, size_t offset, int size, int access) {
  if (suspect.open) resolve_suspect();
  if (b.shift && ((offset | size) & 3)) split(b);
  Cell *c = b.cells + (offset >> b.shift), *end = b.cells + ((offset + size - 1) >> b.shift) + 1;
  uint32_t atomic = access & ATOMIC ? 1 : 0, me = current << 1 | atomic;
  bool reads = !(access & WRITE);
  for (; c != end; ++c) {
    size_t at = (size_t)(c - b.cells) << b.shift;
    // shared memory is another block's after each block
    if (&b == &shared && c->writers[0] >> 1 < block_first) {
      if (c->readers[0] >> 1 < block_first) c->readers[0] = 0;
      if (c->readers[1] >> 1 < block_first) c->readers[1] = 0;
      c->writers[0] = c->writers[1] = 0;
    }
    if (reads && !written(b, *c))
      fail("%s reads %s, which nobody has written", name_of(*state.current).c_str(), place(b, at, size).c_str());
    for (int k = 0; k < 2; ++k) {
      uint32_t w = c->writers[k];
      if ((atomic & w) || before(w)) continue;
      if (reads || atomic) fail("%s", race(b, at, size, access, w, true).c_str());
      two_writes(b, offset, size, access, w);
    }
    if (reads) {
      if (c->readers[0] != me) remember(c->readers, me);
      continue;
    }
    for (int k = 0; k < 2; ++k) {
      uint32_t r = c->readers[k];
      if (!((atomic & r) || before(r))) fail("%s", race(b, at, size, access, r, false).c_str());
    }
    if (atomic) {
      if (c->writers[0] == UNWRITTEN || c->writers[0] != me) remember(c->writers, me);
    } else {
      c->writers[0] = me;
      c->writers[1] = 0;
      c->readers[0] = c->readers[1] = 0;
    }
  }
}

}  // namespace gs
