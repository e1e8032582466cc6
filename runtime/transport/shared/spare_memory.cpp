// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared/spare_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace tutti::transport {

std::unique_ptr<SpareMemory> SpareMemory::map(int descriptor, size_t bytes) {
  if (descriptor < 0) return nullptr;
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (base != MAP_FAILED)
    return std::unique_ptr<SpareMemory>(new SpareMemory(descriptor, static_cast<std::byte*>(base), bytes));
  close(descriptor);
  return nullptr;
}

SpareMemory::~SpareMemory() {
  munmap(base_, bytes_);
  close(descriptor_);
}

}  // namespace tutti::transport
