// SPDX-License-Identifier: BSD-3-Clause
// What happens to operations, told in one shape: a message meets its receive or comes before it, a collective call
// begins and ends. An event has fields of its own, so that who hears of it knows nothing of how messages travel.
// Who hears is sinks.hpp's. What is always on (the flight record, the signatures of collectives, the engine's own
// counts) is no event, and keeps its inline path.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::life {

enum class Happening : uint8_t { message_matched, message_unexpected, collective_begun, collective_ended };
inline constexpr size_t kHappenings = 4;

struct Event {
  Happening what;
  bool by_helper = false;  // the progress thread is at it
  int32_t source = -1;     // of a message: the sender's rank in the communicator
  int32_t tag = -1;
  uint64_t context = 0;  // of the communicator, as the program's messages have it
  int64_t bytes = 0;     // of a message
};

}  // namespace tutti::life
