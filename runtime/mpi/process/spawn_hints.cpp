// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/spawn_hints.hpp"

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>

namespace tutti::mpi::processes {
namespace {

std::optional<std::string> hint(const Command& command, std::string_view key) {
  for (const auto& [name, value] : command.hints)
    if (name == key) return value;
  return {};
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(at, from), text.size());
    parts.push_back(trimmed(text.substr(from, end - from)));
    from = end + 1;
  }
  return parts;
}

bool read_number(std::string_view text, int& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size();
}

// One of the triplets first:last:step, of which the last two may be missing; false: it is none.
bool add_triplet(std::string_view text, int most, std::set<int>& numbers) {
  const std::vector<std::string_view> parts = split(text, ':');
  int first = 0, last = 0, step = 1;
  if (parts.size() > 3 || !read_number(parts[0], first)) return false;
  last = first;
  if (parts.size() > 1 && !read_number(parts[1], last)) return false;
  if (parts.size() > 2 && (!read_number(parts[2], step) || step == 0)) return false;
  if (step < 0) {  // the same numbers, upwards
    const int64_t steps = (int64_t{first} - last) / -int64_t{step};
    if (steps < 0) return true;
    last = first;
    first = static_cast<int>(first + steps * step);
    step = -step;
  }
  int64_t number = first;
  if (number < 1) number += (step - number) / step * step;  // no need to walk there
  for (; number <= std::min(last, most); number += step)
    if (number >= 1) numbers.insert(static_cast<int>(number));
  return true;
}

}  // namespace

Error add_hints_of_file(Command& command) {
  const std::optional<std::string> name = hint(command, "file");
  if (!name) return {};
  errno = 0;
  std::ifstream file(*name);
  if (!file)
    return failure(MPI_ERR_SPAWN, "the hint 'file' names {}, which cannot be read: {}", *name, std::strerror(errno));
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    const size_t equals = text.find('=');
    const std::string_view key = trimmed(text.substr(0, equals));
    if (equals == text.npos || key.empty())
      return failure(MPI_ERR_SPAWN, "the hint 'file' names {}, whose line {} is no 'key = value'", *name, number);
    command.hints.emplace_back(key, trimmed(text.substr(equals + 1)));
  }
  return {};
}

Result<std::vector<int>> numbers_that_will_do(const Command& command) {
  const std::optional<std::string> soft = hint(command, "soft");
  if (!soft) return std::vector<int>{command.ranks};
  std::set<int> numbers;
  for (const std::string_view part : split(*soft, ','))
    if (!add_triplet(part, command.ranks, numbers))
      return failure(MPI_ERR_SPAWN,
                     "the hint 'soft' is '{}': it is a list of numbers of processes, and of ranges first:last or "
                     "first:last:step, divided by commas",
                     *soft);
  if (numbers.empty())
    return failure(MPI_ERR_SPAWN, "the hint 'soft' ('{}') has no number from 1 to maxprocs, which is {}", *soft,
                   command.ranks);
  return std::vector<int>(numbers.rbegin(), numbers.rend());
}

}  // namespace tutti::mpi::processes
