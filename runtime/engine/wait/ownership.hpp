// SPDX-License-Identifier: BSD-3-Clause
// Who drives the engine: one thread at a time, in the order of asking. A ticket lock: one atomic
// addition in, one store out when nobody else asks. Waiters spin, yield, then sleep on a futex.
// This is where the right comes from that base/engine_owned.hpp names, so nothing proves its functions.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/engine_owned.hpp"

namespace tutti::engine {

class Ownership {
 public:
  void acquire() TUTTI_ACQUIRES(engine_owned) TUTTI_NOT_PROVEN {
    const uint32_t ticket = next_.fetch_add(1, std::memory_order_acquire);
    if (serving_.load(std::memory_order_acquire) != ticket) [[unlikely]]
      await_turn(ticket);
  }

  bool try_acquire() TUTTI_TRY_ACQUIRES(true, engine_owned) {
    uint32_t ticket = serving_.load(std::memory_order_acquire);
    return next_.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acquire);
  }

  void release() TUTTI_RELEASES(engine_owned) TUTTI_NOT_PROVEN {
    const uint32_t after = serving_.load(std::memory_order_relaxed) + 1;
    serving_.store(after, std::memory_order_release);
    if (next_.load(std::memory_order_relaxed) != after) [[unlikely]]
      wake(after);
  }

  // Does another thread wait for its turn?
  bool contended() const TUTTI_ENGINE_OWNED {
    return next_.load(std::memory_order_relaxed) != serving_.load(std::memory_order_relaxed) + 1;
  }
  // Asked by anyone: is it owned at this moment?
  bool owned() const { return next_.load(std::memory_order_relaxed) != serving_.load(std::memory_order_relaxed); }

 private:
  void await_turn(uint32_t ticket);
  void wake(uint32_t ticket);

  alignas(64) std::atomic<uint32_t> next_{0};
  std::atomic<uint32_t> serving_{0};
  std::atomic<int> asleep_{0};  // waiters on the futex
};

}  // namespace tutti::engine
