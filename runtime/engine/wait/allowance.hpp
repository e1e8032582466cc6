// SPDX-License-Identifier: BSD-3-Clause
// How often something costly may be done: at once as long as it is seldom, and in the long run no
// more than once in a period.
#pragma once

#include <algorithm>
#include <chrono>

namespace tutti::engine {

class Allowance {
 public:
  using Clock = std::chrono::steady_clock;

  // `most` at once, one more after each `period`.
  constexpr Allowance(int most, Clock::duration period) : most_(most), period_(period), left_(most) {}

  // Uses one up; false if none is left.
  bool take(Clock::time_point now = Clock::now()) {
    const auto earned = (now - since_) / period_;
    if (earned > 0) {
      left_ = static_cast<int>(std::min<Clock::rep>(most_, left_ + earned));
      since_ += earned * period_;
    }
    return left_ > 0 && (--left_, true);
  }

 private:
  const int most_;
  const Clock::duration period_;
  int left_;
  Clock::time_point since_{};
};

}  // namespace tutti::engine
