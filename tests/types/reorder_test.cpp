// SPDX-License-Identifier: BSD-3-Clause
// Placing a topology's ranks on nodes: halos of 5, 7 and 27 points on nodes that are filled in blocks and in turns,
// random graphs, and the bounds that hold for all of them.
#include "mpi/topology/reorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace tutti::mpi::topology {
namespace {

std::vector<int> in_order(size_t n) {
  std::vector<int> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<int> nodes(size_t ranks, int each, bool in_turns) {
  std::vector<int> node_of(ranks);
  const int count = static_cast<int>(ranks) / each;
  for (size_t r = 0; r < ranks; ++r) node_of[r] = in_turns ? static_cast<int>(r) % count : static_cast<int>(r) / each;
  return node_of;
}

// What crosses after reordering; that it is a permutation and never worse is checked.
int64_t after(const Ties& ties, const std::vector<int>& node_of, std::span<const int> dims = {}) {
  const std::vector<int> rank_of = placed(ties, node_of, dims);
  std::vector<int> sorted = rank_of;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, in_order(ties.size()));
  const int64_t crosses = crossing(ties, node_of, rank_of);
  EXPECT_LE(crosses, crossing(ties, node_of, in_order(ties.size())));
  return crosses;
}

// All 26 neighbours of each point of a grid that is not periodic; faces weigh as much as 100 corners.
Ties halo27(const std::vector<int>& dims) {
  Ties ties(static_cast<size_t>(dims[0] * dims[1] * dims[2]));
  for (int x = 0; x < dims[0]; ++x)
    for (int y = 0; y < dims[1]; ++y)
      for (int z = 0; z < dims[2]; ++z)
        for (int step = 0; step < 27; ++step) {
          const int dx = step / 9 - 1, dy = step / 3 % 3 - 1, dz = step % 3 - 1;
          const int a = x + dx, b = y + dy, c = z + dz;
          if (step == 13 || a < 0 || b < 0 || c < 0 || a >= dims[0] || b >= dims[1] || c >= dims[2]) continue;
          const int off = (dx != 0) + (dy != 0) + (dz != 0);
          ties[static_cast<size_t>((x * dims[1] + y) * dims[2] + z)].push_back(
              {(a * dims[1] + b) * dims[2] + c, off == 1   ? 100
                                                : off == 2 ? 10
                                                           : 1});
        }
  return ties;
}

TEST(Reorder, PutsTheBlocksOfAGridOnNodes) {
  // 8 x 8 points on 4 nodes of 16: blocks of 4 x 4 have 16 lines between them, rows 24, points in turns 7 * 8 + ….
  const std::vector<int> dims = {8, 8};
  const std::vector<char> open = {0, 0};
  const Ties ties = ties_of_grid(dims, open);
  EXPECT_EQ(after(ties, nodes(64, 16, false), dims), 16);
  EXPECT_EQ(after(ties, nodes(64, 16, true), dims), 16);
  EXPECT_EQ(crossing(ties, nodes(64, 16, false), in_order(64)), 24);
  // 4 x 4 x 4 on 8 nodes of 8: cubes of 2 x 2 x 2, three planes of 16 lines.
  const std::vector<int> cube = {4, 4, 4};
  const std::vector<char> closed = {1, 1, 1};
  EXPECT_EQ(after(ties_of_grid(cube, std::vector<char>{0, 0, 0}), nodes(64, 8, true), cube), 48);
  EXPECT_EQ(after(ties_of_grid(cube, closed), nodes(64, 8, false), cube), 96);
}

TEST(Reorder, DoesWellWithoutKnowingOfTheGrid) {
  const Ties ties = halo27({4, 4, 4});
  const std::vector<int> turns = nodes(64, 8, true);
  std::vector<int> cubes(64);  // the vertices of each cube at the ranks of one node
  for (int node = 0; node < 8; ++node)
    for (int i = 0; i < 8; ++i) {
      const int x = node / 4 * 2 + i / 4, y = node / 2 % 2 * 2 + i / 2 % 2, z = node % 2 * 2 + i % 2;
      cubes[static_cast<size_t>((x * 4 + y) * 4 + z)] = node + 8 * i;
    }
  const int64_t best = crossing(ties, turns, cubes);
  EXPECT_LE(after(ties, turns), best * 115 / 100);
  EXPECT_LE(after(ties, turns), crossing(ties, turns, in_order(64)) * 2 / 3);
}

TEST(Reorder, FindsGroupsThatAreNotConnected) {
  // Vertex v has ties to v + 4, v + 8, …: each of these four groups fits on a node.
  Ties ties(16);
  for (int v = 0; v < 16; ++v)
    for (int u = v + 4; u < 16; u += 4) ties[static_cast<size_t>(v)].push_back({u, 3});
  EXPECT_EQ(after(ties, nodes(16, 4, false)), 0);
}

TEST(Reorder, IsNeverWorseOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const int n = 1 + static_cast<int>(random() % 40);
    Ties ties(static_cast<size_t>(n));
    for (int edge = static_cast<int>(random() % 120); edge > 0; --edge)
      ties[random() % static_cast<unsigned>(n)].push_back(
          {static_cast<int>(random() % static_cast<unsigned>(n)), static_cast<int64_t>(random() % 9)});
    std::vector<int> node_of(static_cast<size_t>(n));
    for (int& node : node_of) node = static_cast<int>(random() % 5) * 3;
    after(ties, node_of);
  }
}

TEST(Reorder, IsQuickEnoughForThousandsOfRanks) {
  const std::vector<int> dims = {32, 16, 16};
  const Ties ties = ties_of_grid(dims, std::vector<char>{1, 1, 1});
  EXPECT_LE(after(ties, nodes(8192, 128, true), dims), 64 * 2 * 40 * 4);
}

// ---- inside of nodes

// A rank's socket, and its cache among all of the node: `each` ranks share a cache, and two caches a socket.
std::vector<std::vector<int>> sockets_and_caches(size_t ranks, int each, bool in_turns) {
  std::vector<std::vector<int>> levels(2, std::vector<int>(ranks));
  const int caches = static_cast<int>(ranks) / each;
  for (size_t r = 0; r < ranks; ++r) {
    const int cache = in_turns ? static_cast<int>(r) % caches : static_cast<int>(r) / each;
    levels[1][r] = cache;
    levels[0][r] = cache / 2;
  }
  return levels;
}

TEST(ReorderWithin, IsNeverWorseOnAnyLevel) {
  std::mt19937 random(7);
  for (int run = 0; run < 60; ++run) {
    const size_t n = 8 + random() % 33 / 4 * 4;
    Ties ties(n);
    for (size_t i = 0; i < n * (1 + random() % 4); ++i)
      ties[random() % n].push_back({static_cast<int>(random() % n), 1 + static_cast<int64_t>(random() % 50)});
    const auto levels = sockets_and_caches(n, 2 + static_cast<int>(random() % 2) * 2, run % 2);
    const std::vector<int> before = in_order(n), rank_of = placed_within(ties, before, levels);
    std::vector<int> sorted = rank_of;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, before);
    const int64_t sockets = crossing(ties, levels[0], rank_of), sockets_before = crossing(ties, levels[0], before);
    EXPECT_LE(sockets, sockets_before);
    if (sockets == sockets_before) {
      EXPECT_LE(crossing(ties, levels[1], rank_of), crossing(ties, levels[1], before));
    }
  }
}

TEST(ReorderWithin, KeepsNeighboursInASocketAndInACache) {
  // A line of 16 whose ranks are dealt to 8 caches in turns: what is as good as can be crosses 3 sockets and 7 caches.
  Ties line(16);
  for (int v = 0; v < 15; ++v) line[static_cast<size_t>(v)].push_back({v + 1});
  const auto levels = sockets_and_caches(16, 2, true);
  const std::vector<int> rank_of = placed_within(line, in_order(16), levels);
  EXPECT_EQ(crossing(line, levels[1], in_order(16)), 15);
  EXPECT_EQ(crossing(line, levels[0], rank_of), 3);
  EXPECT_LE(crossing(line, levels[1], rank_of), 8);
}

TEST(ReorderWithin, LeavesNodesAsTheyAre) {
  // Two nodes of 8, of which this rank knows the sockets of the second one alone.
  Ties line(16);
  for (int v = 0; v < 15; ++v) line[static_cast<size_t>(v)].push_back({v + 1});
  const std::vector<int> node_of = nodes(16, 8, true), rank_of = placed(line, node_of);
  EXPECT_EQ(crossing(line, node_of, rank_of), 1);
  std::vector<std::vector<int>> levels(1, std::vector<int>(16, -1));
  for (size_t r = 0; r < 16; ++r)
    if (node_of[r] == 1) levels[0][r] = static_cast<int>(r / 2) % 2;
  const std::vector<int> within = placed_within(line, rank_of, levels);
  EXPECT_EQ(crossing(line, node_of, within), 1);
  int64_t sockets = 0;
  for (size_t v = 0; v < 16; ++v) {
    if (node_of[static_cast<size_t>(rank_of[v])] == 0) {
      EXPECT_EQ(within[v], rank_of[v]);
    }
    if (v < 15 && levels[0][static_cast<size_t>(within[v])] >= 0 && levels[0][static_cast<size_t>(within[v + 1])] >= 0)
      sockets += levels[0][static_cast<size_t>(within[v])] != levels[0][static_cast<size_t>(within[v + 1])];
  }
  EXPECT_EQ(sockets, 1);
}

TEST(ReorderWithin, DoesNothingWithoutLevels) {
  Ties line(8);
  for (int v = 0; v < 7; ++v) line[static_cast<size_t>(v)].push_back({v + 1});
  EXPECT_EQ(placed_within(line, in_order(8), {}), in_order(8));
  const std::vector<std::vector<int>> unknown(2, std::vector<int>(8, -1));
  EXPECT_EQ(placed_within(line, in_order(8), unknown), in_order(8));
}

}  // namespace
}  // namespace tutti::mpi::topology
