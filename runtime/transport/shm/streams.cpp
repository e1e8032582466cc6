// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/streams.hpp"

#include <algorithm>
#include <utility>

#include "base/fault_point.hpp"

namespace tutti::transport {
namespace {

// Passes without a fragment before a sender that was asked for more counts as gone: a tenth of a
// millisecond or so.
constexpr int kPatience = 4000;

}  // namespace

void Streams::ask(Incoming& incoming, int chunks) {
  Peer& from = *incoming.peer;
  const int64_t before = incoming.asked;
  incoming.asked = chunks ? std::min(incoming.bytes, before + chunks * kStreamChunk) : incoming.bytes;
  const int64_t more = incoming.asked - before;
  if (incoming.streams) from.in.asked += more;
  Asked way{.chunks = chunks};
  if (borrow(from)) {
    RingLoan& loan = from.in.loan;
    loan.due += more;
    way.large_ring = loan.index;
    way.is_new = !std::exchange(loan.known, true);
  }
  TUTTI_FAULT_POINT("stream.before_asking");
  outbox_.control(from, RecordType::go, way.packed(), incoming.outgoing, reinterpret_cast<uintptr_t>(&incoming),
                  static_cast<uint64_t>(before));
}

// A large ring for what comes from it, where the pair's own is small, for as long as something is
// due.
bool Streams::borrow(Peer& from) {
  if (from.in.loan.index >= 0) return true;
  const int index = segment_.lends_rings() ? segment_.borrow_ring() : -1;
  if (index < 0) return false;
  from.in.loan = {index, RingReader(segment_.large_ring(index), NodeSegment::kLargeRing)};
  ++loans_;
  TUTTI_FAULT_POINT("loan.borrowed");
  return true;
}

void Streams::begin(Incoming& incoming) {
  Peer& from = *incoming.peer;
  incoming.streams = true;
  incoming.next = nullptr;
  incoming.previous = from.in.last_streaming;
  (from.in.last_streaming ? from.in.last_streaming->next : from.in.streaming) = &incoming;
  from.in.last_streaming = &incoming;
  ++streaming_;
  ask_for_more(from);
}

void Streams::end(Incoming& incoming) {
  unlist(incoming);
  if (incoming.peer->learnt.is_prompt()) ask_for_more(*incoming.peer);
}

void Streams::unlist(Incoming& incoming) {
  Peer& from = *incoming.peer;
  incoming.streams = false;
  (incoming.previous ? incoming.previous->next : from.in.streaming) = incoming.next;
  (incoming.next ? incoming.next->previous : from.in.last_streaming) = incoming.previous;
  --streaming_;
}

// Keeps two chunks on their way: as much as a sender that leaves owes.
void Streams::ask_for_more(Peer& from) {
  for (Incoming* incoming = from.in.streaming; incoming; incoming = incoming->next)
    while (incoming->asked < incoming->bytes) {
      if (from.in.asked >= 2 * kStreamChunk) return;
      ask(*incoming, 1);
    }
}

void Streams::go_on(Incoming& incoming) {
  Peer& from = *incoming.peer;
  incoming.idle = 0;
  if (from.learnt.is_prompt()) return ask_for_more(from);
  if (incoming.arrived == incoming.asked) read_the_rest(incoming);
}

void Streams::read_the_rest(Incoming& incoming) {
  unlist(incoming);
  reading_.push_back(&incoming);
}

void Streams::look_after_all() {
  for (Peer& peer : peers_)
    if (peer.in.streaming) look_after(peer);
}

void Streams::look_after(Peer& from) {
  for (Incoming* incoming = from.in.streaming; incoming && incoming->asked > 0; incoming = incoming->next)
    if (incoming->arrived < incoming->asked && ++incoming->idle >= kPatience) return ask_no_more(from);
}

// It lets me wait: what it has not been asked for is read.
void Streams::ask_no_more(Peer& from) {
  from.learnt.let_me_wait();
  for (Incoming* incoming = from.in.streaming; incoming;) {
    Incoming* const following = incoming->next;
    incoming->has_choice = false;  // what it takes says nothing of the way
    incoming->idle = 0;
    if (incoming->arrived == incoming->asked) read_the_rest(*incoming);
    incoming = following;
  }
}

void Streams::stop_asking() {
  if (streaming_ == 0) [[likely]]
    return;
  for (Peer& peer : peers_)
    if (peer.in.asked > 0 && peer.learnt.is_prompt()) ask_no_more(peer);
}

void Streams::give_back(RingLoan& loan) {
  segment_.give_ring_back(std::exchange(loan.index, -1));
  --loans_;
}

}  // namespace tutti::transport
