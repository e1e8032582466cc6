// SPDX-License-Identifier: BSD-3-Clause
// Barrier: nobody leaves before everybody has come.
#include "coll/algorithm.hpp"
#include "coll/hierarchical.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {
namespace {

// ceil(log2 p) rounds of empty messages; in round k everybody knows of 2^k ranks before it.
// (Hensgen, Finkel, Manber 1988.)
Plan barrier_dissemination(const Shape& s) {
  PlanBuilder plan(s);
  const Buf nothing;
  for (int64_t reach = 1; reach < s.size; reach <<= 1) {
    const int step = static_cast<int>(reach);
    plan.recv(nothing, (s.rank - step + s.size) % s.size)
        .send(nothing, static_cast<int>((s.rank + reach) % s.size))
        .fence();
  }
  return plan.done();
}

constexpr Algorithm kBarrier[] = {
    {.name = "dissemination", .when = "always", .build = barrier_dissemination},
    {.name = "shared", .when = "few ranks of one node", .build = shared_barrier, .needs = Needs::shared_memory},
    {.name = "hierarchical", .when = "several nodes", .build = hierarchical_barrier, .needs = Needs::nodes},
};

}  // namespace

std::span<const Algorithm> barrier_algorithms() {
  return kBarrier;
}

}  // namespace tutti::coll
