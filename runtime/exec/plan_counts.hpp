// SPDX-License-Identifier: BSD-3-Clause
// How many plans this process has built, and how many it has found again, for tools.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::exec {

// Counted by threads that own different planners. Two at once may count one for both: a count without a locked
// instruction, which every collective would pay for.
class PlanCount {
 public:
  void add(uint64_t number) {
    count_.store(count_.load(std::memory_order_relaxed) + number, std::memory_order_relaxed);
  }
  uint64_t get() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> count_{0};  // relaxed: it orders nothing
};

struct PlanCounts {
  PlanCount built, reused;
};
inline constinit PlanCounts plan_counts;

}  // namespace tutti::exec
