// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a communicator share a node's memory, also those of other jobs.
#pragma once

#include "functions.hpp"
#include "mpi/comm/comm.hpp"

namespace tutti::mpi {

// A number that the ranks on this node have in common, and no others of the communicator, those of the other group
// included. Collective where the communicator spans jobs, for `function`; engine not owned.
Result<int> node_of(Comm& comm, Function function);

// Whether all ranks are on one node. Likewise; the same on all ranks.
Result<bool> is_on_one_node(Comm& comm, Function function);

}  // namespace tutti::mpi
