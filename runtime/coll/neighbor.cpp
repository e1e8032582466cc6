// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives: a block along each edge, or the same data along all of them. Nobody but
// the neighbours takes part, so that there is one way that is good for all: every message at once.
#include "base/log.hpp"
#include "coll/algorithm.hpp"

namespace tutti::coll {
namespace {

// Cost: a message for each edge, none waiting for another. A block for this rank itself is copied.
//
//   4 ranks in a ring, each with its left and its right one as edges 0 and 1:
//   rank 1 sends block 0 to 0, where it is block 1, and block 1 to 2, where it is block 0
Plan neighbor_linear(const Shape& s) {
  PlanBuilder plan(s);
  const Edges& edges = *s.edges;
  const bool one_for_all = row_of(s.kind).input == Holds::block;
  std::vector<int> to_myself;  // blocks of the output that come from this rank
  for (const int block : edges.receiving) {
    const int source = edges.sources[static_cast<size_t>(block)];
    if (source == kNobody) continue;
    if (source == s.rank)
      to_myself.push_back(block);
    else
      plan.recv(plan.out_block(block), source);
  }
  size_t from_myself = 0;
  for (size_t i = 0; i < edges.destinations.size(); ++i) {
    const int destination = edges.destinations[i];
    if (destination == kNobody) continue;
    const Buf block = one_for_all ? plan.in() : plan.in_block(static_cast<int>(i));
    if (destination != s.rank) {
      plan.send(block, destination);
    } else if (from_myself < to_myself.size()) {
      plan.copy(block, plan.out_block(to_myself[from_myself++]));
    }
  }
  return plan.done();
}

constexpr Algorithm kNeighbor[] = {
    {.name = "linear", .when = "always", .build = neighbor_linear},
};

}  // namespace

std::span<const Algorithm> neighbor_algorithms() {
  return kNeighbor;
}

}  // namespace tutti::coll
