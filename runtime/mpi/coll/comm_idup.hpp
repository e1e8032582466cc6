// SPDX-License-Identifier: BSD-3-Clause
// The part of a duplicate with a request that calls with attributes and calls without them have in common.
#pragma once

#include "base/result.hpp"
#include "mpi/comm/comm.hpp"

namespace tutti::mpi {

// Collective: leaves a request, behind whose completion `made`, of begin_duplicate(), has the context that its first rank
// has offered. Its error: there was none left. An Error: nothing has been started.
Error find_context(Comm& comm, const Ref<Comm>& made, MPI_Request* request);

}  // namespace tutti::mpi
