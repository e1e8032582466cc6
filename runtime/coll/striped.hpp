// SPDX-License-Identifier: BSD-3-Clause
// The algorithms for long vectors, and for many short blocks, on several nodes that have more than one of the ranks: all
// ranks of a node carry a stripe each, so that none of them has to carry what the node sends and receives, and every core takes
// part. Stripes are cut by a rank's number on its node. Every part is itself a plan, chosen by the rules for the ranks
// that it concerns.
#pragma once

#include "coll/plan.hpp"

namespace tutti::coll {

Plan striped_allreduce(const Shape& s);
Plan striped_reduce_scatter(const Shape& s);
// Needs equal nodes.
Plan striped_alltoall(const Shape& s);

}  // namespace tutti::coll
