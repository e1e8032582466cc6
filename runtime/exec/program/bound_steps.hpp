// SPDX-License-Identifier: BSD-3-Clause
// The steps of a program, with all that is known of them once the buffers' layouts are: little is left to find out
// when they run, and nothing when the call comes again with other buffers. Those of a loop stand in front of the step that is
// the loop, as they are in the trip that they make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/binding.hpp"

namespace tutti::exec {

// An end of a copy, or an operand: `offset` bytes from where its region begins.
struct End {
  int64_t offset = 0;
  int32_t rank = 0;  // shared: whose slot, in which of the plan's rounds
  uint32_t round = 0;
  Region region = Region::input;
  bool operator==(const End&) const = default;
  void go_on(const End& by) {
    offset += by.offset;
    round += by.round;
  }
};

struct BoundStep {
  End from, into;
  End right;           // of a reduction
  int64_t length = 0;  // of a copy or a block in bytes, of a reduction in elements; publish: of what is shown
  uint64_t word = 0;   // show, take: the signature of the call and the block
  uint32_t round = 0;
  int32_t peer = -1;
  Step::Kind kind = Step::Kind::join;
  bool direct = false;    // copy, show, take: from and into are all that is needed
  bool is_short = false;  // of a direct copy: of fewer bytes than one that may be done in several ways
  bool is_long = false;   // copy, reduce: of about a piece or more
  bool shows = false;     // of a short copy: into a slot
  bool fits = false;      // show, expect, take: the block in its share
  bool beside = false;    // await: the next step takes what should come as a message
  bool operator==(const BoundStep&) const = default;
};

// Of one binding.
class BoundSteps {
 public:
  explicit BoundSteps(const Binding& binding);
  BoundSteps(const BoundSteps&) = delete;

  // Once the binding is bound to another call than before; `ranks`: those of the node.
  void bind(int ranks);

  const BoundStep* begin() const { return steps_.data(); }
  const BoundStep* end() const { return steps_.data() + steps_.size(); }
  uint32_t number_of(const BoundStep* bound) const { return static_cast<uint32_t>(bound - steps_.data()); }
  // What the plan says of it.
  const Step& step_of(const BoundStep& bound) const { return step(number_of(&bound)); }
  const Step& step(uint32_t number) const {
    return loops_.empty() ? binding_.plan().steps[number] : step_in_trip(number);
  }

  // A start begins with the first trips.
  void rewind() {
    for (Looping& each : loops_)
      if (each.trip > 0) go_to_trip(each, 0);
  }
  // The step, a loop, has made a trip. The first step of its next one, or the one behind the loop.
  const BoundStep* next_trip(const BoundStep* loop);
  // What all ranks get is more than their caches are likely to hold.
  bool flood() const { return flood_; }
  size_t footprint() const {
    size_t bytes = bytes_of(steps_) + bytes_of(in_trips_) + bytes_of(loops_);
    for (const Looping& each : loops_) bytes += bytes_of(each.going);
    return bytes;
  }

 private:
  // By how much a step's ends and rounds go on from trip to trip.
  struct Going {
    End from, into, right;
    uint32_t round;
  };
  struct Looping {
    const coll::Loop* loop;
    uint32_t first, trip;      // its first step
    std::vector<Going> going;  // by step; empty: each trip is bound anew
    uint32_t length() const { return static_cast<uint32_t>(loop->steps.size()); }
  };
  static void go_on(BoundStep& step, const Going& by, int64_t trips);
  const Step& step_in_trip(uint32_t number) const;
  void find_going(Looping& looping);
  void go_to_trip(Looping& looping, uint32_t trip);
  // Binds those from `begin` up to `end`. `shown`: by the steps before.
  void bind_steps(uint32_t begin, uint32_t end, int64_t& shown);
  bool begins_trip(uint32_t number) const;
  void bind_trip(Looping& looping, uint32_t trip);
  void bind_step(uint32_t number, int64_t& shown);
  void bind_copy(const Step& step, BoundStep& bound) const;
  void bind_block(const Step& step, BoundStep& bound) const;
  void bind_reduce(const Step& step, BoundStep& bound, BoundStep* before) const;
  End end_at(const Buf& buf, const void* first) const;

  const Binding& binding_;
  std::vector<BoundStep> steps_;
  mutable std::vector<Step> in_trips_;  // by number, if there are loops: as they were when they were last asked for
  std::vector<Looping> loops_;
  bool flood_ = false;
};

}  // namespace tutti::exec
