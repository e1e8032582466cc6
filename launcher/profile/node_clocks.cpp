// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/node_clocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

namespace tutti::launcher {

int64_t NodeClocks::to_first(int node, int64_t time) const {
  const auto known = offset_.find(node);
  if (known != offset_.end()) return time - known->second;
  const auto guessed = guessed_.find(node);
  return guessed == guessed_.end() ? time : time - guessed->second;
}

ClockBounds::ClockBounds(const std::vector<RankProfile>& ranks) {
  if (!ranks.empty()) first_ = ranks.front().node;
  for (const RankProfile& rank : ranks) {
    int64_t& begun = begun_.try_emplace(rank.node, rank.begun).first->second;
    begun = std::min(begun, rank.begun);
  }
}

void ClockBounds::before(int node, int64_t at, int other, int64_t later) {
  if (node == other) return;
  int64_t& most = most_.try_emplace({node, other}, later - at).first->second;
  most = std::min(most, later - at);
}

// Of each node that bounds lead to from the first one: by how much its clock is ahead of the first one's at most; backwards,
// by how much it is behind. By as few nodes between as it takes: clocks that drift apart during the job contradict themselves,
// by the same on both sides where they are compared directly; by more nodes between that would go round and round.
std::map<int, int64_t> ClockBounds::most_ahead(bool backwards) const {
  std::map<int, int64_t> out{{first_, 0}};
  for (;;) {
    std::map<int, int64_t> further;
    for (const auto& [nodes, most] : most_) {
      const auto [from, to] = backwards ? std::pair(nodes.second, nodes.first) : nodes;
      const auto at = out.find(from);
      if (at == out.end() || out.contains(to)) continue;
      int64_t& bound = further.try_emplace(to, at->second + most).first->second;
      bound = std::min(bound, at->second + most);
    }
    if (further.empty()) return out;
    out.merge(further);
  }
}

NodeClocks ClockBounds::clocks() const {
  NodeClocks out;
  if (!has_others()) return out;
  const std::map<int, int64_t> ahead = most_ahead(false), behind = most_ahead(true);
  std::vector<int64_t> errors;
  for (const auto& [node, begun] : begun_) {
    const auto most = ahead.find(node), least = behind.find(node);
    if (most != ahead.end() && least != behind.end()) {
      out.offset_[node] = std::midpoint(-least->second, most->second);
      errors.push_back((std::abs(most->second + least->second) + 1) / 2);
    } else {
      out.guessed_[node] = begun - begun_.at(first_);
    }
  }
  // Two nodes are each compared to the first one, whose own error is none.
  std::ranges::sort(errors, std::greater<>());
  if (errors.size() > 1) out.error_ = errors[0] + errors[1];
  return out;
}

}  // namespace tutti::launcher
