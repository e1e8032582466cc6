// SPDX-License-Identifier: BSD-3-Clause
// Of a moment in the flight record: which of its threads this one is, and both of its clocks.
#pragma once

#include <cstdint>

#include "base/flight.hpp"

namespace tutti::flight {

// The place of this thread among those of the record: that of one that has ended is given to the next that comes. 0, too, where
// nothing is written, as by the library's own threads.
inline int thread_place() {
  const Thread* const t = inside::thread;
  return t == &inside::unasked || t == &inside::nobody ? 0 : static_cast<int>(t - mine()->threads);
}

// Both clocks at one moment, as well as they can be read: whoever is interrupted between the two reads them again.
struct Clocks {
  uint64_t ticks = 0;
  int64_t nanoseconds = 0;
};
Clocks clocks_now();

}  // namespace tutti::flight
