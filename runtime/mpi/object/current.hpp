// SPDX-License-Identifier: BSD-3-Clause
// What calls of MPI ask of this process, part by part: a chapter that needs the engine or the job need not know all
// that a process is (process.hpp), and need not be compiled anew when that changes.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/engine_owned.hpp"

namespace tutti::boot {
class Membership;
}
namespace tutti::contract {
class Checker;
}
namespace tutti::engine {
class Engine;
}

namespace tutti::mpi {

class Comm;
class HasErrhandler;
struct Process;

// Whether calls of MPI are allowed (the standard, section 11.4): `running` between MPI_Init and
// MPI_Finalize, still in the callbacks that it makes, and while there is a session. Otherwise it tells what
// has become of the World Model.
enum class Phase : int { before_init, running, finalized };

// One object for the whole process, because the shortest calls read it: they go through no pointer to find it.
// env/instance.cpp writes it but for `completions`.
struct Current {
  std::atomic<Phase> phase{Phase::before_init};
  // On which errors are raised that belong to no object: MPI_COMM_SELF between MPI_Init and MPI_Finalize.
  // nullptr: there is none, and the initial error handler is called. Written with `phase`.
  std::atomic<HasErrhandler*> on_no_object{nullptr};
  Process* process = nullptr;        // nullptr before MPI_Init
  engine::Engine* engine = nullptr;  // the process' own
  Comm* world = nullptr;             // the program's between MPI_Init and MPI_Finalize alone
  Comm* self = nullptr;
  // Several threads may be in calls of MPI at once (MPI_THREAD_MULTIPLE). Set before the call that allows it
  // returns, and never reset.
  bool concurrent_calls = false;
  boot::Membership* failed_job =
      nullptr;  // after a failed initialization: the job to end, if it had been joined by then
  // Requests completed so far, apart from what other threads read in each call.
  alignas(64) uint64_t completions TUTTI_OWNERS = 0;
};
inline constinit Current current;

// These are valid while phase is running. Any thread.
inline engine::Engine& engine_of_process() {
  return *current.engine;
}
boot::Membership& own_job();
bool has_launcher();               // false: the program was started by itself, and is the only rank
contract::Checker* own_checker();  // nullptr when switched off
// My process number: my rank in MPI_COMM_WORLD.
int my_process();

}  // namespace tutti::mpi
