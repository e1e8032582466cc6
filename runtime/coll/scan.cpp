// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan: rank i gets the reduction over the ranks up to, or before, itself. Rank order is
// kept by all.
#include "coll/algorithm.hpp"
#include "coll/pattern.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {
namespace {

// After round k everybody has the reduction over the 2^k ranks that end with it: ceil(log2 p)
// exchanges of the whole vector, for short vectors. (Hillis and Steele 1986.)
Plan scan_doubling(const Shape& s) {
  PlanBuilder plan(s);
  const Buf sum = plan.out(), incoming = plan.scratch_like(sum);
  plan.copy(plan.in(), sum);
  for (int64_t step = 1; step < s.size; step <<= 1) {
    plan.fence();
    if (s.rank >= step) plan.recv(incoming, static_cast<int>(s.rank - step));
    if (s.rank + step < s.size) plan.send(sum, static_cast<int>(s.rank + step));
    if (s.rank >= step) plan.fence().reduce(incoming, sum);
  }
  return plan.done();
}

// The same; `sum` is what others need, the output what stands before me.
Plan exscan_doubling(const Shape& s) {
  PlanBuilder plan(s);
  const Buf sum = plan.scratch_like(plan.in()), incoming = plan.scratch_like(plan.in());
  plan.copy(plan.in(), sum);
  for (int64_t step = 1; step < s.size; step <<= 1) {
    plan.fence();
    if (s.rank >= step) plan.recv(incoming, static_cast<int>(s.rank - step));
    if (s.rank + step < s.size) plan.send(sum, static_cast<int>(s.rank + step));
    if (s.rank < step) continue;
    plan.fence();
    if (step == 1)
      plan.copy(incoming, plan.out());
    else
      plan.reduce(incoming, plan.out());
    if (s.rank + 2 * step < s.size) plan.reduce(incoming, sum);
  }
  return plan.done();
}

// Segments from rank to rank: p - 1 steps until the last one sees the first, but each rank sends
// and reduces the vector once. Wins for long vectors.
Plan scan_chain(const Shape& s) {
  PlanBuilder plan(s);
  const Buf sum = plan.out();
  const Split split{s.out_count, segments_of(s.bytes, s.segment)};
  const Buf room = s.rank > 0 ? plan.scratch_like(sum) : sum;
  plan.copy(plan.in(), sum).fence();
  for (int64_t i = 0; i < split.parts; ++i) {
    const auto segment = [&](const Buf& b) { return b.slice(split.begin(i), split.size(i)); };
    PlanBuilder::Id met = PlanBuilder::kNone;
    if (s.rank > 0) {
      met = plan.recv(segment(room), s.rank - 1).last();
      plan.reduce(segment(room), segment(sum)).after(met);
      if (plan.last() != PlanBuilder::kNone) met = plan.last();
    }
    if (s.rank + 1 < s.size) plan.send(segment(sum), s.rank + 1).after(met);
  }
  return plan.done();
}

Plan exscan_chain(const Shape& s) {
  PlanBuilder plan(s);
  const Split split{s.out_count, segments_of(s.bytes, s.segment)};
  const bool first = s.rank == 0, last = s.rank + 1 == s.size;
  Buf sum = plan.in();
  if (!first && !last) {
    sum = plan.scratch_like(plan.in());
    plan.copy(plan.in(), sum).fence();
  }
  for (int64_t i = 0; i < split.parts; ++i) {
    const auto segment = [&](const Buf& b) { return b.slice(split.begin(i), split.size(i)); };
    PlanBuilder::Id met = PlanBuilder::kNone;
    if (!first) met = plan.recv(segment(plan.out()), s.rank - 1).last();
    if (last) continue;
    if (!first) {
      plan.reduce(segment(plan.out()), segment(sum)).after(met);
      if (plan.last() != PlanBuilder::kNone) met = plan.last();
    }
    plan.send(segment(sum), s.rank + 1).after(met);
  }
  return plan.done();
}

constexpr Algorithm kScan[] = {
    {.name = "doubling", .when = "short vectors", .build = scan_doubling},
    {.name = "chain", .when = "long vectors, and short ones of two ranks", .build = scan_chain},
    {.name = "shared", .when = "short vectors, ranks of one node", .build = shared_scan, .needs = Needs::shared_memory},
    {.name = "shared_chain", .when = "ranks of one node", .build = shared_scan_chain, .needs = Needs::shared_memory},
};
constexpr Algorithm kExscan[] = {
    {.name = "doubling", .when = "short vectors", .build = exscan_doubling},
    {.name = "chain", .when = "long vectors, and short ones of two ranks", .build = exscan_chain},
    {.name = "shared",
     .when = "short vectors, ranks of one node",
     .build = shared_exscan,
     .needs = Needs::shared_memory},
    {.name = "shared_chain", .when = "ranks of one node", .build = shared_exscan_chain, .needs = Needs::shared_memory},
};

}  // namespace

std::span<const Algorithm> scan_algorithms() {
  return kScan;
}
std::span<const Algorithm> exscan_algorithms() {
  return kExscan;
}

}  // namespace tutti::coll
