// SPDX-License-Identifier: BSD-3-Clause
#include "boot/patience.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/ranks_text.hpp"

namespace tutti::boot {
namespace {

// Ranks that are asked at a time whether they have come, to find out who speaks for all: usually
// one of the first has, and no rank of a large job asks more of them than these.
constexpr int kAskedAtOnce = 8;

const char* advice() {
  if (!std::getenv("SLURM_STEP_ID")) return "";
  return ". Once a rank has ended, srun --wait=SECONDS ends the step so long after, and "
         "--kill-on-bad-exit at once if it failed";
}

}  // namespace

std::optional<std::string> Patience::lose(Clock::time_point now) {
  if (launcher_decides_) {
    means_.tell();
    next_ = now + again_;
    again_ = std::min(2 * again_, kSilence);
    return std::nullopt;
  }
  if (!std::exchange(told_, true)) {
    means_.tell();
    next_ = start_ + again_;
    return std::nullopt;
  }
  return ask_or_speak(now);
}

std::optional<std::string> Patience::ask_or_speak(Clock::time_point now) {
  for (int lower = 0; lower < std::min(asked_, rank_); ++lower) {
    if (!means_.has_come(lower)) continue;
    next_.reset();  // that one speaks
    return std::nullopt;
  }
  if (asked_ < size_) {
    const int end = asked_ < rank_ ? std::min(asked_ + kAskedAtOnce, rank_) : size_;
    for (; asked_ < end; ++asked_)
      if (asked_ != rank_ && !means_.has_come(asked_)) means_.ask(asked_);
    next_ = now + kAnswer;
    return std::nullopt;
  }
  asked_ = 0;  // what is late may have come, and another rank may speak next time
  again_ *= 2;
  next_ = now + again_;
  return sentence(now);
}

std::string Patience::sentence(Clock::time_point now) const {
  std::vector<int> missing;
  for (int other = 0; other < size_; ++other)
    if (other != rank_ && !means_.has_come(other)) missing.push_back(other);
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
  if (missing.empty())
    return fmt::format("MPI_Init has waited {} s for other ranks, though all have been heard of", waited);
  return fmt::format("MPI_Init has waited {} s for {}, of which nothing is known yet{}", waited, ranks_text(missing),
                     advice());
}

void PmixAnswer::give(int value) {
  value_.store(value, std::memory_order_release);
  syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

std::optional<int> PmixAnswer::await(std::optional<Clock::time_point> until) {
  for (;;) {
    if (const int value = value_.load(std::memory_order_acquire); value != kNone) return value;
    timespec left{};
    if (until) {
      const auto rest = *until - Clock::now();
      if (rest <= rest.zero()) return std::nullopt;
      left.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(rest).count();
      left.tv_nsec = (rest % std::chrono::seconds(1)).count();
    }
    syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, kNone, until ? &left : nullptr, nullptr, 0);
  }
}

}  // namespace tutti::boot
