// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/place/rankfile.hpp"

#include <charconv>
#include <map>
#include <optional>
#include <sstream>

#include "base/printable.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

std::optional<int> number_of(std::string_view word) {
  int value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool right = problem == std::errc() && end == word.data() + word.size();
  return right && value >= 0 && value < 1'000'000 ? std::optional(value) : std::nullopt;
}

struct Line {
  int rank = -1;
  RankLine what;
};

// Blanks may stand around '='. Nothing: it is no such line.
std::optional<Line> read_line(const std::string& text) {
  std::string spaced;
  for (const char c : text) spaced += c == '=' ? std::string(" = ") : std::string(1, c);
  std::istringstream words(spaced);
  std::string rank, number, equals, host;
  if (!(words >> rank >> number >> equals >> host) || rank != "rank" || equals != "=") return std::nullopt;
  Line out;
  const auto value = number_of(number);
  if (!value || host.starts_with('-')) return std::nullopt;
  out.rank = *value;
  out.what.host = host;
  std::string key;
  if (!(words >> key)) return out;
  if ((key != "slot" && key != "slots") || !(words >> equals >> out.what.slots) || equals != "=" || (words >> key))
    return std::nullopt;
  return out;
}

}  // namespace

Result<std::vector<RankLine>> parse_rankfile(std::string_view text, std::string_view file) {
  std::map<int, RankLine> ranks;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    std::optional<Line> read = read_line(line);
    if (!read)
      return failure(MPI_ERR_ARG, "{}:{}: '{}' is not a line such as 'rank 0=node1 slot=0-1'", file, number,
                     printable(line));
    if (!ranks.emplace(read->rank, std::move(read->what)).second)
      return failure(MPI_ERR_ARG, "{}:{}: rank {} has a place already", file, number, read->rank);
  }
  std::vector<RankLine> out;
  for (auto& [rank, what] : ranks) {
    if (rank != static_cast<int>(out.size()))
      return failure(MPI_ERR_ARG, "{}: rank {} has no place, and rank {} has one", file, out.size(), rank);
    out.push_back(std::move(what));
  }
  if (out.empty()) return failure(MPI_ERR_ARG, "{}: names no rank; a line is 'rank 0=node1 slot=0-1'", file);
  return out;
}

}  // namespace tutti::launcher
