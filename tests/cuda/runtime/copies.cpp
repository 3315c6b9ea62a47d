// cp.async: a copy happens at any time between its issue and the end of the wait for its group.
//
// Its source is read early or late, as the seed says; its destination is written at the wait, and holds other bytes until then.

#include "memory.h"

#include <cstring>

namespace gs {

int copies_pending;

struct Copy {
  uintptr_t to, from;
  int size, read, thread, group;
  bool taken;
  unsigned char bytes[16];
};
static std::vector<Copy> copies;
static int committed[MAX_THREADS];  // groups of each thread

void copies_begin_block() {
  copies.clear();
  copies_pending = 0;
  memset(committed, 0, sizeof committed);
}

// Somebody touches bytes that are being copied to.
void copies_touch(uintptr_t a, int size) {
  for (const Copy& c : copies)
    if (a < c.to + c.size && c.to < a + size)
      fail("%s accesses %d bytes at shared memory+%zu, which thread %d is still copying to: the copy's group has not been waited for",
           name_of(*state.current).c_str(), size, (size_t)(a - shared.base), c.thread);
}

extern "C" void gs_plain_access(const void* p, int size, int is_write);

extern "C" void gs_copy_async(void* to, const void* from, int size, int read) {
  if (size != 4 && size != 8 && size != 16) fail("cp.async of %d bytes", size);
  if ((uintptr_t)to % size || (uintptr_t)from % size) fail("cp.async of %d bytes from or to an address that is no multiple", size);
  if (buffer_at((uintptr_t)to) != &shared) fail("cp.async to memory that is not shared");
  // others may still be reading what is there, now or at any time until the wait
  gs_plain_access(to, size, 1);
  if (read) gs_plain_access(from, read, 0);
  Copy c{(uintptr_t)to, (uintptr_t)from, size, read, state.current->number, committed[state.current->number], draw(2) == 0, {}};
  if (c.taken) memcpy(c.bytes, from, read);
  memset(to, 0xcb, size);
  copies.push_back(c);
  copies_pending = (int)copies.size();
}

extern "C" void gs_commit_group() { ++committed[state.current->number]; }

extern "C" void gs_wait_group(int pending) {
  int me = state.current->number, last = committed[me] - pending;  // groups below this are complete
  std::vector<Copy> mine, left;
  for (const Copy& c : copies) (c.thread == me && c.group < last ? mine : left).push_back(c);
  copies.swap(left);
  copies_pending = (int)copies.size();
  for (Copy& c : mine) {
    if (!c.taken && c.read) gs_plain_access((void*)c.from, c.read, 0), memcpy(c.bytes, (void*)c.from, c.read);
    gs_plain_access((void*)c.to, c.size, 1);
    memcpy((void*)c.to, c.bytes, c.size);
  }
}

}  // namespace gs
