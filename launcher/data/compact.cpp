// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/data/compact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tutti::launcher {
namespace {

constexpr size_t kMostDigits = 9;

// "node012.cluster" is "node", "012" and ".cluster": the last number before the first dot counts nodes.
struct Name {
  std::string_view before, digits, after;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Name split(std::string_view name) {
  size_t end = std::min(name.find('.'), name.size());
  while (end > 0 && !is_digit(name[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1]) && end - begin < kMostDigits) --begin;
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

std::optional<uint64_t> number_of(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || digits.size() > kMostDigits || problem != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return value;
}

std::string digits_of(uint64_t value, size_t width) {
  return fmt::format("{:0{}}", value, width);
}

// How many names from `at` on are the first one counted up.
size_t length_of_row(const std::vector<std::string>& names, size_t at, const Name& first) {
  const std::optional<uint64_t> value = number_of(first.digits);
  if (!value) return 1;
  size_t length = 1;
  for (; at + length < names.size(); ++length) {
    const Name next = split(names[at + length]);
    if (next.before != first.before || next.after != first.after ||
        next.digits != digits_of(*value + length, first.digits.size()))
      break;
  }
  return length;
}

bool expand_row(std::string_view part, std::vector<std::string>& out) {
  const size_t open = part.find('['), close = part.find(']'), dash = part.find('-', std::min(open, part.size()));
  if (open == part.npos) return out.emplace_back(part), true;
  if (close == part.npos || dash == part.npos || dash > close) return false;
  const std::string_view first = part.substr(open + 1, dash - open - 1);
  const std::optional<uint64_t> low = number_of(first), high = number_of(part.substr(dash + 1, close - dash - 1));
  if (!low || !high || *high < *low || out.size() + (*high - *low) >= kMostNodes) return false;
  for (uint64_t value = *low; value <= *high; ++value)
    out.push_back(fmt::format("{}{}{}", part.substr(0, open), digits_of(value, first.size()), part.substr(close + 1)));
  return true;
}

}  // namespace

bool has_plain_names(const std::vector<std::string>& names) {
  return std::ranges::all_of(
      names, [](const std::string& name) { return !name.empty() && name.find_first_of(",[]") == name.npos; });
}

std::string compact_names(const std::vector<std::string>& names) {
  std::string out;
  for (size_t at = 0; at < names.size();) {
    const Name first = split(names[at]);
    const size_t length = length_of_row(names, at, first);
    if (!out.empty()) out += ',';
    if (length == 1)
      out += names[at];
    else
      out += fmt::format("{}[{}-{}]{}", first.before, first.digits, split(names[at + length - 1]).digits, first.after);
    at += length;
  }
  return out;
}

std::optional<std::vector<std::string>> expand_names(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma == 0 || !expand_row(text.substr(0, comma), out)) return std::nullopt;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

std::vector<Repeat> compact_numbers(const std::vector<int>& numbers) {
  std::vector<Repeat> out;
  for (const int number : numbers)
    if (!out.empty() && out.back().value == number)
      ++out.back().count;
    else
      out.push_back({1, number});
  return out;
}

std::optional<std::vector<int>> expand_numbers(const std::vector<Repeat>& repeats) {
  std::vector<int> out;
  for (const Repeat& repeat : repeats) {
    if (repeat.count > kMostNodes || out.size() + repeat.count > kMostNodes) return std::nullopt;
    out.insert(out.end(), repeat.count, repeat.value);
  }
  return out;
}

}  // namespace tutti::launcher
