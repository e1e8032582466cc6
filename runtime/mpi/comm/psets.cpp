// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/psets.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "base/log.hpp"
#include "base/process_sets.hpp"
#include "boot/joining.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/object/current.hpp"

namespace tutti::mpi {
namespace {

using Ranks = std::vector<int>;

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

void add(std::vector<PsetOfRanks>& all, std::string name, const Ranks& ranks) {
  all.push_back({std::move(name), ranks});
}

std::vector<PsetOfRanks> find_all() {
  const boot::JobInfo& job = own_job().view();
  std::vector<PsetOfRanks> all;
  all.push_back({"mpi://WORLD", current.world->group->processes});
  all.push_back({"mpi://SELF", current.self->group->processes});
  add(all, "tutti://node", job.node_ranks);
  // Those that share a socket, by the launcher's word.
  if (const char* socket = std::getenv(kSocketRanksVariable))
    if (const std::optional<Ranks> ranks = parse_ranks(socket, job.size);
        ranks && std::ranges::find(*ranks, job.rank) != ranks->end())
      add(all, "tutti://socket", *ranks);
  if (const char* told = std::getenv(kProcessSetsVariable)) {
    Result<std::vector<ProcessSet>> more = parse_process_sets(told, job.size);
    if (!more) say(Level::warning, "{}: {}", kProcessSetsVariable, more.error().message());
    if (more)
      for (ProcessSet& set : *more) add(all, std::move(set.name), set.ranks);
  }
  return all;
}

}  // namespace

const std::vector<PsetOfRanks>& psets() {
  static const auto& all = *new std::vector<PsetOfRanks>(find_all());
  return all;
}

const PsetOfRanks* find_pset(std::string_view name) {
  for (const PsetOfRanks& pset : psets())
    if (same_name(pset.name, name)) return &pset;
  return nullptr;
}

}  // namespace tutti::mpi
