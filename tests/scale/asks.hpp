// SPDX-License-Identifier: BSD-3-Clause
// The calls whose cost is looked at on many ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/costs.hpp"

namespace tutti::model {

inline std::vector<Ask> asks(int ranks) {
  using enum coll::Collective;
  constexpr int64_t kMedium = 64 << 10, kLong = 16 << 20;
  // A vector of 16 MiB is divided into blocks of so many bytes: whole elements.
  const int64_t block = std::max<int64_t>(kLong / ranks / 8 * 8, 8);
  return {{barrier, 0},
          {bcast, 8},
          {bcast, kMedium},
          {bcast, kLong},
          {reduce, 8},
          {allreduce, 8},
          {allreduce, kMedium},
          {allreduce, kLong},
          {allgather, 8},
          {allgatherv, 8},
          {alltoall, 8},
          {reduce_scatter, 8},
          {reduce_scatter_block, 8},
          {reduce_scatter_block, block}};
}

}  // namespace tutti::model
