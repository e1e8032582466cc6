// SPDX-License-Identifier: BSD-3-Clause
// Reduce: the reduction of everybody's vector, at the root. Only the root has an output.
#include "coll/algorithm.hpp"
#include "coll/exchange.hpp"
#include "coll/halving.hpp"
#include "coll/hierarchical.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {
namespace {

// Up a binomial tree in ceil(log2 p) steps: wins for short vectors. A node's subtree is a run of
// ranks that begins with it, and its children's runs follow one another, so that operands meet in
// order; where the order matters the tree stands on rank 0, which hands the result to the root.
Plan reduce_binomial(const Shape& s) {
  PlanBuilder plan(s);
  const Rotation places{s.commutative ? s.root : 0, s.size};
  const int place = places.place(s.rank), top = places.rank(0);
  const bool is_root = s.rank == s.root, is_top = s.rank == top;

  // The reduction of my run: each child's vector takes in what stands before it.
  Buf acc = plan.in();
  const int subtree = Binomial::subtree(place, s.size);
  PlanBuilder::Id met = PlanBuilder::kNone;
  Binomial::each_child(place, s.size, [&](int child) {
    const bool last = child - place + Binomial::subtree(child, s.size) == subtree;
    const bool to_output = last && is_top && is_root && !s.in_place;
    const Buf incoming = to_output ? plan.out() : plan.scratch_like(acc);
    const PlanBuilder::Id received = plan.recv(incoming, places.rank(child)).last();
    plan.reduce(acc, incoming).after(received).after(met);
    met = plan.last();
    acc = incoming;
  });
  plan.fence();
  if (!is_top) plan.send(acc, places.rank(Binomial::parent(place))).fence();
  if (is_top && !is_root) plan.send(acc, s.root);
  if (is_root && is_top) plan.copy(acc, plan.out());
  if (is_root && !is_top) plan.recv(plan.out(), top);
  return plan.done();
}

// Reduce-scatter by halving, then the parts come together at the root along the same pairs
// (Rabenseifner 2004): about twice the vector per rank instead of log2 p times. Wins for long
// vectors; keeps the order of operands.
Plan reduce_halving_gather(const Shape& s) {
  PlanBuilder plan(s);
  const Fold fold(s.rank, s.size);
  const bool is_root = s.rank == s.root;
  const int root_place = fold.place_of(s.root), root_speaker = fold.first(root_place);
  if (fold.is_guest()) {
    plan.send(plan.in(), fold.partner).fence();
    return (is_root ? plan.recv(plan.out(), root_speaker) : plan).done();
  }
  const Buf work = is_root ? plan.out() : plan.scratch_like(plan.in());
  Accumulator vector{plan, s.rank, work, plan.scratch_like(work)};
  plan.copy(plan.in(), work).fence();
  if (fold.is_host()) {
    plan.recv(vector.incoming, fold.partner);
    vector.absorb(fold.partner);
  }
  const Split split{s.out_count, fold.width};
  const auto elements = [&](const Range& parts) { return Range{split.begin(parts.begin), split.begin(parts.end)}; };
  const auto part = [&](const Range& parts) {
    const Range r = elements(parts);
    return work.slice(r.begin, r.size());
  };
  const std::vector<Range> ranges = halving_ranges(fold.place, fold.width);
  reduce_by_halving(vector, fold, ranges, elements);

  const Range mine = elements(ranges.back());
  plan.copy(vector.acc.slice(mine.begin, mine.size()), part(ranges.back())).fence();
  size_t round = ranges.size() - 1;
  for (int bit = fold.width / 2; bit > 0; bit >>= 1, --round) {
    if ((fold.place & bit) != (root_place & bit)) return plan.send(part(ranges[round]), fold.peer(bit)).done();
    plan.recv(part(other_half(ranges[round - 1], ranges[round])), fold.peer(bit)).fence();
  }
  if (!is_root) plan.send(work, s.root);  // the root is this place's guest
  return plan.done();
}

// Segments along a chain from the highest rank to the lowest, which hands them to the root: each
// link carries the vector once, and each rank reduces it once. Wins for very long vectors on few
// ranks; keeps the order of operands.
Plan reduce_chain(const Shape& s) {
  PlanBuilder plan(s);
  const bool is_root = s.rank == s.root, is_end = s.rank == 0;
  const Buf in = plan.in();
  const bool straight = is_root && is_end && !s.in_place;
  const Buf room = straight || s.rank == s.size - 1 ? plan.out() : plan.scratch_like(in);
  const Split split{s.out_count, segments_of(s.bytes, s.segment)};
  PlanBuilder::Id sent = PlanBuilder::kNone;
  for (int64_t i = 0; i < split.parts; ++i) {
    const auto segment = [&](const Buf& b) { return b.slice(split.begin(i), split.size(i)); };
    Buf acc = segment(in);
    PlanBuilder::Id met = PlanBuilder::kNone;
    if (s.rank + 1 < s.size) {
      met = plan.recv(segment(room), s.rank + 1).last();
      plan.reduce(acc, segment(room)).after(met);
      if (plan.last() != PlanBuilder::kNone) met = plan.last();
      acc = segment(room);
    }
    sent = PlanBuilder::kNone;
    if (!is_end)
      sent = plan.send(acc, s.rank - 1).after(met).last();
    else if (!is_root)
      plan.send(acc, s.root).after(met);
    else
      plan.copy(acc, segment(plan.out())).after(met);
    // In place, this segment of the output is free when it has left as an input.
    if (is_root && !is_end) plan.recv(segment(plan.out()), 0).after(sent);
  }
  return plan.done();
}

constexpr Algorithm kReduce[] = {
    {.name = "binomial", .when = "short vectors, and longer ones of two ranks", .build = reduce_binomial},
    {.name = "halving_gather", .when = "long vectors", .build = reduce_halving_gather},
    {.name = "chain", .when = "very long vectors on few ranks", .build = reduce_chain},
    {.name = "shared",
     .when = "short vectors on one node, or two ranks",
     .build = shared_reduce,
     .needs = Needs::shared_memory},
    {.name = "shared_parts",
     .when = "long vectors on one node",
     .build = shared_reduce_parts,
     .needs = Needs::shared_memory},
    {.name = "hierarchical", .when = "several nodes", .build = hierarchical_reduce, .needs = Needs::nodes},
};

}  // namespace

std::span<const Algorithm> reduce_algorithms() {
  return kReduce;
}

}  // namespace tutti::coll
