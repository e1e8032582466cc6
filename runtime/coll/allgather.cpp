// SPDX-License-Identifier: BSD-3-Clause
// Allgather and allgatherv: a block from everybody to everybody.
#include <vector>

#include "coll/algorithm.hpp"
#include "coll/exchange.hpp"
#include "coll/hierarchical.hpp"
#include "coll/pairwise.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {
namespace {

int same(int rank) {
  return rank;
}

// Around a ring in p - 1 steps, straight into place: wins for long blocks. Serves allgatherv too.
Plan allgather_ring(const Shape& s) {
  PlanBuilder plan(s);
  if (!s.in_place) plan.copy(plan.in(), plan.out_block(s.rank)).fence();
  ring_exchange(
      plan, s.rank, s.size, [&](int block) { return plan.out_block(block); }, same,
      [](int rank, int block) { return rank == block; });
  return plan.done();
}

// ceil(log2 p) rounds for any p, straight into place: wins for short blocks.
Plan allgather_bruck(const Shape& s) {
  PlanBuilder plan(s);
  if (!s.in_place) plan.copy(plan.in(), plan.out_block(s.rank));
  bruck_exchange(plan, s.rank, s.size, [&](int first, int n) { return plan.out_blocks(first, n); }, same);
  return plan.done();
}

// Partners at distance 1, 2, 4 … swap all they have: log2 p messages each way, where Bruck may
// need two in a round.
Plan allgather_recursive_doubling(const Shape& s) {
  PlanBuilder plan(s);
  if (!s.in_place) plan.copy(plan.in(), plan.out_block(s.rank));
  for (int bit = 1; bit < s.size; bit <<= 1) {
    const int mine = s.rank & -bit, theirs = mine ^ bit;
    plan.fence().recv(plan.out_blocks(theirs, bit), s.rank ^ bit).send(plan.out_blocks(mine, bit), s.rank ^ bit);
  }
  return plan.done();
}

// Each block straight from its owner's input to everybody, who copies its own meanwhile: p - 1
// messages each, none of them forwarded. Wins for long blocks among few ranks. Serves allgatherv too.
Plan allgather_direct(const Shape& s) {
  PlanBuilder plan(s);
  const Buf mine = s.in_place ? plan.out_block(s.rank) : plan.in();
  tell_everybody(plan, s, mine, [&](int i) { return plan.out_block(i); });
  if (!s.in_place) plan.copy(mine, plan.out_block(s.rank));
  return plan.done();
}

// Bruck's rounds over packed blocks of different lengths, in the order that begins with mine; at
// the end each goes where it belongs. Wins for short blocks.
Plan allgatherv_bruck(const Shape& s) {
  PlanBuilder plan(s);
  std::vector<int64_t> begin(static_cast<size_t>(s.size) + 1);  // of block rank + i, packed
  const auto block = [&](int i) { return (s.rank + i) % s.size; };
  for (int i = 0; i < s.size; ++i)
    begin[static_cast<size_t>(i) + 1] = begin[static_cast<size_t>(i)] + s.counts[static_cast<size_t>(block(i))];
  const auto at = [&](int i) { return begin[static_cast<size_t>(i)]; };

  const Buf packed = plan.scratch_bytes(s.bytes);
  plan.copy(s.in_place ? plan.out_block(s.rank) : plan.in(), packed.slice(0, at(1)));
  for (int have = 1; have < s.size;) {
    const int n = std::min(have, s.size - have);
    plan.fence()
        .recv(packed.slice(at(have), at(have + n) - at(have)), block(have))
        .send(packed.slice(0, at(n)), (s.rank - have + s.size) % s.size);
    have += n;
  }
  plan.fence();
  const int first = s.in_place ? 1 : 0;
  plan.repeat({.number = s.size - first}, [&](int64_t k) {
    const int i = first + static_cast<int>(k);
    plan.copy(packed.slice(at(i), at(i + 1) - at(i)), plan.out_block(block(i)));
  });
  return plan.done();
}

constexpr Algorithm kAllgather[] = {
    {.name = "bruck", .when = "short blocks", .build = allgather_bruck},
    {.name = "recursive_doubling",
     .when = "short blocks on a power of two of ranks",
     .build = allgather_recursive_doubling,
     .needs = Needs::power_of_two},
    {.name = "ring", .when = "long blocks", .build = allgather_ring},
    {.name = "direct", .when = "long blocks, few ranks", .build = allgather_direct},
    {.name = "shared", .when = "ranks of one node", .build = shared_allgather, .needs = Needs::shared_memory},
    {.name = "hierarchical",
     .when = "short blocks on several nodes",
     .build = hierarchical_allgather,
     .needs = Needs::nodes},
};
constexpr Algorithm kAllgatherv[] = {
    {.name = "ring", .when = "long blocks", .build = allgather_ring},
    {.name = "bruck", .when = "short blocks", .build = allgatherv_bruck},
    {.name = "direct", .when = "long blocks, few ranks", .build = allgather_direct},
    {.name = "shared",
     .when = "blocks on ranks of one node that fit a slot",
     .build = shared_allgatherv,
     .needs = Needs::shared_slot},
    {.name = "hierarchical",
     .when = "short blocks on several nodes",
     .build = hierarchical_allgatherv,
     .needs = Needs::nodes},
};

}  // namespace

std::span<const Algorithm> allgather_algorithms() {
  return kAllgather;
}
std::span<const Algorithm> allgatherv_algorithms() {
  return kAllgatherv;
}

}  // namespace tutti::coll
