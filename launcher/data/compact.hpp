// SPDX-License-Identifier: BSD-3-Clause
// Long lists of a job in few bytes: the names of nodes in the notation of clusters, "node[001-128],login"
// or "x[1000-1003]c[0-7]s0", whose last number counts first, and numbers that are mostly alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::launcher {

inline constexpr size_t kMostNodes = size_t{1} << 20;  // more is not believed of a text

// Of names without ',' and '[': others are for the caller to send as they are (has_plain_names).
bool has_plain_names(const std::vector<std::string>& names);
std::string compact_names(const std::vector<std::string>& names);
std::optional<std::vector<std::string>> expand_names(std::string_view text);

struct Repeat {
  uint64_t count = 0;
  int value = 0;
};
std::vector<Repeat> compact_numbers(const std::vector<int>& numbers);
std::optional<std::vector<int>> expand_numbers(const std::vector<Repeat>& repeats);

}  // namespace tutti::launcher
