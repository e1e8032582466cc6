// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a communicator are on which node. Nodes are numbered by their lowest rank.
// Immutable; the same on every rank of the communicator, but for `rank`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace tutti {

class NodeLayout {
 public:
  // `place` by rank: a number that exactly the ranks of one node share.
  NodeLayout(std::span<const int> place, int rank) : node_of_(place.size()) {
    std::map<int, int> nodes;
    for (size_t i = 0; i < place.size(); ++i) {
      const auto [at, first] = nodes.emplace(place[i], static_cast<int>(members_.size()));
      if (first) members_.emplace_back();
      contiguous_ = contiguous_ && (first || at->second == node_of_[i - 1]);
      node_of_[i] = at->second;
      members_[static_cast<size_t>(at->second)].push_back(static_cast<int>(i));
    }
    for (const std::vector<int>& members : members_) {
      fewest_ = fewest_ == 0 ? members.size() : std::min(fewest_, members.size());
      most_ = std::max(most_, members.size());
    }
    node_ = node_of(rank);
    const std::vector<int>& neighbours = members(node_);
    local_ = static_cast<int>(std::ranges::lower_bound(neighbours, rank) - neighbours.begin());
  }

  int nodes() const { return static_cast<int>(members_.size()); }
  int node_of(int rank) const { return node_of_[static_cast<size_t>(rank)]; }
  const std::vector<int>& members(int node) const {  // ascending
    return members_[static_cast<size_t>(node)];
  }
  int most() const { return static_cast<int>(most_); }  // ranks of the fullest node …
  bool equal() const { return fewest_ == most_; }       // … which all are
  bool contiguous() const { return contiguous_; }       // the ranks of each follow one another

  int node() const { return node_; }    // mine
  int local() const { return local_; }  // my index among its members

 private:
  std::vector<int> node_of_;
  std::vector<std::vector<int>> members_;
  size_t fewest_ = 0, most_ = 0;
  bool contiguous_ = true;
  int node_ = 0, local_ = 0;
};

}  // namespace tutti
