// SPDX-License-Identifier: BSD-3-Clause
#include "engine/ownership.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace tutti::engine {
namespace {

constexpr int kSpins = 100;
constexpr int kYields = 50;
// The owner stores its turn and then looks for waiters without a fence between the two, so that a
// waiter may be overlooked; it then wakes by itself after this long.
constexpr timespec kLongestSleep{0, 1'000'000};

}  // namespace

void Ownership::await_turn(uint32_t ticket) {
  for (int tries = 0;; ++tries) {
    const uint32_t serving = serving_.load(std::memory_order_acquire);
    if (serving == ticket) return;
    if (tries < kSpins) {
      __builtin_ia32_pause();
    } else if (tries < kSpins + kYields) {
      sched_yield();
    } else {
      syscall(SYS_futex, &serving_, FUTEX_WAIT_PRIVATE, serving, &kLongestSleep, nullptr, 0);
    }
  }
}

void Ownership::wake_waiters() {
  syscall(SYS_futex, &serving_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tutti::engine
