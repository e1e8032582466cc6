// SPDX-License-Identifier: BSD-3-Clause
// What ranks of one node say to each other of a window in memory that they share: who shares the locks of all parts; and
// for each of them who holds the lock of its part, who changes which bytes of it at this moment, who has exposed memory to
// it, and whose operations there are over. Zero-filled at first. Owns where each word lies and the order of memory; waits
// for nothing but a stripe, and wakes nobody.
//
// A member is a rank by its place among those that share the memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cpu.hpp"

namespace tutti::rma {

// The lock of one part (the standard, section 12.5.3): many may share it, or one holds it alone. Who asks takes a
// ticket; tickets come in turn, so that nobody overtakes and nobody starves. Whoever has taken one has to enter and to
// leave. A guest has no ticket: it comes in while others share, whoever waits (LockWish says why). No fence stands
// between a lock and plain accesses under it: entering acquires what leaving has released.
class TicketLock {
 public:
  struct Ticket {
    uint32_t number = 0;
    bool exclusive = false;
  };

  // `exposed`: expose() came before, so that the lock is to be refused.
  Ticket take(bool exclusive, bool& exposed) {
    const uint64_t before = taken_.fetch_add(kOne, std::memory_order_acq_rel);
    exposed = before & kExposed;
    return {static_cast<uint32_t>(before >> 32), exclusive};
  }
  // Alone: those before have entered and left, which who has left an exclusive lock says in two stores, of which the
  // second is the one of `together_`.
  bool is_turn(const Ticket& ticket) const {
    return together_.load(std::memory_order_acquire) == ticket.number &&
           (!ticket.exclusive || gone_.load(std::memory_order_acquire) == without_guests(ticket.number));
  }
  // Once, when it is its turn: the next one may share.
  void enter(const Ticket& ticket) {
    // Nobody else changes it: those before have all added theirs, those behind wait for this.
    if (!ticket.exclusive) together_.store(ticket.number + 1, std::memory_order_release);
  }
  void leave(const Ticket& ticket) {
    if (ticket.exclusive) {
      // Nobody else changes either: who comes next, to share or alone, waits for the second store. So the first one
      // cannot undo the addition of one who shares behind this one, since that comes after both; and a guest comes to
      // others who share alone.
      gone_.store(without_guests(ticket.number + 1), std::memory_order_release);
      together_.store(ticket.number + 1, std::memory_order_release);
      return;
    }
    // Those who share leave in any order: each addition hands on what the ones before have released.
    gone_.fetch_add(kOne, std::memory_order_acq_rel);
  }
  // True: a guest is in, until it leaves. False: nobody shares it now.
  bool enter_as_guest() {
    uint64_t gone = gone_.load(std::memory_order_acquire);
    do {
      // More have entered than have left: one of them is in, and still so if nobody has left when the guest is counted.
      // That counter is behind for a moment where one who was alone leaves.
      const uint32_t entered = together_.load(std::memory_order_acquire);
      const bool is_shared = static_cast<int32_t>(entered - static_cast<uint32_t>(gone >> 32)) > 0;
      if (!is_shared && static_cast<uint32_t>(gone) == 0) return false;
    } while (!gone_.compare_exchange_weak(gone, gone + 1, std::memory_order_acq_rel, std::memory_order_acquire));
    return true;
  }
  void leave_as_guest() { gone_.fetch_sub(1, std::memory_order_acq_rel); }
  // How many have left it, from some number on; it changes as well when guests come and go.
  uint64_t left() const { return gone_.load(std::memory_order_acquire); }
  // Nobody holds it or waits for it.
  bool is_free() const { return taken_by(taken_.load(std::memory_order_acquire)) == left(); }
  // Some have not entered, or one holds it alone.
  bool is_awaited() const {
    return static_cast<uint32_t>(taken_.load(std::memory_order_acquire) >> 32) !=
           together_.load(std::memory_order_acquire);
  }
  // The part may not be locked from here on. False: somebody holds the lock or waits for it, and nothing has changed.
  bool expose() {
    uint64_t before = taken_.load(std::memory_order_acquire);
    do {
      // It counts those who have left, and only grows: if it is as many as have taken a ticket now, it is so still when
      // no other has been taken. Without one in, no guest comes.
      if (taken_by(before) != left()) return false;
    } while (
        !taken_.compare_exchange_weak(before, before | kExposed, std::memory_order_acq_rel, std::memory_order_acquire));
    return true;
  }
  void hide() { taken_.fetch_and(~kExposed, std::memory_order_acq_rel); }

 private:
  static constexpr uint64_t kOne = uint64_t{1} << 32, kExposed = 1;
  static uint64_t without_guests(uint32_t left) { return uint64_t{left} << 32; }
  // What gone_ is where nobody is in and nobody waits.
  static uint64_t taken_by(uint64_t taken) { return without_guests(static_cast<uint32_t>(taken >> 32)); }

  std::atomic<uint64_t> taken_;     // the upper half: tickets; the lowest bit: exposed
  std::atomic<uint64_t> gone_;      // the upper half: as many as have left; the lower one: guests that are in
  std::atomic<uint32_t> together_;  // the ticket that may enter to share: all before have entered
};

// The locks of all parts, shared as one: a word that counts who is in, as long as nobody wants a part alone or exposes one.
// Whoever does closes it before, for good: who comes then takes the lock of each part, and who is in leaves. So a lock of
// one part costs a load of a word that nobody writes any more, and a program that locks all parts alone, as most do, never
// meets the locks of the parts.
class LockOfAll {
 public:
  // True: all parts are shared until leave(). False: it is closed.
  bool enter() {
    uint32_t before = word_.load(std::memory_order_relaxed);
    do {
      if (before & kClosed) return false;
    } while (!word_.compare_exchange_weak(before, before + kOne, std::memory_order_acq_rel, std::memory_order_relaxed));
    return true;
  }
  // Closed or not, if others are in.
  bool enter_as_guest() {
    uint32_t before = word_.load(std::memory_order_relaxed);
    do {
      if (before < kOne) return false;
    } while (!word_.compare_exchange_weak(before, before + kOne, std::memory_order_acq_rel, std::memory_order_relaxed));
    return true;
  }
  // True: it was the last one, and there may be some who wait for that.
  bool leave() { return word_.fetch_sub(kOne, std::memory_order_acq_rel) == (kOne | kClosed); }
  // Behind it nobody comes in once it is empty. What those who were in have done there is seen by who finds it empty: each
  // one's leaving hands on what the ones before have released.
  void close() {
    if (!(word_.load(std::memory_order_relaxed) & kClosed)) word_.fetch_or(kClosed, std::memory_order_acq_rel);
  }
  bool is_empty() const { return word_.load(std::memory_order_acquire) < kOne; }
  // Changes when somebody comes or goes.
  uint32_t state() const { return word_.load(std::memory_order_acquire); }

 private:
  static constexpr uint32_t kClosed = 1, kOne = 2;
  std::atomic<uint32_t> word_;  // the lowest bit: closed; the others: how many are in
};

// Who changes bytes of a part at this moment, so that each update fetches and folds as one: a lock for each stripe of
// 4 KiB, of which some share one. It is held for as long as it takes to fold a stripe.
class Stripes {
 public:
  static constexpr int64_t kBytes = 4096;
  static constexpr int kCount = 8;

  // All that have bytes of [low, high) in them, from the start of the part; high > low.
  static uint32_t of(int64_t low, int64_t high) {
    const int64_t first = low / kBytes, last = (high - 1) / kBytes;
    if (first == last) return 1u << (first % kCount);
    if (last - first >= kCount - 1) return (1u << kCount) - 1;
    uint32_t stripes = 0;
    for (int64_t stripe = first; stripe <= last; ++stripe) stripes |= 1u << (stripe % kCount);
    return stripes;
  }
  // In the order of their numbers, so that nobody waits in a circle.
  void hold(uint32_t stripes) {
    for (; stripes != 0; stripes &= stripes - 1) {
      std::atomic<uint32_t>& held = stripes_[__builtin_ctz(stripes)].held;
      if (held.exchange(1, std::memory_order_acquire) != 0) [[unlikely]]
        wait_for(held);
    }
  }
  void release(uint32_t stripes) {
    for (; stripes != 0; stripes &= stripes - 1)
      stripes_[__builtin_ctz(stripes)].held.store(0, std::memory_order_release);
  }

 private:
  static void wait_for(std::atomic<uint32_t>& held);
  struct alignas(cpu::kLine) Stripe {
    std::atomic<uint32_t> held;
  };
  Stripe stripes_[kCount];
};

class NodeWords {
 public:
  // Locks of a part that are asked for by ranks elsewhere, of which so many can be told by name.
  static constexpr int kElsewhere = 8;

  static size_t bytes(int members) {
    return common_bytes(members) + static_cast<size_t>(members) * block_bytes(members);
  }
  NodeWords(std::byte* memory, int members) : memory_(memory), members_(members) {}

  int members() const { return members_; }
  TicketLock& lock(int member) const { return head(member).lock; }
  LockOfAll& lock_of_all() const { return *reinterpret_cast<LockOfAll*>(memory_); }
  Stripes& stripes(int member) const { return head(member).stripes; }

  // Who has taken which ticket of a member's lock and not left it: a word for each member, and some for ranks elsewhere.
  // Written by its owner behind the taking, so that a ticket may be unknown for a moment.
  int names() const { return members_ + kElsewhere; }
  void name(int member, int who, const TicketLock::Ticket& ticket, int rank) const {
    names_of(member)[who].store(
        uint64_t{ticket.number} << 32 | (ticket.exclusive ? kAlone : 0) | (static_cast<uint32_t>(rank) + 1),
        std::memory_order_release);
  }
  void forget(int member, int who) const { names_of(member)[who].store(0, std::memory_order_release); }
  bool is_named(int member, int who) const { return names_of(member)[who].load(std::memory_order_relaxed) != 0; }
  // visit(who, ticket, rank in the window).
  template <class Visit>
  void each_named(int member, Visit&& visit) const {
    for (int who = 0; who < names(); ++who)
      if (const uint64_t word = names_of(member)[who].load(std::memory_order_acquire))
        visit(who, TicketLock::Ticket{static_cast<uint32_t>(word >> 32), (word & kAlone) != 0},
              static_cast<int>((static_cast<uint32_t>(word) & ~kAlone) - 1));
  }

  // Who is in the lock of all, of the members. Written by each behind its coming and before its leaving, so that one may be
  // unknown for a moment. Guests are none.
  std::atomic<uint8_t>& shares_all(int member) const {
    return reinterpret_cast<std::atomic<uint8_t>*>(memory_ + sizeof(LockOfAll))[member];
  }

  // How many locks of a member's part ranks elsewhere have asked for, and not left, whose names had no room.
  std::atomic<uint32_t>& unnamed(int member) const { return head(member).unnamed; }

  // Counted up by one side and read by the other, and never set back: how often `target` has exposed its memory to
  // `origin`, and how often `origin` has completed what it did there.
  std::atomic<uint32_t>& posts(int origin, int target) const { return counters(origin)[target]; }
  std::atomic<uint32_t>& completes(int target, int origin) const {
    return counters(target)[line_of_counters() + origin];
  }

 private:
  static constexpr uint32_t kAlone = uint32_t{1} << 31;  // in a name: its ticket is exclusive
  struct alignas(cpu::kLine) Head {
    alignas(cpu::kLine) TicketLock lock;
    std::atomic<uint32_t> unnamed;
    Stripes stripes;
  };
  // The lock of all, and who is in, which few lines hold.
  static constexpr size_t common_bytes(int members) {
    return cpu::whole_lines(sizeof(LockOfAll) + static_cast<size_t>(members));
  }
  // Of one member: the head, the names, the posts, the completes; lines of their own, for others write to them.
  static constexpr size_t names_bytes(int members) {
    return cpu::whole_lines(static_cast<size_t>(members + kElsewhere) * sizeof(uint64_t));
  }
  static constexpr size_t counter_bytes(int members) {
    return cpu::whole_lines(static_cast<size_t>(members) * sizeof(uint32_t));
  }
  static constexpr size_t block_bytes(int members) {
    return sizeof(Head) + names_bytes(members) + 2 * counter_bytes(members);
  }
  std::byte* block(int member) const {
    return memory_ + common_bytes(members_) + static_cast<size_t>(member) * block_bytes(members_);
  }
  Head& head(int member) const { return *reinterpret_cast<Head*>(block(member)); }
  std::atomic<uint64_t>* names_of(int member) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(block(member) + sizeof(Head));
  }
  std::atomic<uint32_t>* counters(int member) const {
    return reinterpret_cast<std::atomic<uint32_t>*>(block(member) + sizeof(Head) + names_bytes(members_));
  }
  size_t line_of_counters() const { return counter_bytes(members_) / sizeof(uint32_t); }

  std::byte* const memory_;
  const int members_;
};

}  // namespace tutti::rma
