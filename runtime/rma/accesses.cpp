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

// Visits what shares bytes with these, until it is told that this is enough.
template <class Visit>
void Accesses::each_at(Interval bytes, Visit&& visit) const {
  for (auto at = all_.lower_bound(bytes.low - longest_); at != all_.end() && at->first < bytes.high; ++at) {
    const auto& [end, access] = at->second;
    if (end <= bytes.low) continue;
    if (!visit(Interval{std::max(at->first, bytes.low), std::min(end, bytes.high)}, access)) return;
  }
}

std::optional<Accesses::Met> Accesses::conflict(const std::vector<Interval>& bytes, const Access& access, bool own,
                                                bool alone) const {
  std::optional<Met> met;
  for (const Interval& each : bytes) {
    each_at(each, [&](Interval shared, const Access& other) {
      if (other.epoch != access.epoch || (other.origin == access.origin) != own) return true;
      const Conflict conflict = conflict_of(access.act, other.act, own, alone);
      if (conflict != Conflict::none) met = Met{shared, other, conflict};
      return !met;
    });
    if (met) break;
  }
  return met;
}

std::optional<Accesses::Met> Accesses::writer(Interval bytes, uint8_t epoch, int but) const {
  std::optional<Met> met;
  each_at(bytes, [&](Interval shared, const Access& other) {
    if (other.epoch == epoch && other.origin != but && !is_read(other.act))
      met = Met{shared, other, Conflict::undefined};
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
