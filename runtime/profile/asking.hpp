// SPDX-License-Identifier: BSD-3-Clause
// How long a thread has asked in vain for what has come now: calls that only look (MPI_Test) are no calls of the profile, but
// where one follows close behind the other nothing is computed between them.
#pragma once

#include <cstdint>

#include "base/flight.hpp"

namespace tutti::profile {

class Asking {
 public:
  // Of this thread, since its latest call or the latest time that this was asked; 0: it has computed between.
  // `close`: how far apart two looks may be, in ticks.
  uint64_t until(const flight::Thread& thread, uint64_t now, uint64_t close) {
    if (returned_ != thread.returned) *this = Asking(thread.returned);
    const uint64_t looks = thread.looks - looks_, ticks = now > from_ ? now - from_ : 0;
    looks_ = thread.looks, from_ = now;
    return looks > 1 && ticks / looks < close ? ticks : 0;
  }
  Asking() = default;

 private:
  explicit Asking(uint64_t returned) : returned_(returned), from_(returned) {}

  uint64_t returned_ = 0, from_ = 0;  // when the latest call returned; what is before this has been told
  uint64_t looks_ = 0;
};

}  // namespace tutti::profile
