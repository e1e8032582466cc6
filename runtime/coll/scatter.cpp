// SPDX-License-Identifier: BSD-3-Clause
// Scatter and scatterv: a block from the root to everybody. The mirror image of gather.cpp.
#include <vector>

#include "coll/algorithm.hpp"
#include "coll/hierarchical.hpp"
#include "coll/pattern.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {
namespace {

constexpr int kAtOnce = 64;  // sends that the root has under way at a time

// The root sends each block from where it lies: wins for long blocks, and is the only way where
// the ranks between do not know the counts (scatterv).
Plan scatter_linear(const Shape& s) {
  PlanBuilder plan(s);
  if (s.rank != s.root) return plan.recv(plan.out(), s.root).done();
  plan.repeat({.number = s.size - 1, .seats = kAtOnce}, [&](int64_t i) {
    const int peer = static_cast<int>((s.root + 1 + i) % s.size);
    plan.send(plan.in_block(peer), peer);
  });
  if (!s.in_place) plan.copy(plan.in_block(s.rank), plan.out());
  return plan.done();
}

// Down a binomial tree, packed: ceil(log2 p) steps, wins for short blocks. What the root sends is
// cut where the ranks wrap around the end, so that it comes straight from its buffer.
Plan scatter_binomial(const Shape& s) {
  PlanBuilder plan(s);
  const Rotation places{s.root, s.size};
  const int place = places.place(s.rank), subtree = Binomial::subtree(place, s.size);
  if (place == 0) {
    Binomial::each_child_farthest_first(0, s.size, [&](int child) {
      each_run(places.rank(child), Binomial::subtree(child, s.size), s.size,
               [&](int first, int n) { plan.send(plan.in_blocks(first, n), places.rank(child)); });
    });
    if (!s.in_place) plan.copy(plan.in_block(s.rank), plan.out());
    return plan.done();
  }
  const int parent = Binomial::parent(place);
  if (subtree == 1) return plan.recv(plan.out(), places.rank(parent)).done();

  const Buf packed = plan.scratch_bytes(subtree * s.bytes);
  int64_t received = 0;
  const auto receive_run = [&](int, int n) {
    plan.recv(packed.slice(received * s.bytes, n * s.bytes), places.rank(parent));
    received += n;
  };
  if (parent == 0)
    each_run(s.rank, subtree, s.size, receive_run);
  else
    receive_run(0, subtree);
  plan.fence();
  Binomial::each_child_farthest_first(place, s.size, [&](int child) {
    plan.send(packed.slice((child - place) * s.bytes, Binomial::subtree(child, s.size) * s.bytes), places.rank(child));
  });
  return plan.copy(packed.slice(0, s.bytes), plan.out()).done();
}

constexpr Algorithm kScatter[] = {
    {.name = "binomial", .when = "short blocks", .build = scatter_binomial},
    {.name = "linear", .when = "long blocks", .build = scatter_linear},
    {.name = "shared", .when = "ranks of one node", .build = shared_scatter, .needs = Needs::shared_memory},
    {.name = "hierarchical",
     .when = "short blocks on several nodes",
     .build = hierarchical_scatter,
     .needs = Needs::nodes},
};
constexpr Algorithm kScatterv[] = {
    {.name = "linear", .when = "always", .build = scatter_linear},
    {.name = "shared",
     .when = "short blocks, ranks of one node",
     .build = shared_scatterv,
     .needs = Needs::shared_memory},
};

}  // namespace

std::span<const Algorithm> scatter_algorithms() {
  return kScatter;
}
std::span<const Algorithm> scatterv_algorithms() {
  return kScatterv;
}

}  // namespace tutti::coll
