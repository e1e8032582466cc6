// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wait/ownership.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "base/cpu.hpp"

namespace tutti::engine {
namespace {

// Why these orders do, on any processor. Whoever finds its number in serving_ has acquired there what all owners before have
// released, each of which had acquired the one before it. A number is given once, since next_ changes by additions and
// exchanges alone; try_acquire() takes the number that it has found, and fails if that was an old one. The test weak_orders
// tries it. Only who sleeps may be overlooked:
constexpr int kSpins = 100;
constexpr int kYields = 50;
// The owner stores its turn and then looks for waiters without a fence between the two, so that a
// waiter may be overlooked; it then wakes by itself after this long.
constexpr int64_t kLongestSleepNs = 1'000'000;

timespec soon() {
  timespec when;
  clock_gettime(CLOCK_MONOTONIC, &when);
  const int64_t nanoseconds = when.tv_nsec + kLongestSleepNs;
  return {when.tv_sec + nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
}

// Each waiter is woken for its own turn, of which so many in a row can be told apart.
uint32_t bit_of(uint32_t ticket) {
  return uint32_t{1} << (ticket % 32);
}

}  // namespace

void Ownership::await_turn(uint32_t ticket) {
  for (int tries = 0;; ++tries) {
    const uint32_t serving = serving_.load(std::memory_order_acquire);
    if (serving == ticket) return;
    if (tries < kSpins) {
      cpu::pause();
    } else if (tries < kSpins + kYields) {
      sched_yield();
    } else {
      asleep_.fetch_add(1, std::memory_order_relaxed);
      const timespec until = soon();
      syscall(SYS_futex, &serving_, FUTEX_WAIT_BITSET_PRIVATE, serving, &until, nullptr, bit_of(ticket));
      asleep_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

void Ownership::wake(uint32_t ticket) {
  if (asleep_.load(std::memory_order_relaxed) > 0)
    syscall(SYS_futex, &serving_, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr, nullptr, bit_of(ticket));
}

}  // namespace tutti::engine
