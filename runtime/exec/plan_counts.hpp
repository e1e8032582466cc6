// SPDX-License-Identifier: BSD-3-Clause
// How many plans this process has built, and how many it has found again, for tools. Changed by the
// engine's owner.
#pragma once

#include <cstdint>

namespace tutti::coll {

struct PlanCounts {
  uint64_t built = 0, reused = 0;
};
inline constinit PlanCounts plan_counts;

}  // namespace tutti::coll
