// SPDX-License-Identifier: BSD-3-Clause
// What --display prints of a job before it starts: where ranks go, the nodes, the bindings and the
// cores, for people and (:parseable) for programs.
#pragma once

#include <string>
#include <string_view>

#include "launcher/data/job_map.hpp"

namespace tutti::launcher {

std::string map_text(const JobMap& map, bool parseable);
std::string allocation_text(const JobMap& map, bool parseable);
std::string topology_text(const std::string& node, const Topology& topology, bool parseable);
// Of the ranks of this machine; `node` is its number in the map.
std::string bindings_text(const JobMap& map, int node, const Topology& topology, const Topology::Binding& binding,
                          bool parseable);

}  // namespace tutti::launcher
