// SPDX-License-Identifier: BSD-3-Clause
// What happens to operations, told in one shape: a message leaves and arrives, meets its receive or comes before it, a
// collective call begins and ends, and a send or a receive goes through its life: it is posted, matched, moved, over. An
// event has fields of its own, so that who hears of it knows nothing of how messages travel. Who hears is sinks.hpp's. What
// is always on (the flight record, the signatures of collectives, the engine's own counts) is no event, and keeps its
// inline path. That an operation is made is not told, either: only a persistent request is made before it is posted, and it
// has nothing to say before it is started.
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
  // Of each send and receive of the engine, those of collectives, of windows' data and to the process itself, too. Each is
  // posted once and over once, in this order, whatever becomes of it; one that is cancelled, or fails, may not be moved.
  operation_posted,
  operation_moved,  // its payload's memory is done with: a send's has been read, a receive's holds what came
  operation_over,   // about to be told to whoever posted it
};
inline constexpr size_t kHappenings = 9;

struct Event {
  Happening what;
  bool by_helper = false;   // the progress thread is at it
  bool is_receive = false;  // of an operation
  // Of a message or an operation: the other process. -1: of a receive that has not matched, which knows a rank alone, and of
  // one that never has. Of a collective: that of the first rank of its communicator; -1 of an intercommunicator.
  int32_t process = -1;
  int32_t source = -1;  // and the sender's rank in the communicator; before a receive has matched perhaps a wildcard
  int32_t tag = -1;
  // Of a collective: which call on its communicator it is, counted from 1, as the flight record counts. With `context` and
  // `process`, since disjoint communicators may have one context, the identity that the call has at all its ranks. Of a hidden message and its operations likewise; elsewhere 0.
  uint32_t serial = 0;
  uint64_t context = 0;  // of the communicator, as the program's messages have it; of a hidden message its channel's
  int64_t bytes =
      0;  // of a message; of a receive the room before it has matched, and what it was given when it is over
  // The identity of a send or a receive, here and in what is told of its message: no two that are posted and not over
  // have the same. It may come again afterwards. 0: of one that is over as soon as it is posted, whose events come one
  // behind the other, and of a message that has not met its receive.
  uint64_t operation = 0;
};

}  // namespace tutti::life
