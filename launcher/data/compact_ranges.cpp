// SPDX-License-Identifier: BSD-3-Clause
// A range is its first node, shifted by one bit that says whether it is otherwise than is expected: one rank on one node, of
// the same program as the range before, with the next local number of its node. Then a word says which of these it has of its
// own, and they follow (short_numbers.hpp).
#include "launcher/data/compact_ranges.hpp"

#include <cstddef>
#include <cstdint>

#include "launcher/data/compact.hpp"
#include "launcher/data/short_numbers.hpp"

namespace tutti::launcher {
namespace {

enum Own : uint64_t { kNodes = 1, kEach = 2, kApp = 4, kFirstLocal = 8, kAll = 15 };

// How many ranks of the ranges so far are on each node.
class Counts {
 public:
  int on(int node) const { return static_cast<size_t>(node) < counts_.size() ? counts_[static_cast<size_t>(node)] : 0; }
  void add(const RankRange& range) {
    const auto end = static_cast<size_t>(range.first_node) + static_cast<size_t>(range.nodes);
    if (counts_.size() < end) counts_.resize(end, 0);
    for (size_t node = static_cast<size_t>(range.first_node); node < end; ++node) counts_[node] += range.each;
  }

 private:
  std::vector<int> counts_;
};

}  // namespace

std::string compact_ranges(const std::vector<RankRange>& ranges) {
  std::string out;
  Counts counts;
  int app = 0;
  for (const RankRange& range : ranges) {
    uint64_t own = 0;
    if (range.nodes != 1) own |= kNodes;
    if (range.each != 1) own |= kEach;
    if (range.app != app) own |= kApp;
    if (range.first_local != counts.on(range.first_node)) own |= kFirstLocal;
    put_number(out, static_cast<uint64_t>(range.first_node) << 1 | (own != 0 ? 1 : 0));
    if (own != 0) put_number(out, own);
    if (own & kNodes) put_number(out, static_cast<uint64_t>(range.nodes));
    if (own & kEach) put_number(out, static_cast<uint64_t>(range.each));
    if (own & kApp) put_number(out, static_cast<uint64_t>(range.app));
    if (own & kFirstLocal) put_number(out, static_cast<uint64_t>(range.first_local));
    counts.add(range);
    app = range.app;
  }
  return out;
}

std::optional<std::vector<RankRange>> expand_ranges(std::string_view text) {
  std::vector<RankRange> out;
  NumberReader reader(text);
  Counts counts;
  uint64_t ranks = 0;
  int app = 0;
  while (!reader.at_end()) {
    RankRange range{.first = static_cast<int>(ranks), .app = app};
    const uint64_t word = reader.number(2 * kMostNodes);
    const uint64_t own = word & 1 ? reader.number(kAll) : 0;
    range.first_node = static_cast<int>(word >> 1);
    const auto or_own = [&](uint64_t which, int expected, uint64_t most) {
      return own & which ? static_cast<int>(reader.number(most)) : expected;
    };
    range.nodes = or_own(kNodes, 1, kMostNodes);
    range.each = or_own(kEach, 1, kMostRanks);
    range.app = or_own(kApp, app, kMostRanks);
    range.first_local = or_own(kFirstLocal, counts.on(range.first_node), kMostRanks);
    ranks += static_cast<uint64_t>(range.nodes) * static_cast<uint64_t>(range.each);
    if (!reader.good() || ranks > kMostRanks) return std::nullopt;
    counts.add(range);
    app = range.app;
    out.push_back(range);
  }
  return reader.good() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace tutti::launcher
