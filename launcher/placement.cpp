// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/placement.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <string>

#include "base/nearest.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

std::optional<int> positive(std::string_view word) {
  int value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc() || end != word.data() + word.size() || value < 1) return {};
  return value;
}

// The nodes as the ranks find them.
struct Room {
  std::vector<int> slots, most, used;
  // Of a node, when each slot may be taken `round` times.
  int64_t up_to(int node, int round) const {
    return std::min<int64_t>(int64_t{slots[node]} * round, most[node]);
  }
};

// How many of `ranks` each node of the program takes: its free slots in order, and then one more
// round over the slots for each time that there are too few.
std::vector<int> fill_by_slot(int ranks, const AppShape& app, const Room& room) {
  std::vector<int> take(room.slots.size(), 0);
  for (int round = 1; ranks > 0; ++round) {
    for (int node : app.nodes) {
      const int64_t free = room.up_to(node, round) - room.used[node] - take[node];
      const int now = static_cast<int>(std::clamp<int64_t>(free, 0, ranks));
      take[node] += now;
      ranks -= now;
    }
  }
  return take;
}

std::vector<int> in_blocks(const std::vector<int>& take, const std::vector<int>& nodes) {
  std::vector<int> order;
  for (int node : nodes) order.insert(order.end(), take[node], node);
  return order;
}

std::vector<int> in_turns(std::vector<int> take, const std::vector<int>& nodes) {
  std::vector<int> order;
  const int total = std::accumulate(take.begin(), take.end(), 0);
  while (static_cast<int>(order.size()) < total)
    for (int node : nodes)
      if (take[node] > 0) {
        --take[node];
        order.push_back(node);
      }
  return order;
}

// One rank a node and turn while slots are free; then the same over full nodes.
std::vector<int> fill_by_node(int ranks, const AppShape& app, const Room& room) {
  std::vector<int> take(room.slots.size(), 0);
  for (int round = 1; ranks > 0; ++round) {
    for (bool any = true; any && ranks > 0;) {
      any = false;
      for (int node : app.nodes) {
        if (ranks == 0 || room.used[node] + take[node] >= room.up_to(node, round)) continue;
        ++take[node];
        --ranks;
        any = true;
      }
    }
  }
  return take;
}

// The nodes of the program's ranks, in rank order.
Result<std::vector<int>> order_of(const AppShape& app, const Room& room, const MapPolicy& policy) {
  int64_t free = 0, free_at_most = 0;
  for (int node : app.nodes) {
    free += std::max<int64_t>(0, room.up_to(node, 1) - room.used[node]);
    free_at_most += std::max(0, room.most[node] - room.used[node]);
  }
  const auto too_many = [&](int ranks, int64_t fit) {
    return failure(MPI_ERR_SPAWN,
                   "{} ranks are asked for, and the nodes take {} at most, by the max_slots of the "
                   "hostfile; use fewer ranks or more nodes",
                   ranks, fit);
  };
  if (policy.by == MapPolicy::By::ppr) {
    const int most = policy.per_node * static_cast<int>(app.nodes.size());
    const int ranks = app.ranks.value_or(most);
    if (ranks > most)
      return failure(MPI_ERR_SPAWN,
                     "{} ranks do not fit on {} nodes with --map-by ppr:{}:node; "
                     "at most {} do",
                     ranks, app.nodes.size(), policy.per_node, most);
    std::vector<int> take(room.slots.size(), 0);
    for (int left = ranks; int node : app.nodes) {
      take[node] = std::min(policy.per_node, left);
      left -= take[node];
      if (room.used[node] + take[node] > room.most[node]) return too_many(ranks, free_at_most);
    }
    return in_blocks(take, app.nodes);
  }
  // A rank of several cores takes as many slots: its node holds fewer.
  const int ranks = app.ranks.value_or(static_cast<int>(std::max<int64_t>(1, free)));
  if (ranks > free_at_most) return too_many(ranks, free_at_most);
  if (policy.by == MapPolicy::By::node) return in_turns(fill_by_node(ranks, app, room), app.nodes);
  return in_blocks(policy.span ? fill_by_node(ranks, app, room) : fill_by_slot(ranks, app, room),
                   app.nodes);
}

}  // namespace

Result<std::string> take_bind_words(std::string_view text, MapPolicy& policy) {
  const size_t end = std::min(text.find(':'), text.size());
  const std::string object(text.substr(0, end));
  std::string_view rest = text.substr(end);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find(':'));
    rest.remove_prefix(word.size());
    const auto count = positive(word);
    if (count && object == "core")
      policy.cores_per_rank = *count, policy.cores_given = true;
    else if (word != "overload-allowed" && word != "if-supported" && word != "no-overload")
      return failure(MPI_ERR_ARG,
                     "--bind-to {}: '{}' is not one of overload-allowed and if-supported; core:N "
                     "gives each rank N cores",
                     text, word);
  }
  // All of a node is what a rank has that is not bound.
  return object == "board" || object == "machine" ? "none" : object;
}

Result<MapPolicy> parse_map_policy(std::string_view text) {
  MapPolicy policy;
  const auto wrong = [&](std::string_view part) {
    constexpr std::string_view known[] = {"slot",    "core", "node",          "socket",
                                          "l3cache", "numa", "oversubscribe", "nooversubscribe"};
    return failure(MPI_ERR_ARG,
                   "--map-by {}: '{}' is not one of slot, core, node, socket, numa, l3cache, "
                   "ppr:N:node, with :pe=N, :span or :nooversubscribe{}",
                   text, part, did_you_mean(part, known));
  };
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    parts.push_back(rest.substr(0, colon));
    if (colon == rest.size()) break;
    rest.remove_prefix(colon + 1);
  }
  size_t at = 1;
  if (parts[0] == "ppr") {
    const auto count = parts.size() >= 3 ? positive(parts[1]) : std::nullopt;
    if (count && parts[2] != "node")
      return failure(MPI_ERR_ARG,
                     "--map-by {}: ranks are counted by the node; type ppr:N:node for its N ranks, "
                     "and --bind-to {} to spread them",
                     text, parts[2]);
    if (!count) return wrong(text);
    policy.by = MapPolicy::By::ppr;
    policy.per_node = *count;
    at = 3;
  } else if (parts[0] == "node") {
    policy.by = MapPolicy::By::node;
  } else if (parts[0] == "socket" || parts[0] == "package") {
    policy.inside = MapPolicy::Inside::socket;
  } else if (parts[0] == "numa") {
    policy.inside = MapPolicy::Inside::numa;
  } else if (parts[0] == "l3cache" || parts[0] == "L3cache") {
    policy.inside = MapPolicy::Inside::l3cache;
  } else if (parts[0] == "seq" || parts[0] == "rankfile" || parts[0] == "dist") {
    return failure(MPI_ERR_ARG,
                   "--map-by {} is not supported: name the nodes by --host in the order in which "
                   "ranks shall fill them",
                   parts[0]);
  } else if (parts[0] != "slot" && parts[0] != "core" && parts[0] != "hwthread" && (!parts[0].empty() || parts.size() == 1)) {
    return wrong(parts[0]);
  }
  for (; at < parts.size(); ++at) {
    std::string part(parts[at]);
    std::ranges::transform(part, part.begin(), [](unsigned char c) { return std::tolower(c); });
    if (part == "oversubscribe")
      policy.oversubscribe = true;
    else if (part == "nooversubscribe")
      policy.oversubscribe = false;
    else if (part == "span")
      policy.span = true;
    else if (part == "overload-allowed" || part == "display")
      continue;  // ranks may share cores in any case
    else if (const auto n = part.starts_with("pe=") ? positive(part.substr(3)) : std::nullopt)
      policy.cores_per_rank = *n, policy.cores_given = true;
    else
      return wrong(parts[at]);
  }
  return policy;
}

Result<Placement> place(const std::vector<AppShape>& apps, const std::vector<int>& slots,
                        const MapPolicy& policy, const std::vector<int>& most) {
  Room room{slots, most, std::vector<int>(slots.size(), 0)};
  if (most.empty()) room.most.assign(slots.size(), std::numeric_limits<int>::max());
  for (std::vector<int>* counts : {&room.slots, &room.most})
    for (int& count : *counts) count = std::max(1, count / policy.cores_per_rank);
  Placement out;
  for (size_t a = 0; a < apps.size(); ++a) {
    Result<std::vector<int>> order = order_of(apps[a], room, policy);
    if (!order) return std::move(order).error();
    for (int node : *order) out.ranks.push_back({node, static_cast<int>(a), room.used[node]++});
  }
  for (size_t node = 0; node < slots.size(); ++node)
    if (room.used[node] > room.slots[node]) out.oversubscribed.push_back(static_cast<int>(node));
  if (!policy.oversubscribe && !out.oversubscribed.empty())
    return failure(MPI_ERR_SPAWN,
                   "{} ranks are asked for on a node with {} slots, and --map-by says "
                   "nooversubscribe; use fewer ranks or more nodes",
                   room.used[out.oversubscribed[0]], room.slots[out.oversubscribed[0]]);
  return out;
}

}  // namespace tutti::launcher
