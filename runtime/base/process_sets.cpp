// SPDX-License-Identifier: BSD-3-Clause
#include "base/process_sets.hpp"

#include <mpi.h>

#include <algorithm>
#include <charconv>

namespace tutti {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::vector<int>> parse_ranks(std::string_view list, int job_size) {
  std::vector<int> ranks;
  std::vector<bool> seen(static_cast<size_t>(job_size));
  for (const std::string_view part : split(list, ',')) {
    const size_t dash = part.find('-');
    const std::optional<int> first = number(part.substr(0, dash));
    const std::optional<int> last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= job_size) return std::nullopt;
    for (int rank = *first; rank <= *last; ++rank) {
      if (seen[static_cast<size_t>(rank)]) return std::nullopt;
      seen[static_cast<size_t>(rank)] = true;
      ranks.push_back(rank);
    }
  }
  if (ranks.empty()) return std::nullopt;
  return ranks;
}

Result<std::vector<ProcessSet>> parse_process_sets(std::string_view text, int job_size) {
  std::vector<ProcessSet> all;
  for (const std::string_view one : split(text, ';')) {
    const size_t colon = one.rfind(':');
    const bool has_both = colon != std::string_view::npos && colon > 0;
    const std::string_view name = has_both ? one.substr(0, colon) : one;
    const std::optional<std::vector<int>> ranks =
        has_both ? parse_ranks(one.substr(colon + 1), job_size) : std::nullopt;
    if (!ranks)
      return failure(MPI_ERR_ARG,
                     "'{}' is no set of processes: it wants a name and ranks below {}, each once, such as "
                     "left:0-3,8",
                     one, job_size);
    if (name.size() >= MPI_MAX_PSET_NAME_LEN)
      return failure(MPI_ERR_ARG, "the name of the set of processes '{}' is longer than {} characters", name,
                     MPI_MAX_PSET_NAME_LEN - 1);
    if (name.starts_with("mpi://") || name.starts_with("tutti://"))
      return failure(MPI_ERR_ARG, "the set of processes '{}' has a name of MPI's or Tutti's own", name);
    if (std::ranges::find(all, name, &ProcessSet::name) != all.end())
      return failure(MPI_ERR_ARG, "the set of processes '{}' is given twice", name);
    all.push_back({std::string(name), *ranks});
  }
  return all;
}

std::string ranks_as_text(const std::vector<int>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (!text.empty()) text += ",";
    text += end - i > 1 ? fmt::format("{}-{}", ranks[i], ranks[end - 1]) : fmt::format("{}", ranks[i]);
    i = end;
  }
  return text;
}

}  // namespace tutti
