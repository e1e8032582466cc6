// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_page.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/bytes_text.hpp"
#include "base/os/source_place.hpp"
#include "base/printable.hpp"
#include "launcher/profile/profile_sums.hpp"

namespace tutti::launcher {
namespace {

constexpr size_t kMostPlaces = 12;
constexpr const char* kWhy[kWaitKinds] = {"late sender",
                                          "late receiver",
                                          "a lock that is held",
                                          "progress elsewhere",
                                          "up to the end of the job",
                                          "asked again and again",
                                          "late to it",
                                          "at a file"};

double seconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}
double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}
std::string span_text(double nanoseconds) {
  if (nanoseconds >= 1e9) return fmt::format("{:.2f} s", nanoseconds / 1e9);
  if (nanoseconds >= 1e6) return fmt::format("{:.1f} ms", nanoseconds / 1e6);
  return fmt::format("{:.1f} us", nanoseconds / 1e3);
}

// min, median and max of what ranks have, and which.
template <class Value>
std::string spread(const std::vector<RankSums>& ranks, const char* name, Value value, int64_t whole) {
  std::vector<std::pair<int64_t, int>> all;
  int64_t sum = 0;
  for (const RankSums& rank : ranks) {
    all.emplace_back(value(rank), rank.rank);
    sum += all.back().first;
  }
  std::ranges::sort(all);
  const auto one = [](const std::pair<int64_t, int>& each) {
    return fmt::format("{:9.3f}{:<9}", seconds(each.first), fmt::format(" ({})", each.second));
  };
  return fmt::format("  {:12}{}{:9.3f}  {}{:5.1f} %\n", name, one(all.front()),
                     seconds(all[(all.size() - 1) / 2].first), one(all.back()),
                     percent(static_cast<double>(sum), static_cast<double>(whole)));
}

template <class Value>
std::pair<int, Value> most(const std::map<int, Value>& by_rank) {
  std::pair<int, Value> found{-1, 0};
  for (const auto& [rank, value] : by_rank)
    if (value > found.second) found = {rank, value};
  return found;
}

std::string places_text(const ProfileSums& sums, int64_t whole) {
  std::string out = "\n      calls   seconds   waiting  where, and for whom most of it\n";
  for (size_t i = 0; i < std::min(sums.places.size(), kMostPlaces); ++i) {
    const PlaceSums& place = sums.places[i];
    out += fmt::format("  {:9} {:9.3f} {:9.3f}  {} at {}{}\n", place.calls, seconds(place.time),
                       seconds(std::min(place.all_waited(), place.time)), place.function, place.place,
                       place.region.empty() ? "" : fmt::format(" [{}]", place.region));
    if (const std::string why = place_reason(place, whole); !why.empty()) out += fmt::format("{:33}{}\n", "", why);
  }
  if (sums.places.size() > kMostPlaces) out += fmt::format("  and {} other places\n", sums.places.size() - kMostPlaces);
  return out;
}

// By length, in steps that a reader keeps in mind.
std::string messages_text(const ProfileSums& sums) {
  struct Step {
    const char* name;
    size_t up_to;  // of profile::Size's places
  };
  constexpr Step kSteps[] = {{"up to 63 B", 6}, {"to 4 KiB", 12}, {"to 64 KiB", 16}, {"to 1 MiB", 20}, {"longer", 64}};
  uint64_t all = 0, bytes = 0;
  std::string parts;
  size_t at = 0;
  for (const Step& step : kSteps) {
    uint64_t messages = 0, of = 0;
    for (; at < sums.sent.size() && at <= step.up_to; ++at) messages += sums.sent[at], of += sums.sent_bytes[at];
    all += messages, bytes += of;
    if (messages > 0)
      parts += fmt::format("{}{} {} ({})", parts.empty() ? "" : ", ", step.name, messages,
                           bytes_text(static_cast<double>(of)));
  }
  if (all == 0) return "";
  return fmt::format("\nmessages sent: {}, {}: {}\n", all, bytes_text(static_cast<double>(bytes)), parts);
}

// "by ranks 0 and 4", or how many they are.
std::string ranks_text(const std::vector<int>& ranks, size_t all) {
  if (ranks.size() == all) return all == 1 ? "" : ", by all ranks";
  if (ranks.size() > 4) return fmt::format(", by {} of {} ranks", ranks.size(), all);
  std::string out = ranks.size() == 1 ? ", by rank " : ", by ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  return out;
}

std::string file_use_text(const char* name, const FileSums& use, const ProfileSums& sums) {
  if (use.pieces == 0) return "";
  std::string out =
      fmt::format("  {:<9} {} in {} pieces of {}, {:.3f} s{}", name, bytes_text(static_cast<double>(use.bytes)),
                  use.pieces, bytes_text(static_cast<double>(use.bytes) / static_cast<double>(use.pieces)),
                  seconds(use.time), ranks_text(use.ranks, sums.ranks.size()));
  if (sums.file_unit > 0 && use.unaligned > 0)
    out += fmt::format("; {:.0f} % begin or end within a block of {}",
                       percent(static_cast<double>(use.unaligned), static_cast<double>(use.pieces)),
                       bytes_text(static_cast<double>(sums.file_unit)));
  return out + "\n";
}

std::string files_text(const ProfileSums& sums, int64_t whole) {
  uint64_t calls = 0, bytes = 0;
  int64_t time = 0, waited = 0;
  for (const PlaceSums& place : sums.places)
    if (place.function.starts_with("MPI_File_")) calls += place.calls, bytes += place.bytes, time += place.time;
  if (calls == 0) return "";
  std::string out = fmt::format("files: {} in {} calls, which took {:.3f} s\n", bytes_text(static_cast<double>(bytes)),
                                calls, seconds(time));
  out += file_use_text("read", sums.read, sums) + file_use_text("written", sums.written, sums);
  for (const RankSums& rank : sums.ranks) waited += rank.for_files;
  if (waited * 1000 < whole || waited == 0) return out;
  const auto longest = std::ranges::max_element(sums.ranks, {}, &RankSums::for_files);
  return out + fmt::format("  waited    {:.3f} s for ranks that were at a file, of which rank {} {:.3f} s\n",
                           seconds(waited), longest->rank, seconds(longest->for_files));
}

// What was hidden behind computing of operations that do not block, and what could have been at most: no more than there
// was computing left. Nothing where there were hardly any.
std::string overlap_text(const ProfileSums& sums, int64_t whole) {
  int64_t hidden = 0, exposed = 0, possible = 0;
  for (const RankSums& rank : sums.ranks) {
    hidden += rank.overlapped, exposed += rank.exposed;
    possible += std::min(rank.exposed, std::max<int64_t>(0, rank.computing() - rank.overlapped));
  }
  if ((hidden + exposed) * 100 < whole) return "";
  return fmt::format(
      "overlap: with operations under way that do not block, ranks computed for {:.3f} s ({:.0f} %) and were in MPI "
      "for "
      "{:.3f} s,\n         of which {:.3f} s at most could be hidden behind other computing\n",
      seconds(hidden), percent(static_cast<double>(hidden), static_cast<double>(hidden + exposed)), seconds(exposed),
      seconds(possible));
}

int64_t median_computing(std::vector<RankSums> ranks) {
  std::ranges::sort(ranks, {}, &RankSums::computing);
  return ranks[(ranks.size() - 1) / 2].computing();
}

}  // namespace

namespace {

// Of how many collectives somebody can be the last one: of all, or of those that waited for somebody at a file.
uint64_t compared_as(const PlaceSums& place, size_t kind) {
  if (kind != kAtFile) return place.compared;
  uint64_t all = 0;
  for (const auto& [rank, times] : place.at_file.last) all += times;
  return all;
}

}  // namespace

std::string wait_kind_text(size_t kind) {
  return kind < kWaitKinds ? kWhy[kind] : "";
}

std::string place_reason(const PlaceSums& place, int64_t whole) {
  const auto* const longest = std::ranges::max_element(place.waited);
  if (*longest <= 0 || place.all_waited() * 50 < place.time || place.all_waited() * 1000 < whole) return "";
  const auto kind = static_cast<size_t>(longest - place.waited);
  std::string text = kWhy[kind];
  if (kind == kLateToCollective || kind == kAtFile) {
    const Latecomers& latecomers = place.latecomers(kind);
    const int rank = most(latecomers.late_by).first;
    if (rank < 0) return text;
    const uint64_t times = latecomers.last.at(rank);
    return fmt::format("{}: rank {} is last in {:.0f} %, by {}", text, rank,
                       percent(static_cast<double>(times), static_cast<double>(compared_as(place, kind))),
                       span_text(static_cast<double>(latecomers.late_by.at(rank)) / static_cast<double>(times)));
  }
  const auto [rank, time] = most(place.blamed[kind]);
  if (rank < 0) return text;
  return fmt::format("{}: rank {}, {:.0f} %", text, rank,
                     std::min(100.0, percent(static_cast<double>(time), static_cast<double>(*longest))));
}

namespace {

// Pieces of fewer bytes cost more to ask for than to move.
constexpr uint64_t kSmallPiece = 16 << 10;

// What would make the pieces of a place larger; nothing where nothing is known that would.
std::string advice_for_pieces(const std::string& function) {
  for (const std::string_view alone : {"MPI_File_read", "MPI_File_write", "MPI_File_read_at", "MPI_File_write_at"})
    if (function == alone) return fmt::format("{}_all brings those of all ranks together", function);
  if (function.ends_with("_all"))
    return "with the hint collective_buffering=true a few ranks bring those of all together";
  return "";
}

// Of the place that was longest at files, if that is a twentieth of all, and more than `least`.
std::string file_hint(const ProfileSums& sums, int64_t whole, int64_t least) {
  if (sums.places.empty()) return "";
  const PlaceSums& place =
      *std::ranges::max_element(sums.places, {}, [](const PlaceSums& each) { return each.file.time; });
  const FileSums& file = place.file;
  if (file.time * 20 < whole || file.time <= least || file.bytes == 0) return "";
  const uint64_t mean = file.bytes / file.pieces;
  const std::string what =
      fmt::format("{} at {} moves pieces of {}", place.function, place.place, bytes_text(static_cast<double>(mean)));
  const std::string advice = mean < kSmallPiece ? advice_for_pieces(place.function) : "";
  if (!advice.empty()) return fmt::format("{}: {}", what, advice);
  if (file.unaligned * 2 > file.pieces && mean < 16 * sums.file_unit)
    return fmt::format("{}, of which {:.0f} % begin or end within a block of {}", what,
                       percent(static_cast<double>(file.unaligned), static_cast<double>(file.pieces)),
                       bytes_text(static_cast<double>(sums.file_unit)));
  return "";
}

// Whether it is the one rank that others wait for: an imbalance that moves has no culprit.
bool stands_out(const Latecomers& latecomers, int rank) {
  int64_t all = 0;
  for (const auto& [each, late] : latecomers.late_by) all += late;
  return latecomers.late_by.at(rank) * 2 >= all;
}

}  // namespace

std::string profile_hint(const ProfileSums& sums) {
  int64_t whole = 0;
  for (const RankSums& rank : sums.ranks) whole += rank.whole;
  const PlaceSums* worst = nullptr;
  for (const PlaceSums& place : sums.places)
    if (!worst || place.all_waited() > worst->all_waited()) worst = &place;
  if (std::string hint = file_hint(sums, whole, worst ? worst->all_waited() : 0); !hint.empty()) return hint;
  if (!worst || worst->all_waited() * 20 < whole) return "";  // less than a twentieth of all
  const auto* const longest = std::ranges::max_element(worst->waited);
  const auto kind = static_cast<size_t>(longest - worst->waited);
  const bool of_collective = kind == kLateToCollective || kind == kAtFile;
  const Latecomers& latecomers = worst->latecomers(kind);
  const int rank = of_collective ? most(latecomers.late_by).first : most(worst->blamed[kind]).first;
  if (rank < 0) return "";
  if (kind == kAtFile)
    return fmt::format("rank {} is at a file while others wait for it in {} at {}", rank, worst->function,
                       worst->place);
  const double share =
      of_collective ? percent(static_cast<double>(latecomers.last.at(rank)), static_cast<double>(worst->compared)) : 0;
  if (of_collective && !stands_out(latecomers, rank))
    return fmt::format("who comes last to the calls of {} at {} changes (rank {} in {:.0f} %)", worst->function,
                       worst->place, rank, share);
  std::string text =
      of_collective ? fmt::format("rank {} comes last to {:.0f} % of the calls of {} at {}", rank, share,
                                  worst->function, worst->place)
                    : fmt::format("{} at {} waits for rank {} ({})", worst->function, worst->place, rank, kWhy[kind]);
  const auto named = std::ranges::find(sums.ranks, rank, &RankSums::rank);
  const int64_t median = median_computing(sums.ranks);
  if (named != sums.ranks.end() && named->computing() * 10 > median * 12 && median * 20 > named->whole)
    text += fmt::format("; it computes {:.1f} times as long as the median",
                        static_cast<double>(named->computing()) / static_cast<double>(median));
  return text;
}

void find_places(std::vector<RankProfile>& ranks) {
  std::map<std::pair<std::string, uint64_t>, std::string> places;
  for (const RankProfile& rank : ranks)
    for (const ProfileSite& site : rank.sites) places.try_emplace({site.module, site.offset});
  std::vector<CodeAddress> addresses;
  for (const auto& [address, place] : places) addresses.push_back({address.first, address.second});
  const std::vector<std::string> found = source_places(addresses);
  size_t next = 0;
  for (auto& [address, place] : places) place = printable(found[next++]);
  for (RankProfile& rank : ranks)
    for (ProfileSite& site : rank.sites) site.place = places[{site.module, site.offset}];
}

std::string profile_page(const std::vector<RankProfile>& ranks) {
  if (ranks.empty()) return "profile: no rank has left one; it begins in MPI_Init\n";
  const ProfileSums sums = sums_of(ranks);
  const int expected = ranks.front().size;
  int64_t longest = 0, whole = 0;
  for (const RankSums& rank : sums.ranks) longest = std::max(longest, rank.whole), whole += rank.whole;
  std::string out = fmt::format("profile of {}: {} {}, {:.3f} s\n", ranks.front().program, ranks.size(),
                                ranks.size() == 1 ? "rank" : "ranks", seconds(longest));
  if (sums.unended > 0) out += fmt::format("  {} of them did not come to the end of MPI_Finalize\n", sums.unended);
  if (static_cast<int>(ranks.size()) < expected)
    out += fmt::format("  {} of {} ranks have left no profile\n", expected - static_cast<int>(ranks.size()), expected);
  out += "\n  seconds       min (rank)         median      max (rank)      of all\n";
  out += spread(sums.ranks, "computing", [](const RankSums& r) { return r.computing(); }, whole);
  out += spread(sums.ranks, "MPI", [](const RankSums& r) { return r.in_mpi; }, whole);
  out += spread(sums.ranks, "  waiting", [](const RankSums& r) { return r.waiting; }, whole);
  out += places_text(sums, whole);
  out += messages_text(sums);
  out += files_text(sums, whole);
  out += overlap_text(sums, whole);
  if (sums.clock_error >= 0)
    out += fmt::format("clocks of the nodes are compared to {}\n", span_text(static_cast<double>(sums.clock_error)));
  if (sums.unknown_clocks > 0)
    out += fmt::format(
        "clocks of {} node{} cannot be compared: no call or message that is kept tells what their time was\n",
        sums.unknown_clocks, sums.unknown_clocks == 1 ? "" : "s");
  if (sums.lost_sites > 0)
    out += fmt::format("{} calls at places beyond the first ones are told as one\n", sums.lost_sites);
  if (const std::string hint = profile_hint(sums); !hint.empty()) out += fmt::format("\nhint: {}\n", hint);
  return out;
}

}  // namespace tutti::launcher
