// SPDX-License-Identifier: BSD-3-Clause
// Clocks of nodes: what happened before what says how far they are apart, and how wrong that may be.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "launcher/profile/node_clocks.hpp"
#include "launcher/profile/profile_meetings.hpp"
#include "launcher/profile/profile_page.hpp"

namespace tutti::launcher {
namespace {

// A rank on each node, whose clock shows this when the job begins.
std::vector<RankProfile> ranks_of(const std::vector<int64_t>& begun) {
  std::vector<RankProfile> out;
  for (const int64_t each : begun) {
    RankProfile& rank = out.emplace_back();
    rank.rank = rank.node = static_cast<int>(out.size()) - 1;
    rank.size = static_cast<int>(begun.size());
    rank.program = "solver";
    rank.begun = each, rank.over = each + 1'000'000;
    rank.sites.emplace_back().function = "MPI_Barrier";
  }
  return out;
}

TEST(NodeClocks, OfOneNodeThereIsNothingToSay) {
  std::vector<RankProfile> ranks = ranks_of({5, 5});
  ranks[1].node = 0;
  const NodeClocks clocks = ClockBounds(ranks).clocks();
  EXPECT_EQ(clocks.error(), -1);
  EXPECT_EQ(clocks.unknown(), 0U);
  EXPECT_EQ(clocks.to_first(0, 77), 77);
}

TEST(NodeClocks, LieInTheMiddleOfTheirBounds) {
  const std::vector<RankProfile> ranks = ranks_of({0, 10'000});
  ClockBounds bounds(ranks);
  // A message there, and one back, each of which takes 400 or less.
  bounds.before(0, 1'000, 1, 11'400);
  bounds.before(0, 1'000, 1, 11'900);  // a later one says less
  bounds.before(1, 12'000, 0, 2'200);
  const NodeClocks clocks = bounds.clocks();
  EXPECT_TRUE(clocks.knows(1));
  EXPECT_EQ(clocks.to_first(1, 10'100 + 500), 500);
  EXPECT_EQ(clocks.error(), 300);
}

TEST(NodeClocks, OneBoundIsNotEnough) {
  const std::vector<RankProfile> ranks = ranks_of({0, 10'000});
  ClockBounds bounds(ranks);
  bounds.before(0, 1'000, 1, 11'400);
  const NodeClocks clocks = bounds.clocks();
  EXPECT_FALSE(clocks.knows(1));
  EXPECT_EQ(clocks.error(), -1);
  EXPECT_EQ(clocks.unknown(), 1U);
  EXPECT_EQ(clocks.to_first(1, 10'000 + 300), 300) << "as if all had begun together";
}

TEST(NodeClocks, AreComparedOverNodesBetween) {
  const std::vector<RankProfile> ranks = ranks_of({0, 10'000, 500, 70'000});
  ClockBounds bounds(ranks);
  for (const auto& [from, to] : {std::pair(3, 2), std::pair(2, 1), std::pair(1, 0)}) {
    const int64_t a = ranks[static_cast<size_t>(from)].begun, b = ranks[static_cast<size_t>(to)].begun;
    bounds.before(from, a + 100, to, b + 110);
    bounds.before(to, b + 200, from, a + 210);
  }
  const NodeClocks clocks = bounds.clocks();
  EXPECT_EQ(clocks.to_first(3, 70'000 + 5), 5);
  EXPECT_EQ(clocks.error(), 30 + 20) << "of the two that are known worst";
}

TEST(NodeClocks, ThatDriftApartAreWrongByThatMuch) {
  const std::vector<RankProfile> ranks = ranks_of({0, 10'000, 20'000});
  ClockBounds bounds(ranks);
  for (int64_t second = 0; second < 10; ++second)
    for (const int to : {1, 2}) {
      const int64_t here = second * 1'000'000, there = here + 10'000 * to + 100 * second * to;
      for (const int other : {0, 3 - to}) {
        const int64_t at = other == 0 ? here : here + 10'000 * other + 100 * second * other;
        bounds.before(other, at, to, there + 10);
        bounds.before(to, there, other, at + 10);
      }
    }
  const NodeClocks clocks = bounds.clocks();
  // In the middle of the run they are right, and wrong by half of the drift at its ends: 450 and 900, less what a message takes.
  EXPECT_NEAR(static_cast<double>(clocks.to_first(2, 20'000 + 4'500'000 + 900)), 4'500'000, 10);
  EXPECT_GE(clocks.error(), 450 + 900 - 20);
  EXPECT_LE(clocks.error(), 2 * (450 + 900));
}

TEST(Meetings, AreOfClocksThatMessagesCompare) {
  std::vector<RankProfile> ranks = ranks_of({1'000, 900'000});
  ranks[0].timeline.messages = {{.is_receive = false, .process = 1, .tag = 3, .context = 2, .number = 1, .at = 1'500},
                                {.is_receive = true, .process = 1, .tag = 4, .context = 2, .number = 1, .at = 1'900}};
  ranks[1].timeline.messages = {
      {.is_receive = true, .process = 0, .tag = 3, .context = 2, .number = 1, .at = 900'600},
      {.is_receive = false, .process = 0, .tag = 4, .context = 2, .number = 1, .at = 900'700}};
  const Meetings met(ranks);
  EXPECT_EQ(met.clocks.to_first(1, 899'000 + 777 - 50), 777) << "between 898,800 and 899,100";
  EXPECT_EQ(met.clocks.error(), 150);
  EXPECT_NE(profile_page(ranks).find("clocks of the nodes are compared to 0.1 us\n"), std::string::npos)
      << profile_page(ranks);
  ranks[1].timeline.messages.pop_back();
  EXPECT_NE(profile_page(ranks).find("clocks of 1 node cannot be compared: "), std::string::npos)
      << profile_page(ranks);
}

// A collective from which a rank may come back before others have come says nothing of clocks.
TEST(Meetings, LearnOfCallsThatWaitForAll) {
  std::vector<RankProfile> ranks = ranks_of({0, 10'000});
  for (size_t r = 0; r < 2; ++r) {
    const int64_t at = ranks[r].begun;
    ranks[r].sites.push_back({.function = "MPI_Alltoallv", .region = "", .module = ""});
    ranks[r].collectives = {{.context = 3,
                             .serial = 1,
                             .leader = 0,
                             .entered = at + 100,
                             .waits_from = at + 100,
                             .left = at + 150,
                             .site = 0},
                            // The second one comes to it when the first one is long gone.
                            {.context = 3,
                             .serial = 2,
                             .leader = 0,
                             .entered = at + 200 + 5'000 * static_cast<int64_t>(r),
                             .waits_from = at + 200 + 5'000 * static_cast<int64_t>(r),
                             .left = at + 220 + 5'000 * static_cast<int64_t>(r),
                             .site = 1}};
  }
  EXPECT_EQ(Meetings(ranks).clocks.to_first(1, 10'000), 0);
  EXPECT_EQ(Meetings(ranks).clocks.error(), 50);
}

}  // namespace
}  // namespace tutti::launcher
