// SPDX-License-Identifier: BSD-3-Clause
// What making communicators of many ranks takes of each of them: bytes that travel and that it holds, and simulated time. All
// of it is the same on each run.
#include "making.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tutti::scale {
namespace {

constexpr int64_t kMegabyte = 1'000'000;

double reduction_seconds(int ranks) {
  const model::Outcome got = reduction_of(ranks, sizeof(SplitRuns));
  EXPECT_TRUE(got.whole) << got.why;
  EXPECT_LE(got.plan_bytes + got.scratch_bytes, kMegabyte / 4);
  return got.seconds;
}

std::vector<int> members_by_hand(const Rule& rule, int color, int ranks) {
  std::vector<int> members;
  for (int rank = 0; rank < ranks; ++rank)
    if (rule(rank).color == color) members.push_back(rank);
  std::ranges::stable_sort(members, {}, [&](int rank) { return rule(rank).key; });
  return members;
}

void expect_little_of_each(int ranks, int64_t most_kept) {
  const std::vector<int> node_of = nodes_of(ranks);
  const ProcessList world = ProcessList::range(0, ranks);
  for (const Division& division : divisions(ranks)) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks: " << division.name);
    int64_t joining = 0;
    const SplitRuns all = joined(division.rule, 0, ranks, joining);
    ASSERT_FALSE(all.too_many());
    EXPECT_LE(joining + 3 * static_cast<int64_t>(sizeof all), kMegabyte / 4);
    for (const int rank : {0, 1, ranks / 3, ranks - 1}) {
      const Said mine = division.rule(rank);
      if (mine.color < 0) continue;
      const Made made = made_at(all, mine, rank, world, node_of);
      EXPECT_LE(made.most, kMegabyte) << rank;
      EXPECT_LE(made.kept, most_kept) << rank;
      EXPECT_TRUE(std::ranges::equal(made.members, members_by_hand(division.rule, mine.color, ranks))) << rank;
    }
  }
  // Beside it each new group's first rank tells the others its context, in as many rounds as a broadcast.
  EXPECT_LE(reduction_seconds(ranks), 1e-3);
}

TEST(Making, TakesLittleOfEachOfTenThousandRanks) {
  expect_little_of_each(10'240, 10'000);
}

TEST(Making, TwoJobsKnowEachOtherInFewBytes) {
  const Met met = scale::met(10'000, 10'000);
  EXPECT_TRUE(met.right);
  EXPECT_LE(met.told, 100);
  EXPECT_LE(met.most, 2 * kMegabyte);
}

// A grid's edges are compared by two sums over all ranks.
TEST(Making, AGraphOfAHundredThousandRanksIsAgreedInMilliseconds) {
  const model::Outcome got = reduction_of(102'400, 16);
  ASSERT_TRUE(got.whole) << got.why;
  EXPECT_LE(got.seconds, 1e-3);
  EXPECT_LE(got.plan_bytes + got.scratch_bytes, kMegabyte / 10);
}

TEST(Making, TakesLittleOfEachOfAMillionRanks) {
  if (!std::getenv("TUTTI_TEST_MILLION")) GTEST_SKIP() << "in the long tier";
  expect_little_of_each(1'024'000, 500'000);
}

}  // namespace
}  // namespace tutti::scale
