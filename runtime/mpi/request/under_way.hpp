// SPDX-License-Identifier: BSD-3-Clause
// What of a communicator's communication is not complete yet.
#pragma once

#include "mpi/comm/comm.hpp"

namespace tutti::mpi {

// Waits until nothing of the program's is under way on a communicator.
void await_communication(Comm& comm);

}  // namespace tutti::mpi
