#include "memory.h"
namespace gs {
bool counting;
void count(uintptr_t, uintptr_t, int, int, bool) {}
void count_launch_begins() {}
void count_block_ends() {}
void count_launch_ends() {}
}
