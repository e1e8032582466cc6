// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/timelines.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>

#include "base/cpu.hpp"
#include "base/flight.hpp"
#include "launcher/node/kept_files.hpp"
#include "profile/timeline.hpp"

namespace tutti::launcher {
namespace {

using profile::Page;
using profile::Timeline;

// Of all ranks together.
constexpr size_t kSpansOfAJob = size_t{1} << 19, kMessagesOfAJob = size_t{1} << 19, kPeriodsOfAJob = size_t{1} << 19;

size_t share(size_t of_all, int ranks, size_t least, size_t most) {
  return std::clamp(of_all / static_cast<size_t>(std::max(ranks, 1)), least, most);
}

bool is_sound(const Timeline& timeline, int rank) {
  return std::memcmp(timeline.magic, profile::kTimelineMagic, sizeof timeline.magic) == 0 &&
         timeline.bytes == sizeof(Timeline) && timeline.rank == rank && timeline.period_bits < 60 &&
         timeline.spans <= profile::kSpans && timeline.messages <= profile::kMessages &&
         std::has_single_bit(timeline.every);
}

void add_periods(const Timeline& from, const ProfileClock& clock, int64_t over, int ranks, ProfileTimeline& out) {
  const size_t most = share(kPeriodsOfAJob, ranks, 256, profile::kPeriods);
  size_t count = profile::kPeriods, each = 1;
  for (; count > most; count /= 2) each *= 2;
  out.period = std::max<int64_t>(1, clock.span(uint64_t{each} << from.period_bits));
  // Those behind the rank's end are empty.
  const int64_t lasts = std::max<int64_t>(0, over - clock.at(from.begun));
  count = std::min(count, static_cast<size_t>(lasts / out.period) + 1);
  out.spent.assign(profile::kDoings, std::vector<int64_t>(count));
  for (size_t i = 0; i < count * each; ++i)
    for (size_t k = 0; k < profile::kDoings; ++k) out.spent[k][i / each] += clock.span(from.period[i].ticks[k]);
}

void add_spans(const Timeline& from, const ProfileClock& clock, const std::vector<int>& sites, int ranks,
               ProfileTimeline& out) {
  out.least = clock.span(from.least);
  for (uint32_t i = 0; i < from.spans; ++i) {
    const profile::Span& span = from.span[i];
    if (span.site >= sites.size() || sites[span.site] < 0 || span.over < span.begun) continue;
    out.spans.push_back({.site = sites[span.site],
                         .begun = clock.at(span.begun),
                         .over = clock.at(span.over),
                         .waited = clock.span(span.waited),
                         .waits_to = span.waits_to == 0 ? 0 : clock.at(span.waits_to),
                         .process = span.process,
                         .kind = static_cast<int>(span.kind),
                         .thread = span.thread});
  }
  const auto length = [](const ProfileSpan& span) { return span.over - span.begun; };
  const size_t most = share(kSpansOfAJob, ranks, 256, profile::kSpans);
  if (out.spans.size() > most) {
    std::ranges::nth_element(out.spans, out.spans.begin() + static_cast<ptrdiff_t>(most), std::greater<>(), length);
    out.least = length(out.spans[most]);
    out.spans.resize(most);
  }
  std::ranges::sort(out.spans, {}, &ProfileSpan::begun);
}

uint64_t hash_of(const profile::Message& message, int rank) {
  const int from = message.is_receive ? message.process : rank, to = message.is_receive ? rank : message.process;
  return profile::message_hash(profile::flow_name(from, to, message.context, message.tag), message.number);
}

void add_messages(const Timeline& from, const ProfileClock& clock, int ranks, ProfileTimeline& out) {
  out.every = from.every;
  out.unnamed_messages = from.unnamed_messages;
  const size_t most = share(kMessagesOfAJob, ranks, 256, profile::kMessages);
  const auto kept = [&from, &out] {
    return std::count_if(from.message, from.message + from.messages, [&from, &out](const profile::Message& message) {
      return (hash_of(message, from.rank) & (out.every - 1)) == 0;
    });
  };
  while (static_cast<size_t>(kept()) > most) out.every *= 2;
  for (uint32_t i = 0; i < from.messages; ++i) {
    const profile::Message& message = from.message[i];
    if ((hash_of(message, from.rank) & (out.every - 1)) != 0) continue;
    out.messages.push_back({.is_receive = message.is_receive,
                            .process = message.process,
                            .tag = message.tag,
                            .context = message.context,
                            .number = message.number,
                            .at = clock.at(message.at),
                            .bytes = message.bytes,
                            .thread = message.thread});
  }
}

}  // namespace

ProfileClock::ProfileClock(const Page& page) : begun_(page.begun), begun_nanoseconds_(page.begun_nanoseconds) {
  const bool known = page.seen > page.begun && page.seen_nanoseconds > page.begun_nanoseconds;
  const uint64_t ticks = known ? page.seen : cpu::ticks();
  const auto passed =
      static_cast<double>((known ? page.seen_nanoseconds : flight::nanoseconds()) - page.begun_nanoseconds);
  if (ticks > page.begun && passed > 0) each_ = passed / static_cast<double>(ticks - page.begun);
}

ProfileTimeline read_timeline(const std::string& folder, const Page& page, int64_t over, const ProfileClock& clock,
                              const std::vector<int>& sites) {
  static_assert(std::is_trivially_copyable_v<Timeline>);
  ProfileTimeline out;
  const std::unique_ptr<Timeline> from = kept_file<Timeline>(folder + "/" + profile::timeline_file_name(page.rank));
  if (!from || !is_sound(*from, page.rank)) return out;
  add_periods(*from, clock, over, page.size, out);
  add_spans(*from, clock, sites, page.size, out);
  add_messages(*from, clock, page.size, out);
  out.other_peers_bytes = from->other_peers_bytes;
  for (const profile::Peer& peer : from->peer)
    if (peer.process >= 0) out.peers.push_back({peer.process, peer.messages, peer.bytes});
  std::ranges::sort(out.peers, {}, &ProfilePeer::process);
  return out;
}

}  // namespace tutti::launcher
