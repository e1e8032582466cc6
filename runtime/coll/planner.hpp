// SPDX-License-Identifier: BSD-3-Clause
// Planner: the plans of one communicator, by shape. A repeated call finds its plan and builds
// nothing; the plans used longest ago are forgotten when they get many.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>

#include "coll/selection.hpp"

namespace tutti::coll {

// Used by one thread at a time.
class Planner {
 public:
  explicit Planner(std::shared_ptr<const Selection> selection = Selection::shipped())
      : selection_(std::move(selection)) {}
  Planner(const Planner&) = delete;

  // A plan stays alive while a collective runs on it, also when it has been forgotten here.
  std::shared_ptr<const Plan> plan(const Shape& shape);

 private:
  struct Known {
    Shape shape;
    size_t hash;
    size_t weight;  // steps, about
    std::shared_ptr<const Plan> plan;
  };
  using Place = std::list<Known>::iterator;
  void forget_the_oldest();

  std::shared_ptr<const Selection> selection_;
  std::list<Known> known_;  // the latest first
  std::unordered_multimap<size_t, Place> places_;
  size_t weight_ = 0;
};

}  // namespace tutti::coll
