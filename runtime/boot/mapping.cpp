// SPDX-License-Identifier: BSD-3-Clause
#include "boot/mapping.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tutti::boot {
namespace {

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

bool take_number(std::string_view& text, int& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

std::vector<int> nodes_of_mapping(std::string_view text, int size) {
  std::vector<int> out;
  if (!take(text, "(vector")) return {};
  while (take(text, ",(")) {
    int first = 0, nodes = 0, each = 0;
    if (!take_number(text, first) || !take(text, ",") || !take_number(text, nodes) || !take(text, ",") ||
        !take_number(text, each) || !take(text, ")"))
      return {};
    const int64_t total = static_cast<int64_t>(out.size()) + int64_t{nodes} * each;
    if (total > size || int64_t{first} + nodes > std::numeric_limits<int>::max()) return {};
    if (each == 0) continue;
    for (int node = first; node < first + nodes; ++node) out.insert(out.end(), static_cast<size_t>(each), node);
  }
  const bool complete = text == ")" && out.size() == static_cast<size_t>(size);
  return complete ? out : std::vector<int>();
}

}  // namespace tutti::boot
