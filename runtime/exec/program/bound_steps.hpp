// SPDX-License-Identifier: BSD-3-Clause
// The steps of a program, with all that is known of them once the buffers' layouts are: little is left to find out
// when they run, and nothing when the call comes again with other buffers.
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
};

// Of one binding.
class BoundSteps {
 public:
  explicit BoundSteps(const Binding& binding) : binding_(binding), steps_(binding.plan().steps.size()) {}
  BoundSteps(const BoundSteps&) = delete;

  // Once the binding is bound to another call than before; `ranks`: those of the node.
  void bind(int ranks);

  const BoundStep* begin() const { return steps_.data(); }
  const BoundStep* end() const { return steps_.data() + steps_.size(); }
  uint32_t number_of(const BoundStep* bound) const { return static_cast<uint32_t>(bound - steps_.data()); }
  // What the plan says of it.
  const Step& step_of(const BoundStep& bound) const { return binding_.plan().steps[number_of(&bound)]; }
  // What all ranks get is more than their caches are likely to hold.
  bool flood() const { return flood_; }
  size_t footprint() const { return bytes_of(steps_); }

 private:
  void bind_copy(const Step& step, BoundStep& bound) const;
  void bind_block(const Step& step, BoundStep& bound) const;
  void bind_reduce(const Step& step, BoundStep& bound, BoundStep* before) const;
  End end_at(const Buf& buf, const void* first) const;

  const Binding& binding_;
  std::vector<BoundStep> steps_;
  bool flood_ = false;
};

}  // namespace tutti::exec
