// SPDX-License-Identifier: BSD-3-Clause
// Who takes which place in a topology that a communicator is given, by what all its ranks know alike.
#pragma once

#include "mpi/comm/comm.hpp"
#include "mpi/topology/reorder.hpp"

namespace tutti::mpi::topology {

// Whether the first `ranks` of them are on several nodes, or, on one, on several sockets, NUMA nodes or caches, as far as
// is known: else nothing is gained by other places. The same on all of them.
bool are_apart(const Comm& comm, int ranks);

// By vertex: the rank in `comm` that takes it; of the first ranks, as many as there are ties. Local: which of the ranks of
// another node takes which of its vertices is known there alone. `dims` as placed().
std::vector<int> ranks_by_place(const Comm& comm, const Ties& ties, std::span<const int> dims = {});

// The vertex that this rank takes.
int place_of_this_rank(const Comm& comm, const std::vector<int>& rank_of);

}  // namespace tutti::mpi::topology
