// SPDX-License-Identifier: BSD-3-Clause
// Which rank runs on which node: pure functions from counts to a map, so that every answer can
// stand in a table of tests. Binding inside a node is topology.hpp's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tutti::launcher {

// What a node has for ranks: how many it may use of each of its parts.
struct NodeShape {
  int cores = 1, threads = 1, sockets = 1, numas = 1, l3caches = 1;
  bool operator==(const NodeShape&) const = default;
};
// With what another process told made to be 1 at least.
NodeShape sound(NodeShape told);

// --map-by, and --rank-by.
struct MapPolicy {
  enum class By { slot, node, ppr, seq, rankfile } by = By::slot;
  // A part of a node. As `inside` it says over which of them the ranks of a node go in turns.
  enum class Inside { core, l3cache, numa, socket, hwthread, node, gpu };
  Inside inside = Inside::core;
  int per_part = 0;  // ppr:N:PART, PART being `inside`
  // How ranks are numbered, once they have their places: as they were placed; node after node; in turns over the nodes;
  // part after part; in turns over the parts of a node, or over those of all nodes.
  enum class RankBy { as_placed, slot, node, fill, part, span } rank_by = RankBy::as_placed;
  Inside rank_part = Inside::core;
  bool hwthreads = false;     // --use-hwthread-cpus: what is counted as a core is a hardware thread
  bool overload = true;       // ranks may share what they are bound to
  std::string near{};         // dist:DEVICE: cores near this one first
  int cores_per_rank = 1;     // :pe=N
  bool cores_given = false;   // so it says, or the user does
  bool oversubscribe = true;  // :nooversubscribe clears it
  bool span = false;          // evenly over all nodes, in blocks
  bool operator==(const MapPolicy&) const = default;
};
Result<MapPolicy> parse_map_policy(std::string_view text);
// --rank-by: of a policy that --map-by has made.
Error take_rank_by(std::string_view text, MapPolicy& policy);
// How many parts of this kind a node has.
int parts_of(const NodeShape& node, MapPolicy::Inside part);
// What one of them is called in --map-by.
std::string_view part_name(MapPolicy::Inside part);
// What stands behind the object in --bind-to, such as "core:overload-allowed", or MPICH's "core:4",
// which gives each rank so many cores. Returns the object.
Result<std::string> take_bind_words(std::string_view text, MapPolicy& policy);

struct AppShape {
  std::optional<int> ranks;     // absent: a rank for each slot that is free
  std::vector<int> nodes;       // those that it may use, in order
  std::vector<int> sequence{};  // seq and rankfile: the node of each rank
};

struct RankPlace {
  int node;
  int app;
  int local_rank;  // among the job's ranks on that node
  bool operator==(const RankPlace&) const = default;
};

struct Placement {
  std::vector<RankPlace> ranks;     // in rank order: the first program's, then the second's, …
  std::vector<int> oversubscribed;  // nodes with more ranks than slots
};
// `slots` for each node, each at least 1; `most` that a node takes at all, for each or for none; `shapes`
// likewise, for those policies that count the parts of nodes.
Result<Placement> place(const std::vector<AppShape>& apps, const std::vector<int>& slots, const MapPolicy& policy,
                        const std::vector<int>& most = {}, const std::vector<NodeShape>& shapes = {});

}  // namespace tutti::launcher
