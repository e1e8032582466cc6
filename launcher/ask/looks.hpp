// SPDX-License-Identifier: BSD-3-Clause
// Brings together what all nodes of a job say of their ranks, as far as they say it in time. One
// look is under way at a time; who asks meanwhile shares the next one.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/data/rank_groups.hpp"
#include "launcher/data/rank_view.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

class Looks {
 public:
  using Then = std::function<void(const JobView&)>;
  struct Means {
    std::function<std::set<int>()> nodes;  // those that can be asked now
    std::function<void(int node, const Question&)> ask;
    std::function<std::string(int node)> name;
    std::function<std::vector<FailedView>()> failed;
  };
  Looks(Loop& loop, Means job) : loop_(loop), job_(std::move(job)) {}

  void look(const std::vector<int>& records_of, Then then);
  void look_together(Then then);  // at groups of ranks alone
  void looked(int node, uint64_t number, std::vector<RankView> ranks);
  void grouped(int node, uint64_t number, std::vector<RankGroup> groups);

 private:
  struct Wish {
    std::vector<int> records_of;
    bool together = false;
    Then then;
  };
  void wish(Wish wish);
  void begin();
  void end();

  Loop& loop_;
  Means job_;
  std::vector<Wish> waiting_, current_;
  std::set<int> unseen_;  // nodes that are looking
  uint64_t number_ = 0;   // of the current look
  JobView view_;
  RankGroups groups_;
  Watch patience_;
};

}  // namespace tutti::launcher
