// SPDX-License-Identifier: BSD-3-Clause
// Planner: the plans of one communicator, by shape. A repeated call finds its plan and builds
// nothing; the plans used longest ago are forgotten when they get many. Keeps for each plan one
// execution that is idle, so that a repeated blocking call allocates nothing either; what all of them
// take together has a bound, too.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>

#include "coll/selection.hpp"

namespace tutti::coll {

class Execution;

// What --stress makes of plans.
struct Stress {
  bool synchronising = false;  // every collective is a barrier as well, as the standard allows
  uint64_t chance = 0;         // other than 0: programs linger by it
};

// Used by one thread at a time.
class Planner {
 public:
  explicit Planner(std::shared_ptr<const Selection> selection = Selection::shipped(),
                   Stress stress = {})
      : selection_(std::move(selection)), stress_(stress) {}
  ~Planner();
  Planner(const Planner&) = delete;

  // A plan stays alive while a collective runs on it, also when it has been forgotten here.
  std::shared_ptr<const Plan> plan(const Shape& shape) { return known(shape).plan; }

  struct Known {
    Shape shape;
    size_t hash;
    size_t weight;  // steps, about
    std::shared_ptr<const Plan> plan;
    std::unique_ptr<Execution> idle;
    size_t idle_bytes = 0;  // of its steps and scratch
  };
  // Valid until the next call.
  Known& known(const Shape& shape);
  // The one asked for last; nullptr if there is none.
  Known* latest() { return known_.empty() ? nullptr : &known_.front(); }
  // Of one that is known: nullptr if there is none. And back, to the latest.
  std::unique_ptr<Execution> take_idle(Known& known);
  void keep_idle(std::unique_ptr<Execution> execution, size_t bytes);

 private:
  using Place = std::list<Known>::iterator;
  Plan build(const Shape& shape) const;
  void forget_old_ones();
  void forget_the_oldest();

  std::shared_ptr<const Selection> selection_;
  const Stress stress_;
  std::list<Known> known_;  // the latest first
  std::unordered_multimap<size_t, Place> places_;
  size_t weight_ = 0, idle_bytes_ = 0;
};

}  // namespace tutti::coll
