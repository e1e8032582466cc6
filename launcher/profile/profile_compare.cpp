// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_compare.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "launcher/profile/profile_sums.hpp"

namespace tutti::launcher {
namespace {

constexpr size_t kFewestBatches = 4;
constexpr double kLeastChange = 0.01;  // of a call's time; less is nothing to act on

using Name = std::tuple<std::string, std::string, std::string>;  // function, place, region
using Places = std::map<Name, PlaceMean>;

struct Spread {
  double mean = 0, error = -1;
};
// Of values that are measured alike: their mean, and how far off it may be; -1: there are too few.
Spread spread_of(const std::vector<double>& values, size_t fewest) {
  Spread out;
  const auto count = static_cast<double>(values.size());
  if (values.empty()) return out;
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < fewest) return out;
  double squares = 0;
  for (const double each : values) squares += (each - out.mean) * (each - out.mean);
  out.error = std::sqrt(squares / (count - 1) / count);
  return out;
}

// Beyond so many standard errors chance comes once in twenty, with so many degrees of freedom (Student's t, both sides).
double quantile(int freedom) {
  constexpr std::array kOf = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31,
                              2.26,  2.23, 2.20, 2.18, 2.16, 2.14, 2.13};
  return freedom < 1 ? kOf[0] : kOf[std::min<size_t>(static_cast<size_t>(freedom), kOf.size()) - 1];
}

Places places_of(const JobProfile& run) {
  Places out;
  for (const PlaceSums& place : sums_of(run).places) {
    PlaceMean& mean = out[{place.function, place.place, place.region}];
    mean.calls = static_cast<double>(place.calls);
    mean.time = static_cast<double>(place.time);
    mean.waiting = static_cast<double>(std::min(place.all_waited(), place.time));
    mean.mean = place.calls > 0 ? mean.time / mean.calls : 0;
    mean.error = 0;
  }
  for (const RankProfile& rank : run) {
    for (const ProfileSite& site : rank.sites) {
      PlaceMean& mean = out[{site.function, site.place, site.region}];
      const Spread spread = spread_of({site.batches.begin(), site.batches.end()}, kFewestBatches);
      if (spread.error < 0 || mean.error < 0 || mean.calls <= 0) {
        mean.error = -1;
        continue;
      }
      mean.error += spread.error * static_cast<double>(site.calls) / mean.calls;
      mean.freedom = std::max(mean.freedom, static_cast<int>(site.batches.size()) - 1);
    }
  }
  return out;
}

Places mean_of(const std::vector<JobProfile>& runs) {
  std::map<Name, std::vector<PlaceMean>> all;
  for (const JobProfile& run : runs)
    for (const auto& [name, mean] : places_of(run)) all[name].push_back(mean);
  Places out;
  const auto count = static_cast<double>(runs.size());
  for (const auto& [name, means] : all) {
    PlaceMean& sum = out[name];
    std::vector<double> each;
    double within = 0;
    for (const PlaceMean& mean : means) {
      sum.calls += mean.calls / count, sum.time += mean.time / count, sum.waiting += mean.waiting / count;
      sum.freedom = std::max(sum.freedom, mean.freedom);
      within = mean.error < 0 || within < 0 ? -1 : within + mean.error;
      each.push_back(mean.mean);
    }
    const Spread between = spread_of(each, 2);
    sum.mean = between.mean;
    sum.error = within < 0 ? -1 : within / static_cast<double>(means.size());
    if (between.error >= sum.error) sum.error = between.error, sum.freedom = static_cast<int>(means.size()) - 1;
  }
  return out;
}

// A place without its line, and the line: "solver.c:61, in step()" is ("solver.c, in step()", 61).
std::pair<std::string, long> without_line(const std::string& place) {
  for (size_t at = place.find(':'); at != place.npos; at = place.find(':', at + 1)) {
    size_t end = at + 1;
    while (end < place.size() && std::isdigit(static_cast<unsigned char>(place[end]))) ++end;
    if (end == at + 1 || (end < place.size() && place[end] != ',')) continue;
    return {place.substr(0, at) + place.substr(end), std::atol(place.c_str() + at + 1)};
  }
  return {place, -1};
}

// Which of `now` each of those that are only `before` has become: the first unknown of its function, file and region is the
// first one there, and so on, where both have equally many.
std::map<Name, Name> moved(const Places& before, const Places& now) {
  using Alike = std::map<Name, std::map<long, Name>>;
  const auto gone = [](const Places& of, const Places& from) {
    Alike out;
    for (const auto& [name, mean] : of) {
      if (from.contains(name)) continue;
      const auto [place, line] = without_line(std::get<1>(name));
      if (line >= 0) out[{std::get<0>(name), place, std::get<2>(name)}][line] = name;
    }
    return out;
  };
  std::map<Name, Name> out;
  Alike left = gone(before, now);
  for (const auto& [alike, lines] : gone(now, before)) {
    const auto old = left.find(alike);
    if (old == left.end() || old->second.size() != lines.size()) continue;
    auto next = lines.begin();
    for (const auto& [line, name] : old->second) out[name] = (next++)->second;
  }
  return out;
}

void judge(PlaceChange& change) {
  const PlaceMean &a = change.before, &b = change.now;
  if (a.calls == 0 || b.calls == 0) {
    change.verdict = a.calls == 0 ? Verdict::only_now : Verdict::only_before;
    return;
  }
  if (a.error < 0 || b.error < 0) {
    change.verdict = Verdict::too_few;
    return;
  }
  change.noise =
      std::max(quantile(std::min(a.freedom, b.freedom)) * std::hypot(a.error, b.error), kLeastChange * a.mean);
  const double difference = b.mean - a.mean;
  change.verdict = std::abs(difference) <= change.noise ? Verdict::noise
                   : difference > 0                     ? Verdict::slower
                                                        : Verdict::faster;
}

// ---- the page

constexpr size_t kMostOfAKind = 8;

double seconds(double nanoseconds) {
  return nanoseconds / 1e9;
}
std::string span_text(double nanoseconds) {
  const double size = std::abs(nanoseconds);
  if (size >= 1e9) return fmt::format("{:.2f} s", nanoseconds / 1e9);
  if (size >= 1e6) return fmt::format("{:.1f} ms", nanoseconds / 1e6);
  return fmt::format("{:.1f} us", nanoseconds / 1e3);
}
std::string percent_text(double before, double now) {
  return before > 0 ? fmt::format(" ({:+.1f} %)", 100 * (now - before) / before) : "";
}

struct Whole {
  double longest = 0, computing = 0, in_mpi = 0, waiting = 0;
  size_t ranks = 0;
};
Whole whole_of(const std::vector<JobProfile>& runs) {
  Whole out;
  const auto count = static_cast<double>(runs.size());
  for (const JobProfile& run : runs) {
    int64_t longest = 0;
    for (const RankSums& rank : sums_of(run).ranks) {
      longest = std::max(longest, rank.whole);
      out.computing += static_cast<double>(rank.computing()) / count;
      out.in_mpi += static_cast<double>(rank.in_mpi) / count;
      out.waiting += static_cast<double>(rank.waiting) / count;
    }
    out.longest += static_cast<double>(longest) / count;
    out.ranks = std::max(out.ranks, run.size());
  }
  return out;
}

std::string head_text(const std::vector<JobProfile>& before, const std::vector<JobProfile>& now) {
  const Whole a = whole_of(before), b = whole_of(now);
  const auto runs = [](size_t count) { return count == 1 ? std::string("one run") : fmt::format("{} runs", count); };
  std::string out =
      fmt::format("{}: {} now, {} before\n\n", now.front().front().program, runs(now.size()), runs(before.size()));
  out += fmt::format("  {:32}{:>9} {:>9}   change\n", "", "before", "now");
  out += fmt::format("  {:32}{:9} {:9}\n", "ranks", a.ranks, b.ranks);
  const auto row = [&out](const char* what, double x, double y) {
    out += fmt::format("  {:32}{:9.3f} {:9.3f}{:+9.3f}{}\n", what, seconds(x), seconds(y), seconds(y - x),
                       percent_text(x, y));
  };
  row("from begin to end, seconds", a.longest, b.longest);
  row("computing, seconds of all ranks", a.computing, b.computing);
  row("MPI", a.in_mpi, b.in_mpi);
  row("  waiting", a.waiting, b.waiting);
  return out;
}

std::string change_text(const PlaceChange& change) {
  std::string out = fmt::format("  {:9.3f} {:9.3f}{:+9.3f}  {} at {}{}\n", seconds(change.before.time),
                                seconds(change.now.time), seconds(change.change()), change.function, change.place,
                                change.region.empty() ? "" : fmt::format(" [{}]", change.region));
  if (change.before.calls == 0 || change.now.calls == 0) return out;
  out += fmt::format("{:33}a call {} -> {}", "", span_text(change.before.mean), span_text(change.now.mean));
  if (change.verdict == Verdict::slower || change.verdict == Verdict::faster)
    out += fmt::format(", noise {}", span_text(change.noise));
  if (std::abs(change.now.calls - change.before.calls) > 0.5)
    out += fmt::format("; calls {:.0f} -> {:.0f}", change.before.calls, change.now.calls);
  if (const double waits = change.now.waiting - change.before.waiting; std::abs(waits) * 10 > std::abs(change.change()))
    out += fmt::format("; of the change waiting: {:+.3f} s", seconds(waits));
  return out + "\n";
}

std::string kind_text(const std::vector<PlaceChange>& changes, Verdict verdict, const char* title) {
  std::string out;
  size_t met = 0;
  double rest = 0;
  for (const PlaceChange& each : changes) {
    if (each.verdict != verdict) continue;
    if (met++ < kMostOfAKind)
      out += change_text(each);
    else
      rest += each.change();
  }
  if (met == 0) return "";
  if (met > kMostOfAKind) out += fmt::format("  and {} others: {:+.3f} s\n", met - kMostOfAKind, seconds(rest));
  return fmt::format("\n{}\n{}", title, out);
}

}  // namespace

std::vector<PlaceChange> changes_of(const std::vector<JobProfile>& before, const std::vector<JobProfile>& now) {
  Places old = mean_of(before);
  const Places current = mean_of(now);
  for (const auto& [from, to] : moved(old, current)) {
    auto node = old.extract(from);
    node.key() = to;
    old.insert(std::move(node));
  }
  std::map<Name, PlaceChange> all;
  for (const auto& [name, mean] : old) all[name].before = mean;
  for (const auto& [name, mean] : current) all[name].now = mean;
  std::vector<PlaceChange> out;
  for (auto& [name, change] : all) {
    std::tie(change.function, change.place, change.region) = name;
    judge(change);
    out.push_back(std::move(change));
  }
  std::ranges::stable_sort(
      out, [](const PlaceChange& a, const PlaceChange& b) { return std::abs(a.change()) > std::abs(b.change()); });
  return out;
}

std::string comparison_page(const std::vector<JobProfile>& before, const std::vector<JobProfile>& now) {
  const std::vector<PlaceChange> changes = changes_of(before, now);
  std::string out = head_text(before, now);
  out += fmt::format("\n  {:>9} {:>9} {:>8}  seconds of all ranks, and where\n", "before", "now", "change");
  const size_t begun = out.size();
  out += kind_text(changes, Verdict::slower, "slower");
  out += kind_text(changes, Verdict::faster, "faster");
  out += kind_text(changes, Verdict::only_now, "only now");
  out += kind_text(changes, Verdict::only_before, "only before");
  out += kind_text(changes, Verdict::too_few, "too few calls to tell a change from noise: compare several runs");
  double noise = 0;
  int places = 0;
  for (const PlaceChange& each : changes)
    if (each.verdict == Verdict::noise) noise += each.change(), ++places;
  if (places > 0)
    out += fmt::format("{}{} {} within noise: {:+.3f} s\n", out.size() == begun ? "" : "\n", places,
                       places == 1 ? "place is" : "places are", seconds(noise));
  return out;
}

}  // namespace tutti::launcher
