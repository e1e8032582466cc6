// SPDX-License-Identifier: BSD-3-Clause
// Making communicators of up to a million ranks: what each rank says is made up; how it is joined in a reduction, and what a
// rank makes of it, is what the library does. The reduction's own time is that of its plan (model/).
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../base/allocated.hpp"
#include "base/node_layout.hpp"
#include "base/process_list.hpp"
#include "base/split_runs.hpp"
#include "model/simulation.hpp"
#include "mpi/process/numbers_told.hpp"

namespace tutti::scale {

struct Said {
  int color, key;
};
using Rule = std::function<Said(int rank)>;
struct Division {
  std::string name;
  Rule rule;
};

constexpr int kNodeRanks = 128;

constexpr int kRows = 80;

// What programs do: `ranks` is a multiple of kRows * kNodeRanks.
inline std::vector<Division> divisions(int ranks) {
  const int side = ranks / kRows, depth = side / 4;
  return {{"16 in turn", [](int r) { return Said{r % 16, r}; }},
          {"each node", [](int r) { return Said{r / kNodeRanks, 0}; }},
          {"two halves", [=](int r) { return Said{r < ranks / 2, 0}; }},
          {"pairs far apart", [=](int r) { return Said{r % (ranks / 2), 0}; }},
          {"one of each node", [](int r) { return Said{r % kNodeRanks ? -1 : 0, r}; }},
          {"one of each node, and the others", [](int r) { return Said{r % kNodeRanks ? 1 : 0, 0}; }},
          {"all backwards", [](int r) { return Said{0, -r}; }},
          {"all by place on the node", [](int r) { return Said{0, r % kNodeRanks}; }},
          {"rows of a grid", [=](int r) { return Said{r / side, r}; }},
          {"columns of a grid", [=](int r) { return Said{r % side, r}; }},
          {"planes of a grid", [=](int r) { return Said{r / depth % 8, r}; }}};
}

// As recursive doubling joins what neighbours have. `most`: memory that one joining takes for a moment.
inline SplitRuns joined(const Rule& rule, int begin, int end, int64_t& most) {
  if (end - begin == 1) {
    const Said said = rule(begin);
    return {begin, said.color, said.key};
  }
  int lower = 1;
  while (2 * lower < end - begin) lower *= 2;
  const SplitRuns left = joined(rule, begin, begin + lower, most), right = joined(rule, begin + lower, end, most);
  const Allocated taken;
  const SplitRuns both = SplitRuns::joined(left, right);
  most = std::max(most, taken.most());
  return both;
}

// On the next power of two, where one node stands for all.
inline model::Outcome reduction_of(int ranks, int64_t bytes) {
  const auto all = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
  return model::simulate(model::Costs(), {all, kNodeRanks}, {coll::Collective::allreduce, bytes});
}

inline std::vector<int> nodes_of(int ranks) {
  std::vector<int> node(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) node[static_cast<size_t>(rank)] = rank / kNodeRanks;
  return node;
}

// What a rank makes of it: the members of its new communicator, as processes, and who of them is where.
struct Made {
  ProcessList members;
  int64_t most = 0, kept = 0;  // bytes
  double seconds = 0;          // of the wall, for people
};
inline Made made_at(const SplitRuns& all, const Said& mine, int rank, const ProcessList& world,
                    const std::vector<int>& node_of) {
  Made made;
  const auto before = std::chrono::steady_clock::now();
  const Allocated taken;
  made.members = world.at(all.members(mine.color));
  const NodeLayout nodes(node_of, made.members, made.members.rank_of(rank));
  made.most = taken.most();
  made.kept = taken.bytes();
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  return made;
}

// Two jobs that get to know each other: what one rank holds of the numbers by which they know each other.
struct Met {
  int64_t told = 0, most = 0;  // bytes
  bool right = true;
};
inline Met met(int here, int there) {
  const ProcessList numbers = ProcessList::range(there, here);  // behind those of the other job
  Met met;
  const Allocated taken;
  const std::vector<std::string> rows(static_cast<size_t>(there), mpi::processes::NumbersTold::row_as_text(numbers));
  const auto ours = mpi::processes::NumbersTold::of(rows);
  const std::string text = ours ? ours->packed() : "";
  const auto told = mpi::processes::NumbersTold::unpacked(text, there, here);
  met.told = static_cast<int64_t>(text.size());
  met.most = taken.most();
  met.right = told && told->at(0, here - 1) == there + here - 1 && told->at(there - 1, 0) == there;
  return met;
}

}  // namespace tutti::scale
