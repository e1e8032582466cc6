// SPDX-License-Identifier: BSD-3-Clause
// How often this process has called each function of MPI. The functions are numbered as in
// functions.hpp; the counters are defined by the generated entry points.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::lib {

extern std::atomic<uint64_t> counters[];

// A plain load and store: cheaper than an atomic addition on every call. Two threads that call the
// same function at the same instant may count one call instead of two.
inline void count_call(int function) {
  auto& counter = counters[function];
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace tutti::lib
