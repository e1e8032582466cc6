// SPDX-License-Identifier: BSD-3-Clause
// Graph topologies of both kinds: what is asked about them, edges that stand twice or lead to the rank
// itself, weights, ranks without edges, and graphs smaller than the communicator.
#include "check.hpp"

namespace {

// Node i has i % 4 neighbours, some of them twice, some itself.
std::vector<int> neighbors_of(int node, int nodes) {
  std::vector<int> all;
  for (int k = 0; k < node % 4; ++k) all.push_back((node + k * k) % nodes);
  return all;
}

void whole(const check::Program& world, int nodes) {
  std::vector<int> index, edges;
  for (int i = 0; i < nodes; ++i) {
    const std::vector<int> own = neighbors_of(i, nodes);
    edges.insert(edges.end(), own.begin(), own.end());
    index.push_back(static_cast<int>(edges.size()));
  }
  int mapped = -7;
  OK(MPI_Graph_map(MPI_COMM_WORLD, nodes, index.data(), edges.data(), &mapped));
  CHECK(mapped == MPI_UNDEFINED || (mapped >= 0 && mapped < nodes));
  MPI_Comm graph;
  OK(MPI_Graph_create(MPI_COMM_WORLD, nodes, index.data(), edges.data(), 0, &graph));
  CHECK_EQ(graph == MPI_COMM_NULL, world.rank() >= nodes);
  if (graph == MPI_COMM_NULL) return;
  OK(MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN));
  MPI_Comm copy;
  OK(MPI_Comm_dup(graph, &copy));
  OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
  for (MPI_Comm comm : {graph, copy}) {
    int kind, got_nodes, got_edges;
    OK(MPI_Topo_test(comm, &kind));
    CHECK_EQ(kind, MPI_GRAPH);
    OK(MPI_Graphdims_get(comm, &got_nodes, &got_edges));
    CHECK_EQ(got_nodes, nodes);
    CHECK_EQ(got_edges, edges.size());
    std::vector<int> got_index(index.size() + 1, -7), got(edges.size() + 1, -7);
    OK(MPI_Graph_get(comm, nodes, static_cast<int>(edges.size()), got_index.data(), got.data()));
    for (size_t i = 0; i < index.size(); ++i) CHECK_EQ(got_index[i], index[i]);
    for (size_t i = 0; i < edges.size(); ++i) CHECK_EQ(got[i], edges[i]);
    CHECK_EQ(got.back(), -7);
    for (int i = 0; i < nodes; ++i) {
      const std::vector<int> expected = neighbors_of(i, nodes);
      int count = -1;
      OK(MPI_Graph_neighbors_count(comm, i, &count));
      CHECK_EQ(count, expected.size());
      std::vector<int> all(expected.size() + 1, -7);
      OK(MPI_Graph_neighbors(comm, i, count, all.data()));
      for (size_t k = 0; k < expected.size(); ++k) CHECK_EQ(all[k], expected[k]);
    }
    int number;
    FAILS(MPI_Graph_neighbors_count(comm, nodes, &number), MPI_ERR_RANK);
    FAILS(MPI_Cartdim_get(comm, &number), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Dist_graph_neighbors_count(comm, &number, &number, &number), MPI_ERR_TOPOLOGY);
  }
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&graph));
}

// The edge from rank i to i + k for k = 0 … i % 3, with the weight 10 i + k.
struct Edge {
  int from, to, weight;
  auto operator<=>(const Edge&) const = default;
};
std::vector<Edge> all_edges(int size) {
  std::vector<Edge> edges;
  for (int i = 0; i < size; ++i)
    for (int k = 0; k <= i % 3; ++k) edges.push_back({i, (i + k) % size, 10 * i + k});
  return edges;
}

void expect_edges(MPI_Comm comm, const check::Program& world, bool weighted) {
  int kind, in = -1, out = -1, has_weights = -1;
  OK(MPI_Topo_test(comm, &kind));
  CHECK_EQ(kind, MPI_DIST_GRAPH);
  OK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &has_weights));
  CHECK_EQ(has_weights != 0, weighted);
  std::vector<int> sources(in + 1, -7), source_weights(in + 1, -7), targets(out + 1, -7), target_weights(out + 1, -7);
  OK(MPI_Dist_graph_neighbors(comm, in, sources.data(), weighted ? source_weights.data() : MPI_UNWEIGHTED, out,
                              targets.data(), weighted ? target_weights.data() : MPI_UNWEIGHTED));
  std::vector<Edge> got_in, got_out, want_in, want_out;
  for (int i = 0; i < in; ++i) got_in.push_back({sources[i], world.rank(), weighted ? source_weights[i] : 0});
  for (int i = 0; i < out; ++i) got_out.push_back({world.rank(), targets[i], weighted ? target_weights[i] : 0});
  for (Edge edge : all_edges(world.size())) {
    if (!weighted) edge.weight = 0;
    if (edge.to == world.rank()) want_in.push_back(edge);
    if (edge.from == world.rank()) want_out.push_back(edge);
  }
  for (auto* list : {&got_in, &got_out, &want_in, &want_out}) std::sort(list->begin(), list->end());
  CHECK(got_in == want_in);
  CHECK(got_out == want_out);
}

void distributed(const check::Program& world, bool weighted) {
  const int size = world.size();
  std::vector<int> sources, source_weights, targets, target_weights;
  for (const Edge& edge : all_edges(size)) {
    if (edge.to == world.rank()) sources.push_back(edge.from), source_weights.push_back(edge.weight);
    if (edge.from == world.rank()) targets.push_back(edge.to), target_weights.push_back(edge.weight);
  }
  const auto weights = [&](const std::vector<int>& of) {
    return !weighted ? MPI_UNWEIGHTED : of.empty() ? MPI_WEIGHTS_EMPTY : of.data();
  };
  MPI_Comm comm;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(),
                                    weights(source_weights), static_cast<int>(targets.size()), targets.data(),
                                    weights(target_weights), MPI_INFO_NULL, 0, &comm));
  expect_edges(comm, world, weighted);
  MPI_Comm copy;
  OK(MPI_Comm_dup(comm, &copy));
  expect_edges(copy, world, weighted);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&comm));

  // The edges are given by whoever: edge e by rank e % size, the last ones by the last rank alone.
  std::vector<int> from, degrees, to, weight;
  const std::vector<Edge> edges = all_edges(size);
  for (size_t e = 0; e < edges.size(); ++e) {
    const int giver = e + 2 > edges.size() ? size - 1 : static_cast<int>(e) % size;
    if (giver != world.rank()) continue;
    if (from.empty() || from.back() != edges[e].from) from.push_back(edges[e].from), degrees.push_back(0);
    ++degrees.back();
    to.push_back(edges[e].to);
    weight.push_back(edges[e].weight);
  }
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, static_cast<int>(from.size()), from.data(), degrees.data(), to.data(),
                           weights(weight), MPI_INFO_NULL, 0, &comm));
  expect_edges(comm, world, weighted);
  OK(MPI_Comm_free(&comm));
}

void no_edges() {
  MPI_Comm comm;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nullptr, MPI_WEIGHTS_EMPTY, 0, nullptr, MPI_WEIGHTS_EMPTY,
                                    MPI_INFO_NULL, 1, &comm));
  int in = -1, out = -1, weighted = -1;
  OK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
  CHECK_EQ(in, 0);
  CHECK_EQ(out, 0);
  OK(MPI_Neighbor_alltoall(nullptr, 3, MPI_INT, nullptr, 3, MPI_INT, comm));
  OK(MPI_Comm_free(&comm));
}

void refusals(const check::Program& world) {
  MPI_Comm comm;
  int one = 1, outside = world.size(), negative = -1, two[2] = {1, 0}, zeros[2] = {0, 0};
  FAILS(MPI_Graph_create(MPI_COMM_WORLD, world.size() + 1, &one, &one, 0, &comm), MPI_ERR_ARG);
  FAILS(MPI_Graph_create(MPI_COMM_WORLD, 1, &one, &outside, 0, &comm), MPI_ERR_ARG);
  if (world.size() > 1) FAILS(MPI_Graph_create(MPI_COMM_WORLD, 2, two, zeros, 0, &comm), MPI_ERR_ARG);
  FAILS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &outside, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &comm),
        MPI_ERR_RANK);
  FAILS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, -1, &one, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &comm),
        MPI_ERR_ARG);
  FAILS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, zeros, &negative, 1, zeros, &one, MPI_INFO_NULL, 0, &comm),
        MPI_ERR_ARG);
  FAILS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, zeros, &negative, zeros, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
        MPI_ERR_ARG);
  FAILS(MPI_Neighbor_alltoall(&one, 1, MPI_INT, &one, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  refusals(world);
  whole(world, world.size());
  whole(world, (world.size() + 1) / 2);
  for (const bool weighted : {false, true}) distributed(world, weighted);
  no_edges();
  MPI_Comm none;
  OK(MPI_Graph_create(MPI_COMM_WORLD, 0, nullptr, nullptr, 0, &none));
  CHECK(none == MPI_COMM_NULL);
}
