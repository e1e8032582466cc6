// SPDX-License-Identifier: BSD-3-Clause
// Work that blocks, such as waiting for a socket, beside the engine: a thread of its own does it, while the calling
// one drives the engine as in any other call of MPI. So operations under way go on, and nobody polls.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

namespace tutti::mpi::processes {

// Whose call of MPI the work cannot go on without at the moment: a process' number, which the thread that works sets;
// kNobody where that is not known, as while the other side is at it.
using Awaited = std::atomic<int>;
inline constexpr int kNobody = -1;

// Returns when the work is done. It may be done by the calling thread, without progress, where no thread can be made.
// `awaited`: nullptr, or what the detector of deadlocks hears meanwhile. `look`: called again and again meanwhile, with the
// engine owned; may be empty.
void do_beside(const std::function<void()>& work, const Awaited* awaited = nullptr,
               const std::function<void()>& look = {});

// The same of work that has a result.
template <class Work>
auto beside(Work work, const Awaited* awaited = nullptr, const std::function<void()>& look = {}) -> decltype(work()) {
  std::optional<decltype(work())> result;
  do_beside([&] { result.emplace(work()); }, awaited, look);
  return *std::move(result);
}

}  // namespace tutti::mpi::processes
