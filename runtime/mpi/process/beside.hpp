// SPDX-License-Identifier: BSD-3-Clause
// Work that blocks, such as waiting for a socket, beside the engine: a thread of its own does it, while the calling
// one drives the engine as in any other call of MPI. So operations under way go on, and nobody polls.
#pragma once

#include <functional>
#include <optional>
#include <utility>

namespace tutti::mpi::processes {

// Returns when the work is done. It may be done by the calling thread, without progress, where no thread can be made.
void do_beside(const std::function<void()>& work);

// The same of work that has a result.
template <class Work>
auto beside(Work work) -> decltype(work()) {
  std::optional<decltype(work())> result;
  do_beside([&] { result.emplace(work()); });
  return *std::move(result);
}

}  // namespace tutti::mpi::processes
