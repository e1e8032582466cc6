// SPDX-License-Identifier: BSD-3-Clause
// Who can be asked whom it waits for: a call in which a thread stands, and a collective that goes on while no thread
// waits for it. The answer is a condition.
// Everything here is asked with the engine owned, and only of what has waited for long: it costs what the answer costs.
#pragma once

#include <cstdint>

#include "base/engine_owned.hpp"
#include "life/condition.hpp"

namespace tutti::flight {
struct Thread;
}

namespace tutti::life {

// A thread in a call that waits (Engine::wait_until()).
struct Blocked {
  void (*explain)(void* why, Condition& needs) = nullptr;  // nullptr: nobody knows
  void* why = nullptr;
  const flight::Thread* call = nullptr;  // what it is in; nullptr: not recorded
  int thread = 0;                        // the kernel's id of it
  Blocked *next = nullptr, *previous = nullptr;
  bool listed = false;  // it has been idle for so long that it sleeps

  // Adds whose action it needs.
  void add_needs(Condition& needs) const TUTTI_ENGINE_OWNED { explain ? explain(why, needs) : void(needs.always()); }
};

// Something that goes on while no thread waits for it: a collective.
struct UnderWay {
  // Adds whose action it needs next, side by side.
  void (*explain)(const UnderWay&, Condition& needs) = nullptr;
  uint64_t context = 0;
  uint32_t serial = 0;
  UnderWay *next = nullptr, *previous = nullptr;

  void add_needs(Condition& needs) const TUTTI_ENGINE_OWNED { explain(*this, needs); }
};

}  // namespace tutti::life
