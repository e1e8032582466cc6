// SPDX-License-Identifier: BSD-3-Clause
// Arrays of Fortran that the call which this thread is in has been given as buffers by mpi_f08, with --check=strict: how
// long they are. Nothing is known in a call from another place in the program. Of the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti::mpi::known_arrays {

struct Array {
  uintptr_t begin = 0;
  size_t bytes = 0;
};

// By a call at `caller`. Of one of which nothing is known, `bytes` is kUntold.
inline constexpr size_t kUntold = static_cast<size_t>(-1);
void note(const void* base, size_t bytes, uint64_t caller);

// The one of this call in which the address lies.
std::optional<Array> at(uintptr_t address);

}  // namespace tutti::mpi::known_arrays
