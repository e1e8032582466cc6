// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topology/places.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <sstream>
#include <string>

#include "base/process_sets.hpp"
#include "boot/joining.hpp"
#include "members/processes.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/process.hpp"

namespace tutti::mpi::topology {
namespace {

// By rank, of the first ones: the node; empty where that is not known.
std::vector<int> nodes_of(const Comm& comm, int ranks) {
  const std::vector<int>& node_of = comm.process.processes->nodes();
  std::vector<int> nodes;
  for (int r = 0; r < ranks; ++r) {
    const auto member = static_cast<size_t>(comm.process_of(r));
    if (member >= node_of.size()) return {};
    nodes.push_back(node_of[member]);
  }
  return nodes;
}

using Levels = std::vector<std::vector<int>>;

bool are_equal(const std::vector<int>& labels) {
  return std::ranges::adjacent_find(labels, std::ranges::not_equal_to()) == labels.end();
}

// By process, what the launcher tells of this node's ranks, level by level; of other nodes each rank knows nothing. All
// ranks of a node know the same, and no rank need know who takes which place on another one.
std::map<int, std::vector<int>> places_on_node() {
  const char* told = std::getenv(kNodePlacesVariable);
  const std::vector<int>& ranks = own_job().view().node_ranks;
  std::map<int, std::vector<int>> places;
  if (!told) return places;
  std::istringstream texts(told);
  std::string text;
  for (const int rank : ranks) {
    if (!std::getline(texts, text, ',')) return {};
    std::vector<int>& levels = places[rank];
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, '.');)
      levels.push_back(part == "-" ? -1 : std::atoi(part.c_str()));
    if (levels.size() != places.begin()->second.size()) return {};
  }
  return places;
}

// The levels that tell some of the first `ranks` of them apart.
Levels levels_of(const Comm& comm, int ranks) {
  static const auto& places = *new std::map<int, std::vector<int>>(places_on_node());
  Levels levels(places.empty() ? 0 : places.begin()->second.size());
  for (size_t level = 0; level < levels.size(); ++level)
    for (int r = 0; r < ranks; ++r) {
      const auto place = places.find(comm.process_of(r));
      levels[level].push_back(place == places.end() ? -1 : place->second[level]);
    }
  std::erase_if(levels, are_equal);
  return levels;
}

}  // namespace

bool are_apart(const Comm& comm, int ranks) {
  const std::vector<int> nodes = nodes_of(comm, ranks);
  if (nodes.empty()) return false;
  return !are_equal(nodes) || !levels_of(comm, ranks).empty();
}

std::vector<int> ranks_by_place(const Comm& comm, const Ties& ties, std::span<const int> dims) {
  const auto ranks = static_cast<int>(ties.size());
  const std::vector<int> nodes = nodes_of(comm, ranks);
  if (nodes.size() == ties.size()) return placed_within(ties, placed(ties, nodes, dims), levels_of(comm, ranks));
  std::vector<int> as_they_are(ties.size());
  std::iota(as_they_are.begin(), as_they_are.end(), 0);
  return as_they_are;
}

int place_of_this_rank(const Comm& comm, const std::vector<int>& rank_of) {
  return static_cast<int>(std::ranges::find(rank_of, comm.rank()) - rank_of.begin());
}

}  // namespace tutti::mpi::topology
