// SPDX-License-Identifier: BSD-3-Clause
// One send or one receive under way: what the layers above fill in, what they get back. The
// caller owns the memory of an operation and keeps it, its payload and its layout until
// on_complete has been called. Everything here is touched only while the engine is owned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/layout.hpp"
#include "transport/transport.hpp"

namespace tutti::engine {

inline constexpr int32_t kAnySource = -1;  // values of MPI_ANY_SOURCE, MPI_ANY_TAG
inline constexpr int32_t kAnyTag = -2;

// What a message is matched by. `source` is the sender's rank in the communicator of `context`.
// On a user's channel `serial` is 0; on a hidden channel it is the sequence number of the
// collective call and `tag` tells the call's messages between two ranks apart.
struct Match {
  uint64_t context = 0;
  int32_t source = 0;
  int32_t tag = 0;
  uint32_t serial = 0;

  bool operator==(const Match& other) const {  // without a branch for each
    return ((context ^ other.context) | static_cast<uint32_t>(source ^ other.source) |
            static_cast<uint32_t>(tag ^ other.tag) | (serial ^ other.serial)) == 0;
  }
};

// Contexts of hidden channels are odd: nobody receives from them with a wildcard.
inline bool is_hidden(uint64_t context) {
  return context & 1;
}

enum class SendMode : uint8_t {
  standard,
  synchronous,  // complete only when the receiver has matched it
  buffered,     // standard, and stays it under every Manner
};

// How standard sends behave within what the standard leaves open: --stress chooses the extremes.
enum class Manner : uint8_t {
  usual,
  synchronous,  // on users' channels: as synchronous ones
  buffering,    // copied, and over at once, as long as there is room for the copies
};

// What became of an operation.
struct Outcome {
  int32_t source = kAnySource;
  int32_t tag = kAnyTag;
  int64_t bytes = 0;       // received
  int64_t sent_bytes = 0;  // length of the message, more than `bytes` if it was truncated
  int mpi_class = 0;       // MPI_SUCCESS, MPI_ERR_TRUNCATE, …
  bool cancelled = false;
  bool sender_hears = false;  // of a receive: the sender can tell that it was matched
  uint16_t pattern = 0;       // of a receive: SendOperation::pattern of the message
};

class Engine;

struct Operation {
  Operation() = default;
  Operation(const Payload& payload, void (*on_complete)(Operation&), void* owner)
      : payload(payload), on_complete(on_complete), owner(owner) {}

  Payload payload;
  Outcome outcome;
  // Called exactly once, with the engine owned, perhaps before the call that posted the operation
  // returns. May post further operations. The engine touches the operation no more after it.
  void (*on_complete)(Operation&) = nullptr;
  void* owner = nullptr;  // for on_complete's use

  Engine* engine = nullptr;  // the engine's own
};

struct SendOperation : Operation {
  int32_t peer = -1;  // process id of the receiver
  Match match;        // source: my rank in the communicator
  SendMode mode = SendMode::standard;
  uint64_t signature = 0;  // of the collective call; 0 on a user's channel
  uint16_t pattern = 0;    // of the types in the payload; 0 on a hidden channel

  // The engine's own. What is in a union has no value before it is needed: most operations are over
  // by then.
  SendOperation() {}
  union {
    transport::Outgoing outgoing;
  };
  bool sent = false;     // the payload's memory is free again
  bool matched = false;  // the receiver has said so, or nobody asked it
  uint64_t ticket = 0;   // names this operation to the receiver, for cancelling and answers
};

struct RecvOperation : Operation {
  RecvOperation() {}
  RecvOperation(const Payload& payload, const Match& match, void (*on_complete)(Operation&), void* owner)
      : Operation(payload, on_complete, owner), match(match) {}

  Match match;             // source and tag may be wildcards on a user's channel
  uint64_t signature = 0;  // of the message that it has taken

  // The engine's own, as above.
  std::unique_ptr<std::byte[]> overflow;  // takes a long message that the payload cannot hold
  bool posted = false;                    // in the matcher's queues: may still be cancelled
  int32_t process;                        // of one whose bytes are being fetched: the sender's
  // Of one that is posted:
  uint64_t stamp;  // order, to choose between exact and wildcard receives
  uint64_t hash;   // of `match`
  RecvOperation *next, *previous;
  union {
    transport::Fetch fetch;
  };
};

}  // namespace tutti::engine
