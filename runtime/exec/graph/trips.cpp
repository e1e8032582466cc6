// SPDX-License-Identifier: BSD-3-Clause
#include "exec/graph/trips.hpp"

#include "exec/binding.hpp"

namespace tutti::exec {

Trips::Trips(const Plan& plan) : first_(static_cast<uint32_t>(plan.steps.size())) {
  uint32_t next = first_;
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].kind != Step::Kind::loop) continue;
    const Loop& loop = plan.loops[static_cast<size_t>(plan.steps[i].slot)];
    const auto length = static_cast<uint32_t>(loop.steps.size());
    State state{.loop = &loop, .head = i, .first = next, .length = length};
    state.trip.resize(loop.seats);
    state.left.resize(loop.seats);
    loops_.push_back(std::move(state));
    next += loop.seats * length;
  }
  steps_.resize(next - first_);
  waits_.resize(next - first_);
}

// What a step waits for of earlier trips may be over, and is counted only if it is not.
void Trips::take_seat(State& l, int64_t trip) {
  const Loop& loop = *l.loop;
  const auto seat = static_cast<size_t>(trip % loop.seats);
  l.trip[seat] = trip;
  l.left[seat] = l.length;
  for (uint32_t s = 0; s < l.length; ++s) {
    const uint32_t at = number_of(l, s, trip) - first_;
    steps_[at] = loop.at(s, static_cast<uint32_t>(trip));
    waits_[at] = loop.waits[s];
  }
  for (const Loop::Carried& c : loop.carried)
    if (trip >= c.trips && !is_done(l, c.from, trip - c.trips)) ++waits_[number_of(l, c.to, trip) - first_];
}

size_t Trips::footprint() const {
  size_t bytes = bytes_of(loops_) + bytes_of(steps_) + bytes_of(waits_);
  for (const State& l : loops_) bytes += bytes_of(l.trip) + bytes_of(l.left);
  return bytes;
}

}  // namespace tutti::exec
