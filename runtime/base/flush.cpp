// SPDX-License-Identifier: BSD-3-Clause
#include "base/flush.hpp"

#include <atomic>
#include <cstdio>
#include <iostream>
#include <memory>
#include <system_error>
#include <thread>

#include "base/mutex.hpp"
#include "base/signals.hpp"

namespace tutti {
namespace {

void flush_standard_streams() {
  std::fflush(stdout);
  std::fflush(stderr);
}

// Waits for every stream's lock: also for that of one which another thread reads from.
void flush_all_streams() {
  std::fflush(nullptr);
}

// After sync_with_stdio(false) these have memory of their own.
void flush_streams_of_the_language() {
  std::cout.flush();
  std::clog.flush();
  std::wcout.flush();
  std::wclog.flush();
}

}  // namespace

void flush_streams(std::chrono::milliseconds bound) {
  struct Shared {
    Mutex mutex;
    ConditionVariable changed;
    int under_way TUTTI_GUARDED_BY(mutex) = 0;
  };
  // The threads hold it, too: one that is stuck outlives this call.
  const auto shared = std::make_shared<Shared>();
  // A thread for each, so that none of them waits for a lock that stops another.
  for (void (*flush)() : {flush_standard_streams, flush_all_streams, flush_streams_of_the_language}) {
    const SignalsBlocked none;
    const Lock lock(shared->mutex);
    try {
      std::thread([shared, flush] {
        flush();
        {
          const Lock done(shared->mutex);
          --shared->under_way;
          shared->changed.notify_all();
        }
        // The unlock is not the last call: jumped to, it would return to the C++ library, and ThreadSanitizer, which
        // tells by that whose a call is, would blame the program for a mutex that it has not seen locked.
        std::atomic_signal_fence(std::memory_order_seq_cst);
      }).detach();
      ++shared->under_way;
    } catch (const std::system_error&) {
      break;  // without a thread there would be no bound
    }
  }
  const auto late = std::chrono::steady_clock::now() + bound;
  const Lock lock(shared->mutex);
  while (shared->under_way > 0)
    if (!shared->changed.wait_until(shared->mutex, late)) break;
}

}  // namespace tutti
