// SPDX-License-Identifier: BSD-3-Clause
// Distributed graphs (the standard, section 8.5.4): each rank knows its own edges, which it is given
// (adjacent), or which the ranks tell each other when the communicator is made.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "base/secret.hpp"
#include "contract/checker.hpp"
#include "contract/signature.hpp"
#include "functions.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/comm/agreement.hpp"
#include "mpi/comm/letters.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/object/tolerated.hpp"
#include "mpi/topology/api_topology.hpp"
#include "mpi/topology/places.hpp"
#include "mpi/type/datatype.hpp"
#include "mpi/type/op.hpp"

namespace tutti::mpi::topology {
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
      return failure(MPI_ERR_ARG, "entry {} is {}, and weights are not negative (argument {})", i, weights[i],
                     argument);
  return {};
}

// A vertex of the graph: its neighbours in the order in which collectives meet them. Without weights the two arrays of
// them are empty.
struct Vertex {
  std::vector<int> sources, destinations, source_weights, destination_weights;
};

// Vertices as they stand one after the other: their four lengths, then their arrays.
void append(std::vector<int>& words, const Vertex& vertex) {
  const std::vector<int>* const parts[] = {&vertex.sources, &vertex.destinations, &vertex.source_weights,
                                           &vertex.destination_weights};
  for (const std::vector<int>* part : parts) words.push_back(static_cast<int>(part->size()));
  for (const std::vector<int>* part : parts) words.insert(words.end(), part->begin(), part->end());
}

Vertex next_vertex(std::span<const int>& words) {
  Vertex vertex;
  std::vector<int>* const parts[] = {&vertex.sources, &vertex.destinations, &vertex.source_weights,
                                     &vertex.destination_weights};
  const std::span<const int> lengths = words.first(4);
  words = words.subspan(4);
  for (size_t i = 0; i < 4; ++i) {
    const auto length = static_cast<size_t>(lengths[i]);
    parts[i]->assign(words.begin(), words.begin() + lengths[i]);
    words = words.subspan(length);
  }
  return vertex;
}

// The whole graph, by rank, told by all to all; empty where it is larger than is worth the effort.
Result<std::vector<Vertex>> whole_graph(Comm& comm, Function function, const Vertex& mine) {
  constexpr int64_t kMostWords = 1 << 22;
  std::vector<int> words;
  append(words, mine);
  const auto size = static_cast<size_t>(comm.size());
  const auto length = static_cast<int64_t>(words.size() * sizeof(int));
  std::vector<int64_t> lengths(size), begins(size);
  coll::Call tell_lengths = allgather_bytes(&length, lengths.data(), sizeof length);
  tell_lengths.signature = contract::word_of(function);
  if (Error e = run(comm, tell_lengths)) return e;
  int64_t total = 0;
  for (size_t i = 0; i < size; ++i) begins[i] = total, total += lengths[i];
  if (total > kMostWords * static_cast<int64_t>(sizeof(int))) return std::vector<Vertex>();
  std::vector<int> all(static_cast<size_t>(total) / sizeof(int));
  const coll::Call tell_graph{.kind = coll::Collective::allgatherv,
                              .in = words.data(),
                              .out = all.data(),
                              .in_count = length,
                              .in_layout = &Layout::bytes(),
                              .out_layout = &Layout::bytes(),
                              .out_counts = Ints(lengths.data()),
                              .out_displacements = Ints(begins.data()),
                              .signature = contract::word_of(function)};
  if (Error e = run(comm, tell_graph)) return e;
  std::vector<Vertex> graph;
  for (std::span<const int> left = all; !left.empty();) graph.push_back(next_vertex(left));
  return graph;
}

// How often this rank has `peer` among its edges in each direction, and what that one says of the same. The weights of
// these edges are counted with strict alone.
struct Mutual {
  int32_t to = 0, from = 0;
  int64_t weight_to = 0, weight_from = 0;
};

// What a rank says of an edge that it gives more often than the one at its other end, or less.
Error differs(int source, int destination, int sent, int received) {
  if (sent == 0)
    return failure(MPI_ERR_TOPOLOGY, "rank {} receives from rank {}, which does not send to it (argument sources)",
                   destination, source);
  if (received == 0)
    return failure(MPI_ERR_TOPOLOGY, "rank {} sends to rank {}, which does not receive from it (argument destinations)",
                   source, destination);
  return failure(MPI_ERR_TOPOLOGY,
                 "rank {} has {} edges to rank {}, which has {} from it (arguments sources, destinations)", source,
                 sent, destination, received);
}

// The same of an edge that has another weight at its other end.
Error weighs_otherwise(int source, int destination, const Mutual& edges, int64_t at_source, int64_t at_destination) {
  const bool one = edges.to <= 1 && edges.from <= 1;
  return failure(MPI_ERR_TOPOLOGY,
                 "rank {} gives the {} to rank {} the {} {}, which that one gives the {} {} (arguments destweights, "
                 "sourceweights)",
                 source, one ? "edge" : "edges", destination, one ? "weight" : "weights", at_source,
                 one ? "weight" : "weights", at_destination);
}

// Do all ranks name the same edges at both ends, with the same weights? Each end adds, or takes away, what stands for the
// edge: two numbers of 64 bits, by keys of their own. The sums over all ranks are 0 then, and by a chance of 2^-128 else.
// So a graph that is right costs by its degree and the logarithm of the ranks.
Result<bool> edges_cancel(Comm& comm, const Vertex& mine) {
  constexpr std::string_view kKeys[] = {"edge by key one ", "edge by key two "};
  static_assert(kKeys[0].size() == 16 && kKeys[1].size() == 16);
  const auto meaning = [](std::string_view key, int source, int destination, char of) {
    std::array<char, 2 * sizeof(int32_t) + 1> text{};
    std::memcpy(text.data(), &source, sizeof(int32_t));
    std::memcpy(text.data() + sizeof(int32_t), &destination, sizeof(int32_t));
    text.back() = of;
    return siphash(key, {text.data(), text.size()});
  };
  std::array<uint64_t, std::size(kKeys)> own{}, all{};
  for (size_t k = 0; k < own.size(); ++k) {
    const auto one = [&](int source, int destination, std::span<const int> weights, size_t i) {
      const uint64_t weight = strict && !weights.empty() ? static_cast<uint64_t>(weights[i]) : 0;
      return meaning(kKeys[k], source, destination, 'e') + weight * meaning(kKeys[k], source, destination, 'w');
    };
    for (size_t i = 0; i < mine.destinations.size(); ++i)
      own[k] += one(comm.rank(), mine.destinations[i], mine.destination_weights, i);
    for (size_t i = 0; i < mine.sources.size(); ++i)
      own[k] -= one(mine.sources[i], comm.rank(), mine.source_weights, i);
  }
  const Datatype& type = *resolve<Datatype>(MPI_UINT64_T);
  Result<Reduction> sum = bind(*resolve<Op>(MPI_SUM), own.size(), type, false);
  if (!sum) return std::move(sum).error();
  const coll::Call total{.kind = coll::Collective::allreduce,
                         .in = own.data(),
                         .out = all.data(),
                         .in_count = own.size(),
                         .out_count = own.size(),
                         .in_layout = type.layout.get(),
                         .out_layout = type.layout.get(),
                         .reduction = *sum,
                         .signature = contract::word_of(Function::Dist_graph_create_adjacent)};
  if (Error e = run(comm, total)) return e;
  return std::ranges::all_of(all, [](uint64_t each) { return each == 0; });
}

// On all ranks the sentence of it if an edge is given by one of its ends alone, or more often by one: what is sent along
// it would never be received. With strict that is an error; otherwise programs that only ask the graph for their own
// neighbours go on, and the rank that has found it tells of it.
Error edges_agree(Comm& comm, const Vertex& mine, std::string& one_sided) {
  Result<bool> cancel = edges_cancel(comm, mine);
  if (!cancel) return std::move(cancel).error();
  if (*cancel) return {};
  const auto size = static_cast<size_t>(comm.size());
  std::vector<Mutual> here(size), there(size);
  for (const int peer : mine.destinations) ++here[static_cast<size_t>(peer)].to;
  for (const int peer : mine.sources) ++here[static_cast<size_t>(peer)].from;
  if (strict) [[unlikely]] {
    for (size_t i = 0; i < mine.destination_weights.size(); ++i)
      here[static_cast<size_t>(mine.destinations[i])].weight_to += mine.destination_weights[i];
    for (size_t i = 0; i < mine.source_weights.size(); ++i)
      here[static_cast<size_t>(mine.sources[i])].weight_from += mine.source_weights[i];
  }
  const contract::Word signature = contract::word_of(Function::Dist_graph_create_adjacent);
  const coll::Call exchange{.kind = coll::Collective::alltoall,
                            .in = here.data(),
                            .out = there.data(),
                            .in_count = sizeof(Mutual),
                            .out_count = sizeof(Mutual),
                            .in_layout = &Layout::bytes(),
                            .out_layout = &Layout::bytes(),
                            .signature = signature};
  if (Error e = run(comm, exchange)) return e;
  Error found;
  for (size_t i = 0; i < size && !found; ++i) {
    const int peer = static_cast<int>(i);
    if (here[i].from != there[i].to)
      found = differs(peer, comm.rank(), there[i].to, here[i].from);
    else if (here[i].to != there[i].from)
      found = differs(comm.rank(), peer, here[i].to, there[i].from);
    else if (here[i].weight_from != there[i].weight_to)
      found = weighs_otherwise(peer, comm.rank(), here[i], there[i].weight_to, here[i].weight_from);
    else if (here[i].weight_to != there[i].weight_from)
      found = weighs_otherwise(comm.rank(), peer, here[i], here[i].weight_to, there[i].weight_from);
  }
  const char wrong = found ? 1 : 0;
  std::vector<char> all(size);
  coll::Call tell = allgather_bytes(&wrong, all.data(), 1);
  tell.signature = signature;
  if (Error e = run(comm, tell)) return e;
  const auto other = std::ranges::find(all, 1);
  if (other == all.end()) return {};
  // The first one says it for all, whichever of them is heard.
  std::array<char, 320> words{};
  if (found) std::strncpy(words.data(), found.message().c_str(), words.size() - 1);
  coll::Call spread = bcast_bytes(words.data(), words.size(), static_cast<int>(other - all.begin()));
  spread.signature = signature;
  if (Error e = run(comm, spread)) return e;
  Error error(MPI_ERR_TOPOLOGY, words.data());
  if (strict) return error;
  one_sided = words.data();
  return other - all.begin() == comm.rank() ? tolerated(Tolerated::one_sided_edges, std::move(error), &comm) : Error();
}

// What all ranks give alike. Of one that has no edges and NULL for their weights nothing is asked.
Error same_on_all(Comm& comm, Function function, const int* weights, size_t edges, int reorder) {
  Given given;
  if (weights || edges > 0) {
    given.add("weights", is_weighted(weights) ? "an array" : "MPI_UNWEIGHTED");
    given.add_truth("reorder", reorder != 0);
  }
  return agree(comm, function, given);
}

// Makes the communicator with this rank's vertex, or, where ranks may be others than they were, with the one that
// keeps neighbours together.
Error make(Comm& comm, Function function, bool weighted, bool reorder, Vertex mine, std::string one_sided,
           MPI_Comm* made) {
  int place = comm.rank();
  if (reorder && are_apart(comm, comm.size())) {
    Result<std::vector<Vertex>> graph = whole_graph(comm, function, mine);
    if (!graph) return std::move(graph).error();
    if (!graph->empty()) {
      Ties ties(graph->size());
      for (size_t v = 0; v < ties.size(); ++v)
        for (size_t i = 0; i < (*graph)[v].destinations.size(); ++i)
          ties[v].push_back({(*graph)[v].destinations[i],
                             (*graph)[v].destination_weights.empty() ? 1 : (*graph)[v].destination_weights[i]});
      place = place_of_this_rank(comm, ranks_by_place(comm, ties));
      mine = std::move((*graph)[static_cast<size_t>(place)]);
    }
  }
  if (Error e = divide(comm, function, 0, place, made)) return e;
  DistributedGraph graph{weighted, std::move(mine.source_weights), std::move(mine.destination_weights)};
  coll::Edges edges{std::move(mine.destinations), std::move(mine.sources), {}};
  for (size_t i = 0; i < edges.sources.size(); ++i) edges.receiving.push_back(static_cast<int>(i));
  resolve<Comm>(*made)->topology = std::make_shared<const VirtualTopology>(
      VirtualTopology{.kind = std::move(graph), .edges = std::move(edges), .one_sided = std::move(one_sided)});
  return {};
}

Result<const VirtualTopology*> topology_of(const Comm& comm) {
  if (!comm.topology || !comm.topology->distributed())
    return failure(MPI_ERR_TOPOLOGY, "the communicator has no distributed graph topology (argument comm)");
  return comm.topology.get();
}

}  // namespace

Error dist_graph_create_adjacent(Comm& comm, int indegree, const int* sources, const int* sourceweights, int outdegree,
                                 const int* destinations, const int* destweights, Info*, int reorder,
                                 MPI_Comm* comm_dist_graph) {
  if (Error e = ranks_valid(comm, indegree, sources, "sources")) return e;
  if (Error e = ranks_valid(comm, outdegree, destinations, "destinations")) return e;
  if (Error e = weights_valid(indegree, sourceweights, "sourceweights")) return e;
  if (Error e = weights_valid(outdegree, destweights, "destweights")) return e;
  if (is_weighted(sourceweights) != is_weighted(destweights))
    return failure(MPI_ERR_ARG,
                   "one array of weights is MPI_UNWEIGHTED and the other one is not (arguments "
                   "sourceweights, destweights)");
  Vertex mine{.sources = {sources, sources + indegree}, .destinations = {destinations, destinations + outdegree}};
  if (has_values(sourceweights)) mine.source_weights.assign(sourceweights, sourceweights + indegree);
  if (has_values(destweights)) mine.destination_weights.assign(destweights, destweights + outdegree);
  std::string one_sided;
  if (comm.checker()) {
    const size_t edges = mine.sources.size() + mine.destinations.size();
    if (Error e = same_on_all(comm, Function::Dist_graph_create_adjacent, sourceweights, edges, reorder)) return e;
    if (Error e = edges_agree(comm, mine, one_sided)) return e;
  }
  return make(comm, Function::Dist_graph_create_adjacent, is_weighted(sourceweights), reorder != 0, std::move(mine),
              std::move(one_sided), comm_dist_graph);
}

Error dist_graph_create(Comm& comm, int n, const int* sources, const int* degrees, const int* destinations,
                        const int* weights, Info*, int reorder, MPI_Comm* comm_dist_graph) {
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

  if (comm.checker())
    if (Error e = same_on_all(comm, Function::Dist_graph_create, weights, static_cast<size_t>(edges), reorder))
      return e;

  // Each edge is told to the two that it joins.
  std::vector<Letter> letters;
  for (int i = 0, at = 0; i < n; ++i)
    for (int k = 0; k < degrees[i]; ++k, ++at) {
      const int source = sources[i], destination = destinations[at];
      const std::array<int32_t, 3> edge{source, destination, has_values(weights) ? weights[at] : 0};
      letters.push_back({comm.rank(), source, at, edge});
      if (source != destination) letters.push_back({comm.rank(), destination, at, edge});
    }
  Result<std::vector<Letter>> told = deliver(comm, std::move(letters), contract::word_of(Function::Dist_graph_create));
  if (!told) return std::move(told).error();

  // Both ends hear of the edges between them from the same ranks in the same order: so they count alike.
  const bool weighted = is_weighted(weights);
  Vertex mine;
  for (const Letter& letter : *told) {
    const auto [source, destination, weight] = letter.words;
    if (destination == comm.rank()) {
      mine.sources.push_back(source);
      if (weighted) mine.source_weights.push_back(weight);
    }
    if (source == comm.rank()) {
      mine.destinations.push_back(destination);
      if (weighted) mine.destination_weights.push_back(weight);
    }
  }
  return make(comm, Function::Dist_graph_create, weighted, reorder != 0, std::move(mine), {}, comm_dist_graph);
}

Error dist_graph_neighbors_count(Comm& comm, int* indegree, int* outdegree, int* weighted) {
  Result<const VirtualTopology*> topology = topology_of(comm);
  if (!topology) return std::move(topology).error();
  *indegree = static_cast<int>((*topology)->edges.sources.size());
  *outdegree = static_cast<int>((*topology)->edges.destinations.size());
  *weighted = (*topology)->distributed()->weighted;
  return {};
}

Error dist_graph_neighbors(Comm& comm, int maxindegree, int* sources, int* sourceweights, int maxoutdegree,
                           int* destinations, int* destweights) {
  Result<const VirtualTopology*> found = topology_of(comm);
  if (!found) return std::move(found).error();
  const VirtualTopology& topology = **found;
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

}  // namespace tutti::mpi::topology
