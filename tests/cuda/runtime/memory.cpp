// Device memory, and the functions that the compiler calls at each access of instrumented code (-fsanitize=thread).
//
// Each buffer lies in a slot of its own of a large reserved range, so that any address near it names it.

#include "memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>

namespace gs {

constexpr int SLOT_BITS = 33, SLOTS = 1024;
static uintptr_t arena;
static Buffer buffers[SLOTS];
static int used;
Buffer shared;
static uintptr_t dynamic, dynamic_size, dynamic_capacity;
static unsigned atomics_in_a_row;  // by one thread

static void reserve_cells(Buffer& b) {
  size_t want = ((b.size >> b.shift) + 2) * sizeof(Cell);
  if (b.cells) munmap(b.cells, b.cells_mapped);
  b.cells_mapped = want;
  b.cells = (Cell*)mmap(nullptr, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

Buffer* buffer_at(uintptr_t a) {
  if (a - arena < ((uintptr_t)SLOTS << SLOT_BITS)) return &buffers[(a - arena) >> SLOT_BITS];
  return a - shared.base < shared.size ? &shared : nullptr;
}

extern "C" {

// Memory of `size` bytes, aligned as cudaMalloc does; `written`: by the host, and by nobody else.
void* gs_allocate(size_t size, const char* name, int written, int readonly) {
  if (!arena) {
    size_t all = (size_t)SLOTS << SLOT_BITS;
    arena = (uintptr_t)mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (used == SLOTS) return nullptr;
  Buffer& b = buffers[used];
  b.base = arena + ((uintptr_t)used++ << SLOT_BITS) + (1ull << (SLOT_BITS - 1));
  b.size = size;
  b.shift = 2;
  b.readonly = readonly;
  snprintf(b.name, sizeof b.name, "%s", name);
  size_t pages = (size + 4096) & ~4095ull;
  mmap((void*)b.base, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  memset((void*)b.base, 0xcb, size);
  b.from_host = written;
  if (checking) reserve_cells(b);
  return (void*)b.base;
}

void gs_free_all() {
  for (int k = 0; k < used; ++k) {
    Buffer& b = buffers[k];
    mmap((void*)b.base, (b.size + 4096) & ~4095ull, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (b.cells) munmap(b.cells, b.cells_mapped);
    b = Buffer{};
  }
  used = 0;
}

// In the kernel that is launched next, this is what a pointer is called.
void gs_name(const void* p, const char* name) {
  Buffer* b = buffer_at((uintptr_t)p);
  if (b && b != &shared && b->size) snprintf(b->name, sizeof b->name, "%s", name);
}

// The first byte of a buffer that nobody has written; -1: there is none, or nobody looks.
int64_t gs_first_unwritten(const void* p) {
  Buffer* b = buffer_at((uintptr_t)p);
  if (!checking || !b || !b->cells || b->from_host) return -1;
  for (size_t at = 0; at < b->size; at += 1u << b->shift) {
    const Cell& c = b->cells[at >> b->shift];
    if (!c.write && !c.atomics[0]) return (int64_t)at;
  }
  return -1;
}

uint32_t gs_shared_address(const void* p) { return (uint32_t)((uintptr_t)p - shared.base + 16); }
void* gs_shared_pointer(uint32_t a) { return (void*)(shared.base + a - 16); }
void gs_raw_copy(void* to, const void* from, int size) { memcpy(to, from, size); }
void gs_trap(const char* what) { fail("%s: %s", name_of(*state.current).c_str(), what); }
void gs_check(int races, int counters) { checking = races, counting = counters; }
void gs_fence(int scope) {
  if (scope < 0) {
    ready(state.current, false);
    suspend();
  } else {
    fence();
  }
}
}

void launch_begins(uintptr_t s, size_t s_size, uintptr_t d, size_t d_size, size_t d_capacity) {
  if (shared.base != s || shared.size != s_size) {
    shared.base = s, shared.size = s_size, shared.shift = 2;
    snprintf(shared.name, sizeof shared.name, "shared memory");
    if (checking && s_size) reserve_cells(shared);
  }
  if (s_size && checking && !shared.cells) reserve_cells(shared);
  if (s_size) memset((void*)s, 0xcb, s_size);
  dynamic = d, dynamic_size = d_size, dynamic_capacity = d_capacity;
  races_begin_launch();
  if (counting) count_launch_begins();
}
void block_begins() {
  races_begin_block();
  copies_begin_block();
}
bool in_order() { return counting; }
void segment_begins() {
  atomics_in_a_row = 0;
  new_segment();
}
void block_ends() {
  if (counting) count_block_ends();
}
void launch_ends() {
  if (counting) count_launch_ends();
}

static const char* verb(int access) { return access & ATOMIC ? "accesses" : access & WRITE ? "writes" : "reads"; }

static void outside(const Buffer& b, long long offset, int size, int access) {
  fail("%s %s %d bytes at %s%+lld, which has %zu", name_of(*state.current).c_str(), verb(access), size, b.name, offset, b.size);
}

__attribute__((noinline)) static void other_memory(uintptr_t a, int size, int access) {
  fail("%s %s %d bytes at %p, which is in no buffer", name_of(*state.current).c_str(), verb(access), size, (void*)a);
}

static inline void touch(uintptr_t a, int size, int access, uintptr_t code, int hints = 0) {
  if (!state.running || on_stack(a)) return;
  uintptr_t in_arena = a - arena;
  if (in_arena < ((uintptr_t)SLOTS << SLOT_BITS)) {
    Buffer& b = buffers[in_arena >> SLOT_BITS];
    if (!b.size) other_memory(a, size, access);
    size_t offset = a - b.base;
    if (offset + size > b.size || offset > b.size) outside(b, (long long)(a - b.base), size, access);
    if ((access & WRITE) && b.readonly) fail("%s writes %s, which is an input", name_of(*state.current).c_str(), b.name);
    if (copies_pending) copies_touch(a, size);
    if (access & ATOMIC) synchronizes(a, access);
    if (checking) check(b, offset, size, access);
    if (counting) count(code, a, size, access | hints, false);
  } else if (a - shared.base < shared.size) {
    if (a - dynamic < dynamic_capacity && a + size > dynamic + dynamic_size)
      fail("%s %s %d bytes at %lld of dynamic shared memory, of which the launch has %zu", name_of(*state.current).c_str(),
           verb(access), size, (long long)(a - dynamic), (size_t)dynamic_size);
    if (copies_pending) copies_touch(a, size);
    if (checking) check(shared, a - shared.base, size, access);
    if (counting) count(code, a, size, access | hints, true);
  } else {
    other_memory(a, size, access);
  }
}

// Other threads may run before an atomic, so that swaps fail and locks are held; one that spins lets others run at last.
static void interleave() {
  if (++atomics_in_a_row > 1 << 26) fail("%s waits for ever, at an atomic", name_of(*state.current).c_str());
  if (!interleaving || draw(16)) return;
  unsigned so_far = atomics_in_a_row;
  ready(state.current, false);
  suspend();
  atomics_in_a_row = so_far;
}

#define GS_CODE (uintptr_t) __builtin_return_address(0)
extern "C" {
void gs_atomic_access(void* p, int size, int is_read_only, int is_awaited) {
  interleave();
  touch((uintptr_t)p, size, ATOMIC | (is_read_only ? READ : WRITE), GS_CODE, is_awaited ? AWAITED : 0);
}
void gs_streamed_access(void* p, int size) { touch((uintptr_t)p, size, WRITE, GS_CODE, STREAMED); }
void gs_plain_access(const void* p, int size, int is_write) { touch((uintptr_t)p, size, is_write ? WRITE : READ, GS_CODE); }

#define GS_HOOKS(N)                                                                                                   \
  void __tsan_read##N(void* p) { touch((uintptr_t)p, N, READ, GS_CODE); }                                             \
  void __tsan_write##N(void* p) { touch((uintptr_t)p, N, WRITE, GS_CODE); }                                           \
  void __tsan_volatile_read##N(void* p) { interleave(); touch((uintptr_t)p, N, READ | ATOMIC, GS_CODE); }                           \
  void __tsan_volatile_write##N(void* p) { touch((uintptr_t)p, N, WRITE | ATOMIC, GS_CODE); }
GS_HOOKS(1) GS_HOOKS(2) GS_HOOKS(4) GS_HOOKS(8) GS_HOOKS(16)
// an access that is not aligned, or whose type does not promise that it is
#define GS_UNALIGNED(N)                                                                                               \
  void __tsan_unaligned_read##N(void* p) { touch((uintptr_t)p, N, READ, GS_CODE); }                                   \
  void __tsan_unaligned_write##N(void* p) { touch((uintptr_t)p, N, WRITE, GS_CODE); }                                 \
  void __tsan_unaligned_volatile_read##N(void* p) { touch((uintptr_t)p, N, READ | ATOMIC, GS_CODE); }                 \
  void __tsan_unaligned_volatile_write##N(void* p) { touch((uintptr_t)p, N, WRITE | ATOMIC, GS_CODE); }
GS_UNALIGNED(2) GS_UNALIGNED(4) GS_UNALIGNED(8) GS_UNALIGNED(16)
void __tsan_read_range(void* p, unsigned long n) { touch((uintptr_t)p, (int)n, READ, GS_CODE); }
void __tsan_write_range(void* p, unsigned long n) { touch((uintptr_t)p, (int)n, WRITE, GS_CODE); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}

}  // namespace gs
