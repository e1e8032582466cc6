// SPDX-License-Identifier: BSD-3-Clause
// Broadcast. Ranks may describe the buffer by different types, so whatever cuts it in pieces cuts
// packed bytes, wherever they lie.
#include "coll/algorithm.hpp"
#include "coll/exchange.hpp"
#include "coll/hierarchical.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {
namespace {

// The buffer as packed bytes on every rank, and parts of it. What has gaps travels straight from
// and to where it lies.
struct Bytes {
  explicit Bytes(const Shape& s) : whole{Region::output, s.dense ? Unit::bytes : Unit::packed, 0, 0, s.bytes} {}
  Buf part(const Split& split, int64_t first, int64_t n) const {
    const int64_t begin = split.begin(first);
    return whole.slice(begin, split.begin(first + n) - begin);
  }
  const Buf whole;
};

// Everything down a binomial tree in ceil(log2 p) steps: wins for short messages.
Plan bcast_binomial(const Shape& s) {
  PlanBuilder plan(s);
  const Rotation places{s.root, s.size};
  const int place = places.place(s.rank);
  if (place != 0) plan.recv(plan.out(), places.rank(Binomial::parent(place))).fence();
  Binomial::each_child_farthest_first(place, s.size, [&](int child) { plan.send(plan.out(), places.rank(child)); });
  return plan.done();
}

// A p-th to everybody down a binomial tree, place i of which then holds the parts of its subtree.
// (Van de Geijn's broadcast begins like this.)
void scatter_parts(PlanBuilder& plan, const Bytes& bytes, const Split& split, int place, const Rotation& places) {
  if (place != 0)
    plan.recv(bytes.part(split, place, Binomial::subtree(place, places.size)), places.rank(Binomial::parent(place)))
        .fence();
  Binomial::each_child_farthest_first(place, places.size, [&](int child) {
    plan.send(bytes.part(split, child, Binomial::subtree(child, places.size)), places.rank(child));
  });
  plan.fence();
}

// Scatter, then the parts travel around a ring: each rank sends about twice the message, whatever
// p is. Wins for long messages.
Plan bcast_scatter_ring(const Shape& s) {
  PlanBuilder plan(s);
  const Bytes bytes(s);
  const Rotation places{s.root, s.size};
  const Split split{s.bytes, s.size};
  const int place = places.place(s.rank);
  scatter_parts(plan, bytes, split, place, places);
  ring_exchange(
      plan, place, s.size, [&](int part) { return bytes.part(split, part, 1); },
      [&](int at) { return places.rank(at); },
      [&](int at, int part) { return part >= at && part < at + Binomial::subtree(at, s.size); });
  return plan.done();
}

// Scatter, then Bruck's exchange: 2 log2 p steps, for messages too long for the tree and too short
// for the ring.
Plan bcast_scatter_bruck(const Shape& s) {
  PlanBuilder plan(s);
  const Bytes bytes(s);
  const Rotation places{s.root, s.size};
  const Split split{s.bytes, s.size};
  const int place = places.place(s.rank);
  scatter_parts(plan, bytes, split, place, places);
  bruck_exchange(
      plan, place, s.size, [&](int first, int n) { return bytes.part(split, first, n); },
      [&](int at) { return places.rank(at); });
  return plan.done();
}

// Segments along a chain of ranks: every link carries the message once, at the price of p - 2
// segments until the last rank sees the first. Wins for very long messages on few ranks.
Plan bcast_chain(const Shape& s) {
  PlanBuilder plan(s);
  const Bytes bytes(s);
  const Rotation places{s.root, s.size};
  const int place = places.place(s.rank);
  const Split split{s.bytes, segments_of(s.bytes, s.segment)};
  for (int64_t i = 0; i < split.parts; ++i) {
    const Buf segment = bytes.part(split, i, 1);
    PlanBuilder::Id arrived = PlanBuilder::kNone;
    if (place > 0) arrived = plan.recv(segment, places.rank(place - 1)).last();
    if (place + 1 < s.size) plan.send(segment, places.rank(place + 1)).after(arrived);
  }
  return plan.done();
}

constexpr Algorithm kBcast[] = {
    {.name = "binomial", .when = "short messages", .build = bcast_binomial},
    {.name = "scatter_bruck", .when = "medium messages", .build = bcast_scatter_bruck},
    {.name = "scatter_ring", .when = "long messages", .build = bcast_scatter_ring},
    {.name = "chain", .when = "very long messages on few ranks", .build = bcast_chain},
    {.name = "shared", .when = "ranks of one node", .build = shared_bcast, .needs = Needs::shared_memory},
    {.name = "hierarchical",
     .when = "short messages on several nodes",
     .build = hierarchical_bcast,
     .needs = Needs::nodes},
};

}  // namespace

std::span<const Algorithm> bcast_algorithms() {
  return kBcast;
}

}  // namespace tutti::coll
