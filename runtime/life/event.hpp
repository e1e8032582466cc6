// SPDX-License-Identifier: BSD-3-Clause
// What happens to operations, told in one shape: a message leaves and arrives, meets its receive or comes before it, a
// collective call begins and ends. An event has fields of its own, so that who hears of it knows nothing of how messages travel.
// Who hears is sinks.hpp's. What is always on (the flight record, the signatures of collectives, the engine's own
// counts) is no event, and keeps its inline path.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::life {

enum class Happening : uint8_t {
  // Of messages on communicators that programs send.
  message_matched,
  message_unexpected,
  collective_begun,
  collective_ended,
  // Of each message to and from another process, those of collectives and of windows' data, too.
  message_sent,
  message_arrived,
};
inline constexpr size_t kHappenings = 6;

struct Event {
  Happening what;
  bool by_helper = false;  // the progress thread is at it
  int32_t process = -1;    // of a message: the other process
  int32_t source = -1;     // and the sender's rank in the communicator
  int32_t tag = -1;
  uint64_t context = 0;  // of the communicator, as the program's messages have it; of a hidden message its channel's
  int64_t bytes = 0;     // of a message
};

}  // namespace tutti::life
