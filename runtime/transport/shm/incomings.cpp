// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/incomings.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

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
      tries_rings_(options.try_rings),
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
  // Whether the program waits for it, or computes, is known in the next pass.
  incoming.undecided =
      both_copy_ && tries_rings_ && incoming.address != 0 && receiver_->driver() == Receiver::Driver::calls;
  if (incoming.undecided || (!begin(incoming) && read_on(incoming) != Read::done)) reading_.push_back(&incoming);
}

// True: it comes without being read.
bool Incomings::begin(Incoming& incoming) {
  incoming.begun = cpu::ticks();
  const Coming way = coming(incoming);
  if (way == Coming::sent) {
    streams_.ask(incoming, 0);
    return true;
  }
  if (way == Coming::streamed) {
    incoming.way = CopyChoice::ring;
    streams_.begin(incoming);
    return true;
  }
  incoming.joins = way == Coming::from_both_ends;
  return false;
}

Coming Incomings::coming(Incoming& incoming) {
  constexpr Limits kLimits = Limits::of_any_ring();
  Peer& from = *incoming.peer;
  const bool someone_waits = receiver_->driver() == Receiver::Driver::waits;
  return way_of(kComing, kLimits, incoming.bytes, [&](Need condition) {
    switch (condition) {
        // clang-format off
      case two_cores: return both_copy_;
      case one_run: return incoming.fetch->into.contiguous();
      case awaited: return someone_waits;
      case awake: return from.desk->asleep.load(std::memory_order_relaxed) == 0;
      case alone: return !incoming.among_others;
      case one_way: return from.out.announced == 0;
      // clang-format on
      case large_ring:
        return tries_rings_ && (segment_.has_wide_rings() || streams_.may_borrow(from));
      case prompt:
        if (its_sender_decides(incoming) && incoming.hint == Hint::stream) from.learnt.is_back();
        return from.learnt.is_prompt_for_one();
      case readable:
        return incoming.address != 0 && from.memory.reach() == memory::Reach::kernel_copies;
      case gains:
        return had_better_stream(incoming);
      default:
        return false;  // is asked of what goes alone
    }
  });
}

// Messages go both ways, and the other one of the two chooses for both directions.
bool Incomings::its_sender_decides(const Incoming& incoming) {
  return incoming.peer->out.announced > 0 && incoming.hint != Hint::none;
}

bool Incomings::had_better_stream(Incoming& incoming) {
  const Peer& from = *incoming.peer;
  incoming.has_choice = true;
  incoming.company = from.out.announced > 0  ? Company::both_ways
                     : incoming.among_others ? Company::others
                                             : Company::none;
  if (its_sender_decides(incoming)) return incoming.hint == Hint::stream;
  return from.learnt.streams(incoming.company, incoming.bytes);
}

void Incomings::finish(Incoming& incoming) {
  if (incoming.has_choice)
    incoming.peer->learnt.came(incoming.way, incoming.company, incoming.begun, cpu::ticks(),
                               incoming.way == CopyChoice::reading ? incoming.reading : 0, incoming.bytes);
  if (incoming.streams) streams_.end(incoming);
  Fetch* fetch = incoming.fetch;
  give_back(incoming);
  if (fetch) fetch->fetched(*fetch, {});
}

// Reads the next piece from the sender's memory.
Incomings::Read Incomings::read_on(Incoming& incoming) {
  if (std::exchange(incoming.undecided, false) && begin(incoming)) return Read::done;
  if (incoming.joins) return join_on(incoming);
  const int64_t most = receiver_->takes_turns() ? kTurnPiece : kReadPiece;
  const int64_t length = std::min(most, incoming.bytes - incoming.arrived);
  const uint64_t begun = cpu::ticks();
  TUTTI_FAULT_POINT("read.begun");
  if (!read_piece(incoming, incoming.arrived, length)) {
    incoming.asked = incoming.arrived;
    incoming.has_choice = false;  // it comes the one way and the other
    streams_.ask(incoming, 0);
    return Read::done;
  }
  incoming.reading += cpu::ticks() - begun;
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

void Incomings::finish_read(Incoming& incoming) {
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
