// SPDX-License-Identifier: BSD-3-Clause
#include "boot/processes.hpp"

#include <gtest/gtest.h>

using tutti::boot::GlobalName;
using tutti::boot::Processes;

TEST(Processes, RanksOfTheOwnJobAreTheirNumbers) {
  Processes all(7, 4);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(all.number_of({7, rank}), rank);
    EXPECT_EQ(all.find({7, rank}), rank);
    EXPECT_EQ(all.name_of(rank), (GlobalName{7, rank}));
    EXPECT_FALSE(all.is_foreign(rank));
  }
  EXPECT_EQ(all.find({7, 4}), -1);
  EXPECT_EQ(all.find({7, -1}), -1);
  EXPECT_EQ(all.count(), 4);
}

TEST(Processes, OthersGetNumbersBehindInTheOrderOfTheirComing) {
  Processes all(7, 2);
  EXPECT_EQ(all.find({9, 5}), -1);
  EXPECT_EQ(all.number_of({9, 5}, "node2"), 2);
  EXPECT_EQ(all.number_of({8, 0}), 3);
  EXPECT_EQ(all.number_of({9, 0}), 4);
  EXPECT_EQ(all.number_of({9, 5}), 2);  // known already
  EXPECT_EQ(all.count(), 5);
  EXPECT_EQ(all.name_of(2), (GlobalName{9, 5}));
  EXPECT_TRUE(all.is_foreign(2));
  EXPECT_EQ(all.text(2), "rank 5 of another job on node2");
  EXPECT_EQ(all.text(1), "rank 1");
}

TEST(Processes, TheIdOfAJobIsTheSameOnItsRanksAndNoOther) {
  EXPECT_EQ(Processes::id_of("a", 4), Processes::id_of("a", 4));
  EXPECT_NE(Processes::id_of("a", 4), Processes::id_of("b", 4));
  EXPECT_NE(Processes::id_of("singleton-1", 1), Processes::id_of("singleton-1", 1));  // of two nodes
}
