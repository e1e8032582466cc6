// SPDX-License-Identifier: BSD-3-Clause
// The way of operations and of synchronisation in memory that ranks of a node share: puts and gets are copies, updates
// are carried out by their origin under the stripes of the part, and locks, posts and completes are words there
// (rma/node_words.hpp). All is over when the call is: nothing is to be asked of the target, which need not be in MPI.
// Takes no message, but for the lock of this process' own part, which ranks elsewhere ask it for.
//
// Who waits for a word polls it in each pass of its engine (WordWait), and is rung for where it sleeps. Stores of a copy
// come before the word that tells of them, by the release with which that is written: copies past the caches end in a
// fence of their own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/by_process.hpp"
#include "base/engine_owned.hpp"
#include "engine/wait/poller.hpp"
#include "rma/arithmetic.hpp"
#include "rma/locks.hpp"
#include "rma/node_words.hpp"
#include "rma/operation.hpp"
#include "rma/origin_side.hpp"
#include "rma/target_side.hpp"
#include "transport/shared/word_bells.hpp"

namespace tutti::engine {
class Engine;
}

namespace tutti::rma {

// What ranks of a node share of a window, as one of them sees it. The memory outlives the window.
struct NodeParts {
  std::vector<int> ranks;         // in the window, ascending
  int me = 0;                     // my place there
  std::byte* words = nullptr;     // NodeWords::bytes(ranks.size())
  std::vector<std::byte*> bases;  // of each one's part
  std::unique_ptr<transport::WordBells> bells;
  bool delays = false;  // puts and gets without a request, until a call completes them: for --stress
};

class DirectPath final : public CommonLock, private engine::Poller {
 public:
  // The two sides, the engine and the arithmetic outlive it.
  DirectPath(NodeParts parts, engine::Engine& engine, const Arithmetic& arithmetic, OriginSide& origin,
             TargetSide& target);
  ~DirectPath();
  DirectPath(const DirectPath&) = delete;

  // The place of a rank, by which it is called below; -1: it is not here.
  int member(int rank) const {
    if (consecutive_ > 0) [[likely]] {
      const int place = rank - first_;
      return static_cast<unsigned>(place) < consecutive_ ? place : -1;
    }
    const int* const place = places_.find(rank);
    return place ? *place : -1;
  }

  // ---- operations (WindowEnd says more)

  void put(int member, const Local& origin, const Target& target, Done done) TUTTI_ENGINE_OWNED;
  void get(int member, const Local& origin, const Target& target, Done done) TUTTI_ENGINE_OWNED;
  void update(int member, Update update, const Local& origin, const Local* result, const Target& target,
              Done done) TUTTI_ENGINE_OWNED;
  void compare_and_swap(int member, Update element, const void* origin, const void* compare, void* result,
                        const Target& target) TUTTI_ENGINE_OWNED;
  // Those that are delayed, at this rank of the window or at all.
  void carry_out_delayed(int rank) TUTTI_ENGINE_OWNED {
    if (!delayed_.empty()) [[unlikely]]
      carry_out_those(rank);
  }

  // ---- synchronisation

  void post(int member) TUTTI_ENGINE_OWNED {
    count_up(words_.posts(member, me()));
    ring(member);
  }
  bool is_posted(int member) const TUTTI_ENGINE_OWNED {
    return words_.posts(me(), member).load(std::memory_order_acquire) != taken_[place(member)].posts;
  }
  void take_post(int member) TUTTI_ENGINE_OWNED { ++taken_[place(member)].posts; }
  void complete(int member) TUTTI_ENGINE_OWNED {
    count_up(words_.completes(member, me()));
    ring(member);
  }
  bool is_completed_by(int member) const TUTTI_ENGINE_OWNED {
    return words_.completes(me(), member).load(std::memory_order_acquire) != taken_[place(member)].completes;
  }
  void take_complete(int member) TUTTI_ENGINE_OWNED { ++taken_[place(member)].completes; }
  Error expose() TUTTI_ENGINE_OWNED;
  void hide() TUTTI_ENGINE_OWNED { words_.lock(me()).hide(); }

  // Asks for it; the window's failure where the part is exposed.
  void lock(int member, bool exclusive) TUTTI_ENGINE_OWNED;
  // Takes it when it is this process' turn.
  bool is_locked(int member) TUTTI_ENGINE_OWNED;
  void unlock(int member) TUTTI_ENGINE_OWNED;
  // Of a lock that is awaited: who holds it or comes before, as far as they are known, in the window. Empty where this
  // process can have it.
  std::span<const int> holders(int member) TUTTI_ENGINE_OWNED;

  // The locks of all members, shared, at once. False: somebody has wanted one alone, or exposed it; nothing has changed, and
  // lock() is for each.
  bool lock_all() TUTTI_ENGINE_OWNED;
  bool shares_all() const TUTTI_ENGINE_OWNED { return shares_all_; }
  void unlock_all() TUTTI_ENGINE_OWNED;

  // ---- of the own part, for those elsewhere

  bool request(int rank, LockWish wish, bool& exposed) override TUTTI_ENGINE_OWNED;
  void release(int rank) override TUTTI_ENGINE_OWNED;
  bool holds(int rank) const override TUTTI_ENGINE_OWNED;
  bool is_awaited() const override TUTTI_ENGINE_OWNED { return words_.lock(me()).is_awaited(); }
  std::vector<int> before(int rank) const override TUTTI_ENGINE_OWNED;
  std::vector<int> first_ones() const override TUTTI_ENGINE_OWNED { return line_.first_ones(); }

  // From now on a sleeping thread of this process is rung for, and `looks` is asked in each pass of the engine.
  void begin_wait(engine::Poller& looks) TUTTI_ENGINE_OWNED;
  void end_wait(engine::Poller& looks) TUTTI_ENGINE_OWNED;

 private:
  // Of one member: how many of its posts and completes this process has used up, and my ticket for its lock.
  struct Taken {
    uint32_t posts = 0, completes = 0;
    TicketLock::Ticket ticket;
    bool held = false;
  };
  enum class Guest : uint8_t { no, of_part, of_all };
  // Of one elsewhere: its ticket for the own part, unless it is a guest.
  struct Elsewhere {
    TicketLock::Ticket ticket;
    int name = -1;  // which of the words tells it; -1: none was left
    bool held = false, passes = false;
    Guest guest = Guest::no;
  };
  // Changes when somebody comes to the own part, or goes.
  struct Moves {
    uint64_t left = 0;
    uint32_t of_all = 0;
    bool operator==(const Moves&) const = default;
  };
  struct Delayed {
    int rank;
    Payload from, to;
    LayoutRef layouts[2];  // held
  };

  int me() const { return parts_.me; }
  static size_t place(int member) { return static_cast<size_t>(member); }
  Payload there(int member, const Target& target) const {
    return {parts_.bases[place(member)] + target.displacement, target.count, target.layout.get()};
  }
  Guard guard(int member) const { return {&words_.stripes(member), parts_.bases[place(member)]}; }
  // One that nobody else writes.
  static void count_up(std::atomic<uint32_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // Behind the writing of a word that this member may wait for.
  void ring(int member) const {
    if (member == me()) return;
    transport::WordBells::has_written();
    parts_.bells->ring_if_asleep(member);
  }
  void ring_next(int member) const TUTTI_ENGINE_OWNED;
  void leave_all() const TUTTI_ENGINE_OWNED;
  bool is_turn(int member, const TicketLock::Ticket& ticket) const {
    return words_.lock(member).is_turn(ticket) && (!ticket.exclusive || words_.lock_of_all().is_empty());
  }
  Moves moves() const { return {words_.lock(me()).left(), words_.lock_of_all().state()}; }
  std::vector<int> named_before(int member, const TicketLock::Ticket& ticket) const TUTTI_ENGINE_OWNED;
  std::vector<int> alone_in(int member) const TUTTI_ENGINE_OWNED;
  std::vector<int> sharing_all() const TUTTI_ENGINE_OWNED;
  void tell_name(int rank, const Elsewhere& asked) const TUTTI_ENGINE_OWNED;
  bool enter_as_guest(int rank, Elsewhere& asked) TUTTI_ENGINE_OWNED;
  bool try_to_enter(int rank, Elsewhere& asked) TUTTI_ENGINE_OWNED;
  void begin_to_look() TUTTI_ENGINE_OWNED;
  bool give_back_tickets() TUTTI_ENGINE_OWNED;
  void delay(const Local& origin, const Target& target, const Payload& from, const Payload& to) TUTTI_ENGINE_OWNED;
  // Where an update finds its data and leaves what was there: in one run, or in what has to be packed and unpacked.
  struct Sides {
    const std::byte* data;
    const Payload* packs;
    std::byte* old;
    const Payload* unpacks;
  };
  void update_in_pieces(const Guard& guard, Update update, const Payload& to, const Sides& here) TUTTI_ENGINE_OWNED;
  void carry_out_those(int rank) TUTTI_ENGINE_OWNED;
  void stop_waiting_for_turns() TUTTI_ENGINE_OWNED;
  bool poll() override TUTTI_ENGINE_OWNED;

  const NodeParts parts_;
  const NodeWords words_;
  const int first_;             // of the ranks
  const unsigned consecutive_;  // so many ranks follow it, and itself; 0: there are gaps between them
  ByProcess<int> places_;       // where there are
  engine::Engine& engine_;
  const Arithmetic& arithmetic_;
  OriginSide& origin_;
  TargetSide& target_;
  std::vector<Taken> taken_ TUTTI_OWNERS;  // by member
  std::vector<Delayed> delayed_ TUTTI_OWNERS;
  std::vector<int> holders_ TUTTI_OWNERS;                      // what holders() has told last
  std::unordered_map<int, Elsewhere> elsewhere_ TUTTI_OWNERS;  // by rank
  LockLine line_ TUTTI_OWNERS;                                 // of these, those whose turn it is not
  std::vector<TicketLock::Ticket> unused_ TUTTI_OWNERS;        // of those that came in as guests meanwhile
  bool looks_ TUTTI_OWNERS = false;                            // is asked in each pass of the engine, for both
  Moves seen_ TUTTI_OWNERS;                                    // of the own lock, meanwhile
  bool shares_all_ TUTTI_OWNERS = false;
};

}  // namespace tutti::rma
