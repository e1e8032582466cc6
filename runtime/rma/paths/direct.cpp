// SPDX-License-Identifier: BSD-3-Clause
#include "rma/paths/direct.hpp"

#include <functional>
#include <utility>

#include "engine/engine.hpp"
#include "memory/movers.hpp"

namespace tutti::rma {
namespace {

unsigned consecutive(const std::vector<int>& ranks) {
  return ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size()) ? static_cast<unsigned>(ranks.size()) : 0;
}

void copy(const Payload& from, const Payload& to) {
  if (!from.contiguous() || !to.contiguous()) return memory::copy(from, to);
  memory::copy_short(to.data(), from.data(), static_cast<size_t>(from.bytes()));
}

}  // namespace

DirectPath::DirectPath(NodeParts parts, engine::Engine& engine, const Arithmetic& arithmetic, OriginSide& origin,
                       TargetSide& target)
    : parts_(std::move(parts)),
      words_(parts_.words, static_cast<int>(parts_.ranks.size())),
      first_(parts_.ranks.front()),
      consecutive_(consecutive(parts_.ranks)),
      engine_(engine),
      arithmetic_(arithmetic),
      origin_(origin),
      target_(target),
      taken_(parts_.ranks.size()) {
  if (consecutive_ == 0)
    for (size_t i = 0; i < parts_.ranks.size(); ++i) places_.set(parts_.ranks[i], static_cast<int>(i));
  target.set_lock(*this);
  target.memory().set_guard(words_.stripes(me()));
}

DirectPath::~DirectPath() {
  stop_waiting_for_turns();
}

void DirectPath::begin_wait(engine::Poller& looks) {
  parts_.bells->waits();
  engine_.add_poller(looks);
}

void DirectPath::end_wait(engine::Poller& looks) {
  engine_.remove_poller(looks);
}

// ---- puts and gets

void DirectPath::delay(const Local& origin, const Target& target, const Payload& from, const Payload& to) {
  origin_.begins(target.rank);
  delayed_.push_back({target.rank, from, to, {origin.layout, target.layout}});
}

void DirectPath::put(int member, const Local& origin, const Target& target, Done done) {
  const Payload from = origin.payload(), to = there(member, target);
  if (parts_.delays && !done.call) [[unlikely]]
    return delay(origin, target, from, to);
  copy(from, to);
  origin_.over(done, {});
}

void DirectPath::get(int member, const Local& origin, const Target& target, Done done) {
  const Payload from = there(member, target), to = origin.payload();
  if (parts_.delays && !done.call) [[unlikely]]
    return delay(origin, target, from, to);
  copy(from, to);
  origin_.over(done, {});
}

void DirectPath::carry_out_those(int rank) {
  std::vector<Delayed> rest;
  for (Delayed& each : delayed_) {
    if (rank != kAll && each.rank != rank) {
      rest.push_back(std::move(each));
      continue;
    }
    copy(each.from, each.to);
    origin_.ends(each.rank, {}, {});
  }
  delayed_ = std::move(rest);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // a call that completes them relies on one from its begin
}

// ---- updates

void DirectPath::update(int member, Update update, const Local& origin, const Local* result, const Target& target,
                        Done done) {
  const Payload to = there(member, target);
  const Payload from = origin.payload(), into = result ? result->payload() : Payload{};
  const bool reads = update.operation != kNoOp;
  const bool packs = reads && !from.contiguous(), unpacks = result && !into.contiguous();
  const std::byte* const data = reads && !packs ? from.data() : nullptr;
  std::byte* const old = result && !unpacks ? into.data() : nullptr;
  if (packs || unpacks) [[unlikely]]
    update_in_pieces(guard(member), update, to, {data, packs ? &from : nullptr, old, unpacks ? &into : nullptr});
  else
    carry_out(arithmetic_, update, to, 0, data, to.bytes(), old, guard(member));
  origin_.over(done, {});
}

// What has gaps here goes through a copy.
void DirectPath::update_in_pieces(const Guard& guard, Update update, const Payload& to, const Sides& here) {
  constexpr int64_t kPiece = 64 << 10;
  const int64_t bytes = to.bytes();
  const int64_t size = arithmetic_.layout(update.element).size();
  const int64_t piece = std::min(std::max<int64_t>(kPiece / size, 1) * size, bytes);
  const auto room = [piece](bool wanted) {
    return wanted ? std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(piece)) : nullptr;
  };
  const std::unique_ptr<std::byte[]> packed = room(here.packs), fetched = room(here.unpacks);
  for (int64_t at = 0; at < bytes; at += piece) {
    const int64_t now = std::min(piece, bytes - at);
    const std::byte* const data = here.data ? here.data + at : packed.get();
    std::byte* const old = here.old ? here.old + at : fetched.get();
    if (here.packs) memory::pack(*here.packs, at, packed.get(), now);
    carry_out(arithmetic_, update, to, at, data, now, old, guard);
    if (here.unpacks) memory::unpack(*here.unpacks, at, fetched.get(), now);
  }
}

// One element of a predefined type, which may have gaps.
void DirectPath::compare_and_swap(int member, Update element, const void* origin, const void* compare, void* result,
                                  const Target& target) {
  constexpr size_t kLongest = 64;
  const int64_t bytes = target.layout->size();
  const auto element_at = [&](const void* at) { return Payload{const_cast<void*>(at), 1, target.layout.get()}; };
  alignas(16) std::byte both[2 * kLongest], old[kLongest];
  memory::pack(element_at(compare), 0, both, bytes);
  memory::pack(element_at(origin), 0, both + bytes, bytes);
  carry_out(arithmetic_, {kCompareAndSwap, element.element}, there(member, target), 0, both, bytes, old, guard(member));
  memory::unpack(element_at(result), 0, old, bytes);
}

// ---- the lock of a part

Error DirectPath::expose() {
  words_.lock_of_all().close();
  const bool is_shared = !words_.lock_of_all().is_empty();
  if (!is_shared && words_.lock(me()).expose()) return {};
  int holder = -1;
  words_.each_named(me(), [&](int, const TicketLock::Ticket&, int rank) { holder = holder < 0 ? rank : holder; });
  if (is_shared)
    for (const int rank : sharing_all()) holder = rank;
  return locked_and_exposed(holder < 0 ? parts_.ranks[place(me())] : holder);
}

void DirectPath::lock(int member, bool exclusive) {
  bool exposed = false;
  Taken& mine = taken_[place(member)];
  if (exclusive) words_.lock_of_all().close();
  mine.ticket = words_.lock(member).take(exclusive, exposed);
  mine.held = false;
  words_.name(member, me(), mine.ticket, parts_.ranks[place(me())]);
  if (exposed) [[unlikely]]
    origin_.failed(exposed_and_locked(parts_.ranks[place(member)]));
}

bool DirectPath::is_locked(int member) {
  Taken& mine = taken_[place(member)];
  if (mine.held) return true;
  if (!is_turn(member, mine.ticket)) return false;
  words_.lock(member).enter(mine.ticket);
  mine.held = true;
  if (!mine.ticket.exclusive) ring_next(member);
  return true;
}

void DirectPath::unlock(int member) {
  Taken& mine = taken_[place(member)];
  words_.forget(member, me());
  words_.lock(member).leave(mine.ticket);
  mine.held = false;
  ring_next(member);
}

bool DirectPath::lock_all() {
  if (!words_.lock_of_all().enter()) return false;
  words_.shares_all(me()).store(1, std::memory_order_release);
  return shares_all_ = true;
}

void DirectPath::unlock_all() {
  carry_out_delayed(kAll);
  shares_all_ = false;
  words_.shares_all(me()).store(0, std::memory_order_release);
  leave_all();
}

void DirectPath::leave_all() const {
  if (!words_.lock_of_all().leave()) return;
  for (int member = 0; member < words_.members(); ++member) ring_next(member);
}

// Those whose turn it has become; and the part's owner where ranks elsewhere wait, for it tells them who is before them.
void DirectPath::ring_next(int member) const {
  transport::WordBells::has_written();
  const TicketLock& lock = words_.lock(member);
  if (lock.is_free()) return;
  bool elsewhere = words_.unnamed(member).load(std::memory_order_acquire) != 0;
  words_.each_named(member, [&](int who, const TicketLock::Ticket& ticket, int) {
    if (who >= words_.members())
      elsewhere = true;
    else if (who != me() && (is_turn(member, {ticket.number, true}) || lock.is_turn({ticket.number, false})))
      parts_.bells->ring_if_asleep(who);
  });
  if (elsewhere && member != me()) parts_.bells->ring_if_asleep(member);
}

std::vector<int> DirectPath::sharing_all() const {
  std::vector<int> ranks;
  for (int member = 0; member < words_.members(); ++member)
    if (words_.shares_all(member).load(std::memory_order_acquire) != 0) ranks.push_back(parts_.ranks[place(member)]);
  return ranks;
}

// Who shares the lock waits for those alone who are to have it alone and come before, and for whom these wait: others who
// share come in beside it, and may wait for it in some other call. A guest in the lock of all is told of where it came in
// alone: of who waits elsewhere it is not known.
std::vector<int> DirectPath::named_before(int member, const TicketLock::Ticket& ticket) const {
  struct Named {
    uint32_t distance;  // to the ticket
    bool exclusive;
    int rank;
  };
  std::vector<Named> before;
  words_.each_named(member, [&](int, const TicketLock::Ticket& other, int rank) {
    if (static_cast<int32_t>(other.number - ticket.number) < 0)
      before.push_back({ticket.number - other.number, other.exclusive, rank});
  });
  std::ranges::sort(before, std::greater<>(), &Named::distance);
  if (!ticket.exclusive)
    while (!before.empty() && !before.back().exclusive) before.pop_back();
  std::vector<int> ranks;
  if (ticket.exclusive || !before.empty()) ranks = sharing_all();
  for (const Named& each : before) ranks.push_back(each.rank);
  return ranks;
}

// Who holds it alone, if that one is known: whom those wait for who pass.
std::vector<int> DirectPath::alone_in(int member) const {
  std::vector<int> ranks;
  words_.each_named(member, [&](int, const TicketLock::Ticket& ticket, int rank) {
    if (ticket.exclusive && words_.lock(member).is_turn(ticket)) ranks.push_back(rank);
  });
  return ranks;
}

std::span<const int> DirectPath::holders(int member) {
  const TicketLock::Ticket& ticket = taken_[place(member)].ticket;
  holders_.clear();
  if (!is_turn(member, ticket)) holders_ = named_before(member, ticket);
  return holders_;
}

// ---- for those elsewhere

void DirectPath::tell_name(int rank, const Elsewhere& asked) const {
  if (asked.name >= 0) words_.name(me(), asked.name, asked.ticket, rank);
}

bool DirectPath::request(int rank, LockWish wish, bool& exposed) {
  Elsewhere asked;
  asked.passes = wish.passes;
  for (int name = words_.members(); name < words_.names() && asked.name < 0; ++name)
    if (!words_.is_named(me(), name)) asked.name = name;
  if (asked.name < 0) words_.unnamed(me()).fetch_add(1, std::memory_order_release);
  if (!enter_as_guest(rank, asked)) {
    if (wish.exclusive) words_.lock_of_all().close();
    asked.ticket = words_.lock(me()).take(wish.exclusive, exposed);
    tell_name(rank, asked);
    if (!try_to_enter(rank, asked)) {
      line_.push(rank, wish);
      begin_to_look();
    }
  }
  elsewhere_[rank] = asked;
  return asked.held;
}

// Where it passes those who wait, and others share: in the lock of all only where somebody waits here, so that it hears of
// that when it leaves, and passes that one no more.
bool DirectPath::enter_as_guest(int rank, Elsewhere& asked) {
  TicketLock& lock = words_.lock(me());
  if (!asked.passes) return false;
  if (lock.enter_as_guest())
    asked.guest = Guest::of_part;
  else if (lock.is_awaited() && words_.lock_of_all().enter_as_guest())
    asked.guest = Guest::of_all;
  else
    return false;
  asked.held = true;
  asked.ticket.number = static_cast<uint32_t>(lock.left() >> 32) - 1;  // before those who wait, as they see it
  tell_name(rank, asked);
  return true;
}

// With its ticket, or as a guest: then the ticket has still to be taken through its turn.
bool DirectPath::try_to_enter(int rank, Elsewhere& asked) {
  TicketLock& lock = words_.lock(me());
  const TicketLock::Ticket ticket = asked.ticket;
  if (is_turn(me(), ticket)) {
    lock.enter(ticket);
    if (!ticket.exclusive) ring_next(me());
    return asked.held = true;
  }
  if (!enter_as_guest(rank, asked)) return false;
  unused_.push_back(ticket);
  words_.unnamed(me()).fetch_add(1, std::memory_order_release);
  return true;
}

// The progress thread looks as well, while the program is away.
void DirectPath::begin_to_look() {
  if (std::exchange(looks_, true)) return;
  seen_ = moves();
  parts_.bells->waits();
  engine_.add_pending();
  engine_.add_poller(*this);
}

bool DirectPath::give_back_tickets() {
  TicketLock& lock = words_.lock(me());
  const auto gone = std::erase_if(unused_, [&](const TicketLock::Ticket& ticket) TUTTI_ENGINE_OWNED {
    if (!lock.is_turn(ticket)) return false;
    lock.enter(ticket);
    lock.leave(ticket);
    words_.unnamed(me()).fetch_sub(1, std::memory_order_release);
    return true;
  });
  if (gone > 0) ring_next(me());
  return gone > 0;
}

void DirectPath::release(int rank) {
  const auto at = elsewhere_.find(rank);
  if (at->second.name >= 0)
    words_.forget(me(), at->second.name);
  else
    words_.unnamed(me()).fetch_sub(1, std::memory_order_release);
  TicketLock& lock = words_.lock(me());
  const Elsewhere left = at->second;
  elsewhere_.erase(at);
  if (left.guest == Guest::of_all) return leave_all();
  left.guest == Guest::of_part ? lock.leave_as_guest() : lock.leave(left.ticket);
  ring_next(me());
}

bool DirectPath::holds(int rank) const {
  const auto at = elsewhere_.find(rank);
  return at != elsewhere_.end() && at->second.held;
}

std::vector<int> DirectPath::before(int rank) const {
  const auto at = elsewhere_.find(rank);
  if (at == elsewhere_.end() || at->second.held) return {};
  if (!line_.is_among_first(rank)) {
    const int one = line_.before_far(rank);
    return one < 0 ? std::vector<int>() : std::vector<int>{one};
  }
  if (at->second.passes) return alone_in(me());
  std::vector<int> ranks = named_before(me(), at->second.ticket);
  if (ranks.size() > LockLine::kMostTold) ranks.resize(LockLine::kMostTold);
  return ranks;
}

void DirectPath::stop_waiting_for_turns() {
  if (!std::exchange(looks_, false)) return;
  engine_.remove_poller(*this);
  engine_.remove_pending();
}

// Tickets come in the order of the line, so that nobody behind one whose turn it is not has his; but where one who passes
// comes in as a guest, so does the next. They hear of it last: what has waited for the lock may give it up, so that they
// are here no more.
bool DirectPath::poll() {
  std::vector<int> entered;
  const auto enters = [&](int rank) TUTTI_ENGINE_OWNED {
    if (rank < 0 || !try_to_enter(rank, elsewhere_.at(rank))) return false;
    line_.remove(rank);
    entered.push_back(rank);
    return true;
  };
  while (!line_.is_empty() && enters(line_.first())) {
  }
  while (enters(line_.first_passing())) {
  }
  const bool moved = give_back_tickets() || !entered.empty();
  if (line_.is_empty() && unused_.empty()) stop_waiting_for_turns();
  for (const int rank : entered) {
    engine_.note_event();
    target_.grants(rank);
  }
  if (line_.is_empty()) return moved;
  if (const Moves now = moves(); std::exchange(seen_, now) != now) target_.lock_has_moved();
  return moved;
}

}  // namespace tutti::rma
