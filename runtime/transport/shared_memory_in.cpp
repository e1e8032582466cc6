// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "transport/shared_memory_inside.hpp"

namespace tutti::transport {
namespace {

void unpack(const Payload& payload, int64_t offset, const std::byte* in, int64_t length) {
  if (payload.contiguous()) [[likely]] {
    std::memcpy(payload.data() + offset, in, static_cast<size_t>(length));
  } else {
    payload.unpack(offset, in, length);
  }
}

}  // namespace

bool SharedMemoryTransport::drain(Peer& from) {
  for (int i = 0; i < kRecordsPerPass; ++i) {
    const uint64_t packed = from.in.ready();
    if (packed == 0) break;
    const RecordWord word = RecordWord::of(packed);
    from.in.prefetch_behind(word.length);
    handle(from, word, from.in.record());
    if (from.in.consume(word.length)) Doorbell::ring_if_asleep(*from.desk);
  }
  return true;
}

void SharedMemoryTransport::handle(Peer& from, RecordWord word, const std::byte* record) {
  const auto type = static_cast<RecordType>(word.type);
  if (type == RecordType::fragment) return fragment(from, record, word.length);

  const std::byte* body = record + sizeof(uint64_t);
  if (type == RecordType::go) return start_stream(from, body);
  if (type == RecordType::done) {
    uint64_t name;
    std::memcpy(&name, body, sizeof name);
    auto& outgoing = *reinterpret_cast<Outgoing*>(name);
    return outgoing.sent(outgoing, {});
  }

  Header header;
  header.process = from.process;
  header.order = from.next_order++;
  if (type == RecordType::notification) {
    header.kind = static_cast<Kind>(word.value);
    std::memcpy(&header.ticket, body, sizeof header.ticket);
    return receiver_->arrived({header});
  }
  const size_t head = read_head(record, word.flags, header);
  const auto length = static_cast<int64_t>(word.length - head);
  if (type == RecordType::message) {
    header.bytes = length;
    return receiver_->arrived({header, record + head, nullptr});
  }
  if (type == RecordType::middling) return middling(from, header, record + head, length);
  announced(from, header, record + head);
}

Transport::Taken SharedMemoryTransport::take_now(int peer, Header& wanted, std::byte* into,
                                                 int64_t room) {
  Peer& from = at(peer);
  if (!from.in.exists()) [[unlikely]]
    return Taken::other;
  const uint64_t packed = from.in.ready();
  if (packed == 0) return Taken::nothing;
  const RecordWord word = RecordWord::of(packed);
  if (word.type != static_cast<uint8_t>(RecordType::message) || (word.flags & kAnswers))
    return Taken::other;
  const std::byte* const record = from.in.record();
  from.in.prefetch_behind(word.length);
  Header header;
  const size_t head = read_head(record, word.flags, header);
  const auto bytes = static_cast<int64_t>(word.length - head);
  if (header.context != wanted.context || header.source != wanted.source ||
      header.tag != wanted.tag || header.serial != wanted.serial || bytes > room)
    return Taken::other;
  copy_short(into, record + head, static_cast<size_t>(bytes));
  wanted.bytes = bytes;
  wanted.ticket = header.ticket;
  wanted.signature = header.signature;
  ++from.next_order;
  if (from.in.consume(word.length)) Doorbell::ring_if_asleep(*from.desk);
  return Taken::message;
}

void SharedMemoryTransport::middling(Peer& from, Header& header, const std::byte* body,
                                     int64_t length) {
  Announcement announcement;
  std::memcpy(&announcement, body, sizeof announcement);
  header.bytes = announcement.bytes;
  Incoming& incoming = new_incoming(from, announcement);
  from.middling = &incoming;
  receiver_->arrived({header, nullptr, &incoming});  // may fetch at once
  absorb(incoming, 0, body + sizeof announcement,
         length - static_cast<int64_t>(sizeof announcement));
}

void SharedMemoryTransport::announced(Peer& from, Header& header, const std::byte* body) {
  Announcement announcement;
  std::memcpy(&announcement, body, sizeof announcement);
  header.bytes = announcement.bytes;
  receiver_->arrived({header, nullptr, &new_incoming(from, announcement)});
}

void SharedMemoryTransport::fragment(Peer& from, const std::byte* record, int64_t length) {
  uint64_t body[2];
  std::memcpy(body, record + sizeof(uint64_t), sizeof body);
  Incoming& incoming = body[0] ? *reinterpret_cast<Incoming*>(body[0]) : *from.middling;
  absorb(incoming, static_cast<int64_t>(body[1]), record + kFragmentHead,
         length - static_cast<int64_t>(kFragmentHead));
}

// Bytes have come: to where they belong if that is known, else they are kept.
void SharedMemoryTransport::absorb(Incoming& incoming, int64_t offset, const std::byte* data,
                                   int64_t length) {
  if (incoming.fetch) {
    unpack(incoming.fetch->into, offset, data, length);
  } else if (!incoming.dropped) {
    if (!incoming.kept)
      incoming.kept =
          std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(incoming.bytes));
    std::memcpy(incoming.kept.get() + offset, data, static_cast<size_t>(length));
  }
  incoming.arrived += length;
  if (incoming.arrived < incoming.bytes) return;
  if (incoming.peer->middling == &incoming) incoming.peer->middling = nullptr;
  if (incoming.fetch || incoming.dropped) finish(incoming);
}

void SharedMemoryTransport::finish(Incoming& incoming) {
  Fetch* fetch = incoming.fetch;
  give_back(incoming);
  if (fetch) fetch->fetched(*fetch, {});
}

void SharedMemoryTransport::fetch(void* rendezvous, Fetch& fetch) {
  auto& incoming = *static_cast<Incoming*>(rendezvous);
  incoming.fetch = &fetch;
  if (incoming.outgoing == 0) {  // it comes by itself
    if (incoming.kept) unpack(fetch.into, 0, incoming.kept.get(), incoming.arrived);
    incoming.kept.reset();
    if (incoming.arrived == incoming.bytes) finish(incoming);
    return;
  }
  if (incoming.address && read_peers_ && incoming.peer->memory.readable()) {
    if (!read_on(incoming)) reading_.push_back(&incoming);
    return;
  }
  control(*incoming.peer, RecordType::go, 0, incoming.outgoing,
          reinterpret_cast<uintptr_t>(&incoming), 0);
}

// Reads the next piece from the sender's memory. True: no more to read.
bool SharedMemoryTransport::read_on(Incoming& incoming) {
  const int64_t length = std::min(kReadPiece, incoming.bytes - incoming.arrived);
  const auto at = static_cast<uint64_t>(incoming.arrived);
  if (!incoming.peer->memory.read(incoming.address + at, incoming.fetch->into, incoming.arrived,
                                  length)) {
    // Memory that only its owner can read: let it send.
    control(*incoming.peer, RecordType::go, 0, incoming.outgoing,
            reinterpret_cast<uintptr_t>(&incoming), at);
    return true;
  }
  incoming.arrived += length;
  if (incoming.arrived < incoming.bytes) return false;
  control(*incoming.peer, RecordType::done, 0, incoming.outgoing);
  finish(incoming);
  return true;
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

Incoming& SharedMemoryTransport::new_incoming(Peer& from, const Announcement& announcement) {
  Incoming* incoming = spare_incoming_;
  if (incoming) {
    spare_incoming_ = incoming->next;
  } else {
    incoming = new Incoming;
  }
  *incoming = {.peer = &from,
               .bytes = announcement.bytes,
               .outgoing = announcement.outgoing,
               .address = announcement.address};
  return *incoming;
}

void SharedMemoryTransport::give_back(Incoming& incoming) {
  incoming.kept.reset();
  incoming.next = spare_incoming_;
  spare_incoming_ = &incoming;
}

}  // namespace tutti::transport
