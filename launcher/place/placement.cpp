// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/place/placement.hpp"

#include <algorithm>
#include <cctype>
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
  std::vector<NodeShape> shapes;
  // Of a node, when each slot may be taken `round` times.
  int64_t up_to(int node, int round) const { return std::min<int64_t>(int64_t{slots[node]} * round, most[node]); }
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

// seq and rankfile: where the file says.
Result<std::vector<int>> in_sequence(const AppShape& app, const MapPolicy& policy) {
  const auto named = static_cast<int>(app.sequence.size());
  const int ranks = app.ranks.value_or(named);
  const bool is_file = policy.by == MapPolicy::By::rankfile;
  if (ranks > named)
    return failure(MPI_ERR_ARG, "{} ranks are asked for, and {} names the places of {}", ranks,
                   is_file ? "the rankfile" : "--map-by seq: the hostfile or --host", named);
  if (ranks == 0)
    return failure(MPI_ERR_ARG, "no rank has a place: {} names none",
                   is_file ? "the rankfile" : "--map-by seq: neither a hostfile nor --host");
  return std::vector<int>(app.sequence.begin(), app.sequence.begin() + ranks);
}

// The same places, with other ranks on them (--rank-by). What this says of the parts of a node is for its binding.
std::vector<int> renumbered(const std::vector<int>& order, const AppShape& app, const Room& room,
                            const MapPolicy& policy) {
  using RankBy = MapPolicy::RankBy;
  if (!app.sequence.empty() || policy.rank_by == RankBy::as_placed || policy.rank_by == RankBy::part) return order;
  std::vector<int> take(room.slots.size(), 0);
  for (int node : order) ++take[node];
  if (policy.rank_by == RankBy::slot || policy.rank_by == RankBy::fill) return in_blocks(take, app.nodes);
  if (policy.rank_by == RankBy::node) return in_turns(take, app.nodes);
  std::vector<int> out;
  while (out.size() < order.size())
    for (int node : app.nodes)
      for (int part = 0; part < parts_of(room.shapes[node], policy.rank_part) && take[node] > 0; ++part) {
        --take[node];
        out.push_back(node);
      }
  return out;
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
  if (policy.by == MapPolicy::By::seq || policy.by == MapPolicy::By::rankfile) return in_sequence(app, policy);
  if (policy.by == MapPolicy::By::ppr) {
    std::vector<int> takes(room.slots.size(), 0);
    int64_t most = 0;
    for (int node : app.nodes) {
      takes[node] = policy.per_part * parts_of(room.shapes[node], policy.inside);
      most += takes[node];
    }
    const int64_t ranks = app.ranks.value_or(static_cast<int>(std::min<int64_t>(most, 1'000'000)));
    if (ranks > most)
      return failure(MPI_ERR_SPAWN,
                     "{} ranks do not fit on {} nodes with --map-by ppr:{}:{}; "
                     "at most {} do",
                     ranks, app.nodes.size(), policy.per_part, part_name(policy.inside), most);
    std::vector<int> take(room.slots.size(), 0);
    for (int left = static_cast<int>(ranks); int node : app.nodes) {
      take[node] = std::min(takes[node], left);
      left -= take[node];
      if (room.used[node] + take[node] > room.most[node]) return too_many(static_cast<int>(ranks), free_at_most);
    }
    return in_blocks(take, app.nodes);
  }
  // A rank of several cores takes as many slots: its node holds fewer.
  const int ranks = app.ranks.value_or(static_cast<int>(std::max<int64_t>(1, free)));
  if (ranks > free_at_most) return too_many(ranks, free_at_most);
  if (policy.by == MapPolicy::By::node) return in_turns(fill_by_node(ranks, app, room), app.nodes);
  return in_blocks(policy.span ? fill_by_node(ranks, app, room) : fill_by_slot(ranks, app, room), app.nodes);
}

}  // namespace

NodeShape sound(NodeShape told) {
  for (int* count : {&told.cores, &told.threads, &told.sockets, &told.numas, &told.l3caches})
    *count = std::max(1, *count);
  return told;
}

Result<std::string> take_bind_words(std::string_view text, MapPolicy& policy) {
  if (text.starts_with("user:") || text.starts_with("rr"))
    return failure(MPI_ERR_ARG,
                   "--bind-to {}: type --bind-to core, --rankfile FILE for the cores of each rank, or --cpu-set LIST",
                   text);
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
    else if (word == "no-overload" || word == "overload-allowed")
      policy.overload = word == "overload-allowed";
    else if (word != "if-supported")
      return failure(MPI_ERR_ARG,
                     "--bind-to {}: '{}' is not one of overload-allowed, no-overload and "
                     "if-supported; core:N gives each rank N cores",
                     text, word);
  }
  // All of a node is what a rank has that is not bound.
  return object == "board" || object == "machine" ? "none" : object;
}

namespace {

using Inside = MapPolicy::Inside;

constexpr std::pair<std::string_view, Inside> kParts[] = {
    {"core", Inside::core},      {"l3cache", Inside::l3cache},   {"numa", Inside::numa}, {"socket", Inside::socket},
    {"package", Inside::socket}, {"hwthread", Inside::hwthread}, {"node", Inside::node}, {"board", Inside::node},
    {"gpu", Inside::gpu},        {"L3cache", Inside::l3cache},
};

std::optional<Inside> part_of(std::string_view word) {
  for (const auto& [name, part] : kParts)
    if (name == word) return part;
  return std::nullopt;
}

std::vector<std::string_view> cut_at_colons(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::string_view rest = text;;) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    out.push_back(rest.substr(0, colon));
    if (colon == rest.size()) return out;
    rest.remove_prefix(colon + 1);
  }
}

Error not_a_mapping(std::string_view text, std::string_view part) {
  constexpr std::string_view known[] = {"slot",           "core", "node", "socket",   "l3cache", "numa",
                                        "hwthread",       "gpu",  "seq",  "rankfile", "dist",    "oversubscribe",
                                        "nooversubscribe"};
  return failure(MPI_ERR_ARG,
                 "--map-by {}: '{}' is not one of slot, core, node, socket, numa, l3cache, hwthread, gpu, "
                 "ppr:N:PART, seq, rankfile:FILE, dist:DEVICE, with :pe=N, :span or :nooversubscribe{}",
                 text, part, did_you_mean(part, known));
}

// The words in front: what ranks go over. `at`: the first of those behind.
Error take_mapping(std::string_view text, const std::vector<std::string_view>& parts, MapPolicy& policy, size_t& at) {
  at = 1;
  if (parts[0] == "ppr") {
    const auto count = parts.size() >= 3 ? positive(parts[1]) : std::nullopt;
    const auto part = count ? part_of(parts[2]) : std::nullopt;
    if (!part || part == Inside::gpu) return not_a_mapping(text, text);
    policy.by = MapPolicy::By::ppr;
    policy.per_part = *count;
    policy.inside = *part;
    at = 3;
    return {};
  }
  if (parts[0] == "seq" || parts[0] == "rankfile") {
    policy.by = parts[0] == "seq" ? MapPolicy::By::seq : MapPolicy::By::rankfile;
    return {};
  }
  if (parts[0] == "dist") {
    if (parts.size() < 2 || parts[1].empty() || parts[1].find('/') != text.npos)
      return failure(MPI_ERR_ARG, "--map-by {}: name the device, such as dist:mlx5_0 or dist:eth0", text);
    policy.near = parts[1];
    at = 2;
    return {};
  }
  if (parts[0] == "slot" || (parts[0].empty() && parts.size() > 1)) return {};
  const auto part = part_of(parts[0]);
  if (!part || parts[0] == "board") return not_a_mapping(text, parts[0]);
  if (part == Inside::node)
    policy.by = MapPolicy::By::node;
  else
    policy.inside = *part == Inside::hwthread ? Inside::core : *part;
  return {};
}

}  // namespace

std::string_view part_name(Inside part) {
  for (const auto& [name, each] : kParts)
    if (each == part) return name;
  return "node";
}

int parts_of(const NodeShape& node, Inside part) {
  switch (part) {
    case Inside::core:
      return node.cores;
    case Inside::hwthread:
      return node.threads;
    case Inside::l3cache:
      return node.l3caches;
    case Inside::numa:
      return node.numas;
    case Inside::socket:
      return node.sockets;
    default:
      return 1;
  }
}

Error take_rank_by(std::string_view text, MapPolicy& policy) {
  using RankBy = MapPolicy::RankBy;
  const std::string_view word = text.substr(0, text.find(':'));
  const std::string_view rest = text.substr(word.size());
  if (!rest.empty() && rest != ":span" && rest != ":fill")
    return failure(MPI_ERR_ARG, "--rank-by {}: '{}' is not span or fill", text, rest.substr(1));
  const bool is_part = part_of(word) && word != "board" && word != "gpu";
  if (word != "slot" && word != "fill" && word != "span" && !is_part)
    return failure(MPI_ERR_ARG,
                   "--rank-by takes slot, node, fill, span, core, hwthread, l3cache, numa or socket, not '{}'", text);
  policy.rank_by = word == "slot"                      ? RankBy::slot
                   : word == "node"                    ? RankBy::node
                   : word == "fill" || rest == ":fill" ? RankBy::fill
                   : word == "span" || rest == ":span" ? RankBy::span
                                                       : RankBy::part;
  policy.rank_part = is_part && word != "node" ? *part_of(word) : policy.inside;
  return {};
}

Result<MapPolicy> parse_map_policy(std::string_view text) {
  MapPolicy policy;
  const std::vector<std::string_view> parts = cut_at_colons(text);
  size_t at = 1;
  if (Error e = take_mapping(text, parts, policy, at)) return e;
  for (; at < parts.size(); ++at) {
    std::string part(parts[at]);
    std::ranges::transform(part, part.begin(), [](unsigned char c) { return std::tolower(c); });
    if (part == "oversubscribe")
      policy.oversubscribe = true;
    else if (part == "nooversubscribe")
      policy.oversubscribe = false;
    else if (part == "span")
      policy.span = true;
    else if (part == "hwtcpus")
      policy.hwthreads = true;
    else if (part == "corecpus")
      policy.hwthreads = false;
    else if (part == "overload-allowed" || part == "display" || part == "inherit" || part == "noinherit")
      continue;  // ranks may share cores in any case
    else if (const auto n = part.starts_with("pe=") ? positive(part.substr(3)) : std::nullopt)
      policy.cores_per_rank = *n, policy.cores_given = true;
    else
      return not_a_mapping(text, parts[at]);
  }
  return policy;
}

Result<Placement> place(const std::vector<AppShape>& apps, const std::vector<int>& slots, const MapPolicy& policy,
                        const std::vector<int>& most, const std::vector<NodeShape>& shapes) {
  Room room{slots, most, std::vector<int>(slots.size(), 0), shapes};
  room.shapes.resize(slots.size());
  if (most.empty()) room.most.assign(slots.size(), std::numeric_limits<int>::max());
  for (std::vector<int>* counts : {&room.slots, &room.most})
    for (int& count : *counts) count = std::max(1, count / policy.cores_per_rank);
  Placement out;
  for (size_t a = 0; a < apps.size(); ++a) {
    Result<std::vector<int>> order = order_of(apps[a], room, policy);
    if (!order) return std::move(order).error();
    for (int node : renumbered(*order, apps[a], room, policy))
      out.ranks.push_back({node, static_cast<int>(a), room.used[node]++});
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
