// SPDX-License-Identifier: BSD-3-Clause
#include "base/nearest.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace tutti {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string nearest_name(std::string_view word, std::span<const std::string_view> names) {
  std::string_view best;
  // More edits than these make another word of it: "hint" is no misspelt "host".
  int best_distance = std::max<int>(1, static_cast<int>(word.size()) / 5) + 1;
  for (std::string_view name : names) {
    const int distance = edit_distance(word, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return std::string(best);
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names, std::string_view prefix) {
  const std::string name = nearest_name(word, names);
  return name.empty() ? "" : fmt::format("; did you mean '{}{}'?", prefix, name);
}

}  // namespace tutti
