// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_sums.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "launcher/profile/profile_meetings.hpp"

namespace tutti::launcher {
namespace {

using PlaceName = std::tuple<std::string, std::string, std::string>;
PlaceName name_of(const ProfileSite& site) {
  return {site.place, site.function, site.region};
}

// What the ranks waited at their sites for others that came late, of the calls that are compared; and for how many.
struct LateWaits {
  int64_t time = 0, for_files = 0;
  uint64_t compared = 0;
};

void add_use(FileSums& to, const ProfileFileUse& use, int rank) {
  to.pieces += use.pieces, to.bytes += use.bytes, to.unaligned += use.unaligned, to.time += use.time;
  if (use.pieces > 0) to.ranks.push_back(rank);
}

class Sums {
 public:
  explicit Sums(const std::vector<RankProfile>& ranks) : ranks_(ranks) {
    for (const RankProfile& rank : ranks) late_.emplace_back(rank.sites.size());
  }

  ProfileSums operator()() {
    const Meetings meetings(ranks_);
    for (const Meeting& meeting : meetings.all) compare(meeting);
    ProfileSums out;
    out.clock_error = meetings.clocks.error();
    out.unknown_clocks = meetings.clocks.unknown();
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

  void compare(const Meeting& meeting) {
    const bool for_file = meeting.waited_for_file();
    std::set<PlaceSums*> met;
    for (const Meeting::Entry& each : meeting.entries) {
      LateWaits& waits = late_[each.rank][static_cast<size_t>(each.site)];
      (for_file ? waits.for_files : waits.time) += meeting.waited(each);
      ++waits.compared;
      met.insert(&place_of(ranks_[each.rank].sites[static_cast<size_t>(each.site)]));
    }
    const Meeting::Entry& last = meeting.last();
    for (PlaceSums* place : met) {
      ++place->compared;
      Latecomers& latecomers = for_file ? place->at_file : place->late;
      ++latecomers.last[ranks_[last.rank].rank];
      latecomers.late_by[ranks_[last.rank].rank] += last.entered - meeting.middle();
    }
  }

  void add_rank(size_t r, ProfileSums& out) {
    const RankProfile& rank = ranks_[r];
    RankSums& mine = out.ranks.emplace_back();
    mine.rank = rank.rank;
    mine.overlapped = rank.overlapped;
    mine.exposed = rank.exposed;
    mine.whole = std::max<int64_t>(0, rank.over - rank.begun);
    out.unended += !rank.ended;
    out.lost_sites += rank.lost_sites;
    add(out.sent, rank.sent), add(out.sent_bytes, rank.sent_bytes);
    add(out.received, rank.received), add(out.received_bytes, rank.received_bytes);
    if (rank.files.size() >= 2)
      add_use(out.read, rank.files[0], rank.rank), add_use(out.written, rank.files[1], rank.rank);
    out.file_unit = std::max(out.file_unit, rank.file_unit);
    for (size_t s = 0; s < rank.sites.size(); ++s) {
      const ProfileSite& site = rank.sites[s];
      PlaceSums& place = place_of(site);
      place.calls += site.calls;
      place.bytes += site.bytes;
      place.time += site.time;
      add_use(place.file, site.file, rank.rank);
      mine.in_mpi += site.time;
      int64_t waited = 0;
      for (size_t k = 0; k < std::min(site.waited.size(), kLateToCollective); ++k) {
        place.waited[k] += site.waited[k];
        waited += site.waited[k];
      }
      for (const ProfileCulprit& each : site.culprits)
        if (each.kind >= 0 && each.kind < static_cast<int>(kLateToCollective))
          place.blamed[each.kind][each.process] += each.time;
      const LateWaits& late = late_[r][s];
      waited += add_late(late.time, late.compared, site, site.time - waited, place.waited[kLateToCollective]);
      const int64_t for_files =
          add_late(late.for_files, late.compared, site, site.time - waited, place.waited[kAtFile]);
      mine.for_files += for_files;
      waited += for_files;
      mine.waiting += std::min(waited, site.time);
    }
  }

  // Some of its collectives were compared: of the others as much is assumed.
  static int64_t add_late(int64_t waited, uint64_t compared, const ProfileSite& site, int64_t most, int64_t& sum) {
    if (compared == 0) return 0;
    const double each = static_cast<double>(waited) / static_cast<double>(compared);
    const auto calls = static_cast<double>(std::max(site.collectives, compared));
    const int64_t time = std::clamp<int64_t>(static_cast<int64_t>(each * calls), 0, std::max<int64_t>(0, most));
    sum += time;
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
