// SPDX-License-Identifier: BSD-3-Clause
// Incomings: messages on their way in whose bytes do not come with their first record. Of a middling one they come in
// fragments by themselves; a long one is announced, and its bytes come in one of the ways of ways.hpp when its
// receiver fetches it. Owns each of them from its announcement to its end; how both sides copy one is told in
// incomings_joint.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "transport/shared/node_segment.hpp"
#include "transport/shm/outbox.hpp"
#include "transport/shm/peer.hpp"
#include "transport/shm/streams.hpp"

namespace tutti::transport {

class Incomings {
 public:
  Incomings(NodeSegment& segment, const SharedMemoryOptions& options, std::deque<Peer>& peers, Outbox& outbox);
  ~Incomings();
  Incomings(const Incomings&) = delete;

  void set_receiver(Receiver& receiver) { receiver_ = &receiver; }
  // It has been announced.
  Incoming& add(Peer& from, const Announcement& announcement) TUTTI_ENGINE_OWNED;
  // Some of its bytes have come through a ring.
  void absorb(Incoming& incoming, int64_t offset, const std::byte* data, int64_t length) TUTTI_ENGINE_OWNED;
  // As those of Transport. It may be over, and gone.
  void fetch(Incoming& incoming, Fetch& fetch) TUTTI_ENGINE_OWNED;
  void discard(Incoming& incoming) TUTTI_ENGINE_OWNED;

  // Their sender has failed: those that are being fetched end with an error of this class, and so will those that are
  // not complete once they are fetched.
  void lose(Peer& from, int mpi_class) TUTTI_ENGINE_OWNED;

  // Some are being read from their senders' memory, piece by piece.
  bool reads_any() const TUTTI_ENGINE_OWNED { return !reading_.empty(); }
  // Each of them goes on by a piece; true if anything happened.
  bool read_all() TUTTI_ENGINE_OWNED;
  Streams& streams() { return streams_; }

 private:
  enum class Read : uint8_t { waits, goes_on, done };

  void give_back(Incoming& incoming) TUTTI_ENGINE_OWNED;
  void finish(Incoming& incoming) TUTTI_ENGINE_OWNED;
  bool begin(Incoming& incoming) TUTTI_ENGINE_OWNED;
  Coming coming(Incoming& incoming) TUTTI_ENGINE_OWNED;
  Read read_on(Incoming& incoming) TUTTI_ENGINE_OWNED;
  bool read_piece(Incoming& incoming, int64_t offset, int64_t length) TUTTI_ENGINE_OWNED;
  void finish_read(Incoming& incoming) TUTTI_ENGINE_OWNED;
  static bool its_sender_decides(const Incoming& incoming);
  bool had_better_stream(Incoming& incoming);
  void begin_joint(Incoming& incoming) TUTTI_ENGINE_OWNED;
  Read join_on(Incoming& incoming) TUTTI_ENGINE_OWNED;

  NodeSegment& segment_;
  const bool both_copy_, tries_rings_, survives_;
  members::Processes* const members_;
  std::deque<Peer>& peers_;
  Outbox& outbox_;
  Receiver* receiver_ = nullptr;
  std::vector<Incoming*> reading_;
  Streams streams_;
  Incoming* spare_ = nullptr;
};

}  // namespace tutti::transport
