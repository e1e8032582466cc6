// SPDX-License-Identifier: BSD-3-Clause
// Collectives between the two groups of an intercommunicator: plans over the union of both
// (base/sides.hpp). Each row of the table has one way, which needs nothing; rules do not choose here. Prefix
// operations are for one group.
#pragma once

#include "coll/algorithm.hpp"

namespace tutti::coll {

extern const Algorithm barrier_between, bcast_between, gather_between, scatter_between, allgather_between,
    alltoall_between, reduce_between, allreduce_between, reduce_scatter_between;

}  // namespace tutti::coll
