// SPDX-License-Identifier: BSD-3-Clause
#include "model/costs_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/nearest.hpp"
#include "mpi.h"

namespace tutti::model {
namespace {

enum class MeasuredIn : uint8_t { microseconds, gigabytes_a_second, bytes };
constexpr std::string_view kUnits[] = {"us", "GB/s", "B"};  // by MeasuredIn

struct Name {
  std::string_view name;
  MeasuredIn unit;
  double Costs::* seconds;  // of an event, or of a byte
  int64_t Costs::* bytes;
};
constexpr Name kNames[] = {
    {"latency", MeasuredIn::microseconds, &Costs::latency, nullptr},
    {"overhead", MeasuredIn::microseconds, &Costs::overhead, nullptr},
    {"bandwidth", MeasuredIn::gigabytes_a_second, &Costs::per_byte, nullptr},
    {"eager", MeasuredIn::bytes, nullptr, &Costs::eager},
    {"flag", MeasuredIn::microseconds, &Costs::flag, nullptr},
    {"look", MeasuredIn::microseconds, &Costs::look, nullptr},
    {"copy", MeasuredIn::gigabytes_a_second, &Costs::copied_byte, nullptr},
    {"read", MeasuredIn::gigabytes_a_second, &Costs::read_byte, nullptr},
    {"local_overhead", MeasuredIn::microseconds, &Costs::local_overhead, nullptr},
    {"local_latency", MeasuredIn::microseconds, &Costs::local_latency, nullptr},
    {"local_read", MeasuredIn::bytes, nullptr, &Costs::local_read},
    {"step", MeasuredIn::microseconds, &Costs::step, nullptr},
};

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.empty()) return words;
    words.push_back(line.substr(0, line.find_first_of(kBlanks)));
    line.remove_prefix(words.back().size());
  }
}

Error take(const Name& name, std::string_view number, Costs& costs) {
  double value = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  constexpr double kMost = 1e12;
  const double least = name.unit == MeasuredIn::gigabytes_a_second ? 1e-6 : 0;
  if (problem != std::errc() || end != number.data() + number.size() || !(value >= least && value <= kMost))
    return failure(MPI_ERR_ARG, "{} wants a number from {} to {}, not '{}'", name.name, least, kMost, number);
  if (name.unit == MeasuredIn::bytes)
    costs.*name.bytes = static_cast<int64_t>(value);
  else
    costs.*name.seconds = name.unit == MeasuredIn::microseconds ? value * 1e-6 : 1e-9 / value;
  return {};
}

}  // namespace

Result<Costs> costs_of_text(std::string_view text) {
  Costs costs;
  std::set<std::string_view> given;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    const auto* const name = std::ranges::find(kNames, words[0], &Name::name);
    if (name == std::end(kNames)) {
      std::vector<std::string_view> names;
      for (const Name& each : kNames) names.push_back(each.name);
      return failure(MPI_ERR_ARG, "line {}: there is no cost '{}'{}", number, words[0], did_you_mean(words[0], names));
    }
    if (!given.insert(name->name).second) return failure(MPI_ERR_ARG, "line {}: {} is given twice", number, words[0]);
    const std::string_view unit = kUnits[static_cast<size_t>(name->unit)];
    if (words.size() != 3 || words[2] != unit)
      return failure(MPI_ERR_ARG, "line {}: {} wants a number and {}", number, words[0], unit);
    if (Error e = take(*name, words[1], costs)) return std::move(e).within(fmt::format("line {}", number));
  }
  return costs;
}

}  // namespace tutti::model
