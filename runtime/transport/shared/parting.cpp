// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared/parting.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace tutti::transport {

void Parting::await(uint32_t members, std::chrono::milliseconds longest) {
  using Clock = std::chrono::steady_clock;
  uint32_t come = come_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (come == members) {
    syscall(SYS_futex, &come_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return;
  }
  for (const auto deadline = Clock::now() + longest; come < members; come = come_.load(std::memory_order_acquire)) {
    const std::chrono::nanoseconds left = deadline - Clock::now();
    if (left.count() <= 0) return;
    const timespec at_most{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    syscall(SYS_futex, &come_, FUTEX_WAIT, come, &at_most, nullptr, 0);
  }
}

}  // namespace tutti::transport
