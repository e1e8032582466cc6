// SPDX-License-Identifier: BSD-3-Clause
// The lock of one process' part of a window (the standard, section 12.5.3): many may share it, or one holds it alone.
// First come, first served, so that nobody starves, but for those that pass: who has locks of other parts already and is
// to share this one goes before those who wait for it alone, since these wait for others that share it, who may wait in
// the same way for him elsewhere. Pure: a queue of its owner's, and what the owner needs of one that others take without
// it.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/engine_owned.hpp"

namespace tutti::rma {

// How a lock is asked for.
struct LockWish {
  bool exclusive = false;
  bool passes = false;  // shares it, and does not wait for those who wait
};

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
  // LockQueue::before(), of those who are known.
  virtual std::vector<int> before(int rank) const TUTTI_ENGINE_OWNED = 0;

 protected:
  ~CommonLock() = default;
};

class LockQueue {
 public:
  // True: `rank` holds it now. False: it waits.
  bool request(int rank, LockWish wish) {
    if ((!waiting_.empty() && !wish.passes) || !is_free_for(wish.exclusive)) {
      waiting_.push_back({rank, wish});
      return false;
    }
    take(rank, wish.exclusive);
    return true;
  }
  // Of a holder: who holds it from now on.
  std::vector<int> release(int rank) {
    std::erase(holders_, rank);
    if (holders_.empty()) exclusive_ = false;
    std::vector<int> next;
    const auto enters = [&](const Waiting& w) {
      take(w.rank, w.wish.exclusive);
      next.push_back(w.rank);
    };
    while (!waiting_.empty() && is_free_for(waiting_.front().wish.exclusive)) {
      enters(waiting_.front());
      waiting_.pop_front();
    }
    if (exclusive_) return next;
    std::erase_if(waiting_, [&](const Waiting& w) {
      if (w.wish.passes) enters(w);
      return w.wish.passes;
    });
    return next;
  }
  bool holds(int rank) const {
    for (const int holder : holders_)
      if (holder == rank) return true;
    return false;
  }
  bool is_free() const { return holders_.empty(); }
  const std::vector<int>& holders() const { return holders_; }
  bool is_exclusive() const { return exclusive_; }
  bool is_awaited() const { return !waiting_.empty(); }
  // Who must let go before it is the turn of `rank`: those that hold it, and those before it in the
  // queue unless it passes them. Empty: it does not wait.
  std::vector<int> before(int rank) const {
    std::vector<int> ranks = holders_;
    for (const Waiting& w : waiting_) {
      if (w.rank == rank) return w.wish.passes ? holders_ : ranks;
      ranks.push_back(w.rank);
    }
    return {};
  }

 private:
  struct Waiting {
    int rank;
    LockWish wish;
  };
  bool is_free_for(bool exclusive) const { return holders_.empty() || (!exclusive && !exclusive_); }
  void take(int rank, bool exclusive) {
    holders_.push_back(rank);
    exclusive_ = exclusive;
  }

  std::vector<int> holders_;
  bool exclusive_ = false;
  std::deque<Waiting> waiting_;
};

}  // namespace tutti::rma
