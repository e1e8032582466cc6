// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the executor share beside the execution itself: its messages, and addresses.
#pragma once

#include <cstdint>

#include "exec/execution.hpp"

namespace tutti::coll {

// Copies of so many bytes or more go another way than those that end before it has been found.
inline constexpr int64_t kLongCopy = 4 << 10;

// By numbers: a base may be MPI_BOTTOM, and an element may begin before its memory.
inline void* moved(const void* base, int64_t bytes) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(bytes));
}

struct Execution::BoundSend : engine::SendOperation {
  uint32_t step = 0;
  bool under_way = false;
};
struct Execution::BoundRecv : engine::RecvOperation {
  uint32_t step = 0;
};

}  // namespace tutti::coll
