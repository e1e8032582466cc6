// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives, replayed on random graphs: edges that stand several times, lead to the rank
// itself or nowhere, ranks without any, and blocks of the output in another order than that of receiving.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "replay.hpp"
#include "replay_cases.hpp"

namespace tutti::coll::replay {
namespace {

// One edge, as its two ends number it.
struct Edge {
  int from, to, sent_as, received_as;
};

struct GraphOfRanks {
  std::vector<Edges> ranks;
  std::vector<Edge> edges;
};

GraphOfRanks random_graph(int size, std::mt19937& random) {
  GraphOfRanks graph{std::vector<Edges>(static_cast<size_t>(size)), {}};
  const auto nowhere = [&](std::vector<int>& side) {
    while (random() % 4 == 0) side.push_back(kNobody);
  };
  const auto wanted = random() % (3 * static_cast<unsigned>(size) + 1);
  for (unsigned e = 0; e < wanted; ++e) {
    const int from = static_cast<int>(random()) & INT32_MAX, to = static_cast<int>(random()) & INT32_MAX;
    Edge edge{from % size, random() % 5 == 0 ? from % size : to % size, 0, 0};
    std::vector<int>& out = graph.ranks[static_cast<size_t>(edge.from)].destinations;
    std::vector<int>& in = graph.ranks[static_cast<size_t>(edge.to)].sources;
    nowhere(out), nowhere(in);
    edge.sent_as = static_cast<int>(out.size()), edge.received_as = static_cast<int>(in.size());
    out.push_back(edge.to), in.push_back(edge.from);
    graph.edges.push_back(edge);
  }
  // The blocks of the output lie in falling order where the rank is odd.
  for (int r = 0; r < size; ++r) {
    Edges& edges = graph.ranks[static_cast<size_t>(r)];
    const int n = static_cast<int>(edges.sources.size());
    for (int k = 0; k < n; ++k) edges.receiving.push_back(r % 2 ? n - 1 - k : k);
    if (r % 2 == 0) continue;
    std::reverse(edges.sources.begin(), edges.sources.end());
    for (Edge& edge : graph.edges)
      if (edge.to == r) edge.received_as = n - 1 - edge.received_as;
  }
  return graph;
}

// Cells of the block that rank `from` sends as its block `edge`.
int64_t cells_of(const CollectiveRow& row, int64_t count, int from, int edge) {
  if (!has_arrays(row.output)) return count;
  return count * ((from * 3 + (row.input == Holds::block ? 0 : edge)) % 4);
}

std::vector<Rank> set_up(Collective kind, int64_t count, const GraphOfRanks& graph) {
  const CollectiveRow& row = row_of(kind);
  std::vector<Rank> ranks(graph.ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) {
    Rank& rank = ranks[r];
    const Edges& edges = graph.ranks[r];
    const int me = static_cast<int>(r);
    rank.shape = {.kind = kind, .rank = me, .size = static_cast<int>(ranks.size()), .edges = &edges};
    rank.shape.in_count = cells_of(row, count, me, 0);
    rank.shape.out_count = count;
    int64_t at = 0;
    for (size_t k = 0; k < (row.input == Holds::block ? 1 : edges.destinations.size()); ++k) {
      const int64_t cells = cells_of(row, count, me, static_cast<int>(k));
      if (has_arrays(row.input)) rank.in_blocks.push_back({at, cells});
      rank.input.resize(static_cast<size_t>(at + cells));
      put(rank.input, at, cells, me, static_cast<int64_t>(k) * kPerBlock);
      at += cells;
    }
    std::vector<int64_t> incoming(edges.sources.size(), 0);
    for (const Edge& edge : graph.edges)
      if (edge.to == me)
        incoming[static_cast<size_t>(edge.received_as)] = cells_of(row, count, edge.from, edge.sent_as);
    at = 0;
    for (const int64_t cells : incoming) {
      if (has_arrays(row.output)) rank.out_blocks.push_back({at, cells});
      at += has_arrays(row.output) ? cells + 1 : count;
    }
    rank.output = empty(at);
  }
  return ranks;
}

std::string judge(Collective kind, int64_t count, const GraphOfRanks& graph, const std::vector<Rank>& ranks) {
  const CollectiveRow& row = row_of(kind);
  for (const Edge& edge : graph.edges) {
    const Rank& rank = ranks[static_cast<size_t>(edge.to)];
    const auto k = static_cast<size_t>(edge.received_as);
    const int64_t at = has_arrays(row.output) ? rank.out_blocks[k].offset : edge.received_as * count;
    const std::string wrong = expect(rank.output, at, cells_of(row, count, edge.from, edge.sent_as), edge.from,
                                     row.input == Holds::block ? 0 : edge.sent_as * kPerBlock);
    if (!wrong.empty())
      return "rank " + std::to_string(edge.to) + ", block " + std::to_string(edge.received_as) + ": " + wrong;
  }
  return {};
}

TEST(Neighbor, BlocksArriveAlongTheirEdges) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const int size = 1 + round % 17;
    const GraphOfRanks graph = random_graph(size, random);
    for (int k = kCollectivesOverRanks; k < kCollectives; ++k) {
      const auto kind = static_cast<Collective>(k);
      for (const Algorithm& algorithm : algorithms(kind))
        for (const int64_t count : {0, 1, 3})
          for (const Sends sends : {Sends::eager, Sends::synchronous}) {
            std::vector<Rank> ranks = set_up(kind, count, graph);
            std::string wrong = run(ranks, algorithm, sends, random());
            if (wrong.empty()) wrong = judge(kind, count, graph, ranks);
            ASSERT_EQ(wrong, "") << name_of(kind) << " on " << size << " ranks, round " << round;
          }
    }
  }
}

}  // namespace
}  // namespace tutti::coll::replay
