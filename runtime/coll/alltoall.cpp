// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, alltoallv and alltoallw: a block from everybody for everybody. In place, the blocks to
// send are packed away first, unless the algorithm packs them anyway.
#include <vector>

#include "coll/algorithm.hpp"
#include "coll/hierarchical.hpp"
#include "coll/pattern.hpp"
#include "coll/shared.hpp"
#include "coll/striped.hpp"

namespace tutti::coll {
namespace {

constexpr int kAtOnce = 32;  // exchanges that a rank has under way at a time

// Exchange k is with the ranks k before and k behind mine, so that no rank is everybody's first
// target; `window` of them are under way at a time.
Plan alltoall_spread(const Shape& s, int window) {
  PlanBuilder plan(s);
  std::vector<Buf> kept;  // in place: by rank
  if (s.in_place) {
    for (int i = 0; i < s.size; ++i) kept.push_back(i == s.rank ? Buf() : plan.scratch_packed(plan.out_block(i)));
    plan.repeat({.number = s.size}, [&](int64_t i) {
      if (i != s.rank) plan.copy(plan.out_block(static_cast<int>(i)), kept[static_cast<size_t>(i)]);
    });
  }
  plan.fence();
  plan.repeat({.number = s.size - 1, .seats = static_cast<uint32_t>(window)}, [&](int64_t i) {
    const int from = static_cast<int>((s.rank - 1 - i + s.size) % s.size);
    const int to = static_cast<int>((s.rank + 1 + i) % s.size);
    plan.recv(plan.out_block(from), from);
    plan.send(s.in_place ? kept[static_cast<size_t>(to)] : plan.in_block(to), to);
  });
  if (!s.in_place) plan.copy(plan.in_block(s.rank), plan.out_block(s.rank));
  return plan.done();
}

// All at once, within reason: wins for medium blocks.
Plan alltoall_linear(const Shape& s) {
  return alltoall_spread(s, kAtOnce);
}

// One partner after the other: wins for long blocks, which would only get in each other's way.
Plan alltoall_pairwise(const Shape& s) {
  return alltoall_spread(s, 1);
}

// ceil(log2 p) rounds (Bruck and others 1997): the block for the rank at distance i travels by the
// bits of i, together with all others that have that bit. Each byte travels log2(p) / 2 times:
// wins for short blocks.
//
//   7 ranks, distance 5 = 101b: in round 0 to the next rank, in round 2 four ranks on
Plan alltoall_bruck(const Shape& s) {
  PlanBuilder plan(s);
  std::vector<Buf> at(static_cast<size_t>(s.size));  // by distance: the block that goes there
  for (int i = 0; i < s.size; ++i) {
    const int block = (s.rank + i) % s.size;
    at[static_cast<size_t>(i)] = s.in_place ? plan.out_block(block) : plan.in_block(block);
  }
  for (int64_t bit = 1; bit < s.size; bit <<= 1) {
    int64_t n = 0;
    for (int64_t i = bit; i < s.size; ++i) n += (i & bit) != 0;
    const Buf outgoing = plan.scratch_bytes(n * s.bytes), incoming = plan.scratch_bytes(n * s.bytes);
    int64_t next = 0;
    plan.fence();
    for (int64_t i = bit; i < s.size; ++i) {
      if (!(i & bit)) continue;
      const int64_t place = s.bytes * next++;
      plan.copy(at[static_cast<size_t>(i)], outgoing.slice(place, s.bytes));
      at[static_cast<size_t>(i)] = incoming.slice(place, s.bytes);
    }
    plan.fence()
        .recv(incoming, static_cast<int>((s.rank - bit + s.size) % s.size))
        .send(outgoing, static_cast<int>((s.rank + bit) % s.size));
  }
  plan.fence();  // what stands at distance i now came from there
  for (int i = 0; i < s.size; ++i)
    plan.copy(at[static_cast<size_t>(i)], plan.out_block((s.rank - i + s.size) % s.size));
  return plan.done();
}

constexpr Algorithm kAlltoall[] = {
    {.name = "linear", .when = "medium blocks", .build = alltoall_linear},
    {.name = "bruck", .when = "short blocks", .build = alltoall_bruck},
    {.name = "pairwise", .when = "long blocks", .build = alltoall_pairwise},
    {.name = "shared", .when = "ranks of one node", .build = shared_alltoall, .needs = Needs::shared_memory},
    {.name = "hierarchical",
     .when = "short blocks on several nodes",
     .build = hierarchical_alltoall,
     .needs = Needs::nodes},
    {.name = "striped",
     .when = "short blocks of many ranks on several nodes",
     .build = striped_alltoall,
     .needs = Needs::equal_nodes},
};
constexpr Algorithm kAlltoallv[] = {
    {.name = "linear", .when = "always", .build = alltoall_linear},
    {.name = "pairwise", .when = "long blocks", .build = alltoall_pairwise},
    {.name = "shared",
     .when = "short blocks, ranks of one node",
     .build = shared_alltoallv,
     .needs = Needs::shared_memory},
};

}  // namespace

std::span<const Algorithm> alltoall_algorithms() {
  return kAlltoall;
}
std::span<const Algorithm> alltoallv_algorithms() {
  return kAlltoallv;
}

}  // namespace tutti::coll
