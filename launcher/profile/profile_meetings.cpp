// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_meetings.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "launcher/profile/profile_messages.hpp"

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

// Which ranks of a call no other one can leave behind. Of those with a count for each rank, as MPI_Alltoallv, some may have
// nothing to wait for.
bool waits_for_all(std::string_view function) {
  if (function.ends_with("_c")) function.remove_suffix(2);
  for (const std::string_view name :
       {"MPI_Barrier", "MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall", "MPI_Reduce_scatter_block", "MPI_Finalize"})
    if (function == name) return true;
  return false;
}

// No rank of such a call leaves it before all have entered. All nodes are compared with one of them: with the first of the job,
// where it takes part.
void learn(const std::vector<Seen>& entries, const std::vector<RankProfile>& ranks, ClockBounds& bounds) {
  struct Span {
    int64_t last_in = std::numeric_limits<int64_t>::min(), first_out = std::numeric_limits<int64_t>::max();
  };
  std::map<int, Span> spans;
  for (const Seen& each : entries) {
    const RankProfile& rank = ranks[each.rank];
    if (!waits_for_all(rank.sites[static_cast<size_t>(each.call->site)].function)) return;
    Span& span = spans[rank.node];
    span.last_in = std::max(span.last_in, each.call->entered);
    span.first_out = std::min(span.first_out, each.call->left);
  }
  const auto first = spans.find(ranks.front().node);
  const auto& [own, mine] = first == spans.end() ? *spans.begin() : *first;
  for (const auto& [node, span] : spans) {
    bounds.before(own, mine.last_in, node, span.first_out);
    bounds.before(node, span.last_in, own, mine.first_out);
  }
}

}  // namespace

int64_t Meeting::waited(const Entry& entry) const {
  return std::clamp<int64_t>(last().entered - entry.waits_from, 0, std::max<int64_t>(0, entry.left - entry.waits_from));
}

Meetings::Meetings(const std::vector<RankProfile>& ranks) {
  const Calls calls = calls_of(ranks);
  ClockBounds bounds(ranks);
  if (bounds.has_others()) {
    for (const auto& [name, seen] : calls) learn(seen, ranks, bounds);
    for (const MatchedMessage& each : matched_messages(ranks))
      bounds.before(ranks[each.from].node, each.sent->at, ranks[each.to].node, each.received->at);
  }
  clocks = bounds.clocks();
  for (const auto& [name, seen] : calls) {
    Meeting meeting;
    for (const Seen& each : seen) {
      // Ranks of a node whose clock is not known are compared with each other alone.
      const int node = ranks[each.rank].node, other = ranks[seen.front().rank].node;
      if (node != other && (!clocks.knows(node) || !clocks.knows(other))) continue;
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
