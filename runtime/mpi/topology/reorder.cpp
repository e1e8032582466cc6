// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topology/reorder.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace tutti::mpi::topology {
namespace {

using Parts = std::vector<int>;  // by vertex: its node, numbered in the order of their first ranks

constexpr int kMostPasses = 12;
// Nobody waits for minutes for a communicator: beyond this, vertices of large nodes change places with a sample.
constexpr size_t kMostPartners = 512;

size_t at(int i) {
  return static_cast<size_t>(i);
}

// The nodes' ranks, in the order of their first ones.
std::vector<std::vector<int>> ranks_by_node(std::span<const int> node_of) {
  std::map<int, size_t> numbers;
  std::vector<std::vector<int>> ranks;
  for (size_t r = 0; r < node_of.size(); ++r) {
    const auto [found, first] = numbers.emplace(node_of[r], ranks.size());
    if (first) ranks.emplace_back();
    ranks[found->second].push_back(static_cast<int>(r));
  }
  return ranks;
}

int64_t weight_across(const Ties& ties, const Parts& parts) {
  int64_t sum = 0;
  for (size_t v = 0; v < ties.size(); ++v)
    for (const Tie& tie : ties[v])
      if (parts[v] != parts[at(tie.to)]) sum += tie.weight;
  return sum;
}

// Each tie from both of its ends, once.
Ties from_both_ends(const Ties& ties) {
  std::vector<std::map<int, int64_t>> sums(ties.size());
  for (size_t v = 0; v < ties.size(); ++v)
    for (const Tie& tie : ties[v]) {
      if (at(tie.to) == v) continue;
      sums[v][tie.to] += tie.weight;
      sums[at(tie.to)][static_cast<int>(v)] += tie.weight;
    }
  Ties both(ties.size());
  for (size_t v = 0; v < ties.size(); ++v)
    for (const auto& [to, weight] : sums[v]) both[v].push_back({to, weight});
  return both;
}

Parts grown(const Ties& ties, std::span<const size_t> room) {
  Parts parts(ties.size(), -1);
  std::vector<int64_t> inside(ties.size());  // ties to the node that is being filled
  size_t next_free = 0;
  for (size_t node = 0; node < room.size(); ++node) {
    std::fill(inside.begin(), inside.end(), 0);
    // The most ties first, among equals the lowest vertex; entries whose ties have grown since are passed over.
    std::priority_queue<std::pair<int64_t, int>> best;
    for (size_t taken = 0; taken < room[node];) {
      if (best.empty()) {
        while (parts[next_free] >= 0) ++next_free;
        best.emplace(0, -static_cast<int>(next_free));
      }
      const auto [weight, negative] = best.top();
      best.pop();
      const size_t v = at(-negative);
      if (parts[v] >= 0 || weight != inside[v]) continue;
      parts[v] = static_cast<int>(node);
      ++taken;
      for (const Tie& tie : ties[v])
        if (parts[at(tie.to)] < 0) best.emplace(inside[at(tie.to)] += tie.weight, -tie.to);
    }
  }
  return parts;
}

// Each block of the grid is a node's.
Parts in_blocks(std::span<const int> dims, std::span<const int> block, size_t points) {
  Parts parts(points);
  for (size_t v = 0; v < points; ++v) {
    int node = 0, stride = 1;
    auto rest = static_cast<int>(v);
    for (size_t i = dims.size(); i-- > 0; rest /= dims[i]) {
      node += rest % dims[i] / block[i] * stride;
      stride *= dims[i] / block[i];
    }
    parts[v] = node;
  }
  return parts;
}

// Of the blocks of `volume` points that divide the grid, those with the least between them; empty: none does.
Parts in_best_blocks(const Ties& ties, std::span<const int> dims, int volume) {
  Parts best;
  std::vector<int> block(dims.size(), 1);
  int64_t least = std::numeric_limits<int64_t>::max();
  const auto search = [&](auto&& self, size_t dimension, int left) -> void {
    if (dimension == dims.size()) {
      if (left != 1) return;
      Parts parts = in_blocks(dims, block, ties.size());
      if (const int64_t weight = weight_across(ties, parts); weight < least) least = weight, best = std::move(parts);
      return;
    }
    for (int extent = 1; extent <= left; ++extent) {
      if (left % extent || dims[dimension] % extent) continue;
      block[dimension] = extent;
      self(self, dimension + 1, left / extent);
    }
  };
  search(search, 0, volume);
  return best;
}

// Vertices of two nodes change places as long as less crosses then.
class Exchange {
 public:
  Exchange(const Ties& ties, Parts& parts, size_t nodes) : ties_(ties), parts_(parts), members_(nodes) {
    for (size_t v = 0; v < parts.size(); ++v) members_[at(parts[v])].push_back(static_cast<int>(v));
  }

  void improve() {
    for (int pass = 0; pass < kMostPasses; ++pass) {
      bool moved = false;
      for (size_t v = 0; v < ties_.size(); ++v) moved |= improve(static_cast<int>(v));
      if (!moved) return;
    }
  }

 private:
  int64_t weight_to(int v, int node) const {
    int64_t sum = 0;
    for (const Tie& tie : ties_[at(v)])
      if (parts_[at(tie.to)] == node) sum += tie.weight;
    return sum;
  }
  int64_t weight_between(int v, int u) const {
    for (const Tie& tie : ties_[at(v)])
      if (tie.to == u) return tie.weight;
    return 0;
  }

  bool improve(int v) {
    const int home = parts_[at(v)];
    const int64_t at_home = weight_to(v, home);
    int64_t most = 0;
    std::pair<int, size_t> best{-1, 0};  // a node, and the member to change places with
    for (const Tie& tie : ties_[at(v)]) {
      const int node = parts_[at(tie.to)];
      if (node == home) continue;
      const int64_t gain = weight_to(v, node) - at_home;
      if (gain <= 0 && !worth_a_look(v)) continue;
      const std::vector<int>& members = members_[at(node)];
      const size_t step = 1 + (members.size() - 1) / kMostPartners;
      for (size_t i = 0; i < members.size(); i += step) {
        const int u = members[i];
        const int64_t saved = gain + weight_to(u, home) - weight_to(u, node) - 2 * weight_between(v, u);
        if (saved > most) most = saved, best = {node, i};
      }
    }
    if (best.first < 0) return false;
    int& place = members_[at(best.first)][best.second];
    *std::ranges::find(members_[at(home)], v) = place;
    parts_[at(place)] = home;
    parts_[at(v)] = best.first;
    place = v;
    return true;
  }
  // Who gains nothing itself may still let another gain, if few ties hold it.
  bool worth_a_look(int v) const { return ties_[at(v)].size() <= 8; }

  const Ties& ties_;
  Parts& parts_;
  std::vector<std::vector<int>> members_;  // by node: its vertices
};

}  // namespace

Ties ties_of_grid(std::span<const int> dims, std::span<const char> periodic) {
  const int points = std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<int>());
  Ties ties(at(points));
  for (int v = 0; v < points; ++v) {
    int stride = 1;
    for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) {
      const int coordinate = v / stride % dims[i];
      const bool last = coordinate + 1 == dims[i];
      if (last && !periodic[i]) continue;
      ties[at(v)].push_back({last ? v - coordinate * stride : v + stride, 1});
    }
  }
  return ties;
}

int64_t crossing(const Ties& ties, std::span<const int> node_of, std::span<const int> rank_of) {
  Parts parts(ties.size());
  for (size_t v = 0; v < ties.size(); ++v) parts[v] = node_of[at(rank_of[v])];
  return weight_across(ties, parts);
}

std::vector<int> placed(const Ties& given, std::span<const int> node_of, std::span<const int> dims) {
  std::vector<int> rank_of(given.size());
  std::iota(rank_of.begin(), rank_of.end(), 0);
  const std::vector<std::vector<int>> ranks = ranks_by_node(node_of);
  if (ranks.size() < 2) return rank_of;
  const Ties ties = from_both_ends(given);
  std::vector<size_t> room;
  Parts as_they_are(given.size());
  for (size_t node = 0; node < ranks.size(); ++node) {
    room.push_back(ranks[node].size());
    for (const int rank : ranks[node]) as_they_are[at(rank)] = static_cast<int>(node);
  }
  std::vector<Parts> tries = {as_they_are, grown(ties, room)};
  if (!dims.empty() && std::ranges::all_of(room, [&](size_t r) { return r == room.front(); })) {
    Parts blocks = in_best_blocks(ties, dims, static_cast<int>(room.front()));
    if (!blocks.empty()) tries.push_back(std::move(blocks));
  }
  int64_t least = weight_across(ties, as_they_are);
  const Parts* best = nullptr;
  for (Parts& parts : tries) {
    Exchange(ties, parts, ranks.size()).improve();
    if (const int64_t weight = weight_across(ties, parts); weight < least) least = weight, best = &parts;
  }
  if (!best) return rank_of;
  std::vector<size_t> next(ranks.size());
  for (size_t v = 0; v < given.size(); ++v) {
    const size_t node = at((*best)[v]);
    rank_of[v] = ranks[node][next[node]++];
  }
  return rank_of;
}

namespace {

// Of these vertices alone, by their place in the list.
Ties ties_among(const Ties& ties, const std::vector<int>& vertices) {
  std::map<int, int> place;
  for (size_t i = 0; i < vertices.size(); ++i) place[vertices[i]] = static_cast<int>(i);
  Ties among(vertices.size());
  for (size_t i = 0; i < vertices.size(); ++i)
    for (const Tie& tie : ties[at(vertices[i])])
      if (const auto other = place.find(tie.to); other != place.end()) among[i].push_back({other->second, tie.weight});
  return among;
}

void place_among(const Ties& ties, const std::vector<int>& vertices, std::vector<int>& rank_of,
                 std::span<const std::vector<int>> levels) {
  if (levels.empty() || vertices.size() < 3) return;  // two are as near to each other on any places
  std::vector<int> ranks, labels;
  for (const int v : vertices) {
    ranks.push_back(rank_of[at(v)]);
    labels.push_back(levels.front()[at(ranks.back())]);
  }
  if (std::ranges::find(labels, -1) != labels.end()) return place_among(ties, vertices, rank_of, levels.subspan(1));
  const std::vector<int> order = placed(ties_among(ties, vertices), labels);
  std::map<int, std::vector<int>> inside;
  for (size_t i = 0; i < vertices.size(); ++i) {
    rank_of[at(vertices[i])] = ranks[at(order[i])];
    inside[labels[at(order[i])]].push_back(vertices[i]);
  }
  for (const auto& [label, of_label] : inside) place_among(ties, of_label, rank_of, levels.subspan(1));
}

}  // namespace

std::vector<int> placed_within(const Ties& ties, std::vector<int> rank_of, std::span<const std::vector<int>> levels) {
  std::vector<int> vertices;
  for (size_t v = 0; v < ties.size(); ++v)
    if (std::ranges::any_of(levels, [&](const std::vector<int>& level) { return level[at(rank_of[v])] >= 0; }))
      vertices.push_back(static_cast<int>(v));
  place_among(ties, vertices, rank_of, levels);
  return rank_of;
}

}  // namespace tutti::mpi::topology
