// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_trace.hpp"

#include <fmt/core.h>

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

class Trace {
 public:
  explicit Trace(const std::vector<RankProfile>& ranks) : timeline_(job_timeline(ranks)) {}

  std::string operator()() {
    out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    for (size_t r = 0; r < timeline_.ranks.size(); ++r) {
      const TimelineRank& rank = timeline_.ranks[r];
      event(
          "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"tid\":0,\"args\":{{\"name\":\"rank {0} (node "
          "{1})\"}}}}",
          rank.rank, rank.node);
      event("{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{0},\"tid\":0,\"args\":{{\"sort_index\":{0}}}}}",
            rank.rank);
      for (const TimelineSpan& span : rank.spans) add_call(rank, span);
    }
    size_t number = 0;
    for (const TimelineMessage& message : timeline_.messages) add_message(message, ++number);
    return out_ + "\n],\"otherData\":" + about() + "}\n";
  }

 private:
  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    out_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void add_call(const TimelineRank& rank, const TimelineSpan& span) {
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
        "{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"ts\":{},\"dur\":{},\"pid\":{},\"tid\":0,\"args\":{{\"where\":{}{}{"
        "}}}}}",
        json_text(place.function), kind, microseconds(span.begun), microseconds(span.over - span.begun), rank.rank,
        json_text(place.place), region, waits);
  }

  // Bound to the slices that are open at its ends.
  void add_message(const TimelineMessage& message, size_t number) {
    const int from = timeline_.ranks[message.from].rank, to = timeline_.ranks[message.to].rank;
    event(
        "{{\"ph\":\"s\",\"name\":\"message\",\"cat\":\"message\",\"id\":{},\"ts\":{},\"pid\":{},\"tid\":0,\"args\":{{"
        "\"bytes\":{},"
        "\"tag\":{},\"to\":{}}}}}",
        number, microseconds(message.sent), from, message.bytes, message.tag, to);
    event(
        "{{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"message\",\"cat\":\"message\",\"id\":{},\"ts\":{},\"pid\":{},\"tid\":0,"
        "\"args\":{{}}}}",
        number, microseconds(message.received), to);
  }

  std::string about() const {
    return fmt::format(
        "{{\"calls that lasted longer are all here, us\":{},\"of messages one in\":{},\"error of clocks, us\":{}}}",
        microseconds(timeline_.least), timeline_.every,
        timeline_.clock_error < 0 ? "0" : microseconds(timeline_.clock_error));
  }

  const JobTimeline timeline_;
  std::string out_;
  bool is_first_ = true;
};

}  // namespace

std::string profile_trace(const std::vector<RankProfile>& ranks) {
  return Trace(ranks)();
}

}  // namespace tutti::launcher
