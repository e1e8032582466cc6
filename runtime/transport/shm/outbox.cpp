// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/outbox.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "memory/movers.hpp"
#include "transport/shm/joint_words.hpp"
#include "transport/shm/shared_memory_inside.hpp"

namespace tutti::transport {
namespace {

size_t fragment_length(int64_t bytes) {
  return kFragmentHead + static_cast<size_t>(bytes);
}

// All but the bytes; nullptr: no room.
std::byte* begin_fragment(RingWriter& ring, uint64_t incoming, int64_t offset, int64_t bytes) {
  std::byte* const record = ring.reserve(fragment_length(bytes));
  if (!record) return nullptr;
  const uint64_t body[] = {incoming, static_cast<uint64_t>(offset)};
  std::memcpy(record + sizeof(uint64_t), body, sizeof body);
  return record;
}

}  // namespace

Outbox::Outbox(NodeSegment& segment, int me, const SharedMemoryOptions& options, std::deque<Peer>& peers)
    : segment_(segment),
      me_(me),
      both_copy_(options.both_copy),
      survives_(options.survives),
      no_way_(options.no_way),
      peers_(peers) {}

Outbox::~Outbox() {
  for (Peer& peer : peers_) delete_list(peer.out.held);
  delete_list(spare_held_);
}

Error Outbox::connect(Peer& to) {
  if (to.connected) return {};
  if (Error e = segment_.open_ring(me_, to.index)) return e;
  to.out.ring = RingWriter(segment_.ring(me_, to.index), segment_.ring_size());
  to.out.limits = Limits(static_cast<int64_t>(to.out.ring.longest_record()), 2 * kLine);
  to.connected = true;
  Doorbell::ring_if_asleep(*to.desk);
  return {};
}

// Where there is no other way than this one.
Error Outbox::connect_or_end(Peer& to) {
  Error problem = connect(to);
  if (problem && no_way_) no_way_(to.process, problem);
  return problem;
}

void Outbox::send(Peer& to, Outgoing& outgoing) {
  if (!to.connected) [[unlikely]] {
    if (Error problem = connect_or_end(to)) return outgoing.sent(outgoing, std::move(problem));
  }
  int64_t offset = 0;
  if (!to.out.held && put(to, outgoing, offset)) return;
  hold(to, {.outgoing = &outgoing, .offset = offset});
}

[[gnu::always_inline]] inline bool Outbox::send_now(Peer& to, const Header& header, uint64_t ticket,
                                                    const std::byte* data) {
  if (to.out.held || header.bytes > to.out.limits[Length::inlined]) [[unlikely]]
    return false;
  const auto bytes = static_cast<size_t>(header.bytes);
  uint8_t kept = 0;
  if (bytes <= kMostOfSame && !to.out.ring.all_is_read() && is_plain(header, ticket)) {
    if (to.out.kept.is_of(header)) {
      if (to.out.told == to.in.ring.position()) return send_same(to, header.pattern, data, bytes);
    } else if (to.out.last.is_of(header)) {
      kept = kKept;
    } else {
      to.out.last = KeptHead::of(header);
    }
  }
  const size_t head = length_of_head(header, ticket), length = head + bytes;
  std::byte* record = to.out.ring.reserve(length);
  if (!record) [[unlikely]]
    return false;
  TUTTI_FAULT_POINT("ring.reserved");
  // The first line last, if the reader looks at it all the time: it would take it back meanwhile.
  size_t beside = bytes;
  if (to.out.ring.all_is_read() && bytes > kLine - head) {
    beside = kLine - head;
    memory::copy(record + kLine, data + beside, static_cast<int64_t>(bytes - beside));
  }
  const uint8_t flags = write_head(record, header, ticket, to);
  memory::copy_short(record + head, data, beside);
  if (kept) to.out.kept = to.out.last;
  TUTTI_FAULT_POINT("ring.written");
  commit(to, record_word(RecordType::message, length, flags | kept, header.pattern));
  TUTTI_FAULT_POINT("ring.published");
  return true;
}

// Without a head: it is that of the one before, and there is nothing new to tell.
bool Outbox::send_same(Peer& to, uint16_t pattern, const std::byte* data, size_t bytes) {
  const size_t length = kHeadOfSame + bytes;
  std::byte* const record = to.out.ring.reserve_small(length);
  if (!record) [[unlikely]]
    return false;
  memory::copy_short(record + kHeadOfSame, data, bytes);
  TUTTI_FAULT_POINT("ring.follower_written");
  to.out.ring.commit_small(record, record_word(RecordType::message, length, kSame, pattern));
  Doorbell::ring_if_asleep(*to.desk);
  return true;
}

// Writes what there is room for. True when there is nothing more to write before an answer comes;
// then `outgoing` may be gone.
bool Outbox::put(Peer& to, Outgoing& outgoing, int64_t& offset) {
  const Leaving way = offset == 0 ? leaving(to, outgoing) : Leaving::in_pieces;
  if (way == Leaving::announced) return put_announcement(to, outgoing);
  if (way == Leaving::in_one_record ? !put_inline(to, outgoing.header, outgoing.payload)
                                    : !put_middling(to, outgoing, offset))
    return false;
  outgoing.sent(outgoing, {});
  return true;
}

Leaving Outbox::leaving(Peer& to, const Outgoing& outgoing) {
  const int64_t bytes = outgoing.header.bytes;
  return way_of(kLeaving, to.out.limits, bytes, [&](Need condition) {
    switch (condition) {
      case two_cores:
        return both_copy_;
      case one_run:
        return outgoing.payload.contiguous();
      case awake:
        return to.desk->asleep.load(std::memory_order_relaxed) == 0;
      default:
        return false;  // is asked of what comes alone
    }
  });
}

bool Outbox::put_inline(Peer& to, const Header& header, const Payload& payload) {
  const size_t head = length_of_head(header, header.ticket);
  const size_t length = head + static_cast<size_t>(header.bytes);
  std::byte* record = to.out.ring.reserve(length);
  if (!record) return false;
  memory::pack(payload, 0, record + head, header.bytes);
  const uint8_t flags = write_head(record, header, header.ticket, to);
  commit(to, record_word(RecordType::message, length, flags, header.pattern));
  return true;
}

bool Outbox::put_middling(Peer& to, Outgoing& outgoing, int64_t& offset) {
  const Header& header = outgoing.header;
  const int64_t piece = std::min(kEagerPiece, to.out.limits[Length::inlined]);
  if (offset == 0) {
    const size_t head = length_of_head(header, 0);
    const size_t begin = head + sizeof(Announcement);
    const size_t length = begin + static_cast<size_t>(piece);
    std::byte* record = to.out.ring.reserve(length);
    if (!record) return false;
    const uint8_t flags = write_head(record, header, 0, to);
    const Announcement announcement{.bytes = header.bytes, .address = header.ticket};
    std::memcpy(record + head, &announcement, sizeof announcement);
    memory::pack(outgoing.payload, 0, record + begin, piece);
    commit(to, record_word(RecordType::middling, length, flags, header.pattern));
    TUTTI_FAULT_POINT("pieces.begun");
    offset = piece;
  }
  while (offset < header.bytes) {
    const int64_t length = std::min(piece, header.bytes - offset);
    if (!put_fragment(to, outgoing.payload, offset, length)) return false;
    TUTTI_FAULT_POINT("pieces.under_way");
    offset += length;
  }
  return true;
}

bool Outbox::put_announcement(Peer& to, const Outgoing& outgoing) {
  const Header& header = outgoing.header;
  const size_t head = length_of_head(header, header.ticket);
  const size_t length = head + sizeof(Announcement);
  std::byte* record = to.out.ring.reserve(length);
  if (!record) return false;
  uint8_t flags = write_head(record, header, header.ticket, to);
  if (me_ < to.index) flags |= static_cast<uint8_t>(static_cast<int>(to.learnt.hint(header.bytes)) << kHintShift);
  Announcement announcement{.bytes = header.bytes, .outgoing = reinterpret_cast<uintptr_t>(&outgoing)};
  if (outgoing.payload.contiguous()) announcement.address = reinterpret_cast<uintptr_t>(outgoing.payload.data());
  std::memcpy(record + head, &announcement, sizeof announcement);
  TUTTI_FAULT_POINT("announcement.written");
  commit(to, record_word(RecordType::announcement, length, flags, header.pattern));
  TUTTI_FAULT_POINT("announcement.published");
  ++to.out.announced;
  if (survives_) [[unlikely]]
    to.out.awaited.insert(const_cast<Outgoing*>(&outgoing));
  return true;
}

// Of a middling message.
bool Outbox::put_fragment(Peer& to, const Payload& payload, int64_t offset, int64_t length) {
  std::byte* const record = begin_fragment(to.out.ring, 0, offset, length);
  if (!record) return false;
  memory::pack(payload, offset, record + kFragmentHead, length);
  commit(to, record_word(RecordType::fragment, fragment_length(length), 0));
  return true;
}

// Of a stream.
bool Outbox::put_piece(Peer& to, const Stream& stream, int64_t length) {
  std::byte* const record = begin_fragment(ring_of(to, stream), stream.incoming, stream.offset, length);
  if (!record) return false;
  const Payload& payload = stream.outgoing->payload;
  if (payload.contiguous())
    to.out.copy(record + kFragmentHead, payload.data() + stream.offset, static_cast<size_t>(length));
  else
    memory::pack(payload, stream.offset, record + kFragmentHead, length);
  const RecordWord word = record_word(RecordType::fragment, fragment_length(length), 0);
  if (!stream.large) {
    commit(to, word);
  } else {
    to.out.large.commit_last(word);
    Doorbell::ring_if_asleep(*to.desk);
  }
  return true;
}

void Outbox::control(Peer& to, RecordType type, uint16_t value, uint64_t a, uint64_t b, uint64_t c) {
  if (to.lost) [[unlikely]]
    return;
  RecordWord word = record_word(type, kControlLength, 0);
  word.value = value;
  const uint64_t body[] = {a, b, c};
  if (!to.connected) [[unlikely]] {
    const Error problem = connect_or_end(to);
    TUTTI_INVARIANT(!problem, "the ring back is there when a message has come");
  }
  if (!to.out.held && put_control(to, word, body)) return;
  hold(to, {.word = word, .body = {a, b, c}});
}

bool Outbox::put_control(Peer& to, RecordWord word, const uint64_t (&body)[3]) {
  std::byte* record = to.out.ring.reserve(kControlLength);
  if (!record) return false;
  std::memcpy(record + sizeof(uint64_t), body, sizeof body);
  TUTTI_FAULT_POINT("control.written");
  commit(to, word);
  return true;
}

// ---- what waits for room

void Outbox::hold(Peer& to, const Held& what) {
  Held* held = spare_held_;
  if (held) {
    spare_held_ = held->next;
  } else {
    held = new Held;
  }
  *held = what;
  held->next = nullptr;
  (to.out.held ? to.out.last_held->next : to.out.held) = held;
  to.out.last_held = held;
  ++held_;
}

bool Outbox::catch_up(Peer& to) {
  bool moved = false;
  while (Held* held = to.out.held) {
    const int64_t before = held->offset;
    // Stays first while it is written: what `sent` may send more must queue behind it.
    const bool written =
        held->outgoing ? put(to, *held->outgoing, held->offset) : put_control(to, held->word, held->body);
    moved |= written || held->offset != before;
    if (!written) break;
    to.out.held = held->next;
    held->next = spare_held_;
    spare_held_ = held;
    --held_;
  }
  return moved;
}

void Outbox::start_stream(Peer& to, const std::byte* body, Asked way) {
  uint64_t words[3];
  std::memcpy(words, body, sizeof words);
  auto* const outgoing = reinterpret_cast<Outgoing*>(words[0]);
  const auto begin = static_cast<int64_t>(words[2]);
  const int64_t bytes = outgoing->header.bytes;
  const int64_t end = way.chunks ? std::min(bytes, begin + way.chunks * kStreamChunk) : bytes;
  if (way.is_new) to.out.large = RingWriter(segment_.large_ring(way.large_ring), NodeSegment::kLargeRing);
  to.out.streams.push_back({outgoing, words[1], begin, end, way.large_ring >= 0});
  ++held_;
  stream_on(to);
}

// In the order in which they were asked for.
bool Outbox::stream_on(Peer& to) {
  bool moved = false;
  to.out.gave_way = false;
  while (!to.out.streams.empty()) {
    Stream& s = to.out.streams.front();
    const auto fits = static_cast<int64_t>(ring_of(to, s).longest_record() - kFragmentHead);
    const int64_t length = std::min({kStreamPiece, fits, s.end - s.offset});
    if (!put_piece(to, s, length)) break;
    moved = true;
    TUTTI_FAULT_POINT("stream.piece_sent");
    s.offset += length;
    if (s.offset < s.end) {
      to.out.gave_way = receiver_->takes_turns();
      if (to.out.gave_way) break;
      continue;
    }
    Outgoing& outgoing = *s.outgoing;
    const bool last = s.end == outgoing.header.bytes;
    to.out.streams.pop_front();
    --held_;
    if (!last) continue;
    --to.out.announced;
    if (survives_) [[unlikely]]
      to.out.awaited.erase(&outgoing);
    outgoing.sent(outgoing, {});
  }
  return moved;
}

bool Outbox::has_room(Peer& to) {
  return (to.out.held && to.out.ring.room_has_grown()) ||
         (!to.out.streams.empty() && ring_of(to, to.out.streams.front()).room_has_grown());
}

// ---- the sender's part of a message that both sides copy

void Outbox::start_help(Peer& to, const std::byte* body) {
  uint64_t words[3];
  std::memcpy(words, body, sizeof words);
  if (!to.out.helping.message) ++held_;
  to.out.helping = {words[1], reinterpret_cast<const std::byte*>(words[2])};
  help_on(to);
}

// Writes a piece. Of a message that is over, or that its receiver has copied to the end, there is
// none.
bool Outbox::help_on(Peer& to) {
  if (!to.out.helping.message) return false;
  Joint& joint = to.out.ring.joint();
  uint64_t packed = joint.taken.load(std::memory_order_acquire);
  const auto leave = [&] {
    to.out.helping.message = 0;
    --held_;
  };
  for (;;) {
    Share taken = Share::of(packed);
    // What else is read here is of this message if `taken` has not changed at the end.
    const JointCut pieces{static_cast<int64_t>(joint.bytes.load(std::memory_order_relaxed)),
                          static_cast<int64_t>(joint.piece.load(std::memory_order_relaxed))};
    const uint64_t into = joint.into.load(std::memory_order_relaxed);
    if (taken.message != static_cast<uint16_t>(to.out.helping.message) || taken.front + taken.back >= pieces.count()) {
      leave();
      return false;
    }
    const uint32_t mine = pieces.count() - ++taken.back;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!joint.taken.compare_exchange_weak(packed, taken.packed(), std::memory_order_acq_rel)) continue;
    TUTTI_FAULT_POINT("joint.back_taken");
    const bool fine = to.memory.write(into + static_cast<uint64_t>(pieces.begin(mine)),
                                      to.out.helping.from + pieces.begin(mine), pieces.size(mine));
    TUTTI_FAULT_POINT("joint.back_written");
    joint.written.store(Written{taken.message, !fine, taken.back}.packed(), std::memory_order_release);
    if (!fine) leave();
    return true;
  }
}

// ---- the end of a peer

void Outbox::lose(Peer& to, int mpi_class) {
  to.lost = true;
  std::set<Outgoing*> all = std::exchange(to.out.awaited, {});
  while (Held* held = to.out.held) {
    if (held->outgoing) all.insert(held->outgoing);
    to.out.held = held->next;
    held->next = spare_held_;
    spare_held_ = held;
    --held_;
  }
  for (; !to.out.streams.empty(); to.out.streams.pop_front()) --held_;  // they are awaited as well
  if (std::exchange(to.out.helping.message, 0)) --held_;
  to.out.announced = 0;
  for (Outgoing* const each : all) each->sent(*each, Error(mpi_class, ""));  // the program is told
}

// ---- for all peers

bool Outbox::go_on() {
  bool moved = false;
  for (Peer& peer : peers_)
    if (peer.out.held || !peer.out.streams.empty() || peer.out.helping.message) {
      moved |= catch_up(peer);
      moved |= stream_on(peer);
      moved |= help_on(peer);
    }
  return moved;
}

bool Outbox::can_go_on() {
  bool can = false;
  for (Peer& peer : peers_) can |= has_room(peer) || peer.out.gave_way || peer.out.helping.message;
  return can;
}

// ---- the transport's calls, here so that they and the outbox's are one function

void SharedMemoryTransport::send(int peer, Outgoing& outgoing) {
  outbox_.send(at(peer), outgoing);
}

bool SharedMemoryTransport::send_now(int peer, const Header& header, uint64_t ticket, const std::byte* data) {
  return outbox_.send_now(at(peer), header, ticket, data);
}

void SharedMemoryTransport::notify(int peer, const Header& header) {
  outbox_.control(at(peer), RecordType::notification, static_cast<uint8_t>(header.kind), header.ticket);
}

}  // namespace tutti::transport
