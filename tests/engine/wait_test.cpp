// SPDX-License-Identifier: BSD-3-Clause
// How a blocking call looks out for what comes soon, before it waits as all do: how often, with how
// many passes, and what ends it.
#include <gtest/gtest.h>

#include <thread>

#include "engine/engine.hpp"
#include "transport/testing/loopback.hpp"

namespace tutti::engine {
namespace {

class WaitTest : public testing::Test {
 protected:
  struct Passes : Poller {
    bool poll() override { return ++count, false; }
    int count = 0;
  };
  transport::LoopbackFabric fabric_{1, 42};
};

constexpr int kRounds = (Waiter::kMostLooks + Waiter::kLooksPerPass - 1) / Waiter::kLooksPerPass;

TEST_F(WaitTest, LooksForAWhileAndPassesNowAndThen) {
  Engine engine(fabric_.at(0), 0, Waiting{20'000, 2000});
  const Engine::Guard own(engine);
  Passes passes;
  engine.add_poller(passes);
  int rounds = 0;
  const bool found = engine.look_out([&](int looks) {
    EXPECT_EQ(looks, Waiter::kLooksPerPass);
    EXPECT_EQ(passes.count, rounds) << "a pass between two rounds";
    ++rounds;
    return Seen::nothing;
  });
  EXPECT_FALSE(found);
  EXPECT_EQ(rounds, kRounds);
  EXPECT_EQ(passes.count, kRounds);
  engine.remove_poller(passes);
}

TEST_F(WaitTest, LooksNoMoreOftenThanItMayPoll) {
  Engine engine(fabric_.at(0), 0, Waiting{Waiter::kLooksPerPass + 1, 0});
  const Engine::Guard own(engine);
  int rounds = 0;
  EXPECT_FALSE(engine.look_out([&](int) { return ++rounds, Seen::nothing; }));
  EXPECT_EQ(rounds, 2);
}

TEST_F(WaitTest, EndsWithWhatItHasSeen) {
  Engine engine(fabric_.at(0), 0, Waiting{20'000, 2000});
  const Engine::Guard own(engine);
  Passes passes;
  engine.add_poller(passes);
  for (const Seen last : {Seen::all, Seen::other}) {
    int rounds = 0;
    passes.count = 0;
    EXPECT_EQ(engine.look_out([&](int) { return ++rounds == 3 ? last : Seen::nothing; }), last == Seen::all);
    EXPECT_EQ(rounds, 3);
    EXPECT_EQ(passes.count, 2) << "none once it is seen";
  }
  engine.remove_poller(passes);
}

// Where ranks share cores what is awaited does not come while this one looks: it yields between two
// looks, or waits.
TEST_F(WaitTest, YieldsWhereRanksShareCores) {
  Engine engine(fabric_.at(0), 0, Waiting{1, 100});
  const Engine::Guard own(engine);
  Passes passes;
  engine.add_poller(passes);
  int rounds = 0;
  const auto look = [&](int looks) {
    EXPECT_EQ(looks, 1);
    return ++rounds, Seen::nothing;
  };
  EXPECT_FALSE(engine.look_out(look));
  EXPECT_EQ(rounds, 0);
  EXPECT_FALSE(engine.look_out(look, /*between_yields=*/true));
  EXPECT_EQ(rounds, Waiter::kMostYields);
  EXPECT_EQ(passes.count, Waiter::kMostYields / Waiter::kYieldsPerPass);
  engine.remove_poller(passes);
}

TEST_F(WaitTest, LetsInWhoAsks) {
  Engine engine(fabric_.at(0), 0, Waiting{20'000, 2000});
  engine.enter();
  std::thread other;
  int rounds = 0;
  EXPECT_FALSE(engine.look_out([&](int) {
    if (++rounds == 2) {
      other = std::thread([&] { const Engine::Guard own(engine); });
      while (!engine.ownership().contended()) std::this_thread::yield();
    }
    return Seen::nothing;
  }));
  EXPECT_EQ(rounds, 2);
  engine.leave();
  other.join();
}

// What is done already costs no pass; what a pass brings ends the wait behind it.
TEST_F(WaitTest, AsksBeforeEachPass) {
  Engine engine(fabric_.at(0), 0, Waiting{20'000, 2000});
  const Engine::Guard own(engine);
  Passes passes;
  engine.add_poller(passes);
  engine.wait_until([] { return true; });
  EXPECT_EQ(passes.count, 0);
  const auto third = [&] { return passes.count == 3; };
  engine.wait_until(third);
  EXPECT_EQ(passes.count, 3);
  engine.remove_poller(passes);
}

}  // namespace
}  // namespace tutti::engine
