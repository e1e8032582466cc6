// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/beside.hpp"

#include <atomic>
#include <system_error>
#include <thread>

#include "base/signals.hpp"
#include "engine/engine.hpp"
#include "mpi/object/current.hpp"

namespace tutti::mpi::processes {

void do_beside(const std::function<void()>& work, const Awaited* awaited, const std::function<void()>& look) {
  engine::Engine& engine = engine_of_process();
  std::atomic<bool> done{false};
  const auto perform = [&] {
    work();
    // Whoever leaves the engine wakes those who can go on.
    const engine::Engine::Guard own(engine);
    done.store(true, std::memory_order_release);
  };
  std::thread thread;
  try {
    const SignalsBlocked none;
    thread = std::thread(perform);
  } catch (const std::system_error&) {
    return work();  // a limit on threads
  }
  {
    const engine::Engine::Guard own(engine);
    engine.wait_for_thread(1);
    engine.wait_until(
        [&] {
          if (look) look();
          return done.load(std::memory_order_acquire);
        },
        [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
          const int process = awaited ? awaited->load() : kNobody;
          process == kNobody ? void(needs.always()) : void(needs.process(process));
        });
    engine.wait_for_thread(-1);
  }
  thread.join();
}

}  // namespace tutti::mpi::processes
