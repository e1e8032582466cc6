// SPDX-License-Identifier: BSD-3-Clause
// A lock in memory that the ranks of a node share, which does not end with its holder: its word says who holds it, and who
// waits for it asks whether that one lives. It is held for moments. What it guards has to make sense at each step at which
// its holder may die, since nobody mends it: the next one finds it as it was left.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <functional>

namespace tutti::transport {

// Whether a rank of the node, by its index there, has failed. Empty: nobody outlives another one.
using IsGone = std::function<bool(int member)>;

class MemberLock {
 public:
  // `word` is zero at first; `me`: this rank's index.
  MemberLock(std::atomic<uint32_t>& word, int me, const IsGone& is_gone)
      : word_(word), mine_(static_cast<uint32_t>(me) + 1), is_gone_(is_gone) {}

  bool try_lock() {
    // Acquire: with what its last holder has left there, released by unlock() or by the end of its process, which the
    // news of that end comes behind.
    for (uint32_t holder = 0; !word_.compare_exchange_strong(holder, mine_, std::memory_order_acquire);) {
      // Nobody comes back, so that the word is of that holder as long as it says so.
      if (holder == 0) continue;
      if (!is_gone_ || !is_gone_(static_cast<int>(holder) - 1)) return false;
      if (word_.compare_exchange_strong(holder, mine_, std::memory_order_acquire)) return true;
      holder = 0;
    }
    return true;
  }
  void lock() {
    while (!try_lock()) sched_yield();
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  std::atomic<uint32_t>& word_;
  const uint32_t mine_;
  const IsGone& is_gone_;
};

}  // namespace tutti::transport
