// SPDX-License-Identifier: BSD-3-Clause
// What this process does and needs, for the detector of deadlocks (contract/standstill.hpp), which asks for no more than
// it tells just then: it may be asked often, and while the program computes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/engine_owned.hpp"
#include "contract/deadlock.hpp"

namespace tutti::engine {
class Engine;
}
namespace tutti::life {
struct Blocked;
}

namespace tutti::contract {

// What the engine does not know. All are called with it owned.
struct Witness {
  // May no thread act but those that stand in blocking calls (Engine::blocked())?
  std::function<bool()> all_threads_blocked;
  // Fills in what the report says of the call that a thread is in.
  std::function<void(const life::Blocked&, BlockedThread&)> describe;
  // ProcessState::lying of this process; nullptr: nobody asks.
  std::function<std::vector<Lying>()> lying = nullptr;
  // This process calls MPI no more: who waits for it waits in vain. nullptr: it may always.
  std::function<bool()> has_ended = nullptr;
};

// `is_described`: with what a report says.
ProcessState own_state(engine::Engine& engine, const Witness& witness, bool is_described) TUTTI_ENGINE_OWNED;
// ProcessState::sent and received; `among`: ascending.
void count_messages(engine::Engine& engine, std::span<const int> among, ProcessState& state) TUTTI_ENGINE_OWNED;

}  // namespace tutti::contract
