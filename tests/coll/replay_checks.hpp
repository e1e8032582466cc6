// SPDX-License-Identifier: BSD-3-Clause
// What one rank's plan shows before it runs: where its buffers lie, in cells, and whether its steps
// may touch them as they do. The checks answer like a run: empty, or what is wrong. What needs
// other ranks, messages and slots in shared memory, is watched when plans run.
#pragma once

#include <cstdint>
#include <string>

#include "replay.hpp"

namespace tutti::coll::replay {

struct Extent {
  Region region;
  uint32_t index;  // of a scratch
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

Extent extent_of(const Rank& rank, const Plan& plan, const Buf& b);
int64_t scratch_cells(const Rank& rank, const Plan& plan, uint32_t index);

// A buffer that is not what it says: bytes in one run where the memory has gaps, or ranges of
// packed bytes that the messages do not have for themselves.
std::string misdescribed(const Rank& rank, const Plan& plan);
// Steps of one plan that touch the same memory, one of them writing, and do not wait for each
// other.
std::string conflict(const Rank& rank, const Plan& plan);
// The steps of both but joins are the same, in this order. Messages and ranges may be counted otherwise.
bool say_the_same(const Plan& a, const Plan& b);

}  // namespace tutti::coll::replay
