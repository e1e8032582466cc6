// SPDX-License-Identifier: BSD-3-Clause
// Calls of collectives as all their ranks saw them: of those calls that every rank has kept. Pure.
//
// Clocks of nodes differ; by how much is found from collectives that no rank leaves before all have entered, which bound the
// difference from both sides, the tighter the more of them there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

// What is to be taken off the clock of each node, so that it is the first one's, and how wrong that may be.
class NodeClocks {
 public:
  // Whether times of this node can be compared with those of another one.
  bool knows(int node) const { return offset_.contains(node); }
  int64_t to_first(int node, int64_t time) const {
    const auto at = offset_.find(node);
    return at == offset_.end() ? time : time - at->second;
  }
  int64_t error() const { return error_; }  // -1: there is one node

 private:
  friend struct Meetings;
  std::map<int, int64_t> offset_;
  int64_t error_ = -1;
};

struct Meeting {
  struct Entry {
    size_t rank;                        // among the profiles
    int site;                           // there
    int64_t entered, waits_from, left;  // by the first node's clock
    int64_t at_file;                    // how long, since the rank's collective before
  };
  std::vector<Entry> entries;  // two at least, in the order in which they were entered
  const Entry& last() const { return entries.back(); }
  int64_t middle() const { return entries[(entries.size() - 1) / 2].entered; }
  // The last one was so for it read or wrote, for itself or, as an aggregator, for others.
  bool waited_for_file() const { return last().at_file * 2 > last().entered - middle(); }
  // What the rank of an entry waited for the last one.
  int64_t waited(const Entry& entry) const;
};

struct Meetings {
  explicit Meetings(const std::vector<RankProfile>& ranks);

  NodeClocks clocks;
  std::vector<Meeting> all;
};

}  // namespace tutti::launcher
