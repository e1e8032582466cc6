// SPDX-License-Identifier: BSD-3-Clause
// What a rank does that waits at its start for others who do not come. A start that goes well never
// gets here: only after a second the rank tells that it waits. To Tutti's launcher, which knows who
// has ended and ends the job if need be; other launchers do not, and there the lowest of the
// waiting ranks says for whom, after a quarter of a minute and then ever more rarely. It ends
// nothing: who is late is waited for.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "boot/joining.hpp"

namespace tutti::boot {

using Clock = std::chrono::steady_clock;

class Patience {
 public:
  // How word gets to others, and from them.
  struct Means {
    std::function<void()> tell;              // that I wait
    std::function<void(int rank)> ask;       // has it come? Does not wait for the answer
    std::function<bool(int rank)> has_come;  // as far as it has answered by now
  };
  Patience(const JobInfo& view, Clock::time_point start, Means means)
      : size_(view.size),
        rank_(view.rank),
        launcher_decides_(view.own_launcher),
        means_(std::move(means)),
        start_(start),
        next_(start + kFirst),
        again_(view.own_launcher ? kFirst : kSilence) {}

  // When to lose it next; empty: never, somebody else speaks.
  std::optional<Clock::time_point> next() const { return next_; }
  // That time has come. What is to be said, if anything.
  std::optional<std::string> lose(Clock::time_point now);

  static constexpr std::chrono::seconds kFirst{1}, kSilence{15}, kAnswer{1};

 private:
  std::optional<std::string> ask_or_speak(Clock::time_point now);
  std::string sentence(Clock::time_point now) const;

  const int size_, rank_;
  const bool launcher_decides_;
  const Means means_;
  const Clock::time_point start_;
  std::optional<Clock::time_point> next_;
  std::chrono::seconds again_;  // until the next word
  bool told_ = false;
  int asked_ = 0;  // ranks below it have been, but for me
};

// An answer that a thread of the PMIx library gives to one of ours. Nothing but an atomic, which
// stays: a checker of races does not see how that library's thread comes to what it is called with.
class PmixAnswer {
 public:
  void expect() { value_.store(kNone, std::memory_order_release); }
  void give(int value);
  // Until then, or for ever.
  std::optional<int> await(std::optional<Clock::time_point> until);

 private:
  static constexpr int kNone = 1 << 30;  // no status of PMIx
  std::atomic<int> value_{kNone};
};

}  // namespace tutti::boot
