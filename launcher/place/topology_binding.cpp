// SPDX-License-Identifier: BSD-3-Clause
// Which of a node's processors each rank is bound to (Topology::bind).
#include <algorithm>

#include "launcher/place/topology.hpp"

namespace tutti::launcher {
namespace {

hwloc_obj_type_t type_of(BindTo to) {
  switch (to) {
    case BindTo::hwthread:
      return HWLOC_OBJ_PU;
    case BindTo::l2cache:
      return HWLOC_OBJ_L2CACHE;
    case BindTo::l3cache:
      return HWLOC_OBJ_L3CACHE;
    case BindTo::numa:
      return HWLOC_OBJ_NUMANODE;
    case BindTo::socket:
      return HWLOC_OBJ_PACKAGE;
    default:
      return HWLOC_OBJ_CORE;
  }
}

}  // namespace

// The allowed part of each object to bind to, as hwloc counts them.
std::vector<Topology::Set> Topology::objects(BindTo to) const {
  std::vector<Set> out;
  const hwloc_topology_t t = topology_.get();
  const int count = hwloc_get_nbobjs_by_type(t, type_of(to));
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t object = hwloc_get_obj_by_type(t, type_of(to), static_cast<unsigned>(i));
    Set part(hwloc_bitmap_dup(object->cpuset));
    hwloc_bitmap_and(part.get(), part.get(), allowed_.get());
    // The memory of a GPU may be a NUMA node without processors, or with those of another one.
    const bool again =
        std::ranges::any_of(out, [&](const Set& known) { return hwloc_bitmap_isequal(known.get(), part.get()) != 0; });
    if (!again && !hwloc_bitmap_iszero(part.get())) out.push_back(std::move(part));
  }
  return out;
}

// The node itself has no parts.
std::vector<Topology::Set> Topology::parts_of_node(MapPolicy::Inside part) const {
  using Inside = MapPolicy::Inside;
  std::vector<Set> parts;
  if (part == Inside::gpu) {
    for (const Gpu& gpu : gpus_) {
      Set& set = parts.emplace_back(hwloc_bitmap_alloc());
      for (int cpu : gpu.processors) hwloc_bitmap_set(set.get(), static_cast<unsigned>(cpu));
    }
  } else if (part != Inside::node) {
    parts = objects(part == Inside::socket    ? BindTo::socket
                    : part == Inside::l3cache ? BindTo::l3cache
                    : part == Inside::numa    ? BindTo::numa
                    : part == Inside::core    ? BindTo::core
                                              : BindTo::hwthread);
  }
  return parts;
}

// The numbers of these units by the parts of the node that hold them; behind GPUs, those that are near none.
std::vector<std::vector<int>> Topology::groups_of(const std::vector<Set>& units, MapPolicy::Inside part) const {
  using Inside = MapPolicy::Inside;
  const std::vector<Set> parts = parts_of_node(part);
  const bool by_gpu = part == Inside::gpu;
  std::vector<std::vector<int>> out(std::max<size_t>(1, parts.size() + (by_gpu ? 1 : 0)));
  for (size_t u = 0; u < units.size(); ++u) {
    size_t best = by_gpu ? parts.size() : 0;
    bool found = false;
    for (size_t p = parts.size(); p-- > 0;) {
      if (!hwloc_bitmap_intersects(parts[p].get(), units[u].get())) continue;
      // Two GPUs that are near the same cores share these.
      const bool keeps = by_gpu && found && out[best].size() < out[p].size();
      best = keeps ? best : p;
      found = true;
    }
    out[best].push_back(static_cast<int>(u));
  }
  return out;
}

// In the order in which ranks take them: in turns over the parts that --map-by names.
std::vector<Topology::Set> Topology::units(BindTo to, const MapPolicy& policy) const {
  std::vector<Set> all = objects(to), out;
  if (!policy.near.empty()) {
    Result<std::vector<int>> near = processors_near(policy.near);
    const Set set(hwloc_bitmap_alloc());
    if (near)
      for (int cpu : *near) hwloc_bitmap_set(set.get(), static_cast<unsigned>(cpu));
    std::stable_partition(all.begin(), all.end(),
                          [&](const Set& unit) { return hwloc_bitmap_intersects(unit.get(), set.get()) != 0; });
  }
  if (policy.inside == MapPolicy::Inside::core || policy.by == MapPolicy::By::ppr) return all;
  std::vector<std::vector<int>> groups = groups_of(all, policy.inside);
  std::vector<int> last;
  if (policy.inside == MapPolicy::Inside::gpu) last = std::move(groups.back()), groups.pop_back();
  for (size_t turn = 0; out.size() + last.size() < all.size(); ++turn)
    for (const std::vector<int>& group : groups)
      if (turn < group.size()) out.push_back(std::move(all[static_cast<size_t>(group[turn])]));
  for (const int unit : last) out.push_back(std::move(all[static_cast<size_t>(unit)]));
  return out;
}

// For each rank the numbers of its units.
std::vector<std::vector<int>> Topology::places(int ranks, const std::vector<Set>& units, size_t width,
                                               const MapPolicy& policy) const {
  using RankBy = MapPolicy::RankBy;
  std::vector<std::vector<int>> out(static_cast<size_t>(ranks));
  const bool by_part = policy.by == MapPolicy::By::ppr && policy.inside != MapPolicy::Inside::node;
  if (by_part) {  // so many on each part, one part after the other
    // Units that lie in the part, or the one in which it lies. Others may have taken all of a part.
    std::vector<std::vector<int>> groups;
    for (const Set& part : parts_of_node(policy.inside)) {
      std::vector<int>& group = groups.emplace_back();
      for (size_t u = 0; u < units.size(); ++u)
        if (hwloc_bitmap_intersects(part.get(), units[u].get())) group.push_back(static_cast<int>(u));
      if (group.empty()) groups.pop_back();
    }
    for (size_t rank = 0; rank < out.size(); ++rank) {
      const size_t part = rank / static_cast<size_t>(policy.per_part),
                   place = rank % static_cast<size_t>(policy.per_part);
      for (size_t i = 0; i < width; ++i) {
        if (groups.empty()) break;
        const std::vector<int>& group = groups[part % groups.size()];
        out[rank].push_back(group[(place * width + i) % group.size()]);
      }
    }
  } else {
    for (size_t rank = 0; rank < out.size(); ++rank)
      for (size_t i = 0; i < std::min(width, units.size()); ++i)
        out[rank].push_back(static_cast<int>((rank * width + i) % units.size()));
  }
  for (std::vector<int>& place : out)  // a node of which hwloc knows no such part
    if (place.empty()) place.push_back(0);
  const RankBy by = policy.rank_by;
  if (by != RankBy::fill && by != RankBy::part && by != RankBy::span) return out;
  std::vector<size_t> part_of_unit(units.size(), 0);
  const std::vector<std::vector<int>> groups = groups_of(units, policy.rank_part);
  for (size_t g = 0; g < groups.size(); ++g)
    for (int unit : groups[g]) part_of_unit[static_cast<size_t>(unit)] = g;
  std::vector<std::vector<std::vector<int>>> of_part(groups.size());
  for (std::vector<int>& place : out) of_part[part_of_unit[static_cast<size_t>(place[0])]].push_back(std::move(place));
  std::vector<std::vector<int>> renumbered;
  const bool turns = by != RankBy::fill;
  for (size_t turn = 0; renumbered.size() < out.size(); ++turn)
    for (auto& part : of_part)
      for (size_t i = turns ? turn : 0; i < (turns ? std::min(part.size(), turn + 1) : part.size()); ++i)
        renumbered.push_back(std::move(part[i]));
  return renumbered;
}

Topology::Binding Topology::bind(int ranks, BindTo to, const MapPolicy& policy, const std::vector<int>& taken) const {
  Binding out;
  out.to = to;
  const BindTo small = policy.hwthreads ? BindTo::hwthread : BindTo::core;
  const int room = policy.hwthreads ? allowed_threads() : allowed_cores_;
  if (to == BindTo::automatic) out.to = ranks * policy.cores_per_rank <= room ? small : BindTo::none;
  out.processors.resize(static_cast<size_t>(ranks));
  if (out.to == BindTo::none) return out;
  std::vector<Set> all = units(out.to, policy);
  if (all.empty()) {
    out.to = BindTo::none;
    return out;
  }
  const bool by_core = out.to == BindTo::core || out.to == BindTo::hwthread;
  const size_t width = by_core ? static_cast<size_t>(policy.cores_per_rank) : 1;
  if (!taken.empty()) {
    const Set others(hwloc_bitmap_alloc());
    for (int cpu : taken) hwloc_bitmap_set(others.get(), static_cast<unsigned>(cpu));
    const auto is_taken = [&](const Set& unit) { return hwloc_bitmap_intersects(unit.get(), others.get()) != 0; };
    const auto free = static_cast<size_t>(std::ranges::count_if(all, [&](const Set& u) { return !is_taken(u); }));
    if (free >= static_cast<size_t>(ranks) * width) {
      std::erase_if(all, is_taken);
    } else if (to == BindTo::automatic && free < all.size()) {
      out.to = BindTo::none;
      out.crowded = true;
      return out;
    }
  }
  const std::vector<std::vector<int>> chosen = places(ranks, all, width, policy);
  for (size_t rank = 0; rank < out.processors.size(); ++rank) {
    for (int unit : chosen[rank])
      for (int cpu : processors_of(all[static_cast<size_t>(unit)].get())) out.processors[rank].push_back(cpu);
    std::ranges::sort(out.processors[rank]);
    std::vector<int>& mine = out.processors[rank];
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  }
  return out;
}

}  // namespace tutti::launcher
