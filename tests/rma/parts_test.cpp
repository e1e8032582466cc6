// SPDX-License-Identifier: BSD-3-Clause
// The sizes and units of a window's parts: told of each rank as they were given, whether they are kept as runs or as a
// table.
#include "mpi/rma/parts.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace {

using tutti::mpi::one_sided::Part;
using tutti::mpi::one_sided::Parts;

TEST(Parts, are_told_as_they_were_given) {
  const std::function<Part(int)> shapes[] = {
      [](int) { return Part{4096, 8}; },                           // all alike
      [](int rank) { return Part{rank == 0 ? 8 : 0, 8}; },         // the first one alone
      [](int rank) { return Part{rank < 3 ? 808 : 800, 8}; },      // a remainder
      [](int rank) { return Part{800, rank % 5 == 4 ? 4 : 8}; },   // units
      [](int rank) { return Part{int64_t{rank} * rank, 1}; },      // each its own
      [](int rank) { return Part{rank < 9 ? 64 : rank % 2, 1}; },  // a run, and then none
  };
  for (const auto& shape : shapes)
    for (int ranks = 1; ranks < 40; ++ranks) {
      const Parts parts(ranks, shape);
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(parts[rank], shape(rank)) << "rank " << rank << " of " << ranks;
    }
}

TEST(Parts, cost_by_their_runs) {
  EXPECT_EQ(Parts(100'000, [](int) { return Part{4096, 8}; }).kept(), 1u);
  EXPECT_EQ(Parts(100'000, [](int rank) { return Part{rank == 0 ? 8 : 0, 8}; }).kept(), 2u);
  EXPECT_EQ(Parts(100, [](int rank) { return Part{rank, 8}; }).kept(), 100u);
}

}  // namespace
