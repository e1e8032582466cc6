// SPDX-License-Identifier: BSD-3-Clause
#include "coll/planner.hpp"

namespace tutti::coll {
namespace {

// Steps that a communicator's plans may have together: some 4 MiB.
constexpr size_t kMostSteps = 50'000;

}  // namespace

std::shared_ptr<const Plan> Planner::plan(const Shape& shape) {
  if (!known_.empty() && known_.front().shape == shape) return known_.front().plan;
  const size_t hash = shape.hash();
  const auto [begin, end] = places_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (!(at->second->shape == shape)) continue;
    known_.splice(known_.begin(), known_, at->second);
    return known_.front().plan;
  }
  auto built = std::make_shared<const Plan>(selection_->choose(shape).build(shape));
  const size_t weight = 1 + built->steps.size() + shape.counts.size() / 8;
  known_.push_front({shape, hash, weight, built});
  places_.emplace(hash, known_.begin());
  weight_ += weight;
  while (weight_ > kMostSteps && known_.size() > 1) forget_the_oldest();
  return built;
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
