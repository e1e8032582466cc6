// SPDX-License-Identifier: BSD-3-Clause
// What a communicator knows of a virtual topology (the standard, chapter 8): who is a neighbour of
// whom. Plain data, constant once the communicator is handed out, and shared with its duplicates.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "coll/edges.hpp"

namespace tutti::mpi {

// Row-major: the last dimension varies fastest. `coordinates` are this rank's.
struct Cartesian {
  std::vector<int> dims;
  std::vector<char> periodic;  // by dimension
  std::vector<int> coordinates;
};

// The whole graph, as MPI_Graph_create was given it.
struct Graph {
  std::vector<int> index;  // by rank: where the neighbours of the next one begin in `edges`
  std::vector<int> edges;
};

// This rank's part of a distributed graph; the neighbours are in VirtualTopology::edges. No weights: it was
// made with MPI_UNWEIGHTED.
struct DistributedGraph {
  bool weighted = false;
  std::vector<int> source_weights, destination_weights;
};

struct VirtualTopology {
  std::variant<Cartesian, Graph, DistributedGraph> kind;
  coll::Edges edges;  // of this rank, as neighbourhood collectives use them
  // Of a graph that MPI_Graph_create was given: a rank whose edges to this one are not as many as this one's to it, so
  // that neighbourhood collectives are not for it. None: coll::kNobody.
  int one_way = coll::kNobody;
  // Of a distributed graph with an edge that only one of its ends names: who, the same on all ranks, for none of which
  // neighbourhood collectives are then. Empty: none is known.
  std::string one_sided = {};

  const Cartesian* cartesian() const { return std::get_if<Cartesian>(&kind); }
  const Graph* graph() const { return std::get_if<Graph>(&kind); }
  const DistributedGraph* distributed() const { return std::get_if<DistributedGraph>(&kind); }
};

}  // namespace tutti::mpi
