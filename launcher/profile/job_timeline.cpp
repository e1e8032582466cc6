// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/job_timeline.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "launcher/profile/profile_messages.hpp"
#include "launcher/profile/profile_sums.hpp"
#include "profile/timeline.hpp"

namespace tutti::launcher {
namespace {

using profile::Doing;

class Assembly {
 public:
  explicit Assembly(const std::vector<RankProfile>& ranks) : ranks_(ranks), met_(ranks) {}

  JobTimeline operator()() {
    if (std::ranges::none_of(ranks_, [](const RankProfile& rank) { return rank.timeline.period > 0; })) return {};
    out_.begun = std::numeric_limits<int64_t>::max();
    for (const RankProfile& rank : ranks_)
      out_.begun = std::min(out_.begun, met_.clocks.to_first(rank.node, rank.begun));
    for (const RankProfile& rank : ranks_) add_rank(rank);
    for (TimelineRank& rank : out_.ranks) out_.length = std::max(out_.length, rank.over);
    for (Meeting& meeting : met_.all) add_meeting(std::move(meeting));
    for (size_t r = 0; r < ranks_.size(); ++r) move_collective_waits(r);
    add_messages();
    out_.clock_error = met_.clocks.error();
    out_.unknown_clocks = met_.clocks.unknown();
    return std::move(out_);
  }

 private:
  int64_t time_of(const RankProfile& rank, int64_t at) const {
    return met_.clocks.to_first(rank.node, at) - out_.begun;
  }

  int place_of(const ProfileSite& site) {
    const auto [at, is_new] =
        places_.try_emplace({site.function, site.place, site.region}, static_cast<int>(out_.places.size()));
    if (is_new) out_.places.push_back({site.function, site.place, site.region});
    return at->second;
  }

  void add_rank(const RankProfile& rank) {
    TimelineRank& out = out_.ranks.emplace_back();
    out.rank = rank.rank, out.node = rank.node;
    out.begun = time_of(rank, rank.begun), out.over = time_of(rank, std::max(rank.over, rank.begun));
    out.period = rank.timeline.period, out.spent = rank.timeline.spent;
    out.spent.resize(profile::kDoings);
    size_t periods = 0;
    for (const std::vector<int64_t>& each : out.spent) periods = std::max(periods, each.size());
    for (std::vector<int64_t>& each : out.spent) each.resize(periods);
    out_.least = std::max(out_.least, rank.timeline.least);
    out_.every = std::max(out_.every, rank.timeline.every);
    out_.unnamed_messages += rank.timeline.unnamed_messages;
    for (const ProfileSpan& span : rank.timeline.spans)
      out.spans.push_back({.place = place_of(rank.sites[static_cast<size_t>(span.site)]),
                           .begun = time_of(rank, span.begun),
                           .over = time_of(rank, span.over),
                           .waited = span.waited,
                           .waits_to = span.waits_to == 0 ? 0 : time_of(rank, span.waits_to),
                           .process = span.process,
                           .kind = span.kind,
                           .thread = span.thread});
    // The call that it did not come out of.
    if (rank.open_site >= 0) {
      const ProfileSite& site = rank.sites[static_cast<size_t>(rank.open_site)];
      const auto at = static_cast<size_t>(profile::Wait::to_the_end);
      const int64_t waited = at < site.waited.size() ? site.waited[at] : 0;
      TimelineSpan open{.place = place_of(site),
                        .begun = out.over - waited,
                        .over = out.over,
                        .waited = waited,
                        .waits_to = out.over};
      open.kind = static_cast<int>(at);
      for (const ProfileCulprit& each : site.culprits)
        if (each.kind == open.kind) open.process = each.process;
      out.spans.push_back(open);
    }
    std::ranges::sort(out.spans, {}, &TimelineSpan::begun);
  }

  // The call that a rank was in at a time, if it is known.
  static TimelineSpan* span_at(TimelineRank& rank, int64_t time) {
    const auto after = std::ranges::upper_bound(rank.spans, time, {}, &TimelineSpan::begun);
    if (after == rank.spans.begin()) return nullptr;
    TimelineSpan& span = *std::prev(after);
    return span.over >= time ? &span : nullptr;
  }

  // Whoever waited for the last one is told so.
  void add_meeting(Meeting meeting) {
    for (Meeting::Entry& each : meeting.entries)
      for (int64_t* time : {&each.entered, &each.waits_from, &each.left}) *time -= out_.begun;
    const Meeting::Entry last = meeting.last();
    for (const Meeting::Entry& each : meeting.entries) {
      const int64_t waited = meeting.waited(each);
      LateWaits& late = late_[each.rank];
      late.waited += waited, late.took += std::max<int64_t>(0, each.left - each.waits_from);
      TimelineSpan* const span = waited > 0 ? span_at(out_.ranks[each.rank], each.waits_from) : nullptr;
      if (!span || each.rank == last.rank) continue;
      span->waited = std::min(span->over - span->begun, span->waited + waited);
      if (last.entered < span->waits_to) continue;
      span->waits_to = last.entered;
      span->process = out_.ranks[last.rank].rank;
      span->kind = static_cast<int>(meeting.waited_for_file() ? kAtFile : kLateToCollective);
    }
    out_.meetings.push_back(std::move(meeting));
  }

  // Of the time in collectives of each period as much is waiting as of those of the rank's that were compared.
  void move_collective_waits(size_t r) {
    const auto found = late_.find(r);
    if (found == late_.end() || found->second.took <= 0) return;
    const double waits =
        std::min(1.0, static_cast<double>(found->second.waited) / static_cast<double>(found->second.took));
    std::vector<std::vector<int64_t>>& spent = out_.ranks[r].spent;
    for (size_t i = 0; i < spent[static_cast<size_t>(Doing::in_collectives)].size(); ++i) {
      int64_t& in = spent[static_cast<size_t>(Doing::in_collectives)][i];
      const auto moved = static_cast<int64_t>(static_cast<double>(in) * waits);
      in -= moved;
      spent[static_cast<size_t>(Doing::waiting)][i] += moved;
    }
  }

  void add_messages() {
    for (const MatchedMessage& each : matched_messages(ranks_))
      out_.messages.push_back({.from = each.from,
                               .to = each.to,
                               .sent = time_of(ranks_[each.from], each.sent->at),
                               .received = time_of(ranks_[each.to], each.received->at),
                               .bytes = each.sent->bytes,
                               .tag = each.received->tag,
                               .sent_by = each.sent->thread,
                               .seen_by = each.received->thread});
    std::ranges::sort(out_.messages, {}, &TimelineMessage::sent);
  }

  struct LateWaits {
    int64_t waited = 0, took = 0;
  };
  const std::vector<RankProfile>& ranks_;
  Meetings met_;
  JobTimeline out_;
  std::map<std::tuple<std::string, std::string, std::string>, int> places_;
  std::map<size_t, LateWaits> late_;
};

// What the path is in from one time to another at a rank: pieces of its calls and of the time between them, the latest first.
void add_pieces(const JobTimeline& timeline, size_t rank, int64_t from, int64_t to, std::vector<PathPiece>& path) {
  const std::vector<TimelineSpan>& spans = timeline.ranks[rank].spans;
  auto next = std::ranges::upper_bound(spans, to, {}, &TimelineSpan::begun);
  while (to > from && next != spans.begin()) {
    const TimelineSpan& span = *--next;
    if (span.over <= from) break;
    if (span.over < to) path.push_back({rank, span.over, to, -1});
    const int64_t begun = std::max(from, span.begun), over = std::min(to, span.over);
    if (over > begun) path.push_back({rank, begun, over, span.place});
    to = std::min(to, begun);
  }
  if (to > from) path.push_back({rank, from, to, -1});
}

}  // namespace

JobTimeline job_timeline(const std::vector<RankProfile>& ranks) {
  return Assembly(ranks)();
}

std::vector<PathPiece> critical_path(const JobTimeline& timeline) {
  std::vector<PathPiece> path;
  if (timeline.ranks.empty()) return path;
  std::map<int, size_t> place_of_rank;
  for (size_t r = 0; r < timeline.ranks.size(); ++r) place_of_rank[timeline.ranks[r].rank] = r;
  size_t rank =
      static_cast<size_t>(std::ranges::max_element(timeline.ranks, {}, &TimelineRank::over) - timeline.ranks.begin());
  int64_t at = timeline.ranks[rank].over;
  // Each turn goes back in time, or to another rank at the same time, which happens at most once for each rank.
  for (size_t stays = 0; at > timeline.ranks[rank].begun && stays <= timeline.ranks.size();) {
    const std::vector<TimelineSpan>& spans = timeline.ranks[rank].spans;
    auto next = std::ranges::upper_bound(spans, at, {}, &TimelineSpan::begun);
    const TimelineSpan* waits = nullptr;
    while (!waits && next != spans.begin()) {
      const TimelineSpan& span = *--next;
      if (span.waited > 0 && span.waits_to <= at && span.waits_to >= span.begun &&
          place_of_rank.contains(span.process) && place_of_rank[span.process] != rank)
        waits = &span;
    }
    const int64_t from = waits ? waits->waits_to : timeline.ranks[rank].begun;
    add_pieces(timeline, rank, from, at, path);
    if (!waits) break;
    stays = from < at ? 0 : stays + 1;
    at = from;
    rank = place_of_rank[waits->process];
  }
  std::ranges::reverse(path);
  return path;
}

}  // namespace tutti::launcher
