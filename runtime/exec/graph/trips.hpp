// SPDX-License-Identifier: BSD-3-Clause
// Trips: those of a plan's loops that are under way in one run of a graph. Each has a seat, and a loop as many as its
// plan says; a seat takes the next trip when all steps of the one that had it are over. Steps are known by numbers
// here, those of each seat by numbers of their own, which go on behind those of the plan's steps. Owns the steps as they
// are in their trips, and how far each has come; refuses to know how a step is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/plans.hpp"

namespace tutti::exec {

class Trips {
 public:
  static constexpr uint32_t kGoesOn = UINT32_MAX;

  explicit Trips(const Plan& plan);

  uint32_t numbers() const { return first_ + static_cast<uint32_t>(steps_.size()); }  // the plan's steps among them
  bool has(uint32_t number) const { return number >= first_; }
  const Step& step(uint32_t number) const { return steps_[number - first_]; }

  // The loop's first trips begin. ready(number) is called for each step that waits for nothing, here and below.
  template <class Ready>
  void begin(uint32_t loop, Ready&& ready) {
    State& l = loops_[loop];
    l.over = 0;
    for (uint32_t seat = 0; seat < l.loop->seats; ++seat) l.trip[seat] = int64_t{seat} - l.loop->seats;
    for (uint32_t t = 0; t < l.loop->seats && t < l.loop->trips; ++t) begin_trip(l, t, ready);
  }
  // A step is done. Returns the plan's step that is its loop, if that is over; else kGoesOn.
  template <class Ready>
  uint32_t done(uint32_t number, Ready&& ready) {
    State& l = loop_of(number);
    const Loop& loop = *l.loop;
    const uint32_t step = (number - l.first) % l.length, seat = (number - l.first) / l.length;
    const int64_t trip = l.trip[seat];
    waits_[number - first_] = kDone;
    for (uint32_t f = loop.first_follower[step]; f < loop.first_follower[step + 1]; ++f)
      release(l.first + seat * l.length + loop.followers[f], ready);
    for (const Loop::Carried& c : loop.carried)
      if (c.from == step && l.trip[(trip + c.trips) % loop.seats] == trip + c.trips)
        release(number_of(l, c.to, trip + c.trips), ready);
    if (--l.left[seat] > 0) return kGoesOn;
    ++l.over;
    if (trip + loop.seats < loop.trips) begin_trip(l, trip + loop.seats, ready);
    return l.over == loop.trips ? l.head : kGoesOn;
  }

  size_t footprint() const;

 private:
  using Loop = coll::Loop;
  static constexpr uint32_t kDone = UINT32_MAX;
  struct State {
    const Loop* loop;
    uint32_t head, first, length;  // its step in the plan, the number of its first step, and how many steps a trip has
    uint32_t over = 0;             // trips
    std::vector<int64_t> trip;     // by seat; < 0: none yet
    std::vector<uint32_t> left;    // by seat: steps to go
  };

  State& loop_of(uint32_t number) {
    size_t at = loops_.size() - 1;
    while (loops_[at].first > number) --at;
    return loops_[at];
  }
  uint32_t number_of(const State& l, uint32_t step, int64_t trip) const {
    return l.first + static_cast<uint32_t>(trip % l.loop->seats) * l.length + step;
  }
  bool is_done(const State& l, uint32_t step, int64_t trip) const {
    const int64_t now = l.trip[static_cast<size_t>(trip % l.loop->seats)];
    return now != trip ? now > trip : waits_[number_of(l, step, trip) - first_] == kDone;
  }
  template <class Ready>
  void release(uint32_t number, Ready&& ready) {
    if (--waits_[number - first_] == 0) ready(number);
  }
  template <class Ready>
  void begin_trip(State& l, int64_t trip, Ready&& ready) {
    take_seat(l, trip);
    for (uint32_t s = 0; s < l.length; ++s)
      if (const uint32_t number = number_of(l, s, trip); waits_[number - first_] == 0) ready(number);
  }
  void take_seat(State& l, int64_t trip);

  const uint32_t first_;  // number of theirs
  std::vector<State> loops_;
  std::vector<Step> steps_;      // by number behind first_
  std::vector<uint32_t> waits_;  // the same: for how many it still waits, or kDone
};

}  // namespace tutti::exec
