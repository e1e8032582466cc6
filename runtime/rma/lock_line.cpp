// SPDX-License-Identifier: BSD-3-Clause
#include "rma/lock_line.hpp"

#include <algorithm>

namespace tutti::rma {

void LockLine::push(int rank, LockWish wish) {
  (wish.passes ? passing_ : line_).push_back({rank, wish, ++serials_, last_alone_, alone_rank_});
  places_.set(rank, {serials_, wish.passes});
  if (!wish.exclusive) return;
  last_alone_ = serials_;
  alone_rank_ = rank;
}

void LockLine::remove(int rank) {
  const Place* const place = place_of(rank);
  if (!place) return;
  std::deque<Waiting>& those = place->passes ? passing_ : line_;
  those.erase(at(those, place->serial));
  places_.set(rank, {});
}

std::vector<int> LockLine::take_passing() {
  std::vector<int> ranks;
  for (const Waiting& each : passing_) {
    ranks.push_back(each.rank);
    places_.set(each.rank, {});
  }
  passing_.clear();
  return ranks;
}

std::vector<int> LockLine::first_ones() const {
  std::vector<int> ranks;
  for (const std::deque<Waiting>* const those : {&line_, &passing_})
    for (size_t i = 0; i < std::min(those->size(), kFirst); ++i) ranks.push_back((*those)[i].rank);
  return ranks;
}

bool LockLine::is_among_first(int rank) const {
  const Place* const place = place_of(rank);
  return place && index_of(*place) < kFirst;
}

// Who is to have it alone waits for all before it. Who is to share it waits for the last one before it that is to have it
// alone, and so for all before that; if there is none, for who has it alone.
std::vector<int> LockLine::before(int rank, const std::vector<int>& holders, bool held_alone) const {
  const Place* const place = place_of(rank);
  if (!place) return {};
  const size_t index = index_of(*place);
  if (place->passes) return before_passing(index, holders, held_alone);
  const Waiting& waiting = line_[index];
  if (!waiting.wish.exclusive && !waits_for_one_alone(waiting)) return held_alone ? holders : std::vector<int>();
  if (index >= kFirst) return {before_far(rank)};
  const size_t held = std::min(holders.size(), kMostTold);
  std::vector<int> ranks(holders.begin(), holders.begin() + static_cast<ptrdiff_t>(held));
  const uint64_t until = waiting.wish.exclusive ? waiting.serial : waiting.alone_before + 1;
  auto passing = passing_.begin();
  for (auto each = line_.begin(); ranks.size() < kMostTold;) {
    const bool passes = passing != passing_.end() && passing->serial < each->serial;
    const Waiting& next = passes ? *passing++ : *each++;
    if (next.serial >= until) break;
    ranks.push_back(next.rank);
  }
  return ranks;
}

int LockLine::before_far(int rank) const {
  const Place* const place = place_of(rank);
  if (!place || place->passes) return -1;
  const size_t index = index_of(*place);
  const Waiting& waiting = line_[index];
  if (waiting.wish.exclusive) return index > 0 ? line_[index - 1].rank : -1;
  return waits_for_one_alone(waiting) ? waiting.alone_rank : -1;
}

std::deque<LockLine::Waiting>::const_iterator LockLine::at(const std::deque<Waiting>& those, uint64_t serial) {
  return std::ranges::lower_bound(those, serial, {}, &Waiting::serial);
}

size_t LockLine::index_of(const Place& place) const {
  const std::deque<Waiting>& those = place.passes ? passing_ : line_;
  return static_cast<size_t>(at(those, place.serial) - those.begin());
}

const LockLine::Waiting& LockLine::front() const {
  if (line_.empty()) return passing_.front();
  if (passing_.empty()) return line_.front();
  return line_.front().serial < passing_.front().serial ? line_.front() : passing_.front();
}

// Those who pass come in with the first one who shares: until then those hold it who are to have it alone and come before
// that.
std::vector<int> LockLine::before_passing(size_t index, const std::vector<int>& holders, bool held_alone) const {
  if (!held_alone) return {};
  std::vector<int> ranks = holders;
  for (const Waiting& each : line_) {
    if (!each.wish.exclusive || each.serial > passing_.front().serial) break;
    ranks.push_back(each.rank);
  }
  if (index >= kFirst) return {ranks.back()};
  if (ranks.size() > kMostTold) ranks.resize(kMostTold);
  return ranks;
}

}  // namespace tutti::rma
