// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/data/compact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tutti::launcher {
namespace {

constexpr size_t kMostDigits = 9;
constexpr size_t kMostNumbers = 8;  // of a name that count, the last ones

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "x1000c0s0b0n12.cluster" is "x", "1000", "c", "0", … "n", "12" and ".cluster": numbers before the first dot count nodes.
struct Name {
  std::vector<std::string_view> texts, numbers;  // texts[i] is in front of numbers[i]; one more is behind the last
};

Name split(std::string_view name) {
  Name out;
  const size_t stem = std::min(name.find('.'), name.size());
  size_t behind = name.size();
  for (size_t end = stem; end > 0 && out.numbers.size() < kMostNumbers;) {
    if (!is_digit(name[end - 1])) {
      --end;
      continue;
    }
    size_t begin = end;
    while (begin > 0 && is_digit(name[begin - 1]) && end - begin < kMostDigits) --begin;
    out.texts.push_back(name.substr(end, behind - end));
    out.numbers.push_back(name.substr(begin, end - begin));
    behind = end = begin;
  }
  out.texts.push_back(name.substr(0, behind));
  std::ranges::reverse(out.texts);
  std::ranges::reverse(out.numbers);
  return out;
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

// Names in a row that are the first one with its numbers counted up, each from where it is there, the last number first:
// "n1a1", "n1a2", "n2a1", "n2a2".
struct Block {
  Name first;
  std::vector<size_t> counts;  // of values, for each number
  size_t length = 1;
};

// Whether `name` is `other` with `value` for the number `at`, in as many digits at least as `width`.
bool is_counted_up(const Name& name, const Name& other, size_t at, uint64_t value, size_t width) {
  if (name.texts != other.texts || name.numbers.size() != other.numbers.size()) return false;
  for (size_t i = 0; i < name.numbers.size(); ++i)
    if (i == at ? name.numbers[i] != digits_of(value, width) : name.numbers[i] != other.numbers[i]) return false;
  return true;
}

Block block_at(const std::vector<std::string>& names, size_t at) {
  Block block{.first = split(names[at]), .counts = {}};
  block.counts.assign(block.first.numbers.size(), 1);
  for (size_t number = block.counts.size(); number-- > 0;) {
    const std::string_view digits = block.first.numbers[number];
    const uint64_t value = *number_of(digits);
    const auto repeats = [&](size_t count) {
      if (at + (count + 1) * block.length > names.size()) return false;
      for (size_t i = 0; i < block.length; ++i)
        if (!is_counted_up(split(names[at + count * block.length + i]), split(names[at + i]), number, value + count,
                           digits.size()))
          return false;
      return true;
    };
    size_t count = 1;
    while (repeats(count)) ++count;
    block.counts[number] = count;
    block.length *= count;
  }
  return block;
}

std::string text_of(const Block& block) {
  std::string out;
  for (size_t i = 0; i < block.counts.size(); ++i) {
    const std::string_view digits = block.first.numbers[i];
    out += block.first.texts[i];
    out += block.counts[i] == 1
               ? std::string(digits)
               : fmt::format("[{}-{}]", digits, digits_of(*number_of(digits) + block.counts[i] - 1, digits.size()));
  }
  return out += block.first.texts.back();
}

// Its first range is counted last. `ranges`: as many may come.
bool expand_row(std::string_view part, const std::string& before, size_t ranges, std::vector<std::string>& out) {
  const size_t open = part.find('['), close = part.find(']'), dash = part.find('-', std::min(open, part.size()));
  if (open == part.npos) return out.size() < kMostNodes && (out.push_back(before + std::string(part)), true);
  if (close == part.npos || dash == part.npos || dash > close || ranges == 0) return false;
  const std::string_view first = part.substr(open + 1, dash - open - 1);
  const std::optional<uint64_t> low = number_of(first), high = number_of(part.substr(dash + 1, close - dash - 1));
  if (!low || !high || *high < *low || out.size() + (*high - *low) >= kMostNodes) return false;
  for (uint64_t value = *low; value <= *high; ++value)
    if (!expand_row(part.substr(close + 1),
                    fmt::format("{}{}{}", before, part.substr(0, open), digits_of(value, first.size())), ranges - 1,
                    out))
      return false;
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
    const Block block = block_at(names, at);
    if (!out.empty()) out += ',';
    out += text_of(block);
    at += block.length;
  }
  return out;
}

std::optional<std::vector<std::string>> expand_names(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma == 0 || !expand_row(text.substr(0, comma), "", kMostNumbers, out)) return std::nullopt;
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
