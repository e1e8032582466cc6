// SPDX-License-Identifier: BSD-3-Clause
// Inbox: the records that others of the node have written for this rank, and what each of them is: a short message,
// which is handed on at once, a part or the announcement of a longer one, or an answer to what has left. Owns whose
// rings are looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "transport/shm/incomings.hpp"
#include "transport/shm/outbox.hpp"
#include "transport/shm/peer.hpp"

namespace tutti::transport {

class Inbox {
 public:
  Inbox(std::deque<Peer>& peers, Outbox& outbox, Incomings& incomings)
      : peers_(peers), outbox_(outbox), incomings_(incomings) {}
  Inbox(const Inbox&) = delete;

  void set_receiver(Receiver& receiver) { receiver_ = &receiver; }
  // The peer's ring towards me is there from now on.
  void open(Peer& from) { open_.push_back(&from); }
  // What has come, or as much of it as one pass takes; true if there was anything.
  bool drain() TUTTI_ENGINE_OWNED {
    bool moved = false;
    for (Peer* peer : open_)
      if (ready(*peer)) moved |= drain(*peer);
    if (incomings_.streams().has_borrowed()) [[unlikely]]
      moved |= drain_loans();
    return moved;
  }
  // All that has come from one that has failed.
  void drain_the_rest(Peer& from) TUTTI_ENGINE_OWNED;
  // drain() would find something.
  bool has_any() TUTTI_ENGINE_OWNED;
  using Taken = Transport::Taken;
  // As that of Transport.
  Taken take_now(Peer& from, Header& wanted, std::byte* into, int64_t room, int looks) TUTTI_ENGINE_OWNED;

 private:
  // RingReader::ready() behind the marker, if there is one.
  uint64_t ready(Peer& from) {
    const uint64_t word = from.in.ring.ready();
    return word == kToTheStart ? ready_at_start(from) : word;
  }
  [[gnu::noinline]] uint64_t ready_at_start(Peer& from);
  bool drain(Peer& from) TUTTI_ENGINE_OWNED;
  bool drain_loans() TUTTI_ENGINE_OWNED;
  bool drain_loan(Peer& from) TUTTI_ENGINE_OWNED;
  void handle(Peer& from, RecordWord word, const std::byte* record) TUTTI_ENGINE_OWNED;
  void message(Peer& from, RecordWord word, const std::byte* record) TUTTI_ENGINE_OWNED;
  void same_message(Peer& from, RecordWord word, const std::byte* record) TUTTI_ENGINE_OWNED;
  void middling(Peer& from, Header& header, const std::byte* record, size_t head, size_t length) TUTTI_ENGINE_OWNED;
  void announced(Peer& from, Header& header, const std::byte* body, Hint hint, bool another_follows) TUTTI_ENGINE_OWNED;
  void fragment(Peer& from, const std::byte* record, int64_t length) TUTTI_ENGINE_OWNED;

  std::deque<Peer>& peers_;
  Outbox& outbox_;
  Incomings& incomings_;
  Receiver* receiver_ = nullptr;
  std::vector<Peer*> open_;  // whose rings towards me are open
};

}  // namespace tutti::transport
