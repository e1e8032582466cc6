// SPDX-License-Identifier: BSD-3-Clause
// Where a rank that waits goes when ranks share cores, and that it may run where it might before.
#include "transport/shared/spread.hpp"

#include <gtest/gtest.h>

namespace tutti::transport {
namespace {

TEST(Spread, GoesWhereThereAreAtLeastTwoFewer) {
  const std::vector<int> two{0, 1};
  EXPECT_EQ(better_cpu(0, {0, 0, 0, 0, 1, 1, 1}, two), 1);       // 5 and 3
  EXPECT_EQ(better_cpu(0, {0, 0, 0, 1, 1, 1, 1}, two), kNoCpu);  // 4 and 4
  EXPECT_EQ(better_cpu(0, {0, 0, 1, 1}, two), kNoCpu);           // 3 and 2
  EXPECT_EQ(better_cpu(1, {0, 0, 0, 0, 1, 1, 1}, two), kNoCpu);
  EXPECT_EQ(better_cpu(0, {0}, two), 1);
  EXPECT_EQ(better_cpu(0, {}, two), kNoCpu);
}
TEST(Spread, TakesTheEmptiestThatItMayUse) {
  const std::vector<int> others{7, 7, 7, 3, 3, 5};
  EXPECT_EQ(better_cpu(7, others, {3, 5, 7}), 5);
  EXPECT_EQ(better_cpu(7, others, {3, 7}), 3);
  EXPECT_EQ(better_cpu(7, others, {7}), kNoCpu);
  EXPECT_EQ(better_cpu(7, others, {}), kNoCpu);
  EXPECT_EQ(better_cpu(7, others, {3, 4, 5, 7}), 4);
}
TEST(Spread, DoesNotCountThoseThatSleep) {
  EXPECT_EQ(better_cpu(0, {kNoCpu, kNoCpu, kNoCpu, 1}, {0, 1}), kNoCpu);
}
TEST(Spread, MayRunWhereItMightBefore) {
  std::vector<int> before, after;
  find_allowed_cpus(before);
  ASSERT_FALSE(before.empty());
  for (const int cpu : before) EXPECT_TRUE(move_to_cpu(cpu));
  find_allowed_cpus(after);
  EXPECT_EQ(after, before);
  EXPECT_FALSE(move_to_cpu(1023));  // there is none
  find_allowed_cpus(after);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace tutti::transport
