// SPDX-License-Identifier: BSD-3-Clause
// What the clocks of a job's nodes differ by, as far as what happened there tells. Pure.
//
// What happened at one node before something at another bounds by how much the other's clock can be behind: a message is sent
// before it is received, and no rank leaves some collectives before all have entered. Bounds from both sides give the middle
// between them, and how wrong that may be. They add up over nodes between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

// What is to be taken off the clock of each node, so that it is the first one's.
class NodeClocks {
 public:
  // Whether times of this node can be compared with those of the first one, and so of others that can.
  bool knows(int node) const { return offset_.contains(node); }
  // Of a node that cannot as if its ranks had begun with the first one's.
  int64_t to_first(int node, int64_t time) const;
  // By how much what happened at two nodes may be told the wrong way round, of any two that can be compared; -1: there are
  // no two.
  int64_t error() const { return error_; }
  // How many nodes cannot.
  size_t unknown() const { return guessed_.size(); }

 private:
  friend class ClockBounds;
  std::map<int, int64_t> offset_, guessed_;
  int64_t error_ = -1;
};

class ClockBounds {
 public:
  // The first node is that of the first of these.
  explicit ClockBounds(const std::vector<RankProfile>& ranks);
  bool has_others() const { return begun_.size() > 1; }
  // What happened at a node when its clock was `at` was before what happened at another one when that one's clock was `later`.
  void before(int node, int64_t at, int other, int64_t later);
  NodeClocks clocks() const;

 private:
  std::map<int, int64_t> most_ahead(bool backwards) const;

  int first_ = 0;
  std::map<int, int64_t> begun_;  // of each node, by its clock
  std::map<std::pair<int, int>, int64_t>
      most_;  // by how much the second one's clock is ahead of the first one's at most
};

}  // namespace tutti::launcher
