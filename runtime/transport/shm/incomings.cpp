// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/incomings.hpp"

#include <algorithm>
#include <atomic>

#include "base/cpu.hpp"
#include "base/fault_point.hpp"
#include "members/processes.hpp"
#include "memory/movers.hpp"

namespace tutti::transport {
namespace {

constexpr int64_t kReadPiece = 1 << 20;   // read from a peer's memory in one pass
constexpr int64_t kTurnPiece = 64 << 10;  // while threads take turns

}  // namespace

Incomings::Incomings(NodeSegment& segment, const SharedMemoryOptions& options, std::deque<Peer>& peers, Outbox& outbox)
    : segment_(segment),
      both_copy_(options.both_copy),
      survives_(options.survives),
      members_(options.members),
      peers_(peers),
      outbox_(outbox),
      streams_(segment, peers, outbox, reading_) {}

Incomings::~Incomings() {
  for (Peer& peer : peers_) delete peer.in.middling;
  delete_list(spare_);
}

// ---- from their announcement to their end

Incoming& Incomings::add(Peer& from, const Announcement& announcement) {
  Incoming* incoming = spare_;
  if (incoming) {
    spare_ = incoming->next;
  } else {
    incoming = new Incoming;
  }
  *incoming = {
      .peer = &from, .bytes = announcement.bytes, .outgoing = announcement.outgoing, .address = announcement.address};
  if (survives_) [[unlikely]]
    from.in.open.insert(incoming);
  return *incoming;
}

void Incomings::give_back(Incoming& incoming) {
  if (incoming.outgoing != 0) --incoming.peer->in.announced;
  if (survives_) [[unlikely]]
    incoming.peer->in.open.erase(&incoming);
  incoming.kept.reset();
  incoming.next = spare_;
  spare_ = &incoming;
}

// Bytes have come: to where they belong if that is known, else they are kept.
void Incomings::absorb(Incoming& incoming, int64_t offset, const std::byte* data, int64_t length) {
  if (incoming.fetch) {
    memory::unpack(incoming.fetch->into, offset, data, length);
  } else if (!incoming.dropped) {
    if (!incoming.kept)
      incoming.kept = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(incoming.bytes));
    memory::copy(incoming.kept.get() + offset, data, length);
  }
  incoming.arrived += length;
  if (incoming.streams) incoming.peer->in.asked -= length;
  if (incoming.arrived < incoming.bytes) {
    if (incoming.streams) streams_.go_on(incoming);
    return;
  }
  if (incoming.peer->in.middling == &incoming) incoming.peer->in.middling = nullptr;
  if (incoming.begun && incoming.outgoing == 0) learn_from_ring(incoming);
  if (incoming.fetch || incoming.dropped) finish(incoming);
}

void Incomings::fetch(Incoming& incoming, Fetch& fetch) {
  if (const int lost = incoming.lost) [[unlikely]] {
    give_back(incoming);
    return fetch.fetched(fetch, Error(lost, ""));
  }
  incoming.fetch = &fetch;
  if (incoming.outgoing == 0) {  // it comes by itself
    if (incoming.kept) memory::unpack(fetch.into, 0, incoming.kept.get(), incoming.arrived);
    incoming.kept.reset();
    if (incoming.arrived == incoming.bytes) finish(incoming);
    return;
  }
  const Coming way = coming(incoming);
  if (way == Coming::sent) return streams_.ask(incoming, 0);
  if (way == Coming::streamed) {
    incoming.begun = cpu::ticks();
    return streams_.begin(incoming);
  }
  if (reading_.empty() && !incoming.among_others && both_copy_ && Learnt::has_choice(incoming.bytes))
    incoming.begun = cpu::ticks();
  incoming.joins = way == Coming::from_both_ends;
  if (read_on(incoming) != Read::done) reading_.push_back(&incoming);
}

Coming Incomings::coming(Incoming& incoming) {
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
        return segment_.has_wide_rings() || streams_.may_borrow(from);
      case prompt:
        return from.learnt.is_prompt_for_one();
      case gains:
        incoming.in_run = true;
        return from.learnt.streams(incoming.bytes);
      case readable:
        return incoming.address != 0 && from.memory.reach() == memory::Reach::kernel_copies;
      default:
        return false;  // is asked of what goes alone
    }
  });
}

void Incomings::finish(Incoming& incoming) {
  if (incoming.streams) {
    incoming.peer->learnt.run_was_streamed(incoming.begun, cpu::ticks(), incoming.bytes);
    streams_.end(incoming);
  }
  Fetch* fetch = incoming.fetch;
  give_back(incoming);
  if (fetch) fetch->fetched(*fetch, {});
}

// Reads the next piece from the sender's memory.
Incomings::Read Incomings::read_on(Incoming& incoming) {
  if (incoming.joins) return join_on(incoming);
  const int64_t most = receiver_->takes_turns() ? kTurnPiece : kReadPiece;
  const int64_t length = std::min(most, incoming.bytes - incoming.arrived);
  const uint64_t begun = incoming.in_run ? cpu::ticks() : 0;
  TUTTI_FAULT_POINT("read.begun");
  if (!read_piece(incoming, incoming.arrived, length)) {
    incoming.asked = incoming.arrived;
    streams_.ask(incoming, 0);
    return Read::done;
  }
  if (incoming.in_run) incoming.reading += cpu::ticks() - begun;
  incoming.arrived += length;
  TUTTI_FAULT_POINT("read.piece_read");
  if (incoming.arrived < incoming.bytes) return Read::goes_on;
  finish_read(incoming);
  return Read::done;
}

// False: memory that only its owner can read, who is to send it.
bool Incomings::read_piece(Incoming& incoming, int64_t offset, int64_t length) {
  Peer& from = *incoming.peer;
  if (from.memory.read(incoming.address + static_cast<uint64_t>(offset), incoming.fetch->into, offset, length))
    return true;
  if (from.memory.is_gone() && members_)
    members_->report(from.process, members::State::suspected, "has no memory any more: its process is gone");
  return false;
}

void Incomings::learn_from_read(Incoming& incoming) {
  incoming.peer->learnt.was_read(incoming.begun, cpu::ticks(), incoming.bytes);
  wish(*incoming.peer);
}

void Incomings::learn_from_ring(Incoming& incoming) {
  incoming.peer->learnt.came_through_ring(incoming.begun, cpu::ticks(), incoming.put, incoming.bytes);
  wish(*incoming.peer);
}

void Incomings::wish(Peer& from) {
  uint32_t wishes;
  if (from.learnt.has_new_wishes(wishes)) from.in.ring.wish(wishes);
}

void Incomings::finish_read(Incoming& incoming) {
  if (incoming.in_run) {
    if (incoming.asked == 0) incoming.peer->learnt.run_was_read(incoming.reading, incoming.bytes);  // all of it
  } else if (incoming.begun) {
    learn_from_read(incoming);
  }
  TUTTI_FAULT_POINT("read.before_finish_word");
  outbox_.control(*incoming.peer, RecordType::done, 0, incoming.outgoing);
  TUTTI_FAULT_POINT("read.behind_finish_word");
  finish(incoming);
}

void Incomings::lose(Peer& from, int mpi_class) {
  std::erase_if(reading_, [&](const Incoming* each) { return each->peer == &from; });
  from.in.joint = nullptr;
  from.in.middling = nullptr;
  std::vector<Incoming*> over;
  for (Incoming* const each : from.in.open) {
    if (each->streams) streams_.drop(*each);
    if (each->outgoing == 0 && each->arrived == each->bytes) continue;
    each->lost = mpi_class;
    if (each->fetch || each->dropped) over.push_back(each);
  }
  for (Incoming* const each : over) {
    Fetch* const fetch = each->fetch;
    give_back(*each);
    if (fetch) fetch->fetched(*fetch, Error(mpi_class, ""));
  }
}

void Incomings::discard(Incoming& incoming) {
  if (incoming.lost) return give_back(incoming);
  if (incoming.outgoing != 0) {
    outbox_.control(*incoming.peer, RecordType::done, 0, incoming.outgoing);
    return give_back(incoming);
  }
  incoming.kept.reset();
  incoming.dropped = true;
  if (incoming.arrived == incoming.bytes) finish(incoming);
}

// Reading one may add others.
bool Incomings::read_all() {
  bool moved = false;
  size_t kept = 0;
  for (size_t i = 0; i < reading_.size(); ++i) {
    Incoming* const incoming = reading_[i];
    const Read read = read_on(*incoming);
    moved |= read != Read::waits;
    if (read != Read::done) reading_[kept++] = incoming;
  }
  reading_.resize(kept);
  return moved;
}

}  // namespace tutti::transport
