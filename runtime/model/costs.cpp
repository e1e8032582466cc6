// SPDX-License-Identifier: BSD-3-Clause
#include "model/costs.hpp"

#include <algorithm>
#include <bit>

namespace tutti::model {

double Bound::seconds() const {
  return std::max({rounds, card, core});
}

Bound bound_of(const Costs& costs, const Job& job, const Ask& ask) {
  using enum coll::Collective;
  const double nodes = job.nodes(), ranks = job.ranks, node_ranks = std::min(job.node_ranks, job.ranks);
  const auto bytes = static_cast<double>(ask.bytes);
  const int rounds = std::bit_width(static_cast<unsigned>(job.nodes() - 1));
  // How often what is known on a node has to be told within it: to one rank, and by one rank.
  const bool one_way = ask.kind == bcast || ask.kind == reduce || ask.kind == gather || ask.kind == scatter;
  Bound bound;
  bound.rounds = rounds * (costs.latency + 2 * costs.overhead);
  if (node_ranks > 1) bound.rounds += (one_way || nodes == 1 ? 1 : 2) * costs.flag;
  const double others = ranks - node_ranks;  // ranks of other nodes
  // Of a reduction on a node each rank has to show its vector, and all of them together to read all of these; and then
  // each has to take the result.
  double through_card = 0, through_core = 0;
  switch (ask.kind) {
    case barrier:
      break;
    case bcast:
      through_card = nodes > 1 ? bytes : 0;
      through_core = bytes;
      break;
    case reduce:
      through_card = nodes > 1 ? bytes : 0;
      through_core = node_ranks > 1 ? 2 * bytes : bytes;
      break;
    case allreduce:
      through_card = 2 * bytes * (nodes - 1) / nodes;
      through_core = node_ranks > 1 ? 3 * bytes : bytes;
      break;
    case allgather:
    case allgatherv:
      through_card = others * bytes;
      through_core = ranks * bytes;
      break;
    case reduce_scatter:
    case reduce_scatter_block:
      through_card = others * bytes;
      through_core = (node_ranks > 1 ? 2 : 1) * ranks * bytes;
      break;
    case alltoall:
      through_card = node_ranks * others * bytes;
      through_core = ranks * bytes;
      break;
    case gather:
    case scatter:  // the root's
      through_card = others * bytes;
      break;
    default:  // nothing better is known than that each rank touches its data
      through_core = bytes;
      break;
  }
  bound.card = through_card * costs.per_byte;
  bound.core = through_core * costs.copied_byte;
  return bound;
}

}  // namespace tutti::model
