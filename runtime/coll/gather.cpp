// SPDX-License-Identifier: BSD-3-Clause
// Gather and gatherv: a block from everybody to the root.
#include <vector>

#include "coll/algorithm.hpp"
#include "coll/hierarchical.hpp"
#include "coll/pattern.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {
namespace {

constexpr int kAtOnce = 64;  // receives that the root has posted at a time

// Everybody sends to the root, which receives each block where it belongs: wins for long blocks,
// and is the only way where the ranks between do not know the counts (gatherv).
Plan gather_linear(const Shape& s) {
  PlanBuilder plan(s);
  if (s.rank != s.root) return plan.send(plan.in(), s.root).done();
  plan.repeat({.number = s.size - 1, .seats = kAtOnce}, [&](int64_t i) {
    const int peer = static_cast<int>((s.root + 1 + i) % s.size);
    plan.recv(plan.out_block(peer), peer);
  });
  if (!s.in_place) plan.copy(plan.in(), plan.out_block(s.rank));
  return plan.done();
}

// Up a binomial tree; a node packs the blocks of its subtree. The root is reached in ceil(log2 p)
// steps: wins for short blocks. What the root's children send is cut where the ranks wrap around
// the end, so that it lands where it belongs:
//
//   7 ranks, root 5:  places 0 1 2 3 4 5 6 = ranks 5 6 0 1 2 3 4
//   place 1 sends rank 6 whole, place 2 ranks 0 1, place 4 ranks 2 3 4
Plan gather_binomial(const Shape& s) {
  PlanBuilder plan(s);
  const Rotation places{s.root, s.size};
  const int place = places.place(s.rank), subtree = Binomial::subtree(place, s.size);
  if (place == 0) {
    if (!s.in_place) plan.copy(plan.in(), plan.out_block(s.rank));
    Binomial::each_child_farthest_first(0, s.size, [&](int child) {
      each_run(places.rank(child), Binomial::subtree(child, s.size), s.size,
               [&](int first, int n) { plan.recv(plan.out_blocks(first, n), places.rank(child)); });
    });
    return plan.done();
  }
  const int parent = Binomial::parent(place);
  if (subtree == 1) return plan.send(plan.in(), places.rank(parent)).done();

  const Buf packed = plan.scratch_bytes(subtree * s.bytes);
  plan.copy(plan.in(), packed.slice(0, s.bytes));
  Binomial::each_child_farthest_first(place, s.size, [&](int child) {
    plan.recv(packed.slice((child - place) * s.bytes, Binomial::subtree(child, s.size) * s.bytes), places.rank(child));
  });
  plan.fence();
  int64_t sent = 0;
  const auto send_run = [&](int, int n) {
    plan.send(packed.slice(sent * s.bytes, n * s.bytes), places.rank(parent));
    sent += n;
  };
  if (parent == 0)
    each_run(s.rank, subtree, s.size, send_run);
  else
    send_run(0, subtree);
  return plan.done();
}

constexpr Algorithm kGather[] = {
    {.name = "binomial", .when = "short blocks", .build = gather_binomial},
    {.name = "linear", .when = "long blocks", .build = gather_linear},
    {.name = "shared", .when = "ranks of one node", .build = shared_gather, .needs = Needs::shared_memory},
    {.name = "hierarchical",
     .when = "short blocks on several nodes",
     .build = hierarchical_gather,
     .needs = Needs::nodes},
};
constexpr Algorithm kGatherv[] = {
    {.name = "linear", .when = "always", .build = gather_linear},
    {.name = "shared",
     .when = "short blocks, ranks of one node",
     .build = shared_gatherv,
     .needs = Needs::shared_memory},
};

}  // namespace

std::span<const Algorithm> gather_algorithms() {
  return kGather;
}
std::span<const Algorithm> gatherv_algorithms() {
  return kGatherv;
}

}  // namespace tutti::coll
