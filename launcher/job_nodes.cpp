// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/job_nodes.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace tutti::launcher {

void JobNodes::take_map(const JobMap& map) {
  map_ = map;
  ranks_ = RanksByNode(map_.ranks, map_.nodes.size());
  alive_.assign(map_.ranks.size(), true);
  alive_count_ = static_cast<int>(alive_.size());
}

std::string JobNodes::rank_label(int rank, int pid) const {
  const RankPlace place = map_.ranks[static_cast<size_t>(rank)];
  return fmt::format("rank {} on {} ({}{})", rank, name(place.node),
                     map_.apps[static_cast<size_t>(place.app)].command[0],
                     pid == kUntold ? "" : fmt::format(", process {}", pid));
}

std::set<int> JobNodes::to_ask() const {
  std::set<int> out;
  for (size_t n = 0; n < all_.size(); ++n)
    if (all_[n].launched && !all_[n].lost && !all_[n].finished) out.insert(static_cast<int>(n));
  return out;
}

std::set<int> JobNodes::to_call() const {
  std::set<int> out;
  for (size_t n = 0; n < all_.size(); ++n)
    if (!all_[n].lost && !all_[n].finished) out.insert(static_cast<int>(n));
  return out;
}

bool JobNodes::are_launched() const {
  return std::ranges::all_of(all_, &State::launched);
}

bool JobNodes::are_finished() const {
  return std::ranges::all_of(all_, &State::finished);
}

std::string JobNodes::unclean() const {
  std::string list;
  for (size_t n = 0; n < all_.size(); ++n)
    if (!all_[n].unclean.empty())
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", map_.nodes[n], all_[n].unclean);
  return list;
}

void JobNodes::signal_ranks(int signal) {
  passed_on_.insert(signal);
  for (State& each : all_)
    if (!each.lost) each.node->signal_ranks(signal);
}

bool JobNodes::lose(int node) {
  State& lost = (*this)[node];
  if (lost.finished || std::exchange(lost.lost, true)) return false;
  lost.finished = true;
  ranks_gone(node);
  return true;
}

void JobNodes::rank_gone(int rank) {
  if (!alive_[static_cast<size_t>(rank)]) return;
  alive_[static_cast<size_t>(rank)] = false;
  --alive_count_;
}

void JobNodes::ranks_gone(int node) {
  for (const int rank : ranks_on(node)) rank_gone(rank);
}

std::set<int> JobNodes::without_ranks() const {
  std::set<int> out;
  for (int n = 0; n < count(); ++n)
    if (!has_ranks(n)) out.insert(n);
  return out;
}

std::vector<int> JobNodes::alive_on(int node) const {
  std::vector<int> out;
  for (const int rank : ranks_on(node))
    if (alive_[static_cast<size_t>(rank)]) out.push_back(rank);
  return out;
}

bool JobNodes::has_ranks(int node) const {
  return std::ranges::any_of(ranks_on(node), [this](int rank) { return alive_[static_cast<size_t>(rank)]; });
}

}  // namespace tutti::launcher
