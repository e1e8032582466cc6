// SPDX-License-Identifier: BSD-3-Clause
// Who can be asked whom it waits for: a call in which a thread stands, and a collective that goes on while no thread
// waits for it. The answer is a condition, and there is one question: the detector of deadlocks, `tutti why` and the
// checker's questions about collectives all ask it. Refuses to guess from posted receives, which may be of operations
// that the blocked call does not wait for.
// Everything here is asked with the engine owned, and only of what has waited for long: it costs what the answer costs.
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>
#include <vector>

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
  // `tutti why` is told anew whom it waits for once the wait has lasted so long.
  std::chrono::duration<uint32_t, std::milli> told_again{0};
  Blocked *next = nullptr, *previous = nullptr;
  bool listed = false;  // it has been idle for so long that it sleeps

  // Adds whose action it needs.
  void add_needs(Condition& needs) const TUTTI_ENGINE_OWNED { explain ? explain(why, needs) : void(needs.always()); }
};

// Something that goes on while no thread waits for it: a collective, which is an exec::Execution, or an agreement of those
// who survive failures.
struct UnderWay {
  // Adds whose action it needs next, side by side.
  void (*explain)(const UnderWay&, Condition& needs) = nullptr;
  uint64_t context = 0;
  uint32_t serial = 0;
  bool is_collective = true;
  UnderWay *next = nullptr, *previous = nullptr;

  void add_needs(Condition& needs) const TUTTI_ENGINE_OWNED { explain(*this, needs); }
};

// Whom a condition names, by process number.
struct Awaited {
  std::vector<int> processes;  // ascending
  bool some = false;           // the action of some of them may do
};
// The same of a condition of process `self`. A collective of its own that it waits for, and that is among those
// `under_way` there, is asked in turn: the first thousand. Itself it names only where there is nobody else.
Awaited awaited(const Condition& needs, int self, const UnderWay* under_way) TUTTI_ENGINE_OWNED;

}  // namespace tutti::life
