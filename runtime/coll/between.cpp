// SPDX-License-Identifier: BSD-3-Clause
// A block that is one rank's alone goes straight from whoever has it to whoever wants it. What a group has
// together (a reduction's result, a vector for all of it) goes through its first rank, the leader, and
// within the group along a binomial tree:
//
//   groups of 4 and 3 ranks, in the union 0 1 2 3 and 4 5 6; the leaders are 0 and 4
//
//   0 ── 1           4 ── 5        up: the operands of a group meet in rank order
//   └─── 2 ── 3      └─── 6        across: 0 and 4; down: the other way round
//
// Blocks of the input and the output are numbered by the ranks of the other group.
#include "coll/between.hpp"

#include <algorithm>
#include <vector>

#include "coll/pattern.hpp"

namespace tutti::coll {
namespace {

constexpr int kAtOnce = 64;  // messages that a rank has under way in either direction

const Buf kNothing;

// My group as a tree under its leader.
struct Tree {
  explicit Tree(const Shape& s) : begin(s.sides().begin()), size(s.sides().size()), place(s.sides().rank_in_group()) {}
  bool leads() const { return place == 0; }
  int parent() const { return begin + Binomial::parent(place); }
  template <class Visit>
  void each_child(Visit&& visit) const {
    Binomial::each_child(place, size, [&](int child) { visit(begin + child); });
  }
  template <class Visit>
  void each_child_farthest_first(Visit&& visit) const {
    Binomial::each_child_farthest_first(place, size, [&](int child) { visit(begin + child); });
  }
  const int begin, size, place;
};

// `data` of the leader to all of its group. Cost: ceil(log2 p) messages one after the other.
void spread(PlanBuilder& plan, const Tree& tree, const Buf& data) {
  plan.fence();
  if (!tree.leads()) plan.recv(data, tree.parent()).fence();
  tree.each_child_farthest_first([&](int child) { plan.send(data, child); });
}

// The inputs of my group, reduced, at its leader, who finds them where the result says; empty elsewhere. A
// node's subtree is the run of ranks that begins with it, so that operands meet in order.
Buf reduce_to_leader(PlanBuilder& plan, const Tree& tree) {
  Buf acc = plan.in();
  PlanBuilder::Id met = PlanBuilder::kNone;
  tree.each_child([&](int child) {
    const Buf incoming = plan.scratch_like(acc);
    const PlanBuilder::Id received = plan.recv(incoming, child).last();
    plan.reduce(acc, incoming).after(received).after(met);
    met = plan.last();
    acc = incoming;
  });
  plan.fence();
  if (!tree.leads()) plan.send(acc, tree.parent()).fence();
  return acc;
}

// Everybody's coming goes up, each leader tells the other one, and that all have come goes down.
Plan barrier_leaders(const Shape& s) {
  PlanBuilder plan(s);
  const Tree tree(s);
  tree.each_child([&](int child) { plan.recv(kNothing, child); });
  plan.fence();
  if (tree.leads())
    plan.recv(kNothing, s.sides().other_begin()).send(kNothing, s.sides().other_begin());
  else
    plan.send(kNothing, tree.parent());
  spread(plan, tree, kNothing);
  return plan.done();
}

// From the root to the leader of the other group, and down from there. The root's own group has no part.
Plan bcast_leader(const Shape& s) {
  PlanBuilder plan(s);
  if (s.root == kRootElsewhere) return plan.done();
  if (s.rank == s.root) return plan.send(plan.out(), s.sides().other_begin()).done();
  const Tree tree(s);
  if (tree.leads()) plan.recv(plan.out(), s.root);
  spread(plan, tree, plan.out());
  return plan.done();
}

// Each rank of the other group sends its block to the root, which has few receives posted at a time.
Plan gather_linear(const Shape& s) {
  PlanBuilder plan(s);
  if (s.root == kRootElsewhere) return plan.done();
  if (s.rank != s.root) return plan.send(plan.in(), s.root).done();
  const Sides sides = s.sides();
  plan.repeat({.number = sides.other_size(), .seats = kAtOnce}, [&](int64_t i) {
    const int peer = static_cast<int>(i);
    plan.recv(plan.out_block(peer), sides.other_begin() + peer);
  });
  return plan.done();
}

// The root sends each rank of the other group its block.
Plan scatter_linear(const Shape& s) {
  PlanBuilder plan(s);
  if (s.root == kRootElsewhere) return plan.done();
  if (s.rank != s.root) return plan.recv(plan.out(), s.root).done();
  const Sides sides = s.sides();
  plan.repeat({.number = sides.other_size()}, [&](int64_t i) {
    const int peer = static_cast<int>(i);
    plan.send(plan.in_block(peer), sides.other_begin() + peer);
  });
  return plan.done();
}

// Every rank with every one of the other group, both ways. In step k rank x meets rank k - x of the other
// group, modulo the larger one's size: both do so in the same step, so that nobody waits in a circle where
// few messages are under way at a time. `mine(i)` is what the other group's rank i gets.
template <class Mine>
Plan pairwise(const Shape& s, PlanBuilder& plan, Mine&& mine) {
  const Sides sides = s.sides();
  const int steps = std::max(sides.size(), sides.other_size());
  plan.repeat({.number = steps, .seats = kAtOnce}, [&](int64_t k) {
    const int i = static_cast<int>((k - sides.rank_in_group() + steps) % steps);
    if (i >= sides.other_size()) return;
    plan.recv(plan.out_block(i), sides.other_begin() + i);
    plan.send(mine(i), sides.other_begin() + i);
  });
  return plan.done();
}

// What each rank has goes to all of the other group: as many bytes as each must get in any case, and a
// message for each pair.
Plan allgather_pairwise(const Shape& s) {
  PlanBuilder plan(s);
  return pairwise(s, plan, [&](int) { return plan.in(); });
}

Plan alltoall_pairwise(const Shape& s) {
  PlanBuilder plan(s);
  return pairwise(s, plan, [&](int i) { return plan.in_block(i); });
}

// Up the other group's tree, and from its leader to the root.
Plan reduce_leader(const Shape& s) {
  PlanBuilder plan(s);
  if (s.root == kRootElsewhere) return plan.done();
  if (s.rank == s.root) return plan.recv(plan.out(), s.sides().other_begin()).done();
  const Tree tree(s);
  const Buf result = reduce_to_leader(plan, tree);
  if (tree.leads()) plan.send(result, s.root);
  return plan.done();
}

// Each group gets what the other one's vectors make: up both trees, across, and down.
Plan allreduce_leaders(const Shape& s) {
  PlanBuilder plan(s);
  const Tree tree(s);
  const Buf result = reduce_to_leader(plan, tree);
  const int other = s.sides().other_begin();
  if (tree.leads()) plan.recv(plan.out(), other).send(result, other);
  spread(plan, tree, plan.out());
  return plan.done();
}

// The same, but that a leader hands each of its group the part that is its own.
Plan reduce_scatter_leaders(const Shape& s) {
  PlanBuilder plan(s);
  const Tree tree(s);
  const Buf result = reduce_to_leader(plan, tree);
  if (!tree.leads()) return plan.recv(plan.out(), tree.begin).done();
  const int other = s.sides().other_begin();
  const Buf theirs = plan.scratch_like(result);
  plan.recv(theirs, other).send(result, other).fence();
  int64_t first = 0;
  for (int i = 0; i < tree.size; ++i) {
    const int64_t count = s.part_count(i);
    const Buf part = theirs.slice(first, count);
    if (i == 0)
      plan.copy(part, plan.out());
    else
      plan.send(part, tree.begin + i);
    first += count;
  }
  return plan.done();
}

constexpr std::string_view kAlways = "between two groups";

}  // namespace

const Algorithm barrier_between{.name = "leaders", .when = kAlways, .build = barrier_leaders};
const Algorithm bcast_between{.name = "leader", .when = kAlways, .build = bcast_leader};
const Algorithm gather_between{.name = "linear", .when = kAlways, .build = gather_linear};
const Algorithm scatter_between{.name = "linear", .when = kAlways, .build = scatter_linear};
const Algorithm allgather_between{.name = "pairwise", .when = kAlways, .build = allgather_pairwise};
const Algorithm alltoall_between{.name = "pairwise", .when = kAlways, .build = alltoall_pairwise};
const Algorithm reduce_between{.name = "leader", .when = kAlways, .build = reduce_leader};
const Algorithm allreduce_between{.name = "leaders", .when = kAlways, .build = allreduce_leaders};
const Algorithm reduce_scatter_between{.name = "leaders", .when = kAlways, .build = reduce_scatter_leaders};

}  // namespace tutti::coll
