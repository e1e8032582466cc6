// SPDX-License-Identifier: BSD-3-Clause
// What the detector of deadlocks costs a job of many ranks, and when it tells, at a clock of its own: right programs hear
// nothing and are asked little, and wrong ones are told of. All of it is the same on each run.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <functional>
#include <vector>

#include "detector_net.hpp"

namespace tutti::contract {
namespace {

using life::Condition;
using Make = std::function<void(DetectorNet&)>;

uint64_t levels_of(int ranks) {
  return static_cast<uint64_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

// Nobody is asked by more than its neighbours in the tree, nobody is called, and rounds get rarer.
void expect_little_is_asked(int ranks, const char* what, const Make& make) {
  SCOPED_TRACE(testing::Message() << what << " of " << ranks);
  constexpr double kSeconds = 60;
  DetectorNet net(ranks);
  make(net);
  net.run(kSeconds);
  EXPECT_TRUE(net.found.empty());
  EXPECT_EQ(net.questions(), 0u);
  EXPECT_GE(net.rounds(), 1u);
  EXPECT_LE(net.rounds(), 4u);  // after 3, 9, 21 and 45 seconds
  // Down and up, and four wishes of those below, which go one level up.
  const uint64_t times = net.rounds() * 2 + 4;
  EXPECT_LE(net.messages(), times * static_cast<uint64_t>(ranks));
  const Load most = net.most();
  EXPECT_LE(most.most_in_second, 3 * levels_of(ranks));
  EXPECT_LE(most.messages, times * levels_of(ranks));
  EXPECT_LE(most.bytes, net.rounds() * static_cast<uint64_t>(ranks) * 20);
  // Of a rank with nobody below it.
  EXPECT_LE(net.loads[static_cast<size_t>(ranks / 2 + 1)].messages, net.rounds() * 3 + 8);
  EXPECT_LE(net.loads[static_cast<size_t>(ranks / 2 + 1)].bytes, net.rounds() * 200);
}

void expect_told(int ranks, const char* what, double seconds, size_t members, const Make& make) {
  SCOPED_TRACE(testing::Message() << what << " of " << ranks);
  DetectorNet net(ranks);
  make(net);
  net.run(3 * seconds);
  ASSERT_EQ(net.found.size(), 1u);
  EXPECT_LE(net.found.front().seconds, seconds);
  EXPECT_GE(net.found.front().members, members);
  EXPECT_EQ(net.found.front().speaker, 0);
  // What waits for it is asked twice and answers, and what the relay hands on; not all by all.
  EXPECT_LE(net.messages(), static_cast<uint64_t>(ranks) * 3 + net.found.front().members * 4 * (levels_of(ranks) + 1));
  EXPECT_LE(net.longest_answer, 100u);
}

void expect_bounds(int ranks) {
  expect_little_is_asked(ranks, "a late rank", [](DetectorNet& net) { make_late(net, net.ranks() / 2); });
  expect_little_is_asked(ranks, "a late root", make_late_root);
  expect_little_is_asked(ranks, "a master that waits for anybody", [](DetectorNet& net) { make_master(net, true); });
  expect_told(ranks, "a star", 4, 1000, make_star);
  expect_told(ranks, "a master that nobody can answer", 10, static_cast<size_t>(ranks),
              [](DetectorNet& net) { make_master(net, false); });
}

TEST(Detector, AsksLittleOfTenThousandRanks) {
  expect_bounds(10'000);
}
TEST(Detector, AsksLittleOfAHundredThousandRanks) {
  if (!std::getenv("TUTTI_TEST_MILLION")) GTEST_SKIP() << "in the long tier";
  expect_bounds(100'000);
}

TEST(Detector, TellsOfARingWithinSeconds) {
  expect_told(2, "a ring", 4, 2, make_ring);
  expect_told(128, "a ring", 4, 128, make_ring);
  expect_told(1024, "a ring", 5, 1024, make_ring);
}

// A small one in a large job whose other ranks wait for one that computes.
TEST(Detector, FindsTwoAmongThousands) {
  DetectorNet net(4096);
  make_late(net, 2000);
  net.wait(77, Condition().process(3001));
  net.wait(3001, Condition().process(77));
  net.run(10);
  ASSERT_EQ(net.found.size(), 1u);
  EXPECT_LE(net.found.front().seconds, 4);
  EXPECT_EQ(net.found.front().circle.members, (std::vector{77, 3001}));
  EXPECT_EQ(net.found.front().members, 2u);
}

// Those that have been still for longer are told of the knot that the last one has made, after its own three seconds.
TEST(Detector, TellsOfALateKnotAsSoonAsOfAnEarlyOne) {
  DetectorNet net(256);
  for (int rank = 0; rank < 255; ++rank) net.wait(rank, Condition().process(rank + 1));
  net.run(40);
  EXPECT_TRUE(net.found.empty());
  net.wait(255, Condition().process(0));
  net.run(45);
  ASSERT_EQ(net.found.size(), 1u);
  EXPECT_LE(net.found.front().seconds, 44);
}

// Ranks that have ended, the tree's root among them, are no deadlock for those that need them, and hide none.
TEST(Detector, SeesPastRanksThatHaveFailed) {
  DetectorNet net(1000);
  for (const int rank : {0, 1, 256, 512, 640}) net.end(rank);
  for (int rank = 2; rank < 600; ++rank) net.wait(rank, Condition().process(0));
  net.run(30);
  EXPECT_TRUE(net.found.empty());
  net.wait(999, Condition().process(700));
  net.wait(700, Condition().process(999));
  net.run(60);
  ASSERT_EQ(net.found.size(), 1u);
  EXPECT_EQ(net.found.front().circle.members, (std::vector{700, 999}));
}

// A rank that answers nobody is alive, and those below it in the tree are asked by the one above.
TEST(Detector, SeesPastARankThatDoesNotAnswer) {
  DetectorNet net(1024);
  net.stop(512);
  for (int rank = 0; rank < 600; ++rank)
    if (rank != 512) net.wait(rank, Condition().process(512));
  net.wait(700, Condition().process(999));
  net.wait(999, Condition().process(700));
  net.run(60);
  ASSERT_EQ(net.found.size(), 1u);
  EXPECT_LE(net.found.front().seconds, 25);
  EXPECT_EQ(net.found.front().circle.members, (std::vector{700, 999}));
}

// A right program at every moment: a token goes round, and whoever does not have it waits for the one before. Asked at
// different moments all of them may seem to wait.
TEST(Detector, IsSilentWhileATokenGoesRound) {
  for (const int ranks : {7, 64}) {
    DetectorNet net(ranks);
    std::minstd_rand random(static_cast<unsigned>(ranks));
    int holder = 0, ticks = 1;
    for (int rank = 1; rank < ranks; ++rank) net.wait(rank, Condition().process(rank - 1));
    net.run(600, [&] {
      if (--ticks > 0) return;
      ticks = 1 + static_cast<int>(random() % (random() % 10 ? 3 : 80));
      const int next = (holder + 1) % ranks;
      net.wait(holder, Condition().process((holder + ranks - 1) % ranks));
      net.go_on(next);
      holder = next;
    });
    EXPECT_TRUE(net.found.empty()) << ranks;
    EXPECT_GE(net.rounds(), 20u);
    EXPECT_LE(net.rounds(), 201u);  // not more often than ranks have to stand still
  }
}

// The same where a share of the messages is lost.
TEST(Detector, IsSilentWhereMessagesAreLost) {
  DetectorNet net(300);
  net.lose(0.05);
  make_late(net, 17);
  net.run(120);
  EXPECT_TRUE(net.found.empty());
}

// Many ranks wait for four seconds again and again, each at its own time: rounds stay as rare as they have to be.
TEST(Detector, KeepsToItsPaceWhateverManyRanksWish) {
  constexpr int kRanks = 20'000;
  DetectorNet net(kRanks);
  int tick = 0;
  net.run(60, [&] {
    ++tick;
    for (int rank = tick % 50; rank < kRanks; rank += 50) {
      net.scripts[static_cast<size_t>(rank)].is_blocked ? net.go_on(rank) : net.wait(rank, Condition().process(0));
      if (rank == 0) net.go_on(0);
    }
  });
  EXPECT_TRUE(net.found.empty());
  const auto pause = std::chrono::duration<double>(Census::kPauseForEach * (kRanks / 3)).count();
  EXPECT_LE(net.rounds(), 60 / std::max(pause, 3.0) + 2);
  EXPECT_LE(net.most().most_in_second, 6 * levels_of(kRanks));
}

}  // namespace
}  // namespace tutti::contract
