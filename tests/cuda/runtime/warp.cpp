// Barriers of blocks, and what the lanes of a warp do together.

#include "memory.h"

#include <cstdio>
#include <cstring>

namespace gs {

// as in gs_warp.h
enum Op { SYNC, SHUFFLE, UP, DOWN, XOR, BALLOT, MATCH_ANY, MATCH_ALL, ADD, MIN_S, MAX_S, MIN_U, MAX_U, AND, OR, XOR_U };
static const char* const OPS[] = {"__syncwarp", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "a vote",
                                  "__match_any_sync", "__match_all_sync", "__reduce_add_sync", "__reduce_min_sync",
                                  "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync",
                                  "__reduce_or_sync", "__reduce_xor_sync"};
// as in gs_cuda.h
enum Kind { BARRIER, COUNT, ALL, ANY };

// -- the block's barrier ---------------------------------------------------------------------------------------------------

// Complete if every thread that has not ended is there, which `arrived` alone does not say.  The thread `running` goes on by itself.
static bool complete_barrier(Thread* running) {
  int count = 0, alive = 0, line = 0;
  bool all = true;
  for (int k = 0; k < state.threads; ++k) {
    Thread& t = threads[k];
    if (t.exited) continue;
    ++alive;
    if (t.wait.kind != Wait::BLOCK) return false;
    count += t.wait.argument != 0;
    all &= t.wait.argument != 0;
    if (line && (line != t.wait.line))
      fail("threads of one block wait at different barriers (lines %d and %d of the code)", line, t.wait.line);
    line = t.wait.line;
  }
  if (!alive) return false;
  ++state.epoch;
  state.arrived = 0;
  if (counting) count_barrier();
  int warp_count = (state.threads + WARP - 1) / WARP, first = (int)draw(warp_count);
  for (int w = 0; w < warp_count; ++w) {
    Warp& warp = warps[(w + first) % warp_count];
    for (int l = 0; l < WARP; ++l) {
      Thread& t = warp.threads[l];
      if (!(warp.alive >> l & 1)) continue;
      int r = t.wait.op == COUNT ? count : t.wait.op == ALL ? all : t.wait.op == ANY ? count > 0 : 0;
      memcpy(t.wait.result, &r, sizeof r);
      if (&t != running) ready(&t, false);
      else t.wait.kind = Wait::NOTHING;
    }
  }
  return true;
}

extern "C" int gs_block_barrier(int kind, int predicate, int line) {
  Thread& t = *state.current;
  t.wait.kind = Wait::BLOCK;
  t.wait.op = kind;
  t.wait.line = line;
  t.wait.argument = predicate;
  if (++state.arrived >= state.alive && complete_barrier(&t)) {
    segment_begins();
  } else {
    suspend();
  }
  int r;
  memcpy(&r, t.wait.result, sizeof r);
  return r;
}

// -- lanes -------------------------------------------------------------------------------------------------------------------

static uint32_t word(const Thread& t) {
  uint32_t v;
  memcpy(&v, t.wait.value, 4);
  return v;
}

static uint64_t bits(const Thread& t) {
  uint64_t v = 0;
  memcpy(&v, t.wait.value, t.wait.size);
  return v;
}

static uint32_t combined(int op, uint32_t a, uint32_t b) {
  switch (op) {
    case ADD: return a + b;
    case MIN_S: return (int32_t)b < (int32_t)a ? b : a;
    case MAX_S: return (int32_t)b > (int32_t)a ? b : a;
    case MIN_U: return b < a ? b : a;
    case MAX_U: return b > a ? b : a;
    case AND: return a & b;
    case OR: return a | b;
    default: return a ^ b;
  }
}

// The lane that a lane's value comes from, by the rules of the PTX instruction.
static int source(const Thread& t) {
  int width = t.wait.width, a = t.wait.argument, l = t.lane, first = l & ~(width - 1), last = first + width - 1, from = l;
  switch (t.wait.op) {
    case SHUFFLE: return first + (a & (width - 1));
    case UP: from = l - a; return from < first ? l : from;
    case DOWN: from = l + a; return from > last ? l : from;
    default: from = l ^ a; return from > last ? l : from;
  }
}

static void give(Thread& t, uint32_t v) { memcpy(t.wait.result, &v, 4); }

// Every lane of the group is there: what each of them gets.
static void exchange(Warp& warp, unsigned group, int op) {
  uint32_t total = 0, first = __builtin_ctz(group);
  bool equal = true;
  if (op >= ADD) total = word(warp.threads[first]);
  for (int l = 0; l < WARP; ++l) {
    if (!(group >> l & 1)) continue;
    Thread& t = warp.threads[l];
    if (op == BALLOT) total |= word(t) << l;
    if (op == MATCH_ALL) equal &= bits(t) == bits(warp.threads[first]);
    if (op >= ADD && l != (int)first) total = combined(op, total, word(t));
  }
  for (int l = 0; l < WARP; ++l) {
    if (!(group >> l & 1)) continue;
    Thread& t = warp.threads[l];
    if (op == BALLOT || op >= ADD) give(t, total);
    if (op == MATCH_ALL) give(t, equal ? group : 0);
    if (op == MATCH_ANY) {
      uint32_t same = 0;
      for (int o = 0; o < WARP; ++o) same |= (uint32_t)((group >> o & 1) && bits(warp.threads[o]) == bits(t)) << o;
      give(t, same);
    }
    if (op >= SHUFFLE && op <= XOR) {
      int from = source(t);
      if (group >> from & 1) memcpy(t.wait.result, warp.threads[from].wait.value, t.wait.size);
      else for (int k = 0; k < t.wait.size; ++k) t.wait.result[k] = (unsigned char)draw(256);  // undefined
    }
  }
}

// Release the lanes that wait for one operation, if all that its mask names and that have not ended are there.
static bool complete_lanes(Warp& warp, Thread& any, Thread* running) {
  const Wait wait = any.wait;  // a lane that goes on overwrites its own
  unsigned group = wait.mask & warp.alive;
  for (int l = 0; l < WARP; ++l) {
    if (!(group >> l & 1)) continue;
    const Wait& w = warp.threads[l].wait;
    if (w.kind != Wait::LANES || w.op != wait.op || w.mask != wait.mask || w.line != wait.line) return false;
  }
  if (counting) count_operation(any.number / WARP);
  exchange(warp, group, wait.op);
  if (wait.op == SYNC) {  // everything before it, of all of them, is before everything after it
    uint32_t known[WARP] = {};
    for (int l = 0; l < WARP; ++l) {
      if (!(group >> l & 1)) continue;
      Thread& t = warp.threads[l];
      ++t.clock[l];
      for (int o = 0; o < WARP; ++o) known[o] = known[o] < t.clock[o] ? t.clock[o] : known[o];
    }
    for (int l = 0; l < WARP; ++l)
      if (group >> l & 1) memcpy(warp.threads[l].clock, known, sizeof known);
  }
  bool up = draw(2);
  for (int k = 0; k < WARP; ++k) {
    int l = up ? WARP - 1 - k : k;
    if (!(group >> l & 1)) continue;
    Thread& t = warp.threads[l];
    if (&t != running) ready(&t, true);
    else t.wait.kind = Wait::NOTHING;
  }
  warp.waiting &= ~group;
  return true;
}

extern "C" void gs_warp(int op, unsigned mask, int line, const void* in, void* out, int size, int argument, int width) {
  Thread& t = *state.current;
  Warp& warp = warps[t.number / WARP];
  if (!(mask >> t.lane & 1)) fail("%s calls %s with a mask (%08x) that leaves it out", name_of(t).c_str(), OPS[op], mask);
  if (op >= SHUFFLE && op <= XOR && (width < 1 || width > WARP || (width & (width - 1))))
    fail("%s with a width of %d", OPS[op], width);
  Wait& w = t.wait;
  w.kind = Wait::LANES;
  w.op = op;
  w.mask = mask;
  w.line = line;
  w.size = size;
  w.argument = argument;
  w.width = width;
  if (size) memcpy(w.value, in, size);
  warp.waiting |= 1u << t.lane;
  if ((warp.waiting & mask & warp.alive) == (mask & warp.alive) && complete_lanes(warp, t, &t)) {
    if (op == SYNC) segment_begins();
  } else {
    suspend();
  }
  if (size) memcpy(out, w.result, size);
}

// Who is here is known when nobody else can arrive; a GPU may well run them in two groups.
extern "C" unsigned gs_active_mask(int line) {
  Thread& t = *state.current;
  t.wait.kind = Wait::ACTIVE;
  t.wait.line = line;
  suspend();
  unsigned mask;
  memcpy(&mask, t.wait.result, sizeof mask);
  return mask;
}

bool release_active_masks() {
  for (int k = 0; k < state.threads; ++k) {
    if (threads[k].exited || threads[k].wait.kind != Wait::ACTIVE) continue;
    Warp& warp = warps[k / WARP];
    unsigned group = 0, part = draw(2) ? ~0u : draw(~0u);
    for (int l = 0; l < WARP; ++l) {
      const Wait& w = warp.threads[l].wait;
      if ((warp.alive >> l & 1) && w.kind == Wait::ACTIVE && w.line == threads[k].wait.line) group |= 1u << l;
    }
    if (group & part) group &= part;
    for (int l = 0; l < WARP; ++l)
      if (group >> l & 1) give(warp.threads[l], group), ready(&warp.threads[l], true);
    return true;
  }
  return false;
}

// -- ends --------------------------------------------------------------------------------------------------------------------

void thread_exits(Thread& t) {
  Warp& warp = warps[t.number / WARP];
  warp.alive &= ~(1u << t.lane);
  --state.alive;
  for (int l = 0; l < WARP && warp.waiting; ++l)
    if (warp.waiting >> l & 1) complete_lanes(warp, warp.threads[l], nullptr);
  if (state.arrived && state.arrived >= state.alive) complete_barrier(nullptr);
}

std::string deadlock() {
  std::string text = "its threads wait for ever:";
  int shown = 0, left = 0;
  for (int k = 0; k < state.threads; ++k) {
    const Thread& t = threads[k];
    if (t.exited) continue;
    if (shown++ >= 4) { ++left; continue; }
    char line[300];
    const char* what = t.wait.kind == Wait::BLOCK ? "__syncthreads" : OPS[t.wait.op];
    snprintf(line, sizeof line, " %s at %s (line %d", name_of(t).c_str(), what, t.wait.line);
    text += line;
    if (t.wait.kind == Wait::LANES) snprintf(line, sizeof line, ", mask %08x)", t.wait.mask), text += line;
    else text += ")";
    text += ";";
  }
  return text + (left ? " and " + std::to_string(left) + " more" : "");
}

}  // namespace gs
