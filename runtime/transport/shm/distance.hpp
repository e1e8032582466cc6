// SPDX-License-Identifier: BSD-3-Clause
// Whether the reader of a ring is far from its writer. A writer asks each line back from its last
// reader; from another die or socket that takes several times as long as from a cache near by, and
// from some length on more than the kernel's copy, which passes through no ring. Processes may be
// moved, so it is found out on the way: by the time that copies into the ring take.
#pragma once

#include <cstdint>

namespace tutti::transport {

// Used by one thread at a time.
class Distance {
 public:
  // Ticks of the time stamp counter for a byte from which a copy is slow. At 2.6 GHz 0.07 to 0.4
  // with lines at 50 ns, 0.6 to 2 with lines at 250.
  static constexpr double kSlow = 0.5;
  // So many slow copies in a row tell; a single fast one tells that it is not so (any more).
  static constexpr int kSlowCopies = 8;
  static constexpr unsigned kTryAnew = 64;

  explicit Distance(double slow = kSlow) : slow_(slow) {}

  // What copying so many bytes into the ring took.
  void learn(uint64_t ticks, int64_t bytes) {
    const bool slow = static_cast<double>(ticks) >= slow_ * static_cast<double>(bytes);
    slow_copies_ = !slow ? 0 : is_far() ? kSlowCopies : slow_copies_ + 1;
  }
  // For one message that may be copied or not. Every kTryAnew-th is, to learn from.
  bool rules_out_a_copy() { return is_far() && ++asked_ % kTryAnew != 0; }

 private:
  bool is_far() const { return slow_copies_ >= kSlowCopies; }

  double slow_;
  int slow_copies_ = 0;
  unsigned asked_ = 0;
};

}  // namespace tutti::transport
