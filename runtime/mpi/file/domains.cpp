// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file/domains.hpp"

#include <algorithm>
#include <limits>

namespace tutti::mpi::file {
namespace {

constexpr int64_t kAligned = 64 << 10;

}  // namespace

int aggregators_of(const File& file, const std::vector<Contribution>& shares) {
  const Contribution& first = shares[0];
  const int ranks = static_cast<int>(shares.size());
  int wanted = first.aggregators;
  if (wanted <= 0) {
    const NodeLayout* const nodes = file.comm().hidden.nodes;
    wanted = std::max(
        {4, ranks / 16, nodes ? nodes->nodes() : 1, static_cast<int>(std::min<int64_t>(first.stripes, ranks))});
  }
  return std::min(wanted, ranks);
}

Domains::Domains(const PlacedAccess& job, const std::vector<Contribution>& shares, const std::vector<io::View>& views)
    : shares_(shares), views_(views) {
  clip(job.writes);
  divide(job);
}

// A read ends where the file does.
void Domains::clip(bool writes) {
  int64_t end = 0;
  for (const Contribution& share : shares_) end = std::max(end, share.file_size);
  low_ = std::numeric_limits<int64_t>::max();
  for (size_t r = 0; r < shares_.size(); ++r) {
    const Contribution& share = shares_[r];
    int64_t length = share.bytes, high = share.high;
    if (!writes && high > end) {
      length = std::clamp<int64_t>(views_[r].position_at(end) - share.position, 0, length);
      high = end;
    }
    lengths_.push_back(length);
    if (length == 0) continue;
    low_ = std::min(low_, share.low);
    high_ = std::max(high_, high);
  }
  if (high_ == 0) low_ = 0;
}

// Equal parts of the range, each of whole stripes of the file: no two aggregators share one, nor
// its lock at the file system.
void Domains::divide(const PlacedAccess& job) {
  const Contribution& first = shares_[0];
  const int count = aggregators_of(*job.file, shares_);
  part_ = (high_ - low_ + count - 1) / count;
  const int64_t unit = first.stripe > 0 ? first.stripe : kAligned;
  if (part_ > unit) {
    low_ -= low_ % unit;
    part_ = (high_ - low_ + count - 1) / count;
    part_ = (part_ + unit - 1) / unit * unit;
  }
  size_ = std::max<int64_t>(std::min(first.buffer_size, part_), 1);
  if (size_ > unit) size_ -= size_ % unit;
  rounds_ = (part_ + size_ - 1) / size_;
  choose_aggregators(job, count);
}

// One on each node, then the next one on each, until there are enough; on a node they stand equally
// far apart.
void Domains::choose_aggregators(const PlacedAccess& job, int count) {
  const NodeLayout* const nodes = job.file->comm().hidden.nodes;
  if (nodes) {
    std::vector<int> many(static_cast<size_t>(nodes->nodes()), 0);
    for (int left = count; left > 0;)
      for (int node = 0; node < nodes->nodes() && left > 0; ++node)
        if (many[static_cast<size_t>(node)] < static_cast<int>(nodes->members(node).size()))
          ++many[static_cast<size_t>(node)], --left;
    for (int turn = 0; static_cast<int>(aggregators_.size()) < count; ++turn)
      for (int node = 0; node < nodes->nodes(); ++node) {
        const ProcessList members = nodes->members(node);
        const int here = many[static_cast<size_t>(node)];
        if (turn < here) aggregators_.push_back(members[static_cast<int>(int64_t{turn} * members.size() / here)]);
      }
  } else {
    const auto ranks = static_cast<int64_t>(shares_.size());
    for (int a = 0; a < count; ++a) aggregators_.push_back(static_cast<int>(a * ranks / count));
  }
  const auto me = std::ranges::find(aggregators_, job.file->rank());
  if (me != aggregators_.end()) mine_ = static_cast<int>(me - aggregators_.begin());
}

Domains::Piece Domains::window_of(int aggregator, int64_t round) const {
  const int64_t begin = std::min(low_ + aggregator * part_ + round * size_, high_);
  const int64_t end = std::min({begin + size_, low_ + (aggregator + 1) * part_, high_});
  return {begin, std::max<int64_t>(end - begin, 0)};
}

Domains::Range Domains::range_of(int rank, const Piece& window) const {
  const auto r = static_cast<size_t>(rank);
  const auto at = [&](int64_t offset) {
    return std::clamp<int64_t>(views_[r].position_at(offset) - shares_[r].position, 0, lengths_[r]);
  };
  if (lengths_[r] == 0 || window.bytes == 0) return {};
  const int64_t begin = at(window.offset);
  return {begin, std::max(begin, at(window.offset + window.bytes))};
}

}  // namespace tutti::mpi::file
