// SPDX-License-Identifier: BSD-3-Clause
// The plans of a call as the simulation needs them: what each step costs and whom it waits for, in a fifth of the
// memory of plans.
#pragma once

#include <cstdint>
#include <vector>

#include "model/simulation.hpp"

namespace tutti::model {

struct ShortStep {
  using Kind = coll::Step::Kind;
  int64_t bytes = 0;
  double from = 0;  // when the steps that it waits for are over, as far as they are
  // As in the plan; where one node stands for all, of what is received from another one: whose plan sends it, by number
  // on the node, and in which step.
  int32_t peer = -1;
  int32_t slot = 0;
  uint32_t waits = 0;
  uint32_t first_follower = 0;  // the next step's is the end
  Kind kind = Kind::join;
  bool reads_slot = false;  // of another rank
  bool crosses = false;     // a message with another node
};

struct ShortPlan {
  std::vector<ShortStep> steps;  // and one more, which ends the last one's followers
  std::vector<uint32_t> followers;
  int32_t rank = 0, node = 0, local = 0;
  uint32_t rounds = 0;
  coll::LaneSize lane = coll::LaneSize::none;
};

// More than fit into the memory of a machine that runs tests.
inline constexpr int64_t kMostSteps = 60'000'000;

// Of each rank of `job`, or of those of its first node alone. What the largest plan takes is written into `outcome`, and
// why there are none, if they have more than kMostSteps.
std::vector<ShortPlan> plans_in_short(const Calls& calls, const coll::Selection& rules, bool one_node,
                                      Outcome& outcome);

}  // namespace tutti::model
