// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/session/psets.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/log.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/object/process.hpp"

namespace tutti::mpi {
namespace {

using Ranks = std::vector<int>;

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

std::optional<Ranks> ranks_of(std::string_view list, int job_size) {
  Ranks ranks;
  for (const std::string_view part : split(list, ',')) {
    const size_t dash = part.find('-');
    const std::optional<int> first = number(part.substr(0, dash));
    const std::optional<int> last =
        dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= job_size) return std::nullopt;
    for (int rank = *first; rank <= *last; ++rank) {
      if (std::ranges::find(ranks, rank) != ranks.end()) return std::nullopt;
      ranks.push_back(rank);
    }
  }
  if (ranks.empty()) return std::nullopt;
  return ranks;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

void add(std::vector<PsetOfRanks>& all, const char* name, Ranks ranks) {
  all.push_back({name, std::make_shared<const Ranks>(std::move(ranks))});
}

std::vector<PsetOfRanks> find_all() {
  const Process& p = process();
  const boot::JobView& job = p.job->view();
  std::vector<PsetOfRanks> all;
  all.push_back({"mpi://WORLD", p.world->group->processes});
  all.push_back({"mpi://SELF", p.self->group->processes});
  add(all, "tutti://node", job.node_ranks);
  // Ranks that share a socket, by the launcher's word; unbound ranks have none.
  if (const char* socket = std::getenv("TUTTI_SOCKET_RANKS"))
    if (const std::optional<Ranks> ranks = ranks_of(socket, job.size);
        ranks && std::ranges::find(*ranks, job.rank) != ranks->end())
      add(all, "tutti://socket", *ranks);
  if (const char* told = std::getenv("TUTTI_PSETS")) {
    Result<std::vector<PsetOfRanks>> more = parse_psets(told, job.size);
    if (!more) say(Level::warning, "{}", more.error().message());
    if (more) all.insert(all.end(), more->begin(), more->end());
  }
  return all;
}

}  // namespace

Result<std::vector<PsetOfRanks>> parse_psets(std::string_view text, int job_size) {
  std::vector<PsetOfRanks> all;
  for (const std::string_view one : split(text, ';')) {
    const size_t colon = one.rfind(':');  // names may look like addresses
    const std::optional<Ranks> ranks = colon == std::string_view::npos || colon == 0
                                           ? std::nullopt
                                           : ranks_of(one.substr(colon + 1), job_size);
    if (!ranks)
      return failure(
          MPI_ERR_ARG,
          "the process sets in TUTTI_PSETS have '{}', which is not NAME:RANKS for {} ranks", one,
          job_size);
    add(all, std::string(one.substr(0, colon)).c_str(), *ranks);
  }
  return all;
}

const std::vector<PsetOfRanks>& psets() {
  static const auto* all = new std::vector<PsetOfRanks>(find_all());
  return *all;
}

const PsetOfRanks* find_pset(std::string_view name) {
  for (const PsetOfRanks& pset : psets())
    if (same_name(pset.name, name)) return &pset;
  return nullptr;
}

}  // namespace tutti::mpi
