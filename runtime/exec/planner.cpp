// SPDX-License-Identifier: BSD-3-Clause
#include "exec/planner.hpp"

#include <utility>

#include "exec/execution.hpp"
#include "exec/plan_counts.hpp"

namespace tutti::coll {
namespace {

// Steps that a communicator's plans may have together: some 4 MiB.
constexpr size_t kMostSteps = 50'000;
// What a plan without any takes beside, with its execution, in steps.
constexpr size_t kStepsBeside = 16;
// What the executions that are kept need, in bytes.
constexpr size_t kMostIdleBytes = 8 << 20;

}  // namespace

Planner::~Planner() = default;

Planner::Known& Planner::known(const Shape& shape) {
  if (!known_.empty() && known_.front().shape == shape) {
    plan_counts.reused.add(1);
    return known_.front();
  }
  const size_t hash = shape.hash();
  const auto [begin, end] = places_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (!(at->second->shape == shape)) continue;
    known_.splice(known_.begin(), known_, at->second);
    plan_counts.reused.add(1);
    return known_.front();
  }
  plan_counts.built.add(1);
  auto built = std::make_shared<const Plan>(build(shape));
  const size_t weight = kStepsBeside + built->steps.size() + shape.counts.size() / 8;
  known_.push_front({shape, hash, weight, std::move(built), nullptr, 0});
  places_.emplace(hash, known_.begin());
  weight_ += weight;
  forget_old_ones();
  return known_.front();
}

std::unique_ptr<Execution> Planner::take_idle(Known& known) {
  idle_bytes_ -= std::exchange(known.idle_bytes, 0);
  return std::move(known.idle);
}

void Planner::keep_idle(std::unique_ptr<Execution> execution, size_t bytes) {
  Known& latest = known_.front();
  idle_bytes_ += bytes - std::exchange(latest.idle_bytes, bytes);
  latest.idle = std::move(execution);
  forget_old_ones();
}

Plan Planner::build(const Shape& shape) const {
  Shape ruled = shape;
  ruled.rules = selection_.get();
  Plan plan = selection_->choose(ruled).build(ruled);
  const bool is_program = plan.lane != Lane::none;
  if (stress_.chance && is_program) return lingering(plan, stress_.chance);
  if (!stress_.synchronising || shape.kind == Collective::barrier) return plan;
  if (is_program) return meeting(std::move(plan));
  const Shape barrier{.rank = shape.rank, .size = shape.size, .first_side = shape.first_side};
  return together(std::move(plan), selection_->choose(barrier).build(barrier));
}

void Planner::forget_old_ones() {
  while ((weight_ > kMostSteps || idle_bytes_ > kMostIdleBytes) && known_.size() > 1)
    forget_the_oldest();
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
  idle_bytes_ -= oldest->idle_bytes;
  known_.erase(oldest);
}

}  // namespace tutti::coll
