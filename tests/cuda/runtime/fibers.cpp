// Fibers, and the order of blocks, warps and threads.
//
// A fiber runs threads to their end, one after the other; a thread that has to wait keeps its fiber, and another fiber takes the
// threads that are left.  A kernel without barriers thus costs a call for each thread.

#include "memory.h"
#include "runtime.h"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#ifndef __x86_64__
#include <ucontext.h>
#endif

extern "C" {
gs::Index gs_thread_idx, gs_block_idx, gs_block_dim, gs_grid_dim;
}

namespace gs {

State state;
Thread threads[MAX_THREADS];
Warp warps[MAX_THREADS / WARP];

// -- switching ---------------------------------------------------------------------------------------------------------

constexpr size_t STACK = 256 << 10;
static char* stacks;  // of all fibers, each with a page below it that must not be touched

struct Fiber {
#ifdef __x86_64__
  void* sp;
#else
  ucontext_t context;
#endif
};
static Fiber fibers[MAX_THREADS + 1], outside;
static Fiber* idle[MAX_THREADS + 1];
static int idle_count;
static bool clean;  // no thread was left on a fiber

static void fiber_main();

#ifdef __x86_64__
extern "C" void gs_switch(void** from, void* to);
asm(R"(
.text
.globl gs_switch
.type gs_switch, @function
gs_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size gs_switch, .-gs_switch
)");
static void switch_to(Fiber* from, Fiber* to) { gs_switch(&from->sp, to->sp); }
static void prepare(int k) {
  void** top = (void**)(stacks + (k + 1) * STACK);
  *--top = nullptr;  // where fiber_main would return to; the stack is aligned as after a call
  *--top = (void*)fiber_main;
  for (int r = 0; r < 6; ++r) *--top = nullptr;
  fibers[k].sp = top;
}
#else
static void switch_to(Fiber* from, Fiber* to) { swapcontext(&from->context, &to->context); }
static void prepare(int k) {
  getcontext(&fibers[k].context);
  fibers[k].context.uc_stack = {stacks + k * STACK + 4096, 0, STACK - 4096};
  makecontext(&fibers[k].context, fiber_main, 0);
}
#endif

static void all_idle() {
  if (!stacks) {
    size_t size = (MAX_THREADS + 1) * STACK;
    stacks = (char*)mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int k = 0; k <= MAX_THREADS; ++k) mprotect(stacks + k * STACK, 4096, PROT_NONE);
  }
  if (clean) return;
  clean = true;
  idle_count = 0;
  for (int k = MAX_THREADS; k >= 0; --k) {
    prepare(k);
    idle[idle_count++] = &fibers[k];
  }
}

bool on_stack(uintptr_t address) { return address - (uintptr_t)stacks < (MAX_THREADS + 1) * STACK; }

// -- the order of a block's threads --------------------------------------------------------------------------------------

static void (*body)(void*);
static void* body_argument;
static int fresh[MAX_THREADS], fresh_left;  // numbers of threads that have not started, the last first
static Thread* queue[2 * MAX_THREADS];      // threads that may go on; a ring
static unsigned queue_first, queue_count;

void ready(Thread* t, bool soon) {
  unsigned ring = 2 * MAX_THREADS;
  t->wait.kind = Wait::NOTHING;
  if (soon) queue_first = (queue_first + ring - 1) % ring;
  queue[soon ? queue_first : (queue_first + queue_count) % ring] = t;
  ++queue_count;
}

static void enter(Thread* t) {
  state.current = t;
  gs_thread_idx = t->index;
}

// The fiber that runs next; null: every thread has ended.
static Fiber* next_fiber() {
  do {
    if (queue_count) {
      Thread* t = queue[queue_first];
      queue_first = (queue_first + 1) % (2 * MAX_THREADS);
      --queue_count;
      state.current = t;
      return t->fiber;
    }
    if (fresh_left) return idle[--idle_count];
  } while (release_active_masks());
  for (int k = 0; k < state.threads; ++k)
    if (!threads[k].exited) fail("%s", deadlock().c_str());
  return nullptr;
}

void suspend() {
  Thread* me = state.current;
  Fiber* next = next_fiber();
  if (next != me->fiber) switch_to(me->fiber, next);
  enter(me);
  segment_begins();
}

static void fiber_main() {
  Fiber* self = nullptr;
  for (;;) {
    char here;
    self = &fibers[((uintptr_t)&here - (uintptr_t)stacks) / STACK];
    while (fresh_left && !queue_count) {
      Thread& t = threads[fresh[--fresh_left]];
      t.fiber = self;
      enter(&t);
      segment_begins();
      body(body_argument);
      resolve_suspect();  // here, where it may fail: after the block there is no fiber to leave
      t.exited = true;
      thread_exits(t);
    }
    idle[idle_count++] = self;
    Fiber* next = next_fiber();
    if (next != self) switch_to(self, next ? next : &outside);
  }
}

void fail(const char* format, ...) {
  char text[2000];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  state.error = std::string(state.kernel) + ": " + text;
  clean = false;
  Fiber lost;
  switch_to(&lost, &outside);
  __builtin_unreachable();
}

std::string name_of(const Thread& t) {
  char text[200];
  snprintf(text, sizeof text, "thread (%u, %u, %u) of block %lld", t.index.x, t.index.y, t.index.z, (long long)state.number);
  return text;
}

static void shuffle(int* numbers, int n) {
  for (int k = n - 1; k > 0; --k) std::swap(numbers[k], numbers[draw(k + 1)]);
}

// Warps in any order, the lanes of each from the first, from the last, or in any order.
static void start_order() {
  int count = (state.threads + WARP - 1) / WARP, order[MAX_THREADS / WARP];
  for (int w = 0; w < count; ++w) order[w] = w;
  shuffle(order, count);
  fresh_left = 0;
  for (int k = 0; k < count; ++k) {
    int first = order[k] * WARP, n = std::min(WARP, state.threads - first), *lanes = fresh + fresh_left;
    for (int l = 0; l < n; ++l) lanes[l] = first + l;
    uint32_t how = draw(4);
    if (how == 0) std::reverse(lanes, lanes + n);
    if (how == 1) shuffle(lanes, n);
    fresh_left += n;
  }
}

static void run_block(int64_t number) {
  const Index& g = state.grid;
  state.number = number;
  state.epoch = state.arrived = 0;
  state.alive = state.threads;
  gs_block_idx = {(unsigned)(number % g.x), (unsigned)(number / g.x % g.y), (unsigned)(number / g.x / g.y)};
  for (int w = 0; w * WARP < state.threads; ++w) {
    int n = std::min(WARP, state.threads - w * WARP);
    warps[w] = {n == WARP ? ~0u : (1u << n) - 1, 0, threads + w * WARP};
  }
  for (int k = 0; k < state.threads; ++k) {
    Thread& t = threads[k];
    t.exited = false;
    t.wait.kind = Wait::NOTHING;
    memset(t.clock, 0, sizeof t.clock);
  }
  start_order();
  queue_count = 0;
  block_begins();
  switch_to(&outside, idle[--idle_count]);
  if (state.error.empty()) block_ends();
}

// -- launches ------------------------------------------------------------------------------------------------------------

static uint64_t seed;
static int64_t lost;
bool interleaving;

struct Tls {
  uintptr_t code, start, size;
};
static int find_tls(dl_phdr_info* info, size_t, void* data) {
  Tls& tls = *(Tls*)data;
  bool here = false;
  size_t size = 0;
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    const ElfW(Phdr)& p = info->dlpi_phdr[k];
    if (p.p_type == PT_LOAD && tls.code - (info->dlpi_addr + p.p_vaddr) < p.p_memsz) here = true;
    if (p.p_type == PT_TLS) size = p.p_memsz;
  }
  if (here && info->dlpi_tls_data) tls.start = (uintptr_t)info->dlpi_tls_data, tls.size = size;
  return here;
}

extern "C" {

void gs_seed(uint64_t s) { seed = s; }

// Of each grid of more than one block, so many blocks do not run: a defect, for tests.
void gs_lose_blocks(int64_t count) { lost = count; }
int gs_edit;  // whose kernels run; 0: those that are not edited
void gs_choose_edit(int number) { gs_edit = number; }

// What went wrong since this was asked last; an empty string if nothing did.
const char* gs_error() {
  static std::string text;
  text = state.error;
  state.error.clear();
  return text.c_str();
}

// sizes: of the grid and of a block, and bytes of dynamic shared memory.  After an error nothing runs until it is asked for.
void gs_launch(const char* kernel, void (*f)(void*), void* argument, const int64_t sizes[7], void* dynamic, size_t capacity) {
  if (!state.error.empty()) return;
  state.kernel = kernel;
  int64_t count = sizes[3] * sizes[4] * sizes[5], blocks = sizes[0] * sizes[1] * sizes[2];
  bool legal = count >= 1 && count <= MAX_THREADS && sizes[5] <= 64 && sizes[6] >= 0 && (size_t)sizes[6] <= capacity;
  for (int k = 0; k < 3; ++k) legal &= sizes[k] >= 1 && sizes[k] <= (k ? 65535 : INT32_MAX);
  if (!legal) {
    char text[300];
    snprintf(text, sizeof text, "%s: a GPU refuses a grid of %lld x %lld x %lld blocks of %lld x %lld x %lld threads with %lld bytes",
             kernel, (long long)sizes[0], (long long)sizes[1], (long long)sizes[2], (long long)sizes[3], (long long)sizes[4],
             (long long)sizes[5], (long long)sizes[6]);
    state.error = text;
    return;
  }
  body = f;
  body_argument = argument;
  state.grid = gs_grid_dim = {(unsigned)sizes[0], (unsigned)sizes[1], (unsigned)sizes[2]};
  state.block = gs_block_dim = {(unsigned)sizes[3], (unsigned)sizes[4], (unsigned)sizes[5]};
  state.threads = (int)count;
  interleaving = seed && !in_order();
  state.random = seed * 0x9e3779b97f4a7c15ull + 1;
  for (int k = 0; k < count; ++k) {
    threads[k].number = k;
    threads[k].lane = k % WARP;
    threads[k].index = {(unsigned)(k % sizes[3]), (unsigned)(k / sizes[3] % sizes[4]), (unsigned)(k / sizes[3] / sizes[4])};
  }
  all_idle();
  Tls tls{(uintptr_t)f, 0, 0};
  dl_iterate_phdr(find_tls, &tls);
  launch_begins(tls.start, tls.size, (uintptr_t)dynamic, sizes[6], capacity);
  state.running = true;
  // every block once: a step that shares no factor with their number; in order where caches are simulated
  int64_t step = blocks / 3 * 2 + 1, at = blocks > 1 ? (int64_t)(((uint64_t)draw(~0u) << 20) % blocks) : 0;
  if (in_order()) step = 1, at = 0;
  while (std::__gcd(step, blocks) != 1) ++step;
  for (int64_t k = 0; k < blocks - (blocks > 1 ? lost : 0) && state.error.empty(); ++k, at = (at + step) % blocks) run_block(at);
  state.running = false;
  launch_ends();
}
}

}  // namespace gs
