// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/data/spans.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "launcher/data/compact.hpp"
#include "launcher/data/rank_map.hpp"
#include "launcher/data/short_numbers.hpp"

namespace tutti::launcher {

std::vector<Span> spans_of(const std::vector<int>& numbers) {
  std::vector<Span> out;
  for (const int number : numbers)
    if (!out.empty() && out.back().end() == number)
      ++out.back().count;
    else
      out.push_back({number, 1});
  return out;
}

std::optional<std::vector<int>> nodes_in(const std::vector<Span>& spans) {
  std::vector<int> out;
  for (const Span& span : spans) {
    if (span.first < 0 || span.count < 1 || static_cast<size_t>(span.count) > kMostNodes ||
        out.size() + static_cast<size_t>(span.count) > kMostNodes ||
        span.first > std::numeric_limits<int>::max() - span.count)
      return std::nullopt;
    for (int i = 0; i < span.count; ++i) out.push_back(span.first + i);
  }
  return out;
}

bool are_apart(const std::vector<Span>& spans) {
  int before = -1;  // the number behind the last span; the first one may begin at 0
  for (const Span& span : spans) {
    if (span.first <= before || span.count < 1 || span.first > kMostRanks - span.count) return false;
    before = span.end();
  }
  return true;
}

std::vector<Span> united(const std::vector<Span>& one, const std::vector<Span>& other) {
  std::vector<Span> out;
  const auto append = [&out](const Span& span) {
    if (out.empty() || out.back().end() < span.first)
      out.push_back(span);
    else
      out.back().count = std::max(out.back().end(), span.end()) - out.back().first;
  };
  auto a = one.begin(), b = other.begin();
  while (a != one.end() || b != other.end())
    append(b == other.end() || (a != one.end() && a->first <= b->first) ? *a++ : *b++);
  return out;
}

void add(std::vector<Span>& spans, int number) {
  if (!spans.empty() && number < spans.back().end())
    spans = united(spans, {{number, 1}});
  else if (!spans.empty() && number == spans.back().end())
    ++spans.back().count;
  else
    spans.push_back({number, 1});
}

// The gap in front of each, shifted by one bit that says that there are more numbers than one: how many more follows.
std::string compact_spans(const std::vector<Span>& spans) {
  std::string out;
  int before = 0;
  for (const Span& span : spans) {
    put_number(out, static_cast<uint64_t>(span.first - before) << 1 | (span.count > 1 ? 1 : 0));
    if (span.count > 1) put_number(out, static_cast<uint64_t>(span.count - 1));
    before = span.end();
  }
  return out;
}

std::optional<std::vector<Span>> expand_spans(std::string_view text) {
  std::vector<Span> out;
  int before = 0;
  for (NumberReader reader(text); !reader.at_end();) {
    const uint64_t word = reader.number(2 * uint64_t{kMostRanks});
    const uint64_t more = word & 1 ? reader.number(kMostRanks) : 0;
    if (!reader.good()) return std::nullopt;
    out.push_back({before + static_cast<int>(word >> 1), 1 + static_cast<int>(more)});
    before = out.back().end();
    if (before > kMostRanks) return std::nullopt;
  }
  return are_apart(out) ? std::optional(std::move(out)) : std::nullopt;
}

size_t count_of(const std::vector<Span>& spans) {
  size_t count = 0;
  for (const Span& span : spans) count += static_cast<size_t>(span.count);
  return count;
}

}  // namespace tutti::launcher
