// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_meetings.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace tutti::launcher {
namespace {

// The same call of a collective: its leader, context and serial, and which of those that have all of them the same, because
// a context is used again.
struct CallName {
  int leader;
  uint64_t context;
  uint32_t serial;
  int turn;
  bool operator<(const CallName& other) const {
    return std::tie(leader, context, serial, turn) < std::tie(other.leader, other.context, other.serial, other.turn);
  }
};
struct Seen {
  size_t rank;  // among the profiles
  const ProfileCollective* call;
};
using Calls = std::map<CallName, std::vector<Seen>>;

Calls calls_of(const std::vector<RankProfile>& ranks) {
  uint32_t every = 1;
  for (const RankProfile& rank : ranks) every = std::max(every, rank.every);
  Calls calls;
  for (size_t r = 0; r < ranks.size(); ++r) {
    std::vector<const ProfileCollective*> in_order;
    for (const ProfileCollective& each : ranks[r].collectives)
      if (each.serial % every == 0 && each.left >= each.waits_from) in_order.push_back(&each);
    std::ranges::sort(in_order, {}, &ProfileCollective::entered);
    std::map<std::tuple<int, uint64_t, uint32_t>, int> turns;
    for (const ProfileCollective* each : in_order) {
      const int turn = turns[{each->leader, each->context, each->serial}]++;
      calls[{each->leader, each->context, each->serial, turn}].push_back({r, each});
    }
  }
  return calls;
}

// Which ranks of a call no other one can leave behind.
bool waits_for_all(std::string_view function) {
  for (const std::string_view name :
       {"MPI_Barrier", "MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall", "MPI_Reduce_scatter", "MPI_Finalize"})
    if (function.starts_with(name)) return true;
  return false;
}

// How far a node's clock is ahead of the first one's.
class Bounds {
 public:
  explicit Bounds(const std::vector<RankProfile>& ranks) : ranks_(ranks) {
    for (const RankProfile& rank : ranks) {
      if (first_ < 0) first_ = rank.node;
      if (rank.node != first_) bounds_.try_emplace(rank.node);
    }
  }
  bool has_others() const { return !bounds_.empty(); }
  int first() const { return first_; }

  void learn(const std::vector<Seen>& entries) {
    std::map<int, Span> spans;
    for (const Seen& each : entries) {
      const RankProfile& rank = ranks_[each.rank];
      if (!waits_for_all(rank.sites[static_cast<size_t>(each.call->site)].function)) return;
      Span& span = spans[rank.node];
      span.last_in = std::max(span.last_in, each.call->entered);
      span.first_out = std::min(span.first_out, each.call->left);
    }
    const auto own = spans.find(first_);
    if (own == spans.end()) return;
    for (const auto& [node, span] : spans) {
      if (node == first_) continue;
      Bound& bound = bounds_[node];
      bound.low = std::max(bound.low, span.last_in - own->second.first_out);
      bound.high = std::min(bound.high, span.first_out - own->second.last_in);
    }
  }

  // Of each node that has met the first one: offset, error.
  template <class Take>
  void each(Take&& take) const {
    for (const auto& [node, bound] : bounds_)
      if (bound.low != kLeast && bound.high != kMost)
        take(node, std::midpoint(bound.low, bound.high), std::abs(bound.high - bound.low) / 2);
  }

 private:
  static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  struct Bound {
    int64_t low = kLeast, high = kMost;
  };
  struct Span {
    int64_t last_in = kLeast, first_out = kMost;
  };

  const std::vector<RankProfile>& ranks_;
  int first_ = -1;
  std::map<int, Bound> bounds_;
};

}  // namespace

int64_t Meeting::waited(const Entry& entry) const {
  return std::clamp<int64_t>(last().entered - entry.waits_from, 0, std::max<int64_t>(0, entry.left - entry.waits_from));
}

Meetings::Meetings(const std::vector<RankProfile>& ranks) {
  const Calls calls = calls_of(ranks);
  Bounds bounds(ranks);
  if (bounds.has_others()) {
    for (const auto& [name, seen] : calls) bounds.learn(seen);
    bounds.each([this](int node, int64_t offset, int64_t error) {
      clocks.offset_[node] = offset;
      clocks.error_ = std::max(clocks.error_, error);
    });
    clocks.offset_[bounds.first()] = 0;
  }
  for (const auto& [name, seen] : calls) {
    Meeting meeting;
    for (const Seen& each : seen) {
      // Ranks of a node whose clock is not known are compared with each other alone, if they are all there are.
      const int node = ranks[each.rank].node;
      if (!clocks.knows(node) && node != ranks[seen.front().rank].node) continue;
      meeting.entries.push_back({each.rank, each.call->site, clocks.to_first(node, each.call->entered),
                                 clocks.to_first(node, each.call->waits_from), clocks.to_first(node, each.call->left),
                                 each.call->at_file});
    }
    if (meeting.entries.size() < 2) continue;
    std::ranges::sort(meeting.entries, {}, &Meeting::Entry::entered);
    all.push_back(std::move(meeting));
  }
}

}  // namespace tutti::launcher
