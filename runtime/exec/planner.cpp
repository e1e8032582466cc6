// SPDX-License-Identifier: BSD-3-Clause
#include "exec/planner.hpp"

#include "exec/execution.hpp"

namespace tutti::coll {
namespace {

// Steps that a communicator's plans may have together: some 4 MiB.
constexpr size_t kMostSteps = 50'000;

}  // namespace

Planner::~Planner() = default;

Planner::Known& Planner::known(const Shape& shape) {
  if (!known_.empty() && known_.front().shape == shape) return known_.front();
  const size_t hash = shape.hash();
  const auto [begin, end] = places_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (!(at->second->shape == shape)) continue;
    known_.splice(known_.begin(), known_, at->second);
    return known_.front();
  }
  auto built = std::make_shared<const Plan>(build(shape));
  const size_t weight = 1 + built->steps.size() + shape.counts.size() / 8;
  known_.push_front({shape, hash, weight, std::move(built), nullptr});
  places_.emplace(hash, known_.begin());
  weight_ += weight;
  while (weight_ > kMostSteps && known_.size() > 1) forget_the_oldest();
  return known_.front();
}

Plan Planner::build(const Shape& shape) const {
  Shape ruled = shape;
  ruled.rules = selection_.get();
  Plan plan = selection_->choose(ruled).build(ruled);
  const bool is_program = plan.lane != Lane::none;
  if (stress_.chance && is_program) return lingering(plan, stress_.chance);
  if (!stress_.synchronising || shape.kind == Collective::barrier) return plan;
  if (is_program) return meeting(std::move(plan));
  const Shape barrier{.rank = shape.rank, .size = shape.size};
  return together(std::move(plan), selection_->choose(barrier).build(barrier));
}

void Planner::forget_the_oldest() {
  const Place oldest = std::prev(known_.end());
  const auto [begin, end] = places_.equal_range(oldest->hash);
  for (auto at = begin; at != end; ++at)
    if (at->second == oldest) {
      places_.erase(at);
      break;
    }
  weight_ -= oldest->weight;
  known_.erase(oldest);
}

}  // namespace tutti::coll
