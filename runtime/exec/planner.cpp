// SPDX-License-Identifier: BSD-3-Clause
#include "exec/planner.hpp"

#include <utility>

#include "exec/execution.hpp"
#include "exec/plan_counts.hpp"

namespace tutti::exec {

Planner::~Planner() {
  const Lock lock(store_->mutex());
  known_.clear();
  too_large_.reset();
}

Planner::Known::Known(Planner& planner, const Shape& of, size_t with_hash, std::shared_ptr<const Plan> made)
    : Kept(planner.store_), shape(of), hash(with_hash), plan(std::move(made)), planner_(planner) {}

void Planner::Known::forgotten() {
  planner_.forget(*this);
}

Planner::Known& Planner::known(const Shape& shape) {
  if (latest_ && latest_->shape == shape) {
    plan_counts.reused.add(1);
    latest_->use();
    return *latest_;
  }
  const size_t hash = shape.hash();
  const auto [begin, end] = known_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (!(at->second->shape == shape)) continue;
    plan_counts.reused.add(1);
    latest_ = at->second.get();
    latest_->use();
    too_large_.reset();
    return *latest_;
  }
  plan_counts.built.add(1);
  auto made = std::make_unique<Known>(*this, shape, hash, std::make_shared<const Plan>(build(shape)));
  const bool fits = made->enter(bytes_of(*made->plan), shape.counts.size() * sizeof(int64_t));
  latest_ = made.get();
  if (fits) {
    too_large_.reset();
    known_.emplace(hash, std::move(made));
  } else {
    too_large_ = std::move(made);
  }
  return *latest_;
}

Plan Planner::build(const Shape& shape) const {
  Shape ruled = shape;
  ruled.rules = selection_.get();
  if (stress_.loops) ruled.written_out = 1;
  Plan plan = selection_->choose(ruled).build(ruled);
  if (stress_.chance && plan.is_program()) return lingering(plan, stress_.chance);
  if (!stress_.synchronising || shape.kind == coll::Collective::barrier) return plan;
  if (plan.is_program()) return meeting(std::move(plan));
  const Shape barrier{.rank = shape.rank, .size = shape.size, .first_side = shape.first_side};
  return together(std::move(plan), selection_->choose(barrier).build(barrier));
}

void Planner::forget(const Known& known) {
  if (latest_ == &known) latest_ = nullptr;
  const auto [begin, end] = known_.equal_range(known.hash);
  for (auto at = begin; at != end; ++at) {
    if (at->second.get() != &known) continue;
    known_.erase(at);
    return;
  }
}

}  // namespace tutti::exec
