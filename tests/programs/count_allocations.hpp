// SPDX-License-Identifier: BSD-3-Clause
// Counts the allocations of each thread. These functions come before those of libc, for the libraries
// as well; operator new calls them. For one source of a program.
#pragma once

#include <errno.h>

#include <cstddef>
#include <cstdlib>

inline thread_local long allocations = 0;

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  ++allocations;
  return __libc_realloc(block, size);
}
void* memalign(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  void* const found = memalign(alignment, size);
  if (!found) return ENOMEM;
  *block = found;
  return 0;
}
}
