// SPDX-License-Identifier: BSD-3-Clause
// Which rank runs on which node: pure functions from counts to a map, so that every answer can
// stand in a table of tests. Binding inside a node is topology.hpp's.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tutti::launcher {

// --map-by.
struct MapPolicy {
  enum class By { slot, node, ppr } by = By::slot;
  enum class Inside { core, l3cache, numa, socket } inside = Inside::core;  // order of a node's ranks
  int per_node = 0;                                                // ppr:N:node
  int cores_per_rank = 1;                                          // :pe=N
  bool cores_given = false;                                        // so it says, or the user does
  bool oversubscribe = true;                                       // :nooversubscribe clears it
  bool span = false;                                               // evenly over all nodes, in blocks
  bool operator==(const MapPolicy&) const = default;
};
Result<MapPolicy> parse_map_policy(std::string_view text);
// What stands behind the object in --bind-to, such as "core:overload-allowed", or MPICH's "core:4",
// which gives each rank so many cores. Returns the object.
Result<std::string> take_bind_words(std::string_view text, MapPolicy& policy);

struct AppShape {
  std::optional<int> ranks;  // absent: a rank for each slot that is free
  std::vector<int> nodes;    // those that it may use, in order
};

struct Place {
  int node;
  int app;
  int local_rank;  // among the job's ranks on that node
  bool operator==(const Place&) const = default;
};

struct Placement {
  std::vector<Place> ranks;         // in rank order: the first program's, then the second's, …
  std::vector<int> oversubscribed;  // nodes with more ranks than slots
};
// `slots` for each node, each at least 1; `most` that a node takes at all, for each or for none.
Result<Placement> place(const std::vector<AppShape>& apps, const std::vector<int>& slots,
                        const MapPolicy& policy, const std::vector<int>& most = {});

}  // namespace tutti::launcher
