// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/rank_places.hpp"

#include <map>
#include <set>
#include <utility>

#include "base/log.hpp"
#include "base/process_sets.hpp"
#include "launcher/node/core_claims.hpp"
#include "launcher/node/environment.hpp"
#include "mpi.h"

namespace tutti::launcher {

Error RankPlaces::choose(const NodeTask& task) {
  ranks_ = task.map.ranks_on(task.node);
  if (Error e = narrow(task)) return e;
  if (Error e = bind(task)) return e;
  find_socket_ranks();
  if (task.gpus_per_rank == 0) return {};
  gpus_ = topology().gpus().empty() ? gpus_of_this_machine() : topology().gpus();
  auto dealt = deal_gpus(gpus_, binding_.processors, task.gpus_per_rank);
  if (!dealt) return std::move(dealt).error();
  rank_gpus_ = std::move(*dealt);
  return {};
}

// What --cpu-set leaves of the node, and the GPUs that ranks are to be near.
Error RankPlaces::narrow(const NodeTask& task) {
  const bool by_gpu = task.policy.inside == MapPolicy::Inside::gpu;
  if (task.processors.empty() && !by_gpu) return {};
  narrowed_.emplace(machine_.copy());
  const std::string& node = task.map.nodes[static_cast<size_t>(task.node)];
  if (!task.processors.empty()) {
    Result<std::vector<int>> chosen = processors_named(task.processors);
    if (!chosen) return std::move(chosen).error();
    narrowed_->restrict_to(*chosen);
    if (narrowed_->allowed().empty())
      return failure(MPI_ERR_ARG, "--cpu-set {}: {} has none of these processors, or we may use none of them",
                     task.processors, node);
  }
  if (by_gpu) narrowed_->set_gpus(gpus_of_this_machine());
  if (by_gpu && narrowed_->gpus().empty())
    return failure(MPI_ERR_ARG, "--map-by gpu: {} has no GPUs that are seen (of NVIDIA and AMD)", node);
  return {};
}

Error RankPlaces::bind(const NodeTask& task) {
  if (!task.policy.near.empty())
    if (Result<std::vector<int>> near = processors_near(task.policy.near); !near) return std::move(near).error();
  const auto count = static_cast<int>(ranks_.size());
  const auto pick = [&](const Claims& claims) {
    // What a job takes at this moment may be anything: ranks are bound only where an option wants it.
    const bool may_clash = !claims.certain && task.bind_to == BindTo::automatic;
    binding_ = topology().bind(count, task.bind_to, policy_on(task, task.node, topology()),
                               may_clash ? topology().allowed() : claims.taken);
    std::vector<int> all;
    for (const std::vector<int>& each : binding_.processors) all.insert(all.end(), each.begin(), each.end());
    return all;
  };
  if (task.shares_cores || task.bind_to == BindTo::none || !task.rank_slots.empty())
    pick({});
  else
    no_lock_ = claim_processors(task.map.id, pick);
  for (size_t i = 0; !task.rank_slots.empty() && i < ranks_.size(); ++i) {
    const std::string& slots = task.rank_slots[static_cast<size_t>(ranks_[i])];
    binding_.processors[i].clear();
    if (slots.empty()) continue;
    Result<std::vector<int>> cores = topology().cores_named(slots);
    if (!cores)
      return std::move(cores).error().within(
          fmt::format("rankfile: rank {} on {}", ranks_[i], task.map.nodes[static_cast<size_t>(task.node)]));
    if (task.bind_to != BindTo::none) binding_.processors[i] = std::move(*cores);
  }
  return {};
}

void RankPlaces::find_socket_ranks() {
  std::map<int, std::vector<int>> ranks_on;
  std::vector<int> sockets;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    sockets.push_back(topology().socket_of(binding_.processors[i]));
    if (sockets.back() >= 0) ranks_on[sockets.back()].push_back(ranks_[i]);
  }
  std::map<int, std::string> texts;
  for (const auto& [socket, ranks] : ranks_on) texts[socket] = ranks_as_text(ranks);
  for (const int socket : sockets) socket_ranks_.push_back(socket < 0 ? "" : texts[socket]);
  std::set<std::string> places;
  for (const std::vector<int>& processors : binding_.processors) {
    const std::string place = machine_.place_of(processors);
    places_ += (places_.empty() ? "" : ",") + place;
    places.insert(place);
  }
  if (places.size() < 2) places_.clear();
}

std::vector<std::string> RankPlaces::variables(size_t index) const {
  std::vector<std::string> out;
  if (!socket_ranks_[index].empty()) out.push_back(fmt::format("{}={}", kSocketRanksVariable, socket_ranks_[index]));
  if (!places_.empty()) out.push_back(fmt::format("{}={}", kNodePlacesVariable, places_));
  if (rank_gpus_.empty()) return out;
  for (std::string& pair : gpu_variables(gpus_, rank_gpus_[index])) out.push_back(std::move(pair));
  return out;
}

std::vector<std::string> RankPlaces::report(const NodeTask& task) const {
  const std::string& node = task.map.nodes[static_cast<size_t>(task.node)];
  std::vector<std::string> out;
  for (size_t i = 0; i < ranks_.size(); ++i)
    out.push_back(fmt::format("rank {} on {}: {}", ranks_[i], node,
                              binding_.crowded ? "not bound: other jobs of yours have the cores, or choose theirs"
                                               : topology().describe(binding_.processors[i])));
  if (!no_lock_.empty())
    out.push_back(fmt::format("on {} another job of yours that starts at this moment may choose the same cores: {}",
                              node, no_lock_));
  return out;
}

}  // namespace tutti::launcher
