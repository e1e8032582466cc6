// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a job are doing, those that do the same in one group: as much as a reader is shown of them, in a size that
// grows with what they do, not with how many they are. Groups of some ranks are joined to groups of more on their way
// from the nodes to mpirun.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launcher/data/rank_view.hpp"
#include "launcher/data/spans.hpp"

namespace tutti::launcher {

struct FileCalls {
  int rank = 0;
  std::string text;
};

struct RankGroup {
  RankView first;                              // of the lowest rank; what stands below is not in it
  std::string what;                            // they do: it is the same for all, and tells groups of a job apart
  std::vector<Span> ranks;                     // apart, as those below
  std::vector<std::string> hosts;              // ascending, each once
  int64_t least = -1, most = -1;               // RankView::milliseconds; -1: of nobody known
  bool exact = true;                           // for all of them
  std::vector<Span> waits_for;                 // of all of them together
  std::vector<ElsewhereView> waits_elsewhere;  // ascending, each once
  bool waits_for_some = false, waits_for_more = false;
  std::vector<FileCalls>
      files;  // of the lowest ranks that are in some: kMostFiles, so that it is seen that there are more
};

class RankGroups {
 public:
  static constexpr size_t kMostFiles = 5, kMostElsewhere = 64;

  void add(const RankView& view);
  void add(RankGroup group);
  // By job and lowest rank; nothing is left.
  std::vector<RankGroup> take();

 private:
  std::map<std::pair<std::string, std::string>, RankGroup> groups_;  // by job, and what they do
};

std::vector<RankGroup> groups_of(const std::vector<RankView>& ranks);
// What came over a wire holds together.
bool are_sound(const std::vector<RankGroup>& groups);

// What a job's nodes answered, and what is to be said of those that did not.
struct JobView {
  std::vector<RankView> ranks;    // by rank, where each was wanted …
  std::vector<RankGroup> groups;  // … or groups
  std::vector<FailedView> failed;
  std::vector<std::string> notes;
};

}  // namespace tutti::launcher
