// SPDX-License-Identifier: BSD-3-Clause
// How long a rank computes while operations that do not block are under way, and how long it is in MPI meanwhile: what it
// has hidden of them, and what it has not. By one thread's calls; of a program that calls from several it is an estimate.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/engine_owned.hpp"
#include "base/flight.hpp"

namespace tutti::profile {

class Overlap {
 public:
  // An operation is under way, or over, perhaps within one call.
  void begins() TUTTI_ENGINE_OWNED { count(1); }
  void ends(uint64_t now) TUTTI_ENGINE_OWNED {
    if (count(-1) == 0) idle_at_.store(now, std::memory_order_relaxed);
  }
  // So much of the time since the latest call was spent asking, which is in MPI. As call().
  void asked(uint64_t ticks) { asked_ += ticks; }
  // A call is over; adds to what the page has. One at a time.
  void call(uint64_t begun, uint64_t over, uint64_t& overlapped, uint64_t& exposed) {
    const uint64_t idle = idle_at_.load(std::memory_order_relaxed);
    if (from_ != 0 && begun >= from_) {
      const bool ended_outside = idle >= from_ && idle < begun;
      const uint64_t outside = (ended_outside ? idle : begun) - from_, asked = std::min(asked_, outside);
      flight::set(overlapped, overlapped + outside - asked);
      flight::set(exposed, exposed + asked);
      if (!ended_outside) flight::set(exposed, exposed + (idle >= begun ? std::min(idle, over) : over) - begun);
    }
    asked_ = 0;
    from_ = under_way_.load(std::memory_order_relaxed) > 0 ? over : 0;
  }

 private:
  int64_t count(int64_t change) TUTTI_ENGINE_OWNED {
    const int64_t now = under_way_.load(std::memory_order_relaxed) + change;
    under_way_.store(now, std::memory_order_relaxed);
    return now;
  }

  // Written by the engine's owner. Relaxed: each is a number that says nothing of other memory, and what the thread that
  // asks has begun and waited for itself it has seen.
  std::atomic<int64_t> under_way_{0};
  std::atomic<uint64_t> idle_at_{0};
  uint64_t asked_ = 0;
  uint64_t from_ = 0;  // the end of the latest call, if something was under way then
};

}  // namespace tutti::profile
