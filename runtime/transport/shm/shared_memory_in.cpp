// SPDX-License-Identifier: BSD-3-Clause

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/cpu.hpp"
#include "base/log.hpp"
#include "transport/shm/shared_memory_inside.hpp"

namespace tutti::transport {
uint64_t SharedMemoryTransport::ready_at_start(Peer& from) {
  from.in.ring.go_to_start();
  Doorbell::ring_if_asleep(*from.desk);
  return from.in.ring.ready();
}

inline void SharedMemoryTransport::same_message(Peer& from, RecordWord word, const std::byte* record) {
  from.in.same.header.order = from.in.next_order++;
  from.in.same.header.pattern = word.value;
  from.in.same.header.bytes = word.length - static_cast<int64_t>(kHeadOfSame);
  from.in.same.data = record + kHeadOfSame;
  receiver_->arrived(from.in.same);
}

bool SharedMemoryTransport::drain(Peer& from) {
  for (int i = 0; i < kRecordsPerPass; ++i) {
    const uint64_t packed = ready(from);
    if (packed == 0) break;
    const RecordWord word = RecordWord::of(packed);
    from.in.ring.prefetch_behind(word.length);
    if (word.flags & kSame)
      same_message(from, word, from.in.ring.record());
    else
      handle(from, word, from.in.ring.record());
    if (from.in.ring.consume(word)) Doorbell::ring_if_asleep(*from.desk);
    if (word.length > kStreamPiece / 2 && receiver_->takes_turns()) [[unlikely]]
      break;
  }
  return true;
}

// Gives the ring back when all that I have asked for has come: its writer writes nothing behind the
// last piece.
bool SharedMemoryTransport::drain_loan(Peer& from) {
  Loan& loan = from.in.loan;
  for (int i = 0; i < kRecordsPerPass; ++i) {
    uint64_t packed = loan.in.ready();
    if (packed == kToTheStart) {
      loan.in.go_to_start();
      Doorbell::ring_if_asleep(*from.desk);
      packed = loan.in.ready();
    }
    if (packed == 0) return i > 0;
    const RecordWord word = RecordWord::of(packed);
    loan.due -= static_cast<int64_t>(word.length - kFragmentHead);
    fragment(from, loan.in.record(), word.length);  // may ask for more
    if (loan.in.consume(word)) Doorbell::ring_if_asleep(*from.desk);
    if (loan.due == 0) {
      segment_->give_ring_back(std::exchange(loan.index, -1));
      --loans_;
      return true;
    }
    if (receiver_->takes_turns()) [[unlikely]]
      break;
  }
  return true;
}

[[gnu::always_inline]] inline void SharedMemoryTransport::message(Peer& from, RecordWord word,
                                                                  const std::byte* record) {
  Arrival arrival;
  arrival.header.process = from.process;
  arrival.header.order = from.in.next_order++;
  arrival.header.pattern = word.value;
  const size_t head = read_head(from, record, word.flags, arrival.header);
  arrival.header.bytes = static_cast<int64_t>(word.length - head);
  arrival.data = record + head;
  receiver_->arrived(arrival);
}

void SharedMemoryTransport::handle(Peer& from, RecordWord word, const std::byte* record) {
  const auto type = static_cast<RecordType>(word.type);
  if (type == RecordType::message) return message(from, word, record);
  if (type == RecordType::fragment) return fragment(from, record, word.length);

  const std::byte* body = record + sizeof(uint64_t);
  if (type == RecordType::go) return start_stream(from, body, Asked::of(word.value));
  if (type == RecordType::join) return start_help(from, body);
  if (type == RecordType::done) {
    uint64_t name;
    std::memcpy(&name, body, sizeof name);
    auto& outgoing = *reinterpret_cast<Outgoing*>(name);
    --from.out.announced;
    return outgoing.sent(outgoing, {});
  }

  Arrival arrival;
  Header& header = arrival.header;
  header.process = from.process;
  header.order = from.in.next_order++;
  if (type == RecordType::notification) {
    header.kind = static_cast<Kind>(word.value);
    std::memcpy(&header.ticket, body, sizeof header.ticket);
    return receiver_->arrived(arrival);
  }
  header.pattern = word.value;
  const size_t head = read_head(from, record, word.flags, header);
  if (type == RecordType::middling) return middling(from, header, record, head, word.length);
  const RecordWord behind = RecordWord::of(from.in.ring.ready_behind(word.length));
  announced(from, header, record + head, behind.type == static_cast<uint8_t>(RecordType::announcement));
}

Transport::Taken SharedMemoryTransport::take_now(int peer, Header& wanted, std::byte* into, int64_t room, int looks) {
  Peer& from = at(peer);
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
  copy_short(into, record + head, static_cast<size_t>(bytes));
  wanted.bytes = bytes;
  wanted.ticket = header.ticket;
  wanted.signature = header.signature;
  wanted.pattern = word.value;
  ++from.in.next_order;
  if (from.in.ring.consume(word)) Doorbell::ring_if_asleep(*from.desk);
  return Taken::message;
}

void SharedMemoryTransport::middling(Peer& from, Header& header, const std::byte* record, size_t head, size_t length) {
  Announcement announcement;
  std::memcpy(&announcement, record + head, sizeof announcement);
  const size_t begin = head + sizeof announcement;
  header.bytes = announcement.bytes;
  header.ticket = std::exchange(announcement.address, 0);
  Incoming& incoming = new_incoming(from, announcement);
  from.in.middling = &incoming;
  if (Learnt::has_choice(incoming.bytes)) incoming.begun = cpu::ticks();
  receiver_->arrived({header, nullptr, &incoming});  // may fetch at once
  if (incoming.begun && !incoming.fetch) {
    incoming.begun = 0;
    from.learnt.came_early(incoming.bytes);
    wish(from);
  }
  absorb(incoming, 0, record + begin, static_cast<int64_t>(length - begin));
}

void SharedMemoryTransport::announced(Peer& from, Header& header, const std::byte* body, bool another_follows) {
  Announcement announcement;
  std::memcpy(&announcement, body, sizeof announcement);
  header.bytes = announcement.bytes;
  Incoming& incoming = new_incoming(from, announcement);
  incoming.among_others = another_follows || from.in.announced > 0;
  ++from.in.announced;
  receiver_->arrived({header, nullptr, &incoming});
}

void SharedMemoryTransport::fragment(Peer& from, const std::byte* record, int64_t length) {
  uint64_t body[2];
  std::memcpy(body, record + sizeof(uint64_t), sizeof body);
  Incoming& incoming = body[0] ? *reinterpret_cast<Incoming*>(body[0]) : *from.in.middling;
  if (!body[0]) std::memcpy(&incoming.put, record + kFragmentBody, sizeof incoming.put);
  absorb(incoming, static_cast<int64_t>(body[1]), record + kFragmentHead, length - static_cast<int64_t>(kFragmentHead));
}

// Bytes have come: to where they belong if that is known, else they are kept.
void SharedMemoryTransport::absorb(Incoming& incoming, int64_t offset, const std::byte* data, int64_t length) {
  if (incoming.fetch) {
    put_into(incoming.fetch->into, offset, data, length);
  } else if (!incoming.dropped) {
    if (!incoming.kept)
      incoming.kept = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(incoming.bytes));
    std::memcpy(incoming.kept.get() + offset, data, static_cast<size_t>(length));
  }
  incoming.arrived += length;
  if (incoming.streams) incoming.peer->in.asked -= length;
  if (incoming.arrived < incoming.bytes) {
    if (incoming.streams) stream_goes_on(incoming);
    return;
  }
  if (incoming.peer->in.middling == &incoming) incoming.peer->in.middling = nullptr;
  if (incoming.begun && incoming.outgoing == 0) learn_from_ring(incoming);
  if (incoming.fetch || incoming.dropped) finish(incoming);
}

Incoming& SharedMemoryTransport::new_incoming(Peer& from, const Announcement& announcement) {
  Incoming* incoming = spare_incoming_;
  if (incoming) {
    spare_incoming_ = incoming->next;
  } else {
    incoming = new Incoming;
  }
  *incoming = {
      .peer = &from, .bytes = announcement.bytes, .outgoing = announcement.outgoing, .address = announcement.address};
  return *incoming;
}

void SharedMemoryTransport::give_back(Incoming& incoming) {
  if (incoming.outgoing != 0) --incoming.peer->in.announced;
  incoming.kept.reset();
  incoming.next = spare_incoming_;
  spare_incoming_ = &incoming;
}

}  // namespace tutti::transport
