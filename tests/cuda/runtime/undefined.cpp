// What -fsanitize=alignment,bounds,integer-divide-by-zero calls: misaligned vectors, indices past a local or shared array.

#include <cstdlib>

#include "runtime.h"

namespace gs {

struct Location {
  const char* file;
  uint32_t line, column;
};

[[noreturn]] static void undefined(const Location* at, const char* what, uintptr_t value) {
  if (!state.running) abort();
  fail("%s: %s (%#zx) in line %u of the code", name_of(*state.current).c_str(), what, (size_t)value, at->line);
}

extern "C" {
void __ubsan_handle_out_of_bounds(Location* at, uintptr_t index) { undefined(at, "an index is outside an array", index); }
void __ubsan_handle_type_mismatch_v1(Location* at, uintptr_t address) {
  undefined(at, "an address is no multiple of the access's size", address);
}
void __ubsan_handle_divrem_overflow(Location* at, uintptr_t value, uintptr_t) { undefined(at, "a division by zero", value); }
}

}  // namespace gs
