// SPDX-License-Identifier: BSD-3-Clause
// A lane: memory in which the ranks of a communicator on one node show each other data in rounds.
// In each round every rank has a slot, which it alone writes, with a flag that tells when it may be
// read. Slots come in windows: round r uses window r mod windows, and a rank writes there only when
// all ranks have left round r - windows. Owns flags, windows and who waits for whom; refuses to
// know what is in the slots.
//
// All ranks take rounds in the same order (the order of their collective calls) and leave each of
// them once, in any order. Whether they do is compared by who reads flags; and, since two roots of
// one broadcast read none, also when a rank looks at the others' desks for a free slot. No rank can
// be waited for in a circle: the oldest round that somebody has not left waits for none that is
// younger.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/cpu.hpp"
#include "base/engine_owned.hpp"
#include "memory/shared_copy.hpp"

namespace tutti::transport {

// Wakes ranks that sleep while they wait for a flag. By rank in the communicator.
class Bells {
 public:
  // `sleepers` counts the ranks that may be asleep and wait for a flag. With `fences`, what was written
  // before must be made visible by force: the sleepers cannot do it from their side (doorbell.hpp).
  Bells(const std::atomic<uint32_t>& sleepers, bool fences) : sleepers_(sleepers), fences_(fences) {}
  virtual ~Bells() = default;
  // To be called after a flag was written that `rank`, or -1: any rank, may be waiting for.
  void ring_if_asleep(int rank) {
    if (fences_) __sync_synchronize();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_relaxed) > 0) [[unlikely]]
      ring(rank);
  }
  // This rank waits for what it has not said at its desk: before it sleeps, the others have to fence.
  virtual void waits_for_more() {}

 private:
  virtual void ring(int rank) = 0;  // those that are asleep

  const std::atomic<uint32_t>& sleepers_;
  const bool fences_;
};

struct LaneGeometry {
  int ranks = 0;
  uint32_t windows = 0;   // a power of two, at least 4
  size_t slot_bytes = 0;  // head and data; whole lines
  size_t head_bytes = 0;  // of a slot: what comes before the data

  size_t data_bytes() const { return slot_bytes - head_bytes; }
  size_t bytes() const;  // of the lane's memory, which is zero-filled at first
};

// One rank's view of it.
// Large: it has where its memory is, and what this rank knows of each round: claimed, begun, left, and by whom.
class Lane {
 public:
  Lane() = default;
  Lane(std::byte* memory, const LaneGeometry& geometry, int rank, Bells& bells);

  bool exists() const { return memory_ != nullptr; }
  int64_t data_bytes() const { return static_cast<int64_t>(geometry_.data_bytes()); }
  uint32_t windows() const { return geometry_.windows; }

  // The next `rounds` rounds are the caller's; returns the first. Numbers wrap around.
  uint32_t take(uint32_t rounds) TUTTI_ENGINE_OWNED {
    const uint32_t first = next_;
    next_ += rounds;
    return first;
  }

  // The call that has taken the rounds from `first` on begins with them: its serial, and what stands
  // for all calls before it, which is the same on all ranks. In the order of take().
  void begin(uint32_t first, uint32_t serial, uint64_t history) TUTTI_ENGINE_OWNED {
    const auto folded = static_cast<uint32_t>(history ^ history >> 32);
    latest_ = latest_ + 1 == begun_.size() ? 0 : latest_ + 1;
    begun_[latest_] = {first, serial, folded};
    desk_of(rank_).latest.store(uint64_t{first} << 32 | folded, std::memory_order_relaxed);
  }
  // The serial of a call in which, or in one before it, another rank differs from me; once.
  std::optional<uint32_t> contradiction() TUTTI_ENGINE_OWNED {
    return contradiction_ ? std::exchange(contradiction_, std::nullopt) : std::nullopt;
  }
  // Why claim(round) is false: the rank has to go on with the call of this serial, if that is known.
  struct Holder {
    bool holds = false;
    std::optional<uint32_t> serial;
  };
  Holder holder(uint32_t round, int rank) const TUTTI_ENGINE_OWNED;
  // Of the call that keeps a round out of reach: the oldest that I have not left.
  std::optional<uint32_t> oldest_serial() const TUTTI_ENGINE_OWNED { return serial_of(left_); }

  // False: the round's window still belongs to one that I have not left, so that nobody can have
  // written there.
  bool is_in_reach(uint32_t round) const TUTTI_ENGINE_OWNED {
    return static_cast<int32_t>(round - left_ - geometry_.windows) < 0;
  }

  // True when my slot of the round may be written. False: others still read what is in it; asked
  // again later. Asked until true.
  bool claim(uint32_t round) TUTTI_ENGINE_OWNED {
    if (static_cast<int32_t>(round - free_until_) < 0) [[likely]]
      return true;
    return find_free(round);
  }
  // Shows my slot of the round to `to`, or to all (-1).
  void raise(uint32_t round, uint64_t signature, int to) TUTTI_ENGINE_OWNED {
    Head& head = head_of(round, rank_);
    head.signature = signature;
    head.flag.store(static_cast<uint64_t>(left_) << 32 | (round + 1), std::memory_order_release);
    bells_->ring_if_asleep(to);
    // The next one is mine by the time that it is raised, if nobody waits for it already.
    cpu::prefetch_for_writing(&head_of(round + 1, rank_));
  }
  // True when the slot of rank `of` may be read.
  bool is_raised(uint32_t round, int of) TUTTI_ENGINE_OWNED {
    const uint64_t flag = head_of(round, of).flag.load(std::memory_order_acquire);
    if (static_cast<uint32_t>(flag) != round + 1) return false;
    seen_left_[static_cast<size_t>(of)] = static_cast<uint32_t>(flag >> 32);
    return true;
  }
  // The slot of rank `of` was there before I asked: so may be the next one.
  void fetch_next(uint32_t round, int of) const { cpu::prefetch(&head_of(round + 1, of)); }
  // Of the call that raised it.
  uint64_t signature(uint32_t round, int of) const TUTTI_ENGINE_OWNED { return head_of(round, of).signature; }
  // I shall look at no slot of the round any more, and not at mine either.
  void leave(uint32_t round) TUTTI_ENGINE_OWNED {
    if (round != left_ || early_ > 0) [[unlikely]]
      return leave_out_of_order(round);
    tell_left(left_ + 1);
  }

  // Into a slot of mine.
  void put(std::byte* to, const std::byte* from, size_t bytes) { put_(to, from, bytes); }
  // Out of another's, where what all ranks of the lane get may be more than their caches hold.
  void get(std::byte* to, const std::byte* from, size_t bytes) { get_(to, from, bytes); }

  std::byte* data(uint32_t round, int rank) const {
    return reinterpret_cast<std::byte*>(&head_of(round, rank)) + geometry_.head_bytes;
  }

  // Makes `memory` as new, for other ranks: when nobody uses it.
  static void clear(std::byte* memory, const LaneGeometry& geometry);

 private:
  // In front of a slot. The flag's low half is the round's number plus one, the high half tells how
  // many rounds its rank has left in order: who reads the flag need not ask.
  struct Head {
    std::atomic<uint64_t> flag;
    uint64_t signature;
  };
  struct alignas(64) Desk {
    std::atomic<uint32_t> left;  // rounds that the rank has left in order
    // The call that began last: its first round, and the history before it, folded.
    std::atomic<uint64_t> latest;
    // At the desk of rank 0: how many ranks wait in claim().
    alignas(64) std::atomic<uint32_t> claiming;
  };
  Desk& desk_of(int rank) const { return reinterpret_cast<Desk*>(memory_)[rank]; }
  Head& head_of(uint32_t round, int rank) const {
    const size_t slot = static_cast<size_t>(rank) * geometry_.windows + (round & (geometry_.windows - 1));
    return *reinterpret_cast<Head*>(slots_ + slot * geometry_.slot_bytes);
  }
  // A call that has begun here.
  struct Begun {
    uint32_t first = 0, serial = ~uint32_t{0}, history = 0;
  };
  void tell_left(uint32_t left) TUTTI_ENGINE_OWNED {
    left_ = left;
    desk_of(rank_).left.store(left, std::memory_order_release);
    if (desk_of(0).claiming.load(std::memory_order_relaxed) > 0) [[unlikely]]
      bells_->ring_if_asleep(-1);
  }
  void leave_out_of_order(uint32_t round) TUTTI_ENGINE_OWNED;
  bool find_free(uint32_t round) TUTTI_ENGINE_OWNED;
  uint32_t ask(int rank) TUTTI_ENGINE_OWNED;
  void compare(uint64_t latest) TUTTI_ENGINE_OWNED;
  const Begun* begun_with(uint32_t round) const;
  std::optional<uint32_t> serial_of(uint32_t round) const {
    const Begun* call = begun_with(round);
    return call ? std::optional(call->serial) : std::nullopt;
  }

  std::byte* memory_ = nullptr;
  std::byte* slots_ = nullptr;
  LaneGeometry geometry_;
  int rank_ = 0;
  Bells* bells_ = nullptr;
  uint32_t next_ = 0;                // round
  uint32_t left_ = 0;                // rounds that I have left in order
  uint32_t free_until_ = 0;          // all rounds before this one may be claimed
  bool claiming_ = false;            // the others know that I wait in claim()
  std::vector<uint32_t> seen_left_;  // by rank: their `left`, as far as I know
  std::vector<bool> left_early_;     // by window: left, though an earlier round is not
  uint32_t early_ = 0;               // how many are
  // The latest calls, as many as others can be behind or ahead of; a ring.
  std::vector<Begun> begun_;
  size_t latest_ = 0;  // in it
  std::optional<uint32_t> contradiction_;
  memory::SharedCopy put_;
  memory::SharedCopy get_{1.25};  // what passes by the caches has to come back when it is used
};

}  // namespace tutti::transport
