// SPDX-License-Identifier: BSD-3-Clause
// Work that blocks, such as waiting for a socket, beside the engine: a thread of its own does it, while the calling
// one drives the engine as in any other call of MPI. So operations under way go on, and nobody polls.
#pragma once

#include <atomic>
#include <optional>
#include <system_error>
#include <thread>

#include "base/signals.hpp"
#include "mpi/object/process.hpp"

namespace tutti::mpi {

template <class Work>
auto beside(Work work) -> decltype(work()) {
  engine::Engine& engine = engine_of_process();
  std::optional<decltype(work())> result;
  std::atomic<bool> done{false};
  const auto perform = [&] {
    result.emplace(work());
    // Whoever leaves the engine wakes those who can go on.
    const engine::Engine::Guard own(engine);
    done.store(true, std::memory_order_release);
  };
  std::thread thread;
  try {
    const SignalsBlocked none;
    thread = std::thread(perform);
  } catch (const std::system_error&) {
    return work();  // a limit on threads: then without progress
  }
  {
    const engine::Engine::Guard own(engine);
    engine.wait_for_thread(1);
    engine.wait_until([&] { return done.load(std::memory_order_acquire); });
    engine.wait_for_thread(-1);
  }
  thread.join();
  return *std::move(result);
}

}  // namespace tutti::mpi
