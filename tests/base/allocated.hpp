// SPDX-License-Identifier: BSD-3-Clause
// How many bytes are allocated by `new` and not given back: for tests of what things cost in memory. Include it once
// in a test's executable, whose operator new it is.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

inline std::atomic<int64_t> allocated_bytes = 0, most_allocated_bytes = 0;

void* operator new(size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (!memory) throw std::bad_alloc();
  const int64_t now = allocated_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  if (now > most_allocated_bytes) most_allocated_bytes = now;
  return memory;
}
// Not inlined: gcc would see the free() of what a `new` has given.
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory) allocated_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  operator delete(memory);
}

// What is allocated since it was made: what is left of it, and the most of it that there was at once.
class Allocated {
 public:
  Allocated() : before_(allocated_bytes) { most_allocated_bytes = before_; }
  int64_t bytes() const { return allocated_bytes - before_; }
  int64_t most() const { return most_allocated_bytes - before_; }

 private:
  const int64_t before_;
};
