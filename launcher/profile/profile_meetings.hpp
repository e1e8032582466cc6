// SPDX-License-Identifier: BSD-3-Clause
// Calls of collectives as all their ranks saw them: of those calls that every rank has kept. Pure.
//
// Clocks of nodes differ: node_clocks.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "launcher/data/rank_profile.hpp"
#include "launcher/profile/node_clocks.hpp"

namespace tutti::launcher {

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
