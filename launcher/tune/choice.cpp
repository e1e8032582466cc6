// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/tune/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <sstream>

namespace tutti::launcher {
namespace {

constexpr double kWorthwhile = 0.9, kSlower = 1.03;
// Lengths are taken a factor of four apart: what holds at one holds for half of it to twice as much.
constexpr int64_t kShortest = 64, kStep = 4, kReach = 2;

const std::array kCandidates = {
    Candidates{"bcast", {"shared", "binomial"}},
    Candidates{"reduce", {"shared", "binomial"}},
    Candidates{"allreduce", {"shared", "recursive_doubling"}},
    Candidates{"gather", {"shared", "linear"}},
    Candidates{"scatter", {"shared", "linear"}},
    Candidates{"allgather", {"shared", "direct"}},
    Candidates{"alltoall", {"shared", "pairwise"}},
    Candidates{"scan", {"shared", "chain", "shared_chain"}},
    Candidates{"exscan", {"shared", "chain", "shared_chain"}},
    Candidates{"reduce_scatter_block", {"shared", "pairwise"}},
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Of the shipped choice's time, by this key, in each round that has both; empty: none has.
std::vector<double> ratios(const std::vector<Round>& rounds, size_t trial, const std::string& key) {
  std::vector<double> out;
  for (const Round& round : rounds) {
    if (trial >= round.trials.size()) continue;
    const auto shipped = round.shipped.find(key), other = round.trials[trial].find(key);
    if (shipped != round.shipped.end() && other != round.trials[trial].end())
      out.push_back(other->second / shipped->second);
  }
  return out;
}

// The mean ratio over placements and modes of what `name` of so many bytes takes, if it is slower at none.
std::optional<double> gain(const std::vector<std::vector<Round>>& placements, size_t trial, std::string_view name,
                           int64_t bytes) {
  double logarithms = 0;
  int count = 0;
  for (const std::vector<Round>& rounds : placements) {
    for (const std::string_view mode : {"reused", "fresh"}) {
      const std::vector<double> all = ratios(rounds, trial, fmt::format("{} {} {}", name, bytes, mode));
      if (all.empty()) continue;
      const double usual = median(all);
      if (usual > kSlower) return std::nullopt;
      logarithms += std::log(usual);
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return std::exp(logarithms / count);
}

bool was_taken(const std::vector<std::vector<Round>>& placements, std::string_view name, int64_t bytes) {
  const std::string key = fmt::format("{} {} reused", name, bytes);
  return std::ranges::any_of(placements, [&](const std::vector<Round>& rounds) {
    return std::ranges::any_of(rounds, [&](const Round& round) { return round.shipped.contains(key); });
  });
}

std::string number(int64_t bytes) {
  constexpr int64_t kKilo = 1 << 10, kMega = 1 << 20;
  if (bytes % kMega == 0) return fmt::format("{}m", bytes / kMega);
  if (bytes % kKilo == 0) return fmt::format("{}k", bytes / kKilo);
  return fmt::format("{}", bytes);
}

}  // namespace

std::span<const Candidates> candidates() {
  return kCandidates;
}

Times times_of(std::string_view printed) {
  Times out;
  std::istringstream lines{std::string(printed)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark, name, bytes, mode;
    double seconds = 0;
    if (words >> mark >> name >> bytes >> mode >> seconds && mark == "tune:" && seconds > 0)
      out[fmt::format("{} {} {}", name, bytes, mode)] = seconds;
  }
  return out;
}

std::string rules_of_trial(size_t place) {
  std::string out;
  for (const Candidates& each : kCandidates)
    if (place < each.algorithms.size())
      out += fmt::format("{}{} shared=yes {}", out.empty() ? "" : "; ", each.collective, each.algorithms[place]);
  return out;
}

std::vector<TunedRule> worthwhile(const std::vector<std::vector<Round>>& placements) {
  std::vector<TunedRule> rules;
  for (const Candidates& each : kCandidates) {
    for (int64_t bytes = kShortest; was_taken(placements, each.collective, bytes); bytes *= kStep) {
      size_t best = each.algorithms.size();
      double least = kWorthwhile;
      for (size_t trial = 0; trial < each.algorithms.size(); ++trial) {
        const std::optional<double> ratio = gain(placements, trial, each.collective, bytes);
        if (!ratio || *ratio > least) continue;
        least = *ratio;
        best = trial;
      }
      if (best == each.algorithms.size()) continue;
      const int64_t above = bytes == kShortest ? 0 : bytes / kReach;
      const std::string algorithm(each.algorithms[best]);
      const bool goes_on = !rules.empty() && rules.back().collective == each.collective &&
                           rules.back().algorithm == algorithm && rules.back().up_to == above;
      if (goes_on) {
        rules.back().up_to = bytes * kReach;
        rules.back().ratio = std::max(rules.back().ratio, least);
      } else {
        rules.push_back({std::string(each.collective), algorithm, above, bytes * kReach, least});
      }
    }
  }
  return rules;
}

// Where MPI_Reduce_scatter has as much from each it is what the other one is.
std::string override_of(const std::vector<TunedRule>& rules) {
  std::string out;
  const auto add = [&](std::string_view collective, const TunedRule& rule) {
    out += fmt::format("{}{} shared=yes ranks=2{} bytes<={} {}", out.empty() ? "" : "; ", collective,
                       rule.above > 0 ? fmt::format(" bytes>{}", number(rule.above)) : "", number(rule.up_to),
                       rule.algorithm);
  };
  for (const TunedRule& rule : rules) {
    add(rule.collective, rule);
    if (rule.collective == "reduce_scatter_block") add("reduce_scatter", rule);
  }
  return out;
}

WithoutReading without_reading(const std::vector<std::vector<Round>>& placements) {
  double logarithms = 0;
  int count = 0;
  for (const std::string_view name : {"message", "exchange", "stream"}) {
    for (int64_t bytes = 64 << 10; was_taken(placements, name, bytes); bytes *= kStep) {
      const std::optional<double> ratio = gain(placements, 0, name, bytes);
      if (!ratio) return {};
      logarithms += std::log(*ratio);
      ++count;
    }
  }
  if (count == 0) return {};
  const double ratio = std::exp(logarithms / count);
  return {ratio, ratio <= kWorthwhile};
}

}  // namespace tutti::launcher
