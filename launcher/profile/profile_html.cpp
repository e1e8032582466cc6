// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_html.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "launcher/data/json_text.hpp"
#include "launcher/profile/base64.hpp"
#include "launcher/profile/job_timeline.hpp"
#include "launcher/profile/profile_page.hpp"
#include "launcher/profile/profile_sums.hpp"
#include "view_text.hpp"

namespace tutti::launcher {
namespace {

// Together some 15 MB of numbers, and a third more as text.
constexpr size_t kMostSpans = 260'000, kMostMessages = 110'000, kMostMeetingEntries = 220'000, kMostPathPieces = 50'000;
constexpr size_t kMostPeriodBytes = 3'500'000, kMostPeriods = 2048, kFewestPeriods = 64, kMostMatrixSide = 256;
constexpr size_t kParts = 5;  // computing, and profile::Doing in the order in which the page has them
constexpr uint16_t kNoProcess = 0xffff;

// Columns of a table, each a list of numbers of one kind.
class Table {
 public:
  template <class T>
  void add(std::string_view name, std::string_view kind, const std::vector<T>& values) {
    const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    out_ += fmt::format("{}\"{}\":[\"{}\",\"{}\"]", out_.empty() ? "" : ",", name, kind, base64(bytes));
  }
  std::string text() const { return "{" + out_ + "}"; }

 private:
  std::string out_;
};

std::string numbers(const std::vector<uint64_t>& values) {
  std::string out;
  for (const uint64_t each : values) out += fmt::format("{}{}", out.empty() ? "" : ",", each);
  return "[" + out + "]";
}

class Page {
 public:
  explicit Page(const std::vector<RankProfile>& ranks)
      : ranks_(ranks), sums_(sums_of(ranks)), timeline_(job_timeline(ranks)) {
    for (const RankSums& rank : sums_.ranks) whole_ += rank.whole, longest_ = std::max(longest_, rank.whole);
    length_ = std::max<int64_t>(1, timeline_.ranks.empty() ? longest_ : timeline_.length);
    unit_ = std::max<int64_t>(1, length_ / (int64_t{1} << 31));
  }

  std::string operator()() {
    number_places();
    const std::string text = profile_page(ranks_), hint = profile_hint(sums_);
    std::string out = fmt::format(
        "{{\"version\":1,\"program\":{},\"size\":{},\"length\":{},\"unit\":{},\"clock_error\":{},"
        "\"unknown_clocks\":{},\"text\":{},\"hint\":{},\"about\":{}",
        json_text(ranks_.front().program), ranks_.front().size, length_, unit_, sums_.clock_error, sums_.unknown_clocks,
        json_text(text, "\n"), json_text(hint), json_text(about()));
    out += ",\"spans\":" + spans() + ",\"periods\":" + periods() + ",\"messages\":" + messages();
    out += ",\"meetings\":" + meetings() + ",\"path\":" + path() + matrix() + lists();
    out += fmt::format(",\"periods_each\":{},\"least\":{},\"every\":{},\"unnamed\":{}}}", periods_, least_, every_,
                       timeline_.unnamed_messages);
    return out;
  }

 private:
  using Name = std::tuple<std::string, std::string, std::string>;

  uint32_t time(int64_t nanoseconds) const {
    return static_cast<uint32_t>(std::clamp<int64_t>(nanoseconds, 0, length_) / unit_);
  }

  // The page has places in the order of the text; those of calls that it does not have come behind them.
  void number_places() {
    for (const PlaceSums& place : sums_.places)
      places_.try_emplace({place.function, place.place, place.region}, places_.size());
    for (const TimelinePlace& place : timeline_.places) {
      const Name name{place.function, place.place, place.region};
      if (places_.try_emplace(name, places_.size()).second)
        sums_.places.push_back({place.function, place.place, place.region});
      place_of_.push_back(static_cast<uint16_t>(std::min<size_t>(places_[name], 0xffff)));
    }
    is_collective_.resize(places_.size());
    for (const RankProfile& rank : ranks_)
      for (const ProfileSite& site : rank.sites)
        if (site.collectives > 0) is_collective_[places_[{site.function, site.place, site.region}]] = 1;
  }

  std::string about() const {
    std::string out = fmt::format("By mpirun --profile of Tutti {}. ", TUTTI_VERSION);
    const auto missing = ranks_.front().size - static_cast<int>(ranks_.size());
    if (missing > 0) out += fmt::format("{} ranks have left no profile. ", missing);
    if (sums_.unended > 0) out += fmt::format("{} ranks did not come to the end of MPI_Finalize. ", sums_.unended);
    if (timeline_.ranks.empty()) out += "There is no timeline.";
    return out;
  }

  std::string spans() {
    least_ = timeline_.least;
    std::vector<int64_t> lengths;
    for (const TimelineRank& rank : timeline_.ranks)
      for (const TimelineSpan& span : rank.spans) lengths.push_back(span.over - span.begun);
    int64_t limit = -1;
    if (lengths.size() > kMostSpans) {
      std::ranges::nth_element(lengths, lengths.begin() + kMostSpans, std::greater<>());
      limit = lengths[kMostSpans];
      least_ = std::max(least_, limit);
    }
    std::vector<uint32_t> offset{0}, begun, took, waited;
    std::vector<uint16_t> place, process;
    std::vector<uint8_t> kind, is_collective;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      for (const TimelineSpan& span :
           r < timeline_.ranks.size() ? timeline_.ranks[r].spans : std::vector<TimelineSpan>()) {
        if (span.over - span.begun <= limit) continue;
        begun.push_back(time(span.begun)), took.push_back(time(span.over) - time(span.begun));
        waited.push_back(time(std::min(span.waited, span.over - span.begun)));
        place.push_back(place_of_[static_cast<size_t>(span.place)]);
        process.push_back(span.process < 0 ? kNoProcess : static_cast<uint16_t>(std::min(span.process, 0xfffe)));
        kind.push_back(static_cast<uint8_t>(span.kind)), is_collective.push_back(is_collective_[place.back()]);
      }
      offset.push_back(static_cast<uint32_t>(begun.size()));
    }
    Table out;
    out.add("offset", "u32", offset), out.add("begun", "u32", begun), out.add("took", "u32", took);
    out.add("waited", "u32", waited), out.add("place", "u16", place), out.add("process", "u16", process);
    out.add("kind", "u8", kind), out.add("isCollective", "u8", is_collective);
    return out.text();
  }

  // Of each rank and period a byte for each of the parts.
  std::string periods() {
    periods_ = std::clamp(kMostPeriodBytes / (kParts * ranks_.size()), kFewestPeriods, kMostPeriods);
    std::vector<uint8_t> spent(ranks_.size() * periods_ * kParts);
    const double each = static_cast<double>(length_) / static_cast<double>(periods_);
    for (size_t r = 0; r < timeline_.ranks.size(); ++r) {
      const TimelineRank& rank = timeline_.ranks[r];
      std::vector<double> sums(periods_ * kParts);
      for (size_t i = 0; rank.period > 0 && i < rank.spent[0].size(); ++i) add_period(rank, i, each, sums);
      for (size_t at = 0; at < periods_; ++at) {
        const double from = std::max(static_cast<double>(at) * each, static_cast<double>(rank.begun));
        const double to = std::min(static_cast<double>(at + 1) * each, static_cast<double>(rank.over));
        double* const parts = &sums[at * kParts];
        const double in_mpi = parts[1] + parts[2] + parts[3] + parts[4];
        parts[0] = std::max(0.0, to - from - in_mpi);
        for (size_t k = 0; k < kParts; ++k)
          spent[(r * periods_ + at) * kParts + k] = static_cast<uint8_t>(std::clamp(parts[k] / each * 255, 0.0, 255.0));
      }
    }
    Table out;
    out.add("spent", "u8", spent);
    return out.text();
  }
  void add_period(const TimelineRank& rank, size_t i, double each, std::vector<double>& sums) const {
    const double from = static_cast<double>(rank.begun + static_cast<int64_t>(i) * rank.period);
    const double to = from + static_cast<double>(rank.period);
    for (auto at = static_cast<size_t>(std::max(0.0, from / each)); at < periods_; ++at) {
      const double part =
          std::min(to, static_cast<double>(at + 1) * each) - std::max(from, static_cast<double>(at) * each);
      if (part <= 0) break;
      for (size_t k = 1; k < kParts; ++k)
        sums[at * kParts + k] += static_cast<double>(rank.spent[k - 1][i]) * part / static_cast<double>(rank.period);
    }
  }

  std::string messages() {
    const size_t all = timeline_.messages.size(), step = (all + kMostMessages - 1) / kMostMessages;
    every_ = timeline_.every * static_cast<uint32_t>(std::max<size_t>(step, 1));
    std::vector<uint16_t> from, to;
    std::vector<uint32_t> sent, received;
    std::vector<float> bytes;
    for (size_t at = 0; at < all; at += step) {
      const TimelineMessage& each = timeline_.messages[at];
      from.push_back(static_cast<uint16_t>(each.from)), to.push_back(static_cast<uint16_t>(each.to));
      sent.push_back(time(each.sent)), received.push_back(time(each.received));
      bytes.push_back(static_cast<float>(each.bytes));
    }
    Table out;
    out.add("from", "u16", from), out.add("to", "u16", to), out.add("sent", "u32", sent);
    out.add("received", "u32", received), out.add("bytes", "f32", bytes);
    return out.text();
  }

  std::string meetings() const {
    std::vector<const Meeting*> chosen;
    for (const Meeting& each : timeline_.meetings) chosen.push_back(&each);
    std::ranges::sort(chosen, std::greater<>(), [](const Meeting* m) { return m->last().entered - m->middle(); });
    size_t entries = 0, count = 0;
    while (count < chosen.size() && (entries += chosen[count]->entries.size()) <= kMostMeetingEntries) ++count;
    chosen.resize(count);
    std::ranges::sort(chosen, {}, [](const Meeting* m) { return m->entries.front().entered; });
    std::vector<uint32_t> offset{0}, entered, left;
    std::vector<uint16_t> rank;
    for (const Meeting* each : chosen) {
      for (const Meeting::Entry& entry : each->entries) {
        rank.push_back(static_cast<uint16_t>(entry.rank));
        entered.push_back(time(entry.entered)), left.push_back(time(entry.left));
      }
      offset.push_back(static_cast<uint32_t>(rank.size()));
    }
    Table out;
    out.add("offset", "u32", offset), out.add("rank", "u16", rank);
    out.add("entered", "u32", entered), out.add("left", "u32", left);
    return out.text();
  }

  // Of a long path pieces of one rank and call that stand side by side are one, and what is short goes with its neighbour.
  std::string path() const {
    std::vector<PathPiece> pieces = critical_path(timeline_);
    for (int64_t least = 1; pieces.size() > kMostPathPieces; least = std::max(least * 2, length_ / 1'000'000)) {
      std::vector<PathPiece> fewer;
      for (const PathPiece& each : pieces) {
        const bool joins = !fewer.empty() && fewer.back().rank == each.rank &&
                           (fewer.back().place == each.place || each.to - each.from < least);
        joins ? void(fewer.back().to = each.to) : fewer.push_back(each);
      }
      pieces = std::move(fewer);
      if (least > length_) break;
    }
    std::vector<uint16_t> rank;
    std::vector<uint32_t> from, to;
    std::vector<int32_t> place;
    for (const PathPiece& each : pieces) {
      rank.push_back(static_cast<uint16_t>(each.rank));
      from.push_back(time(each.from)), to.push_back(time(each.to));
      place.push_back(each.place < 0 ? -1 : place_of_[static_cast<size_t>(each.place)]);
    }
    Table out;
    out.add("rank", "u16", rank), out.add("from", "u32", from), out.add("to", "u32", to),
        out.add("place", "i32", place);
    return out.text();
  }

  std::string matrix() const {
    const auto size = static_cast<size_t>(std::max(1, ranks_.front().size));
    const size_t each = (size + kMostMatrixSide - 1) / kMostMatrixSide, side = (size + each - 1) / each;
    std::vector<float> bytes(side * side), messages(side * side);
    uint64_t others = 0;
    for (const RankProfile& rank : ranks_) {
      others += rank.timeline.other_peers_bytes;
      for (const ProfilePeer& peer : rank.timeline.peers) {
        if (peer.process < 0 || static_cast<size_t>(peer.process) >= size) continue;
        const size_t at = static_cast<size_t>(rank.rank) / each * side + static_cast<size_t>(peer.process) / each;
        bytes[at] += static_cast<float>(peer.bytes), messages[at] += static_cast<float>(peer.messages);
      }
    }
    Table out;
    out.add("bytes", "f32", bytes), out.add("messages", "f32", messages);
    return fmt::format(",\"matrix\":{},\"matrix_each\":{{\"count\":{},\"ranks\":{}}},\"other_bytes\":{}", out.text(),
                       side, each, others);
  }

  std::string lists() const {
    std::string ranks, nodes, begun, over, rank_sums, places, why;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const char* const comma = r == 0 ? "" : ",";
      const RankSums& sums = sums_.ranks[r];
      ranks += fmt::format("{}{}", comma, ranks_[r].rank), nodes += fmt::format("{}{}", comma, ranks_[r].node);
      const bool known = r < timeline_.ranks.size();
      begun += fmt::format("{}{}", comma, known ? time(timeline_.ranks[r].begun) : 0);
      over += fmt::format("{}{}", comma, known ? time(timeline_.ranks[r].over) : 0);
      rank_sums += fmt::format("{}{{\"computing\":{},\"mpi\":{},\"waiting\":{}}}", comma, sums.computing(), sums.in_mpi,
                               sums.waiting);
    }
    std::map<Name, std::vector<uint64_t>> durations;
    for (const RankProfile& rank : ranks_)
      for (const ProfileSite& site : rank.sites) {
        std::vector<uint64_t>& sum = durations[{site.function, site.place, site.region}];
        sum.resize(std::max(sum.size(), site.durations.size()));
        for (size_t i = 0; i < site.durations.size(); ++i) sum[i] += site.durations[i];
      }
    for (const PlaceSums& place : sums_.places)
      places += fmt::format(
          "{}{{\"function\":{},\"place\":{},\"region\":{},\"calls\":{},\"time\":{},\"waited\":{},\"why\":{},"
          "\"durations\":{}}}",
          places.empty() ? "" : ",", json_text(place.function), json_text(place.place), json_text(place.region),
          place.calls, place.time, std::min(place.all_waited(), place.time), json_text(place_reason(place, whole_)),
          numbers(durations[{place.function, place.place, place.region}]));
    for (size_t k = 0; k < kWaitKinds; ++k) why += fmt::format("{}{}", k == 0 ? "" : ",", json_text(wait_kind_text(k)));
    return fmt::format(
        ",\"ranks\":[{}],\"nodes\":[{}],\"begun\":[{}],\"over\":[{}],\"sums\":[{}],\"places\":[{}],\"why\":[{}],"
        "\"lengths\":{}",
        ranks, nodes, begun, over, rank_sums, places, why, numbers(sums_.sent));
  }

  const std::vector<RankProfile>& ranks_;
  ProfileSums sums_;
  const JobTimeline timeline_;
  int64_t whole_ = 0, longest_ = 0, length_ = 1, unit_ = 1, least_ = 0;
  uint32_t every_ = 1;
  size_t periods_ = kFewestPeriods;
  std::map<Name, size_t> places_;
  std::vector<uint16_t> place_of_;      // of the timeline's
  std::vector<uint8_t> is_collective_;  // by place
};

}  // namespace

std::string profile_html(const std::vector<RankProfile>& ranks) {
  return kPageBefore + Page(ranks)() + kPageAfter;
}

}  // namespace tutti::launcher
