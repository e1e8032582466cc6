// SPDX-License-Identifier: BSD-3-Clause
// What the two jobs of MPI_Comm_spawn know of each other beside their connection. The children's launcher holds one
// end of a socket whose other end is the spawning process': that it closes tells of an end to either side. A job whose
// parent is gone ends, unless it was let be before.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.hpp"

namespace tutti::mpi::processes {

// In the environment of spawned ranks: the port of the root among their parents.
inline constexpr const char* kParentVariable = "TUTTI_PARENT";

// The children that this process has started for the communicator with this context are on their own from here on.
void let_children_be(uint64_t context);
void let_children_be();  // all of them
// The launcher of the child that this process has started for that communicator, if there is one, has ended, or it takes
// long. Any thread, without the engine.
void await_launcher(uint64_t context);

// ---- for the start and the end of a process

// How long MPI_Comm_connect waits for its answer, where no hint says so; 0: for ever.
void set_connect_timeout(std::chrono::milliseconds time);
// If another job has spawned this one: connects with it. Collective over MPI_COMM_WORLD.
Error meet_parent();
// Everything of this chapter ends: connections with a farewell, names, ports.
void leave_connected_jobs();

}  // namespace tutti::mpi::processes
