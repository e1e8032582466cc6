// SPDX-License-Identifier: BSD-3-Clause
// The ends of the ranks of a node on their way to the launcher. The first that is a failure, of each kind, is said at once;
// those that have ended alike are said together, when all have ended or none has for a moment.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "launcher/data/node_contract.hpp"
#include "launcher/data/spans.hpp"
#include "launcher/loop/loop.hpp"

namespace tutti::launcher {

// Ranks of a node, by their places among its ranks. The number of the process is that of the first of them or kUntold, and
// 0 if none was started: then it is the same on many nodes.
struct EndsAlike {
  RankEnd how;
  std::vector<Span> ranks;
};
template <class Archive>
void fields(Archive& a, EndsAlike& v) {
  a(v.how);
  a(v.ranks);
}

class RankEnds {
 public:
  struct Means {
    std::function<void(const RankEnd&)> say;
    std::function<void(const std::vector<EndsAlike>&)> say_together;
  };
  // `each_failure`: the job goes on without ranks that fail, and is told of each at once.
  RankEnds(Loop& loop, bool each_failure, Means means)
      : loop_(loop), each_failure_(each_failure), means_(std::move(means)) {}

  void begin(std::vector<int> ranks);  // of the node, ascending
  void put(const RankEnd& end);
  void are_told_to_end() { told_to_end_ = true; }  // what they do then is no failure
  void flush();

 private:
  bool is_news(const RankEnd& end);
  void wait();

  Loop& loop_;
  bool each_failure_, told_to_end_ = false;
  Means means_;
  std::vector<int> ranks_;
  size_t left_ = 0;              // that have not ended
  std::vector<RankEnd> said_;    // failures, one of each kind
  std::vector<EndsAlike> kept_;  // by kind
  std::chrono::steady_clock::time_point first_;
  Watch timer_;
};

}  // namespace tutti::launcher
