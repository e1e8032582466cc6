// SPDX-License-Identifier: BSD-3-Clause
// What MPI_Init and MPI_Session_init make, counted. The first of them opens the process: it joins
// the job, makes the transport, the engine and the checker, and waits for all ranks of the job,
// since that is collective. Those that follow are local. MPI_Finalize closes the process again if
// it has never had a session; else it stays open until its exit, so that sessions may come and go
// without the others.
#pragma once

#include <atomic>
#include <optional>

#include "base/result.hpp"
#include "engine/wait/progress.hpp"
#include "mpi/object/incident.hpp"

namespace tutti::mpi {
struct Process;
}

namespace tutti::mpi::env {

// The World Model begins; `level` is one of the thread levels, and holds from then on.
Error begin_world(int level);
// After the callbacks of MPI_Finalize; collective over the job.
Error end_world();
// The program has returned or called exit, and no session is left: nobody calls MPI any more. Any thread.
bool is_at_exit();
bool is_forked();  // this process is a child of the one that has begun MPI
// MPI_Init and MPI_Finalize are called once in the life of a process, by one thread each.
struct CallsOfWorld {
  std::atomic<bool> initializing{false}, finalizing{false};
};
CallsOfWorld& calls_of_world();
bool world_has_begun();  // and may have ended
bool world_has_ended();
int world_thread_level();
bool is_main_thread();  // the one that has begun the World Model

// There is one session more, of this thread level, or one less. Any thread.
Error begin_session(int level);
void end_session();
// Where the program has ended its latest one; without a caller: nowhere. Any thread, at any time.
CallSite latest_session_end();

// opening.cpp. `ticks`: of the progress thread, if there is to be one. `report_only`: findings end
// nothing.
Error open_process(Process& p, std::optional<engine::Ticks>& ticks, bool& report_only);

}  // namespace tutti::mpi::env
