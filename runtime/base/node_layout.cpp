// SPDX-License-Identifier: BSD-3-Clause
#include "base/node_layout.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace tutti {

NodeLayout::NodeLayout(std::span<const int> place, int rank) : size_(static_cast<int>(place.size())) {
  std::unordered_map<int, int> number_of;  // by place
  std::vector<int> counts;                 // ranks, by node
  std::vector<int> node_of(place.size());
  for (size_t i = 0; i < place.size(); ++i) {
    const auto [at, first] = number_of.emplace(place[i], static_cast<int>(counts.size()));
    if (first) counts.push_back(0);
    contiguous_ = contiguous_ && (first || at->second == node_of[i - 1]);
    node_of[i] = at->second;
    ++counts[static_cast<size_t>(at->second)];
  }
  nodes_ = static_cast<int>(counts.size());
  if (nodes_ > 0) most_ = std::ranges::max(counts), fewest_ = std::ranges::min(counts);
  equal_ = fewest_ == most_;
  const auto holds = [&](Dealt dealt) {
    dealt_ = dealt;
    for (int i = 0; i < size_; ++i)
      if (this->node_of(i) != node_of[static_cast<size_t>(i)]) return false;
    return true;
  };
  if (!holds(Dealt::in_blocks) && !holds(Dealt::in_turn)) {
    dealt_ = Dealt::irregularly;
    std::vector<ProcessList::Builder> builders(counts.size());
    for (int i = 0; i < size_; ++i) builders[static_cast<size_t>(node_of[static_cast<size_t>(i)])].add(i);
    for (ProcessList::Builder& builder : builders) members_.push_back(builder.take());
    node_of_ = std::move(node_of);
  }
  *this = seen_by(rank);
}

NodeLayout NodeLayout::seen_by(int rank) const {
  NodeLayout seen = *this;
  seen.node_ = node_of(rank);
  seen.mine_ = members(seen.node_);
  seen.local_ = seen.mine_.rank_of(rank);
  return seen;
}

ProcessList NodeLayout::members(int node) const {
  if (dealt_ == Dealt::in_blocks) return ProcessList::range(node * most_, std::min(most_, size_ - node * most_));
  if (dealt_ == Dealt::in_turn) return ProcessList::range(node, (size_ - node + nodes_ - 1) / nodes_, nodes_);
  return members_[static_cast<size_t>(node)];
}

}  // namespace tutti
