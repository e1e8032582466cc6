// SPDX-License-Identifier: BSD-3-Clause
// Asks the daemons of a job from time to time whether they are still there, and tells of those that
// have not answered for how long. The kernel of a node acknowledges for a daemon that is stopped,
// or that waits for a file system, so that its link shows nothing of it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

class RollCall {
 public:
  using Clock = std::chrono::steady_clock;
  struct Means {
    std::function<std::set<int>()> nodes;  // those that are to answer
    std::function<void(int node)> call;
    std::function<void(int node, std::chrono::nanoseconds silence)> silent;  // at every round
  };
  RollCall(Loop& loop, Means job) : loop_(loop), job_(std::move(job)) {}

  void every(std::chrono::nanoseconds period);  // from now on
  void round();
  void answered(int node) { unanswered_.erase(node); }
  // How long a node has owed an answer.
  std::chrono::nanoseconds silence_of(int node) const;

 private:
  Loop& loop_;
  Means job_;
  std::chrono::nanoseconds period_{0};
  std::map<int, Clock::time_point> unanswered_;  // by node: since when
  Clock::time_point latest_;
  Watch timer_;
};

}  // namespace tutti::launcher
