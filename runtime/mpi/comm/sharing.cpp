// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/sharing.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/os/machine.hpp"
#include "boot/joining.hpp"
#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "mpi/comm/collective_call.hpp"
#include "mpi/object/current.hpp"

namespace tutti::mpi {
namespace {

using transport::kSharedWays;
using transport::SharedFile;
using transport::SharedWay;

const Sharing::Place& place_by(const Sharing& one, SharedWay way) {
  return one.places[static_cast<size_t>(way)];
}

bool has(const Sharing& one, SharedWay way) {
  return place_by(one, way) != Sharing::Place{};
}

// Where a group's first rank has memory, in words for the others; empty: it has none.
struct Word {
  char text[240] = "";
};

}  // namespace

Sharing sharing_of(const Comm& comm) {
  Sharing out;
  out.machine =
      engine::spans_jobs(comm.context()) ? this_boot() : static_cast<uint64_t>(own_job().view().node_ranks.front());
  for (int way = 0; way < kSharedWays; ++way)
    out.places[static_cast<size_t>(way)] = transport::place_of(SharedWay{way});
  return out;
}

std::optional<SharedWay> way_of_all(std::span<const Sharing> all) {
  for (int n = 0; n < kSharedWays; ++n) {
    const SharedWay way{n};
    const auto alike = [&](const Sharing& each) {
      return each.machine == all[0].machine && has(each, way) && place_by(each, way) == place_by(all[0], way);
    };
    if (std::ranges::all_of(all, alike)) return way;
  }
  return std::nullopt;
}

std::vector<int32_t> sharing_groups(std::span<const Sharing> all) {
  std::map<uint64_t, std::vector<size_t>> machines;
  for (size_t r = 0; r < all.size(); ++r) machines[all[r].machine].push_back(r);
  std::vector<int32_t> out(all.size());
  for (const auto& [machine, ranks] : machines) {
    size_t fewest = ranks.size() + 1;
    for (int n = 0; n < kSharedWays; ++n) {
      const SharedWay way{n};
      std::map<Sharing::Place, int32_t> first;
      std::vector<int32_t> group;
      size_t alone = 0;
      for (const size_t r : ranks) {
        const auto number = static_cast<int32_t>(r);
        if (!has(all[r], way)) ++alone;
        group.push_back(has(all[r], way) ? first.try_emplace(place_by(all[r], way), number).first->second : number);
      }
      if (first.size() + alone >= fewest) continue;
      fewest = first.size() + alone;
      for (size_t i = 0; i < ranks.size(); ++i) out[ranks[i]] = group[i];
    }
  }
  return out;
}

Result<std::vector<Sharing>> sharing_of_all(Comm& comm, Function function) {
  const Sharing mine = sharing_of(comm);
  std::vector<Sharing> all(static_cast<size_t>(comm.hidden.size()));
  coll::Call exchange = allgather_bytes(&mine, all.data(), sizeof mine);
  exchange.signature = contract::word_of(function);
  if (Error e = run(comm, exchange)) return e;
  return all;
}

Error try_groups(Comm& comm, const ExchangeBytes& exchange, int me, std::span<const Sharing> all,
                 std::vector<int32_t>& groups) {
  std::map<int32_t, std::vector<Sharing>> members;
  for (size_t r = 0; r < groups.size(); ++r)
    if (groups[r] >= 0) members[groups[r]].push_back(all[r]);
  std::map<int32_t, SharedWay> ways;  // of those that are to be tried
  for (const auto& [first, sharing] : members)
    if (const std::optional<SharedWay> way = way_of_all(sharing);
        way && sharing.size() > 1 && *way != SharedWay::dev_shm)
      ways[first] = *way;
  if (ways.empty()) return {};
  const int32_t mine = groups[static_cast<size_t>(me)];
  const auto way = ways.find(mine);
  Word word;
  std::unique_ptr<SharedFile> memory;
  if (me == mine && way != ways.end()) {
    // Groups of several machines may find themselves in one folder of a network.
    const std::string name = fmt::format("tutti.{}.try.{:x}.{}", own_job().view().id, comm.context(), comm.hidden.rank);
    Result<std::unique_ptr<SharedFile>> made = SharedFile::make(way->second, name, 1);
    if (made) {
      memory = *std::move(made);
      std::memcpy(word.text, memory->word().data(), std::min(memory->word().size(), sizeof word.text - 1));
    }
  }
  std::vector<Word> words(groups.size());
  if (Error e = exchange(&word, words.data(), sizeof word)) return e;
  const uint8_t comes = way == ways.end() || me == mine || SharedFile::open(words[static_cast<size_t>(mine)].text, 1);
  std::vector<uint8_t> all_come(groups.size());
  if (Error e = exchange(&comes, all_come.data(), 1)) return e;
  for (size_t r = 0; r < groups.size(); ++r)
    if (groups[r] >= 0 && !all_come[r]) groups[r] = static_cast<int32_t>(r);
  return {};
}

}  // namespace tutti::mpi
