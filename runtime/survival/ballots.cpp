// SPDX-License-Identifier: BSD-3-Clause
#include "survival/ballots.hpp"

#include "base/fault_point.hpp"

namespace tutti::survival {

void Ballots::cast(uint32_t serial, const Contribution& mine) {
  Ballot& own = ballot(serial, rank_);
  looked_ = 0;
  own.flag = mine.flag;
  own.word = mine.word;
  own.acknowledged = mine.acknowledged.words()[0];
  own.failed = mine.failed.words()[0];
  TUTTI_FAULT_POINT("ballot.written");
  own.stamp.store(serial + 1, std::memory_order_release);  // acquired by is_cast()
  TUTTI_FAULT_POINT("ballot.cast");
}

std::optional<Decision> Ballots::count(uint32_t serial, const Ranks& failed) {
  // That a rank has failed was known before this look at its ballot.
  for (; looked_ < ranks_; ++looked_)
    if (!is_cast(serial, looked_) && !failed.has(looked_)) return std::nullopt;
  Decision out;
  out.contributors = Ranks(ranks_);
  out.failed = Ranks(ranks_);
  Ranks acknowledged = Ranks::all(ranks_);
  bool has_word = false;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!is_cast(serial, rank)) continue;
    const Ballot& its = ballot(serial, rank);
    out.contributors.add(rank);
    out.flags[0] &= its.flag;
    out.failed.words()[0] |= its.failed;
    acknowledged.words()[0] &= its.acknowledged;
    if (!has_word) out.word = its.word;
    has_word = true;
  }
  const Ranks absent = out.contributors.others();
  out.failed |= absent;
  out.unacknowledged = !acknowledged.has_all_of(absent);
  return out;
}

std::vector<int> Ballots::awaited(uint32_t serial, const Ranks& failed) const {
  std::vector<int> out;
  for (int rank = 0; rank < ranks_; ++rank)
    if (!failed.has(rank) && !is_cast(serial, rank)) out.push_back(rank);
  return out;
}

}  // namespace tutti::survival
