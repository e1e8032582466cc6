// SPDX-License-Identifier: BSD-3-Clause
// Agreements among ranks that share memory, which outlives whoever has written to it: each rank writes what it contributes to
// its place there, and makes the decision itself once nobody who lives is missing. It sends nothing and waits for nothing,
// so that it can be run with made-up ranks.
//
// What holds is what agreement.hpp says, of one group of up to kMostRanks. Whoever has failed has contributed or has not, and
// that is the same for ever and for all: it is looked for once more behind the news of the failure, by when that rank has
// ended and its last store is to be seen. So all who decide make the same of the same contributions, and nobody has to be
// asked what has been decided. It takes for granted that a rank that is told to have failed runs no more.
//
// A rank contributes to one agreement after the other: to the next one when it has decided. So nobody is ahead of one who
// lives by more than one agreement, and two places for each rank do, used in turns.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/cpu.hpp"
#include "survival/agreement.hpp"
#include "survival/ranks.hpp"

namespace tutti::survival {

// One rank's view of them.
class Ballots {
 public:
  static constexpr int kMostRanks = 64;
  // Of the memory, which begins on a line and is zero-filled at first.
  static size_t bytes(int ranks) { return 2 * static_cast<size_t>(ranks) * sizeof(Ballot); }
  Ballots(std::byte* memory, int ranks, int rank) : memory_(memory), ranks_(ranks), rank_(rank) {}

  // This rank's call of agreement `serial`, once, when it has decided the one before.
  void cast(uint32_t serial, const Contribution& mine);
  // nullopt: the contribution of one who is not in `failed` is missing. The decision's `settled` is nothing.
  std::optional<Decision> count(uint32_t serial, const Ranks& failed);
  // Whose contributions are missing, of those who are not in `failed`.
  std::vector<int> awaited(uint32_t serial, const Ranks& failed) const;

 private:
  struct alignas(cpu::kLine) Ballot {
    std::atomic<uint32_t> stamp;  // the agreement's serial plus one, written last
    uint64_t flag, word, acknowledged, failed;
  };
  static_assert(std::atomic<uint32_t>::is_always_lock_free);

  Ballot& ballot(uint32_t serial, int rank) const {
    return reinterpret_cast<Ballot*>(
        memory_)[(serial % 2) * static_cast<uint32_t>(ranks_) + static_cast<uint32_t>(rank)];
  }
  bool is_cast(uint32_t serial, int rank) const {
    // Acquires what cast() releases: the rest of the ballot.
    return ballot(serial, rank).stamp.load(std::memory_order_acquire) == serial + 1;
  }

  std::byte* const memory_;
  const int ranks_, rank_;
  int looked_ = 0;  // of the agreement that is cast: of nobody below it is a contribution missing
};

}  // namespace tutti::survival
