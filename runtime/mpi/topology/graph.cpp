// SPDX-License-Identifier: BSD-3-Clause
// Graph topologies of which every rank knows the whole, and MPI_Topo_test.
#include <algorithm>

#include "functions.hpp"
#include "mpi/comm/agreement.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/topology/api_topology.hpp"
#include "mpi/topology/places.hpp"

namespace tutti::mpi::topology {
namespace {

Error graph_valid(const Comm& comm, int nnodes, const int* index, const int* edges) {
  if (nnodes < 0 || nnodes > comm.size())
    return failure(MPI_ERR_ARG, "{} nodes for a communicator of {} ranks (argument nnodes)", nnodes, comm.size());
  if (nnodes > 0 && !index) return failure(MPI_ERR_ARG, "the array is NULL (argument index)");
  for (int i = 0; i < nnodes; ++i)
    if (index[i] < (i > 0 ? index[i - 1] : 0))
      return failure(MPI_ERR_ARG,
                     "entry {} is {}, less than the one before: each says where a node's neighbours end "
                     "(argument index)",
                     i, index[i]);
  const int count = nnodes > 0 ? index[nnodes - 1] : 0;
  if (count > 0 && !edges) return failure(MPI_ERR_ARG, "the array is NULL (argument edges)");
  for (int i = 0; i < count; ++i)
    if (edges[i] < 0 || edges[i] >= nnodes)
      return failure(MPI_ERR_ARG, "entry {} is {}, and the graph has nodes 0 to {} (argument edges)", i, edges[i],
                     nnodes - 1);
  return {};
}

Result<const Graph*> graph_of(const Comm& comm) {
  const Graph* graph = comm.topology ? comm.topology->graph() : nullptr;
  if (!graph)
    return failure(MPI_ERR_TOPOLOGY,
                   "the communicator has no graph topology that MPI_Graph_create made (argument comm)");
  return graph;
}

std::span<const int> edges_of(const Graph& graph, int rank) {
  const auto at = static_cast<size_t>(rank);
  const int begin = rank > 0 ? graph.index[at - 1] : 0;
  return std::span(graph.edges).subspan(static_cast<size_t>(begin), static_cast<size_t>(graph.index[at] - begin));
}

// The neighbours of a rank.
Result<std::span<const int>> neighbors_of(const Comm& comm, int rank) {
  Result<const Graph*> found = graph_of(comm);
  if (!found) return std::move(found).error();
  if (rank < 0 || rank >= comm.size())
    return failure(MPI_ERR_RANK, "the communicator has ranks 0 to {}, not {} (argument rank)", comm.size() - 1, rank);
  return edges_of(**found, rank);
}

// A rank that has other edges to `rank` than that one to it: MPI_Graph_create allows it, neighbourhood collectives do
// not.
int one_way_to(const Graph& graph, int rank) {
  std::vector<int> more(graph.index.size());  // by rank: edges to it, less those from it
  for (const int peer : edges_of(graph, rank)) ++more[static_cast<size_t>(peer)];
  for (size_t peer = 0; peer < more.size(); ++peer)
    more[peer] -= static_cast<int>(std::ranges::count(edges_of(graph, static_cast<int>(peer)), rank));
  const auto found = std::ranges::find_if(more, [](int n) { return n != 0; });
  return found == more.end() ? coll::kNobody : static_cast<int>(found - more.begin());
}

// The node that this rank takes, if the ranks may be others than they were.
int best_place(const Comm& comm, int nnodes, const int* index, const int* edges) {
  if (!are_apart(comm, nnodes)) return comm.rank();
  Ties ties(static_cast<size_t>(nnodes));
  for (int node = 0, at = 0; node < nnodes; ++node)
    for (; at < index[node]; ++at) ties[static_cast<size_t>(node)].push_back({edges[at]});
  return place_of_this_rank(comm, ranks_by_place(comm, ties));
}

}  // namespace

Error topo_test(Comm& comm, int* status) {
  const VirtualTopology* topology = comm.topology.get();
  if (!topology)
    *status = MPI_UNDEFINED;
  else if (topology->cartesian())
    *status = MPI_CART;
  else
    *status = topology->distributed() ? MPI_DIST_GRAPH : MPI_GRAPH;
  return {};
}

Error graph_create(Comm& comm, int nnodes, const int* index, const int* edges, int reorder, MPI_Comm* comm_graph) {
  if (Error e = graph_valid(comm, nnodes, index, edges)) return e;
  const bool takes_part = comm.rank() < nnodes;
  const int place = reorder && takes_part ? best_place(comm, nnodes, index, edges) : comm.rank();
  Given given;
  if (Given::is_asked_for(comm)) {
    given.add("nnodes", nnodes);
    given.add("index", {index, static_cast<size_t>(nnodes)});
    given.add("edges", {edges, static_cast<size_t>(nnodes > 0 ? index[nnodes - 1] : 0)});
    given.add_truth("reorder", reorder != 0);
  }
  if (Error e = divide(comm, Function::Graph_create, takes_part ? 0 : MPI_UNDEFINED, place, given, comm_graph))
    return e;
  if (*comm_graph == MPI_COMM_NULL) return {};
  Comm& made = *resolve<Comm>(*comm_graph);
  Graph graph{{index, index + nnodes}, {edges, edges + index[nnodes - 1]}};
  const auto rank = static_cast<size_t>(made.rank());
  const int begin = rank > 0 ? index[rank - 1] : 0;
  coll::Edges mine;
  for (int i = begin; i < index[rank]; ++i) {
    mine.receiving.push_back(static_cast<int>(mine.sources.size()));
    mine.sources.push_back(edges[i]);
  }
  mine.destinations = mine.sources;
  const int peer = one_way_to(graph, made.rank());
  made.topology = std::make_shared<const VirtualTopology>(VirtualTopology{std::move(graph), std::move(mine), peer});
  return {};
}

Error graph_map(Comm& comm, int nnodes, const int* index, const int* edges, int* newrank) {
  if (Error e = graph_valid(comm, nnodes, index, edges)) return e;
  *newrank = comm.rank() < nnodes ? best_place(comm, nnodes, index, edges) : MPI_UNDEFINED;
  return {};
}

Error graphdims_get(Comm& comm, int* nnodes, int* nedges) {
  Result<const Graph*> graph = graph_of(comm);
  if (!graph) return std::move(graph).error();
  *nnodes = static_cast<int>((*graph)->index.size());
  *nedges = static_cast<int>((*graph)->edges.size());
  return {};
}

Error graph_get(Comm& comm, int maxindex, int maxedges, int* index, int* edges) {
  Result<const Graph*> found = graph_of(comm);
  if (!found) return std::move(found).error();
  const Graph& graph = **found;
  const size_t nodes = std::min(graph.index.size(), static_cast<size_t>(maxindex));
  const size_t lines = std::min(graph.edges.size(), static_cast<size_t>(maxedges));
  if (nodes > 0 && !index) return failure(MPI_ERR_ARG, "the array is NULL (argument index)");
  if (lines > 0 && !edges) return failure(MPI_ERR_ARG, "the array is NULL (argument edges)");
  std::copy_n(graph.index.begin(), nodes, index);
  std::copy_n(graph.edges.begin(), lines, edges);
  return {};
}

Error graph_neighbors_count(Comm& comm, int rank, int* nneighbors) {
  Result<std::span<const int>> neighbors = neighbors_of(comm, rank);
  if (!neighbors) return std::move(neighbors).error();
  *nneighbors = static_cast<int>(neighbors->size());
  return {};
}

Error graph_neighbors(Comm& comm, int rank, int maxneighbors, int* neighbors) {
  Result<std::span<const int>> all = neighbors_of(comm, rank);
  if (!all) return std::move(all).error();
  const size_t n = std::min(all->size(), static_cast<size_t>(maxneighbors));
  if (n > 0 && !neighbors) return failure(MPI_ERR_ARG, "the array is NULL (argument neighbors)");
  std::copy_n(all->begin(), n, neighbors);
  return {};
}

}  // namespace tutti::mpi::topology
