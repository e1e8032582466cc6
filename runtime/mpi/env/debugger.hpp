// SPDX-License-Identifier: BSD-3-Clause
// mpirun --stop-on-start: a rank waits at the end of MPI_Init until somebody has it in hand.
#pragma once

#include "boot/joining.hpp"

namespace tutti::mpi::env {

// Returns at once unless the environment asks for it (TUTTI_STOP_ON_START). Otherwise when a debugger is attached to
// this process and has let it go on, or when SIGCONT comes, which mpirun passes on to all ranks. Threads: any.
void wait_for_debugger(const boot::JobInfo& job);

}  // namespace tutti::mpi::env
