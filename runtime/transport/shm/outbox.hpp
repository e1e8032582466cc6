// SPDX-License-Identifier: BSD-3-Clause
// Outbox: all that leaves this rank for others of its node. Messages, by the ways of ways.hpp; control records; the
// parts of long messages that their receivers have asked for; and the pieces that this side copies of those that both
// copy. Owns what did not fit into the rings, in order; refuses to know what comes in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "base/result.hpp"
#include "transport/shared/node_segment.hpp"
#include "transport/shm/peer.hpp"
#include "transport/shm/shared_memory.hpp"

namespace tutti::transport {

inline constexpr int64_t kEagerPiece = 2 << 10;     // of a middling message
inline constexpr int64_t kStreamPiece = 32 << 10;   // of a long message
inline constexpr int64_t kStreamChunk = 256 << 10;  // asked for at a time while both copy

class Outbox {
 public:
  // `me`: my index among the node's processes. `peers`: those that were met, of whom more may come.
  Outbox(NodeSegment& segment, int me, const SharedMemoryOptions& options, std::deque<Peer>& peers);
  ~Outbox();
  Outbox(const Outbox&) = delete;

  void set_receiver(Receiver& receiver) { receiver_ = &receiver; }
  // SharedMemory::open_way()
  Error connect(Peer& to);
  // As those of Transport.
  void send(Peer& to, Outgoing& outgoing) TUTTI_ENGINE_OWNED;
  bool send_now(Peer& to, const Header& header, uint64_t ticket, const std::byte* data) TUTTI_ENGINE_OWNED;
  // A record that is no message.
  void control(Peer& to, RecordType type, uint16_t value, uint64_t a, uint64_t b = 0,
               uint64_t c = 0) TUTTI_ENGINE_OWNED;

  // The bodies of records of these types: RecordType::go, and join.
  void start_stream(Peer& to, const std::byte* body, Asked way) TUTTI_ENGINE_OWNED;
  void start_help(Peer& to, const std::byte* body) TUTTI_ENGINE_OWNED;

  // Records are kept back, or streams under way.
  bool holds_any() const TUTTI_ENGINE_OWNED { return held_ > 0; }
  // Writes what there is room for; true if anything was. While it holds any.
  bool go_on() TUTTI_ENGINE_OWNED;
  // It has failed: what is under way there ends with this error, and nothing goes there any more.
  void lose(Peer& to, int mpi_class) TUTTI_ENGINE_OWNED;
  // go_on() would write something.
  bool can_go_on() TUTTI_ENGINE_OWNED;

 private:
  Error connect_or_end(Peer& to);
  bool put_inline(Peer& to, const Header& header, const Payload& payload);
  bool put_middling(Peer& to, Outgoing& outgoing, int64_t& offset);
  bool put_announcement(Peer& to, const Outgoing& outgoing);
  bool put_fragment(Peer& to, const Payload& payload, int64_t offset, int64_t length);
  bool put_piece(Peer& to, const Stream& stream, int64_t length) TUTTI_ENGINE_OWNED;
  bool put_control(Peer& to, RecordWord word, const uint64_t (&body)[3]);
  bool put(Peer& to, Outgoing& outgoing, int64_t& offset) TUTTI_ENGINE_OWNED;
  bool send_same(Peer& to, uint16_t pattern, const std::byte* data, size_t bytes);
  Leaving leaving(Peer& to, const Outgoing& outgoing);
  void commit(Peer& to, RecordWord word) {
    to.out.ring.commit(word);
    Doorbell::ring_if_asleep(*to.desk);
  }
  RingWriter& ring_of(Peer& to, const Stream& stream) { return stream.large ? to.out.large : to.out.ring; }
  void hold(Peer& to, const Held& what) TUTTI_ENGINE_OWNED;
  bool catch_up(Peer& to) TUTTI_ENGINE_OWNED;
  bool stream_on(Peer& to) TUTTI_ENGINE_OWNED;
  bool help_on(Peer& to) TUTTI_ENGINE_OWNED;
  bool has_room(Peer& to);

  NodeSegment& segment_;
  const int me_;
  const bool both_copy_, survives_;
  const std::function<void(int, const Error&)> no_way_;
  std::deque<Peer>& peers_;
  Receiver* receiver_ = nullptr;
  int64_t held_ = 0;  // records kept back and streams under way, all peers
  Held* spare_held_ = nullptr;
};

}  // namespace tutti::transport
