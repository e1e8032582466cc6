// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_trace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "launcher/data/json_text.hpp"
#include "launcher/profile/job_timeline.hpp"
#include "launcher/profile/profile_page.hpp"

namespace tutti::launcher {
namespace {

// Trace events count in microseconds, and take fractions.
std::string microseconds(int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

// Calls of which one follows the other, in order of time: those of a thread, since readers drop a slice that begins in
// another one of its thread and ends after it. A call that a rank did not come out of, of which the thread is not known, gets
// a lane of its own if it is in the way.
struct Lane {
  int thread = 0;
  std::vector<const TimelineSpan*> spans;

  // The call that was under way; nullptr: none that is known.
  const TimelineSpan* at(int64_t time) const {
    const auto after = std::ranges::upper_bound(spans, time, {}, &TimelineSpan::begun);
    return after != spans.begin() && (*std::prev(after))->over >= time ? *std::prev(after) : nullptr;
  }
  bool goes_on_after(int64_t time) const { return !spans.empty() && spans.back()->begun >= time; }
};

std::vector<Lane> lanes_of(const TimelineRank& rank) {
  std::vector<Lane> lanes;
  for (const TimelineSpan& span : rank.spans) {
    const auto fits = [&span](const Lane& lane) {
      return lane.thread == span.thread && lane.spans.back()->over <= span.begun;
    };
    auto lane = std::ranges::find_if(lanes, fits);
    if (lane == lanes.end()) lane = lanes.insert(lane, Lane{span.thread, {}});
    lane->spans.push_back(&span);
  }
  std::ranges::stable_sort(lanes, {}, &Lane::thread);
  return lanes;
}

// One end of an arrow: in which lane, and in which slice of it.
struct End {
  size_t lane = 0;
  const TimelineSpan* span = nullptr;
};

class Trace {
 public:
  explicit Trace(const std::vector<RankProfile>& ranks)
      : timeline_(job_timeline(ranks)), size_(ranks.empty() ? 0 : static_cast<size_t>(ranks.front().size)) {
    for (const TimelineRank& rank : timeline_.ranks) lanes_.push_back(lanes_of(rank));
  }

  std::string operator()() {
    out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    for (size_t r = 0; r < timeline_.ranks.size(); ++r) add_rank(r);
    size_t number = 0, left_out = 0;
    for (const TimelineMessage& message : timeline_.messages)
      if (!add_message(message, number + 1))
        ++left_out;
      else
        ++number;
    return out_ + "\n],\"otherData\":" + about(left_out) + "}\n";
  }

 private:
  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    out_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  // Process 0 is the kernel's idle one to some readers, and numbers of threads are those of a whole machine: so they count from
  // 1, none is used twice, and that of a process's first thread is its own.
  size_t process(size_t r) const { return static_cast<size_t>(timeline_.ranks[r].rank) + 1; }
  size_t thread(size_t r, size_t lane) const { return lane * size_ + process(r); }

  void add_rank(size_t r) {
    const TimelineRank& rank = timeline_.ranks[r];
    event(
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"tid\":{0},\"args\":{{\"name\":\"rank {1} (node "
        "{2})\"}}}}",
        process(r), rank.rank, rank.node);
    event("{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{0},\"tid\":{0},\"args\":{{\"sort_index\":{1}}}}}",
          process(r), rank.rank);
    for (size_t lane = 0; lane < lanes_[r].size(); ++lane) {
      event("{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}", process(r),
            thread(r, lane), lanes_[r].size() == 1 ? "MPI" : fmt::format("MPI, thread {}", lanes_[r][lane].thread));
      for (const TimelineSpan* const span : lanes_[r][lane].spans) add_call(r, lane, *span);
    }
  }

  void add_call(size_t r, size_t lane, const TimelineSpan& span) {
    const TimelinePlace& place = timeline_.places[static_cast<size_t>(span.place)];
    const std::string_view kind = place.function.starts_with("MPI_File_") ? "file" : "mpi";
    std::string waits;
    if (span.waited > 0) {
      waits = fmt::format(",\"waited us\":{},\"why\":{}", microseconds(span.waited),
                          json_text(wait_kind_text(static_cast<size_t>(span.kind))));
      if (span.process >= 0) waits += fmt::format(",\"for rank\":{}", span.process);
    }
    const std::string region = place.region.empty() ? "" : ",\"region\":" + json_text(place.region);
    event(
        "{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"ts\":{},\"dur\":{},\"pid\":{},\"tid\":{},\"args\":{{\"where\":{}{}"
        "{}}}}}",
        json_text(place.function), kind, microseconds(span.begun), microseconds(span.over - span.begun), process(r),
        thread(r, lane), json_text(place.place), region, waits);
  }

  // The call of this thread, or else of any, that was under way; best one that waited for `peer`, if that is a rank.
  End end_at(size_t r, int64_t time, int by_thread, int peer) const {
    End found;
    int best = -1;
    for (size_t lane = 0; lane < lanes_[r].size(); ++lane) {
      const TimelineSpan* const span = lanes_[r][lane].at(time);
      if (!span) continue;
      const bool waited = peer >= 0 && span->waited > 0 && span->process == peer;
      const int good = (waited ? 2 : 0) + (lanes_[r][lane].thread == by_thread ? 1 : 0);
      if (good > best) best = good, found = {lane, span};
    }
    return found;
  }

  // An arrow goes from slice to slice; false: it has none to go to. One whose receive had been posted before, and whose message
  // the library saw come while the rank computed, goes to the next call, as far as that is known. Readers want the end behind
  // the beginning, which clocks of nodes may tell otherwise.
  bool add_message(const TimelineMessage& message, size_t number) {
    const End from = end_at(message.from, message.sent, message.sent_by, -1);
    if (!from.span) return false;
    const End to = end_at(message.to, message.received, message.seen_by, timeline_.ranks[message.from].rank);
    if (!to.span && (timeline_.least > 0 || lanes_[message.to].empty())) return false;
    const int64_t latest = to.span ? last_of(*to.span) : message.received;
    const int64_t sent = std::max(from.span->begun, std::min({message.sent, last_of(*from.span), latest}));
    const int64_t received = std::max(sent, std::min(message.received, latest));
    if (received > latest || (!to.span && !lanes_[message.to][to.lane].goes_on_after(received))) return false;
    event(
        "{{\"ph\":\"s\",\"name\":\"message\",\"cat\":\"message\",\"id\":{},\"ts\":{},\"pid\":{},\"tid\":{},\"args\":{{"
        "\"bytes\":{},\"tag\":{},\"to\":{}}}}}",
        number, microseconds(sent), process(message.from), thread(message.from, from.lane), message.bytes, message.tag,
        timeline_.ranks[message.to].rank);
    event(
        "{{\"ph\":\"f\",{}\"name\":\"message\",\"cat\":\"message\",\"id\":{},\"ts\":{},\"pid\":{},\"tid\":{},\"args\":{"
        "{}}"
        "}}",
        to.span ? "\"bp\":\"e\"," : "", number, microseconds(received), process(message.to),
        thread(message.to, to.lane));
    return true;
  }
  // A slice ends before its end: what is at it belongs to the next one.
  static int64_t last_of(const TimelineSpan& span) { return std::max(span.begun, span.over - 1); }

  std::string about(size_t left_out) const {
    return fmt::format(
        "{{\"calls that lasted longer are all here, us\":{},\"of messages one in\":{},\"messages left out, for their "
        "calls are not here\":{},\"error of clocks, us\":{},\"nodes whose clocks are not known\":{}}}",
        microseconds(timeline_.least), timeline_.every, left_out,
        timeline_.clock_error < 0 ? "0" : microseconds(timeline_.clock_error), timeline_.unknown_clocks);
  }

  const JobTimeline timeline_;
  const size_t size_;
  std::vector<std::vector<Lane>> lanes_;  // of each rank
  std::string out_;
  bool is_first_ = true;
};

}  // namespace

std::string profile_trace(const std::vector<RankProfile>& ranks) {
  return Trace(ranks)();
}

}  // namespace tutti::launcher
