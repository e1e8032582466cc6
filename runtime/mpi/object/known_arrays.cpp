// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/known_arrays.hpp"

#include "mpi/object/incident.hpp"

namespace tutti::mpi::known_arrays {
namespace {

struct Known {
  Array array;
  uint64_t caller = 0;
};
// The two buffers of a collective.
struct Latest {
  Known arrays[2];
  size_t next = 0;
};
constinit thread_local Latest latest;

}  // namespace

void note(const void* base, size_t bytes, uint64_t caller) {
  const Known noted{{reinterpret_cast<uintptr_t>(base), bytes}, caller};
  for (Known& known : latest.arrays)
    if (known.array.begin == noted.array.begin) return void(known = noted);
  latest.arrays[latest.next] = noted;
  latest.next = 1 - latest.next;
}

std::optional<Array> at(uintptr_t address) {
  for (const auto& [array, caller] : latest.arrays)
    if (caller != 0 && caller == here().caller && array.bytes != kUntold && address >= array.begin &&
        address - array.begin < array.bytes)
      return array;
  return {};
}

}  // namespace tutti::mpi::known_arrays
