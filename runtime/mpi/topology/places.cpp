// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topology/places.hpp"

#include <algorithm>
#include <numeric>

#include "mpi/object/process.hpp"

namespace tutti::mpi {
namespace {

// By rank, of the first ones: the node; empty where that is not known.
std::vector<int> nodes_of(const Comm& comm, int ranks) {
  const engine::Engine::Guard own(comm.engine());
  Process& p = comm.process;
  if (p.node_of.empty()) p.node_of = p.job->nodes();
  std::vector<int> nodes;
  for (int r = 0; r < ranks; ++r) {
    const auto member = static_cast<size_t>(comm.process_of(r));
    if (member >= p.node_of.size()) return {};
    nodes.push_back(p.node_of[member]);
  }
  return nodes;
}

}  // namespace

bool are_apart(const Comm& comm, int ranks) {
  const std::vector<int> nodes = nodes_of(comm, ranks);
  return std::ranges::adjacent_find(nodes, std::ranges::not_equal_to()) != nodes.end();
}

std::vector<int> ranks_by_place(const Comm& comm, const Ties& ties, std::span<const int> dims) {
  const std::vector<int> nodes = nodes_of(comm, static_cast<int>(ties.size()));
  if (nodes.size() == ties.size()) return placed(ties, nodes, dims);
  std::vector<int> as_they_are(ties.size());
  std::iota(as_they_are.begin(), as_they_are.end(), 0);
  return as_they_are;
}

int place_of_this_rank(const Comm& comm, const std::vector<int>& rank_of) {
  return static_cast<int>(std::ranges::find(rank_of, comm.rank()) - rank_of.begin());
}

}  // namespace tutti::mpi
