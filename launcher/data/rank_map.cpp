// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/data/rank_map.hpp"

#include <algorithm>
#include <cstdint>

namespace tutti::launcher {
namespace {

// Which ranks of a range are on a node: the first one's number, or -1.
int first_on(const RankRange& range, int node) {
  if (node < range.first_node || node >= range.first_node + range.nodes) return -1;
  return range.first + (node - range.first_node) * range.each;
}

}  // namespace

void RankMap::push_back(const RankPlace& place) {
  const int rank = static_cast<int>(size());
  if (!ranges_.empty()) {
    RankRange& last = ranges_.back();
    if (last.nodes == 1 && last.first_node == place.node && last.app == place.app &&
        last.first_local + last.each == place.local_rank) {
      ++last.each;
      return;
    }
  }
  close();
  ranges_.push_back({.first = rank, .first_node = place.node, .app = place.app, .first_local = place.local_rank});
}

// The last node's ranks are complete: they may continue the range before.
void RankMap::close() {
  if (ranges_.size() < 2) return;
  const RankRange& last = ranges_.back();
  RankRange& before = ranges_[ranges_.size() - 2];
  if (last.nodes != 1 || last.each != before.each || last.app != before.app || last.first_local != before.first_local ||
      last.first_node != before.first_node + before.nodes)
    return;
  ++before.nodes;
  ranges_.pop_back();
}

size_t RankMap::size() const {
  return ranges_.empty() ? 0 : static_cast<size_t>(ranges_.back().first + ranges_.back().count());
}

RankPlace RankMap::operator[](size_t rank) const {
  const int number = static_cast<int>(rank);
  const auto after = std::ranges::upper_bound(ranges_, number, {}, &RankRange::first);
  const RankRange& range = *std::prev(after);
  return range[number - range.first];
}

std::vector<int> RankMap::on(int node) const {
  std::vector<int> out;
  for (const RankRange& range : ranges_)
    if (const int first = first_on(range, node); first >= 0)
      for (int i = 0; i < range.each; ++i) out.push_back(first + i);
  return out;
}

int RankMap::count_on(int node) const {
  int count = 0;
  for (const RankRange& range : ranges_)
    if (first_on(range, node) >= 0) count += range.each;
  return count;
}

std::vector<int> RankMap::counts(size_t nodes) const {
  std::vector<int> out(nodes, 0);
  for (const RankRange& range : ranges_)
    for (int n = 0; n < range.nodes; ++n)
      out[static_cast<size_t>(range.first_node) + static_cast<size_t>(n)] += range.each;
  return out;
}

RankMap RankMap::renumbered(const std::vector<int>& new_number) const {
  RankMap out;
  for (const RankRange& range : ranges_)
    for (int n = 0; n < range.nodes; ++n) {
      RankRange part = range;
      part.first += n * range.each;
      part.first_node = new_number[static_cast<size_t>(range.first_node) + static_cast<size_t>(n)];
      part.nodes = 1;
      out.ranges_.push_back(part);
      out.close();
    }
  return out;
}

RanksByNode::RanksByNode(const RankMap& map, size_t nodes) : ranks_(map.size()), ends_(nodes, 0) {
  size_t before = 0;
  const std::vector<int> counts = map.counts(nodes);
  for (size_t node = 0; node < nodes; ++node) {
    ends_[node] = before;
    before += static_cast<size_t>(counts[node]);
  }
  for (const RankRange& range : map.ranges())
    for (int i = 0; i < range.count(); ++i) ranks_[ends_[static_cast<size_t>(range[i].node)]++] = range.first + i;
}

std::span<const int> RanksByNode::on(int node) const {
  const auto at = static_cast<size_t>(node);
  if (node < 0 || at >= ends_.size()) return {};
  const size_t begin = at == 0 ? 0 : ends_[at - 1];
  return std::span(ranks_).subspan(begin, ends_[at] - begin);
}

bool RankMap::is_consistent(size_t nodes, size_t apps) const {
  int64_t next = 0;
  for (const RankRange& r : ranges_) {
    if (r.first != next || r.nodes < 1 || r.each < 1 || r.first_node < 0 || r.app < 0 || r.first_local < 0 ||
        static_cast<size_t>(r.app) >= apps ||
        static_cast<uint64_t>(r.first_node) + static_cast<uint64_t>(r.nodes) > nodes)
      return false;
    next += int64_t{r.nodes} * r.each;
    if (next > kMostRanks || int64_t{r.first_local} + r.each > kMostRanks) return false;
  }
  return std::ranges::all_of(ranges_, [&](const RankRange& r) { return r.first_local + r.each <= next; });
}

}  // namespace tutti::launcher
