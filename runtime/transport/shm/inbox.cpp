// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/inbox.hpp"

#include <cstring>
#include <utility>

#include "base/cpu.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "memory/movers.hpp"
#include "transport/shm/shared_memory_inside.hpp"

namespace tutti::transport {
namespace {

constexpr int kRecordsPerPass = 32;  // from one peer

}  // namespace

uint64_t Inbox::ready_at_start(Peer& from) {
  from.in.ring.go_to_start();
  Doorbell::ring_if_asleep(*from.desk);
  return from.in.ring.ready();
}

inline void Inbox::same_message(Peer& from, RecordWord word, const std::byte* record) {
  from.in.same.header.order = from.in.next_order++;
  from.in.same.header.pattern = word.value;
  from.in.same.header.bytes = word.length - static_cast<int64_t>(kHeadOfSame);
  from.in.same.data = record + kHeadOfSame;
  receiver_->arrived(from.in.same);
}

bool Inbox::drain(Peer& from) {
  from.in.in_hand = true;
  for (int i = 0; i < kRecordsPerPass; ++i) {
    const uint64_t packed = ready(from);
    if (packed == 0) break;
    const RecordWord word = RecordWord::of(packed);
    from.in.ring.prefetch_behind(word.length);
    if (word.flags & kSame)
      same_message(from, word, from.in.ring.record());
    else
      handle(from, word, from.in.ring.record());
    TUTTI_FAULT_POINT("ring.taken");
    if (from.in.ring.consume(word)) Doorbell::ring_if_asleep(*from.desk);
    if (word.length > kStreamPiece / 2 && receiver_->takes_turns()) [[unlikely]]
      break;
  }
  from.in.in_hand = false;
  return true;
}

// Gives the ring back when all that I have asked for has come: its writer writes nothing behind the
// last piece.
bool Inbox::drain_loan(Peer& from) {
  RingLoan& loan = from.in.loan;
  for (int i = 0; i < kRecordsPerPass; ++i) {
    uint64_t packed = loan.in.ready();
    if (packed == kToTheStart) {
      loan.in.go_to_start();
      Doorbell::ring_if_asleep(*from.desk);
      packed = loan.in.ready();
    }
    if (packed == 0) return i > 0;
    const RecordWord word = RecordWord::of(packed);
    TUTTI_FAULT_POINT("loan.piece_there");
    loan.due -= static_cast<int64_t>(word.length - kFragmentHead);
    fragment(from, loan.in.record(), word.length);  // may ask for more
    if (loan.in.consume(word)) Doorbell::ring_if_asleep(*from.desk);
    if (loan.due == 0) {
      incomings_.streams().give_back(loan);
      return true;
    }
    if (receiver_->takes_turns()) [[unlikely]]
      break;
  }
  return true;
}

[[gnu::always_inline]] inline void Inbox::message(Peer& from, RecordWord word, const std::byte* record) {
  Arrival arrival;
  arrival.header.process = from.process;
  arrival.header.order = from.in.next_order++;
  arrival.header.pattern = word.value;
  const size_t head = read_head(from, record, word.flags, arrival.header);
  arrival.header.bytes = static_cast<int64_t>(word.length - head);
  arrival.data = record + head;
  receiver_->arrived(arrival);
}

void Inbox::handle(Peer& from, RecordWord word, const std::byte* record) {
  const auto type = static_cast<RecordType>(word.type);
  if (type == RecordType::message) return message(from, word, record);
  if (type == RecordType::fragment) return fragment(from, record, word.length);

  const std::byte* body = record + sizeof(uint64_t);
  if (type == RecordType::go) return outbox_.start_stream(from, body, Asked::of(word.value));
  if (type == RecordType::join) return outbox_.start_help(from, body);
  if (type == RecordType::done) {
    uint64_t name;
    std::memcpy(&name, body, sizeof name);
    auto& outgoing = *reinterpret_cast<Outgoing*>(name);
    --from.out.announced;
    if (!from.out.awaited.empty()) [[unlikely]]
      from.out.awaited.erase(&outgoing);
    return outgoing.sent(outgoing, {});
  }

  Arrival arrival;
  Header& header = arrival.header;
  header.process = from.process;
  header.order = from.in.next_order++;
  if (type == RecordType::notification) {
    header.kind = static_cast<HeaderKind>(word.value);
    std::memcpy(&header.ticket, body, sizeof header.ticket);
    return receiver_->arrived(arrival);
  }
  header.pattern = word.value;
  const size_t head = read_head(from, record, word.flags, header);
  if (type == RecordType::middling) return middling(from, header, record, head, word.length);
  const RecordWord behind = RecordWord::of(from.in.ring.ready_behind(word.length));
  announced(from, header, record + head, static_cast<Hint>(word.flags >> kHintShift & 3),
            behind.type == static_cast<uint8_t>(RecordType::announcement));
}

[[gnu::always_inline]] inline Transport::Taken Inbox::take_now(Peer& from, Header& wanted, std::byte* into,
                                                               int64_t room, int looks) {
  if (!from.in.ring.exists()) [[unlikely]]
    return Taken::other;
  uint64_t packed = ready(from);
  while (packed == 0) {
    if (--looks <= 0) return Taken::nothing;
    // Who looks all the time takes the line from the sender while it writes: 152 ns a message
    // without the pause, 121 with it.
    cpu::pause();
    packed = ready(from);
  }
  const RecordWord word = RecordWord::of(packed);
  if (word.type != static_cast<uint8_t>(RecordType::message) || (word.flags & kAnswers)) return Taken::other;
  const std::byte* const record = from.in.ring.record();
  for (size_t at = kLine; at < word.length; at += kLine) cpu::prefetch(record + at);
  from.in.ring.prefetch_behind(word.length);
  Header header;
  const size_t head = read_head(from, record, word.flags, header);
  const auto bytes = static_cast<int64_t>(word.length - head);
  if (header.context != wanted.context || header.source != wanted.source || header.tag != wanted.tag ||
      header.serial != wanted.serial || bytes > room)
    return Taken::other;
  memory::copy_short(into, record + head, static_cast<size_t>(bytes));
  wanted.bytes = bytes;
  wanted.ticket = header.ticket;
  wanted.signature = header.signature;
  wanted.pattern = word.value;
  ++from.in.next_order;
  if (from.in.ring.consume(word)) Doorbell::ring_if_asleep(*from.desk);
  return Taken::message;
}

void Inbox::middling(Peer& from, Header& header, const std::byte* record, size_t head, size_t length) {
  Announcement announcement;
  std::memcpy(&announcement, record + head, sizeof announcement);
  const size_t begin = head + sizeof announcement;
  header.bytes = announcement.bytes;
  header.ticket = std::exchange(announcement.address, 0);
  Incoming& incoming = incomings_.add(from, announcement);
  from.in.middling = &incoming;
  receiver_->arrived({header, nullptr, &incoming});  // may fetch at once
  incomings_.absorb(incoming, 0, record + begin, static_cast<int64_t>(length - begin));
}

void Inbox::announced(Peer& from, Header& header, const std::byte* body, Hint hint, bool another_follows) {
  Announcement announcement;
  std::memcpy(&announcement, body, sizeof announcement);
  header.bytes = announcement.bytes;
  Incoming& incoming = incomings_.add(from, announcement);
  incoming.hint = hint;
  incoming.among_others = another_follows || from.in.announced > 0;
  ++from.in.announced;
  receiver_->arrived({header, nullptr, &incoming});
}

void Inbox::fragment(Peer& from, const std::byte* record, int64_t length) {
  uint64_t body[2];
  std::memcpy(body, record + sizeof(uint64_t), sizeof body);
  Incoming& incoming = body[0] ? *reinterpret_cast<Incoming*>(body[0]) : *from.in.middling;
  incomings_.absorb(incoming, static_cast<int64_t>(body[1]), record + kFragmentHead,
                    length - static_cast<int64_t>(kFragmentHead));
}

// What it was asked to stream in part stays in the large ring that was lent for that, which nobody can have again.
void Inbox::drain_the_rest(Peer& from) {
  TUTTI_INVARIANT(!from.in.in_hand, "a rank is lost while a record of it is handed over, which would be taken twice");
  if (!from.in.ring.exists()) return;
  while (ready(from)) drain(from);
  for (; from.in.loan.index >= 0 && from.in.loan.in.ready() != 0;) drain_loan(from);
  if (from.in.loan.index >= 0) incomings_.streams().give_up(from.in.loan);
}

// ---- for all peers

bool Inbox::drain_loans() {
  bool moved = false;
  for (Peer& peer : peers_)
    if (peer.in.loan.index >= 0) moved |= drain_loan(peer);
  return moved;
}

bool Inbox::has_any() {
  bool news = false;
  for (Peer* peer : open_) news |= ready(*peer) != 0;
  if (incomings_.streams().has_borrowed())
    for (Peer& peer : peers_) news |= peer.in.loan.index >= 0 && peer.in.loan.in.ready() != 0;
  return news;
}

// ---- the transport's call, here so that it and the inbox's are one function

Transport::Taken SharedMemoryTransport::take_now(int peer, Header& wanted, std::byte* into, int64_t room, int looks) {
  return inbox_.take_now(at(peer), wanted, into, room, looks);
}

}  // namespace tutti::transport
