// SPDX-License-Identifier: BSD-3-Clause
// What else ends when an error ends this job: MPI_ERRORS_ARE_FATAL ends all processes that are connected (the standard,
// section 9.3). The chapter of processes sets this when the first other job is met.
#pragma once

#include <atomic>

namespace tutti::mpi {

// `owned`: the engine is, by this thread. Tells the others, and does not wait for long.
inline std::atomic<void (*)(int code, bool owned)> end_connected_jobs{nullptr};

inline void end_all_connected(int code, bool owned) {
  if (auto* const tell = end_connected_jobs.load(std::memory_order_acquire)) tell(code, owned);
}

}  // namespace tutti::mpi
