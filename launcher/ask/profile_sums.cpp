// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/profile_sums.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
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
struct Entry {
  size_t rank;  // among the profiles
  const ProfileCollective* call;
};
using Calls = std::map<CallName, std::vector<Entry>>;

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

// What is to be added to the clock of each node, so that it is the first one's, and how wrong that may be.
class Clocks {
 public:
  Clocks(const std::vector<RankProfile>& ranks, const Calls& calls) {
    std::map<int, Bounds> bounds;
    for (const RankProfile& rank : ranks) {
      if (first_ < 0) first_ = rank.node;
      if (rank.node != first_) bounds.try_emplace(rank.node);
    }
    if (bounds.empty()) return;
    for (const auto& [name, entries] : calls) learn(ranks, entries, bounds);
    for (const auto& [node, bound] : bounds) {
      if (bound.low == kLeast || bound.high == kMost) continue;  // they never met
      offset_[node] = std::midpoint(bound.low, bound.high);
      error_ = std::max(error_, std::abs(bound.high - bound.low) / 2);
    }
    offset_[first_] = 0;
  }
  // Whether ranks of this node can be compared to those of another one.
  bool knows(int node) const { return offset_.contains(node); }
  int64_t to_first(int node, int64_t time) const {
    const auto at = offset_.find(node);
    return at == offset_.end() ? time : time - at->second;
  }
  int64_t error() const { return error_; }

 private:
  static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  struct Bounds {  // of how far a node's clock is ahead of the first one's
    int64_t low = kLeast, high = kMost;
  };
  struct Span {
    int64_t last_in = kLeast, first_out = kMost;
  };
  void learn(const std::vector<RankProfile>& ranks, const std::vector<Entry>& entries,
             std::map<int, Bounds>& bounds) const {
    std::map<int, Span> spans;
    for (const Entry& each : entries) {
      const RankProfile& rank = ranks[each.rank];
      if (!waits_for_all(rank.sites[static_cast<size_t>(each.call->site)].function)) return;
      Span& span = spans[rank.node];
      span.last_in = std::max(span.last_in, each.call->entered);
      span.first_out = std::min(span.first_out, each.call->left);
    }
    const auto own = spans.find(first_);
    if (own == spans.end()) return;
    for (const auto& [node, span] : spans) {
      if (node == first_) continue;
      Bounds& bound = bounds[node];
      bound.low = std::max(bound.low, span.last_in - own->second.first_out);
      bound.high = std::min(bound.high, span.first_out - own->second.last_in);
    }
  }

  int first_ = -1;
  std::map<int, int64_t> offset_;
  int64_t error_ = -1;
};

using PlaceName = std::tuple<std::string, std::string, std::string>;
PlaceName name_of(const ProfileSite& site) {
  return {site.place, site.function, site.region};
}

// What the ranks waited at their sites for others that came late, of the calls that are compared; and for how many.
struct LateWaits {
  int64_t time = 0;
  uint64_t compared = 0;
};

class Sums {
 public:
  explicit Sums(const std::vector<RankProfile>& ranks) : ranks_(ranks) {
    for (const RankProfile& rank : ranks) late_.emplace_back(rank.sites.size());
  }

  ProfileSums operator()() {
    const Calls calls = calls_of(ranks_);
    const Clocks clocks(ranks_, calls);
    for (const auto& [name, entries] : calls) compare(clocks, entries);
    ProfileSums out;
    out.clock_error = clocks.error();
    for (size_t r = 0; r < ranks_.size(); ++r) add_rank(r, out);
    for (auto& [name, place] : places_) out.places.push_back(std::move(place));
    std::ranges::stable_sort(out.places, std::greater<>(), &PlaceSums::time);
    return out;
  }

 private:
  PlaceSums& place_of(const ProfileSite& site) {
    PlaceSums& place = places_[name_of(site)];
    place.function = site.function;
    place.place = site.place;
    place.region = site.region;
    return place;
  }
  const ProfileSite& site_of(const Entry& entry) const {
    return ranks_[entry.rank].sites[static_cast<size_t>(entry.call->site)];
  }

  void compare(const Clocks& clocks, const std::vector<Entry>& all) {
    // Ranks of a node whose clock is not known are compared with each other alone, if they are all there are.
    std::vector<std::pair<int64_t, Entry>> entered;
    for (const Entry& each : all) {
      const int node = ranks_[each.rank].node;
      if (clocks.knows(node) || node == ranks_[all.front().rank].node)
        entered.emplace_back(clocks.to_first(node, each.call->entered), each);
    }
    if (entered.size() < 2) return;
    std::ranges::sort(entered, {}, [](const auto& each) { return each.first; });
    const auto& [latest, last] = entered.back();
    const int64_t middle = entered[(entered.size() - 1) / 2].first;
    std::set<PlaceSums*> met;
    for (const auto& [time, each] : entered) {
      const int node = ranks_[each.rank].node;
      const int64_t from = clocks.to_first(node, each.call->waits_from), left = clocks.to_first(node, each.call->left);
      LateWaits& waits = late_[each.rank][static_cast<size_t>(each.call->site)];
      waits.time += std::clamp<int64_t>(latest - from, 0, std::max<int64_t>(0, left - from));
      ++waits.compared;
      met.insert(&place_of(site_of(each)));
    }
    for (PlaceSums* place : met) {
      ++place->compared;
      ++place->last[ranks_[last.rank].rank];
      place->late_by[ranks_[last.rank].rank] += latest - middle;
    }
  }

  void add_rank(size_t r, ProfileSums& out) {
    const RankProfile& rank = ranks_[r];
    RankSums& mine = out.ranks.emplace_back();
    mine.rank = rank.rank;
    mine.whole = std::max<int64_t>(0, rank.over - rank.begun);
    out.unended += !rank.ended;
    out.lost_sites += rank.lost_sites;
    add(out.sent, rank.sent), add(out.sent_bytes, rank.sent_bytes);
    add(out.received, rank.received), add(out.received_bytes, rank.received_bytes);
    for (size_t s = 0; s < rank.sites.size(); ++s) {
      const ProfileSite& site = rank.sites[s];
      PlaceSums& place = place_of(site);
      place.calls += site.calls;
      place.bytes += site.bytes;
      place.time += site.time;
      mine.in_mpi += site.time;
      int64_t waited = 0;
      for (size_t k = 0; k < std::min(site.waited.size(), kLateToCollective); ++k) {
        place.waited[k] += site.waited[k];
        waited += site.waited[k];
      }
      for (const ProfileCulprit& each : site.culprits)
        if (each.kind >= 0 && each.kind < static_cast<int>(kLateToCollective))
          place.blamed[each.kind][each.process] += each.time;
      waited += add_late(late_[r][s], site, site.time - waited, place);
      mine.waiting += std::min(waited, site.time);
    }
  }

  // Some of its collectives were compared: of the others as much is assumed.
  static int64_t add_late(const LateWaits& waits, const ProfileSite& site, int64_t most, PlaceSums& place) {
    if (waits.compared == 0) return 0;
    const double each = static_cast<double>(waits.time) / static_cast<double>(waits.compared);
    const auto calls = static_cast<double>(std::max(site.collectives, waits.compared));
    const int64_t time = std::clamp<int64_t>(static_cast<int64_t>(each * calls), 0, std::max<int64_t>(0, most));
    place.waited[kLateToCollective] += time;
    return time;
  }

  static void add(std::vector<uint64_t>& to, const std::vector<uint64_t>& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  }

  const std::vector<RankProfile>& ranks_;
  std::vector<std::vector<LateWaits>> late_;  // by profile and site
  std::map<PlaceName, PlaceSums> places_;
};

}  // namespace

int64_t PlaceSums::all_waited() const {
  return std::accumulate(std::begin(waited), std::end(waited), int64_t{0});
}

ProfileSums sums_of(const std::vector<RankProfile>& ranks) {
  return Sums(ranks)();
}

}  // namespace tutti::launcher
