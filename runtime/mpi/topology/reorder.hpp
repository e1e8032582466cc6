// SPDX-License-Identifier: BSD-3-Clause
// Which rank of a communicator takes which place in a topology (`reorder`, the standard, chapter 8): so that
// neighbours share a node. A pure function of what all ranks know alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::mpi::topology {

// A graph by vertex: whom it exchanges how much with. Edges may stand several times, and once for each
// direction; an edge to oneself counts nothing.
struct Tie {
  int to = 0;
  int64_t weight = 1;
};
using Ties = std::vector<std::vector<Tie>>;

// The ties of a grid: each point with those before and behind it in each dimension.
Ties ties_of_grid(std::span<const int> dims, std::span<const char> periodic);

// By vertex: the rank that takes it. `node_of` by rank: a number that exactly the ranks of one node share; there are
// as many as vertices. What crosses nodes is never more than if vertex v were rank v's, which is the answer where
// nothing is gained. `dims`: of a grid, whose blocks are tried too; empty: none.
//
// Nodes are filled one after the other, each with the vertices that have the most ties to those that it has (greedy
// graph growing: Karypis and Kumar, SIAM J. Sci. Comput. 20, 1998), or, of a grid whose nodes have equally many ranks,
// with blocks of the smallest surface; then vertices of two nodes change places as long as that saves anything
// (Kernighan and Lin, Bell Syst. Tech. J. 49, 1970). Takes O(vertices * ties * ranks of a node) a pass.
std::vector<int> placed(const Ties& ties, std::span<const int> node_of, std::span<const int> dims = {});

// The same inside of nodes: `rank_of` as placed() gives it, or part of it. `levels`: from the outermost on, by rank, what
// of a node the rank is on: a socket, a NUMA node, a cache; -1: not known, or on none alone. Ranks change places with
// those that are on the same of all levels further out, so that these stay as good as they were; on each level what
// crosses is not more than before. A rank without any level keeps its place.
std::vector<int> placed_within(const Ties& ties, std::vector<int> rank_of, std::span<const std::vector<int>> levels);

// What the ties weigh whose ends are on different nodes, when vertex v is at rank_of[v].
int64_t crossing(const Ties& ties, std::span<const int> node_of, std::span<const int> rank_of);

}  // namespace tutti::mpi::topology
