// SPDX-License-Identifier: BSD-3-Clause
// Allreduce. All ranks get the same bits: every element is computed once, or by all in the same
// order of operands.
#include "coll/algorithm.hpp"
#include "coll/exchange.hpp"
#include "coll/halving.hpp"
#include "coll/hierarchical.hpp"
#include "coll/pairwise.hpp"
#include "coll/shared.hpp"
#include "coll/striped.hpp"

namespace tutti::coll {
namespace {

// Whole vector, ceil(log2 p) exchanges: wins for short messages. Operands always meet in rank
// order, so an operation that does not commute is safe.
Plan allreduce_recursive_doubling(const Shape& s) {
  PlanBuilder plan(s);
  Accumulator vector{plan, s.rank, plan.out(), plan.scratch_like(plan.out())};
  plan.copy(plan.in(), vector.acc).fence();  // left out in place

  const Fold fold(s.rank, s.size);
  if (fold.is_guest())  // lend my vector, await the answer
    return plan.send(vector.acc, fold.partner).fence().recv(vector.acc, fold.partner).done();
  if (fold.is_host()) {
    plan.recv(vector.incoming, fold.partner);
    vector.absorb(fold.partner);
  }
  for (int bit = 1; bit < fold.width; bit <<= 1) {
    plan.recv(vector.incoming, fold.peer(bit)).send(vector.acc, fold.peer(bit));
    vector.absorb(fold.peer(bit));
  }
  if (fold.is_host()) plan.send(vector.acc, fold.partner);
  return plan.copy(vector.acc, plan.out()).done();  // left out when already there
}

// Reduce-scatter by halving, an exchange of what is left by all that have the same part, allgather by doubling. Parts of
// `least` bytes are not halved any more.
Plan allreduce_by_halving(const Shape& s, int64_t least) {
  PlanBuilder plan(s);
  const Buf out = plan.out();
  Accumulator vector{plan, s.rank, plan.in(), plan.scratch_like(out)};
  if (!s.in_place) vector.spare = out, vector.commutes = s.commutative;

  const Fold fold(s.rank, s.size);
  if (fold.is_guest()) return plan.send(plan.in(), fold.partner).fence().recv(out, fold.partner).done();
  if (fold.is_host()) {
    plan.recv(vector.incoming, fold.partner);
    vector.absorb(fold.partner);
  }
  const Split split{s.out_count, fold.width};
  const auto elements = [&](const Range& parts) { return Range{split.begin(parts.begin), split.begin(parts.end)}; };
  const auto part = [&](const Buf& of, const Range& parts) {
    const Range r = elements(parts);
    return of.slice(r.begin, r.size());
  };
  std::vector<Range> ranges = halving_ranges(fold.place, fold.width);
  size_t halvings = 0;
  while (halvings + 1 < ranges.size() && s.bytes >> halvings > least) ++halvings;
  ranges.resize(halvings + 1);
  reduce_by_halving(vector, fold, ranges, elements);

  const Range left = elements(ranges.back());
  for (int bit = 1 << halvings; bit < fold.width; bit <<= 1) {
    plan.recv(part(vector.incoming, ranges.back()), fold.peer(bit))
        .send(part(vector.acc, ranges.back()), fold.peer(bit));
    vector.absorb(fold.peer(bit), left.begin, left.size());
  }
  plan.copy(part(vector.acc, ranges.back()), part(out, ranges.back()));
  for (size_t round = halvings; round > 0; --round) {
    const int peer = fold.peer(1 << (round - 1));
    plan.fence()
        .recv(part(out, other_half(ranges[round - 1], ranges[round])), peer)
        .send(part(out, ranges[round]), peer);
  }
  if (fold.is_host()) plan.fence().send(out, fold.partner);
  return plan.done();
}

// Halved to the end (Rabenseifner 2004): 2 log2 p exchanges, but each rank sends the vector only twice. Wins for long
// vectors; keeps the order of operands.
Plan allreduce_halving_doubling(const Shape& s) {
  return allreduce_by_halving(s, 0);
}

// Halved until a message takes no longer for its bytes than for its way: few more bytes than halving_doubling, and few
// more exchanges than recursive_doubling. Wins for medium vectors on many ranks; keeps the order of operands.
Plan allreduce_part_doubling(const Shape& s) {
  constexpr int64_t kShort = 2 << 10;
  return allreduce_by_halving(s, kShort);
}

// Parts travel around a ring twice, once to be reduced, once to be told: 2 (p - 1) steps with the
// least bytes and only neighbours talking. Wins for very long vectors. A part meets its operands in
// the cyclic order that begins behind its owner, so the operation must commute.
Plan allreduce_ring(const Shape& s) {
  PlanBuilder plan(s);
  const Buf out = plan.out();
  plan.copy(plan.in(), out).fence();
  if (s.size == 1) return plan.done();

  const Split split{s.out_count, s.size};
  const auto part = [&](int i) {
    const int at = (i + 2 * s.size) % s.size;
    return out.slice(split.begin(at), split.size(at));
  };
  const int left = (s.rank - 1 + s.size) % s.size, right = (s.rank + 1) % s.size;
  const Buf room = plan.scratch_like(out.slice(0, split.size(0)));
  plan.repeat({.number = s.size - 1, .seats = 1}, [&](int64_t i) {
    const int step = static_cast<int>(i);
    const Buf mine = part(s.rank - step - 1);
    const Buf incoming = room.slice(0, mine.count);
    const PlanBuilder::Id received = plan.recv(incoming, left).last();
    const PlanBuilder::Id sent = plan.send(part(s.rank - step), right).last();
    plan.reduce(incoming, mine).after(received).after(sent);
  });
  plan.fence();
  plan.repeat({.number = s.size - 1, .seats = 1}, [&](int64_t i) {
    const int step = static_cast<int>(i);
    plan.recv(part(s.rank - step), left).send(part(s.rank - step + 1), right);
  });
  return plan.done();
}

// Each rank reduces its part, read straight from the others' input, and tells the result: no copy
// of the vector, 2 (p - 1) messages. Wins for long vectors among few ranks; keeps the order of
// operands.
Plan allreduce_pairwise(const Shape& s) {
  PlanBuilder plan(s);
  const Split split{s.out_count, s.size};
  const Buf in = plan.in(), out = plan.out();
  const auto part = [&](const Buf& vector, int i) { return vector.slice(split.begin(i), split.size(i)); };
  reduce_pairwise(plan, s, [&](int i) { return part(in, i); }, part(out, s.rank));
  plan.fence();
  tell_everybody(plan, s, part(out, s.rank), [&](int i) { return part(out, i); });
  return plan.done();
}

constexpr Algorithm kAllreduce[] = {
    {.name = "recursive_doubling",
     .when = "short vectors, and longer ones of two ranks",
     .build = allreduce_recursive_doubling},
    {.name = "halving_doubling", .when = "long vectors", .build = allreduce_halving_doubling},
    {.name = "part_doubling", .when = "medium vectors, many ranks", .build = allreduce_part_doubling},
    {.name = "ring", .when = "very long vectors", .build = allreduce_ring, .needs = Needs::commutative},
    {.name = "pairwise", .when = "long vectors, few ranks", .build = allreduce_pairwise},
    {.name = "shared",
     .when = "short vectors on one node, or two ranks",
     .build = shared_allreduce,
     .needs = Needs::shared_memory},
    {.name = "shared_parts",
     .when = "long vectors on one node",
     .build = shared_allreduce_parts,
     .needs = Needs::shared_memory},
    {.name = "hierarchical", .when = "several nodes", .build = hierarchical_allreduce, .needs = Needs::nodes},
    {.name = "striped", .when = "long vectors on several nodes", .build = striped_allreduce, .needs = Needs::nodes},
};

}  // namespace

std::span<const Algorithm> allreduce_algorithms() {
  return kAllreduce;
}

}  // namespace tutti::coll
