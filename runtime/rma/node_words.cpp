// SPDX-License-Identifier: BSD-3-Clause
#include "rma/node_words.hpp"

#include <sched.h>

namespace tutti::rma {

// Its holder may have lost its core, which this one may be on.
void Stripes::wait_for(std::atomic<uint32_t>& held) {
  constexpr int kLooks = 200;
  for (;;) {
    for (int look = 0; look < kLooks; ++look) {
      if (held.load(std::memory_order_relaxed) == 0 && held.exchange(1, std::memory_order_acquire) == 0) return;
      cpu::pause();
    }
    sched_yield();
  }
}

}  // namespace tutti::rma
