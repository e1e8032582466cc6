// SPDX-License-Identifier: BSD-3-Clause
// What the chapter of processes (mpi/process/) does for those below it, which know nothing of other jobs.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/result.hpp"

namespace tutti::mpi {

class Comm;
template <class T>
class Ref;

// Gives the leader of another group a text, and returns its one.
using Swap = std::function<std::string(const std::string& mine)>;

// One object for the whole process, which that chapter sets.
struct OtherJobs {
  // Set once another job has been met. Ends what else ends with this job: MPI_ERRORS_ARE_FATAL ends all processes that
  // are connected (the standard, section 9.3). `owned`: the engine is, by this thread. Tells the others, and does not
  // wait for long.
  std::atomic<void (*)(int code, bool owned)> end{nullptr};
  // An intercommunicator of `local`, whose rank `leader` speaks for it, and of a group that calls the same with the
  // other value of `accepts`: where processes of several jobs are among them, which know each other by other numbers,
  // or not at all. The leader alone calls `swap`. Set when the library is loaded.
  Result<Ref<Comm>> (*join_apart)(Comm& local, int leader, bool accepts, const Swap& swap) = nullptr;
};
inline constinit OtherJobs other_jobs;

inline void end_all_connected(int code, bool owned) {
  if (auto* const tell = other_jobs.end.load(std::memory_order_acquire)) tell(code, owned);
}

}  // namespace tutti::mpi
