// SPDX-License-Identifier: BSD-3-Clause
// Which way the collective accesses of a file go, by what those before took.
#include "mpi/file/learnt_ways.hpp"

#include <gtest/gtest.h>

namespace tutti::mpi {
namespace {

// How many of so many accesses go alone, where that takes `alone` and two phases take `two`.
int alone_of(int accesses, LearntWays& ways, bool writes, int64_t piece, double two, double alone) {
  int count = 0;
  for (int i = 0; i < accesses; ++i) {
    const bool now = LearntWays::goes_alone(ways.wishes(writes), piece);
    count += now;
    ways.learn(writes, piece, now, now ? alone : two, 1000);
  }
  return count;
}

TEST(LearntWays, BeginWithTheFixedLimit) {
  const LearntWays ways;
  for (const bool writes : {false, true})
    for (int64_t piece = 1; piece < int64_t{1} << 30; piece = piece * 2 - piece / 3)
      EXPECT_EQ(LearntWays::goes_alone(ways.wishes(writes), piece), piece >= 64 << 10) << piece;
}

TEST(LearntWays, TakeWhatTookLess) {
  for (const int64_t piece : {16 << 10, 50 << 10, 64 << 10, 500 << 10}) {
    LearntWays slow_alone, slow_together;
    alone_of(20, slow_alone, true, piece, 1, 3);
    alone_of(20, slow_together, true, piece, 3, 1);
    EXPECT_LE(alone_of(256, slow_alone, true, piece, 1, 3), 4 + 1) << piece;
    EXPECT_GE(alone_of(256, slow_together, true, piece, 3, 1), 256 - 4 - 1) << piece;
    // Reads and other sizes are left as they were.
    EXPECT_EQ(slow_alone.wishes(false), LearntWays().wishes(false));
  }
}

TEST(LearntWays, ChangeTheirMindsAndStayWhereItIsTheSame) {
  LearntWays ways;
  alone_of(200, ways, false, 32 << 10, 3, 1);
  alone_of(1000, ways, false, 32 << 10, 1, 3);
  EXPECT_LE(alone_of(256, ways, false, 32 << 10, 1, 3), 5);
  LearntWays equal;
  alone_of(20, equal, false, 32 << 10, 1, 0.95);
  EXPECT_LE(alone_of(256, equal, false, 32 << 10, 1, 0.95), 5);
}

// What nobody learns from goes the way that is known to be better.
TEST(LearntWays, TryNothingWithStartedAccesses) {
  LearntWays ways;
  for (int i = 0; i < 300; ++i) {
    const bool alone = LearntWays::goes_alone(ways.wishes(true, false), 20 << 10);
    EXPECT_EQ(alone, i >= 8) << i;
    alone_of(1, ways, true, 20 << 10, 3, 1);
  }
}

TEST(LearntWays, NeverTrySmallAndLargePieces) {
  LearntWays ways;
  EXPECT_EQ(alone_of(500, ways, true, (16 << 10) - 1, 9, 1), 0);
  EXPECT_EQ(alone_of(500, ways, true, 512 << 10, 1, 9), 500);
}

}  // namespace
}  // namespace tutti::mpi
