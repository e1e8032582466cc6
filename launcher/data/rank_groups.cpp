// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/data/rank_groups.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace tutti::launcher {
namespace {

// What ranks of one group have in common.
std::string doing(const RankView& view) {
  const std::string where = view.communicator.empty() ? "" : " on " + view.communicator;
  const bool halted = view.process_state == 'T' || view.process_state == 't';
  const std::string stopped = halted ? view.kernel + "; " : "";
  const std::string outside = "outside of MPI" + (halted || view.kernel.empty() ? "" : ", " + view.kernel);
  if (view.finalized) return stopped + "behind MPI_Finalize";
  if (view.awaits_debugger)
    return stopped +
           "waits in MPI_Init for a debugger (--stop-on-start); it goes on when one is attached and lets it, "
           "or when mpirun gets SIGCONT";
  if (view.inside) return fmt::format("{}in {}{}, called at {}", stopped, view.call, where, view.place);
  if (view.looks) return fmt::format("{}asks again and again by {} at {}", stopped, view.call, view.place);
  if (view.call.empty()) return stopped + outside + ", and has made no call yet that communicates";
  return fmt::format("{}{}; the latest call was {}{} at {}", stopped, outside, view.call, where, view.place);
}

bool is_before(const ElsewhereView& a, const ElsewhereView& b) {
  return std::tie(a.job_number, a.rank) < std::tie(b.job_number, b.rank);
}

RankGroup group_of(const RankView& view, std::string what) {
  RankGroup group{.first = view, .what = std::move(what), .ranks = {{view.rank, 1}}, .hosts = {view.host}};
  group.least = group.most = view.milliseconds;
  group.exact = view.exact;
  std::vector<int> awaited = view.waits_for;
  std::ranges::sort(awaited);
  for (const int rank : awaited) add(group.waits_for, rank);
  group.waits_elsewhere = view.waits_elsewhere;
  std::ranges::sort(group.waits_elsewhere, is_before);
  group.waits_for_some = view.waits_for_some;
  group.waits_for_more = view.waits_for_count > std::ssize(view.waits_for) + std::ssize(view.waits_elsewhere);
  if (!view.file.empty()) group.files = {{view.rank, view.file}};
  group.first.waits_for.clear();
  group.first.waits_elsewhere.clear();
  group.first.collectives.clear();
  group.first.file.clear();
  return group;
}

std::vector<ElsewhereView> united(const std::vector<ElsewhereView>& one, const std::vector<ElsewhereView>& other) {
  std::vector<ElsewhereView> out;
  std::ranges::set_union(one, other, std::back_inserter(out), is_before);
  return out;
}

// `other` is of the same job, and does the same.
void join(RankGroup& group, RankGroup other) {
  if (other.ranks.front().first < group.ranks.front().first) std::swap(group.first, other.first);
  group.ranks = united(group.ranks, other.ranks);
  std::vector<std::string> hosts;
  std::ranges::set_union(group.hosts, other.hosts, std::back_inserter(hosts));
  group.hosts = std::move(hosts);
  if (group.least < 0 || (other.least >= 0 && other.least < group.least)) group.least = other.least;
  group.most = std::max(group.most, other.most);
  group.exact = group.exact && other.exact;
  group.waits_for = united(group.waits_for, other.waits_for);
  group.waits_elsewhere = united(group.waits_elsewhere, other.waits_elsewhere);
  group.waits_for_some = group.waits_for_some || other.waits_for_some;
  group.waits_for_more = group.waits_for_more || other.waits_for_more;
  if (group.waits_elsewhere.size() > RankGroups::kMostElsewhere) {
    group.waits_elsewhere.resize(RankGroups::kMostElsewhere);
    group.waits_for_more = true;
  }
  std::ranges::move(other.files, std::back_inserter(group.files));
  std::ranges::sort(group.files, {}, &FileCalls::rank);
  if (group.files.size() > RankGroups::kMostFiles) group.files.resize(RankGroups::kMostFiles);
}

}  // namespace

void RankGroups::add(const RankView& view) {
  add(group_of(view, doing(view)));
}

void RankGroups::add(RankGroup group) {
  const auto [at, fresh] = groups_.try_emplace({group.first.job, group.what});
  if (fresh)
    at->second = std::move(group);
  else
    join(at->second, std::move(group));
}

std::vector<RankGroup> RankGroups::take() {
  std::vector<RankGroup> out;
  for (auto& [key, group] : groups_) out.push_back(std::move(group));
  groups_.clear();
  std::ranges::sort(out, [](const RankGroup& a, const RankGroup& b) {
    return std::tie(a.first.job, a.ranks.front().first) < std::tie(b.first.job, b.ranks.front().first);
  });
  return out;
}

std::vector<RankGroup> groups_of(const std::vector<RankView>& ranks) {
  RankGroups groups;
  for (const RankView& view : ranks) groups.add(view);
  return groups.take();
}

bool are_sound(const std::vector<RankGroup>& groups) {
  return std::ranges::all_of(groups, [](const RankGroup& group) {
    return !group.ranks.empty() && are_apart(group.ranks) && are_apart(group.waits_for) &&
           std::ranges::is_sorted(group.hosts) && std::ranges::is_sorted(group.waits_elsewhere, is_before);
  });
}

}  // namespace tutti::launcher
