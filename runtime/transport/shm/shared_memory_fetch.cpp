// SPDX-License-Identifier: BSD-3-Clause
// Fetching long messages: read from the sender's memory, or streamed by it, whole or in chunks.

#include <algorithm>
#include <utility>

#include "base/cpu.hpp"
#include "transport/shm/shared_memory_inside.hpp"

namespace tutti::transport {
namespace {

// Passes without a fragment before a sender that was asked for more counts as gone: a tenth of a
// millisecond or so.
constexpr int kPatience = 4000;

}  // namespace

void SharedMemoryTransport::fetch(void* rendezvous, Fetch& fetch) {
  auto& incoming = *static_cast<Incoming*>(rendezvous);
  incoming.fetch = &fetch;
  if (incoming.outgoing == 0) {  // it comes by itself
    if (incoming.kept) put_into(fetch.into, 0, incoming.kept.get(), incoming.arrived);
    incoming.kept.reset();
    if (incoming.arrived == incoming.bytes) finish(incoming);
    return;
  }
  const Coming way = coming(incoming);
  if (way == Coming::sent) return ask(incoming, 0);
  if (way == Coming::streamed) {
    add_streaming(incoming);
    return ask_for_more(*incoming.peer);
  }
  if (reading_.empty() && !incoming.among_others && both_copy_ && Learnt::has_choice(incoming.bytes))
    incoming.begun = cpu::ticks();
  incoming.joins = way == Coming::from_both_ends;
  if (read_on(incoming) != Read::done) reading_.push_back(&incoming);
}

Coming SharedMemoryTransport::coming(Incoming& incoming) {
  constexpr Limits kLimits = Limits::of_any_ring();
  Peer& from = *incoming.peer;
  return way_of(kComing, kLimits, incoming.bytes, [&](Need condition) {
    switch (condition) {
        // clang-format off
      case two_cores: return both_copy_;
      case one_run: return incoming.fetch->into.contiguous();
      case awake: return from.desk->asleep.load(std::memory_order_relaxed) == 0;
      case among_others: return incoming.among_others;
      case alone: return !incoming.among_others;
      case one_way: return from.out.announced == 0;
      // clang-format on
      case large_ring:
        return segment_->has_wide_rings() || from.in.loan.index >= 0 || segment_->has_ring_to_lend();
      case prompt:
        return from.learnt.is_prompt_for_one();
      case readable:
        return incoming.address != 0 && read_peers_ && from.memory.readable();
      default:
        return false;  // is asked of what goes alone
    }
  });
}

void SharedMemoryTransport::finish(Incoming& incoming) {
  if (incoming.streams) {
    remove_streaming(incoming);
    if (incoming.peer->learnt.is_prompt()) ask_for_more(*incoming.peer);
  }
  Fetch* fetch = incoming.fetch;
  give_back(incoming);
  if (fetch) fetch->fetched(*fetch, {});
}

// Reads the next piece from the sender's memory.
SharedMemoryTransport::Read SharedMemoryTransport::read_on(Incoming& incoming) {
  if (incoming.joins) return join_on(incoming);
  const int64_t most = receiver_->takes_turns() ? kTurnPiece : kReadPiece;
  const int64_t length = std::min(most, incoming.bytes - incoming.arrived);
  if (!read_piece(incoming, incoming.arrived, length)) {
    incoming.asked = incoming.arrived;
    ask(incoming, 0);
    return Read::done;
  }
  incoming.arrived += length;
  if (incoming.arrived < incoming.bytes) return Read::goes_on;
  finish_read(incoming);
  return Read::done;
}

// False: memory that only its owner can read, who is to send it.
bool SharedMemoryTransport::read_piece(Incoming& incoming, int64_t offset, int64_t length) {
  return incoming.peer->memory.read(incoming.address + static_cast<uint64_t>(offset), incoming.fetch->into, offset,
                                    length);
}

void SharedMemoryTransport::learn_from_read(Incoming& incoming) {
  incoming.peer->learnt.was_read(incoming.begun, cpu::ticks(), incoming.bytes);
  wish(*incoming.peer);
}

void SharedMemoryTransport::learn_from_ring(Incoming& incoming) {
  incoming.peer->learnt.came_through_ring(incoming.begun, cpu::ticks(), incoming.put, incoming.bytes);
  wish(*incoming.peer);
}

// Tells it of what it had better send through the ring, if that has changed.
void SharedMemoryTransport::wish(Peer& from) {
  uint32_t wishes;
  if (from.learnt.has_new_wishes(wishes)) from.in.ring.wish(wishes);
}

void SharedMemoryTransport::finish_read(Incoming& incoming) {
  if (incoming.begun) learn_from_read(incoming);
  control(*incoming.peer, RecordType::done, 0, incoming.outgoing);
  finish(incoming);
}

void SharedMemoryTransport::discard(void* rendezvous) {
  auto& incoming = *static_cast<Incoming*>(rendezvous);
  if (incoming.outgoing != 0) {
    control(*incoming.peer, RecordType::done, 0, incoming.outgoing);
    return give_back(incoming);
  }
  incoming.kept.reset();
  incoming.dropped = true;
  if (incoming.arrived == incoming.bytes) finish(incoming);
}

// ---- through the ring

// For so many chunks from where it was asked last; 0: for all the rest.
void SharedMemoryTransport::ask(Incoming& incoming, int chunks) {
  Peer& from = *incoming.peer;
  const int64_t before = incoming.asked;
  incoming.asked = chunks ? std::min(incoming.bytes, before + chunks * kStreamChunk) : incoming.bytes;
  const int64_t more = incoming.asked - before;
  if (incoming.streams) from.in.asked += more;
  Asked way{.chunks = chunks};
  if (borrow(from)) {
    Loan& loan = from.in.loan;
    loan.due += more;
    way.large_ring = loan.index;
    way.is_new = !std::exchange(loan.known, true);
  }
  control(from, RecordType::go, way.packed(), incoming.outgoing, reinterpret_cast<uintptr_t>(&incoming),
          static_cast<uint64_t>(before));
}

// A large ring for what comes from it, where the pair's own is small, for as long as something is
// due.
bool SharedMemoryTransport::borrow(Peer& from) {
  if (from.in.loan.index >= 0) return true;
  const int index = segment_->lends_rings() ? segment_->borrow_ring() : -1;
  if (index < 0) return false;
  from.in.loan = {index, RingReader(segment_->large_ring(index), NodeSegment::kLargeRing)};
  ++loans_;
  return true;
}

void SharedMemoryTransport::add_streaming(Incoming& incoming) {
  Peer& from = *incoming.peer;
  incoming.streams = true;
  incoming.next = nullptr;
  incoming.previous = from.in.last_streaming;
  (from.in.last_streaming ? from.in.last_streaming->next : from.in.streaming) = &incoming;
  from.in.last_streaming = &incoming;
  ++streaming_;
}

void SharedMemoryTransport::remove_streaming(Incoming& incoming) {
  Peer& from = *incoming.peer;
  incoming.streams = false;
  (incoming.previous ? incoming.previous->next : from.in.streaming) = incoming.next;
  (incoming.next ? incoming.next->previous : from.in.last_streaming) = incoming.previous;
  --streaming_;
}

// Keeps two chunks on their way: as much as a sender that leaves owes.
void SharedMemoryTransport::ask_for_more(Peer& from) {
  for (Incoming* incoming = from.in.streaming; incoming; incoming = incoming->next)
    while (incoming->asked < incoming->bytes) {
      if (from.in.asked >= 2 * kStreamChunk) return;
      ask(*incoming, 1);
    }
}

// More bytes of it are here, but not all.
void SharedMemoryTransport::stream_goes_on(Incoming& incoming) {
  Peer& from = *incoming.peer;
  incoming.idle = 0;
  if (from.learnt.is_prompt()) return ask_for_more(from);
  if (incoming.arrived == incoming.asked) read_the_rest(incoming);
}

void SharedMemoryTransport::read_the_rest(Incoming& incoming) {
  remove_streaming(incoming);
  reading_.push_back(&incoming);
}

void SharedMemoryTransport::look_after_streams() {
  for (Peer& peer : peers_)
    if (peer.in.streaming) look_after_streams(peer);
}

void SharedMemoryTransport::look_after_streams(Peer& from) {
  for (Incoming* incoming = from.in.streaming; incoming && incoming->asked > 0; incoming = incoming->next)
    if (incoming->arrived < incoming->asked && ++incoming->idle >= kPatience) return ask_no_more(from);
}

// It lets me wait: what it has not been asked for is read.
void SharedMemoryTransport::ask_no_more(Peer& from) {
  from.learnt.let_me_wait();
  for (Incoming* incoming = from.in.streaming; incoming;) {
    Incoming* const following = incoming->next;
    incoming->idle = 0;
    if (incoming->arrived == incoming->asked) read_the_rest(*incoming);
    incoming = following;
  }
}

}  // namespace tutti::transport
