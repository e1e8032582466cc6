// SPDX-License-Identifier: BSD-3-Clause
// The algorithms for ranks on several nodes that have more than one of them: within each node to or
// from a leader, between the leaders, and within the nodes again, so that what crosses the network
// crosses it once for each pair of nodes and not for each pair of ranks. Every part is itself a
// plan, chosen by the rules for the ranks that it concerns: shared memory within a node where the
// rules prefer it, messages between the leaders.
#pragma once

#include <string_view>

#include "coll/plan.hpp"

namespace tutti::coll {

// Why the shape's ranks cannot be taken by nodes; empty if they can. The same on every rank.
std::string_view objection_to_levels(const Shape& s);

Plan hierarchical_barrier(const Shape& s);
Plan hierarchical_bcast(const Shape& s);
Plan hierarchical_reduce(const Shape& s);
Plan hierarchical_allreduce(const Shape& s);
Plan hierarchical_gather(const Shape& s);
Plan hierarchical_scatter(const Shape& s);
Plan hierarchical_allgather(const Shape& s);
Plan hierarchical_allgatherv(const Shape& s);
Plan hierarchical_alltoall(const Shape& s);
Plan hierarchical_reduce_scatter(const Shape& s);

}  // namespace tutti::coll
