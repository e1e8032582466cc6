// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter and reduce_scatter_block: the reduction of everybody's vector, block i of it at
// rank i. In place, the vector stands where the block will: nothing is written there before the
// end.
#include <utility>

#include "coll/algorithm.hpp"
#include "coll/exchange.hpp"
#include "coll/halving.hpp"
#include "coll/hierarchical.hpp"
#include "coll/pairwise.hpp"
#include "coll/shared.hpp"
#include "coll/striped.hpp"

namespace tutti::coll {
namespace {

// Where the blocks begin in the vector.
struct Blocks {
  explicit Blocks(const Shape& s) : begins(static_cast<size_t>(s.size) + 1) {
    for (size_t i = 0; i < static_cast<size_t>(s.size); ++i)
      begins[i + 1] = begins[i] + (s.counts.empty() ? s.out_count : s.counts[i]);
  }
  Range of(int first, int end) const { return {begins[static_cast<size_t>(first)], begins[static_cast<size_t>(end)]}; }
  Range of(int rank) const { return of(rank, rank + 1); }
  std::vector<int64_t> begins;
};

Buf part(const Buf& vector, const Range& r) {
  return vector.slice(r.begin, r.size());
}

// Halving with the nearest partner first, which keeps the order of operands but leaves the blocks
// in bit-reversed places; one more message takes each home. ceil(log2 p) + 1 steps: for short
// vectors.
Plan reduce_scatter_ordered_halving(const Shape& s) {
  PlanBuilder plan(s);
  const Fold fold(s.rank, s.size);
  const Blocks blocks(s);
  const Buf in = plan.in();
  const int keeper = fold.first(reversed(fold.place, fold.width));  // of my place's blocks
  if (fold.is_guest()) {
    plan.send(in, fold.partner).fence();
    return plan.recv(plan.out(), keeper).done();
  }
  Accumulator vector{plan, s.rank, plan.scratch_like(in), plan.scratch_like(in)};
  plan.copy(in, vector.acc);
  if (fold.is_host()) {
    plan.recv(vector.incoming, fold.partner);
    vector.absorb(fold.partner);
  }
  plan.fence();
  reduce_by_halving(vector, fold, halving_ranges(fold.place, fold.width), [&](const Range& places) {
    return blocks.of(fold.first(static_cast<int>(places.begin)), fold.first(static_cast<int>(places.end)));
  });
  const int kept = reversed(fold.place, fold.width);
  for (int owner = fold.first(kept); owner < fold.first(kept + 1); ++owner) {
    const Buf block = part(vector.acc, blocks.of(owner));
    if (owner == s.rank)
      plan.copy(block, plan.out());
    else
      plan.send(block, owner);
  }
  if (keeper != s.rank) plan.recv(plan.out(), keeper);
  return plan.done();
}

// Halving with the farthest partner first: every block ends at home, ceil(log2 p) steps. Operands
// meet out of order, so that each of them may stand on the right, and the input is copied nowhere.
Plan reduce_scatter_halving(const Shape& s) {
  PlanBuilder plan(s);
  const Fold fold(s.rank, s.size);
  const Blocks blocks(s);
  const Buf in = plan.in();
  if (fold.is_guest()) {
    plan.send(in, fold.partner).fence();
    return plan.recv(plan.out(), fold.partner).done();
  }
  Buf acc = in, incoming = plan.scratch_like(in), next = plan.scratch_like(in);
  // What came in takes the place of what it has met.
  const auto take = [&] {
    acc = std::exchange(incoming, next);
    next = acc;
  };
  if (fold.is_host()) {
    plan.recv(incoming, fold.partner).fence();
    plan.reduce(acc, incoming);
    take();
  }
  for (int bit = fold.width / 2; bit > 0; bit >>= 1) {
    const int mine = fold.place & -bit, theirs = mine ^ bit;
    const Range keep = blocks.of(fold.first(mine), fold.first(mine + bit));
    const Range give = blocks.of(fold.first(theirs), fold.first(theirs + bit));
    plan.fence().recv(part(incoming, keep), fold.peer(bit)).send(part(acc, give), fold.peer(bit));
    plan.fence().reduce(part(acc, keep), part(incoming, keep));
    take();
  }
  plan.fence();
  if (fold.is_host()) plan.send(part(acc, blocks.of(fold.partner)), fold.partner);
  return plan.copy(part(acc, blocks.of(s.rank)), plan.out()).done();
}

// Sends the vector once and needs room for a few blocks only: wins for long vectors. Keeps the
// order.
Plan reduce_scatter_pairwise(const Shape& s) {
  PlanBuilder plan(s);
  const Blocks blocks(s);
  const Buf in = plan.in();
  reduce_pairwise(plan, s, [&](int i) { return part(in, blocks.of(i)); }, plan.out());
  return plan.done();
}

constexpr Algorithm kReduceScatter[] = {
    {.name = "ordered_halving", .when = "short vectors", .build = reduce_scatter_ordered_halving},
    {.name = "halving",
     .when = "short vectors of operations that commute",
     .build = reduce_scatter_halving,
     .needs = Needs::commutative},
    {.name = "pairwise", .when = "long vectors", .build = reduce_scatter_pairwise},
    {.name = "shared", .when = "ranks of one node", .build = shared_reduce_scatter, .needs = Needs::shared_memory},
    {.name = "hierarchical",
     .when = "short vectors on several nodes",
     .build = hierarchical_reduce_scatter,
     .needs = Needs::nodes},
    {.name = "striped",
     .when = "longer vectors on several nodes",
     .build = striped_reduce_scatter,
     .needs = Needs::nodes},
};

}  // namespace

std::span<const Algorithm> reduce_scatter_algorithms() {
  return kReduceScatter;
}

}  // namespace tutti::coll
