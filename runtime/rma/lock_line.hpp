// SPDX-License-Identifier: BSD-3-Clause
// Those who wait for the lock of one process' part of a window, and for whom each of them waits (the standard, section
// 12.5.3). What is told of one is never more than is so, since a deadlock may be told by that: who is to share the lock
// does not wait for others who are to share it, though they come before. And it is seldom all. Of the first ones some are
// told, whenever the lock moves; of each behind them one, for whom it waits until it is among the first or has the lock, so
// that it has to be told once. A thousand that wait, each told of all before it whenever the lock moves, would take a
// thousand million numbers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/by_process.hpp"

namespace tutti::rma {

// How a lock is asked for.
struct LockWish {
  bool exclusive = false;
  bool passes = false;  // shares it, and does not wait for those who wait
};

class LockLine {
 public:
  static constexpr size_t kFirst = 4;  // of those who pass, and of the others
  static constexpr size_t kMostTold = 64;

  void push(int rank, LockWish wish);
  void remove(int rank);  // if it waits
  bool is_empty() const { return line_.empty() && passing_.empty(); }
  // Whose turn is next, by the order in which they have asked; there is one.
  int first() const { return front().rank; }
  LockWish first_wish() const { return front().wish; }
  // The first one who passes; -1: nobody.
  int first_passing() const { return passing_.empty() ? -1 : passing_.front().rank; }
  // All who pass, who wait no more.
  std::vector<int> take_passing();

  // Those of whom before() may tell something else when the lock has moved.
  std::vector<int> first_ones() const;
  bool is_among_first(int rank) const;
  // For whom `rank` waits, if these hold the lock, alone or together. Empty: it does not wait.
  std::vector<int> before(int rank, const std::vector<int>& holders, bool held_alone) const;
  // One for whom `rank`, which is none of the first, waits until it is one of them or has the lock; -1: none is known.
  int before_far(int rank) const;

 private:
  struct Waiting {
    int rank;
    LockWish wish;
    uint64_t serial;        // from 1 on
    uint64_t alone_before;  // of the last one before it that is to hold the lock alone; 0: there was none
    int alone_rank;         // and who that is
  };
  struct Place {
    uint64_t serial = 0;  // 0: it does not wait
    bool passes = false;
  };
  static std::deque<Waiting>::const_iterator at(const std::deque<Waiting>& those, uint64_t serial);
  const Place* place_of(int rank) const {
    const Place* const place = places_.find(rank);
    return place && place->serial != 0 ? place : nullptr;
  }
  size_t index_of(const Place& place) const;
  const Waiting& front() const;
  bool waits_for_one_alone(const Waiting& waiting) const { return waiting.alone_before >= line_.front().serial; }
  std::vector<int> before_passing(size_t index, const std::vector<int>& holders, bool held_alone) const;

  std::deque<Waiting> line_, passing_;  // who waits for those before it; who passes
  ByProcess<Place> places_;             // of those that have waited once
  uint64_t serials_ = 0, last_alone_ = 0;
  int alone_rank_ = -1;
};

}  // namespace tutti::rma
