// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/display.hpp"

#include <fmt/ranges.h>

#include "base/ranks_text.hpp"

namespace tutti::launcher {

std::string map_text(const JobMap& map, bool parseable) {
  std::string out;
  if (parseable) {
    for (size_t r = 0; r < map.ranks.size(); ++r) {
      const RankPlace place = map.ranks[r];
      out += fmt::format("map rank={} node={} local_rank={} program={}\n", r,
                         map.nodes[static_cast<size_t>(place.node)], place.local_rank, place.app);
    }
    return out;
  }
  out = fmt::format("map: {} rank{} on {} node{}\n", map.ranks.size(), map.ranks.size() == 1 ? "" : "s",
                    map.nodes.size(), map.nodes.size() == 1 ? "" : "s");
  for (size_t n = 0; n < map.nodes.size(); ++n) {
    const std::vector<int> ranks = map.ranks_on(static_cast<int>(n));
    if (!ranks.empty()) out += fmt::format("  {} ({} slots): {}\n", map.nodes[n], map.slots[n], ranks_text(ranks));
  }
  return out;
}

std::string allocation_text(const JobMap& map, bool parseable) {
  std::string out = parseable ? "" : "allocation:\n";
  for (size_t n = 0; n < map.nodes.size(); ++n)
    out += parseable ? fmt::format("allocation node={} slots={}\n", map.nodes[n], map.slots[n])
                     : fmt::format("  {}: {} slots\n", map.nodes[n], map.slots[n]);
  return out;
}

std::string topology_text(const std::string& node, const Topology& topology, bool parseable) {
  return parseable ? fmt::format("topology node={} cores={} threads={}\n", node, topology.allowed_cores(),
                                 topology.allowed_threads())
                   : fmt::format("topology of {}: {}\n", node, topology.summary());
}

std::string bindings_text(const JobMap& map, int node, const Topology& topology, const Topology::Binding& binding,
                          bool parseable) {
  std::string out;
  const std::vector<int> ranks = map.ranks_on(node);
  const std::string& name = map.nodes[static_cast<size_t>(node)];
  for (size_t i = 0; i < ranks.size(); ++i)
    out += parseable ? fmt::format("binding rank={} node={} processors={}\n", ranks[i], name,
                                   fmt::join(binding.processors[i], ","))
                     : fmt::format("rank {} on {}: {}\n", ranks[i], name, topology.describe(binding.processors[i]));
  return out;
}

}  // namespace tutti::launcher
