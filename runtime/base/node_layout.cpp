// SPDX-License-Identifier: BSD-3-Clause
#include "base/node_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace tutti {

namespace {

// Nodes are mostly numbered in the order of their ranks: then no memory tells that these are as many as they seem.
template <class Place>
bool all_differ(int count, int step, const Place& place) {
  bool ascending = true;
  for (int i = 1; i < count && ascending; ++i) ascending = place(i * step) > place((i - 1) * step);
  if (ascending) return true;
  std::vector<int> places;
  for (int i = 0; i < count; ++i) places.push_back(place(i * step));
  std::ranges::sort(places);
  return std::ranges::adjacent_find(places) == places.end();
}

}  // namespace

// One node after the other, all but the last one as full as the first.
template <class Place>
bool NodeLayout::find_blocks(const Place& place) {
  int block = 1;
  while (block < size_ && place(block) == place(0)) ++block;
  int nodes = 0;
  for (int64_t begin = 0; begin < size_; begin += block, ++nodes) {
    const int first = static_cast<int>(begin), end = static_cast<int>(std::min<int64_t>(begin + block, size_));
    for (int rank = first + 1; rank < end; ++rank)
      if (place(rank) != place(first)) return false;
  }
  if (!all_differ(nodes, block, place)) return false;
  dealt_ = Dealt::in_blocks;
  nodes_ = nodes;
  most_ = block;
  fewest_ = size_ - (nodes_ - 1) * block;
  return true;
}

// One rank to each node, again and again.
template <class Place>
bool NodeLayout::find_turns(const Place& place) {
  int nodes = 1;
  while (nodes < size_ && place(nodes) != place(0)) ++nodes;
  for (int rank = nodes; rank < size_; ++rank)
    if (place(rank) != place(rank - nodes)) return false;
  if (!all_differ(nodes, 1, place)) return false;
  dealt_ = Dealt::in_turn;
  nodes_ = nodes;
  most_ = (size_ + nodes - 1) / nodes;
  fewest_ = size_ / nodes;
  contiguous_ = nodes == 1 || nodes == size_;
  return true;
}

template <class Place>
void NodeLayout::list_all(const Place& place) {
  std::unordered_map<int, int> number_of;  // by place
  std::vector<ProcessList::Builder> builders;
  node_of_.resize(static_cast<size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) {
    const bool again = rank > 0 && place(rank) == place(rank - 1);
    const auto [at, first] =
        again ? std::pair(number_of.end(), false) : number_of.emplace(place(rank), static_cast<int>(builders.size()));
    if (first) builders.emplace_back();
    contiguous_ = contiguous_ && (again || first);
    int& node = node_of_[static_cast<size_t>(rank)];
    node = again ? node_of_[static_cast<size_t>(rank) - 1] : at->second;
    builders[static_cast<size_t>(node)].add(rank);
  }
  dealt_ = Dealt::irregularly;
  nodes_ = static_cast<int>(builders.size());
  for (ProcessList::Builder& builder : builders) members_.push_back(builder.take());
  fewest_ = std::ranges::min_element(members_, {}, &ProcessList::size)->size();
  most_ = std::ranges::max_element(members_, {}, &ProcessList::size)->size();
}

NodeLayout::NodeLayout(std::span<const int> place, int rank)
    : NodeLayout(place, ProcessList::range(0, static_cast<int>(place.size())), rank) {}

NodeLayout::NodeLayout(std::span<const int> place, const ProcessList& processes, int rank) : size_(processes.size()) {
  const auto place_of = [&](int member) { return place[static_cast<size_t>(processes[member])]; };
  if (size_ == 0) return;
  // In this order: whether ranks in turn are blocks of one takes a look at all of them.
  if (!find_turns(place_of) && !find_blocks(place_of)) list_all(place_of);
  equal_ = fewest_ == most_;
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
