// SPDX-License-Identifier: BSD-3-Clause
// The lock of one process' part of a window (the standard, section 12.5.3): many may share it, or one holds it alone.
// First come, first served, so that nobody starves, but for those that pass: who has locks of other parts already and is
// to share this one goes before those who wait for it alone, since these wait for others that share it, who may wait in
// the same way for him elsewhere. Pure: a queue of its owner's, and what the owner needs of one that others take without
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/by_process.hpp"
#include "base/engine_owned.hpp"
#include "rma/lock_line.hpp"

namespace tutti::rma {

// The lock where it is taken in memory that ranks of a node share: of those elsewhere, who ask its owner.
class CommonLock {
 public:
  // True: `rank` holds it now. False: TargetSide::grants() tells when it does. `exposed`: it is to be refused.
  virtual bool request(int rank, LockWish wish, bool& exposed) TUTTI_ENGINE_OWNED = 0;
  // Of one that holds it.
  virtual void release(int rank) TUTTI_ENGINE_OWNED = 0;
  virtual bool holds(int rank) const TUTTI_ENGINE_OWNED = 0;
  // Somebody waits for it, or has it alone.
  virtual bool is_awaited() const TUTTI_ENGINE_OWNED = 0;
  // LockLine's, of those elsewhere who wait: of those who are known.
  virtual std::vector<int> before(int rank) const TUTTI_ENGINE_OWNED = 0;
  virtual std::vector<int> first_ones() const TUTTI_ENGINE_OWNED = 0;

 protected:
  ~CommonLock() = default;
};

class LockQueue {
 public:
  // True: `rank` holds it now. False: it waits.
  bool request(int rank, LockWish wish) {
    if ((!line_.is_empty() && !wish.passes) || !is_free_for(wish.exclusive)) {
      line_.push(rank, wish);
      return false;
    }
    take(rank, wish.exclusive);
    return true;
  }
  // Of a holder: who holds it from now on.
  std::vector<int> release(int rank) {
    give_up(rank);
    std::vector<int> next;
    while (!line_.is_empty() && is_free_for(line_.first_wish().exclusive)) {
      const int first = line_.first();
      take(first, line_.first_wish().exclusive);
      line_.remove(first);
      next.push_back(first);
    }
    if (exclusive_) return next;
    for (const int passing : line_.take_passing()) {
      take(passing, false);
      next.push_back(passing);
    }
    return next;
  }
  bool holds(int rank) const {
    const uint32_t* const place = held_at_.find(rank);
    return place && *place != 0;
  }
  bool is_free() const { return holders_.empty(); }
  const std::vector<int>& holders() const { return holders_; }  // in no order
  bool is_exclusive() const { return exclusive_; }
  bool is_awaited() const { return !line_.is_empty(); }
  // LockLine's.
  std::vector<int> before(int rank) const { return line_.before(rank, holders_, exclusive_); }
  std::vector<int> first_ones() const { return line_.first_ones(); }

 private:
  bool is_free_for(bool exclusive) const { return holders_.empty() || (!exclusive && !exclusive_); }
  void take(int rank, bool exclusive) {
    holders_.push_back(rank);
    held_at_.set(rank, static_cast<uint32_t>(holders_.size()));
    exclusive_ = exclusive;
  }
  void give_up(int rank) {
    const uint32_t place = *held_at_.find(rank);
    held_at_.set(rank, 0);
    if (const int last = holders_.back(); last != rank) {
      holders_[place - 1] = last;
      held_at_.set(last, place);
    }
    holders_.pop_back();
    if (holders_.empty()) exclusive_ = false;
  }

  std::vector<int> holders_;
  ByProcess<uint32_t> held_at_;  // one more than where in holders_, of those that have held it once; 0: not there
  bool exclusive_ = false;
  LockLine line_;
};

}  // namespace tutti::rma
