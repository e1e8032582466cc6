// SPDX-License-Identifier: BSD-3-Clause
#include "rma/accesses.hpp"

#include <algorithm>

namespace tutti::rma {

Conflict conflict_of(const Act& one, const Act& other, bool ordered, bool alone) {
  if (one.kind != AccessKind::update || other.kind != AccessKind::update)
    return is_read(one) && is_read(other) ? Conflict::none : Conflict::undefined;
  const uint8_t a = one.update.operation, b = other.update.operation;
  if (a == kNoOp && b == kNoOp) return Conflict::none;
  if (one.update.element != other.update.element) return Conflict::types;
  // The standard does not say which operations MPI_Compare_and_swap may meet; its own examples let it meet others.
  if (ordered || a == b || a == kCompareAndSwap || b == kCompareAndSwap) return Conflict::none;
  return !alone && (a == kNoOp || b == kNoOp) ? Conflict::none : Conflict::operations;
}

std::vector<Interval> intervals_of(int64_t displacement, int64_t count, const Layout& layout) {
  std::vector<Interval> intervals;
  if (count <= 0 || layout.size() == 0) return intervals;
  if (layout.is_dense()) {
    const int64_t low = displacement + layout.true_lower_bound();
    return {{low, low + count * layout.size()}};
  }
  layout.each_run(0, count * layout.size(), [&](int64_t at, int64_t bytes) {
    if (intervals.size() == Accesses::kMost) return false;
    intervals.push_back({displacement + at, displacement + at + bytes});
    return true;
  });
  return intervals;
}

bool overlap(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::low);
  for (size_t i = 1; i < intervals.size(); ++i)
    if (intervals[i].low < intervals[i - 1].high) return true;
  return false;
}

bool Accesses::Access::operator==(const Access& other) const {
  return act.kind == other.act.kind && act.fetches == other.act.fetches &&
         act.update.operation == other.act.update.operation && act.update.element == other.act.update.element &&
         origin == other.origin && epoch == other.epoch && owner == other.owner;
}

namespace {

Interval shared_by(Interval one, Interval other) {
  return {std::max(one.low, other.low), std::min(one.high, other.high)};
}

// Two updates that would be atomic to each other, if they did not share a part of an element alone (12.7.1): runs begin
// where an element does.
bool are_askew(const Accesses::Access& one, Interval of_one, const Accesses::Access& other, Interval of_other) {
  const bool both_update = one.act.kind == AccessKind::update && other.act.kind == AccessKind::update;
  const bool both_read = is_read(one.act) && is_read(other.act);
  return both_update && !both_read && one.grain > 0 && one.grain == other.grain &&
         (of_one.low - of_other.low) % one.grain != 0;
}

}  // namespace

// Visits what shares bytes with these, until it is told that this is enough.
template <class Visit>
void Accesses::each_at(Interval bytes, Visit&& visit) const {
  for (auto at = all_.lower_bound(bytes.low - longest_); at != all_.end() && at->first < bytes.high; ++at) {
    const auto& [end, access] = at->second;
    if (end <= bytes.low) continue;
    if (!visit(Interval{at->first, end}, access)) return;
  }
}

std::optional<Accesses::Met> Accesses::conflict(const std::vector<Interval>& bytes, const Access& access, bool own,
                                                bool alone) const {
  std::optional<Met> met;
  for (const Interval& each : bytes) {
    each_at(each, [&](Interval theirs, const Access& other) {
      if (other.epoch != access.epoch || (other.origin == access.origin) != own) return true;
      Conflict conflict = conflict_of(access.act, other.act, own, alone);
      // Those of one origin are carried out one after the other, askew or not.
      if (conflict == Conflict::none && !own && are_askew(access, each, other, theirs)) conflict = Conflict::elements;
      if (conflict != Conflict::none) met = Met{shared_by(each, theirs), other, conflict};
      return !met;
    });
    if (met) break;
  }
  return met;
}

std::optional<Accesses::Met> Accesses::of_others(Interval bytes, uint8_t epoch, int but, bool reads) const {
  std::optional<Met> met;
  each_at(bytes, [&](Interval theirs, const Access& other) {
    if (other.epoch == epoch && other.origin != but && (reads || !is_read(other.act)))
      met = Met{shared_by(bytes, theirs), other, Conflict::undefined};
    return !met;
  });
  return met;
}

void Accesses::add(const std::vector<Interval>& bytes, const Access& access) {
  for (const Interval& each : bytes) {
    if (all_.size() >= kMost) return;
    // A counter that is updated over and over again is recorded once.
    const auto [first, last] = all_.equal_range(each.low);
    const bool known = std::any_of(
        first, last, [&](const auto& it) { return it.second.first == each.high && it.second.second == access; });
    if (known) continue;
    longest_ = std::max(longest_, each.high - each.low);
    all_.emplace(each.low, std::make_pair(each.high, access));
  }
}

}  // namespace tutti::rma
