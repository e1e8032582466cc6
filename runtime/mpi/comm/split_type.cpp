// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type (section 7.4.2): communicators of the ranks that have a part of a machine in common, or that are
// in one process set.
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/os/hardware.hpp"
#include "base/secret.hpp"
#include "boot/joining.hpp"
#include "engine/context.hpp"
#include "functions.hpp"
#include "members/processes.hpp"
#include "mpi/comm/api_comm.hpp"
#include "mpi/comm/dividing.hpp"
#include "mpi/comm/psets.hpp"
#include "mpi/comm/sharing.hpp"
#include "mpi/comm/summary.hpp"
#include "mpi/object/info.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/process.hpp"

namespace tutti::mpi {
namespace {

constexpr const char* kTypeKey = "mpi_hw_resource_type";
constexpr const char* kSetKey = "mpi_pset_name";
constexpr const char* kSharedMemoryName = "mpi_shared_memory";  // a type that is no part of a machine

// What a rank wants to have in common with others: a ResourceType, or one of these.
enum Wish : int32_t { kNothing = -1, kUnguided = kResourceTypes, kProcessSet, kSharedMemory };

struct Told : SplitEntry {
  int32_t wish;
  Sharing sharing;
  // By type: resource_of(); kNotKnown for the types that have nothing to do with the wish.
  std::array<int32_t, kResourceTypes> resources;
  uint64_t set;  // the process set that this rank names and is in; 0: none
};

std::string split_type_text(int split_type) {
  switch (split_type) {
      // clang-format off
    case MPI_COMM_TYPE_SHARED: return "MPI_COMM_TYPE_SHARED";
    case MPI_COMM_TYPE_HW_UNGUIDED: return "MPI_COMM_TYPE_HW_UNGUIDED";
    case MPI_COMM_TYPE_HW_GUIDED: return "MPI_COMM_TYPE_HW_GUIDED";
    case MPI_COMM_TYPE_RESOURCE_GUIDED: return "MPI_COMM_TYPE_RESOURCE_GUIDED";
    default: return std::to_string(split_type);
      // clang-format on
  }
}

// What all ranks must give alike. The standard wants the same resource type from all; who names none, and so gets no
// communicator, is not accused for it.
Given given_by(const Comm& comm, int split_type, const Info* info) {
  Given given;
  if (!Given::is_asked_for(comm) || split_type == MPI_UNDEFINED) return given;
  const bool names_type = split_type == MPI_COMM_TYPE_HW_GUIDED;
  const std::optional<std::string> name = names_type && info ? info->get(kTypeKey) : std::nullopt;
  if (names_type && !name) return given;
  given.add("split_type", split_type_text(split_type));
  if (!name) return given;
  const std::optional<ResourceType> type = resource_type_named(*name);
  given.add(kTypeKey, type ? name_of(*type) : *name);
  return given;
}

// Sets of one name may differ from node to node, and from job to job.
uint64_t set_named(const std::string& name) {
  const Process& p = process();
  const PsetOfRanks* set = find_pset(name);
  if (!set || !set->ranks.contains(p.job->view().rank)) return 0;
  constexpr std::string_view kKey = "process set name";  // siphash() wants 16 bytes
  return siphash(kKey, fmt::format("{} {} {}", p.processes->job(), set->ranks.front(), set->name)) | 1;
}

// What the arguments ask for; kNothing where the keys name nothing, nothing that is known, or both a resource and a set.
void take_wish(Told& told, int split_type, const Info* info) {
  const auto value = [&](const char* key) { return info ? info->get(key) : std::nullopt; };
  const bool of_resources = split_type == MPI_COMM_TYPE_RESOURCE_GUIDED;
  const std::optional<std::string> set = of_resources ? value(kSetKey) : std::nullopt;
  if (split_type == MPI_COMM_TYPE_SHARED) {
    told.wish = kSharedMemory;
  } else if (split_type == MPI_COMM_TYPE_HW_UNGUIDED) {
    told.wish = kUnguided;
  } else if (split_type == MPI_COMM_TYPE_HW_GUIDED || of_resources) {
    const std::optional<std::string> name = value(kTypeKey);
    if (const std::optional<ResourceType> type = name ? resource_type_named(*name) : std::nullopt; type && !set)
      told.wish = ::strcasecmp(name->c_str(), kSharedMemoryName) == 0 ? int32_t{kSharedMemory} : int32_t{*type};
    if (set && !name && (told.set = set_named(*set)) != 0) told.wish = kProcessSet;
  }
  const std::vector<int> processors = processors_of_this_thread();
  for (int type = 0; type < kResourceTypes; ++type)
    if (told.wish == type || told.wish == kUnguided)
      told.resources[static_cast<size_t>(type)] = resource_of(processors, ResourceType{type});
}

// The type whose resources are the largest that divide the communicator: some ranks share one which not all ranks do.
int32_t type_that_divides(std::span<const Told> all) {
  for (int32_t type = kMachine; type < kResourceTypes; ++type) {
    const auto which = [&](const Told& told) { return told.resources[static_cast<size_t>(type)]; };
    const auto asks = [](const Told& told) { return told.wish == kUnguided; };
    if (std::ranges::any_of(all, [&](const Told& told) { return asks(told) && which(told) == kNotKnown; })) continue;
    const auto first = std::ranges::find_if(all, [&](const Told& told) { return asks(told) && which(told) >= 0; });
    if (first == all.end()) continue;
    const auto shares = [&](const Told& told) {
      return asks(told) && told.sharing.machine == first->sharing.machine && which(told) == which(*first);
    };
    if (!std::ranges::all_of(all, shares)) return type;
  }
  return kNothing;
}

// Equal for those that belong together. Which of a node's resources, or which set, or whose memory.
using Common = std::tuple<int32_t, uint64_t, uint64_t>;
std::optional<Common> common_of(const Told& told, int32_t unguided, int32_t sharers) {
  const int32_t wish = told.wish == kUnguided ? unguided : told.wish;
  if (wish == kNothing) return std::nullopt;
  if (wish == kProcessSet) return Common{wish, 0, told.set};
  if (wish == kSharedMemory) return Common{wish, 0, static_cast<uint64_t>(sharers)};
  const int which = told.resources[static_cast<size_t>(wish)];
  return which < 0 ? std::nullopt : std::optional(Common{wish, told.sharing.machine, which});
}

// Of each rank that wishes to share memory, the first one of its group; -1: it wishes something else.
Result<std::vector<int32_t>> groups_of_sharers(Comm& comm, const ExchangeBytes& exchange, int me,
                                               std::span<const Told> all) {
  std::vector<Sharing> sharing, wishing;
  std::vector<size_t> who;
  for (size_t r = 0; r < all.size(); ++r) {
    sharing.push_back(all[r].sharing);
    if (all[r].wish != kSharedMemory) continue;
    who.push_back(r);
    wishing.push_back(all[r].sharing);
  }
  const std::vector<int32_t> found = sharing_groups(wishing);
  std::vector<int32_t> groups(all.size(), -1);
  for (size_t i = 0; i < who.size(); ++i) groups[who[i]] = static_cast<int32_t>(who[static_cast<size_t>(found[i])]);
  if (Error e = try_groups(comm, exchange, me, sharing, groups)) return e;
  return groups;
}

// The lowest of those that belong together is their color.
Error give_colors(Comm& comm, const ExchangeBytes& exchange, int me, std::span<Told> all, int32_t unguided) {
  Result<std::vector<int32_t>> sharers = groups_of_sharers(comm, exchange, me, all);
  if (!sharers) return std::move(sharers).error();
  std::map<Common, int32_t> first;
  for (size_t r = 0; r < all.size(); ++r) {
    const std::optional<Common> common = common_of(all[r], unguided, (*sharers)[r]);
    all[r].color = common ? first.try_emplace(*common, static_cast<int32_t>(r)).first->second : MPI_UNDEFINED;
  }
  return {};
}

// ---- where what the ranks wish is a matter of their nodes

// What all ranks say in few numbers, each the largest one.
struct InAll {
  enum : size_t { kHash, kOtherHash, kSet, kAsks, kMachine, kOtherMachine, kNoMachine, kNumbers };
  std::array<uint64_t, kNumbers> most{};

  explicit InAll(const Told& mine) {
    most[kHash] = mine.said.hash;
    most[kOtherHash] = mine.said.hash ? ~uint64_t{mine.said.hash} : 0;
    most[kSet] = mine.wish == kProcessSet;
    if (mine.wish != kUnguided) return;
    most[kAsks] = 1;
    most[kMachine] = mine.sharing.machine;
    most[kOtherMachine] = ~mine.sharing.machine;
    most[kNoMachine] = mine.resources[tutti::kMachine] < 0;
  }
  // Nobody has more in common with ranks of other nodes, who leaves it to the library has its machine in common, and all
  // give alike what they must.
  bool is_by_node() const {
    const bool alike = most[kOtherHash] == 0 || most[kOtherHash] == ~most[kHash];
    const bool of_machines = most[kMachine] != ~most[kOtherMachine] && !most[kNoMachine];
    return alike && !most[kSet] && (!most[kAsks] || of_machines);
  }
};

// The ranks of each node exchange among themselves what they wish.
Error divide_on_node(Comm& comm, Told mine, MPI_Comm* newcomm) {
  const ProcessList& here = comm.hidden.nodes->mine();
  const int me = comm.hidden.nodes->local();
  const ProcessList processes = comm.hidden.peers.at(here);
  const engine::Match match = match_of_call(comm);
  const ExchangeBytes exchange = [&](const void* said, void* all, size_t bytes) -> Error {
    std::memcpy(static_cast<std::byte*>(all) + static_cast<size_t>(me) * bytes, said, bytes);
    if (Error e = hear_group(comm.engine(), match, processes, here, me, static_cast<std::byte*>(all), bytes)) return e;
    return tell_group(comm.engine(), match, processes, here, me, all, bytes * static_cast<size_t>(here.size()));
  };
  mine.context = offer_context(comm, mine.color != MPI_UNDEFINED);
  std::vector<Told> all(static_cast<size_t>(here.size()));
  Error e = exchange(&mine, all.data(), sizeof mine);
  if (!e) e = give_colors(comm, exchange, me, all, kMachine);
  if (e) {
    if (mine.context != engine::kNoContext) comm.contexts().release(mine.context);
    return e;
  }
  return take_part(comm, {std::span<const Told>(all), here}, newcomm);
}

// `unguided`: what the library has chosen for those that leave it the choice.
Error divide_by_wish(Comm& comm, const Told& mine, const Given& given, int32_t& unguided, MPI_Comm* newcomm) {
  if (may_tell_apart(comm) && is_on_nodes(comm)) {
    InAll said(mine);
    if (Error e = largest_of_all(comm, Function::Comm_split_type, said.most)) return e;
    unguided = kMachine;
    if (said.is_by_node()) return divide_on_node(comm, mine, newcomm);
  }
  const ExchangeBytes exchange = [&](const void* say, void* all, size_t bytes) {
    coll::Call call = allgather_bytes(say, all, static_cast<int64_t>(bytes));
    call.signature = contract::word_of(Function::Comm_split_type);
    return run(comm, call);
  };
  const auto color = [&](std::span<Told> all) -> Error {
    if (Given::is_asked_for(comm)) {
      std::vector<uint32_t> said;
      for (const Told& told : all) said.push_back(told.said.hash);
      if (Error e = agree(comm, Function::Comm_split_type, given, said)) return e;
    }
    unguided = type_that_divides(all);
    return give_colors(comm, exchange, comm.hidden.rank, all, unguided);
  };
  return divide_if(comm, Function::Comm_split_type, mine, color, newcomm);
}

}  // namespace

Error comm_split_type(Comm& comm, int split_type, int key, Info* info, MPI_Comm* newcomm) {
  const int types[] = {MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_HW_GUIDED,
                       MPI_COMM_TYPE_RESOURCE_GUIDED, MPI_UNDEFINED};
  if (std::ranges::find(types, split_type) == std::end(types))
    return failure(MPI_ERR_ARG, "{} is no split type (argument split_type)", split_type);
  const Given given = given_by(comm, split_type, info);
  Told mine{{split_type == MPI_UNDEFINED ? MPI_UNDEFINED : 0, key, engine::kNoContext, {given.hash(), 0}},
            kNothing,
            sharing_of(comm),
            {},
            0};
  mine.resources.fill(kNotKnown);
  take_wish(mine, split_type, info);
  int32_t unguided = kNothing;
  if (Error e = divide_by_wish(comm, mine, given, unguided, newcomm)) return e;
  // Who leaves the choice to the library is told what it was.
  if (mine.wish == kUnguided && *newcomm != MPI_COMM_NULL && info && !info->predefined)
    info->set(kTypeKey, name_of(ResourceType{unguided}));
  return {};
}

}  // namespace tutti::mpi
