// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/placement.hpp"

#include <algorithm>
#include <charconv>
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

// How many of `ranks` each node of the program takes: its free slots in order, and then one more
// round over the slots for each time that there are too few.
std::vector<int> fill_by_slot(int ranks, const AppShape& app, const std::vector<int>& slots,
                              const std::vector<int>& used) {
  std::vector<int> take(slots.size(), 0);
  for (int round = 1; ranks > 0; ++round) {
    for (int node : app.nodes) {
      const int room = std::max(0, slots[node] * round - used[node] - take[node]);
      const int now = std::min(room, ranks);
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
std::vector<int> fill_by_node(int ranks, const AppShape& app, const std::vector<int>& slots,
                              const std::vector<int>& used) {
  std::vector<int> take(slots.size(), 0);
  for (int round = 1; ranks > 0; ++round) {
    for (bool any = true; any && ranks > 0;) {
      any = false;
      for (int node : app.nodes) {
        if (ranks == 0 || used[node] + take[node] >= slots[node] * round) continue;
        ++take[node];
        --ranks;
        any = true;
      }
    }
  }
  return take;
}

Result<std::vector<int>> order_of(const AppShape& app, const std::vector<int>& slots,
                                  const std::vector<int>& used, const MapPolicy& policy) {
  int free = 0;
  for (int node : app.nodes) free += std::max(0, slots[node] - used[node]);
  if (policy.by == MapPolicy::By::ppr) {
    const int most = policy.per_node * static_cast<int>(app.nodes.size());
    const int ranks = app.ranks.value_or(most);
    if (ranks > most)
      return failure(MPI_ERR_ARG,
                     "{} ranks do not fit on {} nodes with --map-by ppr:{}:node; "
                     "at most {} do",
                     ranks, app.nodes.size(), policy.per_node, most);
    std::vector<int> take(slots.size(), 0);
    for (int left = ranks; int node : app.nodes) {
      take[node] = std::min(policy.per_node, left);
      left -= take[node];
    }
    return in_blocks(take, app.nodes);
  }
  // A rank of several cores takes as many slots: its node holds fewer.
  const int ranks = app.ranks.value_or(std::max(1, free));
  if (policy.by == MapPolicy::By::node)
    return in_turns(fill_by_node(ranks, app, slots, used), app.nodes);
  return in_blocks(fill_by_slot(ranks, app, slots, used), app.nodes);
}

}  // namespace

Result<MapPolicy> parse_map_policy(std::string_view text) {
  MapPolicy policy;
  const auto wrong = [&](std::string_view part) {
    constexpr std::string_view known[] = {"slot", "core",          "node",           "socket",
                                          "numa", "oversubscribe", "nooversubscribe"};
    return failure(MPI_ERR_ARG,
                   "--map-by {}: '{}' is not one of slot, core, node, socket, numa, "
                   "ppr:N:node, with :pe=N or :nooversubscribe{}",
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
    if (!count || parts[2] != "node") return wrong(text);
    policy.by = MapPolicy::By::ppr;
    policy.per_node = *count;
    at = 3;
  } else if (parts[0] == "node") {
    policy.by = MapPolicy::By::node;
  } else if (parts[0] == "socket" || parts[0] == "package") {
    policy.inside = MapPolicy::Inside::socket;
  } else if (parts[0] == "numa") {
    policy.inside = MapPolicy::Inside::numa;
  } else if (parts[0] != "slot" && parts[0] != "core" && (!parts[0].empty() || parts.size() == 1)) {
    return wrong(parts[0]);
  }
  for (; at < parts.size(); ++at) {
    std::string part(parts[at]);
    std::ranges::transform(part, part.begin(), [](unsigned char c) { return std::tolower(c); });
    if (part == "oversubscribe")
      policy.oversubscribe = true;
    else if (part == "nooversubscribe")
      policy.oversubscribe = false;
    else if (const auto n = part.starts_with("pe=") ? positive(part.substr(3)) : std::nullopt)
      policy.cores_per_rank = *n;
    else
      return wrong(parts[at]);
  }
  return policy;
}

Result<Placement> place(const std::vector<AppShape>& apps, const std::vector<int>& slots_given,
                        const MapPolicy& policy) {
  std::vector<int> slots = slots_given;
  for (int& s : slots) s = std::max(1, s / policy.cores_per_rank);
  Placement out;
  std::vector<int> used(slots.size(), 0);
  for (size_t a = 0; a < apps.size(); ++a) {
    Result<std::vector<int>> order = order_of(apps[a], slots, used, policy);
    if (!order) return std::move(order).error();
    for (int node : *order) out.ranks.push_back({node, static_cast<int>(a), used[node]++});
  }
  for (size_t node = 0; node < slots.size(); ++node)
    if (used[node] > slots[node]) out.oversubscribed.push_back(static_cast<int>(node));
  if (!policy.oversubscribe && !out.oversubscribed.empty())
    return failure(MPI_ERR_ARG,
                   "{} ranks are asked for on a node with {} slots, and --map-by says "
                   "nooversubscribe; use fewer ranks or more nodes",
                   used[out.oversubscribed[0]], slots[out.oversubscribed[0]]);
  return out;
}

}  // namespace tutti::launcher
