// SPDX-License-Identifier: BSD-3-Clause
// Distributed graphs (the standard, section 8.5.4): each rank knows its own edges, which it is given
// (adjacent), or which the ranks tell each other when the communicator is made.
#include <algorithm>
#include <cstring>

#include "mpi/coll/collective.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/topology/api_topology.hpp"

namespace tutti::mpi {
namespace {

bool is_weighted(const int* weights) {
  return weights != MPI_UNWEIGHTED;
}
bool has_values(const int* weights) {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

Error ranks_valid(const Comm& comm, int count, const int* ranks, const char* argument) {
  if (count < 0) return failure(MPI_ERR_ARG, "there are {} entries (argument {})", count, argument);
  if (count > 0 && !ranks) return failure(MPI_ERR_ARG, "the array is NULL (argument {})", argument);
  for (int i = 0; i < count; ++i)
    if (ranks[i] < 0 || ranks[i] >= comm.size())
      return failure(MPI_ERR_RANK, "entry {} is {}, and the communicator has ranks 0 to {} (argument {})", i, ranks[i],
                     comm.size() - 1, argument);
  return {};
}

Error weights_valid(int count, const int* weights, const char* argument) {
  if (!is_weighted(weights) || count == 0) return {};
  if (!weights) return failure(MPI_ERR_ARG, "the array is NULL (argument {})", argument);
  if (!has_values(weights))
    return failure(MPI_ERR_ARG, "MPI_WEIGHTS_EMPTY is for ranks without edges, of which this one has {} (argument {})",
                   count, argument);
  for (int i = 0; i < count; ++i)
    if (weights[i] < 0)
      return failure(MPI_ERR_ARG, "entry {} is {}, and weights are not negative (argument {})", i, weights[i], argument);
  return {};
}

// An edge, as the rank that was given it tells it to the two that it joins.
struct Told {
  int32_t source, destination, weight;
};

// Sends each rank what is for it; returns what came, in the order of the ranks that sent it.
Result<std::vector<Told>> tell_each_other(Comm& comm, const std::vector<std::vector<Told>>& outgoing) {
  const auto size = static_cast<size_t>(comm.size());
  std::vector<int64_t> sent(size), received(size), sent_at(size), received_at(size);
  std::vector<Told> out, in;
  for (size_t i = 0; i < size; ++i) {
    sent[i] = static_cast<int64_t>(outgoing[i].size() * sizeof(Told));
    sent_at[i] = static_cast<int64_t>(out.size() * sizeof(Told));
    out.insert(out.end(), outgoing[i].begin(), outgoing[i].end());
  }
  const contract::Word signature = contract::word_of(Function::Dist_graph_create);
  coll::Call counts{.kind = coll::Collective::alltoall,
                    .in = sent.data(),
                    .out = received.data(),
                    .in_count = sizeof(int64_t),
                    .out_count = sizeof(int64_t),
                    .in_layout = &Layout::bytes(),
                    .out_layout = &Layout::bytes(),
                    .signature = signature};
  if (Error e = run(comm, counts)) return e;
  int64_t total = 0;
  for (size_t i = 0; i < size; ++i) received_at[i] = total, total += received[i];
  in.resize(static_cast<size_t>(total) / sizeof(Told));
  const coll::Call edges{.kind = coll::Collective::alltoallv,
                         .in = out.data(),
                         .out = in.data(),
                         .in_layout = &Layout::bytes(),
                         .out_layout = &Layout::bytes(),
                         .in_counts = Ints(sent.data()),
                         .in_displacements = Ints(sent_at.data()),
                         .out_counts = Ints(received.data()),
                         .out_displacements = Ints(received_at.data()),
                         .signature = signature};
  if (Error e = run(comm, edges)) return e;
  return in;
}

void attach(Comm& made, DistributedGraph graph, std::vector<int> sources, std::vector<int> destinations) {
  coll::Edges edges{std::move(destinations), std::move(sources), {}};
  for (size_t i = 0; i < edges.sources.size(); ++i) edges.receiving.push_back(static_cast<int>(i));
  made.topology = std::make_shared<const Topology>(Topology{std::move(graph), std::move(edges)});
}

Result<const Topology*> topology_of(const Comm& comm) {
  if (!comm.topology || !comm.topology->distributed())
    return failure(MPI_ERR_TOPOLOGY, "the communicator has no distributed graph topology (argument comm)");
  return comm.topology.get();
}

}  // namespace

Error dist_graph_create_adjacent(Comm& comm, int indegree, const int* sources, const int* sourceweights, int outdegree,
                                 const int* destinations, const int* destweights, Info*, int,
                                 MPI_Comm* comm_dist_graph) {
  if (Error e = ranks_valid(comm, indegree, sources, "sources")) return e;
  if (Error e = ranks_valid(comm, outdegree, destinations, "destinations")) return e;
  if (Error e = weights_valid(indegree, sourceweights, "sourceweights")) return e;
  if (Error e = weights_valid(outdegree, destweights, "destweights")) return e;
  if (is_weighted(sourceweights) != is_weighted(destweights))
    return failure(MPI_ERR_ARG, "one array of weights is MPI_UNWEIGHTED and the other one is not (arguments "
                                "sourceweights, destweights)");
  if (Error e = divide(comm, Function::Dist_graph_create_adjacent, 0, comm.rank(), comm_dist_graph)) return e;
  DistributedGraph graph{.weighted = is_weighted(sourceweights)};
  if (has_values(sourceweights)) graph.source_weights.assign(sourceweights, sourceweights + indegree);
  if (has_values(destweights)) graph.destination_weights.assign(destweights, destweights + outdegree);
  attach(*resolve<Comm>(*comm_dist_graph), std::move(graph), {sources, sources + indegree},
         {destinations, destinations + outdegree});
  return {};
}

Error dist_graph_create(Comm& comm, int n, const int* sources, const int* degrees, const int* destinations,
                        const int* weights, Info*, int, MPI_Comm* comm_dist_graph) {
  if (Error e = ranks_valid(comm, n, sources, "sources")) return e;
  if (n > 0 && !degrees) return failure(MPI_ERR_ARG, "the array is NULL (argument degrees)");
  int64_t edges = 0;
  for (int i = 0; i < n; ++i) {
    if (degrees[i] < 0)
      return failure(MPI_ERR_ARG, "entry {} is {}, and degrees are not negative (argument degrees)", i, degrees[i]);
    edges += degrees[i];
  }
  if (edges > INT32_MAX) return failure(MPI_ERR_ARG, "there are {} edges, more than 2^31 (argument degrees)", edges);
  if (Error e = ranks_valid(comm, static_cast<int>(edges), destinations, "destinations")) return e;
  if (Error e = weights_valid(static_cast<int>(edges), weights, "weights")) return e;

  // By rank: the edges that leave it, and those that enter it.
  const auto size = static_cast<size_t>(comm.size());
  std::vector<std::vector<Told>> outgoing(size);
  for (int i = 0, at = 0; i < n; ++i)
    for (int k = 0; k < degrees[i]; ++k, ++at) {
      const Told edge{sources[i], destinations[at], has_values(weights) ? weights[at] : 0};
      outgoing[static_cast<size_t>(edge.source)].push_back(edge);
      if (edge.source != edge.destination) outgoing[static_cast<size_t>(edge.destination)].push_back(edge);
    }
  Result<std::vector<Told>> told = tell_each_other(comm, outgoing);
  if (!told) return std::move(told).error();
  if (Error e = divide(comm, Function::Dist_graph_create, 0, comm.rank(), comm_dist_graph)) return e;

  // Both ends hear of the edges between them from the same ranks in the same order: so they count alike.
  DistributedGraph graph{.weighted = is_weighted(weights)};
  std::vector<int> from, to;
  for (const Told& edge : *told) {
    if (edge.destination == comm.rank()) {
      from.push_back(edge.source);
      if (graph.weighted) graph.source_weights.push_back(edge.weight);
    }
    if (edge.source == comm.rank()) {
      to.push_back(edge.destination);
      if (graph.weighted) graph.destination_weights.push_back(edge.weight);
    }
  }
  attach(*resolve<Comm>(*comm_dist_graph), std::move(graph), std::move(from), std::move(to));
  return {};
}

Error dist_graph_neighbors_count(Comm& comm, int* indegree, int* outdegree, int* weighted) {
  Result<const Topology*> topology = topology_of(comm);
  if (!topology) return std::move(topology).error();
  *indegree = static_cast<int>((*topology)->edges.sources.size());
  *outdegree = static_cast<int>((*topology)->edges.destinations.size());
  *weighted = (*topology)->distributed()->weighted;
  return {};
}

Error dist_graph_neighbors(Comm& comm, int maxindegree, int* sources, int* sourceweights, int maxoutdegree,
                           int* destinations, int* destweights) {
  Result<const Topology*> found = topology_of(comm);
  if (!found) return std::move(found).error();
  const Topology& topology = **found;
  const auto give = [](const std::vector<int>& from, int most, int* to, const char* argument) -> Error {
    const size_t n = std::min(from.size(), static_cast<size_t>(most));
    if (n == 0) return {};
    if (!to) return failure(MPI_ERR_ARG, "the array is NULL (argument {})", argument);
    std::copy_n(from.begin(), n, to);
    return {};
  };
  if (Error e = give(topology.edges.sources, maxindegree, sources, "sources")) return e;
  if (Error e = give(topology.edges.destinations, maxoutdegree, destinations, "destinations")) return e;
  const DistributedGraph& graph = *topology.distributed();
  if (has_values(sourceweights))
    if (Error e = give(graph.source_weights, maxindegree, sourceweights, "sourceweights")) return e;
  if (has_values(destweights))
    if (Error e = give(graph.destination_weights, maxoutdegree, destweights, "destweights")) return e;
  return {};
}

}  // namespace tutti::mpi
